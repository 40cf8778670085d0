"""Densities: contours for two numeric columns, one profile per column otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import ParzenDensity
from mercer.bandwidth import silverman
from mercer.cluster.profiles import Trait
from mercer.data.subsampling import random_rows
from mercer.errors import suppress_warnings
from mercer.kernels import Gaussian, Kernel
from mercer.plots import DensityDisplay
from mercer.plots.style import MUTED, PALETTE
from mercer.report.components import Spectra
from mercer.report.section import MAX_POINTS, Figure, Section, svg
from mercer.tables import Preparation, Table
from mercer.utils.formatting import format_count, format_number, format_percent, shorten
from mercer.utils.types import Array

__all__ = ["Contours", "Curve", "Densities", "Frequencies", "curve_figure", "estimate_densities"]

_CURVE_ROWS = 100_000  # from which a density is estimated


@dataclass(frozen=True, eq=False)
class Curve:
    """Density of one column in its units; the parts of the clusters add up to it."""

    column: str
    x: Array
    density: Array
    parts: tuple[Array, ...]
    bandwidth: float
    outside: int
    is_date: bool = False


@dataclass(frozen=True)
class Frequencies:
    """Relative frequencies of the most frequent labels of a column."""

    column: str
    labels: tuple[str, ...]
    fractions: tuple[float, ...]
    others: int


@dataclass(frozen=True, eq=False)
class Contours:
    """Density of two columns in their units, on a grid."""

    columns: tuple[str, str]
    x: Array
    y: Array
    density: Array
    outside: int


@dataclass(frozen=True, eq=False)
class Densities(Section):
    """Densities to draw, and the number of columns that are not drawn."""

    name = "densities"
    title = "Densities"

    spectra: Spectra
    contours: Contours | None
    profiles: tuple[Curve | Frequencies, ...]
    columns_left: int

    @property
    def is_shown(self) -> bool:
        """Whether not all columns are texts."""
        return self.contours is not None or bool(self.profiles)

    def to_json(self) -> dict[str, Any]:
        """Return the values that are drawn."""
        return {
            "densities": {
                "contours": self.contours,
                "profiles": self.profiles,
                "columns_left": self.columns_left,
            }
        }

    def context(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "contours": None if self.contours is None else self._contours(self.contours),
            "profiles": [
                _profile(f"profile{i}", profile) for i, profile in enumerate(self.profiles)
            ],
            "introduction": self._introduction(),
        }

    def _contours(self, contours: Contours) -> Figure:
        unit = " standard deviations" if self.spectra.model.scaled else ""
        caption = (
            "Contours enclose 10, 30, 50, 70, 90 and 99 % of the density, from thick to thin "
            "lines. Bandwidth of the kernel: σ = "
            f"{format_number(self.spectra.sigma or 0.0)}{unit}. Gray: "
            f"rows.{_outside(contours.outside)}{self._subsample()}"
        )
        return Figure(_contours_figure(self.spectra.model.table, contours), caption, "wide")

    def _introduction(self) -> str:
        curves = [profile for profile in self.profiles if isinstance(profile, Curve)]
        text = "Each column separately, in its units."
        if any(curve.parts for curve in curves):
            text += (
                " Colored areas are the contributions of the clusters, in the colors of the "
                "cluster figures; they add up to the gray line."
            )
        elif curves:
            text += " Curves are Parzen densities."
        if curves:
            text += self._subsample()
        if self.columns_left:
            text += (
                f" Shown are the {len(self.profiles)} columns that differ most between clusters; "
                f"{format_count(self.columns_left, 'other column')} not shown."
            )
        return text

    def _subsample(self) -> str:
        if self.spectra.model.table.n <= _CURVE_ROWS:
            return ""
        return f" Densities are estimated from a random subsample of {_CURVE_ROWS:,} rows."


def _profile(name: str, profile: Curve | Frequencies) -> Figure:
    if isinstance(profile, Curve):
        unit = " days" if profile.is_date else ""
        caption = f"Bandwidth {format_number(profile.bandwidth, 3)}{unit}."
        return Figure(curve_figure(name, profile), caption + _outside(profile.outside))
    caption = f"{format_count(profile.others, 'more label')}." if profile.others else ""
    return Figure(_frequencies_figure(name, profile), caption)


def _outside(count: int) -> str:
    return f" Not shown: {format_count(count, 'row')} outside of the range." if count else ""


# --- figures ---------------------------------------------------------------------------------


def _contours_figure(table: Table, contours: Contours) -> str:
    """Contours of the density of two columns, and at most 3,000 rows."""
    first, second = (shorten(name, 30) for name in contours.columns)
    rows = random_rows(table.n, MAX_POINTS)
    points = table.X[rows]
    inside = np.logical_and.reduce(
        [
            (points[:, j] >= axis[0]) & (points[:, j] <= axis[-1])
            for j, axis in enumerate((contours.x, contours.y))
        ]
    )
    i, j = np.unravel_index(int(contours.density.argmax()), contours.density.shape)
    alt = (
        f"Contours of the density of {first} and {second} that enclose 10, 30, 50, 70, 90 and 99 % "
        f"of it. The peak is near {first} = {format_number(contours.x[i], 3)}, "
        f"{second} = {format_number(contours.y[j], 3)}."
    )

    def draw(figure: Any) -> None:
        display = DensityDisplay(
            axes_points=[contours.x, contours.y],
            values=contours.density,
            points=points[inside],
            labels=[first, second],
        ).plot(figure.subplots())
        # a single color, which the page can set; line widths distinguish the levels
        display.contours_.set(edgecolor=PALETTE[0], linewidth=np.linspace(0.8, 2.0, 6))

    return svg("contours", alt, (5.4, 4.4), draw)


def curve_figure(name: str, curve: Curve) -> str:
    """Density of one column, and the contributions of the clusters."""
    title = shorten(curve.column, 34)
    peak = float(curve.x[curve.density.argmax()])
    at = str(np.datetime64(round(peak), "D")) if curve.is_date else format_number(peak, 3)
    parts = f", and contributions of {len(curve.parts)} clusters" if curve.parts else ""
    alt = f"Density of {title}{parts}. The peak is near {at}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        x = (
            np.asarray(np.round(curve.x * 86400), dtype="datetime64[s]")
            if curve.is_date
            else curve.x
        )
        for i, part in enumerate(curve.parts):
            ax.fill_between(x, part, color=PALETTE[i], alpha=0.25, linewidth=0)
            ax.plot(x, part, color=PALETTE[i], linewidth=1.2, label=str(i))
        if curve.parts:
            ax.plot(x, curve.density, color=MUTED, linewidth=1.0)
        else:
            DensityDisplay(axes_points=[x], values=curve.density, labels=[""]).plot(ax)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="", ylabel="", yticks=[])
        ax.set_ylim(0)
        ax.spines["left"].set_visible(False)
        ax.tick_params(labelsize=9)
        if curve.is_date:
            _set_date_ticks(ax)

    return svg(name, alt, (3.6, 2.5), draw)


def _set_date_ticks(ax: Any) -> None:
    import matplotlib.dates

    dates: Any = matplotlib.dates
    # With minticks=3 some ranges (of 60 hours, for example) have no interval with at most 5 ticks,
    # about which Matplotlib warns.
    locator = dates.AutoDateLocator(minticks=2, maxticks=5)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _frequencies_figure(name: str, frequencies: Frequencies) -> str:
    """Bar chart of relative frequencies of labels."""
    title = shorten(frequencies.column, 34)
    listed = ", ".join(
        f"{shorten(label, 30)} {format_percent(fraction)}"
        for label, fraction in zip(frequencies.labels, frequencies.fractions, strict=True)
    )
    others = (
        f"; {frequencies.others:,} other labels are less frequent" if frequencies.others else ""
    )
    alt = f"Relative frequencies of {title}: {listed}{others}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        positions = range(len(frequencies.labels))
        ax.barh(positions, frequencies.fractions, color=PALETTE[0], height=0.7)
        names = [shorten(label, 18) for label in frequencies.labels]
        ax.set_yticks(positions, names, fontsize=9)
        ax.invert_yaxis()
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        ax.tick_params(labelsize=9)
        ax.set_title(title, fontsize=11)

    return svg(name, alt, (3.6, 2.5), draw)


# --- estimates -------------------------------------------------------------------------------


def estimate_densities(spectra: Spectra, numbers: Array, traits: tuple[Trait, ...]) -> Densities:
    """Estimate contours (two numeric columns), and profiles of up to eight columns.

    If there are more columns, those that differ most between clusters are chosen. The contours use
    the kernel of ``spectra``; ``numbers`` are the clusters of the rows, from 0.
    """
    model, table = spectra.model, spectra.model.table
    contours = None
    if table.is_numeric and len(table.columns) == 2:
        contours = _contours(table, model, spectra.eca.kernel_)
    largest_effect: dict[str, float] = dict.fromkeys(table.columns, 0.0)
    for trait in traits:
        largest_effect[trait.column] = max(largest_effect[trait.column], abs(trait.effect))
    comparable = [name for name in table.columns if table.column_types[name] != "text"]
    chosen = sorted(comparable, key=lambda name: -largest_effect[name])[:8]
    profiles = tuple(
        _curve(table, name, numbers)
        if table.column_types[name] in ("number", "date")
        else _frequencies(table.frame[name], name)
        for name in comparable
        if name in chosen
    )
    return Densities(spectra, contours, profiles, len(comparable) - len(profiles))


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


def _curve(table: Table, name: str, numbers: Array) -> Curve:
    is_date = table.column_types[name] == "date"
    rows = random_rows(table.n, _CURVE_ROWS)
    column, numbers = table.frame[name].iloc[rows], numbers[rows]
    known = column.notna().to_numpy()
    values = _floats(column[known], is_date)
    own = numbers[known]
    sigma = _bandwidth(values, own)
    low, high = _range(values)
    x = np.linspace(low, high, 160)
    count = int(own.max(initial=-1)) + 1
    parts: tuple[Array, ...] = ()
    if 2 <= count <= 6:  # more are not legible in a small figure
        parts = tuple(
            _density(values[own == c], sigma, x) * float((own == c).mean())
            if (own == c).any()
            else np.zeros_like(x)
            for c in range(count)
        )
    outside = int(((values < low) | (values > high)).sum())
    return Curve(name, x, _density(values, sigma, x), parts, sigma, outside, is_date)


def _floats(column: Any, is_date: bool) -> Array:
    """Return the values as floats; dates become days since 1970-01-01."""
    if is_date:
        days = column.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 86_400e9
        return np.asarray(days)
    return np.asarray(column.to_numpy(dtype=np.float64))


def _bandwidth(values: Array, clusters: Array) -> float:
    """Apply Silverman's rule within clusters; the spread between clusters would oversmooth."""
    centered = values - np.median(values)
    for c in np.unique(clusters):
        members = clusters == c
        centered[members] = values[members] - np.median(values[members])
    if np.ptp(centered) == 0:
        centered = values
    return silverman(centered[:, None])


