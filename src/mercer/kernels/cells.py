"""What is in a table: cells as arrays, which of them are missing, categories as integer codes.

A cell is whatever one place of a table holds: a number, a label, a text, a set, a graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = [
    "as_array",
    "as_cells",
    "as_table",
    "codes_of",
    "column_of",
    "encode",
    "is_missing",
    "numbered",
    "numbers_of",
]

_NATIVE = "biufmMUS"  # kinds of numpy types that are compared and sorted without Python objects


def as_table(X: Any) -> Array:
    """Cells as an array of shape (n, d); a sequence of single cells is one column."""
    X = X.to_numpy() if hasattr(X, "to_numpy") else as_array(X)
    if X.ndim not in (1, 2):
        raise ValueError(f"Expected rows of categories, an array of 1 or 2 axes, not of {X.ndim}.")
    return np.asarray(X.reshape(-1, 1) if X.ndim == 1 else X)


def as_cells(X: Any) -> Any:
    """Cells of one column, as something to iterate over and to slice."""
    shape: Any = getattr(X, "shape", (0,))
    if len(shape) == 1:
        return X
    if len(shape) == 2 and shape[1] == 1:
        return as_table(X)[:, 0]
    raise ValueError(
        f"This kernel compares single cells, not rows of {shape[1]} columns; choose one column "
        "with On(column, kernel), and join columns by + or *."
    )


def as_array(X: Any) -> Array:
    """An array as it is; lists as an array of objects."""
    return X if isinstance(X, np.ndarray) else np.array(X, dtype=object)


def column_of(X: Any, name: Any) -> tuple[Array, Array]:
    """One column as an array of numbers or of objects, and where it has gaps."""
    if not hasattr(X, "columns"):
        cells = as_array(X)[:, name]
        return cells, is_missing(cells)
    series = X[name]
    native = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biufmM"
    cells = series.to_numpy() if native else series.to_numpy(dtype=object)
    return cells, np.asarray(series.isna(), dtype=bool)


def numbers_of(cells: Array, gaps: Array, name: Any) -> Array:
    """Floats (days, where the cells are times); NaN in the gaps, and nothing infinite elsewhere."""
    if cells.dtype.kind in "mM":
        units = cells.astype(f"{cells.dtype.kind}8[us]").astype(np.int64)
        numbers = units / (24 * 3600 * 1e6)
    else:
        try:
            numbers = np.where(gaps, np.nan, cells).astype(np.float64)
        except (TypeError, ValueError):
            example = next(cell for cell in cells[~gaps] if not _is_number(cell))
            raise ValueError(
                f"Column {name!r} holds {example!r:.60}, but its kernel compares numbers; use "
                "Categorical for labels and NGram for texts, or convert the column."
            ) from None
    numbers[gaps] = np.nan
    if np.isinf(numbers).any():
        raise ValueError(f"Column {name!r} holds an infinite value; every cell must be finite.")
    return numbers


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def is_missing(cells: Array) -> Array:
    """Which cells are None, NaN, NaT or pandas' NA."""
    if cells.dtype.kind in "fmM":
        return np.isnan(cells)
    if cells.dtype.kind != "O":
        return np.zeros(cells.shape, dtype=bool)
    return np.fromiter(map(_is_gap, cells.flat), bool, cells.size).reshape(cells.shape)


def _is_gap(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.floating | np.datetime64 | np.timedelta64) and cell != cell


def numbered(cells: Iterable[Any], known: dict[Any, int]) -> list[int]:
    """Give every cell its number in ``known``, which grows by those that are new."""
    try:
        return [known.setdefault(cell, len(known)) for cell in cells]
    except TypeError:
        raise TypeError(
            "Categories and items must be hashable (numbers, strings, tuples of such); this data "
            "holds an object that is not, such as a list, a dict or an array. For columns of sets "
            "or graphs use Jaccard or Graph; else turn the objects into tuples."
        ) from None


def codes_of(column: Array) -> tuple[Array, int]:
    """Integer codes of one column's cells, and how many there are; a missing cell is refused."""
    known: dict[Any, int] = {}
    if column.dtype.kind in _NATIVE:
        values, codes = np.unique(column, return_inverse=True)
        count, gaps = len(values), bool(is_missing(values).any())
    else:
        codes = np.array(numbered(column, known), dtype=np.intp)
        count, gaps = len(known), any(map(_is_gap, known))
    if gaps:
        raise ValueError(
            "The data has missing cells; see each column through On(column, kernel), which knows "
            "how to compare them once it is fitted, or drop those rows."
        )
    return codes, count


def encode(left: Array, right: Array | None) -> tuple[Array, Array, Array]:
    """Codes of two tables, column by column, with equal codes for equal cells.

    Returns
    -------
    codes of ``left``, codes of ``right`` (the same array where that is None), and how many
    different cells each column has.
    """
    if right is not None and left.shape[1] != right.shape[1]:
        raise ValueError(
            f"The rows have {left.shape[1]} places on one side and {right.shape[1]} on the other; "
            "they must have the same."
        )
    both = left if right is None else _stacked(left, right)
    columns = [codes_of(both[:, j]) for j in range(both.shape[1])]
    codes = np.column_stack([code for code, _ in columns]).astype(np.int32)
    sizes = np.array([size for _, size in columns])
    return codes[: len(left)], codes if right is None else codes[len(left) :], sizes


def _stacked(left: Array, right: Array) -> Array:
    if {left.dtype.kind, right.dtype.kind} <= set("biuf") or left.dtype.kind == right.dtype.kind:
        return np.concatenate([left, right])
    # numpy would turn numbers beside strings into strings
    return np.concatenate([left.astype(object), right.astype(object)])
