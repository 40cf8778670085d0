"""Model files that are damaged, forged, cut off or half written; and what cannot be saved."""

import datetime
import errno
import hashlib
import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import threading
import zipfile
import zoneinfo
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mercer
from mercer import persistence
from mercer.domains import Domain
from mercer.errors import VersionWarning
from mercer.kernels import Gaussian, Kernel
from mercer.operators import Expansion
from mercer.persistence import classes, container, frames, kinds
from mercer.persistence.encoding import DEEPEST
from mercer.population import GaussianOperator, Normal
from mercer.solvers import Nystrom
from tests.expectations import raises, warns
from tests.fuzz.forging import claim, forged, manifest, members_of, npy, places, signed

X = np.random.default_rng(0).normal(size=(20, 2))


# --- tools -----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file with a bit of everything."""
    path = tmp_path_factory.mktemp("models") / "model.mercer"
    eca = mercer.KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(5, random_state=0))
    pd = pytest.importorskip("pandas")
    extras = {"text": ("α", {1, 2}), "frame": pd.DataFrame({"a": [1.5, None], "b": ["x", None]})}
    with pytest.warns(mercer.errors.ApproximationWarning):
        fitted = make_pipeline(StandardScaler(), eca).fit(X)
    mercer.save([fitted, extras, np.random.default_rng(0)], path)
    return path.read_bytes()


def load_bytes(data, path, **options):
    path.write_bytes(data)
    return mercer.load(path, **options)


def loads_or_is_refused(path):
    message = None
    try:
        mercer.load(path)
    except ValueError as error:
        message = str(error)
    assert message is None or str(path) in message


def refused(data, path, match=None):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        mercer.load(path)
    assert str(path) in str(caught.value)


# --- damage ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(place=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_any_changed_byte_is_refused(tmp_path_factory, model, place, change):
    data = bytearray(model)
    data[int(place * len(data))] ^= change
    refused(bytes(data), tmp_path_factory.getbasetemp() / "flipped.mercer")


def test_each_byte_of_both_ends_matters(path, model):
    for place in [*range(150), *range(len(model) - 150, len(model))]:
        data = bytearray(model)
        data[place] ^= 1
        refused(bytes(data), path)


