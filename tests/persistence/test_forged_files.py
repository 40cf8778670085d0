"""Forged model files, with a valid checksum."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.persistence.tree import DEEPEST
from tests.expectations import raises
from tests.fuzz.forging import claim, forged, manifest, members_of, npy, paths_in, signed
from tests.persistence.tools import X, assert_rejected, load_bytes, of_class


def loads_or_is_rejected(path):
    message = None
    try:
        mercer.load(path)
    except ValueError as error:
        message = str(error)
    assert message is None or str(path) in message


FIRST_ARRAY = {"array": [0, True]}
LONG = {"range": [0, 10**17, 1]}
LONG_INDEX = {"pandas range": [0, 10**17, 1, None]}
FORGED_VALUES = {
    "a function": of_class("os.system"),
    "a class that runs": of_class("subprocess.Popen", {"args": ["true"]}),
    "a module not loaded": of_class("antigravity.Anything"),
    "a function of mercer": of_class("mercer.utils.atomic_files.atomic_write"),
    "something that a module imports": of_class("mercer.decomposition.eca.np"),
    "a class of mercer that is not stored": of_class("mercer.data.ChunkedPoints"),
    "a class of the explorer": of_class("mercer.explorer.Session"),
    "a class that mercer does not have": of_class("mercer.kernels.Unknown"),
    "a path as package": of_class("mercer./etc.Gaussian"),
    "an unlisted class of scikit-learn": of_class("sklearn.cluster.KMeans"),
    "a builtin": of_class("builtins.eval"),
    "a number as class": of_class(3),
    "a list as class": {"object": [["os", "system"], {}]},
    "no attributes": {"object": ["mercer.kernels.Gaussian"]},
    "a list of attributes": {"object": ["mercer.kernels.Gaussian", [1]]},
    "a spectrum without fields": of_class("mercer.eigen.Spectrum", {"eigenvalues": None}),
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
    "an invalid int": {"int": "twelve"},
    "an invalid float": {"float": "1.5"},
    "a type of Python objects": {"scalar": [{"dtype": ["|O"]}, "0000000000000000"]},
    "too few bytes": {"scalar": [{"dtype": ["<f8"]}, "00"]},
    "a text of 4 GB": {"scalar": [{"dtype": ["<U1000000000"]}, "00"]},
    "an invalid type": {"dtype": ["import os"]},
    "a type with two parts": {"dtype": [None, None]},
    "a large pool": {"seed": [1, {"tuple": []}, 10**12, 0]},
    "an unknown generator": {"bits": ["PCG128", {}, None]},
    "a generator without state": {"bits": ["PCG64", {"dict": []}, None]},
    "a generator of something else": {"generator": [[]]},
    "an unknown sparse matrix": {"scipy sparse": ["dok_array", {"tuple": [2, 2]}, [], []]},
    "columns of different lengths": {"pandas frame": [[1], [], [], {"dict": []}]},
    "an unknown type of pandas": {"pandas eval": ["1"]},
    "invalid bytes": {"bytes": ["§"]},
    "a zone from a path": {"zone": ["../../../etc/passwd"]},
    "an invalid date": {"date": ["2024-02-30"]},
    "strings that are a list": {"strings": [[], True, False, None]},
    "a seed of objects": {"seed": [{"objects": [[1], [1], True]}, {"tuple": []}, 4, 0]},
    "a column that is a list": {"pandas series": [[1], None, None]},
    "categories that are a list": {
        "pandas values": ["categories", {"objects": [[0], [], True]}, ["a"], False]
    },
    # libraries would expand these ranges
    "a seed of a long range": {"seed": [LONG, {"tuple": []}, 4, 0]},
    "a seed that holds a long range": {"seed": [[LONG], {"tuple": []}, 4, 0]},
    "a generator in the state of a long range": {
        "bits": ["MT19937", {"dict": [["state", {"dict": [["key", LONG], ["pos", 1]]}]]}, None]
    },
    "counts of a long range": {"counter": [LONG]},
    "pairs of a long range": {"ordered": [LONG]},
    "texts of a long range": {"strings": [LONG, True, False, None]},
    "a sparse matrix of a long range": {
        "scipy sparse": ["coo_array", {"tuple": [2]}, LONG, {"tuple": [LONG]}]
    },
    "a column of a long range": {"pandas series": [LONG_INDEX, LONG_INDEX, None]},
    "a column whose form is a long range": {"pandas values": [LONG_INDEX, [], "python", True]},
    "texts that hold a long range": {"pandas values": ["texts", [LONG_INDEX], "python", True]},
    "codes of a long range": {"pandas values": ["categories", LONG_INDEX, ["a"], False]},
    "moments of a long range": {"pandas values": ["moments", LONG_INDEX, "UTC", None]},
    "levels of a long range": {"pandas levels": [[LONG_INDEX], [{"objects": [[0], [], True]}], []]},
}


@pytest.mark.parametrize("name", FORGED_VALUES)
def test_forged_values_are_rejected(name, path):
    before = set(sys.modules)
    data = forged([("mercer.json", manifest(FORGED_VALUES[name]))])
    assert_rejected(data, path)
    new = {module.partition(".")[0] for module in set(sys.modules) - before}
    assert not new & {"antigravity", "this", "turtle"}


def test_error_whose_message_cannot_be_formatted_is_reported(path):
    """The name of a graph type is a sum of kernels whose terms are a number."""
    pytest.importorskip("networkx")
    kernel = of_class("mercer.kernels.Sum", {"terms": 1})
    value = {"networkx graph": [kernel, {"dict": []}, [], []]}
    assert_rejected(forged([("mercer.json", manifest(value))]), path, "KeyError")


USES_OF_LONG_ARRAYS = {
    "coordinates": {
        "scipy sparse": ["coo_array", {"tuple": [3]}, FIRST_ARRAY, {"tuple": [{"again": 2}]}]
    },
    "one part of two": {
        "scipy sparse": ["csr_array", {"tuple": [3]}, FIRST_ARRAY, {"tuple": [{"again": 2}]}]
    },
    "a seed": {"seed": [FIRST_ARRAY, {"tuple": []}, 4, 0]},
    "texts": {"strings": [FIRST_ARRAY, True, False, None]},
    "codes": {"pandas values": ["categories", FIRST_ARRAY, None, False]},
    "a column": {"pandas series": [FIRST_ARRAY, {"pandas range": [0, 2, 1, None]}, None]},
}


@pytest.mark.parametrize("name", USES_OF_LONG_ARRAYS)
def test_arrays_of_very_many_empty_rows_are_rejected(name, path):
    """They take no space in a file, but iterating over them takes very long."""
    parts = [("mercer.json", manifest(USES_OF_LONG_ARRAYS[name]))]
    assert_rejected(forged([*parts, ("arrays/0.npy", claim((2**40, 0)))]), path)


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
def test_forged_arrays_are_rejected(name, path):
    data = manifest({"array": [0, True]})
    assert_rejected(forged([("mercer.json", data), ("arrays/0.npy", FORGED_ARRAYS[name])]), path)


FORGED_FILES = {
    "no text": [("arrays/0.npy", npy(X))],
    "the text last": [("arrays/0.npy", npy(X)), ("mercer.json", manifest({"array": [0, True]}))],
    "a path upwards": [("mercer.json", manifest(None)), ("../../x", b"")],
    "an absolute path": [("mercer.json", manifest(None)), ("/x/y", b"")],
    "an unused array": [("mercer.json", manifest(None)), ("arrays/0.npy", npy(X))],
    "a missing index": [("mercer.json", manifest({"array": [0, True]})), ("arrays/1.npy", npy(X))],
    "not JSON": [("mercer.json", b"{")],
    "not text": [("mercer.json", b"\xff\xfe\xfa")],
    "a list": [("mercer.json", b"[]")],
    "empty": [("mercer.json", b"{}")],
    "an invalid number of JSON": [("mercer.json", manifest(np.nan))],
    "a name twice": [("mercer.json", manifest(None)[:-1] + b', "format": 1}')],
    "a number of many digits": [("mercer.json", b'{"format": ' + b"9" * 10**5 + b"}")],
    "a format as text": [("mercer.json", manifest(None, format="1"))],
    "an invalid version": [("mercer.json", manifest(None, mercer=1))],
    "an invalid version of scikit-learn": [("mercer.json", manifest(None, **{"scikit-learn": 1}))],
    "no version of scikit-learn": [
        ("mercer.json", manifest(None).replace(b"scikit-learn", b"scikit"))
    ],
    "an invalid list of classes": [("mercer.json", manifest(None, borrowed=3))],
    "classes that are numbers": [("mercer.json", manifest(None, borrowed=[3]))],
    "very deep": [("mercer.json", b"[" * 10**5)],
    "very deep and closed": [("mercer.json", b"[" * 10**5 + b"]" * 10**5)],
}


@pytest.mark.parametrize("name", FORGED_FILES)
def test_forged_files_are_rejected(name, path):
    assert_rejected(forged(FORGED_FILES[name]), path)


def test_depth_of_nesting_is_limited(path):
    for depth, fine in ((DEEPEST - 1, True), (DEEPEST + 2, False)):
        value = None
        for _ in range(depth):
            value = [value]
        data = forged([("mercer.json", manifest(value))])
        if fine:
            assert load_bytes(data, path) == value
            mercer.save(value, path)
        else:
            assert_rejected(data, path, DEEPEST)
            with raises(TypeError, DEEPEST):
                mercer.save(value, path)


def test_compressed_members_are_rejected(path):
    bomb = npy(np.zeros(10**6))
    data = forged(
        [("mercer.json", manifest({"array": [0, True]})), ("arrays/0.npy", bomb)],
        zipfile.ZIP_DEFLATED,
    )
    assert len(data) < len(bomb) / 100
    assert_rejected(data, path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members_are_rejected(path):
    text = manifest({"array": [0, True]})
    assert_rejected(
        forged([("mercer.json", text), ("arrays/0.npy", npy(X)), ("arrays/0.npy", npy(-X))]),
        path,
    )


def test_overlapping_members_are_rejected(path):
    """Two entries of the directory refer to the same member."""
    text = manifest([{"array": [0, True]}, {"array": [1, True]}])
    data = forged(
        [("mercer.json", text), ("arrays/0.npy", npy(np.zeros(999))), ("arrays/1.npy", npy(X))]
    )
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    end = data.index(b"PK\x01\x02", start + 1)
    entry = data[start:end]
    last = data.index(b"PK\x05\x06")
    twice = data[:end] + entry.replace(b"arrays/0", b"arrays/1") + data[last:]
    assert_rejected(signed(twice), path)


def test_members_before_the_beginning_are_rejected(path, model):
    """The offset that zipfile computes from the directory can be made negative."""
    data = bytearray(model)
    size_of_directory = data.rindex(b"PK\x05\x06") + 12
    data[size_of_directory + 1] ^= 1
    assert_rejected(signed(bytes(data)), path)
    data = bytearray(model)
    data[size_of_directory + 7] ^= 1  # the offset of the directory
    assert_rejected(signed(bytes(data)), path)


def test_swapped_members_are_rejected(path, model):
    """The checksum covers the whole file, not each member."""
    text, first, second, *others = members_of(model)
    names = [text, (first[0], second[1]), (second[0], first[1]), *others]
    assert_rejected(forged(names)[:-64] + model[-64:], path)


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
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_forged_tree_loads_or_is_rejected(tmp_path_factory, model, data):
    """Loading returns a value or raises ValueError."""
    (name, text), *others = members_of(model)
    tree = json.loads(text)
    for _ in range(data.draw(st.integers(1, 3))):
        *steps, last = data.draw(st.sampled_from(list(paths_in(tree))[1:]))
        node = tree
        for step in steps:
            node = node[step]
        node[last] = data.draw(st.one_of(leaves, st.lists(leaves, max_size=3)))
    path = tmp_path_factory.getbasetemp() / "forged.mercer"
    path.write_bytes(forged([(name, json.dumps(tree).encode()), *others]))
    loads_or_is_rejected(path)


@pytest.mark.filterwarnings("ignore::mercer.errors.VersionWarning")
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_forged_bytes_load_or_are_rejected(tmp_path_factory, model, data):
    """Some bytes are changed, and the checksum is updated."""
    changed = bytearray(model)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.floats(0, 1, exclude_max=True))
        near_end = data.draw(st.booleans())
        length = 4000 if near_end else len(changed)
        changed[len(changed) - 1 - int(position * length)] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "forged-bytes.mercer"
    path.write_bytes(signed(bytes(changed)))
    loads_or_is_rejected(path)
