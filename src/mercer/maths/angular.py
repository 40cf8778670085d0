"""Clustering by direction: k-means with the cosine, as Jenssen 2010 uses it (section 4).

Dictionary: φ_t the rows of Z, C_i the clusters, ``s_i = Σ_{t∈C_i} w_t φ_t`` their sums, m_i their
means, m the mean of all rows. A row goes to the cluster whose mean it makes the smallest angle
with. Each step raises ``Σ_i |s_i|`` (never lowers it), and that decides convergence: neither the
sum of cosines nor the cost J of eq. (28) is monotone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.chunks import fingerprint, first_least, kept, mapped, summed
from mercer.maths.types import Array

__all__ = [
    "AngularClusters",
    "angular_cost",
    "angular_kmeans",
    "assign_directions",
    "farthest_directions",
    "shortest",
]

# Rows shorter than this many times the noise in the longest point nowhere: noise decides.
_VANISHING = 50
# Rows at least this long take part in the iteration; shorter ones point in noisy directions.
_RELIABLE = 1e-6
_SETTLED = 1e-12
_SAME = 1e-12  # two directions are one if their cosine is so near to 1


@dataclass(frozen=True)
class AngularClusters:
    """What :func:`angular_kmeans` found.

    Attributes
    ----------
    labels : int array of shape (n,)
        -1 where a row vanishes.
    directions : array of shape (C, k)
        Unit vectors along the clusters' means.
    objectives : list of float
        ``Σ_i |s_i|`` after every step; never falls.
    converged : bool
    """

    labels: Array
    directions: Array
    objectives: list[float]
    converged: bool


def farthest_directions(Z: Array, n_clusters: int) -> Array:
    """Rows of Z that point as far apart as can be found in O(n C), as unit vectors.

    The first two by a double sweep (farthest from the longest row, then farthest from that one),
    each further one with the smallest sum of cosines to those before it (the paper's rule; its
    search over all pairs for the first two costs O(n²) and finds the same partitions).

    >>> farthest_directions(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    longest, floor = _longest_direction(Z)
    if n_clusters == 1:
        return longest[None]
    chosen = [summed(partial(_farthest, longest[None], floor), Z, combine=_best_of_both)[1][1]]
    while len(chosen) < n_clusters:
        free, best = summed(partial(_farthest, np.array(chosen), floor), Z, combine=_best_of_both)
        chosen.append(free[1] if np.isfinite(free[0]) else best[1])
    return np.array(chosen)


def _longest_direction(Z: Array) -> tuple[Array, float]:
    """Direction of the longest row, and the length from which rows are reliable.

    The latter is 0 where all are.
    """
    least, (length, row) = summed(_ends, Z, combine=_least_and_first_longest)
    floor = _RELIABLE * -length
    return row / -length, 0.0 if least > floor else floor


def _ends(Z: Array) -> tuple[float, tuple[float, Array]]:
    """The shortest length, and the longest (negative) with its row."""
    if len(Z) == 0:
        return np.inf, (np.inf, Z)
    lengths = _lengths(Z)
    longest = int(np.argmax(lengths))
    return float(lengths.min()), (-float(lengths[longest]), Z[longest])


def _least_and_first_longest(parts: Sequence[Any]) -> Any:
    return min(part[0] for part in parts), first_least([part[1] for part in parts])


def _reliable(Z: Array, weights: Array | None, floor: float) -> tuple[Array, Array | None]:
    """Rows that are longer than the floor."""
    if floor == 0:
        return Z, weights
    long = _lengths(Z) > floor
    return Z[long], None if weights is None else weights[long]


def _farthest(chosen: Array, floor: float, Z: Array) -> Any:
    """The row with the smallest sum of cosines: among those apart from all chosen, and of all."""
    Z, _ = _reliable(Z, None, floor)
    if len(Z) == 0:
        return (np.inf, Z), (np.inf, Z)
    unit = Z / _lengths(Z)[:, None]
    cosines = chosen @ unit.T
    similarity = cosines.sum(axis=0)
    apart = np.where(cosines.max(axis=0) < 1 - _SAME, similarity, np.inf)
    free, best = int(np.argmin(apart)), int(np.argmin(similarity))
    return (float(apart[free]), unit[free]), (float(similarity[best]), unit[best])


def _best_of_both(parts: Sequence[Any]) -> Any:
    return first_least([part[0] for part in parts]), first_least([part[1] for part in parts])


def shortest(Z: Array, noise: float) -> float:
    """Length up to which a row vanishes beside the longest, whose relative error is ``noise``."""
    return _VANISHING * noise * summed(_longest, Z, combine=max)


def _longest(Z: Array) -> float:
    return float(_lengths(Z).max(initial=0.0))


def assign_directions(Z: Array, directions: Array, vanishing: float = 0.0) -> Array:
    """Label of the direction that each row makes the smallest angle with; -1 if it vanishes.

    ``vanishing`` is the length up to which it does (see :func:`shortest`).
    """
    # (k, n) products: the BLAS takes fifty times as long for many rows times few columns
    best = directions[0] @ Z.T
    labels = np.zeros(len(Z), dtype=np.intp)
    for label, direction in enumerate(directions[1:], start=1):
        cosine = direction @ Z.T
        labels[cosine > best] = label
        np.maximum(best, cosine, out=best)
    labels[_lengths(Z) <= vanishing] = -1
    return labels


def angular_kmeans(
    Z: Array,
    n_clusters: int,
    *,
    weights: Array | None = None,
    max_iter: int = 100,
    noise: float = float(np.finfo(np.float64).eps),
) -> AngularClusters:
    """Angular k-means from :func:`farthest_directions`; ``noise`` is the rows' relative error.

    Rows shorter than a millionth of the longest take no part, and are assigned at the end: they
    would keep a cluster alive in which there is nothing but noise. An empty cluster is given the
    direction of the row that fits its own cluster worst; as every row may then choose anew, the
    objective still cannot fall.
    """
    vanishing = shortest(Z, noise)
    _, floor = _longest_direction(Z)
    directions = farthest_directions(Z, n_clusters)
    objectives: list[float] = []
    seen: tuple[bytes, ...] = ()
    converged = False
    for _ in range(max_iter):
        before = seen
        step, directions = _full_step(Z, weights, directions, floor)
        seen = step.labels
        lengths = _lengths(step.sums)
        objectives.append(float(lengths.sum()))
        moving = lengths > 0  # opposite rows may cancel: such a cluster keeps its direction
        directions = directions.copy()
        directions[moving] = step.sums[moving] / lengths[moving, None]
        gained = len(objectives) < 2 or objectives[-1] > objectives[-2] * (1 + _SETTLED)
        if before == seen or not gained:
            converged = True
            break
    # by the directions as they are now, so that new points are treated as these were
    labels = kept(mapped(partial(assign_directions, directions=directions, vanishing=vanishing), Z))
    return AngularClusters(labels, directions, objectives, converged)


@dataclass(frozen=True)
class _Step:
    """Rows and sums of all clusters, and a fingerprint of the labels."""

    counts: Array
    sums: Array
    labels: tuple[bytes, ...]

    def __add__(self, other: _Step) -> _Step:
        return _Step(self.counts + other.counts, self.sums + other.sums, self.labels + other.labels)


def _step(directions: Array, floor: float, Z: Array, weights: Array | None) -> _Step:
    Z, weights = _reliable(Z, weights, floor)
    labels = assign_directions(Z, directions)
    count = len(directions)
    weighted = Z if weights is None else Z * weights[:, None]
    sums = _cluster_sums(weighted, labels, count)
    return _Step(np.bincount(labels, minlength=count), sums, fingerprint(labels))


def angular_cost(products: Array, totals: Array, counts: Array, potential: float) -> float:
    """``J = Σ_i n_i cos∠(m_i, m)``, eq. (28): small where clusters point apart.

    Parameters
    ----------
    products : array of shape (C,)
        ``⟨s_i, s_i⟩``, squared lengths of the clusters' sums.
    totals : array of shape (C,)
        ``⟨s_i, s⟩`` with s the sum of all rows.
    counts : array of shape (C,)
        Weight n_i of each cluster.
    potential : float
        ``⟨s, s⟩``.
    """
    lengths = np.sqrt(np.maximum(products, 0) * potential)
    cosines = np.divide(totals, lengths, out=np.zeros(len(totals)), where=lengths > 0)
    return float(counts @ cosines)


def _cluster_sums(Z: Array, labels: Array, n_clusters: int) -> Array:
    return np.column_stack([np.bincount(labels, column, minlength=n_clusters) for column in Z.T])


def _full_step(
    Z: Array, weights: Array | None, directions: Array, floor: float
) -> tuple[_Step, Array]:
    """Assign; turn the direction of each empty cluster towards the row that fits worst."""
    step = summed(partial(_step, directions, floor), Z, weights)
    for _ in range(len(directions)):
        if step.counts.all():
            break
        fit, row = summed(partial(_worst_fit, directions, floor), Z, combine=first_least)
        if fit >= 1 - _SAME:  # fewer directions than clusters
            break
        directions = directions.copy()
        directions[np.argmin(step.counts)] = row
        step = summed(partial(_step, directions, floor), Z, weights)
    return step, directions


def _worst_fit(directions: Array, floor: float, Z: Array) -> tuple[float, Array]:
    """The least cosine with a row's own direction, and that row as a unit vector."""
    Z, _ = _reliable(Z, None, floor)
    if len(Z) == 0:
        return np.inf, Z
    lengths = _lengths(Z)
    fit = np.einsum("ij,ij->i", Z, directions[assign_directions(Z, directions)]) / lengths
    worst = int(np.argmin(fit))
    return float(fit[worst]), Z[worst] / lengths[worst]


def _lengths(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))