def test_cut_off_and_lengthened_files_are_refused(path, model):
    for length in [*range(0, len(model), 97), len(model) - 1]:
        refused(model[:length], path)
    refused(model + b"\n", path, "cut off or lengthened")
    refused(model[: len(model) // 2] + model[len(model) // 2 + 1 :], path, "damaged")
    refused(model[:-200], path, "cut off or lengthened")


def test_files_of_others(path):
    refused(b"", path, "it is empty")
    refused(b"number,label\n1,a\n", path, "not a model file")
    refused(pickle.dumps(Gaussian(1.0)), path, "it is a pickle")
    refused(npy(X), path, "numpy.save")
    buffer = io.BytesIO()
    np.savez(buffer, X=X)
    refused(buffer.getvalue(), path, "not a model file")
    joblib = pytest.importorskip("joblib")
    for compress in (0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)):
        joblib.dump(Gaussian(1.0), path, compress=compress)
        refused(path.read_bytes(), path, "not a model file of mercer: it is a")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.mercer"):
        mercer.load(tmp_path / "none.mercer")
    with pytest.raises(ValueError, match="is not a file"):
        mercer.load(tmp_path)
    with pytest.raises(ValueError, match="is not a file"):
        mercer.save(Gaussian(), tmp_path)


# --- forgery ---------------------------------------------------------------------------------


def of_class(name, state=None):
    return {"object": [name, state or {}]}


HERE = {"array": [0, True]}
LONG = {"range": [0, 10**17, 1]}
LONG_INDEX = {"pandas range": [0, 10**17, 1, None]}
FORGED_VALUES = {
    "a function": of_class("os.system"),
    "a class that runs": of_class("subprocess.Popen", {"args": ["true"]}),
    "a module not loaded": of_class("antigravity.Anything"),
    "a function of mercer": of_class("mercer.atomic_files.atomic_write"),
    "something that a module imports": of_class("mercer.estimators.eca.np"),
    "a base class": of_class("mercer.kernels.Kernel"),
    "an unlisted class of scikit-learn": of_class("sklearn.cluster.KMeans"),
    "a builtin": of_class("builtins.eval"),
    "a number as class": of_class(3),
    "a list as class": {"object": [["os", "system"], {}]},
    "no attributes": {"object": ["mercer.kernels.Gaussian"]},
    "a list of attributes": {"object": ["mercer.kernels.Gaussian", [1]]},
    "a spectrum without fields": of_class("mercer.Spectrum", {"eigenvalues": None}),
    "an unknown tag": {"reduce": ["os.system", ["true"]]},
    "two tags": {"tuple": [], "list": []},
    "no tag": {},
    "an unknown type": {"type": ["subprocess.Popen"]},
    "a reference to nothing": {"again": 0},
    "a reference backwards": [{"again": -1}],
    "a reference by a truth value": [[], {"again": True}],
    "a tuple in itself": {"tuple": [{"again": 0}]},
    "an array that is not there": {"array": [0, True]},
    "a negative array": {"array": [-1, True]},
    "too few objects": {"objects": [[3], [1, 2], True]},
    "very many objects": {"objects": [[10**15], [], True]},
    "very many empty objects": {"objects": [[10**30, 0], [], True]},
    "negative shapes": {"objects": [[-1, -1], [1], True]},
    "an unhashable key": {"dict": [[[], 1]]},
    "an unhashable item": {"set": [[]]},
    "not pairs": {"dict": [[1]]},
    "an int of another kind": {"int": "twelve"},
    "a float of another kind": {"float": "1.5"},
    "a type of Python objects": {"scalar": [{"dtype": ["|O"]}, "0000000000000000"]},
    "too few bytes": {"scalar": [{"dtype": ["<f8"]}, "00"]},
    "a text of 4 GB": {"scalar": [{"dtype": ["<U1000000000"]}, "00"]},
    "a strange type": {"dtype": ["import os"]},
    "a type of nothing": {"dtype": [None, None]},
    "a large pool": {"seed": [1, {"tuple": []}, 10**12, 0]},
    "an unknown generator": {"bits": ["PCG128", {}, None]},
    "a generator without state": {"bits": ["PCG64", {"dict": []}, None]},
    "a generator of something else": {"generator": [[]]},
    "an unknown sparse matrix": {"sparse": ["dok_array", {"tuple": [2, 2]}, [], []]},
    "a table of unlike columns": {"pandas frame": [[1], [], [], {"dict": []}]},
    "an unknown thing of pandas": {"pandas eval": ["1"]},
    "bytes that are none": {"bytes": ["§"]},
    "a zone from a path": {"zone": ["../../../etc/passwd"]},
    "a date that is none": {"date": ["2024-02-30"]},
    # a range is as long as it says, and the libraries below would write it out
    "a seed of a long range": {"seed": [LONG, {"tuple": []}, 4, 0]},
    "a seed that holds a long range": {"seed": [[LONG], {"tuple": []}, 4, 0]},
    "a generator in the state of a long range": {
        "bits": ["MT19937", {"dict": [["state", {"dict": [["key", LONG], ["pos", 1]]}]]}, None]
    },
    "counts of a long range": {"counter": [LONG]},
    "pairs of a long range": {"ordered": [LONG]},
    "texts of a long range": {"texts": [LONG, True, False, None]},
    "a sparse matrix of a long range": {
        "sparse": ["coo_array", {"tuple": [2]}, LONG, {"tuple": [LONG]}]
    },
    "a column of a long range": {"pandas series": [LONG_INDEX, LONG_INDEX, None]},
    "a column of a long kind": {"pandas values": [LONG_INDEX, [], "python", True]},
    "texts that hold a long range": {"pandas values": ["texts", [LONG_INDEX], "python", True]},
    "codes of a long range": {"pandas values": ["categories", LONG_INDEX, ["a"], False]},
    "moments of a long range": {"pandas values": ["moments", LONG_INDEX, "UTC", None]},
    "levels of a long range": {"pandas levels": [[LONG_INDEX], [{"objects": [[0], [], True]}], []]},
}


@pytest.mark.parametrize("name", FORGED_VALUES)
def test_forged_values_are_refused(name, path):
    before = set(sys.modules)
    data = forged([("mercer.json", manifest(FORGED_VALUES[name]))])
    refused(data, path, "cannot be loaded")
    new = {module.partition(".")[0] for module in set(sys.modules) - before}
    assert not new & {"antigravity", "this", "turtle"}


def test_an_error_that_quotes_what_cannot_be_shown(path):
    """The name of a kind of graph is a kernel whose factor has stayed on an engine."""
    pytest.importorskip("networkx")
    absent = {"absent": [3, 2, {"dtype": ["<f8"]}, "vectors", None]}
    kernel = of_class("mercer.kernels.Scaled", {"kernel": 1, "factor": absent})
    value = {"graph": [kernel, {"dict": []}, [], []]}
    refused(forged([("mercer.json", manifest(value))]), path, r"cannot be loaded: KeyError\.")


USES_OF_LONG_ARRAYS = {
    "coordinates": {"sparse": ["coo_array", {"tuple": [3]}, HERE, {"tuple": [{"again": 2}]}]},
    "one part of two": {"sparse": ["csr_array", {"tuple": [3]}, HERE, {"tuple": [{"again": 2}]}]},
    "a seed": {"seed": [HERE, {"tuple": []}, 4, 0]},
    "texts": {"texts": [HERE, True, False, None]},
    "codes": {"pandas values": ["categories", HERE, None, False]},
    "a column": {"pandas series": [HERE, {"pandas range": [0, 2, 1, None]}, None]},
}


@pytest.mark.parametrize("name", USES_OF_LONG_ARRAYS)
def test_arrays_of_very_many_empty_rows_are_refused(name, path):
    """They take no place in a file, and going through them never ends."""
    parts = [("mercer.json", manifest(USES_OF_LONG_ARRAYS[name]))]
    refused(forged([*parts, ("arrays/0.npy", claim((2**40, 0)))]), path, "cannot be loaded")


FORGED_ARRAYS = {
    "too large": claim((10**15,)),
    "a bit too large": claim((3,), data=b"0" * 16),
    "a bit too small": claim((1,), data=b"0" * 16),
    "overflowing": claim((2**62, 4)),
    "empty and overflowing": claim((2**62, 2**62, 0)),
    "negative": claim((-1, -2), data=b"0" * 16),
    "without size": claim((10**15,), "<U0"),
    "void without size": claim((10**15,), "|V0"),
    "objects": npy(np.array([Path("x")], dtype=object)),
    "records with objects": claim((1,), [("a", "|O")], b"0" * 8),
    "version 2": b"\x93NUMPY\x02\x00" + npy(X)[8:],
    "no header": b"\x93NUMPY\x01\x00\xff\xff",
    "a header that is code": b"\x93NUMPY\x01\x00\x10\x00__import__('os')",
    "nothing": b"",
}


@pytest.mark.parametrize("name", FORGED_ARRAYS)
def test_forged_arrays_are_refused(name, path):
    data = manifest({"array": [0, True]})
    match = "Python objects" if "objects" in name else "cannot be loaded"
    refused(forged([("mercer.json", data), ("arrays/0.npy", FORGED_ARRAYS[name])]), path, match)


FORGED_FILES = {
    "no text": [("arrays/0.npy", npy(X))],
    "the text last": [("arrays/0.npy", npy(X)), ("mercer.json", manifest({"array": [0, True]}))],
    "a path upwards": [("mercer.json", manifest(None)), ("../../x", b"")],
    "an absolute path": [("mercer.json", manifest(None)), ("/x/y", b"")],
    "an array of nobody": [("mercer.json", manifest(None)), ("arrays/0.npy", npy(X))],
    "a gap": [("mercer.json", manifest({"array": [0, True]})), ("arrays/1.npy", npy(X))],
    "not JSON": [("mercer.json", b"{")],
    "not text": [("mercer.json", b"\xff\xfe\xfa")],
    "a list": [("mercer.json", b"[]")],
    "empty": [("mercer.json", b"{}")],
    "no numbers of JSON": [("mercer.json", manifest(np.nan))],
    "a name twice": [("mercer.json", manifest(None)[:-1] + b', "format": 1}')],
    "a number of many digits": [("mercer.json", b'{"format": ' + b"9" * 10**5 + b"}")],
    "a format in words": [("mercer.json", manifest(None, format="1"))],
    "a version that is none": [("mercer.json", manifest(None, mercer=1))],
    "a lender that is none": [("mercer.json", manifest(None, **{"scikit-learn": 1}))],
    "no lender": [("mercer.json", manifest(None).replace(b"scikit-learn", b"scikit"))],
    "borrowed by nobody": [("mercer.json", manifest(None, borrowed=3))],
    "borrowed numbers": [("mercer.json", manifest(None, borrowed=[3]))],
    "very deep": [("mercer.json", b"[" * 10**5)],
    "very deep and closed": [("mercer.json", b"[" * 10**5 + b"]" * 10**5)],
}


@pytest.mark.parametrize("name", FORGED_FILES)
def test_forged_files_are_refused(name, path):
    refused(forged(FORGED_FILES[name]), path)


def test_nesting_is_bounded(path):
    for depth, fine in ((DEEPEST - 1, True), (DEEPEST + 2, False)):
        value = None
        for _ in range(depth):
            value = [value]
        data = forged([("mercer.json", manifest(value))])
        if fine:
            assert load_bytes(data, path) == value
            mercer.save(value, path)
        else:
            refused(data, path, "levels deep")
            with pytest.raises(TypeError, match="levels deep"):
                mercer.save(value, path)


def test_compressed_parts_are_refused(path):
    bomb = npy(np.zeros(10**6))
    data = forged(
        [("mercer.json", manifest({"array": [0, True]})), ("arrays/0.npy", bomb)],
        zipfile.ZIP_DEFLATED,
    )
    assert len(data) < len(bomb) / 100
    refused(data, path, "compressed")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_come_twice_are_refused(path):
    text = manifest({"array": [0, True]})
    refused(
        forged([("mercer.json", text), ("arrays/0.npy", npy(X)), ("arrays/0.npy", npy(-X))]),
        path,
        "not those of a model file",
    )


def test_overlapping_parts_are_refused(path, model):
    """Two entries of the directory that point to the same large part."""
    text = manifest([{"array": [0, True]}, {"array": [1, True]}])
    data = forged(
        [("mercer.json", text), ("arrays/0.npy", npy(np.zeros(999))), ("arrays/1.npy", npy(X))]
    )
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    end = data.index(b"PK\x01\x02", start + 1)
    entry = data[start:end]
    last = data.index(b"PK\x05\x06")
    twice = data[:end] + entry.replace(b"arrays/0", b"arrays/1") + data[last:]
    refused(signed(twice), path)


def test_parts_before_the_beginning_are_refused(path, model):
    """Readers of zips add what seems to stand before the first part; that can be made negative."""
    data = bytearray(model)
    size_of_directory = data.rindex(b"PK\x05\x06") + 12
    data[size_of_directory + 1] ^= 1
    refused(signed(bytes(data)), path)
    data = bytearray(model)
    data[size_of_directory + 7] ^= 1  # where it starts
    refused(signed(bytes(data)), path)


def test_swapped_parts_are_refused(path, model):
    """The checksum is of the whole, so two parts that are fine by themselves cannot change."""
    text, first, second, *others = members_of(model)
    names = [text, (first[0], second[1]), (second[0], first[1]), *others]
    refused(forged(names)[:-64] + model[-64:], path, "damaged")


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["os.system", "array", "again", "mercer.data.Points", "object"]),
)


