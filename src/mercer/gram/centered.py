"""Centering: ``P A P`` with P the projection orthogonal to the vector of ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.gram.expansion import Expansion, KernelExpansion
from mercer.gram.factored import FactoredGram
from mercer.gram.gram import DirectGram, GramOperator
from mercer.utils.centering import double_center, remove_direction
from mercer.utils.types import Array

__all__ = ["CenteredGram", "center_gram"]


def center_gram(gram: GramOperator) -> GramOperator:
    """Return the operator with the (weighted) mean in feature space removed."""
    if isinstance(gram, FactoredGram):
        return gram.centered()
    assert isinstance(gram, DirectGram)
    return CenteredGram(gram)


class CenteredGram(DirectGram):
    """A direct Gram operator with the (weighted) mean in feature space removed."""

    def __init__(self, base: DirectGram) -> None:
        super().__init__(base.size, base.precision, base.weights)
        self.base = base

    @property
    def is_centered(self) -> bool:
        """True."""
        return True

    def product(self, V: Array) -> Array:
        """Return ``P A P V``."""
        unit = self.unit
        return remove_direction(self.base.product(remove_direction(V, unit)), unit)

    @property
    def _mean(self) -> Array:
        """``A u``."""
        return self.base.start_product / np.sqrt(self.total)

    @property
    def trace(self) -> float:
        """``tr A - u'A u``."""
        return self.base.trace - self.total * self.base.potential

    @property
    def uncentered_norm(self) -> float:
        """``u'A u``, which may be far larger than the largest eigenvalue after centering."""
        return abs(self.total * self.base.potential)

    def diagonal(self) -> Array:
        """Return ``a_jj - 2 u_j (A u)_j + (u'A u) u_j²``."""
        unit, mean = self.unit, self._mean
        return np.asarray(self.base.diagonal() - 2 * unit * mean + (unit @ mean) * unit**2)

    def dense(self) -> Array:
        """Return a centered copy of the base's matrix."""
        A = self.base.dense()
        return double_center(A, self.unit.astype(A.dtype))

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the base's expansion minus its value at the mean in feature space.

        Eigenvectors of the centered operator are orthogonal to the vector of ones, so
        ``Σ_j c_j k̃(x, x_j) = Σ_j c_j k(x, x_j) - const``.
        """
        # rounding errors mix the vector of ones into eigenvectors of small eigenvalues
        vectors = remove_direction(vectors, self.unit)
        plain = self.base.expansion(values, vectors)
        assert isinstance(plain, KernelExpansion)
        root_n = np.sqrt(self.total)
        offset = self._mean @ vectors / root_n / np.sqrt(values)
        diagonal = self.diagonal() / self.start**2
        return replace(plain, offset=offset, diagonal=diagonal, potential=self.base.potential)

    @property
    def description(self) -> str:
        """Description of the base, followed by "centered"."""
        return f"{self.base.description}, centered"
