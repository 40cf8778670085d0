r"""The number of clusters, from a density tree, and how long it persists.

The number is that of scikit-learn's HDBSCAN, whose clusters have at least 2 % of the rows and at
least 10 rows; rows in no cluster of the tree are one cluster. The confidence is the fraction of
five smallest sizes, from half to twice this one, at which the number is the same. Normalized cuts
decide whether there is one cluster more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN

from mercer.cluster.table_coordinates import TableCoordinates
from mercer.data.points import Points
from mercer.data.subsampling import random_rows
from mercer.kernels import Kernel, Normalized, Table
from mercer.kernels.neighbors import squared_distances_from
from mercer.utils.types import Array

__all__ = ["COULD_NOT_TELL", "ClusterNumber", "choose_number", "choose_table_number", "is_one_more"]

#: Confidence below which the number of clusters is reported as uncertain.
COULD_NOT_TELL = 0.5
MOST_ROWS = 2000  # of larger samples so many random rows are used


class ClusterNumber(NamedTuple):
    """A number of clusters, and the fraction of smallest cluster sizes with the same number.

    ``alternative`` is the next most frequent number; None if all sizes have the same.
    """

    n_clusters: int
    confidence: float
    alternative: int | None


def choose_number(
    points: Points, kernel: Kernel | None = None, matrix: Array | None = None
) -> ClusterNumber:
    """Choose the number of clusters of distinct points.

    A fitted kernel induces the distance; None for the Euclidean distance. With the kernel of all
    columns of a table, rows are compared by their measurements; with fewer than two, the number is
    1 with confidence 0. ``matrix`` is ``kernel(points)``, if it exists already.
    """
    some = random_rows(points.n, MOST_ROWS)
    data = points.take(some).data
    if isinstance(kernel.kernel if isinstance(kernel, Normalized) else kernel, Table):
        coordinates = TableCoordinates.fit(points.take(some), np.ones(len(some)))
        return choose_table_number(coordinates.of_measurements()(data))
    if kernel is not None or matrix is not None:
        if matrix is not None:
            matrix = matrix[np.ix_(some, some)]
        return _persistent_number(_induced_distances(data, kernel, matrix), "precomputed")
    rows = np.unique(data, axis=0)
    extent = np.ptp(rows, axis=0).max()
    return _persistent_number((rows - rows[0]) / (extent if extent > 0 else 1.0), "euclidean")


def choose_table_number(measurements: Array) -> ClusterNumber:
    """Choose the number of clusters of a table from the coordinates of its measurements."""
    if measurements.shape[1] < 2:  # valleys of a histogram are not clusters
        return ClusterNumber(1, 0.0, None)
    return choose_number(Points(measurements))


def is_one_more(cut: float, next_cut: float, second_cut: float) -> bool:
    """Return whether there is one cluster more, by the normalized cuts of k, k + 1, and k + 2.

    The cut then grows more than twice as much with the second cluster as with the next one.
    Growth is relative to the cut plus 0.1.

    >>> is_one_more(0.00, 0.03, 0.12), is_one_more(0.00, 0.10, 0.18)
    (True, False)
    """
    growth = (next_cut - cut) / (cut + 0.1)
    return (second_cut - next_cut) / (next_cut + 0.1) > 2 * growth


def _persistent_number(rows: Array, metric: str) -> ClusterNumber:
    sizes = max(10, 0.02 * len(rows)) * np.geomspace(0.5, 2, 5)
    counts = [_count(rows, round(size), metric) for size in sizes]
    chosen = counts[2]
    if counts.count(1) >= counts.count(chosen):
        chosen = 1
    others = [count for count in counts if count != chosen]
    alternative = max(others, key=others.count, default=None)
    return ClusterNumber(chosen, counts.count(chosen) / len(counts), alternative)


def _count(rows: Array, smallest: int, metric: str) -> int:
    if len(rows) < 2 * smallest:
        return 1
    tree = HDBSCAN(min_cluster_size=smallest, metric=metric, copy=True)
    return max(1, int(tree.fit(rows).labels_.max()) + 1)


def _induced_distances(data: Any, kernel: Kernel | None, matrix: Array | None) -> Array:
    """Return the distances of different points in feature space."""
    if matrix is None:
        assert kernel is not None
        matrix = np.asarray(kernel(data))
    own = matrix.diagonal()
    squares = squared_distances_from(own, own, matrix)
    different = np.flatnonzero((squares == 0).argmax(axis=1) == np.arange(len(squares)))
    distances = np.sqrt(squares[np.ix_(different, different)])
    return (distances + distances.T) / 2  # HDBSCAN compares both triangles up to rounding error
