"""Contributions of columns: changes of a statistic if a column gets its typical value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.utils.frames import is_frame
from mercer.utils.quantiles import weighted_median
from mercer.utils.types import Array

__all__ = ["contributions_of_columns", "typical_row"]


def typical_row(points: Points, weights: Array) -> Any:
    """Return the median, or the most frequent value, of every column; None without columns.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 5.0, 2.0], "c": ["a", "b", "b"]})
    >>> typical_row(Points(frame, "objects"), np.ones(3))
    [2.0, 'b']
    """
    data = points.data
    if points.is_sparse:
        return None
    if points.kind == "vectors":
        return weighted_median(data.T.astype(np.float64), weights)
    if not is_frame(data):
        return None
    return [_typical_cell(data[name], weights) for name in data.columns]


def _typical_cell(column: Any, weights: Array) -> Any:
    present = column.notna().to_numpy()
    if not present.any():
        return None
    column, weights = column[present], weights[present]
    if column.dtype.kind in "iuf":
        return float(weighted_median(column.to_numpy(dtype=np.float64), weights))
    if column.dtype.kind in "mM":
        order = np.argsort(column.to_numpy(), kind="stable")
        reached = np.cumsum(weights[order]) >= weights.sum() / 2
        return column.iloc[order[int(np.argmax(reached))]]
    totals = type(column)(weights, index=column.index).groupby(column.astype(object)).sum()
    return totals.idxmax()


def contributions_of_columns(
    statistic: Callable[[Points], Array], points: Points, typical: Any
) -> Array:
    """Return the statistic minus its value with column j replaced, of shape (m, d).

    Parameters
    ----------
    statistic : callable
        Maps points to one number per row.
    points : Points
        Vectors or a data frame.
    typical : sequence
        The typical value of every column.
    """
    original = statistic(points)
    result = np.empty((points.n, len(typical)))
    for j, value in enumerate(typical):
        result[:, j] = original - statistic(_with_column(points, j, value))
    return result


def _with_column(points: Points, j: int, value: Any) -> Points:
    """Return points with column j set to a value."""
    if points.kind == "vectors":
        changed = points.data.copy()
        changed[:, j] = value
        return Points(changed, "vectors", points.feature_names)
    frame = points.data.copy()
    column = frame.iloc[:, j]
    replaced = type(column)([value] * len(column), index=column.index, name=column.name)
    frame.isetitem(j, replaced if column.dtype.kind in "iu" else replaced.astype(column.dtype))
    return Points(frame, "objects", points.feature_names)
