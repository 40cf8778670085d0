"""All eigenvalues of a symmetric matrix, and some of its eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs

from mercer.maths.types import Array

__all__ = ["Tridiagonalized"]


class Tridiagonalized:
    """A symmetric matrix ``A = Q T Q'``, with eigenpairs of the tridiagonal matrix T.

    The eigenpairs of T take O(n²) operations, and each eigenvector of A takes 2 n² more. If few of
    them are needed, this is up to three times as fast as a full decomposition.

    Parameters
    ----------
    A : array of shape (n, n)
        At least 2 rows; it is overwritten.

    Attributes
    ----------
    values : array of shape (n,)
        Eigenvalues of A and T, smallest first.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> found = Tridiagonalized(A.copy())
    >>> v = found.from_basis(found.vectors(1))
    >>> bool(np.allclose(A @ v, found.values[-1] * v))
    True
    """

    def __init__(self, A: Array) -> None:
        reduce, workspace = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
        size = int(workspace(len(A), lower=1)[0].real)
        # the transpose of a row-major matrix is in the order of LAPACK
        A = A if A.flags.f_contiguous else A.T
        reflectors, diagonal, below, self._scales, info = reduce(
            A, lower=1, lwork=size, overwrite_a=1
        )
        if info:
            raise LinAlgError(f"?sytrd returned {info}.")
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])
        self._matrix = diagonal, below
        self.values = eigvalsh_tridiagonal(diagonal, below, check_finite=False)

    def vectors(self, count: int) -> Array:
        """Return eigenvectors of T for the ``count`` largest eigenvalues, smallest first."""
        n = len(self.values)
        chosen = {"check_finite": False}
        if count < n:  # an index range takes longer than all if it contains most of them
            chosen |= {"select": "i", "select_range": (n - count, n - 1)}
        try:
            return eigh_tridiagonal(*self._matrix, lapack_driver="stemr", **chosen)[1]
        except LinAlgError:  # rare; inverse iteration is slower
            return eigh_tridiagonal(*self._matrix, lapack_driver="stebz", **chosen)[1]

    def from_basis(self, columns: Array) -> Array:
        """Return ``Q @ columns``: eigenvectors of A from those of T."""
        return self._multiplied(columns, "N")

    def to_basis(self, columns: Array) -> Array:
        """Return ``Q' @ columns``."""
        return self._multiplied(columns, "T")

    def _multiplied(self, columns: Array, transposed: str) -> Array:
        # Q is the identity in its first row and column
        (multiply,) = get_lapack_funcs(("ormqr",), (self._reflectors,))
        size = 64 * max(columns.shape[1], 1)  # a block of 64 reflectors, as LAPACK recommends
        out = np.array(columns, self._reflectors.dtype)
        rest, _, info = multiply(
            "L", transposed, self._reflectors, self._scales, np.asfortranarray(out[1:]), size
        )
        if info:
            raise LinAlgError(f"?ormqr returned {info}.")
        out[1:] = rest
        return out
