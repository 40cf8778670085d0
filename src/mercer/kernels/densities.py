r"""Kernels as densities: self-convolutions, distribution functions, derivatives of log densities.

g is the density of a kernel, the kernel divided by its integral. The characteristic function of a
Matérn density is :math:`(1 + b^2|\omega|^2/2\nu)^{-(\nu + d/2)}`, so the convolution of two with
the same :math:`b^2/\nu` is a Matérn density with the sum of the exponents. Gaussian and Laplacian
densities are products over coordinates, and so are their convolutions.

For a sum :math:`p(x) = \sum_j a_j k_j(x)` with :math:`\nabla \log k_j(x) = C_j(x)\,(x_j - x)`,

.. math:: \nabla \log p = \sum_j r_j C_j\, (x_j - x), \qquad r_j = a_j k_j(x) / p(x),

and :math:`x + (\sum_j r_j C_j)^{-1} \nabla \log p` is a step of the mean shift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfc, erfcx, exprel, kv, kve, modstruve, ndtr

from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel, Tiles
from mercer.kernels.stationary import Epanechnikov, Gaussian, Laplacian, Matern, Radial, Stationary
from mercer.utils.compiled import exponentials
from mercer.utils.types import Array

__all__ = [
    "CoordinateConvolution",
    "LogDerivatives",
    "block_rows",
    "column_cdf",
    "concatenate",
    "density_terms",
    "is_product",
    "join_derivatives",
    "radial_derivatives",
    "reach",
    "self_convolution",
    "sum_derivatives",
    "term_fractions",
]

_EXPONENTIAL_REACH = 40.0  # exp(-40) < 5e-18
_FAR = 600.0  # beyond which Bessel functions underflow
_N_RECURRENCES = 10

# --- self-convolutions ----------------------------------------------------------------------------


def self_convolution(kernel: Kernel, d: int | None = None) -> Kernel:
    """Return a kernel whose density is the convolution of a kernel's density with itself.

    The self-convolution of a sum contains the convolutions of all pairs of terms. They have closed
    forms for Gaussian and Laplacian terms of any bandwidths, and for Matérn terms with the same
    ``bandwidth² / nu``. All other kernels raise ValueError. Gaussian and Laplacian kernels do not
    need the number of columns d.
    """
    terms = _density_terms(kernel)
    if len(terms) == 1:
        return _convolution(terms[0], terms[0], d)
    logs = np.array([term.log_normalizer(_required(kernel, d)) for term in terms])
    logs -= np.logaddexp.reduce(logs)  # logarithms of the proportions of the terms
    parts, factors = [], []
    for i, first in enumerate(terms):
        for j in range(i + 1):
            part = _convolution(first, terms[j], d)
            both_orders = 0.0 if i == j else np.log(2)
            factors.append(logs[i] + logs[j] + both_orders - part.log_normalizer(d or 0))
            parts.append(part)
    largest = max(factors)  # a common factor does not change the density
    return Sum(
        tuple(Scaled(float(np.exp(f - largest)), p) for f, p in zip(factors, parts, strict=True))
    )


def _density_terms(kernel: Kernel) -> list[Kernel]:
    """Return the terms of a sum, with their factors; a single kernel without its factor."""
    if isinstance(kernel, Sum):
        return [inner for term in kernel.terms for inner in _scaled_terms(term)]
    return _density_terms(kernel.kernel) if isinstance(kernel, Scaled) else [kernel]


def _scaled_terms(kernel: Kernel, factor: float = 1.0) -> list[Kernel]:
    if isinstance(kernel, Scaled):
        return _scaled_terms(kernel.kernel, factor * kernel.factor)
    if isinstance(kernel, Sum):
        return [inner for term in kernel.terms for inner in _scaled_terms(term, factor)]
    return [Scaled(factor, kernel)]


def _required(kernel: Kernel, d: int | None) -> int:
    if d is None:
        raise ValueError(
            f"The self-convolution of {kernel!r} depends on the number of columns. Pass d."
        )
    return d


def _convolution(first: Kernel, second: Kernel, d: int | None) -> Kernel:
    """Return a kernel whose density is the convolution of two densities."""
    first, second = (_without_factor(kernel) for kernel in (first, second))
    if isinstance(first, Gaussian) and isinstance(second, Gaussian):
        if first.metric is second.metric:
            return Gaussian(np.hypot(first.bandwidth, second.bandwidth), first.metric)
        d = _required(first, d)
        return Gaussian(1.0, first.bandwidth_matrix(d) + second.bandwidth_matrix(d))
    if isinstance(first, Matern) and isinstance(second, Matern):
        found = _matern_convolution(first, second, _required(first, d))
        if found is not None:
            return found
    if isinstance(first, Gaussian):
        first, second = second, first
    if isinstance(first, Laplacian) and isinstance(second, Gaussian | Laplacian):
        return CoordinateConvolution(first, second)
    pair = f"{first!r}" if first is second else f"{first!r} and {second!r}"
    raise ValueError(
        f"The convolution of {pair} has no closed form here. Use estimator='mean', or Gaussian, "
        "Laplacian and Matern kernels (in a sum, Matern terms with the same bandwidth² / nu)."
    )


def _without_factor(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Scaled):
        return _without_factor(kernel.kernel)
    if isinstance(kernel, Matern) and kernel.nu == np.inf:
        return Gaussian(kernel.bandwidth)
    return kernel


def _matern_convolution(first: Matern, second: Matern, d: int) -> Matern | None:
    """Return the Matérn kernel with the sum of the exponents ν + d/2; None for two scales."""
    scales = [np.asarray(m.bandwidth) / np.sqrt(m.nu) for m in (first, second)]
    # up to rounding error
    if not np.allclose(scales[0], scales[1], rtol=1e-12, atol=0):
        return None
    nu = first.nu + second.nu + d / 2
    return Matern((scales[0] * np.sqrt(nu)).tolist(), nu=nu)


class CoordinateConvolution(Kernel):
    r"""Convolution of a Laplacian density with a Laplacian or Gaussian density.

    It is a product over coordinates. With :math:`u = |x_j - y_j|`, bandwidths a ≥ b and
    :math:`\varphi(z) = (1 - e^{-z})/z`, a factor of two Laplacian densities is

    .. math:: \frac{e^{-u/a}}{2(a + b)} \Big(1 + \frac ua\, \varphi\big(u (a - b)/ab\big)\Big),

    which is :math:`(1 + u/b)\,e^{-u/b}/4b` if a = b. The kernel is this product divided by its
    value at u = 0.
    """

    def __init__(self, first: Laplacian, second: Laplacian | Gaussian) -> None:
        self.first = first
        self.second = second

    def _factors(self, d: int) -> tuple[Callable[[Array, float, float], Array], Array, Array]:
        """Return the logarithm of a factor, and its two bandwidths for every coordinate."""
        a, b = self.first.bandwidth_vector(d), self.second.bandwidth_vector(d)
        if isinstance(self.second, Gaussian):
            return _log_laplacian_gaussian, a, b
        return _log_two_laplacians, np.maximum(a, b), np.minimum(a, b)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Exponentials of the sums of logarithms."""
        log_factor, first, second = self._factors(X.shape[1])
        right = X if Y is None else Y

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = X[rows].astype(np.float64), right[columns].astype(np.float64)
            total = np.zeros((len(x), len(y)))
            for one, other, a, b in zip(x.T, y.T, first, second, strict=True):
                total += log_factor(np.abs(np.subtract.outer(one, other)), a, b)
                total -= log_factor(np.zeros(1), a, b)
            exponentials(total)
            if out is None:
                return total.astype(np.result_type(X, right), copy=False)
            out[...] = total
            return out

        return tile

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        return np.ones(len(X))

    def log_normalizer(self, d: int) -> float:
        """Minus the logarithm of the density at 0."""
        log_factor, first, second = self._factors(d)
        at_zero = [log_factor(np.zeros(1), a, b)[0] for a, b in zip(first, second, strict=True)]
        return -float(np.sum(at_zero))


