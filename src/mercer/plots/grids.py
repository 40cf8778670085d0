"""Grids around samples of one or two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.density.bounds import Bounds
from mercer.utils.types import Array

__all__ = ["column_names", "grid_around", "one_or_two_columns"]

_MARGIN = 0.1  # around the data, as a fraction of their range


def one_or_two_columns(X: Any) -> Array:
    """Return X as an array; raise ValueError unless it has one or two columns."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (1, 2):
        raise ValueError(
            f"X has shape {points.shape}, but only one or two columns can be plotted. Fit "
            "the estimator to two columns, or to two components of KernelPCA."
        )
    return points


def grid_around(
    points: Array, size: int, bounds: Bounds | None = None
) -> tuple[list[Array], Array]:
    """Return the coordinates of a grid along each column, and its nodes, inside of the bounds."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = _MARGIN * np.where(high > low, high - low, 1.0)
    low, high = low - pad, high + pad
    if bounds is not None:
        low, high = np.maximum(low, bounds.low), np.minimum(high, bounds.high)
    axes = [np.linspace(a, b, size) for a, b in zip(low, high, strict=True)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return axes, nodes


def column_names(estimator: Any, points: Array) -> list[str]:
    """Return the names of the columns of a fit, or x1 and x2."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i + 1}" for i in range(points.shape[1])] if names is None else list(names)
