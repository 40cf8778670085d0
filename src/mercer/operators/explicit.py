"""Kernels with exact finite features, such as the linear one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators.base import GramOperator
from mercer.operators.expansion import Expansion, FeatureExpansion
from mercer.operators.factored import FactoredGram
from mercer.points import Points

__all__ = ["ExplicitGram"]

_ROWS = 4096


class ExplicitGram(FactoredGram):
    """Φ = kernel.features(X), made in chunks and never held for all points.

    Parameters
    ----------
    kernel : Kernel
        One whose ``features`` are not None.
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

    def _weighted_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Rows of Φ: ``√w (φ(x) - mean)``."""
        mean = 0.0 if self._mean is None else self._mean
        for rows, x in self.points.chunks(_ROWS):
            yield rows, self.start[rows, None] * (self._features(x) - mean)

    def _matmat(self, V: Array) -> Array:
        small = sum(part.T @ V[rows] for rows, part in self._weighted_chunks())
        return np.concatenate([part @ small for _, part in self._weighted_chunks()])

    @cached_property
    def _small_matrix(self) -> Array:
        return np.asarray(sum(part.T @ part for _, part in self._weighted_chunks()))

    @cached_property
    def small_start(self) -> Array:
        """Summed up in one pass."""
        parts = (self.start[rows] @ part for rows, part in self._weighted_chunks())
        start = np.asarray(sum(parts))
        return np.zeros_like(start) if self.center else start

    def small_product(self, V: Array) -> Array:
        """Φ*Φ is held."""
        return np.asarray(self._small_matrix @ V)

    def diagonal(self) -> Array:
        """Squared lengths of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self._weighted_chunks()]
        return np.concatenate(parts)

    def centered(self) -> GramOperator:
        """Return the operator with the mean feature removed."""
        return ExplicitGram(self.kernel, self.points, self.weights, center=True)

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """``φ(x)'b``."""
        return FeatureExpansion(self.kernel, self.points, vectors, self._mean)

    @property
    def description(self) -> str:
        """Exact features."""
        return f"{len(self.small_start)} exact features{', centred' if self.center else ''}"
