"""Kernels on sets and on non-negative vectors: intersection over union."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, csr_array

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles
from mercer.kernels.cells import as_table, is_missing, to_codes
from mercer.utils.types import Array

__all__ = ["Jaccard", "MinMax"]


class _Overlap(Kernel):
    """``k = |x ∩ y| / (|x| + |y| - |x ∩ y|)``; 1 if both are empty.

    The kernel is positive semi-definite: it is the probability that a random hash (minwise, or
    weighted sampling by Manasse, McSherry and Talwar 2010) maps x and y to the same value, and
    equality of values is an inner product of indicators. All empty points have the same hash value.
    """

    compares: ClassVar[Kind] = "objects"

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return the sizes of intersections, tile by tile, and of the points of X and Y."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Divide intersections by unions."""
        intersections, left, right = self.intersections(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            shared = intersections(rows, columns)
            union = np.add.outer(left[rows], right[columns])
            union -= shared
            empty = union == 0
            union[empty] = 1
            shared[empty] = 1
            return np.divide(shared, union, out=shared if out is None else out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        return np.ones(len(X))


class Jaccard(_Overlap):
    r"""Jaccard kernel on sets, :math:`k(A, B) = |A \cap B| / |A \cup B|`; k = 1 for two empty sets.

    Points are sets (or lists of items, whose duplicates are ignored), or rows of an array or data
    frame whose nonzero entries are the members of the set.

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"a", "b", "c"}, {"b", "c"}, {"d"}]).round(4)
    array([[1.    , 0.6667, 0.    ],
           [0.6667, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    """

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return sparse products of indicators."""
        if not _is_sequence(X):
            left = csr_array(_vectors(X, "Jaccard") != 0, dtype=np.float64)
            right = left if Y is None else csr_array(_vectors(Y, "Jaccard") != 0, dtype=np.float64)
            _check_n_columns(left, right)
        else:
            left, right = _bags(X, Y, _members)

        def products(rows: slice, columns: slice) -> Array:
            return np.asarray((left[rows] @ right[columns].T).toarray())

        return products, left.sum(axis=1), right.sum(axis=1)


class MinMax(_Overlap):
    r"""Min-max kernel, :math:`k(x, y) = \sum_j \min(x_j, y_j) / \sum_j \max(x_j, y_j)`.

    The Jaccard kernel of multisets (Ruzicka similarity); k = 1 for two points that are all zeros.
    Points are rows of non-negative numbers, or dicts from items to non-negative amounts (such as a
    ``collections.Counter``), or sets.

    Examples
    --------
    >>> from mercer.kernels import MinMax
    >>> MinMax()([[1.0, 2.0, 0.0], [2.0, 1.0, 1.0]])
    array([[1. , 0.4],
           [0.4, 1. ]])
    >>> MinMax()([{"a": 2, "b": 1}, {"a": 1}]).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return sums of minima, column by column."""
        if _are_bags(X):
            bags = _bags(X, Y, _amounts)
            by_column = csc_array(bags[0]), csc_array(bags[1])

            def of_bags(rows: slice, columns: slice) -> Array:
                return _sparse_minima(by_column[0][rows], by_column[1][columns])

            return of_bags, bags[0].sum(axis=1), bags[1].sum(axis=1)
        left = _vectors(X, "MinMax")
        right = left if Y is None else _vectors(Y, "MinMax")
        _check_n_columns(left, right)

        def of_vectors(rows: slice, columns: slice) -> Array:
            x, y = left[rows], right[columns]
            total = np.zeros((len(x), len(y)))
            for one, other in zip(x.T, y.T, strict=True):
                total += np.minimum.outer(one, other)
            return total

        return of_vectors, left.sum(axis=1), right.sum(axis=1)


def _vectors(X: Any, name: str) -> Array:
    table = as_table(X)
    if is_missing(table).any():
        raise ValueError(
            f"{name} got missing values. Wrap it as On(columns, {name}()), which can compare them "
            "once it is fitted, or drop those rows."
        )
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} compares rows of numbers or sets of items, not {table.flat[0]!r:.60}."
        ) from None
    if numbers.min(initial=0) < 0 or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} needs finite numbers of at least 0; found {numbers.min():.6g} to "
            f"{numbers.max():.6g}. Shift the columns, or use Gaussian for signed ones."
        )
    return numbers


def _check_n_columns(left: Any, right: Any) -> None:
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X has {left.shape[1]} columns and Y has {right.shape[1]}; they must have the same "
            "number."
        )


def _is_sequence(X: Any) -> bool:
    """Whether X is a sequence of objects, not the rows of an array or a frame."""
    return len(getattr(X, "shape", (0,))) == 1


def _are_bags(X: Any) -> bool:
    return _is_sequence(X) and all(isinstance(item, Mapping | AbstractSet) for item in X)


def _members(item: Any) -> dict[Any, float]:
    if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
        raise TypeError(
            f"Jaccard compares sets (or lists) of items, not {type(item).__name__}: {item!r:.60}. "
            "For the characters of a string pass set(string)."
        )
    return dict.fromkeys(item, 1.0)


def _amounts(item: Any) -> dict[Any, float]:
    amounts = dict(item) if isinstance(item, Mapping) else dict.fromkeys(item, 1.0)
    invalid = [pair for pair in amounts.items() if not 0 <= pair[1] < np.inf]
    if invalid:
        raise ValueError(f"MinMax needs finite amounts of at least 0; found {invalid[0]!r}.")
    return amounts


def _bags(X: Any, Y: Any, read: Callable[[Any], dict[Any, float]]) -> tuple[csr_array, csr_array]:
    """Return both samples as sparse rows over the items of either."""
    known: dict[Any, int] = {}

    def rows(items: Any) -> tuple[Array, Array, Array]:
        bags = [read(item) for item in items]
        columns = [to_codes(bag, known) for bag in bags]
        values = [value for bag in bags for value in bag.values()]
        ends = np.cumsum([0, *map(len, columns)])
        flat = np.fromiter(chain.from_iterable(columns), np.int64, ends[-1])
        return np.array(values, dtype=np.float64), flat, ends

    left = rows(X)
    right = left if Y is None else rows(Y)
    n_items = max(len(known), 1)
    sparse = [csr_array(side, shape=(len(side[2]) - 1, n_items)) for side in (left, right)]
    return sparse[0], sparse[1]


def _sparse_minima(x: csc_array, y: csc_array) -> Array:
    total = np.zeros((x.shape[0], y.shape[0]))
    filled = np.flatnonzero((np.diff(x.indptr) > 0) & (np.diff(y.indptr) > 0))
    for j in filled:
        here, there = slice(*x.indptr[j : j + 2]), slice(*y.indptr[j : j + 2])
        at = np.ix_(x.indices[here], y.indices[there])
        total[at] += np.minimum.outer(x.data[here], y.data[there])
    return total