@pytest.mark.filterwarnings("ignore::mercer.errors.VersionWarning")
@settings(deadline=None, max_examples=400)
@given(st.data())
def test_a_forged_tree_loads_or_is_refused(tmp_path_factory, model, data):
    """Whatever stands at some place of the tree: a value comes out, or a ValueError."""
    (name, text), *others = members_of(model)
    tree = json.loads(text)
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(list(places(tree))[1:]))
        node = tree
        for step in way:
            node = node[step]
        node[last] = data.draw(st.one_of(leaves, st.lists(leaves, max_size=3)))
    path = tmp_path_factory.getbasetemp() / "forged.mercer"
    path.write_bytes(forged([(name, json.dumps(tree).encode()), *others]))
    loads_or_is_refused(path)


@pytest.mark.filterwarnings("ignore::mercer.errors.VersionWarning")
@settings(deadline=None, max_examples=400)
@given(st.data())
def test_forged_bytes_load_or_are_refused(tmp_path_factory, model, data):
    """Any bytes changed, and the checksum made right again."""
    changed = bytearray(model)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.floats(0, 1, exclude_max=True))
        near_end = data.draw(st.booleans())
        room = 4000 if near_end else len(changed)
        changed[len(changed) - 1 - int(place * room)] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "forged-bytes.mercer"
    path.write_bytes(signed(bytes(changed)))
    loads_or_is_refused(path)


