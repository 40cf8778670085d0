"""Validation of Dask input, as far as possible without computing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data.dask.cluster import worker_memory
from mercer.data.dask.passes import DASK, is_dask
from mercer.utils.types import Array

__all__ = ["check_chunk_memory", "lengths_are_known", "validate_dask_column", "validate_dask_rows"]

_MAX_CHUNKS = 10_000
_WORK_FACTOR = 4  # memory of a task / memory of its chunk: chunk, scaled chunk, angles, results


def validate_dask_rows(X: Any, compares: str, *, estimator: Any = None, reset: bool = True) -> Any:
    """Return X as a Dask array of shape (n, d) whose chunks contain all columns.

    Feature names and their number are checked as by scikit-learn's ``validate_data``; values are
    checked when chunks are read.
    """
    if compares != "vectors":
        raise TypeError(
            f"This kernel compares {compares}, but Dask collections are supported for kernels on "
            "numeric vectors only. Encode the columns as numbers, or pass a sample of the rows, "
            "for example X.sample(frac=0.01).compute()."
        )
    rows = _as_array(X)
    if estimator is not None:
        from sklearn.utils.validation import validate_data

        example: Any = np.zeros((1, rows.shape[1]))
        columns = getattr(X, "columns", None)
        if columns is not None:
            import pandas as pd

            example = pd.DataFrame(example, columns=list(columns))
        validate_data(estimator, example, reset=reset)
    return rows


def _as_array(X: Any) -> Any:
    """Return a floating-point Dask array whose chunks contain all columns."""
    import dask.array as da

    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X is a Dask {type(X).__name__}; pass a dask.array of shape (n, d) or a numeric "
            "dask.dataframe."
        )
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"X must have 2 dimensions, rows and at least 1 column; got shape {X.shape}. Reshape "
            "one column with X.reshape(-1, 1)."
        )
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if len(X.chunks[0]) > _MAX_CHUNKS:
        raise ValueError(
            f"X has {len(X.chunks[0])} chunks; the limit is {_MAX_CHUNKS}, because scheduling "
            f"would dominate the run time. Merge chunks, for example {_rechunk_example(X)}."
        )
    return X


def _rechunk_example(X: Any) -> str:
    if np.isnan(X.shape[0]):
        return f"X.repartition(npartitions={_MAX_CHUNKS // 10})"
    return f"X.rechunk(({-(-X.shape[0] // (_MAX_CHUNKS // 10))}, -1))"


def validate_dask_column(values: Any, rows: Any, name: str) -> Any:
    """Return one value per row as a Dask array with the chunks of ``rows``."""
    import dask.array as da

    from mercer.data.dask.tasks import with_lengths

    if not is_dask(values):
        values = np.asarray(values)
        if values.ndim == 0:
            values = np.broadcast_to(values, rows.shape[:1])
        if values.shape[:1] != rows.shape[:1]:
            raise ValueError(
                f"{name} has shape {values.shape}; expected ({rows.shape[0]},), one per row."
            )
        return da.from_array(values, chunks=(rows.chunks[0], *values.shape[1:]))
    column = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if not lengths_are_known(column):
        column = with_lengths(column, _chunk_lengths(column))
    if column.shape[0] != rows.shape[0]:
        raise ValueError(
            f"{name} has {column.shape[0]} entries and X has {rows.shape[0]} rows: inconsistent "
            "numbers of samples."
        )
    return column if column.chunks[0] == rows.chunks[0] else column.rechunk({0: rows.chunks[0]})


def lengths_are_known(array: Any) -> bool:
    """Return whether the numbers of rows of all chunks are known."""
    return not any(np.isnan(size) for size in array.chunks[0])


def _chunk_lengths(column: Any) -> tuple[int, ...]:
    lengths: tuple[int, ...] = DASK.sum(
        _length, column, combine=concatenate_tuples, include_empty=True
    )
    return lengths


def _length(chunk: Array) -> tuple[int, ...]:
    return (len(chunk),)


def concatenate_tuples(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Concatenate tuples with one entry per chunk."""
    return tuple(entry for part in parts for entry in part)


def check_chunk_memory(rows: Any) -> None:
    """Raise before anything is read if a chunk exceeds the memory of a worker."""
    longest = max(rows.chunks[0], default=0)
    row_bytes = rows.shape[1] * rows.dtype.itemsize
    needed, available = _WORK_FACTOR * longest * row_bytes, worker_memory()
    if available is not None and needed > available:
        suggested = max(1, int(available / (2 * _WORK_FACTOR * row_bytes)))
        raise ValueError(
            f"A chunk of {longest} rows × {rows.shape[1]} columns takes "
            f"{longest * row_bytes / 1e9:.3g} GB, and its tasks about {needed / 1e9:.3g} GB; a "
            f"worker has {available / 1e9:.3g} GB per thread. Use smaller chunks, "
            f"X.rechunk(({suggested}, -1)), or workers with more memory or fewer threads."
        )
