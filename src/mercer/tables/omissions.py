"""Columns that are not analyzed, with the reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.maths.types import Array
from mercer.tables.column_types import ColumnType

__all__ = [
    "LARGEST_NUMBER",
    "Omission",
    "OmissionCode",
    "constant_column",
    "find_omission",
    "find_omission_of_numbers",
    "ignored_column",
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
    "all_distinct",  # a different label in every row
    "not_numeric",  # if only numbers can be analyzed
    "other",
]

#: Squared differences of numbers up to this size, and sums of them, do not overflow.
LARGEST_NUMBER = 1e150

_ROW_NUMBER_NAMES = {"", "id", "index", "row", "no", "nr", "unnamed: 0"}
_MANY_ROWS = 20  # labels of fewer rows may all differ by chance


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
        "all_distinct", "not_numeric" and "other".

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


def find_omission(column: Any, column_type: ColumnType, chosen: Collection[str]) -> Omission | None:
    """Return the reason not to analyze a column, or None.

    Parameters
    ----------
    column : pandas.Series
        Already converted to its type.
    column_type : str
    chosen : collection of str
        Columns that the user declared as categories; they are not identifiers.
    """
    name, rows, present = str(column.name), len(column), column.dropna()
    if column_type == "number":
        values = present.to_numpy()
        constant = len(values) > 0 and bool((values == values[0]).all())
        counts_rows = bool(is_successor(values[1:], values[:-1]).all())
        largest = float(np.abs(values).max(initial=0.0))
        return find_omission_of_numbers(name, rows, len(values), constant, counts_rows, largest)
    if omission := _too_few_values(name, rows, len(present)):
        return omission
    distinct = present.nunique()
    if distinct == 1:
        return constant_column(name)
    if column.name in chosen or distinct < len(present) or rows < _MANY_ROWS:
        return None
    if column_type in ("category", "text") and not present.astype(str).str.contains(r"\s").any():
        example = str(present.iloc[0])[:30]
        reason = f"a different label in every row, for example {example!r}"
        return Omission(name, reason, "all_distinct")
    return None


def find_omission_of_numbers(
    name: str, rows: int, present: int, is_constant: bool, counts_rows: bool, largest: float
) -> Omission | None:
    """Return the reason not to analyze a column of numbers, from its statistics, or None.

    Parameters
    ----------
    name : str
    rows, present : int
        Number of rows, and of rows with a value.
    is_constant : bool
    counts_rows : bool
        Whether each number is the previous one plus 1.
    largest : float
        The largest absolute value.

    Examples
    --------
    >>> omission = find_omission_of_numbers(
    ...     "id", 100, 100, is_constant=False, counts_rows=True, largest=100.0
    ... )
    >>> omission.code
    'row_number'
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
    return None


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
