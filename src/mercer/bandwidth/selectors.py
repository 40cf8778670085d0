r"""Bandwidths of Gaussian kernel density estimates from sums over pairs of points.

All selectors minimize or solve an equation in sums :math:`S(g) = \sum_{ij} w_i w_j\, g(\|x_i -
x_j\|^2)`. For one column the pairs are counted on a fine grid (by FFT); for more columns they are
those of at most 1000 representative rows.

Full bandwidth matrices minimize the asymptotic mean integrated squared error (Wand and Jones 1994;
Chacón and Duong 2010)

.. math:: \frac{1}{n (4\pi)^{d/2} |H|^{1/2}} + \frac14 \int \operatorname{tr}^2(H\, D^2 f(x))\,dx

whose integral, a quadratic form in H, is estimated by fourth derivatives of a Gaussian kernel with
a scalar pilot bandwidth g at all pairs of points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.fft import dct, irfft, rfft
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.spatial.distance import pdist
from scipy.special import logsumexp

from mercer.data.subsampling import select_representatives
from mercer.errors import ApproximationWarning, warn
from mercer.utils.pairwise import row_ranges
from mercer.utils.quantiles import weighted_quantile
from mercer.utils.types import Array

__all__ = [
    "SELECTORS",
    "PairMoments",
    "PairSums",
    "best_matrix",
    "biased_criterion",
    "least_squares_criterion",
    "plug_in",
    "smoothed_criterion",
    "whitened_plug_in",
]

_MAX_ROWS = 1000  # between which distances are computed in more than one dimension


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over all ordered pairs of points, a point and itself included."""

    squares: Array  # squared distances, shape (m,)
    counts: Array  # weights of the pairs at these distances; their sum is (Σw)², shape (m,)
    size: float  # Σw
    dimension: int

    @classmethod
    def of(cls, X: Array, weights: Array, scale: float) -> PairSums | None:
        """Count the pairs of one column on a grid, or all pairs of several columns.

        Returns None for one column if the grid would be too large (a range of more than 10,000
        bandwidths).
        """
        total, d = float(weights.sum()), X.shape[1]
        if d > 1:
            return cls.of_pairs(X, weights)
        x = X[:, 0]
        step = scale * total**-0.2 / 100  # of about 100 cells per bandwidth
        if np.ptp(x) > step * 2**20:
            return None
        masses = _binned(x, weights, step)
        length = 2 * len(masses)
        spectrum = rfft(masses, length)
        lags = irfft(np.abs(spectrum) ** 2, length)[: len(masses)]
        lags[1:] *= 2
        return cls((step * np.arange(len(masses))) ** 2, np.maximum(lags, 0), total, 1)

    @classmethod
    def of_pairs(cls, X: Array, weights: Array) -> PairSums:
        """Return all pairs."""
        first, second = np.triu_indices(len(X), 1)
        squares = np.r_[0.0, pdist(X, "sqeuclidean")]
        counts = np.r_[weights @ weights, 2 * weights[first] * weights[second]]
        return cls(squares, counts, float(weights.sum()), X.shape[1])

    def total(self, function: Callable[[Array], Array]) -> float:
        """Return ``Σ_ij w_i w_j g(|x_i - x_j|²)``."""
        return float(self.counts @ function(self.squares))

    def normal(self, variance: float, function: Callable[[Array], Array] | None = None) -> float:
        """Return the sum of ``p(u²) N(x_i; x_j, variance)`` with ``u² = |x_i - x_j|² / variance``.

        p is 1 by default.
        """
        d = self.dimension

        def term(squares: Array) -> Array:
            u2 = squares / variance
            with np.errstate(under="ignore"):
                values = np.exp(-0.5 * u2)
            return values if function is None else values * function(u2)

        return self.total(term) * _power(2 * pi * variance, -d / 2)

    def without_self(
        self, variance: float, function: Callable[[Array], Array] | None = None
    ) -> float:
        """Return the same sum without the pairs of a point (and not its copies) with itself."""
        at_zero = 1.0 if function is None else float(function(np.zeros(1))[0])
        own = self.size * at_zero * _power(2 * pi * variance, -self.dimension / 2)
        return self.normal(variance, function) - own


def _binned(x: Array, weights: Array, step: float) -> Array:
    """Return the weights on a grid, each divided between the two nearest cells."""
    position = (x - x.min()) / step
    index = np.floor(position).astype(int)
    upper = position - index
    size = int(index.max()) + 2
    return np.bincount(index, weights * (1 - upper), size) + np.bincount(
        index + 1, weights * upper, size
    )


