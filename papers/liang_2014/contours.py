"""Contours of a function, with data points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.figures import MARKERS, ORDERED, PALETTE
from papers.types import Array

__all__ = ["draw_contours", "grid_around", "grid_over"]

Grid = tuple[Array, Array]
_GRID = 120


def grid_over(low: tuple[float, float], high: tuple[float, float]) -> Grid:
    """Coordinates along the two axes of a box."""
    first, second = (np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True))
    return first, second


def grid_around(X: Array, margin: float = 0.08) -> Grid:
    """Coordinates along the two axes of a box around points."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = margin * (high - low)
    return grid_over(tuple(low - pad), tuple(high + pad))


def draw_contours(
    ax: Any,
    grid: Grid,
    function: Callable[[Array], Array],
    X: Array | None = None,
    y: Array | None = None,
    title: str = "",
) -> None:
    """Draw contours from blue (low) to vermilion (high), and points by class."""
    from matplotlib.colors import LinearSegmentedColormap

    if X is not None:
        codes = np.zeros(len(X), dtype=int) if y is None else y
        for k in np.unique(codes):
            ax.scatter(
                *X[codes == k].T, s=5, color=PALETTE[k], marker=MARKERS[k], alpha=0.3, linewidths=0
            )
    nodes = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    values = function(nodes).reshape(_GRID, _GRID)
    colors = LinearSegmentedColormap.from_list("mercer", ORDERED)
    ax.contour(*grid, values.T, levels=12, cmap=colors, linewidths=1.1)
    ax.set_title(title, fontsize="medium")
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
