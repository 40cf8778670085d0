"""Stationary kernels, functions of x - y: Gaussian, Laplacian, Matérn, Epanechnikov."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import lgamma, log, pi, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betaincinv, chdtri, kve

from mercer.data.points import PointSet
from mercer.kernels.base import Kernel, Tiles
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import (
    augment_columns,
    augment_rows,
    half_squared_differences,
    half_squared_products,
    products_would_cancel,
)
from mercer.utils.types import Array
from mercer.utils.weights import Moments

__all__ = [
    "Epanechnikov",
    "Gaussian",
    "Laplacian",
    "Matern",
    "Radial",
    "SpectralDensity",
    "Stationary",
    "normal_spectral_density",
    "sample_metric",
]

# Above this smoothness K_ν overflows at distances where three terms of its series are not accurate.
# The expansion for large ν has an error of at most 1e-13 there.
_LARGE_ORDER = 100


@dataclass(frozen=True)
class SpectralDensity:
    """Fourier transform of a kernel of unit bandwidth with k(0) = 1: a density (Bochner).

    ``density`` takes squared angular frequencies |ω|², ``cutoff`` returns the angular frequency
    beyond which the density has less than a given mass, and ``reach`` the distance beyond which the
    kernel is below a given value.
    """

    density: Callable[[Array], Array]
    cutoff: Callable[[float], float]
    reach: Callable[[float], float]


def normal_spectral_density(d: int) -> SpectralDensity:
    """Return the spectral density of the Gaussian kernel in d dimensions, a standard normal."""
    return SpectralDensity(
        density=lambda omega2: (2 * pi) ** (-d / 2) * np.exp(-0.5 * omega2),
        cutoff=lambda tolerance: sqrt(chdtri(d, tolerance)),
        reach=lambda tolerance: sqrt(2 * log(1 / tolerance)),
    )


class Stationary(Kernel):
    """Base class of kernels with a bandwidth: a number, one per column, or the name of a rule.

    A rule ("auto", "silverman", …, see :mod:`mercer.bandwidth`) is replaced by its value when an
    estimator is fitted; calling a kernel with a rule directly raises ValueError.

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

    def _with_scaled_bandwidth(self, factor: float) -> Kernel:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{self!r} has a bandwidth rule, which needs data. Fit the kernel first: "
                "mercer.bandwidth.fit_kernel(kernel, X)."
            )
        return self.with_bandwidth(np.multiply(self.bandwidth, factor).tolist())

    def bandwidth_vector(self, d: int) -> Array:
        """Check the bandwidth and return it for each of d columns."""
        name = type(self).__name__
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"{name}(bandwidth={self.bandwidth!r}) is a rule, which needs data. Fit an "
                "estimator, call mercer.bandwidth.fit_kernel(kernel, X), or pass a number."
            )
        bandwidths = np.atleast_1d(np.asarray(self.bandwidth, dtype=np.float64))
        if bandwidths.ndim != 1:
            raise ValueError(
                f"{name} got bandwidths of shape {bandwidths.shape}; pass one number, or an array "
                f"of shape ({d},) with one bandwidth per column."
            )
        if len(bandwidths) not in (1, d):
            raise ValueError(
                f"{name} got {bandwidths.size} bandwidths for {d} columns; pass one number, or one "
                "per column."
            )
        if not (np.isfinite(bandwidths).all() and (bandwidths > 0).all()):
            raise ValueError(
                f"{name}(bandwidth={self.bandwidth!r}) must be positive and finite; pass a number "
                "above 0 or the name of a rule such as 'auto'."
            )
        return np.broadcast_to(bandwidths, (d,))

    def to_units(self, X: Array) -> Array:
        """Return coordinates in bandwidths, in which the kernel has bandwidth 1."""
        return np.asarray(X / self.bandwidth_vector(X.shape[1]))

    def from_units(self, Z: Array) -> Array:
        """Invert :meth:`to_units`."""
        return np.asarray(Z * self.bandwidth_vector(Z.shape[1]))

    def diagonal(self, X: Any) -> Array:
        """``k(x, x) = 1``."""
        X = self._as_points(X)
        return np.ones(len(X), X.dtype)

    def _log_volume(self, d: int) -> float:
        """Return the logarithm of the product of the d bandwidths."""
        return float(np.log(self.bandwidth_vector(d)).sum())

    def spectral_density(self, d: int) -> SpectralDensity | None:
        """Return the spectral density in d dimensions if it decays fast; None otherwise."""
        return None


