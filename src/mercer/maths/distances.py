"""Squared distances, tile by tile, with a guard against cancellation.

Throughout, coordinates are in units of the bandwidth and the quantity computed is
``h = -‖x - y‖² / 2``, the exponent of a Gaussian: that sign and scale cost nothing to produce and
suit every radial kernel.
"""

from __future__ import annotations

import numpy as np

from mercer.maths.matmul import finite_product
from mercer.maths.types import Array

__all__ = [
    "augment_columns",
    "augment_rows",
    "euclidean_distances",
    "half_squared_differences",
    "half_squared_products",
    "products_would_cancel",
]

# The exponent h formed from products is wrong by about eps * |x|² (|x|: distance from the common
# origin, in bandwidths). These are the largest errors of h that we accept before the slower
# differences are taken instead.
_CANCELLATION_LIMIT = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 2e-4}

# for euclidean_distances:
_FEW_COLUMNS = 4  # up to here differences cost no more than products and their repair
_CANCELLED = 1e-5  # squared distances this small beside the points' norms are taken anew
_FEW_CANCELLED = 0.05


def augment_rows(X: Array) -> Array:
    """Rows ``[x, -|x|²/2, 1]``, the left factor of :func:`half_squared_products`."""
    return np.column_stack([X, -0.5 * _squared_norms(X), np.ones(len(X), X.dtype)])


def augment_columns(Y: Array) -> Array:
    """Rows ``[y, 1, -|y|²/2]``, the right factor of :func:`half_squared_products`."""
    return np.column_stack([Y, np.ones(len(Y), Y.dtype), -0.5 * _squared_norms(Y)])


def half_squared_products(A: Array, B: Array, out: Array | None = None) -> Array:
    """``h = x'y - |x|²/2 - |y|²/2`` in one matrix product of augmented rows; never positive."""
    h = finite_product(A, B.T, out)
    return np.minimum(h, 0, out=h)


def half_squared_differences(X: Array, Y: Array, widths: Array, out: Array | None = None) -> Array:
    """``h = -Σ_j ((x_j - y_j) / width_j)² / 2``: slower than products, and never cancels.

    Differences are taken of the coordinates as they are: dividing or shifting them first would
    round each, which hurts where they are large beside their differences.
    """
    h = np.empty((len(X), len(Y)), X.dtype) if out is None else out
    h[...] = 0
    difference = np.empty_like(h)
    with np.errstate(over="ignore"):  # farther than can be told: h is -inf, as it should be
        for x, y, width in zip(X.T, Y.T, widths.astype(X.dtype), strict=True):
            np.subtract.outer(x, y, out=difference)
            np.divide(difference, width, out=difference)
            np.multiply(difference, difference, out=difference)
            np.subtract(h, difference, out=h)
    h *= 0.5
    return h


def products_would_cancel(X: Array, Y: Array) -> bool:
    """Whether :func:`half_squared_products` would lose too many digits for these points."""
    reach = max(_squared_norms(X).max(initial=0), _squared_norms(Y).max(initial=0))
    return bool(reach * np.finfo(X.dtype).eps > _CANCELLATION_LIMIT[X.dtype])


def euclidean_distances(X: Array, Y: Array) -> Array:
    """All distances between two sets of rows, safe from overflow and from a common offset."""
    origin = Y.mean(axis=0)
    X, Y = X - origin, Y - origin
    scale = max(np.abs(X).max(initial=0), np.abs(Y).max(initial=0))
    if scale == 0:
        return np.zeros((len(X), len(Y)))
    X, Y = X / scale, Y / scale
    ones = np.ones(X.shape[1])
    if X.shape[1] <= _FEW_COLUMNS:
        return np.asarray(np.sqrt(-2 * half_squared_differences(X, Y, ones)) * scale)
    squares = -2 * half_squared_products(augment_rows(X), augment_columns(Y))
    cancelled = squares < _CANCELLED * max(_squared_norms(X).max(), _squared_norms(Y).max())
    if cancelled.mean() > _FEW_CANCELLED:
        return np.asarray(np.sqrt(-2 * half_squared_differences(X, Y, ones)) * scale)
    rows, columns = np.nonzero(cancelled)
    squares[rows, columns] = _squared_norms(X[rows] - Y[columns])
    return np.asarray(np.sqrt(squares) * scale)


def _squared_norms(X: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", X, X))
