"""Jenssen, Kernel Entropy Component Analysis, PAMI 2010: quick checks.

``./run reproduce jenssen-2010`` runs all experiments. Numbers come from the paper as corrected by
the project's list of errata.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine

from mercer import ComponentClassifier, EntropyClustering, KernelDenoiser, KernelECA, KernelPCA
from mercer.bandwidth import median_distance
from mercer.cluster.diagnostics import cluster_profile, clustering_error
from mercer.datasets import make_ring_and_blob, make_rings
from mercer.eigen.dense import entropy_order
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Gaussian
from papers.baselines import kernel_pca_clustering, njw_clustering
from papers.data import (
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
)
from tests.expectations import warns
from tests.papers.loading import load_or_skip

SOLVERS = ["dense", "lanczos"]

# Points are isolated at the small bandwidths of the paper, and some are labeled -1: articles with
# none of the hundred words, and faces far from all others.
pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
    pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning"),
]


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def clustered(X, n_clusters, bandwidth):
    return EntropyClustering(n_clusters, kernel=Gaussian(bandwidth)).fit(X)


def block_diagonal(*blocks):
    n = sum(map(len, blocks))
    K = np.zeros((n, n))
    at = 0
    for block in blocks:
        K[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return K


# --- section 3.7: the ideal case --------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_ideal_blocks_are_points_on_axes(solver):
    """V = (N1² + N2²)/N²."""
    n1, n2 = 30, 20
    K = block_diagonal(np.ones((n1, n1)), np.ones((n2, n2)))
    eca = KernelECA(2, kernel="precomputed", solver=solver)
    scores = eca.fit_transform(K)
    assert_allclose(eca.information_potential_, (n1**2 + n2**2) / (n1 + n2) ** 2, rtol=1e-10)
    assert_allclose(eca.eigenvalues_, [n1, n2], rtol=1e-10)
    expected = np.repeat([[1.0, 0.0], [0.0, 1.0]], [n1, n2], axis=0)
    assert_allclose(scores, expected, atol=1e-10)
    pca = KernelPCA(2, kernel="precomputed", center=False, solver=solver)
    assert_allclose(pca.fit_transform(K), expected, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_three_equal_ideal_blocks_have_three_components(solver):
    """A triple eigenvalue: one eigenvector has all the entropy."""
    K = block_diagonal(*[np.ones((16, 16))] * 3)
    eca = KernelECA(3, kernel="precomputed", solver=solver)
    scores = eca.fit_transform(K)
    assert_allclose(eca.entropy_ratio_, [1, 0, 0], atol=1e-12)
    assert_allclose(scores @ scores.T, K, atol=1e-10)
    assert_allclose(eca.spectrum_.gram(), K, atol=1e-10)


def test_equal_blocks_warn_of_tied_eigenvalues():
    K = block_diagonal(*[np.ones((16, 16))] * 3)
    with warns(IdentifiabilityWarning, "×3"):
        KernelECA(3, kernel="precomputed", solver="dense").fit(K)


# --- section 3.8: the suboptimal case ---------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("gamma", "beta", "ranks"), [(0.3, 0.1, [1, 3]), (0.1, 0.3, [1, 2])])
def test_suboptimal_blocks_are_separated(solver, gamma, beta, ranks):
    """The eigenpair that splits the first block has no entropy and is not selected."""
    n1, n2 = 40, 20
    n = n1 + n2
    inner = np.ones((n1, n1))
    inner[: n1 // 2, n1 // 2 :] = inner[n1 // 2 :, : n1 // 2] = 1 - gamma
    K = block_diagonal(inner, np.full((n2, n2), beta))
    eca = KernelECA(2, kernel="precomputed", solver=solver)
    scores = eca.fit_transform(K)
    first, second = n1 * (1 - gamma / 2), beta * n2
    assert_allclose(eca.eigenvalues_, [first, second], rtol=1e-10)
    V = ((1 - gamma / 2) * n1**2 + beta * n2**2) / n**2
    assert_allclose(eca.information_potential_, V, rtol=1e-10)
    terms = np.array([(1 - gamma / 2) * n1**2, beta * n2**2]) / n**2
    assert_allclose(eca.entropy_terms_, terms, rtol=1e-10)
    assert_allclose(eca.residual_potential_, 0, atol=1e-12)
    if solver == "dense":
        assert eca.component_ranks_.tolist() == ranks
    expected = np.zeros((n, 2))
    expected[:n1, 0], expected[n1:, 1] = np.sqrt(1 - gamma / 2), np.sqrt(beta)
    assert_allclose(scores, expected, atol=1e-10)


def test_kernel_pca_maps_the_second_suboptimal_block_to_zero():
    gamma, n1, n2 = 0.3, 40, 20
    inner = np.ones((n1, n1))
    inner[: n1 // 2, n1 // 2 :] = inner[n1 // 2 :, : n1 // 2] = 1 - gamma
    K = block_diagonal(inner, np.full((n2, n2), 0.1))
    scores = KernelPCA(2, kernel="precomputed", center=False).fit_transform(K)
    assert_allclose(scores[n1:], 0, atol=1e-10)


# --- identities (sections 3.2 to 3.5) ---------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_identities_of_the_mean_vector(solver):
    """V - V_k is the sum of the omitted terms; V_k = |m_eca|² = 1'K_eca 1/n²."""
    X, _ = make_ring_and_blob(random_state=0)
    eca = KernelECA(4, kernel=Gaussian(1.2), solver=solver)
    scores = eca.fit_transform(X)
    selected = eca.entropy_terms_.sum()
    assert_allclose((scores.mean(axis=0) ** 2).sum(), selected, rtol=1e-10)
    assert_allclose(eca.spectrum_.gram().mean(), selected, rtol=1e-10)
    assert_allclose(eca.information_potential_, Gaussian(1.2)(X).mean(), rtol=1e-10)
    assert_allclose(eca.residual_potential_, eca.information_potential_ - selected, atol=1e-14)


