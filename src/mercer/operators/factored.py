"""Factored Gram operators: ``A = ΦΦ*`` with few columns, solved on the small side.

If ``Φ*Φ b = λ b`` with ‖b‖ = 1, then e = Φ b / √λ is a unit eigenvector of A, the projection of any
point is ``φ(x)'b``, and no training point is needed to evaluate it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer.kernels import Kernel
from mercer.maths.eigen import largest_entry_signs
from mercer.maths.types import Array
from mercer.operators.base import EigenProblem, GramOperator
from mercer.operators.expansion import Expansion, FeatureExpansion
from mercer.points import Points

__all__ = ["ExplicitGram", "SmallSide"]

_ROWS = 4096


class ExplicitGram(GramOperator):
    """A kernel with exact finite features, such as the linear one: Φ = kernel.features(X).

    Features are made in chunks and never held for all points; Φ*Φ is summed up in one pass.

    Parameters
    ----------
    kernel : Kernel
    points : Points
    weights : array or None
    center : bool
        Subtract the (weighted) mean feature.
    """

    def __init__(
        self, kernel: Kernel, points: Points, weights: Array | None = None, center: bool = False
    ) -> None:
        super().__init__(points.n, points.dtype, weights)
        self.kernel = kernel
        self.points = points
        self.center = center

    def _features(self, chunk: Array) -> Array:
        features = self.kernel.features(chunk)
        assert features is not None, f"{self.kernel!r} has no features"
        return features.astype(np.float64, copy=False)

    @cached_property
    def _mean(self) -> Array | None:
        if not self.center:
            return None
        weights = self.start**2
        parts = (weights[rows] @ self._features(x) for rows, x in self.points.chunks(_ROWS))
        return np.asarray(sum(parts) / self.total)

    def _weighted_chunks(self) -> list[tuple[slice, Array]]:
        """Rows of Φ: ``√w (φ(x) - mean)``."""
        mean = 0.0 if self._mean is None else self._mean
        return (  # type: ignore[return-value]
            (rows, self.start[rows, None] * (self._features(x) - mean))
            for rows, x in self.points.chunks(_ROWS)
        )

    def _matmat(self, V: Array) -> Array:
        small = sum(part.T @ V[rows] for rows, part in self._weighted_chunks())
        return np.concatenate([part @ small for _, part in self._weighted_chunks()])

    def _matvec(self, v: Array) -> Array:
        return self._matmat(v.reshape(-1, 1))

    @cached_property
    def small_matrix(self) -> Array:
        """``Φ*Φ``."""
        return np.asarray(sum(part.T @ part for _, part in self._weighted_chunks()))

    @cached_property
    def small_start(self) -> Array:
        """``Φ*√w``."""
        return np.asarray(sum(self.start[rows] @ part for rows, part in self._weighted_chunks()))

    def diagonal(self) -> Array:
        """Squared lengths of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self._weighted_chunks()]
        return np.concatenate(parts)

    @cached_property
    def potential(self) -> float:
        """``|Φ*√w|² / n²``."""
        return float(self.small_start @ self.small_start) / self.total**2

    def problem(self) -> EigenProblem:
        """Return the small side."""
        return SmallSide(self)

    def centered(self) -> GramOperator:
        """Return the operator with the mean feature removed."""
        return ExplicitGram(self.kernel, self.points, self.weights, center=True)

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """``φ(x)'b``."""
        return FeatureExpansion(self.kernel, self.points, vectors, self._mean)

    def undecided_signs(self, vectors: Array) -> Array:
        """From the projections of the training points, which have the eigenvectors' signs."""
        expansion = FeatureExpansion(self.kernel, self.points, vectors, self._mean)
        return largest_entry_signs(expansion(self.points))

    @property
    def description(self) -> str:
        """Exact features."""
        centred = ", centred" if self.center else ""
        return f"{len(self.small_start)} exact features{centred}"


class SmallSide(EigenProblem):
    """``Φ*Φ`` of a factored Gram operator."""

    def __init__(self, gram: ExplicitGram) -> None:
        self.gram = gram
        self.start = gram.small_start
        self.size = len(self.start)
        self.relative_error = 10 * float(np.finfo(np.float64).eps)

    def product(self, V: Array) -> Array:
        """Multiply with Φ*Φ."""
        return np.asarray(self.gram.small_matrix @ V)

    def dense(self) -> Array:
        """Φ*Φ itself."""
        return self.gram.small_matrix.copy()

    def term_of_mass(self, x: Array) -> Array:
        """V, whatever x: the measure of Φ*√w already carries the eigenvalue."""
        return np.full(np.shape(x), self.gram.potential)

    def overlaps(self, values: Array, products: Array) -> Array:
        """Divide the factor √λ out."""
        positive = values > 0
        return np.where(positive, products / np.sqrt(np.where(positive, values, 1)), 0.0)
