"""The Matérn kernel."""

from __future__ import annotations

from math import lgamma, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.special import kve
from scipy.stats import f

from mercer.kernels.stationary import Radial, SpectralDensity, normal_spectral_density
from mercer.utils.compiled import exponentials
from mercer.utils.types import Array

__all__ = ["Matern"]

_BISECTIONS = 60  # enough for double precision
# Above this smoothness K_ν overflows at distances where three terms of its series are not accurate.
# The expansion for large ν has an error of at most 1e-13 there.
_LARGE_ORDER = 100


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
        for _ in range(_BISECTIONS):
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
            cutoff=lambda tolerance: sqrt(d * f.isf(tolerance, d, 2 * nu)),
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
