"""Fuzz target for model files: loading returns a value or raises a clear error, and runs no code.

An input is a file. Most mutations update the checksum, as in a forged file.
"""

import json
import tempfile
from copy import deepcopy
from pathlib import Path

import numpy as np

import mercer
from tests.fuzz import mutations
from tests.fuzz.forging import claim, forged, members_of, npy, paths_in, signed
from tests.fuzz.invariants import (
    InvariantError,
    is_clear_error,
    no_side_effects,
    require,
    strict_warnings,
)
from tests.timeouts import alarm

X = np.random.default_rng(0).normal(size=(6, 2))
TOKENS = [
    *(b'{"object":', b'{"array":[0,true]}', b'{"again":0}', b'{"tuple":[', b'{"int":"-1"}'),
    *(b'{"float":"nan"}', b"null", b"true", b"[", b"]", b'"os.system"', b'"builtins.eval"'),
    *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"arrays/0.npy", b"mercer.json", b"\x93NUMPY"),
    *(b"<f8", b"|O", b"<U999999999", b"(9999999999,)", b"-1", b'{"format":1'),
]
LEAVES = [
    *(None, True, False, 0, 1, -1, 2**31, 10**18, -(10**400), 0.5, 1e308, "", "x", "os.system"),
    *([], {}, [1, 2], {"tuple": []}, {"dict": []}, {"set": [1]}, {"again": 0}, {"again": 1}),
    *({"array": [0, True]}, {"int": "ff"}, {"float": "nan"}, {"objects": [[2], [1, 2], True]}),
    *({"objects": [[0, 2**62], [], True]}, {"range": [0, 10**18, 1]}, {"slice": [0, None, 1]}),
    *({"dtype": ["<f8"]}, {"scalar": [{"dtype": ["<f8"]}, "00" * 8]}, {"type": ["object"]}),
    *({"bytes": ["AAAA"]}, {"complex": [1.0, 2.0]}, {"decimal": ["1e999999"]}),
    *({"fraction": [1, 0]}, {"datetime": ["2024-01-31T00:00:00", 0, None]}, {"zone": ["UTC"]}),
    *(
        {"absent points": [3, 2, {"dtype": ["<f8"]}, "vectors", None]},
        {"timedelta": [10**12, 0, 0]},
    ),
    *({"seed": [1, {"tuple": []}, 4, 0]}, {"generator": [{"again": 0}]}, {"pandas NA": []}),
    *({"pandas range": [0, 10**12, 1, None]}, {"counter": [{"dict": [["a", 10**9]]}]}),
    *({"absent column": [{"tuple": [10**12]}, {"dtype": ["<f8"]}]}, {"strings": [[], 1, 2, 3]}),
    {"object": ["mercer.kernels.Gaussian", {"bandwidth": 1.0}]},
    {"object": ["sklearn.preprocessing.FunctionTransformer", {"func": "os.system"}]},
    {"scipy sparse": ["csr_array", {"tuple": [2, 10**12]}, [], {"tuple": [[], []]}]},
    {"networkx graph": ["Graph", {"dict": []}, [[1, {"dict": []}]], []]},
]


# --- inputs ----------------------------------------------------------------------------------


def seeds():
    with tempfile.TemporaryDirectory() as folder:
        return [_file(value, Path(folder, "seed.mercer")) for value in _values()]


def _file(value, path):
    mercer.save(value, path)
    return path.read_bytes()


