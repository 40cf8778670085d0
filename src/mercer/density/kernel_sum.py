r"""Densities that are sums of kernels at training points.

.. math:: \hat p(x) = \sum_j a_j\, k(x, x_j) / \int k, \qquad \sum_j a_j = 1

The kernel is the same at all points, or normal with a bandwidth (matrix) per point. With a bounded
support the sum is reflected at the bounds, or it is the density of transformed columns ("on the
line").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer.bandwidth.adaptive_density import SamplePointDensity
from mercer.bandwidth.likelihood import smoothing_gap
from mercer.data.points import Points, PointSet, Sample
from mercer.data.subsampling import representative_rows
from mercer.density.base import Distribution, exponential
from mercer.density.bounds import Bounds
from mercer.density.conditional import condition_adapted, condition_kernel
from mercer.eigen.approximations import Fourier, Nystrom
from mercer.eigen.decompose import MANY_ISOLATED, NEIGHBOR_COSINE, isolated_fraction
from mercer.eigen.plan import Auto, as_solver, summing_grid
from mercer.errors import ApproximationWarning, suppressed, warn
from mercer.gram import FourierGram, WindowSum
from mercer.kernels import Epanechnikov, Gaussian, Kernel, Stationary
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
from mercer.kernels.stationary import Radial
from mercer.utils.distributions import GaussianTerms
from mercer.utils.resources import run_in_threads
from mercer.utils.types import Array

__all__ = ["KernelSum", "mean_window", "validate_density_sample"]

_GAUSSIAN_REACH = 9.0  # standard deviations beyond which a normal density is negligible
_NODES = np.linspace(-9, 9, 361)  # of the trapezoidal rule for normal distributions

_Derivatives = Callable[[Array], LogDerivatives]
_Climb = tuple[Array, LogDerivatives, Array]


@dataclass(frozen=True, eq=False)
class KernelSum(Distribution):
    """A density that is a sum of kernels, perhaps with a bounded support."""

    # the sum on the line: one kernel for all points, or one bandwidth (matrix) per point
    terms: WindowSum | SamplePointDensity
    bounds: Bounds | None = None
    mass: float = 1.0  # the sum of the coefficients, by which a series is divided
    # mass of the negative part of a series, which is clipped: relative to the mass of the sum
    clipped_mass: float = 0.0

    @property
    def dimension(self) -> int:
        """Number of columns."""
        if isinstance(self.terms, SamplePointDensity):
            return self.terms.points.shape[1]
        return self.terms.points.dimension or 0

    @property
    def log_scale(self) -> float:
        """Logarithm of the number that divides a sum with one kernel."""
        assert isinstance(self.terms, WindowSum)
        log_mass = np.log(self.mass) + np.log1p(self.clipped_mass)
        return float(self.terms.kernel.log_normalizer(self.dimension) + log_mass)

    def centers_and_weights(self, method: str) -> tuple[Array, Array]:
        """Return the training points on the line and their weights, which sum to 1."""
        terms = self.terms
        if isinstance(terms, SamplePointDensity):
            return terms.coordinates.original(terms.points), terms.weights
        if terms.points.is_chunked:
            raise ValueError(
                f"{method} needs the training rows in memory, but they are in a Dask collection. "
                "Fit the density to a sample of them."
            )
        if self.clipped_mass > 0:
            raise ValueError(
                f"{method} is not available for a series whose negative values are clipped "
                f"(clipped_mass_={self.clipped_mass:.3g}). Use ParzenDensity or positive=False."
            )
        return terms.points.data.astype(np.float64, copy=False), terms.coefficients / self.mass

    # --- log density ------------------------------------------------------------------------------

    def log_density(self, X: Array | PointSet) -> Array:
        """Return the log density at every row, lazy for chunks; -inf where it is not positive."""
        new = X if isinstance(X, PointSet) else Points(X)
        if self.bounds is None:
            return self._on_line(new)
        return new.map_rows(self._bounded)

    def _on_line(self, new: Any) -> Array:
        """Return the log density without bounds."""
        if isinstance(self.terms, SamplePointDensity):
            return new.map_rows(partial(_adapted_logs, self.terms))
        sign, logs = self.terms.signed_log(new)
        logs = logs - self.log_scale
        return np.where(sign > 0, logs, -np.inf)

    def _bounded(self, points: Points) -> Array:
        assert self.bounds is not None
        X = points.data.astype(np.float64, copy=False)
        logs = np.full(len(X), -np.inf)
        inside = self.bounds.inside(X)
        if not inside.any():
            return logs
        Z = self.bounds.to_line(X[inside])
        if self.bounds.reflects:
            logs[inside] = self._reflected(Z, self.bounds)
        else:
            logs[inside] = self._on_line(Points(Z)) + self.bounds.log_slope(X[inside])
        return logs

    def _reflected(self, X: Array, bounds: Bounds) -> Array:
        """Return ``log Σ_g p̂(g x)`` over the reflections g, at rows inside of the support."""
        logs = self._on_line(Points(X))
        total = logs.copy()
        for image in bounds.images(self._reach())[1:]:
            reflected = image(X)
            needed = self._log_bound(reflected) > logs - 40  # a fraction e^-40 is omitted
            if needed.any():
                added = self._at_images(reflected[needed], logs[needed])
                total[needed] = np.logaddexp(total[needed], added)
        return total

    def _at_images(self, X: Array, logs: Array) -> Array:
        """Return the log density without bounds at images of points with the given log densities.

        On a frequency grid small values at images would be recomputed from the training points,
        which is slow. They need not be, where the point itself is well above the grid's error.
        """
        terms = self.terms
        if isinstance(terms, SamplePointDensity) or terms.waves is None:
            return self._on_line(Points(X))
        found = np.empty(len(X))
        # sums on a frequency grid have an absolute error; smaller values are computed directly
        exact = logs + self.log_scale < np.log(1e6 * terms._noise)
        with np.errstate(divide="ignore"):
            values = terms.values(Points(X[~exact])) if not exact.all() else np.empty(0)
            found[~exact] = np.log(np.maximum(values, 0)) - self.log_scale
        if exact.any():
            found[exact] = self._on_line(Points(X[exact]))
        return found

    def _log_bound(self, X: Array) -> Array:
        """Return an upper bound of the log density without bounds; inf if none is known."""
        terms = self.terms
        kernel = terms.kernel if isinstance(terms, WindowSum) else None
        correlated = isinstance(kernel, Gaussian) and kernel.metric is not None
        if correlated or not isinstance(kernel, Radial):
            return np.full(len(X), np.inf)
        assert isinstance(terms, WindowSum)
        nearest = np.clip(X, *terms.points.bounds())  # at least as near as any training point
        squares = (kernel.to_units(X - nearest) ** 2).sum(axis=1)
        return kernel.log_profile(-0.5 * squares) - self.log_scale

    # --- distribution function --------------------------------------------------------------------

    @property
    def has_cdf(self) -> bool:
        """Whether the centers are in memory and nothing is clipped."""
        return isinstance(self.terms, SamplePointDensity) or not (
            self.terms.points.is_chunked or self.clipped_mass > 0
        )

    def cdf(self, X: Array | PointSet) -> Array:
        """Return the probability of ``x' <= x`` in all columns; kernels must be products."""
        new = X if isinstance(X, PointSet) else Points(X)
        return new.map_rows(self._cdf)

    def _cdf(self, points: Points) -> Array:
        X = points.data.astype(np.float64, copy=False)
        Y, weights = self.centers_and_weights("cdf")
        terms = self._product_terms()
        bounds = self.bounds
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
                found[rows] += fraction * (masses @ weights)
        return np.clip(found, 0.0, 1.0)

    def _product_terms(self) -> list[tuple[float, Kernel, Array]]:
        """Return fraction, kernel and bandwidths (d,) or (n, d) of kernels that are products."""
        terms, d = self.terms, self.dimension
        if isinstance(terms, SamplePointDensity):
            factor, inverses = terms.coordinates.factor, terms.inverses
            if inverses.ndim == 3 and d == 1:
                inverses = inverses[:, 0, 0]
            if inverses.ndim == 1 and (factor == np.diag(factor.diagonal())).all():
                return [(1.0, Gaussian(1.0), factor.diagonal() / inverses[:, None])]
        else:
            parts = density_terms(terms.kernel, d)
            if all(is_product(kernel, d) for _, kernel in parts):
                return [(a, kernel, column_bandwidths(kernel, d)) for a, kernel in parts]
        raise ValueError(
            f"cdf of {d} columns needs kernels that are products over the columns: a Gaussian "
            "without correlations, or a Laplacian kernel. Fit one column, or use such a kernel."
        )

    def quantile(self, q: Array) -> Array:
        """Return the quantiles of one column, for a transformed column from those on the line."""
        bounds = self.bounds
        if bounds is None or bounds.reflects:
            return super().quantile(q)
        inner = bounds.from_line(replace(self, bounds=None).quantile(q).reshape(-1, 1))
        low, high = self.limits()
        return np.where(q == 0, low, np.where(q == 1, high, inner[:, 0].reshape(q.shape)))

    def spread(self) -> Array:
        """Return quantiles of the training points of one column."""
        Y, _ = self.centers_and_weights("quantile")
        points = np.quantile(Y[:, 0], np.linspace(0, 1, 501))
        return points if self.bounds is None else self.bounds.from_line(points[:, None])[:, 0]

    def limits(self) -> tuple[float, float]:
        """Return the ends of the support of one column."""
        bounds, terms, low, high = self.bounds, self.terms, -np.inf, np.inf
        if bounds is not None:
            low, high = float(bounds.low[0]), float(bounds.high[0])
        if isinstance(terms, WindowSum) and isinstance(terms.kernel, Epanechnikov):
            Y, _ = self.centers_and_weights("quantile")
            b = float(terms.kernel.bandwidth_vector(1)[0])
            first, last = Y.min() - b, Y.max() + b
            if bounds is not None and not bounds.reflects:
                first, last = bounds.from_line(np.array([[first], [last]]))[:, 0]
            low, high = max(low, float(first)), min(high, float(last))
        return low, high

    # --- derivatives ------------------------------------------------------------------------------

    def gradient(self, X: PointSet, *, log: bool = True) -> Array:
        """Return the gradient of the (log) density at every row; NaN where the density is 0."""
        return X.map_rows(partial(self._gradient, log=log))

    def _gradient(self, points: Points, *, log: bool) -> Array:
        self.centers_and_weights("gradient")
        X, bounds = points.data.astype(np.float64, copy=False), self.bounds
        found = np.full(X.shape, np.nan)
        inside = np.ones(len(X), dtype=bool) if bounds is None else bounds.inside(X)
        if inside.any():
            Z = X[inside] if bounds is None else bounds.to_line(X[inside])
            slopes = 1.0 if bounds is None else bounds.slopes(X[inside])
            found[inside] = self.derivatives(Z).gradient * slopes
        if not log:
            found *= exponential(self.log_density(points))[:, None]
        return found

    def derivatives(self, Z: Array) -> LogDerivatives:
        """Return the derivatives of the log density of x with respect to z, the line's coordinates.

        Reflections are included; for transformations the density is that of x.
        """
        bounds = self.bounds
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
        if isinstance(self.terms, SamplePointDensity):
            return self.terms.derivatives(Z)
        return sum_derivatives(self.terms.kernel, Z, *self.centers_and_weights("gradient"))

    def _reach(self) -> Array:
        """Return the reach of the kernels along the columns."""
        if isinstance(self.terms, SamplePointDensity):
            return _GAUSSIAN_REACH * self.terms.deviations().max(axis=0)
        return reach(self.terms.kernel, self.dimension)

    def modes(
        self, X: Array | None, *, tol: float, max_iter: int, merge: float
    ) -> tuple[Array, Array, bool]:
        """Return the modes that starts lead to, the mode of each start, and whether all converged.

        ``X``: None for representative training points. Starts where the density is 0 have no mode
        (-1). ``tol``, ``max_iter``, ``merge``: as in :func:`find_modes`.
        """
        Y, weights = self.centers_and_weights("modes")
        if X is None:
            starts = Y[representative_rows(Y, weights, 500)[0]]
            usable = np.ones(len(starts), dtype=bool)
        else:
            usable = np.isfinite(self.log_density(X))
            starts = X[usable] if self.bounds is None else self.bounds.to_line(X[usable])
        labels = np.full(len(usable), -1)
        if len(starts) == 0:
            return np.empty((0, Y.shape[1])), labels, True
        if self.derivatives(starts[:1]).precisions is None:
            assert isinstance(self.terms, WindowSum)
            raise ValueError(
                "modes needs a differentiable kernel (Gaussian, Matern, Epanechnikov), not "
                f"{self.terms.kernel!r}."
            )
        found, _, labels[usable], converged = find_modes(
            self.derivatives, starts, tol=tol, max_iter=max_iter, merge=merge
        )
        return found if self.bounds is None else self.bounds.from_line(found), labels, converged

    # --- moments, conditional densities, draws ----------------------------------------------------

    def mean(self) -> Array:
        """Return the mean, shape (d,); with bounds it needs normal kernels."""
        Y, weights = self.centers_and_weights("mean")
        bounds, terms = self.bounds, self.terms
        if bounds is None:
            return np.asarray(weights @ Y)
        if isinstance(terms, SamplePointDensity):
            deviations = terms.deviations()
        elif isinstance(terms.kernel, Gaussian):
            deviations = np.broadcast_to(column_bandwidths(terms.kernel, Y.shape[1]), Y.shape)
        else:
            raise ValueError(
                f"The mean of a density with bounds needs a Gaussian kernel, not {terms.kernel!r}. "
                "Use the mean of draws from sample."
            )
        means = _reflected_means if bounds.reflects else _transformed_means
        return np.asarray(weights @ means(Y, deviations, bounds))

    def conditional(self, given: dict[int, float]) -> tuple[KernelSum, Array]:
        """Return the density of the other columns, and the indices of its kernels in this sum."""
        centers, weights = self.centers_and_weights("conditional")
        columns = sorted(given)
        free = [column for column in range(self.dimension) if column not in given]
        bounds, reflected = self.bounds, None
        if bounds is not None:
            fixed = bounds.take(columns)
            values = np.array([[given[column] for column in columns]])
            fixed.check(values, np.array(["given"]))
            given = dict(zip(columns, fixed.to_line(values)[0].tolist(), strict=True))
            reflected = fixed if bounds.reflects else None
        terms: WindowSum | SamplePointDensity
        if isinstance(self.terms, SamplePointDensity):
            terms, found = condition_adapted(self.terms, given, reflected)
        else:
            kernel, found = condition_kernel(self.terms.kernel, centers, weights, given, reflected)
            terms = WindowSum(kernel, Points(found.centers), found.weights)
        return KernelSum(terms, None if bounds is None else bounds.take(free)), found.used

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw from a sum with positive weights: a training point, plus a draw from its kernel."""
        if isinstance(self.terms, SamplePointDensity):
            drawn = self.terms.draw(count, rng)
        else:
            drawn = draw_from_window(self.terms, count, rng)
        return drawn if self.bounds is None else self.bounds.from_line(drawn)

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the density as a sum of normal densities with one covariance matrix, if it is."""
        terms = self.terms
        if (
            isinstance(terms, SamplePointDensity)
            or self.bounds is not None
            or self.clipped_mass > 0
            or terms.points.is_chunked
            or not isinstance(terms.kernel, Gaussian)
        ):
            return None
        means, weights = self.centers_and_weights("gaussian_terms")
        return (GaussianTerms(weights, means, terms.kernel.bandwidth_matrix(means.shape[1])),)

    @property
    def why_not_saved(self) -> str | None:
        """Return a reason why a model file would be useless, or None."""
        if isinstance(self.terms, WindowSum) and self.terms.needs_cluster:
            return (
                "without Fourier features (a Gaussian or Matérn kernel, at most 3 columns) it "
                "needs the training rows, which are on a Dask cluster; fit it to a sample "
                "of the rows in memory"
            )
        return None


