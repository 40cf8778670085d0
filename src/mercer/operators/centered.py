"""Centring as a wrapper: ``P A P`` with P the projection off the vector of ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.maths.centering import double_center, remove_direction
from mercer.maths.types import Array
from mercer.operators.base import MultiplyingGram
from mercer.operators.expansion import Expansion, KernelExpansion

__all__ = ["CenteredGram"]


class CenteredGram(MultiplyingGram):
    """The Gram operator of points with their (weighted) mean in feature space removed."""

    def __init__(self, base: MultiplyingGram) -> None:
        super().__init__(base.size, base.precision, base.weights)
        self.base = base

    def _matmat(self, V: Array) -> Array:
        unit = self.unit
        return remove_direction(self.base.product(remove_direction(V, unit)), unit)

    def _matvec(self, v: Array) -> Array:
        return self._matmat(v.reshape(-1, 1))

    def zero(self, largest: float) -> float:
        """Rounding beside the largest eigenvalue *before* centring, which may be far larger."""
        return super().zero(max(abs(largest), abs(float(self.unit @ self._mean))))

    def diagonal(self) -> Array:
        """``a_jj - 2 u_j (A u)_j + (u'A u) u_j²``."""
        unit, mean = self.unit, self._mean
        return np.asarray(self.base.diagonal() - 2 * unit * mean + (unit @ mean) * unit**2)

    def dense(self) -> Array:
        """Centre a copy of the stored matrix."""
        A = self.base.dense()
        return double_center(A, self.unit.astype(A.dtype))

    def overlaps(self, values: Array, products: Array) -> Array:
        """None: whatever the products show is rounding."""
        return np.zeros(len(values))

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """The base's, less its value at the mean of feature space.

        Eigenvectors of the centred operator have no overlap with the vector of ones, so
        ``Σ_j c_j k̃(x, x_j) = Σ_j c_j k(x, x_j) - const``.
        """
        plain = self.base.expansion(values, remove_direction(vectors, self.unit))
        assert isinstance(plain, KernelExpansion)
        root_n = np.sqrt(self.total)
        offset = self._mean @ vectors / root_n / np.sqrt(values)
        diagonal = self.diagonal() / self.start**2
        return replace(plain, offset=offset, diagonal=diagonal, potential=self.base.potential)

    @property
    def _mean(self) -> Array:
        """``A u``, from which all centring follows."""
        if not hasattr(self, "_product_with_unit"):
            self._product_with_unit = self.base.product(self.unit[:, None])[:, 0]
        return self._product_with_unit

    @property
    def description(self) -> str:
        """As the base, centred."""
        return f"{self.base.description}, centred"
