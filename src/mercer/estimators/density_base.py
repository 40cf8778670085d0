"""What every density estimator with a kernel shares: a window, a score, a grid search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import DensityMixin

from mercer.chunked import lazy_column
from mercer.chunks import is_dask, mapped, summed
from mercer.data import admit_weights, check_weights
from mercer.errors import ApproximationWarning, warn
from mercer.estimators.base import KernelEstimator
from mercer.isolated_points import MANY_ISOLATED, NEIGHBOR_COSINE, isolated_fraction
from mercer.kernels import as_kernel
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["Density", "KernelDensityEstimator", "mean_log_density"]

_MANY_COLUMNS = 50


class Density(DensityMixin):  # type: ignore[misc]
    """Log densities, and what follows from them."""

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Logarithm of the density at every row of X."""

    def pdf(self, X: Any) -> Array:
        """Density at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            inf or 0 where a number cannot hold it; ``score_samples`` can.
        """
        return mapped(exponential, self.score_samples(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log density of the rows of X, so that a grid search maximises the likelihood.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : ignored
        sample_weight : array-like of shape (m,) or None
        """
        return mean_log_density(self.score_samples(X), sample_weight)


def mean_log_density(logs: Array, sample_weight: Any = None) -> float:
    """Mean of log densities; rows of weight 0 do not count, whatever theirs."""
    if is_dask(logs):
        weights = (
            None if sample_weight is None else lazy_column(sample_weight, logs, "sample_weight")
        )
    else:
        weights = admit_weights(sample_weight, len(logs))
    total, mass = summed(_log_sums, logs, weights)
    if mass == 0:
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return float(total / mass)


def _log_sums(logs: Array, weights: Array | None) -> tuple[float, float]:
    if weights is None:
        return float(logs.sum()), float(len(logs))
    check_weights(weights)
    logs, weights = logs[weights > 0], weights[weights > 0]
    return float(weights @ logs), float(weights.sum())


class KernelDensityEstimator(Density, KernelEstimator):
    """A density made of windows ``k(x, x_j) / ∫k`` about training points."""

    def _admit_window(self, X: Any, sample_weight: Any) -> Sample:
        """Admit training data; refuse, in words, a kernel that is no density window."""
        kernel = as_kernel(self.kernel)
        if not kernel.is_window:
            kernel.log_normalizer(1)  # raises
        sample = self._validate_training(X, sample_weight)
        self.kernel_ = sample.kernel
        self._log_normalizer = sample.kernel.log_normalizer(self.n_features_in_)
        _warn_of_sparseness(sample)
        return sample

    @property
    def why_not_saved(self) -> str | None:
        """A reason why a file of this would be of no use, or None."""
        if hasattr(self, "_sum") and self._sum.needs_engine:
            return (
                "without plane waves (a Gaussian or Matérn kernel, at most 3 columns) it needs the "
                "training rows, which lie on an engine; fit it to a sample of the rows in memory"
            )
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_log_normalizer")


def _warn_of_sparseness(sample: Sample) -> None:
    """Say so where a window estimate cannot be much good."""
    n, d = sample.points.n, sample.points.dimension or 0
    if d > _MANY_COLUMNS:
        warn(
            f"A window estimate in {d} dimensions (more than {_MANY_COLUMNS}) from {n} points is "
            "far from the density in almost all of that space. Reduce the number of columns first, "
            "for example with KernelPCA, or use its values only to compare points.",
            ApproximationWarning,
        )
    isolated = isolated_fraction(sample)
    if isolated > MANY_ISOLATED:
        warn(
            f"{isolated:.0%} of the points are isolated (cosine with every other point in feature "
            f"space at most {NEIGHBOR_COSINE}): the density is a spike at each of them. Use a "
            "larger bandwidth, for example the rule 'leave-one-out'.",
            ApproximationWarning,
        )


def exponential(logs: Array) -> Array:
    """``exp``; inf where no number can hold it."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))
