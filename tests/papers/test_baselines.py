"""Clustering baselines against naive implementations and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics import adjusted_rand_score

from mercer import EntropyClustering, config_context
from mercer.bandwidth import median_distance
from mercer.datasets import make_ring_and_blob
from mercer.errors import MemoryBudgetError
from mercer.kernels import Gaussian, Linear, Sigmoid
from papers.baselines import kernel_pca_clustering, njw_clustering, sweep_baseline
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def X(rng):
    return np.concatenate([rng.normal(at, 1, size=(20 + 5 * i, 2)) for i, at in enumerate((0, 5))])


@pytest.fixture
def y():
    return np.repeat([0, 1], [20, 25])


def naive_njw(K, n_clusters):
    """Ng, Jordan and Weiss 2002, step by step."""
    A = np.array(K, dtype=float)
    for i in range(len(A)):
        A[i, i] = 0.0
    D = np.diag(A.sum(axis=1) ** -0.5)
    values, vectors = np.linalg.eigh(D @ A @ D)
    rows = vectors[:, np.argsort(values)[::-1][:n_clusters]]
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return KMeans(n_clusters, n_init=10, random_state=0).fit(rows).labels_


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_njw_equals_a_naive_implementation(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in np.arange(n_clusters) * 5])
    found = njw_clustering(X, n_clusters, kernel=Gaussian(1.0))
    assert adjusted_rand_score(found, naive_njw(Gaussian(1.0)(X), n_clusters)) == 1
    theirs = SpectralClustering(
        n_clusters, affinity="precomputed", assign_labels="kmeans", random_state=0
    ).fit_predict(Gaussian(1.0)(X))
    assert adjusted_rand_score(found, theirs) > 0.9


def test_njw_of_nearly_separate_clusters():
    """A full decomposition replaces the iteration, which does not converge."""
    angles = np.linspace(0, 2 * np.pi, 700, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    X = np.concatenate([ring, 0.6 * ring[::2]])
    found = njw_clustering(X, 2, kernel=Gaussian(0.03))
    assert adjusted_rand_score(found, np.repeat([0, 1], [700, 350])) == 1


@pytest.mark.parametrize("center", [False, True])
def test_euclidean_kernel_pca_clustering_equals_scikit_learn(center, X):
    found = kernel_pca_clustering(X, 2, kernel=Gaussian(1.5), metric="euclidean", center=center)
    K = Gaussian(1.5)(X)
    if center:
        Z = SklearnKernelPCA(2, kernel="precomputed").fit_transform(K)
    else:
        values, vectors = np.linalg.eigh(K)
        Z = vectors[:, -2:] * np.sqrt(values[-2:])
    expected = KMeans(2, n_init=10, random_state=0).fit(Z).labels_
    assert adjusted_rand_score(found, expected) == 1


def test_angular_kernel_pca_equals_entropy_clustering_if_components_agree(X, y):
    """Two blobs of unequal size: the two leading components have the largest entropy terms."""
    ours = EntropyClustering(2, kernel=Gaussian(2.0)).fit(X)
    assert sorted(ours.eca_.component_ranks_) == [1, 2]
    found = kernel_pca_clustering(X, 2, kernel=Gaussian(2.0))
    assert adjusted_rand_score(found, ours.labels_) == 1
    assert adjusted_rand_score(found, y) > 0.8


def test_angular_kernel_pca_in_single_precision(rng):
    """As in EntropyClustering, the threshold for zero depends on the precision of the data."""
    X = np.concatenate([rng.normal(at, 0.3, size=(30, 2)) for at in (0, 4)])
    X = np.vstack([X, [[2.0, 3.0]]]).astype(np.float32)
    ours = EntropyClustering(2, kernel=Gaussian(0.25)).fit(X)
    assert_array_equal(kernel_pca_clustering(X, 2, kernel=Gaussian(0.25)) == -1, ours.labels_ == -1)


def test_isolated_points_do_not_change_the_other_clusters(X, y):
    """Their degrees are zero, and are bounded from below."""
    isolated = np.vstack([X, [[500.0, 0.0], [0.0, 900.0]]])
    kernel = Gaussian(1.5)
    assert kernel(isolated)[-1, :-1].max() == 0
    for found, expected in (
        (njw_clustering(isolated, 2, kernel=kernel), njw_clustering(X, 2, kernel=kernel)),
        (
            kernel_pca_clustering(isolated, 2, kernel=kernel),
            kernel_pca_clustering(X, 2, kernel=kernel),
        ),
    ):
        assert adjusted_rand_score(found[:-2], expected) == 1
        assert adjusted_rand_score(expected, y) > 0.8
    assert (kernel_pca_clustering(isolated, 2, kernel=kernel)[-2:] == -1).all()
    distant = njw_clustering(X * 1e6, 2, kernel=Gaussian(1.0))  # all points are isolated
    assert set(distant) == {0, 1}


def test_distant_pair_is_a_cluster(X, y):
    pair = np.vstack([X, [[300.0, 0.0], [300.1, 0.0]]])
    found = njw_clustering(pair, 3, kernel=Gaussian(1.5))
    assert found[-1] == found[-2]
    assert (found[:-2] != found[-1]).all()


@pytest.mark.parametrize("kernel", [Linear(), Sigmoid()], ids=repr)
def test_njw_rejects_kernels_with_negative_degrees(kernel):
    """Negative degrees have no square root."""
    points = [[1.0], [1.1], [-1.0], [-1.1], [-0.9]]
    with raises(ValueError, "negative"):
        njw_clustering(points, 2, kernel=kernel)


def test_precomputed_kernel_gives_the_same_clusters(X):
    K = Gaussian(1.0)(X)
    assert_array_equal(
        njw_clustering(K, 2, kernel="precomputed"), njw_clustering(X, 2, kernel=Gaussian(1.0))
    )
    assert_array_equal(
        kernel_pca_clustering(K, 2, kernel="precomputed"),
        kernel_pca_clustering(X, 2, kernel=Gaussian(1.0)),
    )


def test_precomputed_matrix_is_not_changed(X):
    K = Gaussian(1.0)(X)
    before = K.copy()
    njw_clustering(K, 2, kernel="precomputed")
    kernel_pca_clustering(K, 2, kernel="precomputed", metric="euclidean", center=True)
    assert_allclose(K, before, atol=0)


@pytest.mark.parametrize("cluster", [njw_clustering, kernel_pca_clustering])
def test_labels_are_reproducible(cluster, X):
    assert_array_equal(cluster(X, 2), cluster(X, 2))
    assert cluster(X, 2).shape == (45,)
    assert (cluster(X, 1, kernel=Gaussian(3.0)) == 0).all()


@pytest.mark.parametrize("cluster", [njw_clustering, kernel_pca_clustering])
@pytest.mark.parametrize("count", [0, -1, 2.5, 0.5, "three", None, True, 1000])
def test_invalid_n_clusters_raise(cluster, count, X):
    with raises((ValueError, TypeError), f"n_clusters={count!r}"):
        cluster(X, count, kernel=Gaussian(1.0))


def test_invalid_input_raises(X):
    with raises(ValueError, "metric='cosine'", "'angular'", "'euclidean'"):
        kernel_pca_clustering(X, 2, metric="cosine")
    for cluster in (njw_clustering, kernel_pca_clustering):
        with raises(ValueError, "init='center'", "'orthogonal'"):
            cluster(X, 2, init="center")
    for cluster in (njw_clustering, kernel_pca_clustering):
        with raises(ValueError, "NaN"):
            cluster([[np.nan], [1.0]], 2)
        with raises(ValueError, 3, 2):
            cluster(np.ones((3, 2)), 2, kernel="precomputed")
        with raises(ValueError, "nonsense"):
            cluster(X, 2, kernel="nonsense")


def test_njw_respects_the_memory_budget(rng):
    """The error is raised before K is allocated."""
    X = rng.normal(size=(600, 2))
    with config_context(memory=500_000), pytest.raises(MemoryBudgetError):
        njw_clustering(X, 2, kernel=Gaussian(1.0))


def naive_lloyd(Z, centers):
    """K-means from given centers until no label changes."""
    labels = None
    while True:
        before = labels
        labels = np.array([np.argmin(((z - centers) ** 2).sum(axis=1)) for z in Z])
        if before is not None and (before == labels).all():
            return labels
        centers = np.array([Z[labels == c].mean(axis=0) for c in range(len(centers))])


def test_farthest_start_is_step_2_of_the_paper(rng):
    """The pair of rows with the smallest cosine, then the row with the smallest sum of cosines."""
    X = rng.normal(size=(40, 2))
    labels = kernel_pca_clustering(X, 3, kernel=Gaussian(1.0), metric="euclidean", init="farthest")
    Z = leading_projections(Gaussian(1.0)(X), 3)

    def cosine(i, j):
        return Z[i] @ Z[j] / np.linalg.norm(Z[i]) / np.linalg.norm(Z[j])

    first, second = min(((i, j) for i in range(40) for j in range(i)), key=lambda p: cosine(*p))
    third = min(range(40), key=lambda i: cosine(i, first) + cosine(i, second))
    assert adjusted_rand_score(labels, naive_lloyd(Z, Z[[first, second, third]])) == 1


# --- costs and sweeps -----------------------------------------------------------------------------


def mean_squared_distance(Z, labels):
    """Loop over the points: squared distance to the mean of the point's cluster."""
    centers = {c: Z[labels == c].mean(axis=0) for c in set(labels)}
    return np.mean([((z - centers[c]) ** 2).sum() for z, c in zip(Z, labels, strict=True)])


