"""Pairwise products and distances of rows, with a guard against cancellation.

Coordinates are in units of the bandwidth. Kernels use ``h = -‖x - y‖² / 2``, the exponent of a
Gaussian, which one matrix product of augmented rows yields without further operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.utils.types import Array

__all__ = [
    "SparseRows",
    "as_dense",
    "as_sparse_rows",
    "augment_columns",
    "augment_rows",
    "check_column_ranges",
    "distance_blocks",
    "distinct_sparse_rows",
    "divide_rows",
    "euclidean_distances",
    "finite_product",
    "half_squared_differences",
    "half_squared_products",
    "nearest_distances",
    "products_would_cancel",
    "row_maxima",
    "row_products",
    "row_ranges",
    "row_squares",
]

# The exponent h computed from products has an error of about eps * |x|² (|x|: distance from the
# common origin, in bandwidths). Beyond these errors of h the slower differences are used.
_CANCELLATION_LIMIT = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 2e-4}


def finite_product(A: Array, B: Array, out: Array | None = None) -> Array:
    """Return ``A @ B`` for finite numbers, without spurious "invalid value" warnings.

    Overflow still warns; nothing else can go wrong in a product of finite numbers. BLAS libraries
    pad blocks with uninitialized memory and occasionally set the "invalid" flag for values that are
    not part of the result (numpy issues 13173 and 24067).
    """
    with np.errstate(invalid="ignore"):
        return np.matmul(A, B, out=out)


def row_ranges(n: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` rows that together cover n rows."""
    size = max(size, 1)
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def augment_rows(X: Array) -> Array:
    """Return rows ``[x, -|x|²/2, 1]``, the left factor of :func:`half_squared_products`."""
    return _with_columns(X, -0.5 * _squared_norms(X), 1.0)


def augment_columns(Y: Array) -> Array:
    """Return rows ``[y, 1, -|y|²/2]``, the right factor of :func:`half_squared_products`."""
    return _with_columns(Y, 1.0, -0.5 * _squared_norms(Y))


def _with_columns(X: Array, first: Array | float, second: Array | float) -> Array:
    augmented = np.empty((len(X), X.shape[1] + 2), X.dtype)
    augmented[:, :-2] = X
    augmented[:, -2], augmented[:, -1] = first, second
    return augmented


def half_squared_products(A: Array, B: Array, out: Array | None = None, clip: bool = True) -> Array:
    """Return ``h = x'y - |x|²/2 - |y|²/2 ≤ 0`` by one matrix product of augmented rows.

    Without ``clip``, rounding errors of points that nearly coincide may be positive.
    """
    h = finite_product(A, B.T, out)
    if not clip:
        return h
    # Only rounding error makes h positive, and a maximum takes half the time of clipping.
    return np.clip(h, -np.inf, 0, out=h) if h.max(initial=0) > 0 else h


def half_squared_differences(X: Array, Y: Array, widths: Array, out: Array | None = None) -> Array:
    """Return ``h = -Σ_j ((x_j - y_j) / width_j)² / 2``: slower than products, without cancellation.

    The original coordinates are subtracted. Dividing or shifting them first would round each of
    them, which matters where they are large compared with their differences.
    """
    h = np.empty((len(X), len(Y)), X.dtype) if out is None else out
    h[...] = 0
    difference = np.empty_like(h)
    with np.errstate(over="ignore"):  # overflow gives h = -inf, the correct limit
        for x, y, width in zip(X.T, Y.T, widths.astype(X.dtype), strict=True):
            np.subtract.outer(x, y, out=difference)
            np.divide(difference, width, out=difference)
            np.multiply(difference, difference, out=difference)
            np.subtract(h, difference, out=h)
    h *= 0.5
    return h


def products_would_cancel(X: Array, Y: Array) -> bool:
    """Return whether :func:`half_squared_products` would lose too many digits for these points."""
    reach = max(_squared_norms(X).max(initial=0), _squared_norms(Y).max(initial=0))
    return bool(reach * np.finfo(X.dtype).eps > _CANCELLATION_LIMIT[X.dtype])


def euclidean_distances(X: Array, Y: Array) -> Array:
    """Return all distances between two sets of rows, without overflow or cancellation."""
    origin = Y.mean(axis=0)
    X, Y = X - origin, Y - origin
    scale = max(np.abs(X).max(initial=0), np.abs(Y).max(initial=0))
    if scale == 0:
        return np.zeros((len(X), len(Y)))
    X, Y = X / scale, Y / scale
    ones = np.ones(X.shape[1])
    # differences of few columns are as fast as products with corrections
    if X.shape[1] <= 4:
        return np.asarray(np.sqrt(-2 * half_squared_differences(X, Y, ones)) * scale)
    squares = -2 * half_squared_products(augment_rows(X), augment_columns(Y))
    # small differences of large squares are inaccurate; if there are many, all are recomputed
    cancelled = squares < 1e-5 * max(_squared_norms(X).max(), _squared_norms(Y).max())
    if cancelled.mean() > 0.05:
        return np.asarray(np.sqrt(-2 * half_squared_differences(X, Y, ones)) * scale)
    rows, columns = np.nonzero(cancelled)
    squares[rows, columns] = _squared_norms(X[rows] - Y[columns])
    return np.asarray(np.sqrt(squares) * scale)


