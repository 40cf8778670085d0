"""Weighted quantiles and conformal p-values; integer weights are equivalent to repeated rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "Calibration",
    "conformal_level",
    "weighted_median",
    "weighted_quantile",
]


def weighted_median(values: Array, weights: Array) -> Array:
    """Return the median along the last axis: the midpoint of the interval of all medians.

    Integer weights give exactly ``np.median`` of the repeated values.
    """
    if (weights == weights[0]).all():
        return np.asarray(np.median(values, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    cumulative = np.cumsum(weights[order], axis=-1)
    half = cumulative[..., -1:] / 2
    slack = 1e-12 * cumulative[..., -1:]  # rounding error of the sums
    low = np.argmax(cumulative >= half - slack, axis=-1)[..., None]
    high = np.argmax(cumulative > half + slack, axis=-1)[..., None]
    middle = np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1)
    return np.asarray(middle[..., 0] / 2)


def weighted_quantile(values: Array, weights: Array, level: float) -> Array:
    """Return the quantile along the last axis, with linear interpolation.

    Weights are multiplicities: their sum is the sample size. Integer weights give exactly
    ``np.quantile`` of the repeated values.
    """
    if (weights == 1).all():
        return np.asarray(np.quantile(values, level, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    cumulative = np.cumsum(weights[order], axis=-1)
    position = np.maximum(level * (cumulative[..., -1:] - 1), 0)
    slack = 1e-12 * cumulative[..., -1:]  # rounding error of the sums
    index = np.floor(position + slack)
    low = np.argmax(cumulative > index + slack, axis=-1)[..., None]
    high = np.argmax(cumulative > index + 1 + slack, axis=-1)[..., None]
    high = np.where(cumulative[..., -1:] > index + 1 + slack, high, low)
    below, above = (np.take_along_axis(ordered, at, -1)[..., 0] for at in (low, high))
    return np.asarray(below + np.maximum(position - index, 0)[..., 0] * (above - below))


# --- conformal p-values ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Calibration:
    """Sorted calibration scores with the total weight of the scores from each one upward.

    A large score means abnormal. If the score of a normal new row is exchangeable with the n
    calibration scores, ``p = (1 + #{s_i ≥ s}) / (n + 1)`` is at most α with probability at most α,
    and at least ``α - 1/(n + 1)`` if there are no ties (Vovk, Gammerman and Shafer 2005). Weights
    are multiplicities.

    If new rows have another distribution, whose density relative to that of the calibration rows is
    w(x), the scores are weighted exchangeable (Tibshirani, Barber, Candès and Ramdas, "Conformal
    prediction under covariate shift", NeurIPS 2019): given the unordered rows, the new one is row i
    with probability ``w_i / Σ w``. Its p-value is the probability of a score at least as large,
    ``p = (w(x) + Σ w_i [s_i ≥ s]) / (w(x) + Σ w_i)``, and again at most α with probability at most
    α.
    """

    scores: Array
    weights_above: Array  # one entry more than scores: the last is 0

    @classmethod
    def of(cls, scores: Array, weights: Array) -> Self:
        """Sort calibration scores with their multiplicities."""
        order = np.argsort(scores, kind="stable")
        scores = np.asarray(scores[order], dtype=np.float64)
        # a score that equals a calibration score up to rounding error is a tie
        scores = scores + 1e-9 * np.abs(scores)
        above = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
        return cls(scores, np.asarray(above, dtype=np.float64))

    @property
    def total(self) -> float:
        """Total weight of the calibration scores."""
        return float(self.weights_above[0])

    def p_values(self, scores: Array, weight: Array | float = 1.0) -> Array:
        """Return ``(w + weight of the calibration scores ≥ s) / (w + total weight)``."""
        above = self.weights_above[np.searchsorted(self.scores, scores, side="left")]
        return np.asarray((weight + above) / (weight + self.total))

    def limit(self, level: float) -> float:
        """Return the largest calibration score with a p-value above ``level``; -inf if none.

        ``p(s) ≤ level`` exactly for scores above this limit; inf if even the smallest possible
        p-value, ``1 / (1 + total weight)``, exceeds the level.
        """
        if 1 / (1 + self.total) > level:
            return float("inf")
        p = (1 + self.weights_above[:-1]) / (1 + self.total)
        at = int(np.searchsorted(-p, -level, side="left"))  # p decreases
        return float(self.scores[at - 1]) if at else float("-inf")


def conformal_level(level: float, n: float) -> float:
    """Return the level of the interpolated quantile at rank ``level (n + 1)`` of n values.

    A new value exceeds that rank with probability 1 - level. At rank ``1 + level (n - 1)``, that of
    the usual quantile, it is ``2 (level - 1/2) / (n + 1)`` more.
    """
    return float(min(max((level * (n + 1) - 1) / (n - 1), 0.0), 1.0)) if n > 1 else 1.0
