"""Column statistics in one pass over weighted rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from mercer.data.dask.passes import DASK
from mercer.utils.types import Array
from mercer.utils.validation import check_weights
from mercer.utils.weight_totals import WeightTotals

__all__ = ["Survey", "combine_surveys", "survey_rows"]


@dataclass(frozen=True, eq=False)
class Survey:
    """Column statistics of weighted rows; the surveys of two chunks can be added.

    Attributes
    ----------
    lengths : tuple of int
        Rows with positive weight in each chunk.
    totals : WeightTotals
        Sums of the weights.
    low, high : arrays of shape (d,)
    mean : array of shape (d,)
    deviation : array of shape (d,)
        Square roots of the columns' weighted variances, computed without overflow.
    """

    lengths: tuple[int, ...]
    totals: WeightTotals
    low: Array
    high: Array
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None = None) -> Survey:
        """Validate one chunk and compute its statistics."""
        from sklearn.utils import check_array

        X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=0)
        if weights is not None:
            check_weights(weights)
            X, weights = X[weights > 0], weights[weights > 0]
        d = X.shape[1]
        if len(X) == 0:
            zeros = np.zeros(d)
            none = WeightTotals.of(zeros[:0])
            return cls((0,), none, zeros + np.inf, zeros - np.inf, zeros, zeros)
        counts = np.ones(len(X)) if weights is None else weights
        totals = WeightTotals.of(counts)
        normalized = counts / totals.largest / totals.ratio
        mean = normalized @ X.astype(np.float64, copy=False)
        centered = X - mean
        scale = np.maximum(np.abs(centered).max(axis=0), np.finfo(np.float64).tiny)
        deviation = scale * np.sqrt(normalized @ (centered / scale) ** 2)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return cls((len(X),), totals, low, high, mean, deviation)

    def __add__(self, other: Survey) -> Survey:
        """Combine two surveys by the parallel-axis theorem.

        It is applied to standard deviations, since variances might overflow.
        """
        lengths = self.lengths + other.lengths
        if self.totals.largest == 0 or other.totals.largest == 0:
            return replace(other if self.totals.largest == 0 else self, lengths=lengths)
        totals = self.totals + other.totals
        a, b = (
            np.sqrt(part.ratio / totals.ratio * (part.largest / totals.largest))
            for part in (self.totals, other.totals)
        )
        step = other.mean - self.mean
        within = np.hypot(a * self.deviation, b * other.deviation)
        return Survey(
            lengths,
            totals,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + step * b**2,
            np.hypot(within, a * b * step),
        )


def survey_rows(rows: Any, weights: Any = None) -> Survey:
    """Validate all chunks of a Dask array and return their statistics."""
    found: Survey = DASK.sum(Survey.of, rows, weights, combine=combine_surveys, include_empty=True)
    if sum(found.lengths) == 0 and weights is None:
        raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
    return found


def combine_surveys(parts: Sequence[Survey]) -> Survey:
    """Add up surveys of consecutive chunks."""
    return reduce(Survey.__add__, parts)
