"""Distance of lagged rows from normal operation, in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer.data.points import Points
from mercer.gram.landmarks import LandmarkFeatures, choose_landmarks
from mercer.kernels import Gaussian, Kernel, Linear, as_kernel
from mercer.novelty.shrunk_covariance import conditional_fill, reduced_distances, shrunk_covariance
from mercer.utils.moments import Moments
from mercer.utils.types import Array

__all__ = ["KernelDistance", "default_kernel"]

_MAX_ROWS = 5000  # of a fit; more rows change little
_MAX_LANDMARKS = 300
_RIDGE = 0.01  # of the mean variance of the features
_CHUNK = 4096
_BANDWIDTH = 0.5  # of the default kernel, in units of √d of the whitened rows
_FILL_ITERATIONS = 3
_BYTES = 2**28  # for the factor of the landmarks


def default_kernel(dimension: int) -> Kernel:
    """Return the linear kernel divided by the dimension, plus a Gaussian kernel.

    The linear part grows with the size of a fault, the Gaussian part sees nonlinear relations.
    """
    return Linear() * (1 / dimension) + Gaussian(_BANDWIDTH * dimension**0.5)


@dataclass(frozen=True)
class FeatureDistance:
    """Regularized Mahalanobis distance of the features of a kernel.

    ``(φ - m)' (C + ρI)⁻¹ (φ - m) + r / ρ`` with mean m and covariance C of the landmark features φ,
    ridge ρ and the part r of k(x, x) outside of the landmarks: T² and SPE of all components, with
    one weight.

    Attributes
    ----------
    features : LandmarkFeatures
    mean : array of shape (m,)
    transform : array of shape (m, m)
        Maps features to standardized ones, from the right.
    ridge : float
    """

    features: LandmarkFeatures
    mean: Array
    transform: Array
    ridge: float

    @classmethod
    def fit(cls, U: Array, kernel: Kernel) -> FeatureDistance:
        """Fit the distance to whitened rows."""
        points = Points(U, "vectors")
        features = choose_landmarks(
            kernel,
            points,
            None,
            min(_MAX_LANDMARKS, len(U)),
            tolerance=1e-6,
            random_state=0,
            memory=_BYTES,
        )
        moments = Moments.of(features(U))
        covariance = moments.scatter / moments.total
        total = kernel.diagonal(U).mean() - moments.mean @ moments.mean
        ridge = _RIDGE * float(total)
        inner = cholesky(covariance + ridge * np.eye(len(covariance)), lower=True)
        transform = solve_triangular(inner, np.eye(len(inner)), lower=True).T
        return cls(features, moments.mean, transform, ridge)

    def __call__(self, U: Array) -> Array:
        """Return the distances of whitened rows."""
        phi = self.features(U)
        outside = self.features.kernel.diagonal(U) - np.einsum("ij,ij->i", phi, phi)
        inside = (phi - self.mean) @ self.transform
        return np.asarray(
            np.einsum("ij,ij->i", inside, inside) + np.maximum(outside, 0) / self.ridge
        )


@dataclass(frozen=True)
class KernelDistance:
    """Distance of lagged rows from normal operation; missing values do not contribute.

    Attributes
    ----------
    mean : array of shape (d,)
    precision : array of shape (d, d)
        Inverse of the Ledoit-Wolf covariance.
    whitening : array of shape (d, d)
        From the right: a factor of the precision.
    feature_distance : FeatureDistance or None
        None for the linear kernel, whose distance is Mahalanobis'.
    """

    mean: Array
    precision: Array
    whitening: Array
    feature_distance: FeatureDistance | None

    @classmethod
    def fit(cls, Z: Array, kernel: str | Kernel) -> KernelDistance:
        """Fit the distance to lagged rows of normal operation.

        Parameters
        ----------
        Z : array of shape (n, d)
            NaN where missing. At most 5,000 rows, evenly spaced, are used.
        kernel : "auto", "linear", another name, or a Kernel on whitened rows
        """
        if len(Z) > _MAX_ROWS:
            Z = Z[np.linspace(0, len(Z) - 1, _MAX_ROWS).round().astype(int)]
        missing = np.isnan(Z).any()
        filled = np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z) if missing else Z
        mean, precision = _normal_fit(filled)
        for _ in range(_FILL_ITERATIONS if missing else 0):
            filled = conditional_fill(Z, mean, precision)
            mean, precision = _normal_fit(filled)
        whitening = cholesky(precision, lower=True)
        chosen = default_kernel(Z.shape[1]) if kernel == "auto" else as_kernel(kernel)
        if isinstance(chosen, Linear):
            return cls(mean, precision, whitening, None)
        U = (filled - mean) @ whitening
        from mercer.bandwidth import fit_kernel

        fitted = fit_kernel(chosen, Points(U, "vectors"), None)
        return cls(mean, precision, whitening, FeatureDistance.fit(U, fitted))

    def __call__(self, Z: Array) -> Array:
        """Return the distances of lagged rows, with constant memory besides the result."""
        result = np.empty(len(Z))
        for begin in range(0, len(Z), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            result[rows] = self._complete(conditional_fill(Z[rows], self.mean, self.precision))
        return result

    def _complete(self, Z: Array) -> Array:
        U = (Z - self.mean) @ self.whitening
        if self.feature_distance is None:
            return np.asarray(np.einsum("ij,ij->i", U, U))
        return self.feature_distance(U)

    def contributions(self, Z: Array, groups: Array) -> Array:
        """Return how much the distance decreases if a group of columns is unknown.

        Parameters
        ----------
        Z : array of shape (n, d)
        groups : array of int of shape (d,)
            Group of each column, from 0.

        Returns
        -------
        array of shape (n, number of groups)
        """
        result = np.empty((len(Z), int(groups.max()) + 1))
        for begin in range(0, len(Z), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            given = Z[rows]
            if self.feature_distance is None and not np.isnan(given).any():
                result[rows] = reduced_distances(given - self.mean, self.precision, groups)
                continue
            before = self(given)
            for j in range(result.shape[1]):
                without = given.copy()
                without[:, groups == j] = np.nan
                result[rows, j] = before - self(without)
        return result


def _normal_fit(rows: Array) -> tuple[Array, Array]:
    """Return the mean and the inverse of the Ledoit-Wolf covariance."""
    mean = rows.mean(axis=0)
    covariance = shrunk_covariance(rows - mean)
    # without shrinkage, redundant columns would make the matrix singular
    smallest = 1e-10 * float(np.trace(covariance)) / len(covariance)
    inverse: Any = np.linalg.inv(covariance + smallest * np.eye(len(covariance)))
    return mean, (inverse + inverse.T) / 2
