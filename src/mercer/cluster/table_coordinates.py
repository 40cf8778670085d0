"""Coordinates of the rows of a table, in which every column has the same variance.

The features of :class:`~mercer.kernels.Table` are reduced to those of which cells are made: the
standardized number, the indicators of the categories, and the coordinates of texts and sets. The
total variance of each column is 1. Squared distances are then sums of one comparable term per
column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin

from mercer.bandwidth import fit_kernel
from mercer.cluster.graphs import Partition, Voters
from mercer.data.points import Points
from mercer.kernels import Table
from mercer.kernels.column_features import NumberFeatures
from mercer.utils.types import Array

if TYPE_CHECKING:
    from mercer.cluster.cluster_number import ClusterNumber

__all__ = ["TableAssignment", "TableClusters", "TableCoordinates", "cluster_without_followed"]

_FEW_VALUES = 20  # numbers with so few different values are codes, counts or years
_RARE = 0.02  # values of fewer rows are not compared with clusters
_MOST_FOLLOWED = 10  # columns; each takes another fit
_EQUAL = 0.95  # Jaccard index of a cluster and the rows with some values of a column


@dataclass(frozen=True, eq=False)
class TableCoordinates:
    """Coordinates of rows: the features of a fitted table kernel, each times a factor.

    ``measured`` selects the coordinates of columns of numbers with more than 20 different values
    (or more than half as many as rows). Gaps between the values of other columns separate rows even
    if there are no clusters.
    """

    kernel: Table
    factors: Array  # 0 for features that are not used
    measured: Array  # one entry per feature

    @classmethod
    def fit(cls, points: Points, weights: Array) -> Self:
        """Fit to the rows of a data frame, with multiplicities."""
        kernel = fit_kernel(Table(), points, weights)
        assert isinstance(kernel, Table)
        assert kernel.columns is not None
        features = kernel.features(points.data)
        factors, measured = np.zeros(features.shape[1]), np.zeros(features.shape[1], dtype=bool)
        for (_, at), column in zip(kernel.blocks, kernel.columns, strict=True):
            roots = np.sqrt(column.cell_weights)
            block = features[:, at] * roots
            center = np.average(block, axis=0, weights=weights)
            variance = float(np.average((block - center) ** 2, axis=0, weights=weights).sum())
            if variance > 1e-24:  # otherwise the column is constant
                factors[at] = roots / np.sqrt(variance)
            if isinstance(column, NumberFeatures):
                measured[at] = len(column.knots) > min(_FEW_VALUES, points.n / 2)
        return cls(kernel, factors, measured)

    def __call__(self, X: Any) -> Array:
        """Return the coordinates of every row."""
        used = self.factors > 0
        return np.ascontiguousarray(self.kernel.features(X)[:, used] * self.factors[used])

    @property
    def is_measured(self) -> Array:
        """Whether each coordinate is that of a column of measurements."""
        return self.measured[self.factors > 0]

    @property
    def columns(self) -> list[Any]:
        """Names of the columns that are used."""
        return [name for name, at in self.kernel.blocks if self.factors[at].any()]

    def without(self, name: Any) -> Self:
        """Return the coordinates of the other columns."""
        factors = self.factors.copy()
        factors[dict(self.kernel.blocks)[name]] = 0.0
        return replace(self, factors=factors)

    def of_measurements(self) -> Self:
        """Return the coordinates of the columns of measurements."""
        return replace(self, factors=np.where(self.measured, self.factors, 0.0))

    def misses_measurements(self, X: Any) -> Array:
        """Return whether each row lacks a measurement; the indicators of missing values are 0."""
        features, missing = self.kernel.features(X), np.zeros(len(X), dtype=bool)
        for _, at in self.kernel.blocks:
            if (self.factors[at] > 0)[self.measured[at]].any():
                missing |= features[:, at.stop - 1] != 0
        return missing

    def followed(self, X: Any, labels: Array, weights: Array) -> Any:
        """Return the name of a column some of whose values form a cluster; None if there is none.

        The cluster and the rows with these values have a Jaccard index of at least 0.95. Values of
        less than 2 % of the rows count as one.
        """
        features = self.kernel.features(X)
        found = {
            name: _largest_overlap(features[:, at], labels, weights)
            for name, at in self.kernel.blocks
            if self.factors[at].any()
        }
        best = max(found, key=lambda name: found[name])
        return best if found[best] >= _EQUAL else None


@dataclass(frozen=True, eq=False)
class TableAssignment:
    """Clusters of rows of a table, by the votes of rows near them.

    If rows are compared by their measurements, a row that lacks one gets the cluster with the
    nearest mean in all coordinates.
    """

    coordinates: TableCoordinates
    voters: Voters
    means: Array | None = None  # of the clusters; None if the voters have all coordinates

    def of_measurements(self, frame: Any, weights: Array) -> Self:
        """Return the assignment if the voters have the coordinates of measurements only."""
        Z = self.coordinates(frame)
        labels = self.voters(Points(Z[:, self.coordinates.is_measured]))
        missing = self.coordinates.misses_measurements(frame)
        weights = np.where(missing, 1e-9 * weights, weights)
        groups = (labels == c for c in range(self.voters.n_clusters))
        means = [np.average(Z[group], axis=0, weights=weights[group]) for group in groups]
        return replace(self, means=np.array(means))

    def __call__(self, X: Any) -> Array:
        """Return the label of every row; -1 for isolated rows."""
        Z = self.coordinates(X)
        if self.means is None:
            return np.asarray(self.voters(Points(Z)))
        labels = np.asarray(self.voters(Points(Z[:, self.coordinates.is_measured])))
        some = self.coordinates.misses_measurements(X)
        labels[some] = pairwise_distances_argmin(Z[some], self.means) if some.any() else 0
        return labels


@dataclass(frozen=True, eq=False)
class TableClusters:
    """Clusters of a table: of representative rows, the assignment of others, and all labels."""

    partition: Partition
    number: ClusterNumber | None
    assignment: TableAssignment
    labels: Array


def cluster_without_followed(
    coordinates: TableCoordinates,
    cluster: Callable[[TableCoordinates], TableClusters],
    frame: Any,
    weights: Array,
) -> tuple[TableClusters, list[Any]]:
    """Cluster without the columns some of whose values form a cluster; return their names too.

    If the other columns have similar clusters, the column stays. At most ten columns are left out.
    """
    found = cluster(coordinates)
    names: list[Any] = []
    while found.partition.n_clusters > 1 and len(names) < _MOST_FOLLOWED:
        coordinates = found.assignment.coordinates
        name = coordinates.followed(frame, found.labels, weights)
        if name is None:
            break
        others = coordinates.without(name)
        if len(np.unique(others(frame), axis=0)) <= found.partition.n_clusters:
            break
        other = cluster(others)
        if adjusted_rand_score(found.labels, other.labels) >= 0.5:
            break
        found = other
        names.append(name)
    return found, names


def _largest_overlap(block: Array, labels: Array, weights: Array) -> float:
    """Return the largest Jaccard index of a cluster and the rows with some of the values."""
    codes = np.unique(block, axis=0, return_inverse=True)[1].ravel()
    labels = np.where(labels < 0, labels.max() + 1, labels)  # isolated rows
    rare = np.bincount(codes, weights) < _RARE * weights.sum()
    codes = np.where(rare[codes], len(rare), codes)
    table = np.zeros((len(rare) + 1, int(labels.max()) + 1))
    np.add.at(table, (codes, labels), weights)
    sizes, largest = table.sum(axis=1), 0.0
    for inside in table.T:
        chosen = inside > sizes / 2
        shared = inside[chosen].sum()
        largest = max(largest, shared / (sizes[chosen].sum() + inside.sum() - shared))
    return float(largest)
