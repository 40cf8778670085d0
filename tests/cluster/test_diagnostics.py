"""Cluster profiles of eigenvectors: closed forms for block matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import EntropyClustering, KernelECA, KernelPCA
from mercer.cluster.diagnostics import cluster_profile, clustering_cost
from mercer.kernels import Gaussian, Polynomial
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def blocks(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    return (y[:, None] == y).astype(float), y


def test_profile_of_ideal_blocks():
    """Each eigenvector is constant on its own block and 0 elsewhere."""
    K, y = blocks((12, 7, 4))
    pca = KernelPCA(3, kernel="precomputed", center=False).fit(K)
    profile = cluster_profile(pca, y)
    assert profile.clusters.tolist() == [0, 1, 2]
    assert_allclose(profile.mass, np.eye(3), atol=1e-12)
    assert_allclose(np.diagonal(profile.constancy), 1, rtol=1e-10)
    assert profile.represents.tolist() == [0, 1, 2]
    assert_allclose(profile.entropy_terms, np.array([144, 49, 16]) / 23**2, rtol=1e-10)


def test_profile_of_suboptimal_blocks():
    """Section 3.8: the eigenvector that splits the first block represents no cluster."""
    n1, n2, gamma, beta = 40, 20, 0.3, 0.1
    K = np.zeros((60, 60))
    K[:n1, :n1] = 1.0
    K[:20, 20:40] = K[20:40, :20] = 1 - gamma
    K[n1:, n1:] = beta
    y = np.repeat([0, 1], [n1, n2])
    pca = KernelPCA(3, kernel="precomputed", center=False).fit(K)
    profile = cluster_profile(pca, y)
    assert_allclose(profile.mass, [[1, 0], [1, 0], [0, 1]], atol=1e-10)
    assert_allclose(profile.constancy[[0, 1, 2], [0, 0, 1]], [1, 0, 1], atol=1e-10)
    assert profile.represents.tolist() == [0, None, 1]
    assert_allclose(profile.entropy_terms[1], 0, atol=1e-12)
    eca = KernelECA(2, kernel="precomputed").fit(K)
    assert cluster_profile(eca, y).represents.tolist() == [0, 1]


def test_profile_equals_a_naive_implementation(rng):
    X = rng.normal(size=(30, 2))
    y = rng.integers(3, size=30)
    eca = KernelECA(5, kernel=Gaussian(0.7)).fit(X)
    profile = cluster_profile(eca, y)
    for i, e in enumerate(eca.spectrum_.eigenvectors.T):
        for c in range(3):
            own = e[y == c]
            assert_allclose(profile.mass[i, c], sum(own**2), atol=1e-12)
            expected = sum(own) ** 2 / (len(own) * sum(own**2))
            assert_allclose(profile.constancy[i, c], expected, rtol=1e-8, atol=1e-12)
    assert_allclose(profile.mass.sum(axis=1), 1, rtol=1e-10)
    assert (profile.constancy <= 1 + 1e-12).all()


def test_weights_equal_copies(rng):
    X = rng.normal(size=(25, 2))
    y = rng.integers(2, size=25)
    weights = rng.integers(1, 4, size=25)
    weighted = KernelECA(3, kernel=Gaussian(1.0)).fit(X, sample_weight=weights)
    copies = KernelECA(3, kernel=Gaussian(1.0)).fit(np.repeat(X, weights, axis=0))
    one, other = cluster_profile(weighted, y), cluster_profile(copies, np.repeat(y, weights))
    assert_allclose(one.mass, other.mass, atol=1e-9)
    assert_allclose(one.constancy, other.constancy, atol=1e-8)
    assert one.represents.tolist() == other.represents.tolist()


def test_unlabeled_points_have_no_cluster():
    K, y = blocks((12, 7, 4))
    pca = KernelPCA(3, kernel="precomputed", center=False).fit(K)
    profile = cluster_profile(pca, np.where(y == 1, -1, y))
    assert profile.clusters.tolist() == [0, 2]
    assert_allclose(profile.mass.sum(axis=1), [1, 0, 1], atol=1e-12)
    assert profile.represents.tolist() == [0, None, 2]


def test_profile_without_clusters_is_empty():
    K, _ = blocks((5, 3))
    pca = KernelPCA(2, kernel="precomputed", center=False).fit(K)
    profile = cluster_profile(pca, np.full(8, -1))
    assert profile.represents.tolist() == [None, None]
    assert profile.mass.shape == (2, 0)
    assert len(str(profile).splitlines()) == 4


@pytest.mark.parametrize("dtype", ["<U5", object])
def test_labels_may_be_strings(dtype):
    K, y = blocks((6, 4))
    names = np.array(["ring", "blob"], dtype=dtype)[y]
    pca = KernelPCA(2, kernel="precomputed", center=False).fit(K)
    profile = cluster_profile(pca, names)
    assert profile.clusters.tolist() == ["blob", "ring"]
    assert profile.represents.tolist() == ["ring", "blob"]
    pandas = pytest.importorskip("pandas")
    assert cluster_profile(pca, pandas.Series(names)).represents.tolist() == ["ring", "blob"]
    assert cluster_profile(pca, names.tolist()).represents.tolist() == ["ring", "blob"]


def test_str_is_a_table():
    K, y = blocks((12, 7))
    text = str(cluster_profile(KernelPCA(2, kernel="precomputed", center=False).fit(K), y))
    assert "1.00 (1.00)" in text
    assert len(text.splitlines()) == 4


def test_profile_accepts_estimators_and_spectra(rng):
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in (0, 8)])
    found = EntropyClustering(2, kernel=Gaussian(1.5)).fit(X)
    one = cluster_profile(found, found.labels_)
    other = cluster_profile(found.spectrum_, found.labels_)
    assert_allclose(one.mass, other.mass)
    assert set(one.represents) == {0, 1}


def test_invalid_input_raises(rng):
    X = rng.normal(size=(10, 2))
    eca = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    with raises(ValueError, "labels", "(9,)", 10):
        cluster_profile(eca, np.zeros(9))
    with raises(ValueError, "labels", "(10, 1)"):
        cluster_profile(eca, np.zeros((10, 1)))
    with raises(TypeError, "ndarray", "Spectrum"):
        cluster_profile(X, np.zeros(10))
    with raises((TypeError, ValueError), "EntropyClustering"):
        cluster_profile(EntropyClustering(), np.zeros(10))
    weights = np.ones(10)
    weights[0] = 0
    eca.fit(X, sample_weight=weights)
    with raises(ValueError, "labels", "(10,)", 9):
        cluster_profile(eca, np.zeros(10))


# --- the cost of a clustering ---------------------------------------------------------------------


def naive_cost(K, labels, weights):
    """``Σ_i n_i cos∠(m_i, m)`` from means of K over pairs of points (Jenssen, eqs. 27 and 28)."""

    def inner(first, second):
        pairs = [(weights[i] * weights[j], K[i, j]) for i in first for j in second]
        return sum(w * k for w, k in pairs) / sum(w for w, _ in pairs)

    everything = range(len(K))
    total = 0.0
    for c in set(labels):
        members = [i for i in everything if labels[i] == c]
        size = sum(weights[i] for i in members)
        if c == -1:
            total += size
            continue
        lengths = np.sqrt(inner(members, members) * inner(everything, everything))
        total += size * inner(members, everything) / lengths
    return total


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Polynomial(2, 1.0)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_cost_equals_sums_over_pairs(kernel, weighted, rng):
    X = rng.normal(size=(25, 2))
    labels = rng.integers(-1, 3, size=25)
    weights = rng.integers(1, 4, size=25) if weighted else None
    expected = naive_cost(kernel(X), labels.tolist(), np.ones(25) if weights is None else weights)
    found = clustering_cost(X, labels, kernel, sample_weight=weights)
    assert_allclose(found, expected, rtol=1e-10)
    given = clustering_cost(kernel(X), labels, "precomputed", sample_weight=weights)
    assert_allclose(given, expected, rtol=1e-10)


def test_cost_of_entropy_clustering_is_its_attribute(rng):
    X = np.concatenate([rng.normal(at, 0.5, size=(30, 2)) for at in (0, 3, 9)])
    X[-1] = 1e3  # isolated: labeled -1, at the cost 1
    found = EntropyClustering(3, kernel=Gaussian(0.5)).fit(X)
    assert (found.labels_ == -1).any()
    assert_allclose(clustering_cost(X, found.labels_, Gaussian(0.5)), found.cost_, rtol=1e-9)


def test_cost_ignores_rows_with_zero_weight_and_accepts_any_labels(rng):
    X, weights = rng.normal(size=(20, 2)), np.repeat([1.0, 0.0], 10)
    names = np.array(["left", "right"])[(X[:, 0] > 0).astype(int)]
    expected = clustering_cost(X[:10], names[:10], Gaussian(1.0))
    found = clustering_cost(X, names, Gaussian(1.0), sample_weight=weights)
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(clustering_cost(X, np.zeros(20), Gaussian(1.0)), 20, rtol=1e-12)
    with raises(ValueError, "(19,)", 20):
        clustering_cost(X, names[:19], Gaussian(1.0))
