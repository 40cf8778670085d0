"""Leading eigenpairs by block Krylov iteration with thick restarts.

Passes over a matrix that is not stored dominate the cost, so each pass multiplies a whole block.
The block is wider than the number of requested pairs, so it can represent any multiplicity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.maths.types import Array
from mercer.progress import progress_is_shown, report_status

__all__ = ["KrylovResult", "leading_eigenpairs"]

_OVERSAMPLING = 8
_BLOCKS = 24  # basis size before a restart, in blocks

KrylovResult = tuple[Array, Array, bool, int]


def leading_eigenpairs(
    product: Callable[[Array], Array],
    size: int,
    k: int,
    *,
    tolerance: float,
    random_state: int | None = 0,
    max_passes: int = 300,
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

    Returns
    -------
    values, vectors, converged, products
        Largest first. ``products`` counts single vectors.
    """
    width = min(size, k + _OVERSAMPLING)
    room = min(size, _BLOCKS * width)
    Q = np.empty((size, room + width), order="F")
    T = np.zeros((room + width, room + width))
    rng = np.random.default_rng(random_state)
    Q[:, :width], _ = np.linalg.qr(rng.standard_normal((size, width)))
    used, spent = width, 0  # columns of Q; the last block has not been multiplied yet
    last = slice(0, width)
    for passes in range(1, max_passes + 1):
        W = product(Q[:, last])
        spent += last.stop - last.start
        basis = Q[:, :used]
        H = basis.T @ W
        W -= basis @ H
        again = basis.T @ W  # twice is enough (Kahan, Parlett)
        W -= basis @ again
        H += again
        T[:used, last], T[last, :used] = H, H.T
        values, Y = np.linalg.eigh(T[:used, :used])
        values, Y = values[::-1], Y[:, ::-1]
        scale = float(np.abs(values).max())
        fresh, coupling = _orthonormal_block(W, basis, min(width, size - used), rng)
        wanted = slice(0, min(k, used))
        residuals = np.linalg.norm(coupling @ Y[last, wanted], axis=0)
        done = used >= k and residuals.max() <= tolerance * scale
        if progress_is_shown():
            report_status(f"block Krylov: {passes} passes, residual {residuals.max() / scale:.1e}")
        if done or used == size or passes == max_passes:
            vectors = basis @ Y[:, wanted]
            return values[wanted], vectors, bool(done or used == size), spent
        if used + fresh.shape[1] > room:
            keep = min(k + width, used)
            Q[:, :keep] = basis @ Y[:, :keep]
            T[:keep, :keep] = np.diag(values[:keep])
            used = keep
        last = slice(used, used + fresh.shape[1])
        Q[:, last] = fresh
        used = last.stop
    raise AssertionError("unreachable: the loop returns at max_passes")


def _orthonormal_block(
    W: Array, basis: Array, width: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the next block, orthonormal to the basis, and C with ``W = block @ C``.

    Where W is rank deficient the factorization is filled with rounding noise. Orthogonalized
    against the basis, it is as good as new random directions, which continue an exhausted Krylov
    space.
    """
    block, coupling = np.linalg.qr(W)
    for _ in range(2):
        block -= basis @ (basis.T @ block)
        lengths = np.linalg.norm(block, axis=0)
        lost = lengths < 0.5
        if lost.any():
            block[:, lost] = rng.standard_normal((len(block), int(lost.sum())))
            block[:, lost] -= basis @ (basis.T @ block[:, lost])
        block, change = np.linalg.qr(block)
        coupling = change @ coupling  # rows of lost columns are rounding noise already
    return block[:, :width], coupling
