"""Functions of fitted densities: distribution function, quantiles, regions, derivatives, modes."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from mercer.data import Points
from mercer.errors import ConvergenceWarning, warn
from mercer.kernels import Epanechnikov, Gaussian, Kernel
from mercer.kernels.derivatives import sum_derivatives
from mercer.kernels.distribution import (
    column_bandwidths,
    column_cdf,
    density_terms,
    is_product,
    reach,
)
from mercer.maths.adaptive_density import SamplePointDensity
from mercer.maths.bounds import Bounds
from mercer.maths.inversion import invert_increasing
from mercer.maths.log_derivatives import (
    LogDerivatives,
    block_rows,
    join_derivatives,
    sample_point_derivatives,
)
from mercer.maths.mean_shift import find_modes
from mercer.maths.types import Array
from mercer.subsampling import representative_rows
from mercer.validation import check_integer, check_real

__all__ = ["DensityFunctions", "KernelSumFunctions", "ParzenFunctions"]

_MAX_STARTS = 500  # of mean shifts
_N_QUANTILES = 500  # of the grid on which regions are found
_N_UNIFORM = 1001
_BISECTIONS = 50  # within a cell of the grid
_COARSE_BISECTIONS = 25  # while the level is searched
_NODES = np.linspace(-9, 9, 361)  # of the trapezoidal rule for normal distributions
_GAUSSIAN_REACH = 9.0


class DensityFunctions:
    """Quantiles and highest-density regions of densities with ``score_samples`` and ``sample``."""

    n_features_in_: int

    def _has_cdf(self) -> bool:
        """Whether ``cdf`` is available for one column."""
        return False

    def _limits(self) -> tuple[float, float]:
        """Return the ends of the support of a density of one column."""
        return -np.inf, np.inf

    def _new_rows(self, X: Array) -> Any:
        """Return rows as ``score_samples`` expects them, with the names of the columns."""
        if not hasattr(self, "feature_names_in_"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=self.feature_names_in_)

    @np.errstate(under="ignore")
    def quantile(self, q: Any) -> Array:
        """Return the quantiles of a density of one column.

        Parameters
        ----------
        q : float or array-like
            Probabilities from 0 to 1; 0 and 1 give the ends of the support.

        Returns
        -------
        array of the shape of q
            Increasing in q, with an error of a few units in the last place of ``cdf``.
        """
        self._check_one_column("quantile")
        q = np.asarray(q, dtype=np.float64)
        if not ((q >= 0) & (q <= 1)).all():
            outside = q[~((q >= 0) & (q <= 1))].ravel()[0]
            raise ValueError(f"q={outside!r} must be a probability between 0 and 1.")
        found = np.where(q == 0, *self._limits()).ravel()
        inner = ((q > 0) & (q < 1)).ravel()
        if inner.any():
            found[inner] = self._inner_quantiles(q.ravel()[inner])
        return found.reshape(q.shape)

    def _inner_quantiles(self, q: Array) -> Array:
        drawn = self.sample(64, random_state=0)  # type: ignore[attr-defined]
        return invert_increasing(
            lambda x: self.cdf(self._new_rows(x[:, None])),  # type: ignore[attr-defined]
            lambda x: self.pdf(self._new_rows(x[:, None])),  # type: ignore[attr-defined]
            q,
            float(drawn.min()),
            float(drawn.max()),
        )

    @np.errstate(under="ignore")
    def density_level(
        self, coverage: Any, *, log: bool = False, n_samples: int = 10_000, random_state: Any = 0
    ) -> Any:
        r"""Return the density at the boundary of a highest-density region.

        The region :math:`\{x: p(x) \ge t\}` is the smallest one with the probability ``coverage``
        under the fitted density (Hyndman 1996). For one column t is computed from ``cdf``;
        otherwise it is a quantile of the density at draws from it, and the probability has the
        standard error ``sqrt(coverage (1 - coverage) / n_samples)``.

        Parameters
        ----------
        coverage : float or array-like
            Probabilities between 0 and 1.
        log : bool
            Return log t, for comparison with ``score_samples``.
        n_samples : int
            Number of draws.
        random_state : int, RandomState or None

        Returns
        -------
        float or array of the shape of coverage
        """
        check_is_fitted(self)
        levels = [check_real(c, "coverage", above=0, below=1) for c in np.ravel(coverage)]
        if self.n_features_in_ == 1 and self._has_cdf():
            regions = _Regions(self)
            logs = np.array([regions.log_level(c) for c in levels])
        else:
            check_integer(n_samples, "n_samples")
            drawn = self.sample(n_samples, random_state=random_state)  # type: ignore[attr-defined]
            scores = self.score_samples(self._new_rows(drawn))  # type: ignore[attr-defined]
            logs = np.quantile(scores, 1 - np.array(levels))
        found = (logs if log else np.exp(logs)).reshape(np.shape(coverage))
        return float(found) if found.ndim == 0 else found

    @np.errstate(under="ignore")
    def highest_density_region(self, coverage: float) -> Array:
        """Return the intervals of the highest-density region of a density of one column.

        Parameters
        ----------
        coverage : float
            The probability of the region.

        Returns
        -------
        array of shape (k, 2)
            Lower and upper ends of disjoint intervals, in order.
        """
        self._check_one_column("highest_density_region")
        coverage = check_real(coverage, "coverage", above=0, below=1)
        regions = _Regions(self)
        return regions.intervals(regions.log_level(coverage))

    def _check_one_column(self, method: str) -> None:
        check_is_fitted(self)
        if self.n_features_in_ != 1:
            raise ValueError(
                f"{method} is defined for one column; the density has {self.n_features_in_}. Fit "
                "one column, or use density_level."
            )


class _Regions:
    """Sets on which the density of one column is at least a level."""

    def __init__(self, density: Any) -> None:
        self.density = density
        low, high = density._limits()
        inner = np.linspace(0, 1, _N_QUANTILES + 2)[1:-1]
        points = density.quantile(np.r_[1e-12, inner, 1 - 1e-12])
        first = low if np.isfinite(low) else points[0]
        last = high if np.isfinite(high) else points[-1]
        self.grid = np.unique(np.r_[points, np.linspace(first, last, _N_UNIFORM)])
        self.logs = self._score(self.grid)

    def _score(self, x: Array) -> Array:
        return np.asarray(self.density.score_samples(self.density._new_rows(x[:, None])))

    def intervals(self, log_level: float, n_bisections: int = _BISECTIONS) -> Array:
        """Return the lower and upper ends of the intervals, shape (k, 2)."""
        inside = self.logs >= log_level
        if not inside.any():
            return np.empty((0, 2))
        padded = np.r_[False, inside, False]
        starts = np.flatnonzero(~padded[:-1] & padded[1:])
        stops = np.flatnonzero(padded[:-1] & ~padded[1:]) - 1
        last = len(self.grid) - 1
        ends = np.r_[starts, stops]
        beyond = np.clip(np.r_[starts - 1, stops + 1], 0, last)
        within, outside = self.grid[ends], self.grid[beyond]
        for _ in range(n_bisections):
            middle = 0.5 * (within + outside)
            above = self._score(middle) >= log_level
            within, outside = np.where(above, middle, within), np.where(above, outside, middle)
        return np.stack(np.split(within, 2), axis=1)

    def mass(self, log_level: float) -> float:
        """Return the probability of the intervals."""
        found = self.intervals(log_level, _COARSE_BISECTIONS)
        if len(found) == 0:
            return 0.0
        ends = self.density._new_rows(found.reshape(-1, 1))
        values = self.density.cdf(ends).reshape(-1, 2)
        return float((values[:, 1] - values[:, 0]).sum())

    def log_level(self, coverage: float) -> float:
        """Return the log density above which the density has the given mass."""
        finite = self.logs[np.isfinite(self.logs)]
        low, high = float(finite.min()) - 1, float(finite.max()) + 1
        return float(brentq(lambda level: self.mass(level) - coverage, low, high, xtol=1e-10))


class KernelSumFunctions(DensityFunctions):
    """Distribution function and gradient of sums of kernels at training points."""

    kernel_: Kernel
    bounds_: Bounds | None = None
    _adapted: SamplePointDensity | None = None

    def _new_rows(self, X: Array) -> Any:
        return Points(X)

    def _points_and_weights(self, method: str) -> tuple[Array, Array]:
        """Return the training points on the line and their coefficients, which sum to 1."""
        check_is_fitted(self)
        if self._adapted is not None:
            return self._adapted.coordinates.original(self._adapted.points), self._adapted.weights
        window: Any = self._sum  # type: ignore[attr-defined]
        if window.points.is_chunked:
            raise ValueError(
                f"{method} needs the training rows in memory, but they are in a Dask collection. "
                "Fit the density to a sample of them."
            )
        if getattr(self, "clipped_mass_", 0.0) > 0:
            raise ValueError(
                f"{method} is not available for a series whose negative values are clipped "
                f"(clipped_mass_={self.clipped_mass_:.3g}). Use ParzenDensity or positive=False."  # type: ignore[attr-defined]
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

    @np.errstate(under="ignore")
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
        new = self._validate_new(X)  # type: ignore[attr-defined]
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

    @np.errstate(under="ignore")
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
        new = self._validate_new(X)  # type: ignore[attr-defined]
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
            found *= self.pdf(Points(X))[:, None]  # type: ignore[attr-defined]
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
        return _GAUSSIAN_REACH * _marginal_deviations(self._adapted).max(axis=0)


class ParzenFunctions(KernelSumFunctions):
    """Modes and means of Parzen window densities."""

    def modes(
        self,
        X: Any = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        merge_distance: float = 0.1,
        return_labels: bool = False,
    ) -> Any:
        """Return the local maxima of the density, by mean shift.

        Every start moves to the weighted mean of the training points, weighted by their kernels
        there, until it stops; this never decreases the density.

        Parameters
        ----------
        X : array-like of shape (m, d) or None
            Starts; None for at most 500 representative training points.
        tol : float
            Length of a step, in bandwidths, at which an iteration has converged.
        max_iter : int
            Number of steps after which a ConvergenceWarning is issued.
        merge_distance : float
            Distance in bandwidths below which two maxima are one.
        return_labels : bool
            Also return the index of the mode that each row of X leads to (-1 where the density
            is 0).

        Returns
        -------
        modes : array of shape (k, d)
            The one with the highest density first.
        labels : array of int of shape (m,)
            Only if ``return_labels`` is true.
        """
        check_real(tol, "tol", above=0)
        check_real(merge_distance, "merge_distance", above=0)
        check_integer(max_iter, "max_iter")
        Y, weights = self._points_and_weights("modes")
        if X is None:
            starts = Y[representative_rows(Y, weights, _MAX_STARTS)[0]]
            usable = np.ones(len(starts), dtype=bool)
        else:
            X = self._validate_new(X).data.astype(np.float64, copy=False)  # type: ignore[attr-defined]
            usable = np.isfinite(self.score_samples(Points(X)))  # type: ignore[attr-defined]
            starts = X[usable] if self.bounds_ is None else self.bounds_.to_line(X[usable])
        labels = np.full(len(usable), -1)
        if len(starts) == 0:
            found = np.empty((0, Y.shape[1]))
        else:
            if self._line_derivatives(starts[:1]).precisions is None:
                raise ValueError(
                    f"modes needs a differentiable kernel (Gaussian, Matern, Epanechnikov), not "
                    f"{self.kernel_!r}."
                )
            found, _, labels[usable], converged = find_modes(
                self._line_derivatives, starts, tol=tol, max_iter=max_iter, merge=merge_distance
            )
            if not converged:
                warn(
                    f"The mean shift did not converge in {max_iter} steps. Increase max_iter or "
                    "tol.",
                    ConvergenceWarning,
                )
            if self.bounds_ is not None:
                found = self.bounds_.from_line(found)
        return (found, labels) if return_labels else found

    def mean(self) -> Array:
        """Return the mean of the density, shape (d,).

        With a bounded support this needs a Gaussian kernel.
        """
        Y, weights = self._points_and_weights("mean")
        bounds = self.bounds_
        if bounds is None:
            return np.asarray(weights @ Y)
        if self._adapted is not None:
            deviations = _marginal_deviations(self._adapted)
        elif isinstance(self.kernel_, Gaussian):
            deviations = np.broadcast_to(column_bandwidths(self.kernel_, Y.shape[1]), Y.shape)
        else:
            raise ValueError(
                f"The mean of a density with bounds needs a Gaussian kernel, not {self.kernel_!r}. "
                "Use the mean of draws from sample."
            )
        if bounds.reflects:
            return weights @ _reflected_means(Y, deviations, bounds)
        masses = np.exp(-0.5 * _NODES**2)
        means = np.zeros_like(Y)
        for node, mass in zip(_NODES, masses / masses.sum(), strict=True):
            means += mass * bounds.from_line(Y + node * deviations)
        return np.asarray(weights @ means)


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
    width = float(reach(kernel, 1)[0] / column_bandwidths(kernel, 1)[0] * np.max(bandwidth))
    count = int(np.ceil(1 + width / (high - low))) + 1
    total = np.zeros((len(x), len(y)))
    for k in range(-count, count + 1):
        shift = 2 * k * (high - low)
        total += below(x + shift) - below(2 * low - x + shift)
    return total


def _marginal_deviations(density: SamplePointDensity) -> Array:
    """Return the standard deviations of the kernels along the columns, shape (n, d)."""
    factor, inverses = density.coordinates.factor, density.inverses
    if inverses.ndim == 1:
        return np.asarray(np.linalg.norm(factor, axis=1) / inverses[:, None])
    return np.asarray(np.linalg.norm(factor @ np.linalg.inv(inverses), axis=2))


def _reflected_means(Y: Array, deviations: Array, bounds: Bounds) -> Array:
    """Return the means of normal distributions after reflection into the bounds."""
    means = np.empty_like(Y)
    for c in range(Y.shape[1]):
        low, high = bounds.low[c], bounds.high[c]
        s = deviations[:, c]
        if not np.isfinite(low) and not np.isfinite(high):
            means[:, c] = Y[:, c]
            continue
        means[:, c] = 0.0
        for sign, shift in bounds.column_images(c, _GAUSSIAN_REACH * float(s.max())):
            center = sign * Y[:, c] + shift
            a, b = (low - center) / s, (high - center) / s
            means[:, c] += center * (ndtr(b) - ndtr(a)) - s * (_normal(b) - _normal(a))
    return means


def _normal(u: Array) -> Array:
    return np.asarray(np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi))
