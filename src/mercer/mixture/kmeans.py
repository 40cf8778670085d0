"""Initial responsibilities of EM: memberships (0 or 1) from k-means in kernel coordinates.

Random rows are drawn from weights accumulated along the first coordinate. The draws therefore
depend neither on the order of the rows nor on whether repeated rows are given as copies or as
weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.utils.row_passes import IN_MEMORY, RowPasses, add_up, fingerprint, first_minimum
from mercer.utils.types import Array

__all__ = ["farthest_rows", "kmeans", "random_distant_rows", "weighted_mean"]

_BINS = 4096
_MAX_SORTED_ROWS = 512  # maximum number of rows of one bin that are collected and sorted


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
    """Draw rows by weight times squared distance to those drawn before (k-means++)."""
    drawn = np.empty((0, Z.shape[1]))
    for _ in range(count):
        some_differ = rows.sum(partial(_largest_mass, drawn), Z, weights, combine=max) > 0
        # If there are fewer distinct rows than draws, use the weights only.
        row = _draw_row(Z, weights, drawn if some_differ else drawn[:0], rng.random(), rows)
        drawn = np.concatenate([drawn, row[None]])
    return drawn


def _masses(Z: Array, weights: Array, drawn: Array) -> Array:
    return weights if len(drawn) == 0 else weights * _squared_distances(Z, drawn).min(axis=1)


def _largest_mass(drawn: Array, Z: Array, weights: Array) -> float:
    return float(_masses(Z, weights, drawn).max(initial=0.0))


def _draw_row(Z: Array, weights: Array, drawn: Array, level: float, rows: RowPasses) -> Array:
    """Return the row at a fraction ``level`` of the masses accumulated along the first coordinate.

    Histograms narrow the interval until it contains few rows, so that no pass has to sort or
    collect all rows.
    """
    low, high = rows.sum(_range, Z, combine=_combined_range)
    below, target = 0.0, None
    while True:
        edges = np.linspace(low, high, _BINS + 1)
        masses, counts = rows.sum(partial(_histogram, drawn, edges), Z, weights)
        if target is None:
            target = level * float(masses.sum())
        cumulative = below + np.cumsum(masses)
        at = min(int(np.searchsorted(cumulative, target, side="right")), len(masses) - 1)
        at = at if masses[at] > 0 else int(np.flatnonzero(masses)[-1])
        below = float(cumulative[at] - masses[at])
        narrow = edges[at + 1] - edges[at] <= 1e-15 * max(abs(low), abs(high))
        low, high = float(edges[at]), float(edges[at + 1])
        if counts[at] <= _MAX_SORTED_ROWS or narrow:
            break
    last = at == _BINS - 1
    collect = partial(_rows_in_bin, drawn, low, high, last)
    found, masses = rows.sum(collect, Z, weights, combine=_concatenated)
    order = np.argsort(found[:, 0], kind="stable")
    cumulative = below + np.cumsum(masses[order])
    at = min(int(np.searchsorted(cumulative, target, side="right")), len(order) - 1)
    return np.asarray(found[order[at]])


def _range(Z: Array) -> tuple[float, float]:
    return float(Z[:, 0].min(initial=np.inf)), float(Z[:, 0].max(initial=-np.inf))


def _combined_range(parts: Any) -> tuple[float, float]:
    return min(part[0] for part in parts), max(part[1] for part in parts)


def _histogram(drawn: Array, edges: Array, Z: Array, weights: Array) -> tuple[Array, Array]:
    """Return the mass and the number of rows of each bin; bins are half-open except the last."""
    masses = _masses(Z, weights, drawn)
    bins = np.searchsorted(edges, Z[:, 0], side="right") - 1
    bins = np.where(Z[:, 0] == edges[-1], len(edges) - 2, bins)
    inside = (bins >= 0) & (bins < len(edges) - 1) & (masses > 0)
    size = len(edges) - 1
    return np.bincount(bins[inside], masses[inside], size), np.bincount(bins[inside], None, size)


def _rows_in_bin(
    drawn: Array, low: float, high: float, last: bool, Z: Array, weights: Array
) -> tuple[Array, Array]:
    masses = _masses(Z, weights, drawn)
    along = Z[:, 0]
    inside = (along >= low) & ((along <= high) if last else (along < high)) & (masses > 0)
    at = np.flatnonzero(inside)[:_MAX_SORTED_ROWS]
    return Z[at], masses[at]


def _concatenated(parts: Any) -> tuple[Array, Array]:
    found, masses = (np.concatenate(entries) for entries in zip(*parts, strict=True))
    return found, masses


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
