"""Christoffel functions: bounds on the masses of a measure from its Lanczos matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.eigen.lanczos import christoffel, largest_hidden_term


def lanczos(values, masses, steps):
    """Tridiagonal matrix of the measure Σ masses δ(values), by the textbook recurrence."""
    q, before, beta = np.sqrt(masses), np.zeros(len(values)), 0.0
    basis, diagonal, off_diagonal = [], [], []
    for _ in range(steps):
        basis.append(q)
        w = values * q - beta * before
        diagonal.append(q @ w)
        for _ in range(2):
            for b in basis:
                w = w - (b @ w) * b
        beta = np.linalg.norm(w)
        off_diagonal.append(beta)
        before, q = q, w / beta
    return np.array(diagonal), np.array(off_diagonal[:-1])


def measure(rng, n=30):
    return np.sort(rng.uniform(0.1, 2, size=n)), rng.dirichlet(np.ones(n))


def test_christoffel_function_is_the_smallest_integral_of_a_squared_polynomial(rng):
    """ρ_m(x) = min ∫ q² dμ over polynomials of degree < m with q(x) = 1."""
    values, masses = measure(rng)
    steps, x = 5, np.array([0.3, 1.0, 1.7])
    T = lanczos(values, masses, steps)
    powers = np.vander(values, steps, increasing=True)
    moments = powers.T @ (masses[:, None] * powers)
    at = np.vander(x, steps, increasing=True)
    naive = 1 / np.einsum("ij,ji->i", at, np.linalg.solve(moments, at.T))
    assert_allclose(christoffel(*T, x), naive, rtol=1e-8)  # the moment matrix has condition 1e5


@pytest.mark.parametrize("steps", [1, 2, 5, 12, 20])
def test_masses_are_at_most_the_christoffel_function(rng, steps):
    for _ in range(20):
        values, masses = measure(rng)
        bound = christoffel(*lanczos(values, masses, steps), values)
        assert (masses <= bound * (1 + 1e-9)).all()


def test_recurrence_does_not_overflow_far_from_the_spectrum(rng):
    values, masses = measure(rng, 200)
    rho = christoffel(*lanczos(values, masses, 150), np.array([1e6, 1.0]))
    assert rho[0] == 0  # smaller than any double, and not NaN
    assert 0 < rho[1] < 1


def test_atom_between_ritz_values_is_found():
    """After two steps the Ritz values enclose the middle atom; a search between them finds it.

    Both Ritz values are declared known, as if they had converged.
    """
    values, masses = np.array([0.5, 1.0, 1.5]), np.array([0.4, 0.2, 0.4])
    diagonal, off_diagonal = lanczos(values, masses, 2)
    known = np.linalg.eigvalsh(
        np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    )
    assert np.abs(known - 1.0).min() > 0.3
    hidden = largest_hidden_term(diagonal, off_diagonal, known, 0.05, lambda x: x, 0.15)
    assert hidden >= 0.2 * 1.0


def test_known_atoms_are_excluded(rng):
    heavy = np.array([0.5, 1.0, 1.5])
    values = np.r_[rng.uniform(0.1, 0.2, size=200), heavy]
    masses = np.r_[np.full(200, 0.4 / 200), 0.2, 0.2, 0.2]
    T = lanczos(values, masses, 25)
    hidden = largest_hidden_term(*T, heavy, 1e-6, lambda x: x, 0.1)
    assert hidden < 0.1
    for i in range(3):
        known = np.delete(heavy, i)
        assert largest_hidden_term(*T, known, 1e-6, lambda x: x, 0.1) >= 0.2 * heavy[i] * (1 - 1e-9)


def test_tiny_values_agree_with_extended_precision(rng):
    """Sums of squares of 1e200 to 1e300, compared with extended precision."""
    T = lanczos(*measure(rng, 200), 60)
    x = np.array([40.0, 60.0, 150.0, -50.0, -120.0, 1.0])
    before, previous = 0.0, np.zeros(6, np.longdouble)
    current = total = np.ones(6, np.longdouble)
    for alpha, beta in zip(T[0][:-1], T[1], strict=True):
        previous, current = current, ((x - alpha) * current - before * previous) / beta
        before, total = beta, total + current**2
    assert (total[:5] > 1e200).all()
    assert (1 / total > 1e-300).all()
    assert_allclose(christoffel(*T, x), (1 / total).astype(float), rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margin", [0.5, 1.001, 20.0], ids=["exceeded", "nearly reached", "far"])
def test_search_finds_the_largest_hidden_term(seed, margin):
    """Compared with a fine grid; the result is the maximum itself if it is below the margin."""
    rng = np.random.default_rng(seed)
    diagonal, off_diagonal = lanczos(*measure(rng), 6)
    ritz = np.linalg.eigvalsh(
        np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    )
    known, radius = ritz[rng.permutation(6)[:3]], 0.03
    x = np.linspace(1e-9, 4, 100_001)
    x = x[np.abs(x[:, None] - known).min(axis=1) >= radius]
    largest = (x * christoffel(diagonal, off_diagonal, x)).max()
    found = largest_hidden_term(
        diagonal, off_diagonal, known, radius, lambda x: x, margin * largest
    )
    if margin > 1:
        assert_allclose(found, largest, rtol=1e-4)
    else:
        assert margin * largest <= found <= largest * (1 + 1e-4)
