"""Renyi entropies of the normalized eigenvalues of a matrix."""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["spectral_entropy", "spectral_entropy_bounds"]


def spectral_entropy(proportions: Array, order: float) -> float:
    """Return the Renyi entropy of proportions that sum to 1, in nats; order 1 is Shannon's.

    >>> spectral_entropy(np.full(4, 0.25), 1.0) == np.log(4)
    np.True_
    """
    p = proportions[proportions > 0]
    if order == np.inf:
        return -float(np.log(p.max()))
    if order == 1:
        return -float(p @ np.log(p))
    top = float(np.log(p.max()))  # factored out, because p^order may underflow
    return float(order * top + np.log(np.exp(order * (np.log(p) - top)).sum())) / (1 - order)


def spectral_entropy_bounds(
    leading: Array, others: int, order: float, exact: bool = True
) -> tuple[float, float]:
    """Return bounds on the entropy of proportions of which only the largest are known.

    The entropy is Schur-concave: it is smallest if the missing total is concentrated on as few
    proportions as possible, and largest if it is spread evenly.

    Parameters
    ----------
    leading : array
        The largest proportions, in decreasing order.
    others : int
        Number of unknown proportions.
    order : float
    exact : bool
        Whether the leading proportions are exact, so that no unknown one exceeds the smallest of
        them. If they may be too small, the first may contain all of the missing total.

    Examples
    --------
    >>> low, high = spectral_entropy_bounds(np.array([0.5, 0.3]), 8, 2.0)
    >>> bool(low <= spectral_entropy(np.array([0.5, 0.3, 0.1, 0.1]), 2.0) <= high)
    True
    """
    missing = max(1.0 - float(leading.sum()), 0.0)
    if missing == 0 or others == 0:
        value = spectral_entropy(leading / leading.sum(), order)
        return value, value
    even = np.r_[leading, np.full(others, missing / others)]
    if exact:
        whole = int(missing / leading[-1])
        lumped = np.r_[leading, np.full(whole, leading[-1]), missing - whole * leading[-1]]
    else:
        lumped = np.r_[leading[0] + missing, leading[1:]]
    return spectral_entropy(lumped, order), spectral_entropy(even, order)
