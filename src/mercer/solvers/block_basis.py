"""An orthonormal basis with its products, for Rayleigh-Ritz steps with little memory.

Blocks of float32 halve the memory. All sums over rows are in float64, over chunks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.maths.pairwise import row_ranges
from mercer.maths.types import Array

__all__ = ["BlockBasis", "Ritz", "orthonormalized"]

_CHUNK_ROWS = 4096
_NO_DIRECTION = 1e-10  # length of what is left of a unit vector in the span of a basis
_DEPENDENT = 1e-12  # squared length of a direction that a block already spans


class BlockBasis:
    """Orthonormal blocks Q and their products AQ.

    Parameters
    ----------
    Q, AQ : arrays of shape (n, b)
    single : bool
        Whether to store float32.
    """

    def __init__(self, Q: Array, AQ: Array, single: bool) -> None:
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.blocks: list[tuple[Array, Array]] = []
        self.append(Q, AQ)

    def append(self, Q: Array, AQ: Array) -> None:
        """Add a block that is orthonormal to the others."""
        self.blocks.append((Q.astype(self.dtype, copy=False), AQ.astype(self.dtype, copy=False)))

    @property
    def count(self) -> int:
        """Number of vectors."""
        return sum(Q.shape[1] for Q, _ in self.blocks)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.blocks[0][0])

    def chunks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows of Q and AQ in float64."""
        for rows in row_ranges(self.size, _CHUNK_ROWS):
            Q, AQ = (np.hstack([pair[i][rows] for pair in self.blocks]) for i in (0, 1))
            yield rows, Q.astype(np.float64, copy=False), AQ.astype(np.float64, copy=False)

    def remove(self, V: Array) -> None:
        """Remove the components of V in the basis, in place."""
        for Q, _ in self.blocks:
            parts = np.zeros((Q.shape[1], V.shape[1]))
            for rows in row_ranges(len(Q), _CHUNK_ROWS):
                parts += Q[rows].T.astype(np.float64, copy=False) @ V[rows]
            for rows in row_ranges(len(Q), _CHUNK_ROWS):
                V[rows] -= Q[rows].astype(np.float64, copy=False) @ parts

    def ritz(self) -> Ritz:
        """Return all Ritz pairs."""
        H = np.zeros((self.count, self.count))
        for _, Q, AQ in self.chunks():
            H += Q.T @ AQ
        values, Y = np.linalg.eigh((H + H.T) / 2)
        return Ritz(self, values[::-1], Y[:, ::-1])


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

    def combined(self, v: Array) -> Array:
        """Return ``v'X`` of the Ritz vectors X."""
        return np.asarray(sum(v[rows] @ Q for rows, Q, _ in self.basis.chunks()) @ self._Y)

    def vectors(self, chosen: Array) -> Array:
        """Return some Ritz vectors."""
        return self._product(0, self._Y[:, chosen])

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
        single = self.basis.dtype == np.float32
        return BlockBasis(self._product(0, Y), self._product(1, Y), single).ritz()

    def _product(self, which: int, Y: Array) -> Array:
        out = np.empty((self.basis.size, Y.shape[1]))
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
