"""Upper bounds on undetected spectral mass: the Christoffel function of a Lanczos recurrence.

After m Lanczos steps from a unit vector, the tridiagonal matrix T contains the recurrence
coefficients of the polynomials p_0, …, p_{m-1} that are orthonormal for the spectral measure of
that vector. No measure with these moments has an atom at x with a mass above
``ρ_m(x) = 1 / Σ_{j<m} p_j(x)²`` (Chebyshev, Markov, Stieltjes). This bounds the mass of eigenpairs
that have not been found. The bound holds for every symmetric matrix, definite or not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal

from mercer.utils.types import Array

__all__ = ["christoffel", "largest_hidden_term"]

# Relative positions at which each interval between Ritz values is probed: dense at both ends, where
# narrow peaks occur, and evenly spaced in the middle.
_ENDS = np.array([0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.12, 0.21, 0.31, 0.4])
_PROBES = np.r_[_ENDS, 0.5, 1 - _ENDS[::-1]]
_BIG = 1e100
_GOLDEN_STEPS = 24  # reduce a bracket to 1e-5 of its width


def christoffel(diagonal: Array, off_diagonal: Array, x: Array) -> Array:
    """Return ``ρ_m(x)`` for the m × m tridiagonal matrix with the given diagonals.

    >>> christoffel(np.array([0.5]), np.array([]), np.array([0.0, 0.5]))
    array([1., 1.])
    """
    previous, current = np.zeros_like(x), np.ones_like(x)
    total, exponent = np.ones_like(x), np.zeros_like(x)
    before = 0.0
    for alpha, beta in zip(diagonal[:-1], off_diagonal, strict=True):
        previous, current = current, ((x - alpha) * current - before * previous) / beta
        before = beta
        huge = np.abs(current) > _BIG
        if huge.any():  # outside the spectrum the recurrence grows like a power of x: rescale
            previous[huge] /= _BIG
            current[huge] /= _BIG
            total[huge] /= _BIG**2
            exponent[huge] += 2 * np.log(_BIG)
        total += current * current
    return np.asarray(np.exp(-np.log(total) - exponent))


def largest_hidden_term(
    diagonal: Array,
    off_diagonal: Array,
    known: Array,
    radius: float,
    weight: Callable[[Array], Array],
    enough: float,
) -> float:
    """Return the maximum of ``weight(x) ρ_m(x)`` over x > 0 away from known eigenvalues.

    Parameters
    ----------
    diagonal, off_diagonal : arrays of shape (m,) and (m - 1,)
        The tridiagonal matrix T of the recurrence, m ≥ 2.
    known : array
        Eigenvalues that have been found.
    radius : float
        Values of x closer than this to a known eigenvalue are excluded.
    weight : callable
        The term of an atom of mass 1 at x, a non-decreasing function: ``x / n`` for a Gram matrix,
        V for the smaller Gram matrix of a factorization.
    enough : float
        The value to which the caller compares the result. Maxima far below it are not refined.

    Notes
    -----
    In floating point the recurrence is that of a perturbed matrix, and it misses peaks around
    converged Ritz values that are narrower than the perturbation. The bound at the Ritz values is
    therefore computed from the eigenvectors of T, where it is exact: ``ρ_m(θ) = s_1²``.
    """
    ritz, S = eigh_tridiagonal(diagonal, off_diagonal)
    unknown = (_distance(ritz, known) >= radius) & (ritz > 0)
    at_ritz = float((weight(ritz[unknown]) * S[0, unknown] ** 2).max(initial=0.0))
    inner = eigvalsh_tridiagonal(diagonal[:-1], off_diagonal[:-1])
    top = _search_limit(diagonal, off_diagonal, weight, enough, ritz[-1])
    edges = np.r_[0.0, ritz, inner, known - radius, known + radius, np.geomspace(ritz[-1], top, 20)]
    edges = np.unique(edges[(edges >= 0) & (edges <= top)])
    x = np.unique((edges[:-1, None] + np.diff(edges)[:, None] * _PROBES).ravel())
    x = x[_distance(x, known) >= radius * (1 - 1e-9)]

    def bound(points: Array) -> Array:
        return weight(points) * christoffel(diagonal, off_diagonal, points)

    y = bound(x)
    peak = (y >= np.r_[0, y[:-1]]) & (y >= np.r_[y[1:], 0]) & (y > enough / 100) & (y < enough)
    at = np.flatnonzero(peak)
    best = max(at_ritz, float(y.max(initial=0.0)))
    if len(at) == 0 or best >= enough:  # a refinement could only increase the result
        return best
    low, high = x[np.maximum(at - 1, 0)], x[np.minimum(at + 1, len(x) - 1)]
    return max(best, _refined_maximum(bound, low, high, known, radius))


def _refined_maximum(
    bound: Callable[[Array], Array], low: Array, high: Array, known: Array, radius: float
) -> float:
    """Run golden-section searches in all brackets at once, excluding points near known values."""

    def outside(points: Array) -> Array:
        near = _distance(points, known) < radius * (1 - 1e-9)
        return np.where(near, 0.0, bound(points))

    ratio = (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = outside(left), outside(right)
    best = max(float(at_left.max()), float(at_right.max()))
    for _ in range(_GOLDEN_STEPS - 1):  # one of the two inner points stays
        rises = at_left < at_right
        low, high = np.where(rises, left, low), np.where(rises, high, right)
        new = np.where(rises, low + ratio * (high - low), high - ratio * (high - low))
        at_new = outside(new)
        best = max(best, float(at_new.max()))
        left, right = np.where(rises, right, new), np.where(rises, new, left)
        at_left, at_right = np.where(rises, at_right, at_new), np.where(rises, at_new, at_left)
    return best


def _distance(x: Array, known: Array) -> Array:
    """Return the distance from each x to the nearest known value."""
    if len(known) == 0:
        return np.full(x.shape, np.inf)
    known = np.sort(known)
    after = np.searchsorted(known, x)
    left = np.abs(x - known[np.maximum(after - 1, 0)])
    right = np.abs(x - known[np.minimum(after, len(known) - 1)])
    return np.asarray(np.minimum(left, right))


def _search_limit(
    diagonal: Array,
    off_diagonal: Array,
    weight: Callable[[Array], Array],
    enough: float,
    largest: float,
) -> float:
    """Return an x beyond which ``weight(x) ρ_2(x) ≤ weight(x) (β / (x - α))²`` is negligible.

    Negligible means below ``enough / 100``.
    """
    top = 2 * max(abs(largest), float(np.finfo(float).tiny))
    while weight(np.array([top]))[0] * (off_diagonal[0] / (top - diagonal[0])) ** 2 > enough / 100:
        top *= 2
    return top
