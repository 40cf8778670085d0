"""Mass of the negative part of a function, by quadrature or importance sampling.

Clipping a series at 0 increases its integral by the mass of the negative part, which therefore
determines the normalizing constant of the clipped series. The negative part is small, so the error
of its integral is small, too.
"""

from __future__ import annotations

import numpy as np

from mercer.utils.types import Array

__all__ = ["grid_points", "negative_mass_by_draws", "negative_mass_on_grid"]


def grid_points(low: Array, high: Array, cells: int) -> tuple[Array, Array]:
    """Return the cell centers of a regular grid as rows, and the edge lengths of a cell.

    The grid has ``cells`` cells along each axis. Edge lengths are returned instead of the volume,
    which can underflow.

    >>> grid_points(np.zeros(1), np.ones(1), 2)
    (array([[0.25],
           [0.75]]), array([0.5]))
    """
    centers = (np.arange(cells) + 0.5) / cells
    axes = [a + (b - a) * centers for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    return points, np.asarray((high - low) / cells)


def negative_mass_on_grid(values: Array, d: int, cell: float) -> tuple[float, float]:
    """Return the mass of the negative part by the midpoint rule, and an error estimate.

    The error estimate is the difference from the midpoint rule with cells three times as wide.

    Parameters
    ----------
    values : array
        Values of the function at :func:`grid_points`. The number of cells per axis must be a
        multiple of 3, so that every third center is also the center of a wide cell.
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
    """Return the mass of the negative part of f by importance sampling, and its standard error.

    ``ratios`` are the values of ``f/q`` at samples drawn from a density q.

    >>> negative_mass_by_draws(np.array([1.0, -0.5, 1.0, -0.5]))[0]
    0.25
    """
    negative = np.maximum(-ratios, 0)
    return float(negative.mean()), float(negative.std() / np.sqrt(len(negative)))
