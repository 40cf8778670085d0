"""Weighted quantiles and representative rows: a weight of two is two copies."""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["distinct_rows", "evenly_spaced", "weighted_median", "weighted_quantile"]


def weighted_median(values: Array, weights: Array) -> Array:
    """Median along the last axis: the middle of the interval of all medians.

    Integer weights give exactly ``np.median`` of the repeated values.

    >>> weighted_median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    array(3.5)
    """
    if (weights == weights[0]).all():
        return np.asarray(np.median(values, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    share = np.cumsum(weights[order], axis=-1)
    half = share[..., -1:] / 2
    slack = 1e-12 * share[..., -1:]  # sums of weights round
    low = np.argmax(share >= half - slack, axis=-1)[..., None]
    high = np.argmax(share > half + slack, axis=-1)[..., None]
    middle = np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1)
    return np.asarray(middle[..., 0] / 2)


def weighted_quantile(values: Array, weights: Array, level: float) -> Array:
    """Quantile along the last axis, interpolated between neighbours in the repeated values.

    Whole weights give exactly ``np.quantile`` of the repeated values.

    >>> weighted_quantile(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    array(3.5)
    """
    if (weights == 1).all():
        return np.asarray(np.quantile(values, level, axis=-1))
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    share = np.cumsum(weights[order], axis=-1)
    place = np.maximum(level * (share[..., -1:] - 1), 0)
    slack = 1e-12 * share[..., -1:]  # sums of weights round
    whole = np.floor(place + slack)
    low = np.argmax(share > whole + slack, axis=-1)[..., None]
    high = np.argmax(share > whole + 1 + slack, axis=-1)[..., None]
    high = np.where(share[..., -1:] > whole + 1 + slack, high, low)
    below, above = (np.take_along_axis(ordered, at, -1)[..., 0] for at in (low, high))
    return np.asarray(below + np.maximum(place - whole, 0)[..., 0] * (above - below))


def distinct_rows(X: Array, weights: Array) -> tuple[Array, Array]:
    """Numbers of the distinct rows in lexicographic order, each with the weight of all its copies.

    >>> distinct_rows(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    (array([1, 0]), array([1., 2.]))
    """
    order = np.lexsort(X.T[::-1])
    rows = X[order]
    first = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    return order[first], np.add.reduceat(weights[order], np.flatnonzero(first))


def evenly_spaced(weights: Array, count: int) -> Array:
    """Places of ``count`` entries in the middle of equal shares of the weight."""
    share = np.cumsum(weights)
    at = np.searchsorted(share, (np.arange(count) + 0.5) / count * share[-1])
    return np.minimum(at, len(weights) - 1)
