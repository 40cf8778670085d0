r"""Fourier sums and series at nonuniform points: by finufft if installed, or NumPy and SciPy alone.

:func:`fourier_sums` and :func:`fourier_series` choose. The environment variable
``MERCER_FINUFFT=0`` selects NumPy in any case; it is read by every transform, and processes of a
Dask cluster inherit it.

The sums :math:`t_m = \sum_j w_j e^{-i m x_j}` (type 1) and the real series
:math:`f(x_j) = \sum_m b_m e^{i m x_j}` with :math:`b_{-m} = \bar b_m` (type 2), in one to three
dimensions. Points are spread to a grid of n ≥ 2N points per dimension (N the number of
frequencies) with a kernel of w grid points, followed by an FFT and a division by the kernel's
Fourier transform; type 2 does the same in reverse order. The kernel's width is chosen so that,
apart from rounding errors (about 1e-15 times the largest frequency),

.. math:: |t_m - \tilde t_m| \le \text{tolerance} \sum_j |w_j|, \qquad
   |f(x) - \tilde f(x)| \le \text{tolerance} \sum_m |b_m| .

Points are sorted into blocks of grid cells. Within a block the kernel at each of the grid
points is a polynomial of the coordinate, so that one matrix product evaluates it, and another
one adds up all points of the block. There is no loop over points.

The kernel is

.. math:: \varphi(s) = \frac{\sinh(\beta\sqrt{1 - (2s/w)^2})}{\sinh \beta}, \qquad |s| \le w/2,
   \qquad \beta = \tfrac34 \pi w,

for a grid of n ≥ 2N points, N the number of frequencies, and s in units of the grid. It is close to
the Kaiser-Bessel kernel and to the exponential of a semicircle, and its Fourier transform is known
(Potts and Tasche: "Continuous window functions for NFFT", 2021).

The aliases of the grid cause an error per dimension of at most

.. math:: E(w) = \max_{|m| \le N/2} \sum_{r \ne 0}
   \left|\frac{\hat\varphi(m + rn)}{\hat\varphi(m)}\right| \le 6 w^{3/2} e^{-\pi w / \sqrt 2} .

The width for a tolerance is the smallest with d E(w) ≤ 0.9 tolerance; polynomials represent
the kernel up to the remaining tenth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import pairwise
from math import prod
from operator import iadd
from typing import Any

import numpy as np
from scipy import fft
from scipy.special import i1e

from mercer.utils.resources import run_in_threads, thread_count
from mercer.utils.types import Array

__all__ = [
    "Run",
    "alias_bound",
    "fourier_series",
    "fourier_sums",
    "kernel_polynomials",
    "kernel_shape",
    "kernel_transform",
    "kernel_values",
    "kernel_width",
    "real_series",
    "trigonometric_sums",
    "uses_finufft",
]

_MAX_WIDTH = 17  # E(17) = 2e-14: wider kernels gain nothing in double precision


def kernel_width(tolerance: float, d: int) -> int:
    """Return the smallest width w with ``d E(w) ≤ 0.9 tolerance``, at most 17."""
    widths = np.arange(2, _MAX_WIDTH)
    enough = d * alias_bound(widths) <= 0.9 * tolerance
    return int(widths[np.argmax(enough)]) if enough.any() else _MAX_WIDTH


def alias_bound(width: Any) -> Any:
    """Return the bound on E(w), the error per dimension."""
    return 6 * width**1.5 * np.exp(-np.pi * width / np.sqrt(2))


def kernel_shape(width: int) -> float:
    """Return β."""
    return 0.75 * np.pi * width


def kernel_values(s: Array, width: int) -> Array:
    """Return φ(s), for s in units of the grid."""
    beta = kernel_shape(width)
    root = beta * np.sqrt(np.maximum(1 - (2 * s / width) ** 2, 0))
    return np.asarray(np.exp(root - beta) * np.expm1(-2 * root) / np.expm1(-2 * beta))


def kernel_transform(frequency: Array, width: int) -> Array:
    """Return ∫ φ(s) exp(-i f s) ds at frequencies below ``2 β / w``."""
    beta = kernel_shape(width)
    z = np.sqrt(beta**2 - (0.5 * width * frequency) ** 2)
    return np.asarray(-width * np.pi * beta * i1e(z) / z * np.exp(z - beta) / np.expm1(-2 * beta))


@cache
def kernel_polynomials(width: int, block: int, tolerance: float) -> Array:
    """Return the Chebyshev coefficients of φ at all grid points near a block of cells.

    Column c is the polynomial of the position in the block, from -1 to 1, that is equal to
    φ at the c-th grid point, up to ``0.1 tolerance`` for the sums over all grid points after the
    division by the Fourier transform.
    """
    points = np.arange(block + width) - width // 2
    n = 64 + 4 * block
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    values = kernel_values(0.5 * block * (nodes[:, None] + 1) - points, width)
    coefficients = fft.dct(values, axis=0) / n
    coefficients[0] /= 2
    tails = np.abs(coefficients[::-1]).cumsum(axis=0)[::-1].sum(axis=1)
    smallest = kernel_transform(np.array(np.pi / 2), width)
    negligible = tails <= max(0.1 * tolerance * smallest, 1e-15)
    return np.ascontiguousarray(coefficients[: int(np.argmax(negligible))].T)


_POINTS_PER_TASK = 4096  # their kernel values fit a second-level cache
_BLOCKS = 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256
_BATCH_SIZE = 2**24  # numbers in the grids, and the values, of the functions of a batch

#: Splits tasks among threads and returns the result of a function of the tasks of each.
Run = Callable[[Sequence[Any], Callable[[Sequence[Any]], Any]], list[Any]]


def _run_all(tasks: Sequence[Any], work: Callable[[Sequence[Any]], Any]) -> list[Any]:
    return [work(tasks)]


def trigonometric_sums(
    angles: Sequence[Array],
    weights: Array,
    modes: Sequence[int],
    tolerance: float,
    run: Run = _run_all,
    workers: int = 1,
) -> Array:
    r"""Return :math:`t_m = \sum_j w_j e^{-i m \cdot x_j}` in FFT order (type 1).

    The coordinates of the points have period 2π; weights are real, of shape (n,) or (k, n). The odd
    number N of frequencies per dimension means ``-(N - 1)/2`` to ``(N - 1)/2``. Errors are at most
    ``tolerance`` Σ|w_j|. ``run`` starts threads, each with a grid of its own; the FFT uses
    ``workers`` threads.
    """
    batch = np.atleast_2d(np.asarray(weights, float))
    spreading = _spreading(tuple(map(int, modes)), len(angles[0]), float(tolerance))
    points = _sort(spreading, angles)
    spread = _Spread(spreading, points, batch[:, points.order])
    grid = spreading.fold(reduce(iadd, run(list(points.tasks()), spread)))
    half = fft.rfftn(grid, axes=spreading.axes, workers=workers, overwrite_x=True)
    for axis, (N, factors) in enumerate(zip(modes, spreading.factors(), strict=True)):
        index = np.arange(N // 2 + 1) if axis == spreading.d - 1 else _indices(N)
        half = np.take(half, index, axis=spreading.axes[axis], mode="wrap")
        half /= _along(factors[index], spreading.axes[axis], half.ndim)
    sums = _complete(np.moveaxis(half, -2, 0), tuple(modes))
    return sums if np.ndim(weights) == 2 else sums[0]


def real_series(
    coefficients: Array,
    angles: Sequence[Array],
    tolerance: float,
    run: Run = _run_all,
    workers: int = 1,
    out: Array | None = None,
) -> Array:
    r"""Return :math:`f(x_j) = \sum_m b_m e^{i m \cdot x_j}` of k real functions (type 2).

    The coefficients, of shape (k, N_1, …, N_d), are in FFT order, each N odd, with
    :math:`b_{-m} = \bar b_m`. Errors are at most ``tolerance`` Σ|b_m|. ``run`` and ``workers`` as
    in :func:`trigonometric_sums`; the values are written to ``out``, if given.
    """
    k, *modes = coefficients.shape
    n = len(angles[0])
    spreading = _spreading(tuple(modes), n, float(tolerance))
    points = _sort(spreading, angles)
    tasks = list(points.tasks())
    out = np.empty((n, k)) if out is None else out
    batch = max(1, _BATCH_SIZE // max(n, int(np.prod(spreading.sizes))))
    for first in range(0, k, batch):
        functions = slice(first, first + batch)
        grid = spreading.unfold(spreading.grid_values(coefficients[functions], workers))
        values = np.empty((grid.shape[-2], n))
        run(tasks, _Interpolate(spreading, points, grid, values))
        out[points.order, functions] = values.T
    return out


# --- the grid and its blocks ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Spreading:
    """Sizes of the fine grid and its blocks, and the kernel.

    A padded grid has ``width // 2`` points before the first grid point and enough points after the
    last one to hold the neighborhood of every block. The axis of functions is the second to last.
    """

    modes: tuple[int, ...]
    sizes: tuple[int, ...]
    width: int
    block: int
    tolerance: float

    @property
    def d(self) -> int:
        return len(self.modes)

    @property
    def axes(self) -> tuple[int, ...]:
        return (*range(self.d - 1), self.d)

    @property
    def reach(self) -> int:
        """Number of grid points near a block."""
        return self.block + self.width

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of blocks per dimension."""
        return tuple(-(-size // self.block) for size in self.sizes)

    def factors(self) -> list[Array]:
        """Return the Fourier transform of the kernel at the frequencies, in FFT order."""
        return [
            kernel_transform(2 * np.pi * _indices(N) / size, self.width)
            for N, size in zip(self.modes, self.sizes, strict=True)
        ]

    def padded(self, functions: int) -> Array:
        """Return a padded grid of zeros."""
        lengths = [count * self.block + self.width for count in self.counts]
        return np.zeros((*lengths[:-1], functions, lengths[-1]))

    def fold(self, grid: Array) -> Array:
        """Add the padding to the grid points that it represents, in place; return these."""
        before = self.width // 2
        for axis, size in zip(self.axes, self.sizes, strict=True):
            first = np.moveaxis(grid, axis, 0)
            after = len(first) - before - size
            first[before : before + after] += first[before + size :]
            first[size : size + before] += first[:before]
            grid = np.moveaxis(first[before : before + size], 0, axis)
        return grid

    def unfold(self, grid: Array) -> Array:
        """Return a padded copy."""
        for axis, (size, count) in zip(
            self.axes, zip(self.sizes, self.counts, strict=True), strict=True
        ):
            index = np.arange(count * self.block + self.width) - self.width // 2
            grid = np.take(grid, index % size, axis=axis)
        return grid

    def grid_values(self, coefficients: Array, workers: int) -> Array:
        """Return the series with coefficients divided by the kernel's transform, on the grid."""
        half_modes = (*self.modes[:-1], self.modes[-1] // 2 + 1)
        half = np.moveaxis(coefficients[..., : half_modes[-1]], 0, -2).astype(complex)
        for axis, N, factors in zip(self.axes, half_modes, self.factors(), strict=True):
            half /= _along(factors[:N], axis, half.ndim)
        shape = (*self.sizes[:-1], half.shape[-2], self.sizes[-1] // 2 + 1)
        wide = np.zeros(shape, complex)
        index = [_indices(N) for N in self.modes[:-1]]
        wide[np.ix_(*index, np.arange(shape[-2]), np.arange(half_modes[-1]))] = half
        return np.asarray(
            fft.irfftn(
                wide,
                s=self.sizes,
                axes=self.axes,
                norm="forward",
                workers=workers,
                overwrite_x=True,
            )
        )


def _spreading(modes: tuple[int, ...], n: int, tolerance: float, block: int = 0) -> _Spreading:
    """Choose the width of the kernel, the grid and the blocks for n points."""
    if any(N % 2 == 0 for N in modes):
        raise ValueError(f"modes={modes} must be odd.")
    d = len(modes)
    width = kernel_width(tolerance, d)
    sizes = tuple(max(fft.next_fast_len(2 * N, real=True), 2 * width) for N in modes)
    if not block:
        blocks = [block for block in _BLOCKS if block + width <= min(sizes)]
        block = min(blocks, key=lambda block: _cost(sizes, n, width, block))
    return _Spreading(tuple(modes), sizes, width, block, tolerance)


def _cost(sizes: tuple[int, ...], n: int, width: int, block: int) -> float:
    """Return the approximate cost of spreading n points, in nanoseconds."""
    d, reach = len(sizes), block + width
    degree = 15 + 2.4 * block
    per_point = d * degree * (1.5 + 0.07 * reach) + 0.07 * reach**d
    n_blocks = min(n, float(np.prod([-(-size // block) for size in sizes])))
    return n * per_point + n_blocks * (8000 + 0.5 * reach**d)


def _indices(N: int) -> Array:
    """Return the frequencies in FFT order."""
    return np.fft.fftfreq(N, 1 / N).astype(int)


def _along(vector: Array, axis: int, ndim: int) -> Array:
    return vector.reshape([-1 if a == axis else 1 for a in range(ndim)])


def _complete(half: Array, modes: tuple[int, ...]) -> Array:
    """Return all coefficients from those with a last frequency of at least 0."""
    out = np.empty((len(half), *modes), complex)
    positive = half.shape[-1]
    out[..., :positive] = half
    index = [-_indices(N) % N for N in modes[:-1]]
    last = np.arange(positive - 1, 0, -1)
    out[..., positive:] = half[np.ix_(np.arange(len(half)), *index, last)].conj()
    return out


@dataclass(frozen=True, eq=False)
class _SortedPoints:
    """Points in the order of their blocks.

    ``order[i]`` is the index of the i-th sorted point; its positions in the block are from -1 to 1.
    ``cuts`` are the ends of the pieces, points of one block and one task, and ``corners`` the first
    grid points, in the padded grid, near the block of each piece.
    """

    order: Array
    positions: list[Array]
    cuts: Array
    corners: Array

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of pieces with at most ``_POINTS_PER_TASK`` points in all."""
        starts = np.flatnonzero(self.cuts[:-1] % _POINTS_PER_TASK == 0)
        yield from pairwise([*starts.tolist(), len(self.cuts) - 1])

    def pieces(self, task: tuple[int, int]) -> Iterator[tuple[slice, list[int]]]:
        """Yield the points, counted from the first one of the task, and corners of its pieces."""
        first, last = task
        cuts = (self.cuts[first : last + 1] - self.cuts[first]).tolist()
        corners = self.corners[first:last].tolist()
        for (start, end), corner in zip(pairwise(cuts), corners, strict=True):
            yield slice(start, end), corner

    def range_of(self, task: tuple[int, int]) -> slice:
        """Return the points of a task."""
        return slice(int(self.cuts[task[0]]), int(self.cuts[task[1]]))


def _sort(spreading: _Spreading, angles: Sequence[Array]) -> _SortedPoints:
    """Sort points by block."""
    n, width = len(angles[0]), spreading.block
    block = np.zeros(n, np.int64)
    positions = []
    for angle, size, count in zip(angles, spreading.sizes, spreading.counts, strict=True):
        position = np.asarray(angle, float) / (2 * np.pi)
        position -= np.floor(position)
        position *= size / width  # in blocks
        index = np.minimum(position.astype(np.int64), count - 1)
        position -= index
        positions.append(2 * position - 1)
        block *= count
        block += index
    small = np.prod(spreading.counts) <= 2**16  # sorted by radix
    order = np.argsort(block.astype(np.uint16) if small else block, kind="stable")
    block = block[order]
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    cuts = np.union1d(starts, np.arange(0, n, _POINTS_PER_TASK))
    corners = np.stack(np.unravel_index(block[cuts], spreading.counts), axis=1) * width
    return _SortedPoints(order, [p[order] for p in positions], np.append(cuts, n), corners)


def _factors(spreading: _Spreading, points: _SortedPoints, task: tuple[int, int]) -> list[Array]:
    """Return φ at the grid points near the block of each point, (reach, points) per dimension."""
    polynomials = kernel_polynomials(spreading.width, spreading.block, spreading.tolerance)
    rows = points.range_of(task)
    return [polynomials @ _chebyshev(x[rows], polynomials.shape[1]) for x in points.positions]


def _chebyshev(x: Array, count: int) -> Array:
    """Return the first Chebyshev polynomials at x, one per row.

    ``T_{m+j} = 2 T_m T_j - T_{m-j}`` doubles their number in each step.
    """
    T = np.empty((count, len(x)))
    T[0] = 1
    T[1] = x
    m = 1
    while m < count - 1:
        new = min(m, count - 1 - m)
        rows = T[m + 1 : m + 1 + new]
        np.multiply(2 * T[m], T[1 : new + 1], out=rows)
        rows -= T[m - new : m][::-1]
        m += new
    return T


def _left(factors: list[Array], rows: slice) -> Array:
    """Return the products of the factors of all dimensions but the last."""
    if len(factors) == 1:
        return np.ones((1, rows.stop - rows.start))
    left = factors[0][:, rows]
    for factor in factors[1:-1]:
        left = (left[:, None] * factor[:, rows]).reshape(-1, left.shape[1])
    return left


@dataclass(frozen=True, eq=False)
class _Spread:
    """Add the weights of the points of tasks to a padded grid."""

    spreading: _Spreading
    points: _SortedPoints
    weights: Array

    def __call__(self, tasks: Sequence[tuple[int, int]]) -> Array:
        reach = self.spreading.reach
        k = len(self.weights)
        grid = self.spreading.padded(k)
        for task in tasks:
            factors = _factors(self.spreading, self.points, task)
            weights = self.weights[:, None, self.points.range_of(task)]
            right = (weights * factors[-1]).reshape(k * reach, -1)
            for rows, corner in self.points.pieces(task):
                *first, last = (slice(c, c + reach) for c in corner)
                near = grid[(*first, slice(None), last)]
                near += (_left(factors, rows) @ right[:, rows].T).reshape(near.shape)
        return grid


@dataclass(frozen=True, eq=False)
class _Interpolate:
    """Evaluate functions on a padded grid at the points of tasks."""

    spreading: _Spreading
    points: _SortedPoints
    grid: Array
    values: Array

    def __call__(self, tasks: Sequence[tuple[int, int]]) -> None:
        reach = self.spreading.reach
        k = self.grid.shape[-2]
        for task in tasks:
            factors = _factors(self.spreading, self.points, task)
            out = self.values[:, self.points.range_of(task)]
            for rows, corner in self.points.pieces(task):
                *first, last = (slice(c, c + reach) for c in corner)
                near = self.grid[(*first, slice(None), last)].reshape(-1, k * reach)
                partial = (near.T @ _left(factors, rows)).reshape(k, reach, -1)
                partial *= factors[-1][:, rows]
                np.sum(partial, axis=1, out=out[:, rows])


# --- finufft or our own --------------------------------------------------------------------------


def uses_finufft() -> bool:
    """Return whether transforms use finufft."""
    return os.environ.get("MERCER_FINUFFT") != "0" and _finufft() is not None


@cache
def _finufft() -> Any:
    """Return the module; None if it is not installed or cannot load its library."""
    try:
        import finufft
    except (ImportError, OSError):
        return None
    return finufft


def fourier_sums(
    angles: Sequence[Array], weights: Array, modes: tuple[int, ...], tolerance: float
) -> Array:
    """Return ``t_m = Σ_j w_j exp(-i m x_j)`` in FFT order (type 1), up to ``tolerance`` Σ|w_j|."""
    if uses_finufft():
        plan = _plan(1, modes, 1, -1, tolerance, len(weights))
        plan.setpts(*angles)
        return np.asarray(plan.execute(weights.astype(np.complex128)))
    # each thread has a grid of its own, which pays off if there are more points than frequencies
    many = len(weights) > np.prod(modes)
    run = partial(run_in_threads, parallel=bool(many))
    return trigonometric_sums(angles, weights, modes, tolerance, run, thread_count())


def fourier_series(
    coefficients: Array, angles: Sequence[Array], tolerance: float, out: Array
) -> None:
    """Write ``Σ_m b_m exp(i m x)`` of k real functions to ``out``, of shape (n, k) (type 2).

    The coefficients, of shape (k, N_1, …, N_d), are in FFT order. The tolerance is relative to
    Σ|b_m|.
    """
    if not uses_finufft():
        real_series(coefficients, angles, tolerance, run_in_threads, thread_count(), out)
        return
    # the sums are real, so two functions share one complex transform
    k = len(coefficients)
    pairs = coefficients[0::2].copy()
    pairs[: k // 2] += 1j * coefficients[1::2]
    plan = _plan(2, coefficients.shape[1:], len(pairs), 1, tolerance, len(out))
    plan.setpts(*angles)
    values = plan.execute(pairs).reshape(len(pairs), -1)
    out[:, 0::2] = values.real.T
    out[:, 1::2] = values[: k // 2].imag.T


# points and frequencies; threads of finufft wait in a loop, which on a busy machine takes longer
# than a small transform
_MIN_THREADED_SIZE = 2**17


def _plan(
    kind: int, modes: tuple[int, ...], count: int, sign: int, tolerance: float, n_points: int
) -> Any:
    is_small = count * (n_points + prod(modes)) < _MIN_THREADED_SIZE
    return _finufft().Plan(
        kind,
        modes,
        n_trans=count,
        eps=tolerance,
        isign=sign,
        modeord=1,
        nthreads=1 if is_small else thread_count(),
    )
