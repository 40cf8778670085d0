"""Inverses of increasing functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.utils.types import Array

__all__ = ["invert_increasing"]

_MAX_STEPS = 200
_MAX_DOUBLINGS = 1100  # from 1 to the largest double


def invert_increasing(
    function: Callable[[Array], Array],
    derivative: Callable[[Array], Array],
    targets: Array,
    low: float,
    high: float,
) -> Array:
    """Return the x with ``function(x) = targets``, by Newton's method within brackets.

    Parameters
    ----------
    function, derivative : callable
        An increasing function, and its derivative.
    targets : array of shape (m,)
        Values strictly between the limits of the function.
    low, high : float
        Ends of an interval, which is extended until it contains all solutions.

    Examples
    --------
    >>> import numpy as np
    >>> invert_increasing(np.exp, np.exp, np.array([2.0]), 0.0, 0.1).round(6)
    array([0.693147])
    """
    order = np.argsort(targets, kind="stable")
    y = targets[order]
    low, high = _bracket(function, float(y[0]), float(y[-1]), low, high)
    left, right = np.full(len(y), low), np.full(len(y), high)
    x = 0.5 * (left + right)
    for _ in range(_MAX_STEPS):
        values = function(x)
        below = values < y
        left, right = np.where(below, x, left), np.where(below, right, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - (values - y) / derivative(x)
        inside = (newton > left) & (newton < right)
        new = np.where(inside, newton, 0.5 * (left + right))
        done = np.abs(new - x) <= 4 * np.spacing(np.maximum(np.abs(left), np.abs(right)))
        x = new
        if done.all():
            break
    found = np.empty(len(x))
    found[order] = np.maximum.accumulate(x)  # rounding errors must not change the order
    return found


def _bracket(
    function: Callable[[Array], Array], least: float, most: float, low: float, high: float
) -> tuple[float, float]:
    step = max(high - low, np.spacing(max(abs(low), abs(high))))
    for _ in range(_MAX_DOUBLINGS):
        at_low, at_high = function(np.array([low, high]))
        if at_low < least and at_high > most:
            return low, high
        low = low - step if at_low >= least else low
        high = high + step if at_high <= most else high
        step *= 2
    raise ValueError(f"The function does not take the values {least:g} and {most:g}.")
