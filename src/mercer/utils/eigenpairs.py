"""Eigenpairs in canonical form: order, ties, signs, entropy terms, selection.

In an eigenspace that is degenerate up to rounding error the basis is arbitrary. The canonical basis
has one vector with all of the overlap with the vector of ones: the projection of that vector onto
the eigenspace. A Krylov space started at the vector of ones contains it, so all solvers agree.

Notation: λ_i eigenvalues of K, e_i unit eigenvectors, n the total weight, o_i = 1'e_i the overlaps,
ψ_i = λ_i o_i² / n² the entropy terms, V = Σ ψ_i = 1'K1/n² the information potential
(Jenssen 2010, eqs. 10-16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "RANK_ERROR",
    "TERM_FLOOR",
    "TIE",
    "ComponentRequest",
    "LargestEntries",
    "canonical",
    "choose_components",
    "entropy_order",
    "entropy_terms",
    "has_no_overlap",
    "is_sign_free",
    "largest_entry_signs",
    "terms_for_fraction",
    "tie_groups",
    "tie_sizes",
    "tie_width",
]

# Eigenvalues closer than TIE * λ₁ are treated as equal. (1e-9 would merge four eigenvalues of the
# Frey faces that double precision separates well.)
TIE = 1e-11

# An approximation of K exchanges eigenvalues that differ by less than its error, so its ranks are
# not those of K, unless the error is below this fraction of the smallest eigenvalue.
RANK_ERROR = 1e-6

# Tied eigenvalues must also agree relative to themselves: rotating small eigenvalues of different
# size would make their eigenvectors inaccurate.
_RELATIVE_TIE = 1e-6

# Entries whose absolute values differ relatively by less than this are equal, so that rounding
# errors do not decide which one is the largest.
_EQUAL = 1e-6

# If an overlap is below this fraction of ‖1‖, the largest entry decides the sign instead.
_NO_OVERLAP = 1e-9

# An eigenvector whose eigenvalue has a relative gap of 1e-9 has an error of about eps / 1e-9, so an
# overlap of zero may be computed as large as that. Terms below the square of this error,
# relative to V, are treated as zero.
TERM_FLOOR = 1e-13

# Entropy terms with a smaller relative difference are equal: the larger eigenvalue comes first.
_EQUAL_TERMS = 1e-9


# --- canonical form -------------------------------------------------------------------------------


def canonical(
    values: Array, vectors: Array, start: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Sort eigenpairs, rotate ties and make overlaps non-negative.

    Parameters
    ----------
    values : array of shape (k,)
    vectors : array of shape (n, k)
        Orthonormal columns.
    start : array of shape (n,)
        The vector of ones (√w with weights).
    tolerance : float
        Eigenvalues closer than this are tied.

    Returns
    -------
    values, vectors, overlaps
        Largest eigenvalue first; ``overlaps = start' vectors``, none of them negative.
    """
    order = np.argsort(-values, kind="stable")
    if (np.diff(order) == -1).all():  # LAPACK's order; a copy in the same memory order is faster
        vectors = vectors[:, ::-1].copy(order="K")
    else:
        vectors = vectors[:, order]
    values = values[order]
    overlaps = start @ vectors
    _rotate_ties(values, vectors, overlaps, tolerance)
    flip = np.where(overlaps < 0, -1, 1).astype(vectors.dtype)
    vectors *= flip
    return values, vectors, overlaps * flip


def tie_width(value: float, tolerance: float) -> float:
    """Return the distance up to which a smaller eigenvalue is tied with this one."""
    return min(tolerance, _RELATIVE_TIE * abs(value))


def tie_groups(values: Array, tolerance: float) -> list[slice]:
    """Return runs of at least two sorted eigenvalues within the tolerance of the run's first."""
    groups = []
    first = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[first] - values[i] > tie_width(values[first], tolerance):
            if i - first > 1:
                groups.append(slice(first, i))
            first = i
    return groups


def tie_sizes(values: Array, tolerance: float) -> Array:
    """Return the number of sorted eigenvalues that are tied with each, itself included.

    >>> tie_sizes(np.array([3.0, 2.0, 2.0, 1.0]), 1e-9)
    array([1, 2, 2, 1])
    """
    sizes = np.ones(len(values), dtype=int)
    for group in tie_groups(values, tolerance):
        sizes[group] = group.stop - group.start
    return sizes


