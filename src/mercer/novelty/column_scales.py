"""Standard deviations of columns, and their change without one row."""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["column_scales", "leave_one_out_scale_ratios"]

_ROUNDING = 1e-9  # relative rounding error of variances


def column_scales(X: Array, weights: Array) -> Array:
    """Return the standard deviations of the columns; 1 for constant columns."""
    total = weights.sum()
    mean = weights @ X / total
    scales = np.sqrt(weights @ (X - mean) ** 2 / total)
    rounding = 10 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0)
    return np.asarray(np.where(scales > rounding, scales, 1.0))


def leave_one_out_scale_ratios(X: Array, weights: Array, scales: Array) -> Array:
    """Return ``(s_j / s_j')²`` for every row, with the scales s' without one unit of the row.

    >>> X, ones = np.array([[1.0], [2.0], [6.0]]), np.ones(3)
    >>> ratios = leave_one_out_scale_ratios(X, ones, column_scales(X, ones))
    >>> bool(np.isclose(ratios[2, 0], X.var() / X[:2].var()))
    True
    """
    total = float(weights.sum())
    mean = weights @ X / total
    if total <= 2:
        return np.ones_like(X)
    squares = (X - mean) ** 2 / scales**2
    # variance without the row, in units of the variance of all rows
    variances = total / (total - 1) - squares * total / (total - 1) ** 2
    constant = variances <= _ROUNDING * total / (total - 1)  # such columns have the scale 1
    return np.asarray(np.where(constant, scales**2, 1 / np.where(constant, 1.0, variances)))
