"""Kernels of the difference x - y: Gaussian, Laplacian, Matérn, Epanechnikov."""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any

import numpy as np
from scipy.special import gamma, kv

from mercer.kernels.base import Kernel, Tiles
from mercer.maths.distances import (
    augment_columns,
    augment_rows,
    half_squared_differences,
    half_squared_products,
    products_would_cancel,
)
from mercer.maths.types import Array

__all__ = ["Epanechnikov", "Gaussian", "Laplacian", "Matern", "Stationary"]

# Up to this many columns, differences cost no more than the matrix product and never cancel.
_FEW_COLUMNS = 2


class Stationary(Kernel):
    """A kernel with a bandwidth: a number, one number per column, or the name of a rule.

    A rule's name ("auto", "silverman", …, see :mod:`mercer.bandwidth`) is resolved from the data
    when an estimator is fitted; calling such a kernel directly is refused.
    """

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth

    def scaled(self, X: Array) -> Array:
        """Coordinates in units of the bandwidth."""
        return np.asarray(X / self.bandwidth_vector(X.shape[1]).astype(X.dtype))

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

    def _log_volume(self, d: int) -> float:
        """Logarithm of the product of the d bandwidths."""
        return float(np.log(self.bandwidth_vector(d)).sum())


class _Radial(Stationary):
    """A function of ``h = -‖x - y‖²/2`` (in bandwidths), applied in place."""

    def profile(self, h: Array) -> Array:
        """Turn h into kernel values, overwriting it."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """One matrix product per tile; differences where products would cancel."""
        itself = Y is None or Y is X
        Y = X if itself else Y
        origin = Y.mean(axis=0, dtype=np.float64)
        X, Y = (self.scaled((Z - origin).astype(Z.dtype, copy=False)) for Z in (X, Y))
        if X.dtype != Y.dtype:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
        if X.shape[1] <= _FEW_COLUMNS or products_would_cancel(X, Y):
            left, right, by_differences = X, Y, True
        else:
            left, right, by_differences = augment_rows(X), augment_columns(Y), False

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            half_squared = half_squared_differences if by_differences else half_squared_products
            h = half_squared(left[rows], right[columns], out)
            if itself and rows == columns:
                np.fill_diagonal(h, 0)
            return self.profile(h)

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

    def log_normalizer(self, d: int) -> float:
        """``log (2π)^(d/2) Π σ_j``."""
        return 0.5 * d * log(2 * pi) + self._log_volume(d)

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

    def log_normalizer(self, d: int) -> float:
        """``log 2 b^d vol(unit ball) / (d + 2)``."""
        log_ball = 0.5 * d * log(pi) - lgamma(0.5 * d + 1)
        return log(2 / (d + 2)) + log_ball + self._log_volume(d)


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
    """

    def __init__(self, bandwidth: float | Array | str = "auto", nu: float = 1.5) -> None:
        super().__init__(bandwidth)
        self.nu = nu

    def profile(self, h: Array) -> Array:
        """The Matérn function of ``r = √(-2h)``."""
        self._check_nu()
        if self.nu == np.inf:
            return np.exp(h, out=h)
        h *= -4 * self.nu
        r = np.sqrt(h, out=h)  # √(2ν) r
        if self.nu == 0.5:
            return np.exp(-r, out=h)
        if self.nu == 1.5:
            return np.multiply(1 + r, np.exp(-r), out=h)
        if self.nu == 2.5:
            return np.multiply(1 + r + r * r / 3, np.exp(-r), out=h)
        r[r == 0] = np.finfo(r.dtype).tiny ** 0.25  # K_ν is infinite at 0, the product is not
        factor = 2 ** (1 - self.nu) / gamma(self.nu)
        np.minimum(factor * r**self.nu * kv(self.nu, r), 1, out=h)
        return h

    def log_normalizer(self, d: int) -> float:
        """``log π^{d/2} (2/ν)^{d/2} Γ(ν + d/2) / Γ(ν) Π b_j``: the transform at frequency 0."""
        self._check_nu()
        if self.nu == np.inf:
            return 0.5 * d * log(2 * pi) + self._log_volume(d)
        half = 0.5 * d
        ratio = lgamma(self.nu + half) - lgamma(self.nu)
        return half * log(2 * pi / self.nu) + ratio + self._log_volume(d)

    def _check_nu(self) -> None:
        if not self.nu > 0:
            raise ValueError(f"Matern(nu={self.nu!r}) must be above 0; 0.5, 1.5 and 2.5 are usual.")


class Laplacian(Stationary):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / b)`.

    Parameters
    ----------
    bandwidth : float, array of shape (d,) or str
        b.
    """

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """City-block distances per tile."""
        left = self.scaled(X)
        right = left if Y is None else self.scaled(Y)
        dtype = np.result_type(left, right)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            x, y = left[rows], right[columns]
            total = np.zeros((len(x), len(y)), dtype) if out is None else out
            total[...] = 0
            difference = np.empty_like(total)
            for one, other in zip(x.T, y.T, strict=True):
                np.subtract.outer(one, other, out=difference)
                total -= np.abs(difference, out=difference)
            return np.exp(total, out=total)

        return tile

    def log_normalizer(self, d: int) -> float:
        """``log 2^d Π b_j``."""
        return d * log(2) + self._log_volume(d)
