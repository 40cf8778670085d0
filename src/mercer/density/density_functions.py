"""Quantiles and highest-density regions of fitted densities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from mercer.density.base import Density
from mercer.utils.inversion import invert_increasing
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["DensityFunctions"]

_N_QUANTILES = 500  # of the grid on which regions are found
_N_UNIFORM = 1001
_BISECTIONS = 50  # within a cell of the grid
_COARSE_BISECTIONS = 25  # while the level is searched


class DensityFunctions(Density):
    """A density with quantiles and highest-density regions."""

    n_features_in_: int

    @abstractmethod
    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density."""

    @abstractmethod
    def cdf(self, X: Any) -> Array:
        """Return the distribution function."""

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
        drawn = self.sample(64, random_state=0)
        return invert_increasing(
            lambda x: self.cdf(self._new_rows(x[:, None])),
            lambda x: self.pdf(self._new_rows(x[:, None])),
            q,
            float(drawn.min()),
            float(drawn.max()),
        )

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
            drawn = self.sample(n_samples, random_state=random_state)
            scores = self.score_samples(self._new_rows(drawn))
            logs = np.quantile(scores, 1 - np.array(levels))
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
