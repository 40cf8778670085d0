"""Process monitoring statistics of kernel PCA and ECA, with limits and contributions.

Notation: z the projections of a point, φ_i = √n/√λ_i · z_i the eigenfunctions, k components.
T² = Σ φ_i² (Hotelling) measures the standardized distance within the components.
SPE = k(x,x) - |z|² (squared prediction error, here ``reconstruction_error``) is the squared
distance from their span.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2, f

from mercer.data import Points
from mercer.estimators.base import SpectralTransformer
from mercer.estimators.dask_methods import rowwise
from mercer.maths.quantiles import weighted_median
from mercer.maths.types import Array

__all__ = ["MonitoredTransformer"]

Statistic = Literal["reconstruction_error", "hotelling"]


class MonitoredTransformer(SpectralTransformer):
    """Base class of transformers with process monitoring statistics."""

    @rowwise
    def reconstruction_error(self, X: Any) -> Array:
        """Return the squared prediction error ``k(x, x) - |z|²`` of the (centered) kernel.

        Returns
        -------
        array of shape (m,)
            Non-negative: the squared norm of the part of φ(x) outside the components.
        """
        points = self._validate_new(X)
        residual = self.spectrum_.squared_norms(points) - _squared(self.spectrum_.project(points))
        return np.maximum(residual, 0)

    @rowwise
    def hotelling(self, X: Any) -> Array:
        """Return Hotelling's ``T² = Σ_i z_i² / (λ_i/n)``, the sum of squared standardized scores.

        Its mean over the training points is the number of components.
        """
        points = self._validate_new(X)
        return _squared(self.spectrum_.eigenfunctions(points))

    @property
    def control_limits_(self) -> dict[str, dict[str, float]]:
        """Control limits at the 99 % level; see :meth:`control_limits`."""
        return self.control_limits()

    @np.errstate(under="ignore")
    def control_limits(self, level: float = 0.99) -> dict[str, dict[str, float]]:
        """Return limits that a normal point exceeds with probability 1 - level.

        Each statistic has two limits: the ``"quantile"`` of the training values, and the common
        parametric form, ``"f"`` for T² (``k(n²-1)/(n(n-k)) F_{k,n-k}``, for Gaussian scores) and
        ``"chi2"`` for SPE (``g χ²_h`` matched to mean and variance, Box 1954). With weights, n is
        the sample size ``max(Σw, (Σw)² / Σw²)``.

        Parameters
        ----------
        level : float in (0, 1)
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must lie in (0, 1), for example 0.99.")
        spectrum = self.spectrum_
        z = spectrum.projections
        weights = spectrum.multiplicities_of_rows
        rows = spectrum.points.passes
        scale = np.sqrt(spectrum.total_weight / spectrum.eigenvalues)
        hotelling = rows.map(partial(_scaled_squares, scale), z)
        norms = spectrum.expansion.training_squared_norms()
        error = rows.persist(rows.map(_residuals, norms, z))
        total, weighted = rows.sum(_weighted_sum, error, weights)
        mean = weighted / total
        variance = rows.sum(partial(_weighted_squares, mean), error, weights) / total
        # after partial_fit n is that of all batches; beyond 1e12 the limit no longer changes
        n, k = min(max(total, spectrum.total_weight), 1e12), spectrum.n_components
        f_limit = n > k and k * (n**2 - 1) / (n * (n - k)) * f.ppf(level, k, n - k)
        chi2_limit = variance > 0 and variance / (2 * mean) * chi2.ppf(
            level, 2 * mean**2 / variance
        )
        return {
            "hotelling": {
                "quantile": rows.quantile(hotelling, weights, level),
                "f": float(f_limit) if n > k else float("inf"),
            },
            "reconstruction_error": {
                "quantile": rows.quantile(error, weights, level),
                "chi2": float(chi2_limit) if variance > 0 else mean,
            },
        }

    @np.errstate(under="ignore")
    def contributions(self, X: Any, statistic: Statistic = "reconstruction_error") -> Array:
        """Return the contribution of each column to a statistic.

        Entry (i, j) is the statistic of row i minus its value with column j replaced by the
        training median: large if that column makes the row abnormal, negative if it makes the row
        look more normal. Works for any kernel on vectors; the entries of a row need not sum to its
        statistic.

        Parameters
        ----------
        X : array-like of shape (m, d)
        statistic : {"reconstruction_error", "hotelling"}

        Returns
        -------
        array of shape (m, d)
        """
        if statistic not in ("reconstruction_error", "hotelling"):
            raise ValueError(
                f"statistic={statistic!r} must be 'reconstruction_error' or 'hotelling'."
            )
        points = self._validate_new(X)
        if points.kind != "vectors":
            raise ValueError(
                f"contributions requires a kernel on vectors; got data of kind {points.kind!r}."
            )
        measure = getattr(self, statistic)
        medians = weighted_median(self.spectrum_.points.data.T, self.spectrum_.counts)
        original = measure(points)
        result = np.empty(points.data.shape)
        for j, value in enumerate(medians):
            changed = points.data.copy()
            changed[:, j] = value
            result[:, j] = original - measure(Points(changed, "vectors", points.feature_names))
        return result


def _scaled_squares(scale: Array, z: Array) -> Array:
    return _squared(z * scale)


def _residuals(norms: Array, z: Array) -> Array:
    return np.maximum(norms - _squared(z), 0)


def _weighted_sum(values: Array, weights: Array) -> tuple[float, float]:
    return float(weights.sum()), float(weights @ values)


def _weighted_squares(mean: float, values: Array, weights: Array) -> float:
    return float(weights @ (values - mean) ** 2)


def _squared(z: Array) -> Array:
    """Return the squared norm of every row."""
    return np.asarray(np.einsum("ij,ij->i", z, z))
