"""Clusterings of distinct, weighted rows: neighbor graphs, k-means, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen import Request
from mercer.eigen.decompose import PlannedGram, Spectrum, decompose
from mercer.eigen.plan import plan
from mercer.errors import suppress_warnings
from mercer.gram import NormalizedGram, SparseGram
from mercer.gram.gram import KernelGram
from mercer.kernels import Kernel, Linear, Neighbors
from mercer.kernels.neighbors import (
    NeighborPairs,
    Reference,
    spanning_edges,
)
from mercer.utils.quantiles import weighted_median, weighted_quantile
from mercer.utils.resources import ProgressBar
from mercer.utils.types import Array

__all__ = [
    "ENTROPY_POOL",
    "ClusterRows",
    "Embedding",
    "KernelRecord",
    "Partition",
    "Voters",
    "choose_partition",
    "conductances",
    "embed_rows",
    "explained_fraction",
    "kmeans",
    "mutual_graph",
    "unit_rows",
    "voters_of",
]

_REFERENCE = 10  # neighbors of the graph on which clusterings are compared, and for densities
_KMEANS = Linear()  # the kernel of k-means
#: Cut of k-means, relative to that of the best graph, from which there are gaps.
_CLEAR_GAP = 1.5
_MOST_EXPLAINED = 0.9  # of the variance that k-means explains
ENTROPY_POOL = 3  # leading components per cluster among which those of largest entropy are chosen


@dataclass(frozen=True, eq=False)
class KernelRecord:
    """A clustering that was tried.

    Attributes
    ----------
    kernel : Kernel
        The fitted kernel; ``Linear()`` for k-means.
    n_clusters : int
    cost : float
        Mean conductance of the clusters on the mutual 10-neighbor graph: the normalized cut divided
        by the number of clusters.
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
    """Distinct rows with their weights, and the distance that compares them."""

    points: Points
    weights: Array | None
    distance: Kernel | None  # fitted kernel that induces it; None for the Euclidean distance
    matrix: Array | None = None  # K, for a precomputed kernel

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.points.n

    def sample(self, kernel: Kernel) -> Sample:
        """Return the sample of a fitted kernel."""
        return Sample(kernel, self.points, self.weights, self.matrix)

    def tree(self) -> NeighborPairs:
        """Return the edges of a minimum spanning tree."""
        return spanning_edges(self.points.data, 15, self.distance)

    def take(self, indices: Array) -> ClusterRows:
        """Return some of the rows, compared by their coordinates."""
        weights = None if self.weights is None else self.weights[indices]
        return ClusterRows(self.points.take(indices), weights, self.distance)

    def merged(self) -> tuple[Array, Array, ClusterRows]:
        """Return indices of different rows, the index of each row among them, and these rows."""
        data = self.points.data
        _, first, nodes = np.unique(data, axis=0, return_index=True, return_inverse=True)
        nodes = nodes.ravel()
        weights = np.bincount(nodes, self.weights)
        return first, nodes, ClusterRows(self.points.take(first), weights, None)

    def neighbor_distances(self) -> Array:
        """Return the distance of every row to its tenth neighbor."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        reference = Reference(self.points.data, weights)
        return np.sqrt(reference.squared_radii(self.points.data, _REFERENCE, self.distance))


@dataclass(frozen=True, eq=False)
class Embedding:
    """Leading eigenvectors of the degree-normalized kernel matrix of rows, without its diagonal."""

    spectrum: Spectrum
    coordinates: Array  # the eigenvectors, each multiplied by its eigenvalue
    weights: Array | None

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
        rows = unit_rows(self.coordinates[:, chosen[chosen < self.coordinates.shape[1]]])
        return kmeans(rows, k, self.weights)


def mutual_graph(rows: ClusterRows, tree: NeighborPairs) -> Any:
    """Return the mutual 10-neighbor graph with the edges of a spanning tree.

    Edges are weighted by the multiplicities of the rows.
    """
    kernel = Neighbors(_REFERENCE, mutual=True, kernel=rows.distance)
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

    The edges of ``tree`` connect a sparse graph with more than ``n_clusters`` connected components,
    or with small ones.
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
    return Embedding(spectrum, gram.product(spectrum.eigenvectors), rows.weights)


def kmeans(Z: Array, n_clusters: int, weights: Array | None) -> Array:
    """Return exactly ``n_clusters`` labels; equal rows are divided in their order if necessary."""
    distinct = min(n_clusters, len(np.unique(Z, axis=0)))
    found = KMeans(distinct, n_init=10, random_state=0, max_iter=100)
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
    weights = np.maximum(kernel.edge_weights(tree), 1e-6)  # less would be rounding error
    edges = coo_array((weights, (tree.rows, tree.columns)), shape=matrix.shape).tocsr()
    return csr_array(matrix.maximum(edges + edges.T))


# --- the choice among clusterings ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Partition:
    """A clustering of representative rows; isolated ones have the label ``n_clusters``."""

    kernel: Kernel
    spectrum: Spectrum
    rows: ClusterRows
    labels: Array
    n_clusters: int
    path: list[KernelRecord] = field(default_factory=list)
    best_index: int | None = None

    @property
    def cut(self) -> float:
        """Lowest normalized cut of the graphs."""
        return self.n_clusters * min(record.cost for record in self.path[:-1])


def choose_partition(
    rows: ClusterRows,
    measured: ClusterRows,
    k: int,
    embed: Callable[[ClusterRows, Kernel, int, NeighborPairs], Embedding],
    components: str,
) -> Partition:
    """Choose among three neighbor graphs of the measurements and k-means in all coordinates.

    Mutual graphs separate clusters that touch; the other graph does not isolate rows.
    ``measured`` is ``rows`` for arrays.
    """
    compact = kmeans(rows.points.data, k, rows.weights)
    first, nodes, graph_rows = measured.merged()
    has_graph = graph_rows.n > k
    if not has_graph:
        first, nodes, graph_rows = rows.merged()
    tree = graph_rows.tree()
    graph = mutual_graph(graph_rows, tree)
    found: list[tuple[KernelRecord, Spectrum]] = []

    def cost(labels: Array) -> float:
        return float(conductances(graph, labels[first], k).mean())

    candidates = (
        Neighbors(10, mode="weighted", mutual=True),
        Neighbors(20, mode="weighted", mutual=True),
        Neighbors(10),
    )
    with ProgressBar(len(candidates), "kernels") as bar:
        for done, candidate in enumerate(candidates, start=1):
            kernel = fit_kernel(candidate, graph_rows.points, graph_rows.weights)
            embedding = embed(graph_rows, kernel, k, tree)
            labels = embedding.cluster(k, components)[nodes]
            found.append((KernelRecord(kernel, k, cost(labels), labels), embedding.spectrum))
            bar.step(done)
    cut, spectrum = min(found, key=lambda one: one[0].cost)
    path = [*(record for record, _ in found), KernelRecord(_KMEANS, k, cost(compact), compact)]
    is_cut = has_graph and path[-1].cost > _CLEAR_GAP * cut.cost
    if is_cut and measured is not rows:
        X, weights = rows.points.data, rows.weights
        most = explained_fraction(X, compact, weights)
        is_cut = explained_fraction(X, cut.labels, weights) >= _MOST_EXPLAINED * most
    chosen = cut if is_cut else path[-1]
    return Partition(
        chosen.kernel,
        spectrum,
        measured if is_cut else rows,
        chosen.labels,
        k,
        path,
        next(index for index, record in enumerate(path) if record is chosen),
    )


# --- cuts and new rows ---------------------------------------------------------------------------


def conductances(graph: Any, labels: Array, count: int) -> Array:
    """Return for each cluster the fraction of its edge weights that leave it.

    Their sum is the normalized cut. A cluster without edges has conductance 1.

    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> conductances(path, np.array([0, 0, 1]), 2)
    array([0.33333333, 1.        ])
    """
    n = len(labels)
    members = csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, count))
    between = (members.T @ (graph @ members)).toarray()
    volumes = between.sum(axis=1)
    inside = between.diagonal()
    return np.where(volumes > 0, 1 - inside / np.where(volumes > 0, volumes, 1), 1.0)


def explained_fraction(Z: Array, labels: Array, weights: Array | None = None) -> float:
    """Return the fraction of the variance of coordinates that is between the clusters.

    >>> explained_fraction(np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1]))
    0.9411764705882353
    """
    masses = np.ones(len(Z)) if weights is None else weights
    members = csr_array((masses, (labels, np.arange(len(Z)))), shape=(labels.max() + 1, len(Z)))
    centered = Z - np.average(Z, axis=0, weights=masses)
    sums, sizes = members @ centered, np.bincount(labels, masses)
    between = float((sums**2 / np.where(sizes > 0, sizes, 1)[:, None]).sum())
    total = float(masses @ (centered**2).sum(axis=1))
    return between / total if total > 0 else 0.0


def unit_rows(V: Array) -> Array:
    """Return rows divided by their norms; zero rows are unchanged."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    return np.asarray(V / np.where(norms > 0, norms, 1))