def leading_projections(K, count):
    values, vectors = np.linalg.eigh(K)
    return vectors[:, -count:] * np.sqrt(values[-count:])


def test_euclidean_costs_are_mean_squared_distances(X):
    K = Gaussian(1.5)(X)
    labels, cost = kernel_pca_clustering(
        X, 3, kernel=Gaussian(1.5), metric="euclidean", return_cost=True
    )
    assert_array_equal(
        labels, kernel_pca_clustering(X, 3, kernel=Gaussian(1.5), metric="euclidean")
    )
    expected = mean_squared_distance(leading_projections(K, 3), labels)
    assert_allclose(cost, expected, rtol=1e-9)
    labels, cost = njw_clustering(X, 2, kernel=Gaussian(1.5), return_cost=True)
    np.fill_diagonal(K, 0)
    roots = np.sqrt(K.sum(axis=1))
    rows = np.linalg.eigh(K / roots / roots[:, None])[1][:, -2:]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert_allclose(cost, mean_squared_distance(rows, labels), rtol=1e-9)


def test_angular_cost_is_that_of_the_projections(X):
    """Eq. (28) from the cosines between means of rows."""
    labels, cost = kernel_pca_clustering(X, 2, kernel=Gaussian(1.5), return_cost=True)
    Z = leading_projections(Gaussian(1.5)(X), 2)
    mean = Z.mean(axis=0)
    expected = 0.0
    for c in set(labels):
        center = Z[labels == c].mean(axis=0)
        cosine = center @ mean / np.linalg.norm(center) / np.linalg.norm(mean)
        expected += (labels == c).sum() * cosine
    assert_allclose(cost, expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["njw", "kernel-pca"])
