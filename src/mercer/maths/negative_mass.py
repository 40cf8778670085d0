"""The mass of a function's negative part, by quadrature or by importance sampling.

Clipping a series at 0 adds exactly the mass of its negative part, so the normaliser of what is left
follows from it. That part is small, and so is the error of its integral.
"""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["grid_points", "negative_mass_by_draws", "negative_mass_on_grid"]


def grid_points(low: Array, high: Array, cells: int) -> tuple[Array, Array]:
    """The middles of a regular grid's cells, ``cells`` per axis, as rows; and a cell's edges.

    Edges, not their product: the volume of a cell can underflow.

    >>> grid_points(np.zeros(1), np.ones(1), 2)
    (array([[0.25],
           [0.75]]), array([0.5]))
    """
    middles = (np.arange(cells) + 0.5) / cells
    axes = [a + (b - a) * middles for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    return points, np.asarray((high - low) / cells)


def negative_mass_on_grid(values: Array, d: int, cell: float) -> tuple[float, float]:
    """Mass of the negative part by the midpoint rule, and an estimate of its error.

    Parameters
    ----------
    values : array
        The function at :func:`grid_points`; the number of cells per axis must be a multiple of 3,
        so that every third middle is the middle of a cell three times as wide. The error is the
        difference from the rule with those.
    d : int
        Number of axes.
    cell : float
        Volume of a cell.
    """
    cells = round(len(values) ** (1 / d))
    negative = np.maximum(-values, 0).reshape((cells,) * d)
    fine = float(negative.sum()) * cell
    coarse = float(negative[(slice(1, None, 3),) * d].sum()) * cell * 3**d
    return fine, abs(fine - coarse)


def negative_mass_by_draws(ratios: Array) -> tuple[float, float]:
    """The same from draws of a density q, given ``f/q`` at each: the mean and its standard error.

    >>> negative_mass_by_draws(np.array([1.0, -0.5, 1.0, -0.5]))[0]
    0.25
    """
    negative = np.maximum(-ratios, 0)
    return float(negative.mean()), float(negative.std() / np.sqrt(len(negative)))
