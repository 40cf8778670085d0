"""Eigenpairs of a kernel that factorizes under independent coordinates.

If k and p are products over blocks of coordinates, eigenfunctions are products too, and an
eigenvalue is the product of one eigenvalue per block. A heap finds the largest products in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.utils.types import Array

__all__ = ["Factor", "ProductPairs", "largest_products"]


@dataclass(frozen=True)
class Factor:
    """Eigenpairs on one block of coordinates, largest eigenvalue first.

    Attributes
    ----------
    eigenvalues, means : arrays of shape (k,)
    functions : callable
        Takes points of the full space and an integer m; returns the first m eigenfunctions of this
        block, shape (n, m). Picklable.
    error : float
        Bound on the error of every eigenvalue.
    omitted : float
        Bound on the eigenvalues that are not among these; 0 if there are none.
    potential : float or None
        ``E k(X, Y)`` of the block; None to compute it from the eigenpairs.
    """

    eigenvalues: Array
    means: Array
    functions: Callable[[Array, int], Array]
    error: float = 0.0
    omitted: float = 0.0
    potential: float | None = None


def largest_products(sequences: Sequence[Array], count: int) -> tuple[Array, Array]:
    """Return the largest products of one entry per decreasing sequence of positive numbers.

    Parameters
    ----------
    sequences : d arrays, each decreasing
    count : int
        Maximal number of products.

    Returns
    -------
    products : array of shape (m,), decreasing
    indices : int array of shape (m, d)

    Notes
    -----
    Successors of an index increment one coordinate at or after its last nonzero one, so each index
    has one parent and enters the heap once.

    >>> largest_products([np.array([1.0, 0.5]), np.array([1.0, 0.1])], 3)[1].tolist()
    [[0, 0], [1, 0], [0, 1]]
    """
    logs = [np.log(np.asarray(s)[np.asarray(s) > 0]) for s in sequences]
    start = (0,) * len(logs)
    heap = [(-sum(float(row[0]) for row in logs), start, 0)]
    found: list[tuple[int, ...]] = []
    while heap and len(found) < count:
        cost, index, last = heapq.heappop(heap)
        found.append(index)
        for k in range(last, len(logs)):
            step = index[k] + 1
            if step < len(logs[k]):
                raised = (*index[:k], step, *index[k + 1 :])
                heapq.heappush(heap, (cost + float(logs[k][step - 1] - logs[k][step]), raised, k))
    indices = np.array(found, dtype=np.intp).reshape(len(found), len(logs))
    products = _take(sequences, indices)
    order = np.argsort(-products, kind="stable")  # the heap orders by rounded logarithms
    return products[order], indices[order]


def _take(sequences: Sequence[Array], indices: Array) -> Array:
    chosen = [np.asarray(s)[column] for s, column in zip(sequences, indices.T, strict=True)]
    return np.asarray(np.prod(chosen, axis=0))


@dataclass(frozen=True)
class ProductPairs:
    """Products of the factors' eigenpairs, one index per factor and pair."""

    factors: tuple[Factor, ...]
    indices: Array

    @property
    def eigenvalues(self) -> Array:
        """Products of eigenvalues."""
        return _take([factor.eigenvalues for factor in self.factors], self.indices)

    @property
    def means(self) -> Array:
        """Products of means."""
        return _take([factor.means for factor in self.factors], self.indices)

    def functions(self, X: Array) -> Array:
        """Return products of eigenfunctions, shape (n, m)."""
        values = np.ones((len(X), len(self.indices)))
        for factor, column in zip(self.factors, self.indices.T, strict=True):
            values *= factor.functions(X, int(column.max(initial=0)) + 1)[:, column]
        return values
