r"""Logarithms of sums of many Gaussians, with a relative error of the sums of at most 1e-6.

.. math:: \log f(x), \qquad f(x) = \sum_j \exp(b_j - s_j^2 \|x - x_j\|^2 / 2)

Both sets of points are divided into boxes with about equally many points. For the points x of one
box the boxes of the x_j are summed in the order of upper bounds of their contributions, until the
bounds of all remaining boxes add up to a negligible fraction of f.

The exponents are matrix products in double precision; only their exponentials are computed in
single precision, which is several times as fast. With a shift t(x) about half of log n below the
largest exponent, the errors relative to f are at most:

- 5e-8 for the boxes that are not summed;
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

from mercer.maths.pairwise import finite_product
from mercer.maths.types import Array

__all__ = ["GaussianSums", "Run", "gaussian_sums", "worth_boxes"]

_LOG_SKIPPED = log(5e-8)  # largest fraction of a sum in boxes that are not summed
_PRODUCT_ERROR = 5e-8
_POINTS_PER_BOX = 64
_ROWS_PER_BOX = 128
_TILE = 2**16  # exponents in double precision that fit a second-level cache
_PADDING = -1e30  # exponent of the entries that fill up a box
# Below, the preparation takes longer than it saves.
_MIN_PAIRS = 10**7
_MIN_ROWS = 1000

#: Splits tasks among threads and calls a function with the tasks of each.
Run = Callable[[Sequence[Array], Callable[[Sequence[Array]], Any]], Any]


@dataclass(frozen=True, eq=False)
class GaussianSums:
    """The function log f, prepared for evaluation at many points.

    Attributes
    ----------
    origin : array of shape (d,)
    rotation : array of shape (d, d)
        Principal axes of the x_j, along which boxes are narrower.
    factors : array of shape (boxes, points per box, d + 3)
        Right factors of the exponents.
    low, high : array of shape (boxes, d)
        Corners of the boxes, in rotated coordinates relative to the origin.
    log_masses : array of shape (boxes,)
        ``log Σ_j exp b_j`` over a box.
    least_squares : array of shape (boxes,)
        The smallest s_j² of a box.
    scale : float
        The largest s_j.
    log_n : float
        Logarithm of the number of points.
    """

    origin: Array
    rotation: Array
    factors: Array
    low: Array
    high: Array
    log_masses: Array
    least_squares: Array
    scale: float
    log_n: float

    def reaches(self, Z: Array) -> Array:
        """Return for each row of Z whether it is close enough to the origin for products."""
        return _within_reach(Z - self.origin, self.scale)

    def __call__(self, Z: Array, run: Run | None = None) -> Array:
        """Return log f at every row of Z, which must be within reach; ``run`` starts threads."""
        Y = (Z - self.origin) @ self.rotation
        logs = np.empty(len(Y))

        def work(boxes: Sequence[Array]) -> None:
            for rows in boxes:
                logs[rows] = self._log_sums(Y[rows])

        boxes = _balanced_boxes(Y, _ROWS_PER_BOX)
        work(boxes) if run is None else run(boxes, work)
        return logs

    def _log_sums(self, Y: Array) -> Array:
        """Return log f at the points of one box."""
        order, remaining = self._order(Y.min(axis=0), Y.max(axis=0))
        left = np.column_stack([Y, -0.5 * _squares(Y), np.ones(len(Y)), np.zeros(len(Y))])
        highest = 0.5 * self.log_n  # the largest exponent minus the shift
        logs, rows = np.empty(len(Y)), np.arange(len(Y))
        shifts, sums = np.zeros(len(Y)), np.zeros(len(Y))
        first = 0
        while len(rows):
            last = first + max(1, _TILE // (len(rows) * self.factors.shape[1]))
            right = self.factors[order[first:last]].reshape(-1, self.factors.shape[2])
            h = finite_product(left, right.T)
            if first == 0 or h.max() > highest + 1:
                rise = h.max(axis=1) - highest
                if first:
                    np.maximum(rise, 0, out=rise)
                    sums *= np.exp(-rise)
                h -= rise[:, None]
                shifts += rise
                left[:, -1] = -shifts
            np.exp(h, out=h, dtype=np.float32, casting="same_kind")
            sums += finite_product(h, np.ones(h.shape[1]))
            first = min(last, len(order))
            found = shifts + np.log(sums)
            active = remaining[first] > found + _LOG_SKIPPED
            if 2 * np.count_nonzero(active) <= len(active):
                logs[rows] = found
                rows, left = rows[active], left[active]
                shifts, sums = shifts[active], sums[active]
        return logs

    def _order(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return an order of the boxes, and bounds for the log sum over all but the first ones.

        The order is by upper bounds of the contributions to f in the box with these corners.
        """
        gaps = np.maximum(np.maximum(self.low - high, low - self.high), 0)
        bounds = self.log_masses - 0.5 * self.least_squares * _squares(gaps)
        order = np.argsort(-bounds, kind="stable")
        remaining = np.logaddexp.accumulate(bounds[order[::-1]])[::-1]
        return order, np.append(remaining, -np.inf)


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
    boxes = _balanced_boxes(Z, _POINTS_PER_BOX)
    factors = np.zeros((len(boxes), max(map(len, boxes)), right.shape[1]))
    factors[:, :, -2] = _PADDING
    for factor, members in zip(factors, boxes, strict=True):
        factor[: len(members)] = right[members]
    return GaussianSums(
        origin,
        rotation,
        factors,
        low=np.array([Z[members].min(axis=0) for members in boxes]),
        high=np.array([Z[members].max(axis=0) for members in boxes]),
        log_masses=np.array([np.logaddexp.reduce(offsets[members]) for members in boxes]),
        least_squares=np.array([squares[members].min() for members in boxes]),
        scale=float(scale),
        log_n=log(len(Z)),
    )


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
