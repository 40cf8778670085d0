"""Columns of tables: their types, and the columns that are not analyzed, with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from mercer.kernels.cells import ColumnType, as_dates, as_days, column_type, is_plain_number
from mercer.kernels.tables import (
    MANY_ROWS,
    counts_from_offset,
    has_identifier_name,
    identify_rows,
)
from mercer.utils.types import Array

__all__ = [
    "LARGEST_NUMBER",
    "ColumnType",
    "Omission",
    "OmissionCode",
    "Placeholder",
    "as_column_type",
    "as_strings",
    "as_typed_frame",
    "calendar_parts",
    "column_type",
    "constant_column",
    "constant_columns",
    "counted_identifiers",
    "find_column_types",
    "find_omission_of_numbers",
    "find_omissions",
    "find_placeholder",
    "ignored_column",
    "is_included",
    "is_successor",
]

#: Machine-readable reason for omitting a column; :attr:`Omission.reason` is the text for users.
OmissionCode = Literal[
    "ignored",  # by the user
    "empty",  # no value in any row
    "missing",  # no value in most rows
    "constant",
    "too_large",  # squares overflow
    "row_number",
    "identifier",  # numbers or codes that identify rows
    "all_distinct",  # a different label in every row
    "not_numeric",  # if only numbers can be analyzed
    "other",
]

#: Squared differences of numbers up to this size, and sums of them, do not overflow.
LARGEST_NUMBER = 1e150

_CODES = {0.0, *(sign * code for code in (9, 99, 999, 9999, 99999) for sign in (1, -1)), -1.0}
_ROW_NUMBER_NAMES = {"", "id", "index", "row", "no", "nr", "unnamed: 0"}
_IDENTIFYING = {"row_number", "identifier", "all_distinct"}


# --- types -----------------------------------------------------------------------------------


def find_column_types(frame: Any, categorical: Iterable[str] = ()) -> dict[str, ColumnType]:
    """Return the types of all columns; those in ``categorical`` are categories."""
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
    """Select columns and convert each to its type; see :func:`as_column_type`."""
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

    Numbers are float64 (durations in days), dates datetimes, categories a categorical of strings,
    texts strings. Ordered categoricals are returned unchanged.
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


# --- omissions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Omission:
    """A column that is not analyzed.

    Parameters
    ----------
    column : str
    reason : str
        Text for users. Do not compare it; compare ``code``.
    code : str
        One of "ignored", "empty", "missing", "constant", "too_large", "row_number",
        "identifier", "all_distinct", "not_numeric" and "other".

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.tables import as_table
    >>> as_table(pd.DataFrame({"x": [1, 2, 4], "same": 7})).omissions
    (Omission(column='same', reason='the same value in every row', code='constant'),)
    """

    column: str
    reason: str
    code: OmissionCode = "other"


def ignored_column(column: str) -> Omission:
    """Return the omission of a column that the user excluded."""
    return Omission(column, "ignored as requested", "ignored")


def constant_column(column: str, rows: str = "row") -> Omission:
    """Return the omission of a constant column."""
    return Omission(column, f"the same value in every {rows}", "constant")


def find_omissions(
    frame: Any,
    column_types: Mapping[str, ColumnType],
    chosen: Collection[str],
    include: Collection[str] = (),
) -> dict[str, Omission]:
    """Return the reasons not to analyze columns, by name; they have their types already.

    ``chosen`` columns, declared as categories by the user, are not identifiers; those to include
    are analyzed even if they look like identifiers.
    """
    found = _find_omissions_of_numbers(frame, _numeric(column_types))
    for name, kind in column_types.items():
        if kind != "number":
            found[name] = _find_omission(frame[name], name in chosen, kind)
    omissions = {name: one for name in column_types if (one := found[name]) is not None}
    return {name: one for name, one in omissions.items() if not is_included(one, include)}


def is_included(omission: Omission, include: Collection[str]) -> bool:
    """Return whether the user requested a column that looks like an identifier."""
    return omission.column in include and omission.code in _IDENTIFYING


def constant_columns(frame: Any, column_types: Mapping[str, ColumnType]) -> set[str]:
    """Return the columns with fewer than two different values."""
    numeric = _numeric(column_types)
    low, high = _bounds(frame[numeric].to_numpy())
    constant = {name for name, is_constant in zip(numeric, low >= high, strict=True) if is_constant}
    others = set(column_types) - set(numeric)
    return constant | {name for name in others if frame[name].nunique() < 2}


def _numeric(column_types: Mapping[str, ColumnType]) -> list[str]:
    return [name for name, kind in column_types.items() if kind == "number"]


def _bounds(values: Array) -> tuple[Array, Array]:
    """Return the minima and maxima of the columns; infinity and -infinity without values."""
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values).min(axis=0, initial=np.inf)
    return low, np.where(missing, -np.inf, values).max(axis=0, initial=-np.inf)


def _find_omissions_of_numbers(frame: Any, names: list[str]) -> dict[str, Omission | None]:
    """Return the reasons by name; all columns are scanned at once, because they may be many."""
    values = frame[names].to_numpy()
    present = len(values) - np.isnan(values).sum(axis=0)
    low, high = _bounds(values)
    largest = np.maximum(np.abs(low), np.abs(high))
    return {
        name: find_omission_of_numbers(
            name,
            rows=len(values),
            present=int(present[j]),
            is_constant=bool(low[j] == high[j]),
            counts_rows=name.lower() in _ROW_NUMBER_NAMES and _counts_rows(values[:, j]),
            largest=float(largest[j]),
            identifies=identify_rows(name, values[~np.isnan(values[:, j]), j]),
        )
        for j, name in enumerate(names)
    }


def _counts_rows(values: Array) -> bool:
    present = values[~np.isnan(values)]
    return bool(is_successor(present[1:], present[:-1]).all())


def _find_omission(column: Any, is_chosen: bool, column_type: ColumnType) -> Omission | None:
    name, rows, present = str(column.name), len(column), column.dropna()
    if omission := _too_few_values(name, rows, len(present)):
        return omission
    distinct = present.nunique()
    if distinct == 1:
        return constant_column(name)
    if is_chosen or distinct < len(present) or rows < MANY_ROWS:
        return None
    if column_type in ("category", "text") and not present.astype(str).str.contains(r"\s").any():
        example = str(present.iloc[0])[:30]
        reason = f"a different label in every row, for example {example!r}"
        return Omission(name, reason, "all_distinct")
    return None


def find_omission_of_numbers(
    name: str,
    rows: int,
    present: int,
    is_constant: bool,
    counts_rows: bool,
    largest: float,
    identifies: bool = False,
) -> Omission | None:
    """Return the reason not to analyze a column of numbers, from its statistics, or None.

    ``counts_rows``: each number is the previous one plus 1; ``largest``: in absolute value;
    ``identifies``: see :func:`mercer.kernels.tables.identify_rows`.
    """
    if omission := _too_few_values(name, rows, present):
        return omission
    if is_constant:
        return constant_column(name)
    if largest > LARGEST_NUMBER:
        reason = f"numbers up to {largest:.3g}, whose squares overflow; divide them by a constant"
        return Omission(name, reason, "too_large")
    if counts_rows and name.lower() in _ROW_NUMBER_NAMES:
        return Omission(name, "row numbers", "row_number")
    if identifies:
        reason = "identifiers: a different whole number in every row; analyze it with --include"
        return Omission(name, reason, "identifier")
    return None


def counted_identifiers(name: str, counts_rows: bool, first: float, last: float, rows: int) -> bool:
    """Return whether numbers that may increase by 1 from row to row identify rows.

    For tables in chunks, where other properties of identifiers cannot be checked.
    """
    if not counts_rows or rows < MANY_ROWS:
        return False
    return has_identifier_name(name) or counts_from_offset(first, last, rows)


def is_successor(numbers: Array, previous: Array) -> Array:
    """Return whether each number is the previous one plus 1; differences could overflow."""
    found: Array = np.asarray(previous + 1 == numbers)
    return found


def _too_few_values(name: str, rows: int, present: int) -> Omission | None:
    if present == 0:
        return Omission(name, "no value in any row", "empty")
    if 2 * present < rows:
        return Omission(name, f"missing in {rows - present} of {rows} rows", "missing")
    return None


# --- numbers that stand for missing values, parts of dates ------------------------------------


class Placeholder(NamedTuple):
    """A number that may stand for missing values: how often it occurs, and the nearest other."""

    value: float
    rows: int
    nearest: float


def find_placeholder(numbers: Array) -> Placeholder | None:
    """Return a number that may be a code for missing values, such as 0 or -999.

    It is the smallest or the largest value, occurs in at most 5 % of the rows, and is farther from
    all others than their interquartile range and a quarter of their central 98 %.

    >>> find_placeholder(np.r_[np.linspace(20, 70, 99), -999])
    Placeholder(value=-999.0, rows=1, nearest=20.0)
    """
    known = numbers[~np.isnan(numbers)]
    for value, nearest_of in ((known.min(), np.min), (known.max(), np.max)):
        others = known[known != value]
        count = len(known) - len(others)
        if value not in _CODES or not 0 < count <= 0.05 * len(known):
            continue
        low, first, third, high = np.quantile(others, [0.01, 0.25, 0.75, 0.99])
        nearest = float(nearest_of(others))
        if abs(nearest - value) > max(third - first, (high - low) / 4):
            return Placeholder(float(value), count, nearest)
    return None


def calendar_parts(dates: Any) -> dict[str, Any]:
    """Return "month", "weekday" and "hour" of a column of dates, each if it can matter.

    The month needs a year of dates, the weekday a week, the hour times of day.
    """
    import pandas as pd

    known = dates.dropna()
    span = known.max() - known.min()
    parts = {}
    if span >= pd.Timedelta(days=365):
        parts["month"] = dates.dt.month.astype(np.float64)
    if span >= pd.Timedelta(days=7) and known.dt.day_of_week.nunique() > 1:
        names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        parts["weekday"] = pd.Categorical(dates.dt.day_name(), names, ordered=True)
    if known.dt.hour.nunique() > 1:
        parts["hour"] = dates.dt.hour.astype(np.float64)
    return parts
