"""The HTML page of ``mercer monitor``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer.plots import MonitoringDisplay
from mercer.report.methods import format_versions
from mercer.report.section import Figure, HtmlTable, render, svg
from mercer.utils.formatting import format_count, format_number, format_percent, join_words, shorten

__all__ = ["Episode", "alarm_episodes", "monitoring_page"]

_CHARTS = ("statistic", "ewma", "cusum")
_NAMES = {"statistic": "statistic", "ewma": "EWMA", "cusum": "CUSUM"}


@dataclass(frozen=True)
class Episode:
    """Consecutive rows with an alarm, and the variables with the largest contributions.

    ``begin`` and ``end`` are times, or row numbers.
    """

    first: int
    last: int
    begin: str
    end: str
    variables: list[str]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.last - self.first + 1


def alarm_episodes(frame: Any, contributions: Any) -> list[Episode]:
    """Return the episodes of consecutive alarms, in time order.

    ``frame`` comes from ``ProcessMonitor.monitor``.
    """
    alarms = frame["alarm"].to_numpy(dtype=bool)
    episodes = []
    row = 0
    while row < len(alarms):
        if not alarms[row]:
            row += 1
            continue
        last = row
        while last + 1 < len(alarms) and alarms[last + 1]:
            last += 1
        means = contributions.iloc[row : last + 1].mean().sort_values(ascending=False)
        leading = [str(name) for name in means.index[:3]]
        begin, end = (str(frame.index[i]) for i in (row, last))
        episodes.append(Episode(row, last, begin, end, leading))
        row = last + 1
    return episodes


def monitoring_page(
    name: str,
    normal_name: str,
    monitor: Any,
    frame: Any,
    contributions: Any,
    warnings: Sequence[str] = (),
) -> str:
    """Return the page as HTML; it needs no other file.

    Frame, contributions and name are those of the new rows.
    """
    episodes = alarm_episodes(frame, contributions)
    return str(
        render(
            "monitoring.html",
            name=name,
            short_name=shorten(name, 80),
            size=f"{format_count(len(frame), 'row')}, "
            f"{format_count(monitor.n_features_in_, 'variable')}; "
            f"normal operation: {shorten(normal_name, 80)}",
            findings=_findings(frame, contributions, episodes, monitor),
            warnings=list(warnings),
            figures=_figures(frame, contributions, monitor.chart),
            episodes=_episode_table(episodes),
            charts=_chart_table(frame),
            variables=_variable_table(frame, contributions),
            settings=_settings(monitor),
            versions=format_versions(),
        )
    )


def _findings(frame: Any, contributions: Any, episodes: list[Episode], monitor: Any) -> list[str]:
    n_alarms, n = int(frame["alarm"].sum()), len(frame)
    promise = (
        f"{format_percent(monitor.false_alarm_rate)} of normal rows"
        if monitor.average_run_length is None
        else f"one in {format_number(monitor.average_run_length)} normal rows"
    )
    if not episodes:
        return [f"No alarms in {format_count(n, 'row')}. Expected by chance: {promise}."]
    longest = max(episodes, key=lambda one: one.n_rows)
    found = [
        f"{format_count(n_alarms, 'row')} of {n:,} with an alarm ({format_percent(n_alarms / n)}), "
        f"in {format_count(len(episodes), 'episode')}. Expected by chance: {promise}.",
        f"First alarm: {episodes[0].begin}. Longest episode: "
        f"{format_count(longest.n_rows, 'row')} from {longest.begin}.",
    ]
    means = contributions[frame["alarm"].to_numpy(dtype=bool)].mean()
    leading = [str(one) for one in means.sort_values(ascending=False).index[:3]]
    found.append(f"Largest contributions: {join_words(leading)}.")
    return found


def _figures(frame: Any, contributions: Any, chart: str) -> list[Figure]:
    shown = ("statistic", "ewma" if chart == "statistic" else chart)
    alarms = int(frame["alarm"].sum())
    charts = svg(
        "charts",
        f"Statistic and {_NAMES[shown[1]]} over {len(frame)} rows, with limits; {alarms} rows have "
        "an alarm.",
        (7.2, 5.6),
        lambda drawn: MonitoringDisplay(frame, charts=shown).plot(drawn.subplots(2, 1)),
    )
    bars = svg(
        "contributions",
        "Mean contribution of the leading variables.",
        (7.2, 3.6),
        lambda drawn: MonitoringDisplay(frame, contributions=contributions)._plot_contributions(
            drawn.subplots(), 12
        ),
    )
    return [
        Figure(
            charts,
            "Top: distance of each row from normal operation (logarithmic). Bottom: "
            f"{_NAMES[shown[1]]} of its standardized cube root. Dashed: limits. The chart "
            f"{_NAMES[chart]} raises the alarms listed below.",
        ),
        Figure(
            bars,
            "Decrease of the statistic if the variable were unknown. A variable with a large bar "
            "disagrees with the others; it need not be the cause.",
        ),
    ]


def _episode_table(episodes: list[Episode]) -> HtmlTable | None:
    if not episodes:
        return None
    shown = sorted(episodes, key=lambda one: -one.n_rows)[:20]
    shown.sort(key=lambda one: one.first)
    rest = len(episodes) - len(shown)
    more = f", the longest {len(shown)} of {len(episodes)}" if rest else ""
    return HtmlTable(
        f"Episodes of alarms{more}",
        ("begin", "end", "rows", "leading variables"),
        [(e.begin, e.end, f"{e.n_rows:,}", ", ".join(e.variables)) for e in shown],
        text_columns=(0, 1, 3),
    )


def _chart_table(frame: Any) -> HtmlTable:
    rows = []
    for chart in _CHARTS:
        limit = frame["limit" if chart == "statistic" else f"{chart}_limit"].iloc[0]
        alarms = int(frame[f"{chart}_alarm"].sum())
        rows.append(
            (
                _NAMES[chart],
                format_number(float(limit)),
                format_number(float(frame[chart].max())),
                f"{alarms:,}",
                format_percent(alarms / len(frame)),
            )
        )
    return HtmlTable("Charts", ("chart", "limit", "largest value", "alarms", "of rows"), rows)


def _variable_table(frame: Any, contributions: Any) -> HtmlTable:
    alarms = frame["alarm"].to_numpy(dtype=bool)
    rows = contributions[alarms] if alarms.any() else contributions
    means = rows.mean().sort_values(ascending=False).iloc[:12]
    return HtmlTable(
        f"Mean contributions in {'rows with an alarm' if alarms.any() else 'all rows'}",
        ("variable", "mean", "largest"),
        [
            (str(name), format_number(float(mean)), format_number(float(rows[name].max())))
            for name, mean in means.items()
        ],
        text_columns=(0,),
    )


def _settings(monitor: Any) -> list[tuple[str, str]]:
    promise = (
        ("false-alarm rate", format_percent(monitor.false_alarm_rate))
        if monitor.average_run_length is None
        else ("average run length", format_number(monitor.average_run_length))
    )
    return [
        promise,
        ("chart of the alarms", _NAMES[monitor.chart]),
        ("lags", str(monitor.n_lags_)),
        ("correlation time", f"{format_number(monitor.correlation_time_, 2)} rows"),
    ]
