"""What a column is: numbers, dates, categories or texts; or nothing that can be compared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from mercer.kernels.tables import are_texts
from mercer.maths.types import Array

__all__ = [
    "LARGEST_NUMBER",
    "ColumnKind",
    "as_kind",
    "each_is_one_more",
    "kind_of",
    "why_not",
    "why_not_numbers",
]

ColumnKind = Literal["number", "date", "category", "text"]

#: Squares of the differences of smaller ones, and sums of these, are numbers.
LARGEST_NUMBER = 1e150

_ROW_NUMBERS = {"", "id", "index", "row", "no", "nr", "unnamed: 0"}
_CONSTANT = "the same value in every row"
_MANY_ROWS = 20  # fewer rows may all differ by chance


def kind_of(column: Any) -> ColumnKind:
    """Tell a column's kind.

    Parameters
    ----------
    column : pandas.Series

    Examples
    --------
    >>> import pandas as pd
    >>> kind_of(pd.Series(["2024-01-31", "2024-02-29"])), kind_of(pd.Series([True, False]))
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
    return "text" if are_texts(_labels(column).dropna().to_numpy(dtype=object)) else "category"


def as_kind(column: Any, kind: ColumnKind) -> Any:
    """Return the cells in the form of a kind; numbers that are not finite become gaps.

    Parameters
    ----------
    column : pandas.Series
    kind : {"number", "date", "category", "text"}
    """
    import pandas as pd

    if kind == "number":
        return _numbers(column)
    if kind == "date":
        try:
            return pd.to_datetime(column, format="ISO8601")
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"Column {column.name!r} should hold dates: {error}") from error
    if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
        return column
    labels = _labels(column)
    return labels.astype("category") if kind == "category" else labels


def why_not(column: Any, kind: ColumnKind, chosen: Collection[str]) -> str | None:
    """Give the reason why a column is not analysed, or None.

    Parameters
    ----------
    column : pandas.Series
        In the form of its kind.
    kind : str
    chosen : collection of str
        Columns whose kind the user named: they are no identifiers.
    """
    rows, present = len(column), column.dropna()
    if kind == "number":
        values = present.to_numpy()
        constant = len(values) > 0 and bool((values == values[0]).all())
        steps = bool(each_is_one_more(values[:-1], values[1:]).all())
        largest = float(np.abs(values).max(initial=0.0))
        return why_not_numbers(str(column.name), rows, len(values), constant, steps, largest)
    if reason := _too_few(rows, len(present)):
        return reason
    different = present.nunique()
    if different == 1:
        return _CONSTANT
    if column.name in chosen or different < len(present) or rows < _MANY_ROWS:
        return None
    if kind in ("category", "text") and not present.astype(str).str.contains(r"\s").any():
        return f"a different label in every row, for example {str(present.iloc[0])[:30]!r}"
    return None


def why_not_numbers(
    name: str, rows: int, present: int, is_constant: bool, counts_rows: bool, largest: float
) -> str | None:
    """The same for a column of numbers of which some facts are known.

    Parameters
    ----------
    name : str
    rows, present : int
        How many there are, and how many have a number.
    is_constant : bool
    counts_rows : bool
        Whether each number is the one before it, and one more.
    largest : float
        The largest absolute value.

    Examples
    --------
    >>> why_not_numbers("id", 100, 100, is_constant=False, counts_rows=True, largest=100.0)
    'row numbers'
    """
    if reason := _too_few(rows, present):
        return reason
    if is_constant:
        return _CONSTANT
    if largest > LARGEST_NUMBER:
        return f"numbers up to {largest:.3g}, whose squares overflow; divide them by a constant"
    return "row numbers" if name.lower() in _ROW_NUMBERS and counts_rows else None


def each_is_one_more(before: Array, after: Array) -> Array:
    """Whether numbers are those before them and one more; differences of large ones overflow."""
    more: Array = np.asarray(before + 1 == after)
    return more


def _too_few(rows: int, present: int) -> str | None:
    if present == 0:
        return "no value in any row"
    return f"missing in {rows - present} of {rows} rows" if 2 * present < rows else None


def _numbers(column: Any) -> Any:
    import pandas as pd

    if column.dtype == np.float64 and np.isfinite(column.to_numpy()).all():
        return column  # tables may have very many columns
    if pd.api.types.is_complex_dtype(column.dtype):
        raise ValueError(f"Column {column.name!r} holds complex numbers; give their parts.")
    numbers = pd.to_numeric(column, errors="coerce")
    strange = column[numbers.isna() & column.notna()]
    if len(strange):
        raise ValueError(
            f"Column {column.name!r} should hold numbers; {str(strange.iloc[0])[:30]!r} is none."
        )
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.where(np.isfinite(values), values, np.nan)
    return pd.Series(finite, column.index, name=column.name)


def _labels(column: Any) -> Any:
    """Cells as strings; gaps stay gaps."""
    there = column.notna()
    present = column[there].astype(object)
    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in present.tolist()]
    cells = column.astype(object).where(there, None)
    cells[there] = [str(cell) for cell in whole]  # 3, not 3.0: gaps make integers floats
    return cells


def _are_dates(column: Any) -> bool:
    """Whether all cells are written as ISO 8601 says."""
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