# --- what cannot be saved -----------------------------------------------------------------------


class Halved(Kernel):
    def __init__(self, factor=0.5, function=None):
        self.factor = factor
        self.function = function

    def matrix(self, X, Y):
        return self.factor * Gaussian(1.0)(X, Y)


class Slotted:
    __slots__ = ("a",)


class Reduced:
    def __reduce__(self):
        return (print, ("never",))


class Wordy(str):
    pass


def nameless_zone():
    """A zone read from a file; it has rules, and no name."""
    head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(head + struct.pack(">lbb", 0, 0, 0) + b"UTC\0"))


def offset_zone():
    return pytest.importorskip("dateutil.tz").tzoffset("X", 3600)


def pd_series(value, dtype):
    return pytest.importorskip("pandas").Series([value], dtype=dtype)


FALSE_PARIS = datetime.timezone(datetime.timedelta(hours=7), "Europe/Paris")

UNSAVABLE = {
    "lambda": lambda: lambda x: x,
    "function": lambda: np.sum,
    "ufunc": lambda: np.log1p,
    "module": lambda: np.random,
    "open file": lambda: open(os.devnull, "rb"),  # noqa: SIM115
    "lock": threading.Lock,
    "thread": threading.Thread,
    "generator": lambda: iter([1]),
    "class": lambda: Halved,
    "slots": Slotted,
    "own way to pickle": Reduced,
    "subclass of str": lambda: Wordy("a"),
    "masked array": lambda: np.ma.array([1.0], mask=[True]),
    "exception": lambda: ValueError("x"),
    "objects in records": lambda: np.zeros(1, dtype=[("a", object)]),
    "a record with objects": lambda: np.zeros(1, dtype=[("a", object)])[0],
    "type of texts": np.dtypes.StringDType,
    "time zone of a file": nameless_zone,
    "lazy bag": lambda: pytest.importorskip("dask.bag").from_sequence([1]),
    "other sparse matrix": lambda: sp.dia_array(np.eye(3)),
    "other graph": lambda: pytest.importorskip("networkx").PlanarEmbedding(),
    "column of periods": lambda: pd_series("2024-01", dtype="period[M]"),
    "zone that is not its name": lambda: pd_series(
        "2024-01-01", dtype=pytest.importorskip("pandas").DatetimeTZDtype("ns", FALSE_PARIS)
    ),
    "zone of an offset": lambda: pd_series(
        "2024-01-01", dtype=pytest.importorskip("pandas").DatetimeTZDtype("ns", offset_zone())
    ),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_what_cannot_be_saved_is_named(name, tmp_path):
    estimator = mercer.KernelECA(kernel=Halved(function=UNSAVABLE[name]()))
    with pytest.raises(TypeError, match=r"KernelECA\.kernel\.function.* cannot be saved"):
        mercer.save(estimator, tmp_path / "new" / "model.mercer")
    assert list(tmp_path.iterdir()) == []


def test_the_way_to_what_cannot_be_saved(path):
    pipeline = make_pipeline(FunctionTransformer(np.log1p), mercer.KernelPCA())
    with pytest.raises(TypeError, match=r"Pipeline\.steps\[0\]\[1\]\.func is a ufunc"):
        mercer.save(pipeline, path)
    with pytest.raises(TypeError, match=r"dict\['a'\]\[1\] is a builtin_function_or_method"):
        mercer.save({"a": [0, print]}, path)
    with pytest.raises(TypeError, match="cannot be saved"):
        mercer.save(GaussianOperator(1.0, Normal(0.0, 1.0)), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("package", "make", "cache"),
    [
        ("pandas", lambda pd: pd.DataFrame({"a": [1.0]}), frames.frame_kinds),
        ("networkx", lambda nx: nx.path_graph(3), kinds._graph_kind),
    ],
    ids=["pandas", "networkx"],
)
def test_what_needs_a_package_that_is_not_there(package, make, cache, path, monkeypatch):
    mercer.save([make(pytest.importorskip(package))], path)
    cache.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match="not installed: pip install"):
        mercer.load(path)


