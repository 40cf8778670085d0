"""Eigenpairs of graphs with known components and of nearly disconnected graphs."""

import numpy as np
import pytest

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen.chebyshev import filtered_eigenpairs
from mercer.eigen.decompose import decompose
from mercer.eigen.shift_invert import inverse_eigenpairs
from mercer.errors import ConvergenceError, RankError
from mercer.kernels import Gaussian, Neighbors, Precomputed
from mercer.solvers import GraphSolver


def blobs(sizes, distance, seed=0):
    rng = np.random.default_rng(seed)
    centers = [np.array([distance * i, 0.0]) for i in range(len(sizes))]
    return np.concatenate(
        [rng.normal(c, 1.0, size=(m, 2)) for c, m in zip(centers, sizes, strict=True)]
    )


def spectrum_of(X, k, count=6, **settings):
    kernel = fit_kernel(Neighbors(count), X)
    sample = Sample(kernel, Points(X))
    return decompose(sample, "variance", k, normalize=True, solver=GraphSolver(**settings))


def dense_values(X, count=6):
    K = fit_kernel(Neighbors(count), X)(X)
    roots = np.sqrt(K.sum(axis=1))
    return np.linalg.eigvalsh(K / np.outer(roots, roots))[::-1]


def test_each_component_has_eigenvalue_one():
    X = blobs([100, 80, 60], 100.0)
    spectrum = spectrum_of(X, 5)
    np.testing.assert_allclose(spectrum.eigenvalues, dense_values(X)[:5], atol=1e-12)
    np.testing.assert_allclose(spectrum.eigenvalues[:3], 1, rtol=1e-14)
    rows = spectrum.projections[:, :3]
    labels = np.repeat([0, 1, 2], [100, 80, 60])
    normalized = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for c in range(3):  # rows of a component have one direction, orthogonal to the others
        cosines = normalized @ normalized[labels == c][0]
        np.testing.assert_allclose(cosines, labels == c, atol=1e-10)


def test_fewer_pairs_than_components_are_the_heaviest():
    X = blobs([30, 90, 60], 100.0)
    rows = spectrum_of(X, 2).projections
    used = np.linalg.norm(rows, axis=1) > 0
    np.testing.assert_array_equal(used, np.repeat([False, True, True], [30, 90, 60]))


def test_large_components_agree_with_full_decomposition():
    X = blobs([700, 50], 100.0)
    spectrum = spectrum_of(X, 6, tolerance=1e-6)
    np.testing.assert_allclose(spectrum.eigenvalues, dense_values(X)[:6], atol=1e-9)


def test_nearly_disconnected_graph():
    """Two halves joined by one edge: λ₂ = 1 - O(1/n), found although it is close to λ₁."""
    X = blobs([1500, 1500], 9.0)
    spectrum = spectrum_of(X, 3, tolerance=1e-4)
    expected = dense_values(X)[:3]
    assert 1 - expected[1] < 1e-2
    np.testing.assert_allclose(1 - spectrum.eigenvalues, 1 - expected, rtol=1e-3, atol=1e-12)


def test_filter_finds_multiple_eigenvalues():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(300, 300)))
    values = np.r_[[0.9] * 5, 0.9 - 1e-9, rng.uniform(-1, 0.8, 294)]
    A = Q * values @ Q.T
    found, vectors, converged, _ = filtered_eigenpairs(lambda V: A @ V, 300, 6, tolerance=1e-6)
    assert converged
    np.testing.assert_allclose(found, values[:6], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(Q[:, :6].T @ vectors, axis=0), 1, atol=1e-6)


def test_many_pairs_with_eigenvalues_far_apart():
    """A filter that is steep for the last pair must not let the first ones replace it."""
    X = blobs([350, 350], 5.0)
    spectrum = spectrum_of(X, 61, count=30)
    expected = dense_values(X, count=30)[:61]
    assert expected[-1] < 0.5
    np.testing.assert_allclose(spectrum.eigenvalues, expected, atol=1e-4)


def test_filter_of_a_small_matrix_is_exact():
    values = np.array([0.5, 0.2, -0.3])
    found = filtered_eigenpairs(lambda V: values[:, None] * V, 3, 2, tolerance=1e-6)
    np.testing.assert_allclose(found[0], values[:2], atol=1e-14)


def test_limit_on_products_raises_with_the_approximations():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    with pytest.raises(ConvergenceError) as caught:
        spectrum_of(X, 5, max_products=3)
    assert len(caught.value.pairs.values) == 5


# --- stored matrices ------------------------------------------------------------------------------


def normalized(K):
    roots = np.sqrt(K.sum(axis=1))
    return K / np.outer(roots, roots)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stored_kernel_that_is_nearly_disconnected(dtype):
    """λ₂ and λ₃ differ from 1 by less than 1e-3, the next eigenvalue by much more."""
    X = blobs([250, 250, 200], 7.0).astype(dtype)
    sample = Sample(Gaussian(0.8), Points(X))
    spectrum = decompose(sample, "variance", 5, normalize=True, solver=GraphSolver())
    expected, vectors = np.linalg.eigh(normalized(Gaussian(0.8)(X.astype(float))))
    expected, vectors = expected[::-1][:5], vectors[:, ::-1][:, :5]
    assert 1e-9 < 1 - expected[1] < 1e-3 < 1 - expected[3]
    rounding = 1e-9 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(spectrum.eigenvalues, expected, atol=rounding)
    found = spectrum.projections / np.sqrt(spectrum.eigenvalues)
    cosines = np.linalg.svd(vectors[:, :3].T @ found[:, :3], compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=100 * rounding)
    np.testing.assert_array_equal(spectrum.known_ranks, np.arange(1, 6))


def test_inverse_finds_multiple_eigenvalues():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(300, 300)))
    values = np.r_[[1.0] * 4, [1 - 1e-8] * 2, 0.9, rng.uniform(-1, 0.8, 293)]
    found = inverse_eigenpairs(Q * values @ Q.T, 7)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:7], atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(Q[:, :7].T @ found.vectors, axis=0), 1, atol=1e-9)


def test_stored_matrix_with_an_eigenvalue_above_one_raises():
    """Degrees are positive, but a negative value makes an eigenvalue exceed 1."""
    K = np.array([[5.0, -4.0, 0.5], [-4.0, 5.0, 0.5], [0.5, 0.5, 1.0]])
    assert np.linalg.eigvalsh(normalized(K))[-1] > 1.1
    sample = Sample(Precomputed(), Points(np.arange(3), "gram"), None, K)
    with pytest.raises(ConvergenceError, match="negative values"):
        decompose(sample, "variance", 1, normalize=True, solver=GraphSolver())


def test_more_pairs_than_positive_eigenvalues_raise():
    K = np.ones((4, 4)) - np.eye(4)  # eigenvalues of the normalized matrix: 1 and three times -1/3
    sample = Sample(Precomputed(), Points(np.arange(4), "gram"), None, K)
    with pytest.raises(RankError) as caught:
        decompose(sample, "variance", 3, normalize=True, solver=GraphSolver())
    assert caught.value.rank == 1
    fewer = decompose(sample, "variance", 3, normalize=True, solver=GraphSolver(), at_most=True)
    np.testing.assert_allclose(fewer.eigenvalues, [1.0], rtol=1e-12)
