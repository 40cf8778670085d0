"""Renyi entropies of the normalized eigenvalues of a matrix."""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "entropy_of_sum",
    "entropy_summand",
    "growth_bounds",
    "perturbation_bounds",
    "spectral_entropies",
    "spectral_entropy",
]


def spectral_entropy(proportions: Array, order: float) -> float:
    """Return the Renyi entropy of proportions that sum to 1, in nats; order 1 is Shannon's.

    >>> spectral_entropy(np.full(4, 0.25), 1.0) == np.log(4)
    np.True_
    """
    return float(spectral_entropies(proportions[None], order)[0])


def spectral_entropies(proportions: Array, order: float) -> Array:
    """Return the Renyi entropy of each row of proportions.

    >>> spectral_entropies(np.array([[0.5, 0.5], [1.0, 0.0]]), 2.0).round(4) + 0.0
    array([0.6931, 0.    ])
    """
    positive = proportions > 0
    logarithms = np.log(np.where(positive, proportions, 1.0))
    top = np.where(positive, logarithms, -np.inf).max(axis=1)
    if order == np.inf:
        return np.asarray(-top)
    if order == 1:
        terms = np.where(positive, proportions, 0.0)
        return np.asarray(-np.einsum("ij,ij->i", terms, logarithms))
    # the largest is factored out, because p^order may underflow
    scaled = np.exp(order * np.where(positive, logarithms - top[:, None], 0.0))
    sums = np.where(positive, scaled, 0.0).sum(axis=1)
    return np.asarray((order * top + np.log(sums)) / (1 - order))


def entropy_summand(x: Array | float, order: float) -> Array:
    """Return the function whose sum over proportions determines the entropy.

    ``x^α``, or ``-x log x`` at order 1; 0 at x = 0.

    >>> entropy_summand(np.array([0.0, 0.5]), 2.0).tolist()
    [0.0, 0.25]
    """
    x = np.asarray(x, dtype=np.float64)
    positive = x > 0
    safe = np.where(positive, x, 1.0)
    return np.where(positive, -safe * np.log(safe) if order == 1 else safe**order, 0.0)


def entropy_of_sum(total: float, order: float, scale: float = 1.0) -> float:
    """Return the entropy from the sum of :func:`entropy_summand`, with x in units of ``scale``.

    >>> round(np.exp(entropy_of_sum(0.5, 2.0)), 12)
    np.float64(2.0)
    """
    if order == 1:
        return total
    if total <= 0:
        return np.inf if order > 1 else -np.inf
    return float(order * np.log(scale) + np.log(total)) / (1 - order)


def perturbation_bounds(
    proportions: Array, order: float, error: float, rank: int
) -> tuple[float, float]:
    r"""Return bounds on the entropy of proportions with errors e, :math:`\sum e_i^2 \le` error².

    For eigenvalues the errors are bounded by the Frobenius norm of the error of the matrix
    (Hoffman, Wielandt). Computed proportions may be negative.

    ``proportions``: approximate values, zeros and negative ones included. ``rank``: largest
    possible number of positive proportions.
    """
    p = np.maximum(proportions, 0)
    top = float(p.max())
    if order == np.inf:
        return max(-float(np.log(min(top + error, 1.0))), 0.0), -float(
            np.log(max(top - error, error))
        )
    if order == 0:
        return float(np.log(max(int((p > error).sum()), 1))), float(np.log(rank))
    # The change of x^α or -x log x is at most its value at the change of x, for small changes and
    # α ≤ 1; these are concave, so equal errors are the worst case.
    each = error / np.sqrt(rank)
    if order <= 1:
        total = float(entropy_summand(p, order).sum())
        change = rank * float(entropy_summand(min(each, 0.3), order))
        low, high = (
            entropy_of_sum(max(total - change, 0.0), order),
            entropy_of_sum(total + change, order),
        )
    else:
        # |x^α - y^α| ≤ α max(x, y)^(α-1) |x - y|, and Cauchy-Schwarz
        scaled = p / top
        total = float((scaled**order).sum())
        slope = order * float(np.sqrt((((p + error) / top) ** (2 * order - 2)).sum()))
        change = slope * error / top
        high = entropy_of_sum(max(total - change, 0.0), order, top)
        low = entropy_of_sum(total + change, order, top)
    return max(low, 0.0), min(high, float(np.log(rank)))


def growth_bounds(lower: Array, order: float, missing: float, rank: int) -> tuple[float, float]:
    """Return bounds on the entropy of proportions that exceed known ones by a known total.

    Eigenvalues of a landmark approximation are too small, and their sum is known. The entropy is
    Schur-concave: it is smallest if the largest proportion gets all that is missing, and largest
    if the smallest ones are filled up to a common level.

    ``lower``: proportions, each at most the true one, in any order. ``missing``: 1 minus their sum.
    ``rank``: number of true proportions, at least ``len(lower)``.
    """
    p = np.zeros(rank)
    p[: len(lower)] = -np.sort(-np.maximum(lower, 0))
    lumped = p.copy()
    lumped[0] += max(missing, 0.0)
    level = _water_level(p, missing)
    filled = np.maximum(p, level)
    return spectral_entropy(lumped / lumped.sum(), order), spectral_entropy(
        filled / filled.sum(), order
    )


def _water_level(decreasing: Array, amount: float) -> float:
    """Return the level to which the smallest entries are raised by a total amount."""
    ascending = decreasing[::-1]
    counts = np.arange(1, len(ascending) + 1)
    levels = (amount + np.cumsum(ascending)) / counts
    nexts = np.r_[ascending[1:], np.inf]
    return float(levels[int(np.argmax(levels <= nexts))])
