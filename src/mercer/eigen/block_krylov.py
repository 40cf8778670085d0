"""Leading eigenpairs by block Krylov iteration with thick restarts.

Passes over a matrix that is not stored dominate the cost, so each pass multiplies a whole block.
The block is wider than the number of requested pairs, so that multiple eigenvalues are found. Where
the cost of a product is proportional to its columns, a narrower block needs a smaller basis; it
finds eigenvalues whose multiplicity is at most its width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer.utils.resources import report_status
from mercer.utils.types import Array

__all__ = ["KrylovResult", "leading_eigenpairs", "orthonormal_block"]

_BLOCKS = 24  # basis size before a restart, in blocks of default width
_SMALL_BASIS = 200  # columns; Ritz pairs of larger bases cost as much as a pass


class KrylovResult(NamedTuple):
    """Leading eigenpairs, largest first; ``products`` counts products with single vectors."""

    values: Array
    vectors: Array
    converged: bool
    products: int


def leading_eigenpairs(
    product: Callable[[Array], Array],
    size: int,
    k: int,
    *,
    tolerance: float,
    random_state: int | None = 0,
    max_passes: int = 300,
    width: int | None = None,
) -> KrylovResult:
    """Find the k algebraically largest eigenpairs of a symmetric matrix.

    ``product(V)`` multiplies a block. Residuals ``‖A v - λ v‖`` are at most ``tolerance``, relative
    to the largest |eigenvalue|. Blocks of ``width`` (None for k + 8) columns find eigenvalues of at
    most that multiplicity; at most ``max_passes`` blocks are multiplied.
    """
    width = min(size, k + 8 if width is None else width)
    basis = _Basis(size, width, max(_BLOCKS * width, 6 * k), np.random.default_rng(random_state))
    products, next_check = 0, 1
    for passes in range(1, max_passes + 1):
        products += basis.extend(product)
        last_pass = passes == max_passes or basis.used == size
        if passes >= next_check or basis.is_full or last_pass:
            values, Y, residual = basis.ritz(k)
            report_status(f"block Krylov: {passes} passes, residual {residual:.1e}")
            done = residual <= tolerance
            if done or last_pass:
                return KrylovResult(values[:k], basis.vectors @ Y[:, :k], done, products)
            next_check = passes + basis.passes_between_checks(residual / tolerance)
            if basis.is_full:
                basis.restart(values, Y, k + width)
        basis.append()
    raise AssertionError("unreachable: the loop returns at max_passes")


class _Basis:
    """An orthonormal basis Q of blocks, and ``T = Q'AQ`` of all blocks that were multiplied."""

    def __init__(self, size: int, width: int, max_columns: int, rng: np.random.Generator) -> None:
        self._width, self._max_columns, self._rng = width, min(size, max_columns), rng
        self._Q = np.empty((size, self._max_columns + width), order="F")
        self._T = np.zeros((self._max_columns + width, self._max_columns + width))
        self._Q[:, :width], _ = np.linalg.qr(rng.standard_normal((size, width)))
        self.used = width  # columns; the last block is not multiplied yet
        self.last = slice(0, width)
        self._coupled = 0  # the last product is orthogonal to earlier columns (Lanczos)

    @property
    def vectors(self) -> Array:
        """Q."""
        return self._Q[:, : self.used]

    @property
    def is_full(self) -> bool:
        """Whether the next block needs a restart."""
        return self.used + self._block.shape[1] > self._max_columns

    def extend(self, product: Callable[[Array], Array]) -> int:
        """Multiply the last block, compute the next one, and return the number of products."""
        W = product(self._Q[:, self.last])
        recent = slice(self._coupled, self.used)
        H = self._Q[:, recent].T @ W
        W -= self._Q[:, recent] @ H
        correction = self._Q[:, recent].T @ W  # a second time is enough (Kahan, Parlett)
        W -= self._Q[:, recent] @ correction
        H += correction
        self._T[recent, self.last], self._T[self.last, recent] = H, H.T
        self._coupled = self.last.start
        width = min(self._width, len(self._Q) - self.used)
        self._block, self._coupling = orthonormal_block(W, self.vectors, width, self._rng)
        return W.shape[1]

    def ritz(self, k: int) -> tuple[Array, Array, float]:
        """Return Ritz values, largest first, vectors, and the largest relative residual of k."""
        values, Y = np.linalg.eigh(self._T[: self.used, : self.used])
        values, Y = values[::-1], Y[:, ::-1]
        if self.used == len(self._Q):
            return values, Y, 0.0  # the pairs of A itself
        if self.used < k:
            return values, Y, np.inf
        residuals = np.linalg.norm(self._coupling @ Y[self.last, :k], axis=0)
        largest = max(float(np.abs(values).max()), float(np.finfo(float).tiny))
        return values, Y, float(residuals.max()) / largest

    def passes_between_checks(self, excess: float) -> int:
        """Return after how many passes Ritz pairs are computed again: two far from convergence."""
        return 2 if self.used > _SMALL_BASIS and excess > 1e4 else 1

    def restart(self, values: Array, Y: Array, count: int) -> None:
        """Replace the basis by the leading Ritz vectors."""
        count = min(count, self.used)
        self._Q[:, :count] = self.vectors @ Y[:, :count]
        self._T[...] = 0
        self._T[:count, :count] = np.diag(values[:count])
        self.used, self._coupled = count, 0

    def append(self) -> None:
        """Add the next block."""
        self.last = slice(self.used, self.used + self._block.shape[1])
        self._Q[:, self.last] = self._block
        self.used = self.last.stop


def orthonormal_block(
    W: Array, basis: Array, width: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the next block, orthonormal to the basis, and C with ``W = block @ C``.

    W is orthogonal to the basis up to rounding errors, relative to its norm before this was done.
    If W is rank deficient, some columns of its factorization are rounding noise. Orthogonalized
    against the basis, they are random directions, which continue an exhausted Krylov space.
    """
    block, coupling = np.linalg.qr(W)
    for _ in range(2):
        products = basis.T @ block
        largest = np.abs(products).max(initial=0.0)
        if largest <= 1e-13:
            break
        block -= basis @ products
        # vectors stay orthonormal when such small products are removed
        if largest <= 1e-9:
            break
        lengths = np.linalg.norm(block, axis=0)
        lost = lengths < 0.5
        if lost.any():
            block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
            block[:, lost] -= basis @ (basis.T @ block[:, lost])
        block, change = np.linalg.qr(block)
        coupling = change @ coupling  # rows of lost columns are rounding noise already
    return block[:, :width], coupling
