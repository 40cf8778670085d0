"""Values of a table as arrays, missing values, categories as codes, and types of columns.

A cell is one value of a table: a number, a label, a text, a set or a graph. :func:`column_type`
decides for all of the package: for :func:`mercer.kernels.table_kernel`, and for the tables of the
command line, the report and the explorer. Columns are pandas series without Arrow types; see
:func:`mercer.utils.frames.as_frame`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from math import sqrt
from typing import Any, Literal

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "ColumnType",
    "are_texts",
    "as_array",
    "as_cells",
    "as_dates",
    "as_days",
    "as_rows",
    "codes_of",
    "column_of",
    "column_type",
    "distinct_objects",
    "encode",
    "is_missing",
    "is_plain_number",
    "numbers_of",
    "numbers_of_column",
    "to_codes",
]

ColumnType = Literal["number", "date", "category", "text"]
_Content = Literal["number", "date", "duration", "complex", "string", "other"]


def column_type(column: Any, size: float | None = None) -> ColumnType:
    """Return the type of a column of a data frame.

    ``size``: number of observed cells, if they are weighted.

    Durations and decimals are numbers. Periods, times with or without a time zone, and strings in
    ISO 8601 format are dates. Booleans and all other objects are categories.
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
        texts = are_texts(column.dropna().to_numpy(dtype=object), size)
        return "text" if texts else "category"
    if content == "other":
        return "category"
    return "date" if content == "date" else "number"


def is_plain_number(dtype: Any) -> bool:
    """Return whether a column of this dtype is a number without looking at the column."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def as_dates(column: Any) -> Any:
    """Return a column of dates as datetimes; different UTC offsets are converted to UTC.

    Periods become their first moment. Strings must be in ISO 8601 format.
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
    microseconds = np.where(np.isnat(times), np.nan, times.astype(np.int64))
    return np.asarray(microseconds / (24 * 3600 * 1e6))


def are_texts(cells: Array, size: float | None = None) -> bool:
    """Whether strings are texts rather than labels; the rule is in :func:`table_kernel`.

    They are texts if there are many distinct ones, or if most rows have a distinct one and these
    are long.
    """
    if not all(isinstance(cell, str) for cell in cells):
        return False
    distinct = set(cells)
    size = len(cells) if size is None else size
    if len(distinct) > max(50, sqrt(size)):
        return True
    lengths = [len(cell) for cell in distinct]
    return len(distinct) > size / 2 and float(np.median(lengths)) > 12


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


_NATIVE = "biufmMUS"  # kinds of NumPy dtypes that sort without Python objects


def as_rows(X: Any) -> Array:
    """Return the values as an array of shape (n, d); a sequence of single values is one column."""
    X = X.to_numpy() if hasattr(X, "to_numpy") else as_array(X)
    if X.ndim not in (1, 2):
        raise ValueError(f"Expected rows of categories (1-D or 2-D), got a {X.ndim}-D array.")
    return np.asarray(X.reshape(-1, 1) if X.ndim == 1 else X)


def as_cells(X: Any) -> Any:
    """Return the values of one column as a sequence."""
    shape: Any = getattr(X, "shape", (0,))
    if len(shape) == 1:
        return X
    if len(shape) == 2 and shape[1] == 1:
        return as_rows(X)[:, 0]
    raise ValueError(
        f"This kernel compares single values, not rows of {shape[1]} columns; select one column "
        "with On(column, kernel), and combine columns with + or *."
    )


def as_array(X: Any) -> Array:
    """Return an array unchanged, and a list as an array of objects."""
    return X if isinstance(X, np.ndarray) else np.array(X, dtype=object)


def column_of(X: Any, name: Any) -> tuple[Array, Array]:
    """Return one column as an array of numbers or objects, and a mask of missing values."""
    if not hasattr(X, "columns"):
        cells = as_array(X)[:, name]
        return cells, is_missing(cells)
    series = X[name]
    native = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biufmM"
    cells = series.to_numpy() if native else series.to_numpy(dtype=object)
    return cells, np.asarray(series.isna(), dtype=bool)


def numbers_of_column(X: Any, name: Any) -> Array:
    """Return one column as floats, with NaN for missing values; times are in days."""
    days = as_days(X[name]) if hasattr(X, "columns") else None
    return numbers_of(*column_of(X, name), name) if days is None else days


