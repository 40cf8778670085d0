"""Explain which columns of raw input are not numbers, for error messages."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_dates", "explain_values"]

_REMEDY = (
    "Compare such columns by kernel=mercer.kernels.table_kernel(X) with X a data frame, or pass "
    "numeric columns only."
)


def check_dates(X: Any) -> None:
    """Raise ValueError for the first column of dates of an array or a data frame.

    >>> import numpy as np
    >>> check_dates(np.array([["2026-11-17"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ValueError: Column 0 contains dates or durations, and this kernel compares numbers. Compare such
    columns by kernel=mercer.kernels.table_kernel(X) with X a data frame, or pass numeric columns
    only.
    """
    if isinstance(X, np.ndarray):
        types: Any = [("0", X.dtype)]
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        types = zip(map(repr, X.columns), X.dtypes, strict=True)
    else:
        return
    for label, dtype in types:
        if getattr(dtype, "kind", "") in ("M", "m"):
            raise ValueError(
                f"Column {label} contains dates or durations, and this kernel compares numbers. "
                f"{_REMEDY}"
            )


def explain_values(X: Any) -> str | None:
    """Return which column has texts, missing or infinite values; None for other causes.

    >>> import numpy as np
    >>> explain_values([[1.0, np.nan], [2.0, 3.0]]).split(". ")[0]
    'Input X contains NaN: column 1 has 1 missing value, first in row 0'
    """
    for label, column in _columns(X):
        values = np.asarray(column)
        if values.dtype.kind in "US" or values.dtype == object:
            found = _first_text(values)
            if found is not None:
                row, text = found
                return (
                    f"could not convert string to float: column {label} contains texts ({text!r} "
                    f"in row {row}), and this kernel compares numbers. {_REMEDY}"
                )
            values = _as_floats(values)
        if values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            plural = "" if len(missing) == 1 else "s"
            return (
                f"Input X contains NaN: column {label} has {len(missing)} missing value{plural}, "
                f"first in row {missing[0]}. Remove or impute missing values, or compare rows by "
                "kernel=mercer.kernels.table_kernel(X) with X a data frame, which accepts them."
            )
        row = int(np.argmax(np.isinf(values)))
        return (
            f"Input X contains infinity: column {label}, row {row}. Replace infinite values by "
            "finite ones."
        )
    return None


def _columns(X: Any) -> list[tuple[str, Any]]:
    """Return the columns of a data frame or a two-dimensional array with their labels."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [(repr(name), X.iloc[:, j]) for j, name in enumerate(X.columns)]
    if hasattr(X, "columns") and hasattr(X, "to_pandas"):
        return _columns(X.to_pandas())
    if hasattr(X, "tocsr"):  # sparse matrices are rejected for another reason
        return []
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)  # NumPy turns numbers next to texts into texts
    except (TypeError, ValueError):
        return []
    return [(str(j), array[:, j]) for j in range(array.shape[1])] if array.ndim == 2 else []


def _first_text(values: Any) -> tuple[int, str] | None:
    """Return row and value of the first text that is not a number."""
    for row, value in enumerate(values.tolist()):
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                return row, value if isinstance(value, str) else value.decode(errors="replace")
    return None


def _as_floats(values: Any) -> Any:
    """Return the values as floats if all of them are numbers or missing."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values
