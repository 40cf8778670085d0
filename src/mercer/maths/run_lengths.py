"""Control limits of charts from a sample of scores in normal operation.

A limit is set by one of two promises: the fraction of normal rows above it, or the average run
length, which is the mean number of rows until the first one above it. Scores may be autocorrelated,
so runs are drawn from the sample in blocks of consecutive rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np
from scipy.stats import t as student

from mercer.maths.types import Array

__all__ = [
    "average_run_lengths",
    "block_paths",
    "conformal_quantile",
    "correlation_time",
    "predictive_quantile",
    "run_length_limit",
]

_MAX_RUN = 5  # lengths of simulated runs, in average run lengths


def correlation_time(values: Array) -> float:
    """Return ``τ = 1 + 2 Σ ρ_k``, the number of rows per independent observation.

    The sum ends at the first pair of neighboring lags with a negative sum (Geyer's initial positive
    sequence). Independent values have τ ≈ 1; τ is at least 1.

    References
    ----------
    Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7:473-483 (1992).

    Examples
    --------
    >>> correlation_time(np.array([1.0, -1.0] * 50))
    1.0
    """
    n = len(values)
    centered = values - values.mean()
    size = 2 ** int(np.ceil(np.log2(2 * max(n, 2))))
    power = np.abs(np.fft.rfft(centered, size)) ** 2
    covariances = np.fft.irfft(power, size)[:n]
    if covariances[0] <= 0:
        return 1.0
    rho = covariances / covariances[0]
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    used = pairs[: ends[0] if len(ends) else len(pairs)]
    return float(max(1.0, 2 * used.sum() - 1))


def conformal_quantile(values: Array, rate: float) -> float:
    """Return the value that a new exchangeable one exceeds with probability at most ``rate``.

    This is the order statistic of rank ``⌈(n + 1)(1 - rate)⌉``, infinity if the sample is smaller
    than ``1/rate - 1``.

    >>> conformal_quantile(np.arange(99.0), 0.05)
    94.0
    """
    n = len(values)
    rank = ceil((n + 1) * (1 - rate) * (1 - 1e-12))
    return float("inf") if rank > n else float(np.partition(values, rank - 1)[rank - 1])


def predictive_quantile(values: Array, rate: float, n_independent: float) -> float:
    """Return the upper prediction limit of a normal sample with fewer independent observations.

    ``mean + t · s · √(1 + 1/m)`` with the quantile t of Student's distribution with m - 1 degrees
    of freedom, m = ``n_independent``: a new value exceeds it with probability ``rate``, including
    the error of mean and standard deviation.

    >>> round(predictive_quantile(np.array([-1.0, 0.0, 1.0]), 0.05, 3.0), 3)
    3.372
    """
    m = max(n_independent, 2.0)
    return float(
        values.mean()
        + student.isf(rate, m - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / m)
    )


def block_paths(
    scores: Array, length: int, n_paths: int, block: int, rng: np.random.Generator
) -> Array:
    """Return paths of consecutive blocks drawn from the scores, of shape (n_paths, length).

    The scores are treated as circular, so all of them are drawn with the same probability.

    References
    ----------
    Politis and Romano, "A circular block-resampling procedure for stationary data" (1992).

    Examples
    --------
    >>> block_paths(np.arange(6.0), 4, 1, 2, np.random.default_rng(0)).shape
    (1, 4)
    """
    count = -(-length // block)
    begins = rng.integers(len(scores), size=(n_paths, count, 1))
    rows = (begins + np.arange(block)) % len(scores)
    return np.asarray(scores[rows.reshape(n_paths, -1)[:, :length]])


def average_run_lengths(paths: Array, limits: Array) -> Array:
    """Return the average run length of charts for each limit.

    A path that ends before its first alarm counts with the rate of the others: the estimate is the
    number of rows observed divided by the number of alarms, exact for a constant alarm rate.

    Parameters
    ----------
    paths : array of shape (n_paths, length)
        Values of the chart.
    limits : array of shape (m,)
        Increasing.

    Returns
    -------
    array of shape (m,)
        Infinity where no path has an alarm.

    Examples
    --------
    >>> average_run_lengths(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([1.0, 2.5]))
    array([1.5, 3. ])
    """
    highest = np.maximum.accumulate(paths, axis=1)
    rows = np.zeros(len(limits))
    alarms = np.zeros(len(limits))
    for path in highest:
        first = np.searchsorted(path, limits, side="right")  # rows before the first alarm
        ended = first < len(path)
        rows += np.where(ended, first + 1, len(path))
        alarms += ended
    with np.errstate(divide="ignore"):
        return np.where(alarms > 0, rows / np.maximum(alarms, 1), np.inf)


def run_length_limit(
    scores: Array,
    chart: Callable[[Array], Array],
    average_run_length: float,
    block: int,
    *,
    n_paths: int = 400,
    random_state: int = 0,
) -> float:
    """Return the limit at which a chart has the given average run length in normal operation.

    Parameters
    ----------
    scores : array of shape (n,)
        Of normal operation, in time order.
    chart : callable
        Maps scores of shape (n_paths, length) to the values of the chart.
    average_run_length : float
    block : int
        Length of the blocks, a multiple of the correlation time.
    n_paths : int
        Number of simulated runs.
    random_state : int
        Seed of the simulation.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=20_000)
    >>> limit = run_length_limit(scores, lambda s: s, 100.0, 1)
    >>> abs(limit - 2.33) < 0.1  # the normal quantile of 1 - 1/100
    True
    """
    rng = np.random.default_rng(random_state)
    length = ceil(_MAX_RUN * average_run_length)
    paths = chart(block_paths(scores, length, n_paths, block, rng))
    candidates = np.unique(np.maximum.accumulate(paths, axis=1))
    if len(candidates) > 2000:
        candidates = np.quantile(candidates, np.linspace(0, 1, 2000))
    lengths = average_run_lengths(paths, candidates)
    reached = np.flatnonzero(lengths >= average_run_length)
    return float(candidates[reached[0]]) if len(reached) else float(candidates[-1])