def test_texts_can_be_read_without_pyarrow(path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    texts = pd.Series(["a", None, "β"], dtype=pd.StringDtype("pyarrow"))
    mercer.save(texts, path)
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    loaded = mercer.load(path)
    assert loaded.dtype.storage == "python"
    assert loaded[[0, 2]].tolist() == ["a", "β"]
    assert loaded.isna().tolist() == [False, True, False]


def test_a_file_that_shrinks_while_it_is_read_has_an_end():
    found = container._digest(io.BytesIO(b"short"), 100)
    assert found == hashlib.sha256(b"short").hexdigest().encode()


# --- classes -----------------------------------------------------------------------------------


def test_own_kernels_need_trust(path):
    fitted = mercer.KernelECA(kernel=Halved()).fit(X)
    mercer.save(fitted, path)
    with raises(ValueError, "trusted=[Halved]"):
        mercer.load(path)
    with pytest.raises(ValueError, match="Halved"):
        mercer.load(path, trusted=[Slotted])
    loaded = mercer.load(path, trusted=[Halved])
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    with pytest.raises(TypeError, match="it takes classes"):
        mercer.load(path, trusted=["Halved"])


def test_a_class_that_moved_is_found_by_its_name(path):
    mercer.save(Halved(0.25), path)
    moved = type("Halved", (Halved,), {"__module__": "elsewhere"})
    assert type(mercer.load(path, trusted=[moved])) is moved


def test_other_estimators_of_scikit_learn_need_trust(path):
    fitted = make_pipeline(StandardScaler(), KMeans(2, n_init=1, random_state=0)).fit(X)
    mercer.save(fitted, path)
    with pytest.raises(ValueError, match=r"sklearn\.cluster\.KMeans"):
        mercer.load(path)
    loaded = mercer.load(path, trusted=[KMeans])
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_listed_classes_are_there_under_their_names():
    for name in set(classes.CLASSES) - {"sklearn.compose._RemainderColsList"}:  # gone from 1.8 on
        assert classes.name_of(classes.find_class(name, ())) == name


def test_a_listed_class_that_is_gone_is_named(monkeypatch):
    monkeypatch.setitem(classes.CLASSES, "mercer.kernels.Gone", ("mercer.kernels", "Gone"))
    with raises(ValueError, "mercer.kernels.Gone"):
        classes.find_class("mercer.kernels.Gone", ())


def test_every_class_that_a_model_may_hold_is_listed():
    for module in Path(mercer.__file__).parent.rglob("*.py"):
        parts = module.relative_to(Path(mercer.__file__).parent).with_suffix("").parts
        if parts[0] in {"kernels", "operators", "estimators", "solvers", "domains", "tables"}:
            import_module(".".join(["mercer", *parts]).removesuffix(".__init__"))
    for base in (Kernel, Domain, Expansion, BaseEstimator):
        for cls in descendants(base):
            if cls.__module__.startswith("mercer.") and is_concrete(cls):
                assert classes.is_listed(classes.name_of(cls)), cls


def descendants(cls):
    for child in cls.__subclasses__():
        yield child
        yield from descendants(child)


def is_concrete(cls):
    """A leaf that is not private: what a user can come to hold."""
    own = [child for child in cls.__subclasses__() if child.__module__.startswith("mercer.")]
    return not own and not cls.__name__.startswith("_")


# --- versions ----------------------------------------------------------------------------------


def test_a_newer_format_says_what_to_do(path):
    data = forged([("mercer.json", manifest("?", format=persistence.FORMAT + 1, mercer="9.9"))])
    refused(data, path, rf"format {persistence.FORMAT + 1}.* 9\.9")


def test_an_older_format_says_what_to_do(path):
    data = forged([("mercer.json", manifest(None, format=0, mercer="0.0.1"))])
    refused(data, path, r"format 0, written by mercer 0\.0\.1, .*Load it with mercer 0\.0\.1")


def test_an_older_format_is_brought_up_to_date(path, monkeypatch):
    def migration(old):
        return {**old, "format": 1, "value": {"tuple": old["value"]}}

    monkeypatch.setitem(persistence._MIGRATIONS, 0, migration)
    data = forged([("mercer.json", manifest([1, 2], format=0))])
    assert load_bytes(data, path) == (1, 2)


@pytest.mark.parametrize("writer", ["99.0", "0.1.0.dev1", "0.1rc1", "0.1.0", "unknown"])
def test_file_of_a_newer_or_unknown_version_warns(path, monkeypatch, writer):
    monkeypatch.setattr(mercer, "__version__", "0.1.0.dev0")
    data = manifest(of_class("mercer.kernels.Gaussian", {"bandwidth": 2.0}), mercer=writer)
    with warns(VersionWarning, path, writer, "0.1.0.dev0"):
        assert load_bytes(forged([("mercer.json", data)]), path) == Gaussian(2.0)


@pytest.mark.parametrize("writer", ["1.0", "1.2.0", "1.2.dev3", "1.2rc1", "1.2+local"])
def test_file_of_an_older_version_does_not_warn(path, monkeypatch, recwarn, writer):
    monkeypatch.setattr(mercer, "__version__", "1.2")
    data = manifest(of_class("mercer.kernels.Gaussian", {"bandwidth": 2.0}), mercer=writer)
    assert load_bytes(forged([("mercer.json", data)]), path) == Gaussian(2.0)
    assert not recwarn


def class_names(node):
    if isinstance(node, list):
        return {name for item in node for name in class_names(item)}
    if not isinstance(node, dict):
        return set()
    ((tag, content),) = node.items()
    if tag == "object":
        return {content[0]}.union(*(class_names(item) for item in content[1].values()))
    return class_names(content)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_saved_files_hold_no_module_paths(path):
    estimators = [
        make_pipeline(StandardScaler(), mercer.KernelPCA(2, kernel=2.0 * Gaussian(1.0))).fit(X),
        mercer.KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(5)).partial_fit(X),
        mercer.EntropyClustering(2, kernel=Gaussian(1.0)).fit(X),
        mercer.MercerMixture(2, kernel=Gaussian(1.0), alpha=0.1).fit(X),
        mercer.ParzenDensity(solver="fourier").fit(X),
    ]
    mercer.save(estimators, path)
    (_, text), *_ = members_of(path.read_bytes())
    names = class_names(json.loads(text)["value"])
    assert {"mercer.KernelPCA", "mercer.Spectrum", "mercer.kernels.Gaussian"} <= names
    assert names <= set(classes.CLASSES)
    homes = {module for module, _ in classes.CLASSES.values()}
    inner = {home for home in homes if home.startswith("mercer.") and home.count(".") > 1}
    assert not [home for home in inner if home in str(text)]


