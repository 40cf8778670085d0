"""Typical values of columns, and rows in which a column is replaced by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data import Points
from mercer.frames import is_frame
from mercer.maths.quantiles import weighted_median
from mercer.maths.types import Array

__all__ = ["typical_row", "with_column"]


def typical_row(points: Points, weights: Array) -> Any:
    """Return medians or most frequent values of the columns; None without columns."""
    data = points.data
    if points.kind == "vectors":
        return weighted_median(data.T.astype(np.float64), weights)
    if not is_frame(data):
        return None
    values = []
    for name in data.columns:
        column = data[name]
        if column.dtype.kind in "iuf":
            values.append(column.median())
        else:
            frequent = column.mode(dropna=True)
            values.append(frequent.iloc[0] if len(frequent) else None)
    return values


def with_column(points: Points, j: int, value: Any) -> Points:
    """Return points with column j set to a value."""
    if points.kind == "vectors":
        changed = points.data.astype(np.float64)
        changed[:, j] = value
        return Points(changed, "vectors", points.feature_names)
    frame = points.data.copy()
    column = frame.iloc[:, j]
    if column.dtype.kind in "iu":
        value = float(value)
    replaced = type(column)([value] * len(column), index=column.index, name=column.name)
    frame.isetitem(j, replaced.astype(column.dtype) if column.dtype.kind not in "iu" else replaced)
    return Points(frame, "objects", points.feature_names)
