r"""The number of clusters, from a density tree, and how long it persists.

The number is that of scikit-learn's HDBSCAN, whose clusters have at least 2 % of the rows and at
least 10 rows; rows in no cluster of the tree are one cluster. The confidence is the fraction of
five smallest sizes, from half to twice this one, at which the number is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.cluster import HDBSCAN

from mercer.data.points import Points
from mercer.data.subsampling import random_rows
from mercer.gram.gram import double_center
from mercer.kernels import Kernel
from mercer.kernels.neighbors import squared_distances_from
from mercer.utils.frames import is_frame
from mercer.utils.types import Array

__all__ = ["COULD_NOT_TELL", "ClusterNumber", "choose_number", "dependent_components"]

#: Confidence below which the number of clusters is reported as uncertain.
COULD_NOT_TELL = 0.5
MOST_ROWS = 2000  # of larger samples so many random rows are used


class ClusterNumber(NamedTuple):
    """A number of clusters, and the fraction of smallest cluster sizes with the same number."""

    n_clusters: int
    confidence: float


def choose_number(
    points: Points, kernel: Kernel | None = None, matrix: Array | None = None
) -> ClusterNumber:
    """Choose the number of clusters of distinct points.

    A fitted kernel induces the distance; None for the Euclidean distance. Tables are compared by
    the kernel principal components that their columns have in common. ``matrix`` is
    ``kernel(points)``, if it exists already.
    """
    some = random_rows(points.n, MOST_ROWS)
    if matrix is not None:
        matrix = matrix[np.ix_(some, some)]
    data = points.take(some).data
    if is_frame(data):
        assert kernel is not None
        data = dependent_components(data, kernel, matrix)
    elif kernel is not None or matrix is not None:
        return _persistent_number(_induced_distances(data, kernel, matrix), "precomputed")
    rows = np.unique(data, axis=0)
    extent = np.ptp(rows, axis=0).max()
    return _persistent_number((rows - rows[0]) / (extent if extent > 0 else 1.0), "euclidean")


def _persistent_number(rows: Array, metric: str) -> ClusterNumber:
    sizes = max(10, 0.02 * len(rows)) * np.geomspace(0.5, 2, 5)
    counts = [_count(rows, round(size), metric) for size in sizes]
    chosen = counts[2]
    return ClusterNumber(chosen, counts.count(chosen) / len(counts))


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


def dependent_components(frame: Any, kernel: Kernel, matrix: Array | None = None) -> Array:
    """Return the kernel principal components of a table with more variance than by chance.

    Categories separate the rows of a table even if the columns are independent, so gaps between
    rows do not show clusters. Components whose variance exceeds the largest one of a table with
    independently permuted columns come from dependence (parallel analysis); at least one is
    returned. ``matrix`` is ``kernel(frame)``, if it exists already.
    """
    rng = np.random.default_rng(0)
    n = len(frame)
    permuted = frame.copy()
    for place in range(frame.shape[1]):
        permuted.isetitem(place, frame.iloc[rng.permutation(n), place].array)
    values, vectors = _leading(kernel(frame) if matrix is None else matrix)
    reference, _ = _leading(kernel(permuted))
    is_larger = np.append(values > 1.1 * reference[0], False)  # 10 % more than by chance
    count = max(1, int(np.argmin(is_larger)))
    return vectors[:, :count] * np.sqrt(np.maximum(values[:count], 0.0))


def _leading(gram: Array) -> tuple[Array, Array]:
    """Return the leading eigenvalues, relative to the trace, and eigenvectors of centered K."""
    n = len(gram)
    K = double_center(np.array(gram, dtype=np.float64), np.full(n, n**-0.5))
    start = np.random.default_rng(0).normal(size=n)
    values, vectors = eigsh(K, k=min(12, n - 1), v0=start)
    order = np.argsort(-values)
    trace = max(float(np.trace(K)), float(np.finfo(np.float64).tiny))
    return values[order] / trace, vectors[:, order]
