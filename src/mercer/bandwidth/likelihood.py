"""The bandwidth that maximizes the leave-one-out likelihood of a density."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.kernels import Gaussian, Stationary
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import nearest_distances
from mercer.utils.types import Array

__all__ = [
    "leave_one_out_likelihood",
    "most_likely_bandwidth",
    "most_likely_factor",
    "refined_factor",
    "search_range",
]

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
    >>> from mercer.bandwidth.likelihood import most_likely_bandwidth
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(most_likely_bandwidth(Gaussian(), X, np.ones(500), 1.0), 2)
    0.3
    """
    low, high = search_range(X, extent)
    # at the smallest bandwidth, rounding errors of the exponents are visible
    score = leave_one_out_likelihood(kernel.with_bandwidth(low), X, weights)
    return low * most_likely_factor(score, 1.0, high / low)[0]


def search_range(X: Array, extent: float) -> tuple[float, float]:
    """Return the smallest and the largest bandwidth to try for distinct points."""
    nearest = np.sort(nearest_distances(X))
    low = max(0.1 * float(np.median(nearest)), 1e-3 * float(nearest[-1]))
    return low, 2 * max(extent, float(nearest[-1]))


def most_likely_factor(
    score: Callable[[float], float], low: float, high: float, tolerance: float = 1e-4
) -> tuple[float, float]:
    """Return the argument in an interval at which a score is largest, and the score.

    The best of 25 trials is refined, so a score may have several local maxima.

    Parameters
    ----------
    score : callable
    low, high : float
    tolerance : float
        Of the logarithm of the argument.
    """
    trials = np.linspace(log(low), log(high), _N_TRIALS)
    scores = [score(float(np.exp(trial))) for trial in trials]
    best = int(np.argmax(scores))
    below, above = trials[max(best - 1, 0)], trials[min(best + 1, _N_TRIALS - 1)]
    return refined_factor(score, float(np.exp(below)), float(np.exp(above)), tolerance)


def refined_factor(
    score: Callable[[float], float], low: float, high: float, tolerance: float
) -> tuple[float, float]:
    """Return the argument in an interval at which a unimodal score is largest, and the score."""
    found = minimize_scalar(
        lambda at: -score(float(np.exp(at))),
        bounds=(log(low), log(high)),
        method="bounded",
        options={"xatol": tolerance},
    )
    return float(np.exp(found.x)), -float(found.fun)


def leave_one_out_likelihood(
    kernel: Stationary, X: Array, weights: Array, *, single: bool = False
) -> Callable[[float], float]:
    """Return the mean leave-one-out log density as a function of a factor on the bandwidths.

    Parameters
    ----------
    kernel : Stationary
        A fitted kernel.
    X : array of shape (n, d)
        Distinct points.
    weights : array of shape (n,)
    single : bool
        Compute exponentials in single precision: a third of the time, with errors of about 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> score = leave_one_out_likelihood(Gaussian(1.0), np.array([[0.0], [2.0]]), np.ones(2))
    >>> bool(round(score(2.0), 4) == round(-0.5 - np.log(2 * np.sqrt(2 * np.pi)), 4))
    True
    """
    log_weights = np.log(weights)
    log_rest = np.log(weights.sum() - weights)
    exponents = _log_kernel(kernel, X) if isinstance(kernel, Gaussian) else None

    def score(factor: float) -> float:
        scaled: Stationary = kernel.scale_bandwidths(factor)  # type: ignore[assignment]
        # a Gaussian's exponents are divided by factor²; other kernels are evaluated again
        logs = _log_kernel(scaled, X) if exponents is None else exponents / factor / factor
        logs += log_weights
        np.fill_diagonal(logs, -np.inf)
        top = logs.max(axis=1)
        if np.isneginf(top).any():
            return -np.inf
        logs -= top[:, None]
        if single:
            with np.errstate(over="ignore"):  # exponents below the range of single precision
                values = logs.astype(np.float32)
            sums = np.log(exponentials(values).sum(axis=1, dtype=np.float64)) + top
        else:
            sums = np.log(exponentials(logs).sum(axis=1)) + top
        mean = float(weights @ (sums - log_rest)) / float(weights.sum())
        return mean - scaled.log_normalizer(X.shape[1])

    return score


def _log_kernel(kernel: Stationary, X: Array) -> Array:
    """Return log k between all points."""
    tiles = kernel.log_tiles(X, X.copy())  # a copy: X and itself would be the same points
    logs = np.empty((len(X), len(X)))
    for first in range(0, len(X), _ROWS_PER_BLOCK):
        rows = slice(first, min(first + _ROWS_PER_BLOCK, len(X)))
        logs[rows] = tiles(rows, slice(0, len(X)), None)
    return logs
