"""Distribution functions and gradients of densities that are sums of kernels."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth.adaptive_density import SamplePointDensity, sample_point_derivatives
from mercer.data.points import Points
from mercer.density.base import KernelDensityEstimator
from mercer.density.bounds import Bounds
from mercer.density.density_functions import DensityFunctions
from mercer.kernels import Epanechnikov, Gaussian, Kernel
from mercer.kernels.densities import (
    LogDerivatives,
    block_rows,
    column_bandwidths,
    column_cdf,
    density_terms,
    is_product,
    join_derivatives,
    reach,
    sum_derivatives,
)
from mercer.utils.types import Array

__all__ = ["GAUSSIAN_REACH", "KernelSumFunctions", "marginal_deviations"]

GAUSSIAN_REACH = 9.0  # standard deviations beyond which a normal density is negligible


class KernelSumFunctions(DensityFunctions, KernelDensityEstimator):
    """A sum of kernels at training points with its distribution function and its gradient."""

    bounds_: Bounds | None = None
    _adapted: SamplePointDensity | None = None

    def _new_rows(self, X: Array) -> Any:
        return Points(X)

    def _points_and_weights(self, method: str) -> tuple[Array, Array]:
        """Return the training points on the line and their coefficients, which sum to 1."""
        check_is_fitted(self)
        if self._adapted is not None:
            return self._adapted.coordinates.original(self._adapted.points), self._adapted.weights
        window = self._sum
        if window.points.is_chunked:
            raise ValueError(
                f"{method} needs the training rows in memory, but they are in a Dask collection. "
                "Fit the density to a sample of them."
            )
        clipped = self._clipped_mass()
        if clipped > 0:
            raise ValueError(
                f"{method} is not available for a series whose negative values are clipped "
                f"(clipped_mass_={clipped:.3g}). Use ParzenDensity or positive=False."
            )
        return window.points.data.astype(np.float64, copy=False), window.coefficients / window.mass

    def _column_deviations(self) -> Array | None:
        """Return the adaptive bandwidths along the columns, (n, d); None if columns are mixed."""
        assert self._adapted is not None
        factor, inverses = self._adapted.coordinates.factor, self._adapted.inverses
        d = len(factor)
        if inverses.ndim == 3 and d == 1:
            inverses = inverses[:, 0, 0]
        if inverses.ndim == 3 or (factor != np.diag(factor.diagonal())).any():
            return None
        return np.asarray(factor.diagonal() / inverses[:, None])

    def _product_terms(self, method: str) -> list[tuple[float, Kernel, Array]]:
        """Return fraction, kernel and bandwidths (d,) or (n, d) of kernels that are products."""
        d = self.n_features_in_
        if self._adapted is not None:
            deviations = self._column_deviations()
            if deviations is not None:
                return [(1.0, Gaussian(1.0), deviations)]
        else:
            terms = density_terms(self.kernel_, d)
            if all(is_product(term, d) for _, term in terms):
                return [(a, term, column_bandwidths(term, d)) for a, term in terms]
        raise ValueError(
            f"{method} of {d} columns needs kernels that are products over the columns: a Gaussian "
            "without correlations, or a Laplacian kernel. Fit one column, or use such a kernel."
        )

    def _has_cdf(self) -> bool:
        try:
            self._points_and_weights("cdf")
        except ValueError:
            return False
        return True

    def cdf(self, X: Any) -> Array:
        """Return the distribution function, the probability of ``x' <= x`` in all columns.

        Parameters
        ----------
        X : array-like of shape (m, d)
            For more than one column the kernel must be a product over the columns (Gaussian without
            correlations, Laplacian).

        Returns
        -------
        array of shape (m,)
        """
        new = self._validate_new(X)
        return new.map_rows(self._cdf)

    def _cdf(self, points: Points) -> Array:
        X = points.data.astype(np.float64, copy=False)
        Y, coefficients = self._points_and_weights("cdf")
        terms = self._product_terms("cdf")
        bounds = self.bounds_
        if bounds is not None:
            X = bounds.to_line(np.clip(X, bounds.low, bounds.high))
        found = np.zeros(len(X))
        for fraction, kernel, bandwidths in terms:
            for rows in block_rows(len(X), len(Y)):
                masses = np.ones(1)
                for c in range(X.shape[1]):
                    masses = masses * _column_masses(
                        kernel, X[rows, c], Y[:, c], bandwidths[..., c], bounds, c
                    )
                found[rows] += fraction * (masses @ coefficients)
        return np.clip(found, 0.0, 1.0)

    def _inner_quantiles(self, q: Array) -> Array:
        if self.bounds_ is None or self.bounds_.reflects:
            return super()._inner_quantiles(q)
        line = self._on_line()._inner_quantiles(q)
        return self.bounds_.from_line(line[:, None])[:, 0]

    def _on_line(self) -> Any:
        """Return the density of the transformed column, without bounds."""
        model: Any = copy(self)
        model.bounds_ = None
        return model

    def _limits(self) -> tuple[float, float]:
        if self.bounds_ is not None:
            low, high = float(self.bounds_.low[0]), float(self.bounds_.high[0])
        else:
            low, high = -np.inf, np.inf
        if isinstance(self.kernel_, Epanechnikov):
            Y, _ = self._points_and_weights("quantile")
            b = float(self.kernel_.bandwidth_vector(1)[0])
            first, last = Y.min() - b, Y.max() + b
            if self.bounds_ is not None and not self.bounds_.reflects:
                first, last = self.bounds_.from_line(np.array([[first], [last]]))[:, 0]
            low, high = max(low, float(first)), min(high, float(last))
        return low, high

    def gradient(self, X: Any, *, log: bool = True) -> Array:
        """Return the gradient of the log density, or of the density, at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        log : bool
            False for the gradient of the density itself.

        Returns
        -------
        array of shape (m, d)
            NaN where the density is 0.
        """
        new = self._validate_new(X)
        return new.map_rows(partial(self._gradient, log=log))

    def _gradient(self, points: Points, *, log: bool) -> Array:
        self._points_and_weights("gradient")
        X = points.data.astype(np.float64, copy=False)
        found = np.full(X.shape, np.nan)
        inside = np.ones(len(X), dtype=bool) if self.bounds_ is None else self.bounds_.inside(X)
        if inside.any():
            bounds = self.bounds_
            Z = X[inside] if bounds is None else bounds.to_line(X[inside])
            at = self._line_derivatives(Z)
            slopes = 1.0 if bounds is None else bounds.slopes(X[inside])
            found[inside] = at.gradient * slopes
        if not log:
            found *= self.pdf(Points(X))[:, None]
        return found

    def _line_derivatives(self, Z: Array) -> LogDerivatives:
        """Return the derivatives of the log density of x with respect to z, the line's coordinates.

        Reflections are included; for transformations the density is that of x.
        """
        bounds = self.bounds_
        if bounds is None:
            return self._unbounded_derivatives(Z)
        if bounds.reflects:
            parts = []
            for image in bounds.images(self._reach()):
                at = self._unbounded_derivatives(image(Z))
                gradient, precisions = at.gradient * image.signs, at.precisions
                if precisions is not None:
                    precisions = precisions * np.outer(image.signs, image.signs)
                parts.append(LogDerivatives(at.logs, gradient, precisions))
            return join_derivatives(parts)
        at = self._unbounded_derivatives(Z)
        logs = at.logs + bounds.log_slope(bounds.from_line(Z))
        return LogDerivatives(logs, at.gradient + bounds.log_slope_gradient(Z), at.precisions)

    def _unbounded_derivatives(self, Z: Array) -> LogDerivatives:
        if self._adapted is not None:
            return sample_point_derivatives(self._adapted, Z)
        return sum_derivatives(self.kernel_, Z, *self._points_and_weights("gradient"))

    def _reach(self) -> Array:
        """Return the reach of the kernels along the columns."""
        if self._adapted is None:
            return reach(self.kernel_, self.n_features_in_)
        return GAUSSIAN_REACH * marginal_deviations(self._adapted).max(axis=0)


def _column_masses(
    kernel: Kernel, x: Array, y: Array, bandwidth: Any, bounds: Bounds | None, column: int
) -> Array:
    """Return the mass of every kernel (columns) below every x (rows) along one column."""

    def below(at: Array) -> Array:
        return column_cdf(kernel, at[:, None] - y, bandwidth)

    if bounds is None or not bounds.reflects:
        return below(x)
    low, high = bounds.low[column], bounds.high[column]
    if not np.isfinite(low) and not np.isfinite(high):
        return below(x)
    if not np.isfinite(high):
        return below(x) - below(2 * low - x)
    if not np.isfinite(low):
        return 1 - (below(2 * high - x) - below(x))
    d = len(bounds.low)
    bandwidths_reached = reach(kernel, d)[column] / column_bandwidths(kernel, d)[column]
    width = float(bandwidths_reached * np.max(bandwidth))
    count = int(np.ceil(1 + width / (high - low))) + 1
    total = np.zeros((len(x), len(y)))
    for k in range(-count, count + 1):
        shift = 2 * k * (high - low)
        total += below(x + shift) - below(2 * low - x + shift)
    return total


def marginal_deviations(density: SamplePointDensity) -> Array:
    """Return the standard deviations of the kernels along the columns, shape (n, d)."""
    factor, inverses = density.coordinates.factor, density.inverses
    if inverses.ndim == 1:
        return np.asarray(np.linalg.norm(factor, axis=1) / inverses[:, None])
    return np.asarray(np.linalg.norm(factor @ np.linalg.inv(inverses), axis=2))
