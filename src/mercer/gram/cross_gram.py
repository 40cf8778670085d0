"""Kernel values between new points and training points, and their products, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer.data.points import Points
from mercer.kernels import Kernel
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_in_threads
from mercer.utils.types import Array

__all__ = [
    "THREADS_FROM",
    "TILE",
    "TILE_SIDES",
    "cross_gram",
    "cross_product",
    "log_cross_sums",
]

# A float64 tile of this side and its workspace fit a second-level cache; larger ones are slower.
TILE = 256
TILE_SIDES = {np.dtype(np.float32): 384, np.dtype(np.float64): TILE}
_PRODUCT_ROWS = 1024
THREADS_FROM = 2**17  # kernel values; below, starting threads costs more than it saves


def cross_gram(kernel: Kernel, new: Points, points: Points) -> Array:
    """Return ``k(new, points)``, computed in threads."""
    tiles = kernel.tiles(new.data, points.data)
    out = np.empty((new.n, points.n), np.result_type(new.dtype, points.dtype))

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            tiles(rows, slice(0, points.n), out[rows])

    _run(kernel, row_ranges(new.n, min(TILE, -(-new.n // 8))), work, out.size)
    return out


def cross_product(kernel: Kernel, new: Points, points: Points, C: Array) -> Array:
    """Return ``k(new, points) @ C``, of shape (len(new), columns of C)."""
    if kernel.is_sparse:
        return np.asarray(kernel.sparse(new.data, points.data) @ C)
    tiles = kernel.tiles(new.data, points.data)
    out = np.zeros((new.n, C.shape[1]))
    right = C.astype(np.result_type(new.dtype, points.dtype), copy=False)
    columns = row_ranges(points.n, TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                out[rows] += finite_product(tiles(rows, part, None), right[part])

    rows = row_ranges(new.n, min(_PRODUCT_ROWS, -(-new.n // 8)))
    _run(kernel, rows, work, new.n * points.n)
    return out


def log_cross_sums(kernel: Kernel, new: Points, points: Points, c: Array) -> tuple[Array, Array]:
    """Return sign and logarithm of ``|Σ_j c_j k(x, x_j)|`` for every new point, without underflow.

    The largest logarithm of each row is factored out of its sum and updated from tile to tile.
    """
    tiles = kernel.log_tiles(new.data, points.data)
    top, sums = np.full(new.n, -np.inf), np.zeros(new.n)
    columns = row_ranges(points.n, TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                logs = tiles(rows, part, None)
                largest = np.maximum(top[rows], logs.max(axis=1))
                base = np.where(np.isneginf(largest), 0.0, largest)  # all terms so far are zero
                logs -= base[:, None].astype(logs.dtype)
                sums[rows] *= np.exp(top[rows] - base)
                sums[rows] += finite_product(exponentials(logs), c[part])
                top[rows] = largest

    _run(kernel, row_ranges(new.n, min(TILE, -(-new.n // 8))), work, new.n * points.n)
    with np.errstate(divide="ignore"):
        return np.sign(sums), np.where(sums == 0, -np.inf, top + np.log(np.abs(sums)))


def _run(
    kernel: Kernel, tasks: list[slice], work: Callable[[Sequence[slice]], None], values: int
) -> None:
    """Run in threads, unless the kernel may run arbitrary Python code or the work is small."""
    parallel = kernel.compares != "objects" and values >= THREADS_FROM
    run_in_threads(tasks, work, parallel)
