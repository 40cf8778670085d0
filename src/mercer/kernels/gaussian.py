"""The Gaussian kernel, with one bandwidth, one per column, or a bandwidth matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import log, pi
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.data import PointSet
from mercer.kernels.base import Tiles
from mercer.kernels.stationary import Radial, SpectralDensity, normal_spectral_density
from mercer.maths.moments import Moments
from mercer.maths.types import Array

__all__ = ["Gaussian", "sample_metric"]

_SINGULAR = 1e-12  # smallest eigenvalue of a correlation matrix
_SYMMETRY = 1e-10  # allowed asymmetry of a metric, relative to its largest entry


class Gaussian(Radial):
    r"""Gaussian kernel, :math:`k(x, y) = \exp(-\|x - y\|^2 / 2\sigma^2)`.

    With a metric M, :math:`\|x - y\|^2 = (x - y)' M^{-1} (x - y)`, so :math:`\sigma^2 M` is the
    bandwidth matrix.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        σ, one σ per column, or the name of a rule.
    metric : None, "covariance" or array of shape (d, d)
        None for the Euclidean distance; "covariance" for the covariance matrix of the training
        sample (Mahalanobis distance); or a positive definite matrix M. With a metric there is one
        bandwidth, and rules choose it in the whitened coordinates.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian(1.0, metric=[[4.0, 0.0], [0.0, 1.0]])([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.6065]])
    """

    def __init__(
        self, bandwidth: float | Array | str = "auto", metric: str | Array | None = None
    ) -> None:
        super().__init__(bandwidth)
        self.metric = metric

    def with_metric(self, metric: Array) -> Gaussian:
        """Return the same kernel with another metric."""
        return type(self)(self.bandwidth, metric)

    def to_units(self, X: Array) -> Array:
        """Return coordinates in bandwidths, in which the kernel has bandwidth 1."""
        if self.metric is None:
            return super().to_units(X)
        return self._whitened(X) / self.bandwidth_vector(X.shape[1])

    def from_units(self, Z: Array) -> Array:
        """Invert :meth:`to_units`."""
        if self.metric is None:
            return super().from_units(Z)
        return np.asarray(super().from_units(Z) @ self._metric_factor(Z.shape[1]).T)

    def _whitened(self, X: Array) -> Array:
        factor = self._metric_factor(X.shape[1])
        return np.asarray(solve_triangular(factor, X.T, lower=True, check_finite=False).T)

    def _metric_factor(self, d: int) -> Array:
        """Check the metric and return its lower Cholesky factor."""
        if isinstance(self.metric, str):
            raise ValueError(
                f"Gaussian(metric={self.metric!r}) is a rule, which needs data. Fit an estimator, "
                "call mercer.bandwidth.fit_kernel(kernel, X), or pass a matrix."
            )
        M = np.asarray(self.metric, dtype=np.float64)
        if M.shape != (d, d):
            raise ValueError(
                f"Gaussian has a metric of shape {M.shape}; {d} columns need ({d}, {d})."
            )
        if np.ndim(self.bandwidth) > 0:
            raise ValueError(
                f"Gaussian got {np.size(self.bandwidth)} bandwidths and a metric; pass one "
                "bandwidth, and put the others into the metric."
            )
        asymmetry = np.abs(M - M.T).max(initial=0)
        if not np.isfinite(M).all() or asymmetry > _SYMMETRY * np.abs(M).max(initial=0):
            raise ValueError("Gaussian(metric=…) must be a symmetric matrix of finite numbers.")
        try:
            return np.linalg.cholesky(M)
        except np.linalg.LinAlgError as error:
            lowest = float(np.linalg.eigvalsh(M)[0])
            raise ValueError(
                f"Gaussian(metric=…) must be positive definite; its smallest eigenvalue is "
                f"{lowest:.3g}. Drop redundant columns, or add a multiple of the identity."
            ) from error

    def _exponents(self, X: Any, Y: Any, profile: Callable[[Array], Array]) -> Tiles:
        if self.metric is None:
            return super()._exponents(X, Y, profile)
        origin = X.mean(axis=0, dtype=np.float64)
        right = None if Y is None or Y is X else self._from(origin, Y)
        return Gaussian(1.0)._exponents(self._from(origin, X), right, profile)

    def profile(self, h: Array) -> Array:
        """``exp h``."""
        return np.exp(h, out=h)

    def inverse_profile(self, values: Array) -> Array:
        """``-2 log k``."""
        return -2 * np.log(values)

    def log_profile(self, h: Array) -> Array:
        """Return h."""
        return h

    def log_normalizer(self, d: int) -> float:
        """``log (2π)^(d/2) Π σ_j``, with a metric ``log (2π)^(d/2) σ^d √det M``."""
        return 0.5 * d * log(2 * pi) + self._log_volume(d)

    def _log_volume(self, d: int) -> float:
        volume = super()._log_volume(d)
        if self.metric is None:
            return volume
        return volume + float(np.log(self._metric_factor(d).diagonal()).sum())

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw normal coordinates."""
        return self.from_units(rng.standard_normal((n, d)))

    def spectral_density(self, d: int) -> SpectralDensity | None:
        """Return the density of the standard normal distribution."""
        return normal_spectral_density(d)

    def bandwidth_matrix(self, d: int) -> Array:
        """Return the covariance matrix of the kernel's density: ``σ² M``."""
        steps = self.from_units(np.eye(d))
        return np.asarray(steps.T @ steps)


def sample_metric(rule: str, data: Any, weights: Array | None) -> Array:
    """Return the metric that a rule names: the covariance matrix of a sample.

    Parameters
    ----------
    rule : {"covariance"}
    data : array of shape (n, d) or PointSet
    weights : array of shape (n,) or None
        None for a PointSet, which has its weights.
    """
    if rule != "covariance":
        raise ValueError(f"Gaussian(metric={rule!r}) must be None, 'covariance' or a matrix.")
    if isinstance(data, PointSet):
        moments = data.sum_rows(_moments, data.weights, combine=_add_moments)  # type: ignore[attr-defined]
    else:
        moments = Moments.of(data.astype(np.float64, copy=False), weights)
    covariance = moments.scatter / moments.total
    scale = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scale, scale) if (scale > 0).all() else np.zeros((1, 1))
    lowest = float(np.linalg.eigvalsh(correlation)[0])
    if not lowest > _SINGULAR:
        raise ValueError(
            "Gaussian(metric='covariance') needs an invertible covariance matrix; the smallest "
            f"eigenvalue of the correlation matrix is {lowest:.3g}. Drop constant and redundant "
            "columns."
        )
    return np.asarray(covariance)


def _moments(points: Any, weights: Array | None) -> Moments:
    return Moments.of(points.data.astype(np.float64, copy=False), weights)


def _add_moments(parts: Sequence[Moments]) -> Moments:
    return reduce(Moments.__add__, [part for part in parts if part.total > 0])
