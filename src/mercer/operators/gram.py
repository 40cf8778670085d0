"""K as it is: held in memory, or made anew tile by tile in every product."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer.chunks.points import ChunkedPoints
from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators.base import MultiplyingGram
from mercer.operators.expansion import Expansion, KernelExpansion
from mercer.operators.tiled import fill_gram, gram_product, tile_product

__all__ = ["BlockedGram", "ChunkedGram", "DenseGram"]

_MOST_BLOCK = 20_000  # rows: a tile's two factors then take little room on any worker
_FEWEST_BLOCKS = 6  # so that two dozen tiles keep some workers busy


class _KernelGram(MultiplyingGram):
    """What both kinds share: a kernel, its points, and expansions in k(·, x_j)."""

    def __init__(self, kernel: Kernel, points: Points, weights: Array | None) -> None:
        super().__init__(points.n, points.dtype, weights)
        self.kernel = kernel
        self.points = points

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Coefficients ``√w_j e_ji / √λ_i``."""
        coefficients = self.start[:, None] * vectors / np.sqrt(values)
        diagonal = self.diagonal() / self.start**2
        return KernelExpansion(self.kernel, self.points, coefficients, self.weights, diagonal)


class DenseGram(_KernelGram):
    """A stored Gram matrix.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : Points
        For a precomputed kernel its column numbers, with ``matrix`` given.
    weights : array or None
    matrix : array of shape (n, n) or None
        K, where the user brought it: it is never written to.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None = None,
        matrix: Array | None = None,
    ) -> None:
        super().__init__(kernel, points, weights)
        K = fill_gram(kernel, points) if matrix is None else matrix
        self.precision = K.dtype
        if weights is not None:
            K = K if matrix is None else K.copy()
            K *= self.start[:, None].astype(K.dtype)
            K *= self.start[None, :].astype(K.dtype)
        self.matrix = K

    def _matmat(self, V: Array) -> Array:
        if V.shape[1] == 1:
            return self._matvec(V[:, 0])[:, None]
        # V'K runs a third faster than KV on a K stored by rows, and they are each other's transpose
        product = V.T.astype(self.matrix.dtype, copy=False) @ self.matrix
        return product.T.astype(np.float64, copy=False)

    def _matvec(self, v: Array) -> Array:
        # one vector: memory bandwidth is the limit, and the symmetric routine reads half of K
        product = self._symv(1.0, self.matrix.T, v.ravel(), lower=1)
        return np.asarray(product, dtype=np.float64)

    @property
    def _symv(self) -> Any:
        return get_blas_funcs("symv", (self.matrix,))

    def diagonal(self) -> Array:
        """Read off the matrix."""
        return self.matrix.diagonal().astype(np.float64)

    def dense(self) -> Array:
        """Copy the matrix: products must still work after the caller has overwritten it."""
        return self.matrix.copy()

    @property
    def description(self) -> str:
        """Held in memory."""
        return f"Gram matrix held in memory ({self.matrix.nbytes / 1e6:.3g} MB)"


class BlockedGram(_KernelGram):
    """A Gram matrix that is never held: every product evaluates the kernel again, on all cores.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : Points
    weights : array or None
    """

    def __init__(self, kernel: Kernel, points: Points, weights: Array | None = None) -> None:
        super().__init__(kernel, points, weights)

    def _matmat(self, V: Array) -> Array:
        if self.weights is None:
            return gram_product(self.kernel, self.points, V)
        root = self.start[:, None]
        return root * gram_product(self.kernel, self.points, root * V)

    def _matvec(self, v: Array) -> Array:
        return self._matmat(v.reshape(-1, 1))

    def diagonal(self) -> Array:
        """Evaluate the kernel's diagonal."""
        diagonal = self.kernel.diagonal(self.points.data).astype(np.float64)
        return np.asarray(diagonal * self.start**2)

    def dense(self) -> Array:
        """Evaluate the whole matrix after all."""
        return DenseGram(self.kernel, self.points, self.weights).dense()

    @property
    def description(self) -> str:
        """Matrix-free."""
        return f"matrix-free products, {self.precision.name} tiles"


class ChunkedGram(BlockedGram):
    """Matrix-free products of points on an engine: tiles of K where blocks of points are.

    Blocks of points are the one thing that travels between workers here, as a tile needs two of
    them; each is sent once to a worker and kept. Vectors of n numbers go back and forth with every
    product, and the fitted model holds the points, as every exact one does.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : ChunkedPoints
    weights : lazy array or None
    """

    def __init__(self, kernel: Kernel, points: ChunkedPoints, weights: Any = None) -> None:
        here = points.take(slice(None))
        super().__init__(
            kernel, here, None if weights is None else points.passes.take(weights, slice(None))
        )
        size = max(1, min(_MOST_BLOCK, -(-points.n // _FEWEST_BLOCKS)))
        self.blocks = points.passes.persist(points.rows.rechunk({0: size}))

    def _matmat(self, V: Array) -> Array:
        from mercer.chunks.tasks import symmetric_product

        root = np.ones((1, 1)) if self.weights is None else self.start[:, None]
        tile = partial(tile_product, self.kernel)
        return root * symmetric_product(self.blocks, tile, root * V)

    @property
    def description(self) -> str:
        """Matrix-free, on the engine."""
        return f"matrix-free products of {self.blocks.numblocks[0]} blocks, {self.precision.name}"
