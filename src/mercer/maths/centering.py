"""Removing the mean in feature space, as a projection: ``P A P`` with ``P = I - u u'``."""

from __future__ import annotations

from mercer.maths.types import Array

__all__ = ["double_center", "remove_direction"]


def remove_direction(V: Array, unit: Array) -> Array:
    """``(I - u u') V`` for a unit vector u."""
    return V - unit[:, None] * (unit @ V)[None, :]


def double_center(A: Array, unit: Array) -> Array:
    """``(I - u u') A (I - u u')`` for symmetric A, in place and without a second matrix.

    With u the constant unit vector this is the centred Gram matrix of kernel PCA; with
    ``u = √w / √Σw`` it is the weighted one.
    """
    product = A @ unit
    # u (A u - ½ (u'A u) u)' + its transpose is all that must go
    half = product - 0.5 * (unit @ product) * unit
    A -= unit[:, None] * half[None, :]
    A -= half[:, None] * unit[None, :]
    return A
