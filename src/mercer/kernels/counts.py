"""Kernels that count common parts: inner products of sparse counts."""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from mercer.data import Kind
from mercer.kernels.base import Kernel, Tiles, delivered
from mercer.kernels.cells import as_cells
from mercer.maths.types import Array

__all__ = ["CountKernel"]


class CountKernel(Kernel):
    """``k(x, y) = Σ_p count_p(x) count_p(y)`` over parts p, or the cosine of the counts.

    An object without parts has k = 0 with everything, itself included. Where counts are
    normalised, the object as a whole is then its one part, so that k(x, x) = 1 for all.
    """

    compares: ClassVar[Kind] = "objects"
    normalize: bool

    def parts(self, item: Any, numbers: dict[Any, int]) -> list[int]:
        """Return the numbers of the item's parts, repeated as often as they occur.

        ``numbers`` is what the parts are known by; it is shared by all items and grows.
        """
        raise NotImplementedError

    def whole(self, item: Any) -> Any:
        """What stands for an item without parts; hashable, and no part of another."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """One sparse product per tile."""
        numbers: dict[Any, int] = {}
        rows_of_left = self._part_numbers(X, numbers)
        rows_of_right = None if Y is None else self._part_numbers(Y, numbers)
        left = self._counts(rows_of_left, len(numbers))
        right = left if rows_of_right is None else self._counts(rows_of_right, len(numbers))

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return delivered(self._value((left[rows] @ right[columns].T).toarray()), out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """Squared lengths of the counts: 1 where they are normalised."""
        if self.normalize:
            return self._value(np.ones(len(X)))
        numbers: dict[Any, int] = {}
        parts = self._part_numbers(X, numbers)
        counts = self._counts(parts, len(numbers))
        return self._value(np.asarray(counts.multiply(counts).sum(axis=1)))

    def _value(self, products: Array) -> Array:
        return products

    def _part_numbers(self, X: Any, numbers: dict[Any, int]) -> list[list[int]]:
        return [self._part_numbers_of(item, numbers) for item in as_cells(X)]

    def _part_numbers_of(self, item: Any, numbers: dict[Any, int]) -> list[int]:
        found = self.parts(item, numbers)
        if found or not self.normalize:
            return found
        return [numbers.setdefault(self.whole(item), len(numbers))]

    def _counts(self, rows: list[list[int]], width: int) -> csr_array:
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), np.int64, ends[-1])
        counts = csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), max(width, 1)))
        counts.sum_duplicates()
        if not self.normalize:
            return counts
        lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
        return csr_array(diags_array(1 / lengths) @ counts)
