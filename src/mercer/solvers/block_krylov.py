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

from mercer.maths.types import Array
from mercer.progress import progress_is_shown, report_status

__all__ = ["KrylovResult", "leading_eigenpairs", "orthonormal_block"]

_OVERSAMPLING = 8
_BLOCKS = 24  # basis size before a restart, in blocks
_ORTHOGONAL = 1e-13  # largest product of basis vectors
# Width of narrow blocks, and its smallest part of k. A Gaussian kernel on a grid of three columns
# has eigenvalues of multiplicity 55 among the first 200, about (6k)^(2/3)/2 among the first k.
_NARROW, _NARROW_PART = 64, 1 / 3


class KrylovResult(NamedTuple):
    """Leading eigenpairs, largest first.

    Attributes
    ----------
    values : array of shape (k,)
    vectors : array of shape (n, k)
    converged : bool
    products : int
        Number of products with single vectors.
    """

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
    narrow: bool = False,
) -> KrylovResult:
    """Find the k algebraically largest eigenpairs of a symmetric matrix.

    Parameters
    ----------
    product : callable
        ``A @ V`` for V of shape (size, b).
    size, k : int
    tolerance : float
        Largest residual ``‖A v - λ v‖`` allowed, relative to the largest |eigenvalue|.
    random_state : int or None
        Seed of the start block.
    max_passes : int
        Largest number of products with a block.
    narrow : bool
        Use narrower blocks, for products whose cost is proportional to their number of columns.

    Returns
    -------
    KrylovResult
    """
    width = min(size, k + _OVERSAMPLING)
    if narrow:
        width = min(width, max(_NARROW, int(_NARROW_PART * k)))
    max_columns = min(size, max(_BLOCKS * width, 3 * k))
    Q = np.empty((size, max_columns + width), order="F")
    T = np.zeros((max_columns + width, max_columns + width))
    rng = np.random.default_rng(random_state)
    Q[:, :width], _ = np.linalg.qr(rng.standard_normal((size, width)))
    used, products = width, 0  # ``used`` columns of Q; the last block is not multiplied yet
    last = slice(0, width)
    for passes in range(1, max_passes + 1):
        W = product(Q[:, last])
        products += last.stop - last.start
        basis = Q[:, :used]
        H = basis.T @ W
        W -= basis @ H
        correction = basis.T @ W  # a second orthogonalization is enough (Kahan, Parlett)
        W -= basis @ correction
        H += correction
        T[:used, last], T[last, :used] = H, H.T
        values, Y = np.linalg.eigh(T[:used, :used])
        values, Y = values[::-1], Y[:, ::-1]
        scale = float(np.abs(values).max())
        block, coupling = orthonormal_block(W, basis, min(width, size - used), rng)
        leading = slice(0, min(k, used))
        residuals = np.linalg.norm(coupling @ Y[last, leading], axis=0)
        done = used >= k and residuals.max() <= tolerance * scale
        if progress_is_shown():
            report_status(f"block Krylov: {passes} passes, residual {residuals.max() / scale:.1e}")
        if done or used == size or passes == max_passes:
            vectors = basis @ Y[:, leading]
            return KrylovResult(values[leading], vectors, bool(done or used == size), products)
        if used + block.shape[1] > max_columns:  # restart with the leading Ritz vectors
            used = min(k + width, used)
            Q[:, :used] = basis @ Y[:, :used]
            T[:used, :used] = np.diag(values[:used])
        last = slice(used, used + block.shape[1])
        Q[:, last] = block
        used = last.stop
    raise AssertionError("unreachable: the loop returns at max_passes")


def orthonormal_block(
    W: Array, basis: Array, width: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the next block, orthonormal to the basis, and C with ``W = block @ C``.

    If W is rank deficient, some columns of its factorization are rounding noise. Orthogonalized
    against the basis, they are random directions, which continue an exhausted Krylov space.
    """
    block, coupling = np.linalg.qr(W)
    for _ in range(2):
        products = basis.T @ block
        if np.abs(products).max(initial=0.0) <= _ORTHOGONAL:
            break
        block -= basis @ products
        lengths = np.linalg.norm(block, axis=0)
        lost = lengths < 0.5
        if lost.any():
            block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
            block[:, lost] -= basis @ (basis.T @ block[:, lost])
        block, change = np.linalg.qr(block)
        coupling = change @ coupling  # rows of lost columns are rounding noise already
    return block[:, :width], coupling
