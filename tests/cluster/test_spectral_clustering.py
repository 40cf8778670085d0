"""SpectralClustering against a naive computation, and its behavior on all kinds of data."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer import SpectralClustering
from mercer.cluster.graphs import conductances, unit_rows
from mercer.datasets import make_rings
from mercer.kernels import (
    Gaussian,
    Jaccard,
    Linear,
    Neighbors,
    NGram,
    SelfTuning,
)
from mercer.solvers import Arpack, Dense, Lanczos
from tests.cluster.clustering_cases import blobs, same_partition
from tests.expectations import raises

pytestmark = pytest.mark.usefixtures("one_thread")

FIXED = [SelfTuning(7), Neighbors(7), Neighbors(7, mode="weighted", mutual=True), Gaussian(1.0)]
fixed = pytest.mark.parametrize("kernel", FIXED, ids=repr)
SIZES = (25, 18, 12)
TRUTH = np.repeat([0, 1, 2], SIZES)
SEPARATED = blobs(0, SIZES, spread=0.3)
OVERLAPPING = blobs(1, SIZES, spread=1.0)


# --- independent computations -------------------------------------------------------------------


def naive_radii(squares, count):
    """Return squared distances to the neighbor of this order, for rows without copies."""
    return np.sort(squares, axis=1)[:, count]


def naive_kernel(kernel, X, k=0):
    """Return K without its diagonal, by the formulas.

    Graphs have the edges of a spanning tree, unless there are at most k components, and all are
    larger than a neighborhood.
    """
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    if isinstance(kernel, Gaussian):
        K = np.exp(-squares / (2 * kernel.bandwidth**2))
    else:
        radii = naive_radii(squares, kernel.n_neighbors)
        K = np.exp(-squares / np.sqrt(np.outer(radii, radii)))
        if isinstance(kernel, Neighbors):
            near = squares <= radii[:, None] * (1 + 1e-12)
            near = near & near.T if kernel.mutual else (near.astype(float) + near.T) / 2
            weights = K if kernel.mode == "weighted" else np.ones_like(K)
            tree = minimum_spanning_tree(squares).toarray() > 0
            sizes = np.bincount(connected_components(near)[1])
            connect = len(sizes) > k or sizes.min() <= kernel.n_neighbors
            K = np.maximum(near * weights, connect * (tree | tree.T) * weights)
    np.fill_diagonal(K, 0)
    return K


def naive_clustering(K, k):
    """Cluster as Ng, Jordan and Weiss, with dense matrices."""
    roots = np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(K / np.outer(roots, roots))
    Z = vectors[:, ::-1][:, :k]
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    return KMeans(k, n_init=50, random_state=1).fit(Z).labels_, values[::-1][:k]


@fixed
def test_fixed_kernels_equal_the_naive_clustering(kernel):
    X = OVERLAPPING
    labels, values = naive_clustering(naive_kernel(kernel, X, 3), 3)
    model = SpectralClustering(3, kernel=kernel).fit(X)
    assert_allclose(model.spectrum_.eigenvalues, values, atol=1e-8)
    same_partition(model.labels_, labels)
    assert model.path_ == []
    assert np.isnan(model.confidence_)


def test_conductances_equal_sums_over_pairs(rng):
    W = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.4), 1)
    W = W + W.T
    W[11] = W[:, 11] = 0  # an isolated node: a cluster without edges
    labels = np.append(rng.integers(0, 3, 11), 3)
    expected = []
    for c in range(3):
        inside = sum(W[i, j] for i in range(12) for j in range(12) if labels[i] == labels[j] == c)
        volume = sum(W[i, j] for i in range(12) for j in range(12) if labels[i] == c)
        expected.append((volume - inside) / volume)
    assert_allclose(conductances(csr_array(W), labels, 4), [*expected, 1.0], rtol=1e-12)


def test_unit_rows_keep_zero_rows():
    assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]])


def test_costs_are_mean_conductances_on_the_mutual_graph():
    X = OVERLAPPING
    W = naive_kernel(Neighbors(10, mutual=True), X)
    model = SpectralClustering(3).fit(X)
    order = np.lexsort(X.T[::-1])  # rows are compared in lexicographic order
    for record in model.path_:
        labels = np.empty(len(X), dtype=int)
        labels[order] = record.labels
        cost = conductances(csr_array(W), labels, 3).mean()
        assert record.cost == pytest.approx(cost, rel=1e-9)
    *graphs, compact = model.path_
    best = min(graphs, key=lambda record: record.cost)
    chosen = best if compact.cost > 1.5 * best.cost else compact
    assert_array_equal(model.labels_[order], chosen.labels)
    assert repr(model.kernel_) == repr(chosen.kernel)


# --- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["auto", *FIXED], ids=repr)
def test_labels_are_exact_on_separated_data(kernel):
    model = SpectralClustering(3, kernel=kernel).fit(SEPARATED)
    same_partition(model.labels_, TRUTH)
    assert model.n_clusters_ == 3
    assert_array_equal(np.unique(model.labels_), [0, 1, 2])


def test_separate_components_are_not_connected():
    """An edge between them would cost more than to cut the long and thin one."""
    line = np.column_stack([np.linspace(0, 100, 500), np.zeros(500)])
    X = np.concatenate([line, np.random.default_rng(0).normal([50, 10], 0.5, size=(30, 2))])
    model = SpectralClustering(2, kernel=Neighbors(10)).fit(X)
    same_partition(model.labels_, np.repeat([0, 1], [500, 30]))
    assert_allclose(model.spectrum_.eigenvalues, 1, rtol=1e-12)


def test_outliers_of_a_mutual_graph_are_not_clusters():
    """Two lattices and two distant rows form three components; the two rows are not a cluster."""
    lattice = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    X = np.concatenate([lattice, lattice + np.array([20, 0]), [[100.0, 0.0], [101.0, 0.0]]])
    model = SpectralClustering(3, kernel=Neighbors(7, mutual=True)).fit(X)
    assert np.bincount(model.labels_).min() > 2


def test_default_finds_rings():
    X, y = make_rings(random_state=1)
    same_partition(SpectralClustering(3).fit(X).labels_, y)


@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("kernel", ["auto", Neighbors(3), Gaussian(0.5)], ids=repr)
def test_there_are_exactly_k_labels(kernel, k):
    X = np.random.default_rng(k).normal(size=(40, 2))
    labels = SpectralClustering(k, kernel=kernel).fit(X).labels_
    assert_array_equal(np.unique(labels), np.arange(k))


@pytest.mark.parametrize("kernel", ["auto", Neighbors(10), Gaussian(1e9)], ids=repr)
@pytest.mark.parametrize("n", [2, 3, 6])
def test_as_many_clusters_as_rows(kernel, n):
    """A complete graph has one positive eigenvalue, so rows are equal in the embedding."""
    X = np.arange(float(n))[:, None] ** 2
    labels = SpectralClustering(n, kernel=kernel).fit(X).labels_
    assert sorted(labels) == list(range(n))


@fixed
def test_permuted_rows(kernel):
    order = np.random.default_rng(0).permutation(len(OVERLAPPING))
    one = SpectralClustering(3, kernel=kernel).fit(OVERLAPPING)
    other = SpectralClustering(3, kernel=kernel).fit(OVERLAPPING[order])
    same_partition(other.labels_, one.labels_[order])


def test_permuted_rows_with_the_default_kernel():
    order = np.random.default_rng(0).permutation(len(OVERLAPPING))
    one, other = (SpectralClustering(3).fit(X) for X in (OVERLAPPING, OVERLAPPING[order]))
    same_partition(other.labels_, one.labels_[order])
    assert repr(other.kernel_) == repr(one.kernel_)


@pytest.mark.parametrize(("unit", "origin"), [(1e-3, 0.0), (1e6, 0.0), (1.0, 1024.0)])
def test_units_and_origin_do_not_matter(unit, origin):
    one = SpectralClustering(3).fit(SEPARATED)
    other = SpectralClustering(3).fit(unit * SEPARATED + origin)
    same_partition(other.labels_, one.labels_)


def test_weights_equal_repeated_rows():
    weights = np.random.default_rng(0).integers(1, 4, len(OVERLAPPING))
    weighted = SpectralClustering(3).fit(OVERLAPPING, sample_weight=weights)
    copies = SpectralClustering(3).fit(np.repeat(OVERLAPPING, weights, axis=0))
    same_partition(np.repeat(weighted.labels_, weights), copies.labels_)
    for one, other in zip(weighted.path_, copies.path_, strict=True):
        assert one.cost == pytest.approx(other.cost, rel=1e-9)


def test_rows_with_zero_weight_equal_absent_rows():
    weights = (np.arange(len(OVERLAPPING)) % 3 > 0).astype(float)
    weighted = SpectralClustering(3).fit(OVERLAPPING, sample_weight=weights)
    absent = SpectralClustering(3).fit(OVERLAPPING[weights > 0])
    same_partition(weighted.labels_[weights > 0], absent.labels_)
    assert_array_equal(weighted.labels_, weighted.predict(OVERLAPPING))
    assert repr(weighted.kernel_) == repr(absent.kernel_)


def test_single_precision():
    single = SpectralClustering(3).fit(SEPARATED.astype(np.float32))
    same_partition(single.labels_, TRUTH)
    assert_array_equal(single.predict(SEPARATED.astype(np.float32)), single.labels_)


def test_results_do_not_depend_on_the_seed():
    X = np.random.default_rng(3).normal(size=(700, 2))
    one, other = (
        SpectralClustering(4, kernel=Neighbors(10), random_state=seed).fit(X) for seed in (0, 1)
    )
    same_partition(one.labels_, other.labels_)


@pytest.mark.parametrize("solver", [Dense(), Lanczos(), Arpack()], ids=repr)
def test_solvers_agree(solver):
    X, y = make_rings(random_state=0)
    model = SpectralClustering(3, kernel=Neighbors(10), solver=solver).fit(X)
    same_partition(model.labels_, y)


def test_entropy_components_on_separated_data():
    model = SpectralClustering(3, kernel=Gaussian(1.0), components="entropy").fit(SEPARATED)
    same_partition(model.labels_, TRUTH)


def test_verbose_prints_progress(capsys):
    SpectralClustering(2, verbose=True).fit(SEPARATED)
    assert "kernels" in capsys.readouterr().err


# --- new rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["auto", *FIXED], ids=repr)
def test_training_rows_are_predicted_with_their_labels(kernel):
    model = SpectralClustering(3, kernel=kernel).fit(OVERLAPPING)
    assert_array_equal(model.predict(OVERLAPPING), model.labels_)
    assert_array_equal(clone(model).fit_predict(OVERLAPPING), model.labels_)


@pytest.mark.parametrize("kernel", ["auto", *FIXED], ids=repr)
def test_new_rows_of_separated_data(kernel):
    model = SpectralClustering(3, kernel=kernel).fit(SEPARATED)
    new = blobs(7, SIZES, spread=0.3)
    same_partition(np.concatenate([model.predict(new), model.labels_]), np.tile(TRUTH, 2))


def test_votes_equal_sums_by_loops():
    model = SpectralClustering(3, kernel=Neighbors(7)).fit(OVERLAPPING)
    new = blobs(9, (5, 5, 5), spread=1.5)
    for x, label in zip(new, model.predict(new), strict=True):
        squares = ((OVERLAPPING - x) ** 2).sum(axis=1)
        near = np.argsort(squares)[:5]
        votes = np.exp(-squares[near] / squares[near[-1]])
        totals = [votes[model.labels_[near] == c].sum() for c in range(3)]
        assert label == np.argmax(totals)


def test_subsample_of_many_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[y] + rng.normal(size=(3000, 2))
    model = SpectralClustering(3, max_rows=200).fit(X)
    assert all(len(record.labels) == 200 for record in model.path_)
    assert model.spectrum_.points.n == 200
    # Bayes error of centers at distance 6 is Φ(-3) = 0.14 % for each of two neighbors
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert_array_equal(model.predict(X), model.labels_)


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_noise_is_a_fraction_of_the_rows(noise):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = SpectralClustering(2, kernel=Neighbors(10), noise=noise).fit(X)
    assert (model.labels_ == -1).mean() == pytest.approx(noise, abs=1 / len(X))
    assert_array_equal(model.predict(X), model.labels_)
    kept = SpectralClustering(2, kernel=Neighbors(10)).fit(X).labels_
    some = model.labels_ >= 0
    assert_array_equal(model.labels_[some], kept[some])


def test_distant_rows_are_noise():
    X = np.concatenate([SEPARATED, [[40.0, 40.0]]])
    model = SpectralClustering(3, kernel=SelfTuning(7), noise=1 / len(X)).fit(X)
    assert model.labels_[-1] == -1
    assert (model.labels_[:-1] >= 0).all()
    assert model.predict([[-50.0, 0.0]]) == [-1]


@pytest.mark.parametrize(("standardize", "found"), [("auto", True), (True, True), (False, False)])
def test_columns_of_unequal_scales_are_standardized(standardize, found):
    """Of a column with a standard deviation above ten times the median one."""
    noise = 1e4 * np.random.default_rng(0).normal(size=(len(SEPARATED), 1))
    X = np.column_stack([SEPARATED, SEPARATED[:, :1], noise])
    model = SpectralClustering(3, kernel=SelfTuning(7), standardize=standardize).fit(X)
    assert (model.scale_ is not None) == found
    if found:
        assert_allclose(model.scale_, X.std(axis=0), rtol=1e-12)
        same_partition(model.labels_, TRUTH)
        assert_array_equal(model.predict(X), model.labels_)
    else:
        assert adjusted_rand_score(TRUTH, model.labels_) < 0.5


def test_columns_are_not_standardized_without_need():
    assert SpectralClustering(3).fit(SEPARATED).scale_ is None
    unequal = SEPARATED * [1.0, 1.0] @ [[1.0, 0.0, 0.0], [0.0, 1.0, 100.0]]
    assert SpectralClustering(3, kernel=Gaussian(1.0)).fit(unequal).scale_ is None
    constant = np.column_stack([SEPARATED, np.ones(len(SEPARATED))])
    assert_allclose(
        SpectralClustering(3, standardize=True).fit(constant).scale_,
        [*SEPARATED.std(axis=0), 1.0],
    )


# --- kinds of data ------------------------------------------------------------------------------


def test_table_with_categories_and_missing_values():
    frame = pd.DataFrame(SEPARATED, columns=["a", "b"])
    frame["group"] = np.array(["x", "y", "z"])[TRUTH]
    frame.loc[::7, "a"] = np.nan
    frame.loc[3::7, "group"] = None
    for kernel in ("auto", SelfTuning(7, kernel=mercer.kernels.table_kernel(frame))):
        model = SpectralClustering(3, kernel=kernel).fit(frame)
        assert adjusted_rand_score(TRUTH, model.labels_) == 1.0
        assert_array_equal(model.predict(frame), model.labels_)


def test_table_of_numbers_equals_array():
    frame = pd.DataFrame(OVERLAPPING, columns=["a", "b"])
    one, other = SpectralClustering(3).fit(frame), SpectralClustering(3).fit(OVERLAPPING)
    assert_array_equal(one.labels_, other.labels_)
    assert list(one.feature_names_in_) == ["a", "b"]


WORDS = ["banana", "bananas", "bandana", "cabana", "kitten", "kittens", "mitten", "smitten"]


@pytest.mark.parametrize(
    "kernel", [NGram(2), SelfTuning(2, kernel=NGram(2)), Neighbors(2, kernel=NGram(2))], ids=repr
)
def test_strings(kernel):
    model = SpectralClustering(2, kernel=kernel).fit(WORDS)
    same_partition(model.labels_, [0, 0, 0, 0, 1, 1, 1, 1])
    same_partition(model.predict(["banana split", "kitty"]), [0, 1])
    assert_array_equal(model.predict(WORDS), model.labels_)


def test_sets():
    X = [{"a", "b"}, {"a", "b", "c"}, {"b", "c"}, {"x", "y"}, {"x", "z"}, {"x", "y", "z"}]
    model = SpectralClustering(2, kernel=Jaccard()).fit(X)
    same_partition(model.labels_, [0, 0, 0, 1, 1, 1])


def test_many_objects_are_subsampled():
    words = [f"{stem}{i}" for stem in ("abcabc", "xyzxyz") for i in range(60)]
    model = SpectralClustering(2, kernel=NGram(3), max_rows=40).fit(words)
    assert model.spectrum_.points.n == 40
    same_partition(model.labels_, np.repeat([0, 1], 60))


def test_precomputed_kernel_equals_kernel_object():
    kernel = Gaussian(1.0)
    K = kernel(OVERLAPPING)
    model = SpectralClustering(3, kernel="precomputed").fit(K)
    expected = SpectralClustering(3, kernel=kernel).fit(OVERLAPPING)
    same_partition(model.labels_, expected.labels_)
    new = blobs(5, SIZES, spread=0.3)
    same_partition(model.predict(kernel(new, OVERLAPPING)), TRUTH)


def test_weights_of_a_precomputed_kernel():
    K = Gaussian(1.0)(OVERLAPPING)
    weights = np.arange(len(K)) % 3.0
    weighted = SpectralClustering(3, kernel="precomputed").fit(K, sample_weight=weights)
    rows = np.repeat(np.arange(len(K)), weights.astype(int))
    copies = SpectralClustering(3, kernel="precomputed").fit(K[np.ix_(rows, rows)])
    same_partition(weighted.labels_[rows], copies.labels_)


def test_dask_array_equals_array():
    da = pytest.importorskip("dask.array")
    X = da.from_array(SEPARATED, chunks=(20, 2))
    model = SpectralClustering(3).fit(X)
    same_partition(np.asarray(model.labels_), TRUTH)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.predict(SEPARATED), SpectralClustering(3).fit(SEPARATED).labels_)


# --- errors and persistence ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_clusters": 0}, ("n_clusters", 0)),
        ({"n_clusters": 56}, ("n_clusters", 56, 55)),
        ({"n_clusters": 2.5}, ("n_clusters", 2.5)),
        ({"n_clusters": "all"}, ("n_clusters", "all", "auto")),
        ({"components": "leading"}, ("components", "leading", "variance")),
        ({"standardize": 3}, ("standardize", 3)),
        ({"noise": 1.0}, ("noise", 1.0)),
        ({"noise": -0.1}, ("noise", -0.1)),
        ({"max_rows": 1}, ("max_rows", 1, 2)),
        ({"kernel": Linear()}, ("degree", "Gaussian")),
        ({"kernel": Gaussian(1e-9)}, ("degree", "bandwidth")),
        ({"kernel": Neighbors(0)}, ("n_neighbors", 0)),
        ({"kernel": "spline"}, ("kernel", "spline")),
        ({"solver": "exact"}, ("solver", "exact")),
    ],
)
def test_invalid_parameters(params, words):
    with raises(ValueError, *words):
        SpectralClustering(**{"n_clusters": 3, **params}).fit(SEPARATED)


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.ones((5, 2))], ids=["one row", "equal rows"])
@pytest.mark.parametrize("kernel", ["auto", Neighbors(3), Gaussian(1.0)], ids=repr)
def test_one_distinct_row(X, kernel):
    with raises(ValueError, "1 distinct row", len(X)):
        SpectralClustering(1, kernel=kernel).fit(X)
    with raises(ValueError, "n_clusters", 2):
        SpectralClustering(2, kernel=kernel).fit(X)


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_distances_that_overflow_or_underflow(unit):
    with raises(ValueError, "range", "1e-150", "1e+152"):
        SpectralClustering(3).fit(unit * SEPARATED)


def test_noise_needs_distances():
    with raises(ValueError, "noise", 0.1, "precomputed"):
        SpectralClustering(2, kernel="precomputed", noise=0.1).fit(Gaussian(1.0)(SEPARATED))


def test_unfitted():
    with pytest.raises(NotFittedError):
        SpectralClustering(2).predict(SEPARATED)


@pytest.mark.parametrize("kernel", ["auto", *FIXED], ids=repr)
def test_saved_and_pickled_models_predict_the_same(kernel, tmp_path):
    model = SpectralClustering(3, kernel=kernel, noise=0.1).fit(OVERLAPPING)
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.predict(OVERLAPPING), model.labels_)
        assert_array_equal(copy.labels_, model.labels_)
        assert copy.get_params().keys() == model.get_params().keys()
        assert [record.cost for record in copy.path_] == [record.cost for record in model.path_]


def test_two_clusters_of_a_table_with_a_nearly_disconnected_graph():
    """Two eigenvalues nearly coincide with 1."""
    folder = Path(os.environ.get("MERCER_DATA", "../shared/data"), "tables")
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist")
    frame = pd.read_csv(folder / "openintro-email.csv.gz")
    assert set(SpectralClustering(2).fit(frame).labels_) == {0, 1}