def test_attributes_that_do_not_fit_are_told_with_the_writer(path):
    data = manifest(of_class("mercer.internal.Moments", {"total": 1.0}), mercer="99.0")
    refused(
        forged([("mercer.json", data)]), path, r"Moments lacks mean, scatter\. It was .* 99\.0, and"
    )


def test_a_parameter_that_the_writer_did_not_know_gets_its_default(path):
    state = {"n_components": 3, "kernel": "linear"}
    data = manifest(of_class("mercer.KernelECA", state))
    loaded = load_bytes(forged([("mercer.json", data)]), path)
    assert loaded.get_params() == mercer.KernelECA(3, kernel="linear").get_params()


def test_another_version_of_scikit_learn_is_told(path):
    mercer.save(make_pipeline(StandardScaler(), mercer.KernelPCA()), path)
    (name, text), *others = members_of(path.read_bytes())
    old = {**json.loads(text), "scikit-learn": "0.1"}
    path.write_bytes(forged([(name, json.dumps(old).encode()), *others]))
    with pytest.warns(VersionWarning, match=r"scikit-learn 0\.1 .*StandardScaler"):
        mercer.load(path)


def test_a_model_of_mercer_alone_does_not_care_about_scikit_learn(path, recwarn):
    mercer.save(mercer.KernelPCA(), path)
    (name, text), *others = members_of(path.read_bytes())
    old = {**json.loads(text), "scikit-learn": "0.1"}
    path.write_bytes(forged([(name, json.dumps(old).encode()), *others]))
    mercer.load(path)
    assert not recwarn


