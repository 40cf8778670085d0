r"""Logarithms of sums of many Gaussians, with a relative error of the sums of at most 1e-6.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from mercer.utils.pairwise import finite_product
from mercer.utils.types import Array

__all__ = ["GaussianSums", "Run", "gaussian_sums", "worth_boxes"]

_LOG_SKIPPED = log(5e-8)  # largest fraction of a sum in boxes that are skipped
_PRODUCT_ERROR = 5e-8
_POINTS_PER_BOX = 64
_BOXES_PER_CELL = 8
_ROWS_PER_BOX = 128
_ROWS_PER_GROUP = 2**11, 2**14  # least and most; fewer leave too little work per box
_NEAREST = 4  # cells that are summed first, for a lower bound of the sums
# Bounds for each box of a cell are worth their time if they exclude enough, by a sample of rows.
_SPACING = 16
_WORTH_BOUNDS = 0.65
_TILE = 2**17  # exponents at a time
_LEAST_EXPONENT = -87.0  # smaller exponents have denormalized exponentials, which are slow
# Below, the preparation takes longer than it saves.
_MIN_PAIRS = 10**7
_MIN_ROWS = 1000

#: Splits tasks among threads and calls a function with the tasks of each.
Run = Callable[[Sequence[Array], Callable[[Sequence[Array]], Any]], Any]


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes around points, in rotated coordinates.

    Attributes
    ----------
    starts : array of shape (boxes + 1,)
        Where the points of each box begin.
    centers, half_widths : array of shape (boxes, d)
    log_masses : array of shape (boxes,)
        ``log Σ_j exp b_j`` over a box.
    least_squares : array of shape (boxes,)
        The smallest s_j² of a box.
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

    Attributes
    ----------
    origin : array of shape (d,)
    rotation : array of shape (d, d)
        Principal axes of the x_j, along which boxes are narrower.
    factors : array of shape (n, d + 3)
        Right factors of the exponents, ordered by box.
    boxes, cells : _Boxes
        A cell consists of several boxes.
    scale : float
        The largest s_j.
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

        groups = _balanced_boxes(Y, int(np.clip(len(Y) // 8, *_ROWS_PER_GROUP)))
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
        if np.mean(parts) > _WORTH_BOUNDS:
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
        np.maximum(h, _LEAST_EXPONENT, out=h)
        np.exp(h, out=h, dtype=np.float32, casting="same_kind")
        self._values[rows] += finite_product(h, np.ones(h.shape[1]))


def worth_boxes(n: int, m: int) -> bool:
    """Return whether the preparation for n points pays for sums at m rows."""
    return m >= _MIN_ROWS and n * m >= _MIN_PAIRS


def gaussian_sums(points: Array, offsets: Array, inverses: Array) -> GaussianSums | None:
    """Prepare log f; return None if points are too far apart, in bandwidths, for products.

    Parameters
    ----------
    points : array of shape (n, d)
        The x_j, in double precision.
    offsets : array of shape (n,)
        The b_j; -inf for points with zero weight, but not for all points.
    inverses : array of shape (n,)
        The s_j, inverse bandwidths.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> sums = gaussian_sums(points, np.log([0.5, 0.5]), np.ones(2))
    >>> sums(np.array([[1.0, 0.0]])).round(6)
    array([-0.5])
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
    largest = (_PRODUCT_ERROR / (8 * (Z.shape[1] + 3) * 2.0**-53)) ** 0.5
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
