import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.maths.christoffel import christoffel, largest_hidden_term


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


def test_equals_the_smallest_integral_of_a_squared_polynomial(rng):
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
def test_no_atom_is_heavier_than_the_bound(rng, steps):
    for _ in range(20):
        values, masses = measure(rng)
        bound = christoffel(*lanczos(values, masses, steps), values)
        assert (masses <= bound * (1 + 1e-9)).all()


def test_far_off_the_spectrum_the_recurrence_does_not_overflow(rng):
    values, masses = measure(rng, 200)
    rho = christoffel(*lanczos(values, masses, 150), np.array([1e6, 1.0]))
    assert rho[0] == 0  # smaller than any double, and not NaN
    assert 0 < rho[1] < 1


def test_finds_an_atom_that_hides_between_ritz_values():
    """After two steps the Ritz values straddle the middle atom; only a search between them sees it.

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


def test_known_atoms_are_excused_and_unknown_ones_are_not(rng):
    heavy = np.array([0.5, 1.0, 1.5])
    values = np.r_[rng.uniform(0.1, 0.2, size=200), heavy]
    masses = np.r_[np.full(200, 0.4 / 200), 0.2, 0.2, 0.2]
    T = lanczos(values, masses, 25)
    hidden = largest_hidden_term(*T, heavy, 1e-6, lambda x: x, 0.1)
    assert hidden < 0.1
    for i in range(3):
        known = np.delete(heavy, i)
        assert largest_hidden_term(*T, known, 1e-6, lambda x: x, 0.1) >= 0.2 * heavy[i] * (1 - 1e-9)
