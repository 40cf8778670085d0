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

from mercer.utils.progress import progress_is_shown, report_status
from mercer.utils.types import Array

__all__ = ["KrylovResult", "leading_eigenpairs", "orthonormal_block"]

_OVERSAMPLING = 8
_BLOCKS = 24  # basis size before a restart, in blocks of default width
# Ritz pairs of a basis with more columns cost as much as a pass, and are computed after every other
# pass while residuals are this many times the tolerance.
_SMALL_BASIS, _FAR = 200, 1e4
_ORTHOGONAL = 1e-13  # largest product of basis vectors
_NEARLY_ORTHOGONAL = 1e-9  # of vectors that stay orthonormal when their products are removed


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
    width: int | None = None,
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
    width : int or None
        Width of blocks, at least the largest multiplicity; None for k + 8.

    Returns
    -------
    KrylovResult
    """
    width = min(size, k + _OVERSAMPLING if width is None else width)
    max_columns = min(size, max(_BLOCKS * width, 6 * k))
    Q = np.empty((size, max_columns + width), order="F")
    T = np.zeros((max_columns + width, max_columns + width))
    rng = np.random.default_rng(random_state)
    Q[:, :width], _ = np.linalg.qr(rng.standard_normal((size, width)))
    used, products = width, 0  # ``used`` columns of Q; the last block is not multiplied yet
    last = slice(0, width)
    next_check = 1
    coupled = 0  # products with the last block are orthogonal to earlier columns (Lanczos)
    for passes in range(1, max_passes + 1):
        W = product(Q[:, last])
        products += last.stop - last.start
        basis = Q[:, :used]
        recent = slice(coupled, used)
        H = Q[:, recent].T @ W
        W -= Q[:, recent] @ H
        correction = Q[:, recent].T @ W  # a second time is enough (Kahan, Parlett)
        W -= Q[:, recent] @ correction
        H += correction
        T[recent, last], T[last, recent] = H, H.T
        coupled = last.start
        block, coupling = orthonormal_block(W, basis, min(width, size - used), rng)
        full = used + block.shape[1] > max_columns
        if passes >= next_check or full or used == size or passes == max_passes:
            values, Y = np.linalg.eigh(T[:used, :used])
            values, Y = values[::-1], Y[:, ::-1]
            scale = float(np.abs(values).max())
            leading = slice(0, min(k, used))
            residuals = np.linalg.norm(coupling @ Y[last, leading], axis=0)
            worst = float(residuals.max())
            done = used >= k and worst <= tolerance * scale
            if progress_is_shown():
                report_status(f"block Krylov: {passes} passes, residual {worst / scale:.1e}")
            if done or used == size or passes == max_passes:
                vectors = basis @ Y[:, leading]
                return KrylovResult(values[leading], vectors, bool(done or used == size), products)
            far = used > _SMALL_BASIS and worst > _FAR * tolerance * scale
            next_check = passes + 2 if far else passes + 1
        if full:  # restart with the leading Ritz vectors
            used = min(k + width, used)
            Q[:, :used] = basis @ Y[:, :used]
            T[...] = 0
            T[:used, :used] = np.diag(values[:used])
            coupled = 0
        last = slice(used, used + block.shape[1])
        Q[:, last] = block
        used = last.stop
    raise AssertionError("unreachable: the loop returns at max_passes")


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
        if largest <= _ORTHOGONAL:
            break
        block -= basis @ products
        if largest <= _NEARLY_ORTHOGONAL:
            break
        lengths = np.linalg.norm(block, axis=0)
        lost = lengths < 0.5
        if lost.any():
            block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
            block[:, lost] -= basis @ (basis.T @ block[:, lost])
        block, change = np.linalg.qr(block)
        coupling = change @ coupling  # rows of lost columns are rounding noise already
    return block[:, :width], coupling