def _adapted_logs(density: SamplePointDensity, points: Points) -> Array:
    return density.log_density(points.data.astype(np.float64, copy=False), run_in_threads)


def draw_from_window(window: WindowSum, count: int, rng: np.random.Generator) -> Array:
    """Draw from a sum of one kernel with positive coefficients."""
    chosen = window.points.draw(window.coefficients, count, rng)
    return np.asarray(chosen + window.kernel.draw(count, chosen.shape[1], rng))


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


def _transformed_means(Y: Array, deviations: Array, bounds: Bounds) -> Array:
    """Return the means of normal distributions of the transformed columns.

    With one bound they are lognormal.
    """
    masses = np.exp(-0.5 * _NODES**2)
    means = np.zeros_like(Y)
    for node, mass in zip(_NODES, masses / masses.sum(), strict=True):
        means += mass * bounds.from_line(Y + node * deviations)
    halves = 0.5 * deviations**2
    for c in range(Y.shape[1]):
        low, high = bounds.low[c], bounds.high[c]
        if np.isfinite(low) and not np.isfinite(high):
            means[:, c] = low + exponential(Y[:, c] + halves[:, c])
        elif np.isfinite(high) and not np.isfinite(low):
            means[:, c] = high - exponential(halves[:, c] - Y[:, c])
    return means


