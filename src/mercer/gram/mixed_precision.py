"""Matrix-free products in single and double precision, for solvers that count passes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.gram.cross_gram import TILE
from mercer.gram.gram import BlockedGram
from mercer.gram.nystrom import NystromGram
from mercer.kernels.stationary import Radial
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_each_in_threads, single_threaded_blas
from mercer.utils.types import Array

__all__ = ["MixedPrecisionGram"]

# Rows that are prepared at a time, so that no copy of all points is needed, and their numbers.
_MAX_BLOCK_ROWS, _MAX_BLOCK_NUMBERS = 2048, 1 << 19
_MIN_BLOCKS = 16  # so that there is work for several threads
# Largest squared distance from the mean, in bandwidths, at which float32 tiles are accurate.
_MAX_SINGLE_REACH = 400.0
_OTHER_KERNELS = 1e-12  # relative error of values of kernels without a bound of their own


class MixedPrecisionGram(BlockedGram):
    """A Gram matrix that is never stored, with its landmark approximation.

    A pass evaluates every pair of points once, in float32 or in float64. The first pass in float64
    also multiplies the vector of ones and sums the squares of K. Before it, :attr:`start_product`
    and :attr:`potential` are those of the landmarks.

    Parameters
    ----------
    landmarks : NystromGram
        Of the same points.

    Attributes
    ----------
    passes : int
        Number of passes so far.
    squared_norm : float
        ``‖A‖_F²``; NaN before the first pass in float64.
    """

    def __init__(self, landmarks: NystromGram) -> None:
        super().__init__(landmarks.kernel, landmarks.points, landmarks.weights)
        self.precision = np.dtype(np.float64)
        self.landmarks = landmarks
        self.passes = 0
        self.squared_norm = float("nan")
        self._ones_product: Array | None = None

    @cached_property
    def _reach(self) -> float:
        """Largest squared distance from the mean in bandwidths; NaN for other kernels."""
        if not isinstance(self.kernel, Radial) or self.points.kind != "vectors":
            return float("nan")
        largest = 0.0
        for _, chunk in self.points.chunks(_MAX_BLOCK_ROWS):
            scaled = self.kernel.to_units(chunk - self.origin)
            largest = max(largest, float(np.einsum("ij,ij->i", scaled, scaled).max()))
        return largest

    @cached_property
    def origin(self) -> Array:
        """Mean of the rows, from which float32 coordinates are measured."""
        return np.asarray(self.points.data.mean(axis=0, dtype=np.float64))

    @property
    def has_single(self) -> bool:
        """Whether passes in float32 are possible."""
        return bool(self._reach <= _MAX_SINGLE_REACH)

    @property
    def product_error(self) -> float:
        """Bound on the error of a product in float64 with a unit vector, relative to ‖A‖_F.

        The exponent of a radial kernel is a product of d + 2 terms with an error of
        ``(2d + 8) u (|x| + |y|)² / 2``.
        """
        rounding = float(np.finfo(np.float64).eps)
        if np.isnan(self._reach):
            return _OTHER_KERNELS
        d = self.points.dimension or 0
        # the origin of a block of rows is at most as far from the mean as the rows
        return rounding * ((d + 4) * 16 * self._reach + 2 * TILE)

    def single_product(self, V: Array, *more: Array) -> Array:
        """Return ``A V``, and products with more columns next to it, in float32."""
        return self._pass([V, *more], np.dtype(np.float32))

    def product(self, V: Array, *more: Array) -> Array:
        """Return ``A V``, and products with more columns next to it, from tiles in float64.

        Columns may be stored in float32.
        """
        if self._ones_product is not None:
            return self._pass([V, *more], np.dtype(np.float64))
        found = self._pass([V, *more, self.start[:, None]], np.dtype(np.float64), squares=True)
        self._ones_product = found[:, -1].copy()
        return np.asarray(found[:, :-1])

    def _pass(self, parts: list[Array], dtype: np.dtype[Any], squares: bool = False) -> Array:
        """Return ``A V`` in a precision, V in parts of some columns; with squares also ``‖A‖_F²``.

        Pairs of blocks of rows are processed in rounds. In a round every block occurs once, so
        that threads add to different rows of one result, and sums do not depend on timing.
        """
        self.passes += 1
        size = min(_MAX_BLOCK_NUMBERS // max(self.points.dimension or 1, 1), _MAX_BLOCK_ROWS)
        size = min(-(-self.size // _MIN_BLOCKS), size)
        blocks = row_ranges(self.size, max(-(-size // TILE), 1) * TILE)
        count = len(blocks)
        total = np.zeros((self.size, sum(part.shape[1] for part in parts)), dtype)
        norms = np.zeros((count, count))

        def right(rows: slice) -> Array:
            part = np.hstack([part[rows] for part in parts])
            part = part if self.weights is None else self.start[rows, None] * part
            return np.ascontiguousarray(part, dtype)

        def work(pair: tuple[int, int]) -> None:
            rows, columns = (blocks[i] for i in pair)
            norms[pair] = self._add_block(rows, columns, right, total, squares)

        parallel = self.kernel.compares != "objects"
        with single_threaded_blas() if parallel else nullcontext():
            for shift in range(count):
                pairs = [(i, (shift - i) % count) for i in range(count)]
                run_each_in_threads([pair for pair in pairs if pair[0] >= pair[1]], work, parallel)
        if squares:
            self.squared_norm = float(norms.sum())
        if self.weights is not None:
            total *= self.start[:, None]
        return total

    def _add_block(
        self,
        rows: slice,
        columns: slice,
        right: Callable[[slice], Array],
        total: Array,
        squares: bool,
    ) -> float:
        """Add the products with a block of K and its transpose; return its sum of squares."""
        same = rows == columns
        bottom = right(rows)
        top = bottom if same else right(columns)
        X = self.points_in(rows, bottom.dtype)
        tiles = self.kernel.tiles(X, None if same else self.points_in(columns, bottom.dtype))
        buffer = np.empty(TILE * TILE, bottom.dtype)
        product = np.empty((TILE, bottom.shape[1]), bottom.dtype)
        weights = self.weights
        # sums of this pair of blocks, so that few large terms are added to a total in float32
        above = np.zeros_like(bottom)
        below = above if same else np.zeros_like(top)
        norm = 0.0
        for a in row_ranges(len(above), TILE):
            for b in row_ranges(a.stop if same else len(below), TILE):
                shape = a.stop - a.start, b.stop - b.start
                block = tiles(a, b, buffer[: shape[0] * shape[1]].reshape(shape))
                above[a] += finite_product(block, top[b], product[: shape[0]])
                once = same and a == b
                if not once:
                    below[b] += finite_product(block.T, bottom[a], product[: shape[1]])
                if not squares:
                    continue
                if weights is None:
                    square = float(np.vdot(block, block))
                else:
                    np.multiply(block, block, out=block)
                    square = float(weights[rows][a] @ (block @ weights[columns][b]))
                norm += square if once else 2 * square
        total[rows] += above
        if not same:
            total[columns] += below
        return norm

    def points_in(self, part: slice, dtype: np.dtype[Any]) -> Any:
        """Return some rows in a precision; float32 coordinates are relative to the mean."""
        data = self.points.take(part).data
        if self.points.kind != "vectors":
            return data
        if dtype == np.float32:
            data = data - self.origin
        return data.astype(dtype, copy=False)

    @property
    def start_product(self) -> Array:
        """``A√w``: exact after a pass in float64, of the landmarks before."""
        if self._ones_product is not None:
            return self._ones_product
        small = self.landmarks.small_start
        parts = [
            self.landmarks.features.project(Points(chunk, self.points.kind), small[:, None])[:, 0]
            for _, chunk in self.points.chunks(_MAX_BLOCK_ROWS)
        ]
        return np.asarray(self.start * np.concatenate(parts))

    @property
    def potential(self) -> float:
        """V: exact after a pass in float64, of the landmarks before."""
        if self._ones_product is None:
            return self.landmarks.potential
        return float(self.start @ self._ones_product) / self.total**2

    @property
    def description(self) -> str:
        """Matrix-free, with the number of landmarks."""
        return f"matrix-free products, {self.landmarks.features.landmarks.n} landmarks"