# --- cross-validation -----------------------------------------------------------------------------


def least_squares_criterion(pairs: PairSums, h: float) -> float:
    r"""``∫ p̂² - 2/n Σ_i p̂_{-i}(x_i)``, with 1/n² for 1/n(n-1) as Scott and Terrell (1987).

    .. math:: \frac{R(K)}{n h^d} + \frac1{n^2} \sum_{i \ne j} [N_{2h^2} - 2 N_{h^2}](x_i - x_j)
    """
    n = pairs.size
    cross = pairs.without_self(2 * h**2) - 2 * pairs.without_self(h**2)
    return _variance(pairs, h) + cross / n**2


def biased_criterion(pairs: PairSums, h: float) -> float:
    r"""Estimate of the asymptotic mean integrated squared error (Scott and Terrell 1987).

    .. math::
        \frac{R(K)}{n h^d} + \frac1{16 n^2} \sum_{i \ne j} [u^4 - (2d + 4) u^2 + d (d + 2)]
        N_{2h^2}(x_i - x_j), \quad u^2 = \|x_i - x_j\|^2 / 2h^2
    """
    d = pairs.dimension

    def biharmonic(u2: Array) -> Array:
        return u2**2 - (2 * d + 4) * u2 + d * (d + 2)

    return _variance(pairs, h) + pairs.without_self(2 * h**2, biharmonic) / (16 * pairs.size**2)


def smoothed_criterion(pairs: PairSums, h: float, pilot: float) -> float:
    r"""Smoothed cross-validation (Hall, Marron and Park 1992).

    .. math::
        \frac{R(K)}{n h^d} + \frac1{n^2} \sum_{ij} [N_{2h^2 + 2g^2} - 2 N_{h^2 + 2g^2} + N_{2g^2}]
        (x_i - x_j)
    """
    g2 = 2 * pilot**2
    bias = pairs.normal(2 * h**2 + g2) - 2 * pairs.normal(h**2 + g2) + pairs.normal(g2)
    return _variance(pairs, h) + bias / pairs.size**2


def _variance(pairs: PairSums, h: float) -> float:
    """Return ``R(K) / (n h^d)``."""
    return _power(4 * pi * h**2, -pairs.dimension / 2) / pairs.size


def _power(base: float, exponent: float) -> float:
    """Return a power, inf on overflow."""
    return float(np.power(base, exponent))


def minimize_criterion(
    criterion: Callable[[float], float], scale: float, size: float, d: int, highest: float
) -> tuple[float, bool]:
    """Return the bandwidth with the smallest criterion, and whether it is inside of the range.

    The range is 0.1 to ``highest`` times ``scale * size**(-1 / (d + 4))``.
    """
    reference = scale * size ** (-1 / (d + 4))
    trials = np.linspace(0.1 * reference, highest * reference, 60)
    values = np.array([criterion(trial) for trial in trials])
    values[~np.isfinite(values)] = np.inf
    if len(np.unique(values)) < len(trials) // 2:
        raise ValueError(
            f"The cross-validation criterion overflows or underflows in {d} columns. Use "
            "'leave-one-out' or 'plug-in', or fewer columns."
        )
    best = int(np.argmin(values))
    around = trials[max(best - 1, 0)], trials[min(best + 1, len(trials) - 1)]
    options = {"xatol": 1e-6 * reference}
    found = minimize_scalar(criterion, bounds=around, method="bounded", options=options)
    return float(found.x), 0 < best < len(trials) - 1


# --- plug-in --------------------------------------------------------------------------------------


def sheather_jones(pairs: PairSums, scale: float) -> float:
    """Solve the equation of Sheather and Jones (1991), as R's ``bw.SJ`` does.

    ``scale``: the smaller of standard deviation and interquartile range / 1.349.
    """
    n = pairs.size

    def fourth(h: float) -> float:
        return pairs.normal(h**2, lambda u: u**2 - 6 * u + 3) / (n * (n - 1) * h**4)

    def sixth(h: float) -> float:
        return pairs.normal(h**2, lambda u: u**3 - 15 * u**2 + 45 * u - 15) / (n * (n - 1) * h**6)

    a, b = 1.24 * scale * n ** (-1 / 7), 1.23 * scale * n ** (-1 / 9)
    # the Fourier transforms of both kernels are positive, so these sums are too
    factor = 1.357 * (fourth(a) / -sixth(b)) ** (1 / 7)

    def equation(h: float) -> float:
        return float((1 / (2 * sqrt(pi) * n * fourth(factor * h ** (5 / 7)))) ** 0.2 - h)

    low, high = 0.1144 * scale * n**-0.2, 1.144 * scale * n**-0.2
    while equation(low) <= 0:
        low /= 1.2
    while equation(high) >= 0:
        high *= 1.2
    return float(brentq(equation, low, high, rtol=1e-10))


