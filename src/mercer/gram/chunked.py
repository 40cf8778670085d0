"""Matrix-free products with K for points in chunks on a Dask cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.data.dask.points import ChunkedPoints
from mercer.data.points import Points
from mercer.gram.cross_gram import TILE
from mercer.gram.gram import BlockedGram, gram_product
from mercer.kernels import Kernel
from mercer.utils.pairwise import finite_product
from mercer.utils.types import Array

__all__ = ["ChunkedGram"]

_MAX_BLOCK_ROWS = 20_000  # two blocks fit into the memory of a worker
_MIN_BLOCKS = 6  # 6 blocks give 21 tiles, enough to occupy several workers


class ChunkedGram(BlockedGram):
    """Matrix-free products for points on a Dask cluster; the workers compute tiles of K.

    A tile needs two blocks of points, so blocks are sent between workers; each is sent to a worker
    once and stored there. Every product also sends vectors of n numbers. The fitted model contains
    the points, as with every exact solver.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : ChunkedPoints
    weights : lazy array or None
    """

    def __init__(self, kernel: Kernel, points: ChunkedPoints, weights: Any = None) -> None:
        local_points = points.take(slice(None))
        local_weights = None if weights is None else points.passes.take(weights, slice(None))
        super().__init__(kernel, local_points, local_weights)
        size = max(1, min(_MAX_BLOCK_ROWS, -(-points.n // _MIN_BLOCKS)))
        self.blocks = points.passes.persist(points.rows.rechunk({0: size}))

    def product(self, V: Array) -> Array:
        """Return ``A V`` from tiles computed by the workers."""
        from mercer.data.dask.tasks import symmetric_product

        root = np.ones((1, 1)) if self.weights is None else self.start[:, None]
        tile = partial(_tile_product, self.kernel)
        return root * symmetric_product(self.blocks, tile, root * V)

    @property
    def description(self) -> str:
        """The method, the number of blocks and the precision."""
        return f"matrix-free products of {self.blocks.numblocks[0]} blocks, {self.precision.name}"


def _tile_product(
    kernel: Kernel, X: Array, V: Array, Y: Array | None = None, U: Array | None = None
) -> tuple[Array, Array | None]:
    """Return ``k(X, Y) U`` and ``k(Y, X) V`` from one evaluation; without Y, ``k(X, X) V``."""
    if Y is None or U is None:
        return gram_product(kernel, Points(X), V), None
    tiles = kernel.tiles(X, Y)
    right, left = np.zeros((len(X), U.shape[1])), np.zeros((len(Y), V.shape[1]))
    for rows, _ in Points(X).chunks(TILE):
        for columns, _ in Points(Y).chunks(TILE):
            block = tiles(rows, columns, None)
            right[rows] += finite_product(block, U[columns].astype(block.dtype, copy=False))
            left[columns] += finite_product(block.T, V[rows].astype(block.dtype, copy=False))
    return right, left
