"""An orthonormal basis of the Krylov space of one vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dgemv, dnrm2

from mercer.utils.types import Array

__all__ = ["LanczosBasis"]


class LanczosBasis:
    """An orthonormal Krylov basis from one vector, and the tridiagonal matrix in it.

    Parameters
    ----------
    product : callable
        Product of the matrix with one vector.
    start : array of shape (n,)
    max_steps : int
    relative_error : float
        Accuracy of a product, relative to the largest eigenvalue.

    Attributes
    ----------
    diagonal, off_diagonal : list of float
        Of the tridiagonal matrix; the last off-diagonal entry couples to the next vector.
    ended : bool
        Whether the Krylov space is exhausted, up to rounding error.

    Examples
    --------
    >>> A = np.diag([3.0, 2.0, 1.0])
    >>> basis = LanczosBasis(A.__matmul__, np.ones(3), 3, 1e-15)
    >>> while not basis.ended:
    ...     basis.extend()
    >>> T = np.diag(basis.diagonal) + np.diag(basis.off_diagonal[:-1], 1)
    >>> np.linalg.eigvalsh(T, UPLO="U").round(12)
    array([1., 2., 3.])
    """

    def __init__(
        self,
        product: Callable[[Array], Array],
        start: Array,
        max_steps: int,
        relative_error: float,
    ) -> None:
        self.diagonal: list[float] = []
        self.off_diagonal: list[float] = []
        self.ended = False
        self._product, self._relative_error = product, relative_error
        self._max_steps = min(max_steps, len(start))
        self._rows = np.empty((min(64, self._max_steps), len(start)))
        self._rows[0] = start / dnrm2(start)

    @property
    def steps(self) -> int:
        """Number of products so far."""
        return len(self.diagonal)

    @property
    def rows(self) -> Array:
        """The basis, one vector per row."""
        return self._rows[: self.steps]

    def extend(self) -> None:
        """Add one vector: a product, orthogonalized against all earlier vectors.

        After the three-term recurrence one pass over the basis is enough, unless it removes much
        of the vector; then cancellation matters and a second pass follows (Daniel et al. 1976).
        """
        # All calls use SciPy's BLAS, like the product with a stored K. NumPy may load another copy
        # of the library, whose busy-waiting threads would compete for the cores.
        m = self.steps
        w = np.ascontiguousarray(self._product(self._rows[m]))
        scale = float(dnrm2(w))
        self.diagonal.append(float(ddot(self._rows[m], w)))
        w = daxpy(self._rows[m], w, a=-self.diagonal[m])
        if m > 0:
            w = daxpy(self._rows[m - 1], w, a=-self.off_diagonal[m - 1])
        length, before = float(dnrm2(w)), np.inf
        while length < 0.7 * before and length > 0:
            before = length
            columns = self.rows.T
            w = dgemv(-1.0, columns, dgemv(1.0, columns, w, trans=1), 1.0, w, overwrite_y=1)
            length = float(dnrm2(w))
        self.off_diagonal.append(length)
        largest = max(scale, max(map(abs, self.diagonal)))
        self.ended = length <= 4 * self._relative_error * largest or (
            self.steps == self._rows.shape[1]
        )
        if not self.ended and self.steps < self._max_steps:
            if self.steps == len(self._rows):
                rows = np.empty((min(2 * self.steps, self._max_steps), self._rows.shape[1]))
                rows[: self.steps] = self._rows
                self._rows = rows
            self._rows[self.steps] = w / length
