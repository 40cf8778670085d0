"""Clustering example 3, Fig. 13: cement, sky and grass of the image segmentation data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer.bandwidth import median_distance
from papers.comparison import Picture, Row, Table, show
from papers.data import load_segment
from papers.figures import panels
from papers.jenssen_2010.sweeps import Sweep, plot_errors, sweep, tenths
from papers.types import Array

__all__ = ["TABLES", "figures", "load_three_surfaces"]

_INTERVALS = (
    (13.0, 18.6, {1, 2, 3}),
    (18.7, 23.4, {2, 3, 4}),
    (23.5, 23.5, {1, 2, 3}),
    (23.6, 25.0, {1, 3, 4}),
    (25.1, 28.0, {1, 2, 4}),
)


@cache
def load_three_surfaces() -> tuple[Array, Array]:
    """The 90 rows of the training file, not standardized."""
    data: Any = load_segment(subset="train")
    names = data.target_names[data.target - 1]
    chosen = np.isin(names, ["CEMENT", "SKY", "GRASS"])
    return data.data[chosen], names[chosen]


@cache
def _sweep(quick: bool) -> Sweep:
    grid = tenths(13, 28) if quick else tenths(5, 36.4)
    return sweep(*load_three_surfaces(), grid)


def _table(quick: bool) -> Table:
    """Component sets at each step of 0.1, and errors."""
    found = _sweep(quick)
    rows = []
    for low, high, expected in _INTERVALS:
        steps = tenths(low, high)
        hits = sum(found.components_at(b) == expected for b in steps)
        where = f"{low} to {high}" if low < high else f"{low}"
        item = f"σ = {where}: steps of 0.1 with {show(expected)}"
        rows.append(Row(item, str(len(steps)), hits))
    median = median_distance(load_three_surfaces()[0])
    rows += [
        Row("lowest error of kernel ECA", "4", _lowest_error(found, "eca"), " %"),
        Row("lowest error of kernel PCA", "20 to 25", _lowest_error(found, "pca"), " %"),
        Row(
            "lowest error of NJW",
            "20 to 25",
            _lowest_error(found, "njw"),
            " %",
            reason="the printed range is for two methods and rough; NJW has one error at all of "
            "these bandwidths, from each of four starts of its k-means",
            remark=f"From {found.between(13, 28, 'njw').min():.1f} to "
            f"{found.between(13, 28, 'njw').max():.1f} % on σ = 13 to 28.",
        ),
        Row("10 % of the median distance", "18.2", float(0.1 * median)),
        Row("20 % of the median distance", "36.4", float(0.2 * median)),
        Row(
            "largest error of kernel ECA, σ = 23.6 to 28",
            "≤ 6.7",
            float(found.between(23.6, 28.0).max()),
            " %",
            recomputed=True,
        ),
    ]
    return Table(
        tuple(rows),
        note="90 rows, columns not standardized (as the bandwidths imply); errors at σ = 13 to 28. "
        "With standardized columns simple methods are better: see the comparison of methods.",
    )


TABLES = {"Clustering example 3: image segmentation, 90 rows (Fig. 13)": _table}


def _lowest_error(found: Sweep, method: str) -> float:
    return float(found.between(13, 28, method).min())


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 13."""
    found = _sweep(quick)
    figure, axes = panels(1, 1, (7.5, 4.2))
    ax = axes[0, 0]
    plot_errors(ax, found.bandwidths, found.errors)
    top = ax.get_ylim()[1]
    for low, high, selected in _INTERVALS:
        ax.axvline(low - 0.05, color="#aaaaaa", linewidth=0.6)
        if high - low > 1:
            text = ",".join(map(str, sorted(selected)))
            ax.text((low + high) / 2, top, text, ha="center", va="top", fontsize=8)
    ax.axvline(28.05, color="#aaaaaa", linewidth=0.6)
    ax.set_ylim(top=1.12 * top)
    yield Picture(
        "fig13",
        "Fig. 13. Image segmentation: clustering errors against σ. Thin lines and numbers: the "
        "ranges in which kernel ECA selects these components (only at σ = 23.5 the top three).",
        figure,
    )
