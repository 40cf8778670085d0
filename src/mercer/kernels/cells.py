"""Values of a table as arrays, which of them are missing, and categories as integer codes.

A cell is one value of a table: a number, a label, a text, a set or a graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.kernels.column_types import as_days
from mercer.utils.types import Array

__all__ = [
    "as_array",
    "as_cells",
    "as_table",
    "codes_of",
    "column_of",
    "encode",
    "is_missing",
    "numbers_of",
    "numbers_of_column",
    "to_codes",
]

_NATIVE = "biufmMUS"  # kinds of NumPy dtypes that sort without Python objects


def as_table(X: Any) -> Array:
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
        return as_table(X)[:, 0]
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
    """Return codes of two tables, column by column, with equal codes for equal values.

    Returns
    -------
    codes of ``left``, codes of ``right`` (the same array if that is None), and the number of
    distinct values of each column.
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
