"""Terms of orthogonal series densities, and the mass of their negative part.

Notation: ``ĉ_k`` the mean of Φ_k over the sample (the coefficient), ``ŝ_k`` the mean of Φ_k², n the
sample size. The variance of ĉ_k is about (ŝ_k - ĉ_k²)/n. A term reduces the mean integrated
squared error if its square exceeds this variance. With unbiased estimates the condition is
``ĉ_k² > 2 ŝ_k / (n + 1)`` (Kronmal and Tarter 1968; Girolami 2002, section 4). For the eigenvectors
of a Gram matrix ĉ_k² = λ_k (1'e_k)²/n² and ŝ_k = λ_k/n, so it becomes ``(1'e_k)² > 2n/(n + 1)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "check_terms",
    "choose_terms",
    "grid_points",
    "negative_mass_by_draws",
    "negative_mass_on_grid",
]


def _kronmal_tarter(squares: Array, second_moments: Array, n: float) -> Array:
    """Return all terms that reduce the estimated error."""
    return np.flatnonzero(squares > 2 * second_moments / (n + 1))


def _kronmal_tarter_run(squares: Array, second_moments: Array, n: float) -> Array:
    """Return the terms before the first one that does not reduce the estimated error."""
    passes = squares > 2 * second_moments / (n + 1)
    return np.arange(len(passes) if passes.all() else int(np.argmin(passes)))


def _diggle_hall(squares: Array, second_moments: Array, n: float) -> Array:
    """Return the leading terms up to the minimum of the total estimated error.

    Diggle and Hall (1986) minimize the total error over the number of leading terms instead of
    stopping at the first term that increases it.
    """
    errors = np.cumsum(2 * second_moments / (n + 1) - squares)
    return np.arange(int(np.argmin(np.r_[0.0, errors])))


_RULES: dict[str, Callable[[Array, Array, float], Array]] = {
    "kronmal-tarter": _kronmal_tarter,
    "kronmal-tarter-run": _kronmal_tarter_run,
    "diggle-hall": _diggle_hall,
}


def check_terms(rule: Any) -> None:
    """Raise ValueError unless ``rule`` is a rule's name, a number of terms or None."""
    if isinstance(rule, int | np.integer) and rule < 1:
        raise ValueError(f"terms={rule} must be at least 1, or None for all.")
    if not (rule is None or isinstance(rule, int | np.integer) or rule in _RULES):
        raise ValueError(
            f"terms={rule!r} must be a number of terms, None for all, or one of "
            f"{', '.join(map(repr, _RULES))}."
        )


def choose_terms(rule: Any, squares: Array, second_moments: Array, n: float) -> Array:
    """Return the indices of the selected terms in increasing order.

    ``rule``: name of a rule, number of leading terms, or None for all. ``squares``,
    ``second_moments``: ĉ_k² and ŝ_k of the terms in their natural order. ``n``: sample size.
    """
    if rule is None:
        return np.arange(len(squares))
    if isinstance(rule, str):
        return _RULES[rule](squares, second_moments, n)
    return np.arange(min(rule, len(squares)))


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

    ``values``: values of the function at :func:`grid_points`. The number of cells per axis must be
    a multiple of 3, so that every third center is also the center of a wide cell. ``d``: number of
    axes. ``cell``: volume of a cell.
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