# --- section 3.9: examples --------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_example_1_ring_and_blob(solver, seed):
    X, _ = make_ring_and_blob(random_state=seed)
    for bandwidth, ranks in [(1.2, {1, 4}), (1.3, {1, 4}), (1.4, {1, 4}), (2.0, {1, 2})]:
        eca = KernelECA(2, kernel=Gaussian(bandwidth), solver=solver).fit(X)
        assert set(eca.component_ranks_) == ranks


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_example_2_three_rings(solver, seed):
    X, _ = make_rings(random_state=seed)
    for bandwidth in (3.5, 3.6, 3.7, 3.8):
        eca = KernelECA(3, kernel=Gaussian(bandwidth), solver=solver).fit(X)
        assert set(eca.component_ranks_) == {1, 2, 9}
        assert eca.certified_


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_example_3_usps_six_and_nine(solver):
    """The second component is 9 at σ = 2.5, 3 at 3.6 and 2 from 3.7 on."""
    X, y = load_or_skip(load_usps, subset="test", return_X_y=True)
    X = X[np.isin(y, [6, 9])]
    assert len(X) == 347
    second = {}
    for bandwidth in np.arange(25, 40) / 10:
        eca = KernelECA(2, kernel=Gaussian(bandwidth), solver=solver).fit(X)
        assert eca.certified_
        assert eca.component_ranks_[0] == 1
        second[float(bandwidth)] = int(eca.component_ranks_[1])
    assert second[2.5] == 9
    assert all(second[b] == 4 for b in (2.8, 2.9))
    assert all(second[b] == 3 for b in (3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6))
    assert all(second[b] == 2 for b in (3.7, 3.8, 3.9))


# --- section 4: data of the clustering experiments --------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_segmentation_components_change_at_the_published_bandwidths(solver):
    """They change at 18.7, 23.5, 23.6 and 25.1, in steps of 0.1."""
    data = load_or_skip(load_segment, subset="train")
    X = data.data[np.isin(data.target, [4, 2, 7])]
    assert len(X) == 90
    intervals = [
        (13.0, 18.6, {1, 2, 3}),
        (18.7, 23.4, {2, 3, 4}),
        (23.5, 23.5, {1, 2, 3}),
        (23.6, 25.0, {1, 3, 4}),
        (25.1, 28.0, {1, 2, 4}),
    ]
    for low, high, ranks in intervals:
        for tenth in range(round(10 * low), round(10 * high) + 1):
            eca = KernelECA(3, kernel=Gaussian(tenth / 10), solver=solver).fit(X)
            assert set(eca.component_ranks_) == ranks, tenth / 10
            assert eca.certified_