def _density(values: Array, sigma: float, x: Array) -> Array:
    with suppress_warnings():  # the bandwidth is chosen for all clusters together
        density = ParzenDensity(kernel=Gaussian(sigma)).fit(values[:, None])
    return np.asarray(density.pdf(x[:, None]))


def _frequencies(column: Any, name: str) -> Frequencies:
    counts = column.dropna().astype(str).value_counts()
    top = counts.head(8)
    fractions = tuple(float(count) / max(int(counts.sum()), 1) for count in top)
    return Frequencies(name, tuple(map(str, top.index)), fractions, len(counts) - len(top))


def _contours(table: Table, model: Preparation, kernel: Kernel) -> Contours:
    raw, data = table.X, model.data
    axes, outside = [], np.zeros(len(raw), dtype=bool)
    for column in raw.T:
        low, high = _range(column)
        axes.append(np.linspace(low, high, 120))
        outside |= (column < low) | (column > high)
    scale, center = (raw.std(axis=0), raw.mean(axis=0)) if model.scaled else (np.ones(2), 0.0)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    with suppress_warnings():  # the kernel is that of the components
        density = ParzenDensity(kernel=kernel).fit(data[random_rows(table.n, _CURVE_ROWS)])
    values = density.pdf((nodes - center) / scale) / np.prod(scale)
    first, second = table.columns
    return Contours(
        (first, second),
        axes[0],
        axes[1],
        values.reshape(len(axes[0]), len(axes[1])),
        int(outside.sum()),
    )
