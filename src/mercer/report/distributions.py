"""How the values of each column are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import ParzenDensity
from mercer.bandwidth import silverman
from mercer.data.subsampling import random_rows
from mercer.errors import suppress_warnings
from mercer.kernels import Gaussian
from mercer.kernels.tables import skewness
from mercer.plots.style import MUTED, PALETTE
from mercer.report.groups import Groups
from mercer.report.section import Figure, Section, format_fraction, format_value, svg
from mercer.tables import Table
from mercer.utils.formatting import (
    format_count,
    format_names,
    format_number,
    join_words,
    shorten,
)
from mercer.utils.types import Array

__all__ = ["Curve", "Distributions", "Frequencies", "curve_figure", "estimate_distributions"]

_ROWS = 20_000  # from which a density is estimated
_COLUMNS = 12
_FEW_VALUES = 15  # whole numbers with at most so many different values have bars
_REPEATED = 0.25  # a value of so many rows is left out of a density
_LONG_TAIL = 2.0  # skewness; that of an exponential distribution


@dataclass(frozen=True, eq=False)
class Curve:
    """Density of a column in its units; the parts of the groups add up to it.

    ``outside``: number of rows outside of the range. ``repeated``: a value of at least a quarter of
    the rows, which is left out, and the fraction of these rows.
    """

    column: str
    x: Array
    density: Array
    parts: tuple[Array, ...]
    outside: int
    is_date: bool = False
    repeated: tuple[float, float] | None = None


@dataclass(frozen=True)
class Frequencies:
    """Relative frequencies of the values of a column, or of the most frequent labels.

    ``parts``: of each group, the fractions of the rows that are in it and have these values.
    """

    column: str
    labels: tuple[str, ...]
    fractions: tuple[float, ...]
    parts: tuple[tuple[float, ...], ...]
    others: int


@dataclass(frozen=True, eq=False)
class Distributions(Section):
    """Distributions to draw, and what is remarkable about those of all columns.

    ``tails`` has the skewness of columns with a long tail, ``dominated`` the fraction of the most
    frequent value of columns that nearly always have the same.
    """

    name = "distributions"
    title = "How the values are distributed"

    drawn: tuple[Curve | Frequencies, ...]
    columns_left: int
    tails: dict[str, float]
    dominated: dict[str, float]

    @property
    def answer(self) -> str:
        """Return the columns with long tails, and those dominated by one value."""
        parts = []
        for sign, side in ((1, "right"), (-1, "left")):
            names = [name for name, value in self.tails.items() if sign * value > 0]
            if names:
                parts.append(f"long tail to the {side}: {format_names(names, 5)}")
        if self.dominated:
            listed = join_words(
                f"{shorten(name, 30)} ({format_fraction(fraction)})"
                for name, fraction in list(self.dominated.items())[:3]
            )
            parts.append(f"nearly always the same value: {listed}")
        if not parts:
            return "No column has a long tail, or nearly always the same value."
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    def to_json(self) -> dict[str, Any]:
        """Return the values that are drawn, skewness and dominating values."""
        return {
            "drawn": self.drawn,
            "columns_left": self.columns_left,
            "tails": self.tails,
            "dominated": self.dominated,
        }

    def context(self) -> dict[str, Any]:
        """Return the figures."""
        text = ""
        if any(one.parts for one in self.drawn):
            text = (
                "Colors are those of the groups on the map. Parts of the groups add up to the "
                "gray line, or to the bar."
            )
        if self.columns_left:
            text += (
                f" Shown are the {len(self.drawn)} columns that differ most between groups; "
                f"{format_count(self.columns_left, 'other column')} not shown."
            )
        figures = [_figure(f"distribution{i}", one) for i, one in enumerate(self.drawn)]
        return {"introduction": text.strip(), "figures": figures}


def _figure(name: str, one: Curve | Frequencies) -> Figure:
    if isinstance(one, Curve):
        captions = []
        if one.repeated is not None:
            value, fraction = one.repeated
            captions.append(f"Without {format_value(value)} ({format_fraction(fraction)} of rows).")
        if one.outside:
            captions.append(f"{format_count(one.outside, 'row')} outside of the range.")
        return Figure(curve_figure(name, one), " ".join(captions))
    caption = f"{format_count(one.others, 'more value')}." if one.others else ""
    return Figure(_frequencies_figure(name, one), caption)


def curve_figure(name: str, curve: Curve) -> str:
    """Density of one column, and the contributions of the groups."""
    title = shorten(curve.column, 34)
    peak = float(curve.x[curve.density.argmax()])
    at = str(np.datetime64(round(peak), "D")) if curve.is_date else format_number(peak, 3)
    parts = f", and contributions of {len(curve.parts)} groups" if curve.parts else ""
    alt = f"Distribution of {title}{parts}. The peak is near {at}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        x = as_times(curve.x) if curve.is_date else curve.x
        for i, part in enumerate(curve.parts):
            ax.fill_between(x, part, color=PALETTE[i], alpha=0.25, linewidth=0)
            ax.plot(x, part, color=PALETTE[i], linewidth=1.2)
        if not curve.parts:
            ax.fill_between(x, curve.density, color=PALETTE[0], alpha=0.25, linewidth=0)
        ax.plot(x, curve.density, color=MUTED if curve.parts else PALETTE[0], linewidth=1.2)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="", ylabel="", yticks=[])
        ax.set_ylim(0)
        ax.spines["left"].set_visible(False)
        ax.tick_params(labelsize=9)
        if curve.is_date:
            set_date_ticks(ax)
        else:
            ax.locator_params(axis="x", nbins=5)

    return svg(name, alt, (3.6, 2.3), draw)


def as_times(days: Array) -> Array:
    """Return days since 1970 as times."""
    return np.asarray(np.round(days * 86400), dtype="datetime64[s]")


def set_date_ticks(ax: Any) -> None:
    """Put few ticks with short labels on a time axis."""
    import matplotlib.dates

    dates: Any = matplotlib.dates
    # With minticks=3 some ranges (of 60 hours, for example) have no interval with at most 5 ticks,
    # about which Matplotlib warns.
    locator = dates.AutoDateLocator(minticks=2, maxticks=5)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _frequencies_figure(name: str, frequencies: Frequencies) -> str:
    """Bar chart of relative frequencies."""
    title = shorten(frequencies.column, 34)
    listed = ", ".join(
        f"{shorten(label, 30)} {format_fraction(fraction)}"
        for label, fraction in zip(frequencies.labels, frequencies.fractions, strict=True)
    )
    alt = f"Relative frequencies of {title}: {listed}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        positions = range(len(frequencies.labels))
        color = MUTED if frequencies.parts else PALETTE[0]  # rows in no group
        ax.barh(positions, frequencies.fractions, color=color, height=0.7)
        left = np.zeros(len(frequencies.labels))
        for i, part in enumerate(frequencies.parts):
            ax.barh(positions, part, left=left, color=PALETTE[i], height=0.7)
            left += part
        small = 9 if len(frequencies.labels) <= 8 else 6.5
        ax.set_yticks(
            positions, [shorten(label, 18) for label in frequencies.labels], fontsize=small
        )
        ax.invert_yaxis()
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        ax.locator_params(axis="x", nbins=5)
        ax.tick_params(axis="x", labelsize=9)
        ax.set_title(title, fontsize=11)

    return svg(name, alt, (3.6, 2.3), draw)


# --- estimates -------------------------------------------------------------------------------


def estimate_distributions(table: Table, groups: Groups) -> Distributions:
    """Estimate the distributions of up to twelve columns that are not texts.

    If there are more columns, those that differ most between groups are chosen.
    """
    kinds = table.column_types
    comparable = [name for name in table.columns if kinds[name] != "text"]
    first = [name for name in groups.distinguishing if name in comparable]
    chosen = {*first[:_COLUMNS], *comparable[: max(0, _COLUMNS - len(first))]}
    if len(comparable) <= _COLUMNS:
        chosen = set(comparable)
    drawn, tails, dominated = [], {}, {}
    for name in comparable:
        cells = table.frame[name].dropna()
        is_date = kinds[name] == "date"
        if kinds[name] == "number":
            skew = skewness(cells.to_numpy(dtype=np.float64))
            if abs(skew) >= _LONG_TAIL and cells.nunique() >= 10:  # not codes or small counts
                tails[name] = skew
        top = cells.value_counts(normalize=True).iloc[0]
        if top >= 0.95:
            dominated[name] = float(top)
        if name in chosen:
            few = kinds[name] == "number" and _are_few_whole_numbers(cells)
            is_curve = kinds[name] in ("number", "date") and not few
            drawn.append(
                _curve(cells, name, groups.numbers, is_date)
                if is_curve
                else _frequencies(cells, name, few, groups.numbers)
            )
    return Distributions(tuple(drawn), len(comparable) - len(drawn), tails, dominated)


def _are_few_whole_numbers(cells: Any) -> bool:
    values = cells.unique()
    return len(values) <= _FEW_VALUES and bool((values == np.floor(values)).all())


def _frequencies(cells: Any, name: str, by_value: bool, numbers: Array) -> Frequencies:
    counts = cells.value_counts()
    counts = counts[counts > 0]
    top = counts.sort_index() if by_value else counts.head(8)
    labels = (f"{value:g}" if by_value else str(value) for value in top.index)
    fractions = tuple(float(count) / len(cells) for count in top)
    groups, parts = numbers[cells.index], []
    for group in _drawn_groups(numbers):
        own = cells[groups == group].value_counts().reindex(top.index, fill_value=0)
        parts.append(tuple(float(count) / len(cells) for count in own))
    return Frequencies(name, tuple(labels), fractions, tuple(parts), len(counts) - len(top))


def _drawn_groups(numbers: Array) -> range:
    """Return the numbers of the groups if there are two to six; more are not legible."""
    count = int(numbers.max())
    return range(1, count + 1) if 2 <= count <= 6 else range(0)


def _curve(cells: Any, name: str, numbers: Array, is_date: bool) -> Curve:
    top = cells.value_counts(normalize=True)
    repeated = None
    if not is_date and len(top) > _FEW_VALUES and top.iloc[0] >= _REPEATED:
        repeated = (float(top.index[0]), float(top.iloc[0]))
        cells = cells[cells != top.index[0]]
    groups = numbers[cells.index]
    values = cells.to_numpy(dtype=np.float64) if not is_date else _days(cells)
    some = random_rows(len(values), _ROWS)
    values, groups = values[some], groups[some]
    low, high = _range(values)
    inside = (values >= low) & (values <= high)
    positive = not is_date and bool(values.min() >= 0)
    x = np.linspace(max(low, 0.0) if positive else low, high, 160)
    outside = int((~inside).sum())
    drawn = _drawn_groups(numbers)
    if not drawn:
        density = _density(values[inside], x, positive)
        return Curve(name, x, density, (), outside, is_date, repeated)
    parts = []
    for group in (0, *drawn):  # 0: isolated rows
        own = values[inside & (groups == group)]
        part = _density(own, x, positive) if len(own) else np.zeros_like(x)
        parts.append(part * len(own) / inside.sum())
    density = np.sum(parts, axis=0)
    return Curve(name, x, density, tuple(parts[1:]), outside, is_date, repeated)


def _days(cells: Any) -> Array:
    return np.asarray(cells.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 86_400e9)


def _range(values: Array) -> tuple[float, float]:
    """Return the range of the values, or of the central 99.8 % if there are outliers.

    A margin of 6 % is added on both sides.
    """
    low, high = float(values.min()), float(values.max())
    inner = np.quantile(values, [0.001, 0.999])
    if high - low > 2 * (inner[1] - inner[0]) > 0:
        low, high = map(float, inner)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _density(values: Array, x: Array, positive: bool) -> Array:
    """Return the Parzen density of a group, with Silverman's bandwidth, at the points x."""
    spread = float(x[-1] - x[0])
    sigma = silverman(values[:, None]) if np.ptp(values) > 0 else 0.0
    sigma = max(sigma, spread / 200)  # of values that are all equal
    support = "positive" if positive else None
    with suppress_warnings():
        density = ParzenDensity(kernel=Gaussian(sigma), support=support).fit(values[:, None])
    return np.asarray(density.pdf(x[:, None]))
