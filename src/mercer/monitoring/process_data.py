"""Rows of a process in time order: times, scales of the columns, earlier rows, held-out blocks."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.covariance import ledoit_wolf
from sklearn.utils import check_array

from mercer.data.points import require_memory
from mercer.errors import IdentifiabilityWarning, warn
from mercer.utils.frames import as_frame, check_distinct_names, explain_values, is_frame
from mercer.utils.pairwise import check_column_ranges
from mercer.utils.types import Array

__all__ = [
    "ProcessRows",
    "choose_lags",
    "column_statistics",
    "held_out_blocks",
    "lagged_rows",
    "process_rows",
    "segment_starts",
]


@dataclass(frozen=True)
class ProcessRows:
    """Values of a process with their times."""

    values: Array  # NaN where missing, shape (n, d)
    index: Any  # times, or row numbers
    names: list[str]
    # in seconds, or in the units of a numeric time column; None without times, shape (n,)
    times: Array | None
    is_named: bool  # whether the names come from a data frame

    def select(self, names: list[str]) -> ProcessRows:
        """Return the rows with these columns, those of normal operation."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ValueError(
                f"X has no column {missing[0]!r}, which normal operation had. Pass the columns "
                f"{', '.join(names[:8])}{', …' * (len(names) > 8)}."
            )
        values = self.values[:, [self.names.index(name) for name in names]]
        return replace(self, values=values, names=names)


def process_rows(X: Any, time: Hashable | None = None) -> ProcessRows:
    """Validate rows in time order.

    ``time``: name of the column with the times; None for a DatetimeIndex or no times.
    """
    import pandas as pd

    require_memory(X, "ProcessMonitor")
    X = as_frame(X)
    if not is_frame(X):
        if time is not None:
            raise ValueError(
                f"time={time!r} names a column, but X is not a data frame. Pass a data frame, or "
                "time=None."
            )
        try:
            values = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        except ValueError as error:
            if (reason := explain_values(X, allow_missing=True)) is not None:
                raise ValueError(reason) from error
            raise
        names = [f"x{j}" for j in range(values.shape[1])]
        return ProcessRows(values, pd.RangeIndex(len(values)), names, None, False)
    index = X.index
    if time is not None:
        if time not in X.columns:
            listed = ", ".join(map(repr, list(X.columns)[:8]))
            raise ValueError(f"time={time!r} is not a column of X; columns: {listed}.")
        index = _as_times(X[time])
        X = X.drop(columns=time)
    check_distinct_names(X.columns)
    texts = [name for name in X.select_dtypes(exclude=["number", "bool"]) if X[name].notna().any()]
    if texts:
        raise ValueError(
            f"Column {str(texts[0])!r} is not numeric. Drop it, or pass its name as time if it "
            "holds the times."
        )
    values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    values = check_array(values, ensure_all_finite="allow-nan", input_name="X")
    return ProcessRows(values, index, [str(name) for name in X.columns], _seconds(index), True)


def column_statistics(values: Array, names: list[str]) -> tuple[Array, Array, Array]:
    """Return mean, standard deviation and a mask of the columns that vary; the others warn.

    ``values``: NaN where missing.
    """
    counts = (~np.isnan(values)).sum(axis=0)
    if (counts < 2).any():
        name = names[int((counts < 2).argmax())]
        raise ValueError(
            f"Column {name!r} has {counts.min()} values in normal operation; at least 2 are "
            "needed. Drop the column."
        )
    check_column_ranges(values)
    mean, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varies = scale > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    if not varies.any():
        raise ValueError("All columns are constant. Pass columns that vary.")
    if not varies.all():
        ignored = [name for name, v in zip(names, varies, strict=True) if not v]
        listed = ", ".join(ignored[:5]) + ", …" * (len(ignored) > 5)
        warn(
            f"Constant columns are ignored: {listed}. Drop them to avoid this warning.",
            IdentifiabilityWarning,
        )
    return mean, scale, varies


def _as_times(column: Any) -> Any:
    """Return a column of times as an index; texts are parsed."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype):
        try:
            column = pd.to_datetime(column)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"Column {column.name!r} does not hold times: {error}. Pass datetimes, ISO texts "
                "or numbers."
            ) from error
    return pd.Index(column, name=column.name)


def _seconds(index: Any) -> Array | None:
    """Return the times of an index as numbers, None if it holds no times."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return None
    if isinstance(index, pd.DatetimeIndex):
        ticks = np.asarray(index.as_unit("ns").asi8, dtype=np.float64) / 1e9
        values = np.where(np.asarray(index.isna()), np.nan, ticks)
    elif pd.api.types.is_numeric_dtype(index.dtype) and index.name is not None:
        values = np.asarray(index, dtype=np.float64)
    else:
        return None
    _check_order(values, index)
    return values


