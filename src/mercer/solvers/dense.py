"""Full eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer.maths.eigenpairs import TIE, canonical, choose_components, tie_groups
from mercer.operators import DenseGram, EigenProblem, GramOperator, Sample
from mercer.resources import check_memory
from mercer.solvers.base import Eigenpairs, Selection

__all__ = ["Dense", "dense_bytes"]


def dense_bytes(n: int, itemsize: int = 8) -> int:
    """Return the peak memory in bytes: K, a copy, and two matrices of workspace for LAPACK."""
    return 4 * n * n * itemsize


@dataclass(frozen=True)
class Dense:
    """Full eigendecomposition by LAPACK: exact up to rounding error, O(n³), four n × n matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.solvers import Dense
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> KernelECA(3, solver=Dense()).fit(X).certified_
    True
    """

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Store K; raise MemoryBudgetError before allocation if the decomposition does not fit."""
        check_memory(
            dense_bytes(sample.points.n, sample.points.dtype.itemsize),
            f"A full decomposition of {sample.points.n} points",
            "Use solver='lanczos' (matrix-free), fewer points",
        )
        return DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Decompose the matrix, rotate tied eigenvectors, and select components."""
        raw, vectors = eigh(problem.dense(), overwrite_a=True, check_finite=False, driver="evd")
        raw = raw.astype(np.float64)
        largest = float(np.abs(raw).max())
        tie = max(TIE, problem.relative_error) * largest
        start = problem.start.astype(vectors.dtype)
        values, vectors, products = canonical(raw, vectors, start, tie)
        terms = problem.entropy_terms(values, products)
        floor = problem.numerical_zero(largest)
        lowest = float(raw[0]) if raw[0] < -floor else 0.0
        selected = choose_components(values, terms, floor, selection)
        if selected is None:
            raise selection.rank_error(int((values > floor).sum()), lowest)
        sizes = np.ones(len(values), dtype=int)
        for group in tie_groups(-np.sort(-raw), tie):
            sizes[group] = group.stop - group.start
        return Eigenpairs(
            values=values[selected],
            vectors=vectors[:, selected],
            overlaps=problem.overlaps(values, products)[selected],
            method="full decomposition",
            converged=True,
            certified=True,
            certificate="all eigenpairs are known",
            ranks=selected + 1,
            multiplicities=sizes[selected],
            known_values=values,
            known_terms=terms,
            lowest=lowest,
            products=0,
        )
