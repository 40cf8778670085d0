"""Leading eigenpairs by block Krylov iteration with thick restarts.

Passes over a matrix that is not stored are what costs, so each pass serves a whole block. The
block is wider than the number of wanted pairs: whatever their multiplicities, it can hold them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.maths.types import Array

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
    progress: Callable[[str], None] | None = None,
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
        Products with a block before giving up.
    progress : callable or None
        Told a line after every pass.

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
    held, spent = width, 0  # columns of Q; the last block has not been multiplied yet
    last = slice(0, width)
    for passes in range(1, max_passes + 1):
        W = product(Q[:, last])
        spent += last.stop - last.start
        basis = Q[:, :held]
        H = basis.T @ W
        W -= basis @ H
        again = basis.T @ W  # twice is enough (Kahan, Parlett)
        W -= basis @ again
        H += again
        T[:held, last], T[last, :held] = H, H.T
        values, Y = np.linalg.eigh(T[:held, :held])
        values, Y = values[::-1], Y[:, ::-1]
        scale = float(np.abs(values).max())
        fresh, coupling = _orthonormal_block(W, basis, min(width, size - held), rng)
        wanted = slice(0, min(k, held))
        residuals = np.linalg.norm(coupling @ Y[last, wanted], axis=0)
        done = held >= k and residuals.max() <= tolerance * scale
        if progress is not None:
            progress(f"block Krylov: {passes} passes, residual {residuals.max() / scale:.1e}")
        if done or held == size or passes == max_passes:
            vectors = basis @ Y[:, wanted]
            return values[wanted], vectors, bool(done or held == size), spent
        if held + fresh.shape[1] > room:
            keep = min(k + width, held)
            Q[:, :keep] = basis @ Y[:, :keep]
            T[:keep, :keep] = np.diag(values[:keep])
            held = keep
        last = slice(held, held + fresh.shape[1])
        Q[:, last] = fresh
        held = last.stop
    raise AssertionError("unreachable: the loop returns at max_passes")


def _orthonormal_block(
    W: Array, basis: Array, width: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Next block, orthonormal to the basis, and ``coupling`` with ``W = block @ coupling``.

    Where W has lost rank the factorisation fills up with rounding noise; cleaned of the basis
    that is as good as fresh random directions, which is what an exhausted Krylov space needs.
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
