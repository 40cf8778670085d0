r"""The leave-one-out likelihood of a Gaussian density of many points in at most three columns.

One transform of all points gives :math:`t_m = \sum_j w_j e^{-i\theta_m x_j}`. For every bandwidth
h the density at a few rows is then :math:`\sum_m c_m(h)\, t_m e^{i\theta_m x}`: the cost of a
further bandwidth does not depend on the number of points. Where the sum is not larger than its
error, it is replaced by the sum over the nearest points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import fft
from scipy.special import logsumexp

from mercer.data.points import Points
from mercer.gram.fourier import FrequencyGrid, NoGrid, frequency_grid
from mercer.kernels import Gaussian
from mercer.utils.types import Array

__all__ = ["FourierLikelihood", "fourier_likelihood"]

_TOLERANCE = 1e-10  # of kernel values
_RELIABLE = 1e-8  # smaller sums, relative to the total weight, are recomputed
_MAX_PAIRS = 1e8  # of which sums are recomputed


@dataclass(frozen=True, eq=False)
class FourierLikelihood:
    """Mean leave-one-out log density of rows, as a function of a factor on the bandwidth.

    ``nearest``, ``nearest_weights``: exponents of the nearest points of these rows, and the
    logarithms of their weights, shape (len(tail), k).
    """

    kernel: Gaussian  # with the smallest bandwidth
    grid: FrequencyGrid
    sums: Array  # the t_m
    rows: Points
    weights: Array  # weights of the rows in the mean, shape (m,)
    copies: Array  # total weight of the points equal to each row, which are left out, shape (m,)
    total: float  # total weight of all points
    tail: Array  # indices of the rows with sums that can be as small as their error
    nearest: Array
    nearest_weights: Array

    def __call__(self, factor: float) -> float:
        """Return the likelihood with the bandwidth multiplied by a factor of at least 1."""
        sums = _sums_at(self.grid, self.sums, self.rows, factor) - self.copies
        reliable = sums > _RELIABLE * self.total
        logs = np.log(np.where(reliable, sums, 1.0))
        with np.errstate(divide="ignore"):
            near = logsumexp(self.nearest / factor / factor + self.nearest_weights, axis=1)
        logs[self.tail] = np.where(reliable[self.tail], logs[self.tail], near)
        logs -= np.log(self.total - self.copies)
        mean = float(self.weights @ logs / self.weights.sum())
        d = self.rows.data.shape[1]
        return mean - self.kernel.log_normalizer(d) - d * float(np.log(factor))


def fourier_likelihood(
    kernel: Gaussian,
    points: Any,
    point_weights: Any,
    rows: Array,
    weights: Array,
    largest: float,
) -> FourierLikelihood | None:
    """Return the likelihood for factors between 1 and ``largest``; None if it is too expensive.

    ``kernel``: with the smallest bandwidth of interest. ``points``: all points, in memory or in
    chunks. ``rows``: the rows whose log densities are averaged, and which are left out.
    """
    low, high = points.bounds()
    grid = _padded_grid(kernel, low, high, largest)
    if grid is None:
        return None
    sums = grid.sums(points, point_weights, doubled=False)
    copies = np.asarray(points.sum_rows(partial(_copies, rows), point_weights))
    total = points.total(point_weights)
    at = Points(rows)
    smallest = _sums_at(grid, sums, at, 1.0) - copies
    tail = np.flatnonzero(smallest <= _RELIABLE * total)
    if len(tail) * points.n > _MAX_PAIRS:
        return None
    nearest, nearest_weights = np.zeros((2, 0, 1))
    if len(tail):
        nearest, nearest_weights = points.sum_rows(
            partial(_nearest, kernel, rows[tail]), point_weights, combine=_merge_nearest
        )
    return FourierLikelihood(
        kernel, grid, sums, at, weights, copies, total, tail, nearest, nearest_weights
    )


def _padded_grid(kernel: Gaussian, low: Array, high: Array, largest: float) -> FrequencyGrid | None:
    """Return a grid with a period that suits the widest kernel too."""
    d = len(low)
    spectral = kernel.spectral_density(d)
    assert spectral is not None
    # the period exceeds the padded box by twice the reach; the rows are inside the box
    pad = max(0.5 * largest - 1, 0) * spectral.reach(_TOLERANCE)
    pad = pad * np.abs(kernel.from_units(np.eye(d))).sum(axis=0)
    grid = frequency_grid(kernel, low - pad, high + pad, _TOLERANCE)
    return None if isinstance(grid, NoGrid) or grid.size > 2**20 else grid


def _sums_at(grid: FrequencyGrid, sums: Array, rows: Points, factor: float) -> Array:
    """Return ``Σ_j w_j k(x, x_j)`` at the rows, for the bandwidth times a factor."""
    steps = 2 * np.pi / grid.period
    # a wider kernel needs fewer frequencies
    highest = [int(np.ceil(n // 2 / factor)) for n in grid.shape]
    indices = [fft.fftfreq(2 * m + 1, 1 / (2 * m + 1)).astype(int) for m in highest]
    decay = [
        np.exp(-0.5 * (factor * step * m) ** 2) for step, m in zip(steps, indices, strict=True)
    ]
    scale = (factor / np.sqrt(2 * np.pi)) ** len(steps) * np.prod(steps)
    coefficients = scale * reduce(np.multiply.outer, decay) * sums[np.ix_(*indices)]
    return replace(grid, shape=coefficients.shape).evaluate(coefficients[None], rows)[:, 0]


def _copies(rows: Array, points: Points, weights: Array | None) -> Array:
    """Return the total weight of the points that are equal to each row."""
    X = points.data
    # few points have the first value of a row
    candidates = np.flatnonzero(np.isin(X[:, 0], rows[:, 0]))
    X = X[candidates]
    counts = np.ones(len(X)) if weights is None else weights[candidates]
    _, group = np.unique(np.concatenate([rows, X]), axis=0, return_inverse=True)
    group = group.ravel()
    totals = np.bincount(group[len(rows) :], counts, minlength=int(group.max()) + 1)
    return np.asarray(totals[group[: len(rows)]])


def _nearest(
    kernel: Gaussian, rows: Array, points: Points, weights: Array | None
) -> tuple[Array, Array]:
    """Return exponents and log weights of the nearest points that are not equal to the row."""
    parts = []
    for block, X in points.chunks(2**16):
        X = X.astype(np.float64, copy=False)
        exponents = kernel.log_tiles(rows, X)(slice(0, len(rows)), slice(0, len(X)), None)
        close = np.nonzero(exponents > -1e-6)  # equal rows are among these
        same = (rows[close[0]] == X[close[1]]).all(axis=1)
        exponents[close[0][same], close[1][same]] = -np.inf
        logs = np.zeros(len(X)) if weights is None else np.log(weights[block])
        parts.append(_closest(exponents, np.broadcast_to(logs, exponents.shape)))
    return _merge_nearest(parts)


def _merge_nearest(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    return _closest(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))


def _closest(exponents: Array, logs: Array) -> tuple[Array, Array]:
    count = 256  # sums of so many terms at rows without close points are accurate enough
    if exponents.shape[1] <= count:
        return exponents, logs
    order = np.argpartition(-exponents, count, axis=1)[:, :count]
    return np.take_along_axis(exponents, order, 1), np.take_along_axis(logs, order, 1)
