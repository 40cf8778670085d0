"""Hermite functions of any order, without overflow."""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["damped_hermite"]

_RESCALING = 1e100


def damped_hermite(y: Array, log_factor: Array, count: int) -> Array:
    r"""Return ``exp(log_factor) H_i(y) / √(2^i i!)`` for i < count, shape (n, count).

    H are the physicists' polynomials (:math:`H_2 = 4y^2 - 2`). The normalized ones satisfy

    .. math:: g_{i+1} = \sqrt{2/(i+1)}\, y\, g_i - \sqrt{i/(i+1)}\, g_{i-1},

    and large values are moved to the exponent, so that neither a large order nor a tiny factor
    overflows or underflows.

    >>> damped_hermite(np.array([1.0]), np.array([0.0]), 3).round(4).tolist()
    [[1.0, 1.4142, 0.7071]]
    """
    values = np.empty((len(y), count))
    previous, current = np.zeros_like(y), np.ones_like(y)
    exponent = log_factor.astype(np.float64, copy=True)
    for i in range(count):
        with np.errstate(under="ignore"):
            values[:, i] = current * np.exp(exponent)
        step = np.sqrt(2 / (i + 1)) * y * current - np.sqrt(i / (i + 1)) * previous
        previous, current = current, step
        huge = np.abs(current) > _RESCALING
        previous[huge] /= _RESCALING
        current[huge] /= _RESCALING
        exponent[huge] += np.log(_RESCALING)
    return values
