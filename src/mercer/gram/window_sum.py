"""Sums ``f(x) = Σ_j c_j k(x, x_j)`` on the logarithmic scale, accurate far in the tails.

Where f is not small it is an ordinary sum, by tiles or on a frequency grid. Where it underflows or
is below the tolerance of the grid, it is summed from the logarithms of the kernel, over all points
or over the near points that dominate it. Many sums of a Gaussian kernel skip points that are
negligible (:mod:`mercer.gram.gaussian_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mercer.data.points import Points
from mercer.gram.cross_gram import cross_product, log_cross_sums
from mercer.gram.expansion import Expansion
from mercer.gram.fourier import FourierExpansion
from mercer.gram.gaussian_sums import gaussian_sums, worth_boxes
from mercer.kernels import Gaussian, Kernel, Matern, Stationary
from mercer.utils.resources import run_in_threads, thread_count
from mercer.utils.types import Array

__all__ = ["WindowSum"]

# A sum on the grid that exceeds its error by this factor is accurate to three digits.
_MIN_SIGNAL_TO_NOISE = 1e3
_NEGLIGIBLE = 1e-12  # fraction of a sum that far points may contribute
_MAX_EXACT_ROWS = 200_000  # rows whose exact sums over all chunks are computed at a time
_PAIRS_PER_GROUP = 4_000_000  # pairs of a point and its neighbor


@dataclass
class WindowSum:
    """``f(x) = Σ_j c_j k(x, x_j)`` with the unnormalized kernel.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    points : Points
        The x_j.
    coefficients : array of shape (n,)
        The c_j, of any sign; lazy for points in chunks.
    waves : Expansion or None
        The same function in Fourier features, if available; used where f is well above the
        tolerance of the frequency grid.
    boxes : bool
        Whether large sums on the logarithmic scale may skip boxes of points that are negligible,
        with a relative error of at most 1e-6: for a Gaussian kernel and nonnegative coefficients.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    waves: Expansion | None = None
    boxes: bool = False

    def __post_init__(self) -> None:
        if self.points.is_chunked:
            _ = self._facts  # computed now, because lazy coefficients are not saved with a model

    @cached_property
    def _facts(self) -> tuple[float, float, float]:
        """Sum of the coefficients, sum of their absolute values, and their minimum."""
        return self.points.passes.sum(_summarize, self.coefficients, combine=_combine_summaries)

    @property
    def mass(self) -> float:
        """``Σ_j c_j``: the integral of f for a normalized kernel."""
        return self._facts[0]

    @property
    def lowest(self) -> float:
        """The smallest coefficient."""
        return self._facts[2]

    @property
    def _noise(self) -> float:
        """Absolute error of sums on the grid; 0 without a grid."""
        if isinstance(self.waves, FourierExpansion):
            return self.waves.grid.tolerance * self._facts[1]
        return 0.0

    @property
    def needs_cluster(self) -> bool:
        """Whether every evaluation needs training points that are on a Dask cluster."""
        return self.points.is_chunked and self.waves is None

    def values(self, new: Points) -> Array:
        """Return f; 0 where it is below the tolerance of the grid or underflows."""
        if isinstance(self.waves, FourierExpansion):
            return new.map_rows(partial(_grid_values, self.waves.without_points(), self._noise))
        if self.points.is_chunked:
            sign, logs = self.signed_log(new)
            return sign * np.exp(logs)
        return cross_product(self.kernel, new, self.points, self.coefficients[:, None])[:, 0]

    def signed_log(self, new: Points) -> tuple[Array, Array]:
        """Return sign and ``log |f|`` at every point; sign 0 and -inf where f is exactly 0.

        Both are lazy for new points in chunks.
        """
        if self.points.is_chunked:
            found = self._signed_log_over_chunks(self.points, new)
        else:
            found = new.map_rows(self._signed_log)
        return found[:, 0], found[:, 1]

    def _signed_log(self, new: Points) -> Array:
        """Return sign and logarithm as columns."""
        found = self._from_values(new)
        missing = np.isnan(found[:, 1])
        if missing.any():
            found[missing] = np.column_stack(
                self._from_logarithms(new.take(np.flatnonzero(missing)))
            )
        return found

    def _from_values(self, new: Points) -> Array:
        """Return sign and logarithm where an ordinary sum is accurate, NaN elsewhere."""
        if isinstance(self.waves, FourierExpansion):
            return _GridEvaluation(self.waves, self._noise)(new.data)
        if self.boxes and worth_boxes(self.points.n, new.n):
            found = self._from_boxes(new)
            if found is not None:
                return found
        precision = np.finfo(np.result_type(new.dtype, self.points.dtype))
        values = self.values(new)
        return _signed(values, np.abs(values) < float(precision.tiny / precision.eps))

    def _from_boxes(self, new: Points) -> Array | None:
        """Return sign and logarithm, NaN at rows that are too far away for products.

        None if training points are too far from each other, in bandwidths.
        """
        assert isinstance(self.kernel, Gaussian)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # shifted before they are scaled, which would round large coordinates
            origin = self.points.data.mean(axis=0, dtype=np.float64)
            scaled, at = (self.kernel.to_units(X.data - origin) for X in (self.points, new))
            sums = gaussian_sums(scaled, np.log(self.coefficients), np.ones(len(scaled)))
        if sums is None:
            return None
        near = sums.reaches(at)
        found = np.full((new.n, 2), np.nan)
        found[near, 0], found[near, 1] = 1.0, sums(at[near], run_in_threads)
        return found

    def _from_logarithms(self, new: Points) -> tuple[Array, Array]:
        if isinstance(self.waves, FourierExpansion):
            return self._near_sums(new)
        return log_cross_sums(self.kernel, new, self.points, self.coefficients)

    # --- training points on a Dask cluster -------------------------------------------------------

    def _signed_log_over_chunks(self, points: Any, new: Any) -> Any:
        """Return sign and logarithm as columns, with exact sums where the grid is not accurate."""
        waves = None if self.waves is None else self.waves.without_points()
        grid = _GridEvaluation(waves, self._noise)
        exact = partial(_exact_sums, self.kernel, waves)
        if new.is_chunked:
            from mercer.data.dask.tasks import map_with_cross_sums

            return map_with_cross_sums(
                new.rows,
                grid.inaccurate_rows,
                [points.rows, self.coefficients],
                exact,
                _add_sums,
                grid.with_exact,
                np.empty((0, 2)),
            )
        rows = [grid.inaccurate_rows(new.data)]
        sums: Any = None
        if len(rows[0]):
            sums_at_rows = partial(_sums_of_chunk, exact, rows)
            sums = points.passes.sum(
                sums_at_rows, points.rows, self.coefficients, combine=_add_sums
            )
        return grid.with_exact(new.data, 0, sums)

    # --- sums over near points ------------------------------------------------------------------

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._scaled(self.points))

    def _scaled(self, points: Points) -> Array:
        assert isinstance(self.kernel, Stationary)
        return self.kernel.to_units(points.data.astype(np.float64))

    def _near_sums(self, new: Points) -> tuple[Array, Array]:
        """Sum over the points that are not negligible compared with the nearest one."""
        scaled = self._scaled(new)
        nearest, _ = self._tree.query(scaled, workers=thread_count())
        radius = self._radius(nearest)
        counts = self._tree.query_ball_point(
            scaled, radius, workers=thread_count(), return_length=True
        )
        if counts.mean() > self.points.n / 8:
            return log_cross_sums(self.kernel, new, self.points, self.coefficients)
        sign, logs = np.empty(new.n), np.empty(new.n)
        for rows in _groups(counts, _PAIRS_PER_GROUP):
            found = self._tree.query_ball_point(scaled[rows], radius[rows], workers=thread_count())
            sign[rows], logs[rows] = self._sum_over(scaled[rows], found)
        return sign, logs

    def _radius(self, nearest: Array) -> Array:
        """Return the distance beyond which n points are negligible compared with the nearest."""
        threshold = self._log_profile(nearest) + log(_NEGLIGIBLE / self.points.n)
        low, high = nearest.copy(), nearest + 1
        while (far := self._log_profile(high) > threshold).any():
            high[far] *= 2
        for _ in range(30):
            middle = 0.5 * (low + high)
            inside = self._log_profile(middle) > threshold
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return high

    def _log_profile(self, distance: Array) -> Array:
        assert isinstance(self.kernel, Gaussian | Matern)  # the kernels with a frequency grid
        return self.kernel.log_profile(-0.5 * distance**2)

    def _sum_over(self, scaled: Array, found: Array) -> tuple[Array, Array]:
        """Return one sum per row of ``scaled``, over the points with the indices in ``found``."""
        lengths = np.array([len(indices) for indices in found])
        near = np.concatenate(found).astype(int)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        differences = np.repeat(scaled, lengths, axis=0) - self._tree.data[near]
        logs = self._log_profile(np.linalg.norm(differences, axis=1))
        top = np.maximum.reduceat(logs, starts)
        parts = self.coefficients[near] * np.exp(logs - np.repeat(top, lengths))
        sums = np.add.reduceat(parts, starts)
        with np.errstate(divide="ignore"):
            return np.sign(sums), top + np.log(np.abs(sums))


