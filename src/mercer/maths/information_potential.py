"""Information potential of a Gaussian kernel and its gradient with respect to the points."""

from __future__ import annotations

import numpy as np

from mercer.maths.distances import half_squared_differences
from mercer.maths.types import Array

__all__ = ["gaussian_potential"]

_BLOCK = 512


def gaussian_potential(X: Array, widths: Array, shares: Array) -> tuple[float, Array]:
    """``V = Σ_ij a_i a_j k(x_i, x_j)`` and ``∂V/∂x_i = -2 a_i Σ_j a_j (x_i - x_j)/σ² k(x_i, x_j)``.

    Parameters
    ----------
    X : array of shape (n, d)
    widths : array of shape (d,)
        σ of each column.
    shares : array of shape (n,)
        a, adding up to 1.

    Examples
    --------
    >>> V, gradient = gaussian_potential(np.array([[0.0], [1.0]]), np.ones(1), np.full(2, 0.5))
    >>> round(V, 4)
    0.8033
    """
    X = X.astype(np.float64, copy=False)
    X = X - X.mean(axis=0)  # only differences matter, and those of large numbers are rough
    potential, gradient = 0.0, np.empty(X.shape)
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, first + _BLOCK)
        kernel = half_squared_differences(X[rows], X, widths)
        np.exp(kernel, out=kernel)
        kernel *= shares
        sums = kernel.sum(axis=1)
        potential += float(shares[rows] @ sums)
        pull = X[rows] * sums[:, None] - kernel @ X
        with np.errstate(over="ignore"):
            gradient[rows] = -2 * shares[rows, None] * pull / widths / widths
    return potential, gradient
