"""Nearest neighbors in a reference sample, and kernels that depend on them.

Squared distances of vectors are recomputed from differences, so that equal rows have distance 0 and
the result does not depend on how the neighbors were found. The distance that a kernel induces is
``d²(x, y) = k(x, x) + k(y, y) - 2 k(x, y)``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mercer.data.points import Kind, PointSet, select_rows
from mercer.data.subsampling import distinct_rows
from mercer.kernels.base import FitParts, Kernel, Tiles, checked_depth, copy_into
from mercer.utils.pairwise import SparseRows, check_column_ranges, half_squared_differences
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer
from mercer.utils.weights import multiplicities

__all__ = [
    "NeighborPairs",
    "Neighbors",
    "Reference",
    "SelfTuning",
    "kernel_distances",
    "neighbor_pairs",
    "reference_of",
    "spanning_edges",
    "squared_distances_from",
]

_ENTRIES_PER_BLOCK = 4_000_000
_FARTHEST = 1e100  # coordinates in units of the reference; their squares do not overflow
_TIE = 1e-12  # relative difference of squared distances that counts as equal


class NeighborPairs(NamedTuple):
    """Pairs (i, j) of rows with their squared distances."""

    rows: Array
    columns: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class Reference:
    """The training sample of a kernel that compares points with their neighbors.

    The rows have positive weight, and those of vectors are distinct. ``masses`` are their
    multiplicities, which sum to the sample size.
    """

    rows: Any
    masses: Array

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Reference)
            and np.array_equal(self.masses, other.masses)
            and _are_equal(self.rows, other.rows)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self.rows)} rows>"

    def squared_radii(self, X: Any, n_neighbors: int, kernel: Kernel | None) -> Array:
        """Return the squared distance of every row of X to its ``n_neighbors``-th neighbor.

        Rows at distance 0 (the row itself and its copies) are not neighbors, and a neighbor counts
        as often as its multiplicity. If the sample has fewer neighbors, the farthest one counts.
        """
        radii = np.empty(len(X))
        pending = np.arange(len(X))
        count = n_neighbors + 1
        while len(pending):
            count = min(count, len(self.rows))
            unresolved = []
            for part, squares, columns in self.nearest(X, pending, count, kernel):
                squares, columns = _smallest(squares, columns, count)
                squares = np.where(squares > 0, squares, np.inf)
                masses = self.masses[columns] * np.isfinite(squares)
                order = np.argsort(squares, axis=1, kind="stable")
                squares = np.take_along_axis(squares, order, axis=1)
                reached = np.cumsum(np.take_along_axis(masses, order, axis=1), axis=1)
                enough = reached >= n_neighbors * (1 - _TIE)
                last = np.isfinite(squares).sum(axis=1) - 1
                at = np.where(enough.any(axis=1), enough.argmax(axis=1), last)
                done = enough.any(axis=1) | (count == len(self.rows))
                radii[part[done]] = squares[done, at[done]]
                unresolved.append(part[~done])
            pending = np.concatenate(unresolved)
            count *= 2
        return radii

    def nearest(
        self, X: Any, indices: Array, count: int, kernel: Kernel | None
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Yield blocks of indices of X, and squared distances to reference rows near them."""
        if kernel is None:
            yield from _nearest_vectors(X[indices], indices, self.rows, count)
            return
        rows = _in_precision_of(X, self.rows)
        step = max(1, _ENTRIES_PER_BLOCK // len(rows))
        for first in range(0, len(indices), step):
            part = indices[first : first + step]
            squares = kernel_distances(kernel, select_rows(X, part), rows)
            yield part, squares, np.broadcast_to(np.arange(len(rows)), squares.shape)


def reference_of(rows: Any, masses: Array) -> Reference:
    """Return the reference of training rows; equal vectors are merged."""
    if _is_float(rows):
        indices, masses = distinct_rows(rows, masses)
        rows = rows[indices]
    if len(rows) < 2:
        raise ValueError(
            f"The sample has {len(rows)} distinct row, which has no neighbors. Pass at least two "
            "rows that differ."
        )
    return Reference(rows, masses)


def kernel_distances(kernel: Kernel, X: Any, Y: Any) -> Array:
    """Return ``k(x, x) + k(y, y) - 2 k(x, y)``; rounding errors of equal points are set to 0.

    A kernel that stores these values has a method ``stored_distances``.
    """
    if hasattr(kernel, "stored_distances"):
        return np.asarray(kernel.stored_distances(X, Y))
    X, Y = _as_double(X), _as_double(Y)
    return squared_distances_from(kernel.diagonal(X), kernel.diagonal(Y), kernel(X, Y))


def squared_distances_from(own: Array, other: Array, products: Array) -> Array:
    """Return ``|φ(x)|² + |φ(y)|² - 2 φ(x)'φ(y)`` from these values."""
    norms = np.add.outer(own, other).astype(np.float64)
    squares = norms - 2.0 * products
    # smaller ones are rounding error
    return np.where(squares > 1e-13 * np.abs(norms), squares, 0.0)


def neighbor_pairs(
    X: Any, radii: Array, Y: Any, count: int, kernel: Kernel | None
) -> NeighborPairs:
    """Return all pairs whose squared distance is at most the squared radius of the row of X.

    ``count`` neighbors of a row are expected; more are found if necessary. The kernel induces the
    distance; None means the Euclidean distance.
    """
    limits = radii * (1 + _TIE)
    found: list[NeighborPairs] = []
    pending = np.arange(len(X))
    while len(pending):
        count = min(count, len(Y))
        unresolved = []
        for part, squares, columns in Reference(Y, np.ones(0)).nearest(X, pending, count, kernel):
            inside = squares <= limits[part, None]
            complete = np.asarray(~inside.all(axis=1))
            if count == len(Y) or kernel is not None:
                complete[:] = True
            unresolved.append(part[~complete])
            at, place = np.nonzero(inside & complete[:, None])
            found.append(NeighborPairs(part[at], columns[at, place], squares[at, place]))
        pending = np.concatenate(unresolved)
        count *= 2
    joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return NeighborPairs(joined[0], joined[1], joined[2])


def spanning_edges(rows: Any, count: int, kernel: Kernel | None) -> NeighborPairs:
    """Return the edges of a minimum spanning tree of distinct rows, one pair (i, j) per edge.

    It is the tree of the graph of the ``count`` nearest neighbors, whose components are joined by
    their shortest links: the minimum spanning tree of all pairs, except for edges between rows that
    are not among each other's neighbors although their components are connected.
    """
    n = len(rows)
    everything = Reference(rows, np.ones(n))
    found = []
    for part, squares, columns in everything.nearest(rows, np.arange(n), min(count + 1, n), kernel):
        squares, columns = _smallest(squares, columns, count + 1)
        sources = np.broadcast_to(part[:, None], columns.shape)
        found.append(NeighborPairs(sources.ravel(), columns.ravel(), squares.ravel()))
    pairs = NeighborPairs(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    while True:
        graph = _lengths(pairs, n)
        n_components, labels = connected_components(graph, directed=False)
        if n_components == 1:
            break
        links = _shortest_links(rows, labels, n_components, kernel)
        pairs = NeighborPairs(*(np.append(a, b) for a, b in zip(pairs, links, strict=True)))
    tree = minimum_spanning_tree(graph).tocoo()
    return NeighborPairs(tree.row, tree.col, tree.data**2)


def _smallest(squares: Array, columns: Array, count: int) -> tuple[Array, Array]:
    """Return the ``count`` smallest squared distances of every row, and their columns."""
    if squares.shape[1] <= count:
        return squares, columns
    order = np.argpartition(squares, count - 1, axis=1)[:, :count]
    return np.take_along_axis(squares, order, axis=1), np.take_along_axis(columns, order, axis=1)


def _lengths(pairs: NeighborPairs, n: int) -> Any:
    """Return the distances as a sparse array; distances of 0 are stored as a tiny number."""
    apart = pairs.rows != pairs.columns
    rows, columns, squares = (part[apart] for part in pairs)
    lengths = np.maximum(np.sqrt(squares), np.finfo(np.float64).tiny)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    _, first = np.unique(low * n + high, return_index=True)  # repeated entries would be added
    at = low[first].astype(np.int32), high[first].astype(np.int32)  # scipy 1.13 needs 32 bits
    return coo_array((lengths[first], at), shape=(n, n)).tocsr()


def _shortest_links(
    rows: Any, labels: Array, n_components: int, kernel: Kernel | None
) -> NeighborPairs:
    """Return the shortest link of each component, except the largest, to other components."""
    largest = int(np.argmax(np.bincount(labels)))
    links = []
    for component in range(n_components):
        if component == largest:
            continue
        members, others = np.flatnonzero(labels == component), np.flatnonzero(labels != component)
        outside = Reference(select_rows(rows, others), np.ones(len(others)))
        shortest = (np.inf, 0, 0)
        for part, squares, columns in outside.nearest(rows, members, 1, kernel):
            at = np.unravel_index(int(np.argmin(squares)), squares.shape)
            if squares[at] < shortest[0]:
                shortest = (float(squares[at]), int(part[at[0]]), int(others[columns[at]]))
        links.append(shortest)
    squares, sources, targets = map(np.array, zip(*links, strict=True))
    return NeighborPairs(sources, targets, squares)


def _nearest_vectors(
    X: Array, indices: Array, Y: Array, count: int
) -> Iterator[tuple[Array, Array, Array]]:
    from sklearn.neighbors import NearestNeighbors

    X, Y = _as_double(X), _as_double(_in_precision_of(X, Y))
    origin = np.median(Y, axis=0)  # rounding errors relative to a distant outlier would be large
    near = Y - origin
    scale = max(float(np.abs(near).max()), float(np.finfo(np.float64).tiny))
    search = NearestNeighbors(n_neighbors=count).fit(near / scale)
    step = max(1, _ENTRIES_PER_BLOCK // count)
    for first in range(0, len(X), step):
        x = X[first : first + step]
        queries = np.clip((x - origin) / scale, -_FARTHEST, _FARTHEST)
        columns = search.kneighbors(queries, return_distance=False)
        squares = np.zeros(columns.shape)
        with np.errstate(over="ignore"):  # inf is the correct limit
            for j in range(X.shape[1]):
                # original coordinates: shifted ones are rounded
                squares += ((x[:, j, None] - Y[columns, j]) / scale) ** 2
            squares *= scale
            squares *= scale
        yield indices[first : first + step], squares, columns


def _are_equal(X: Any, Y: Any) -> bool:
    if isinstance(X, SparseRows) and isinstance(Y, SparseRows):
        return X.shape == Y.shape and bool(abs(X - Y).max() == 0)
    if isinstance(X, SparseRows) or isinstance(Y, SparseRows):
        return False
    return np.array_equal(np.asarray(X), np.asarray(Y))


def _in_precision_of(X: Any, Y: Any) -> Any:
    """Round Y to the precision of X, so that rows in single precision equal the training rows."""
    return Y.astype(X.dtype, copy=False) if _is_float(X) and _is_float(Y) else Y


def _as_double(X: Any) -> Any:
    return X.astype(np.float64, copy=False) if _is_float(X) else X


def _is_float(X: Any) -> bool:
    return isinstance(X, np.ndarray | SparseRows) and X.dtype.kind == "f"


# --- kernels --------------------------------------------------------------------------------------


class _NeighborKernel(Kernel):
    """A kernel of distances, and of the distance of each point to its n-th neighbor.

    Neighbors are training rows. Rows at distance 0 (copies) are not neighbors of each other, and a
    row with weight 2 counts twice, so weights are equivalent to copies, and a new row that equals a
    training row has the same kernel values.
    """

    def __init__(
        self, n_neighbors: int, kernel: Kernel | None, reference: Reference | None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.reference = reference
        self._depth = checked_depth([] if kernel is None else [kernel])

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """Type of data that the inner kernel compares; vectors without one."""
        if self.kernel is None:
            return "vectors"
        if self.kernel.compares == "gram":
            raise ValueError(
                f"{self!r}: neighbors of new rows cannot be found from a precomputed matrix. Pass "
                "a kernel object."
            )
        return self.kernel.compares

    @property
    def is_psd(self) -> bool:
        """False: Gram matrices can have negative eigenvalues."""
        return False

    # --- fitting --------------------------------------------------------------------------------

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the kernel that induces the distance, if there is one."""
        return {} if self.kernel is None else {"kernel": self.kernel}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return this kernel with the distance of another kernel."""
        if not kernels:
            return self
        return type(self)(**{**self.get_params(deep=False), "kernel": kernels[0]})

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts:
        """Return the inner kernel; the fitted kernel stores the training rows."""
        check_integer(self.n_neighbors, "n_neighbors")
        if isinstance(X, PointSet):
            raise ValueError(
                f"{self!r} needs the training rows in memory, not a Dask collection. Pass a sample "
                "of the rows as an array, and predict for the collection."
            )

        def assemble(kernels: Sequence[Kernel]) -> Kernel:
            fitted = self.with_inner_kernels(kernels)
            assert isinstance(fitted, _NeighborKernel)
            params = fitted.get_params(deep=False)
            params["reference"] = _reference(X, weights)
            return type(self)(**params)

        if self.reference is not None:
            return FitParts(self._parts(X, weights), self.with_inner_kernels)
        return FitParts(self._parts(X, weights), assemble)

    def _parts(self, X: Any, weights: Array | None) -> list[tuple[Kernel, Any, Array | None]]:
        return [] if self.kernel is None else [(self.kernel, X, weights)]

    # --- evaluation -----------------------------------------------------------------------------

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles of squared distances and transform them."""
        right = X if Y is None else Y
        radii_x = self._squared_radii(X)
        radii_y = radii_x if Y is None else self._squared_radii(Y)
        dtype = np.float64 if self.compares == "objects" else np.result_type(X, right)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = select_rows(X, rows), select_rows(right, columns)
            if self.kernel is None:
                squares = -2 * half_squared_differences(
                    x.astype(np.float64), y.astype(np.float64), np.ones(x.shape[1])
                )
            else:
                squares = kernel_distances(self.kernel, x, y)
            values = self._values(squares, radii_x[rows, None], radii_y[columns])
            return copy_into(values.astype(dtype, copy=False), out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        X = self._as_points(X)
        return np.ones(len(X), X.dtype if self.compares == "vectors" else np.float64)

    def _squared_radii(self, X: Any) -> Array:
        if self.reference is None:
            raise ValueError(
                f"{self!r} depends on the training sample. Fit an estimator, or call "
                "mercer.bandwidth.fit_kernel(kernel, X)."
            )
        count = check_integer(self.n_neighbors, "n_neighbors")
        return self.reference.squared_radii(X, count, self.kernel)

    @abstractmethod
    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        """Return kernel values from squared distances and squared radii, which broadcast."""


class SelfTuning(_NeighborKernel):
    r"""Gaussian kernel with a bandwidth for each point (Zelnik-Manor and Perona 2004).

    .. math:: k(x, y) = \exp\left(-\frac{d(x, y)^2}{\sigma(x)\, \sigma(y)}\right)

    where :math:`\sigma(x)` is the distance of x to its ``n_neighbors``-th nearest training row.
    Clusters of different densities then have the same scale. Gram matrices may have negative
    eigenvalues.

    Parameters
    ----------
    n_neighbors : int
    kernel : Kernel or None
        Kernel whose feature space defines the distance,
        :math:`d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y)`, for tables and objects. None for the
        Euclidean distance.
    reference : Reference or None
        The training sample, set when the kernel is fitted.

    References
    ----------
    L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import SelfTuning
    >>> X = np.array([[0.0], [1.0], [2.0], [30.0], [60.0]])
    >>> fit_kernel(SelfTuning(n_neighbors=1), X)(X).round(3)[:, [0, 3]]
    array([[1.   , 0.   ],
           [0.368, 0.   ],
           [0.018, 0.   ],
           [0.   , 1.   ],
           [0.   , 0.343]])
    """

    def __init__(
        self,
        n_neighbors: int = 7,
        kernel: Kernel | None = None,
        reference: Reference | None = None,
    ) -> None:
        super().__init__(n_neighbors, kernel, reference)

    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        return _self_tuned(squares, radii_x, radii_y)

    def __repr__(self) -> str:
        inside = "" if self.kernel is None else f", kernel={self.kernel!r}"
        return f"SelfTuning(n_neighbors={self.n_neighbors!r}{inside})"


class Neighbors(_NeighborKernel):
    r"""Symmetric graph of nearest neighbors, as a kernel with a sparse Gram matrix.

    .. math:: k(x, y) = \frac{[d(x, y) \le r(x)] + [d(x, y) \le r(y)]}{2}\, w(x, y)

    where :math:`r(x)` is the distance of x to its ``n_neighbors``-th nearest training row. In a
    mutual graph both points must be neighbors of each other,
    :math:`k(x, y) = [d(x, y) \le \min(r(x), r(y))]\, w(x, y)`. Gram matrices may have negative
    eigenvalues.

    Parameters
    ----------
    n_neighbors : int
    mode : {"connectivity", "weighted"}
        :math:`w = 1`, or the locally scaled Gaussian
        :math:`w(x, y) = \exp(-d(x, y)^2 / (r(x)\, r(y)))`.
    mutual : bool
    kernel : Kernel or None
        Kernel whose feature space defines the distance; None for the Euclidean distance.
    reference : Reference or None
        The training sample, set when the kernel is fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import Neighbors
    >>> X = np.array([[0.0], [1.0], [2.5], [10.0]])
    >>> fit_kernel(Neighbors(n_neighbors=1), X)(X)
    array([[1. , 1. , 0. , 0. ],
           [1. , 1. , 0.5, 0. ],
           [0. , 0.5, 1. , 0.5],
           [0. , 0. , 0.5, 1. ]])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        mode: Literal["connectivity", "weighted"] = "connectivity",
        mutual: bool = False,
        kernel: Kernel | None = None,
        reference: Reference | None = None,
    ) -> None:
        super().__init__(n_neighbors, kernel, reference)
        self.mode = mode
        self.mutual = mutual

    @property
    def is_sparse(self) -> bool:
        """True."""
        return True

    def sparse(self, X: Any, Y: Any = None) -> csr_array:
        """Return ``k(x_i, y_j)`` as a sparse array; with one argument, of X against itself."""
        directed = self._directed(X, X if Y is None else Y)
        reverse = directed.T if Y is None else self._directed(Y, X).T
        if self.mutual:
            return csr_array(directed.minimum(reverse))
        return csr_array((directed + reverse) / 2)

    def edge_weights(self, pairs: NeighborPairs) -> Array:
        """Return w(x, y) for pairs of training rows, whether or not they are neighbors."""
        if not self._is_weighted():
            return np.ones(len(pairs.rows))
        assert self.reference is not None
        radii = self._squared_radii(self.reference.rows)
        return _self_tuned(pairs.squares, radii[pairs.rows], radii[pairs.columns])

    def _directed(self, X: Any, Y: Any) -> csr_array:
        """Return ``[d(x, y) ≤ r(x)] w(x, y)``."""
        radii = self._squared_radii(X)
        pairs = neighbor_pairs(X, radii, Y, self.n_neighbors + 2, self.kernel)
        values = np.ones(len(pairs.rows))
        if self._is_weighted():
            others = radii if Y is X else self._squared_radii(Y)
            values = _self_tuned(pairs.squares, radii[pairs.rows], others[pairs.columns])
        graph = coo_array((values, (pairs.rows, pairs.columns)), shape=(len(X), len(Y)))
        return graph.tocsr()

    def _values(self, squares: Array, radii_x: Array, radii_y: Array) -> Array:
        near_x, near_y = squares <= (1 + _TIE) * radii_x, squares <= (1 + _TIE) * radii_y
        if self.mutual:
            values = (near_x & near_y).astype(np.float64)
        else:
            values = (near_x.astype(np.float64) + near_y) / 2
        if self._is_weighted():
            values *= _self_tuned(squares, radii_x, radii_y)
        return np.asarray(values)

    def _is_weighted(self) -> bool:
        check_choice(self.mode, "mode", ("connectivity", "weighted"))
        return self.mode == "weighted"

    def __repr__(self) -> str:
        inside = "" if self.kernel is None else f", kernel={self.kernel!r}"
        inside = f"{', mutual=True' if self.mutual else ''}{inside}"
        return f"Neighbors(n_neighbors={self.n_neighbors!r}, mode={self.mode!r}{inside})"


def _self_tuned(squares: Array, radii_x: Array, radii_y: Array) -> Array:
    """Return ``exp(-d² / (r(x) r(y)))``; square roots first, because products may overflow."""
    return np.exp(-(squares / np.sqrt(radii_x) / np.sqrt(radii_y)))


def _reference(X: Any, weights: Array | None) -> Reference:
    if _is_float(X):
        check_column_ranges(X)
    if weights is None:
        return reference_of(X, np.ones(len(X)))
    positive = np.flatnonzero(weights)
    return reference_of(select_rows(X, positive), multiplicities(weights[positive]))
