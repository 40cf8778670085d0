"""Matrix-free products with K for points in chunks on a Dask cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.chunks.points import ChunkedPoints
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators.gram import BlockedGram
from mercer.operators.tiled import tile_product

__all__ = ["ChunkedGram"]

_LARGEST_BLOCK = 20_000  # rows: the two factors of a tile then fit any worker
_FEWEST_BLOCKS = 6  # 21 tiles keep a few workers busy


class ChunkedGram(BlockedGram):
    """Matrix-free products for points on a Dask cluster: tiles of K where blocks of points are.

    Blocks of points are sent between workers, because a tile needs two of them; each is sent to a
    worker once and persisted there. Vectors of n numbers are sent with every product, and the
    fitted model holds the points, as every exact one does.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : ChunkedPoints
    weights : lazy array or None
    """

    def __init__(self, kernel: Kernel, points: ChunkedPoints, weights: Any = None) -> None:
        here = points.take(slice(None))
        local = None if weights is None else points.passes.take(weights, slice(None))
        super().__init__(kernel, here, local)
        size = max(1, min(_LARGEST_BLOCK, -(-points.n // _FEWEST_BLOCKS)))
        self.blocks = points.passes.persist(points.rows.rechunk({0: size}))

    def product(self, V: Array) -> Array:
        """Return ``A V`` from tiles computed by the workers."""
        from mercer.chunks.tasks import symmetric_product

        root = np.ones((1, 1)) if self.weights is None else self.start[:, None]
        tile = partial(tile_product, self.kernel)
        return root * symmetric_product(self.blocks, tile, root * V)

    @property
    def description(self) -> str:
        """Matrix-free, with the number of blocks."""
        return f"matrix-free products of {self.blocks.numblocks[0]} blocks, {self.precision.name}"
