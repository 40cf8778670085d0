"""The one rule that picks operator and solver, as a table.

===========================================  =========================================
first row that applies                       solver="auto" does
===========================================  =========================================
kernel with exact features, fewer than n/2   ``Dense`` on the small side Φ*Φ
n ≤ 600, or all components wanted            ``Dense``
more than n/8 components wanted              ``Dense``
2 n² numbers fit the memory budget           ``Lanczos``, K held in memory
otherwise                                    ``Lanczos``, matrix-free products
===========================================  =========================================

The full decomposition is used where it fits the memory budget; where it does not, the iteration
is. An entropy iteration that cannot prove its selection within n/2 products of a stored K hands
over to the full decomposition, which by then costs no more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.config import memory_budget
from mercer.errors import ConvergenceError
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import EigenProblem, ExactFeatures, ExplicitGram, GramOperator
from mercer.points import Points
from mercer.solvers.base import Eigenpairs, Progress, Selection, Solver
from mercer.solvers.dense import Dense, dense_bytes
from mercer.solvers.krylov import leading_eigenpairs
from mercer.solvers.lanczos import Lanczos

__all__ = ["Auto", "as_solver", "count_above", "summing_gram"]

log = logging.getLogger("mercer")

# Measured on two cores: below this a full decomposition is faster than an iteration with its
# certificate, and it answers every later question too.
_SMALL = 600
# Up to here all eigenvalues (without vectors) cost a few seconds at most.
_SMALL_ENOUGH_TO_COUNT = 4000


@dataclass(frozen=True)
class Auto:
    """Choose by the table of this module.

    Parameters
    ----------
    n_components : int, float or None
        What will be asked for: it matters for the choice.
    """

    n_components: int | float | None = None

    def gram(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None = None,
        matrix: Array | None = None,
    ) -> GramOperator:
        """Features where they are exact and few; otherwise as the chosen solver does."""
        if _has_few_features(kernel, points):
            return ExplicitGram(ExactFeatures(kernel), points, weights)
        return self._choice(points.n, points.dtype.itemsize).gram(kernel, points, weights, matrix)

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Solve as chosen; hand over to Dense where the iteration cannot prove its answer."""
        solver = self._choice(problem.size, 8)
        log.info("solver: %r for a problem of size %d", solver, problem.size)
        hints: dict[str, Any] = {"random_state": random_state, "progress": progress}
        if not isinstance(solver, Lanczos) or not self._dense_fits(problem.size, 8):
            return solver.solve(problem, selection, **hints)
        try:
            patient = Lanczos(max_products=problem.size // 2)
            pairs = patient.solve(problem, selection, **hints)
            if pairs.certified:
                return pairs
        except ConvergenceError:
            pass
        log.info("no certificate after %d products: full decomposition", problem.size // 2)
        return Dense().solve(problem, selection)

    def _choice(self, n: int, itemsize: int) -> Solver:
        wanted = n if self.n_components is None else self.n_components
        many = isinstance(wanted, int) and wanted > n / 8
        if (n <= _SMALL or many) and self._dense_fits(n, itemsize):
            return Dense()
        return Lanczos()

    @staticmethod
    def _dense_fits(n: int, itemsize: int) -> bool:
        return dense_bytes(n, itemsize) <= memory_budget()


def summing_gram(
    kernel: Kernel, points: Points, weights: Array | None, matrix: Array | None
) -> GramOperator:
    """Return the operator for a single product: K is never held for that."""
    if _has_few_features(kernel, points):
        return ExplicitGram(ExactFeatures(kernel), points, weights)
    return Lanczos(stored=False).gram(kernel, points, weights, matrix)


def _has_few_features(kernel: Kernel, points: Points) -> bool:
    if points.kind != "vectors":
        return False
    sample = kernel.features(points.data[:1])
    return sample is not None and sample.shape[1] < points.n / 2


_NAMES: dict[str, Callable[[], Solver]] = {"dense": Dense, "lanczos": Lanczos}


def as_solver(solver: Any, n_components: int | float | None) -> Solver:
    """Turn a name into its solver; a solver object stays itself."""
    if isinstance(solver, str):
        if solver == "auto":
            return Auto(n_components)
        if solver in _NAMES:
            return _NAMES[solver]()
    elif hasattr(solver, "gram") and hasattr(solver, "solve") and not isinstance(solver, type):
        return solver
    raise ValueError(
        f"solver={solver!r} is neither one of 'auto', {', '.join(map(repr, _NAMES))} nor a solver "
        "object such as mercer.solvers.Lanczos(max_products=500)."
    )


def count_above(problem: EigenProblem, values: Array, affordable: int = 256) -> Array | None:
    """1-based places of ``values`` among all eigenvalues, or None where finding out costs too much.

    Leading eigenpairs are computed in growing numbers until they reach below the smallest value.
    """
    small = problem.size <= _SMALL_ENOUGH_TO_COUNT and Auto._dense_fits(problem.size, 8)
    k = 16
    while k <= min(32 if small else affordable, problem.size // 2):
        found, _, converged, _ = leading_eigenpairs(
            problem.product, problem.size, k, tolerance=1e-10
        )
        if converged and found[-1] < values.min() * (1 - 1e-8):
            return _places(values, found)
        k *= 2
    return _places(values, np.linalg.eigvalsh(problem.dense())) if small else None


def _places(values: Array, all_values: Array) -> Array:
    """How many eigenvalues are larger, beyond rounding, plus one."""
    slack = 1e-9 * np.abs(all_values).max()
    return np.asarray((all_values[None, :] > values[:, None] + slack).sum(axis=1) + 1)
