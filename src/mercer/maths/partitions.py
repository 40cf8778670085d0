"""Where EM begins: responsibilities of 0 and 1 from k-means in kernel coordinates.

Draws go through weights cumulated along the first coordinate, so that neither the order of rows nor
copies in place of weights change them.
"""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["farthest_rows", "kmeans", "scattered_rows"]

_STEPS = 100


def farthest_rows(Z: Array, weights: Array, count: int) -> Array:
    """Rows far from each other: the farthest from the mean, then from all rows taken so far."""
    gaps = _squared_distances(Z, (weights @ Z / weights.sum())[None])[:, 0]
    rows: list[int] = []
    for _ in range(count):
        rows.append(int(np.argmax(gaps)))
        latest = _squared_distances(Z, Z[rows[-1:]])[:, 0]
        gaps = latest if len(rows) == 1 else np.minimum(gaps, latest)
    return np.array(rows)


def scattered_rows(Z: Array, weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows drawn by weight times squared distance to those drawn before (k-means++)."""
    order = np.argsort(Z[:, 0])
    gaps = np.ones(len(Z))
    rows: list[int] = []
    for _ in range(count):
        share = np.cumsum((weights * gaps)[order])
        at = int(np.searchsorted(share, rng.random() * share[-1], side="right"))
        rows.append(int(order[min(at, len(Z) - 1)]))
        latest = _squared_distances(Z, Z[rows[-1:]])[:, 0]
        gaps = latest if len(rows) == 1 else np.minimum(gaps, latest)
        gaps = gaps if gaps.max() > 0 else np.ones(len(Z))  # fewer different rows than wanted
    return np.array(rows)


def kmeans(Z: Array, weights: Array, rows: Array, steps: int = _STEPS) -> Array:
    """Weighted k-means from the given rows as centres.

    Returns
    -------
    array of shape (n, len(rows))
        1 at each row's cluster, 0 elsewhere. With ``steps=0`` the nearest of the given rows.
    """
    centers = Z[rows].copy()
    labels = _nearest(Z, centers)
    for _ in range(steps):
        members = np.eye(len(rows))[labels] * weights[:, None]
        totals = members.sum(axis=0)
        filled = totals > 0  # an empty cluster keeps its centre
        centers[filled] = (members.T @ Z)[filled] / totals[filled, None]
        moved = _nearest(Z, centers)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return np.asarray(np.eye(len(rows))[labels])


def _nearest(Z: Array, centers: Array) -> Array:
    return np.argmin(_squared_distances(Z, centers), axis=1)


def _squared_distances(Z: Array, centers: Array) -> Array:
    squares = np.einsum("ij,ij->i", centers, centers) - 2 * Z @ centers.T
    return np.maximum(squares + np.einsum("ij,ij->i", Z, Z)[:, None], 0)
