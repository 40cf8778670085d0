"""Gram matrices and their products, tile by tile: one tile per thread in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.matmul import finite_product
from mercer.maths.types import Array
from mercer.resources import run_in_threads

__all__ = [
    "cross_gram",
    "cross_product",
    "fill_gram",
    "gram_product",
    "log_cross_sums",
    "tile_product",
]

# A float64 tile of this side and its workspace fit a second-level cache; larger ones are slower.
_TILE = 256
_CROSS_ROWS = 1024
_THREADS_FROM = 2**17  # kernel values

Tile = tuple[slice, slice]


def fill_gram(kernel: Kernel, points: Points) -> Array:
    """Return K; each pair of points is evaluated once."""
    tiles = kernel.tiles(points.data)
    K = np.empty((points.n, points.n), points.dtype)

    def work(tasks: Sequence[Tile]) -> None:
        for rows, columns in tasks:
            tiles(rows, columns, K[rows, columns])
            if rows != columns:
                K[columns, rows] = K[rows, columns].T

    _run(kernel, _lower_triangle(points.n), work, points.n**2)
    return K


def gram_product(kernel: Kernel, points: Points, V: Array) -> Array:
    """Return ``K @ V`` without storing K: tiles in the precision of the points, sums in float64."""
    tiles = kernel.tiles(points.data)
    right = V.astype(points.dtype, copy=False)

    def work(tasks: Sequence[Tile]) -> Array:
        total = np.zeros(V.shape)
        buffer = np.empty((_TILE, _TILE), points.dtype)
        for rows, columns in tasks:
            block = _corner(buffer, rows, columns)
            tiles(rows, columns, block)
            total[rows] += finite_product(block, right[columns])
            if rows != columns:
                total[columns] += finite_product(block.T, right[rows])
        return total

    return np.asarray(sum(_run(kernel, _lower_triangle(points.n), work, points.n**2)))


def tile_product(
    kernel: Kernel, X: Array, V: Array, Y: Array | None = None, U: Array | None = None
) -> tuple[Array, Array | None]:
    """Return ``k(X, Y) U`` and ``k(Y, X) V`` from one evaluation; without Y, ``k(X, X) V``."""
    if Y is None or U is None:
        return gram_product(kernel, Points(X), V), None
    tiles = kernel.tiles(X, Y)
    right, left = np.zeros((len(X), U.shape[1])), np.zeros((len(Y), V.shape[1]))
    for rows in _ranges(len(X), _TILE):
        for columns in _ranges(len(Y), _TILE):
            block = tiles(rows, columns, None)
            right[rows] += finite_product(block, U[columns].astype(block.dtype, copy=False))
            left[columns] += finite_product(block.T, V[rows].astype(block.dtype, copy=False))
    return right, left


def cross_gram(kernel: Kernel, new: Points, points: Points) -> Array:
    """Return ``k(new, points)``, computed in threads."""
    tiles = kernel.tiles(new.data, points.data)
    out = np.empty((new.n, points.n), np.result_type(new.dtype, points.dtype))

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            tiles(rows, slice(0, points.n), out[rows])

    _run(kernel, _ranges(new.n, min(_TILE, -(-new.n // 8))), work, out.size)
    return out


def cross_product(kernel: Kernel, new: Points, points: Points, C: Array) -> Array:
    """Return ``k(new, points) @ C``, of shape (len(new), columns of C)."""
    tiles = kernel.tiles(new.data, points.data)
    out = np.zeros((new.n, C.shape[1]))
    right = C.astype(np.result_type(new.dtype, points.dtype), copy=False)
    columns = _ranges(points.n, _TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                out[rows] += finite_product(tiles(rows, part, None), right[part])

    rows = _ranges(new.n, min(_CROSS_ROWS, -(-new.n // 8)))
    _run(kernel, rows, work, new.n * points.n)
    return out


def log_cross_sums(kernel: Kernel, new: Points, points: Points, c: Array) -> tuple[Array, Array]:
    """Return sign and logarithm of ``|Σ_j c_j k(x, x_j)|`` for every new point, without underflow.

    The largest logarithm of each row is factored out of its sum and updated from tile to tile.
    """
    tiles = kernel.log_tiles(new.data, points.data)
    top, sums = np.full(new.n, -np.inf), np.zeros(new.n)
    columns = _ranges(points.n, _TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                logs = tiles(rows, part, None)
                largest = np.maximum(top[rows], logs.max(axis=1))
                base = np.where(np.isneginf(largest), 0.0, largest)  # all terms so far are zero
                logs -= base[:, None].astype(logs.dtype)
                sums[rows] *= np.exp(top[rows] - base)
                sums[rows] += finite_product(np.exp(logs, out=logs), c[part])
                top[rows] = largest

    _run(kernel, _ranges(new.n, min(_TILE, -(-new.n // 8))), work, new.n * points.n)
    with np.errstate(divide="ignore"):
        return np.sign(sums), np.where(sums == 0, -np.inf, top + np.log(np.abs(sums)))


def _run(kernel: Kernel, tasks: list[Any], work: Any, values: int) -> list[Any]:
    """Run in threads, unless the kernel may run arbitrary Python code or the work is small."""
    if kernel.compares == "objects" or values < _THREADS_FROM:
        return [work(tasks)]
    return run_in_threads(tasks, work)


def _ranges(n: int, size: int) -> list[slice]:
    size = max(size, 1)
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _lower_triangle(n: int) -> list[Tile]:
    ranges = _ranges(n, _TILE)
    return [(ranges[i], ranges[j]) for i in range(len(ranges)) for j in range(i + 1)]


def _corner(buffer: Array, rows: slice, columns: slice) -> Array:
    return buffer[: rows.stop - rows.start, : columns.stop - columns.start]
