r"""Bounded supports of densities: reflection at the bounds, or transformation to the line.

A support is an interval per column. With the estimate p̂ on all of space,

- reflection adds the mass beyond a bound to its mirror image:
  :math:`p(x) = \sum_g \hat p(g x)` over all reflections g of the box, whose images of the box
  fill the space;
- transformation estimates the density of :math:`z = t(x)`, with ``log(x - low)``,
  ``-log(high - x)`` or ``log((x - low) / (high - x))`` in columns with one or two bounds:
  :math:`p(x) = \hat p(t(x))\,|t'(x)|`.

Both have mass 1 on the support, and none outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from mercer.utils.types import Array

__all__ = ["BoundaryMethod", "Bounds", "Image"]

BoundaryMethod = Literal["reflection", "transformation"]

_MAX_IMAGES = 4096  # of a point under reflections


@dataclass(frozen=True, eq=False)
class Image:
    """The map ``x -> signs x + shifts``."""

    signs: Array
    shifts: Array

    def __call__(self, X: Array) -> Array:
        """Return the images of the rows of X."""
        return np.asarray(self.signs * X + self.shifts)


@dataclass(frozen=True, eq=False)
class Bounds:
    """A support, and what happens at its bounds.

    ``low``, ``high``: -inf and inf in columns without a bound, shape (d,).
    """

    low: Array
    high: Array
    boundary: BoundaryMethod

    @classmethod
    def parse(cls, support: Any, d: int, boundary: BoundaryMethod) -> Bounds:
        """Return the bounds that a parameter ``support`` describes for d columns.

        ``support``: None (also for a bound) or an infinite number means no bound.
        """
        columns = [support] * d if _is_interval(support) else _sequence(support)
        if len(columns) != d:
            raise ValueError(
                f"support={support!r} has {len(columns)} entries, but X has {d} columns. Pass one "
                "pair (low, high), or one per column."
            )
        pairs = np.array([_interval(column, support) for column in columns])
        return cls(pairs[:, 0], pairs[:, 1], boundary)

    @property
    def reflects(self) -> bool:
        """Whether mass is reflected at the bounds."""
        return self.boundary == "reflection"

    def take(self, columns: Sequence[int]) -> Bounds:
        """Return the bounds of some columns."""
        chosen = list(columns)
        return Bounds(self.low[chosen], self.high[chosen], self.boundary)

    def inside(self, X: Array) -> Array:
        """Return which rows are in the support; transformations exclude the bounds themselves."""
        if self.reflects:
            return np.asarray(((self.low <= X) & (self.high >= X)).all(axis=1))
        return np.asarray(((self.low < X) & (self.high > X)).all(axis=1))

    def check(self, X: Array, rows: Array) -> None:
        """Raise ValueError for training values outside of the support.

        ``rows``: indices that the message names.
        """
        outside = (self.low > X) | (self.high < X)
        on_bound = (self.low == X) | (self.high == X)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(
                f"X[{rows[row]}, {column}] = {X[row, column]:.6g} is outside of the support "
                f"[{self.low[column]:g}, {self.high[column]:g}] of this column. Correct the value, "
                "or pass a larger support."
            )
        if not self.reflects and on_bound.any():
            row, column = np.argwhere(on_bound)[0]
            raise ValueError(
                f"X[{rows[row]}, {column}] = {X[row, column]:.6g} is a bound of the support, which "
                "the transformation maps to infinity. Use boundary='reflection', or model the "
                "values at the bound separately."
            )

    # --- transformation -------------------------------------------------------------------------

    def to_line(self, X: Array) -> Array:
        """Return ``t(x)``; x itself for reflection."""
        if self.reflects:
            return X
        with np.errstate(divide="ignore", invalid="ignore"):  # columns without these bounds
            Z = np.where(np.isfinite(self.low), np.log(X - self._low), 0.0)
            Z = Z - np.where(np.isfinite(self.high), np.log(self._high - X), 0.0)
        return np.where(self._bounded, Z, X)

    def from_line(self, Z: Array) -> Array:
        """Return x for ``z = t(x)``, or the reflection of z into the support."""
        if self.reflects:
            return self._fold(Z)
        one_sided = self._one_sided
        with np.errstate(over="ignore"):
            from_low = self._low + np.exp(np.where(one_sided & np.isfinite(self.low), Z, 0.0))
            from_high = self._high - np.exp(np.where(one_sided & np.isfinite(self.high), -Z, 0.0))
            between = self._low + (self._high - self._low) * expit(Z)
        X = np.where(one_sided, np.where(np.isfinite(self.low), from_low, from_high), between)
        X = np.clip(X, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf))
        return np.where(self._bounded, X, Z)

    def log_slope(self, X: Array) -> Array:
        """Return ``log |t'(x)|`` at rows inside of the support; 0 for reflection."""
        if self.reflects:
            return np.zeros(len(X))
        with np.errstate(divide="ignore", invalid="ignore"):  # columns without these bounds
            logs = -np.where(np.isfinite(self.low), np.log(X - self._low), 0.0)
            logs -= np.where(np.isfinite(self.high), np.log(self._high - X), 0.0)
            logs += np.where(self._bounded & ~self._one_sided, np.log(self._high - self._low), 0.0)
        return np.asarray(logs.sum(axis=1))

    def log_slope_gradient(self, Z: Array) -> Array:
        """Return the derivatives of ``log t'(x)`` with respect to z."""
        if self.reflects:
            return np.zeros_like(Z)
        one_sided = np.where(np.isfinite(self.low), -1.0, 1.0)
        both = 2 * expit(Z) - 1
        return np.where(self._bounded, np.where(self._one_sided, one_sided, both), 0.0)

    def slopes(self, X: Array) -> Array:
        """Return the derivatives ``t'(x)`` of every column."""
        if self.reflects:
            return np.ones_like(X)
        with np.errstate(divide="ignore", over="ignore"):  # columns without these bounds
            total = np.where(np.isfinite(self.low), 1 / (X - self._low), 0.0)
            total += np.where(np.isfinite(self.high), 1 / (self._high - X), 0.0)
        return np.where(self._bounded, total, 1.0)

    # --- reflection -----------------------------------------------------------------------------

    def images(self, reach: Array) -> list[Image]:
        """Return the reflections that matter, the identity first.

        ``reach``: distance over which kernels decay to a negligible fraction, per column.
        """
        columns = [list(self.column_images(c, float(reach[c]))) for c in range(len(self.low))]
        count = prod(map(len, columns))
        if count > _MAX_IMAGES:
            raise ValueError(
                f"Reflection at the bounds of {int(self._bounded.sum())} columns needs {count} "
                f"images of each point (limit: {_MAX_IMAGES}). Use boundary='transformation', or "
                "a bandwidth that is small compared with the support."
            )
        maps = (np.array(parts, dtype=np.float64) for parts in product(*columns))
        return [Image(found[:, 0], found[:, 1]) for found in maps]

    def column_images(self, column: int, reach: float) -> Iterator[tuple[float, float]]:
        """Yield sign and shift of the reflections of one column, the identity first."""
        low, high = float(self.low[column]), float(self.high[column])
        yield 1.0, 0.0
        if not np.isfinite(low) and not np.isfinite(high):
            return
        if not (np.isfinite(low) and np.isfinite(high)):
            yield -1.0, 2 * (low if np.isfinite(low) else high)
            return
        # a point of the m-th copy of the interval is at least |m| - 1 lengths from the interval,
        # the point itself at most one
        length = high - low
        if reach > _MAX_IMAGES * length:
            raise ValueError(
                f"The kernel extends over {reach:.3g}, more than {_MAX_IMAGES} times the length "
                f"{length:.3g} of the support. Use a smaller bandwidth."
            )
        most = ceil(2 + reach / length)
        for m in range(1, most + 1):
            for copy in (-m, m):
                if m % 2:
                    yield -1.0, 2 * low + (copy + 1) * length
                else:
                    yield 1.0, copy * length

    def _fold(self, Z: Array) -> Array:
        """Return the reflection of every row into the support."""
        with np.errstate(invalid="ignore"):
            length = np.where(self._one_sided | ~self._bounded, 1.0, self.high - self.low)
            offset = np.mod(Z - self._low, 2 * length)
            both = self._low + np.minimum(offset, 2 * length - offset)
        with np.errstate(over="ignore"):  # columns without these bounds
            one_sided = np.where(
                np.isfinite(self.low),
                self._low + np.abs(Z - self._low),
                self._high - np.abs(Z - self._high),
            )
        X = np.where(self._one_sided, one_sided, both)
        return np.where(self._bounded, np.clip(X, self.low, self.high), Z)

    @property
    def _bounded(self) -> Array:
        return np.isfinite(self.low) | np.isfinite(self.high)

    @property
    def _one_sided(self) -> Array:
        return np.isfinite(self.low) ^ np.isfinite(self.high)

    @property
    def _low(self) -> Array:
        """The lower bounds; finite numbers in columns without one, whose result is not used."""
        return np.where(
            np.isfinite(self.low), self.low, np.where(np.isfinite(self.high), self.high - 1, 0)
        )

    @property
    def _high(self) -> Array:
        return np.where(np.isfinite(self.high), self.high, self._low + 1)


def _is_interval(support: Any) -> bool:
    """Return whether a support is one interval rather than one per column."""
    return isinstance(support, str) or _is_pair(support)


def _is_pair(column: Any) -> bool:
    entries = _sequence(column)
    return len(entries) == 2 and all(entry is None or isinstance(entry, Real) for entry in entries)


def _sequence(support: Any) -> list[Any]:
    try:
        return list(support)
    except TypeError:
        raise _invalid(support) from None


def _interval(column: Any, support: Any) -> tuple[float, float]:
    if column is None:
        column = None, None
    elif isinstance(column, str) and column == "positive":
        column = 0, None
    if not _is_pair(column):
        raise _invalid(support)
    first, last = column
    low = -np.inf if first is None else float(first)
    high = np.inf if last is None else float(last)
    if not low < high:
        raise ValueError(
            f"support={support!r} has the bounds {low:g} and {high:g}; low must be below high."
        )
    return low, high


def _invalid(support: Any) -> ValueError:
    return ValueError(
        f"support={support!r} must be None, 'positive', a pair (low, high), or a sequence of these "
        "with one entry per column."
    )
