"""Preimages from distances: points with given distances to their neighbors.

Notation: x_1 … x_q neighbors of the preimage, x̄ their mean, d_i² the required squared distances
from the preimage to the neighbors.
"""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["points_at_distances"]

_RANK = 1e-10  # singular values below this fraction of the largest are treated as zero


def points_at_distances(neighbors: Array, squared_distances: Array) -> Array:
    r"""Return the points with given distances to their neighbors, in the least-squares sense.

    Each point lies in the affine span of its neighbors. With centered neighbors ``U Z`` (U
    orthonormal, Z coordinates, ``c_i² = |z_i|²``) it is

    .. math:: \hat x = \tfrac12 U (ZZ')^{-1} Z\,(c^2 - d^2) + \bar x,

    the least-squares solution of the distance equations (Kwok and Tsang 2004; Jenssen 2010, where
    the inverse is missing).

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
    # Neighbors are rows, so the right singular vectors are the directions U of the docstring.
    left, scale, directions = np.linalg.svd(neighbors - mean, full_matrices=False)
    coordinates = left * scale[:, None, :]
    centered = np.einsum("mqr,mqr->mq", coordinates, coordinates) - squared_distances
    centered -= centered.mean(axis=1, keepdims=True)
    floor = _RANK * scale[:, :1]
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > floor)
    steps = np.einsum("mqr,mq->mr", left, centered) * inverse
    return np.asarray(mean[:, 0] + 0.5 * np.einsum("mr,mrd->md", steps, directions))
