"""Factored Gram operators: ``A = ΦΦ*`` with few columns, solved on the small side.

If ``Φ*Φ b = λ b`` with ‖b‖ = 1, then e = Φ b / √λ is a unit eigenvector of A, the projection of any
point is ``φ(x)'b``, and no training point is needed to evaluate it. Everything a solver needs is
the product with Φ*Φ and the start vector Φ*√w.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Self

import numpy as np

from mercer.data import Points
from mercer.maths.eigen import LargestEntries
from mercer.maths.types import Array
from mercer.operators.base import EigenProblem, GramOperator
from mercer.operators.expansion import Expansion

__all__ = ["FactoredGram", "SmallSide"]


class FactoredGram(GramOperator):
    """``A = ΦΦ*``; with ``center`` the (weighted) mean feature is removed from every row of Φ."""

    center: bool
    points: Points

    @property
    @abstractmethod
    def small_start(self) -> Array:
        """``Φ*√w``: 0 where centred."""

    @abstractmethod
    def small_product(self, V: Array) -> Array:
        """``Φ*Φ V``."""

    def small_dense(self) -> Array:
        """``Φ*Φ`` as an array."""
        return self.small_product(np.eye(len(self.small_start)))

    @abstractmethod
    def another(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points with the same features."""

    @abstractmethod
    def absorb(self, earlier: FactoredGram) -> None:
        """Let the small side count an earlier operator's points too, as if all were one sample.

        The large side (products, projections of training points) stays that of its own points.
        """

    @property
    def small_error(self) -> float:
        """Absolute accuracy of the small matrix, as a bound on its eigenvalues' errors."""
        return 0.0

    @cached_property
    def potential(self) -> float:
        """``|Φ*√w|² / n²``."""
        return float(self.small_start @ self.small_start) / self.total**2

    def problem(self) -> EigenProblem:
        """Return the small side."""
        return SmallSide(self)

    def undecided_signs(self, vectors: Array) -> Array:
        """From the projections of the training points, which have the eigenvectors' signs."""
        expansion = self.expansion(np.ones(vectors.shape[1]), vectors)
        found: LargestEntries = expansion.points.sum_rows(
            partial(_largest_entries, expansion.without_points()), combine=LargestEntries.joined
        )
        return found.signs

    def group_products(self, labels: Array, count: int) -> Array:
        """One pass: sums of features over each group."""
        sums = self.points.sum_rows(partial(self._group_sums(), count), self.weights, labels)
        return np.asarray((sums.conj() @ sums.T).real)

    @abstractmethod
    def _group_sums(self) -> Callable[..., Array]:
        """``f(count, points, weights, labels)``: sums of uncentred features, (count, m)."""

    def _matvec(self, v: Array) -> Array:
        return self._matmat(v.reshape(-1, 1))


def _largest_entries(expansion: Expansion, points: Points) -> LargestEntries:
    return LargestEntries.of(expansion(points))


class SmallSide(EigenProblem):
    """``Φ*Φ`` of a factored Gram operator."""

    def __init__(self, gram: FactoredGram) -> None:
        self.gram = gram
        self.start = gram.small_start
        self.size = len(self.start)
        self.relative_error = 10 * float(np.finfo(np.float64).eps)

    def zero(self, largest: float) -> float:
        """Rounding, or the accuracy of the factor where that is worse."""
        return max(super().zero(largest), self.gram.small_error)

    def product(self, V: Array) -> Array:
        """Multiply with Φ*Φ."""
        return self.gram.small_product(V)

    def dense(self) -> Array:
        """Φ*Φ itself."""
        return self.gram.small_dense()

    def term_of_mass(self, x: Array) -> Array:
        """V, whatever x: the measure of Φ*√w already carries the eigenvalue."""
        return np.full(np.shape(x), self.gram.potential)

    def overlaps(self, values: Array, products: Array) -> Array:
        """Divide the factor √λ out."""
        positive = values > 0
        return np.where(positive, products / np.sqrt(np.where(positive, values, 1)), 0.0)