def numbers_of(cells: Array, missing: Array, name: Any) -> Array:
    """Return floats (times in days), with NaN for missing values; infinite values raise."""
    if cells.dtype.kind in "mM":
        units = cells.astype(f"{cells.dtype.kind}8[us]").astype(np.int64)
        numbers = units / (24 * 3600 * 1e6)
    else:
        try:
            numbers = np.where(missing, np.nan, cells).astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            example = next(cell for cell in cells[~missing] if not _is_number(cell))
            raise ValueError(
                f"Column {name!r} holds {example!r:.60}, but its kernel compares numbers; use "
                "Categorical for labels and NGram for texts, or convert the column."
            ) from None
    numbers[missing] = np.nan
    if np.isinf(numbers).any():
        raise ValueError(f"Column {name!r} holds an infinite value; all values must be finite.")
    return numbers


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_missing(cells: Array) -> Array:
    """Return a mask of the values that are None, NaN, NaT or pandas' NA."""
    if cells.dtype.kind in "fmM":
        return np.isnan(cells)
    if cells.dtype.kind != "O":
        return np.zeros(cells.shape, dtype=bool)
    return np.fromiter(map(_is_missing_cell, cells.flat), bool, cells.size).reshape(cells.shape)


def _is_missing_cell(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.floating | np.datetime64 | np.timedelta64) and cell != cell


def to_codes(cells: Iterable[Any], known: dict[Any, int]) -> list[int]:
    """Return the integer code of every cell; new cells are added to ``known``."""
    try:
        return [known.setdefault(cell, len(known)) for cell in cells]
    except TypeError:
        raise TypeError(
            "Categories and items must be hashable (numbers, strings or tuples of them), unlike "
            "lists, dicts and arrays. Use Jaccard or Graph for columns of sets or graphs, or "
            "convert the objects to tuples."
        ) from None


def codes_of(column: Array) -> tuple[Array, int]:
    """Return integer codes of a column and their number; missing values raise ValueError."""
    known: dict[Any, int] = {}
    if column.dtype.kind in _NATIVE:
        values, codes = np.unique(column, return_inverse=True)
        count, has_missing = len(values), bool(is_missing(values).any())
    else:
        codes = np.array(to_codes(column, known), dtype=np.intp)
        count, has_missing = len(known), any(map(_is_missing_cell, known))
    if has_missing:
        raise ValueError(
            "The data have missing values. Wrap the kernel of each column in On(column, kernel), "
            "which can compare them once it is fitted, or drop those rows."
        )
    return codes, count


def encode(left: Array, right: Array | None) -> tuple[Array, Array, Array]:
    """Return codes of two tables, and the number of distinct values of each column.

    Equal values of a column have equal codes. Without a second table its codes are the first's.
    """
    if right is not None and left.shape[1] != right.shape[1]:
        raise ValueError(
            f"The rows of X have {left.shape[1]} values and those of Y have {right.shape[1]}; they "
            "must have the same length."
        )
    both = left if right is None else _stacked(left, right)
    columns = [codes_of(both[:, j]) for j in range(both.shape[1])]
    codes = np.column_stack([code for code, _ in columns]).astype(np.int32)
    sizes = np.array([size for _, size in columns])
    return codes[: len(left)], codes if right is None else codes[len(left) :], sizes


def _stacked(left: Array, right: Array) -> Array:
    if {left.dtype.kind, right.dtype.kind} <= set("biuf") or left.dtype.kind == right.dtype.kind:
        return np.concatenate([left, right])
    # NumPy would convert numbers to strings
    return np.concatenate([left.astype(object), right.astype(object)])


def distinct_objects(cells: Array, counts: Array) -> tuple[Array, Array]:
    """Return the distinct objects, sorted if possible; unhashable objects count as distinct."""
    known: dict[Any, int] = {}
    keys = cells.tolist() if cells.ndim == 1 else list(map(tuple, cells.tolist()))
    try:
        codes = to_codes(keys, known)
    except TypeError:  # graphs or sets
        return cells, counts
    first = np.unique(codes, return_index=True)[1]
    totals = np.bincount(codes, counts)
    try:
        order = sorted(range(len(known)), key=list(known).__getitem__)
    except TypeError:
        order = list(range(len(known)))
    return cells[first[order]], totals[order]
