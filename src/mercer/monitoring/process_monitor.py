"""Monitoring of processes in time: control charts of a kernel distance."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.errors import IdentifiabilityWarning, InvalidParameterError, warn
from mercer.kernels import Kernel
from mercer.monitoring.control_charts import (
    CHARTS,
    ChartCalibration,
    correlation_time,
    cusum,
    detection_delay,
    ewma,
    held_out_distances,
)
from mercer.monitoring.process_data import (
    ProcessRows,
    choose_lags,
    column_statistics,
    lagged_rows,
    process_rows,
    segment_starts,
)
from mercer.monitoring.process_distance import KernelDistance
from mercer.utils.estimators import MercerBase, all_or_nothing
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real

__all__ = ["MonitoringStream", "ProcessMonitor"]

_MIN_ROWS = 50
_ROWS_PER_COLUMN = 2  # of lagged rows
_MAX_LAG_ROWS = 3000  # used to choose the number of lags


class ProcessMonitor(MercerBase, BaseEstimator):  # type: ignore[misc]
    r"""Monitor a process: control charts with a promised false-alarm rate for autocorrelated data.

    The statistic of a row is its distance from normal operation, of the row together with the
    ``n_lags`` rows before it. It is a Mahalanobis distance in the feature space of a kernel on
    whitened rows, :math:`(\varphi - m)'(C + \rho I)^{-1}(\varphi - m)`: Hotelling's T² and SPE of
    kernel PCA with all components, combined with one weight. Limits come from blocks of normal
    operation that were held out of the fit, so that they hold for new, autocorrelated rows.

    Parameters
    ----------
    n_lags : int or "auto"
        Number of earlier rows that are part of each row. "auto": the smallest number, up to 5, that
        predicts held-out rows within one standard error of the best linear prediction.
    false_alarm_rate : float in (0, 0.5)
        Fraction of the rows of normal operation with an alarm, for each chart.
    average_run_length : float or None
        Mean number of rows until the first false alarm, from the start of a chart. If given, it
        sets the limits instead of ``false_alarm_rate``.
    chart : {"ewma", "statistic", "cusum"}
        The chart that raises ``alarm``. "statistic" reacts fastest to large faults, "ewma"
        (exponentially weighted moving average) and "cusum" (cumulative sum) find smaller ones.
    smoothing : float in (0, 1]
        Weight of the newest row in the moving average.
    allowance : float
        Standard deviations that the cumulative sum subtracts in every row. It is multiplied by the
        root of ``correlation_time_``, at most by 3, because slow changes of the statistic are
        normal if it is autocorrelated.
    kernel : "auto", "linear", another name, or Kernel
        On whitened lagged rows. "auto": the linear kernel divided by the number of columns d, plus
        a Gaussian kernel of bandwidth √d/2. "linear": Mahalanobis' distance.
    time : column name or None
        Column with the times. None for a DatetimeIndex, or rows without times.
    window : int or None
        Number of the latest rows that ``partial_fit`` remembers; None for as many as ``fit`` had.

    Attributes
    ----------
    n_lags_ : int
    limits_ : dict
        Limits of "statistic", "ewma" and "cusum".
    correlation_time_ : float
        Rows per independent observation of the statistic in normal operation.
    held_out_statistics_ : array
        Statistic of the rows of normal operation, each from a model without its block of rows.
    mean_, scale_ : array of shape (n_features_in_,)
        Of each column in normal operation.
    n_features_in_, feature_names_in_

    See Also
    --------
    KernelPCA : statistics of rows that are not ordered in time.
    mercer.plots.MonitoringDisplay : charts and contributions.

    Notes
    -----
    Missing values are allowed: they are replaced by their expectation given the other values of the
    row and of the rows before it, so they do not contribute to the statistic. Constant columns are
    ignored, with a warning. A pause of more than ten median time steps begins a new segment, whose
    first rows have no earlier rows.

    Scores of EWMA and CUSUM are standardized cube roots of the statistic.

    Examples
    --------
    >>> from mercer import ProcessMonitor
    >>> from mercer.datasets import make_process
    >>> monitor = ProcessMonitor(n_lags=1).fit(make_process(1200, random_state=0))
    >>> new = make_process(200, fault="leak", fault_start=100, random_state=1)
    >>> frame = monitor.monitor(new)
    >>> bool(frame["alarm"].iloc[120:].mean() > 0.9)
    True
    >>> monitor.contributions(new.iloc[110:]).mean().idxmax()
    'outlet_flow'
    """

    def __init__(
        self,
        *,
        n_lags: int | str = "auto",
        false_alarm_rate: float = 0.01,
        average_run_length: float | None = None,
        chart: str = "ewma",
        smoothing: float = 0.1,
        allowance: float = 0.5,
        kernel: str | Kernel = "auto",
        time: Hashable | None = None,
        window: int | None = None,
    ) -> None:
        self.n_lags = n_lags
        self.false_alarm_rate = false_alarm_rate
        self.average_run_length = average_run_length
        self.chart = chart
        self.smoothing = smoothing
        self.allowance = allowance
        self.kernel = kernel
        self.time = time
        self.window = window

    # --- fitting ------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn normal operation.

        Parameters
        ----------
        X : array-like of shape (n, d) or data frame
            Rows in time order, at least 50. Missing values are allowed.
        y : ignored
        """
        self._check_parameters()
        rows = process_rows(X, self.time)
        self.n_features_in_ = rows.values.shape[1]
        if rows.is_named:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._names = rows.names
        self._n_fitted = len(rows.values)
        self._last_time = None if rows.times is None else float(rows.times[-1])
        self._fit_rows(rows.values, self._starts(rows, reset=True))
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows of normal operation and forget the oldest ones, for slow drift.

        The model and its limits are fitted again to the latest ``window`` rows. The first call
        equals ``fit``. The number of lags stays that of the first fit.

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame
            Later rows in time order, without faults.
        y : ignored
        """
        if not hasattr(self, "distance_"):
            return self.fit(X)
        self._check_parameters()
        rows = self._read_new(X)
        window = self._n_fitted if self.window is None else self.window
        starts = self._starts(rows)
        # without times, batches are assumed to follow each other
        starts[0] = self._pauses(rows.times, self._last_time)
        values = np.concatenate([self._rows, rows.values])[-window:]
        starts = np.concatenate([self._segment_starts, starts])[-window:]
        self._last_time = None if rows.times is None else float(rows.times[-1])
        self._fit_rows(values, starts, self.n_lags_)
        return self

    def _fit_rows(self, values: Array, starts: Array, n_lags: int | None = None) -> None:
        n = len(values)
        if n < _MIN_ROWS:
            raise ValueError(
                f"ProcessMonitor got {n} rows of normal operation; it needs at least {_MIN_ROWS}. "
                "Pass a longer period."
            )
        self._rows, self._segment_starts = values.copy(), starts.copy()
        self.mean_, self.scale_, self._varies = column_statistics(values, self._names)
        X = self._standardized(values)
        self.n_lags_ = self._choose_lags(X, starts) if n_lags is None else n_lags
        Z = lagged_rows(X, self.n_lags_, starts)
        known = lagged_rows(np.zeros((n, 1)), self.n_lags_, starts)
        Z = Z[~np.isnan(known).any(axis=1) & ~np.isnan(X).all(axis=1)]
        if len(Z) < _ROWS_PER_COLUMN * Z.shape[1]:
            warn(
                f"{len(Z)} rows of normal operation are few for {Z.shape[1]} columns "
                f"({X.shape[1]} with {self.n_lags_} lags). Pass a longer period or a smaller "
                "n_lags.",
                IdentifiabilityWarning,
            )
        self.held_out_statistics_ = held_out_distances(Z, self.kernel, self.n_lags_)
        self.distance_ = KernelDistance.fit(Z, self.kernel)
        self._slowest = max(map(correlation_time, np.nan_to_num(X).T))
        self.calibration_ = self._calibrate(self.false_alarm_rate)
        self.correlation_time_ = self.calibration_.correlation_time
        self.calibration_.warn_if_few_observations()
        self.limits_ = {
            **self.calibration_.limits,
            "statistic": self.calibration_.distance_limit,
        }

    def _calibrate(self, false_alarm_rate: float) -> ChartCalibration:
        return ChartCalibration.of(
            self.held_out_statistics_,
            slowest=self._slowest,
            smoothing=self.smoothing,
            allowance=self.allowance,
            false_alarm_rate=false_alarm_rate,
            average_run_length=self.average_run_length,
        )

    def _standardized(self, values: Array) -> Array:
        return ((values - self.mean_) / np.where(self._varies, self.scale_, 1.0))[:, self._varies]

    def _choose_lags(self, X: Array, starts: Array) -> int:
        if self.n_lags != "auto":
            return int(self.n_lags)
        n, d = X.shape
        largest = min(5, n // (_ROWS_PER_COLUMN * d) - 1)
        if largest < 1:
            return 0
        filled = np.where(np.isnan(X), 0.0, X)
        return choose_lags(filled[-_MAX_LAG_ROWS:], largest, starts=starts[-_MAX_LAG_ROWS:])

    def _check_parameters(self) -> None:
        if self.n_lags != "auto":
            check_integer(self.n_lags, "n_lags", low=0, remedy="Or pass 'auto'.")
        check_real(self.false_alarm_rate, "false_alarm_rate", above=0, below=0.5)
        if self.average_run_length is not None:
            check_real(self.average_run_length, "average_run_length", low=2)
        check_choice(self.chart, "chart", CHARTS)
        check_real(self.smoothing, "smoothing", above=0, high=1)
        check_real(self.allowance, "allowance", low=0)
        if self.window is not None:
            check_integer(self.window, "window", low=_MIN_ROWS)

    def _starts(self, rows: ProcessRows, *, reset: bool = False) -> Array:
        """Return the mask of rows that begin a segment."""
        if rows.times is None:
            starts = np.zeros(len(rows.values), dtype=bool)
        else:
            if reset:
                steps = np.diff(rows.times)
                steps = steps[steps > 0]
                # a longer pause, in median time steps, begins a new segment
                self._max_step = 10 * float(np.median(steps)) if len(steps) else np.inf
            starts = segment_starts(rows.times, getattr(self, "_max_step", np.inf))
        if len(starts):
            starts[0] = True
        return starts

    def _pauses(self, times: Array | None, last: float | None) -> bool:
        """Return whether a segment begins with the first of rows that follow the time ``last``."""
        if times is None or last is None:
            return False
        if times[0] < last:
            raise ValueError(
                f"The new rows begin {last - times[0]:g} s before the last row of the previous "
                "batch. Pass batches in time order."
            )
        return bool(times[0] - last > self._max_step)

    def _read_new(self, X: Any) -> ProcessRows:
        check_is_fitted(self, "distance_")
        rows = process_rows(X, self.time)
        if rows.is_named and hasattr(self, "feature_names_in_"):
            return rows.select(self._names)
        if rows.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.values.shape[1]} features, but ProcessMonitor is expecting "
                f"{self.n_features_in_} features as input."
            )
        return rows

    # --- results ------------------------------------------------------------------------------

    def stream(self) -> MonitoringStream:
        """Return a stream that monitors batches of a process one after the other.

        Its memory does not grow. The frames of all batches together equal the frame of
        :meth:`monitor`.

        Examples
        --------
        >>> from mercer import ProcessMonitor
        >>> from mercer.datasets import make_process
        >>> stream = ProcessMonitor(n_lags=1).fit(make_process(800, random_state=0)).stream()
        >>> len(stream.update(make_process(10, random_state=1)))
        10
        """
        check_is_fitted(self, "distance_")
        return MonitoringStream(self)

    def monitor(self, X: Any) -> Any:
        """Return the control charts of new rows.

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame
            Rows in time order.

        Returns
        -------
        pandas DataFrame
            With the index or the times of X, and the columns "statistic", "limit",
            "statistic_alarm", "ewma", "ewma_limit", "ewma_alarm", "cusum", "cusum_limit",
            "cusum_alarm" and "alarm", which is the alarm of ``chart``. A row without any value has
            a missing statistic and no alarm of its own.
        """
        return self.stream().update(X)

    def score_samples(self, X: Any) -> Array:
        """Return the negative statistic of each row: lower is more abnormal."""
        return -np.asarray(self.monitor(X)["statistic"])

    def contributions(self, X: Any) -> Any:
        """Return the contribution of each variable to the statistic, over time.

        The contribution of a variable is the decrease of the statistic if the variable, with its
        lags, were missing (reconstruction-based contribution). Large values name the variables that
        disagree with the others. A row's contributions need not sum to its statistic.

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame
            Rows in time order.

        Returns
        -------
        pandas DataFrame of shape (m, d)
        """
        import pandas as pd

        rows = self._read_new(X)
        Z = lagged_rows(self._standardized(rows.values), self.n_lags_, self._starts(rows))
        count = int(self._varies.sum())
        groups = np.tile(np.arange(count), self.n_lags_ + 1)
        found = np.zeros((len(Z), len(self._names)))
        found[:, self._varies] = self.distance_.contributions(Z, groups)
        found[np.isnan(rows.values).all(axis=1)] = np.nan
        return pd.DataFrame(found, index=rows.index, columns=self._names)

    @staticmethod
    def detection_delay(frame: Any, start: Any, *, n_consecutive: int = 1) -> Any:
        """Return the delay from the start of a fault to the first alarm; None without an alarm.

        Parameters
        ----------
        frame : data frame of :meth:`monitor`
        start : int or time
            Row number, or a time of the index, at which the fault began.
        n_consecutive : int
            Number of alarms in a row that count as a detection.

        Returns
        -------
        int, Timedelta or None
            A number of rows for a row number, a time difference for a time.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"alarm": [False, False, True]})
        >>> ProcessMonitor.detection_delay(frame, 1)
        1
        """
        n_consecutive = check_integer(n_consecutive, "n_consecutive")
        alarms = np.asarray(frame["alarm"], dtype=bool)
        if isinstance(start, int | np.integer):
            if not 0 <= start < len(alarms):
                raise InvalidParameterError(
                    f"start={start!r} must be a row number between 0 and {len(alarms) - 1}."
                )
            return detection_delay(alarms, int(start), n_consecutive)
        import pandas as pd

        begin = pd.Timestamp(start)
        row = int(frame.index.searchsorted(begin))
        found = detection_delay(alarms, row, n_consecutive)
        return None if found is None else frame.index[row + found] - begin

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "distance_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class MonitoringStream:
    """Control charts of batches of a process.

    Created by :meth:`mercer.ProcessMonitor.stream`. The stream remembers the last rows for the
    lags, and the values of EWMA and CUSUM.

    ``monitor``: fitted.
    """

    def __init__(self, monitor: ProcessMonitor) -> None:
        self._monitor = monitor
        self._history: Array | None = None
        self._last_time: float | None = None
        self._ewma = self._cusum = 0.0

    def update(self, X: Any) -> Any:
        """Return the charts of the next rows, as :meth:`mercer.ProcessMonitor.monitor` does.

        ``X``: rows that follow those of the previous call.
        """
        monitor = self._monitor
        rows = monitor._read_new(X)
        starts = monitor._starts(rows)
        if self._history is not None:
            starts[0] = monitor._pauses(rows.times, self._last_time)
        if rows.times is not None and len(rows.times):
            self._last_time = float(rows.times[-1])
        distances = np.empty(len(rows.values))
        for part in row_ranges(len(distances), 16_384):  # lagged rows take memory
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
