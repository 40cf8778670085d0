"""Fourier features on an equispaced grid: exact up to a tolerance, linear in n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Points
from mercer.errors import MemoryBudgetError
from mercer.gram import (
    FourierGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    Sample,
    frequency_grid,
)
from mercer.kernels import Kernel

__all__ = ["Fourier"]


@dataclass(frozen=True)
class Fourier:
    """Gaussian or Matérn kernel in at most three dimensions, through non-uniform FFTs.

    Every kernel value is accurate to about ``tolerance``. The cost is one transform of the points
    per fit and one per component; all other work has the size of the frequency grid. If the
    grid is larger than the sample (three columns and a small bandwidth), "lanczos" is faster;
    "auto" compares the two.

    Parameters
    ----------
    tolerance : float
        Accuracy of a kernel value, between 1e-12 and 1e-1. The spectral density of a Matérn
        kernel decays slowly: use about 1e-4 there.
    box : pair of arrays of shape (d,), or None
        Lowest and highest coordinates that points may have; None for those of the sample. Required
        by ``partial_fit``, whose grid must cover later batches.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.eigen import Fourier
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> eca = KernelECA(3, solver=Fourier()).fit(X)
    >>> eca.certified_, eca.spectrum_.error_bound < 1e-8 * eca.spectrum_.trace
    (True, True)
    """

    tolerance: float = 1e-10
    box: tuple[Any, Any] | None = None

    can_grow: ClassVar[bool] = True

    def grid(self, kernel: Kernel, points: Points) -> FrequencyGrid | NoGrid:
        """Return the frequency grid, or the reason why there is none."""
        if not 1e-12 <= self.tolerance <= 0.1:
            raise ValueError(
                f"Fourier(tolerance={self.tolerance!r}) must lie between 1e-12 and 1e-1."
            )
        if points.kind != "vectors":
            return NoGrid("it needs numeric columns")
        ends = points.bounds() if self.box is None else self.box
        d = points.dimension or 0
        low, high = (np.broadcast_to(np.asarray(end, float), (d,)) for end in ends)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise ValueError(
                f"Fourier(box={self.box!r}) must be a pair (low, high) of finite values with "
                f"low ≤ high, each a number or one number per column (here {d})."
            )
        grid = frequency_grid(kernel, low, high, self.tolerance)
        if self.box is not None and isinstance(grid, FrequencyGrid):
            grid.require_inside(points)
        return grid

    def gram(self, sample: Sample) -> GramOperator:
        """Build the operator; raise ValueError or MemoryBudgetError if there is no grid."""
        grid = self.grid(sample.kernel, sample.points)
        if isinstance(grid, NoGrid):
            kind = MemoryBudgetError if grid.memory else ValueError
            raise kind(f"solver='fourier' is not possible: {grid.reason}.")
        return FourierGram(sample.kernel, sample.points, sample.weights, grid)
