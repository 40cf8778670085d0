"""EntropyClustering: invariances, costs, the number of clusters, and indefinite kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import EntropyClustering, KernelECA
from mercer.errors import ApproximationWarning, RankError
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Linear, Matern, Sigmoid
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.cluster.clustering_cases import blobs, naive_costs, quiet, same_partition
from tests.expectations import raises, warns

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(1.5), Matern(1.0)], ids=repr)
def test_results_do_not_depend_on_the_order_of_rows(seed, kernel):
    X = blobs(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    straight = EntropyClustering(3, kernel=kernel).fit(X)
    mixed = EntropyClustering(3, kernel=kernel).fit(X[order])
    same_partition(mixed.labels_, straight.labels_[order])
    assert_allclose(mixed.cost_, straight.cost_, rtol=1e-10)


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


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_scaling_data_and_bandwidth_together_changes_nothing(factor):
    X = blobs(3)
    plain = EntropyClustering(3, kernel=Gaussian(0.9)).fit(X)
    scaled = EntropyClustering(3, kernel=Gaussian(0.9 * factor)).fit(factor * X + 5 * factor)
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_allclose(scaled.cost_, plain.cost_, rtol=1e-8)


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
    """An isolated point has the label -1 in fit and predict, with every solver."""
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
    """Also if the iteration stops early: centers and labels are consistent."""
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


@quiet
@pytest.mark.parametrize("kernel", [Epanechnikov(2.0), Sigmoid(0.05, 0.1)], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_indefinite_kernels(kernel, solver):
    X = blobs(0) + 3
    found = EntropyClustering(2, kernel=kernel, solver=solver).fit(X)
    assert (found.eca_.eigenvalues_ > 0).all()
    full, _ = naive_costs(kernel(X), found.spectrum_.projections, found.labels_)
    assert_allclose(found.cost_, full, rtol=1e-8)
    assert_array_equal(found.predict(X), found.labels_)
    with raises(ValueError, "n_clusters"):
        EntropyClustering(len(X), kernel=kernel, solver="dense").fit(X)


def test_zero_rows_are_counted_in_a_warning():
    K = np.zeros((7, 7))
    K[:3, :3], K[3:5, 3:5] = 1.0, 1.0
    with warns(ApproximationWarning, "2 of 7", -1, "bandwidth"):
        found = EntropyClustering(2, kernel="precomputed").fit(K)
    same_partition(found.labels_, [0, 0, 0, 1, 1, -1, -1])
    assert found.predict(np.zeros((2, 7))).tolist() == [-1, -1]


# --- isolated points ------------------------------------------------------------------------------


def isolated_sample():
    """Two groups, and five points so far out that their kernel values underflow."""
    X = blobs(3, sizes=(25, 18), spread=0.5)
    far = np.array([[-90.0, 0.0], [95.0, 3.0], [0.0, -80.0], [4.0, 88.0], [3.0, -85.0]])
    return np.vstack([X, far])


def naive_nearest(X, labels, sigma):
    """Cluster with the largest ``log mean k(x, x_t) - log ‖m_i‖``, from exact distances."""
    found = labels.copy()
    members = {c: X[labels == c] for c in set(labels) - {-1}}
    for i in np.flatnonzero(labels == -1):
        cosines = {}
        for c, own in members.items():
            exponents = -((own - X[i]) ** 2).sum(axis=1) / (2 * sigma**2)
            largest = exponents.max()
            log_mean = largest + np.log(np.exp(exponents - largest).mean())
            cosines[c] = log_mean - 0.5 * np.log(Gaussian(sigma)(own).mean())
        found[i] = max(cosines, key=cosines.get)
    return found


@quiet
@pytest.mark.parametrize("seed", range(3))
def test_fourier_sums_leave_only_points_with_tiny_projections_isolated(seed):
    """Their error is 1e-10, and shorter projections than fifty errors have no direction."""
    X = np.random.default_rng(seed).normal(size=(40, 1))
    kernel = Matern(0.1, nu=2.5)
    found = EntropyClustering(2, kernel=kernel, solver=Fourier()).fit(X)
    exact = EntropyClustering(2, kernel=kernel, solver="dense").fit(X)
    lengths = np.linalg.norm(exact.eca_.transform(X), axis=1)
    isolated = lengths < 5e-9 * lengths.max()
    assert isolated.any()
    assert (exact.labels_[isolated] >= 0).any()
    assert_array_equal(found.labels_ == -1, isolated)
    same_partition(found.labels_[~isolated], exact.labels_[~isolated])


@quiet
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_isolated_points_are_assigned_to_the_nearest_cluster(solver):
    X = isolated_sample()
    plain = EntropyClustering(2, kernel=Gaussian(1.0), solver=solver).fit(X)
    assert (plain.labels_[-5:] == -1).all()
    found = EntropyClustering(2, kernel=Gaussian(1.0), solver=solver, isolated="nearest").fit(X)
    assert_array_equal(found.labels_, naive_nearest(X, plain.labels_, 1.0))
    assert set(found.labels_[-5:]) == {0, 1}
    assert_array_equal(found.predict(X), found.labels_)
    assert_allclose(found.cost_, naive_costs(Gaussian(1.0)(X), X, found.labels_)[0], rtol=1e-9)
    new = np.array([[-300.0, 0.0], [300.0, 0.0]])
    expected = naive_nearest(np.vstack([X[:-5], new]), np.r_[plain.labels_[:-5], -1, -1], 1.0)
    assert_array_equal(found.predict(new), expected[-2:])
    assert plain.predict(new).tolist() == [-1, -1]


def test_assigned_isolated_points_cause_no_warning(recwarn):
    EntropyClustering(2, kernel=Gaussian(1.0), isolated="nearest").fit(isolated_sample())
    assert not [w for w in recwarn if issubclass(w.category, ApproximationWarning)]


@quiet
def test_isolated_points_of_a_precomputed_matrix():
    """A row whose entries are not all zero has a nearest cluster; a zero row keeps -1."""
    K = np.zeros((8, 8))
    K[:3, :3], K[3:6, 3:6] = 1.0, 1.0
    K[6, 6] = K[7, 7] = 1e-40
    K[6, 4] = K[4, 6] = 1e-30
    found = EntropyClustering(2, kernel="precomputed", isolated="nearest").fit(K)
    same_partition(found.labels_, [0, 0, 0, 1, 1, 1, 1, -1])
    assert_array_equal(found.predict(K), found.labels_)
    weights = np.r_[0.0, np.ones(7)]
    weighted = EntropyClustering(2, kernel="precomputed", isolated="nearest")
    same_partition(weighted.fit(K, sample_weight=weights).labels_, [0, 0, 0, 1, 1, 1, 1, -1])


@quiet
def test_isolated_points_in_a_sweep_with_weights():
    X, weights = isolated_sample(), np.r_[np.full(43, 2.0), np.ones(4), 0.0]
    found = EntropyClustering(2, bandwidths=[0.8, 1.0, 1.2], isolated="nearest")
    found.fit(X, sample_weight=weights)
    assert (found.labels_ >= 0).all()
    assert all((record.labels >= 0).all() for record in found.path_)


def test_unknown_treatments_of_isolated_points_raise():
    with raises(ValueError, "'drop'", "'nearest'"):
        EntropyClustering(2, isolated="drop").fit(blobs(0))


def test_zero_kernels_raise():
    with raises(ValueError, "V = 1'K1/n²"):
        EntropyClustering(1, kernel="precomputed").fit(np.zeros((4, 4)))
    with raises(ValueError, "V = 1'K1/n²"):
        EntropyClustering("auto", kernel="precomputed").fit(np.zeros((4, 4)))


def test_linear_kernel_on_centered_columns_raises():
    X = blobs(0)
    with raises(ValueError, "V = 1'K1/n²"):
        EntropyClustering(2, kernel=Linear()).fit(X - X.mean(axis=0))


@pytest.mark.parametrize("total", [1e-12, 0.5, 1.0])
def test_weights_may_sum_to_less_than_the_number_of_clusters(total):
    """The sum of the weights is not the number of rows."""
    X = blobs(0)
    plain = EntropyClustering(3, kernel=Gaussian(1.5)).fit(X)
    weights = np.full(len(X), total / len(X))
    weighted = EntropyClustering(3, kernel=Gaussian(1.5)).fit(X, sample_weight=weights)
    assert_array_equal(weighted.labels_, plain.labels_)


def test_next_best_bandwidth_if_the_rank_of_all_rows_is_too_low(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    bandwidths = [0.5, 1.0, 2.0]
    best = EntropyClustering(2, bandwidths=bandwidths).fit(X)
    cluster, tried = EntropyClustering._cluster, []

    def fail_after_the_sweep(self, sample, candidate, n_clusters):
        tried.append(candidate.bandwidth)
        if tried.count(best.kernel_.bandwidth) == 2 and tried[-1] == best.kernel_.bandwidth:
            raise RankError("too few", 1)
        return cluster(self, sample, candidate, n_clusters)

    monkeypatch.setattr(EntropyClustering, "_cluster", fail_after_the_sweep)
    other = EntropyClustering(2, bandwidths=bandwidths).fit(X)
    assert other.kernel_.bandwidth in set(bandwidths) - {best.kernel_.bandwidth}
    assert len(other.path_) == 3
