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
_MIN_INDEPENDENT = 12  # observations; with fewer, measured false alarms exceed the promise


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

    ``start``: row at which the fault begins. ``n_consecutive``: number of alarms in a row that
    count as a detection; the delay is that of the last of them.
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

    ``scores``: standardized. ``block``: length of the blocks. ``independent``: number of
    independent observations among the scores; inf for paths without random scale and level.

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
    degrees = max(independent / 3 - 1, 2.0)
    scales = np.sqrt(degrees / rng.chisquare(degrees, size=(n_paths, 1)))
    levels = np.sqrt(2 / independent) * rng.normal(size=(n_paths, 1))
    return np.asarray(scales * (paths + levels))


def average_run_lengths(paths: Array, limits: Array) -> Array:
    """Return the average run length of charts for each limit.

    A path that ends before its first alarm counts with the rate of the others: the estimate is the
    number of rows observed divided by the number of alarms, exact for a constant alarm rate.

    ``paths``: values of the chart. ``limits``: increasing. Infinity where no path has an alarm.
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

    ``paths``: values of the chart in normal operation, from its start. They should be several
    average run lengths long.
    """
    candidates = np.unique(np.maximum.accumulate(paths, axis=1))
    if len(candidates) > 2000:
        candidates = np.quantile(candidates, np.linspace(0, 1, 2000))
    lengths = average_run_lengths(paths, candidates)
    reached = np.flatnonzero(lengths >= average_run_length)
    return float(candidates[reached[0]]) if len(reached) else float(candidates[-1])


# --- calibration ------------------------------------------------------------------------------


def held_out_distances(Z: Array, kernel: str | Kernel, n_lags: int) -> Array:
    """Return the distance of each row from a model fitted without its block of rows."""
    gap = min(max(n_lags, 10), len(Z) // (4 * _N_BLOCKS))
    result = np.empty(len(Z))
    for training, block in held_out_blocks(len(Z), _N_BLOCKS, gap):
        result[block] = KernelDistance.fit(Z[training], kernel)(Z[block])
    return result


@dataclass(frozen=True)
class ChartCalibration:
    """Scale of the statistic, and limits of the charts.

    The score of a row is the cube root of its distance, standardized by mean and standard deviation
    of held-out rows; cube roots of squared distances are nearly normal (Wilson and Hilferty 1931).

    ``center``, ``scale``: mean and standard deviation of the cube roots. ``smoothing``,
    ``allowance``: of EWMA and CUSUM; the allowance is multiplied by the root of the correlation
    time, at most by 3.
    """

    center: float
    scale: float
    smoothing: float
    allowance: float
    limits: dict[str, float]  # limit of each chart, on the scale of the scores
    correlation_time: float  # rows per independent observation of the statistic
    independent: float  # number of independent observations

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
        allowance = allowance * min(float(np.sqrt(tau)), 3.0)
        independent = max(len(scores) / tau, 3.0)
        length = 1000 if average_run_length is None else min(ceil(5 * average_run_length), 10_000)
        # weak, slow changes of the scores accumulate in EWMA and CUSUM: blocks of 60 rows
        paths = block_paths(
            scores,
            length,
            max(100, 400_000 // length),
            block=int(min(max(ceil(3 * tau), 60), len(scores))),
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