def test_parts_can_be_read_without_mercer(path):
    mercer.save({"X": X}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        np.testing.assert_array_equal(np.load(archive.open("arrays/0.npy")), X)
        assert json.loads(archive.read("mercer.json"))["mercer"] == mercer.__version__


# --- half-written files --------------------------------------------------------------------------


def test_missing_folders_are_made_and_names_are_kept(tmp_path):
    mercer.save(Gaussian(1.0), str(tmp_path / "a" / "b" / "no suffix"))
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["no suffix"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.mercer").write_bytes(b"old")
    (tmp_path / "link.mercer").symlink_to(tmp_path / "real.mercer")
    mercer.save(Gaussian(1.0), tmp_path / "link.mercer")
    assert (tmp_path / "link.mercer").is_symlink()
    assert mercer.load(tmp_path / "real.mercer") == Gaussian(1.0)


def failing(folder, path):
    """The old file is still there, and nothing else."""
    assert [p.name for p in folder.iterdir()] == [path.name]
    assert mercer.load(path) == Gaussian(1.0)


def test_a_full_disk_leaves_the_old_file(path, tmp_path):
    mercer.save(Gaussian(1.0), path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="large") as caught:
            mercer.save(np.zeros(10**6), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    failing(tmp_path, path)


def test_a_disk_that_is_full_at_the_end_leaves_the_old_file(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        mercer.save(X, path)
    failing(tmp_path, path)


@pytest.mark.skipif(os.geteuid() == 0, reason="folders are never read-only for root")
def test_a_folder_that_is_read_only(path, tmp_path):
    mercer.save(Gaussian(1.0), path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            mercer.save(X, path)
    finally:
        tmp_path.chmod(0o700)
    failing(tmp_path, path)


def test_a_folder_that_refuses_new_files(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def denied(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("mercer.atomic_files.tempfile.mkstemp", denied)
    with pytest.raises(PermissionError):
        mercer.save(X, path)
    failing(tmp_path, path)


def test_an_interrupt_leaves_the_old_file(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mercer.save(X, path)
    failing(tmp_path, path)


def test_a_killed_process_leaves_the_old_file(path):
    """Killed while an array is half written."""
    mercer.save(Gaussian(1.0), path)
    code = (
        "import sys, time, numpy as np, mercer.persistence as persistence\n"
        "def half(member, array, **options):\n"
        "    member.write(b'0' * 10**7)\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(600)\n"
        "np.lib.format.write_array = half\n"
        "persistence.save(np.zeros(10**7), sys.argv[1])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"writing\n"
        child.kill()
        child.wait()
    assert mercer.load(path) == Gaussian(1.0)
    left = [p for p in path.parent.iterdir() if p != path]
    assert all(p.name.startswith(f".{path.name}-") for p in left)
    mercer.save(Gaussian(2.0), path)
    assert mercer.load(path) == Gaussian(2.0)


def test_many_threads_save_to_one_name(path):
    kernels = [Gaussian(float(i)) for i in range(8)]
    threads = [threading.Thread(target=mercer.save, args=(k, path)) for k in kernels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mercer.load(path) in kernels
    assert [p.name for p in path.parent.iterdir()] == [path.name]
