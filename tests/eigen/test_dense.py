"""Eigenpairs by a tridiagonal matrix, and the canonical form: ties, signs and order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import LinAlgError, eigh

from mercer.eigen import dense
from mercer.eigen.dense import (
    Tridiagonalized,
    canonical,
    entropy_order,
    entropy_terms,
    has_no_overlap,
    terms_for_fraction,
    tie_groups,
)
from mercer.gram.gram import LargestEntries, largest_entry_signs


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


# --- canonical form -------------------------------------------------------------------------------


def random_orthogonal(rng, n):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def test_first_vector_of_a_tie_is_the_projection_of_ones(rng):
    """The result does not depend on the basis of a degenerate eigenspace."""
    n = 12
    E = random_orthogonal(rng, n)
    values = np.r_[[3.0] * 4, [1.0] * 3, rng.uniform(0, 0.5, size=5)]
    ones = np.ones(n)
    results = []
    for _ in range(3):
        mixed = E.copy()
        mixed[:, :4] = E[:, :4] @ random_orthogonal(rng, 4)
        mixed[:, 4:7] = E[:, 4:7] @ random_orthogonal(rng, 3)
        results.append(canonical(values, mixed, ones, 1e-9))
    for found, vectors, overlaps in results:
        assert_allclose(found[:4], 3.0)
        assert_allclose(overlaps, ones @ vectors, atol=1e-13)
        assert (overlaps >= 0).all()
        assert_allclose(overlaps[1:4], 0, atol=0)
        projection = E[:, :4] @ (E[:, :4].T @ ones)
        assert_allclose(vectors[:, 0], projection / np.linalg.norm(projection), atol=1e-12)
        assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


def test_rotation_preserves_the_trace_and_the_potential(rng):
    """Also for near-ties: Rayleigh quotients replace the eigenvalues."""
    E = random_orthogonal(rng, 8)
    values = np.sort(rng.uniform(size=8))[::-1]
    values[1] = values[0] - 1e-7 * values[0]
    ones = np.ones(8)
    before = entropy_terms(values, ones @ E, 8).sum()
    found, _, overlaps = canonical(values, E, ones, 1e-6)
    assert overlaps[1] == 0
    assert_allclose(entropy_terms(found, overlaps, 8).sum(), before, rtol=1e-14)
    assert_allclose(found.sum(), values.sum(), rtol=1e-14)


def test_tie_groups_do_not_chain_and_respect_small_eigenvalues():
    assert tie_groups(np.array([1.0, 1 - 0.9e-9, 1 - 1.8e-9]), 1e-9) == [slice(0, 2)]
    # a difference of 2e-10 is a tie of values near 1, not of values of that size
    assert tie_groups(np.array([3e-10, 1e-10]), 1e-9) == []


def test_sign_follows_the_first_of_equal_largest_entries():
    entries = np.array([[0.5, -1.0], [-1.0, 0.2], [1.0 - 1e-9, 1.0]])
    assert_allclose(largest_entry_signs(entries), [-1, -1])


def test_entropy_order_breaks_ties_and_noise_by_eigenvalue():
    values = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    terms = np.array([1e-20, 0.1 * (1 - 1e-12), 0.1, 0.7, 1e-18])
    assert entropy_order(terms, values, 0.9).tolist() == [3, 1, 2, 0, 4]


def test_number_of_terms_for_a_fraction():
    terms = np.array([0.5, 0.3, 0.1])
    assert terms_for_fraction(terms, 1.0, 0.5) == 1
    assert terms_for_fraction(terms, 1.0, 0.51) == 2
    assert terms_for_fraction(terms, 1.0, 0.95) is None


def test_zero_overlap_is_relative_to_the_norm_of_ones():
    overlaps = np.array([0.0, 0.9e-9, -0.9e-9, 1.1e-9, -1.1e-9])
    for n in (1.0, 1e4, 1e8):
        found = has_no_overlap(overlaps * np.sqrt(n), n, np.dtype(np.float64))
        assert found.tolist() == [True, True, True, False, False]
    single = has_no_overlap(np.array([1e-4, 2e-4]), 1.0, np.dtype(np.float32))
    assert single.tolist() == [True, False]  # 1000 eps are 1.2e-4


@pytest.mark.parametrize("cut", range(5))
def test_largest_entries_do_not_depend_on_the_chunks(cut):
    """The second chunk may have the larger entry; of equal entries the first decides."""
    entries = np.array(
        [[0.5, -1.0, 0.1], [-1.0, 0.2, -0.2], [1.0, 1.0, 0.4], [0.1, 1 - 1e-9, -0.8]]
    )
    parts = [LargestEntries.of(part) for part in (entries[:cut], entries[cut:])]
    assert LargestEntries.joined(parts).signs.tolist() == [-1, -1, -1]
    assert largest_entry_signs(entries).tolist() == [-1, -1, -1]
