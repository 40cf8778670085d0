"""Rows together with earlier rows, and segments of rows without a gap in time."""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["lagged_rows", "segment_starts"]


def lagged_rows(
    X: Array, n_lags: int, starts: Array | None = None, history: Array | None = None
) -> Array:
    """Return ``[x_t, x_{t-1}, …, x_{t-n_lags}]`` for every row t.

    Parameters
    ----------
    X : array of shape (n, d)
        In time order.
    n_lags : int
    starts : array of bool of shape (n,) or None
        Rows that begin a new segment: earlier rows are unknown to it and to the rows after it.
    history : array of shape (h, d) or None
        Rows before the first one.

    Returns
    -------
    array of shape (n, (n_lags + 1) d)
        Unknown values are NaN.

    Examples
    --------
    >>> lagged_rows(np.array([[1.0], [2.0], [3.0]]), 1)
    array([[ 1., nan],
           [ 2.,  1.],
           [ 3.,  2.]])
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
    """Return the mask of rows that come more than ``max_step`` after the previous one.

    >>> segment_starts(np.array([0.0, 1.0, 2.0, 9.0, 10.0]), 5.0)
    array([False, False, False,  True, False])
    """
    steps = np.diff(times, prepend=times[:1])
    return np.asarray(steps > max_step)