def plug_in(pairs: PairSums, scale: float) -> tuple[float, float]:
    r"""Return the pilot bandwidth g of ψ_2 and the direct plug-in bandwidth (Wand and Jones 1994).

    The asymptotic mean integrated squared error is smallest at

    .. math:: h^{d+4} = \frac{d}{n (4\pi)^{d/2} \psi_2}, \qquad \psi_m = \int f\, \Delta^m f,

    and :math:`\psi_m` is estimated with a Gaussian kernel of bandwidth g, for which the two
    leading terms of the bias cancel,

    .. math:: g^{d+2m+2} = -\frac{2\, \Delta^m \varphi(0)}{n\, \psi_{m+1}}.

    Two stages: :math:`\psi_4` of a normal distribution with standard deviation ``scale`` gives g of
    :math:`\psi_3`, and this gives g of :math:`\psi_2`.
    """
    n, d = pairs.size, pairs.dimension
    # |ψ_4| of a normal distribution is the absolute Δ⁴φ(0) with bandwidth √2 scale
    log_psi = _log_laplacian_at_zero(4, d) - (d + 8) * log(sqrt(2) * scale)
    for m in (3, 2):
        log_g = (log(2) + _log_laplacian_at_zero(m, d) - log(n) - log_psi) / (d + 2 * m + 2)
        log_psi = _log_functional(pairs, m, log_g)
    return exp(log_g), exp((log(d) - log(n) - 0.5 * d * log(4 * pi) - log_psi) / (d + 4))


def _log_functional(pairs: PairSums, m: int, log_g: float) -> float:
    """Return the logarithm of the absolute value of ``Σ_ij w_i w_j Δ^m φ_g(x_i - x_j) / n(n-1)``.

    The divisor is that of R's ``bw.SJ``. The Fourier transform of ``(-Δ)^m φ`` is not negative, so
    the sum has the sign of ``(-1)^m``.
    """
    d = pairs.dimension

    def term(squares: Array) -> Array:
        u2 = squares * exp(-2 * log_g)
        if m == 2:
            polynomial = u2**2 - 2 * (d + 2) * u2 + d * (d + 2)
        else:
            polynomial = -(u2**3) + 3 * (d + 4) * (u2**2 - (d + 2) * u2) + d * (d + 2) * (d + 4)
        return polynomial * np.exp(-0.5 * u2)

    total = pairs.total(term) / (pairs.size * (pairs.size - 1))
    tiny = np.finfo(np.float64).tiny
    return log(max(total, tiny)) - 0.5 * d * log(2 * pi) - (d + 2 * m) * log_g


def _log_laplacian_at_zero(m: int, d: int) -> float:
    """Return the logarithm of ``|Δ^m φ(0)| = (2π)^(-d/2) d (d + 2) ... (d + 2m - 2)``."""
    return float(np.log(d + 2.0 * np.arange(m)).sum()) - 0.5 * d * log(2 * pi)


def improved_sheather_jones(x: Array, weights: Array) -> float:
    """Solve the fixed-point equation of Botev, Grotowski and Kroese (2010)."""
    n, n_cells, n_stages = float(weights.sum()), 2**14, 7
    length = 2 * float(np.ptp(x))  # half of the range as a margin on both sides
    masses = _binned(x - x.min(), weights / n, length / n_cells)
    first = n_cells // 4
    grid = np.zeros(n_cells)
    grid[first : first + len(masses)] = masses
    squares = (0.5 * dct(grid)[1:]) ** 2
    frequencies = np.arange(1, n_cells) ** 2.0

    def roughness(order: int, t: float) -> float:
        exponents = order * np.log(frequencies) - frequencies * pi**2 * t
        with np.errstate(under="ignore"):
            value = float(2 * pi ** (2 * order) * (squares @ np.exp(exponents)))
        return max(value, np.finfo(np.float64).tiny)

    def equation(t: float) -> float:
        value = roughness(n_stages, t)
        for order in range(n_stages - 1, 1, -1):
            odd = float(np.prod(np.arange(1, 2 * order, 2)) / sqrt(2 * pi))
            constant = (1 + 0.5 ** (order + 0.5)) / 3
            time = (2 * constant * odd / (n * value)) ** (2 / (3 + 2 * order))
            value = roughness(order, time)
        return t - float((2 * n * sqrt(pi) * value) ** -0.4)

    trials = np.geomspace(1e-10, 0.1, 200)
    values = np.array([equation(trial) for trial in trials])
    # repeated values have a second solution, at the bandwidth that resolves them
    crossings = np.flatnonzero((values[:-1] <= 0) & (values[1:] > 0))
    if len(crossings) == 0:
        raise ValueError(
            f"The fixed-point equation of the improved Sheather-Jones selector has no solution for "
            f"this sample of size {n:g}. Use 'sheather-jones' or 'leave-one-out'."
        )
    last = int(crossings[-1])
    return length * sqrt(brentq(equation, trials[last], trials[last + 1], rtol=1e-10))


