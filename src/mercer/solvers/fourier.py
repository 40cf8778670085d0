"""Plane waves on an equispaced grid: exact to a tolerance, linear in the number of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import MemoryBudgetError
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import EigenProblem, FourierGram, FrequencyGrid, GramOperator, frequency_grid
from mercer.points import Points
from mercer.solvers.base import Eigenpairs, Progress, Selection
from mercer.solvers.small import solve_small

__all__ = ["Fourier"]


@dataclass(frozen=True)
class Fourier:
    """Gaussian or Matérn kernel in at most three dimensions, through non-uniform FFTs.

    Every kernel value is right to about ``tolerance``; the cost is one transform of the points per
    fit and one per component, whatever the number of points.

    Parameters
    ----------
    tolerance : float
        Of a kernel value, between 1e-12 and 1e-1 (1e-6 at best for float32 points). A Matérn
        kernel has a long tail of frequencies: give it 1e-4 or so.
    box : pair of arrays of shape (d,), or None
        Lowest and highest coordinates that points may have; None for those of the sample. Needed
        by ``partial_fit``, whose grid must serve points that are yet to come.
    """

    tolerance: float = 1e-10
    box: tuple[Any, Any] | None = None

    def grid(self, kernel: Kernel, points: Points) -> FrequencyGrid | str:
        """Return the grid of frequencies, or the reason why there is none."""
        if not 1e-12 <= self.tolerance <= 0.1:
            raise ValueError(
                f"Fourier(tolerance={self.tolerance!r}) must lie between 1e-12 and 1e-1."
            )
        if points.kind != "vectors":
            return "it takes numeric columns"
        low, high = self._box(points)
        return frequency_grid(kernel, low, high, self.tolerance, points.dtype)

    def _box(self, points: Points) -> tuple[Array, Array]:
        low, high = points.data.min(axis=0), points.data.max(axis=0)
        if self.box is None:
            return low.astype(np.float64), high.astype(np.float64)
        box = tuple(np.broadcast_to(np.asarray(end, dtype=float), low.shape) for end in self.box)
        if (low < box[0]).any() or (high > box[1]).any():
            column = int(np.argmax((low < box[0]) | (high > box[1])))
            raise ValueError(
                f"Column {column} has values from {low[column]:.6g} to {high[column]:.6g}, outside "
                f"the box [{box[0][column]:.6g}, {box[1][column]:.6g}] of the frequency grid. "
                "Choose Fourier(box=(low, high)) so that it holds all points still to come."
            )
        return box[0], box[1]

    def gram(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None = None,
        matrix: Array | None = None,
    ) -> GramOperator:
        """Make the operator; refused in words, with the numbers, where no grid can serve."""
        grid = self.grid(kernel, points)
        if isinstance(grid, str):
            raise MemoryBudgetError(f"The Fourier solver cannot do this: {grid}.")
        return FourierGram(kernel, points, weights, grid)

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Solve on the small side."""
        return solve_small(problem, selection, random_state=random_state, progress=progress)
