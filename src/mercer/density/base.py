"""Base class of density estimators, and functions of distributions of one column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.dask import passes_for
from mercer.data.points import validate_weights
from mercer.utils.distributions import invert_increasing
from mercer.utils.estimators import MercerBase
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real, check_weights

__all__ = ["Density", "Distribution", "exponential", "mean_log_density"]


class Distribution(ABC):
    """A distribution with a density; quantiles and regions are those of one column.

    Methods take arrays of shape (m, d).
    """

    @abstractmethod
    def log_density(self, X: Any) -> Array:
        """Return the log density at every row."""

    @abstractmethod
    def cdf(self, X: Any) -> Array:
        """Return the distribution function at every row."""

    @abstractmethod
    def spread(self) -> Array:
        """Return points of one column in order, where the density is not small."""

    def limits(self) -> tuple[float, float]:
        """Return the ends of the support."""
        return -np.inf, np.inf

    @property
    def has_cdf(self) -> bool:
        """Whether ``cdf`` is available for one column."""
        return True

    def quantile(self, q: Array) -> Array:
        """Return the quantiles; those at 0 and 1 are the ends of the support."""
        found = np.where(q == 0, *self.limits()).ravel()
        inner = ((q > 0) & (q < 1)).ravel()
        if inner.any():
            found[inner] = invert_increasing(
                lambda x: self.cdf(x[:, None]),
                lambda x: exponential(self.log_density(x[:, None])),
                q.ravel()[inner],
                *self.spread()[[0, -1]],
            )
        return found.reshape(q.shape)


@dataclass(frozen=True)
class _OfEstimator(Distribution):
    """The distribution of a fitted estimator with ``score_samples``, ``cdf`` and ``sample``."""

    estimator: Any

    def log_density(self, X: Array) -> Array:
        return np.asarray(self.estimator.score_samples(self._named(X)))

    def cdf(self, X: Array) -> Array:
        return np.asarray(self.estimator.cdf(self._named(X)))

    def spread(self) -> Array:
        return np.sort(self.estimator.sample(500, random_state=0)[:, 0])

    @property
    def has_cdf(self) -> bool:
        return bool(self.estimator._has_cdf())

    def _named(self, X: Array) -> Any:
        """Return rows with the names of the columns, which ``score_samples`` expects."""
        if not hasattr(self.estimator, "feature_names_in_"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=self.estimator.feature_names_in_)


class _Regions:
    """Sets on which the density of one column is at least a level."""

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution
        points = distribution.spread()
        tails = [self._tail(points, side) for side in (0, 1)]
        inner = np.linspace(points[0], points[-1], 1001)
        self.grid = np.unique(np.concatenate([points, inner, *tails]))
        self.logs = self._log_density(self.grid)

    def _log_density(self, x: Array) -> Array:
        return self.distribution.log_density(x[:, None])

    def _tail(self, points: Array, side: int) -> Array:
        """Return positions beyond the first or the last point, until the density is negligible."""
        end = float(points[-side])
        width = float(points[-1] - points[0]) or abs(end) or 1.0
        with np.errstate(over="ignore"):
            steps = end + (2 * side - 1) * width * 2.0 ** np.arange(-9, 40)
        steps = np.clip(steps, *self.distribution.limits())
        steps = steps[np.isfinite(steps)]
        logs = self._log_density(steps)
        far = np.flatnonzero(logs < float(self._log_density(points).max()) - 40)
        return np.asarray(steps[: far[0] + 1] if len(far) else steps)

    def intervals(self, log_level: float) -> Array:
        """Return the lower and upper ends of the intervals, shape (k, 2)."""
        inside = np.r_[False, self.logs >= log_level, False]
        starts = np.flatnonzero(~inside[:-1] & inside[1:])
        stops = np.flatnonzero(inside[:-1] & ~inside[1:]) - 1
        within, last = np.r_[starts, stops], len(self.grid) - 1
        beyond = np.clip(np.r_[starts - 1, stops + 1], 0, last)
        return np.stack(np.split(self._crossings(within, beyond, log_level), 2), axis=1)

    def _crossings(self, within: Array, beyond: Array, log_level: float) -> Array:
        """Return where the log density crosses a level, between entries of the grid.

        False position that halves the value of an end that is retained (the Illinois method), with
        a bisection in every third step.
        """
        x, other = self.grid[within], self.grid[beyond]
        above, below = self.logs[within] - log_level, self.logs[beyond] - log_level
        found = x.copy()
        for step in range(100):
            moves = np.abs(other - x) > 4 * np.spacing(np.maximum(np.abs(x), np.abs(other)))
            moves &= above > 0
            if not moves.any():
                break
            a, b, at_a, at_b = x[moves], other[moves], above[moves], below[moves]
            fraction = np.full(len(a), 0.5)
            if step % 3 < 2:
                usable = np.isfinite(at_b)
                fraction[usable] = at_a[usable] / (at_a[usable] - at_b[usable])
            middle = a + fraction * (b - a)
            value = self._log_density(middle) - log_level
            inner = value >= 0
            done = (np.abs(value) < 1e-13) | (np.abs(middle - found[moves]) < np.spacing(middle))
            found[moves] = middle
            x[moves], other[moves] = np.where(inner, middle, a), np.where(inner, b, middle)
            above[moves] = np.where(done, 0.0, np.where(inner, value, 0.5 * at_a))
            below[moves] = np.where(inner, 0.5 * at_b, value)
        return found

    def mass(self, log_level: float) -> float:
        """Return the probability of the intervals."""
        found = self.intervals(log_level)
        if len(found) == 0:
            return 0.0
        values = self.distribution.cdf(found.reshape(-1, 1)).reshape(-1, 2)
        return float((values[:, 1] - values[:, 0]).sum())

    def log_level(self, coverage: float) -> float:
        """Return the log density above which the density has the given mass."""
        finite = self.logs[np.isfinite(self.logs)]
        least, most = float(finite.min()) - 1, float(finite.max()) + 1
        # a first guess by the trapezoidal rule
        means = np.logaddexp(self.logs[1:], self.logs[:-1]) - np.log(2)
        order = np.argsort(-means)
        masses = np.cumsum(np.exp(means + np.log(np.diff(self.grid)))[order])
        guess = means[order[min(int(np.searchsorted(masses, coverage)), len(order) - 1)]]
        gap = 0.01
        while True:  # the mass decreases with the level
            low, high = np.clip([guess - gap, guess + gap], least, most)
            at_low, at_high = self.mass(low) - coverage, self.mass(high) - coverage
            if at_low >= 0 >= at_high or (low == least and high == most):
                break
            gap *= 4
        return float(brentq(lambda level: self.mass(level) - coverage, low, high, xtol=1e-10))


class Density(DensityMixin, MercerBase):  # type: ignore[misc]
    """An estimator of log densities."""

    n_features_in_: int

    _table: ClassVar[Literal["sum", "product"] | None] = None  # no kernel of a table is a density

    def _has_cdf(self) -> bool:
        """Whether ``cdf`` is available for one column."""
        return False

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X."""

    @abstractmethod
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density."""

    def _distribution(self) -> Distribution:
        return _OfEstimator(self)

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
        return self._distribution().quantile(q)

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
        distribution = self._distribution()
        if self.n_features_in_ == 1 and distribution.has_cdf:
            regions = _Regions(distribution)
            logs = np.array([regions.log_level(c) for c in levels])
        else:
            check_integer(n_samples, "n_samples")
            drawn = self.sample(n_samples, random_state=random_state)
            logs = np.quantile(distribution.log_density(drawn), 1 - np.array(levels))
        found = (logs if log else np.exp(logs)).reshape(np.shape(coverage))
        return float(found) if found.ndim == 0 else found

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
        regions = _Regions(self._distribution())
        return regions.intervals(regions.log_level(coverage))

    def _check_one_column(self, method: str) -> None:
        check_is_fitted(self)
        if self.n_features_in_ != 1:
            raise ValueError(
                f"{method} is defined for one column; the density has {self.n_features_in_}. Fit "
                "one column, or use density_level."
            )


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


def exponential(logs: Array) -> Array:
    """Return ``exp(logs)``, inf on overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))