def _check_order(values: Array, index: Any) -> None:
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise ValueError(f"The time of row {row} is missing. Drop the row, or fill in its time.")
    backward = np.flatnonzero(np.diff(values) < 0)
    if len(backward):
        row = int(backward[0]) + 1
        raise ValueError(
            f"Rows must be in time order: row {row} ({index[row]}) is earlier than row {row - 1} "
            f"({index[row - 1]}). Sort the rows by time."
        )


# --- earlier rows -----------------------------------------------------------------------------


def lagged_rows(
    X: Array, n_lags: int, starts: Array | None = None, history: Array | None = None
) -> Array:
    """Return ``[x_t, x_{t-1}, …, x_{t-n_lags}]`` for every row t.

    ``X``: in time order. ``starts``: rows that begin a new segment: earlier rows are unknown to it
    and to the rows after it. ``history``: rows before the first one. Unknown values are NaN.
    """
    n, d = X.shape
    result = np.full((n, n_lags + 1, d), np.nan)
    if n == 0:
        return result.reshape(0, -1)
    past = np.empty((0, d)) if history is None else history
    extended = np.concatenate([past, X])
    begins = np.zeros(n, dtype=bool) if starts is None else starts
    first = np.maximum.accumulate(np.where(begins, np.arange(n), -len(past)))
    for lag in range(n_lags + 1):
        earlier = np.arange(n) - lag
        known = earlier >= first
        result[known, lag] = extended[earlier[known] + len(past)]
    return result.reshape(n, -1)


def segment_starts(times: Array, max_step: float) -> Array:
    """Return the mask of rows that come more than ``max_step`` after the previous one."""
    steps = np.diff(times, prepend=times[:1])
    return np.asarray(steps > max_step)


# --- held-out rows ----------------------------------------------------------------------------


def held_out_blocks(n: int, n_blocks: int, gap: int) -> list[tuple[Array, Array]]:
    """Return pairs of training rows and held-out rows, for contiguous blocks of n rows.

    Rows within ``gap`` of a block are in neither, because they are correlated with it.
    """
    bounds = np.linspace(0, n, n_blocks + 1).round().astype(int)
    rows = np.arange(n)
    result = []
    for begin, end in itertools.pairwise(bounds):
        training = rows[(rows < begin - gap) | (rows >= end + gap)]
        result.append((training, rows[begin:end]))
    return result


def choose_lags(X: Array, max_lags: int, n_blocks: int = 5, starts: Array | None = None) -> int:
    """Return the number of lags whose linear prediction of held-out rows is best.

    For each number of lags the rows of all but one block give a normal distribution of the lagged
    rows, with the Ledoit-Wolf covariance. It predicts each row of the block from the rows before
    it. The smallest number is chosen whose mean log density is within one standard error (over
    blocks, of the difference) or 0.01 nats per column of the best.

    ``X``: standardized, in time order, without missing values. ``starts``: rows that begin a new
    segment.
    """
    d = X.shape[1]
    complete = ~np.isnan(lagged_rows(X, max_lags, starts)).any(axis=1)
    densities = []
    for n_lags in range(max_lags + 1):
        rows = lagged_rows(X, n_lags, starts)[complete]
        blocks = held_out_blocks(len(rows), n_blocks, max_lags)
        densities.append([_log_density(rows[train], rows[test], d) for train, test in blocks])
    table = np.array(densities)
    best = int(table.mean(axis=1).argmax())
    loss = table[best] - table
    error = loss.std(axis=1, ddof=1) / np.sqrt(n_blocks)
    # a loss of 0.01 nats per column is negligible
    return int(np.flatnonzero(loss.mean(axis=1) <= np.maximum(error, 0.01 * d))[0])


def _log_density(train: Array, test: Array, d: int) -> float:
    """Return the mean log density of the first d columns given the others."""
    mean = train.mean(axis=0)
    centered = train - mean
    covariance, _ = ledoit_wolf(centered, assume_centered=True)
    new = test - mean
    error, conditional = new[:, :d], covariance[:d, :d]
    if covariance.shape[0] > d:
        weights = cho_solve(cho_factor(covariance[d:, d:]), covariance[d:, :d])
        error = error - new[:, d:] @ weights
        conditional = conditional - covariance[:d, d:] @ weights
    factor = cho_factor(conditional)
    distances = np.einsum("ij,ij->i", error, cho_solve(factor, error.T).T)
    return float(-np.log(factor[0].diagonal()).sum() - distances.mean() / 2)
