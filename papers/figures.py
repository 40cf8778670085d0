"""Colors, panels and scatter plots that the figures of all papers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.types import Array

__all__ = [
    "GRAY",
    "MARKERS",
    "ORDERED",
    "PALETTE",
    "VERMILION",
    "name_axes",
    "new_figure",
    "new_panels",
    "panels",
    "scatter",
    "scatter_3d",
]

# Okabe and Ito (2008), darkened for white paper; classes differ in marker and color
PALETTE = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#008f68",  # bluish green
    "#b4508c",  # reddish purple
    "#a07200",  # amber
    "#3390c0",  # sky blue
    "#6a3d9a",  # violet
    "#a3242b",  # dark red
    "#4d7c1f",  # leaf green
    "#6b7178",  # gray
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p")
VERMILION = PALETTE[1]
GRAY = PALETTE[-1]
#: Color scale from low to high.
ORDERED = (PALETTE[0], "#8a8f96", PALETTE[1])


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure with constrained layout."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes as an array of shape (rows, columns)."""
    figure = new_figure(*size)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def new_panels(count: int, side: float, columns: int | None = None) -> Any:
    """Return an array of at least ``count`` square axes, by default up to four per row."""
    columns = min(count, 4 if count > 9 else 3) if columns is None else columns
    rows = -(-count // columns)
    _, axes = panels(rows, columns, (side * columns, side * rows))
    return axes.ravel()


def scatter(
    ax: Any, Z: Array, y: Array, *, names: Any = None, size: float = 14, origin: bool = True
) -> None:
    """Draw points of the plane by class; ``origin`` adds thin lines through the origin."""
    if origin:
        for line in (ax.axhline, ax.axvline):
            line(0, color=GRAY, linewidth=0.6, zorder=0)
    _scatter(ax, Z[:, :2], y, names, {"s": size, "linewidths": 0, "alpha": 0.7})


def scatter_3d(
    ax: Any, Z: Array, y: Array, ranks: Iterable[int], *, names: Any = None, size: float = 14
) -> None:
    """Draw points in three dimensions by class, with axes labeled by their eigenvectors."""
    _scatter(ax, Z[:, :3], y, names, {"s": size, "linewidths": 0, "alpha": 0.6})
    for axis, rank in enumerate(ranks):
        ends = np.zeros((3, 2))
        ends[axis] = min(0, Z[:, axis].min()), Z[:, axis].max()
        ax.plot(*ends, color=GRAY, linewidth=0.8)
        ax.text(*(1.08 * ends[:, 1]), _vector_name(rank), ha="center", va="center")
    ax.tick_params(labelsize=7, pad=-2)
    ax.set_box_aspect(None, zoom=1.1)


def name_axes(ax: Any, ranks: Iterable[int]) -> None:
    """Label the two axes of a plot by the ranks of their eigenvectors."""
    for setter, rank in zip((ax.set_xlabel, ax.set_ylabel), ranks, strict=True):
        setter(_vector_name(rank))


def _vector_name(rank: int) -> str:
    return f"e$_{{{rank}}}$"


def _scatter(ax: Any, Z: Array, y: Array, names: Any, style: dict[str, Any]) -> None:
    for i, label in enumerate(np.unique(y)):
        ax.scatter(
            *Z[y == label].T,
            color=PALETTE[i],
            marker=MARKERS[i],
            label=str(label) if names is None else names[i],
            **style,
        )
