"""One canonical form for eigenpairs: order, ties, sign, rank.

In an eigenspace that is degenerate to rounding the basis is free. The canonical choice puts the
whole overlap with the vector of ones into one member, the projection of that vector onto the
space: it is what a Krylov space started there contains, so all solvers agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from mercer.maths.types import Array

__all__ = [
    "TIE",
    "LargestEntries",
    "canonical",
    "has_no_overlap",
    "is_sign_free",
    "largest_entry_signs",
    "separate_ties",
    "tie_groups",
]

# Eigenvalues closer than TIE * λ₁ are one eigenvalue as far as this library can tell. (1e-9 would
# merge four eigenvalues of the Frey faces that double precision separates well.)
TIE = 1e-11

# ... unless that gap is large beside the eigenvalues themselves: rotating such a pair would cost
# the small ones their relative accuracy.
_RELATIVE_TIE = 1e-6

# Entries that differ in size by less than this share are equal: rounding must not choose.
_EQUAL = 1e-6

# An overlap below this share of ‖1‖ leaves the sign to the largest entry instead.
_NO_OVERLAP = 1e-9


def canonical(
    values: Array, vectors: Array, start: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Sort, rotate ties and make overlaps non-negative.

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
    values, vectors = values[order], vectors[:, order]
    overlaps = start @ vectors
    _rotate_ties(values, vectors, overlaps, tolerance)
    flip = np.where(overlaps < 0, -1, 1).astype(vectors.dtype)
    return values, vectors * flip, overlaps * flip


def tie_groups(values: Array, tolerance: float) -> list[slice]:
    """Runs of at least two sorted eigenvalues that lie within the tolerance of the run's first."""
    groups = []
    first = 0
    for i in range(1, len(values) + 1):
        width = min(tolerance, _RELATIVE_TIE * abs(values[first]))
        if i == len(values) or values[first] - values[i] > width:
            if i - first > 1:
                groups.append(slice(first, i))
            first = i
    return groups


def _rotate_ties(values: Array, vectors: Array, overlaps: Array, tolerance: float) -> None:
    """Rotate each tied group, in place: its first vector then carries all of the group's overlap.

    The rotation is one Householder reflection per group. Rayleigh quotients replace the
    eigenvalues, so that Σ ψ and the trace stay exactly what they were.
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
    """Diagonal of ``R diag(values) R`` for the reflection ``R = I - 2 mirror mirror'``."""
    mean = float(values @ mirror**2)
    return np.asarray(values - 4 * values * mirror**2 + 4 * mean * mirror**2)


def largest_entry_signs(entries: Array) -> Array:
    """±1 per column, so that the entry largest in size (the first of equal ones) turns positive."""
    return LargestEntries.of(entries).signs


@dataclass(frozen=True)
class LargestEntries:
    """The largest entries of columns, found in pieces: of rows one after the other.

    Attributes
    ----------
    records : list of arrays
        Per column, the entries (with their signs) that are larger in size than all before them and
        within :data:`_EQUAL` of the largest: whatever comes later, the first of equal ones is here.
    """

    records: list[Array]

    @classmethod
    def of(cls, entries: Array) -> LargestEntries:
        """Look at one piece."""
        return cls([_records(column) for column in entries.T])

    @staticmethod
    def joined(parts: Sequence[LargestEntries]) -> LargestEntries:
        """Join consecutive pieces."""
        columns = zip(*(part.records for part in parts), strict=True)
        return LargestEntries([_records(np.concatenate(column)) for column in columns])

    @property
    def signs(self) -> Array:
        """±1 per column."""
        return np.array([-1.0 if len(first) and first[0] < 0 else 1.0 for first in self.records])


def _records(entries: Array) -> Array:
    """Entries larger in size than all before, less those that are not near the largest."""
    size = np.abs(entries)
    entries = entries[size >= (1 - _EQUAL) * size.max(initial=0)]
    size = np.abs(entries)
    highest = np.maximum.accumulate(size)
    return entries[np.r_[True, size[1:] > highest[:-1]]] if len(entries) else entries


def has_no_overlap(overlaps: Array, n: float, precision: np.dtype[Any]) -> Array:
    """Whether an overlap is too small beside ‖1‖ = √n to decide a sign."""
    smallest = max(_NO_OVERLAP, 1e3 * float(np.finfo(precision).eps))
    return np.asarray(np.abs(overlaps) <= smallest * np.sqrt(n))


def is_sign_free(vectors: Array, n: float | None = None) -> Array:
    """Whether each column keeps one sign, up to a share 1/n of its largest entry.

    >>> is_sign_free(np.array([[1.0, 1.0], [0.5, -0.9]]))
    array([ True, False])
    """
    slack = np.abs(vectors).max(axis=0) / (len(vectors) if n is None else n)
    return np.asarray((vectors.min(axis=0) > -slack) | (vectors.max(axis=0) < slack))


def separate_ties(
    values: Array, vectors: Array, tolerance: float, weights: Array | None = None
) -> Array:
    """Replace tied vectors by a basis of their space in which each has a row to itself.

    Where the space is spanned by vectors that live on different rows, such as indicators of equal
    groups, this finds them; columns keep their (weighted) length but not their orthogonality.

    >>> mixed = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    >>> np.sort(np.abs(separate_ties(np.array([1.0, 1.0]), mixed, 1e-9)).round(12), axis=1)
    array([[0., 1.],
           [0., 1.]])
    """
    vectors = vectors.copy()
    for group in tie_groups(values, tolerance):
        space = vectors[:, group]
        pivots = qr(space.T, mode="r", pivoting=True)[1][: space.shape[1]]
        basis = np.linalg.solve(space[pivots].T, space.T).T
        squares = basis**2 if weights is None else weights[:, None] * basis**2
        vectors[:, group] = basis / np.sqrt(squares.sum(axis=0))
    return vectors
