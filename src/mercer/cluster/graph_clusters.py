"""Spectral clustering of distinct, weighted rows: one kernel, or the best of several."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from mercer.bandwidth import fit_kernel
from mercer.cluster.graph_partition import conductances, unit_rows
from mercer.data.points import Points, Sample
from mercer.eigen import Request
from mercer.eigen.decompose import PlannedGram, decompose
from mercer.eigen.plan import plan
from mercer.eigen.spectrum import Spectrum
from mercer.errors import suppress_warnings
from mercer.gram import NormalizedGram, SparseGram
from mercer.gram.gram import KernelGram
from mercer.kernels import Gaussian, Kernel, Neighbors, SelfTuning
from mercer.kernels.neighbors import (
    NeighborPairs,
    Reference,
    spanning_edges,
    squared_distances_from,
)
from mercer.utils.types import Array

__all__ = [
    "ENTROPY_POOL",
    "ClusterRows",
    "Embedding",
    "KernelRecord",
    "ReferenceGraphs",
    "StoredKernel",
    "candidate_kernels",
    "embed_rows",
]

_TREE_NEIGHBORS = 15
_WEAKEST_EDGE = 1e-6  # of a spanning tree; a smaller weight would be rounding error
_REFERENCE = 10  # neighbors of the graph on which clusterings are compared
_STARTS = 10  # of k-means
_STORED_ROWS = 5000  # at most 200 MB
ENTROPY_POOL = 3  # leading components per cluster among which those of largest entropy are chosen


@dataclass(frozen=True, eq=False)
class KernelRecord:
    """A clustering that was tried.

    Attributes
    ----------
    kernel : Kernel
        The fitted kernel.
    n_clusters : int
    cost : float
        Mean conductance of the clusters on the mutual 10-neighbor graph: the normalized cut divided
        by the number of clusters. Among kernels, the one with the lowest cost is chosen.
    labels : int array
        Labels of the rows on which kernels were compared.

    Examples
    --------
    >>> from mercer import SpectralClustering
    >>> from mercer.datasets import make_rings
    >>> X, _ = make_rings(random_state=0)
    >>> path = SpectralClustering(3).fit(X).path_
    >>> min(path, key=lambda record: record.cost).n_clusters
    3
    """

    kernel: Kernel
    n_clusters: int
    cost: float
    labels: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Distinct rows with their weights, and the distance that compares them.

    Parameters
    ----------
    points : Points
    weights : array of shape (n,) or None
        Multiplicities.
    distance : Kernel or None
        Fitted kernel that induces the distance; None for the Euclidean distance.
    matrix : array of shape (n, n) or None
        K, for a precomputed kernel.
    """

    points: Points
    weights: Array | None
    distance: Kernel | None
    matrix: Array | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.points.n

    def sample(self, kernel: Kernel) -> Sample:
        """Return the sample of a fitted kernel."""
        return Sample(kernel, self.points, self.weights, self.matrix)

    def tree(self) -> NeighborPairs:
        """Return the edges of a minimum spanning tree."""
        return spanning_edges(self.points.data, _TREE_NEIGHBORS, self.distance)

    def with_stored_distances(self) -> ClusterRows:
        """Return the indices of the rows, compared by a stored matrix of the distance's kernel.

        Every graph searches neighbors, and kernels of tables and objects are expensive. The rows
        are returned unchanged if they are vectors or too many.
        """
        if self.distance is None or self.matrix is not None or self.n > _STORED_ROWS:
            return self
        stored = StoredKernel(np.asarray(self.distance(self.points.data)))
        return ClusterRows(Points(np.arange(self.n), "objects"), self.weights, stored)

    def neighbor_distances(self) -> Array:
        """Return the distance of every row to its tenth neighbor."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        reference = Reference(self.points.data, weights)
        return np.sqrt(reference.squared_radii(self.points.data, _REFERENCE, self.distance))


@dataclass(frozen=True, eq=False)
class Embedding:
    """Leading eigenvectors of the degree-normalized kernel matrix of rows, without its diagonal.

    Attributes
    ----------
    kernel : Kernel
        Fitted.
    spectrum : Spectrum
    coordinates : array of shape (n, m)
        The eigenvectors, each multiplied by its eigenvalue.
    weights : array of shape (n,) or None
    """

    kernel: Kernel
    spectrum: Spectrum
    coordinates: Array
    weights: Array | None

    def of_rows(self, rows: ClusterRows, kernel: Kernel) -> Embedding:
        """Return the embedding of the rows themselves, if it was computed for stored distances.

        ``kernel`` is the same kernel, fitted to the rows.
        """
        expansion: Any = replace(self.spectrum.expansion, kernel=kernel, points=rows.points)  # type: ignore[type-var]
        spectrum = replace(self.spectrum, expansion=expansion)
        return replace(self, kernel=kernel, spectrum=spectrum)

    def cluster(self, k: int, components: str = "variance") -> Array:
        """Return labels by k-means on the unit rows of k eigenvectors (Ng, Jordan and Weiss).

        ``components`` selects the leading ones, or those with the largest entropy terms among the
        ``3 k`` leading ones.
        """
        if k == 1:
            return np.zeros(len(self.coordinates), dtype=int)
        chosen = np.arange(k)
        if components == "entropy":
            terms = self.spectrum.entropy_terms[: ENTROPY_POOL * k]
            chosen = np.argsort(-terms, kind="stable")[:k]
        rows = unit_rows(self.coordinates[:, chosen[chosen < self.n_components]])
        return _kmeans(rows, k, self.weights)

    @property
    def n_components(self) -> int:
        """Number of eigenvectors."""
        return self.coordinates.shape[1]


class StoredKernel(Kernel):
    """A kernel matrix with its distances; points are indices."""

    compares = "objects"

    def __init__(self, values: Array) -> None:
        self.values = values

    def with_own_parameters(self) -> Self:
        """Return the kernel itself, which is not changed: copies of the matrix would be slow."""
        return self

    def matrix(self, X: Any, Y: Any) -> Array:
        """Return the values of two lists of indices."""
        return _entries(self.values, X, Y)

    def stored_distances(self, X: Any, Y: Any) -> Array:
        """Return the squared distances of two lists of indices."""
        return _entries(self._squares, X, Y)

    @cached_property
    def _squares(self) -> Array:
        diagonal = self.values.diagonal()
        return squared_distances_from(diagonal, diagonal, self.values)

    def diagonal(self, X: Any) -> Array:
        """Return the values k(x, x)."""
        return np.asarray(self.values[np.asarray(X), np.asarray(X)])


def _entries(matrix: Array, rows: Any, columns: Any) -> Array:
    """Return rows and columns of a matrix; the matrix itself, which must not change, for all."""
    everything = np.arange(len(matrix))
    if np.array_equal(rows, everything) and np.array_equal(columns, everything):
        return matrix
    return np.asarray(matrix[np.ix_(np.asarray(rows), np.asarray(columns))])


def candidate_kernels(rows: ClusterRows) -> list[Kernel]:
    """Return the kernels that ``kernel="auto"`` compares: graphs, self-tuning and Gaussian."""
    distance = rows.distance
    graphs: list[Kernel] = [
        Neighbors(count, mode=mode, mutual=True, kernel=distance)  # type: ignore[arg-type]
        for mode, counts in (("weighted", (7, 10, 15, 20)), ("connectivity", (7, 10, 15, 20, 30)))
        for count in counts
    ]
    graphs.append(Neighbors(10, kernel=distance))
    graphs.append(SelfTuning(7, kernel=distance))
    if distance is None:
        scale = float(np.median(rows.neighbor_distances()))
        graphs += [Gaussian(factor * scale) for factor in (1.0, 2.0)]
    return graphs


@dataclass(frozen=True, eq=False)
class ReferenceGraphs:
    """Graphs on which clusterings are compared, weighted by multiplicities.

    Attributes
    ----------
    mutual : sparse array
        Mutual 10-neighbor graph with the edges of a spanning tree.
    symmetric : sparse array
        Symmetric 10-neighbor graph.
    """

    mutual: Any
    symmetric: Any

    @classmethod
    def of(cls, rows: ClusterRows, tree: NeighborPairs) -> ReferenceGraphs:
        """Build both graphs."""
        kernels = (
            fit_kernel(
                Neighbors(_REFERENCE, mutual=mutual, kernel=rows.distance),
                rows.points,
                rows.weights,
            )
            for mutual in (True, False)
        )
        mutual, symmetric = (_gram(rows, kernel, tree).graph() for kernel in kernels)
        return cls(mutual, symmetric)

    def record(self, kernel: Kernel, labels: Array) -> KernelRecord:
        """Return the cost of a clustering."""
        k = int(labels.max()) + 1
        cost = float(conductances(self.mutual, labels, k).mean())
        return KernelRecord(kernel, k, cost, labels)

    def weighted(self, rows: ClusterRows, tree: NeighborPairs) -> Any:
        """Return the mutual 10-neighbor graph with weights."""
        kernel = Neighbors(_REFERENCE, mode="weighted", mutual=True, kernel=rows.distance)
        return _gram(rows, fit_kernel(kernel, rows.points, rows.weights), tree).graph()


def embed_rows(
    rows: ClusterRows,
    kernel: Kernel,
    n_components: int,
    *,
    n_clusters: int = 0,
    tree: NeighborPairs | None = None,
    solver: Any = "auto",
    random_state: int | None = None,
) -> Embedding:
    """Compute the leading eigenvectors of a degree-normalized kernel matrix.

    Parameters
    ----------
    rows : ClusterRows
    kernel : Kernel
        Fitted.
    n_components : int
    n_clusters : int
        Largest number of connected components of a sparse graph that are left separate.
    tree : NeighborPairs or None
        Edges that connect a sparse graph with more components, or with small ones.
    solver : str or solver
    random_state : int or None
    """
    gram, sample = _gram(rows, kernel, tree, n_clusters), rows.sample(kernel)
    request = Request("variance", min(n_components, rows.n), solver, normalize=True)
    with suppress_warnings():
        spectrum = decompose(
            sample,
            "variance",
            request.n_components,
            solver=solver,
            normalize=True,
            random_state=random_state,
            planned=PlannedGram(plan(sample, request), gram),
            at_most=True,
        )
    # One more product makes the rows of weakly connected points as accurate as the others.
    return Embedding(kernel, spectrum, gram.product(spectrum.eigenvectors), rows.weights)


def _kmeans(Z: Array, n_clusters: int, weights: Array | None) -> Array:
    """Return exactly ``n_clusters`` labels; equal rows are divided in their order if necessary."""
    distinct = min(n_clusters, len(np.unique(Z, axis=0)))
    found = KMeans(distinct, n_init=_STARTS, random_state=0, max_iter=100)
    labels = np.asarray(found.fit(Z, sample_weight=weights).labels_)
    labels = np.unique(labels, return_inverse=True)[1]
    for label in range(labels.max() + 1, n_clusters):
        largest = np.flatnonzero(labels == np.bincount(labels).argmax())
        labels[largest[len(largest) // 2 :]] = label
    return labels


class _Graph(NormalizedGram):
    """A normalized graph without loops."""

    def graph(self) -> Any:
        """Return the edge weights between all copies of the rows."""
        assert isinstance(self.base, SparseGram)
        root = self.start
        matrix = coo_array(self.base.matrix)
        data = matrix.data * root[matrix.row] * root[matrix.col]
        loops = matrix.row == matrix.col
        data[loops] -= (self.removed * root**2)[matrix.row[loops]]
        return csr_array((data, (matrix.row, matrix.col)), shape=matrix.shape)


def _gram(
    rows: ClusterRows, kernel: Kernel, tree: NeighborPairs | None, n_clusters: int = 0
) -> _Graph:
    sample = rows.sample(kernel)
    if not kernel.is_sparse:
        gram = plan(sample, Request("variance", 1, normalize=True)).gram(sample)
        assert isinstance(gram, KernelGram)
        return _Graph(gram, loops=False)
    assert isinstance(kernel, Neighbors)
    matrix = csr_array(kernel.sparse(rows.points.data))
    if tree is not None and not _has_large_components(matrix, kernel, rows.weights, n_clusters):
        matrix = _with_edges(matrix, kernel, tree)
    return _Graph(SparseGram(kernel, sample.points, sample.weights, matrix), loops=False)


def _has_large_components(
    matrix: csr_array, kernel: Neighbors, weights: Array | None, most: int
) -> bool:
    """Return whether there are at most so many components, each larger than a neighborhood.

    They are clusters. Edges between them would be as strong as those within them, and thin clusters
    would be cut instead. Smaller components, which only mutual graphs have, are outliers.
    """
    if most == 0:
        return False
    count, labels = connected_components(matrix, directed=False)
    return bool(count <= most and np.bincount(labels, weights).min() > kernel.n_neighbors)


def _with_edges(matrix: csr_array, kernel: Neighbors, tree: NeighborPairs) -> csr_array:
    """Add the edges of a tree; in a weighted graph with the weights of the kernel."""
    weights = np.maximum(kernel.edge_weights(tree), _WEAKEST_EDGE)
    edges = coo_array((weights, (tree.rows, tree.columns)), shape=matrix.shape).tocsr()
    return csr_array(matrix.maximum(edges + edges.T))
