"""Jenssen, Kernel Entropy Component Analysis, PAMI 2010: the transform.

Numbers come from the paper as corrected by the project's list of errata.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA, KernelPCA
from mercer.datasets import (
    load_frey_faces,
    load_segment,
    load_usps,
    make_ring_and_blob,
    make_rings,
)
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Gaussian
from mercer.maths.entropy import entropy_order

SOLVERS = ["dense", "lanczos"]

# the paper's small bandwidths leave some points without neighbours; the library says so each time
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")


def load(loader, **arguments):
    try:
        return loader(**arguments)
    except FileNotFoundError as absent:
        pytest.skip(str(absent))


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
def test_ideal_blocks(solver):
    """V = (N1² + N2²)/N², and each cluster is one point on its own axis."""
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
def test_three_equal_ideal_blocks(solver):
    """A triple eigenvalue: one vector has all the entropy, yet all three vectors come out."""
    K = block_diagonal(*[np.ones((16, 16))] * 3)
    eca = KernelECA(3, kernel="precomputed", solver=solver)
    scores = eca.fit_transform(K)
    assert_allclose(eca.entropy_ratio_, [1, 0, 0], atol=1e-12)
    assert_allclose(scores @ scores.T, K, atol=1e-10)
    assert_allclose(eca.spectrum_.gram(), K, atol=1e-10)


def test_equal_blocks_are_reported():
    K = block_diagonal(*[np.ones((16, 16))] * 3)
    with pytest.warns(IdentifiabilityWarning, match="×3"):
        KernelECA(3, kernel="precomputed", solver="dense").fit(K)


# --- section 3.8: the suboptimal case ---------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("gamma", "beta", "ranks"), [(0.3, 0.1, [1, 3]), (0.1, 0.3, [1, 2])])
def test_suboptimal_blocks(solver, gamma, beta, ranks):
    """The eigenpair that separates nothing carries no entropy and is passed over."""
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


def test_kernel_pca_collapses_the_second_group_there():
    gamma, n1, n2 = 0.3, 40, 20
    inner = np.ones((n1, n1))
    inner[: n1 // 2, n1 // 2 :] = inner[n1 // 2 :, : n1 // 2] = 1 - gamma
    K = block_diagonal(inner, np.full((n2, n2), 0.1))
    scores = KernelPCA(2, kernel="precomputed", center=False).fit_transform(K)
    assert_allclose(scores[n1:], 0, atol=1e-10)


# --- identities (sections 3.2 to 3.5) ---------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_mean_vector_identities(solver):
    """V - V_k is the sum of the terms left out; V_k = |m_eca|² = 1'K_eca 1/n²."""
    X, _ = make_ring_and_blob(random_state=0)
    eca = KernelECA(4, kernel=Gaussian(1.2), solver=solver)
    scores = eca.fit_transform(X)
    kept = eca.entropy_terms_.sum()
    assert_allclose((scores.mean(axis=0) ** 2).sum(), kept, rtol=1e-10)
    assert_allclose(eca.spectrum_.gram().mean(), kept, rtol=1e-10)
    assert_allclose(eca.information_potential_, Gaussian(1.2)(X).mean(), rtol=1e-10)
    assert_allclose(eca.residual_potential_, eca.information_potential_ - kept, atol=1e-14)


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


@pytest.mark.parametrize("solver", SOLVERS)
def test_example_3_usps_six_and_nine(solver):
    """Components 1 and 9 at σ = 2.5, down to 1 and 3 at 3.6; the top two from 3.7 on."""
    X, y = load(load_usps, subset="test", return_X_y=True)
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


@pytest.mark.parametrize("solver", SOLVERS)
def test_segmentation_intervals(solver):
    """The kept components change at 18.7, 23.5, 23.6 and 25.1, at every step of 0.1."""
    data = load(load_segment, subset="train")
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


def test_frey_faces():
    """Components 1, 10, 4; λ₂ is 444th and λ₃ 5th by entropy; certified within 300 products."""
    X = load(load_frey_faces).data
    full = KernelECA(None, kernel=Gaussian(130.0), solver="dense").fit(X)
    assert full.component_ranks_[:3].tolist() == [1, 10, 4]
    places = {int(rank): place for place, rank in enumerate(full.component_ranks_, 1)}
    assert places[2] == 444
    assert places[3] == 5
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


def test_usps_three_six_nine_needs_deep_components():
    """Trap 1: component 41 at σ = 3.1 and 55 at 2.7, which no fixed number of pairs would find."""
    X, y = load(load_usps, subset="test", return_X_y=True)
    X = X[np.isin(y, [3, 6, 9])]
    for bandwidth, deepest in [(3.1, 41), (2.7, 55)]:
        dense = KernelECA(3, kernel=Gaussian(bandwidth), solver="dense").fit(X)
        krylov = KernelECA(3, kernel=Gaussian(bandwidth), solver="lanczos").fit(X)
        assert max(dense.component_ranks_) == deepest
        assert krylov.certified_
        assert krylov.component_ranks_.tolist() == dense.component_ranks_.tolist()
