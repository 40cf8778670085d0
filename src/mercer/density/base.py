"""Base classes of density estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.bandwidth.density import most_likely_kernel, smoothing_gap
from mercer.data.dask import passes_for
from mercer.data.points import Sample, validate_weights
from mercer.decomposition.base import KernelEstimator
from mercer.eigen.decompose import MANY_ISOLATED, NEIGHBOR_COSINE, isolated_fraction
from mercer.errors import ApproximationWarning, suppressed, warn
from mercer.gram import WindowSum
from mercer.kernels import Gaussian, Kernel, Stationary, as_kernel
from mercer.utils.estimators import MercerBase
from mercer.utils.gaussian_terms import GaussianTerms
from mercer.utils.types import Array
from mercer.utils.validation import check_weights

__all__ = ["Density", "KernelDensityEstimator", "mean_log_density"]

_MANY_COLUMNS = 50
_CHECKED_ROWS = 200  # on which bandwidths are compared
# nats per point; e^0.5 = 1.6 is the ratio of the geometric means of the densities
_LARGE_GAP = 0.5


class Density(DensityMixin, MercerBase):  # type: ignore[misc]
    """An estimator of log densities."""

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X."""

    def pdf(self, X: Any) -> Array:
        """Return the density at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            inf or 0 on overflow or underflow, which ``score_samples`` avoids.
        """
        logs = self.score_samples(X)
        return passes_for(logs).map(exponential, logs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of the rows of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : ignored
        sample_weight : array-like of shape (m,) or None
        """
        return mean_log_density(self.score_samples(X), sample_weight)


def mean_log_density(logs: Array, sample_weight: Any = None) -> float:
    """Return the weighted mean of log densities; rows with zero weight are ignored, even -inf."""
    passes = passes_for(logs)
    if not passes.is_chunked:
        weights = validate_weights(sample_weight, len(logs))
    elif sample_weight is None:
        weights = None
    else:
        from mercer.data.dask.validation import validate_dask_column

        weights = validate_dask_column(sample_weight, logs, "sample_weight")
    total, mass = passes.sum(_log_sums, logs, weights)
    if mass == 0:
        raise ValueError("sample_weight is zero for every row. Pass at least one positive weight.")
    return float(total / mass)


def _log_sums(logs: Array, weights: Array | None) -> tuple[float, float]:
    if weights is None:
        return float(logs.sum()), float(len(logs))
    check_weights(weights)
    logs, weights = logs[weights > 0], weights[weights > 0]
    return float(weights @ logs), float(weights.sum())


class KernelDensityEstimator(Density, KernelEstimator):
    """A density that is a sum of normalized kernels ``k(x, x_j) / ∫k`` at training points."""

    _sum: WindowSum

    def _fit_kernel(self, kernel: Kernel, points: Any, weights: Any) -> Kernel:
        """Fit the kernel; "auto" is the bandwidth with the largest leave-one-out likelihood."""
        return fit_kernel(kernel, points, weights, auto=most_likely_kernel)

    def _validate_density_training(
        self, X: Any, sample_weight: Any, kernel: Kernel | None = None
    ) -> Sample:
        """Validate training data; raise for a kernel that has no finite integral."""
        kernel = as_kernel(self.kernel) if kernel is None else kernel
        if not kernel.is_density:
            kernel.log_normalizer(1)  # raises
        sample = self._validate_training(X, sample_weight, kernel=kernel)
        self.kernel_ = sample.kernel
        self._log_normalizer = sample.kernel.log_normalizer(self.n_features_in_)
        _warn_if_inaccurate(sample, kernel)
        return sample

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the density as a sum of normal densities; None if it is not such a sum.

        It is one for a Gaussian kernel with the same bandwidth at all points, unless the support
        is bounded or negative values of a series are clipped.
        """
        check_is_fitted(self)
        if any(getattr(self, name, None) is not None for name in ("adaptation_", "bounds_")):
            return None
        window, kernel = self._sum, self.kernel_
        clips = self._clipped_mass() > 0
        if not isinstance(kernel, Gaussian) or window.points.is_chunked or clips:
            return None
        means = window.points.data.astype(np.float64)
        covariance = kernel.bandwidth_matrix(means.shape[1])
        return (GaussianTerms(window.coefficients / window.mass, means, covariance),)

    def _clipped_mass(self) -> float:
        """Return the mass of negative values that are set to 0; such a sum is not a kernel sum."""
        return 0.0

    @property
    def why_not_saved(self) -> str | None:
        """Return a reason why a model file would be useless, or None."""
        if hasattr(self, "_sum") and self._sum.needs_cluster:
            return (
                "without Fourier features (a Gaussian or Matérn kernel, at most 3 columns) it "
                "needs the training rows, which are on a Dask cluster; fit it to a sample "
                "of the rows in memory"
            )
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_log_normalizer")


def _warn_if_inaccurate(sample: Sample, kernel: Kernel) -> None:
    """Warn about many columns, and about bandwidths that were not chosen by likelihood.

    Parameters
    ----------
    sample : Sample
    kernel : Kernel
        The parameter of the estimator, perhaps with a rule.
    """
    n, d = sample.points.n, sample.points.dimension or 0
    if d > _MANY_COLUMNS:
        warn(
            f"A kernel density estimate from {n} points in {d} dimensions (more than "
            f"{_MANY_COLUMNS}) is inaccurate almost everywhere. Reduce the number of columns "
            "first, for example with KernelPCA, or only compare densities of points.",
            ApproximationWarning,
        )
    if issubclass(ApproximationWarning, suppressed.get()):
        return
    if isinstance(kernel, Stationary):
        if not (kernel.has_rule("auto") or kernel.has_rule("leave-one-out")):
            _warn_of_smoothing(sample)
        return
    isolated = isolated_fraction(sample)
    if isolated > MANY_ISOLATED:
        warn(
            f"{isolated:.0%} of the points are isolated (cosine with every other point in feature "
            f"space at most {NEIGHBOR_COSINE}), so the density has a narrow peak at each of them "
            "and almost no mass between. Use a larger bandwidth, for example "
            "bandwidth='leave-one-out'.",
            ApproximationWarning,
        )


def _warn_of_smoothing(sample: Sample) -> None:
    """Warn if other bandwidths have a much larger leave-one-out likelihood."""
    kernel, n = sample.kernel, sample.points.n
    assert isinstance(kernel, Stationary)
    rows = np.unique(np.linspace(0, n - 1, min(n, _CHECKED_ROWS)).astype(int))
    weights = np.ones(len(rows))
    if sample.weights is not None:
        weights = sample.passes.take(sample.multiplicities, rows)
    X = sample.points.take(rows).data
    factor, gap = smoothing_gap(kernel, X, weights, n / len(rows))
    if gap > _LARGE_GAP:
        warn(
            f"The density is {'over' if factor < 1 else 'under'}smoothed: with bandwidths "
            f"{factor:.2g} times as large, its leave-one-out log-likelihood ({len(rows)} rows) is "
            f"higher by {gap:.2g} nats per point. bandwidth='auto' chooses the most likely "
            "bandwidth.",
            ApproximationWarning,
        )


def exponential(logs: Array) -> Array:
    """Return ``exp(logs)``, inf on overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))
