"""Saved and loaded estimators have the same attributes and results."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
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
from mercer.density.stacked_density import SelectedGaussianMixture
from mercer.domains import Box, FiniteSpace, GaussianBase
from mercer.kernels import (
    Categorical,
    Epanechnikov,
    Gaussian,
    Graph,
    Hamming,
    Jaccard,
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
from tests.persistence.comparison import (
    NEW,
    X,
    assert_identity,
    assert_same,
    table,
    through_file,
)

pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning"),
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
]

LABELS = np.where(X[:, 0] > 0, "right", "left")
VALUES = X @ [1.0, 2.0]
WEIGHTS = np.random.default_rng(0).integers(0, 3, size=40).astype(float)

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
def test_components_of_every_solver_are_preserved(estimator, solver, weights, path):
    fitted = estimator(2, kernel=Gaussian(1.0), solver=SOLVERS[solver])
    assert_identity(fitted.fit(X, sample_weight=weights), path)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", [mercer.KernelPCA, mercer.KernelECA])
def test_components_of_every_kernel_are_preserved(estimator, kernel, path):
    fitted = estimator(2, kernel=KERNELS[kernel])
    assert_identity(fitted.fit(X), path)
    loaded = through_file(KERNELS[kernel], path)
    assert loaded == KERNELS[kernel]


OTHERS = {
    "robust": mercer.RobustKernelPCA(2, kernel=Polynomial(2)),
    "clustering with means": mercer.EntropyClustering(2, kernel=Gaussian(1.0), isolated="nearest"),
    "series by eigenvalue": mercer.SeriesDensity(
        kernel=Gaussian(0.5), components=[0, 2], weights="learned"
    ),
    "clustering": mercer.EntropyClustering(2, random_state=0),
    "spectral clustering": mercer.SpectralClustering(2, noise=0.1),
    "clustering-auto": mercer.EntropyClustering("auto", bandwidths=[0.7, 1.0, 1.4]),
    "denoiser": mercer.KernelDenoiser(3, kernel=Gaussian(1.0)),
    "regressor": mercer.ComponentRegressor(4),
    "component-classifier": mercer.ComponentClassifier(4),
    "lda": mercer.KernelLDA(),
    "projection": mercer.MaximumEntropyProjection(2, max_iter=5, random_state=0),
    "projection-linear": mercer.MaximumEntropyProjection(output="standardized", max_iter=5),
    "series-orthogonal": mercer.OrthogonalSeries(),
    "parzen": mercer.ParzenDensity(),
    "parzen-bounded": mercer.ParzenDensity(support=(-1000, 1000)),
    "parzen-adaptive": mercer.ParzenDensity(adaptive=True),
    "parzen-shape": mercer.ParzenDensity(adaptive="shape"),
    "parzen-metric": mercer.ParzenDensity(kernel=Gaussian(metric="covariance")),
    "stacked": mercer.StackedDensity(
        [("parzen", mercer.ParzenDensity()), ("mixture", SelectedGaussianMixture(2))]
    ),
    "parzen-learned": mercer.ParzenDensity(weights="learned"),
    "parzen-fourier": mercer.ParzenDensity(solver="fourier"),
    "series": mercer.SeriesDensity(),
    "series-fourier": mercer.SeriesDensity(solver="fourier"),
    "series-all": mercer.SeriesDensity(terms=None),
    "mixture": mercer.MercerMixture(2, random_state=0),
    "mixture-box": mercer.MercerMixture(domain=Box(-9, 9, n_nodes=100)),
    "mixture-base": mercer.MercerMixture(domain=GaussianBase(n_nodes=200)),
    "novelty-mixture": mercer.KernelNovelty(statistic="mixture"),
    "kernel-novelty": mercer.KernelNovelty(),
    "joint-classifier": mercer.JointMixtureClassifier(),
    "joint-density": mercer.JointMixtureDensity(),
    "joint-regressor": mercer.JointMixtureRegressor(),
}


def fit(estimator, data=X):
    targets = {"ComponentRegressor": VALUES, "JointMixtureRegressor": VALUES}
    targets["JointMixtureDensity"] = VALUES
    return estimator.fit(data, targets.get(type(estimator).__name__, LABELS))


@pytest.mark.parametrize("name", OTHERS)
def test_other_estimators_are_preserved(name, path):
    assert_identity(fit(OTHERS[name]), path)


def test_every_public_estimator_is_tested():
    tested = {type(e).__name__ for e in OTHERS.values()} | {"KernelPCA", "KernelECA"}
    tested.add("ProcessMonitor")  # needs 50 rows: tests/monitoring/test_process_monitor.py
    public = {name for name in mercer.__all__ if name[0].isupper()}
    estimators = {n for n in public if issubclass(getattr(mercer, n), BaseEstimator)}
    assert estimators - tested == set()


@pytest.mark.parametrize("name", OTHERS)
def test_unfitted_estimators_are_preserved(name, path):
    from sklearn.base import clone

    estimator = clone(OTHERS[name])
    assert_same(estimator, through_file(estimator, path))


@pytest.mark.parametrize(
    "solver",
    [Fourier(box=(-9, 9)), Nystrom(10, random_state=0), "auto"],
    ids=["fourier", "nystrom", "auto"],
)
@pytest.mark.parametrize("estimator", [mercer.KernelPCA, mercer.KernelECA])
def test_partial_fit_continues_after_loading(estimator, solver, path):
    model = estimator(2, kernel=Gaussian(1.0), solver=solver, random_state=0).partial_fit(X[:20])
    loaded = assert_identity(model, path)
    model.partial_fit(X[20:], sample_weight=WEIGHTS[20:] + 1)
    loaded.partial_fit(X[20:], sample_weight=WEIGHTS[20:] + 1)
    # threads add trigonometric sums in varying order
    np.testing.assert_allclose(loaded.eigenvalues_, model.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(loaded.transform(NEW), model.transform(NEW), atol=1e-9)


def test_precomputed_kernels_are_preserved(path):
    K = Gaussian(1.0)(X)
    fitted = mercer.KernelECA(kernel="precomputed").fit(K)
    assert_identity(fitted, path, Gaussian(1.0)(NEW, X))


def test_float32_stays_float32(path):
    fitted = mercer.KernelECA(kernel=Gaussian(1.0)).fit(X.astype(np.float32))
    assert_identity(fitted, path, NEW.astype(np.float32))


@pytest.mark.parametrize("estimator", [mercer.KernelECA(), mercer.KernelLDA()], ids=["eca", "lda"])
def test_models_of_data_frames_are_preserved(estimator, path):
    frame = table()
    estimator = estimator.set_params(kernel=table_kernel(frame))
    fitted = estimator.fit(frame, LABELS[:30])
    fresh = table().iloc[::-1].reset_index(drop=True)
    assert_identity(fitted, path, fresh)


def test_models_of_strings_sets_and_graphs_are_preserved(path):
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


def test_models_of_networkx_graphs_are_preserved(path):
    nx = pytest.importorskip("networkx")
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.MultiDiGraph([("a", "b"), ("a", "b")])]
    graphs[0].nodes[1]["label"] = "C"
    list(graphs[0].nodes), list(graphs[0].edges)  # the graph caches these views
    fitted = mercer.KernelPCA(1, kernel=Graph(1)).fit(graphs)
    loaded = through_file(fitted, path)
    np.testing.assert_array_equal(loaded.transform(graphs), fitted.transform(graphs))
    for one, other in zip(graphs, loaded.spectrum_.points.data, strict=True):
        assert nx.utils.graphs_equal(one, other)
        assert list(one.nodes) == list(other.nodes)


def test_finite_spaces_are_preserved(path):
    space = FiniteSpace(["red", "green", "blue"])
    mixture = mercer.MercerMixture(kernel=Categorical(0.5), alpha=2.0, domain=space)
    assert_identity(mixture.fit(["red", "red", "green", "red"]), path, ["red", "blue"])


def test_pipelines_are_preserved(path):
    numbers = make_pipeline(StandardScaler(), RobustScaler(), mercer.KernelECA(2))
    assert_identity(numbers.fit(X), path)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()), [0, 5]),
            ("labels", OneHotEncoder(handle_unknown="ignore"), ["label"]),
            ("order", OrdinalEncoder(), [4]),
            ("same", FunctionTransformer(), ["count"]),
            ("passed", "passthrough", ["yes"]),
        ],
        remainder="drop",
    )
    frame = table().drop(columns=["nullable", "text", "day"])
    frame["color"] = np.where(np.isnan(frame["number"]), np.nan, 1.0)
    frame["size"] = frame["size"].astype(object).where(frame["size"].notna(), "none")
    frame["label"] = frame["label"].astype(object).where(frame["label"].notna(), "none")
    whole = Pipeline([("columns", columns), ("lda", mercer.KernelLDA())])
    whole.fit(frame, LABELS[:30])
    assert_identity(whole, path, frame.iloc[:5])
    passing = ColumnTransformer([("scaled", StandardScaler(), [0])], remainder="passthrough")
    assert_identity(make_pipeline(passing, mercer.KernelPCA(1)).fit(X), path)
    framed = make_pipeline(StandardScaler(), mercer.KernelPCA(1)).set_output(transform="pandas")
    assert_identity(framed.fit(pd.DataFrame(X, columns=["a", "b"])), path, table_of(NEW))


def test_pipelines_of_tables_are_preserved(path):
    from mercer.datasets import make_machines
    from mercer.tables import prepare, read_table

    wine = prepare(read_table("wine"))
    fitted = wine.pipeline(mercer.KernelECA(2, kernel=wine.kernel)).fit(wine.table.frame)
    assert_identity(fitted, path, wine.table.frame.iloc[:5])
    machines, _ = make_machines(random_state=0)
    pd.DataFrame(machines).to_csv(path.with_suffix(".csv"), index=False)
    mixed = prepare(read_table(path.with_suffix(".csv")))
    fitted = mixed.pipeline(mercer.KernelPCA(2, kernel=mixed.kernel)).fit(mixed.table.frame)
    assert_identity(fitted, path, mixed.table.frame.iloc[:5])


def table_of(rows):
    return pd.DataFrame(rows, columns=["a", "b"])


def test_measures_are_preserved(path):
    measure = Mixture(
        [0.3, 0.7], [Normal([0.0, 1.0], np.eye(2)), Product([Uniform(0, 1), Empirical(X[:, :1])])]
    )
    assert_same(measure, through_file(measure, path))


def test_equal_values_give_equal_files(path):
    """Also in processes with other hashes, and after loading."""
    code = (
        "import sys\n"
        "from mercer.persistence import save, load\n"
        "sets = [{'a', 'b', 3}, {'c', ('d', 4), 'a'}, frozenset({'x', frozenset('yz'), 'a'})]\n"
        "save(sets, sys.argv[1])\n"
        "save(load(sys.argv[1]), sys.argv[2])\n"
    )
    files = set()
    for seed in ("1", "2"):
        names = [path, path.with_name("again")]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, *map(str, names)], check=True, env=environment)
        files |= {name.read_bytes() for name in names}
    assert len(files) == 1


def test_loading_in_a_new_process(path, tmp_path):
    """The process imports only mercer."""
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
