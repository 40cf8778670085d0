"""Initial responsibilities of EM: memberships (0 or 1) from k-means in kernel coordinates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.data.dask.passes import SKETCH_SIZE, combine_sketches, sketch_rows
from mercer.utils.row_passes import IN_MEMORY, RowPasses, add_up, fingerprint, first_minimum
from mercer.utils.types import Array

__all__ = ["farthest_rows", "kmeans", "random_distant_rows", "weighted_mean"]


def weighted_mean(Z: Array, weights: Array, *, rows: RowPasses = IN_MEMORY) -> Array:
    """Return the mean of weighted rows."""
    mass, products = rows.sum(_weighted_sum, Z, weights)
    return np.asarray(products / mass)


def _weighted_sum(Z: Array, weights: Array) -> tuple[float, Array]:
    return float(weights.sum()), weights @ Z


def farthest_rows(Z: Array, weights: Array, count: int, *, rows: RowPasses = IN_MEMORY) -> Array:
    """Return rows far from each other: first the farthest from the mean, then from those found."""
    references = weighted_mean(Z, weights, rows=rows)[None]
    found: list[Array] = []
    for _ in range(count):
        found.append(rows.sum(partial(_farthest, references), Z, combine=first_minimum)[1])
        references = np.array(found)
    return np.array(found)


def _farthest(references: Array, Z: Array) -> tuple[float, Array]:
    """Return the negated largest squared distance to the nearest reference, and its row."""
    if len(Z) == 0:
        return np.inf, Z
    distances = _squared_distances(Z, references).min(axis=1)
    best = int(np.argmax(distances))
    return -float(distances[best]), Z[best]


def random_distant_rows(
    Z: Array,
    weights: Array,
    count: int,
    rng: np.random.Generator,
    *,
    rows: RowPasses = IN_MEMORY,
) -> Array:
    """Draw rows by weight times squared distance to those drawn before (k-means++).

    From all distinct rows, or from 16,000 that represent them. The draws depend neither on the
    order of the rows nor on whether repeated rows are given as copies or as weights.
    """
    sketch = rows.sum(
        partial(sketch_rows, size=SKETCH_SIZE),
        Z,
        weights,
        combine=partial(combine_sketches, size=SKETCH_SIZE),
    )
    masses, drawn = sketch.weights, np.empty((0, Z.shape[1]))
    for _ in range(count):
        # if there are fewer distinct rows than draws, use the weights only
        cumulative = np.cumsum(masses if masses.max() > 0 else sketch.weights)
        last = int(np.searchsorted(cumulative, cumulative[-1]))  # the last row with a mass
        at = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        drawn = np.concatenate([drawn, sketch.rows[[min(at, last)]]])
        masses = sketch.weights * _squared_distances(sketch.rows, drawn).min(axis=1)
    return drawn


def kmeans(
    Z: Array,
    weights: Array,
    centers: Array,
    steps: int = 100,
    *,
    rows: RowPasses = IN_MEMORY,
) -> Array:
    """Run weighted k-means from the given centers.

    Returns
    -------
    array of shape (n, len(centers))
        1 at each row's cluster, 0 elsewhere. With ``steps=0`` the nearest of the given centers.
    """
    centers = centers.copy()
    labels_seen: tuple[bytes, ...] = ()
    for _ in range(steps if len(centers) > 1 else 0):
        before = labels_seen
        (masses, sums), labels_seen = rows.sum(
            partial(_cluster_sums, centers), Z, weights, combine=_combined_sums
        )
        if labels_seen == before:
            break
        filled = masses > 0  # the center of an empty cluster does not move
        centers[filled] = sums[filled] / masses[filled, None]
    return rows.map(partial(_memberships, centers), Z)


def _cluster_sums(centers: Array, Z: Array, weights: Array) -> Any:
    labels = _nearest(Z, centers)
    members = np.eye(len(centers))[labels] * weights[:, None]
    return (members.sum(axis=0), members.T @ Z), fingerprint(labels)


def _combined_sums(parts: Any) -> Any:
    return add_up([part[0] for part in parts]), sum((part[1] for part in parts), ())


def _memberships(centers: Array, Z: Array) -> Array:
    return np.asarray(np.eye(len(centers))[_nearest(Z, centers)])


def _nearest(Z: Array, centers: Array) -> Array:
    if len(centers) == 1:
        return np.zeros(len(Z), dtype=int)
    return np.argmin(_squared_distances(Z, centers), axis=1)


def _squared_distances(Z: Array, centers: Array) -> Array:
    squares = np.einsum("ij,ij->i", centers, centers) - 2 * Z @ centers.T
    return np.maximum(squares + np.einsum("ij,ij->i", Z, Z)[:, None], 0)
