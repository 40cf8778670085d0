"""Control charts of batches that follow each other, in constant memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.monitoring.control_charts import cusum, ewma
from mercer.monitoring.lagged_rows import lagged_rows
from mercer.utils.types import Array

if TYPE_CHECKING:
    from mercer.monitoring.process_monitor import ProcessMonitor

__all__ = ["MonitoringStream"]

_CHUNK = 16_384  # rows whose lagged rows are in memory at the same time


class MonitoringStream:
    """Control charts of batches of a process.

    Created by :meth:`mercer.ProcessMonitor.stream`. The stream remembers the last rows for the
    lags, and the values of EWMA and CUSUM.

    Parameters
    ----------
    monitor : ProcessMonitor
        Fitted.
    """

    def __init__(self, monitor: ProcessMonitor) -> None:
        self._monitor = monitor
        self._history: Array | None = None
        self._last_time: float | None = None
        self._ewma = self._cusum = 0.0

    def update(self, X: Any) -> Any:
        """Return the charts of the next rows, as :meth:`mercer.ProcessMonitor.monitor` does.

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame
            Rows that follow those of the previous call.
        """
        monitor = self._monitor
        rows = monitor._read_new(X)
        starts = monitor._starts(rows)
        if self._history is not None:
            starts[0] = monitor._pauses(rows.times, self._last_time)
        if rows.times is not None and len(rows.times):
            self._last_time = float(rows.times[-1])
        distances = np.empty(len(rows.values))
        for begin in range(0, len(distances), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            distances[part] = self._distances(rows.values[part], starts[part])
        return self._frame(distances, rows.index)

    def _distances(self, values: Array, starts: Array) -> Array:
        monitor = self._monitor
        n_lags = monitor.n_lags_
        X = monitor._standardized(values)
        past = np.full((n_lags, X.shape[1]), np.nan) if self._history is None else self._history
        Z = lagged_rows(X, n_lags, starts, past)
        distances = monitor.distance_(Z)
        distances[np.isnan(X).all(axis=1)] = np.nan
        last = np.flatnonzero(starts)
        recent = np.concatenate([past, X]) if not len(last) else X[last[-1] :]
        missing = max(0, n_lags - len(recent))
        padding = np.full((missing, X.shape[1]), np.nan)
        self._history = np.concatenate([padding, recent])[missing + len(recent) - n_lags :].copy()
        return distances

    def _frame(self, distances: Array, index: Any) -> Any:
        import pandas as pd

        monitor = self._monitor
        calibration = monitor.calibration_
        observed = ~np.isnan(distances)
        scores = calibration.score(distances[observed])
        series = {}
        for name, values in (
            ("ewma", ewma(scores, calibration.smoothing, self._ewma)),
            ("cusum", cusum(scores, calibration.allowance, self._cusum)),
        ):
            initial = self._ewma if name == "ewma" else self._cusum
            # a row without a value repeats the chart of the row before it
            series[name] = np.concatenate([[initial], values])[np.cumsum(observed)]
        if len(distances):
            self._ewma, self._cusum = float(series["ewma"][-1]), float(series["cusum"][-1])
        columns: dict[str, Any] = {"statistic": distances}
        limits = monitor.limits_
        for name in ("statistic", "ewma", "cusum"):
            values = columns.setdefault(name, series.get(name, distances))
            columns["limit" if name == "statistic" else f"{name}_limit"] = limits[name]
            with np.errstate(invalid="ignore"):
                columns[f"{name}_alarm"] = values > limits[name]
        columns["alarm"] = columns[f"{monitor.chart}_alarm"]
        return pd.DataFrame(columns, index=index)