def distance_blocks(X: Array) -> Iterator[tuple[slice, Array]]:
    """Yield ranges of rows and their distances to all rows."""
    for rows in row_ranges(len(X), 256):
        yield rows, euclidean_distances(X[rows], X)


def nearest_distances(X: Array) -> Array:
    """Return the distance of each row to its nearest neighbor."""
    nearest = np.empty(len(X))
    for rows, distances in distance_blocks(X):
        distances[np.arange(len(distances)), np.arange(rows.start, rows.stop)] = np.inf
        nearest[rows] = distances.min(axis=1)
    return nearest


def _squared_norms(X: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", X, X))


# --- sparse rows ----------------------------------------------------------------------------------


class SparseRows(csr_array):  # type: ignore[misc]
    """A CSR array with a length, as arrays of rows have, that is never converted silently."""

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, *args: Any, **kwargs: Any) -> Array:
        raise TypeError(
            f"This computation needs a dense array; X is a sparse matrix of shape {self.shape}, "
            f"which takes {self.shape[0] * self.shape[1] * 8 / 1e6:,.1f} MB when dense. Pass "
            "X.toarray(), or fewer columns, such as sklearn.decomposition.TruncatedSVD(100)"
            ".fit_transform(X)."
        )


def as_sparse_rows(X: Any) -> SparseRows:
    """Return a sparse matrix as rows with sorted indices, without repeated entries."""
    rows = SparseRows(X)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the arrays may be those of X
        rows.sum_duplicates()
    return rows


def as_dense(X: Any) -> Array:
    """Return rows as a dense array: for few columns, or few rows."""
    return np.asarray(X.toarray() if issparse(X) else X)


def row_products(A: Any, B: Any, out: Array | None = None) -> Array:
    """Return ``A B'`` as a dense array; A and B may be sparse."""
    if not issparse(A) and not issparse(B):
        return finite_product(A, B.T, out)
    right = B.T
    # a sparse times a dense matrix is faster than two sparse ones, up to some size
    if issparse(A) and issparse(B) and right.shape[0] * right.shape[1] <= 2**22:
        right = right.toarray()
    product = as_dense(A @ right)
    if out is None:
        return product
    out[...] = product
    return out


def row_squares(X: Any) -> Array:
    """Return the squared norm of every row."""
    if not issparse(X):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    return np.bincount(_row_indices(X), X.data**2, X.shape[0]).astype(X.dtype)


def row_maxima(X: Any) -> Array:
    """Return the largest absolute value of every row; 0 without columns."""
    if not issparse(X):
        return np.asarray(np.abs(X).max(axis=1, initial=0))
    largest = np.zeros(X.shape[0], X.dtype)
    np.maximum.at(largest, _row_indices(X), np.abs(X.data))
    return largest


def divide_rows(X: Any, divisors: Array) -> Any:
    """Divide every row by a number."""
    if not issparse(X):
        return X / divisors[:, None]
    values = X.data / divisors[_row_indices(X)]
    return SparseRows((values, X.indices, X.indptr), shape=X.shape)


def check_column_ranges(X: Any) -> None:
    """Raise ValueError if squared distances underflow or overflow; missing values are ignored."""
    with np.errstate(over="ignore"):
        if issparse(X):
            ranges = X.max(axis=0).toarray() - X.min(axis=0).toarray()
        else:
            ranges = np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0)
        largest = float(np.nanmax(ranges, initial=0.0))
    if largest > 0 and not 1e-150 <= largest <= 1e152:
        raise ValueError(
            f"The largest range of a column is {largest:.3g}; squared distances need one between "
            "1e-150 and 1e+152. Multiply X by a constant."
        )


def distinct_sparse_rows(X: SparseRows) -> tuple[Array, Array]:
    """Return the lexicographic order of rows, and which of the ordered rows differ from the last.

    Rows compare as their dense versions do: at the first entry that only one row has, a positive
    value is larger than the other row's 0, and a negative one is smaller. Every entry is replaced
    by its rank in this order, so that the ranks of a row are compared as one string of bytes.
    """
    X = X.copy()
    X.eliminate_zeros()
    signs = np.sign(X.data).astype(np.int64)
    entries = np.stack([-signs * X.indices, signs], axis=1)
    by_value = np.lexsort((X.data, entries[:, 0], entries[:, 1]))
    changed = (np.diff(entries[by_value], axis=0) != 0).any(axis=1)
    changed |= np.diff(X.data[by_value]) != 0
    ranks = np.empty(len(X.data), ">u4")
    ranks[by_value] = np.concatenate([[0], np.cumsum(changed)])[: len(ranks)]
    # the end of a row is above negative entries and, as a prefix, below the first positive one
    end = np.array([np.unique(ranks[signs < 0]).size], ">u4").tobytes()
    keys = [part.tobytes() + end for part in np.split(ranks, X.indptr[1:-1])]
    order = np.array(sorted(range(len(X)), key=keys.__getitem__), dtype=np.intp)
    new = [True] + [keys[a] != keys[b] for a, b in zip(order[1:], order[:-1], strict=True)]
    return order, np.array(new)


def _row_indices(X: Any) -> Array:
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