@dataclass(frozen=True, eq=False)
class Voters:
    """Labeled rows.

    A vote has the weight ``exp(-d² / r²)``, where r is the distance of the fifth nearest row. A row
    at distance 0 decides alone. For a precomputed kernel all rows vote, with their kernel values.
    Rows are noise if their distance to the tenth neighbor, relative to the median of their cluster,
    exceeds ``largest_ratio``. Rows with the label ``n_clusters`` are isolated.
    """

    points: Points
    labels: Array
    n_clusters: int
    distance: Kernel | None  # fitted kernel that induces it; None for the Euclidean distance
    weights: Array
    medians: Array | None = None  # None if no row is noise
    largest_ratio: float = np.inf

    def __call__(self, points: Points) -> Array:
        """Return the label of every point; -1 for noise."""
        labels = self._from_kernel(points) if points.kind == "gram" else self._nearest(points)
        if self.medians is not None:
            labels[self.ratios(points, labels) > self.largest_ratio] = -1
        return np.where(labels < self.n_clusters, labels, -1)

    def ratios(self, points: Points, labels: Array) -> Array:
        """Return distances to the tenth neighbor relative to the median of the cluster."""
        assert self.medians is not None
        reference = Reference(self.points.data, self.weights)
        squares = reference.squared_radii(points.data, _REFERENCE, self.distance)
        return np.asarray(np.sqrt(squares) / self.medians[labels])

    def _from_kernel(self, points: Points) -> Array:
        members = self.labels[:, None] == np.arange(self.labels.max() + 1)
        return np.asarray((points.data[:, self.points.data] @ members).argmax(axis=1))

    def _nearest(self, points: Points) -> Array:
        reference = Reference(self.points.data, self.weights)
        n_labels, count = int(self.labels.max()) + 1, min(5, self.points.n)
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
            totals = np.zeros((len(rows), n_labels))
            at = np.arange(len(rows))[:, None]
            np.add.at(totals, (at, self.labels[columns]), votes)
            labels[rows] = totals.argmax(axis=1)
        return labels


def voters_of(found: Partition, noise: float = 0.0) -> Voters:
    """Return the voters of a clustering; ``noise`` is the fraction of the rows labeled -1."""
    rows, labels = found.rows, found.labels
    weights = np.ones(rows.n) if rows.weights is None else rows.weights
    voters = Voters(rows.points, labels, found.n_clusters, rows.distance, weights)
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
    return replace(voters, medians=medians, largest_ratio=limit)
