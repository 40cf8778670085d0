"""Rows of sparse matrices: products, norms and distinct rows, without a dense copy.

Functions that take rows accept dense arrays too, so that kernels need no second formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.utils.pairwise import finite_product
from mercer.utils.types import Array

__all__ = [
    "SparseRows",
    "as_dense",
    "as_sparse_rows",
    "column_ranges",
    "distinct_sparse_rows",
    "divide_rows",
    "row_maxima",
    "row_products",
    "row_squares",
]


# Up to this size of a factor, a sparse times a dense matrix is faster than two sparse ones.
_FEW_ENTRIES = 2**22


class SparseRows(csr_array):  # type: ignore[misc]
    """A CSR array with a length, as arrays of rows have, that is never converted silently.

    >>> rows = SparseRows([[0.0, 2.0], [0.0, 0.0]])
    >>> len(rows), rows[:1].toarray().tolist()
    (2, [[0.0, 2.0]])
    """

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
    """Return ``A B'`` as a dense array; A and B may be sparse.

    >>> row_products(SparseRows([[0.0, 2.0]]), np.array([[1.0, 3.0], [5.0, 0.0]]))
    array([[6., 0.]])
    """
    if not issparse(A) and not issparse(B):
        return finite_product(A, B.T, out)
    right = B.T
    if issparse(A) and issparse(B) and right.shape[0] * right.shape[1] <= _FEW_ENTRIES:
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
    """Divide every row by a number.

    >>> divide_rows(SparseRows([[0.0, 2.0], [3.0, 0.0]]), np.array([2.0, 1.0])).toarray().tolist()
    [[0.0, 1.0], [3.0, 0.0]]
    """
    if not issparse(X):
        return X / divisors[:, None]
    values = X.data / divisors[_row_indices(X)]
    return SparseRows((values, X.indices, X.indptr), shape=X.shape)


def column_ranges(X: Any) -> Array:
    """Return the largest minus the smallest value of every column."""
    if not issparse(X):
        return np.asarray(np.ptp(X, axis=0))
    high, low = X.max(axis=0).toarray().ravel(), X.min(axis=0).toarray().ravel()
    return np.asarray(high - low)


def distinct_sparse_rows(X: SparseRows) -> tuple[Array, Array]:
    """Return the lexicographic order of rows, and which of the ordered rows differ from the last.

    Rows compare as their dense versions do: at the first entry that only one row has, a positive
    value is larger than the other row's 0, and a negative one is smaller. Every entry is replaced
    by its rank in this order, so that the ranks of a row are compared as one string of bytes.

    >>> order, new = distinct_sparse_rows(SparseRows([[0, 2.0], [1.0, 0], [0, 2.0], [0, -1.0]]))
    >>> order.tolist(), new.tolist()
    ([3, 0, 2, 1], [True, True, False, True])
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
