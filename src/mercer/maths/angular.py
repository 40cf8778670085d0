"""Clustering by direction: k-means with the cosine, as Jenssen 2010 uses it (section 4).

Dictionary: φ_t the rows of Z, C_i the clusters, ``s_i = Σ_{t∈C_i} w_t φ_t`` their sums, m_i their
means, m the mean of all rows. A row goes to the cluster whose mean it makes the smallest angle
with. Each step raises ``Σ_i |s_i|`` (never lowers it), and that decides convergence: neither the
sum of cosines nor the cost J of eq. (28) is monotone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    lengths = _lengths(Z)
    reliable = np.flatnonzero(lengths > _RELIABLE * lengths.max())
    unit = Z[reliable] / lengths[reliable, None]
    longest = unit[np.argmax(lengths[reliable])]
    if n_clusters == 1:
        return longest[None]
    chosen = [unit[np.argmin(unit @ longest)]]
    similarity = unit @ chosen[0]
    nearest = similarity.copy()  # largest cosine with any chosen one
    while len(chosen) < n_clusters:
        free = np.where(nearest < 1 - _SAME, similarity, np.inf)
        best = np.argmin(free) if np.isfinite(free).any() else np.argmin(similarity)
        chosen.append(unit[best])
        cosines = unit @ chosen[-1]
        similarity += cosines
        np.maximum(nearest, cosines, out=nearest)
    return np.array(chosen)


def shortest(Z: Array, noise: float) -> float:
    """Length up to which a row vanishes beside the longest, whose relative error is ``noise``."""
    return _VANISHING * noise * float(_lengths(Z).max(initial=0.0))


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
    every, vanishing = Z, shortest(Z, noise)
    lengths = _lengths(Z)
    reliable = lengths > _RELIABLE * lengths.max()
    if not reliable.all():
        Z, weights = Z[reliable], None if weights is None else weights[reliable]
    weighted = Z if weights is None else Z * weights[:, None]
    directions = farthest_directions(Z, n_clusters)
    objectives: list[float] = []
    labels = np.full(len(Z), -1)
    converged = False
    for _ in range(max_iter):
        before, labels = labels, assign_directions(Z, directions)
        labels, directions = _fill_empty(labels, Z, directions)
        sums = _cluster_sums(weighted, labels, n_clusters)
        lengths = _lengths(sums)
        objectives.append(float(lengths.sum()))
        moving = lengths > 0  # opposite rows may cancel: such a cluster keeps its direction
        directions = directions.copy()
        directions[moving] = sums[moving] / lengths[moving, None]
        gained = len(objectives) < 2 or objectives[-1] > objectives[-2] * (1 + _SETTLED)
        if np.array_equal(before, labels) or not gained:
            converged = True
            break
    # by the directions as they are now, so that new points are treated as these were
    labels = assign_directions(every, directions, vanishing)
    return AngularClusters(labels, directions, objectives, converged)


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


def _fill_empty(labels: Array, Z: Array, directions: Array) -> tuple[Array, Array]:
    """Turn the direction of each empty cluster towards the row that fits worst where it is."""
    for _ in range(len(directions)):
        counts = np.bincount(labels, minlength=len(directions))
        if counts.all():
            break
        lengths = _lengths(Z)
        fit = np.einsum("ij,ij->i", Z, directions[labels]) / lengths
        worst = np.argmin(fit)
        if fit[worst] >= 1 - _SAME:  # fewer directions than clusters
            break
        directions = directions.copy()
        directions[np.argmin(counts)] = Z[worst] / lengths[worst]
        labels = assign_directions(Z, directions)
    return labels, directions


def _lengths(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))
