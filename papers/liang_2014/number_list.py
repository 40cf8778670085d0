"""Lists of numbers as one result, and the comparison with their true values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CloseTo", "NumberList", "number_list"]

_DIGITS = 6


@dataclass(frozen=True)
class NumberList:
    """Numbers formatted with six digits."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return ", ".join(f"{value:.{_DIGITS}g}" for value in self.values)


def number_list(values: Iterable[float]) -> NumberList:
    """Convert an array; values that are zero up to rounding error become 0."""
    array = np.asarray(list(values), dtype=np.float64)
    array[np.abs(array) < 1e-12 * np.abs(array).max()] = 0.0
    return NumberList(tuple(array.tolist()))


@dataclass(frozen=True)
class CloseTo:
    """The given values up to ``tolerance`` times the largest."""

    values: tuple[float, ...]
    tolerance: float = 1e-8

    def holds(self, value: Any) -> bool:
        """Return whether all numbers are within the tolerance."""
        found, true = np.asarray(value.values), np.asarray(self.values)
        if found.shape != true.shape:
            return False
        return bool(np.abs(found - true).max() <= self.tolerance * np.abs(true).max())

    def describe(self, unit: str) -> str:
        """Return the values and the tolerance as text."""
        return f"{NumberList(self.values)}{unit} (to {self.tolerance:.0e})"
