"""What changes over time, for tables with a column of dates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer.information import column_dependence
from mercer.plots.style import PALETTE
from mercer.report.distributions import set_date_ticks
from mercer.report.section import Figure, HtmlTable, Section, format_fraction, svg
from mercer.tables import Table
from mercer.tables.columns import calendar_parts
from mercer.utils.formatting import format_count, join_words, shorten

__all__ = ["Change", "Changes", "find_changes"]

_SMALL = 0.02  # fractions of the variation below this are not named as changes
_BINS = 24  # periods of a figure
_FIGURES = 4


@dataclass(frozen=True)
class Change:
    """Fraction of the variation of a column that a part of the date predicts.

    ``part`` is "date", "month", "weekday" or "hour".
    """

    column: str
    part: str
    fraction: float


@dataclass(frozen=True, eq=False)
class Changes(Section):
    """What the date, and the parts of it that vary, say about the other columns.

    ``busiest`` has the part of most rows, for example the weekday.
    """

    name = "changes"
    title = "What changes over time"

    table: Table
    column: str
    first: str
    last: str
    parts: dict[str, Any]
    changes: tuple[Change, ...]
    busiest: dict[str, str]

    @property
    def largest(self) -> list[Change]:
        """The most important part of each column, the largest fraction first."""
        best: dict[str, Change] = {}
        for one in self.changes:
            if one.column not in best or one.fraction > best[one.column].fraction:
                best[one.column] = one
        return sorted(best.values(), key=lambda one: -one.fraction)

    @property
    def answer(self) -> str:
        """Return the columns that change most."""
        when = f"From {self.first} to {self.last} ({shorten(self.column, 30)})"
        clear = [one for one in self.largest if one.fraction >= _SMALL]
        if not clear:
            return (
                f"{when}, no column changes much: {join_words(self.parts)} predict less than "
                f"{format_fraction(_SMALL)} of the variation of each."
            )
        listed = join_words(
            f"{shorten(one.column, 30)} (by {one.part}, {format_fraction(one.fraction)} of its "
            "variation)"
            for one in clear[:3]
        )
        return f"{when}, what changes most is {listed}."

    def to_json(self) -> dict[str, Any]:
        """Return the fractions."""
        return {
            "column": self.column,
            "first": self.first,
            "last": self.last,
            "busiest": self.busiest,
            "changes": self.changes,
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per column and part of the date."""
        return {"changes": [asdict(one) for one in self.changes]}

    def context(self) -> dict[str, Any]:
        """Return the fractions and the figures."""
        fraction = {(one.column, one.part): one.fraction for one in self.changes}
        rows = [
            [shorten(one.column, 40)]
            + [format_fraction(fraction[one.column, part]) for part in self.parts]
            for one in self.largest[:20]
        ]
        caption = f"Fraction of the variation of each column that {self.column} predicts"
        heads = ["Column", *(f"By {part}" for part in self.parts)]
        busiest = ", ".join(f"{part} {value}" for part, value in self.busiest.items())
        return {
            "busiest": f"Most frequent: {busiest}." if busiest else "",
            "changes": HtmlTable(caption, heads, rows, [0]),
            "figures": self._figures(),
        }

    def _figures(self) -> list[Figure]:
        figures = [self._counts(), *map(self._part_counts, self.busiest)]
        for i, one in enumerate(self.largest[:_FIGURES]):
            if one.fraction >= _SMALL:
                figures.append(self._change(i, one))
        return figures

    def _counts(self) -> Figure:
        dates = self.parts["date"].dropna()

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            ax.hist(dates.to_numpy(), bins=_BINS, color=PALETTE[0])
            ax.set_title("number of rows", fontsize=11)
            ax.tick_params(labelsize=9)
            set_date_ticks(ax)

        alt = f"Histogram of {self.column}: the number of rows over time."
        return Figure(svg("change", alt, (3.6, 2.3), draw), "")

    def _part_counts(self, part: str) -> Figure:
        """Return the number of rows by month, weekday or hour."""
        import pandas as pd

        counts = pd.Series(self.parts[part]).value_counts().sort_index()

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            ax.bar([_tick(value) for value in counts.index], counts.to_numpy(), color=PALETTE[0])
            ax.set_title(f"number of rows by {part}", fontsize=11)
            ax.tick_params(labelsize=9)
            if len(counts) > 12:
                ax.locator_params(axis="x", nbins=8)

        alt = f"Number of rows by {part}; most are in {self.busiest[part]}."
        return Figure(svg(f"change-{part}", alt, (3.6, 2.3), draw), "")

    def _change(self, i: int, one: Change) -> Figure:
        """Return the median with quartiles, or the most frequent label, by part of the date."""
        import pandas as pd

        column, part = self.table.frame[one.column], self.parts[one.part]
        if one.part == "date":
            part = pd.cut(part, _BINS).map(lambda interval: interval.mid)
        is_number = self.table.column_types[one.column] == "number"
        frame = pd.DataFrame({"part": part, "value": column}).dropna()
        frame["part"] = frame["part"].astype(object)
        order = list(part.categories) if one.part == "weekday" else None
        top = None if is_number else frame["value"].value_counts().index[0]
        if not is_number:
            frame["value"] = (frame["value"] == top).astype(float)
        groups = frame.groupby("part", sort=True)["value"]
        if is_number:
            middle, low, high = (groups.quantile(q) for q in (0.5, 0.25, 0.75))
        else:
            middle = low = high = groups.mean()
        if order:
            keep = [day for day in order if day in middle.index]
            middle, low, high = (one.reindex(keep) for one in (middle, low, high))
        title = shorten(one.column if is_number else f"{one.column} = {top}", 34)

        def draw(figure: Any) -> None:
            ax = figure.subplots()
            x = np.arange(len(middle)) if order else pd.Index(middle.index)
            if one.part == "date":
                x = pd.to_datetime(x).to_numpy()
            ax.fill_between(x, low.to_numpy(), high.to_numpy(), color=PALETTE[0], alpha=0.25, lw=0)
            ax.plot(x, middle.to_numpy(), color=PALETTE[0], marker="o", markersize=3)
            if order:
                ax.set_xticks(x, list(map(_tick, middle.index)))
            if one.part == "date":
                set_date_ticks(ax)
            if not is_number:
                ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
            ax.tick_params(labelsize=9)
            ax.set_title(f"{title} by {one.part}", fontsize=11)

        what = "median and quartiles" if is_number else "fraction of rows"
        alt = f"{title} by {one.part}: {what} in {format_count(len(middle), 'period')}."
        caption = f"{what[0].upper()}{what[1:]}."
        return Figure(svg(f"change{i}", alt, (3.6, 2.3), draw), caption)


