"""Leading eigenpairs of a stored matrix by block Krylov iteration with its shifted inverse.

Eigenvalues close to each other and to the upper end of the spectrum become well separated: λ is
mapped to ``1 / (1 + s - λ)``. One Cholesky factorization, n³/3 multiplications, replaces the many
products that a nearly disconnected graph needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.eigen.block_krylov import KrylovResult, leading_eigenpairs
from mercer.utils.types import Array

__all__ = ["inverse_eigenpairs"]

# Small enough to separate eigenvalues, large enough for accurate solutions: the shifted matrix has
# the condition number 2e4. Residuals are relative to the largest eigenvalue of the inverse.
_SHIFT = 1e-4
_TOLERANCE = 1e-10


def inverse_eigenpairs(
    matrix: Array, k: int, *, random_state: int | None = 0, max_passes: int = 300
) -> KrylovResult:
    """Find the k largest eigenpairs of a symmetric matrix with all eigenvalues at most 1.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Overwritten.
    k : int
    random_state : int or None
        Seed of the start block.
    max_passes : int
        Largest number of products of a block with the inverse.

    Returns
    -------
    KrylovResult
        Not converged, without any pairs, if an eigenvalue exceeds 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.eigen.shift_invert import inverse_eigenpairs
    >>> values = np.r_[1 - 1e-6, 1 - 2e-6, np.linspace(-1, 0.9, 98)]
    >>> (1 - inverse_eigenpairs(np.diag(values), 2).values).round(8)
    array([1.e-06, 2.e-06])
    """
    n = len(matrix)
    shifted: Any = np.asarray(matrix, dtype=np.float64)
    np.negative(shifted, out=shifted)
    shifted[np.diag_indices(n)] += 1 + _SHIFT
    try:  # the transpose, which is equal, has the memory order of LAPACK
        factor = cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return KrylovResult(np.empty(0), np.empty((n, 0)), False, 0)

    def product(V: Array) -> Array:
        return np.asarray(cho_solve(factor, V, check_finite=False))

    found = leading_eigenpairs(
        product, n, k, tolerance=_TOLERANCE, random_state=random_state, max_passes=max_passes
    )
    return found._replace(values=1 + _SHIFT - 1 / found.values)
