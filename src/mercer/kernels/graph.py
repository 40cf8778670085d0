"""The Weisfeiler-Lehman subtree kernel on graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.kernels.cells import to_codes
from mercer.kernels.counts import CountKernel

__all__ = ["Graph"]

_EMPTY_GRAPH = ("graph without nodes",)


class Graph(CountKernel):
    r"""Weisfeiler-Lehman subtree kernel on graphs with labeled nodes.

    In each iteration the label of a node becomes the pair of its label and the sorted labels of its
    neighbors; :math:`k(x, y) = \sum_l c_l(x) c_l(y)` over the labels l of all iterations, including
    the given ones, with :math:`c_l` their counts (Shervashidze et al. 2011). An inner product of
    counts is positive semi-definite.

    A graph is any of

    - a pair ``(edges, labels)``. ``edges`` is an adjacency matrix (dense or sparse; nonzero entries
      are edges) or a list of pairs of nodes; ``labels`` is one label per node, or a
      dict from nodes to labels. Without a dict the nodes are the integers 0, 1, …;
    - an adjacency matrix or a list of pairs without labels: all labels are equal;
    - a networkx graph, or an object with its interface; labels are the node attribute ``label``.

    Edges are undirected and count once. A graph without nodes has no labels to count: k is 0 with
    all graphs or, with normalization, 1 with other graphs without nodes.

    Parameters
    ----------
    iterations : int
        Number of relabeling iterations; 0 compares the given labels only.
    normalize : bool
        Divide by the norms of the count vectors, so that k(x, x) = 1.
    label : str
        Node attribute with the labels of networkx graphs; a node without it has the label None.

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> path = [(0, 1), (1, 2)]
    >>> Graph(iterations=1)([triangle, path])
    array([[18., 12.],
           [12., 14.]])
    >>> Graph(iterations=0)([(triangle, "CCO"), (path, "COO")])
    array([[5., 4.],
           [4., 5.]])
    """

    def __init__(self, iterations: int = 3, normalize: bool = False, label: str = "label") -> None:
        self.iterations = iterations
        self.normalize = normalize
        self.label = label

    def part_codes(self, item: Any, codes: dict[Any, int]) -> list[int]:
        """Return the codes of the nodes' labels in every iteration."""
        if self.iterations != int(self.iterations) or self.iterations < 0:
            raise ValueError(
                f"Graph(iterations={self.iterations!r}) must be an integer of at least 0."
            )
        labels, neighbors = self._read(item)
        # The tuples include the iteration, so labels of different iterations are never equal.
        current = to_codes(((0, label) for label in labels), codes)
        found = list(current)
        for iteration in range(1, int(self.iterations) + 1):
            around = [tuple(sorted(current[j] for j in near)) for near in neighbors]
            pairs = zip(current, around, strict=True)
            current = to_codes(((iteration, own, near) for own, near in pairs), codes)
            found += current
        return found

    def substitute_part(self, item: Any) -> Any:
        """Return the same part for all graphs without nodes."""
        return _EMPTY_GRAPH

    def _read(self, item: Any) -> tuple[list[Any], list[set[int]]]:
        """Return the labels, and the indices of each node's neighbors."""
        if hasattr(item, "nodes") and hasattr(item, "edges"):
            named = dict(item.nodes(data=self.label))
            return _linked(named, item.edges())
        edges, labels = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        if isinstance(labels, Mapping):
            return _linked(labels, _pairs(edges, len(labels), list(labels)))
        count = _node_count(edges) if labels is None else len(labels)
        labels = [None] * count if labels is None else labels
        return _linked(dict(enumerate(labels)), _pairs(edges, count, range(count)))


def _is_adjacency(edges: Any) -> bool:
    """Whether edges are an adjacency matrix: sparse or square (a 2 × 2 list is a list of pairs)."""
    shape: Any = getattr(edges, "shape", None)
    if isinstance(edges, list):
        try:
            shape = np.shape(edges)
        except ValueError:  # rows of different lengths are not a matrix
            return False
    if shape is None:
        raise TypeError(
            f"Graph compares graphs: an adjacency matrix or a list of pairs of nodes, with or "
            f"without labels, or a networkx graph; not {type(edges).__name__}: {edges!r:.60}."
        )
    square = len(shape) == 2 and shape[0] == shape[1]
    return square and not (isinstance(edges, list) and shape[1] == 2)


def _node_count(edges: Any) -> int:
    if _is_adjacency(edges):
        return int(np.shape(edges)[0])
    return 1 + max((int(node) for edge in edges for node in edge), default=-1)


def _pairs(edges: Any, count: int, nodes: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Return the edges as pairs of nodes."""
    if not _is_adjacency(edges):
        return [tuple(edge) for edge in edges]
    matrix = np.asarray(edges) if isinstance(edges, list) else edges
    if matrix.shape[0] != count:
        raise ValueError(
            f"A graph has an adjacency matrix of {matrix.shape[0]} nodes but {count} labels; pass "
            "one label per node."
        )
    return [(nodes[i], nodes[j]) for i, j in zip(*matrix.nonzero(), strict=True)]


def _linked(
    labels: Mapping[Any, Any], pairs: Iterable[tuple[Any, Any]]
) -> tuple[list[Any], list[set[int]]]:
    indices = {node: index for index, node in enumerate(labels)}
    neighbors: list[set[int]] = [set() for _ in indices]
    for pair in pairs:
        if len(pair) != 2 or pair[0] not in indices or pair[1] not in indices:
            raise ValueError(
                f"A graph has the edge {pair!r}; an edge must be a pair of its nodes "
                f"(there are {len(indices)}; the first are {list(indices)[:5]!r})."
            )
        i, j = indices[pair[0]], indices[pair[1]]
        neighbors[i].add(j)
        neighbors[j].add(i)
    return list(labels.values()), neighbors
