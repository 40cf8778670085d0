"""Calibration of control charts on held-out blocks of normal operation."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Kernel
from mercer.monitoring.block_calibration import held_out_blocks
from mercer.monitoring.control_charts import cusum, ewma
from mercer.monitoring.process_distance import KernelDistance
from mercer.monitoring.run_lengths import block_paths, correlation_time, run_length_limit
from mercer.utils.types import Array

__all__ = ["CHARTS", "ChartCalibration", "held_out_distances"]

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
