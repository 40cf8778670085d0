"""Centering in feature space by the projection ``P = I - u u'``."""

from __future__ import annotations

from mercer.maths.types import Array

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
    A -= unit[:, None] * half[None, :]
    A -= half[:, None] * unit[None, :]
    return A
