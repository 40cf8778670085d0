"""Calibration of control charts on held-out blocks of normal operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.estimators.process_distance import KernelDistance
from mercer.kernels import Kernel
from mercer.maths.block_calibration import held_out_blocks
from mercer.maths.control_charts import cusum, ewma
from mercer.maths.run_lengths import (
    conformal_quantile,
    correlation_time,
    predictive_quantile,
    run_length_limit,
)
from mercer.maths.types import Array

__all__ = ["CHARTS", "Calibration", "held_out_distances"]

CHARTS = ("statistic", "ewma", "cusum")
_N_BLOCKS = 10
_MIN_GAP = 10  # rows between a block and the training rows
_BLOCK_LENGTH = 3  # of the simulated runs, in correlation times


def held_out_distances(Z: Array, kernel: str | Kernel, n_lags: int) -> Array:
    """Return the distance of each row from a model fitted without its block of rows."""
    gap = min(max(n_lags, _MIN_GAP), len(Z) // (4 * _N_BLOCKS))
    result = np.empty(len(Z))
    for training, block in held_out_blocks(len(Z), _N_BLOCKS, gap):
        result[block] = KernelDistance.fit(Z[training], kernel)(Z[block])
    return result


@dataclass(frozen=True)
class Calibration:
    """Scale of the statistic, and limits of the charts.

    The score of a row is the cube root of its distance, standardized by mean and standard deviation
    of held-out rows; cube roots of squared distances are nearly normal (Wilson and Hilferty 1931).

    Attributes
    ----------
    center, scale : float
        Mean and standard deviation of the cube roots.
    smoothing, allowance : float
        Of EWMA and CUSUM.
    limits : dict
        Limit of each chart, on the scale of the scores.
    correlation_time : float
        Rows per independent observation of the statistic.
    """

    center: float
    scale: float
    smoothing: float
    allowance: float
    limits: dict[str, float]
    correlation_time: float

    @classmethod
    def of(
        cls,
        distances: Array,
        *,
        smoothing: float,
        allowance: float,
        false_alarm_rate: float,
        average_run_length: float | None,
    ) -> Calibration:
        """Set the limits from held-out distances of normal operation, in time order."""
        roots = np.cbrt(distances)
        center, scale = float(roots.mean()), float(roots.std(ddof=1))
        scale = scale if scale > 0 else 1.0
        scores = (roots - center) / scale
        tau = correlation_time(scores)
        charts: dict[str, Callable[[Array], Array]] = {
            "statistic": lambda s: s,
            "ewma": lambda s: ewma(s, smoothing),
            "cusum": lambda s: cusum(s, allowance),
        }
        limits = {}
        for name, chart in charts.items():
            if average_run_length is None:
                limits[name] = _limit(chart(scores), false_alarm_rate)
            else:
                block = int(min(np.ceil(_BLOCK_LENGTH * tau), len(scores)))
                limits[name] = run_length_limit(scores, chart, average_run_length, block)
        return cls(center, scale, smoothing, allowance, limits, tau)

    def score(self, distances: Array) -> Array:
        """Return the scores of distances."""
        return (np.cbrt(distances) - self.center) / self.scale

    @property
    def distance_limit(self) -> float:
        """Limit of the distance itself."""
        return float((self.center + self.scale * self.limits["statistic"]) ** 3)


def _limit(values: Array, rate: float) -> float:
    """Return a limit that a fraction ``rate`` of new values exceeds, on average.

    The larger one of two limits: the conformal quantile, which needs no distribution but many
    independent rows, and the prediction limit of a normal sample of as many rows as are independent.
    """
    independent = len(values) / correlation_time(values)
    limits = [predictive_quantile(values, rate, independent)]
    empirical = conformal_quantile(values, rate)
    return max([*limits, empirical] if np.isfinite(empirical) else limits)
