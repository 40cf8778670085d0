"""Feature maps: ``k(x, y) = φ(x)'φ(y)``, exactly or nearly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators.tiled import cross_gram, cross_product
from mercer.points import Points

__all__ = ["ExactFeatures", "FeatureMap", "LandmarkFeatures"]

_ROWS = 4096


class FeatureMap(ABC):
    """From points to finite features."""

    kernel: Kernel

    @abstractmethod
    def __call__(self, chunk: Any) -> Array:
        """Features of a chunk of points, of shape (len(chunk), m)."""

    def project(self, points: Points, directions: Array) -> Array:
        """``φ(x)' directions`` for every point."""
        return np.concatenate([self(chunk) @ directions for _, chunk in points.chunks(_ROWS)])


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
        new = Points(chunk, self.landmarks.kind)
        values = cross_gram(self.kernel, new, self.landmarks)
        factor = self.factor.astype(values.dtype, copy=False)
        return solve_triangular(
            factor, values.T, lower=True, overwrite_b=True, check_finite=False
        ).T

    def project(self, points: Points, directions: Array) -> Array:
        """The triangular solve goes to the directions: they are few, the points are not."""
        coefficients = solve_triangular(self.factor.T, directions, lower=False)
        return cross_product(self.kernel, points, self.landmarks, coefficients)
