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
from mercer.tables import Preparation, Table
from mercer.utils.types import Array

__all__ = ["CURVE_ROWS", "Contours", "Curve", "Densities", "Frequencies", "estimate_densities"]

#: Maximum number of rows that a curve is estimated from.
CURVE_ROWS = 100_000
_MAX_PROFILES = 8
_MAX_LABELS = 8
_MAX_PARTS = 6  # more clusters than this are not legible in a small figure
_CURVE_GRID = 160
_CONTOUR_GRID = 120
_TAIL = 0.001


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
class Densities:
    """Densities to draw, and the number of columns that are not drawn."""

    contours: Contours | None
    profiles: tuple[Curve | Frequencies, ...]
    columns_left: int


def estimate_densities(
    model: Preparation, kernel: Kernel, numbers: Array, traits: tuple[Trait, ...]
) -> Densities:
    """Estimate contours (two numeric columns), and profiles of up to eight columns.

    If there are more columns, those that differ most between clusters are chosen.

    Parameters
    ----------
    model : Preparation
    kernel : Kernel
        For the contours; fitted to ``model.data``.
    numbers : int array of shape (n,)
        Cluster numbers, from 0.
    traits : tuple of Trait
    """
    table = model.table
    contours = None
    if table.is_numeric and len(table.columns) == 2:
        contours = _contours(table, model, kernel)
    largest_effect: dict[str, float] = dict.fromkeys(table.columns, 0.0)
    for trait in traits:
        largest_effect[trait.column] = max(largest_effect[trait.column], abs(trait.effect))
    comparable = [name for name in table.columns if table.column_types[name] != "text"]
    chosen = sorted(comparable, key=lambda name: -largest_effect[name])[:_MAX_PROFILES]
    profiles = tuple(
        _curve(table, name, numbers)
        if table.column_types[name] in ("number", "date")
        else _frequencies(table.frame[name], name)
        for name in comparable
        if name in chosen
    )
    return Densities(contours, profiles, len(comparable) - len(profiles))


def _range(values: Array) -> tuple[float, float]:
    """Return the range of the values, or of the central 99.8 % if there are outliers.

    A margin of 6 % is added on both sides.
    """
    low, high = float(values.min()), float(values.max())
    inner = np.quantile(values, [_TAIL, 1 - _TAIL])
    if high - low > 2 * (inner[1] - inner[0]) > 0:
        low, high = map(float, inner)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _curve(table: Table, name: str, numbers: Array) -> Curve:
    is_date = table.column_types[name] == "date"
    rows = random_rows(table.n, CURVE_ROWS)
    column, numbers = table.frame[name].iloc[rows], numbers[rows]
    known = column.notna().to_numpy()
    values = _floats(column[known], is_date)
    own = numbers[known]
    sigma = _bandwidth(values, own)
    low, high = _range(values)
    x = np.linspace(low, high, _CURVE_GRID)
    count = int(own.max(initial=-1)) + 1
    parts: tuple[Array, ...] = ()
    if 2 <= count <= _MAX_PARTS:
        parts = tuple(
            _density(values[own == c], sigma, x) * float((own == c).mean())
            if (own == c).any()
            else np.zeros(_CURVE_GRID)
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
    top = counts.head(_MAX_LABELS)
    fractions = tuple(float(count) / max(int(counts.sum()), 1) for count in top)
    return Frequencies(name, tuple(map(str, top.index)), fractions, len(counts) - len(top))


def _contours(table: Table, model: Preparation, kernel: Kernel) -> Contours:
    raw, data = table.X, model.data
    axes, outside = [], np.zeros(len(raw), dtype=bool)
    for column in raw.T:
        low, high = _range(column)
        axes.append(np.linspace(low, high, _CONTOUR_GRID))
        outside |= (column < low) | (column > high)
    scale, center = (raw.std(axis=0), raw.mean(axis=0)) if model.scaled else (np.ones(2), 0.0)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    with suppress_warnings():  # the kernel is that of the components
        density = ParzenDensity(kernel=kernel).fit(data[random_rows(table.n, CURVE_ROWS)])
    values = density.pdf((nodes - center) / scale) / np.prod(scale)
    first, second = table.columns
    return Contours(
        (first, second),
        axes[0],
        axes[1],
        values.reshape(_CONTOUR_GRID, _CONTOUR_GRID),
        int(outside.sum()),
    )