# --- bandwidth matrices ---------------------------------------------------------------------------


class PairMoments:
    """Quadratic form ``∫ tr²(H D²f)`` of a sample, up to the factor of :attr:`log_factor`.

    ``weights``: multiplicities, shape (n,). ``pilot``: the bandwidth g.
    """

    def __init__(self, X: Array, weights: Array, pilot: float) -> None:
        d, n = X.shape[1], float(weights.sum())
        self.mass = float(weights @ weights)  # pairs of a point and itself
        self.second = np.zeros((d, d))
        self.fourth = np.zeros((d * d, d * d))
        X = X / pilot
        first, second = np.triu_indices(len(X), 1)
        for pairs in row_ranges(len(first), 2**16):
            i, j = first[pairs], second[pairs]
            V, counts = X[i] - X[j], 2 * weights[i] * weights[j]
            masses = counts * np.exp(-0.5 * np.einsum("ij,ij->i", V, V))
            products = (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)
            weighted = masses[:, None] * products
            self.mass += float(masses.sum())
            self.second += weighted.sum(axis=0).reshape(d, d)
            self.fourth += weighted.T @ products
        self.log_factor = -log(n * (n - 1)) - 0.5 * d * log(2 * pi) - (d + 4) * log(pilot)

    def form(self, H: Array) -> float:
        """Return ``Σ_ij w_i w_j`` of the fourth derivatives contracted with H twice, for g = 1."""
        trace, flat = np.trace(H), H.ravel()
        value = flat @ self.fourth @ flat
        value -= 4 * np.trace(H @ H @ self.second) + 2 * trace * np.trace(H @ self.second)
        return float(value + (2 * np.trace(H @ H) + trace**2) * self.mass)


def best_matrix(moments: PairMoments, size: float, bandwidth: float) -> Array:
    """Return the bandwidth matrix with the smallest error.

    ``size``: n. ``bandwidth``: the best scalar bandwidth, where the search starts.
    """
    d = len(moments.second)
    lower = np.tril_indices(d)
    constant = -log(size) - 0.5 * d * log(4 * pi)

    def factor(parameters: Array) -> Array:
        L = np.zeros((d, d))
        L[lower] = parameters
        L[np.diag_indices(d)] = np.exp(L.diagonal())
        return L * bandwidth

    def log_error(parameters: Array) -> float:
        L = factor(parameters)
        form = max(moments.form(L @ L.T), np.finfo(np.float64).tiny)
        terms = constant - np.log(L.diagonal()).sum(), log(form / 4) + moments.log_factor
        return float(logsumexp(terms))

    found = minimize(log_error, np.zeros(len(lower[0])), method="BFGS", options={"gtol": 1e-7})
    L = factor(found.x)
    return np.asarray(L @ L.T)


# --- selectors of samples -------------------------------------------------------------------------


class _Rows:
    """Rows that represent a sample, and the factor that extrapolates a bandwidth to all rows."""

    def __init__(self, sample: Any) -> None:
        d = sample.dimension
        X, weights, ratio = getattr(sample, "X", None), getattr(sample, "weights", None), 1.0
        if X is None:  # rows on a cluster
            X, weights, ratio = sample.representatives()
        weights = np.ones(len(X)) if weights is None else weights
        if d > 1:
            found = select_representatives(X, weights, _MAX_ROWS)
            X, weights, ratio = X[found.rows], found.weights, ratio * found.size_ratio
        center = X.mean(axis=0)
        # a power of two, so that scaling is exact, and squares neither overflow nor underflow
        unit = float(2.0 ** np.round(np.log2(np.abs(X - center).max())))
        X = (X - center) / unit
        self.X, self.weights = X, weights
        self.factor = unit * ratio ** (1 / (d + 4))
        size = float(weights.sum())
        self.deviation = _spread(X, weights) * sqrt(size / max(size - 1, 0.5))

    @property
    def scale(self) -> float:
        """The smaller of standard deviation and interquartile range / 1.349, for one column."""
        if self.X.shape[1] > 1:
            return self.deviation
        levels = [weighted_quantile(self.X[:, 0], self.weights, q) for q in (0.25, 0.75)]
        spread = float(levels[1] - levels[0]) / 1.349
        return min(self.deviation, spread) if spread > 0 else self.deviation

    def pairs(self) -> PairSums:
        """Return the pairs; of at most 1000 rows if a grid would be too large."""
        found = PairSums.of(self.X, self.weights, self.scale)
        if found is not None:
            return found
        rows = select_representatives(self.X, self.weights, _MAX_ROWS)
        self.factor *= rows.size_ratio ** (1 / 5)
        return PairSums.of_pairs(self.X[rows.rows], rows.weights)


