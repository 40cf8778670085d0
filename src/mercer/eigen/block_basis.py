"""An orthonormal basis with its products, for Rayleigh-Ritz steps with little memory.

Blocks of float32 halve the memory. All sums over rows are in float64, over chunks of rows that
threads share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.utils.pairwise import row_ranges
from mercer.utils.resources import results_in_order, run_each_in_threads
from mercer.utils.types import Array

__all__ = ["BlockBasis", "Ritz", "each_chunk", "orthonormalized", "sum_chunks"]

_CHUNK_ROWS = 2048
_NO_DIRECTION = 1e-10  # length of what is left of a unit vector in the span of a basis
_DEPENDENT = 1e-12  # squared length of a direction that a block already spans
_REPEATED = 1e-6  # squared length of a combination of basis vectors, usually 1, that is dropped


def each_chunk(size: int, work: Callable[[slice], None]) -> None:
    """Call a function with every chunk of rows, in threads."""
    run_each_in_threads(row_ranges(size, _CHUNK_ROWS), work)


def sum_chunks(size: int, term: Callable[[slice], Array]) -> Array:
    """Return the sum of ``term(rows)`` over chunks of rows, computed in threads.

    >>> sum_chunks(5, lambda rows: np.arange(5)[rows].sum())
    array(10)
    """
    return np.asarray(sum(results_in_order(row_ranges(size, _CHUNK_ROWS), term)))


class BlockBasis:
    """Blocks Q, orthonormal up to rounding error of float32, and their products AQ.

    Ritz pairs are computed with the Gram matrix of Q, so that they are as accurate as AQ even if
    Q is stored in float32.

    Parameters
    ----------
    Q, AQ : arrays of shape (n, b)
    unit : array of shape (n,) or None
        A unit vector that A maps to zero. Vectors are used without their component along it, which
        rounding to float32 adds and no correction could remove.
    """

    def __init__(self, Q: Array, AQ: Array, unit: Array | None = None) -> None:
        self.blocks: list[tuple[Array, Array]] = []
        self.unit = unit
        self._along_unit = np.zeros(0)  # components of the stored vectors
        self.append(Q, AQ)

    def append(self, Q: Array, AQ: Array) -> None:
        """Add a block that is orthonormal to the others."""
        self.blocks.append((Q, AQ))
        if self.unit is not None:
            unit = self.unit
            parts = sum_chunks(self.size, lambda rows: unit[rows] @ Q[rows])
            self._along_unit = np.append(self._along_unit, parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision in which vectors are stored."""
        return self.blocks[0][0].dtype

    @property
    def count(self) -> int:
        """Number of vectors."""
        return sum(Q.shape[1] for Q, _ in self.blocks)

    @property
    def first_count(self) -> int:
        """Number of vectors of the first block."""
        return int(self.blocks[0][0].shape[1])

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.blocks[0][0])

    def chunk(self, rows: slice) -> tuple[Array, Array]:
        """Return some rows of Q and AQ in float64."""
        Q, AQ = (np.hstack([pair[i][rows] for pair in self.blocks]) for i in (0, 1))
        Q = Q.astype(np.float64, copy=False)
        if self.unit is not None:
            Q -= self.unit[rows, None] * self._along_unit
        return Q, AQ.astype(np.float64, copy=False)

    def inner(self, V: Array) -> Array:
        """Return ``Q'V``."""
        return sum_chunks(self.size, lambda rows: self.chunk(rows)[0].T @ V[rows])

    def energy(self) -> Array:
        """Return ``Q'AQ``, which is symmetric up to errors of the products."""

        def term(rows: slice) -> Array:
            Q, AQ = self.chunk(rows)
            return np.asarray(Q.T @ AQ)

        return sum_chunks(self.size, term)

    def remove(self, V: Array) -> None:
        """Remove the components of V in the basis, in place."""
        for Q, _ in self.blocks:
            _subtract_projection(V, Q)

    def orthonormal_coefficients(self) -> Array:
        """Return B with orthonormal columns of QB; directions that Q contains twice are dropped."""

        def term(rows: slice) -> Array:
            Q, _ = self.chunk(rows)
            return Q.T @ Q

        lengths, U = np.linalg.eigh(sum_chunks(self.size, term))
        kept = lengths > _REPEATED
        return np.asarray(U[:, kept] / np.sqrt(lengths[kept]))

    def ritz(self) -> Ritz:
        """Return all Ritz pairs."""
        H = self.energy()
        B = self.orthonormal_coefficients()
        values, Z = np.linalg.eigh(B.T @ ((H + H.T) / 2) @ B)
        return Ritz(self, values[::-1], (B @ Z)[:, ::-1])


