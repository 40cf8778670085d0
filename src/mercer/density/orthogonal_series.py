"""Densities as classical orthogonal series, a baseline for the kernel series.

Bases are orthonormal in z, a shifted and scaled coordinate. Notation: φ_k the functions,
``I_k = ∫ φ_k(z) dz`` their integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any, Literal, Self

import numpy as np
from scipy.special import eval_laguerre, eval_legendre
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data.points import validate_points, validate_weights
from mercer.density.base import mean_log_density
from mercer.density.series_terms import (
    check_terms,
    choose_terms,
    grid_points,
    negative_mass_on_grid,
)
from mercer.utils.estimators import MercerBase, all_or_nothing
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import warn_if_heavy
from mercer.utils.weights import multiplicities

__all__ = ["BASES", "Basis", "OrthogonalSeries"]

_CELLS_PER_AXIS = {1: 4095, 2: 255, 3: 63}  # of the grid for the clipped mass and for samples


@dataclass(frozen=True)
class Basis:
    """Orthonormal basis."""

    # ``φ_0 … φ_{m-1}`` at points z, as an array of shape (len(z), m); 0 outside the domain
    functions: Callable[[Array, int], Array]
    masses: Callable[[int], Array]  # I_0 … I_{m-1}
    # offset and scale ``(o, s)`` of ``z = (x - o)/s`` for a sample, its normalized weights (sum
    # 1) and the ends of the domain
    scaling: Callable[[Array, Array, tuple[float, float]], tuple[float, float]]
    # interval of z outside which the first m functions are zero or negligible
    extent: Callable[[int], tuple[float, float]]


def _hermite(z: Array, m: int) -> Array:
    """Return ``(2^k k! √π)^{-1/2} exp(-z²/2) H_k(z)`` by recurrence, which does not overflow."""
    values = np.zeros((len(z), max(m, 2)))
    values[:, 0] = np.pi**-0.25 * np.exp(-0.5 * z**2)
    values[:, 1] = np.sqrt(2) * z * values[:, 0]
    for k in range(1, m - 1):
        up, down = np.sqrt(2 / (k + 1)), np.sqrt(k / (k + 1))
        values[:, k + 1] = up * z * values[:, k] - down * values[:, k - 1]
    return values[:, :m]


def _hermite_masses(m: int) -> Array:
    masses = np.zeros(m)
    masses[0] = np.sqrt(2) * np.pi**0.25
    for k in range(2, m, 2):
        masses[k] = np.sqrt((k - 1) / k) * masses[k - 2]
    return masses


def _hermite_scaling(x: Array, weights: Array, ends: tuple[float, float]) -> tuple[float, float]:
    """Return mean and standard deviation.

    With this scaling, a normal density is a multiple of the first function.
    """
    mean = float(weights @ x)
    largest = float(np.abs(x - mean).max())  # squares of deviations relative to it do not overflow
    return mean, largest * float(np.sqrt(weights @ ((x - mean) / largest) ** 2))


def _laguerre(z: Array, m: int) -> Array:
    """Return ``exp(-z/2) L_k(z)`` for z ≥ 0."""
    inside = np.maximum(z, 0)
    values = eval_laguerre(np.arange(m), inside[:, None]) * np.exp(-0.5 * inside)[:, None]
    return np.where(z[:, None] < 0, 0.0, values)


def _laguerre_scaling(x: Array, weights: Array, ends: tuple[float, float]) -> tuple[float, float]:
    """Return offset 0 and half the mean.

    With this scaling, an exponential density is a multiple of the first function.
    """
    return 0.0, 0.5 * float(weights @ x)


def _legendre(z: Array, m: int) -> Array:
    """Return ``√(k + 1/2) P_k(z)`` on [-1, 1]."""
    k = np.arange(m)
    values = np.sqrt(k + 0.5) * eval_legendre(k, np.clip(z, -1, 1)[:, None])
    return np.where(np.abs(z[:, None]) > 1, 0.0, values)


def _fourier(z: Array, m: int) -> Array:
    """Return ``1/√2, cos πz, sin πz, cos 2πz, …`` on [-1, 1]."""
    k = np.arange(m)
    angles = np.pi * ((k + 1) // 2) * z[:, None]
    values = np.where(k % 2 == 1, np.cos(angles), np.sin(angles))
    values[:, 0] = np.sqrt(0.5)
    return np.where(np.abs(z[:, None]) > 1, 0.0, values)


def _constant_masses(m: int) -> Array:
    return np.r_[np.sqrt(2), np.zeros(m - 1)]


def _interval_scaling(x: Array, weights: Array, ends: tuple[float, float]) -> tuple[float, float]:
    return 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])


BASES = {
    "hermite": Basis(
        _hermite,
        _hermite_masses,
        _hermite_scaling,
        lambda m: (-np.sqrt(2 * m + 1) - 5, np.sqrt(2 * m + 1) + 5),
    ),
    "fourier": Basis(_fourier, _constant_masses, _interval_scaling, lambda m: (-1.0, 1.0)),
    "legendre": Basis(_legendre, _constant_masses, _interval_scaling, lambda m: (-1.0, 1.0)),
    "laguerre": Basis(
        _laguerre,
        lambda m: 2.0 * (-1.0) ** np.arange(m),
        _laguerre_scaling,
        lambda m: (0.0, 4.0 * m + 60),
    ),
}


class OrthogonalSeries(DensityMixin, BaseEstimator, MercerBase):  # type: ignore[misc]
    r"""Density as a truncated series of classical orthonormal functions (Izenman 1991).

    .. math:: \hat p(x) = \sum_{k\ \text{selected}} \hat c_k \Phi_k(x), \qquad
        \hat c_k = \frac1n \sum_j \Phi_k(x_j)

    renormalized to mass 1; in up to three dimensions, with products of functions of one column.

    Parameters
    ----------
    basis : {"hermite", "fourier", "legendre", "laguerre"}
        On the line (relative to the mean, in standard deviations), on an interval ("fourier" and
        "legendre"), and on the half-line from 0 (in units of the mean).
    terms : str, int or None
        "kronmal-tarter", "kronmal-tarter-run", "diggle-hall", the number of terms, or None for
        all ``max_terms``.
    positive : bool
        Clip negative values and renormalize, by quadrature on a grid.
    max_terms : int
        Functions per column; in more dimensions products of total degree below this.
    domain : pair of array-likes of shape (d,), or None
        Ends of the interval for "fourier" and "legendre"; None for the range of the sample,
        extended by half of the mean spacing on either side. The density is 0 outside.

    Attributes
    ----------
    coefficients_ : array
        ĉ_k of all candidates, of functions orthonormal in the coordinates of X.
    degrees_ : array of shape (candidates, d)
        Degree of the function of each column.
    selected_ : array of int
        Indices of the selected candidates.
    mass_ : float
        Mass of the truncated series before renormalization.
    clipped_mass_, clipped_mass_error_ : float
        Mass of the negative part relative to ``mass_``, and its error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OrthogonalSeries
    >>> X = np.random.default_rng(0).normal(size=(1000, 1))
    >>> density = OrthogonalSeries("hermite").fit(X)
    >>> bool(abs(density.pdf([[0.0]])[0] - 0.3989) < 0.02)
    True
    """

    def __init__(
        self,
        basis: Literal["hermite", "fourier", "legendre", "laguerre"] = "hermite",
        *,
        terms: str | int | None = "kronmal-tarter",
        positive: bool = True,
        max_terms: int = 20,
        domain: Any = None,
    ) -> None:
        self.basis = basis
        self.terms = terms
        self.positive = positive
        self.max_terms = max_terms
        self.domain = domain

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the coefficients and select terms.

        Parameters
        ----------
        X : array-like of shape (n, d), d at most 3
        y : ignored
        sample_weight : array-like of shape (n,) or None
            A weight of 2 is equivalent to two copies of a row.
        """
        check_terms(self.terms)
        self._check_parameters()
        data = validate_points(X, "vectors", estimator=self).data.astype(np.float64)
        weights = validate_weights(sample_weight, len(data))
        weights = np.ones(len(data)) if weights is None else multiplicities(weights)
        data, weights = data[weights > 0], weights[weights > 0]
        warn_if_heavy(float(weights.sum()), len(data))
        self._check_data(data)
        n = float(weights.sum())
        self._offset, self._scale = self._scaling(data, weights / n, n)
        self._log_volume = float(np.log(self._scale).sum())
        self.degrees_ = _degrees(data.shape[1], self.max_terms)
        values = self._functions(self._standardized(data), np.arange(len(self.degrees_)))
        self._coefficients = weights @ values / n
        squares, moments = self._coefficients**2, weights @ values**2 / n
        self.selected_ = choose_terms(self.terms, squares, moments, n)
        if len(self.selected_) == 0:
            self.selected_ = np.array([0])
        self.mass_ = float(self._masses() @ self._coefficients[self.selected_])
        self.clipped_mass_, self.clipped_mass_error_ = self._negative_mass()
        return self

    def _check_parameters(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"basis={self.basis!r} must be one of {', '.join(map(repr, BASES))}.")
        if self.max_terms < 1:
            raise ValueError(f"max_terms={self.max_terms} must be at least 1.")

    def _check_data(self, data: Array) -> None:
        d = data.shape[1]
        if d not in _CELLS_PER_AXIS:
            raise ValueError(
                f"X has {d} columns; products of classical functions are limited to "
                f"{max(_CELLS_PER_AXIS)}. Use SeriesDensity."
            )
        if self.basis == "laguerre" and data.min() < 0:
            raise ValueError(
                f"basis='laguerre' requires x ≥ 0, but X has values down to {data.min():.6g}. "
                "Shift the data or use 'hermite'."
            )
        if len(data) == 1 or (np.ptp(data, axis=0) == 0).any():
            rows = "1 sample" if len(data) == 1 else "a constant column"
            raise ValueError(f"No scale can be estimated from {rows}. Every column must vary.")

    def _scaling(self, data: Array, weights: Array, n: float) -> tuple[Array, Array]:
        """Return the offset and scale of every column, for a sample size of n."""
        if self.domain is None:
            pad = 0.5 * np.ptp(data, axis=0) / max(n - 1, 1)
            low, high = data.min(axis=0) - pad, data.max(axis=0) + pad
        else:
            low, high = (
                np.broadcast_to(np.asarray(end, float), data.shape[1:]) for end in self.domain
            )
            if (data < low).any() or (data > high).any():
                raise ValueError(
                    f"domain={self.domain!r} does not contain all rows of X. Enlarge it."
                )
        scaling = BASES[self.basis].scaling
        pairs = [scaling(x, weights, (a, b)) for x, a, b in zip(data.T, low, high, strict=True)]
        offset, scale = np.array(pairs).T
        return offset, scale

    # The methods below use z = (x - offset) / scale to avoid overflow. The density in z is the
    # density in x times Π scale.

    def _standardized(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            # all functions are 0 at the limits
            return np.clip((X - self._offset) / self._scale, -1e4, 1e4)

    def _functions(self, z: Array, indices: Array) -> Array:
        """Return the values of the candidates with the given indices at points."""
        columns = [BASES[self.basis].functions(column, self.max_terms) for column in z.T]
        parts = [one[:, k] for one, k in zip(columns, self.degrees_[indices].T, strict=True)]
        return reduce(np.multiply, parts)

    def _masses(self) -> Array:
        """Return the integrals of the selected functions."""
        one = BASES[self.basis].masses(self.max_terms)
        return np.asarray(np.prod(one[self.degrees_[self.selected_]], axis=1))

    def _unclipped(self, z: Array) -> Array:
        """Return the series with mass 1, including negative values, computed in chunks of rows."""
        selected, values = self.selected_, np.empty(len(z))
        coefficients = self._coefficients[selected] / self.mass_
        for rows in row_ranges(len(z), 8192):
            values[rows] = self._functions(z[rows], selected) @ coefficients
        return values

    def _grid(self) -> tuple[Array, Array]:
        d = len(self._scale)
        low, high = BASES[self.basis].extent(self.max_terms)
        return grid_points(np.full(d, low), np.full(d, high), _CELLS_PER_AXIS[d])

    def _negative_mass(self) -> tuple[float, float]:
        if not self.positive:
            return 0.0, 0.0
        points, edges = self._grid()
        cell = float(np.prod(edges))
        return negative_mass_on_grid(self._unclipped(points), len(self._scale), cell)

    @property
    def coefficients_(self) -> Array:
        """ĉ_k of all candidates, of functions orthonormal in the coordinates of X."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            return np.asarray(self._coefficients * np.exp(-0.5 * self._log_volume))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mass_")

    def _signed_density(self, X: Any) -> Array:
        """Return the series in z, clipped if ``positive``."""
        check_is_fitted(self)
        data = validate_points(X, "vectors", estimator=self, reset=False).data.astype(np.float64)
        values = self._unclipped(self._standardized(data))
        return np.maximum(values, 0) / (1 + self.clipped_mass_) if self.positive else values

    def pdf(self, X: Any) -> Array:
        """Return the density at every row of X; with ``positive=False`` it may be negative.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            inf or 0 on overflow or underflow, which ``score_samples`` avoids.
        """
        values = self._signed_density(X)
        with np.errstate(divide="ignore", over="ignore"):
            logs = np.log(np.abs(values)) - self._log_volume
            return np.asarray(np.sign(values) * np.exp(logs))

    def score_samples(self, X: Any) -> Array:
        """Return the log-density at every row of X; -inf if the density is not positive.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(self._signed_density(X), 0)) - self._log_volume)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of the rows of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : ignored
        sample_weight : array-like of shape (m,) or None
        """
        return mean_log_density(self.score_samples(X), sample_weight)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the clipped density on a fine grid, uniformly within each cell.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n_samples, d)
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        points, edges = self._grid()
        mass = np.maximum(self._unclipped(points), 0)
        chosen = points[rng.choice(len(points), n_samples, p=mass / mass.sum())]
        z = chosen + edges * (rng.random(chosen.shape) - 0.5)
        return np.asarray(self._offset + self._scale * z)


def _degrees(d: int, below: int) -> Array:
    """Return all tuples of d degrees whose sum is below a limit, in order of the sum."""
    tuples = [degrees for degrees in product(range(below), repeat=d) if sum(degrees) < below]
    return np.array(sorted(tuples, key=lambda degrees: (sum(degrees), degrees)))