@pytest.mark.slow
def test_frey_faces_components():
    """Components 1, 10, 4; λ₂ is 444th and λ₃ 5th by entropy; certified within 300 products."""
    X = load_or_skip(load_frey_faces).data
    full = KernelECA(None, kernel=Gaussian(130.0), solver="dense").fit(X)
    assert full.component_ranks_[:3].tolist() == [1, 10, 4]
    position = {int(rank): i for i, rank in enumerate(full.component_ranks_, 1)}
    assert position[2] == 444
    assert position[3] == 5
    krylov = KernelECA(3, kernel=Gaussian(130.0), solver="lanczos").fit(X)
    V = full.information_potential_
    assert krylov.certified_
    assert "Christoffel" in krylov.spectrum_.certificate
    assert krylov.spectrum_.products <= 300
    assert_allclose(krylov.entropy_terms_, full.entropy_terms_[:3], atol=1e-8 * V)
    assert krylov.component_ranks_.tolist() == [1, 10, 4]
    spectrum = full.spectrum_
    order = entropy_order(spectrum.known_entropy_terms, spectrum.known_eigenvalues, V)
    assert order[:3].tolist() == [0, 9, 3]


@pytest.mark.slow
def test_usps_three_six_nine_selects_components_of_high_rank():
    """Errata, trap 1: component 41 at σ = 3.1 and 55 at 2.7."""
    X, y = load_or_skip(load_usps, subset="test", return_X_y=True)
    X = X[np.isin(y, [3, 6, 9])]
    for bandwidth, deepest in [(3.1, 41), (2.7, 55)]:
        dense = KernelECA(3, kernel=Gaussian(bandwidth), solver="dense").fit(X)
        krylov = KernelECA(3, kernel=Gaussian(bandwidth), solver="lanczos").fit(X)
        assert max(dense.component_ranks_) == deepest
        assert krylov.certified_
        assert krylov.component_ranks_.tolist() == dense.component_ranks_.tolist()


# --- section 4: clustering ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_example_1_has_no_clustering_errors(seed):
    X, y = make_ring_and_blob(random_state=seed)
    for bandwidth in (1.2, 1.3, 1.4):
        assert clustering_error(y, clustered(X, 2, bandwidth).labels_) == 0


@pytest.mark.parametrize("seed", range(3))
def test_clustering_example_1_rings(seed):
    """No errors at σ = 3.5 to 3.8 after two iterations; kernel PCA has more than 10 % errors."""
    X, y = make_rings(random_state=seed)
    for bandwidth in (3.5, 3.6, 3.7, 3.8):
        clustering = clustered(X, 3, bandwidth)
        assert clustering_error(y, clustering.labels_) == 0
        assert clustering.n_iter_ == 2
        pca = kernel_pca_clustering(X, 3, kernel=Gaussian(bandwidth))
        assert clustering_error(y, pca) > 0.1


def test_rings_with_random_angles_are_not_separated():
    """Random angles leave wide intervals without points, which split a ring into arcs."""
    errors = []
    for seed in range(5):
        X, y = make_rings(even_angles=False, random_state=seed)
        errors.append(clustering_error(y, clustered(X, 3, 3.7).labels_))
    assert np.mean(errors) > 0.2


def table_1(name):
    if name == "pen":
        X, y = load_or_skip(load_pendigits, subset="test", return_X_y=True)
        selected = np.isin(y, [0, 1, 2])
        return standardized(X[selected]), y[selected]
    X, y = (load_iris if name == "iris" else load_wine)(return_X_y=True)
    return standardized(X), y


