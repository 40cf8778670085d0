"""Weighted quantiles in which a weight of two is two copies."""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["weighted_median", "weighted_quantile"]


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
    low = np.argmax(share > np.floor(place + slack) + slack, axis=-1)[..., None]
    high = np.argmax(share > np.floor(place + slack) + 1 + slack, axis=-1)[..., None]
    high = np.where(share[..., -1:] > np.floor(place + slack) + 1 + slack, high, low)
    below, above = (np.take_along_axis(ordered, at, -1)[..., 0] for at in (low, high))
    return np.asarray(below + (place - np.floor(place))[..., 0] * (above - below))
