"""Type of a column of a data frame, and its values as numbers.

:func:`column_type` decides for all of the package: for :func:`mercer.kernels.table_kernel`, and for
the tables of the command line, the report and the explorer. Columns are pandas series without Arrow
types; see :func:`mercer.utils.frames.as_frame`.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from math import sqrt
from typing import Any, Literal

import numpy as np

from mercer.utils.types import Array

__all__ = ["ColumnType", "are_texts", "as_dates", "as_days", "column_type", "is_plain_number"]

ColumnType = Literal["number", "date", "category", "text"]
_Content = Literal["number", "date", "duration", "complex", "string", "other"]

# Strings are texts if there are many distinct ones, or if most rows have a distinct one and these
# are long.
_MANY_LABELS = 50
_LONG_LABEL = 12

_DAY = 24 * 3600 * 1e6  # microseconds


def column_type(column: Any) -> ColumnType:
    """Return the type of a column.

    Durations and decimals are numbers. Periods, times with or without a time zone, and strings in
    ISO 8601 format are dates. Booleans and all other objects are categories.

    Parameters
    ----------
    column : pandas.Series

    Examples
    --------
    >>> import pandas as pd
    >>> column_type(pd.Series(["2024-01-31", "2024-02-29"])), column_type(pd.Series([True, False]))
    ('date', 'category')
    """
    content = _content(column)
    if content == "complex":
        raise ValueError(
            f"Column {column.name!r} contains complex numbers. Split it into real and imaginary "
            "parts."
        )
    if content == "string":
        if _are_iso_dates(column):
            return "date"
        return "text" if are_texts(column.dropna().to_numpy(dtype=object)) else "category"
    if content == "other":
        return "category"
    return "date" if content == "date" else "number"


def is_plain_number(dtype: Any) -> bool:
    """Return whether a column of this dtype is a number without looking at the column.

    >>> is_plain_number(np.dtype(float)), is_plain_number(np.dtype(object))
    (True, False)
    """
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def as_dates(column: Any) -> Any:
    """Return a column of dates as datetimes; different UTC offsets are converted to UTC.

    Parameters
    ----------
    column : pandas.Series
        Periods become their first moment. Strings must be in ISO 8601 format.

    Examples
    --------
    >>> import pandas as pd
    >>> as_dates(pd.Series(["2024-01-01T12:00+01:00", "2024-07-01T12:00+02:00"])).dt.hour.tolist()
    [11, 10]
    """
    import pandas as pd

    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    content = _content(column)
    if content not in ("date", "string") and column.notna().any():
        raise ValueError(
            f"Column {column.name!r} should contain dates, but it contains "
            f"{str(column.dropna().iloc[0])[:30]!r}."
        )
    if content == "date":
        column = column.map(lambda cell: cell.start_time if isinstance(cell, pd.Period) else cell)
    options = {"format": "ISO8601"} if content == "string" else {}
    try:
        try:
            return pd.to_datetime(column, **options)
        except ValueError:  # different UTC offsets
            return pd.to_datetime(column, utc=True, **options)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"Column {column.name!r} should contain dates: {error}") from error


def as_days(column: Any) -> Array | None:
    """Return dates or durations as days, with NaN for missing values; None for other columns.

    Dates are counted from 1970 in UTC. Times without a time zone are taken as UTC, as by
    ``pandas.to_datetime(..., utc=True)``, so dates with and without one can be compared.

    >>> import pandas as pd
    >>> as_days(pd.Series(pd.to_datetime(["1970-01-02", None])))
    array([ 1., nan])
    """
    import pandas as pd

    content = _content(column)
    if content == "duration":
        times = pd.to_timedelta(column).to_numpy().astype("m8[us]")
    elif content == "date" or (content == "string" and _are_iso_dates(column)):
        dates = pd.to_datetime(as_dates(column), utc=True).dt.tz_localize(None)
        times = dates.to_numpy().astype("M8[us]")
    else:
        return None
    days: Array = np.where(np.isnat(times), np.nan, times.astype(np.int64) / _DAY)
    return days


def are_texts(cells: Array) -> bool:
    """Whether strings are texts rather than labels; the rule is in :func:`table_kernel`."""
    if not all(isinstance(cell, str) for cell in cells):
        return False
    distinct = set(cells)
    if len(distinct) > max(_MANY_LABELS, sqrt(len(cells))):
        return True
    lengths = [len(cell) for cell in distinct]
    return len(distinct) > len(cells) / 2 and float(np.median(lengths)) > _LONG_LABEL


def _content(column: Any) -> _Content:
    """Return what the cells of a column are, from its dtype or from the types of its objects."""
    import pandas as pd

    types, dtype = pd.api.types, column.dtype
    if is_plain_number(dtype):
        return "number"
    if isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype):
        return "other"
    if types.is_complex_dtype(dtype):
        return "complex"
    if types.is_numeric_dtype(dtype):
        return "number"
    if isinstance(dtype, pd.PeriodDtype) or types.is_datetime64_any_dtype(dtype):
        return "date"
    if types.is_timedelta64_dtype(dtype):
        return "duration"
    return _content_of_objects(set(map(type, column.dropna())))


def _content_of_objects(found: set[type]) -> _Content:
    import pandas as pd

    numbers = (int, float, np.integer, np.floating, Decimal)
    contents: list[tuple[_Content, tuple[type, ...]]] = [
        ("string", (str,)),
        ("date", (date, np.datetime64, pd.Period)),
        ("duration", (timedelta, np.timedelta64)),  # NumPy's is a subclass of np.integer
        ("number", numbers),
        ("complex", (*numbers, complex, np.complexfloating)),
    ]
    if found and not found & {bool, np.bool_}:
        for content, classes in contents:
            if all(issubclass(one, classes) for one in found):
                return content
    return "other"


def _are_iso_dates(column: Any) -> bool:
    import pandas as pd

    present = column.dropna()
    if not len(present) or not present.str.match(r"\d{4}-\d{2}").all():
        return False
    try:
        pd.to_datetime(present, format="ISO8601", utc=True)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
