"""An orthonormal basis with its products, for Rayleigh-Ritz steps with little memory.

Blocks of float32 halve the memory. All sums over rows are in float64, over chunks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.maths.pairwise import row_ranges
from mercer.maths.types import Array

__all__ = ["BlockBasis", "Ritz", "orthonormalized"]

_CHUNK_ROWS = 4096
_NO_DIRECTION = 1e-10  # length of what is left of a unit vector in the span of a basis
_DEPENDENT = 1e-12  # squared length of a direction that a block already spans
_REPEATED = 1e-6  # squared length of a combination of basis vectors, usually 1, that is dropped


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
            ranges = row_ranges(self.size, _CHUNK_ROWS)
            parts = np.sum([self.unit[rows] @ Q[rows] for rows in ranges], axis=0)
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

    def chunks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows of Q and AQ in float64."""
        for rows in row_ranges(self.size, _CHUNK_ROWS):
            Q, AQ = (np.hstack([pair[i][rows] for pair in self.blocks]) for i in (0, 1))
            Q = Q.astype(np.float64, copy=False)
            if self.unit is not None:
                Q -= self.unit[rows, None] * self._along_unit
            yield rows, Q, AQ.astype(np.float64, copy=False)

    def remove(self, V: Array) -> None:
        """Remove the components of V in the basis, in place."""
        for Q, _ in self.blocks:
            parts = np.zeros((Q.shape[1], V.shape[1]))
            for rows in row_ranges(len(Q), _CHUNK_ROWS):
                parts += Q[rows].T.astype(np.float64, copy=False) @ V[rows]
            for rows in row_ranges(len(Q), _CHUNK_ROWS):
                V[rows] -= Q[rows].astype(np.float64, copy=False) @ parts

    def orthonormal_coefficients(self) -> Array:
        """Return B with orthonormal columns of QB; directions that Q contains twice are dropped."""
        S = np.zeros((self.count, self.count))
        for _, Q, _ in self.chunks():
            S += Q.T @ Q
        lengths, U = np.linalg.eigh(S)
        kept = lengths > _REPEATED
        return np.asarray(U[:, kept] / np.sqrt(lengths[kept]))

    def ritz(self) -> Ritz:
        """Return all Ritz pairs."""
        H = np.zeros((self.count, self.count))
        for _, Q, AQ in self.chunks():
            H += Q.T @ AQ
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
        self.squares = np.zeros((len(values), len(values)))
        for _, Q, AQ in basis.chunks():
            R = AQ @ Y - (Q @ Y) * values
            self.squares += R.T @ R
        self.residuals = np.sqrt(np.maximum(np.diag(self.squares), 0))

    def vectors(self, chosen: Array, dtype: np.dtype[Any]) -> Array:
        """Return some Ritz vectors."""
        return self._product(0, self._Y[:, chosen], dtype)

    def residual_vectors(self, chosen: Array) -> Array:
        """Return the residuals of some Ritz pairs."""
        Y, values = self._Y[:, chosen], self.values[chosen]
        out = np.empty((self.basis.size, len(chosen)), self.basis.dtype)
        for rows, Q, AQ in self.basis.chunks():
            out[rows] = AQ @ Y - (Q @ Y) * values
        return out

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
        for rows, Q, AQ in self.basis.chunks():
            Z[rows], AZ[rows] = Q @ Y, AQ @ Y
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
        return np.asarray(self._Y.T @ sum(Q.T @ V[rows] for rows, Q, _ in self.basis.chunks()))

    def _product(self, which: int, Y: Array, dtype: np.dtype[Any]) -> Array:
        out = np.empty((self.basis.size, Y.shape[1]), dtype)
        for rows, *pair in self.basis.chunks():
            out[rows] = pair[which] @ Y
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
        for rows in row_ranges(len(V), _CHUNK_ROWS):
            V[rows, : Y.shape[1]] = V[rows].astype(np.float64, copy=False) @ Y
        V = V if clear.all() else np.ascontiguousarray(V[:, : Y.shape[1]])
    return V


def _normalize(V: Array, smallest: float) -> None:
    """Scale columns to unit length in place; columns that are not longer than a limit become 0."""
    lengths = np.sqrt(np.diag(_gram(V)))
    longer = lengths > smallest
    scale = np.where(longer, 1 / np.where(longer, lengths, 1), 0).astype(V.dtype)
    V *= scale


def _gram(V: Array) -> Array:
    total = np.zeros((V.shape[1], V.shape[1]))
    for rows in row_ranges(len(V), _CHUNK_ROWS):
        part = V[rows].astype(np.float64, copy=False)
        total += part.T @ part
    return total
