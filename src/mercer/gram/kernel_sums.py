r"""Sums ``f(x) = Σ_j c_j k(x, x_j)`` on the logarithmic scale, accurate far in the tails.

Where f is not small it is an ordinary sum, by tiles or on a frequency grid. Where it underflows or
is below the tolerance of the grid, it is summed from the logarithms of the kernel, over all points
or over the near points that dominate it.

Many sums of a Gaussian kernel skip points that are negligible, with a relative error of the sums of
at most 1e-6 (:class:`GaussianSums`):

.. math:: \log f(x), \qquad f(x) = \sum_j \exp(b_j - s_j^2 \|x - x_j\|^2 / 2)

The x_j are divided into boxes with about equally many points. The sum over the nearest boxes is a
lower bound of f(x). A box is skipped at x if an upper bound of its contribution, by the distance
of x from the box, is below the fraction 5e-8 of that lower bound divided by the number of boxes.
Bounds are computed first for many x and many boxes together, then for each x and each box where
these do not decide.

The exponents are matrix products in double precision; only their exponentials are computed in
single precision, which is several times as fast. With a shift t(x) about half of log n below the
largest exponent, the errors relative to f are at most:

- 5e-8 for the boxes that are skipped;
- 3.0e-7 for the exponential function, which NumPy computes to 2.52 units in the last place;
- ``2**-24 (log(n)/2 + 1.3)`` for rounding the exponents h - t to single precision, 4.2e-7 for
  n = 10⁵: each term has the error ``2**-24 |h - t|``, and the mean of ``|h - t|`` with the terms
  as weights is at most ``log(n)/2 + 1.3``, because terms far below the largest have little weight;
- 5e-8 for the products: their error is at most ``8 (d + 3) 2**-53 r²``, so points are limited to a
  distance r from the origin, in bandwidths (2080 for d = 10).

Exponentials are added in double precision. Measured errors are about 2e-7, because rounding errors
of different terms cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mercer.data.points import Points
from mercer.gram.expansion import Expansion, cross_product, log_cross_sums
from mercer.gram.fourier import FourierExpansion
from mercer.kernels import Gaussian, Kernel, Matern, Stationary
from mercer.utils.pairwise import finite_product
from mercer.utils.resources import run_in_threads, thread_count
from mercer.utils.types import Array

__all__ = [
    "GaussianSums",
    "Run",
    "WindowSum",
    "gaussian_sums",
    "worth_boxes",
]

_LOG_SKIPPED = log(5e-8)  # largest fraction of a sum in boxes that are skipped
_POINTS_PER_BOX = 64
_BOXES_PER_CELL = 8
_ROWS_PER_BOX = 128
_NEAREST = 4  # cells that are summed first, for a lower bound of the sums
# Bounds for each box of a cell are worth their time if they exclude enough, by a sample of rows.
_SPACING = 16
_TILE = 2**17  # exponents at a time

#: Splits tasks among threads and calls a function with the tasks of each.
Run = Callable[[Sequence[Array], Callable[[Sequence[Array]], Any]], Any]


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes around consecutive points, in rotated coordinates; ``starts`` is where each begins.

    ``log_masses`` are ``log Σ_j exp b_j`` over a box, ``least_squares`` the smallest s_j².
    """

    starts: Array
    centers: Array
    half_widths: Array
    log_masses: Array
    least_squares: Array

    def __len__(self) -> int:
        return len(self.centers)

    def bounds(self, box: int, Y: Array) -> Array:
        """Return upper bounds of the log sum over one box of points at each row of Y."""
        gaps = np.abs(Y - self.centers[box])
        gaps -= self.half_widths[box]
        np.maximum(gaps, 0, out=gaps)
        return np.asarray(self.log_masses[box] - 0.5 * self.least_squares[box] * _squares(gaps))

    def bounds_within(self, centers: Array, half_widths: Array) -> Array:
        """Return upper bounds of the log sums over all boxes, within each of other boxes."""
        squares = np.zeros((len(centers), len(self)))
        for axis in range(centers.shape[1]):
            gaps = np.abs(np.subtract.outer(centers[:, axis], self.centers[:, axis]))
            gaps -= np.add.outer(half_widths[:, axis], self.half_widths[:, axis])
            squares += np.maximum(gaps, 0) ** 2
        return np.asarray(self.log_masses - 0.5 * self.least_squares * squares)


