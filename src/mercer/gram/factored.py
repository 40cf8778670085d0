"""Factored Gram operators: ``A = ΦΦ*`` with few columns, solved through the small matrix Φ*Φ.

If ``Φ*Φ b = λ b`` with ‖b‖ = 1, then e = Φ b / √λ is a unit eigenvector of A, the projection of any
point is ``φ(x)'b``, and no training point is needed to evaluate it. A solver needs only products
with Φ*Φ and the start vector Φ*√w.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Self

import numpy as np

from mercer.data.points import Points
from mercer.gram.expansion import Expansion
from mercer.gram.gram import EigenProblem, GramOperator
from mercer.utils.eigenpairs import LargestEntries
from mercer.utils.types import Array

__all__ = ["FactoredGram", "SmallProblem"]


class FactoredGram(GramOperator):
    """``A = ΦΦ*``; with ``center`` the (weighted) mean feature is removed from every row of Φ."""

    center: bool
    points: Points

    @property
    @abstractmethod
    def small_start(self) -> Array:
        """``Φ*√w``; 0 if centered."""

    @abstractmethod
    def small_product(self, V: Array) -> Array:
        """Return ``Φ*Φ V``."""

    def small_dense(self) -> Array:
        """Return ``Φ*Φ`` as an array."""
        return self.small_product(np.eye(len(self.small_start)))

    @abstractmethod
    def centered(self) -> FactoredGram:
        """Return the operator with the mean feature removed."""

    @abstractmethod
    def with_points(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points with the same features."""

    @abstractmethod
    def absorb(self, earlier: FactoredGram) -> None:
        """Add an earlier operator's points to the small matrix, as if all were one sample.

        The n × n operator (products, projections of training points) still has its own points only.
        """

    @property
    def small_error(self) -> float:
        """Absolute accuracy of the small matrix, as a bound on the errors of its eigenvalues."""
        return 0.0

    @cached_property
    def potential(self) -> float:
        """``|Φ*√w|² / n²``."""
        return float(self.small_start @ self.small_start) / self.total**2

    def problem(self) -> EigenProblem:
        """Return the eigenproblem of Φ*Φ."""
        return SmallProblem(self)

    def undecided_signs(self, vectors: Array) -> Array:
        """Return the signs of the training projections, which are those of the eigenvectors."""
        expansion = self.expansion(np.ones(vectors.shape[1]), vectors)
        found: LargestEntries = expansion.points.sum_rows(
            partial(_largest_entries, expansion.without_points()), combine=LargestEntries.joined
        )
        return found.signs

    def group_products(self, labels: Array, count: int) -> Array:
        """Return ``⟨s_i, s_j⟩`` from one pass: sums of features over each group."""
        sums = self.points.sum_rows(partial(self._group_sums(), count), self.weights, labels)
        return np.asarray((sums.conj() @ sums.T).real)

    @abstractmethod
    def _group_sums(self) -> Callable[..., Array]:
        """Return ``f(count, points, weights, labels)``: sums of uncentered features, (count, m)."""


def _largest_entries(expansion: Expansion, points: Points) -> LargestEntries:
    return LargestEntries.of(expansion(points))


class SmallProblem(EigenProblem):
    """The eigenproblem of ``Φ*Φ``."""

    def __init__(self, gram: FactoredGram) -> None:
        self.gram = gram
        self.start = gram.small_start
        self.size = len(self.start)
        self.relative_error = 10 * float(np.finfo(np.float64).eps)

    def block_width(self, k: int) -> int:
        """Return a narrow width, because the cost of products is proportional to their columns.

        A block finds eigenvalues of a multiplicity up to its width. Among the first k eigenvalues
        of a Gaussian kernel on a grid, multiplicities are up to ``√(2k)`` in two columns (20 of
        200) and ``(6k)^(2/3) / 2`` in three (55 of 200).
        """
        few = (self.gram.points.dimension or 3) <= 2
        return min(k + 8, max(32, int(3 * k**0.5)) if few else max(64, k // 3))

    def numerical_zero(self, largest: float) -> float:
        """Return the rounding error, or the error of the small matrix if that is larger."""
        return max(super().numerical_zero(largest), self.gram.small_error)

    def product(self, V: Array) -> Array:
        """Return ``Φ*Φ V``."""
        return self.gram.small_product(V)

    def dense(self) -> Array:
        """Return ``Φ*Φ``."""
        return self.gram.small_dense()

    def term_of_mass(self, x: Array) -> Array:
        """Return V for every x; the spectral measure of Φ*√w already includes the eigenvalue."""
        return np.full(np.shape(x), self.gram.potential)

    def overlaps(self, values: Array, products: Array) -> Array:
        """Return the products divided by √λ."""
        positive = values > 0
        return np.where(positive, products / np.sqrt(np.where(positive, values, 1)), 0.0)
