"""Model files: what is loaded is what was saved, and whatever else is in a file is refused."""

import datetime
import os
import re
import struct
import subprocess
import sys
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
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer.domains import Box, FiniteSpace, GaussianBase
from mercer.kernels import (
    Categorical,
    Epanechnikov,
    Gaussian,
    Graph,
    Hamming,
    Jaccard,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    NGram,
    On,
    Polynomial,
    table_kernel,
)
from mercer.population import Empirical, Mixture, Normal, Product, Uniform
from mercer.solvers import Dense, Fourier, Lanczos, Nystrom

pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning"),
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
NEW = RNG.normal(size=(7, 2))
LABELS = np.where(X[:, 0] > 0, "right", "left")
VALUES = X @ [1.0, 2.0]
WEIGHTS = RNG.integers(0, 3, size=40).astype(float)


# --- tools -----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def through_file(value, path, **options):
    mercer.save(value, path)
    return mercer.load(path, **options)


def assert_same(a, b, where="it", met=None):
    """Equal in every type, bit and share; what was compared once is not compared again."""
    met = {} if met is None else met
    if id(a) in met:
        assert met[id(a)][1] is b, f"{where} is shared before and not after"
        return
    assert type(a) is type(b), where
    if isinstance(a, list | dict | set | np.ndarray | BaseEstimator | Kernel):
        met[id(a)] = a, b
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        assert a.flags.writeable == b.flags.writeable, where
        if a.flags.c_contiguous or a.flags.f_contiguous:
            assert a.flags.f_contiguous == b.flags.f_contiguous, where
        if a.dtype.hasobject or a.dtype.kind == "T":
            for i, (one, other) in enumerate(zip(a.ravel(), b.ravel(), strict=True)):
                assert_same(one, other, f"{where}[{i}]", met)
        else:
            assert a.tobytes() == b.tobytes(), where
    elif isinstance(a, np.generic):
        assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes()), where
    elif isinstance(a, float):
        assert struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b), where
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{i}]", met)
    elif isinstance(a, dict):
        assert len(a) == len(b), where
        for (key, one), (other_key, other) in zip(a.items(), b.items(), strict=True):
            assert_same(key, other_key, f"{where} key {key!r}", met)
            assert_same(one, other, f"{where}[{key!r}]", met)
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b)
    elif isinstance(a, pd.Index):
        pd.testing.assert_index_equal(a, b)
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state(legacy=False), b.get_state(legacy=False), where)
    elif isinstance(a, np.random.Generator):
        assert_same(a.bit_generator.state, b.bit_generator.state, where)
    elif sp.issparse(a):
        assert a.shape == b.shape, where
        assert (a != b).nnz == 0, where
    elif isinstance(a, complex):
        assert_same([a.real, a.imag], [b.real, b.imag], where)
    elif type(a).__module__.startswith(("mercer", "sklearn", __name__)):
        assert list(vars(a)) == list(vars(b)), where
        for name, value in vars(a).items():
            assert_same(value, vars(b)[name], f"{where}.{name}", met)
    else:
        assert a is b or a == b, where


ANSWERS = ("transform", "predict", "predict_proba", "decision_function", "score_samples", "pdf")


