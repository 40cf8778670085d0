"""Points whose images in feature space come close to a given element of it.

Dictionary: x_1 … x_q neighbours of the wanted point, x̄ their mean, d_i² the squared distances that
it should have to them.
"""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["points_at_distances"]

_RANK = 1e-10  # singular values below this share of the largest are rounding


def points_at_distances(neighbors: Array, squared_distances: Array) -> Array:
    r"""The point in the span of each set of neighbours with (nearly) these distances to them.

    With centred neighbours ``U Z`` (U orthonormal, Z coordinates, ``c_i² = |z_i|²``),

    .. math:: \hat x = \tfrac12 U (ZZ')^{-1} Z\,(c^2 - d^2) + \bar x,

    the least-squares solution of the distance equations (Kwok and Tsang 2004; Jenssen 2010, whose
    print lost the inverse).

    Parameters
    ----------
    neighbors : array of shape (m, q, d)
    squared_distances : array of shape (m, q)

    Returns
    -------
    array of shape (m, d)

    >>> corners = np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]])
    >>> points_at_distances(corners, np.array([[2.0, 2.0, 2.0]])).round(12)
    array([[1., 1.]])
    """
    mean = neighbors.mean(axis=1, keepdims=True)
    # rows of each matrix are neighbours, so V' of numpy holds the directions U of the docstring
    left, scale, directions = np.linalg.svd(neighbors - mean, full_matrices=False)
    coordinates = left * scale[:, None, :]
    centred = np.einsum("mqr,mqr->mq", coordinates, coordinates) - squared_distances
    centred -= centred.mean(axis=1, keepdims=True)
    floor = _RANK * scale[:, :1]
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > floor)
    steps = np.einsum("mqr,mq->mr", left, centred) * inverse
    return np.asarray(mean[:, 0] + 0.5 * np.einsum("mr,mrd->md", steps, directions))
