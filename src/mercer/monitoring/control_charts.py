"""Control charts of a series of scores, and their limits from a sample of normal operation.

A limit is set by one of two promises: the fraction of normal rows above it, or the average run
length, which is the mean number of rows until the first one above it. Scores may be autocorrelated,
so runs are drawn from the sample in blocks of consecutive rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.signal import lfilter

from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Kernel
from mercer.monitoring.process_data import held_out_blocks
from mercer.monitoring.process_distance import KernelDistance
from mercer.utils.types import Array

__all__ = [
    "CHARTS",
    "ChartCalibration",
    "average_run_lengths",
    "block_paths",
    "correlation_time",
    "cusum",
    "detection_delay",
    "ewma",
    "held_out_distances",
    "run_length_limit",
]

CHARTS = ("statistic", "ewma", "cusum")
_N_BLOCKS = 5
_MIN_GAP = 10  # rows between a block and the training rows
_MAX_FACTOR = 3.0  # of the allowance
_BLOCK_LENGTH = 3  # of simulated scores, in correlation times
_MIN_INDEPENDENT = 12  # observations; with fewer, measured false alarms exceed the promise
_MIN_BLOCK = 60  # rows: weak, slow changes of the scores accumulate in EWMA and CUSUM
_PATH = 1000  # rows of a simulated chart
_RUNS, _MAX_PATH = 5, 10_000  # the same for run lengths, in average run lengths and in rows
_SIMULATED, _MIN_PATHS = 400_000, 100  # simulated rows and charts
_MAX_CANDIDATES = 2000  # limits that are tried
_MIN_DEGREES = 2.0  # of freedom, of a random scale


def ewma(scores: Array, smoothing: float, initial: float = 0.0) -> Array:
    """Return ``e_t = smoothing · s_t + (1 - smoothing) · e_{t-1}`` with ``e_{-1} = initial``.

    The last axis is time.

    References
    ----------
    Roberts, "Control chart tests based on geometric moving averages", Technometrics 1:239-250
    (1959).
    """
    decay = 1.0 - smoothing
    start = np.full((*scores.shape[:-1], 1), decay * initial)
    return np.asarray(lfilter([smoothing], [1.0, -decay], scores, zi=start)[0])


def cusum(scores: Array, allowance: float, initial: float = 0.0) -> Array:
    """Return ``c_t = max(0, c_{t-1} + s_t - allowance)`` with ``c_{-1} = initial``.

    It is the sum of the differences minus its smallest value so far. The last axis is time.

    References
    ----------
    Page, "Continuous inspection schemes", Biometrika 41:100-115 (1954).
    """
    sums = initial + np.cumsum(scores - allowance, axis=-1)
    return np.asarray(sums - np.minimum(np.minimum.accumulate(sums, axis=-1), 0.0))


def detection_delay(alarms: Array, start: int, n_consecutive: int = 1) -> int | None:
    """Return the number of rows from ``start`` to the first alarm, None without an alarm.

    Parameters
    ----------
    alarms : array of bool
    start : int
        Row at which the fault begins.
    n_consecutive : int
        Number of alarms in a row that count as a detection; the delay is that of the last of them.
    """
    after = np.asarray(alarms, dtype=bool)[start:]
    if n_consecutive > 1:
        counts = np.convolve(after, np.ones(n_consecutive, dtype=int))[: len(after)]
        found = np.flatnonzero(counts >= n_consecutive)
    else:
        found = np.flatnonzero(after)
    return int(found[0]) if len(found) else None


# --- run lengths ------------------------------------------------------------------------------


def correlation_time(values: Array, n_blocks: int = 10) -> float:
    """Return τ, the number of rows per independent observation, at least 1.

    The variance of the mean of n values is τ/n times their variance. τ is the larger one of two
    estimates: ``1 + 2 Σ ρ_k``, where the sum of autocorrelations ends at the first pair of lags
    with a negative sum (Geyer's initial positive sequence), and the variance of the means of
    ``n_blocks`` blocks, which sees slower changes.

    References
    ----------
    Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7:473-483 (1992).
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
    """
    candidates = np.unique(np.maximum.accumulate(paths, axis=1))
    if len(candidates) > _MAX_CANDIDATES:
        candidates = np.quantile(candidates, np.linspace(0, 1, _MAX_CANDIDATES))
    lengths = average_run_lengths(paths, candidates)
    reached = np.flatnonzero(lengths >= average_run_length)
    return float(candidates[reached[0]]) if len(reached) else float(candidates[-1])


# --- calibration ------------------------------------------------------------------------------


def held_out_distances(Z: Array, kernel: str | Kernel, n_lags: int) -> Array:
    """Return the distance of each row from a model fitted without its block of rows."""
    gap = min(max(n_lags, _MIN_GAP), len(Z) // (4 * _N_BLOCKS))
    result = np.empty(len(Z))
    for training, block in held_out_blocks(len(Z), _N_BLOCKS, gap):
        result[block] = KernelDistance.fit(Z[training], kernel)(Z[block])
    return result


@dataclass(frozen=True)
class ChartCalibration:
    """Scale of the statistic, and limits of the charts.

    The score of a row is the cube root of its distance, standardized by mean and standard deviation
    of held-out rows; cube roots of squared distances are nearly normal (Wilson and Hilferty 1931).

    Attributes
    ----------
    center, scale : float
        Mean and standard deviation of the cube roots.
    smoothing, allowance : float
        Of EWMA and CUSUM; the allowance is multiplied by the root of the correlation time,
        at most by 3.
    limits : dict
        Limit of each chart, on the scale of the scores.
    correlation_time : float
        Rows per independent observation of the statistic.
    independent : float
        Number of independent observations.
    """

    center: float
    scale: float
    smoothing: float
    allowance: float
    limits: dict[str, float]
    correlation_time: float
    independent: float

    @classmethod
    def of(
        cls,
        distances: Array,
        *,
        slowest: float,
        smoothing: float,
        allowance: float,
        false_alarm_rate: float,
        average_run_length: float | None,
    ) -> ChartCalibration:
        """Set the limits from held-out distances of normal operation, in time order.

        ``slowest`` is the longest correlation time of a column. The distance contains squares of
        the columns, and the square of an autoregression has half its correlation time: the
        correlation time of the distance, which few rows underestimate, is at least that.
        """
        roots = np.cbrt(distances)
        center, scale = float(roots.mean()), float(roots.std(ddof=1))
        scale = scale if scale > 0 else 1.0
        scores = (roots - center) / scale
        tau = max(correlation_time(scores), slowest / 2)
        allowance = allowance * min(float(np.sqrt(tau)), _MAX_FACTOR)
        independent = max(len(scores) / tau, 3.0)
        runs = ceil(_RUNS * (average_run_length or 0))
        length = min(runs, _MAX_PATH) if average_run_length is not None else _PATH
        paths = block_paths(
            scores,
            length,
            max(_MIN_PATHS, _SIMULATED // length),
            block=int(min(max(ceil(_BLOCK_LENGTH * tau), _MIN_BLOCK), len(scores))),
            independent=independent,
            rng=np.random.default_rng(0),
        )
        charts = {
            "statistic": paths,
            "ewma": ewma(paths, smoothing),
            "cusum": cusum(paths, allowance),
        }
        limits = {
            name: float(np.quantile(values, 1 - false_alarm_rate))
            if average_run_length is None
            else run_length_limit(values, average_run_length)
            for name, values in charts.items()
        }
        return cls(center, scale, smoothing, allowance, limits, tau, independent)

    def warn_if_few_observations(self) -> None:
        """Warn if the limits rest on so few observations that they may not hold."""
        if self.independent >= _MIN_INDEPENDENT:
            return
        tau, n = self.correlation_time, self.independent * self.correlation_time
        warn(
            f"{n:.0f} rows of normal operation hold about {self.independent:.0f} independent "
            f"observations (correlation time {tau:.0f} rows), so false alarms may exceed the "
            f"promise. Pass at least {ceil(2 * _MIN_INDEPENDENT * tau)} rows.",
            ApproximationWarning,
        )

    def score(self, distances: Array) -> Array:
        """Return the scores of distances."""
        return (np.cbrt(distances) - self.center) / self.scale

    @property
    def distance_limit(self) -> float:
        """Limit of the distance itself."""
        return float((self.center + self.scale * self.limits["statistic"]) ** 3)