@dataclass(frozen=True)
class _GridEvaluation:
    """Sums on the frequency grid, and the rows at which these are not accurate.

    Attributes
    ----------
    waves : Expansion or None
        None if there is no grid; then no row is accurate.
    noise : float
        Absolute error of sums on the grid.
    """

    waves: Expansion | None
    noise: float

    def __call__(self, X: Array) -> Array:
        """Return sign and logarithm as columns, NaN where they are not accurate."""
        if self.waves is None:
            return np.full((len(X), 2), np.nan)
        values = _grid_values(self.waves, self.noise, Points(X))
        return _signed(values, values < _MIN_SIGNAL_TO_NOISE * self.noise)

    def inaccurate_rows(self, X: Array) -> Array:
        """Return the rows that need exact sums."""
        return X[np.isnan(self(X)[:, 1])]

    def with_exact(self, X: Array, chunk: int, sums: Sequence[Array]) -> Array:
        """Return sign and logarithm at all rows, with the exact sums of this chunk filled in."""
        found = self(X)
        missing = np.isnan(found[:, 1])
        if missing.any():
            found[missing] = sums[chunk]
        return found


def _signed(values: Array, inaccurate: Array) -> Array:
    """Return sign and logarithm as columns, NaN where the values are not accurate."""
    with np.errstate(divide="ignore"):
        found = np.column_stack([np.sign(values), np.log(np.abs(values))])
    found[inaccurate] = np.nan
    return found


