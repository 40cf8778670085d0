"""Skewness of a column, and whether a logarithm removes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.utils.types import Array

__all__ = ["Skewness", "logarithm_helps", "skewness"]

_SKEWED = 2.0  # skewness of an exponential distribution
_MANY_ROWS = 20
_MANY_VALUES = 10  # fewer distinct values are codes or counts


class Skewness(NamedTuple):
    """Skewness of positive numbers and of their logarithms."""

    before: float
    after: float


def skewness(numbers: Array) -> float:
    """Return the third standardized moment; 0 for constant numbers.

    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 4)
    1.1547
    """
    extent = float(np.ptp(numbers))
    if not extent > 0:
        return 0.0
    centered = (numbers - numbers.mean()) / extent
    deviation = float(np.sqrt((centered**2).mean()))
    return float((centered**3).mean()) / deviation**3


def logarithm_helps(numbers: Array) -> Skewness | None:
    """Return the skewness before and after taking logarithms, if these are clearly less skewed.

    None unless there are at least 20 positive numbers with 10 distinct values, whose skewness is at
    least 2 and becomes at most half as large.

    >>> rng = np.random.default_rng(0)
    >>> logarithm_helps(np.exp(rng.normal(size=1000))) is not None
    True
    >>> logarithm_helps(rng.normal(10, 1, size=1000)) is None
    True
    """
    if len(numbers) < _MANY_ROWS or not numbers.min() > 0 or not np.isfinite(numbers).all():
        return None
    before = skewness(numbers)
    if before < _SKEWED or len(np.unique(numbers)) < _MANY_VALUES:
        return None
    after = skewness(np.log(numbers))
    return Skewness(before, after) if abs(after) <= before / 2 else None
