"""What the figures share: panels, and points marked by class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.maths.types import Array
from mercer.plots.style import LEFT_OUT, MARKERS, PALETTE

__all__ = ["name_axes", "new_figure", "panels", "scatter", "scatter_in_space"]


def new_figure(width: float, height: float) -> Any:
    """An empty figure whose parts make room for each other."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """A figure and its axes as an array of shape (rows, columns)."""
    figure = new_figure(*size)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def scatter(
    ax: Any, Z: Array, y: Array, *, names: Any = None, size: float = 14, origin: bool = True
) -> None:
    """Points of the plane by class; thin lines mark the origin, from which angles are seen."""
    if origin:
        for line in (ax.axhline, ax.axvline):
            line(0, color=LEFT_OUT, linewidth=0.6, zorder=0)
    _scatter(ax, Z[:, :2], y, names, {"s": size, "linewidths": 0, "alpha": 0.7})


def scatter_in_space(
    ax: Any, Z: Array, y: Array, ranks: Iterable[int], *, names: Any = None, size: float = 14
) -> None:
    """Points of space by class, with lines through the origin named by their eigenvectors."""
    _scatter(ax, Z[:, :3], y, names, {"s": size, "linewidths": 0, "alpha": 0.6})
    for axis, rank in enumerate(ranks):
        ends = np.zeros((3, 2))
        ends[axis] = min(0, Z[:, axis].min()), Z[:, axis].max()
        ax.plot(*ends, color=LEFT_OUT, linewidth=0.8)
        ax.text(*(1.08 * ends[:, 1]), _vector_name(rank), ha="center", va="center")
    ax.tick_params(labelsize=7, pad=-2)
    ax.set_box_aspect(None, zoom=1.1)


def name_axes(ax: Any, ranks: Iterable[int]) -> None:
    """Name the axes of a plane by the places of their eigenvectors."""
    for setter, rank in zip((ax.set_xlabel, ax.set_ylabel), ranks, strict=True):
        setter(_vector_name(rank))


def _vector_name(rank: int) -> str:
    return f"e$_{{{rank}}}$"


def _scatter(ax: Any, Z: Array, y: Array, names: Any, look: dict[str, Any]) -> None:
    for i, label in enumerate(np.unique(y)):
        ax.scatter(
            *Z[y == label].T,
            color=PALETTE[i],
            marker=MARKERS[i],
            label=str(label) if names is None else names[i],
            **look,
        )
