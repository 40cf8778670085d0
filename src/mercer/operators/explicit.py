"""Gram operators from features that can be written down: exact ones, or those of landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mercer.maths.types import Array
from mercer.operators.base import GramOperator
from mercer.operators.expansion import Expansion, FeatureExpansion
from mercer.operators.factored import FactoredGram
from mercer.operators.features import FeatureMap, LandmarkFeatures
from mercer.points import Points

__all__ = ["ExplicitGram", "NystromGram"]

_ROWS = 4096


class ExplicitGram(FactoredGram):
    """Rows of Φ are ``√w φ(x)``, made in chunks and never held for all points.

    Parameters
    ----------
    features : FeatureMap
    points : Points
    weights : array or None
    center : bool
        Subtract the (weighted) mean feature.
    """

    def __init__(
        self,
        features: FeatureMap,
        points: Points,
        weights: Array | None = None,
        center: bool = False,
    ) -> None:
        super().__init__(points.n, points.dtype, weights)
        self.features = features
        self.kernel = features.kernel
        self.points = points
        self.center = center

    @cached_property
    def _mean(self) -> Array | None:
        if not self.center:
            return None
        weights = self.start**2
        parts = (weights[rows] @ self.features(x) for rows, x in self.points.chunks(_ROWS))
        return np.asarray(sum(parts) / self.total)

    def _weighted_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Rows of Φ: ``√w (φ(x) - mean)``."""
        for rows, x in self.points.chunks(_ROWS):
            part = self.features(x)
            if self._mean is not None:
                part = part - self._mean.astype(part.dtype)
            if self.weights is not None:
                part = part * self.start[rows, None].astype(part.dtype)
            yield rows, part

    def _matmat(self, V: Array) -> Array:
        small = sum(part.T @ V[rows] for rows, part in self._weighted_chunks())
        return np.concatenate([part @ small for _, part in self._weighted_chunks()])

    @cached_property
    def _small(self) -> tuple[Array, Array]:
        """``Φ*Φ`` and ``Φ*√w``, in one pass over the points."""
        matrix: Array | float = 0.0
        start: Array | float = 0.0
        for rows, part in self._weighted_chunks():
            matrix = matrix + (part.T @ part).astype(np.float64)
            start = start + self.start[rows] @ part
        start = np.asarray(start, dtype=np.float64)
        return np.asarray(matrix), np.zeros_like(start) if self.center else start

    @property
    def small_start(self) -> Array:
        """Summed up."""
        return self._small[1]

    def small_product(self, V: Array) -> Array:
        """Φ*Φ is held."""
        return np.asarray(self._small[0] @ V)

    def small_dense(self) -> Array:
        """Φ*Φ itself."""
        return self._small[0].copy()

    def diagonal(self) -> Array:
        """Squared lengths of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self._weighted_chunks()]
        return np.concatenate(parts).astype(np.float64)

    @cached_property
    def trace(self) -> float:
        """Trace of Φ*Φ, which is that of ΦΦ*."""
        return float(self._small[0].trace())

    def centered(self) -> GramOperator:
        """Return the operator with the mean feature removed."""
        return type(self)(self.features, self.points, self.weights, center=True)

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """``φ(x)'b``."""
        return FeatureExpansion(self.features, self.points, vectors, self._mean)

    @property
    def description(self) -> str:
        """How many features."""
        return f"{len(self.small_start)} exact features{', centred' if self.center else ''}"


class NystromGram(ExplicitGram):
    """Features of landmarks: an approximation from below, whose error is known exactly.

    ``K - ΦΦ*`` is positive semi-definite, so its norm is at most its trace, which is reported.
    """

    features: LandmarkFeatures

    @cached_property
    def residual_trace(self) -> float:
        """``tr(A - ΦΦ*)``, to rounding."""
        exact = self.kernel.diagonal(self.points.data).astype(np.float64)
        whole = float(exact.sum() if self.weights is None else exact @ self.weights)
        if self.center:
            plain = NystromGram(self.features, self.points, self.weights)
            return plain.residual_trace
        return max(whole - float(self._small[0].trace()), 0.0)

    @property
    def error_bound(self) -> float:
        """The residual trace: it bounds the error of every eigenvalue, and n times that of V."""
        return self.residual_trace

    @property
    def description(self) -> str:
        """How many landmarks."""
        kept = self.features.landmarks.n
        return f"{kept} landmarks{', centred' if self.center else ''}"
