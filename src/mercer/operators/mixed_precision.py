"""Matrix-free products in single and double precision, for solvers that count passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data import Points
from mercer.kernels.stationary import Radial
from mercer.maths.pairwise import finite_product, row_ranges
from mercer.maths.types import Array
from mercer.operators.cross_gram import TILE
from mercer.operators.gram import BlockedGram
from mercer.operators.nystrom import NystromGram
from mercer.resources import run_in_threads, thread_count

__all__ = ["MixedPrecisionGram"]

# Rows that are prepared at a time, so that no copy of all points is needed, and their numbers.
_MAX_BLOCK_ROWS, _MAX_BLOCK_NUMBERS = 4096, 1 << 19
_TASKS_PER_THREAD = 16
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

    def single_product(self, V: Array) -> Array:
        """Return ``A V`` from tiles in float32, with sums over tiles in float64."""
        return self._pass(V, np.dtype(np.float32))

    def product(self, V: Array) -> Array:
        """Return ``A V`` from tiles in float64."""
        if self._ones_product is not None:
            return self._pass(V, np.dtype(np.float64))
        self.squared_norm = 0.0
        found = self._pass(np.column_stack([V, self.start]), np.dtype(np.float64), squares=True)
        self._ones_product = found[:, -1].copy()
        return np.asarray(found[:, :-1])

    def _pass(self, V: Array, dtype: np.dtype[Any], squares: bool = False) -> Array:
        self.passes += 1
        root = None if self.weights is None else self.start[:, None]
        right = (V if root is None else root * V).astype(dtype, copy=False)
        right = np.ascontiguousarray(right)
        n = self.size
        size = -(-n // max(1, round((2 * _TASKS_PER_THREAD * thread_count()) ** 0.5)))
        most = _MAX_BLOCK_NUMBERS // max(self.points.dimension or 1, 1)
        size = max(min(size, most, _MAX_BLOCK_ROWS), TILE)
        blocks = row_ranges(n, size)
        pairs = [(blocks[i], blocks[j]) for i in range(len(blocks)) for j in range(i + 1)]

        def work(tasks: Sequence[tuple[slice, slice]]) -> tuple[Array, float]:
            total, norm = np.zeros(V.shape), 0.0
            buffer = np.empty(TILE * TILE, dtype)
            for rows, columns in tasks:
                norm += self._add_block(rows, columns, right, total, buffer, squares)
            return total, norm

        parallel = self.kernel.compares != "objects"
        found = run_in_threads(pairs, work, parallel)
        product, norm = found[0]
        for other, more in found[1:]:
            product += other
            norm += more
        if squares:
            self.squared_norm = norm
        if root is not None:
            product *= root
        return np.asarray(product)

    def _add_block(
        self,
        rows: slice,
        columns: slice,
        right: Array,
        total: Array,
        buffer: Array,
        squares: bool,
    ) -> float:
        """Add the products with a block of K and its transpose; return its sum of squares."""
        same = rows == columns
        X = self.points_in(rows, right.dtype)
        tiles = self.kernel.tiles(X, None if same else self.points_in(columns, right.dtype))
        weights = self.weights
        norm = 0.0
        for a in row_ranges(rows.stop - rows.start, TILE):
            left = slice(rows.start + a.start, rows.start + a.stop)
            for b in row_ranges(a.stop if same else columns.stop - columns.start, TILE):
                top = slice(columns.start + b.start, columns.start + b.stop)
                shape = a.stop - a.start, b.stop - b.start
                block = tiles(a, b, buffer[: shape[0] * shape[1]].reshape(shape))
                total[left] += finite_product(block, right[top])
                if left != top:
                    total[top] += finite_product(block.T, right[left])
                if squares:
                    times = 1 if left == top else 2
                    if weights is None:
                        norm += times * float(np.vdot(block, block))
                    else:
                        np.multiply(block, block, out=block)
                        norm += times * float(weights[left] @ (block @ weights[top]))
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
