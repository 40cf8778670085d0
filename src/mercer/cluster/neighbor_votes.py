"""Labels of new rows by a vote of their nearest labeled rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.cluster.graph_clusters import ClusterRows
from mercer.data.points import Points
from mercer.kernels import Kernel
from mercer.kernels.neighbors import Reference
from mercer.utils.quantiles import weighted_median, weighted_quantile
from mercer.utils.types import Array

__all__ = ["Voters", "voters_of"]

_VOTES = 5
_DENSITY_NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class Voters:
    """Labeled rows.

    A vote has the weight ``exp(-d² / r²)``, where r is the distance of the fifth nearest row. A row
    at distance 0 decides alone. For a precomputed kernel all rows vote, with their kernel values.

    Parameters
    ----------
    points : Points
    labels : int array of shape (n,)
    distance : Kernel or None
        Fitted kernel that induces the distance; None for the Euclidean distance.
    weights : array of shape (n,)
        Multiplicities, for the distance to the tenth neighbor.
    medians : array of shape (k,) or None
        Median over each cluster of the distance to the tenth neighbor; None if no row is noise.
    largest_ratio : float
        Rows whose distance, relative to the median of their cluster, is larger are noise.
    """

    points: Points
    labels: Array
    distance: Kernel | None
    weights: Array
    medians: Array | None = None
    largest_ratio: float = np.inf

    def __call__(self, points: Points) -> Array:
        """Return the label of every point; -1 for noise."""
        labels = self._from_kernel(points) if points.kind == "gram" else self._nearest(points)
        if self.medians is not None:
            labels[self.ratios(points, labels) > self.largest_ratio] = -1
        return labels

    def ratios(self, points: Points, labels: Array) -> Array:
        """Return distances to the tenth neighbor relative to the median of the cluster."""
        assert self.medians is not None
        reference = Reference(self.points.data, self.weights)
        squares = reference.squared_radii(points.data, _DENSITY_NEIGHBORS, self.distance)
        return np.asarray(np.sqrt(squares) / self.medians[labels])

    def _from_kernel(self, points: Points) -> Array:
        members = self.labels[:, None] == np.arange(self.labels.max() + 1)
        return np.asarray((points.data[:, self.points.data] @ members).argmax(axis=1))

    def _nearest(self, points: Points) -> Array:
        reference = Reference(self.points.data, self.weights)
        n_clusters, count = int(self.labels.max()) + 1, min(_VOTES, self.points.n)
        labels = np.empty(points.n, dtype=self.labels.dtype)
        for rows, squares, columns in reference.nearest(
            points.data, np.arange(points.n), count, self.distance
        ):
            if squares.shape[1] > count:
                nearest = np.argpartition(squares, count - 1, axis=1)[:, :count]
                squares = np.take_along_axis(squares, nearest, axis=1)
                columns = np.take_along_axis(columns, nearest, axis=1)
            radii = squares.max(axis=1, keepdims=True)
            votes = np.exp(-squares / np.where(radii > 0, radii, 1))
            exact = squares == 0
            votes = np.where(exact.any(axis=1, keepdims=True), exact, votes)
            totals = np.zeros((len(rows), n_clusters))
            at = np.arange(len(rows))[:, None]
            np.add.at(totals, (at, self.labels[columns]), votes)
            labels[rows] = totals.argmax(axis=1)
        return labels


def voters_of(rows: ClusterRows, labels: Array, noise: float) -> Voters:
    """Return the voters of labeled rows; ``noise`` is the fraction of the rows labeled -1."""
    weights = np.ones(rows.n) if rows.weights is None else rows.weights
    voters = Voters(rows.points, labels, rows.distance, weights)
    if noise == 0:
        return voters
    if rows.matrix is not None:
        raise ValueError(
            f"noise={noise!r} needs distances, which a precomputed kernel does not give. Pass "
            "noise=0 or a kernel object."
        )
    distances = rows.neighbor_distances()
    medians = np.array(
        [
            float(weighted_median(distances[labels == c], weights[labels == c]))
            for c in range(labels.max() + 1)
        ]
    )
    ratios = distances / medians[labels]
    limit = float(weighted_quantile(ratios, weights, 1 - noise))
    return Voters(rows.points, labels, rows.distance, weights, medians, limit)