def _normal(u: Array) -> Array:
    return np.asarray(np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi))


# --- fitting --------------------------------------------------------------------------------------


def mean_window(sample: Sample, solver: Any = "auto") -> WindowSum:
    """Return the weighted mean of k(·, x_j), for evaluation anywhere.

    It is evaluated on a frequency grid if the solver is ``Fourier``, or if it is "auto" and the
    grid is cheaper. With "auto", many sums of a Gaussian kernel in four or more dimensions, where
    there is no grid, skip negligible points, with a relative error of at most 1e-6. All other sums
    are over all pairs.
    """
    chosen = as_solver(solver)
    if isinstance(chosen, Nystrom):
        raise ValueError(
            f"solver={solver!r} cannot evaluate a density: with landmarks it can be "
            "negative. Use 'auto', 'fourier' (Gaussian, at most 3 columns) or 'lanczos' (exact)."
        )
    kernel, points, grid = sample.kernel, sample.points, None
    if isinstance(chosen, Fourier):
        full = chosen.gram(sample)
        assert isinstance(full, FourierGram)
        grid = full.grid
    elif isinstance(chosen, Auto):
        grid = summing_grid(sample)
    if grid is None:
        many_columns = points.dimension is not None and points.dimension > 3
        boxes = many_columns and not points.is_chunked and isinstance(kernel, Gaussian)
        boxes = boxes and isinstance(chosen, Auto)
        return WindowSum(kernel, points, sample.normalized_weights, boxes=boxes)
    gram = FourierGram(kernel, points, sample.weights, grid, only_mean=True)
    mean = gram.expansion(np.ones(1), gram.mean_vector[:, None])
    return WindowSum(kernel, points, sample.normalized_weights, mean)