def _spread(X: Array, weights: Array) -> float:
    masses = weights / weights.sum()
    return float(np.sqrt((masses @ (X - masses @ X) ** 2).mean()))


def _check_one_column(sample: Any, name: str) -> None:
    """Raise ValueError for more than one column."""
    if sample.dimension != 1:
        raise ValueError(
            f"The rule {name!r} is for one column; the sample has {sample.dimension}. Use "
            "'plug-in', 'smoothed-cv', 'least-squares-cv' or 'leave-one-out'."
        )


@np.errstate(all="ignore")
def _sheather_jones(sample: Any) -> float:
    _check_one_column(sample, "sheather-jones")
    rows = _Rows(sample)
    pairs = rows.pairs()
    return rows.factor * sheather_jones(pairs, rows.scale)


@np.errstate(all="ignore")
def _plug_in(sample: Any) -> float:
    rows = _Rows(sample)
    pairs = rows.pairs()
    return rows.factor * plug_in(pairs, rows.scale)[1]


@np.errstate(all="ignore")
def whitened_plug_in(sample: Any) -> Array:
    """Return the full bandwidth matrix of the plug-in method for a sample of whitened rows."""
    rows = _Rows(sample)
    pairs = PairSums.of_pairs(rows.X, rows.weights)
    pilot, bandwidth = plug_in(pairs, rows.scale)
    moments = PairMoments(rows.X, rows.weights, pilot)
    return rows.factor**2 * best_matrix(moments, pairs.size, bandwidth)


def _improved_sheather_jones(sample: Any) -> float:
    _check_one_column(sample, "improved-sheather-jones")
    rows = _Rows(sample)
    return rows.factor * improved_sheather_jones(rows.X[:, 0], rows.weights)


@np.errstate(all="ignore")  # powers of bandwidths overflow in many columns
def _cross_validated(
    sample: Any, name: str, criterion: Callable[[PairSums, float], float], highest: float
) -> float:
    rows = _Rows(sample)
    pairs = rows.pairs()
    found, inside = minimize_criterion(
        lambda h: criterion(pairs, h), rows.deviation, pairs.size, pairs.dimension, highest
    )
    if not inside:
        warn(
            f"The criterion of {name!r} is smallest at an end of the search range, at the "
            f"bandwidth {rows.factor * found:.3g}. The sample has many ties, or no clear optimum; "
            "compare with 'leave-one-out'.",
            ApproximationWarning,
        )
    return rows.factor * found


def _least_squares_cv(sample: Any) -> float:
    return _cross_validated(sample, "least-squares-cv", least_squares_criterion, 2.0)


def _biased_cv(sample: Any) -> float:
    # the criterion tends to 0 for large h: the range of R's bw.bcv
    return _cross_validated(sample, "biased-cv", biased_criterion, 1.144)


def _smoothed_cv(sample: Any) -> float:
    scale = _Rows(sample).scale

    def criterion(pairs: PairSums, h: float) -> float:
        d = pairs.dimension
        pilot = scale * (2 / ((d + 4) * pairs.size)) ** (1 / (d + 6))
        return smoothed_criterion(pairs, h, pilot)

    return _cross_validated(sample, "smoothed-cv", criterion, 2.0)


def _normal_reference(sample: Any) -> float:
    n, d = sample.size, sample.dimension
    return float(sample.spread() * (4 / ((d + 2) * n)) ** (1 / (d + 4)))


#: Selectors by the name that a bandwidth may have.
SELECTORS: dict[str, Callable[[Any], float]] = {
    "normal-reference": _normal_reference,
    "sheather-jones": _sheather_jones,
    "improved-sheather-jones": _improved_sheather_jones,
    "plug-in": _plug_in,
    "least-squares-cv": _least_squares_cv,
    "biased-cv": _biased_cv,
    "smoothed-cv": _smoothed_cv,
}