def _tick(value: Any) -> Any:
    """Return an hour or month as an integer, a day by three letters."""
    return value[:3] if isinstance(value, str) else int(value)


def find_changes(table: Table) -> Changes | None:
    """Measure what the first column of dates predicts; None without dates or other columns."""
    kinds = table.column_types
    dates = [name for name, kind in kinds.items() if kind == "date"]
    others = [name for name, kind in kinds.items() if kind in ("number", "category")]
    if not dates or not others:
        return None
    column = table.frame[dates[0]]
    parts = {"date": column, **calendar_parts(column)}
    frame = table.frame[others]
    codes = {f"{part} of {dates[0]}": values for part, values in parts.items()}
    while set(codes) & set(others):
        codes = {f"the {name}": values for name, values in codes.items()}
    found = column_dependence(frame.assign(**codes), include=[*others, *codes])
    place = {name: i for i, name in enumerate(found.columns)}
    changes = tuple(
        Change(name, part, float(found.total[place[code], place[name]]))
        for name in others
        for part, code in zip(parts, codes, strict=True)
    )
    known = column.dropna()
    return Changes(
        table=table,
        column=dates[0],
        first=str(known.min())[:10],
        last=str(known.max())[:10],
        parts=parts,
        changes=changes,
        busiest={part: _busiest(part, values) for part, values in parts.items() if part != "date"},
    )


def _busiest(part: str, values: Any) -> str:
    import pandas as pd

    most = pd.Series(values).value_counts().index[0]
    if part == "hour":
        return f"{int(most)} to {int(most) + 1} h"
    return pd.Timestamp(2000, int(most), 1).month_name() if part == "month" else str(most)