class Radial(Stationary):
    """Base class of kernels that are functions of ``h = -‖x - y‖²/2``, in units of bandwidths."""

    clips_exponents: ClassVar[bool] = False  # whether the profile treats h > 0 as 0

    def profile(self, h: Array) -> Array:
        """Turn h into kernel values, overwriting it."""
        raise NotImplementedError

    def inverse_profile(self, values: Array) -> Array:
        """Return the squared distances, in bandwidths, at which k has these values in (0, 1]."""
        raise NotImplementedError

    def log_profile(self, h: Array) -> Array:
        """Turn h into logarithms of kernel values, overwriting it."""
        with np.errstate(divide="ignore"):  # beyond the support of a compact kernel
            return np.log(self.profile(h), out=h)

    def _from(self, origin: Array, X: Array) -> Array:
        """Return coordinates relative to a common origin, in bandwidths."""
        with np.errstate(over="ignore"):
            return self.to_units(X - origin).astype(X.dtype, copy=False)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles by matrix products, or by differences if products would cancel."""
        return self._exponents(X, Y, self.profile, not self.clips_exponents)

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Evaluate tiles of the logarithm, without an exponential."""
        return self._exponents(X, Y, self.log_profile)

    def _exponents(
        self, X: Any, Y: Any, profile: Callable[[Array], Array], clip: bool = True
    ) -> Tiles:
        """Return rectangles of h, transformed by ``profile``."""
        same_points = Y is None or Y is X
        Y = X if same_points else Y
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
        bandwidths = self.bandwidth_vector(X.shape[1])
        left, right, by_products = X, Y, False
        # differences of few columns are as fast, without cancellation
        if X.shape[1] > 2:
            origin = Y.mean(axis=0, dtype=np.float64)
            near_x = self._from(origin, X)
            near_y = near_x if same_points else self._from(origin, Y)
            if not products_would_cancel(near_x, near_y):
                left, right, by_products = augment_rows(near_x), augment_columns(near_y), True

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            if by_products:
                h = half_squared_products(left[rows], right[columns], out, clip)
            else:
                h = half_squared_differences(left[rows], right[columns], bandwidths, out)
            if same_points and rows == columns:
                np.fill_diagonal(h, 0)
            return profile(h)

        return tile


