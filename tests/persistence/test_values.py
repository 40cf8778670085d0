"""Saved and loaded values are equal: arrays, collections, data frames, generators."""

import datetime
import zipfile
import zoneinfo
from collections import Counter, OrderedDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.kernels import Gaussian
from mercer.solvers import Nystrom
from tests.expectations import raises
from tests.persistence.comparison import RNG, X, assert_same, table, through_file

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")

ARRAYS = {
    "float": np.array([0.0, -0.0, np.nan, np.inf, 5e-324]),
    "half": np.arange(3, dtype=np.float16),
    "complex": np.array([1 + 2j, complex(np.nan, -0.0)]),
    "int": np.arange(6, dtype=np.int8).reshape(2, 3),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
    "bool": np.array([True, False]),
    "text": np.array(["", "α", "long text"]),
    "bytes": np.array([b"a", b"bc"]),
    "moments": np.array(["2024-01-01", "NaT"], dtype="datetime64[ns]"),
    "durations": np.array([1, 2], dtype="timedelta64[s]"),
    "records": np.array([(1, 2.0, "x")], dtype=[("a", "i4"), ("b", "f8"), ("c", "U3")]),
    "big-endian": np.arange(3, dtype=">f8"),
    "by columns": np.asfortranarray(RNG.normal(size=(3, 4))),
    "strided": RNG.normal(size=(6, 8))[::2, ::3],
    "scalar": np.array(3.5),
    "empty": np.empty((0, 5)),
    "empty by columns": np.empty((5, 0), order="F"),
    "broadcast": np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
    "read-only": np.frombuffer(b"12345678", dtype=np.float64),
    "objects": np.array([1, "a", None, (1, 2), {"b": np.nan}], dtype=object),
    "table of objects": np.array([["a", None], [1, 2.5]], dtype=object),
    "variable texts": np.array(["a", "a longer text"], dtype=np.dtypes.StringDType()),
    "missing texts": np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_preserved(name, path):
    assert_same(ARRAYS[name], through_file(ARRAYS[name], path))


def test_memory_map_is_saved_as_an_array(path, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    loaded = through_file(mapped, path)
    assert type(loaded) is np.ndarray
    np.testing.assert_array_equal(loaded, X)


VALUES = [
    *(None, True, 0, -(2**63), 2**63, -(10**5000), 0.1, -0.0, np.nan, np.inf, -np.inf, 5e-324),
    *("", "α\n\0", "\ud800", b"", bytes(range(256)), 1j, complex(-0.0, np.inf)),
    *((), (1, (2, [])), [], [[]], {}, {1: 2, "1": 3, (1, "a"): [4], None: 5, 2.5: {}}),
    *(set(), {1, "a", (2, 3), None, 2.5, b"x"}, frozenset(), frozenset({frozenset({1})})),
    *(slice(None), slice(1, None, -2), range(3, 9, 2), Decimal("1.10"), Fraction(1, 3)),
    *(Counter("aab"), OrderedDict(b=1, a=2)),
    *(np.float64(0.1), np.float32(0.1), np.int64(3), np.bool_(True), np.str_("α"), np.str_("")),
    *(np.bytes_(b"a"), np.datetime64("NaT"), np.datetime64("2024-01-01"), np.timedelta64(3, "h")),
    *(np.complex64(1j), np.float64("nan"), np.longdouble("0.1"), ARRAYS["records"][0]),
    *(np.dtype("f4"), np.dtype(">i2"), np.dtype("U5"), ARRAYS["records"].dtype, np.dtype(object)),
    *(np.float64, np.int32, float, str, object),
    *(datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 1, 2, 3, 4, 5, fold=1)),
    *(datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.time(1, 2, 3)),
    datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    datetime.timezone(datetime.timedelta(hours=-3, minutes=-30), "there"),
    datetime.timedelta(-1, 2, 3),
    *(pd.NA, pd.NaT, pd.Timestamp("2024-01-01 12:00"), pd.Timedelta("1 day 3 s")),
    pd.Timestamp("2024-07-01", tz="Europe/Berlin"),
    *(np.random.RandomState(3), np.random.default_rng(4)),
    np.random.Generator(np.random.Philox(5)),
    np.random.RandomState(np.random.PCG64(6)),
    *(sp.csr_array(np.eye(3)), sp.csc_matrix(np.eye(2)), sp.coo_array(np.eye(2))),
    pd.Series([1.5, None], index=["a", "b"], name="s"),
    pd.Series([1, "a", None, np.nan], dtype=object),
    pd.Series(["a", None], dtype="string"),
    pd.Series([True, None], dtype="boolean"),
    pd.Series([1.5, None], dtype="Float32"),
    pd.Series(pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin")),
    pd.Series(pd.date_range("2024-01-01", periods=3, tz=datetime.UTC)),
    pd.Index([1, "a"], dtype=object, name=("x", 1)),
    pd.RangeIndex(3, 9, 2, name="r"),
    pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", None]),
    pd.CategoricalIndex(["a", "b"]),
    pd.DatetimeIndex(["2024-01-01", None]),
    pd.DataFrame(),
    pd.DataFrame(index=[1, 2]),
    pd.DataFrame([[1, 2.0]], columns=["twice", "twice"]),
    pd.CategoricalDtype(["b", "a"], ordered=True),
    table(),
]


@pytest.mark.parametrize("index", range(len(VALUES)))
def test_values_are_preserved(index, path):
    value = VALUES[index]
    loaded = through_file([value, {"again": value}], path)
    assert_same([value, {"again": value}], loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first


def test_random_generators_continue_after_loading(path):
    for rng in (np.random.default_rng(1), np.random.Generator(np.random.SFC64(2))):
        rng.normal(size=3)
        loaded = through_file(rng, path)
        assert rng.normal() == loaded.normal()
        assert rng.spawn(1)[0].normal() == loaded.spawn(1)[0].normal()
    old = np.random.RandomState(1)
    old.normal()  # caches a second normal number
    loaded = through_file(old, path)
    assert [old.normal(), old.normal()] == [loaded.normal(), loaded.normal()]


def test_loaded_frame_can_be_changed(path):
    loaded = through_file(table(), path)
    loaded.loc[3, "number"] = 7.0
    loaded["number"] += 1
    assert loaded.loc[3, "number"] == 8.0


def test_shared_objects_stay_shared(path):
    array, items = np.arange(3.0), [1]
    one, other, frame = through_file([[array, items], (items, array), {"a": array}], path)
    assert one[0] is other[1] is frame["a"]
    assert one[1] is other[0]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["mercer.json", "arrays/0.npy"]
    eca = mercer.KernelECA(kernel=Gaussian(1.0), solver=Nystrom(10)).partial_fit(X)
    loaded = through_file(eca, path)
    assert loaded._stream.points is loaded.spectrum_.points


def test_cycles_are_preserved_except_through_tuples(path):
    items = [1]
    items.append({"itself": items})
    loaded = through_file(items, path)
    assert loaded[1]["itself"] is loaded
    gaussian = Gaussian(1.0)
    gaussian.note = [gaussian]
    loaded = through_file(gaussian, path)
    assert loaded.note[0] is loaded
    knot = ([],)
    knot[0].append(knot)
    with raises(TypeError, "tuple[0][0]"):
        mercer.save(knot, path)


def test_size_does_not_grow_with_repeated_references(path):
    value = ()
    for _ in range(60):
        value = (value, value)
    mercer.save(value, path)
    assert path.stat().st_size < 10_000
    deepest = mercer.load(path)
    for _ in range(60):
        assert deepest[0] is deepest[1]
        deepest = deepest[0]


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
    st.dates(),
    st.decimals(allow_nan=False),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.str_, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
)
keys = st.one_of(
    st.none(), st.integers(), st.text(), st.binary(), st.tuples(st.integers(), st.text())
)
nested = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(keys, inner),
        st.lists(inner, min_size=1).map(lambda items: [items, items]),
        st.frozensets(keys),
        st.sets(keys),
        st.lists(st.floats(), max_size=6).map(np.array),
        st.builds(Gaussian, inner),
    ),
    max_leaves=20,
)


@settings(deadline=None, max_examples=60)
@given(nested)
def test_random_nested_values_are_preserved(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "nested.mercer"
    loaded = through_file(value, path)
    assert_same(value, loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first