def _log_two_laplacians(u: Array, a: float, b: float) -> Array:
    """Return the logarithm of the density at distance u, for bandwidths a ≥ b."""
    with np.errstate(over="ignore", invalid="ignore"):
        v = u / a
        value = np.log1p(v * exprel(-u * ((a - b) / a) / b)) - v
    # a + b may overflow, u / a too
    return np.where(np.isinf(v), -np.inf, value) - np.log(2) - np.log(a) - np.log1p(b / a)


def _log_laplacian_gaussian(u: Array, b: float, sigma: float) -> Array:
    r"""Return the logarithm of the density at distance u of Laplacian b and Gaussian σ.

    With s = σ/b and v = u/σ it is
    :math:`\frac{1}{4b}\big[e^{s^2/2 - sv}\operatorname{erfc}\frac{s - v}{\sqrt2} +
    e^{s^2/2 + sv}\operatorname{erfc}\frac{s + v}{\sqrt2}\big]`.
    """
    s, v = sigma / b, u / sigma
    near = s >= v  # there the scaled function does not cancel with the exponential
    with np.errstate(over="ignore", divide="ignore"):
        z = (s - v) / np.sqrt(2)
        scaled = np.log(erfcx(np.where(near, z, 0.0))) - v**2 / 2
        plain = np.log(erfc(np.where(near, 0.0, z))) + s * (s / 2 - v)
        far = np.log(erfcx((s + v) / np.sqrt(2))) - v**2 / 2
    return np.asarray(np.logaddexp(np.where(near, scaled, plain), far) - np.log(4 * b))


