r"""Adaptive refinement of a grid, where a density is not resolved by its cells.

If the nodes with even and with odd indices give the same integral, an equispaced grid is accurate:
its error decreases faster than any power of the sides of the cells. Otherwise the error of the
midpoint rule, :math:`\tfrac{1}{24} |c| \sum_j h_j^2 \partial_j^2 f` in a cell c with the sides h,
is estimated from second differences, and in the parts of a divided cell from the difference between
their sum and the undivided cell. All these estimates miss a peak that lies between the nodes. The
peaks of a density are at the training points, so the density there is an upper bound on what a cell
near one of them may contain. Cells with large estimates are halved along each side until the sum of
all estimates is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import logsumexp

from mercer.utils.types import Array

__all__ = ["Cells", "refine_cells"]

_TOLERANCE = 5e-3  # of the integral


@dataclass(frozen=True, eq=False)
class Cells:
    """Disjoint cells that cover a box, with the logarithms of M densities at their centers."""

    centers: Array  # shape (N, d)
    # how often a cell was divided; the sides are those of the first grid divided by 2^level,
    # shape (N,)
    levels: Array
    logs: Array  # shape (N, M)
    errors: Array  # estimates of the relative errors of the integrals, shape (M,)


def refine_cells(
    centers: Array,
    shape: tuple[int, ...],
    sides: Array,
    anchors: Array,
    evaluate: Callable[[Array], Array],
) -> Cells:
    """Divide the cells of a grid until the integrals of the densities are accurate.

    ``centers``: midpoints of a grid with this shape, in C order. ``sides``: sides of the cells.
    ``anchors``: points where the densities may have peaks. ``evaluate``: maps points, of shape (n,
    d), to log-densities, of shape (n, M).
    """
    d, n_parts = len(sides), 2 ** len(sides)
    peaks, scaled_anchors = evaluate(anchors), anchors / sides
    offsets = (np.indices((2,) * d).reshape(d, -1).T - 0.5) / 2
    logs = evaluate(centers)
    levels = np.zeros(len(centers), dtype=int)
    log_volume = float(np.log(sides).sum())
    bounds = _unresolved_peaks(scaled_anchors, peaks, centers / sides, levels, logs)
    spread = _parity_spread(logs, shape)
    smooth = spread.max() <= _TOLERANCE
    differences = np.full(logs.shape, -np.inf) if smooth else _second_differences(logs, shape)
    log_errors = np.maximum(differences, bounds) + log_volume
    n_left = 3 * len(centers)  # evaluations in addition to those of the first grid
    while True:
        volumes = log_volume - levels * d * np.log(2)
        errors = _relative(log_errors, logs + volumes[:, None])
        marked = _largest(errors.max(axis=1), n_left // n_parts)
        if errors.sum(axis=0).max() <= _TOLERANCE or len(marked) == 0:
            total = errors.sum(axis=0)
            return Cells(centers, levels, logs, total + spread if smooth else total)
        n_left -= len(marked) * n_parts
        steps = offsets[None] * (sides * 0.5 ** levels[marked, None])[:, None]
        parts = (centers[marked, None] + steps).reshape(-1, d)
        part_levels = np.repeat(levels[marked] + 1, n_parts)
        part_logs = evaluate(parts)
        change = _log_difference(
            logsumexp(part_logs.reshape(len(marked), n_parts, -1), axis=1) - np.log(n_parts),
            logs[marked],
        )
        bounds = _unresolved_peaks(scaled_anchors, peaks, parts / sides, part_levels, part_logs)
        found = np.maximum(np.repeat(change, n_parts, axis=0), bounds)
        part_errors = found + log_volume - (part_levels * d * np.log(2))[:, None]
        kept = np.ones(len(centers), dtype=bool)
        kept[marked] = False
        centers = np.concatenate([centers[kept], parts])
        levels = np.concatenate([levels[kept], part_levels])
        logs = np.concatenate([logs[kept], part_logs])
        log_errors = np.concatenate([log_errors[kept], part_errors])


def _parity_spread(logs: Array, shape: tuple[int, ...]) -> Array:
    """Return the largest relative error of the integrals over the even or the odd nodes."""
    f = _scaled(logs)[0].reshape(*shape, -1)
    axes = tuple(range(len(shape)))
    whole = np.maximum(f.mean(axis=axes), np.finfo(float).tiny)
    parts = [
        f[tuple(slice(start, None, 2) for start in starts)].mean(axis=axes) / whole
        for starts in product(*(range(min(2, count)) for count in shape))
    ]
    return np.asarray(np.abs(np.array(parts) - 1).max(axis=0))


def _scaled(logs: Array) -> tuple[Array, Array]:
    """Return densities divided by their maxima, and the logarithms of these."""
    shift = logs.max(axis=0)
    shift = np.where(np.isfinite(shift), shift, 0)
    return np.exp(logs - shift), shift


def _second_differences(logs: Array, shape: tuple[int, ...]) -> Array:
    """Return the logarithm of ``Σ_j |δ_j² f| / 24`` on a grid; f is constant beyond its edges."""
    f, shift = _scaled(logs)
    f = f.reshape(*shape, -1)
    total = np.zeros_like(f)
    for axis in range(len(shape)):
        padding = [(1, 1) if j == axis else (0, 0) for j in range(f.ndim)]
        total += np.abs(np.diff(np.pad(f, padding, mode="edge"), 2, axis=axis))
    with np.errstate(divide="ignore"):  # where f is constant
        return np.asarray(np.log(total.reshape(logs.shape) / 24) + shift)


def _unresolved_peaks(
    anchors: Array, peaks: Array, scaled: Array, levels: Array, logs: Array
) -> Array:
    """Return the largest log-density at anchors within one side, where it is larger by far.

    Coordinates are in units of the sides of the first grid.
    """
    found = np.full(logs.shape, -np.inf)
    for level in np.unique(levels):
        cells = np.flatnonzero(levels == level)
        near = cKDTree(scaled[cells]).query_ball_point(anchors, 0.5**level, p=np.inf)
        counts = np.fromiter(map(len, near), int, len(near))
        indices = np.fromiter(chain.from_iterable(near), int, counts.sum())
        np.maximum.at(found, cells[indices], np.repeat(peaks, counts, axis=0))
    # the grid does not resolve a training point with a much larger density
    return np.where(found > logs + 1, found, -np.inf)


def _log_difference(one: Array, other: Array) -> Array:
    """Return ``log |exp(one) - exp(other)|``."""
    high, low = np.maximum(one, other), np.minimum(one, other)
    with np.errstate(divide="ignore", invalid="ignore"):  # equal, or both -∞
        return np.where(high == low, -np.inf, high + np.log1p(-np.exp(low - high)))


def _relative(log_errors: Array, terms: Array) -> Array:
    """Return errors divided by the integral plus all errors: what is missed is part of it."""
    totals = np.logaddexp(logsumexp(terms, axis=0), logsumexp(log_errors, axis=0))
    return np.exp(log_errors - np.where(np.isfinite(totals), totals, 0))


def _largest(errors: Array, limit: int) -> Array:
    """Return the cells with the largest errors, such that the others add up to little."""
    order = np.argsort(-errors, kind="stable")
    remaining = errors.sum() - np.cumsum(errors[order])
    count = int(np.searchsorted(-remaining, -_TOLERANCE / 2)) + 1
    return order[: min(count, limit)]
