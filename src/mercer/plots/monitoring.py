"""Control charts of a process monitor, with contributions of the variables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.plots.estimators import final_step
from mercer.plots.style import HIGHLIGHT, MUTED, PALETTE, new_axes

__all__ = ["MonitoringDisplay"]

_TITLES = {
    "p_value": "p-value",
    "statistic": "statistic",
    "ewma": "moving average (EWMA)",
    "cusum": "cumulative sum (CUSUM)",
}


class MonitoringDisplay:
    """Charts with limits and alarms, and the variables with the largest contributions.

    Parameters
    ----------
    frame : data frame of ``ProcessMonitor.monitor``
    contributions : data frame of ``ProcessMonitor.contributions`` or None
    charts : sequence of {"statistic", "ewma", "cusum"}

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
        One per chart, and one for the contributions if there are any.

    Examples
    --------
    >>> from mercer import ProcessMonitor
    >>> from mercer.datasets import make_process
    >>> from mercer.plots import MonitoringDisplay
    >>> monitor = ProcessMonitor(n_lags=1).fit(make_process(800, random_state=0))
    >>> new = make_process(100, fault="leak", random_state=1)
    >>> display = MonitoringDisplay.from_estimator(monitor, new)
    >>> len(display.axes_)
    3
    """

    def __init__(
        self,
        frame: Any,
        *,
        contributions: Any = None,
        charts: Sequence[str] = ("statistic", "ewma"),
    ) -> None:
        self.frame = frame
        self.contributions = contributions
        self.charts = charts

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        contributions: bool = True,
        charts: Sequence[str] = ("statistic", "ewma"),
        **options: Any,
    ) -> Self:
        """Monitor rows and plot the charts.

        Parameters
        ----------
        estimator : ProcessMonitor, KernelNovelty, or a pipeline that ends with one
            Fitted. For a KernelNovelty the p-values are drawn, and its false alarm rate as the
            limit; the other parameters have no effect.
        X : array-like or data frame
            Rows in time order.
        contributions : bool
            Compute contributions and draw them.
        charts : sequence of {"statistic", "ewma", "cusum"}
        **options
            Passed to :meth:`plot`.
        """
        last = final_step(estimator, X)
        estimator, X = last.estimator, last.X
        if hasattr(estimator, "p_values"):
            return cls.from_frame(_p_values(estimator, X), charts=("p_value",), **options)
        if not hasattr(estimator, "monitor"):
            raise TypeError(
                f"{type(estimator).__name__} does not monitor rows; pass a ProcessMonitor or a "
                "KernelNovelty."
            )
        found = estimator.contributions(X) if contributions else None
        return cls.from_frame(estimator.monitor(X), contributions=found, charts=charts, **options)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        contributions: Any = None,
        charts: Sequence[str] = ("statistic", "ewma"),
        **options: Any,
    ) -> Self:
        """Plot frames of ``monitor`` and ``contributions``.

        Parameters
        ----------
        frame, contributions, charts
            As for the class.
        **options
            Passed to :meth:`plot`.
        """
        return cls(frame, contributions=contributions, charts=charts).plot(**options)

    def plot(
        self, axes: Sequence[Any] | None = None, *, log: bool = True, n_variables: int = 10
    ) -> Self:
        """Draw the panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes or None
            One per chart, and one for contributions; None for a new figure.
        log : bool
            Draw the statistic or the p-values on a logarithmic scale.
        n_variables : int
            Number of variables in the panel of contributions.
        """
        unknown = [name for name in self.charts if name not in _TITLES]
        if unknown or not self.charts:
            raise ValueError(
                f"charts={self.charts!r} must be names among {', '.join(map(repr, _TITLES))}."
            )
        panels = len(self.charts) + (self.contributions is not None)
        if axes is None:
            axes = new_axes(panels, (7.0, 2.3 * panels), sharex=False)
        if len(axes) != panels:
            raise ValueError(f"Got {len(axes)} axes, but the display has {panels} panels.")
        self.axes_, self.figure_ = axes, axes[0].figure
        for name, ax in zip(self.charts, axes, strict=False):
            self._plot_chart(ax, name, log and name in ("statistic", "p_value"))
        if self.contributions is not None:
            self._plot_contributions(axes[-1], n_variables)
        return self

    def _plot_chart(self, ax: Any, name: str, log: bool) -> None:
        frame = self.frame
        values = np.asarray(frame[name], dtype=np.float64)
        alarms = np.asarray(frame[f"{name}_alarm"], dtype=bool)
        limit = float(frame["limit" if name == "statistic" else f"{name}_limit"].iloc[0])
        times = np.asarray(frame.index)
        shown = _shown_rows(values, 2000)
        ax.plot(times[shown], values[shown], color=PALETTE[0], linewidth=1.0)
        marked = shown[alarms[shown]]
        ax.plot(
            times[marked],
            values[marked],
            linestyle="none",
            marker="o",
            markersize=3,
            color=HIGHLIGHT,
            label=f"alarm ({alarms.sum()} of {len(alarms)} rows)",
        )
        ax.axhline(limit, color=MUTED, linestyle="--", linewidth=1.2, label="limit")
        if log and np.nanmin(values, initial=1.0) > 0:
            from matplotlib.ticker import LogFormatter

            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(LogFormatter())  # 100 instead of 10²
            ax.yaxis.set_minor_formatter(LogFormatter())
        ax.set_ylabel(_TITLES[name])
        # above the axes, where it hides no rows
        ax.legend(
            fontsize="small", loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False
        )
        if frame.index.dtype.kind == "M":
            from matplotlib import dates

            untyped: Any = dates
            locator = untyped.AutoDateLocator(maxticks=7)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        else:
            ax.set_xlabel(str(frame.index.name or "row"))

    def _plot_contributions(self, ax: Any, n_variables: int) -> None:
        alarms = np.asarray(self.frame["alarm"], dtype=bool)
        rows = self.contributions[alarms] if alarms.any() else self.contributions
        means = rows.mean().sort_values(ascending=False).iloc[:n_variables][::-1]
        ax.barh([str(name) for name in means.index], means.to_numpy(), color=PALETTE[0])
        ax.set_xlabel(
            f"mean contribution in {'rows with an alarm' if alarms.any() else 'all rows'}"
        )


def _p_values(detector: Any, X: Any) -> Any:
    """Return a frame like that of ``ProcessMonitor.monitor`` with the p-values of a detector."""
    import pandas as pd

    found, limit = np.asarray(detector.p_values(X)), float(detector.false_alarm_rate)
    index = X.index if isinstance(X, pd.DataFrame) else None
    alarm = found <= limit
    columns = {
        "p_value": found,
        "p_value_limit": limit,
        "p_value_alarm": alarm,
        "alarm": alarm,
    }
    return pd.DataFrame(columns, index=index)


def _shown_rows(values: Any, count: int) -> Any:
    """Return row indices to draw: all, or the smallest and largest value of equal ranges."""
    n = len(values)
    if n <= count:
        return np.arange(n)
    bounds = np.linspace(0, n, count // 2 + 1).astype(int)
    filled = np.nan_to_num(values, nan=0.0)
    found = [
        begin + extreme
        for begin, end in itertools.pairwise(bounds)
        for extreme in (filled[begin:end].argmin(), filled[begin:end].argmax())
    ]
    return np.unique(found)