def _rotate_ties(values: Array, vectors: Array, overlaps: Array, tolerance: float) -> None:
    """Rotate each tied group in place, so that its first vector has all of the group's overlap.

    The rotation is one Householder reflection per group. Rayleigh quotients replace the
    eigenvalues, which leaves Σ ψ and the trace unchanged.
    """
    for group in tie_groups(values, tolerance):
        direction = overlaps[group]
        length = float(np.linalg.norm(direction))
        if length == 0:
            continue
        mirror = direction / length
        mirror[0] += 1.0 if mirror[0] >= 0 else -1.0
        mirror /= np.linalg.norm(mirror)
        vectors[:, group] -= 2 * np.outer(vectors[:, group] @ mirror, mirror)
        overlaps[group] -= 2 * (direction @ mirror) * mirror
        overlaps[group][1:] = 0.0
        values[group] = _reflected_diagonal(values[group], mirror)


def _reflected_diagonal(values: Array, mirror: Array) -> Array:
    """Return the diagonal of ``R diag(values) R``, ``R = I - 2 mirror mirror'``."""
    mean = float(values @ mirror**2)
    return np.asarray(values - 4 * values * mirror**2 + 4 * mean * mirror**2)


# --- signs ----------------------------------------------------------------------------------------


def largest_entry_signs(entries: Array) -> Array:
    """Return ±1 per column: signs that make the entry of largest absolute value positive.

    The first of equal entries counts.
    """
    return LargestEntries.of(entries).signs


@dataclass(frozen=True)
class LargestEntries:
    """The largest entries of columns whose rows arrive in consecutive chunks.

    Attributes
    ----------
    records : list of arrays
        Per column, the signed entries that exceed all earlier ones in absolute value and are within
        a relative distance of 1e-6 of the largest. The first of equal entries is among them,
        whatever later chunks contain.
    """

    records: list[Array]

    @classmethod
    def of(cls, entries: Array) -> LargestEntries:
        """Return the largest entries of one chunk."""
        return cls([_records(column) for column in entries.T])

    @staticmethod
    def joined(parts: Sequence[LargestEntries]) -> LargestEntries:
        """Join consecutive chunks."""
        columns = zip(*(part.records for part in parts), strict=True)
        return LargestEntries([_records(np.concatenate(column)) for column in columns])

    @property
    def signs(self) -> Array:
        """±1 per column."""
        return np.array([-1.0 if len(first) and first[0] < 0 else 1.0 for first in self.records])


def _records(entries: Array) -> Array:
    """Return entries that exceed all earlier ones in absolute value and are near the largest."""
    size = np.abs(entries)
    entries = entries[size >= (1 - _EQUAL) * size.max(initial=0)]
    size = np.abs(entries)
    highest = np.maximum.accumulate(size)
    return entries[np.r_[True, size[1:] > highest[:-1]]] if len(entries) else entries


def has_no_overlap(overlaps: Array, n: float, precision: np.dtype[Any]) -> Array:
    """Return whether each overlap is too small, relative to ‖1‖ = √n, to decide a sign."""
    smallest = max(_NO_OVERLAP, 1e3 * float(np.finfo(precision).eps))
    return np.asarray(np.abs(overlaps) <= smallest * np.sqrt(n))


def is_sign_free(vectors: Array, n: float | None = None) -> Array:
    """Return whether each column has no change of sign, up to 1/n of its largest entry.

    >>> is_sign_free(np.array([[1.0, 1.0], [0.5, -0.9]]))
    array([ True, False])
    """
    slack = np.abs(vectors).max(axis=0) / (len(vectors) if n is None else n)
    return np.asarray((vectors.min(axis=0) > -slack) | (vectors.max(axis=0) < slack))


# --- entropy terms and selection ------------------------------------------------------------------


def entropy_terms(values: Array, overlaps: Array, n: float) -> Array:
    """Return ``ψ_i = λ_i (1'e_i)² / n²``.

    >>> entropy_terms(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 2)
    array([0.5, 0. ])
    """
    return np.asarray(values * (overlaps / n) ** 2)


def entropy_order(terms: Array, values: Array, potential: float) -> Array:
    """Return indices by decreasing term; equal and numerically zero terms by eigenvalue.

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
    """Return how many leading terms sum to ``fraction`` of V; None if all are not enough."""
    reached = np.cumsum(ordered_terms) >= fraction * potential
    return int(np.argmax(reached)) + 1 if reached.any() else None


class ComponentRequest(Protocol):
    """Attributes of a request that :func:`choose_components` uses."""

    @property
    def target(self) -> str:
        """The quantity that determines the order: "variance" or "entropy"."""

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
