"""Control limits of charts from a sample of scores in normal operation.

A limit is set by one of two promises: the fraction of normal rows above it, or the average run
length, which is the mean number of rows until the first one above it. Scores may be autocorrelated,
so runs are drawn from the sample in blocks of consecutive rows.
"""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "average_run_lengths",
    "block_paths",
    "correlation_time",
    "run_length_limit",
]

_MAX_CANDIDATES = 2000  # limits that are tried
_MIN_DEGREES = 2.0  # of freedom, of a random scale


def correlation_time(values: Array, n_blocks: int = 10) -> float:
    """Return τ, the number of rows per independent observation, at least 1.

    The variance of the mean of n values is τ/n times their variance. τ is the larger one of two
    estimates: ``1 + 2 Σ ρ_k``, where the sum of autocorrelations ends at the first pair of lags
    with a negative sum (Geyer's initial positive sequence), and the variance of the means of
    ``n_blocks`` blocks, which sees slower changes.

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
    covariances = np.fft.irfft(np.abs(np.fft.rfft(centered, size)) ** 2, size)[:n]
    if covariances[0] <= 0:
        return 1.0
    rho = covariances / covariances[0]
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    used = pairs[: ends[0] if len(ends) else len(pairs)]
    length = n // n_blocks
    means = values[: length * n_blocks].reshape(n_blocks, length).mean(axis=1)
    between = length * means.var(ddof=1) / values.var() if length > 1 else 1.0
    return float(max(1.0, 2 * used.sum() - 1, between))


def block_paths(
    scores: Array,
    length: int,
    n_paths: int,
    *,
    block: int,
    independent: float,
    rng: np.random.Generator,
) -> Array:
    """Return simulated series of scores of normal operation, of shape (n_paths, length).

    A path consists of blocks of consecutive scores, drawn at random places (circular block
    bootstrap). Mean and variance of the sample are not those of the process, and a limit must allow
    for the difference. Each path is therefore ``σ (scores + δ)`` with random scale and level, as in
    the predictive distribution of a normal sample: ``ν/σ²`` has a χ² distribution with ν degrees of
    freedom, and δ a normal one with variance ``2 / independent``, since the levels of the sample
    and of new rows both vary. ν is a third of ``independent``, which is itself an estimate.

    Parameters
    ----------
    scores : array of shape (n,)
        Standardized.
    length, n_paths : int
    block : int
        Length of the blocks.
    independent : float
        Number of independent observations among the scores; inf for paths without random scale
        and level.
    rng : numpy Generator

    References
    ----------
    Politis and Romano, "A circular block-resampling procedure for stationary data" (1992).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> block_paths(np.arange(6.0), 4, 1, block=2, independent=9.0, rng=rng).shape
    (1, 4)
    """
    count = -(-length // block)
    begins = rng.integers(len(scores), size=(n_paths, count, 1))
    rows = (begins + np.arange(block)) % len(scores)
    paths = scores[rows.reshape(n_paths, -1)[:, :length]]
    if np.isinf(independent):
        return np.asarray(paths)
    degrees = max(independent / 3 - 1, _MIN_DEGREES)
    scales = np.sqrt(degrees / rng.chisquare(degrees, size=(n_paths, 1)))
    levels = np.sqrt(2 / independent) * rng.normal(size=(n_paths, 1))
    return np.asarray(scales * (paths + levels))


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


def run_length_limit(paths: Array, average_run_length: float) -> float:
    """Return the smallest limit at which charts have at least the given average run length.

    Parameters
    ----------
    paths : array of shape (n_paths, length)
        Values of the chart in normal operation, from its start. They should be several average run
        lengths long.
    average_run_length : float

    Examples
    --------
    >>> paths = np.random.default_rng(0).normal(size=(400, 500))
    >>> limit = run_length_limit(paths, 100.0)
    >>> abs(limit - 2.33) < 0.1  # the normal quantile of 1 - 1/100
    True
    """
    candidates = np.unique(np.maximum.accumulate(paths, axis=1))
    if len(candidates) > _MAX_CANDIDATES:
        candidates = np.quantile(candidates, np.linspace(0, 1, _MAX_CANDIDATES))
    lengths = average_run_lengths(paths, candidates)
    reached = np.flatnonzero(lengths >= average_run_length)
    return float(candidates[reached[0]]) if len(reached) else float(candidates[-1])
