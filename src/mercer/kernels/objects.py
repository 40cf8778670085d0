"""Kernels on sets, texts and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles, copy_into
from mercer.kernels.cells import as_cells, as_rows, is_missing, to_codes
from mercer.utils.pairwise import row_products
from mercer.utils.types import Array

__all__ = [
    "CountKernel",
    "Graph",
    "Jaccard",
    "MinMax",
    "NGram",
]


class CountKernel(Kernel):
    """``k(x, y) = Σ_p count_p(x) count_p(y)`` over parts p, or the cosine of the counts.

    If x has no parts, k(x, y) = 0 for all y, including x. With normalized counts, an object without
    parts is its own only part, so that k(x, x) = 1 for all x.
    """

    compares: ClassVar[Kind] = "objects"
    normalize: bool

    def part_codes(self, item: Any, codes: dict[Any, int]) -> list[int]:
        """Return the integer codes of the item's parts, repeated as often as they occur.

        ``codes`` maps parts to codes; it is shared by all items, and new parts are added to it.
        """
        raise NotImplementedError

    def substitute_part(self, item: Any) -> Any:
        """Return the only part of an item without parts; hashable, and not a part of others."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles by sparse products."""
        codes: dict[Any, int] = {}
        left_parts = self._codes_of_rows(X, codes)
        right_parts = None if Y is None else self._codes_of_rows(Y, codes)
        left = self._counts(left_parts, len(codes))
        right = left if right_parts is None else self._counts(right_parts, len(codes))

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return copy_into(self._value(row_products(left[rows], right[columns])), out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """Squared norms of the counts: 1 if they are normalized."""
        if self.normalize:
            return self._value(np.ones(len(X)))
        codes: dict[Any, int] = {}
        counts = self._counts(self._codes_of_rows(X, codes), len(codes))
        return self._value(np.asarray(counts.multiply(counts).sum(axis=1)))

    def _value(self, products: Array) -> Array:
        return products

    def _codes_of_rows(self, X: Any, codes: dict[Any, int]) -> list[list[int]]:
        return [self._codes_of_row(item, codes) for item in as_cells(X)]

    def _codes_of_row(self, item: Any, codes: dict[Any, int]) -> list[int]:
        found = self.part_codes(item, codes)
        if found or not self.normalize:
            return found
        return [codes.setdefault(self.substitute_part(item), len(codes))]

    def _counts(self, rows: list[list[int]], n_parts: int) -> csr_array:
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), np.int64, ends[-1])
        counts = csr_array(
            (np.ones(len(columns)), columns, ends), shape=(len(rows), max(n_parts, 1))
        )
        counts.sum_duplicates()
        if not self.normalize:
            return counts
        norms = np.sqrt(counts.multiply(counts).sum(axis=1))
        return csr_array(diags_array(1 / norms) @ counts)


class NGram(CountKernel):
    r"""Spectrum kernel on strings: :math:`k_0(x, y) = \sum_g c_g(x) c_g(y)` over n-grams g.

    :math:`c_g(x)` counts how often g occurs in x (Leslie, Eskin, Noble 2002). Sequences of tokens
    (lists or tuples of words) are compared in the same way. The kernel is
    :math:`\rho + (1 - \rho) k_0`, an inner product of features, hence positive semi-definite.

    A string shorter than n has no n-grams: k₀ is 0 with all strings. With normalization such a
    string is a feature by itself: k₀ is 1 with equal strings (including empty ones) and 0 with all
    others.

    Parameters
    ----------
    n : int or sequence of int
        Length of the n-grams; the kernels of several lengths are added before normalization.
    normalize : bool
        Divide by the norms of the feature vectors: k₀ is then a cosine.
    rho : float in [0, 1)
        ρ, the kernel value of strings without a common n-gram. In a product of kernels a value
        above 0 prevents one text from making the product 0.

    Examples
    --------
    >>> from mercer.kernels import NGram
    >>> NGram(2)(["banana", "ananas", "kiwi"])
    array([[9., 8., 0.],
           [8., 9., 0.],
           [0., 0., 3.]])
    >>> NGram((1, 2), normalize=True)(["ab", "ba"]).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])
    """

    def __init__(
        self, n: int | Sequence[int] = 3, normalize: bool = False, rho: float = 0.0
    ) -> None:
        self.n = n
        self.normalize = normalize
        self.rho = rho

    def part_codes(self, item: Any, codes: dict[Any, int]) -> list[int]:
        """Return the codes of all n-grams, from left to right."""
        text = _sequence(item)
        return to_codes(
            (
                text[i : i + length]
                for length in self._lengths()
                for i in range(len(text) - length + 1)
            ),
            codes,
        )

    def substitute_part(self, item: Any) -> Any:
        """Return the string itself, which is shorter than every n-gram."""
        return _sequence(item)

    def _with_scaled_bandwidth(self, factor: float) -> NGram:
        return NGram(self.n, self.normalize, self.rho ** (1 / factor**2))

    def _value(self, products: Array) -> Array:
        if not 0 <= self.rho < 1:
            raise ValueError(
                f"NGram(rho={self.rho!r}) must be in [0, 1): it is the kernel value of strings "
                "without a common n-gram."
            )
        if self.rho:
            products *= 1 - self.rho
            products += self.rho
        return products

    def _lengths(self) -> tuple[int, ...]:
        lengths = tuple(self.n) if isinstance(self.n, Sequence) else (self.n,)
        if not lengths or len(set(lengths)) < len(lengths) or min(lengths) < 1:
            raise ValueError(
                f"NGram(n={self.n!r}) must be a length of at least 1, or several distinct lengths."
            )
        return lengths