def validate_density_sample(estimator: Any, X: Any, sample_weight: Any, kernel: Kernel) -> Sample:
    """Validate training data and fit the kernel; raise if it has no finite integral.

    Warn about many columns, and about bandwidths that were not chosen by likelihood.
    """
    if not kernel.is_density:
        kernel.log_normalizer(1)  # raises
    sample: Sample = estimator._validate_training(X, sample_weight, kernel=kernel)
    n, d = sample.points.n, sample.points.dimension or 0
    sample.kernel.log_normalizer(d)  # raises for a kernel with an integral in few dimensions only
    if d > 50:
        warn(
            f"A kernel density estimate from {n} points in {d} dimensions (more than "
            "50) is inaccurate almost everywhere. Reduce the number of columns "
            "first, for example with KernelPCA, or only compare densities of points.",
            ApproximationWarning,
        )
    if issubclass(ApproximationWarning, suppressed.get()):
        return sample
    if isinstance(kernel, Stationary):
        if not (kernel.has_rule("auto") or kernel.has_rule("leave-one-out")):
            _warn_of_smoothing(sample)
        return sample
    isolated = isolated_fraction(sample)
    if isolated > MANY_ISOLATED:
        warn(
            f"{isolated:.0%} of the points are isolated (cosine with every other point in feature "
            f"space at most {NEIGHBOR_COSINE}), so the density has a narrow peak at each of them "
            "and almost no mass between. Use a larger bandwidth, for example "
            "bandwidth='leave-one-out'.",
            ApproximationWarning,
        )
    return sample


