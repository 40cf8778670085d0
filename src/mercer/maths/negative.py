"""The mass of a function's negative part, by quadrature or by importance sampling.

Clipping a series at 0 adds exactly the mass of its negative part, so the normaliser of what is left
follows from it. That part is small, and so is the error of its integral.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from mercer.maths.types import Array

__all__ = ["grid_points", "negative_mass_by_draws", "negative_mass_on_grid"]


def grid_points(low: Array, high: Array, sides: int) -> tuple[Array, float]:
    """A regular grid of ``sides`` points per axis, as rows, and the volume of a cell.

    >>> grid_points(np.zeros(1), np.ones(1), 3)
    (array([[0. ],
           [0.5],
           [1. ]]), 0.5)
    """
    axes = [np.linspace(a, b, sides) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    return points, float(np.prod((high - low) / (sides - 1)))


def negative_mass_on_grid(
    values: Callable[[Array], Array], low: Array, high: Array, sides: int
) -> tuple[float, float]:
    """Mass of the negative part in a box, and an estimate of its error.

    The trapezoid rule, for a function that vanishes at the edges; the error is the difference from
    the rule with every other point. ``sides`` must be odd.
    """
    points, cell = grid_points(low, high, sides)
    negative = np.maximum(-values(points), 0).reshape((sides,) * len(low))
    fine = float(negative.sum()) * cell
    every_other = reduce(
        lambda part, axis: part.take(np.arange(0, sides, 2), axis), range(len(low)), negative
    )
    coarse = float(every_other.sum()) * cell * 2 ** len(low)
    return fine, abs(fine - coarse)


def negative_mass_by_draws(ratios: Array) -> tuple[float, float]:
    """The same from draws of a density q, given ``f/q`` at each: the mean and its standard error.

    >>> negative_mass_by_draws(np.array([1.0, -0.5, 1.0, -0.5]))[0]
    0.25
    """
    negative = np.maximum(-ratios, 0)
    return float(negative.mean()), float(negative.std() / np.sqrt(len(negative)))
