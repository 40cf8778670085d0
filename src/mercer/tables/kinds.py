"""What a column is: numbers, dates, categories or texts; or nothing that can be compared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from mercer.kernels.tables import are_texts

__all__ = ["ColumnKind", "as_kind", "kind_of", "why_not"]

ColumnKind = Literal["number", "date", "category", "text"]

_ROW_NUMBERS = {"", "id", "index", "row", "no", "nr", "unnamed: 0"}
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
    if len(present) == 0:
        return "no value in any row"
    if 2 * len(present) < rows:
        return f"missing in {rows - len(present)} of {rows} rows"
    different = present.nunique()
    if different == 1:
        return "the same value in every row"
    if column.name in chosen or different < len(present):
        return None
    if kind == "number" and str(column.name).lower() in _ROW_NUMBERS:
        return "row numbers" if (np.diff(present.to_numpy()) == 1).all() else None
    if rows < _MANY_ROWS:
        return None
    if kind in ("category", "text") and not present.astype(str).str.contains(r"\s").any():
        return f"a different label in every row, for example {str(present.iloc[0])[:30]!r}"
    return None


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