def _values():
    import datetime
    import zoneinfo
    from collections import Counter, OrderedDict

    import pandas as pd
    from scipy import sparse
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from mercer.kernels import Gaussian, Polynomial

    y = np.array([0, 1, 0, 1, 1, 0])
    yield mercer.KernelPCA(2, kernel=Gaussian(1.0)).fit(X)
    yield make_pipeline(StandardScaler(), mercer.KernelECA(2, kernel=Gaussian(1.0))).fit(X)
    yield mercer.EntropyClustering(2, kernel=Gaussian(1.0)).fit(X)
    yield mercer.ParzenDensity(kernel=Gaussian(0.5) * 2 + Gaussian(1.0)).fit(X)
    yield mercer.KernelPCA(1, kernel=Polynomial(2) * Gaussian([1.0, 2.0])).fit(X)
    yield mercer.KernelLDA(1, kernel=Gaussian(1.0)).fit(X, y)
    yield mercer.KernelNovelty(Gaussian(1.0))
    when = datetime.datetime(2024, 1, 31, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", None], "c": pd.Categorical(["u", "v"])})
    yield [frame, pd.Series([1, None], dtype="Int64"), pd.Timestamp("2024-01-31", tz="UTC")]
    yield {"text": ("α", {1, 2}), 3: frozenset([None]), "when": [when, when.date(), when.time()]}
    yield [np.random.default_rng(0), np.random.RandomState(0), np.random.SeedSequence(5)]
    yield [sparse.csr_array(np.eye(3)), np.array([1, "a", None], object), np.array(["ab", "c"])]
    yield [Counter("abc"), OrderedDict(a=1), 1 + 2j, slice(3), range(4), b"raw", 10**30, np.inf]


def mutate(data, random):
    """Return a file with another tree, array or bytes, usually with a valid checksum."""
    try:
        (name, text), *arrays = members_of(data)
        tree = json.loads(text)
    except Exception:
        return _signed(mutations.near(data, random, TOKENS), random)
    chance = random.random()
    if chance < 0.5:
        for _ in range(random.randint(1, 3)):
            _change(tree, random)
        return forged([(name, json.dumps(tree).encode()), *arrays])
    if chance < 0.6:
        return forged([(name, mutations.near(text, random, TOKENS)), *arrays])
    if chance < 0.8 and arrays:
        index = random.randrange(len(arrays))
        arrays[index] = (arrays[index][0], _other_array(arrays[index][1], random))
        return forged([(name, text), *arrays])
    return _signed(mutations.near(data, random, TOKENS), random)


def _signed(data, random):
    return signed(data) if len(data) > 64 and random.random() < 0.8 else data


def _change(tree, random):
    paths = list(paths_in(tree))[1:]
    if not paths:
        return
    *path, last = random.choice(paths)
    node = tree
    for step in path:
        node = node[step]
    moved = tree
    for step in random.choice(paths):
        moved = moved[step]
    change = random.randrange(5)
    if change == 0 and isinstance(node, list):
        node.insert(last, deepcopy(random.choice(LEAVES)))
    elif change == 1:
        del node[last]
    elif change == 2:
        node[last] = deepcopy(moved)
    elif change == 3 and isinstance(node, dict):
        node[random.choice(_names())] = node.pop(last)
    else:
        node[last] = deepcopy(random.choice(LEAVES))


def _names():
    return ["array", "objects", "object", "dict", "tuple", "set", "again", "int", *_tags()]


def _tags():
    return [tag for leaf in LEAVES if isinstance(leaf, dict) for tag in leaf]


def _other_array(array, random):
    if random.random() < 0.5:
        return mutations.near(array, random, TOKENS)
    shapes = [(), (0,), (1,), (6, 2), (2, 6), (10**15,), (-1, 2), (2**40, 0), (3, 0, 2)]
    types = ["<f8", "<i8", "|b1", "<U1", "|V4", "<M8[s]"]
    claimed = claim(random.choice(shapes), random.choice(types))
    special = np.array([[np.nan, np.inf], [-np.inf, 1e308]])
    return random.choice([claimed, npy(special), npy(np.zeros((6, 2))), npy(np.arange(6))])


# --- checks ----------------------------------------------------------------------------------


def check(data, folder):
    path = folder / "model.mercer"
    path.write_bytes(data)
    with strict_warnings():
        try:
            with no_side_effects():
                value = mercer.load(path)
        except Exception as error:
            if not is_clear_error(error):
                raise
            require(str(path) in str(error), "the error does not name the file:", error)
            return
        require(signed(data) == data, "a wrong checksum was accepted")
    runs_no_code(value)


def runs_no_code(value):
    """Check that the methods of a loaded model run no code from the file either.

    A forged model may predict anything, take very long, or raise any exception.
    """
    for method in ("transform", "predict", "score_samples"):
        predict = getattr(value, method, None) if hasattr(type(value), method) else None
        if predict is None:
            continue
        try:
            with no_side_effects(), alarm(2, TimeoutError), np.errstate(all="ignore"):
                predict(X)
        except InvariantError:
            raise
        except Exception:
            continue
