"""Plane waves on an equispaced grid: exact to a tolerance, linear in the number of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data import Points
from mercer.errors import MemoryBudgetError
from mercer.kernels import Kernel
from mercer.operators import (
    FourierGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    Sample,
    frequency_grid,
)
from mercer.solvers.small_side import SmallSideSolver

__all__ = ["Fourier"]


@dataclass(frozen=True)
class Fourier(SmallSideSolver):
    """Gaussian or Matérn kernel in at most three dimensions, through non-uniform FFTs.

    Every kernel value is right to about ``tolerance``; the cost is one transform of the points per
    fit and one per component, whatever the number of points. All else happens among the plane
    waves: where these outnumber the points (three columns and a narrow kernel), "lanczos" is
    faster; "auto" compares.

    Parameters
    ----------
    tolerance : float
        Of a kernel value, between 1e-12 and 1e-1. A Matérn kernel has a long tail of frequencies:
        give it 1e-4 or so.
    box : pair of arrays of shape (d,), or None
        Lowest and highest coordinates that points may have; None for those of the sample. Needed
        by ``partial_fit``, whose grid must serve points that are yet to come.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.solvers import Fourier
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> eca = KernelECA(3, solver=Fourier()).fit(X)
    >>> eca.certified_, eca.spectrum_.error_bound < 1e-8 * eca.spectrum_.trace
    (True, True)
    """

    tolerance: float = 1e-10
    box: tuple[Any, Any] | None = None

    def grid(self, kernel: Kernel, points: Points) -> FrequencyGrid | NoGrid:
        """Return the grid of frequencies, or the reason why there is none."""
        if not 1e-12 <= self.tolerance <= 0.1:
            raise ValueError(
                f"Fourier(tolerance={self.tolerance!r}) must lie between 1e-12 and 1e-1."
            )
        if points.kind != "vectors":
            return NoGrid("it takes numeric columns")
        ends = points.bounds() if self.box is None else self.box
        d = points.dimension or 0
        low, high = (np.broadcast_to(np.asarray(end, float), (d,)) for end in ends)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise ValueError(
                f"Fourier(box={self.box!r}) must be a pair of finite ends with low ≤ high, each a "
                f"number or one per column (here {d})."
            )
        grid = frequency_grid(kernel, low, high, self.tolerance)
        if self.box is not None and isinstance(grid, FrequencyGrid):
            grid.require_inside(points)
        return grid

    def gram(self, sample: Sample) -> GramOperator:
        """Make the operator; refused in words, with the numbers, where no grid can serve."""
        grid = self.grid(sample.kernel, sample.points)
        if isinstance(grid, NoGrid):
            kind = MemoryBudgetError if grid.memory else ValueError
            raise kind(f"The Fourier solver cannot do this: {grid.reason}.")
        return FourierGram(sample.kernel, sample.points, sample.weights, grid)
