"""Centering in feature space by the projection ``P = I - u u'``."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer.utils.types import Array

__all__ = ["double_center", "remove_direction"]


def remove_direction(V: Array, unit: Array) -> Array:
    """Return ``(I - u u') V`` for a unit vector u."""
    return V - unit[:, None] * (unit @ V)[None, :]


def double_center(A: Array, unit: Array) -> Array:
    """Replace a symmetric matrix A by ``(I - u u') A (I - u u')``, in place.

    If u is the constant unit vector, the result is the centered Gram matrix of kernel PCA. With
    ``u = √w / √Σw`` it is centered by the weighted mean.
    """
    product = A @ unit
    # A - P A P = u h' + h u' with h = A u - ½ (u'A u) u, which needs no second n × n matrix.
    half = product - 0.5 * (unit @ product) * unit
    factors = np.stack([unit, half], axis=1)
    gemm = get_blas_funcs("gemm", (A,))
    # A and its transpose are equal; BLAS writes in place to columns that are contiguous
    columns = A.T if A.flags.c_contiguous else A
    updated = gemm(-1.0, factors, factors[:, ::-1], 1.0, columns, trans_b=1, overwrite_c=1)
    if not np.may_share_memory(updated, A):
        A[...] = updated
    return A