def _sequence(item: Any) -> Any:
    """Return a string, or a tuple of tokens."""
    if isinstance(item, str | bytes):
        return item
    if isinstance(item, list | tuple):
        return tuple(item)
    raise TypeError(
        f"NGram compares strings (or lists of tokens), not {type(item).__name__}: {item!r:.60}. "
        "For missing texts in a table use On(column, NGram(…)), which can compare them once it is "
        "fitted; convert other values with str()."
    )


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


class _Overlap(Kernel):
    """``k = |x ∩ y| / (|x| + |y| - |x ∩ y|)``; 1 if both are empty.

    The kernel is positive semi-definite: it is the probability that a random hash (minwise, or
    weighted sampling by Manasse, McSherry and Talwar 2010) maps x and y to the same value, and
    equality of values is an inner product of indicators. All empty points have the same hash value.
    """

    compares: ClassVar[Kind] = "objects"

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return the sizes of intersections, tile by tile, and of the points of X and Y."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Divide intersections by unions."""
        intersections, left, right = self.intersections(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            shared = intersections(rows, columns)
            union = np.add.outer(left[rows], right[columns])
            union -= shared
            empty = union == 0
            union[empty] = 1
            shared[empty] = 1
            return np.divide(shared, union, out=shared if out is None else out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        return np.ones(len(X))


class Jaccard(_Overlap):
    r"""Jaccard kernel on sets, :math:`k(A, B) = |A \cap B| / |A \cup B|`; k = 1 for two empty sets.

    Points are sets (or lists of items, whose duplicates are ignored), or rows of an array or data
    frame whose nonzero entries are the members of the set.

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"a", "b", "c"}, {"b", "c"}, {"d"}]).round(4)
    array([[1.    , 0.6667, 0.    ],
           [0.6667, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    """

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return sparse products of indicators."""
        if not _is_sequence(X):
            left = csr_array(_vectors(X, "Jaccard") != 0, dtype=np.float64)
            right = left if Y is None else csr_array(_vectors(Y, "Jaccard") != 0, dtype=np.float64)
            _check_n_columns(left, right)
        else:
            left, right = _bags(X, Y, _members)

        def products(rows: slice, columns: slice) -> Array:
            return np.asarray((left[rows] @ right[columns].T).toarray())

        return products, left.sum(axis=1), right.sum(axis=1)


class MinMax(_Overlap):
    r"""Min-max kernel, :math:`k(x, y) = \sum_j \min(x_j, y_j) / \sum_j \max(x_j, y_j)`.

    The Jaccard kernel of multisets (Ruzicka similarity); k = 1 for two points that are all zeros.
    Points are rows of non-negative numbers, or dicts from items to non-negative amounts (such as a
    ``collections.Counter``), or sets.

    Examples
    --------
    >>> from mercer.kernels import MinMax
    >>> MinMax()([[1.0, 2.0, 0.0], [2.0, 1.0, 1.0]])
    array([[1. , 0.4],
           [0.4, 1. ]])
    >>> MinMax()([{"a": 2, "b": 1}, {"a": 1}]).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """

    def intersections(self, X: Any, Y: Any) -> tuple[Callable[[slice, slice], Array], Array, Array]:
        """Return sums of minima, column by column."""
        if _are_bags(X):
            bags = _bags(X, Y, _amounts)
            by_column = csc_array(bags[0]), csc_array(bags[1])

            def of_bags(rows: slice, columns: slice) -> Array:
                return _sparse_minima(by_column[0][rows], by_column[1][columns])

            return of_bags, bags[0].sum(axis=1), bags[1].sum(axis=1)
        left = _vectors(X, "MinMax")
        right = left if Y is None else _vectors(Y, "MinMax")
        _check_n_columns(left, right)

        def of_vectors(rows: slice, columns: slice) -> Array:
            x, y = left[rows], right[columns]
            total = np.zeros((len(x), len(y)))
            for one, other in zip(x.T, y.T, strict=True):
                total += np.minimum.outer(one, other)
            return total

        return of_vectors, left.sum(axis=1), right.sum(axis=1)


def _vectors(X: Any, name: str) -> Array:
    table = as_rows(X)
    if is_missing(table).any():
        raise ValueError(
            f"{name} got missing values. Wrap it as On(columns, {name}()), which can compare them "
            "once it is fitted, or drop those rows."
        )
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} compares rows of numbers or sets of items, not {table.flat[0]!r:.60}."
        ) from None
    if numbers.min(initial=0) < 0 or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} needs finite numbers of at least 0; found {numbers.min():.6g} to "
            f"{numbers.max():.6g}. Shift the columns, or use Gaussian for signed ones."
        )
    return numbers


def _check_n_columns(left: Any, right: Any) -> None:
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X has {left.shape[1]} columns and Y has {right.shape[1]}; they must have the same "
            "number."
        )


def _is_sequence(X: Any) -> bool:
    """Whether X is a sequence of objects, not the rows of an array or a frame."""
    return len(getattr(X, "shape", (0,))) == 1


def _are_bags(X: Any) -> bool:
    return _is_sequence(X) and all(isinstance(item, Mapping | AbstractSet) for item in X)


def _members(item: Any) -> dict[Any, float]:
    if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
        raise TypeError(
            f"Jaccard compares sets (or lists) of items, not {type(item).__name__}: {item!r:.60}. "
            "For the characters of a string pass set(string)."
        )
    return dict.fromkeys(item, 1.0)


def _amounts(item: Any) -> dict[Any, float]:
    amounts = dict(item) if isinstance(item, Mapping) else dict.fromkeys(item, 1.0)
    invalid = [pair for pair in amounts.items() if not 0 <= pair[1] < np.inf]
    if invalid:
        raise ValueError(f"MinMax needs finite amounts of at least 0; found {invalid[0]!r}.")
    return amounts


def _bags(X: Any, Y: Any, read: Callable[[Any], dict[Any, float]]) -> tuple[csr_array, csr_array]:
    """Return both samples as sparse rows over the items of either."""
    known: dict[Any, int] = {}

    def rows(items: Any) -> tuple[Array, Array, Array]:
        bags = [read(item) for item in items]
        columns = [to_codes(bag, known) for bag in bags]
        values = [value for bag in bags for value in bag.values()]
        ends = np.cumsum([0, *map(len, columns)])
        flat = np.fromiter(chain.from_iterable(columns), np.int64, ends[-1])
        return np.array(values, dtype=np.float64), flat, ends

    left = rows(X)
    right = left if Y is None else rows(Y)
    n_items = max(len(known), 1)
    sparse = [csr_array(side, shape=(len(side[2]) - 1, n_items)) for side in (left, right)]
    return sparse[0], sparse[1]


def _sparse_minima(x: csc_array, y: csc_array) -> Array:
    total = np.zeros((x.shape[0], y.shape[0]))
    filled = np.flatnonzero((np.diff(x.indptr) > 0) & (np.diff(y.indptr) > 0))
    for j in filled:
        here, there = slice(*x.indptr[j : j + 2]), slice(*y.indptr[j : j + 2])
        at = np.ix_(x.indices[here], y.indices[there])
        total[at] += np.minimum.outer(x.data[here], y.data[there])
    return total
