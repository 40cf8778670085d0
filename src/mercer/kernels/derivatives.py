"""Derivatives of logarithms of sums of kernels, ``log Σ_j c_j k(x, x_j)``."""

from __future__ import annotations

import numpy as np
from scipy.special import kve

from mercer.kernels.base import Kernel
from mercer.kernels.distribution import density_terms
from mercer.kernels.log_derivatives import (
    LogDerivatives,
    block_rows,
    concatenate,
    join_derivatives,
    radial_derivatives,
)
from mercer.kernels.matern import Matern
from mercer.kernels.stationary import Epanechnikov, Gaussian, Laplacian, Radial
from mercer.utils.types import Array

__all__ = ["sum_derivatives"]

_N_RECURRENCES = 10


def sum_derivatives(kernel: Kernel, X: Array, Y: Array, coefficients: Array) -> LogDerivatives:
    """Return the derivatives of ``log Σ_j c_j k(x, y_j) / ∫k`` at the rows of X.

    The gradient is NaN where the sum is not positive. Laplacian kernels have no second matrix,
    and the gradient at their kinks is that of the other terms.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[1.0]])
    >>> sum_derivatives(Gaussian(2.0), X, np.zeros((1, 1)), np.ones(1)).gradient
    array([[-0.25]])
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
        shares = np.exp(logs - flat.logs[:, None]) * signs
        columns = [(shares * np.sign(Y[:, c] - X[:, [c]])).sum(axis=1) for c in range(d)]
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