def test_sweep_repeats_the_baseline_and_chooses_the_lowest_cost(method, X):
    cluster = {"njw": njw_clustering, "kernel-pca": kernel_pca_clustering}[method]
    sweep = sweep_baseline(method, X, 2, bandwidths=[3.0, 0.7, 1.5])
    assert sweep.bandwidths.tolist() == [0.7, 1.5, 3.0]
    for record in sweep.records:
        labels, cost = cluster(X, 2, kernel=Gaussian(record.bandwidth), return_cost=True)
        assert_array_equal(record.labels, labels)
        assert record.cost == cost
    assert sweep.best.cost == min(record.cost for record in sweep.records)


def test_sweep_of_a_number_of_bandwidths_covers_the_range_of_the_paper(X):
    sweep = sweep_baseline("kernel-pca", X, 2, bandwidths=3, metric="euclidean")
    assert_allclose(sweep.bandwidths, median_distance(X) * np.array([0.1, 0.15, 0.2]))


def test_sweep_rejects_other_kernels_and_bandwidths(X):
    with raises(ValueError, "Linear"):
        sweep_baseline("njw", X, 2, kernel=Linear())
    with raises(ValueError, "'kmeans'"):
        sweep_baseline("kmeans", X, 2)
    for bad in ([], [0.0], [-1.0], [float("nan")]):
        with raises(ValueError, "bandwidths"):
            sweep_baseline("njw", X, 2, bandwidths=bad)


def test_angular_kernel_pca_clustering_is_reproducible():
    """The ring's projections are zero up to the error of the eigenvectors, so it is isolated."""
    X, y = make_ring_and_blob(random_state=0)
    kernel = Gaussian(median_distance(X))  # the ring is 17 bandwidths from the blob
    labels = [kernel_pca_clustering(X, 2, kernel=kernel, random_state=seed) for seed in (0, 0, 1)]
    assert_array_equal(labels[0], labels[1])
    assert_array_equal(labels[0], labels[2])
    vectors = np.linalg.eigh(kernel(X))[1][:, -2:]  # a full decomposition
    ring = np.abs(vectors).max(axis=1) < 1e-12
    assert_array_equal(ring, y == y[ring][0])
    assert_array_equal(labels[0] == -1, ring)
