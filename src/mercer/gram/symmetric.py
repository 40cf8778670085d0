"""The lower half of a Gram matrix, stored in panels of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.data.points import Points
from mercer.gram.cross_gram import THREADS_FROM
from mercer.gram.gram import KernelGram
from mercer.kernels import Kernel
from mercer.utils.compiled import COLUMN_MULTIPLE, add_products, uses_compiled_code
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_each_in_threads, thread_count
from mercer.utils.types import Array

__all__ = ["SymmetricGram"]

_PANEL_ROWS = 256
_TILE_COLUMNS = 2048  # evaluated at a time: a matrix product of many columns is faster
_PADDING = 8  # columns, so that the rows of a panel do not share the same sets of a cache
_NARROW = 32  # columns, up to which compiled products of doubles are faster than BLAS
_GROUPS = 8  # of panels, each with its own sum; a thread takes the next group when it is free
_PARALLEL_PRODUCT = 2**22  # entries; below, starting threads costs more than it saves


class SymmetricGram(KernelGram):
    """A stored Gram matrix, of which each pair of points is evaluated, stored and read once.

    Row panels of the lower half contain the whole diagonal blocks. A product multiplies a panel and
    its transpose while the panel is in the cache.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : Points
    weights : array or None

    Attributes
    ----------
    panels : list of (slice, array)
        Ranges of rows, and their values at all columns up to the last of these rows.
    """

    def __init__(self, kernel: Kernel, points: Points, weights: Array | None = None) -> None:
        super().__init__(kernel, points, weights)
        n, dtype = points.n, points.dtype
        tiles = kernel.tiles(points.data)
        start = None if weights is None else self.start.astype(dtype)
        self.panels: list[tuple[slice, Array]] = []
        for rows in row_ranges(n, _PANEL_ROWS):
            padded = np.empty((rows.stop - rows.start, rows.stop + _PADDING), dtype)
            self.panels.append((rows, padded[:, : rows.stop]))

        def fill(task: tuple[slice, Array]) -> None:
            rows, panel = task
            # the diagonal block separately, because kernels set its diagonal
            for columns in (*row_ranges(rows.start, _TILE_COLUMNS), rows):
                tiles(rows, columns, panel[:, columns])
            if start is not None:
                panel *= start[rows, None]
                panel *= start[: rows.stop]

        parallel = kernel.compares != "objects" and n * n >= THREADS_FROM
        run_each_in_threads(self.panels[::-1], fill, parallel)  # the longest first

    def product(self, V: Array) -> Array:
        """Return ``A V``: sums over panels in float64."""
        is_double = self.precision == np.float64
        if 1 < V.shape[1] <= _NARROW and is_double and uses_compiled_code():
            return self._narrow_product(V)
        # V'A, the transpose of AV, is faster on row-major panels.
        right = np.ascontiguousarray(V.T, dtype=self.precision)

        def multiply(rows: slice, panel: Array, total: Array) -> None:
            total[:, rows] += finite_product(right[:, : rows.stop], panel.T)
            left = panel[:, : rows.start]
            total[:, : rows.start] += finite_product(right[:, rows], left)

        return self._sum_of_panels(multiply, right.shape).T

    def _narrow_product(self, V: Array) -> Array:
        """Return ``A V`` for few columns in compiled code; A is of type float64."""
        columns = -(-V.shape[1] // COLUMN_MULTIPLE) * COLUMN_MULTIPLE
        right = np.zeros((self.size, columns))
        right[:, : V.shape[1]] = V

        def multiply(rows: slice, panel: Array, total: Array) -> None:
            left, block = panel[:, : rows.start], panel[:, rows]
            below = total[: rows.start]
            add_products(left, right[: rows.start], total[rows], right[rows], below)
            add_products(block, right[rows], total[rows], None, below)

        return self._sum_of_panels(multiply, right.shape)[:, : V.shape[1]]

    def _sum_of_panels(
        self, add: Callable[[slice, Array, Array], None], shape: tuple[int, ...]
    ) -> Array:
        """Return the sum of what ``add(rows, panel, total)`` adds for each panel, in threads."""
        count = max(_GROUPS, thread_count())
        groups = [self.panels[i::count] for i in range(min(count, len(self.panels)))]
        sums = np.zeros((len(groups), *shape))

        def work(group: int) -> None:
            for rows, panel in groups[group]:
                add(rows, panel, sums[group])

        run_each_in_threads(range(len(groups)), work, self.size**2 >= _PARALLEL_PRODUCT)
        return np.asarray(sums.sum(axis=0))

    def diagonal(self) -> Array:
        """Return the diagonal of the stored matrix."""
        parts = [panel.diagonal(rows.start) for rows, panel in self.panels]
        return np.concatenate(parts).astype(np.float64)

    def squared_norm(self) -> float:
        """Return ``‖A‖_F²``."""
        total = 0.0
        for rows, panel in self.panels:
            wide = panel.astype(np.float64, copy=False)
            block = wide[:, rows]
            total += 2 * float(np.einsum("ij,ij->", wide, wide))
            total -= float(np.einsum("ij,ij->", block, block))
        return total

    def dense(self) -> Array:
        """Return the whole matrix."""
        A = np.empty((self.size, self.size), self.precision)
        for rows, panel in self.panels:
            A[rows, : rows.stop] = panel
            A[: rows.start, rows] = panel[:, : rows.start].T
        return A

    @property
    def description(self) -> str:
        """Stored, with its size."""
        size = sum(panel.nbytes for _, panel in self.panels)
        return f"stored Gram matrix ({size / 1e6:.3g} MB)"
