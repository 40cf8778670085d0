"""Recursive division of a graph at valleys of its sweep profile.

The nodes are ordered by an eigenvector of the degree-normalized graph. The number of edges that
cross each position of this order is low at the ends. Within one cluster of any shape it has one
maximum, up to fluctuations; between two clusters it has a valley. The depth of a valley with c
edges between maxima of at least t edges is ``z = 2 (√t - √c)``: Poisson counts with equal means
would give differences with a standard deviation of about √2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from mercer.utils.types import Array

__all__ = ["Valley", "divide", "sweep_profile"]

_DENSE = 300  # nodes up to which a dense eigensolver is used
_SHIFT = 1e-5  # above the largest eigenvalue 1


@dataclass(frozen=True, eq=False)
class Valley:
    """The deepest valley of a set of nodes.

    Attributes
    ----------
    parent : int
        Index of the valley that separated these nodes from others; -1 for all nodes.
    nodes : int array
    edges : float
        Weight of the edges between the nodes.
    sides : float
        The lower one of the highest crossing weights on both sides.
    bottom : float
        Crossing weight at the valley.
    """

    parent: int
    nodes: Array
    edges: float
    sides: float
    bottom: float

    @property
    def depth(self) -> float:
        """``2 (√sides - √bottom)``; 0 if there is no valley."""
        return 2 * float(np.sqrt(self.sides) - np.sqrt(self.bottom))


def sweep_profile(edges: Any, order: Array) -> Array:
    """Return for i = 1, …, n - 1 the weight of edges between the first i nodes and the others.

    Parameters
    ----------
    edges : sparse array of shape (n, n)
        Symmetric.
    order : int array of shape (n,)
        A permutation of the nodes.

    Examples
    --------
    >>> path = csr_array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> sweep_profile(path, np.array([0, 1, 2]))
    array([1., 2.])
    """
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    pairs = edges.tocoo()
    once = pairs.row < pairs.col
    first, last = place[pairs.row[once]], place[pairs.col[once]]
    weights = pairs.data[once]
    n = len(order)
    begin = np.bincount(np.minimum(first, last), weights, n)
    end = np.bincount(np.maximum(first, last), weights, n)
    return np.maximum(np.cumsum(begin - end)[:-1], 0.0)  # rounding errors


def divide(
    graph: Any,
    edges: Any,
    least_depth: float,
    *,
    smallest: int = 5,
    n_vectors: int = 1,
    most: int = 200,
) -> list[Valley]:
    """Divide a graph at its deepest valleys, recursively, while they are deep enough.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        Symmetric, with nonnegative weights; its eigenvectors order the nodes.
    edges : sparse array of shape (n, n)
        The graph whose crossing edges are counted.
    least_depth : float
        Parts are divided further if the depth of their valley exceeds it.
    smallest : int
        Least number of nodes on both sides of a valley.
    n_vectors : int
        Number of eigenvectors that are tried.
    most : int
        Largest number of valleys.

    Returns
    -------
    list of Valley
        One per set of nodes; parents come first.

    Examples
    --------
    >>> block = np.ones((6, 6)) - np.eye(6)
    >>> graph = csr_array(np.kron(np.eye(2), block))
    >>> [len(valley.nodes) for valley in divide(graph, graph, 1.0)]
    [12, 6, 6]
    """
    graph, edges = csr_array(graph), csr_array(edges)
    pending = [(np.arange(graph.shape[0]), -1)]
    found: list[Valley] = []
    while pending and len(found) < most:
        nodes, parent = pending.pop(0)
        inside = edges[nodes][:, nodes]
        valley, first = _deepest(graph[nodes][:, nodes], inside, smallest, n_vectors)
        found.append(Valley(parent, nodes, float(inside.sum()) / 2, *valley))
        if found[-1].depth > least_depth:
            pending.append((nodes[first], len(found) - 1))
            pending.append((np.delete(nodes, first), len(found) - 1))
    return found


def _deepest(
    graph: Any, edges: Any, smallest: int, n_vectors: int
) -> tuple[tuple[float, float], Array]:
    """Return sides and bottom of the deepest valley, and the nodes on one side of it."""
    n = graph.shape[0]
    best, first, depth = (0.0, 0.0), np.arange(0), 0.0
    if n < 2 * smallest:
        return best, first
    for coordinate in _coordinates(graph, n_vectors):
        order = np.argsort(coordinate, kind="stable")
        profile = sweep_profile(edges, order)
        left = np.maximum.accumulate(profile)
        right = np.maximum.accumulate(profile[::-1])[::-1]
        sides = np.minimum(left, right)
        depths = np.sqrt(sides) - np.sqrt(profile)
        depths[: smallest - 1] = depths[n - smallest :] = 0.0
        at = int(np.argmax(depths))
        if depths[at] > depth:
            depth, best = float(depths[at]), (float(sides[at]), float(profile[at]))
            first = order[: at + 1]
    return best, first


def _coordinates(graph: Any, count: int) -> list[Array]:
    """Return eigenvectors of the random walk; separate components are put one after the other."""
    n_components, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels)
    by_size = np.argsort(-sizes, kind="stable")
    coordinates = np.zeros((count, len(labels)))
    for at, component in enumerate(by_size):
        members = np.flatnonzero(labels == component)
        inside = graph if n_components == 1 else graph[members][:, members]
        for row, values in enumerate(_eigenvectors(inside, count)):
            extent = np.ptp(values)
            scaled = (values - values.min()) / extent if extent > 0 else values * 0
            coordinates[row, members] = 2 * at + scaled
    return list(coordinates)


def _eigenvectors(graph: Any, count: int) -> list[Array]:
    """Return the eigenvectors of D⁻¹A after the constant one, repeated if there are fewer."""
    n = graph.shape[0]
    if n < 3:
        return [np.arange(float(n))] * count
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = 1 / np.sqrt(np.maximum(degrees, np.finfo(np.float64).tiny))
    matrix = diags_array(scale) @ graph @ diags_array(scale)
    wanted = min(count, n - 2)
    if n <= _DENSE:
        vectors = eigh(matrix.toarray(), subset_by_index=[n - 1 - wanted, n - 1])[1]
        vectors = vectors[:, ::-1]
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(matrix.tocsc(), k=wanted + 1, sigma=1 + _SHIFT, v0=start, tol=1e-6)
        vectors = vectors[:, np.argsort(-values)]
    rows = [scale * vectors[:, j] for j in range(1, wanted + 1)]
    return rows + rows[-1:] * (count - wanted)
