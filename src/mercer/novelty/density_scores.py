r"""Leave-one-out density scores: how dissimilar each row is to all others.

The score of row i is minus the logarithm of its mean similarity to the other rows,

.. math:: s_i = -\log \frac{1}{n - 1} \sum_{j \ne i} k(x_i, x_j).

It is defined for every kernel with :math:`k(x, x) = 1`. For a density kernel,
:math:`-s_i - \log \int k` is the log density at :math:`x_i` of the Parzen estimate from the other
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from mercer.data.points import Points, Sample
from mercer.density.parzen_density import ParzenDensity
from mercer.errors import suppress_warnings
from mercer.gram.expansion import log_cross_sums
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = ["NegativeLogDensity", "leave_one_out_scores", "log_sums", "mean_similarity_scores"]

_LARGEST = 1e300  # score of rows with similarity 0 to all others
_ISOLATED_BLOCK = 5000  # isolated rows that are compared pair by pair


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
        sums, totals = log_sums(self.kernel, points, self.points, self.weights, own)
        return np.minimum(np.log(totals) - sums + self.log_normalizer, _LARGEST)


def log_sums(
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


@ignore_underflow
def leave_one_out_scores(data: Any, kernel: Kernel, reference: Array | None = None) -> Array:
    """Return minus the logarithm of each row's mean similarity to the other rows.

    ``data``: for an array the kernel must be a density kernel (Gaussian, Laplacian, Matern or a sum
    of them). ``kernel``: a fitted kernel with k(x, x) = 1. ``reference``: indices of the rows to
    compare with, without repetition; None for all.
    """
    n = len(data)
    reference = np.arange(n) if reference is None else np.asarray(reference)
    if len(reference) < 2:
        raise ValueError(
            f"Leave-one-out scores require at least 2 reference rows; got {len(reference)}."
        )
    if not hasattr(data, "iloc"):
        return _vector_scores(data, kernel, reference)
    points, ones = Points(data, "objects"), np.ones(len(reference))
    own = _positions(reference, n)
    sums, totals = log_sums(kernel, points, points.take(reference), ones, own)
    return np.minimum(np.log(totals) - sums, _LARGEST)


@ignore_underflow
def mean_similarity_scores(data: Any, kernel: Kernel, reference: Any) -> Array:
    """Return minus the logarithm of each row's mean similarity to the reference rows.

    ``data, reference``: shape (n, d). ``kernel``: as in :func:`leave_one_out_scores`.
    """
    if hasattr(data, "iloc"):
        new, points = Points(data, "objects"), Points(reference, "objects")
        sums, totals = log_sums(kernel, new, points, np.ones(points.n))
        return np.minimum(np.log(totals) - sums, _LARGEST)
    return -_log_means(data, reference, kernel)


def _positions(rows: Array, n: int) -> Array:
    """Return the position of 0, …, n - 1 among the rows, or -1."""
    positions = np.full(n, -1)
    positions[rows] = np.arange(len(rows))
    return positions


def _log_means(data: Array, reference: Array, kernel: Kernel) -> Array:
    """Return the logarithm of the mean similarity to the reference rows, without underflow.

    A density of many rows in few columns is computed from Fourier sums.
    """
    with suppress_warnings():  # the kernel is given
        density = ParzenDensity(kernel=kernel).fit(reference)
        blocks = [density.score_samples(data[rows]) for rows in row_ranges(len(data), 100_000)]
    return np.asarray(np.concatenate(blocks) + kernel.log_normalizer(data.shape[1]))


def _vector_scores(data: Array, kernel: Kernel, reference: Array) -> Array:
    log_means = _log_means(data, data[reference], kernel)
    m = len(reference)
    sums = m * np.exp(log_means[reference]) - 1
    isolated = reference[sums < 0.01]  # subtracting k(x, x) = 1 lost digits
    with np.errstate(divide="ignore", invalid="ignore"):
        log_means[reference] = np.log(sums / (m - 1))
    for rows in row_ranges(len(isolated), _ISOLATED_BLOCK):
        group = isolated[rows]
        # pairs within the group, without the rows themselves, and a density of all other rows
        points = Points(data[group])
        found, _ = log_sums(kernel, points, points, np.ones(len(group)), np.arange(len(group)))
        others = np.setdiff1d(reference, group)
        if len(others):
            outside = _log_means(data[group], data[others], kernel) + np.log(len(others))
            found = np.logaddexp(found, outside)
        log_means[group] = found - np.log(m - 1)
    return -log_means
