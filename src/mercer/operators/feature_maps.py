"""Feature maps: ``k(x, y) = φ(x)'φ(y)``, exactly or nearly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.moments import Moments
from mercer.maths.types import Array
from mercer.operators.tiled import cross_gram, cross_product

__all__ = ["ExactFeatures", "FeatureMap", "LandmarkFeatures"]

_ROWS = 8192
# Pivots of k(S, S) beyond this ratio: its condition is at most 1e6 or so, and summing kernel values
# instead of features loses no more than six of sixteen digits.
_WELL = 1e-3


class FeatureMap(ABC):
    """From points to finite features."""

    kernel: Kernel

    @abstractmethod
    def __call__(self, chunk: Any) -> Array:
        """Features of a chunk of points, of shape (len(chunk), m)."""

    def raw_moments(self, points: Points, weights: Array | None) -> Moments:
        """Mean and scatter of what is summed up over points: the features, or what makes them."""
        return reduce(
            add,
            (
                Moments.of(self.raw(x), None if weights is None else weights[rows])
                for rows, x in points.chunks(_ROWS)
            ),
        )

    def raw(self, chunk: Any) -> Array:
        """What is summed up: the features."""
        return self(chunk)

    def finished(self, raw: Moments) -> Moments:
        """Moments of the features from :meth:`raw_moments`."""
        return raw

    def project(self, points: Points, directions: Array) -> Array:
        """``φ(x)' directions`` for every point."""
        parts = [self(chunk) @ directions for _, chunk in points.chunks(_ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, directions.shape[1]))


@dataclass(frozen=True)
class ExactFeatures(FeatureMap):
    """What a kernel such as the linear one offers itself."""

    kernel: Kernel

    def __call__(self, chunk: Any) -> Array:
        """``kernel.features``."""
        features = self.kernel.features(chunk)
        assert features is not None, f"{self.kernel!r} has no features"
        return features.astype(np.float64, copy=False)


@dataclass(frozen=True)
class LandmarkFeatures(FeatureMap):
    """Nyström features ``φ(x) = L⁻¹ k(S, x)`` of landmarks S, with ``L L' = k(S, S)``.

    The kernel they give is exact wherever one of the points is a landmark.

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
        """Kernel values with the landmarks, then a triangular solve."""
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
        return bool(self.factor.dtype == np.float64 and pivots.min() > _WELL * pivots.max())

    def raw(self, chunk: Any) -> Array:
        """Kernel values, so that one triangular solve on either side serves all points.

        That squares the condition of k(S, S); where it is too bad for that, features are summed.
        """
        return self._values(chunk) if self._is_well_conditioned else self(chunk)

    def finished(self, values: Moments) -> Moments:
        """The triangular solves."""
        if not self._is_well_conditioned:
            return values
        half = solve_triangular(self.factor, values.scatter, lower=True)
        return Moments(
            values.total,
            solve_triangular(self.factor, values.mean, lower=True),
            solve_triangular(self.factor, half.T, lower=True),
        )

    def rounding(self, moments: Moments) -> float:
        """About what rounding adds to, or takes from, the trace of the scatter about 0.

        Sums S of kernel values are right to eps of each entry, and the trace is ``tr (LL')⁻¹ S``.
        Features that are summed themselves have next to no such error.
        """
        if not self._is_well_conditioned:
            return 0.0
        sums = self.factor @ moments.about_zero @ self.factor.T
        inverse, _ = dpotri(self.factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        return float(np.finfo(np.float64).eps * np.linalg.norm(inverse * sums))

    def project(self, points: Points, directions: Array) -> Array:
        """The triangular solve goes to the directions: they are few, the points are not."""
        coefficients = solve_triangular(self.factor.T, directions, lower=False)
        return cross_product(self.kernel, points, self.landmarks, coefficients)
