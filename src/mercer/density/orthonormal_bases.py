"""Classical orthonormal bases of L2 on the line, the half line and an interval.

The functions are orthonormal in z, a shifted and scaled coordinate. Notation: φ_k the functions,
``I_k = ∫ φ_k(z) dz`` their integrals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import eval_laguerre, eval_legendre

from mercer.utils.types import Array

__all__ = ["BASES", "Basis"]


@dataclass(frozen=True)
class Basis:
    """Orthonormal basis.

    Parameters
    ----------
    functions : callable
        ``φ_0 … φ_{m-1}`` at points z, as an array of shape (len(z), m); 0 outside the domain.
    masses : callable
        I_0 … I_{m-1}.
    scaling : callable
        Offset and scale ``(o, s)`` of ``z = (x - o)/s`` for a sample, its normalized weights (sum
        1) and the ends of the domain.
    extent : callable
        Interval of z outside which the first m functions are zero or negligible.
    """

    functions: Callable[[Array, int], Array]
    masses: Callable[[int], Array]
    scaling: Callable[[Array, Array, tuple[float, float]], tuple[float, float]]
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
