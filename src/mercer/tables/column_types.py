"""Types of columns: numbers, dates, categories and texts."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.kernels.tables import are_texts

__all__ = ["ColumnType", "as_column_type", "as_strings", "column_type"]

ColumnType = Literal["number", "date", "category", "text"]


def column_type(column: Any) -> ColumnType:
    """Return the type of a column.

    Parameters
    ----------
    column : pandas.Series

    Examples
    --------
    >>> import pandas as pd
    >>> column_type(pd.Series(["2024-01-31", "2024-02-29"])), column_type(pd.Series([True, False]))
    ('date', 'category')
    """
    import pandas as pd

    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype) or types.is_bool_dtype(column.dtype):
        return "category"
    if types.is_numeric_dtype(column.dtype):
        return "number"
    if types.is_datetime64_any_dtype(column.dtype) or _are_dates(column):
        return "date"
    return "text" if are_texts(as_strings(column).dropna().to_numpy(dtype=object)) else "category"


def as_column_type(column: Any, wanted: ColumnType) -> Any:
    """Convert a column to a type; numbers that are not finite become missing values.

    Parameters
    ----------
    column : pandas.Series
    wanted : {"number", "date", "category", "text"}

    Returns
    -------
    pandas.Series
        Numbers as float64, dates as datetimes, categories as a categorical of strings, texts as
        strings. Ordered categoricals are returned unchanged.
    """
    import pandas as pd

    if wanted == "number":
        return _numbers(column)
    if wanted == "date":
        try:
            return pd.to_datetime(column, format="ISO8601")
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"Column {column.name!r} should contain dates: {error}") from error
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

    if column.dtype == np.float64 and np.isfinite(column.to_numpy()).all():
        return column  # fast path: tables may have thousands of columns
    if pd.api.types.is_complex_dtype(column.dtype):
        raise ValueError(
            f"Column {column.name!r} contains complex numbers. Split it into real and "
            "imaginary parts."
        )
    numbers = pd.to_numeric(column, errors="coerce")
    invalid = column[numbers.isna() & column.notna()]
    if len(invalid):
        raise ValueError(
            f"Column {column.name!r} should contain numbers, but {str(invalid.iloc[0])[:30]!r} is "
            "not a number."
        )
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.where(np.isfinite(values), values, np.nan)
    return pd.Series(finite, column.index, name=column.name)


def _are_dates(column: Any) -> bool:
    """Return whether all cells are strings in ISO 8601 format."""
    import pandas as pd

    present = column.dropna()
    if not len(present) or not all(isinstance(cell, str) for cell in present[:20]):
        return False
    if not present.str.match(r"\d{4}-\d{2}").all():
        return False
    try:
        pd.to_datetime(present, format="ISO8601")
    except (ValueError, TypeError, OverflowError):
        return False
    return True
