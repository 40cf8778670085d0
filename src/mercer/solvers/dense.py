"""The full decomposition: every eigenpair, so every answer is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer.config import memory_budget
from mercer.errors import check_memory
from mercer.maths.eigen import TIE, canonical, tie_groups
from mercer.operators import (
    DenseGram,
    EigenProblem,
    GramOperator,
    Sample,
)
from mercer.solvers.base import Eigenpairs, Progress, Selection, terms_of

__all__ = ["Dense", "dense_bytes"]


def dense_bytes(n: int, itemsize: int = 8) -> int:
    """Peak memory of a full decomposition: K, a copy to destroy, and LAPACK's workspace of two."""
    return 4 * n * n * itemsize


@dataclass(frozen=True)
class Dense:
    """Full eigen-decomposition by LAPACK: exact to rounding, O(n³), four matrices of memory.

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
        """Hold K; refused before anything is allocated if the decomposition would not fit."""
        check_memory(
            dense_bytes(sample.points.n, sample.points.dtype.itemsize),
            memory_budget(),
            f"A full decomposition of {sample.points.n} points",
            "Use solver='lanczos' (matrix-free), fewer points",
        )
        return DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Decompose, rotate ties, choose."""
        raw, vectors = eigh(problem.dense(), overwrite_a=True, check_finite=False, driver="evd")
        raw = raw.astype(np.float64)
        largest = float(np.abs(raw).max())
        tie = max(TIE, problem.relative_error) * largest
        start = problem.start.astype(vectors.dtype)
        values, vectors, products = canonical(raw, vectors, start, tie)
        terms = terms_of(problem, values, products)
        floor = problem.zero(largest)
        lowest = float(raw[0]) if raw[0] < -floor else 0.0
        kept = selection.choose(values, terms, floor)
        if kept is None:
            raise selection.refuse(int((values > floor).sum()), lowest)
        sizes = np.ones(len(values), dtype=int)
        for group in tie_groups(-np.sort(-raw), tie):
            sizes[group] = group.stop - group.start
        return Eigenpairs(
            values=values[kept],
            vectors=vectors[:, kept],
            overlaps=problem.overlaps(values, products)[kept],
            method="full decomposition",
            certified=True,
            certificate="all eigenpairs are known",
            ranks=kept + 1,
            multiplicities=sizes[kept],
            known_values=values,
            known_terms=terms,
            lowest=lowest,
            products=0,
        )
