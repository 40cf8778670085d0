"""Weighted quantiles and representative rows; integer weights are equivalent to repeated rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "distinct_rows",
    "evenly_spaced",
    "group_medians",
    "weighted_median",
    "weighted_quantile",
]


def weighted_median(values: Array, weights: Array) -> Array:
    """Return the median along the last axis: the midpoint of the interval of all medians.

    Integer weights give exactly ``np.median`` of the repeated values.

    >>> weighted_median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    array(3.5)
    """
    if (weights == weights[0]).all():
        return np.asarray(np.median(values, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    cumulative = np.cumsum(weights[order], axis=-1)
    half = cumulative[..., -1:] / 2
    slack = 1e-12 * cumulative[..., -1:]  # rounding error of the sums
    low = np.argmax(cumulative >= half - slack, axis=-1)[..., None]
    high = np.argmax(cumulative > half + slack, axis=-1)[..., None]
    middle = np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1)
    return np.asarray(middle[..., 0] / 2)


def weighted_quantile(values: Array, weights: Array, level: float) -> Array:
    """Return the quantile along the last axis, with linear interpolation.

    Weights are multiplicities: their sum is the sample size. Integer weights give exactly
    ``np.quantile`` of the repeated values.

    >>> weighted_quantile(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    array(3.5)
    """
    if (weights == 1).all():
        return np.asarray(np.quantile(values, level, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    cumulative = np.cumsum(weights[order], axis=-1)
    position = np.maximum(level * (cumulative[..., -1:] - 1), 0)
    slack = 1e-12 * cumulative[..., -1:]  # rounding error of the sums
    index = np.floor(position + slack)
    low = np.argmax(cumulative > index + slack, axis=-1)[..., None]
    high = np.argmax(cumulative > index + 1 + slack, axis=-1)[..., None]
    high = np.where(cumulative[..., -1:] > index + 1 + slack, high, low)
    below, above = (np.take_along_axis(ordered, at, -1)[..., 0] for at in (low, high))
    return np.asarray(below + np.maximum(position - index, 0)[..., 0] * (above - below))


def distinct_rows(X: Any, weights: Array) -> tuple[Array, Array]:
    """Return indices of the distinct rows in lexicographic order, and their total weights.

    >>> distinct_rows(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    (array([1, 0]), array([1., 2.]))
    """
    if hasattr(X, "tocsr"):
        from mercer.utils.sparse_rows import distinct_sparse_rows

        order, first = distinct_sparse_rows(X)
    else:
        order = np.argsort(X[:, 0])
        if (np.diff(X[order, 0]) == 0).any():  # otherwise the first column determines the order
            order = np.lexsort(X.T[::-1])
        rows = X[order]
        first = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    return order[first], np.add.reduceat(weights[order], np.flatnonzero(first))


def evenly_spaced(weights: Array, count: int) -> tuple[Array, Array]:
    """Return the entries at ``count`` evenly spaced fractions of the total weight.

    Returns
    -------
    indices : int array
        Increasing; entries with more than an average weight may be selected several times.
    multiplicities : array
        How often each was selected, as floats. They sum to ``count`` and differ from
        ``count * weights / weights.sum()`` by less than 1.

    Examples
    --------
    >>> evenly_spaced(np.array([1.0, 1.0, 5.0, 1.0]), 4)
    (array([0, 2]), array([1., 3.]))
    """
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, (np.arange(count) + 0.5) / count * cumulative[-1])
    indices, multiplicities = np.unique(np.minimum(at, len(weights) - 1), return_counts=True)
    return indices, multiplicities.astype(np.float64)


def group_medians(weights: Array, count: int) -> tuple[Array, Array]:
    """Divide entries into groups of consecutive ones, and represent each by its weighted median.

    Returns
    -------
    indices : int array of shape (count,)
    totals : array of shape (count,)
        Total weight of each group.

    Examples
    --------
    >>> group_medians(np.array([1.0, 1.0, 5.0, 1.0]), 2)
    (array([0, 2]), array([2., 6.]))
    """
    edges = np.arange(count + 1) * len(weights) // count
    totals, cumulative = np.add.reduceat(weights, edges[:-1]), np.cumsum(weights)
    middles = np.searchsorted(cumulative, cumulative[edges[1:] - 1] - totals / 2)
    return np.clip(middles, edges[:-1], edges[1:] - 1), totals