def assert_identity(estimator, path, new=NEW):
    loaded = through_file(estimator, path)
    assert_same(estimator, loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first
    asked = 0
    for name in ANSWERS:
        if not hasattr(estimator, name):
            continue
        try:
            expected = getattr(estimator, name)(new)
        except ValueError as error:  # what has no answer has none after loading either
            with pytest.raises(type(error), match=re.escape(str(error))):
                getattr(loaded, name)(new)
            continue
        np.testing.assert_array_equal(getattr(loaded, name)(new), expected)
        asked += 1
    assert asked, "nothing was asked of the estimator"
    return loaded


# --- save and load is the identity -------------------------------------------------------------

SOLVERS = {
    "auto": "auto",
    "dense": Dense(),
    "lanczos": Lanczos(),
    "fourier": Fourier(),
    "nystrom": Nystrom(12, random_state=0),
}
KERNELS = {
    "name": "gaussian",
    "rule": Gaussian("silverman"),
    "per-column": Gaussian(np.array([1.0, 2.0])),
    "laplacian": Laplacian(1.5),
    "matern": Matern(1.0, nu=2.5),
    "linear": Linear(),
    "polynomial": Polynomial(2, constant=1.0),
    "sum": Gaussian(1.0) + 0.5 * Linear(),
    "nested": 2.0 * (Gaussian(1.0) * Matern(3.0) + Laplacian(2.0) * (Gaussian(0.3) + Linear())),
    "columns": On(0, Gaussian(1.0)) * On([1], Epanechnikov(9.0)),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("estimator", [mercer.KernelPCA, mercer.KernelECA])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_components_with_every_solver(estimator, solver, weights, path):
    fitted = estimator(2, kernel=Gaussian(1.0), solver=SOLVERS[solver])
    assert_identity(fitted.fit(X, sample_weight=weights), path)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", [mercer.KernelPCA, mercer.KernelECA])
def test_components_with_every_kernel(estimator, kernel, path):
    fitted = estimator(2, kernel=KERNELS[kernel])
    assert_identity(fitted.fit(X), path)
    loaded = through_file(KERNELS[kernel], path)
    assert loaded == KERNELS[kernel]


OTHERS = {
    "clustering": mercer.EntropyClustering(2, random_state=0),
    "clustering-auto": mercer.EntropyClustering("auto", bandwidths=[0.7, 1.0, 1.4]),
    "denoiser": mercer.KernelDenoiser(3, kernel=Gaussian(1.0)),
    "regressor": mercer.ComponentRegressor(4),
    "component-classifier": mercer.ComponentClassifier(4),
    "lda": mercer.KernelLDA(),
    "projection": mercer.MaximumEntropyProjection(2, max_iter=5, random_state=0),
    "projection-linear": mercer.MaximumEntropyProjection(output="standardized", max_iter=5),
    "series-orthogonal": mercer.OrthogonalSeries(),
    "parzen": mercer.ParzenDensity(),
    "parzen-learned": mercer.ParzenDensity(weights="learned"),
    "parzen-fourier": mercer.ParzenDensity(solver="fourier"),
    "series": mercer.SeriesDensity(),
    "series-fourier": mercer.SeriesDensity(solver="fourier"),
    "series-all": mercer.SeriesDensity(terms=None),
    "mixture": mercer.MercerMixture(2, random_state=0),
    "mixture-box": mercer.MercerMixture(domain=Box(-9, 9, n_nodes=100)),
    "mixture-base": mercer.MercerMixture(domain=GaussianBase(n_nodes=200)),
    "novelty": mercer.MercerNovelty(),
    "joint-classifier": mercer.JointMixtureClassifier(),
    "joint-regressor": mercer.JointMixtureRegressor(),
}


def fit(estimator, data=X):
    wants = {"ComponentRegressor": VALUES, "JointMixtureRegressor": VALUES}
    return estimator.fit(data, wants.get(type(estimator).__name__, LABELS))


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_estimator(name, path):
    assert_identity(fit(OTHERS[name]), path)


def test_no_estimator_is_forgotten():
    tried = {type(e).__name__ for e in OTHERS.values()} | {"KernelPCA", "KernelECA"}
    public = {name for name in mercer.estimators.__all__ if name[0].isupper()}
    offered = {n for n in public if issubclass(getattr(mercer.estimators, n), BaseEstimator)}
    assert offered - tried == set()


@pytest.mark.parametrize("name", OTHERS)
def test_unfitted(name, path):
    from sklearn.base import clone

    estimator = clone(OTHERS[name])
    assert_same(estimator, through_file(estimator, path))


@pytest.mark.parametrize(
    "solver",
    [Fourier(box=(-9, 9)), Nystrom(10, random_state=0), "auto"],
    ids=["fourier", "nystrom", "auto"],
)
@pytest.mark.parametrize("estimator", [mercer.KernelPCA, mercer.KernelECA])
def test_a_stream_goes_on_after_loading(estimator, solver, path):
    going = estimator(2, kernel=Gaussian(1.0), solver=solver, random_state=0).partial_fit(X[:20])
    loaded = assert_identity(going, path)
    going.partial_fit(X[20:], sample_weight=WEIGHTS[20:] + 1)
    loaded.partial_fit(X[20:], sample_weight=WEIGHTS[20:] + 1)
    # not to the bit: threads add trigonometric sums in any order
    np.testing.assert_allclose(loaded.eigenvalues_, going.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(loaded.transform(NEW), going.transform(NEW), atol=1e-9)


def test_precomputed(path):
    K = Gaussian(1.0)(X)
    fitted = mercer.KernelECA(kernel="precomputed").fit(K)
    assert_identity(fitted, path, Gaussian(1.0)(NEW, X))


def test_float32_stays_float32(path):
    fitted = mercer.KernelECA(kernel=Gaussian(1.0)).fit(X.astype(np.float32))
    assert_identity(fitted, path, NEW.astype(np.float32))


def table(n=30):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.integers(0, 9, size=n),
            "yes": rng.random(n) > 0.5,
            "label": rng.choice(["a", "b", "c"], size=n),
            "size": pd.Categorical(
                rng.choice(["small", "large"], size=n), ["small", "large"], ordered=True
            ),
            "colour": pd.Categorical(rng.choice(["red", "blue"], size=n)),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, size=n), "D"),
            "nullable": pd.array(rng.integers(0, 5, size=n), dtype="Int64"),
            "text": [" ".join(rng.choice(["one", "two", "three", "four"], 5)) for _ in range(n)],
        }
    )
    for i, column in enumerate(["number", "label", "size", "day", "nullable", "text"]):
        frame.loc[i, column] = None
    return frame


