"""Some rows stand for all where all would take too long."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = ["drawn_rows", "take"]


def drawn_rows(n: int, most: int, seed: int = 0) -> Array:
    """Row numbers, rising: all, or ``most`` of them drawn at random with a fixed seed.

    >>> drawn_rows(3, 5).tolist(), len(drawn_rows(100, 5))
    ([0, 1, 2], 5)
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def take(data: Any, rows: Array) -> Any:
    """Rows of an array or of a data frame."""
    return data.iloc[rows].reset_index(drop=True) if hasattr(data, "iloc") else data[rows]
