"""EntropyClustering: its laws, its sweep against slow sums, its refusals."""

import pickle
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from mercer import EntropyClustering, KernelECA, config_context
from mercer.bandwidth import median_distance
from mercer.datasets import make_rings
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    IdentifiabilityWarning,
    InvalidParameterError,
)
from mercer.estimators.bandwidth_sweep import choose_record
from mercer.kernels import (
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
)
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.expectations import raises, warns

quiet = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def one_thread():
    """Small transforms spend their time on waiting for each other."""
    with config_context(threads=1):
        yield


def blobs(seed=0, sizes=(25, 18, 12), spread=1.0, d=2):
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0, 0], [4, 0, 2], [0, 4, -3]])[: len(sizes), :d]
    return np.repeat(centers, sizes, axis=0) + spread * rng.normal(size=(sum(sizes), d))


def same_partition(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert_array_equal(one == -1, other == -1)
    assert_array_equal(one[:, None] == one, other[:, None] == other)


def naive_costs(K, Z, labels, weights=None):
    """J of eq. (28) in the full kernel space and in component space, by sums over pairs.

    A point in no cluster adds its weight, as one along the mean would.
    """
    w = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    result = []
    for G in (K, Z @ Z.T):
        whole = sum(w[s] * w[t] * G[s, t] for s in range(len(G)) for t in range(len(G)))
        J = 0.0
        for c in set(labels) - {-1}:
            own = np.flatnonzero(labels == c)
            inner = sum(w[s] * w[t] * G[s, t] for s in own for t in own)
            outer = sum(w[s] * w[t] * G[s, t] for s in own for t in range(len(G)))
            J += w[own].sum() * outer / np.sqrt(inner * whole)
        result.append(J + w[np.asarray(labels) == -1].sum())
    return result


class Letters(Kernel):
    """Share of common letters (Jaccard): a kernel on strings."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len({*x} & {*y}) / len({*x} | {*y}) for y in Y] for x in X])


# --- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(1.5), Matern(1.0)], ids=repr)
def test_results_do_not_depend_on_the_order_of_rows(seed, kernel):
    X = blobs(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    straight = EntropyClustering(3, kernel=kernel).fit(X)
    mixed = EntropyClustering(3, kernel=kernel).fit(X[order])
    same_partition(mixed.labels_, straight.labels_[order])
    assert_allclose(mixed.cost_, straight.cost_, rtol=1e-10)


@quiet
def test_sweep_does_not_depend_on_the_order_of_rows():
    X = blobs(1)
    order = np.random.default_rng(1).permutation(len(X))
    straight, mixed = EntropyClustering(3).fit(X), EntropyClustering(3).fit(X[order])
    assert_allclose(mixed.kernel_.bandwidth, straight.kernel_.bandwidth, rtol=1e-12)
    assert_allclose(
        [r.stability for r in mixed.path_], [r.stability for r in straight.path_], atol=1e-12
    )
    same_partition(mixed.labels_, straight.labels_[order])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_weights_equal_repeated_rows(seed, solver):
    X = blobs(seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(X))
    settings = {"kernel": Gaussian(0.9), "solver": solver}
    weighted = EntropyClustering(3, **settings).fit(X, sample_weight=weights)
    copies = EntropyClustering(3, **settings).fit(np.repeat(X, weights, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, weights), copies.labels_)
    assert_array_equal(weighted.labels_, copies.predict(X))  # zero weights: as if new
    assert_allclose(weighted.cost_, copies.cost_, rtol=1e-10)
    assert_allclose(weighted.cluster_centers_, copies.cluster_centers_, atol=1e-8)


@quiet
@pytest.mark.parametrize("seed", range(3))
def test_weights_equal_repeated_rows_in_the_sweep(seed):
    """Stability and the count of lost points too."""
    X = blobs(seed, spread=1.5)
    weights = np.random.default_rng(seed).integers(1, 5, size=len(X))
    weighted = EntropyClustering(3).fit(X, sample_weight=weights)
    copies = EntropyClustering(3).fit(np.repeat(X, weights, axis=0))
    for one, other in zip(weighted.path_, copies.path_, strict=True):
        assert_allclose(one.bandwidth, other.bandwidth, rtol=1e-12)
        assert_allclose(one.cost, other.cost, rtol=1e-9)
        assert_allclose(one.stability, other.stability, atol=1e-9)
    assert weighted.kernel_.bandwidth == pytest.approx(copies.kernel_.bandwidth, rel=1e-12)


@quiet
def test_rows_with_zero_weight_do_not_change_the_sweep():
    X = blobs(2)
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    weighted = EntropyClustering(3).fit(X, sample_weight=weights)
    absent = EntropyClustering(3).fit(X[weights > 0])
    assert weighted.kernel_ == absent.kernel_
    assert_array_equal(weighted.labels_[weights > 0], absent.labels_)
    assert weighted.labels_.shape == (len(X),)
    for one, other in zip(weighted.path_, absent.path_, strict=True):
        assert one.stability == pytest.approx(other.stability)


@quiet
def test_rows_with_zero_weight_do_not_change_a_subsampled_sweep():
    """2600 rows of which 2000 weigh something: the sweep is about these 2000."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1300, 2)) for at in (0, 4)])
    weights = np.ones(2600)
    weights[rng.choice(2600, size=2595, replace=False)] = 0.0
    weighted = EntropyClustering(2).fit(X, sample_weight=weights)
    absent = EntropyClustering(2).fit(X[weights > 0])
    assert_allclose(weighted.kernel_.bandwidth, absent.kernel_.bandwidth, rtol=1e-12)
    assert_array_equal(weighted.labels_[weights > 0], absent.labels_)


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_scaling_data_and_bandwidth_together_changes_nothing(factor):
    X = blobs(3)
    plain = EntropyClustering(3, kernel=Gaussian(0.9)).fit(X)
    scaled = EntropyClustering(3, kernel=Gaussian(0.9 * factor)).fit(factor * X + 5 * factor)
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_allclose(scaled.cost_, plain.cost_, rtol=1e-8)


@quiet
@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_the_sweep_scales_with_the_data(factor):
    X = blobs(3)
    plain, scaled = EntropyClustering(3).fit(X), EntropyClustering(3).fit(factor * X)
    assert_allclose(scaled.kernel_.bandwidth, factor * plain.kernel_.bandwidth, rtol=1e-9)
    assert_array_equal(scaled.labels_, plain.labels_)


SOLVERS = ["dense", "lanczos", Lanczos(stored=False), Fourier(), Nystrom(50)]


@quiet
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_solvers_agree_and_predict_returns_the_training_labels(solver):
    X = blobs(4)
    dense = EntropyClustering(3, kernel=Gaussian(1.0), solver="dense").fit(X)
    other = EntropyClustering(3, kernel=Gaussian(1.0), solver=solver).fit(X)
    assert_array_equal(other.labels_, dense.labels_)
    assert_array_equal(other.predict(X), other.labels_)
    assert_allclose(other.cost_, dense.cost_, rtol=1e-6)
    assert_allclose(other.cluster_centers_, dense.cluster_centers_, atol=1e-5)
    assert_array_equal(other.fit_predict(X), dense.labels_)


@quiet
@pytest.mark.parametrize("seed", [0, 1, 3])
@pytest.mark.parametrize("away", [6.0, 12.0])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_solvers_agree_on_isolated_points(solver, away, seed):
    """A point with nothing in common with the others is -1, in fit and predict, by any solver."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(at, 0.3, size=(30, 2)) for at in (0, 4)])
    X = np.vstack([X, [[2.0, away]]])
    found = EntropyClustering(2, kernel=Gaussian(0.25), solver=solver).fit(X)
    assert found.labels_[-1] == -1
    assert_array_equal(found.predict(X), found.labels_)
    assert (found.labels_[:-1] >= 0).all()


@quiet
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("max_iter", [1, 2, 100])
def test_predict_on_training_points_equals_labels(seed, max_iter):
    """Also where the iteration was stopped early: centers and labels belong together."""
    X = np.random.default_rng(seed).normal(size=(60, 2))
    found = EntropyClustering(3, kernel=Gaussian(0.7), max_iter=max_iter).fit(X)
    assert_array_equal(found.predict(X), found.labels_)


def test_labels_minimize_the_angle_to_the_centers():
    X = blobs(5)
    found = EntropyClustering(3, kernel=Gaussian(0.9)).fit(X)
    Z = KernelECA(3, kernel=Gaussian(0.9)).fit_transform(X)
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    assert_array_equal(found.labels_, np.argmax(unit @ found.cluster_centers_.T, axis=1))
    for c, center in enumerate(found.cluster_centers_):
        total = Z[found.labels_ == c].sum(axis=0)
        assert_allclose(center, total / np.linalg.norm(total), atol=1e-10)
    assert found.n_clusters_ == 3
    assert found.n_iter_ >= 1
    assert_allclose(found.spectrum_.projections, Z, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_equal_sums_over_pairs(weighted):
    X = blobs(6, sizes=(9, 7, 5))
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X)) if weighted else None
    for solver in ("dense", Lanczos(stored=False)):
        found = EntropyClustering(3, kernel=Gaussian(1.1), solver=solver)
        found.fit(X, sample_weight=weights)
        Z = found.spectrum_.projections
        full, inside = naive_costs(Gaussian(1.1)(X), Z, found.labels_, weights)
        assert_allclose(found.cost_, full, rtol=1e-9)
        assert_allclose(found.path_[0].cost, full, rtol=1e-9)
        assert_allclose(found.path_[0].eca_cost, inside, rtol=1e-9)


def test_one_cluster_costs_n():
    X = blobs(0)
    found = EntropyClustering(1, kernel=Gaussian(1.0)).fit(X)
    assert_allclose(found.cost_, len(X), rtol=1e-12)
    assert (found.labels_ == 0).all()
    assert found.cluster_centers_.tolist() == [[1.0]]


@quiet
def test_as_many_clusters_as_rows():
    X = np.array([[0.0], [3.0], [7.0], [12.0]])
    found = EntropyClustering(4, kernel=Gaussian(1.0)).fit(X)
    assert sorted(found.labels_) == [0, 1, 2, 3]
    single = EntropyClustering(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    assert single.labels_.tolist() == [0]
    assert_allclose(single.cost_, 1)


@quiet
def test_blocks_of_ones_are_clusters():
    """Section 3.7: the ideal case, also with equal blocks, whose eigenvalues are tied."""
    for sizes in ((12, 8, 5), (6, 6, 6)):
        y = np.repeat([0, 1, 2], sizes)
        K = (y[:, None] == y).astype(float)
        found = EntropyClustering(3, kernel="precomputed").fit(K)
        same_partition(found.labels_, y)
        n = np.array(sizes)
        assert_allclose(found.cost_, (n**2).sum() / np.sqrt((n**2).sum()), rtol=1e-10)


# --- what it takes ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_precomputed_equals_the_kernel(weighted, solver):
    X, new = blobs(7), np.random.default_rng(8).normal(size=(20, 2)) * 3
    kernel = Gaussian(1.0)
    weights = np.random.default_rng(0).integers(0, 3, size=len(X)) if weighted else None
    direct = EntropyClustering(3, kernel=kernel, solver=solver).fit(X, sample_weight=weights)
    given = EntropyClustering(3, kernel="precomputed", solver=solver)
    given.fit(kernel(X), sample_weight=weights)
    assert_array_equal(given.labels_, direct.labels_)
    assert_allclose(given.cost_, direct.cost_, rtol=1e-10)
    assert_array_equal(given.predict(kernel(new, X)), direct.predict(new))
    assert given.path_[0].bandwidth is None
    assert given.__sklearn_tags__().input_tags.pairwise


def test_strings_with_a_custom_kernel():
    words = ["abc", "abcd", "bca", "cab", "xyz", "xzyw", "zyx", "wxyz"]
    found = EntropyClustering(2, kernel=Letters()).fit(words)
    same_partition(found.labels_, [0, 0, 0, 0, 1, 1, 1, 1])
    label = found.predict(["ab", "zz"])
    assert label[0] == found.labels_[0]
    assert label[1] == found.labels_[-1]
    assert found.predict(["q"]).tolist() == [-1]
    with raises(ValueError, "bandwidths=5", "bandwidths=None"):
        EntropyClustering(2, kernel=Letters(), bandwidths=5).fit(words)
    assert EntropyClustering("auto", kernel=Letters()).fit(words).n_clusters_ >= 1


def test_data_frames_set_feature_names():
    pandas = pytest.importorskip("pandas")
    X = blobs(0)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(frame)
    assert list(found.feature_names_in_) == ["a", "b"]
    assert found.n_features_in_ == 2
    assert_array_equal(found.predict(frame), found.labels_)
    with raises(ValueError, "feature names"):
        found.predict(frame[["b", "a"]])
    assert_array_equal(found.eca_.transform(frame), found.eca_.transform(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.predict(frame)


@quiet
def test_single_precision():
    X = blobs(1)
    double = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    single = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X.astype(np.float32))
    assert_array_equal(single.labels_, double.labels_)
    assert_array_equal(single.predict(X.astype(np.float32)), single.labels_)
    assert_allclose(single.cost_, double.cost_, rtol=1e-4)
    sweep = EntropyClustering(3).fit(X.astype(np.float32))
    assert (sweep.labels_ >= 0).all()


def test_clone_pickle_and_parameters():
    X = blobs(0)
    given = EntropyClustering(3, kernel=Gaussian(1.0), bandwidths=[0.9, 1.1], max_iter=50)
    copy = clone(given)
    assert copy.get_params()["bandwidths"] == [0.9, 1.1]
    fitted = given.fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.labels_, fitted.labels_)
    assert_array_equal(again.predict(X), fitted.labels_)
    assert again.path_[0].components.tolist() == fitted.path_[0].components.tolist()
    assert EntropyClustering().set_params(kernel__bandwidth=2.0).kernel == Gaussian(2.0)


@quiet
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["gaussian", "precomputed"])
def test_pickles_hold_the_data_once_and_no_gram_matrix(weighted, kernel):
    X = np.random.default_rng(0).normal(size=(200, 40))
    data = Gaussian(5.0)(X) if kernel == "precomputed" else X
    weights = np.ones(200)
    weights[0] = 0.0
    found = EntropyClustering(2, kernel=kernel, solver="dense")
    found.fit(data, sample_weight=weights if weighted else None)
    labels = 8 * 200 * len(found.path_)  # a label per row and bandwidth
    assert len(pickle.dumps(found)) < 3 * X.nbytes + labels + 50_000


# --- the sweep ----------------------------------------------------------------------------------


@quiet
def test_path_records_every_bandwidth():
    X = blobs(2, sizes=(12, 9, 8))
    widths = [1.2, 0.5, 0.8]
    found = EntropyClustering(3, bandwidths=widths).fit(X)
    assert [r.bandwidth for r in found.path_] == sorted(widths)
    for record in found.path_:
        kernel = Gaussian(record.bandwidth)
        alone = EntropyClustering(3, kernel=kernel).fit(X)
        eca = KernelECA(3, kernel=kernel, solver="dense").fit(X)
        Z = eca.transform(X)
        assert_array_equal(record.labels, alone.labels_)
        full, inside = naive_costs(kernel(X), Z, record.labels)
        assert_allclose([record.cost, record.eca_cost], [full, inside], rtol=1e-8)
        assert record.components.tolist() == eca.component_ranks_.tolist()
        assert_allclose(record.eigenvalues, eca.eigenvalues_, rtol=1e-9)
        assert_allclose(record.entropy_ratio, eca.entropy_ratio_.sum(), rtol=1e-9)
        sums = [Z[record.labels == c].sum(axis=0) for c in range(3)]
        coherence = np.linalg.norm(sums, axis=1).sum() / np.linalg.norm(Z, axis=1).sum()
        assert_allclose(record.coherence, coherence, rtol=1e-9)
        assert record.certified
        for name in ("bandwidth", "cost", "eca_cost", "stability", "labels", "components"):
            assert_array_equal(record[name], getattr(record, name))
    with pytest.raises((AttributeError, KeyError)):
        found.path_[0]["nonsense"]


@quiet
@pytest.mark.parametrize("solver", ["lanczos", Lanczos(stored=False)], ids=repr)
def test_components_in_the_path_after_an_iteration(solver):
    X = blobs(2)
    found = EntropyClustering(3, bandwidths=[0.5, 0.9], solver=solver).fit(X)
    for record in found.path_:
        eca = KernelECA(3, kernel=Gaussian(record.bandwidth), solver="dense").fit(X)
        assert record.components.tolist() == eca.component_ranks_.tolist()


@quiet
def test_stability_equals_the_mean_rand_index_of_scikit_learn():
    """Mean index with all bandwidths at most 10 % away, and at least with the neighbors."""
    X = blobs(3, spread=1.4)
    widths = np.array([0.3, 0.31, 0.32, 0.36, 0.5, 0.54, 0.9, 2.0, 2.15, 2.3])
    found = EntropyClustering(3, bandwidths=widths).fit(X)
    labels = [record.labels for record in found.path_]
    for i, record in enumerate(found.path_):
        near = [
            j
            for j in range(len(widths))
            if j != i
            and (abs(i - j) == 1 or max(widths[i], widths[j]) <= 1.1 * min(widths[i], widths[j]))
        ]
        expected = np.mean([adjusted_rand_score(labels[i], labels[j]) for j in near])
        assert_allclose(record.stability, expected, atol=1e-12)


@quiet
@pytest.mark.parametrize("seed", range(4))
def test_chosen_bandwidth_follows_the_documented_rule(seed):
    """The lowest cost (a lost point costs 1) among those at least 0.95 stable, or the most."""
    X = blobs(seed, spread=1.4)
    found = EntropyClustering(3).fit(X)
    path = found.path_
    limit = min(0.95, max(record.stability for record in path))
    stable = [record for record in path if record.stability >= limit]
    best = min(stable, key=lambda record: record.cost)
    assert found.kernel_.bandwidth == best.bandwidth
    assert path[choose_record(path)] is best
    assert_array_equal(found.labels_, best.labels)
    assert_allclose(found.cost_, best.cost, rtol=1e-9)


@quiet
def test_forms_of_the_bandwidths_parameter():
    X = blobs(0)
    median = median_distance(X)

    def tried(**settings):
        found = EntropyClustering(3, **settings).fit(X)
        return np.array([record.bandwidth for record in found.path_])

    assert_allclose(tried(), median * np.geomspace(0.1, 2, 33))
    assert_allclose(tried(bandwidths=7), median * np.linspace(0.1, 0.2, 7))
    assert_allclose(tried(bandwidths=np.int64(2)), median * np.array([0.1, 0.2]))
    assert_allclose(tried(bandwidths=1), median * 0.1)
    assert_allclose(tried(bandwidths=[2, 1, 1]), [1.0, 2.0])
    assert_allclose(tried(bandwidths=(0.7,)), [0.7])
    assert_allclose(tried(kernel=Gaussian(0.8)), [0.8])
    assert_allclose(tried(kernel=Gaussian(0.8), bandwidths=3), median * np.array([0.1, 0.15, 0.2]))
    assert len(tried(kernel=Gaussian("silverman"))) == 1
    assert len(tried(kernel=Laplacian(), bandwidths=[1.0, 2.0])) == 2
    assert len(tried(kernel="laplacian")) == 33
    assert len(tried(kernel=Matern(nu=2.5))) == 33


@quiet
def test_sweep_does_not_change_other_kernel_parameters():
    found = EntropyClustering(3, kernel=Matern(nu=2.5), bandwidths=[1.0, 2.0]).fit(blobs(0))
    assert found.kernel_.nu == 2.5


def test_stability_of_a_single_bandwidth_is_nan():
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(blobs(0))
    assert np.isnan(found.path_[0].stability)


@quiet
def test_sweep_rows_are_a_subsample_or_none():
    """None where all rows were swept or nothing was; never left over from an earlier fit."""
    assert EntropyClustering(3, kernel=Gaussian(1.0)).fit(blobs(0)).sweep_rows_ is None
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1100, 2)) for at in (0, 5)])
    found = EntropyClustering(2).fit(X)
    assert found.labels_.shape == (2200,)
    assert found.sweep_rows_.shape == (1000,)
    assert len(np.unique(found.sweep_rows_)) == 1000
    assert all(record.labels.shape == (1000,) for record in found.path_)
    same_partition(found.labels_, np.repeat([0, 1], 1100))
    again = clone(found).fit(X).set_params(kernel=Gaussian(1.0)).fit(X[:50])
    assert again.sweep_rows_ is None
    order = rng.permutation(2200)
    mixed = EntropyClustering(2).fit(X[order])
    assert_allclose(mixed.kernel_.bandwidth, found.kernel_.bandwidth, rtol=1e-12)
    assert set(map(tuple, X[found.sweep_rows_])) == set(map(tuple, X[order][mixed.sweep_rows_]))


@quiet
def test_given_bandwidths_are_tried_on_all_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1100, 2)) for at in (0, 5)])
    found = EntropyClustering(2, bandwidths=[0.5, 0.6]).fit(X)
    assert found.path_[0].labels.shape == (2200,)


@quiet
def test_sweep_skips_bandwidths_with_too_few_components():
    """At 1e9 K is all ones to rounding; at 1 it is not, and there are two clusters."""
    X = np.concatenate([blobs(0, sizes=(20,)), blobs(1, sizes=(20,)) + 6])
    found = EntropyClustering(2, bandwidths=[0.8, 1.0, 1e9]).fit(X)
    same_partition(found.labels_, np.repeat([0, 1], 20))


def test_explicit_bandwidths_need_no_rule():
    """Equal rows have no distances to choose from, and nothing needs to be chosen."""
    X = np.ones((5, 2))
    found = EntropyClustering(1, bandwidths=[1.0, 2.0]).fit(X)
    assert found.labels_.tolist() == [0] * 5


# --- how many -----------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("groups", [1, 2, 3, 5])
def test_auto_counts_clusters(groups, d):
    rng = np.random.default_rng(groups)
    X = np.concatenate([rng.normal(size=(80, d)) + 10 * i for i in range(groups)])
    found = EntropyClustering("auto", kernel=Gaussian(1.5)).fit(X)
    by_rule = EntropyClustering("auto", bandwidths=[1.0, 1.5]).fit(X)
    assert found.n_clusters_ == by_rule.n_clusters_ == groups
    assert found.cluster_centers_.shape == (groups, groups)
    same_partition(found.labels_, np.repeat(np.arange(groups), 80))


@quiet
def test_auto_with_weights_and_precomputed():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) + 9 * i for i in range(3)])
    weights = np.repeat([1.0, 1.0, 0.0], 60)
    absent = EntropyClustering("auto", kernel=Gaussian(1.0)).fit(X[:120])
    weighted = EntropyClustering("auto", kernel=Gaussian(1.0)).fit(X, sample_weight=weights)
    assert weighted.n_clusters_ == absent.n_clusters_ == 2
    K = Gaussian(1.0)(X)
    assert EntropyClustering("auto", kernel="precomputed").fit(K).n_clusters_ == 3
    assert EntropyClustering("auto", kernel=Gaussian(1.0)).fit([[1.0]]).n_clusters_ == 1


# --- indefinite kernels, empty rows -------------------------------------------------------------


@quiet
@pytest.mark.parametrize("kernel", [Epanechnikov(2.0), Sigmoid(0.05, 0.1)], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_indefinite_kernels(kernel, solver):
    X = blobs(0) + 3
    found = EntropyClustering(2, kernel=kernel, solver=solver).fit(X)
    assert (found.eca_.eigenvalues_ > 0).all()
    assert np.isfinite(found.cost_)
    assert_array_equal(found.predict(X), found.labels_)
    with raises(ValueError, "n_clusters"):
        EntropyClustering(len(X), kernel=kernel, solver="dense").fit(X)


@quiet
def test_indefinite_kernels_in_the_sweep():
    found = EntropyClustering(3, kernel="gaussian", bandwidths=4).fit(blobs(0))
    rough = EntropyClustering(3, kernel=Epanechnikov()).fit(blobs(0))
    assert len(found.path_) == 4
    assert len(rough.path_) == 33
    assert all(np.isfinite(record.cost) for record in rough.path_)


def test_zero_rows_are_counted_in_a_warning():
    K = np.zeros((7, 7))
    K[:3, :3], K[3:5, 3:5] = 1.0, 1.0
    with warns(ApproximationWarning, "2 of 7", -1, "bandwidth"):
        found = EntropyClustering(2, kernel="precomputed").fit(K)
    same_partition(found.labels_, [0, 0, 0, 1, 1, -1, -1])
    assert found.predict(np.zeros((2, 7))).tolist() == [-1, -1]


def test_zero_kernels_raise():
    with raises(ValueError, "V = 1'K1/n²"):
        EntropyClustering(1, kernel="precomputed").fit(np.zeros((4, 4)))
    with raises(ValueError, "0"):
        EntropyClustering("auto", kernel="precomputed").fit(np.zeros((4, 4)))


def test_linear_kernel_on_centered_columns_raises():
    X = blobs(0)
    with raises(ValueError, "V = 1'K1/n²"):
        EntropyClustering(2, kernel=Linear()).fit(X - X.mean(axis=0))


@pytest.mark.parametrize("total", [1e-12, 0.5, 1.0])
def test_weights_may_sum_to_less_than_the_number_of_clusters(total):
    """The sum of the weights used to be mistaken for the number of rows."""
    X = blobs(0)
    plain = EntropyClustering(3, kernel=Gaussian(1.5)).fit(X)
    weights = np.full(len(X), total / len(X))
    weighted = EntropyClustering(3, kernel=Gaussian(1.5)).fit(X, sample_weight=weights)
    assert_array_equal(weighted.labels_, plain.labels_)


# --- warnings and progress ----------------------------------------------------------------------


def test_only_the_final_fit_warns():
    """At 0.01 nearly all points are isolated; at 1.0, which is chosen, none is."""
    X = np.concatenate([blobs(0, sizes=(30,)), blobs(1, sizes=(30,)) + 8])
    with warns(IdentifiabilityWarning, "isolated", "100%"):
        EntropyClustering(2, kernel=Gaussian(0.01)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = EntropyClustering(2, bandwidths=[0.01, 1.0, 1.05, 1.1]).fit(X)
    assert found.kernel_.bandwidth >= 1.0


def test_warnings_are_issued_once_at_the_callers_line():
    K = np.zeros((7, 7))
    K[:3, :3], K[3:5, 3:5] = 1.0, 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        EntropyClustering(2, kernel="precomputed").fit(K)
    lost = [w for w in caught if w.category is ApproximationWarning]
    assert len(lost) == 1
    assert lost[0].filename == __file__


def test_too_few_iterations_warn():
    X = np.random.default_rng(1).normal(size=(200, 2))
    with warns(ConvergenceWarning, "max_iter"):
        EntropyClustering(4, kernel=Gaussian(0.4), max_iter=1).fit(X)


class Terminal:
    """Standard error that claims to be (or not to be) a terminal."""

    def __init__(self, is_one):
        self.is_one, self.text = is_one, ""

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@quiet
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("slow", [True, False])
def test_conditions_of_the_progress_bar(monkeypatch, terminal, verbose, slow):
    """With verbose always; by itself only on a terminal, and when it takes long."""
    import mercer.progress

    screen = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(mercer.progress, "_SECONDS_BEFORE_BAR", -1.0 if slow else 1e9)
    EntropyClustering(3, bandwidths=[0.5, 0.8, 1.0], verbose=verbose).fit(blobs(0))
    assert ("3/3 bandwidths" in screen.text) == (verbose or (terminal and slow))
    if not screen.text:
        return
    assert screen.text.endswith("\n")


# --- interruptions ------------------------------------------------------------------------------


class Interrupted(Gaussian):
    """A Gaussian whose user loses patience after some tiles."""

    left = 0

    def profile(self, h):
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        return super().profile(h)


@quiet
@pytest.mark.parametrize("patience", [0, 1, 7, 20])
def test_interrupted_fits_leave_the_estimator_unfitted(patience):
    X = blobs(0)
    model = EntropyClustering(3, kernel=Interrupted())
    Interrupted.left = patience
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict(X)
    for name in ("labels_", "path_", "eca_", "cost_", "cluster_centers_"):
        assert not hasattr(model, name)
    Interrupted.left = 10**9
    assert model.fit(X).labels_.shape == (len(X),)


@quiet
def test_interrupted_refits_restore_the_earlier_fit():
    X = blobs(0)
    model = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    labels, path = model.labels_.copy(), list(model.path_)
    Interrupted.left = 7
    with pytest.raises(KeyboardInterrupt):
        model.set_params(kernel=Interrupted()).fit(X + 1)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.predict(X), labels)
    assert model.path_ == path or all(a is b for a, b in zip(model.path_, path, strict=True))


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, 2.5, "three", None, True, [3], np.nan])
def test_invalid_numbers_of_clusters_raise(count):
    with raises(InvalidParameterError, "n_clusters=", 1, "'auto'"):
        EntropyClustering(count).fit(blobs(0))


def test_more_clusters_than_rows_raise():
    with raises(ValueError, "n_clusters=9", "n_samples=5"):
        EntropyClustering(9).fit(blobs(0)[:5])
    weights = np.ones(55)
    weights[3:] = 0
    with raises(ValueError, "n_clusters=4", 3):
        EntropyClustering(4, kernel=Gaussian(1.0)).fit(blobs(0), sample_weight=weights)


def test_more_clusters_than_components_raise():
    X = np.repeat(np.arange(3.0)[:, None], 5, axis=0)
    with raises(ValueError, "n_clusters=4", 3):
        EntropyClustering(4, kernel=Gaussian(1.0)).fit(X)
    with raises(ValueError, "n_clusters=3", 2):
        EntropyClustering(3, kernel=Linear()).fit(blobs(0))


@pytest.mark.parametrize(
    "bandwidths",
    [0, -3, -1.0, 2.5, [], [1.0, -1.0], [1.0, 0.0], [np.nan], [np.inf], [[1.0, 2.0]], "many",
     ["1"], [None], True, np.array(3.0), [1j], {1.0: 2}],
    ids=repr,
)  # fmt: skip
def test_invalid_bandwidths_raise(bandwidths):
    with raises(ValueError, "bandwidths=", 1):
        EntropyClustering(3, bandwidths=bandwidths).fit(blobs(0))


@pytest.mark.parametrize("kernel", ["linear", Polynomial(2), "precomputed", 2.0 * Gaussian()])
def test_bandwidths_for_a_kernel_without_one_raise(kernel):
    X = blobs(0)
    data = Gaussian(1.0)(X) if kernel == "precomputed" else X
    with raises(ValueError, "bandwidths=5", "bandwidths=None"):
        EntropyClustering(3, kernel=kernel, bandwidths=5).fit(data)


@pytest.mark.parametrize("steps", [0, -1, 1.5, "ten", None])
def test_invalid_numbers_of_iterations_raise(steps):
    with raises(InvalidParameterError, "max_iter=", 1):
        EntropyClustering(3, kernel=Gaussian(1.0), max_iter=steps).fit(blobs(0))


def test_invalid_arrays_and_weights_raise():
    X = blobs(0)
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[2, 1] = value
        with raises(ValueError, name):
            EntropyClustering(3).fit(bad)
        with raises(ValueError, name):
            found.predict(bad)
    with raises(ValueError, "0 sample(s)"):
        EntropyClustering(3).fit(np.empty((0, 2)))
    with raises(ValueError, 2):
        found.predict(np.ones((2, 3)))
    with raises(ValueError, "sample_weight", "negative"):
        EntropyClustering(3).fit(X, sample_weight=-np.ones(len(X)))
    with raises(ValueError, "sample_weight", "zero"):
        EntropyClustering(3).fit(X, sample_weight=np.zeros(len(X)))
    with raises(ValueError, "square"):
        EntropyClustering(3, kernel="precomputed").fit(X)
    with raises(ValueError, 0):
        EntropyClustering(1).fit(np.ones((4, 2)))


def test_results_before_fit_raise():
    model = EntropyClustering()
    with pytest.raises(NotFittedError):
        model.predict(blobs(0))
    with pytest.raises(NotFittedError):
        _ = model.spectrum_


def test_unknown_kernel_and_solver_names_raise():
    with raises(ValueError, "nonsense"):
        EntropyClustering(3, kernel="nonsense").fit(blobs(0))
    with raises(ValueError, "nonsense"):
        EntropyClustering(3, solver="nonsense").fit(blobs(0))


def test_composite_kernels_are_swept_by_multipliers():
    X, _ = make_rings(random_state=0)
    plain = EntropyClustering(3, kernel=Gaussian(3.0), bandwidths=[2.4, 3.0, 3.7]).fit(X)
    composite = EntropyClustering(
        3, kernel=Gaussian(3.0) * Gaussian(1e9), bandwidths=[0.8, 1, 3.7 / 3]
    )
    composite.fit(X)
    assert_allclose([r.bandwidth for r in composite.path_], [0.8, 1, 3.7 / 3])
    assert_allclose([r.cost for r in composite.path_], [r.cost for r in plain.path_], rtol=1e-6)
    assert_allclose(composite.kernel_.terms[0].bandwidth, plain.kernel_.bandwidth)