# --- distribution functions -----------------------------------------------------------------------


def density_terms(kernel: Kernel, d: int) -> list[tuple[float, Kernel]]:
    """Return the kernels whose densities a kernel's density consists of, and their fractions."""
    if isinstance(kernel, Scaled):
        return density_terms(kernel.kernel, d)
    if not isinstance(kernel, Sum):
        return [(1.0, kernel)]
    found: list[tuple[float, Kernel]] = []
    for term in kernel.terms:
        fraction = float(np.exp(term.log_normalizer(d) - kernel.log_normalizer(d)))
        found += [(fraction * part, inner) for part, inner in density_terms(term, d)]
    return found


def is_product(kernel: Kernel, d: int) -> bool:
    """Return whether a kernel is a product of functions of the columns."""
    if d == 1 or isinstance(kernel, Laplacian):
        return True
    if isinstance(kernel, Gaussian):
        if kernel.metric is None:
            return True
        correlations = kernel.from_units(np.eye(d)) / column_bandwidths(kernel, d)
        correlations = correlations.T @ correlations
        return bool((correlations == np.diag(correlations.diagonal())).all())
    return False


def column_bandwidths(kernel: Kernel, d: int) -> Array:
    """Return the bandwidth of every column; with a metric, the marginal standard deviations."""
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        return np.asarray(np.hypot.reduce(kernel.from_units(np.eye(d)), axis=0))  # no overflow
    assert isinstance(kernel, Stationary)
    return kernel.bandwidth_vector(d)


def column_cdf(kernel: Kernel, differences: Array, bandwidth: float) -> Array:
    """Return the distribution function of a kernel in one dimension at ``differences``, x - x_j.

    The bandwidth is that of the column, instead of the kernel's own.
    """
    u = differences / bandwidth
    if isinstance(kernel, Gaussian) or (isinstance(kernel, Matern) and kernel.nu == np.inf):
        return np.asarray(ndtr(u))
    if isinstance(kernel, Epanechnikov):
        u = np.clip(u, -1, 1)
        return np.asarray(0.5 + 0.75 * u - 0.25 * u**3)
    r = np.abs(u)
    if isinstance(kernel, Laplacian):
        upper = 0.5 * np.exp(-r)
    elif isinstance(kernel, Matern):
        upper = _matern_tail(sqrt(2 * kernel.nu) * r, kernel.nu)
    else:
        raise ValueError(
            f"{kernel!r} has no known distribution function. Use Gaussian, Laplacian, Matern, "
            "Epanechnikov or a sum of them."
        )
    return np.where(u > 0, 1 - upper, upper)


def _matern_tail(t: Array, nu: float) -> Array:
    """Return the mass of the Matérn kernel beyond ``t = √(2ν) r`` in one dimension."""
    if nu == 0.5:
        return 0.5 * np.exp(-t)
    if nu == 1.5:
        return 0.25 * (2 + t) * np.exp(-t)
    if nu == 2.5:
        return (0.5 + (5 * t + t * t) / 16) * np.exp(-t)
    if nu > 50:
        return _mixture_tail(t / sqrt(2 * nu), nu)
    # ∫_0^t s^ν K_ν = c t (K_ν L_{ν-1} + K_{ν-1} L_ν) with ∫_0^∞ s^ν K_ν = c
    least = 1e-8 if nu < 5 else 1e-4  # K_ν overflows for smaller t; the integral is linear there
    near = np.clip(t, least, _FAR)
    with np.errstate(all="ignore"):
        inner = kv(nu, near) * modstruve(nu - 1, near) + kv(nu - 1, near) * modstruve(nu, near)
    return np.where(t > _FAR, 0.0, 0.5 - 0.5 * np.clip(np.minimum(t, _FAR) * inner, 0, 1))


