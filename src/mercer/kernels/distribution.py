"""Distribution functions of kernels, divided by their integrals, along single columns."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.special import kv, modstruve, ndtr

from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.matern import Matern
from mercer.kernels.stationary import Epanechnikov, Gaussian, Laplacian, Stationary
from mercer.utils.types import Array

__all__ = ["column_cdf", "density_terms", "is_product", "reach"]

_GAUSSIAN_REACH = 9.0  # exp(-9²/2) < 3e-18
_EXPONENTIAL_REACH = 40.0  # exp(-40) < 5e-18
_FAR = 600.0  # beyond which Bessel functions underflow
_LARGE_ORDER = 50  # of Matérn kernels, above which Struve functions overflow
_N_NODES = 100


def density_terms(kernel: Kernel, d: int) -> list[tuple[float, Kernel]]:
    """Return the kernels whose densities a kernel's density consists of, and their fractions.

    >>> [(round(a, 2), k) for a, k in density_terms(Gaussian(1.0) + 3.0 * Gaussian(2.0), 1)]
    [(0.14, Gaussian(bandwidth=1.0)), (0.86, Gaussian(bandwidth=2.0))]
    """
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
        matrix = kernel.bandwidth_matrix(d)
        return bool((matrix == np.diag(matrix.diagonal())).all())
    return False


def column_bandwidths(kernel: Kernel, d: int) -> Array:
    """Return the bandwidth of every column; with a metric, the marginal standard deviations."""
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        return np.sqrt(kernel.bandwidth_matrix(d).diagonal())
    assert isinstance(kernel, Stationary)
    return kernel.bandwidth_vector(d)


def column_cdf(kernel: Kernel, differences: Array, bandwidth: float) -> Array:
    """Return the distribution function of a kernel in one dimension.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, Laplacian, Matern or Epanechnikov.
    differences : array
        x - x_j.
    bandwidth : float
        That of the column, instead of the kernel's own.

    Examples
    --------
    >>> import numpy as np
    >>> column_cdf(Gaussian(2.0), np.array([0.0, 3.92]), 2.0).round(3)
    array([0.5  , 0.975])
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
    if nu > _LARGE_ORDER:
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
    logs = np.linspace(-1, 1, _N_NODES) * 12 / sqrt(nu)
    weights = np.exp((nu + 0.5) * logs - nu * np.expm1(logs))
    tails = np.zeros(np.shape(r))
    for log_variance, weight in zip(logs, weights / weights.sum(), strict=True):
        tails += weight * ndtr(-r * np.exp(-0.5 * log_variance))
    return tails


def reach(kernel: Kernel, d: int) -> Array:
    """Return the distance along every column over which a kernel decays to a negligible fraction.

    That is ``k(r + reach) / k(r) < 1e-17`` for every r.

    >>> reach(Gaussian(2.0), 1)
    array([18.])
    """
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
    return _GAUSSIAN_REACH