@pytest.mark.parametrize("estimator", [mercer.KernelECA(), mercer.KernelLDA()], ids=["eca", "lda"])
def test_tables(estimator, path):
    frame = table()
    estimator = estimator.set_params(kernel=table_kernel(frame))
    fitted = estimator.fit(frame, LABELS[:30])
    fresh = table().iloc[::-1].reset_index(drop=True)
    assert_identity(fitted, path, fresh)


def test_texts_sets_graphs_and_bags(path):
    triangle, line = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
    data = {
        "texts": (NGram(2), ["kernel", "kernels", "colonel", "matrix", ""]),
        "array of texts": (NGram(2), np.array(["kernel", "kernels", "colonel", "matrix"])),
        "sets": (Jaccard(), [{1, 2}, {2, 3, "x"}, {(1, 2)}, frozenset({3})]),
        "bags": (MinMax(), [Counter("abca"), Counter("aab"), {"a": 2.0, "c": 1.0}]),
        "rows": (Hamming(0.5), [["a", 1], ["b", 1], ["a", 2]]),
        "graphs": (
            Graph(1),
            [triangle, (line, "CCO"), (triangle, {0: "a", 1: None, 2: 3}), np.eye(3, k=1)],
        ),
        "sparse graphs": (Graph(1), [sp.csr_array(np.eye(4, k=1)), sp.coo_array(np.eye(3, k=1))]),
    }
    for name, (kernel, objects) in data.items():
        fitted = mercer.KernelPCA(1, kernel=kernel).fit(objects)
        assert assert_identity(fitted, path, objects[:2]), name


def test_graphs_of_networkx(path):
    nx = pytest.importorskip("networkx")
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.MultiDiGraph([("a", "b"), ("a", "b")])]
    graphs[0].nodes[1]["label"] = "C"
    list(graphs[0].nodes), list(graphs[0].edges)  # leaves views in the graph
    fitted = mercer.KernelPCA(1, kernel=Graph(1)).fit(graphs)
    loaded = through_file(fitted, path)
    np.testing.assert_array_equal(loaded.transform(graphs), fitted.transform(graphs))
    for one, other in zip(graphs, loaded.spectrum_.points.data, strict=True):
        assert nx.utils.graphs_equal(one, other)
        assert list(one.nodes) == list(other.nodes)


def test_a_finite_space(path):
    space = FiniteSpace(["red", "green", "blue"])
    mixture = mercer.MercerMixture(kernel=Categorical(0.5), alpha=2.0, domain=space)
    assert_identity(mixture.fit(["red", "red", "green", "red"]), path, ["red", "blue"])


def test_pipelines(path):
    numbers = make_pipeline(StandardScaler(), RobustScaler(), mercer.KernelECA(2))
    assert_identity(numbers.fit(X), path)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), [0, 5]),
            ("labels", OneHotEncoder(handle_unknown="ignore"), ["label"]),
            ("order", OrdinalEncoder(), [4]),
            ("same", FunctionTransformer(), ["count"]),
            ("kept", "passthrough", ["yes"]),
        ],
        remainder="drop",
    )
    frame = table().drop(columns=["nullable", "text", "day"])
    frame["colour"] = np.where(np.isnan(frame["number"]), np.nan, 1.0)
    frame["size"] = frame["size"].astype(object).where(frame["size"].notna(), "none")
    frame["label"] = frame["label"].astype(object).where(frame["label"].notna(), "none")
    whole = Pipeline([("columns", columns), ("lda", mercer.KernelLDA())])
    whole.fit(frame, LABELS[:30])
    assert_identity(whole, path, frame.iloc[:5])
    passing = ColumnTransformer([("scaled", StandardScaler(), [0])], remainder="passthrough")
    assert_identity(make_pipeline(passing, mercer.KernelPCA(1)).fit(X), path)
    framed = make_pipeline(StandardScaler(), mercer.KernelPCA(1)).set_output(transform="pandas")
    assert_identity(framed.fit(pd.DataFrame(X, columns=["a", "b"])), path, table_of(NEW))


