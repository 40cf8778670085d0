"""Negative log densities of rows, with leave-one-out values for training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from mercer.data.points import Points, Sample
from mercer.gram.expansion import log_cross_sums
from mercer.kernels import Kernel
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = ["NegativeLogDensity"]

_LARGEST = 1e300  # score of rows with similarity 0 to all others


@dataclass
class NegativeLogDensity:
    """``-log`` of the Parzen density (of the mean kernel value if the kernel has no integral)."""

    kernel: Kernel
    points: Points
    weights: Array
    log_normalizer: float

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None = None) -> tuple[Self, Array]:
        """Put one kernel at every regular row."""
        kernel, weights = sample.kernel, sample.multiplicities
        kept = np.arange(sample.points.n) if regular is None else np.flatnonzero(regular)
        points = sample.points.take(kept)
        model = cls(kernel, points, weights[kept], kernel.log_normalizer_or_zero(points.dimension))
        return model, model._scores(sample.points, _positions(kept, sample.points.n))

    def __call__(self, points: Points) -> Array:
        """Return the negative log density at every row."""
        return self._scores(points, None)

    def _scores(self, points: Points, own: Array | None) -> Array:
        sums, totals = _log_sums(self.kernel, points, self.points, self.weights, own)
        return np.minimum(np.log(totals) - sums + self.log_normalizer, _LARGEST)


def _log_sums(
    kernel: Kernel, points: Points, reference: Points, weights: Array, own: Array | None = None
) -> tuple[Array, Array]:
    """Return ``log Σ_j w_j k(x_i, y_j)`` and the total weight ``Σ_j w_j`` for every row i.

    ``own``: index of each row among the reference rows, or -1: one unit of its weight is left out.
    """
    totals = np.full(points.n, weights.sum())
    if own is None:
        return log_cross_sums(kernel, points, reference, weights)[1], totals
    tiles = kernel.log_tiles(points.data, reference.data)
    sums = np.empty(points.n)
    for rows in row_ranges(points.n, 2**20 // max(reference.n, 1)):
        logs = tiles(rows, slice(0, reference.n), None).astype(np.float64, copy=False)
        mine = own[rows]
        at = np.flatnonzero(mine >= 0)
        others = np.tile(weights, (len(logs), 1))
        others[at, mine[at]] -= np.minimum(others[at, mine[at]], 1)
        totals[rows] = others.sum(axis=1)
        with np.errstate(divide="ignore"):  # the only row
            sums[rows] = logsumexp(logs, axis=1, b=others)
    return sums, totals


def _positions(rows: Array, n: int) -> Array:
    """Return the position of 0, …, n - 1 among the rows, or -1."""
    positions = np.full(n, -1)
    positions[rows] = np.arange(len(rows))
    return positions
