r"""Convolutions of kernels that are densities, in closed form.

Notation: g is the density of a kernel, the kernel divided by its integral. The characteristic
function of a Matérn density is :math:`(1 + b^2|\omega|^2/2\nu)^{-(\nu + d/2)}`, so the convolution
of two with the same :math:`b^2/\nu` is a Matérn density with the sum of the exponents. Gaussian and
Laplacian densities are products over coordinates, and so are their convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfc, erfcx, exprel

from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel, Tiles
from mercer.kernels.matern import Matern
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.utils.compiled import exponentials
from mercer.utils.types import Array

__all__ = ["CoordinateConvolution", "self_convolution"]

_SAME_SCALE = 1e-12  # relative difference of b²/ν below which two Matérn kernels have one scale


def self_convolution(kernel: Kernel, d: int | None = None) -> Kernel:
    """Return a kernel whose density is the convolution of a kernel's density with itself.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, Laplacian, Matern, or a sum of them (see the notes).
    d : int or None
        Number of columns. Gaussian and Laplacian kernels do not need it.

    Notes
    -----
    The self-convolution of a sum contains the convolutions of all pairs of terms. They have closed
    forms for Gaussian and Laplacian terms of any bandwidths, and for Matérn terms with the same
    ``bandwidth² / nu``. All other kernels raise ValueError.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> from mercer.kernels.convolution import self_convolution
    >>> self_convolution(Matern(1.0, nu=0.5), d=2)
    Matern(bandwidth=2.0, nu=2.0)
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
    if not np.allclose(scales[0], scales[1], rtol=_SAME_SCALE, atol=0):
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

    Parameters
    ----------
    first : Laplacian
    second : Laplacian or Gaussian

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> from mercer.kernels.convolution import CoordinateConvolution
    >>> kernel = CoordinateConvolution(Laplacian(1.0), Laplacian(1.0))
    >>> kernel([[0.0]], [[0.0], [1.0]]).round(4), round(kernel.normalizer(1), 12)
    (array([[1.    , 0.7358]]), 4.0)
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