def test_models_of_raw_rows(path):
    from mercer.datasets import make_machines
    from mercer.tables import modelling, read_table

    wine = modelling(read_table("wine"))
    fitted = wine.pipeline(mercer.KernelECA(2, kernel=wine.kernel)).fit(wine.table.frame)
    assert_identity(fitted, path, wine.table.frame.iloc[:5])
    machines, _ = make_machines(random_state=0)
    pd.DataFrame(machines).to_csv(path.with_suffix(".csv"), index=False)
    mixed = modelling(read_table(path.with_suffix(".csv")))
    fitted = mixed.pipeline(mercer.KernelPCA(2, kernel=mixed.kernel)).fit(mixed.table.frame)
    assert_identity(fitted, path, mixed.table.frame.iloc[:5])


def table_of(rows):
    return pd.DataFrame(rows, columns=["a", "b"])


def test_measures(path):
    law = Mixture(
        [0.3, 0.7], [Normal([0.0, 1.0], np.eye(2)), Product([Uniform(0, 1), Empirical(X[:, :1])])]
    )
    assert_same(law, through_file(law, path))


def test_equal_values_give_equal_files(path):
    """Also in processes with other hashes, and after the detour of loading."""
    code = (
        "import sys\n"
        "from mercer.persistence import save, load\n"
        "sets = [{'a', 'b', 3}, {'c', ('d', 4), 'a'}, frozenset({'x', frozenset('yz'), 'a'})]\n"
        "save(sets, sys.argv[1])\n"
        "save(load(sys.argv[1]), sys.argv[2])\n"
    )
    files = set()
    for seed in ("1", "2", "3"):
        names = [path, path.with_name("again")]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, *map(str, names)], check=True, env=environment)
        files |= {name.read_bytes() for name in names}
    assert len(files) == 1


def test_loading_in_a_fresh_process(path, tmp_path):
    """Which imports nothing but mercer."""
    frame = table()
    fitted = mercer.KernelECA(2, kernel=table_kernel(frame)).fit(frame)
    mercer.save(fitted, path)
    mercer.save(frame, tmp_path / "frame.mercer")
    code = (
        "import sys, mercer\n"
        "estimator, frame = (mercer.load(name) for name in sys.argv[1:3])\n"
        "mercer.save(estimator.transform(frame), sys.argv[3])\n"
    )
    names = [path, tmp_path / "frame.mercer", tmp_path / "answer.mercer"]
    subprocess.run([sys.executable, "-c", code, *map(str, names)], check=True)
    np.testing.assert_array_equal(mercer.load(names[2]), fitted.transform(frame))


# --- values ----------------------------------------------------------------------------------

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
def test_arrays(name, path):
    assert_same(ARRAYS[name], through_file(ARRAYS[name], path))


def test_a_memory_map_is_saved_as_its_content(path, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    loaded = through_file(mapped, path)
    assert type(loaded) is np.ndarray
    np.testing.assert_array_equal(loaded, X)


VALUES_OF_ALL_KINDS = [
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


@pytest.mark.parametrize("number", range(len(VALUES_OF_ALL_KINDS)))
def test_values(number, path):
    value = VALUES_OF_ALL_KINDS[number]
    loaded = through_file([value, {"again": value}], path)
    assert_same([value, {"again": value}], loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first


def test_generators_go_on_alike(path):
    for rng in (np.random.default_rng(1), np.random.Generator(np.random.SFC64(2))):
        rng.normal(size=3)
        loaded = through_file(rng, path)
        assert rng.normal() == loaded.normal()
        assert rng.spawn(1)[0].normal() == loaded.spawn(1)[0].normal()
    old = np.random.RandomState(1)
    old.normal()  # leaves a second normal number behind
    loaded = through_file(old, path)
    assert [old.normal(), old.normal()] == [loaded.normal(), loaded.normal()]


def test_a_loaded_frame_can_be_changed(path):
    loaded = through_file(table(), path)
    loaded.loc[3, "number"] = 7.0
    loaded["number"] += 1
    assert loaded.loc[3, "number"] == 8.0


def test_what_is_shared_stays_shared(path):
    array, items = np.arange(3.0), [1]
    one, other, frame = through_file([[array, items], (items, array), {"a": array}], path)
    assert one[0] is other[1] is frame["a"]
    assert one[1] is other[0]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["mercer.json", "arrays/0.npy"]
    eca = mercer.KernelECA(kernel=Gaussian(1.0), solver=Nystrom(10)).partial_fit(X)
    loaded = through_file(eca, path)
    assert loaded._stream.points is loaded.spectrum_.points


def test_cycles(path):
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
    with pytest.raises(TypeError, match="contains itself"):
        mercer.save(knot, path)


def test_shared_parts_do_not_multiply(path):
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


@settings(deadline=None, max_examples=150)
@given(nested)
def test_random_nested_values(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "nested.mercer"
    loaded = through_file(value, path)
    assert_same(value, loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first
