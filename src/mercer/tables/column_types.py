"""Conversion of columns to their types: numbers, dates, categories and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mercer.kernels.cells import (
    ColumnType,
    as_dates,
    as_days,
    column_type,
    is_plain_number,
)

__all__ = [
    "ColumnType",
    "as_column_type",
    "as_strings",
    "as_typed_frame",
    "column_type",
    "find_column_types",
]


def find_column_types(frame: Any, categorical: Iterable[str] = ()) -> dict[str, ColumnType]:
    """Return the types of all columns; those in ``categorical`` are categories.

    >>> import pandas as pd
    >>> find_column_types(pd.DataFrame({"zip": [10115, 80331], "x": [1.5, 2]}), ["zip"])
    {'zip': 'category', 'x': 'number'}
    """
    categories = set(categorical)

    def find(name: str, dtype: Any) -> ColumnType:
        if name in categories:
            return "category"
        # Selecting each of 100,000 columns takes seconds.
        return "number" if is_plain_number(dtype) else column_type(frame[name])

    return {
        name: find(name, dtype) for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
    }


def as_typed_frame(frame: Any, column_types: Mapping[str, ColumnType]) -> Any:
    """Select columns and convert each to its type; see :func:`as_column_type`.

    >>> import pandas as pd
    >>> as_typed_frame(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), {"a": "number"})
         a
    0  1.0
    1  2.0
    """
    import pandas as pd

    names = list(column_types)
    frame = frame[names]
    # Plain numbers are converted as one block, for the same reason as above.
    plain = [
        name
        for name, dtype in zip(names, frame.dtypes, strict=True)
        if column_types[name] == "number" and is_plain_number(dtype)
    ]
    values = frame[plain].to_numpy(dtype=np.float64)
    numbers = pd.DataFrame(np.where(np.isfinite(values), values, np.nan), frame.index, plain)
    if len(plain) == len(names):
        return numbers
    done = set(plain)
    others = {c: as_column_type(frame[c], column_types[c]) for c in names if c not in done}
    return pd.concat([numbers, pd.DataFrame(others, index=frame.index)], axis=1)[names]


def as_column_type(column: Any, wanted: ColumnType) -> Any:
    """Convert a column to a type; numbers that are not finite become missing values.

    Parameters
    ----------
    column : pandas.Series
    wanted : {"number", "date", "category", "text"}

    Returns
    -------
    pandas.Series
        Numbers as float64 (durations in days), dates as datetimes, categories as a categorical of
        strings, texts as strings. Ordered categoricals are returned unchanged.
    """
    import pandas as pd

    if wanted == "number":
        return _numbers(column)
    if wanted == "date":
        return as_dates(column)
    if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
        return column
    labels = as_strings(column)
    return labels.astype("category") if wanted == "category" else labels


def as_strings(column: Any) -> Any:
    """Convert the cells of a column to strings; missing values become None.

    Whole numbers are written without a decimal point, because one missing value turns a column of
    integers into floats.

    >>> import pandas as pd
    >>> as_strings(pd.Series([1, None, 2])).tolist()
    ['1', None, '2']
    """
    is_present = column.notna()
    present = column[is_present].astype(object).tolist()
    cells_as_int = [int(c) if isinstance(c, float) and c.is_integer() else c for c in present]
    cells = column.astype(object).where(is_present, None)
    strings = np.empty(len(present), dtype=object)  # a list would become an array of fixed width
    strings[:] = [str(cell) for cell in cells_as_int]
    cells[is_present] = strings
    return cells


def _numbers(column: Any) -> Any:
    import pandas as pd

    values = _as_floats(column)
    finite = np.where(np.isfinite(values), values, np.nan)
    return pd.Series(finite, column.index, name=column.name)


def _as_floats(column: Any) -> Any:
    import pandas as pd

    if column.dtype.kind in "iuf":  # also pandas' nullable types
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    days = as_days(column)
    if days is not None and column_type(column) == "number":
        return days  # durations
    try:
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
    except OverflowError:  # an integer with more than 308 digits
        numbers = column.map(_as_float, na_action="ignore").astype(np.float64)
    invalid = column[(numbers.isna() & column.notna()) | (days is not None)]
    if len(invalid):
        raise ValueError(
            f"Column {column.name!r} should contain numbers, but {str(invalid.iloc[0])[:30]!r} is "
            "not a number."
        )
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except (OverflowError, TypeError, ValueError):
        return float("inf") if isinstance(cell, int) else float("nan")
