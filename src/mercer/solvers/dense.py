"""Full eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer.maths.eigenpairs import TIE, canonical, choose_components, tie_groups
from mercer.maths.tridiagonal import Tridiagonalized
from mercer.maths.types import Array
from mercer.operators import DenseGram, EigenProblem, GramOperator, Sample
from mercer.resources import check_memory
from mercer.solvers.base import Eigenpairs, Selection

__all__ = ["Dense", "dense_bytes"]

_FEW = 0.25  # part of the eigenvectors, up to which those of a tridiagonal matrix are faster
_SMALLEST = 50


def dense_bytes(n: int, itemsize: int = 8) -> int:
    """Return the peak memory in bytes: K, a copy, and two matrices of workspace for LAPACK."""
    return 4 * n * n * itemsize


@dataclass(frozen=True)
class Dense:
    """Full eigendecomposition by LAPACK: exact up to rounding error, O(n³), four n × n matrices.

    Parameters
    ----------
    only_selected : bool
        For a number of leading components, compute the eigenvectors of these only, which takes a
        third of the time. ``spectrum_.known_eigenvalues`` are then those of the components; ranks
        and multiplicities are exact in both cases.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.solvers import Dense
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> KernelECA(3, solver=Dense()).fit(X).certified_
    True
    """

    only_selected: bool = False

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
        A, tridiagonal = problem.dense(), None
        start = problem.start.astype(A.dtype)
        # in float32 eigenvectors of the tridiagonal matrix would be orthogonal to 5e-5 only
        if A.dtype == np.float64 and _few(selection.n_components, problem.size):
            tridiagonal = Tridiagonalized(A)
            raw = tridiagonal.values
            vectors = tridiagonal.vectors(self._needed(problem, selection, raw))
            start = tridiagonal.to_basis(start[:, None])[:, 0]
        else:
            raw, vectors = eigh(A, overwrite_a=True, check_finite=False, driver="evd")
        raw = raw.astype(np.float64)
        largest = float(np.abs(raw).max())
        tie = max(TIE, problem.relative_error) * largest
        known = raw[-vectors.shape[1] :]
        values, vectors, products = canonical(known, vectors, start, tie)
        terms = problem.entropy_terms(values, products)
        floor = problem.numerical_zero(largest)
        lowest = float(raw[0]) if raw[0] < -floor else 0.0
        selected = choose_components(values, terms, floor, selection)
        if selected is None:
            raise selection.rank_error(int((raw > floor).sum()), lowest)
        vectors = vectors[:, selected]
        if tridiagonal is not None:
            vectors = tridiagonal.from_basis(vectors)
        sizes = np.ones(len(raw), dtype=int)
        for group in tie_groups(-np.sort(-raw), tie):
            sizes[group] = group.stop - group.start
        return Eigenpairs(
            values=values[selected],
            vectors=vectors,
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

    def _needed(self, problem: EigenProblem, selection: Selection, raw: Array) -> int:
        """Return how many of the largest eigenvalues need vectors; equal ones are not separated."""
        count = selection.count
        if not self.only_selected or selection.target == "entropy" or count is None:
            return len(raw)
        tie = max(TIE, problem.relative_error) * float(np.abs(raw).max())
        gaps = raw[1:] - raw[:-1] > tie
        ends = np.flatnonzero(np.append(gaps[::-1], True)) + 1
        return int(ends[ends >= min(count, len(raw))][0])


def _few(n_components: int | float | None, size: int) -> bool:
    """Return whether computing only the selected eigenvectors saves time."""
    if n_components is None or size < _SMALLEST:
        return False
    return not isinstance(n_components, int) or n_components <= _FEW * size
