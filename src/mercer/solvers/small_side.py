"""Solving the small side of a factored operator."""

from __future__ import annotations

from typing import ClassVar

from mercer.operators import EigenProblem
from mercer.solvers.base import Eigenpairs, Progress, Selection
from mercer.solvers.dense import Dense
from mercer.solvers.lanczos import Lanczos

__all__ = ["SMALL", "SmallSideSolver"]

# Measured on two cores: below this a full decomposition is faster than an iteration with its
# certificate, and it answers every later question too.
SMALL = 600


class SmallSideSolver:
    """What solvers with a factored operator share: it can grow, and its small side is solved."""

    can_grow: ClassVar[bool] = True

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Full decomposition where it is small or nearly all of it is wanted; else iterate."""
        wanted = selection.n_components
        nearly_all = wanted is None or (isinstance(wanted, int) and wanted > problem.size / 8)
        full = problem.size <= SMALL or (nearly_all and problem.size <= 8 * SMALL)
        solver = Dense() if full else Lanczos()
        return solver.solve(problem, selection, random_state=random_state, progress=progress)
