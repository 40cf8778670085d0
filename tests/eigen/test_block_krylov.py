"""Leading eigenpairs by block Krylov iteration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.eigen import block_krylov
from mercer.eigen.block_krylov import leading_eigenpairs


def matrix(rng, values):
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (Q * values) @ Q.T


SPECTRA = {
    "decaying": np.exp(-np.arange(200) / 10),
    "flat": 1 + 0.01 * np.linspace(1, 0, 200),
    "multiple": np.r_[[3.0] * 7, [2.0] * 5, np.linspace(1, 0, 188)],
    "low rank": np.r_[[5.0, 4.0, 3.0], np.zeros(197)],
    "indefinite": np.linspace(1, -5, 200),
    "one value": np.ones(200),
    "tiny": np.exp(-np.arange(200) / 10) * 1e-140,
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [1, 6, 30])
def test_algebraically_largest_eigenvalues_are_found_with_their_multiplicities(rng, name, k):
    values = SPECTRA[name]
    A = matrix(rng, values)
    found, vectors, converged, products = leading_eigenpairs(
        lambda V: A @ V, 200, k, tolerance=1e-12
    )
    scale = np.abs(values).max()
    assert converged
    assert_allclose(found, np.sort(values)[::-1][:k], atol=1e-11 * scale)
    assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    assert_allclose(A @ vectors, vectors * found, atol=1e-11 * scale)
    assert products > 0


@pytest.mark.parametrize("name", [name for name in SPECTRA if name != "one value"])
def test_narrow_blocks_find_multiplicities_up_to_their_width(rng, name):
    values = SPECTRA[name]
    A, widths = matrix(rng, values), set()

    def product(V):
        widths.add(V.shape[1])
        return A @ V

    found, vectors, converged, _ = leading_eigenpairs(product, 200, 20, tolerance=1e-12, width=8)
    scale = np.abs(values).max()
    assert converged
    assert max(widths) == 8
    assert_allclose(found, np.sort(values)[::-1][:20], atol=1e-11 * scale)
    assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-10)
    assert_allclose(A @ vectors, vectors * found, atol=1e-11 * scale)


def test_ritz_pairs_of_a_large_basis_are_not_computed_after_every_pass(rng, monkeypatch):
    """The results do not depend on when residuals are checked."""
    values = np.linspace(1, 0, 400) ** 3
    A = matrix(rng, values)
    every = leading_eigenpairs(lambda V: A @ V, 400, 12, tolerance=1e-12)
    monkeypatch.setattr(block_krylov, "_SMALL_BASIS", 30)
    calls = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda T: calls.append(len(T)) or eigh(T))
    some = leading_eigenpairs(lambda V: A @ V, 400, 12, tolerance=1e-12)
    assert every.converged
    assert some.converged
    assert len(calls) < some.products / 20
    assert some.products <= every.products + 20
    assert_allclose(some.values, every.values, atol=1e-13)


def test_restarts_that_are_not_aligned_with_blocks(rng, monkeypatch):
    """After a restart, blocks start at other columns of the projected matrix than before."""
    monkeypatch.setattr(block_krylov, "_BLOCKS", 5)
    values = np.linspace(1, 0, 300)
    A = matrix(rng, values)
    found = leading_eigenpairs(lambda V: A @ V, 300, 5, tolerance=1e-11, width=8)
    assert found.converged
    assert_allclose(found.values, values[:5], atol=1e-10)
    assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_matrices(rng, n):
    values = np.arange(n, 0, -1.0)
    A = matrix(rng, values)
    found, *_ = leading_eigenpairs(lambda V: A @ V, n, n, tolerance=1e-12)
    assert_allclose(found, values, atol=1e-12 * n)


def test_restarts_preserve_converged_pairs(rng):
    """Convergence is so slow that the basis is filled several times."""
    values = np.linspace(1.01, 1, 1500)
    A = matrix(rng, values)
    found, _, converged, _ = leading_eigenpairs(lambda V: A @ V, 1500, 2, tolerance=1e-9)
    assert converged
    assert_allclose(found, values[:2], atol=1e-10)


def test_missing_convergence_is_reported(rng):
    A = matrix(rng, np.linspace(1.01, 1, 300))
    *_, converged, _ = leading_eigenpairs(lambda V: A @ V, 300, 2, tolerance=1e-13, max_passes=2)
    assert not converged
