"""Several numbers as one result, and the range that rounding leaves about their true values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Near", "Numbers", "numbers"]

_DIGITS = 6


@dataclass(frozen=True)
class Numbers:
    """Numbers shown to six digits."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return ", ".join(f"{value:.{_DIGITS}g}" for value in self.values)


def numbers(values: Iterable[float]) -> Numbers:
    """From an array; what is zero to rounding is shown as 0."""
    array = np.asarray(list(values), dtype=np.float64)
    array[np.abs(array) < 1e-12 * np.abs(array).max()] = 0.0
    return Numbers(tuple(array.tolist()))


@dataclass(frozen=True)
class Near:
    """These values, up to a relative error of the largest."""

    values: tuple[float, ...]
    tolerance: float = 1e-8

    def holds(self, value: Any) -> bool:
        """Whether all numbers are that near."""
        found, true = np.asarray(value.values), np.asarray(self.values)
        if found.shape != true.shape:
            return False
        return bool(np.abs(found - true).max() <= self.tolerance * np.abs(true).max())

    def describe(self, unit: str) -> str:
        """The values and the tolerance."""
        return f"{Numbers(self.values)}{unit} (to {self.tolerance:.0e})"
