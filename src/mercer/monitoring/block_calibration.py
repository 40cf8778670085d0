"""Held-out blocks of a time series, and the number of lags that predicts held-out rows best."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.monitoring.lagged_rows import lagged_rows
from mercer.novelty.shrunk_covariance import shrunk_covariance
from mercer.utils.types import Array

__all__ = ["choose_lags", "held_out_blocks"]

_TOLERANCE = 0.01  # of log densities, in nats per column


def held_out_blocks(n: int, n_blocks: int, gap: int) -> list[tuple[Array, Array]]:
    """Return pairs of training rows and held-out rows, for contiguous blocks of n rows.

    Rows within ``gap`` of a block are in neither, because they are correlated with it.

    Parameters
    ----------
    n : int
    n_blocks : int
    gap : int

    Examples
    --------
    >>> held_out_blocks(6, 3, 1)[0]
    (array([3, 4, 5]), array([0, 1]))
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

    Parameters
    ----------
    X : array of shape (n, d)
        Standardized, in time order, without missing values.
    max_lags : int
    n_blocks : int
    starts : array of bool of shape (n,) or None
        Rows that begin a new segment.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.zeros((1000, 1))
    >>> for t in range(2, 1000):
    ...     x[t] = 1.2 * x[t - 1] - 0.6 * x[t - 2] + rng.normal()
    >>> choose_lags(x, 5)
    2
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
    return int(np.flatnonzero(loss.mean(axis=1) <= np.maximum(error, _TOLERANCE * d))[0])


def _log_density(train: Array, test: Array, d: int) -> float:
    """Return the mean log density of the first d columns given the others."""
    mean = train.mean(axis=0)
    centered = train - mean
    covariance = shrunk_covariance(centered)
    new = test - mean
    error, conditional = new[:, :d], covariance[:d, :d]
    if covariance.shape[0] > d:
        weights = cho_solve(cho_factor(covariance[d:, d:]), covariance[d:, :d])
        error = error - new[:, d:] @ weights
        conditional = conditional - covariance[:d, d:] @ weights
    factor = cho_factor(conditional)
    distances = np.einsum("ij,ij->i", error, cho_solve(factor, error.T).T)
    return float(-np.log(factor[0].diagonal()).sum() - distances.mean() / 2)