def _warn_of_smoothing(sample: Sample) -> None:
    """Warn if other bandwidths have a much larger leave-one-out likelihood."""
    kernel, n = sample.kernel, sample.points.n
    assert isinstance(kernel, Stationary)
    rows = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
    weights = np.ones(len(rows))
    if sample.weights is not None:
        weights = sample.passes.take(sample.multiplicities, rows)
    X = sample.points.take(rows).data
    factor, gap = smoothing_gap(kernel, X, weights, n / len(rows))
    if gap > 0.5:  # the geometric means of the densities differ by a factor of 1.6
        warn(
            f"The density is {'over' if factor < 1 else 'under'}smoothed: with bandwidths "
            f"{factor:.2g} times as large, its leave-one-out log-likelihood ({len(rows)} rows) is "
            f"higher by {gap:.2g} nats per point. bandwidth='auto' chooses the most likely "
            "bandwidth.",
            ApproximationWarning,
        )


# --- mean shift -----------------------------------------------------------------------------------


def _climb(derivatives: _Derivatives, starts: Array, tol: float, max_iter: int) -> _Climb:
    """Follow the mean shift ``x + C⁻¹ ∇ log p`` until steps are shorter than ``tol`` bandwidths.

    A step that would decrease the density is halved. Returns the points, the derivatives there, and
    which points have converged.
    """
    X = starts.copy()
    current = _copied(derivatives(X))
    scale = np.ones(len(X))
    active = np.ones(len(X), dtype=bool)
    for _ in range(max_iter):
        rows = np.flatnonzero(active)
        steps, lengths = _steps(_rows(current, rows))
        moving = (lengths > tol) & (scale[rows] > 1e-8)
        active[rows[~moving]] = False
        rows, steps = rows[moving], steps[moving]
        if len(rows) == 0:
            break
        proposed = X[rows] + scale[rows, None] * steps
        found = derivatives(proposed)
        better = found.logs >= current.logs[rows]
        chosen = rows[better]
        X[chosen] = proposed[better]
        assert current.precisions is not None
        assert found.precisions is not None
        current.logs[chosen], current.gradient[chosen] = found.logs[better], found.gradient[better]
        current.precisions[chosen] = found.precisions[better]
        scale[chosen] = 1.0
        scale[rows[~better]] *= 0.5
    return X, current, ~active


