"""Extrapolation of a statistic to infinite sample size from its values at three sizes."""

from __future__ import annotations

import numpy as np

__all__ = ["bias_factor"]

_SLOWEST, _FASTEST = 0.4, 1.5  # range of the exponent β
_EXPONENTS = np.linspace(_SLOWEST, _FASTEST, 111)


def bias_factor(
    sizes: tuple[float, float, float], values: tuple[float, float, float], noise: float = 0.0
) -> float:
    """Return c such that ``values[0] + c (values[0] - values[1])`` extrapolates to infinity.

    The bias is modeled as ``a n^-β``. The exponent follows from the three values if they differ by
    more than their noise, and is 1 otherwise.

    Parameters
    ----------
    sizes : three floats
        Sample sizes, decreasing.
    values : three floats
        Of the statistic.
    noise : float
        Standard error of ``values[1] - values[2]``.

    Examples
    --------
    >>> sizes = (400, 200, 100)
    >>> values = [5 - 30 / n for n in sizes]
    >>> round(values[0] + bias_factor(sizes, values) * (values[0] - values[1]), 6)
    5.0
    """
    n, m, k = (float(size) for size in sizes)
    exponent = 1.0
    first, second = values[0] - values[1], values[1] - values[2]
    if abs(second) > 4 * noise and first * second > 0:
        powers = _EXPONENTS
        ratios = (m**-powers - n**-powers) / (k**-powers - m**-powers)
        exponent = float(_EXPONENTS[np.argmin(np.abs(np.log(ratios * second / first)))])
    return float(1 / ((n / m) ** exponent - 1))