def _mixture_tail(r: Array, nu: float) -> Array:
    """Return the same for large ν: the mean of normal tails over a gamma distribution of variances.

    The trapezoidal rule in the logarithm of the variance converges exponentially.
    """
    logs = np.linspace(-1, 1, 100) * 12 / sqrt(nu)
    weights = np.exp((nu + 0.5) * logs - nu * np.expm1(logs))
    tails = np.zeros(np.shape(r))
    for log_variance, weight in zip(logs, weights / weights.sum(), strict=True):
        tails += weight * ndtr(-r * np.exp(-0.5 * log_variance))
    return tails


def reach(kernel: Kernel, d: int) -> Array:
    """Return the distance along every column with ``k(r + reach) / k(r) < 1e-17`` for every r."""
    found = [
        _reach_of_term(term) * column_bandwidths(term, d) for _, term in density_terms(kernel, d)
    ]
    return np.asarray(np.max(found, axis=0))


def _reach_of_term(kernel: Kernel) -> float:
    if isinstance(kernel, Laplacian):
        return _EXPONENTIAL_REACH
    if isinstance(kernel, Epanechnikov):
        return 1.0
    if isinstance(kernel, Matern) and kernel.nu != np.inf:
        return max(kernel._reach(1e-18), _EXPONENTIAL_REACH / sqrt(2 * kernel.nu))
    return 9.0  # exp(-9²/2) < 3e-18


# --- derivatives of logarithms --------------------------------------------------------------------


class LogDerivatives(NamedTuple):
    """Log density (up to a constant), its gradient, and the matrices of the mean shift.

    ``precisions`` are ``Σ_j r_j C_j``, or None if a kernel is not differentiable.
    """

    logs: Array
    gradient: Array
    precisions: Array | None

    def in_coordinates(self, T: Array) -> LogDerivatives:
        """Return the derivatives with respect to x, if these are with respect to ``x T``."""
        with np.errstate(over="ignore", invalid="ignore"):  # of tiny bandwidths
            precisions = None if self.precisions is None else T @ self.precisions @ T.T
            return LogDerivatives(self.logs, self.gradient @ T.T, precisions)


def radial_derivatives(
    U: Array, V: Array, logs: Array, slopes: Array, signs: Array
) -> LogDerivatives:
    """Return the derivatives with respect to U for ``C_j = slopes_ij I``.

    ``logs`` are ``log |a_j k_j|``, of shape (m, n), and are overwritten; ``signs`` those of the
    a_j.
    """
    total, fractions = term_fractions(logs, signs)
    fractions *= slopes
    sums = fractions.sum(axis=1)
    gradient = fractions @ V - sums[:, None] * U
    return LogDerivatives(total, gradient, sums[:, None, None] * np.eye(U.shape[1]))


def join_derivatives(parts: list[LogDerivatives]) -> LogDerivatives:
    """Return the derivatives of the logarithm of a sum of positive functions."""
    if len(parts) == 1:
        return parts[0]
    logs, fractions = term_fractions(
        np.stack([part.logs for part in parts], axis=1), np.ones(len(parts))
    )
    gradient = np.zeros_like(parts[0].gradient)
    precisions: Array | None = None
    if all(part.precisions is not None for part in parts):
        precisions = np.zeros((*gradient.shape, gradient.shape[1]))
    for fraction, part in zip(fractions.T, parts, strict=True):
        used = fraction != 0  # the derivatives of a part that is 0 are not defined
        gradient[used] += fraction[used, None] * part.gradient[used]
        if precisions is not None and part.precisions is not None:
            precisions[used] += fraction[used, None, None] * part.precisions[used]
    return LogDerivatives(logs, gradient, precisions)