class Gaussian(Radial):
    r"""Gaussian kernel, :math:`k(x, y) = \exp(-\|x - y\|^2 / 2\sigma^2)`.

    With a metric M, :math:`\|x - y\|^2 = (x - y)' M^{-1} (x - y)`, so :math:`\sigma^2 M` is the
    bandwidth matrix.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        σ, one σ per column, or the name of a rule.
    metric : None, "covariance" or array of shape (d, d)
        None for the Euclidean distance; "covariance" for the covariance matrix of the training
        sample (Mahalanobis distance); or a positive definite matrix M. With a metric there is one
        bandwidth, and rules choose it in the whitened coordinates.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian(1.0, metric=[[4.0, 0.0], [0.0, 1.0]])([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.6065]])
    """

    clips_exponents = True

    def __init__(
        self, bandwidth: float | Array | str = "auto", metric: str | Array | None = None
    ) -> None:
        super().__init__(bandwidth)
        self.metric = metric

    def __repr__(self) -> str:
        if self.metric is not None:
            return super().__repr__()
        return f"{type(self).__name__}(bandwidth={self.bandwidth!r})"

    def with_metric(self, metric: Array) -> Gaussian:
        """Return the same kernel with another metric."""
        return type(self)(self.bandwidth, metric)

    def to_units(self, X: Array) -> Array:
        """Return coordinates in bandwidths, in which the kernel has bandwidth 1."""
        if self.metric is None:
            return super().to_units(X)
        return self._whitened(X) / self.bandwidth_vector(X.shape[1])

    def from_units(self, Z: Array) -> Array:
        """Invert :meth:`to_units`."""
        if self.metric is None:
            return super().from_units(Z)
        return np.asarray(super().from_units(Z) @ self._metric_factor(Z.shape[1]).T)

    def _whitened(self, X: Array) -> Array:
        factor = self._metric_factor(X.shape[1])
        return np.asarray(solve_triangular(factor, X.T, lower=True, check_finite=False).T)

    def _metric_factor(self, d: int) -> Array:
        """Check the metric and return its lower Cholesky factor."""
        if isinstance(self.metric, str):
            raise ValueError(
                f"Gaussian(metric={self.metric!r}) is a rule, which needs data. Fit an estimator, "
                "call mercer.bandwidth.fit_kernel(kernel, X), or pass a matrix."
            )
        M = np.asarray(self.metric, dtype=np.float64)
        if M.shape != (d, d):
            raise ValueError(
                f"Gaussian has a metric of shape {M.shape}; {d} columns need ({d}, {d})."
            )
        if np.ndim(self.bandwidth) > 0:
            raise ValueError(
                f"Gaussian got {np.size(self.bandwidth)} bandwidths and a metric; pass one "
                "bandwidth, and put the others into the metric."
            )
        asymmetry = np.abs(M - M.T).max(initial=0)
        if not np.isfinite(M).all() or asymmetry > 1e-10 * np.abs(M).max(initial=0):
            raise ValueError("Gaussian(metric=…) must be a symmetric matrix of finite numbers.")
        try:
            return np.linalg.cholesky(M)
        except np.linalg.LinAlgError as error:
            lowest = float(np.linalg.eigvalsh(M)[0])
            raise ValueError(
                f"Gaussian(metric=…) must be positive definite; its smallest eigenvalue is "
                f"{lowest:.3g}. Drop redundant columns, or add a multiple of the identity."
            ) from error

    def _exponents(
        self, X: Any, Y: Any, profile: Callable[[Array], Array], clip: bool = True
    ) -> Tiles:
        if self.metric is None:
            return super()._exponents(X, Y, profile, clip)
        rows = X if Y is None else Y
        # a median, because an outlier in the mean would round all other coordinates
        origin = np.median(rows[:: max(1, len(rows) // 1000)].astype(np.float64), axis=0)
        right = None if Y is None or Y is X else self._from(origin, Y)
        return Gaussian(1.0)._exponents(self._from(origin, X), right, profile, clip)

    def profile(self, h: Array) -> Array:
        """``exp h``."""
        return exponentials(h, 0.0)

    def inverse_profile(self, values: Array) -> Array:
        """``-2 log k``."""
        return -2 * np.log(values)

    def log_profile(self, h: Array) -> Array:
        """Return h."""
        return h

    def log_normalizer(self, d: int) -> float:
        """``log (2π)^(d/2) Π σ_j``, with a metric ``log (2π)^(d/2) σ^d √det M``."""
        return 0.5 * d * log(2 * pi) + self._log_volume(d)

    def _log_volume(self, d: int) -> float:
        volume = super()._log_volume(d)
        if self.metric is None:
            return volume
        return volume + float(np.log(self._metric_factor(d).diagonal()).sum())

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw normal coordinates."""
        return self.from_units(rng.standard_normal((n, d)))

    def spectral_density(self, d: int) -> SpectralDensity | None:
        """Return the density of the standard normal distribution."""
        return normal_spectral_density(d)

    def bandwidth_matrix(self, d: int) -> Array:
        """Return the covariance matrix of the kernel's density: ``σ² M``."""
        steps = self.from_units(np.eye(d))
        return np.asarray(steps.T @ steps)


class Epanechnikov(Radial):
    r"""Epanechnikov kernel, :math:`k(x, y) = \max(0, 1 - \|x - y\|^2 / b^2)`.

    A density up to its normalizer, but not positive semi-definite: some eigenvalues are negative.

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
        """Draw a random direction and a squared radius with the distribution Beta(d/2, 2)."""
        direction = rng.standard_normal((n, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = np.sqrt(rng.beta(0.5 * d, 2.0, n))
        return self.from_units(radius[:, None] * direction)


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
        """Return exponentials of city-block distances."""
        exponents = self.log_tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            exponent = exponents(rows, columns, out)
            return exponentials(exponent)

        return tile

    def log_tiles(self, X: Any, Y: Any = None) -> Tiles:
        """``-‖x - y‖₁ / b``."""
        left, right = X, X if Y is None else Y
        dtype = np.result_type(left, right)
        bandwidths = self.bandwidth_vector(X.shape[1]).astype(dtype)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = left[rows], right[columns]
            total = np.zeros((len(x), len(y)), dtype) if out is None else out
            total[...] = 0
            difference = np.empty_like(total)
            with np.errstate(over="ignore"):  # a difference that overflows gives -inf, k = 0
                for one, other, bandwidth in zip(x.T, y.T, bandwidths, strict=True):
                    np.subtract.outer(one, other, out=difference)
                    np.divide(difference, bandwidth, out=difference)
                    total -= np.abs(difference, out=difference)
            return total

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw double exponential coordinates."""
        return self.from_units(rng.laplace(size=(n, d)))

    def log_normalizer(self, d: int) -> float:
        """``log 2^d Π b_j``."""
        return d * log(2) + self._log_volume(d)


class Matern(Radial):
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
        """Return the Matérn function of ``r = √(-2h)``."""
        self._check_nu()
        if self.nu == np.inf:
            return exponentials(h)
        with np.errstate(over="ignore"):
            h *= -4 * self.nu
        r = np.sqrt(h, out=h)  # √(2ν) r
        if self.nu in (0.5, 1.5, 2.5):
            np.minimum(r, 800, out=r)  # exp(-800) is 0; avoids inf * 0 = nan
            factor = exponentials(-r)
            if self.nu == 0.5:
                h[...] = factor
            else:
                np.multiply(1 + r if self.nu == 1.5 else 1 + r + r * r / 3, factor, out=h)
            return np.minimum(h, 1, out=h)  # rounding errors exceed 1 for small r
        h[...] = _matern(r.astype(np.float64), self.nu)
        return h

    def inverse_profile(self, values: Array) -> Array:
        """Invert the profile, a decreasing function, by bisection."""
        near = np.zeros(np.shape(values))
        far = np.full(np.shape(values), self._reach(np.finfo(np.float64).tiny))
        for _ in range(60):
            middle = 0.5 * (near + far)
            beyond = self.profile(-0.5 * middle**2) < values
            near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
        return np.asarray(near**2)

    def _reach(self, tolerance: float) -> float:
        """Return a distance beyond which the kernel is below the tolerance."""
        far = 1.0
        while self.profile(np.array([-0.5 * far**2]))[0] > tolerance:
            far *= 1.1
        return far

    def log_profile(self, h: Array) -> Array:
        """Return the logarithm of the Matérn function, about ``-√(2ν) r`` for large r."""
        self._check_nu()
        if self.nu == np.inf:
            return h
        with np.errstate(over="ignore"):
            h *= -4 * self.nu
        r = np.sqrt(h.astype(np.float64))
        h[...] = _log_matern(r, self.nu)
        return h

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw a normal vector times the root of a gamma variable (shape ν + d/2, scale 1/ν).

        The characteristic function is ``(1 + |ω|²/2ν)^-(ν + d/2)``, that of the variance-gamma
        distribution.
        """
        self._check_nu()
        normal = self.from_units(rng.standard_normal((n, d)))
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

    def spectral_density(self, d: int) -> SpectralDensity | None:
        """Squared angular frequencies divided by d have an F(d, 2ν) distribution."""
        self._check_nu()
        if self.nu == np.inf:
            return normal_spectral_density(d)
        nu, half = self.nu, 0.5 * d
        log_constant = lgamma(nu + half) - lgamma(nu) - half * log(2 * nu * pi)

        return SpectralDensity(
            density=lambda omega2: np.exp(log_constant - (nu + half) * np.log1p(omega2 / (2 * nu))),
            # |ω|²/d has the F distribution of d and 2ν degrees of freedom
            cutoff=lambda tolerance: sqrt(2 * nu * (1 / betaincinv(nu, half, tolerance) - 1)),
            reach=self._reach,
        )

    def _check_nu(self) -> None:
        if not self.nu > 0:
            raise ValueError(f"Matern(nu={self.nu!r}) must be above 0; 0.5, 1.5 and 2.5 are usual.")


def _matern(t: Array, nu: float) -> Array:
    """Return ``2^(1-ν)/Γ(ν) t^ν K_ν(t)``, from its series where K_ν overflows (small t)."""
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
    """Return the logarithm of the Matérn function of ``t = √(2ν) r``."""
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
    """Return the logarithm of the Matérn function for large ν, from Debye's expansion of K_ν.

    With ``z = t/ν``, ``s = √(1 + z²)`` and ``w = s - 1`` the logarithm is
    ``ν (log(1 + w/2) - w) - log(s)/2 + log(U(1/s)/U(1))``. The limit at 0, where the Matérn
    function is 1, has been subtracted analytically, so that no large terms cancel.
    """
    with np.errstate(all="ignore"):
        z = t / nu
        s = np.hypot(1, z)
        w = z * (z / (1 + s))
        ratio = _debye(1 / s, nu) / _debye(1.0, nu)
        value = nu * (np.log1p(w / 2) - w) - 0.5 * np.log(s) + np.log(ratio)
    return np.where(np.isinf(t), -np.inf, value)


def _debye(p: Any, nu: float) -> Any:
    """Return ``U(p) = Σ_j u_j(p) / (-ν)^j`` up to j = 4 (Abramowitz and Stegun 9.3.9)."""
    q = p * p
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 + q * (-462 + q * 385)) / 1152
    u3 = p * q * (30375 + q * (-369603 + q * (765765 - q * 425425))) / 414720
    u4 = 4465125 + q * (-94121676 + q * (349922430 + q * (-446185740 + q * 185910725)))
    return 1 - u1 / nu + u2 / nu**2 - u3 / nu**3 + q * q * u4 / 39813120 / nu**4


def sample_metric(rule: str, data: Any, weights: Array | None) -> Array:
    """Return the metric that a rule names: the covariance matrix of a sample."""
    if rule != "covariance":
        raise ValueError(f"Gaussian(metric={rule!r}) must be None, 'covariance' or a matrix.")
    if isinstance(data, PointSet):
        moments = data.sum_rows(_moments, data.weights, combine=_add_moments)  # type: ignore[attr-defined]
    else:
        moments = Moments.of(data.astype(np.float64, copy=False), weights)
    covariance = moments.scatter / moments.total
    scale = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scale, scale) if (scale > 0).all() else np.zeros((1, 1))
    lowest = float(np.linalg.eigvalsh(correlation)[0])
    if not lowest > 1e-12:
        raise ValueError(
            "Gaussian(metric='covariance') needs an invertible covariance matrix; the smallest "
            f"eigenvalue of the correlation matrix is {lowest:.3g}. Drop constant and redundant "
            "columns."
        )
    return np.asarray(covariance)


def _moments(points: Any, weights: Array | None) -> Moments:
    return Moments.of(points.data.astype(np.float64, copy=False), weights)


def _add_moments(parts: Sequence[Moments]) -> Moments:
    return reduce(Moments.__add__, [part for part in parts if part.total > 0])
