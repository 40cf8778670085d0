"""Kernels of the difference x - y: Gaussian, Laplacian, Matérn, Epanechnikov."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log, pi, sqrt
from typing import Any, Self

import numpy as np
from scipy.special import kve
from scipy.stats import chi2, f

from mercer.kernels.base import Kernel, Tiles
from mercer.maths.distances import (
    augment_columns,
    augment_rows,
    half_squared_differences,
    half_squared_products,
    products_would_cancel,
)
from mercer.maths.types import Array

__all__ = ["Epanechnikov", "Gaussian", "Laplacian", "Matern", "PlaneWaves", "Stationary"]

# Up to this many columns, differences cost no more than the matrix product and never cancel.
_FEW_COLUMNS = 2
_BISECTIONS = 60  # halve any distance down to rounding
# Beyond this smoothness K_ν overflows where the Matérn function has fallen from 1 by more than the
# three terms of its series can tell; its expansion for large ν is right to 1e-13 from here on.
_LARGE_ORDER = 100


@dataclass(frozen=True)
class PlaneWaves:
    """A kernel of unit bandwidth as a mixture of plane waves (Bochner), with k(0) = 1.

    Parameters
    ----------
    density : callable
        Density of the mixture at squared angular frequency |ω|², in d dimensions.
    cutoff : callable
        Angular frequency beyond which waves make up less than a given share.
    reach : callable
        Distance beyond which the kernel is below a given value.
    """

    density: Callable[[Array], Array]
    cutoff: Callable[[float], float]
    reach: Callable[[float], float]


class Stationary(Kernel):
    """A kernel with a bandwidth: a number, one number per column, or the name of a rule.

    A rule's name ("auto", "silverman", …, see :mod:`mercer.bandwidth`) is resolved from the data
    when an estimator is fitted; calling such a kernel directly is refused.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Stationary
    >>> isinstance(Gaussian("silverman"), Stationary)
    True
    """

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth

    def has_rule(self, name: str) -> bool:
        """Whether the bandwidth is the rule of this name."""
        return isinstance(self.bandwidth, str) and self.bandwidth == name

    def with_bandwidth(self, bandwidth: float | Array | str) -> Self:
        """Return the same kernel with another bandwidth."""
        return type(self)(**{**self.get_params(deep=False), "bandwidth": bandwidth})

    def _widened(self, factor: float) -> Kernel:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{self!r} names a rule that needs data; resolve it first: "
                "mercer.bandwidth.resolve(kernel, X)."
            )
        return self.with_bandwidth(np.multiply(self.bandwidth, factor).tolist())

    def bandwidth_vector(self, d: int) -> Array:
        """The bandwidth of each of d columns, checked."""
        name = type(self).__name__
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{name}(bandwidth={self.bandwidth!r}) names a rule that needs data: fit an "
                f"estimator, or use mercer.bandwidth.resolve(kernel, X), or give a number."
            )
        widths = np.atleast_1d(np.asarray(self.bandwidth, dtype=np.float64))
        if widths.ndim != 1 or len(widths) not in (1, d):
            raise ValueError(
                f"{name} got {widths.size} bandwidths for {d} columns; give one number, or one "
                "per column."
            )
        if not (np.isfinite(widths).all() and (widths > 0).all()):
            raise ValueError(
                f"{name}(bandwidth={self.bandwidth!r}) must be positive and finite; give a "
                "number above 0 or the name of a rule such as 'auto'."
            )
        return np.broadcast_to(widths, (d,))

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        X = self._as_points(X)
        return np.ones(len(X), X.dtype)

    def length_scales(self, d: int) -> Array:
        """Distances are measured in bandwidths."""
        return self.bandwidth_vector(d)

    def _log_volume(self, d: int) -> float:
        """Logarithm of the product of the d bandwidths."""
        return float(np.log(self.bandwidth_vector(d)).sum())

    def plane_waves(self, d: int) -> PlaneWaves | None:
        """Return the kernel as a mixture of plane waves, where that is short; None elsewhere."""
        return None


class _Radial(Stationary):
    """A function of ``h = -‖x - y‖²/2`` (in bandwidths), applied in place."""

    def profile(self, h: Array) -> Array:
        """Turn h into kernel values, overwriting it."""
        raise NotImplementedError

    def inverse_profile(self, values: Array) -> Array:
        """Squared distances, in bandwidths, at which the kernel has these values in (0, 1]."""
        raise NotImplementedError

    def squared_distances(self, products: Array, norms: Array, their_norms: Array) -> Array:
        """The distance at which two images would be as far apart: ``k = 1 - |f - φ(y)|²/2``.

        Values are clipped into (0, 1]: an f between the images of points may be nearer to one of
        them than any image, or farther than all.
        """
        values = 1 - 0.5 * (norms + their_norms) + products
        return self.inverse_profile(np.clip(values, np.finfo(np.float64).tiny, 1))

    def log_profile(self, h: Array) -> Array:
        """Turn h into logarithms of kernel values, overwriting it."""
        with np.errstate(divide="ignore"):  # beyond the reach of a compact window
            return np.log(self.profile(h), out=h)

    def _from(self, origin: Array, X: Array) -> Array:
        """Coordinates from a common origin, in bandwidths."""
        with np.errstate(over="ignore"):
            return ((X - origin) / self.bandwidth_vector(X.shape[1])).astype(X.dtype, copy=False)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """One matrix product per tile; differences where products would cancel."""
        return self._exponents(X, Y, self.profile)

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """The same, without the exponential."""
        return self._exponents(X, Y, self.log_profile)

    def _exponents(self, X: Any, Y: Any, profile: Callable[[Array], Array]) -> Tiles:
        """Rectangles of h, given to ``profile``."""
        itself = Y is None or Y is X
        Y = X if itself else Y
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
        widths = self.bandwidth_vector(X.shape[1])
        left, right, by_products = X, Y, False
        if X.shape[1] > _FEW_COLUMNS:
            origin = Y.mean(axis=0, dtype=np.float64)
            near_x, near_y = self._from(origin, X), self._from(origin, Y)
            if not products_would_cancel(near_x, near_y):
                left, right, by_products = augment_rows(near_x), augment_columns(near_y), True

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            if by_products:
                h = half_squared_products(left[rows], right[columns], out)
            else:
                h = half_squared_differences(left[rows], right[columns], widths, out)
            if itself and rows == columns:
                np.fill_diagonal(h, 0)
            return profile(h)

        return tile


class Gaussian(_Radial):
    r"""Gaussian kernel, :math:`k(x, y) = \exp(-\|x - y\|^2 / 2\sigma^2)`.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        σ, one σ per column, or the name of a rule.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    def profile(self, h: Array) -> Array:
        """``exp h``."""
        return np.exp(h, out=h)

    def inverse_profile(self, values: Array) -> Array:
        """``-2 log k``."""
        return -2 * np.log(values)

    def log_profile(self, h: Array) -> Array:
        """``h`` itself."""
        return h

    def log_normalizer(self, d: int) -> float:
        """``log (2π)^(d/2) Π σ_j``."""
        return 0.5 * d * log(2 * pi) + self._log_volume(d)

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Normal coordinates."""
        return rng.standard_normal((n, d)) * self.bandwidth_vector(d)

    def plane_waves(self, d: int) -> PlaneWaves | None:
        """Squared angular frequencies follow a χ² law with d degrees of freedom."""
        return PlaneWaves(
            density=lambda omega2: (2 * pi) ** (-d / 2) * np.exp(-0.5 * omega2),
            cutoff=lambda tolerance: sqrt(chi2.isf(tolerance, d)),
            reach=lambda tolerance: sqrt(2 * log(1 / tolerance)),
        )

    def self_convolution(self) -> Gaussian:
        """The Gaussian of bandwidth √2 σ."""
        return Gaussian(np.asarray(self.bandwidth) * np.sqrt(2))


class Epanechnikov(_Radial):
    r"""Epanechnikov window, :math:`k(x, y) = \max(0, 1 - \|x - y\|^2 / b^2)`.

    A density window, but not positive semi-definite: some eigenvalues are negative.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        The radius b beyond which k is 0.

    Examples
    --------
    >>> from mercer.kernels import Epanechnikov
    >>> Epanechnikov(2.0)([[0.0]], [[0.0], [1.0], [3.0]])
    array([[1.  , 0.75, 0.  ]])
    """

    @property
    def is_psd(self) -> bool:
        """False: its Fourier transform changes sign."""
        return False

    def profile(self, h: Array) -> Array:
        """``max(0, 1 + 2h)``."""
        h *= 2
        h += 1
        return np.maximum(h, 0, out=h)

    def inverse_profile(self, values: Array) -> Array:
        """``1 - k``."""
        return 1 - values

    def log_normalizer(self, d: int) -> float:
        """``log 2 b^d vol(unit ball) / (d + 2)``."""
        log_ball = 0.5 * d * log(pi) - lgamma(0.5 * d + 1)
        return log(2 / (d + 2)) + log_ball + self._log_volume(d)

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """A random direction, and a squared radius that follows the law Beta(d/2, 2)."""
        direction = rng.standard_normal((n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = np.sqrt(rng.beta(0.5 * d, 2.0, n))
        return radius[:, None] * direction * self.bandwidth_vector(d)


class Matern(_Radial):
    r"""Matérn kernel of smoothness ν, in scikit-learn's form.

    :math:`k(r) = \frac{2^{1-\nu}}{\Gamma(\nu)} (\sqrt{2\nu} r)^\nu K_\nu(\sqrt{2\nu} r)` with
    :math:`r = \|x - y\| / b`; ν = 1/2 is ``exp(-r)``, ν = ∞ the Gaussian of bandwidth b.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        b.
    nu : float
        ν > 0; 0.5, 1.5, 2.5 and infinity are fast.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(1.0, nu=0.5)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679]])
    """

    def __init__(self, bandwidth: float | Array | str = "auto", nu: float = 1.5) -> None:
        super().__init__(bandwidth)
        self.nu = nu

    def profile(self, h: Array) -> Array:
        """The Matérn function of ``r = √(-2h)``."""
        self._check_nu()
        if self.nu == np.inf:
            return np.exp(h, out=h)
        with np.errstate(over="ignore"):
            h *= -4 * self.nu
        r = np.sqrt(h, out=h)  # √(2ν) r
        if self.nu in (0.5, 1.5, 2.5):
            np.minimum(r, 800, out=r)  # where exp(-r) is 0: infinity times 0 is not
            factor = np.exp(-r)
            if self.nu == 0.5:
                h[...] = factor
            else:
                np.multiply(1 + r if self.nu == 1.5 else 1 + r + r * r / 3, factor, out=h)
            return h
        h[...] = _matern(r.astype(np.float64), self.nu)
        return h

    def inverse_profile(self, values: Array) -> Array:
        """Bisection: the profile falls."""
        near = np.zeros(np.shape(values))
        far = np.full(np.shape(values), self._reach(np.finfo(np.float64).tiny))
        for _ in range(_BISECTIONS):
            middle = 0.5 * (near + far)
            beyond = self.profile(-0.5 * middle**2) < values
            near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
        return np.asarray(near**2)

    def _reach(self, tolerance: float) -> float:
        """Distance beyond which the kernel is below the tolerance."""
        far = 1.0
        while self.profile(np.array([-0.5 * far**2]))[0] > tolerance:
            far *= 1.1
        return far

    def log_profile(self, h: Array) -> Array:
        """The logarithm of the Matérn function: about ``-√(2ν) r`` far away."""
        self._check_nu()
        if self.nu == np.inf:
            return h
        with np.errstate(over="ignore"):
            h *= -4 * self.nu
        r = np.sqrt(h.astype(np.float64))
        h[...] = _log_matern(r, self.nu)
        return h

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """A normal vector times the root of a gamma variable of shape ν + d/2 and scale 1/ν.

        The window's characteristic function is ``(1 + |ω|²/2ν)^-(ν + d/2)``, that of the
        variance-gamma law.
        """
        self._check_nu()
        normal = Gaussian(self.bandwidth).draw(n, d, rng)
        if self.nu == np.inf:
            return normal
        return np.asarray(normal * np.sqrt(rng.gamma(self.nu + 0.5 * d, 1 / self.nu, (n, 1))))

    def log_normalizer(self, d: int) -> float:
        """``log π^{d/2} (2/ν)^{d/2} Γ(ν + d/2) / Γ(ν) Π b_j``: the transform at frequency 0."""
        self._check_nu()
        if self.nu == np.inf:
            return 0.5 * d * log(2 * pi) + self._log_volume(d)
        half = 0.5 * d
        ratio = lgamma(self.nu + half) - lgamma(self.nu)
        return half * log(2 * pi / self.nu) + ratio + self._log_volume(d)

    def plane_waves(self, d: int) -> PlaneWaves | None:
        """Squared angular frequencies divided by d follow an F law with d and 2ν degrees."""
        self._check_nu()
        if self.nu == np.inf:
            return Gaussian(self.bandwidth).plane_waves(d)
        nu, half = self.nu, 0.5 * d
        log_constant = lgamma(nu + half) - lgamma(nu) - half * log(2 * nu * pi)

        return PlaneWaves(
            density=lambda omega2: np.exp(log_constant - (nu + half) * np.log1p(omega2 / (2 * nu))),
            cutoff=lambda tolerance: sqrt(d * f.isf(tolerance, d, 2 * nu)),
            reach=self._reach,
        )

    def _check_nu(self) -> None:
        if not self.nu > 0:
            raise ValueError(f"Matern(nu={self.nu!r}) must be above 0; 0.5, 1.5 and 2.5 are usual.")


def _matern(t: Array, nu: float) -> Array:
    """``2^(1-ν)/Γ(ν) t^ν K_ν(t)`` in logarithms; for t so small that K_ν overflows, its series."""
    if nu > _LARGE_ORDER:
        return np.exp(_log_matern_of_large_order(t, nu))
    with np.errstate(all="ignore"):
        log_value = (1 - nu) * log(2) - lgamma(nu) + nu * np.log(t) - t + np.log(kve(nu, t))
        value = np.exp(log_value)
        # K_ν overflows only for ν well above 2
        series = 1 - t**2 / (4 * (nu - 1)) + t**4 / (32 * (nu - 1) * (nu - 2)) if nu > 2 else 1.0
    value = np.where(np.isfinite(value), value, np.where(t < max(nu, 1), series, 0.0))
    return np.minimum(value, 1)


def _log_matern(t: Array, nu: float) -> Array:
    """Logarithm of the Matérn function of ``t = √(2ν) r``; closed forms where there are any."""
    if nu == 0.5:
        return -t
    if nu in (1.5, 2.5):
        with np.errstate(invalid="ignore"):
            value = np.log1p(t + (t * t / 3 if nu == 2.5 else 0)) - t
        return np.where(np.isinf(t), -np.inf, value)
    if nu > _LARGE_ORDER:
        return _log_matern_of_large_order(t, nu)
    near = _matern(t, nu)
    with np.errstate(all="ignore"):
        far = (1 - nu) * log(2) - lgamma(nu) + nu * np.log(t) - t + np.log(kve(nu, t))
        return np.where(near > 1e-100, np.log(near), np.where(np.isinf(t), -np.inf, far))


def _log_matern_of_large_order(t: Array, nu: float) -> Array:
    """Debye's expansion of K_ν(νz), less its limit at 0, where the Matérn function is 1.

    With ``z = t/ν``, ``s = √(1 + z²)`` and ``w = s - 1`` the logarithm is
    ``ν (log(1 + w/2) - w) - log(s)/2 + log(U(1/s)/U(1))``: what is large has cancelled.
    """
    with np.errstate(all="ignore"):
        z = t / nu
        s = np.hypot(1, z)
        w = z * (z / (1 + s))
        ratio = _debye(1 / s, nu) / _debye(1.0, nu)
        value = nu * (np.log1p(w / 2) - w) - 0.5 * np.log(s) + np.log(ratio)
    return np.where(np.isinf(t), -np.inf, value)


def _debye(p: Any, nu: float) -> Any:
    """``U(p) = Σ_j u_j(p) / (-ν)^j`` up to j = 4 (Abramowitz and Stegun 9.3.9)."""
    q = p * p
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 + q * (-462 + q * 385)) / 1152
    u3 = p * q * (30375 + q * (-369603 + q * (765765 - q * 425425))) / 414720
    u4 = 4465125 + q * (-94121676 + q * (349922430 + q * (-446185740 + q * 185910725)))
    return 1 - u1 / nu + u2 / nu**2 - u3 / nu**3 + q * q * u4 / 39813120 / nu**4


class Laplacian(Stationary):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / b)`.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        b.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(1.0)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """City-block distances per tile."""
        exponents = self.log_tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            exponent = exponents(rows, columns, out)
            return np.exp(exponent, out=exponent)

        return tile

    def log_tiles(self, X: Any, Y: Any = None) -> Tiles:
        """``-‖x - y‖₁ / b``."""
        left, right = X, X if Y is None else Y
        dtype = np.result_type(left, right)
        widths = self.bandwidth_vector(X.shape[1]).astype(dtype)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = left[rows], right[columns]
            total = np.zeros((len(x), len(y)), dtype) if out is None else out
            total[...] = 0
            difference = np.empty_like(total)
            with np.errstate(over="ignore"):  # farther than can be told: -inf, as it should be
                for one, other, width in zip(x.T, y.T, widths, strict=True):
                    np.subtract.outer(one, other, out=difference)
                    np.divide(difference, width, out=difference)
                    total -= np.abs(difference, out=difference)
            return total

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Double exponential coordinates."""
        return rng.laplace(size=(n, d)) * self.bandwidth_vector(d)

    def log_normalizer(self, d: int) -> float:
        """``log 2^d Π b_j``."""
        return d * log(2) + self._log_volume(d)