def block_rows(n: int, entries_per_row: int) -> Iterator[slice]:
    """Yield ranges of n rows, each with a limited number of entries."""
    step = max(1, 2_000_000 // max(entries_per_row, 1))
    for first in range(0, n, step):
        yield slice(first, first + step)


def concatenate(parts: list[LogDerivatives]) -> LogDerivatives:
    """Join the derivatives at several blocks of rows."""
    precisions: Array | None = None
    if parts[0].precisions is not None:
        precisions = np.concatenate([part.precisions for part in parts])
    logs = np.concatenate([part.logs for part in parts])
    return LogDerivatives(logs, np.concatenate([part.gradient for part in parts]), precisions)


def term_fractions(logs: Array, signs: Array) -> tuple[Array, Array]:
    """Return ``log Σ_j s_j exp(l_j)`` and the terms' fractions; NaN if not positive."""
    top = logs.max(axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    terms = np.exp(logs - top[:, None]) * signs
    sums = terms.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms /= sums[:, None]
        return np.log(sums) + top, np.asarray(terms)


def sum_derivatives(kernel: Kernel, X: Array, Y: Array, coefficients: Array) -> LogDerivatives:
    """Return the derivatives of ``log Σ_j c_j k(x, y_j) / ∫k`` at the rows of X.

    The gradient is NaN where the sum is not positive. Laplacian kernels have no second matrix, and
    the gradient at their kinks is that of the other terms.
    """
    terms = density_terms(kernel, X.shape[1])
    if len(terms) > 1 and (coefficients < 0).any():
        raise ValueError(f"Derivatives of a series need a single kernel, not {kernel!r}.")
    found = []
    for rows in block_rows(len(X), len(Y) * X.shape[1]):
        parts = [_of_term(term, X[rows], Y, fraction * coefficients) for fraction, term in terms]
        found.append(join_derivatives(parts))
    return concatenate(found)


def _of_term(kernel: Kernel, X: Array, Y: Array, coefficients: Array) -> LogDerivatives:
    d = X.shape[1]
    with np.errstate(divide="ignore"):
        offset = np.log(np.abs(coefficients)) - kernel.log_normalizer(d)
    signs = np.sign(coefficients)
    everything = slice(0, len(X)), slice(0, len(Y)), None
    if isinstance(kernel, Laplacian):
        logs = kernel.log_tiles(X, Y)(*everything) + offset
        flat = radial_derivatives(X, Y, logs.copy(), np.zeros(len(Y)), signs)
        fractions = np.exp(logs - flat.logs[:, None]) * signs
        columns = [(fractions * np.sign(Y[:, c] - X[:, [c]])).sum(axis=1) for c in range(d)]
        return LogDerivatives(flat.logs, kernel.to_units(np.stack(columns, axis=1)), None)
    if not isinstance(kernel, Radial):
        raise ValueError(
            f"{kernel!r} has no known gradient. Use Gaussian, Laplacian, Matern, Epanechnikov or a "
            "sum of them."
        )
    origin = Y.mean(axis=0)
    U, V = kernel.to_units(X - origin), kernel.to_units(Y - origin)
    h = Gaussian(1.0).log_tiles(U, V)(*everything)
    slopes = _slopes(kernel, h)
    found = radial_derivatives(U, V, kernel.log_profile(h) + offset, slopes, signs)
    return found.in_coordinates(kernel.to_units(np.eye(d)))


def _slopes(kernel: Radial, h: Array) -> Array:
    """Return the derivative of log k with respect to h."""
    if isinstance(kernel, Matern) and kernel.nu != np.inf:
        return _matern_slopes(np.sqrt(-4 * kernel.nu * h), kernel.nu)
    if isinstance(kernel, Epanechnikov):
        values = kernel.profile(h.copy())
        return np.where(values > 0, 2 / np.where(values > 0, values, 1.0), 0.0)
    return np.ones(h.shape)


def _matern_slopes(t: Array, nu: float) -> Array:
    """Return ``2ν K_{ν-1}(t) / (t K_ν(t))``; 0 at a kink at t = 0."""
    with np.errstate(all="ignore"):
        lower, upper = kve(nu - 1, t), kve(nu, t)
        found = 2 * nu * lower / (t * upper)
        overflowing = ~(np.isfinite(upper) & np.isfinite(found))
        if overflowing.any():
            found[overflowing] = 2 * nu * _bessel_ratio(t[overflowing], nu) if nu > 1 else 0.0
    return np.asarray(found)


def _bessel_ratio(t: Array, nu: float) -> Array:
    """Return ``K_{ν-1}(t) / (t K_ν(t))`` for ν > 1 where K_ν overflows.

    The recurrence of the ratios damps the error of its start, two terms of the expansion of the
    Riccati equation in 1/ν.
    """
    if nu <= _N_RECURRENCES + 1:
        return np.full(t.shape, 0.5 / (nu - 1))  # t is below 1e-20
    shifted = nu - _N_RECURRENCES - 0.5
    root = np.hypot(shifted, t)
    ratio = (1 + shifted / (2 * root**2)) / (shifted + root)
    for order in nu - np.arange(_N_RECURRENCES, 0, -1):
        ratio = 1 / (t**2 * ratio + 2 * order)
    return np.asarray(ratio)
