"""Data frames, recognized by their attributes so that pandas need not be imported."""

from __future__ import annotations

from typing import Any

__all__ = ["column_names", "is_frame", "rows_of"]


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas data frame or has its interface.

    >>> is_frame([[1.0, 2.0]])
    False
    """
    return hasattr(X, "iloc") and hasattr(X, "columns")


def rows_of(X: Any, rows: Any) -> Any:
    """Return the rows selected by indices or a boolean mask; the index of a frame is reset.

    >>> import numpy as np
    >>> rows_of(np.array([5.0, 6.0, 7.0]), [0, 2])
    array([5., 7.])
    """
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns, or None if X is not a data frame.

    >>> column_names([[1.0, 2.0]]) is None
    True
    """
    return list(X.columns) if is_frame(X) else None
