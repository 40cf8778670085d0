"""Eigenpairs by a tridiagonal matrix agree with a full decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError, eigh

from mercer.eigen import dense
from mercer.eigen.dense import Tridiagonalized


def gaussian_gram(n, bandwidth):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[:5] = X[0]  # repeated points
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * bandwidth**2))


@pytest.mark.parametrize("n", [2, 3, 60, 151])
@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_eigenpairs(n, bandwidth, order):
    A = gaussian_gram(n, bandwidth)
    found = Tridiagonalized(A.copy(order=order))
    vectors = found.from_basis(found.vectors(n))
    scale = float(np.abs(A).sum(axis=1).max())
    assert_allclose(found.values, eigh(A, eigvals_only=True), rtol=0, atol=1e-13 * scale)
    assert_allclose(A @ vectors, vectors * found.values, rtol=0, atol=1e-13 * scale)
    assert_allclose(vectors.T @ vectors, np.eye(n), rtol=0, atol=1e-11)


@pytest.mark.parametrize("count", [1, 7])
def test_some_eigenvectors_and_both_changes_of_basis(count):
    A = gaussian_gram(80, 0.5)
    found = Tridiagonalized(A.copy())
    vectors = found.from_basis(found.vectors(count))
    assert vectors.shape == (80, count)
    assert_allclose(A @ vectors, vectors * found.values[-count:], rtol=0, atol=1e-12)
    assert_allclose(found.to_basis(vectors), found.vectors(count), rtol=0, atol=1e-12)


def test_inverse_iteration_if_the_fast_method_fails(monkeypatch):
    real = dense.eigh_tridiagonal

    def failing(*args, lapack_driver, **options):
        if lapack_driver == "stemr":
            raise LinAlgError("no convergence")
        return real(*args, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(dense, "eigh_tridiagonal", failing)
    A = gaussian_gram(50, 1.0)
    found = Tridiagonalized(A.copy())
    vectors = found.from_basis(found.vectors(4))
    assert_allclose(A @ vectors, vectors * found.values[-4:], rtol=0, atol=1e-12)