def _exact_sums(
    kernel: Kernel, waves: Expansion | None, X: Array, c: Array, rows: Sequence[Array]
) -> list[Array]:
    """Return signs and logarithms of the sums over one chunk, at several arrays of rows."""
    count = sum(map(len, rows))
    if count > _MAX_EXACT_ROWS:
        raise ValueError(
            f"At {count} rows the density is below the tolerance of the Fourier features (or there "
            "are none), so it must be summed over all training rows. The limit is "
            f"{_MAX_EXACT_ROWS} rows at a time. Evaluate fewer rows at a time, omit rows far from "
            "the data, or use a larger bandwidth."
        )
    if count == 0 or len(X) == 0:
        zero = np.array([[0.0, -np.inf]])
        return [np.repeat(zero, len(part), axis=0) for part in rows]
    window = WindowSum(kernel, Points(X), c, waves)
    found = np.column_stack(window._from_logarithms(Points(np.concatenate(rows))))
    return np.split(found, np.cumsum([len(part) for part in rows])[:-1])


def _sums_of_chunk(exact: Any, rows: Sequence[Array], X: Array, c: Array) -> list[Array]:
    """Call ``exact`` with its arguments in the order that sums over chunks need."""
    found: list[Array] = exact(X, c, rows)
    return found


def _add_sums(parts: Sequence[list[Array]]) -> list[Array]:
    """Add the sums of several chunks, which are given by sign and logarithm."""
    return [_signed_sum(np.array(sums)) for sums in zip(*parts, strict=True)]


def _signed_sum(terms: Array) -> Array:
    """Return sums over the first axis of numbers with sign and logarithm along the last."""
    top = terms[..., 1].max(axis=0, initial=-np.inf)
    base = np.where(np.isneginf(top), 0.0, top)
    sums = (terms[..., 0] * np.exp(terms[..., 1] - base)).sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.stack([np.sign(sums), base + np.log(np.abs(sums))], axis=-1)


def _grid_values(waves: Expansion, noise: float, points: Points) -> Array:
    values = waves(points)[:, 0]
    return np.where(np.abs(values) < noise, 0.0, values)


def _summarize(coefficients: Array) -> tuple[float, float, float]:
    lowest = float(coefficients.min(initial=np.inf))
    return float(coefficients.sum()), float(np.abs(coefficients).sum()), lowest


def _combine_summaries(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    sums, sizes, lowest = zip(*parts, strict=True)
    return sum(sums), sum(sizes), min(lowest)


def _groups(counts: Array, limit: int) -> Iterator[slice]:
    """Yield ranges of rows whose counts sum to about ``limit``; single rows may exceed it."""
    group = np.cumsum(counts) // limit
    edges = np.r_[0, np.flatnonzero(np.diff(group)) + 1, len(counts)]
    for first, last in pairwise(edges):
        yield slice(int(first), int(last))
