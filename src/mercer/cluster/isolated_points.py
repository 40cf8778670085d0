"""Assignment of isolated points, whose projection onto the components is zero, to clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.cluster.angular import assign_directions
from mercer.data.points import Points
from mercer.eigen import summing_gram
from mercer.gram import Sample, WindowSum
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = ["ClusterMeans", "assign_points", "check_isolated"]


@dataclass(frozen=True, eq=False)
class ClusterMeans:
    """Means of clusters in the full kernel space, as functions of points.

    Attributes
    ----------
    clusters : int array of shape (C,)
        Labels of the clusters that have points.
    means : tuple of WindowSum
        ``⟨m_i, Φ(x)⟩ = Σ_{t in C_i} w_t k(x, x_t) / n_i``, accurate where it underflows.
    log_norms : array of shape (C,)
        ``log ‖m_i‖``.
    """

    clusters: Array
    means: tuple[WindowSum, ...]
    log_norms: Array

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
