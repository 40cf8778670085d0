r"""Sums of sample weights, and the effective sample size.

A weight w counts as w copies of its row. Rules that need a sample size n (bandwidths, priors,
numbers of terms) use

.. math:: n = \max\Big(\sum w, \frac{(\sum w)^2}{\sum w^2}\Big).

The second expression is the effective sample size of Kish (1965). It does not depend on the scale
of the weights and is at most the number of rows. For integer weights the first one is not smaller,
so integer weights stay equal to copies; weights that sum to 1 count as about as many rows as there
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "Moments",
    "WeightTotals",
    "checked_proportions",
    "effective_size",
    "multiplicities",
]


@dataclass(frozen=True)
class WeightTotals:
    """Sums of weights; those of two chunks can be added.

    ``total`` is Σw, or inf if it overflows. ``ratio`` is Σw and ``squares`` is Σw², both of weights
    relative to the largest one, so that they neither overflow nor underflow.
    """

    total: float
    largest: float
    ratio: float
    squares: float

    @classmethod
    def of(cls, weights: Array) -> WeightTotals:
        """Return the sums of one chunk."""
        largest = float(weights.max(initial=0.0))
        if largest == 0:
            return cls(0.0, 0.0, 0.0, 0.0)
        relative = weights / largest
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        return cls(total, largest, float(relative.sum()), float(relative @ relative))

    @classmethod
    def of_rows(cls, n: int) -> WeightTotals:
        """Return the sums of n weights of 1."""
        return cls(float(n), 1.0, float(n), float(n))

    def __add__(self, other: WeightTotals) -> WeightTotals:
        largest = max(self.largest, other.largest)
        if largest == 0:
            return self
        a, b = self.largest / largest, other.largest / largest
        return WeightTotals(
            self.total + other.total,
            largest,
            a * self.ratio + b * other.ratio,
            a**2 * self.squares + b**2 * other.squares,
        )

    @property
    def effective_size(self) -> float:
        """Kish's ``(Σw)² / Σw²``."""
        return self.ratio**2 / self.squares

    @property
    def sample_size(self) -> float:
        """``n = max(Σw, (Σw)² / Σw²)``, which all rules use."""
        return max(self.total, self.effective_size)

    @property
    def factor(self) -> float:
        """Factor that turns weights into multiplicities, whose sum is n; 1 if Σw is n."""
        return 1.0 if self.total >= self.effective_size else self.effective_size / self.total

    @property
    def unit(self) -> float:
        """Power of 4 close to the largest weight.

        Divisions by it and by its square root are exact.
        """
        if self.largest == inf:
            return 1.0
        return float(2.0 ** (2 * ((np.frexp(self.largest)[1] - 1) // 2)))


def effective_size(weights: Array) -> float:
    """Return Kish's ``(Σw)² / Σw²``."""
    return WeightTotals.of(weights).effective_size


def multiplicities(weights: Array) -> Array:
    """Return weights multiplied by a common factor such that their sum is n.

    Weights whose sum is n already are returned unchanged, integers in particular.
    """
    totals = WeightTotals.of(weights)
    if totals.factor == 1:
        return weights
    return np.asarray(weights / totals.largest * (totals.effective_size / totals.ratio))


def checked_proportions(
    proportions: Any, count: int, name: str, owners: str = "components"
) -> Array:
    """Return ``count`` positive proportions with sum 1, or raise ValueError.

    ``name`` is the parameter in messages; ``owners`` is what the proportions belong to.
    """
    values = np.atleast_1d(np.asarray(proportions, dtype=np.float64))
    if values.shape != (count,):
        raise ValueError(
            f"{name} has {values.size} entries for {count} {owners}; pass one for each."
        )
    if not np.isfinite(values).all() or values.min() <= 0:
        raise ValueError(
            f"{name}={values.tolist()} must be positive; remove {owners} with proportion 0."
        )
    if abs(values.sum() - 1) > 1e-8:
        raise ValueError(
            f"{name} adds up to {values.sum():.10g}, not to 1; divide by the sum if proportions "
            "are intended."
        )
    return values / values.sum()


# --- mean and scatter -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Total weight, mean, and scatter ``Σ w (x - mean)(x - mean)'`` of weighted rows.

    Chunks are combined by the parallel-axis theorem (Chan, Golub, LeVeque 1979), so the scatter
    remains accurate if the mean is far from 0.
    """

    total: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, rows: Array, weights: Array | None = None) -> Moments:
        """Return the moments of one chunk, with products in the precision of the rows."""
        total = float(len(rows) if weights is None else weights.sum())
        if weights is None:
            mean = rows.mean(axis=0, dtype=np.float64)
        else:
            mean = (weights @ rows / total).astype(np.float64)
        centered = rows - mean.astype(rows.dtype)
        if weights is not None:
            centered *= np.sqrt(weights)[:, None].astype(rows.dtype)
        return cls(total, mean, (centered.T @ centered).astype(np.float64))

    def __add__(self, other: Moments) -> Moments:
        total = self.total + other.total
        step = other.mean - self.mean
        between = self.total * other.total / total
        return Moments(
            total,
            self.mean + step * (other.total / total),
            self.scatter + other.scatter + between * np.outer(step, step),
        )

    @property
    def about_zero(self) -> Array:
        """Scatter about zero, ``Σ w x x'``."""
        return self.scatter + self.total * np.outer(self.mean, self.mean)
