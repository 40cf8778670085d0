"""The bandwidth that maximizes the leave-one-out likelihood of a density."""

from __future__ import annotations

from math import log

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.kernels import Stationary
from mercer.maths.pairwise import nearest_distances
from mercer.maths.types import Array

__all__ = ["most_likely_bandwidth"]

_ROWS_PER_BLOCK = 256
_N_TRIALS = 25  # bandwidths tried before the best of them is refined


def most_likely_bandwidth(kernel: Stationary, X: Array, weights: Array, extent: float) -> float:
    """Return the bandwidth that maximizes the leave-one-out likelihood of distinct points.

    Parameters
    ----------
    kernel : Stationary
        Its own bandwidth is not used.
    X : array of shape (n, d)
    weights : array of shape (n,)
    extent : float
        Half of the largest bandwidth that is tried.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth_likelihood import most_likely_bandwidth
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(most_likely_bandwidth(Gaussian(), X, np.ones(500), 1.0), 2)
    0.3
    """

    def cost(log_bandwidth: float) -> float:
        candidate = kernel.with_bandwidth(float(np.exp(log_bandwidth)))
        return -_likelihood(candidate, X, weights)

    nearest = np.sort(nearest_distances(X))
    low = log(max(0.1 * float(np.median(nearest)), 1e-3 * float(nearest[-1])))
    high = log(2 * max(extent, float(nearest[-1])))
    trials = np.linspace(low, high, _N_TRIALS)
    costs = [cost(trial) for trial in trials]
    best = int(np.argmin(costs))
    around = trials[max(best - 1, 0)], trials[min(best + 1, _N_TRIALS - 1)]
    refined = minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(refined.x))


def _likelihood(kernel: Stationary, X: Array, weights: Array) -> float:
    """Mean log density of distinct points given the others; -inf if it is 0 at one of them."""
    tiles = kernel.log_tiles(X, X.copy())  # a copy: X and itself would be the same points
    log_weights, total = np.log(weights), 0.0
    for first in range(0, len(X), _ROWS_PER_BLOCK):
        rows = slice(first, min(first + _ROWS_PER_BLOCK, len(X)))
        logs = tiles(rows, slice(0, len(X)), None)
        logs += log_weights
        logs[np.arange(len(logs)), np.arange(rows.start, rows.stop)] = -np.inf
        top = logs.max(axis=1)
        if np.isneginf(top).any():
            return -np.inf
        sums = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top
        total += float(weights[rows] @ (sums - np.log(weights.sum() - weights[rows])))
    return total / float(weights.sum()) - kernel.log_normalizer(X.shape[1])
