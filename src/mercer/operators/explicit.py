"""Gram operators from features that can be written down: exact ones, or those of landmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Self

import numpy as np

from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.moments import Moments
from mercer.maths.types import Array
from mercer.operators.base import GramOperator
from mercer.operators.expansion import Expansion, FeatureExpansion
from mercer.operators.factored import FactoredGram
from mercer.operators.features import FeatureMap, LandmarkFeatures

__all__ = ["ExplicitGram", "NystromGram"]

_ROWS = 8192


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
        super().__init__(points.n, points.dtype, weights, points.total(weights))
        self.features = features
        self.kernel = features.kernel
        self.points = points
        self.center = center

    @cached_property
    def moments(self) -> Moments:
        """Mean and scatter of the features: all that the small side knows of the points."""
        sums = self.points.sum_rows(self.features.raw_moments, self.weights)
        return self.features.finished(sums)

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments."""
        assert isinstance(earlier, ExplicitGram)
        self.moments = earlier.moments + self.moments
        self.total = self.moments.total

    def another(self, points: Points, weights: Array | None) -> Self:
        """Share the feature map."""
        return type(self)(self.features, points, weights)

    def centered(self) -> GramOperator:
        """Return the operator with the mean feature removed; the moments are shared."""
        other = type(self)(self.features, self.points, self.weights, center=True)
        other.moments, other.total = self.moments, self.total
        return other

    @property
    def _mean(self) -> Array | None:
        return self.moments.mean if self.center else None

    def _weighted_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Rows of Φ: ``√w (φ(x) - mean)``."""
        for rows, x in self.points.chunks(_ROWS):
            part = self.features(x).astype(np.float64, copy=False)
            part = part if self._mean is None else part - self._mean
            yield rows, part * self.start[rows, None]

    def _adjoint(self, V: Array) -> Array:
        """``Φ*V``."""
        return np.asarray(sum(part.T @ V[rows] for rows, part in self._weighted_chunks()))

    def _group_sums(self) -> Callable[..., Array]:
        return partial(_feature_sums, self.features)

    def quadratic(self, V: Array) -> Array:
        """``|Φ*V|²``: one pass over the points."""
        small = self._adjoint(V)
        return np.asarray(small.T @ small)

    def _matmat(self, V: Array) -> Array:
        small = self._adjoint(V)
        return np.concatenate([part @ small for _, part in self._weighted_chunks()])

    @cached_property
    def _small_matrix(self) -> Array:
        return self.moments.scatter if self.center else self.moments.about_zero

    @property
    def small_start(self) -> Array:
        """The mean feature, n times; 0 where it has been removed."""
        return (0.0 if self.center else self.moments.total) * self.moments.mean

    def small_product(self, V: Array) -> Array:
        """Φ*Φ is held."""
        return np.asarray(self._small_matrix @ V)

    def small_dense(self) -> Array:
        """Φ*Φ itself."""
        return self._small_matrix.copy()

    def diagonal(self) -> Array:
        """Squared lengths of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self._weighted_chunks()]
        return np.concatenate(parts)

    @cached_property
    def trace(self) -> float:
        """Trace of Φ*Φ, which is that of ΦΦ*."""
        return float(self._small_matrix.trace())

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """``φ(x)'b``."""
        return FeatureExpansion(self.features, self.points, vectors, self._mean)

    @property
    def description(self) -> str:
        """How many features."""
        return f"{len(self.moments.mean)} exact features{', centred' if self.center else ''}"


def _feature_sums(
    features: FeatureMap, count: int, points: Points, weights: Array | None, labels: Array
) -> Array:
    members = (labels == np.arange(count)[:, None]).astype(np.float64)
    members = members if weights is None else members * weights
    parts = [members[:, rows] @ features(x) for rows, x in points.chunks(_ROWS)]
    return np.asarray(sum(parts))


def _trace(kernel: Kernel, points: Points, weights: Array | None) -> float:
    diagonal = kernel.diagonal(points.data).astype(np.float64)
    return float(diagonal.sum() if weights is None else diagonal @ weights)


class NystromGram(ExplicitGram):
    """Features of landmarks: an approximation from below, whose error is known.

    ``K - ΦΦ*`` is positive semi-definite, so its norm is at most its trace, which is reported.
    """

    features: LandmarkFeatures

    @cached_property
    def whole_trace(self) -> float:
        """``tr W^½ K W^½``, exactly."""
        return float(self.points.sum_rows(partial(_trace, self.kernel), self.weights))

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments and the traces."""
        assert isinstance(earlier, NystromGram)
        self.whole_trace += earlier.whole_trace
        super().absorb(earlier)

    def centered(self) -> GramOperator:
        """Share the trace too."""
        other = super().centered()
        assert isinstance(other, NystromGram)
        other.whole_trace = self.whole_trace
        return other

    @property
    def missing_share(self) -> float:
        """Of the uncentred trace."""
        return self.error_bound / self.whole_trace

    @cached_property
    def trace(self) -> float:
        """The exact one, less that of the mean feature where centred."""
        mean = self.moments.mean
        return self.whole_trace - (self.total * float(mean @ mean) if self.center else 0.0)

    @cached_property
    def error_bound(self) -> float:
        """Trace of what is missing, centred or not: bounds the error of every eigenvalue.

        Where next to nothing is missing, what rounding may have done is left.
        """
        missing = max(self.whole_trace - float(self.moments.about_zero.trace()), 0.0)
        return missing + self.features.rounding(self.moments)

    @property
    def description(self) -> str:
        """How many landmarks."""
        return f"{self.features.landmarks.n} landmarks{', centred' if self.center else ''}"
