"""Factored operators: Fourier features, landmarks, and exact features of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Points
from mercer.errors import MemoryBudgetError
from mercer.gram import (
    ExactFeatures,
    ExplicitGram,
    FourierGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    NystromGram,
    Sample,
    choose_landmarks,
    frequency_grid,
    landmark_bytes,
)
from mercer.kernels import Kernel
from mercer.utils.resources import check_memory, memory_budget
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["FiniteFeatures", "Fourier", "Nystrom"]


@dataclass(frozen=True)
class FiniteFeatures:
    """Gram operator of a kernel with exact finite features, such as the linear one."""

    can_grow: ClassVar[bool] = True

    def gram(self, sample: Sample) -> ExplicitGram:
        """Build the operator."""
        return ExplicitGram(ExactFeatures(sample.kernel), sample.points, sample.weights)


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
    >>> from mercer.solvers import Fourier
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
        grid = frequency_grid(kernel, *self._ends(points), self.tolerance)
        if self.box is not None and isinstance(grid, FrequencyGrid):
            grid.require_inside(points)
        return grid

    def _ends(self, points: Points) -> tuple[Array, Array]:
        """Return the lowest and the highest coordinates."""
        d = points.dimension or 0
        ends = points.bounds() if self.box is None else self.box
        low, high = (np.broadcast_to(np.asarray(end, float), (d,)) for end in ends)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise ValueError(
                f"Fourier(box={self.box!r}) must be a pair (low, high) of finite values with "
                f"low ≤ high, each a number or one number per column (here {d})."
            )
        return low, high

    def gram(self, sample: Sample) -> GramOperator:
        """Build the operator; raise ValueError or MemoryBudgetError if there is no grid."""
        grid = self.grid(sample.kernel, sample.points)
        if isinstance(grid, NoGrid):
            kind = MemoryBudgetError if grid.memory else ValueError
            raise kind(f"solver='fourier' is not possible: {grid.reason}.")
        return FourierGram(sample.kernel, sample.points, sample.weights, grid)


@dataclass(frozen=True)
class Nystrom:
    """Low-rank approximation through landmarks chosen by randomly pivoted Cholesky.

    The approximation is poor if the spectrum decays slowly (small bandwidths).
    ``spectrum_.error_bound`` is the trace of the residual, which bounds the error of every
    eigenvalue.

    Parameters
    ----------
    n_landmarks : int
        Rank of the approximation.
    tolerance : float
        Stop early when the unexplained fraction of the trace falls below this.
    random_state : int or None
        Seed of the choice of landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> eca = KernelECA(3, kernel=Gaussian(10.0), solver=Nystrom(200)).fit(X)
    >>> eca.spectrum_.error_bound < 0.01 * eca.spectrum_.trace
    True
    """

    n_landmarks: int = 500
    tolerance: float = 1e-10
    random_state: int | None = 0

    can_grow: ClassVar[bool] = True

    def gram(self, sample: Sample) -> NystromGram:
        """Choose the landmarks and build the operator."""
        check_integer(self.n_landmarks, "Nystrom.n_landmarks")
        if sample.matrix is not None:
            raise ValueError(
                "A precomputed kernel cannot be evaluated at landmarks. Use solver='lanczos'."
            )
        if not sample.kernel.is_psd:
            raise ValueError(
                f"{sample.kernel!r} is not positive semi-definite, which landmarks require. Use "
                "solver='lanczos' or 'dense'."
            )
        count = min(self.n_landmarks, sample.points.n)
        check_memory(
            landmark_bytes(sample.points.n, count, sample.points.dtype.itemsize),
            f"A choice of {count} landmarks among {sample.points.n} points",
            "Use fewer landmarks",
        )
        features = choose_landmarks(
            sample.kernel,
            sample.points,
            sample.weights,
            count,
            tolerance=self.tolerance,
            random_state=self.random_state,
            memory=memory_budget() // 4,
        )
        return NystromGram(features, sample.points, sample.weights)