class Ritz:
    """Ritz pairs of a basis, largest first.

    Attributes
    ----------
    values : array of shape (q,)
    squares : array of shape (q, q)
        ``R'R`` of the residuals.
    residuals : array of shape (q,)
        Their norms.
    """

    def __init__(self, basis: BlockBasis, values: Array, Y: Array) -> None:
        self.basis, self.values, self._Y = basis, values, Y

        def term(rows: slice) -> Array:
            R = self._residuals(rows, Y, values)
            return R.T @ R

        self.squares = sum_chunks(basis.size, term)
        self.residuals = np.sqrt(np.maximum(np.diag(self.squares), 0))

    def vectors(self, chosen: Array, dtype: np.dtype[Any]) -> Array:
        """Return some Ritz vectors."""
        return self._product(0, self._Y[:, chosen], dtype)

    def residual_vectors(self, chosen: Array) -> Array:
        """Return the residuals of some Ritz pairs."""
        Y, values = self._Y[:, chosen], self.values[chosen]
        out = np.empty((self.basis.size, len(chosen)), self.basis.dtype)

        def work(rows: slice) -> None:
            out[rows] = self._residuals(rows, Y, values)

        each_chunk(len(out), work)
        return out

    def _residuals(self, rows: slice, Y: Array, values: Array) -> Array:
        Q, AQ = self.basis.chunk(rows)
        return np.asarray(AQ @ Y - (Q @ Y) * values)

    def restarted(self, chosen: Array) -> Ritz:
        """Return the pairs of a basis of some Ritz vectors."""
        Y = self._Y[:, chosen]
        exact = self.basis.blocks[0][1].dtype
        Q, AQ = self._product(0, Y, exact), self._product(1, Y, exact)
        return BlockBasis(Q, AQ, self.basis.unit).ritz()

    def replace_basis(self, chosen: Array) -> tuple[Array, Array]:
        """Return some Ritz vectors and their products, in the memory of the basis' first block.

        The basis cannot be used afterwards. There may be at most as many as in the first block.
        """
        Y = self._Y[:, chosen]
        Z, AZ = (block[:, : len(chosen)] for block in self.basis.blocks[0])

        def work(rows: slice) -> None:
            Q, AQ = self.basis.chunk(rows)
            Z[rows], AZ[rows] = Q @ Y, AQ @ Y

        each_chunk(len(Z), work)
        return Z, AZ

    def products(self, chosen: Array, C: Array | None = None) -> Array:
        """Return ``A X``, or ``A X C``, for some Ritz vectors X."""
        Y = self._Y[:, chosen]
        return self._product(1, Y if C is None else Y @ C, self.basis.dtype)

    def part_of(self, block: int) -> Array:
        """Return the norm of each Ritz vector's coefficients of one block of the basis."""
        counts = [Q.shape[1] for Q, _ in self.basis.blocks]
        first = sum(counts[:block])
        return np.linalg.norm(self._Y[first : first + counts[block]], axis=0)

    def adjoint(self, V: Array) -> Array:
        """Return ``X'V`` of the Ritz vectors X."""
        return np.asarray(self._Y.T @ self.basis.inner(V))

    def _product(self, which: int, Y: Array, dtype: np.dtype[Any]) -> Array:
        out = np.empty((self.basis.size, Y.shape[1]), dtype)

        def work(rows: slice) -> None:
            out[rows] = self.basis.chunk(rows)[which] @ Y

        each_chunk(len(out), work)
        return out


def orthonormalized(V: Array, basis: BlockBasis | None = None) -> Array:
    """Return an orthonormal basis of V, orthogonal to another basis; V is overwritten.

    Directions that V does not determine up to rounding error are dropped.

    >>> V = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [0.0, 0.0, 1.0]])
    >>> Q = orthonormalized(V)
    >>> bool(np.allclose(Q.T @ Q, np.eye(2)))
    True
    """
    _normalize(V, 0.0)
    for _ in range(3):
        if basis is not None:
            basis.remove(V)
        _normalize(V, _NO_DIRECTION)
        squares, Y = np.linalg.eigh(_gram(V))
        clear = squares > _DEPENDENT * max(len(squares), 1)
        Y = (Y[:, clear] / np.sqrt(squares[clear]))[:, ::-1]
        _rotate(V, Y)
        V = V if clear.all() else np.ascontiguousarray(V[:, : Y.shape[1]])
    return V


def _rotate(V: Array, Y: Array) -> None:
    """Replace the first columns of V by ``V Y``."""

    def work(rows: slice) -> None:
        V[rows, : Y.shape[1]] = V[rows].astype(np.float64, copy=False) @ Y

    each_chunk(len(V), work)


def _subtract_projection(V: Array, Q: Array) -> None:
    """Replace V by ``V - QQ'V``."""
    parts = sum_chunks(len(Q), lambda rows: Q[rows].T.astype(np.float64, copy=False) @ V[rows])

    def work(rows: slice) -> None:
        V[rows] -= Q[rows].astype(np.float64, copy=False) @ parts

    each_chunk(len(V), work)


def _normalize(V: Array, smallest: float) -> None:
    """Scale columns to unit length in place; columns that are not longer than a limit become 0."""
    lengths = np.sqrt(np.diag(_gram(V)))
    longer = lengths > smallest
    scale = np.where(longer, 1 / np.where(longer, lengths, 1), 0).astype(V.dtype)
    V *= scale


def _gram(V: Array) -> Array:
    def term(rows: slice) -> Array:
        part = V[rows].astype(np.float64, copy=False)
        return part.T @ part

    return sum_chunks(len(V), term)
