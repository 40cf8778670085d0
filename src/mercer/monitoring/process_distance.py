"""Distance of lagged rows from normal operation, in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from sklearn.covariance import ledoit_wolf

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.decomposition.statistics import FeatureDistance
from mercer.eigen import Nystrom
from mercer.eigen.decompose import decompose
from mercer.errors import suppress_warnings
from mercer.kernels import Gaussian, Kernel, Linear, as_kernel
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = ["KernelDistance", "conditional_fill", "default_kernel", "reduced_distances"]

_MAX_ROWS = 5000  # of a fit; more rows change little


def default_kernel(dimension: int) -> Kernel:
    """Return the linear kernel divided by the dimension, plus a Gaussian kernel.

    The linear part grows with the size of a fault, the Gaussian part sees nonlinear relations.
    """
    # whitened rows have distances of order √d
    return Linear() * (1 / dimension) + Gaussian(0.5 * dimension**0.5)


@dataclass(frozen=True)
class KernelDistance:
    """Distance of lagged rows from normal operation; missing values do not contribute."""

    mean: Array  # shape (d,)
    precision: Array  # inverse of the Ledoit-Wolf covariance, shape (d, d)
    whitening: Array  # from the right: a factor of the precision, shape (d, d)
    # None for the linear kernel, whose distance is Mahalanobis'
    feature_distance: FeatureDistance | None

    @classmethod
    def fit(cls, Z: Array, kernel: str | Kernel) -> KernelDistance:
        """Fit the distance to lagged rows of normal operation.

        ``Z``: NaN where missing. At most 5,000 rows, evenly spaced, are used.
        """
        if len(Z) > _MAX_ROWS:
            Z = Z[np.linspace(0, len(Z) - 1, _MAX_ROWS).round().astype(int)]
        missing = np.isnan(Z).any()
        filled = np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z) if missing else Z
        mean, precision = _normal_fit(filled)
        for _ in range(3 if missing else 0):
            filled = conditional_fill(Z, mean, precision)
            mean, precision = _normal_fit(filled)
        whitening = cholesky(precision, lower=True)
        chosen = default_kernel(Z.shape[1]) if kernel == "auto" else as_kernel(kernel)
        if isinstance(chosen, Linear):
            return cls(mean, precision, whitening, None)
        U = (filled - mean) @ whitening
        points = Points(U, "vectors")
        sample = Sample(fit_kernel(chosen, points, None), points)
        return cls(mean, precision, whitening, _feature_distance(sample))

    def __call__(self, Z: Array) -> Array:
        """Return the distances of lagged rows, with constant memory besides the result."""
        result = np.empty(len(Z))
        for rows in row_ranges(len(Z), 4096):
            result[rows] = self._complete(conditional_fill(Z[rows], self.mean, self.precision))
        return result

    def _complete(self, Z: Array) -> Array:
        U = (Z - self.mean) @ self.whitening
        if self.feature_distance is None:
            return np.asarray(np.einsum("ij,ij->i", U, U))
        return self.feature_distance(Points(U, "vectors"))

    def contributions(self, Z: Array, groups: Array) -> Array:
        """Return how much the distance decreases if a group of columns is unknown.

        ``groups``: group of each column, from 0.
        """
        result = np.empty((len(Z), int(groups.max()) + 1))
        for rows in row_ranges(len(Z), 4096):
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


def _feature_distance(sample: Sample) -> FeatureDistance:
    """Return the Mahalanobis distance in feature space, with a ridge, from landmarks.

    It is T² and SPE of all components, with one weight.
    """
    with suppress_warnings():  # what is outside of the landmarks is part of the distance
        spectrum = decompose(
            sample,
            "variance",
            sample.points.n,
            center=True,
            solver=Nystrom(300, tolerance=1e-6),
            at_most=True,
        )
    norms = sample.kernel.diagonal(sample.points.data)
    variance = float(norms.mean()) - spectrum.expansion.mean_squared_norm
    return FeatureDistance.mahalanobis(spectrum.without_points(), 0.01 * variance)


def _normal_fit(rows: Array) -> tuple[Array, Array]:
    """Return the mean and the inverse of the Ledoit-Wolf covariance."""
    mean = rows.mean(axis=0)
    covariance, _ = ledoit_wolf(rows - mean, assume_centered=True)
    # without shrinkage, redundant columns would make the matrix singular
    smallest = 1e-10 * float(np.trace(covariance)) / len(covariance)
    inverse: Any = np.linalg.inv(covariance + smallest * np.eye(len(covariance)))
    return mean, (inverse + inverse.T) / 2


def conditional_fill(rows: Array, mean: Array, precision: Array) -> Array:
    """Replace missing values by their expectation given the other values of the row.

    The rows have a normal distribution with this mean and inverse covariance M. The expectation of
    the missing part J given the others O is ``mean_J - M_JJ⁻¹ M_JO (x_O - mean_O)``; it minimizes
    the Mahalanobis distance of the row.

    ``rows``: NaN where missing. ``mean``: shape (d,). ``precision``: shape (d, d).
    """
    missing = np.isnan(rows)
    partial = missing.any(axis=1)
    if not partial.any():
        return rows
    centered = np.where(missing, 0.0, rows - mean)
    patterns, groups = np.unique(missing[partial], axis=0, return_inverse=True)
    incomplete = np.flatnonzero(partial)
    groups = groups.ravel()
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(patterns) + 1))
    for k, J in enumerate(patterns):
        members = incomplete[order[bounds[k] : bounds[k + 1]]]
        inner = cho_factor(precision[np.ix_(J, J)], lower=True)
        outer = centered[members] @ precision[:, J]  # missing values are zero here
        centered[np.ix_(members, J)] = -cho_solve(inner, outer.T).T
    return np.asarray(centered + mean)


def reduced_distances(centered: Array, precision: Array, groups: Array) -> Array:
    """Return how much the Mahalanobis distance decreases if a group of columns is unknown.

    ``(M x)_J' M_JJ⁻¹ (M x)_J`` for each group J of columns and every row x: the contribution of the
    group by reconstruction (Alcala and Qin, "Reconstruction-based contribution for process
    monitoring", Automatica 45:1593-1600, 2009).

    ``centered``: shape (n, d). ``precision``: shape (d, d). ``groups``: group of each column, from
    0.
    """
    products = centered @ precision
    result = np.empty((len(centered), int(groups.max()) + 1))
    for j in range(result.shape[1]):
        J = groups == j
        inner = cho_factor(precision[np.ix_(J, J)], lower=True)
        part = products[:, J]
        result[:, j] = np.einsum("ij,ij->i", part, cho_solve(inner, part.T).T)
    return result