@dataclass(frozen=True, eq=False)
class GaussianSums:
    """The function log f, prepared for evaluation at many points.

    Boxes are narrower along the principal axes of the x_j, the columns of ``rotation``. ``factors``
    are the right factors of the exponents, ordered by box; a cell consists of several boxes.
    ``scale`` is the largest s_j.
    """

    origin: Array
    rotation: Array
    factors: Array
    boxes: _Boxes
    cells: _Boxes
    scale: float

    def reaches(self, Z: Array) -> Array:
        """Return for each row of Z whether it is close enough to the origin for products."""
        return _within_reach(Z - self.origin, self.scale)

    def __call__(self, Z: Array, run: Run | None = None) -> Array:
        """Return log f at every row of Z, which must be within reach; ``run`` starts threads."""
        Y = (Z - self.origin) @ self.rotation
        logs = np.empty(len(Y))

        def work(groups: Sequence[Array]) -> None:
            for rows in groups:
                logs[rows] = self._log_sums(Y[rows])

        # smaller groups leave too little work per box
        groups = _balanced_boxes(Y, int(np.clip(len(Y) // 8, 2**11, 2**14)))
        work(groups) if run is None else run(groups, work)
        return logs

    def _log_sums(self, Y: Array) -> Array:
        """Return log f at the points of a group."""
        parts = _balanced_boxes(Y, _ROWS_PER_BOX)
        order = np.concatenate(parts)
        Y = Y[order]
        lengths = np.array([len(part) for part in parts])
        starts = np.append(0, np.cumsum(lengths))
        bounds = self.cells.bounds_within(*_corners(Y, starts))
        nearest = np.argsort(-bounds, axis=1, kind="stable")[:, :_NEAREST]
        sums = _PartialSums(Y, 0.5 * log(len(self.factors)))
        for part, cells in enumerate(nearest):
            rows = np.arange(starts[part], starts[part + 1])
            sums.start(rows, np.concatenate([self._factors(self.cells, cell) for cell in cells]))
        limits = sums.logs() + _LOG_SKIPPED - log(len(self.boxes))
        least = np.minimum.reduceat(limits, starts[:-1])
        np.put_along_axis(bounds, nearest, -np.inf, axis=1)
        for cell in range(len(self.cells)):
            rows = np.flatnonzero(np.repeat(bounds[:, cell] > least, lengths))
            self._add_cell(sums, cell, rows, Y[rows], limits[rows])
        logs = np.empty(len(Y))
        logs[order] = sums.logs()
        return logs

    def _add_cell(
        self, sums: _PartialSums, cell: int, rows: Array, Y: Array, limits: Array
    ) -> None:
        """Add the terms of a cell, except for boxes whose bound is below the limit of a row."""
        used = self.cells.bounds(cell, Y) > limits
        rows, Y, limits = rows[used], Y[used], limits[used]
        if len(rows) == 0:
            return
        boxes = range(cell * _BOXES_PER_CELL, min((cell + 1) * _BOXES_PER_CELL, len(self.boxes)))
        some = slice(None, None, _SPACING)
        parts = [np.mean(self.boxes.bounds(box, Y[some]) > limits[some]) for box in boxes]
        if np.mean(parts) > 2 / 3:
            sums.add(rows, self._factors(self.cells, cell))
        else:
            for box in boxes:
                used = self.boxes.bounds(box, Y) > limits
                sums.add(rows[used], self._factors(self.boxes, box))

    def _factors(self, boxes: _Boxes, box: int) -> Array:
        return self.factors[boxes.starts[box] : boxes.starts[box + 1]]


class _PartialSums:
    """Sums of exponentials, ``values * exp(shifts)``, at the points of a group."""

    def __init__(self, Y: Array, highest: float) -> None:
        self._left = np.column_stack([Y, -0.5 * _squares(Y), np.ones(len(Y)), np.zeros(len(Y))])
        self._highest = highest  # the largest exponent minus the shift
        self._shifts, self._values = np.zeros(len(Y)), np.zeros(len(Y))

    def logs(self) -> Array:
        """Return the logarithms of the sums."""
        return np.asarray(self._shifts + np.log(self._values))

    def start(self, rows: Array, right: Array) -> None:
        """Set the shifts by the largest of some terms, and add these terms."""
        h = finite_product(self._left[rows], right.T)
        self._add(rows, h, h.max(axis=1) - self._highest)

    def add(self, rows: Array, right: Array) -> None:
        """Add terms, given by the right factors of their exponents, to the sums of some rows."""
        size = max(1, _TILE // len(right))
        for first in range(0, len(rows), size):
            tile = rows[first : first + size]
            h = finite_product(self._left[tile], right.T)
            rise = None
            if h.max() > self._highest + 1:
                rise = np.maximum(h.max(axis=1) - self._highest, 0)
                self._values[tile] *= np.exp(-rise)
            self._add(tile, h, rise)

    def _add(self, rows: Array, h: Array, rise: Array | None) -> None:
        if rise is not None:
            h -= rise[:, None]
            self._shifts[rows] += rise
            self._left[rows, -1] = -self._shifts[rows]
        # smaller exponents have denormalized exponentials, which are slow
        np.maximum(h, -87.0, out=h)
        np.exp(h, out=h, dtype=np.float32, casting="same_kind")
        self._values[rows] += finite_product(h, np.ones(h.shape[1]))


def worth_boxes(n: int, m: int) -> bool:
    """Return whether the preparation for n points saves more time than it takes, at m rows."""
    return m >= 1000 and n * m >= 10**7


def gaussian_sums(points: Array, offsets: Array, inverses: Array) -> GaussianSums | None:
    """Prepare log f; return None if points are too far apart, in bandwidths, for products.

    The offsets b_j are -inf for points with zero weight; the inverse bandwidths are the s_j.
    """
    used = offsets > -np.inf
    points, offsets, inverses = points[used], offsets[used], inverses[used]
    origin, scale = points.mean(axis=0), inverses.max()
    Z = points - origin
    if not _within_reach(Z, scale).all():
        return None
    rotation = np.linalg.eigh(Z.T @ Z)[1]
    Z = Z @ rotation
    squares = inverses**2
    right = np.column_stack(
        [Z * squares[:, None], squares, offsets - 0.5 * squares * _squares(Z), np.ones(len(Z))]
    )
    parts = _balanced_boxes(Z, _POINTS_PER_BOX)
    order = np.concatenate(parts)
    starts = np.append(0, np.cumsum([len(part) for part in parts]))
    ordered = Z[order], offsets[order], squares[order]
    return GaussianSums(
        origin,
        rotation,
        factors=right[order],
        boxes=_boxes(*ordered, starts),
        cells=_boxes(*ordered, np.append(starts[:-1:_BOXES_PER_CELL], starts[-1])),
        scale=float(scale),
    )


def _boxes(Z: Array, offsets: Array, squares: Array, starts: Array) -> _Boxes:
    return _Boxes(
        starts,
        *_corners(Z, starts),
        log_masses=np.logaddexp.reduceat(offsets, starts[:-1]),
        least_squares=np.minimum.reduceat(squares, starts[:-1]),
    )


def _corners(Z: Array, starts: Array) -> tuple[Array, Array]:
    """Return centers and half widths of the boxes of consecutive points."""
    low = np.minimum.reduceat(Z, starts[:-1], axis=0)
    high = np.maximum.reduceat(Z, starts[:-1], axis=0)
    return 0.5 * (low + high), 0.5 * (high - low)


def _within_reach(Z: Array, scale: float) -> Array:
    """Return for each row whether its products have a small error."""
    # 5e-8 is the largest error of products
    largest = (5e-8 / (8 * (Z.shape[1] + 3) * 2.0**-53)) ** 0.5
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(_squares(Z)) * scale <= largest)


def _balanced_boxes(Z: Array, size: int) -> list[Array]:
    """Divide points by medians of their widest coordinate; return the indices of each part.

    Each part has at most ``size`` points, and their numbers differ by at most 1.
    """
    parts = [np.arange(len(Z))]
    while len(parts[-1]) > size:
        parts = [half for part in parts for half in _halves(Z, part)]
    return [part for part in parts if len(part)]


def _halves(Z: Array, part: Array) -> tuple[Array, Array]:
    chosen = Z[part]
    widest = int(np.argmax(chosen.max(axis=0) - chosen.min(axis=0)))
    middle = len(part) // 2
    order = np.argpartition(chosen[:, widest], middle)
    return part[order[:middle]], part[order[middle:]]


def _squares(Z: Array) -> Array:
    """Return the squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", Z, Z))


_MAX_EXACT_ROWS = 200_000  # rows whose exact sums over all chunks are computed at a time


@dataclass
class WindowSum:
    """``f(x) = Σ_j c_j k(x, x_j)`` with the unnormalized kernel and coefficients of any sign.

    ``waves`` is the same function in Fourier features, if available; it is used where f is well
    above the tolerance of the frequency grid. ``boxes`` tells whether large sums on the logarithmic
    scale may skip boxes of points that are negligible, with a relative error of at most 1e-6: for a
    Gaussian kernel and nonnegative coefficients.
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
        for rows in _groups(counts, 4_000_000):
            found = self._tree.query_ball_point(scaled[rows], radius[rows], workers=thread_count())
            sign[rows], logs[rows] = self._sum_over(scaled[rows], found)
        return sign, logs

    def _radius(self, nearest: Array) -> Array:
        """Return the distance beyond which n points are negligible compared with the nearest."""
        threshold = self._log_profile(nearest) + log(1e-12 / self.points.n)
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
    """Sums on the frequency grid (if there is one), with the absolute error ``noise``."""

    waves: Expansion | None
    noise: float

    def __call__(self, X: Array) -> Array:
        """Return sign and logarithm as columns, NaN where they are not accurate."""
        if self.waves is None:
            return np.full((len(X), 2), np.nan)
        values = _grid_values(self.waves, self.noise, Points(X))
        # a sum of 1000 times its error is accurate to three digits
        return _signed(values, values < 1e3 * self.noise)

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
