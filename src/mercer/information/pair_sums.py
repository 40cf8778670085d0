"""Information potential of a Gaussian kernel and its gradient with respect to the points."""

from __future__ import annotations

import numpy as np

from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import half_squared_differences
from mercer.utils.types import Array

__all__ = ["gaussian_potential"]

_BLOCK = 512


def gaussian_potential(X: Array, bandwidths: Array, weights: Array) -> tuple[float, Array]:
    """Return the information potential and its gradient.

    The potential is ``V = Σ_ij a_i a_j k(x_i, x_j)``, with the gradient
    ``∂V/∂x_i = -2 a_i Σ_j a_j (x_i - x_j)/σ² k(x_i, x_j)``.

    Parameters
    ----------
    X : array of shape (n, d)
    bandwidths : array of shape (d,)
        σ of each column.
    weights : array of shape (n,)
        Normalized weights a, with sum 1.

    Examples
    --------
    >>> V, gradient = gaussian_potential(np.array([[0.0], [1.0]]), np.ones(1), np.full(2, 0.5))
    >>> round(V, 4)
    0.8033
    """
    X = X.astype(np.float64, copy=False)
    # Differences of large numbers lose accuracy. A mean would be moved by a single outlier.
    X = X - np.median(X, axis=0)
    potential, gradient = 0.0, np.empty(X.shape)
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, first + _BLOCK)
        kernel = half_squared_differences(X[rows], X, bandwidths)
        exponentials(kernel)
        kernel *= weights
        sums = kernel.sum(axis=1)
        potential += float(weights[rows] @ sums)
        differences = X[rows] * sums[:, None] - kernel @ X
        with np.errstate(over="ignore"):
            gradient[rows] = -2 * weights[rows, None] * differences / bandwidths / bandwidths
    return potential, gradient
