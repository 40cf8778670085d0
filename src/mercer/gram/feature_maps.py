"""Feature maps: ``k(x, y) = φ(x)'φ(y)``, exactly or approximately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from mercer.data.points import Points
from mercer.gram.cross_gram import cross_gram, cross_product
from mercer.kernels import Kernel
from mercer.utils.moments import Moments
from mercer.utils.pairwise import row_ranges
from mercer.utils.resources import results_in_order
from mercer.utils.types import Array

__all__ = ["ExactFeatures", "FeatureMap", "LandmarkFeatures"]

_CHUNK_ROWS = 4096
_SUMMED_ROWS = 2048  # of which each thread holds two arrays with one column per feature
# With a larger ratio of pivots the condition number of k(S, S) is at most about 1e6, and summing
# kernel values instead of features loses at most six of sixteen digits.
_SMALLEST_PIVOT_RATIO = 1e-3


class FeatureMap(ABC):
    """A map from points to finitely many features."""

    kernel: Kernel

    @abstractmethod
    def __call__(self, chunk: Any) -> Array:
        """Return the features of a chunk of points, of shape (len(chunk), m)."""

    def raw_moments(self, points: Points, weights: Array | None) -> Moments:
        """Return mean and scatter of :meth:`raw` over the points."""

        def moments(rows: slice) -> Moments:
            part = None if weights is None else weights[rows]
            return Moments.of(self.raw(points.take(rows).data), part)

        # objects may be compared by arbitrary Python code
        parallel = self.kernel.compares != "objects"
        parts = results_in_order(row_ranges(points.n, _SUMMED_ROWS), moments, parallel)
        return reduce(add, parts)

    def raw(self, chunk: Any) -> Array:
        """Return the values to sum over points: the features, or values that determine them."""
        return self(chunk)

    def finished(self, raw: Moments) -> Moments:
        """Return the moments of the features from :meth:`raw_moments`."""
        return raw

    def project(self, points: Points, directions: Array) -> Array:
        """Return ``φ(x)' directions`` for every point."""
        parts = [self(chunk) @ directions for _, chunk in points.chunks(_CHUNK_ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, directions.shape[1]))


@dataclass(frozen=True)
class ExactFeatures(FeatureMap):
    """The exact finite features of a kernel such as the linear one."""

    kernel: Kernel

    def __call__(self, chunk: Any) -> Array:
        """Return ``kernel.features(chunk)``."""
        features = self.kernel.features(chunk)
        assert features is not None, f"{self.kernel!r} has no features"
        return features.astype(np.float64, copy=False)


@dataclass(frozen=True)
class LandmarkFeatures(FeatureMap):
    """Nyström features ``φ(x) = L⁻¹ k(S, x)`` of landmarks S, with ``L L' = k(S, S)``.

    The approximation is exact if one of the two points is a landmark.

    Parameters
    ----------
    kernel : Kernel
    landmarks : Points
    factor : array of shape (m, m)
        L, lower triangular.
    """

    kernel: Kernel
    landmarks: Points
    factor: Array

    def __call__(self, chunk: Any) -> Array:
        """Return the features by a triangular solve."""
        values = self._values(chunk)
        factor = self.factor.astype(values.dtype, copy=False)
        return solve_triangular(
            factor, values.T, lower=True, overwrite_b=True, check_finite=False
        ).T

    def _values(self, chunk: Any) -> Array:
        return cross_gram(self.kernel, Points(chunk, self.landmarks.kind), self.landmarks)

    @property
    def _is_well_conditioned(self) -> bool:
        pivots = np.abs(self.factor.diagonal())
        return bool(
            self.factor.dtype == np.float64 and pivots.min() > _SMALLEST_PIVOT_RATIO * pivots.max()
        )

    def raw(self, chunk: Any) -> Array:
        """Return kernel values with the landmarks, so that all points need one triangular solve.

        This squares the condition number of k(S, S). If that is too large, return the features.
        """
        return self._values(chunk) if self._is_well_conditioned else self(chunk)

    def finished(self, values: Moments) -> Moments:
        """Apply the triangular solves on both sides."""
        if not self._is_well_conditioned:
            return values
        half = solve_triangular(self.factor, values.scatter, lower=True)
        return Moments(
            values.total,
            solve_triangular(self.factor, values.mean, lower=True),
            solve_triangular(self.factor, half.T, lower=True),
        )

    def rounding(self, moments: Moments) -> float:
        """Return an estimate of the rounding error in the trace of the scatter about 0.

        Sums S of kernel values have a relative error of eps per entry, and the trace is
        ``tr (LL')⁻¹ S``. If the features are summed instead, the error is negligible.
        """
        if not self._is_well_conditioned:
            return 0.0
        sums = self.factor @ moments.about_zero @ self.factor.T
        inverse, _ = dpotri(self.factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        return float(np.finfo(np.float64).eps * np.linalg.norm(inverse * sums))

    def project(self, points: Points, directions: Array) -> Array:
        """Return the projections, with the triangular solve applied to the few directions."""
        coefficients = solve_triangular(self.factor.T, directions, lower=False)
        return cross_product(self.kernel, points, self.landmarks, coefficients)
