"""Data frames, recognized by their attributes so that pandas need not be imported.

Tables of polars and pyarrow, and Arrow columns in pandas data frames, are converted once, by
:func:`as_frame`, where data enter the package. All other code sees columns of pandas' own types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

__all__ = [
    "as_frame",
    "as_numbers",
    "check_distinct_names",
    "column_names",
    "is_frame",
    "is_mixed_table",
    "rows_of",
]


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas data frame or has its interface.

    >>> is_frame([[1.0, 2.0]])
    False
    """
    return hasattr(X, "iloc") and hasattr(X, "columns")


def is_mixed_table(X: Any) -> bool:
    """Return whether X is a data frame with labels, texts or missing values."""
    if not is_frame(X):
        return False
    numeric = all(dtype.kind in "biuf" for dtype in X.dtypes)
    return not numeric or bool(X.isna().to_numpy().any())


def as_frame(X: Any) -> Any:
    """Return a table of polars or pyarrow as a pandas data frame; anything else unchanged.

    Arrow columns of a pandas data frame are converted too: dates become datetimes, dictionaries
    categoricals. Integers and booleans with missing values become objects, because floats would
    not distinguish integers above 2⁵³.

    >>> as_frame([[1.0, 2.0]])
    [[1.0, 2.0]]
    """
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
    their memory with the array.

    >>> import pyarrow as pa
    >>> as_numbers(pa.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = X.detach().cpu()
        # NumPy has no bfloat16
        no_numpy = str(getattr(X, "dtype", "")).endswith("bfloat16")
        return (X.float() if no_numpy else X).numpy()
    if not hasattr(X, "type") or not hasattr(X, "null_count") or not hasattr(X, "to_pylist"):
        return X
    return _arrow_rows(X)


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
    """Raise ValueError if several columns have the same name as text, such as 1 and "1".

    >>> check_distinct_names(["a", "b"])
    """
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        listed = ", ".join(map(repr, repeated[:5])) + ", …" * (len(repeated) > 5)
        raise ValueError(
            f"{table} has several columns with the same name: {listed}. Rename them (1 and '1' "
            "are the same name)."
        )


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