def find_modes(
    derivatives: _Derivatives, starts: Array, *, tol: float, max_iter: int, merge: float
) -> tuple[Array, Array, Array, bool]:
    """Return the local maxima that the starts lead to.

    ``starts``: shape (m, d). ``tol``: length of a step, in bandwidths, at which an iteration has
    converged. ``merge``: distance in bandwidths below which two maxima are one. Returns ``modes``:
    the highest first. ``logs``: their log densities, up to a constant. ``labels``: the mode of
    every start.
    """
    # climbs that meet after short steps are joined
    first = _climb(derivatives, starts, 1e-2, max_iter)
    representatives, groups = _merge(first, 0.3)
    X, at, _ = _climb(derivatives, first[0][representatives], tol, max_iter)
    # a start on a line of symmetry can end in a saddle point
    noise = np.random.default_rng(0).standard_normal(X.shape)
    assert at.precisions is not None
    shift = np.linalg.solve(np.swapaxes(np.linalg.cholesky(at.precisions), 1, 2), noise[..., None])
    # a twentieth of a bandwidth, to leave saddle points
    again = _climb(derivatives, X + 0.05 * shift[..., 0], tol, max_iter)
    chosen, labels = _merge(again, merge)
    return again[0][chosen], again[1].logs[chosen], labels[groups], bool(again[2].all())


def _steps(at: LogDerivatives) -> tuple[Array, Array]:
    """Return the steps of the mean shift and their lengths in bandwidths."""
    assert at.precisions is not None
    steps = np.linalg.solve(at.precisions, at.gradient[..., None])[..., 0]
    return steps, np.sqrt(np.maximum((steps * at.gradient).sum(axis=1), 0))


def _merge(found: _Climb, radius: float) -> tuple[Array, Array]:
    """Return the indices of the highest points that differ, and the group of every point."""
    X, at, _ = found
    assert at.precisions is not None
    labels = np.full(len(X), -1)
    chosen: list[int] = []
    for index in np.argsort(-at.logs, kind="stable"):
        if labels[index] >= 0:
            continue
        free = np.flatnonzero(labels < 0)
        differences = X[free] - X[index]
        squares = np.einsum("ic,cd,id->i", differences, at.precisions[index], differences)
        labels[free[squares <= radius**2]] = len(chosen)
        labels[index] = len(chosen)
        chosen.append(int(index))
    return np.array(chosen), labels


def _rows(at: LogDerivatives, rows: Array) -> LogDerivatives:
    assert at.precisions is not None
    return LogDerivatives(at.logs[rows], at.gradient[rows], at.precisions[rows])


def _copied(at: LogDerivatives) -> LogDerivatives:
    assert at.precisions is not None
    return LogDerivatives(at.logs.copy(), at.gradient.copy(), at.precisions.copy())
