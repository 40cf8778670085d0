"""Kernels that count common parts of objects: inner products of sparse counts."""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles, copy_into
from mercer.kernels.cells import as_cells
from mercer.utils.sparse_rows import row_products
from mercer.utils.types import Array

__all__ = ["CountKernel"]


class CountKernel(Kernel):
    """``k(x, y) = Σ_p count_p(x) count_p(y)`` over parts p, or the cosine of the counts.

    If x has no parts, k(x, y) = 0 for all y, including x. With normalized counts, an object without
    parts is its own only part, so that k(x, x) = 1 for all x.
    """

    compares: ClassVar[Kind] = "objects"
    normalize: bool

    def part_codes(self, item: Any, codes: dict[Any, int]) -> list[int]:
        """Return the integer codes of the item's parts, repeated as often as they occur.

        ``codes`` maps parts to codes; it is shared by all items, and new parts are added to it.
        """
        raise NotImplementedError

    def substitute_part(self, item: Any) -> Any:
        """Return the only part of an item without parts; hashable, and not a part of others."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles by sparse products."""
        codes: dict[Any, int] = {}
        left_parts = self._codes_of_rows(X, codes)
        right_parts = None if Y is None else self._codes_of_rows(Y, codes)
        left = self._counts(left_parts, len(codes))
        right = left if right_parts is None else self._counts(right_parts, len(codes))

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return copy_into(self._value(row_products(left[rows], right[columns])), out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """Squared norms of the counts: 1 if they are normalized."""
        if self.normalize:
            return self._value(np.ones(len(X)))
        codes: dict[Any, int] = {}
        counts = self._counts(self._codes_of_rows(X, codes), len(codes))
        return self._value(np.asarray(counts.multiply(counts).sum(axis=1)))

    def _value(self, products: Array) -> Array:
        return products

    def _codes_of_rows(self, X: Any, codes: dict[Any, int]) -> list[list[int]]:
        return [self._codes_of_row(item, codes) for item in as_cells(X)]

    def _codes_of_row(self, item: Any, codes: dict[Any, int]) -> list[int]:
        found = self.part_codes(item, codes)
        if found or not self.normalize:
            return found
        return [codes.setdefault(self.substitute_part(item), len(codes))]

    def _counts(self, rows: list[list[int]], n_parts: int) -> csr_array:
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), np.int64, ends[-1])
        counts = csr_array(
            (np.ones(len(columns)), columns, ends), shape=(len(rows), max(n_parts, 1))
        )
        counts.sum_duplicates()
        if not self.normalize:
            return counts
        norms = np.sqrt(counts.multiply(counts).sum(axis=1))
        return csr_array(diags_array(1 / norms) @ counts)
