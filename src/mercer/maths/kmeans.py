"""Where EM begins: responsibilities of 0 and 1 from k-means in kernel coordinates.

Draws go through weights cumulated along the first coordinate, so that neither the order of rows nor
copies in place of weights change them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.chunks import added, fingerprint, first_least, mapped, summed
from mercer.maths.types import Array

__all__ = ["farthest_rows", "kmeans", "scattered_rows", "weighted_mean"]

_STEPS = 100
_BINS = 4096
_FEW = 512  # rows that are looked at one by one


def weighted_mean(Z: Array, weights: Array) -> Array:
    """Mean of weighted rows."""
    total, products = summed(_weighted_sum, Z, weights)
    return np.asarray(products / total)


def _weighted_sum(Z: Array, weights: Array) -> tuple[float, Array]:
    return float(weights.sum()), weights @ Z


def farthest_rows(Z: Array, weights: Array, count: int) -> Array:
    """Rows far from each other: the farthest from the mean, then from all rows taken so far."""
    from_here = weighted_mean(Z, weights)[None]
    rows: list[Array] = []
    for _ in range(count):
        rows.append(summed(partial(_farthest, from_here), Z, combine=first_least)[1])
        from_here = np.array(rows)
    return np.array(rows)


def _farthest(places: Array, Z: Array) -> tuple[float, Array]:
    """The row whose nearest place is farthest; its squared distance with a minus sign."""
    if len(Z) == 0:
        return np.inf, Z
    gaps = _squared_distances(Z, places).min(axis=1)
    best = int(np.argmax(gaps))
    return -float(gaps[best]), Z[best]


def scattered_rows(Z: Array, weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows drawn by weight times squared distance to those drawn before (k-means++)."""
    rows = np.empty((0, Z.shape[1]))
    for _ in range(count):
        apart = summed(partial(_largest_mass, rows), Z, weights, combine=max) > 0
        # fewer different rows than wanted: then all are as good
        drawn = _row_at(Z, weights, rows if apart else rows[:0], rng.random())
        rows = np.concatenate([rows, drawn[None]])
    return rows


def _masses(Z: Array, weights: Array, rows: Array) -> Array:
    return weights if len(rows) == 0 else weights * _squared_distances(Z, rows).min(axis=1)


def _largest_mass(rows: Array, Z: Array, weights: Array) -> float:
    return float(_masses(Z, weights, rows).max(initial=0.0))


def _row_at(Z: Array, weights: Array, rows: Array, level: float) -> Array:
    """The row at a share ``level`` of the masses cumulated along the first coordinate.

    The interval that it lies in is cut into bins until few rows are left in it.
    """
    low, high = summed(_range, Z, combine=_joined_range)
    below, wanted = 0.0, None
    while True:
        edges = np.linspace(low, high, _BINS + 1)
        masses, counts = summed(partial(_histogram, rows, edges), Z, weights)
        if wanted is None:
            wanted = level * float(masses.sum())
        share = below + np.cumsum(masses)
        at = min(int(np.searchsorted(share, wanted, side="right")), len(masses) - 1)
        at = at if masses[at] > 0 else int(np.flatnonzero(masses)[-1])
        below = float(share[at] - masses[at])
        narrow = edges[at + 1] - edges[at] <= 1e-15 * max(abs(low), abs(high))
        low, high = float(edges[at]), float(edges[at + 1])
        if counts[at] <= _FEW or narrow:
            break
    last = at == _BINS - 1
    found, theirs = summed(partial(_within, rows, low, high, last), Z, weights, combine=_stacked)
    order = np.argsort(found[:, 0], kind="stable")
    share = below + np.cumsum(theirs[order])
    place = min(int(np.searchsorted(share, wanted, side="right")), len(order) - 1)
    return np.asarray(found[order[place]])


def _range(Z: Array) -> tuple[float, float]:
    return float(Z[:, 0].min(initial=np.inf)), float(Z[:, 0].max(initial=-np.inf))


def _joined_range(parts: Any) -> tuple[float, float]:
    return min(part[0] for part in parts), max(part[1] for part in parts)


def _histogram(rows: Array, edges: Array, Z: Array, weights: Array) -> tuple[Array, Array]:
    """Mass and number of rows per bin: closed below, open above but for the last."""
    masses = _masses(Z, weights, rows)
    bins = np.searchsorted(edges, Z[:, 0], side="right") - 1
    bins = np.where(Z[:, 0] == edges[-1], len(edges) - 2, bins)
    inside = (bins >= 0) & (bins < len(edges) - 1) & (masses > 0)
    size = len(edges) - 1
    return np.bincount(bins[inside], masses[inside], size), np.bincount(bins[inside], None, size)


def _within(
    rows: Array, low: float, high: float, last: bool, Z: Array, weights: Array
) -> tuple[Array, Array]:
    masses = _masses(Z, weights, rows)
    along = Z[:, 0]
    inside = (along >= low) & ((along <= high) if last else (along < high)) & (masses > 0)
    at = np.flatnonzero(inside)[:_FEW]
    return Z[at], masses[at]


def _stacked(parts: Any) -> tuple[Array, Array]:
    rows, masses = (np.concatenate(place) for place in zip(*parts, strict=True))
    return rows, masses


def kmeans(Z: Array, weights: Array, centers: Array, steps: int = _STEPS) -> Array:
    """Weighted k-means from the given centres.

    Returns
    -------
    array of shape (n, len(centers))
        1 at each row's cluster, 0 elsewhere. With ``steps=0`` the nearest of the given centres.
    """
    centers = centers.copy()
    seen: tuple[bytes, ...] = ()
    for _ in range(steps):
        before = seen
        (totals, sums), seen = summed(
            partial(_clusters, centers), Z, weights, combine=_joined_clusters
        )
        if seen == before:
            break
        filled = totals > 0  # an empty cluster keeps its centre
        centers[filled] = sums[filled] / totals[filled, None]
    return mapped(partial(_members, centers), Z)


def _clusters(centers: Array, Z: Array, weights: Array) -> Any:
    labels = _nearest(Z, centers)
    members = np.eye(len(centers))[labels] * weights[:, None]
    return (members.sum(axis=0), members.T @ Z), fingerprint(labels)


def _joined_clusters(parts: Any) -> Any:
    return added([part[0] for part in parts]), sum((part[1] for part in parts), ())


def _members(centers: Array, Z: Array) -> Array:
    return np.asarray(np.eye(len(centers))[_nearest(Z, centers)])


def _nearest(Z: Array, centers: Array) -> Array:
    return np.argmin(_squared_distances(Z, centers), axis=1)


def _squared_distances(Z: Array, centers: Array) -> Array:
    squares = np.einsum("ij,ij->i", centers, centers) - 2 * Z @ centers.T
    return np.maximum(squares + np.einsum("ij,ij->i", Z, Z)[:, None], 0)
