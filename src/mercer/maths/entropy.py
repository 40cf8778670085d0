"""Entropy terms of eigenpairs and the order they induce.

Dictionary: λ_i eigenvalues of K, e_i unit eigenvectors, n the total weight, o_i = 1'e_i the
overlaps, ψ_i = λ_i o_i² / n² the entropy terms, V = Σ ψ_i = 1'K1/n² the information potential
(Jenssen 2010, eqs. 10-16).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mercer.maths.types import Array

__all__ = [
    "TERM_FLOOR",
    "ComponentRequest",
    "choose_components",
    "entropy_order",
    "entropy_terms",
    "spectral_entropy",
    "spectral_entropy_bounds",
    "terms_for_fraction",
]

# An eigenvector whose neighbour is a relative gap of 1e-9 away is known to about eps / 1e-9, so an
# overlap that is truly 0 may come out as large as that: terms below the square of it, as a share of
# V, are 0 to rounding.
TERM_FLOOR = 1e-13

# Terms closer than this, relatively, are equal: the larger eigenvalue goes first.
_EQUAL_TERMS = 1e-9


def entropy_terms(values: Array, overlaps: Array, n: float) -> Array:
    """``ψ_i = λ_i (1'e_i)² / n²``.

    >>> entropy_terms(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 2)
    array([0.5, 0. ])
    """
    return np.asarray(values * (overlaps / n) ** 2)


def entropy_order(terms: Array, values: Array, potential: float) -> Array:
    """Indices by falling term; equal terms, and those that are 0 to rounding, by eigenvalue.

    >>> entropy_order(np.array([0.2, 0.3, 0.3]), np.array([9.0, 1.0, 2.0]), 0.8)
    array([2, 1, 0])
    """
    cleaned = np.where(terms > TERM_FLOOR * potential, terms, 0.0)
    order = np.argsort(-cleaned, kind="stable")
    falling = cleaned[order]
    is_new = np.r_[True, falling[1:] < falling[:-1] * (1 - _EQUAL_TERMS)]
    group = np.empty(len(terms), dtype=int)
    group[order] = np.cumsum(is_new)
    return np.lexsort((-values, group))


def terms_for_fraction(ordered_terms: Array, potential: float, fraction: float) -> int | None:
    """How many leading terms make up ``fraction`` of V; None if these do not reach it."""
    reached = np.cumsum(ordered_terms) >= fraction * potential
    return int(np.argmax(reached)) + 1 if reached.any() else None


class ComponentRequest(Protocol):
    """What :func:`choose_components` needs to know of a request."""

    @property
    def target(self) -> str:
        """What the order follows: "variance" or "entropy"."""

    @property
    def n_components(self) -> int | float | None:
        """A count, a fraction of the total, or None for all."""

    @property
    def trace(self) -> float:
        """Sum of all eigenvalues: the total for "variance"."""

    @property
    def potential(self) -> float:
        """Sum of all entropy terms: the total for "entropy"."""


def choose_components(
    values: Array, terms: Array, floor: float, request: ComponentRequest
) -> Array | None:
    """Return the indices of the requested eigenpairs, in order; None if these are too few.

    Parameters
    ----------
    values : array of shape (k,)
        Eigenvalues in decreasing order.
    terms : array of shape (k,)
        Their entropy terms.
    floor : float
        Only larger eigenvalues are selected.
    request : ComponentRequest
    """
    usable = np.flatnonzero(values > floor)
    parts, total = values, request.trace
    if request.target == "entropy":
        parts, total = terms, request.potential
        usable = usable[entropy_order(terms[usable], values[usable], total)]
    if request.n_components is None:
        return usable
    if isinstance(request.n_components, int):
        return usable[: request.n_components] if len(usable) >= request.n_components else None
    needed = terms_for_fraction(parts[usable], total, request.n_components)
    return None if needed is None else usable[:needed]


def spectral_entropy(shares: Array, order: float) -> float:
    """Renyi entropy of shares that add up to 1, in nats; order 1 is Shannon's.

    >>> spectral_entropy(np.full(4, 0.25), 1.0) == np.log(4)
    np.True_
    """
    p = shares[shares > 0]
    if order == np.inf:
        return -float(np.log(p.max()))
    if order == 1:
        return -float(p @ np.log(p))
    top = float(np.log(p.max()))  # taken out: p^order may underflow
    return float(order * top + np.log(np.exp(order * (np.log(p) - top)).sum())) / (1 - order)


def spectral_entropy_bounds(
    leading: Array, others: int, order: float, exact: bool = True
) -> tuple[float, float]:
    """Bounds on the entropy of n shares of which only the leading ones are known.

    The entropy is Schur-concave: it is least where what is missing sits on as few shares as
    possible, and greatest where it is spread evenly.

    Parameters
    ----------
    leading : array
        The largest shares, largest first.
    others : int
        How many there are besides.
    order : float
    exact : bool
        Whether the leading shares are right, so that no other exceeds the smallest of them. If
        they may be too small, the first may have all that is missing.

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
