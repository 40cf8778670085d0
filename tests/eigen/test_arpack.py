"""Eigenpairs of degree-normalized matrices: components, symmetric graphs, chains, stored K."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen import Arpack, Selection, arpack
from mercer.eigen.decompose import decompose
from mercer.errors import ConvergenceError, RankError
from mercer.gram import NormalizedGram, SparseGram
from mercer.kernels import Gaussian, Neighbors, Precomputed


def blobs(sizes, distance, seed=0):
    rng = np.random.default_rng(seed)
    centers = [np.array([distance * i, 0.0]) for i in range(len(sizes))]
    return np.concatenate(
        [rng.normal(c, 1.0, size=(m, 2)) for c, m in zip(centers, sizes, strict=True)]
    )


def spectrum_of(X, k, count=6, **settings):
    kernel = fit_kernel(Neighbors(count), X)
    sample = Sample(kernel, Points(X))
    return decompose(sample, "variance", k, normalize=True, solver=Arpack(**settings))


def dense_values(X, count=6):
    return np.linalg.eigvalsh(normalized(fit_kernel(Neighbors(count), X)(X)))[::-1]


def normalized(K):
    roots = np.sqrt(K.sum(axis=1))
    return K / np.outer(roots, roots)


def from_edges(i, j, n):
    half = coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    return csr_array(half + half.T)


def solve(matrix, k, solver=None):
    """Return the leading pairs of a graph with this matrix."""
    n = matrix.shape[0]
    kernel = fit_kernel(Neighbors(1), np.arange(n)[:, None].astype(float))
    points = Points(np.zeros((n, 1)))
    problem = NormalizedGram(SparseGram(kernel, points, None, matrix)).problem()
    selection = Selection("variance", k, float(n), 1.0, n)
    return (solver or Arpack()).solve(problem, selection)


def test_each_component_has_eigenvalue_one():
    X = blobs([400, 300, 200], 100.0)
    spectrum = spectrum_of(X, 5)
    assert_allclose(spectrum.eigenvalues, dense_values(X)[:5], atol=1e-12)
    assert_allclose(spectrum.eigenvalues[:3], 1, rtol=1e-14)
    rows = spectrum.projections[:, :3]
    labels = np.repeat([0, 1, 2], [400, 300, 200])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for c in range(3):  # rows of a component have one direction, orthogonal to the others
        assert_allclose(unit @ unit[labels == c][0], labels == c, atol=1e-10)


def test_fewer_pairs_than_components_are_the_heaviest():
    rows = spectrum_of(blobs([200, 350, 300], 100.0), 2).projections
    used = np.linalg.norm(rows, axis=1) > 0
    assert_array_equal(used, np.repeat([False, True, True], [200, 350, 300]))


def test_nearly_disconnected_graph():
    """Two halves joined by one edge: λ₂ = 1 - O(1/n), found although it is close to λ₁."""
    X = blobs([500, 500], 9.0)
    expected = dense_values(X)[:3]
    assert 1 - expected[1] < 1e-2
    assert_allclose(1 - spectrum_of(X, 3).eigenvalues, 1 - expected, rtol=1e-3, atol=1e-12)


def test_many_pairs_with_eigenvalues_far_apart():
    X = blobs([350, 350], 5.0)
    expected = dense_values(X, count=30)[:61]
    assert expected[-1] < 0.5
    assert_allclose(spectrum_of(X, 61, count=30).eigenvalues, expected, atol=1e-9)


ALL, HALF = np.arange(700), np.arange(350)
SYMMETRIC = {
    "ring, all eigenvalues double": from_edges(ALL, (ALL + 1) % 700, 700),
    "star, eigenvalue zero": from_edges(np.zeros(699, int), ALL[1:], 700),
    "two equal rings": from_edges(ALL, np.r_[(HALF + 1) % 350, 350 + (HALF + 1) % 350], 700),
    "square grid": from_edges(
        np.r_[np.arange(675).reshape(27, 25)[:, :-1].ravel(), np.arange(650)],
        np.r_[np.arange(675).reshape(27, 25)[:, 1:].ravel(), np.arange(25, 675)],
        675,
    ),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_multiple_eigenvalues_are_found(name):
    matrix = SYMMETRIC[name]
    expected = np.linalg.eigvalsh(normalized(matrix.toarray()))[::-1][:7]
    if expected[-1] < 1e-12:
        with pytest.raises(RankError):
            solve(matrix, 7)
        return
    found = solve(matrix, 7)
    assert_allclose(found.values, expected, atol=1e-12)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(7), atol=1e-7)


def test_a_long_chain_is_factorized():
    n = 3000
    found = solve(from_edges(np.arange(n - 1), np.arange(1, n), n), 4)
    expected = np.cos(np.pi * np.arange(4) / (n - 1))
    assert_allclose(1 - found.values, 1 - expected, rtol=1e-3, atol=1e-12)


def test_stored_kernel_without_convergence_raises():
    X = blobs([350, 350], 5.0)
    sample = Sample(Gaussian(0.1), Points(X))
    with pytest.raises(ConvergenceError, match="max_restarts"):
        decompose(sample, "variance", 20, normalize=True, solver=Arpack(max_restarts=1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stored_kernel_that_is_nearly_disconnected(dtype):
    """λ₂ and λ₃ differ from 1 by less than 1e-3, the next eigenvalue by much more."""
    X = blobs([250, 250, 200], 7.0).astype(dtype)
    sample = Sample(Gaussian(0.8), Points(X))
    spectrum = decompose(sample, "variance", 5, normalize=True, solver=Arpack())
    expected, vectors = np.linalg.eigh(normalized(Gaussian(0.8)(X.astype(float))))
    expected, vectors = expected[::-1][:5], vectors[:, ::-1][:, :5]
    assert 1e-9 < 1 - expected[1] < 1e-3 < 1 - expected[3]
    rounding = 1e-9 if dtype == np.float64 else 1e-5
    assert_allclose(spectrum.eigenvalues, expected, atol=rounding)
    found = spectrum.projections / np.sqrt(spectrum.eigenvalues)
    cosines = np.linalg.svd(vectors[:, :3].T @ found[:, :3], compute_uv=False)
    assert_allclose(cosines, 1, atol=100 * rounding)
    assert_array_equal(spectrum.known_ranks, np.arange(1, 6))


def test_more_pairs_than_positive_eigenvalues_raise():
    K = np.ones((4, 4)) - np.eye(4)  # eigenvalues of the normalized matrix: 1 and three times -1/3
    K = np.kron(K, np.ones((200, 200)))
    sample = Sample(Precomputed(), Points(np.arange(800), "gram"), None, K)
    with pytest.raises(RankError) as caught:
        decompose(sample, "variance", 3, normalize=True)
    assert caught.value.rank == 1
    fewer = decompose(sample, "variance", 3, normalize=True, at_most=True)
    assert_allclose(fewer.eigenvalues, [1.0], rtol=1e-12)


def test_vectors_with_large_residuals_are_not_eigenvectors(monkeypatch):
    def wrong(operator, k, **kwargs):
        return np.full(k, 1.2), np.eye(operator.shape[0], k)

    X = np.random.default_rng(0).normal(size=(700, 3))
    sample = Sample(Gaussian(1.0), Points(X))
    monkeypatch.setattr(arpack, "eigsh", wrong)
    with pytest.raises(ConvergenceError):
        decompose(sample, "variance", 3, normalize=True, solver=Arpack())
    found = decompose(sample, "variance", 3, normalize=True)
    assert found.method == decompose(sample, "variance", 3, normalize=True, solver="dense").method