TABLE_1 = [
    # range of the lowest error on the grid, its components, (bandwidth, error) of NJW, and limit of
    # the error at the bandwidth chosen without labels
    ("iris", (0.10, 0.114), {1, 3, 4}, (0.36, 0.313), 0.20),
    ("wine", (0.045, 0.057), {1, 3, 4}, (0.70, 0.382), 0.10),
    ("pen", (0.159, 0.166), {1, 2, 6}, (0.98, 0.274), 0.20),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lowest", "components", "njw", "label_free"), TABLE_1)
def test_table_1_errors(name, lowest, components, njw, label_free):
    X, y = table_1(name)
    swept = EntropyClustering(3, bandwidths=80).fit(X)
    errors = np.array([clustering_error(y, record.labels) for record in swept.path_])
    assert lowest[0] <= errors.min() <= lowest[1]
    assert set(swept.path_[errors.argmin()].components) == components
    assert clustering_error(y, swept.labels_) <= label_free
    bandwidth, error = njw
    labels = njw_clustering(X, 3, kernel=Gaussian(bandwidth))
    assert abs(clustering_error(y, labels) - error) <= 0.005


def test_table_1_bandwidths():
    """They are 10 to 20 % of the median distance: 0.23 to 0.46 for iris, up to 0.99 for wine."""
    X, _ = table_1("iris")
    assert_allclose(np.array([0.1, 0.2]) * median_distance(X), [0.23, 0.46], atol=0.006)
    X, _ = table_1("wine")
    assert_allclose(0.2 * median_distance(X), 0.99, atol=0.005)


def test_clustering_example_2_thyroid():
    """Components 1 and 6 and at most 6 % errors for σ = 0.8 to 0.95; about 20 % at σ = 5."""
    X, y = load_or_skip(load_thyroid, return_X_y=True)
    X, normal = standardized(X), y == 1
    for bandwidth in (0.8, 0.85, 0.9, 0.95):
        clustering = clustered(X, 2, bandwidth)
        assert set(clustering.path_[0].components) == {1, 6}
        assert clustering_error(normal, clustering.labels_) <= 0.06
    assert 0.17 <= clustering_error(normal, clustered(X, 2, 5.0).labels_) <= 0.23


def test_clustering_example_3_segmentation():
    data = load_or_skip(load_segment, subset="train")
    selected = np.isin(data.target, [4, 2, 7])
    X, y = data.data[selected], data.target[selected]
    errors = [clustering_error(y, clustered(X, 3, b / 10).labels_) for b in range(236, 281)]
    assert max(errors) <= 0.067
    assert min(errors) <= 0.045
    assert clustering_error(y, kernel_pca_clustering(X, 3, kernel=Gaussian(24.0))) >= 0.2


def test_components_at_small_bandwidths_are_stable():
    """Errata, trap 2: perturbations of 1e-14 change the components of a plain decomposition."""
    data = load_or_skip(load_segment, subset="train")
    K = Gaussian(5.0)(data.data[np.isin(data.target, [4, 2, 7])])
    rng = np.random.default_rng(0)
    plain, ours = set(), set()
    for _ in range(20):
        noise = rng.normal(size=K.shape) * 1e-14
        perturbed = K + (noise + noise.T) / 2
        values, vectors = np.linalg.eigh(perturbed)
        terms = values * vectors.sum(axis=0) ** 2
        plain.add(frozenset((len(K) - np.argsort(-terms)[:3]).tolist()))
        eca = KernelECA(3, kernel="precomputed", solver="dense").fit(perturbed)
        ours.add(frozenset(eca.component_ranks_.tolist()))
    assert len(plain) >= 10
    assert len(ours) == 1


def test_clustering_example_5_faces():
    sizes = np.bincount(clustered(load_or_skip(load_frey_faces).data, 3, 130.0).labels_ + 1)
    assert_allclose(np.sort(sizes[1:]), [540, 618, 807], atol=5)


def test_clustering_example_6_newsgroups():
    """Kernel matrix (X'X)², entry by entry; mean error of 25 to 35 % over 30 subsets."""
    X, y = load_or_skip(load_newsgroups, return_X_y=True)
    groups = [np.flatnonzero(y == group) for group in (2, 3)]
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(30):
        rows = np.concatenate(
            [rng.choice(g, size, replace=False) for g, size in zip(groups, (352, 266), strict=True)]
        )
        K = (X[rows] @ X[rows].T) ** 2.0
        labels = EntropyClustering(2, kernel="precomputed").fit(K).labels_
        errors.append(clustering_error(y[rows], labels))
    assert 0.25 <= np.mean(errors) <= 0.35


def test_example_3_usps_clusters():
    X, y = load_or_skip(load_usps, subset="test", return_X_y=True)
    selected = np.isin(y, [6, 9])
    for bandwidth in (2.8, 3.0, 3.2, 3.4, 3.6, 3.8):
        assert clustering_error(y[selected], clustered(X[selected], 2, bandwidth).labels_) <= 0.02


# --- section 4.1: eigenvectors that represent clusters -----------------------------------------


def test_three_of_nine_eigenvectors_represent_the_rings():
    """Eigenvectors 1, 2 and 9 represent one ring each."""
    X, y = make_rings(random_state=0)
    pca = KernelPCA(9, kernel=Gaussian(3.7), center=False).fit(X)
    profile = cluster_profile(pca, y)
    assert profile.represents.tolist() == [0, 1, None, None, None, None, None, None, 2]


def test_entropy_order_has_fewer_errors_on_ringnorm():
    """Five components have at most 12 % errors by entropy, at least 20 % by variance."""
    errors = {"entropy": [], "variance": []}
    for realisation in range(3):
        data = load_or_skip(load_ida, name="ringnorm", realisation=realisation)
        X, y = data.data, data.target
        kernel = Gaussian(median_distance(X[data.train]) / np.sqrt(2))
        for order, found in errors.items():
            model = ComponentClassifier(5, kernel=kernel, order=order)
            model.fit(X[data.train], y[data.train])
            found.append(model.path(X[data.test], y[data.test])[-1])
    assert np.mean(errors["entropy"]) <= 0.12
    assert np.mean(errors["variance"]) >= 0.20


def test_ringnorm_with_an_intercept_needs_one_component():
    """The orders differ only in the number of components needed to represent a constant."""
    data = load_or_skip(load_ida, name="ringnorm", realisation=0)
    X, y = data.data, data.target
    kernel = Gaussian(median_distance(X[data.train]) / np.sqrt(2))
    for order in ("entropy", "variance"):
        model = ComponentClassifier(1, kernel=kernel, order=order, fit_intercept=True)
        model.fit(X[data.train], y[data.train])
        assert model.path(X[data.test], y[data.test])[0] <= 0.03


def test_best_regression_errors():
    """Banana has 10.9 % and ringnorm 3.1 % at the best dimension."""
    for name, best in [("banana", 0.109), ("ringnorm", 0.031)]:
        data = load_or_skip(load_ida, name=name, realisation=0)
        X, y = data.data, data.target
        kernel = Gaussian(median_distance(X[data.train]) / np.sqrt(2))
        model = ComponentClassifier(200, kernel=kernel).fit(X[data.train], y[data.train])
        assert abs(model.path(X[data.test], y[data.test]).min() - best) <= 0.02


# --- section 5: denoising -----------------------------------------------------------------------


@pytest.mark.parametrize(("k", "keca", "kpca"), [(3, 0.85, 0.40), (8, 0.85, 0.70)])
def test_denoising_by_entropy_preserves_the_class(k, keca, kpca):
    """Digits 3, 6, 9: by variance, many noisy digits become nines."""
    X, y = load_or_skip(load_usps, subset="train", return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == digit)[:100] for digit in (3, 6, 9)])
    X, y = X[rows], y[rows]
    noisy = X + np.random.default_rng(0).normal(0, 0.3, X.shape)
    means = np.array([X[y == digit].mean(axis=0) for digit in (3, 6, 9)])
    accuracy = {}
    for order in ("entropy", "variance"):
        denoiser = KernelDenoiser(k, kernel=Gaussian(3.0), order=order).fit(X)
        clean = denoiser.transform(noisy)
        nearest = ((clean[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        accuracy[order] = (np.array([3, 6, 9])[nearest] == y).mean()
    assert accuracy["entropy"] >= keca
    assert accuracy["variance"] <= kpca
