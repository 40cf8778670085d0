r"""The kernel that spreads points to the grid of a nonuniform FFT.

.. math:: \varphi(s) = \frac{\sinh(\beta\sqrt{1 - (2s/w)^2})}{\sinh \beta}, \qquad |s| \le w/2,
   \qquad \beta = \tfrac34 \pi w,

for a grid of n ≥ 2N points, N the number of frequencies, and s in units of the grid. It is close to
the Kaiser-Bessel kernel and to the exponential of a semicircle, and its Fourier transform is known
(Potts and Tasche: "Continuous window functions for NFFT", 2021).

The aliases of the grid cause an error per dimension of at most

.. math:: E(w) = \max_{|m| \le N/2} \sum_{r \ne 0}
   \left|\frac{\hat\varphi(m + rn)}{\hat\varphi(m)}\right| \le 6 w^{3/2} e^{-\pi w / \sqrt 2} .

The width for a tolerance is the smallest with d E(w) ≤ 0.9 tolerance; polynomials represent
the kernel up to the remaining tenth. The tests sum the aliases for every width.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import fft
from scipy.special import i1e

from mercer.utils.types import Array

__all__ = [
    "alias_bound",
    "kernel_polynomials",
    "kernel_shape",
    "kernel_transform",
    "kernel_values",
    "kernel_width",
]

_MAX_WIDTH = 17  # E(17) = 2e-14: wider kernels gain nothing in double precision


def kernel_width(tolerance: float, d: int) -> int:
    """Return the smallest width w with ``d E(w) ≤ 0.9 tolerance``, at most 17.

    >>> from mercer.gram.spreading_kernel import kernel_width
    >>> kernel_width(1e-11, 2)
    15
    """
    widths = np.arange(2, _MAX_WIDTH)
    enough = d * alias_bound(widths) <= 0.9 * tolerance
    return int(widths[np.argmax(enough)]) if enough.any() else _MAX_WIDTH


def alias_bound(width: Any) -> Any:
    """Return the bound on E(w), the error per dimension."""
    return 6 * width**1.5 * np.exp(-np.pi * width / np.sqrt(2))


def kernel_shape(width: int) -> float:
    """Return β."""
    return 0.75 * np.pi * width


def kernel_values(s: Array, width: int) -> Array:
    """Return φ(s), for s in units of the grid."""
    beta = kernel_shape(width)
    root = beta * np.sqrt(np.maximum(1 - (2 * s / width) ** 2, 0))
    return np.asarray(np.exp(root - beta) * np.expm1(-2 * root) / np.expm1(-2 * beta))


def kernel_transform(frequency: Array, width: int) -> Array:
    """Return ∫ φ(s) exp(-i f s) ds at frequencies below ``2 β / w``."""
    beta = kernel_shape(width)
    z = np.sqrt(beta**2 - (0.5 * width * frequency) ** 2)
    return np.asarray(-width * np.pi * beta * i1e(z) / z * np.exp(z - beta) / np.expm1(-2 * beta))


@cache
def kernel_polynomials(width: int, block: int, tolerance: float) -> Array:
    """Return the Chebyshev coefficients of φ at all grid points near a block of cells.

    Column c is the polynomial of the position in the block, from -1 to 1, that is equal to
    φ at the c-th grid point, up to ``0.1 tolerance`` for the sums over all grid points after the
    division by the Fourier transform.
    """
    points = np.arange(block + width) - width // 2
    n = 64 + 4 * block
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    values = kernel_values(0.5 * block * (nodes[:, None] + 1) - points, width)
    coefficients = fft.dct(values, axis=0) / n
    coefficients[0] /= 2
    tails = np.abs(coefficients[::-1]).cumsum(axis=0)[::-1].sum(axis=1)
    smallest = kernel_transform(np.array(np.pi / 2), width)
    negligible = tails <= max(0.1 * tolerance * smallest, 1e-15)
    return np.ascontiguousarray(coefficients[: int(np.argmax(negligible))].T)
