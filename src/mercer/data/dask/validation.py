"""Column statistics in one pass over weighted rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from mercer.data.dask.cluster import worker_memory
from mercer.data.dask.passes import DASK, is_dask
from mercer.utils.types import Array
from mercer.utils.validation import check_weights
from mercer.utils.weights import WeightTotals

__all__ = [
    "Survey",
    "check_chunk_memory",
    "combine_surveys",
    "lengths_are_known",
    "survey_rows",
    "validate_dask_column",
    "validate_dask_rows",
]


@dataclass(frozen=True, eq=False)
class Survey:
    """Column statistics of weighted rows; the surveys of two chunks can be added.

    ``lengths`` are the numbers of rows with positive weight in each chunk. The deviations are
    square roots of the columns' weighted variances, computed without overflow.
    """

    lengths: tuple[int, ...]
    totals: WeightTotals
    low: Array
    high: Array
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None = None) -> Survey:
        """Validate one chunk and compute its statistics."""
        from sklearn.utils import check_array

        X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=0)
        if weights is not None:
            check_weights(weights)
            X, weights = X[weights > 0], weights[weights > 0]
        d = X.shape[1]
        if len(X) == 0:
            zeros = np.zeros(d)
            none = WeightTotals.of(zeros[:0])
            return cls((0,), none, zeros + np.inf, zeros - np.inf, zeros, zeros)
        counts = np.ones(len(X)) if weights is None else weights
        totals = WeightTotals.of(counts)
        normalized = counts / totals.largest / totals.ratio
        mean = normalized @ X.astype(np.float64, copy=False)
        centered = X - mean
        scale = np.maximum(np.abs(centered).max(axis=0), np.finfo(np.float64).tiny)
        deviation = scale * np.sqrt(normalized @ (centered / scale) ** 2)
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return cls((len(X),), totals, low, high, mean, deviation)

    def __add__(self, other: Survey) -> Survey:
        """Combine two surveys by the parallel-axis theorem.

        It is applied to standard deviations, since variances might overflow.
        """
        lengths = self.lengths + other.lengths
        if self.totals.largest == 0 or other.totals.largest == 0:
            return replace(other if self.totals.largest == 0 else self, lengths=lengths)
        totals = self.totals + other.totals
        a, b = (
            np.sqrt(part.ratio / totals.ratio * (part.largest / totals.largest))
            for part in (self.totals, other.totals)
        )
        step = other.mean - self.mean
        within = np.hypot(a * self.deviation, b * other.deviation)
        return Survey(
            lengths,
            totals,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + step * b**2,
            np.hypot(within, a * b * step),
        )


def survey_rows(rows: Any, weights: Any = None) -> Survey:
    """Validate all chunks of a Dask array and return their statistics."""
    found: Survey = DASK.sum(Survey.of, rows, weights, combine=combine_surveys, include_empty=True)
    if sum(found.lengths) == 0 and weights is None:
        raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
    return found


def combine_surveys(parts: Sequence[Survey]) -> Survey:
    """Add up surveys of consecutive chunks."""
    return reduce(Survey.__add__, parts)


# --- validation -----------------------------------------------------------------------------------


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

    if hasattr(X, "dtypes"):
        _check_types(X)
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


def _check_types(frame: Any) -> None:
    """Raise ValueError for the first column of a Dask frame that cannot hold numbers."""
    for name, kind in frame.dtypes.items():
        if kind.name != "object" and kind.kind not in "iufb":
            raise ValueError(
                f"Column {name!r} has the type {kind}, and kernels of Dask frames need numbers. "
                "Drop or encode it, or pass a sample of the rows, for example "
                "X.sample(frac=0.01).compute(), to an estimator with kernel='table'."
            )


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
