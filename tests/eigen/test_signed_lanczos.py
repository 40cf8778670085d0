"""Eigenpairs of signed sums of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.eigen.signed_lanczos import extreme_signed_eigenvalues, signed_eigenpairs
from mercer.kernels import Gaussian


def problem(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n) * rng.choice([-1, 1], size=n) / n
    return Gaussian(1.0)(rng.normal(size=(n, d))), weights


def dense(K, weights):
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.linalg.eigvalsh((root.T * weights) @ root)


@pytest.mark.parametrize("n", [1, 3, 40, 200])
def test_eigenvalues_equal_the_dense_ones_at_both_ends(n):
    K, weights = problem(n)
    expected = dense(K, weights)
    rng = np.random.default_rng(0)
    found = signed_eigenpairs(lambda V: K @ V, weights, 5, tolerance=1e-8, rng=rng)
    for sign, end in zip((1, -1), found, strict=True):
        values = np.sort(sign * expected)[::-1][:5]
        values = values[values > 1e-12]
        assert_allclose(sign * end.values, values, rtol=1e-6)
        assert (end.residuals <= 1e-6 * np.abs(expected).max()).all()


def test_eigenfunctions_are_orthonormal_and_diagonalize_the_sum():
    K, weights = problem(150)
    rng = np.random.default_rng(0)
    end = signed_eigenpairs(lambda V: K @ V, weights, 4, tolerance=1e-10, rng=rng)[0]
    # f'Δf' of orthonormal eigenfunctions is diagonal, with the eigenvalues
    F = end.projections
    assert_allclose((F.T * weights) @ F, np.diag(end.values), atol=1e-9)


def test_multiple_eigenvalues_are_found():
    weights = np.r_[np.full(3, 1 / 3), np.full(5, -1 / 5)]
    found = signed_eigenpairs(lambda V: V, weights, 5, tolerance=1e-8, rng=np.random.default_rng(0))
    assert_allclose(found[0].values, 1 / 3)
    assert_allclose(found[1].values, -1 / 5)
    assert len(found[0].values) == 3


def test_extreme_eigenvalues_of_several_operators():
    K, _ = problem(120)
    D = np.column_stack([problem(120, seed=s)[1] for s in range(4)])
    found = extreme_signed_eigenvalues(lambda V: K @ V, D, 12, np.random.default_rng(0))
    expected = np.array([dense(K, d)[[0, -1]] for d in D.T])
    assert_allclose(found, expected, rtol=0.02)
    assert (np.abs(found) <= np.abs(expected) * (1 + 1e-9)).all()


def test_exhausted_krylov_spaces_add_no_eigenvalues():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60, 3))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    K, weights = F @ F.T, rng.choice([-1, 1], size=60) / 60
    expected = np.linalg.eigvalsh((F.T * weights) @ F)
    found = signed_eigenpairs(lambda V: K @ V, weights, 10, tolerance=1e-8, rng=rng)
    assert_allclose(np.sort(np.r_[found[0].values, found[1].values]), expected, rtol=1e-9)
    D = np.column_stack([weights, rng.permutation(weights)])
    found = extreme_signed_eigenvalues(lambda V: K @ V, D, 12, rng)
    assert_allclose(found[0], [min(expected[0], 0), max(expected[-1], 0)], rtol=1e-9)
