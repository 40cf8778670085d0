"""Clustering by direction: k-means with cosine similarity, as in Jenssen 2010 (section 4).

Notation: φ_t the rows of Z, C_i the clusters, ``s_i = Σ_{t∈C_i} w_t φ_t`` their sums, m_i their
means, m the mean of all rows. A row is assigned to the cluster whose mean has the smallest angle to
it. No step decreases ``Σ_i |s_i|``, so convergence is measured by this sum. Neither the sum of
cosines nor the cost J of eq. (28) is monotone.
Isolated points, whose rows are zero, are assigned by means in the full kernel space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.eigen import summing_gram
from mercer.gram import Sample, WindowSum
from mercer.utils.row_passes import IN_MEMORY, RowPasses, fingerprint, first_minimum
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = [
    "AngularClusters",
    "ClusterMeans",
    "angular_cost",
    "angular_kmeans",
    "assign_directions",
    "assign_points",
    "check_isolated",
    "farthest_directions",
    "shortest",
]

_SAME = 1e-12  # two directions are equal if their cosine differs from 1 by less


@dataclass(frozen=True, eq=False)
class AngularClusters:
    """Result of :func:`angular_kmeans`."""

    labels: Array  # -1 for rows whose length is zero up to noise
    directions: Array  # unit vectors along the clusters' means, (C, k)
    objectives: list[float]  # Σ_i |s_i| after every step; never decreases
    converged: bool


def farthest_directions(Z: Array, n_clusters: int, *, rows: RowPasses = IN_MEMORY) -> Array:
    """Return unit vectors along rows of Z that point far apart, found in O(n C).

    The first two come from a double sweep: the row farthest from the longest row, then the row
    farthest from that one. Each further row has the smallest sum of cosines to those before it, as
    in the paper. The paper finds the first two by a search over all pairs, which costs O(n²) and
    led to the same partition in 67 of 68 experiments (in the other one to a worse one).

    >>> farthest_directions(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 2)
    array([[0., 1.],
           [1., 0.]])
    """
    longest, threshold = _longest_direction(Z, rows)
    if n_clusters == 1:
        return longest[None]
    first = rows.sum(partial(_farthest, longest[None], threshold), Z, combine=_minima)
    chosen = [first[1][1]]
    while len(chosen) < n_clusters:
        search = partial(_farthest, np.array(chosen), threshold)
        distinct, best = rows.sum(search, Z, combine=_minima)
        chosen.append(distinct[1] if np.isfinite(distinct[0]) else best[1])
    return np.array(chosen)


def _longest_direction(Z: Array, rows: RowPasses) -> tuple[Array, float]:
    """Return the direction of the longest row and the length above which directions are reliable.

    The length is 0 if the directions of all rows are reliable.
    """
    least, (length, row) = rows.sum(_extreme_lengths, Z, combine=_combined_extremes)
    threshold = 1e-6 * -length
    return row / -length, 0.0 if least > threshold else threshold


def _extreme_lengths(Z: Array) -> tuple[float, tuple[float, Array]]:
    """Return the smallest length, and the largest length (negated) with its row."""
    if len(Z) == 0:
        return np.inf, (np.inf, Z)
    lengths = _lengths(Z)
    longest = int(np.argmax(lengths))
    return float(lengths.min()), (-float(lengths[longest]), Z[longest])


def _combined_extremes(parts: Sequence[Any]) -> Any:
    return min(part[0] for part in parts), first_minimum([part[1] for part in parts])


def _reliable(Z: Array, weights: Array | None, threshold: float) -> tuple[Array, Array | None]:
    """Return the rows longer than the threshold."""
    if threshold == 0:
        return Z, weights
    long = _lengths(Z) > threshold
    return Z[long], None if weights is None else weights[long]


def _farthest(chosen: Array, threshold: float, Z: Array) -> Any:
    """Return the row with the smallest sum of cosines, among rows not yet chosen and among all."""
    Z, _ = _reliable(Z, None, threshold)
    if len(Z) == 0:
        return (np.inf, Z), (np.inf, Z)
    unit = Z / _lengths(Z)[:, None]
    cosines = chosen @ unit.T
    similarity = cosines.sum(axis=0)
    distinct = np.where(cosines.max(axis=0) < 1 - _SAME, similarity, np.inf)
    first, best = int(np.argmin(distinct)), int(np.argmin(similarity))
    return (float(distinct[first]), unit[first]), (float(similarity[best]), unit[best])


def _minima(parts: Sequence[Any]) -> Any:
    return first_minimum([part[0] for part in parts]), first_minimum([part[1] for part in parts])


def shortest(Z: Array, noise: float, *, rows: RowPasses = IN_MEMORY) -> float:
    """Return the length up to which rows have no direction, given the relative error ``noise``."""
    return 50 * noise * rows.sum(_largest_length, Z, combine=max)


def _largest_length(Z: Array) -> float:
    return float(_lengths(Z).max(initial=0.0))


def assign_directions(Z: Array, directions: Array, vanishing: float = 0.0) -> Array:
    """Return the index of the direction with the smallest angle to each row.

    Rows of length ``vanishing`` or less (see :func:`shortest`) get -1.
    """
    # (k, n) products: BLAS takes fifty times as long for many rows times few columns
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
    rows: RowPasses = IN_MEMORY,
) -> AngularClusters:
    """Run angular k-means from :func:`farthest_directions`.

    Rows shorter than a millionth of the longest could form a cluster of noise. They are excluded
    from the iteration and assigned at the end. An empty cluster gets the direction of the row with
    the smallest cosine to its own cluster; all rows are then assigned again, so the objective does
    not decrease. ``noise`` is the relative error of the rows.
    """
    vanishing = shortest(Z, noise, rows=rows)
    _, threshold = _longest_direction(Z, rows)
    directions = farthest_directions(Z, n_clusters, rows=rows)
    objectives: list[float] = []
    labels_seen: tuple[bytes, ...] = ()
    converged = False
    for _ in range(max_iter):
        before = labels_seen
        step, directions = _full_step(Z, weights, directions, threshold, rows)
        labels_seen = step.labels
        lengths = _lengths(step.sums)
        objectives.append(float(lengths.sum()))
        moving = lengths > 0  # if opposite rows cancel, the cluster retains its direction
        directions = directions.copy()
        directions[moving] = step.sums[moving] / lengths[moving, None]
        improved = len(objectives) < 2 or objectives[-1] > objectives[-2] * (1 + 1e-12)
        if before == labels_seen or not improved:
            converged = True
            break
    # Use the final directions, as for new points.
    assign = partial(assign_directions, directions=directions, vanishing=vanishing)
    labels = rows.persist(rows.map(assign, Z))
    return AngularClusters(labels, directions, objectives, converged)


@dataclass(frozen=True, eq=False)
class _Step:
    """Row counts and sums of all clusters, and a fingerprint of the labels."""

    counts: Array
    sums: Array
    labels: tuple[bytes, ...]

    def __add__(self, other: _Step) -> _Step:
        return _Step(self.counts + other.counts, self.sums + other.sums, self.labels + other.labels)


def _step(directions: Array, threshold: float, Z: Array, weights: Array | None) -> _Step:
    Z, weights = _reliable(Z, weights, threshold)
    labels = assign_directions(Z, directions)
    count = len(directions)
    weighted = Z if weights is None else Z * weights[:, None]
    sums = _cluster_sums(weighted, labels, count)
    return _Step(np.bincount(labels, minlength=count), sums, fingerprint(labels))


def angular_cost(products: Array, totals: Array, counts: Array, potential: float) -> float:
    """Return ``J = Σ_i n_i cos∠(m_i, m)``, eq. (28): small if cluster directions differ.

    With s the sum of all rows: products ``⟨s_i, s_i⟩``, totals ``⟨s_i, s⟩``, weights n_i of the
    clusters, and ``⟨s, s⟩``.
    """
    lengths = np.sqrt(np.maximum(products, 0) * potential)
    cosines = np.divide(totals, lengths, out=np.zeros(len(totals)), where=lengths > 0)
    return float(counts @ cosines)


def _cluster_sums(Z: Array, labels: Array, n_clusters: int) -> Array:
    return np.column_stack([np.bincount(labels, column, minlength=n_clusters) for column in Z.T])


def _full_step(
    Z: Array, weights: Array | None, directions: Array, threshold: float, rows: RowPasses
) -> tuple[_Step, Array]:
    """Assign all rows and move each empty cluster to the row with the worst fit."""
    step = rows.sum(partial(_step, directions, threshold), Z, weights)
    for _ in range(len(directions)):
        if step.counts.all():
            break
        search = partial(_worst_fit, directions, threshold)
        fit, row = rows.sum(search, Z, combine=first_minimum)
        if fit >= 1 - _SAME:  # fewer distinct directions than clusters
            break
        directions = directions.copy()
        directions[np.argmin(step.counts)] = row
        step = rows.sum(partial(_step, directions, threshold), Z, weights)
    return step, directions


def _worst_fit(directions: Array, threshold: float, Z: Array) -> tuple[float, Array]:
    """Return the smallest cosine between a row and its cluster, and that row as a unit vector."""
    Z, _ = _reliable(Z, None, threshold)
    if len(Z) == 0:
        return np.inf, Z
    lengths = _lengths(Z)
    fit = np.einsum("ij,ij->i", Z, directions[assign_directions(Z, directions)]) / lengths
    worst = int(np.argmin(fit))
    return float(fit[worst]), Z[worst] / lengths[worst]


def _lengths(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))


# --- isolated points -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterMeans:
    """Means of clusters in the full kernel space, as functions of points.

    They are ``⟨m_i, Φ(x)⟩ = Σ_{t in C_i} w_t k(x, x_t) / n_i``, accurate where this underflows.
    """

    clusters: Array  # labels of the clusters that have points
    means: tuple[WindowSum, ...]
    log_norms: Array  # log ‖m_i‖

    @classmethod
    def of(cls, sample: Sample, labels: Array) -> ClusterMeans:
        """Compute the means of the labeled points; points labeled -1 are left out."""
        clusters = np.unique(labels[labels >= 0])
        means, log_norms = [], []
        for cluster in clusters:
            members = np.flatnonzero(labels == cluster)
            part = sample.take(members)
            points = sample.points.take(members)
            means.append(WindowSum(sample.kernel, points, part.normalized_weights))
            log_norms.append(0.5 * np.log(summing_gram(part).potential))
        return cls(clusters, tuple(means), np.array(log_norms))

    def nearest(self, points: Points) -> Array:
        """Return the cluster whose mean has the smallest angle to each point.

        -1 where the kernel is not positive between the point and any cluster.
        """
        cosines = np.full((len(self.means), points.n), -np.inf)
        for i, (mean, log_norm) in enumerate(zip(self.means, self.log_norms, strict=True)):
            sign, logs = mean.signed_log(points)
            cosines[i] = np.where(sign > 0, logs - log_norm, -np.inf)
        labels = self.clusters[cosines.argmax(axis=0)]
        return np.where(np.isinf(cosines.max(axis=0)), -1, labels)

    def assign_training(self, sample: Sample, labels: Array) -> Array:
        """Return the labels of a sample with every -1 replaced by the nearest cluster."""
        isolated = np.flatnonzero(labels < 0)
        if sample.matrix is None:
            rows = sample.points.take(isolated)
        else:  # rows of the whole precomputed matrix, in which the points are column indices
            columns = sample.points.data
            data = np.zeros((len(isolated), int(columns.max()) + 1))
            data[:, columns] = sample.matrix[isolated]
            rows = Points(data, "gram")
        labels = labels.copy()
        labels[isolated] = self.nearest(rows)
        return labels


def check_isolated(option: str, points: Points) -> None:
    """Raise ValueError for an unknown option, or one that is not available for these points."""
    check_choice(option, "isolated", ("label", "nearest"))
    if option == "nearest" and points.is_chunked:
        raise ValueError(
            "isolated='nearest' needs the rows in memory, but X is a Dask collection. Use "
            "isolated='label', or fit a subsample."
        )


def assign_points(
    project: Any, directions: Array, zero_norm: float, means: ClusterMeans | None, points: Points
) -> Array:
    """Assign points to directions of clusters and, if means are given, isolated points to means."""
    labels = assign_directions(project(points), directions, zero_norm)
    isolated = np.flatnonzero(labels < 0)
    if means is not None and len(isolated):
        labels[isolated] = means.nearest(points.take(isolated))
    return labels
