"""Data frames, recognized by their attributes so that pandas need not be imported.

Tables of polars and pyarrow, and Arrow columns in pandas data frames, are converted once, by
:func:`as_frame`, where data enter the package. All other code sees columns of pandas' own types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "as_frame",
    "as_numbers",
    "check_dates",
    "check_distinct_names",
    "column_names",
    "explain_values",
    "is_frame",
    "is_mixed_table",
    "rows_of",
]


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas data frame or has its interface."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def is_mixed_table(X: Any) -> bool:
    """Return whether X is a data frame with labels, texts or missing values.

    Missing values of a Dask frame are not counted, since this would take a pass over its rows.
    """
    if not is_frame(X):
        return False
    numeric = all(dtype.kind in "biuf" for dtype in X.dtypes)
    return not numeric or (hasattr(X, "to_numpy") and bool(X.isna().to_numpy().any()))


def as_frame(X: Any) -> Any:
    """Return a table of polars or pyarrow as a pandas data frame; anything else unchanged.

    Arrow columns of a pandas data frame are converted too: dates become datetimes, dictionaries
    categoricals. Integers and booleans with missing values become objects, because floats would not
    distinguish integers above 2⁵³. A lazy frame of polars raises TypeError.
    """
    _reject_lazy_frame(X)
    if is_frame(X):
        return _without_arrow_columns(X)
    if not hasattr(X, "to_pandas") or not hasattr(X, "columns"):
        return X
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"A {type(X).__name__} is converted by pandas, which is not installed: "
            "pip install mercer[io]",
            name=error.name,
        ) from error
    return _to_pandas(X)


def as_numbers(X: Any) -> Any:
    """Return a tensor of PyTorch or an Arrow array of lists as an array; anything else unchanged.

    Tensors in the memory of the CPU and Arrow lists of equal length without missing values share
    their memory with the array. A lazy frame of polars raises TypeError.
    """
    _reject_lazy_frame(X)
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = X.detach().cpu()
        # NumPy has no bfloat16
        no_numpy = str(getattr(X, "dtype", "")).endswith("bfloat16")
        return (X.float() if no_numpy else X).numpy()
    if not hasattr(X, "type") or not hasattr(X, "null_count") or not hasattr(X, "to_pylist"):
        return X
    return _arrow_rows(X)


def _reject_lazy_frame(X: Any) -> None:
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(
            f"X is a {type(X).__name__} of polars, whose rows are not in memory. Pass X.collect()."
        )


def _arrow_rows(X: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    if isinstance(X, pa.ChunkedArray):
        X = X.chunk(0) if X.num_chunks == 1 else X.combine_chunks()
    if isinstance(X, pa.ExtensionArray):  # fixed-shape tensors
        X = X.storage
    kind = X.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        if not pa.types.is_fixed_size_list(kind):
            return X
        width = kind.list_size
    else:
        lengths = np.diff(np.asarray(X.offsets))
        width = int(lengths[0]) if len(lengths) else 0
        if (lengths != width).any():
            raise ValueError(
                f"The lists of an Arrow array have {lengths.min()} to {lengths.max()} elements; "
                "rows must have equal lengths. Pad or drop them."
            )
    if X.null_count or X.flatten().null_count:
        raise ValueError("An Arrow array of lists has missing values. Drop these rows.")
    return X.flatten().to_numpy().reshape(len(X), width)


def _without_arrow_columns(frame: Any) -> Any:
    arrow = [i for i, dtype in enumerate(frame.dtypes) if type(dtype).__name__ == "ArrowDtype"]
    if not arrow:
        return frame
    import pyarrow as pa

    frame = frame.copy(deep=False)
    for i in arrow:
        column = _to_pandas(pa.chunked_array(pa.array(frame.iloc[:, i].array)))
        frame.isetitem(i, column.set_axis(frame.index))
    return frame


def _to_pandas(table: Any) -> Any:
    return table.to_pandas(integer_object_nulls=True, date_as_object=False)


def check_distinct_names(columns: Iterable[Any], table: str = "X") -> None:
    """Raise ValueError if several columns have the same name as text, such as 1 and "1"."""
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        listed = ", ".join(map(repr, repeated[:5])) + ", …" * (len(repeated) > 5)
        raise ValueError(
            f"{table} has several columns with the same name: {listed}. Rename them (1 and '1' "
            "are the same name)."
        )


def rows_of(X: Any, rows: Any) -> Any:
    """Return the rows selected by indices or a boolean mask; the index of a frame is reset."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns, or None if X is not a data frame."""
    return list(X.columns) if is_frame(X) else None


# --- explanations of values that are not numbers ------------------------------------------------


def _remedy(compares_tables: bool) -> str:
    """Return a remedy; ``compares_tables`` is whether there may be a kernel for such columns."""
    if compares_tables:
        return "Pass a data frame with kernel='table', or numeric columns only."
    return (
        "Pass numeric columns only: encode categories, for example with "
        "sklearn.preprocessing.OneHotEncoder, and impute missing values. "
        "mercer.MercerMixture(kernel='table') estimates densities of tables."
    )


def check_dates(X: Any, compares_tables: bool = True) -> None:
    """Raise ValueError for the first column of dates of an array or a data frame."""
    if isinstance(X, np.ndarray):
        types: Any = [("0", X.dtype)]
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        types = zip(map(repr, X.columns), X.dtypes, strict=True)
    else:
        return
    for label, dtype in types:
        if getattr(dtype, "kind", "") in ("M", "m"):
            raise ValueError(
                f"Column {label} contains dates or durations, and numbers are required. "
                f"{_remedy(compares_tables)}"
            )


def explain_values(
    X: Any, compares_tables: bool = True, *, allow_missing: bool = False
) -> str | None:
    """Return which column has texts, missing or infinite values; None for other causes.

    ``compares_tables``: whether the remedy may be the kernel of a table.

    >>> import numpy as np
    >>> explain_values([[1.0, np.nan], [2.0, 3.0]]).split(". ")[0]
    'Input X contains NaN: column 1 has 1 missing value, first in row 0'
    """
    if isinstance(X, list | tuple | np.ndarray) and len(X) and isinstance(X[0], str):
        return (
            f"could not convert string to float: X is a sequence of texts ({X[0]!r} in row 0), and "
            "numbers are required. "
            + ("Compare texts with " if compares_tables else "Estimators with a kernel accept ")
            + "kernel=mercer.kernels.NGram(3, normalize=True)."
        )
    for label, column in _columns(X):
        values = np.asarray(column)
        if values.dtype.kind in "US" or values.dtype == object:
            found = _first_text(values)
            if found is not None:
                row, text = found
                return (
                    f"could not convert string to float: column {label} contains texts ({text!r} "
                    f"in row {row}), and numbers are required. {_remedy(compares_tables)}"
                )
            values = _as_floats(values)
        if values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        missing = np.flatnonzero(np.isnan(values))
        if len(missing) and not allow_missing:
            plural = "" if len(missing) == 1 else "s"
            return (
                f"Input X contains NaN: column {label} has {len(missing)} missing value{plural}, "
                f"first in row {missing[0]}. {_remedy(compares_tables)}"
            )
        if not np.isinf(values).any():
            continue
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
