"""The Weisfeiler-Lehman subtree kernel on graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.kernels.cells import numbered
from mercer.kernels.counts import CountKernel

__all__ = ["Graph"]

_EMPTY = ("graph without nodes",)


class Graph(CountKernel):
    r"""Weisfeiler-Lehman subtree kernel on graphs with labelled nodes.

    In each round the label of a node becomes the pair of its label and the sorted labels of its
    neighbours; :math:`k(x, y) = \sum_l c_l(x) c_l(y)` over the labels l of all rounds, the given
    ones included, with :math:`c_l` their counts (Shervashidze et al. 2011). An inner product of
    counts is positive semi-definite.

    A graph is any of

    - a pair ``(edges, labels)``. ``edges`` is an adjacency matrix (dense or sparse, an edge
      wherever it is not 0) or a list of pairs of nodes; ``labels`` is one label per node, or a
      dict from nodes to labels. Nodes without a dict are the numbers 0, 1, …;
    - an adjacency matrix or a list of pairs alone: all labels are equal;
    - a networkx graph, or what behaves like one; labels are its nodes' attribute ``label``.

    Edges have no direction and count once. A graph without nodes has no labels to count: k is 0
    with everything, and normalised 1 with other graphs without nodes.

    Parameters
    ----------
    iterations : int
        Number of rounds; 0 compares labels only.
    normalize : bool
        Divide by the lengths of the count vectors, so that k(x, x) = 1.
    label : str
        Attribute that holds the labels of networkx graphs; a node without it has the label None.

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

    def parts(self, item: Any, numbers: dict[Any, int]) -> list[int]:
        """The numbers of the nodes' labels in every round."""
        if self.iterations != int(self.iterations) or self.iterations < 0:
            raise ValueError(
                f"Graph(iterations={self.iterations!r}) must be a whole number of at least 0."
            )
        labels, neighbours = self._read(item)
        # a tuple with the round: labels of different rounds never meet
        current = numbered(((0, label) for label in labels), numbers)
        found = list(current)
        for turn in range(1, int(self.iterations) + 1):
            around = [tuple(sorted(current[j] for j in near)) for near in neighbours]
            seen = zip(current, around, strict=True)
            current = numbered(((turn, own, near) for own, near in seen), numbers)
            found += current
        return found

    def whole(self, item: Any) -> Any:
        """All graphs without nodes are equal."""
        return _EMPTY

    def _read(self, item: Any) -> tuple[list[Any], list[set[int]]]:
        """Labels, and the numbers of each node's neighbours."""
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
    """A sparse matrix, or a square one; a square of two rows is one where it comes as an array."""
    shape: Any = getattr(edges, "shape", None)
    if isinstance(edges, list):
        try:
            shape = np.shape(edges)
        except ValueError:  # rows of different lengths are no matrix
            return False
    if shape is None:
        raise TypeError(
            f"Graph compares graphs: an adjacency matrix or a list of pairs of nodes, with labels "
            f"or without, or a networkx graph; not {type(edges).__name__}: {edges!r:.60}."
        )
    square = len(shape) == 2 and shape[0] == shape[1]
    return square and not (isinstance(edges, list) and shape[1] == 2)


def _node_count(edges: Any) -> int:
    if _is_adjacency(edges):
        return int(np.shape(edges)[0])
    return 1 + max((int(node) for edge in edges for node in edge), default=-1)


def _pairs(edges: Any, count: int, nodes: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Edges as pairs of nodes."""
    if not _is_adjacency(edges):
        return [tuple(edge) for edge in edges]
    matrix = np.asarray(edges) if isinstance(edges, list) else edges
    if matrix.shape[0] != count:
        raise ValueError(
            f"A graph has an adjacency matrix of {matrix.shape[0]} nodes and {count} labels; there "
            "must be one label per node."
        )
    return [(nodes[i], nodes[j]) for i, j in zip(*matrix.nonzero(), strict=True)]


def _linked(
    labels: Mapping[Any, Any], pairs: Iterable[tuple[Any, Any]]
) -> tuple[list[Any], list[set[int]]]:
    places = {node: place for place, node in enumerate(labels)}
    neighbours: list[set[int]] = [set() for _ in places]
    for pair in pairs:
        if len(pair) != 2 or pair[0] not in places or pair[1] not in places:
            raise ValueError(
                f"A graph has the edge {pair!r}; an edge must be a pair of nodes, and this graph "
                f"has {len(places)} of them, the first being {list(places)[:5]!r}."
            )
        i, j = places[pair[0]], places[pair[1]]
        neighbours[i].add(j)
        neighbours[j].add(i)
    return list(labels.values()), neighbours
