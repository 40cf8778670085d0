"""Gram operators of kernels with finite features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Self

import numpy as np

from mercer.data.points import Points
from mercer.gram.expansion import Expansion, FeatureExpansion
from mercer.gram.factored import FactoredGram
from mercer.gram.feature_maps import FeatureMap
from mercer.utils.moments import Moments
from mercer.utils.types import Array

__all__ = ["ExplicitGram"]

_CHUNK_ROWS = 8192


class ExplicitGram(FactoredGram):
    """Gram operator of explicit features; the rows ``√w φ(x)`` of Φ are computed in chunks.

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
        """Mean and scatter of the features, which determine Φ*Φ."""
        sums = self.points.sum_rows(self.features.raw_moments, self.weights)
        return self.features.finished(sums)

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments."""
        assert isinstance(earlier, ExplicitGram)
        self.moments = earlier.moments + self.moments
        self.total = self.moments.total
        self.rows += earlier.rows

    def with_points(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points with the same feature map."""
        return type(self)(self.features, points, weights)

    def centered(self) -> Self:
        """Return the operator with the mean feature removed; the moments are shared."""
        other = type(self)(self.features, self.points, self.weights, center=True)
        other.moments, other.total, other.rows = self.moments, self.total, self.rows
        return other

    @property
    def _mean(self) -> Array | None:
        return self.moments.mean if self.center else None

    def _weighted_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows of Φ: ``√w (φ(x) - mean)``."""
        for rows, x in self.points.chunks(_CHUNK_ROWS):
            part = self.features(x).astype(np.float64, copy=False)
            part = part if self._mean is None else part - self._mean
            yield rows, part * self.start[rows, None]

    def _adjoint(self, V: Array) -> Array:
        """Return ``Φ*V``."""
        return np.asarray(sum(part.T @ V[rows] for rows, part in self._weighted_chunks()))

    def _group_sums(self) -> Callable[..., Array]:
        return partial(_feature_sums, self.features)

    def quadratic(self, V: Array) -> Array:
        """Return ``|Φ*V|²`` from one pass over the points."""
        small = self._adjoint(V)
        return np.asarray(small.T @ small)

    def product(self, V: Array) -> Array:
        """Return ``ΦΦ*V`` from two passes over the points."""
        small = self._adjoint(V)
        return np.concatenate([part @ small for _, part in self._weighted_chunks()])

    @cached_property
    def _small_matrix(self) -> Array:
        return self.moments.scatter if self.center else self.moments.about_zero

    @property
    def small_start(self) -> Array:
        """N times the mean feature; 0 if centered."""
        return (0.0 if self.center else self.moments.total) * self.moments.mean

    def small_product(self, V: Array) -> Array:
        """Return the product with the stored Φ*Φ."""
        return np.asarray(self._small_matrix @ V)

    def small_dense(self) -> Array:
        """Return a copy of Φ*Φ."""
        return self._small_matrix.copy()

    def diagonal(self) -> Array:
        """Return the squared norms of the rows of Φ."""
        parts = [np.einsum("ij,ij->i", part, part) for _, part in self._weighted_chunks()]
        return np.concatenate(parts)

    @cached_property
    def trace(self) -> float:
        """Trace of Φ*Φ, which equals that of ΦΦ*."""
        return float(self._small_matrix.trace())

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return ``φ(x)'b`` as functions of x."""
        return FeatureExpansion(self.features, self.points, vectors, self._mean)

    @property
    def small_error(self) -> float:
        """Rounding error of a centered matrix: the mean that is subtracted has an error of eps."""
        if not self.center:
            return 0.0
        rounding = 10 * float(np.finfo(np.float64).eps) * float(np.linalg.norm(self.moments.mean))
        return self.total * rounding**2

    @property
    def description(self) -> str:
        """Number of features."""
        return f"{len(self.moments.mean)} exact features{', centered' if self.center else ''}"


def _feature_sums(
    features: FeatureMap, count: int, points: Points, weights: Array | None, labels: Array
) -> Array:
    members = (labels == np.arange(count)[:, None]).astype(np.float64)
    members = members if weights is None else members * weights
    parts = [members[:, rows] @ features(x) for rows, x in points.chunks(_CHUNK_ROWS)]
    return np.asarray(sum(parts))
