"""Matrix-free eigenpairs: by variance from a random block, by entropy from the vector of ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.config import memory_budget
from mercer.errors import ConvergenceError, check_memory
from mercer.maths.eigen import TIE, canonical
from mercer.operators import (
    BlockedGram,
    ChunkedGram,
    DenseGram,
    EigenProblem,
    GramOperator,
    Sample,
)
from mercer.solvers.base import CONVERGED, Eigenpairs, Progress, Selection, terms_of
from mercer.solvers.block_krylov import leading_eigenpairs
from mercer.solvers.entropy_lanczos import EntropySearch

__all__ = ["Lanczos"]


_MOST_ON_ENGINE = 300_000  # rows: beyond, one product takes a core a quarter of an hour


def _on_engine(sample: Sample, points: Any) -> ChunkedGram:
    if points.n > _MOST_ON_ENGINE:
        raise ValueError(
            f"solver='lanczos' is exact, and every product with K of {points.n} rows evaluates the "
            f"kernel {points.n**2 / 2:.2g} times; on Dask collections the limit is "
            f"{_MOST_ON_ENGINE} rows. Use solver='fourier' (Gaussian or Matern, at most 3 "
            "columns), solver='nystrom', or a sample of the rows."
        )
    return ChunkedGram(sample.kernel, points, sample.weights)


@dataclass(frozen=True)
class Lanczos:
    """Krylov iteration: only products with K are needed.

    For "entropy" the iteration starts at the vector of ones, whose Krylov space holds exactly the
    eigenvectors that carry entropy, and goes on until the Christoffel bound proves that none is
    missing. For "variance" it is a block iteration from random vectors.

    Parameters
    ----------
    max_products : int
        Products with one vector before giving up ("entropy"), or passes of a block ("variance").
    stored : bool or None
        Hold K in memory (True), never (False), or when it fits the memory budget (None).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.solvers import Lanczos
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> eca = KernelECA(3, solver=Lanczos(stored=False)).fit(X)  # K is never formed
    >>> eca.certified_, eca.spectrum_.products < 100
    (True, True)
    """

    max_products: int = 2000
    stored: bool | None = None

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Stored or matrix-free, by the memory budget unless the user decided."""
        if sample.points.is_chunked:
            return _on_engine(sample, sample.points)
        needed = sample.points.n**2 * sample.points.dtype.itemsize
        stored = 2 * needed <= memory_budget() if self.stored is None else self.stored
        if self.stored and sample.matrix is None:
            check_memory(
                needed,
                memory_budget(),
                f"The Gram matrix of {sample.points.n} points",
                "Use Lanczos(stored=False) (matrix-free)",
            )
        if stored or sample.matrix is not None:
            return DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        return BlockedGram(sample.kernel, sample.points, sample.weights)

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Iterate until the wanted pairs are found, or say that they were not."""
        if self.max_products < 1:
            raise ValueError(f"Lanczos(max_products={self.max_products}) must be at least 1.")
        if selection.target == "entropy":
            return self._by_entropy(problem, selection, progress)
        return self._by_variance(problem, selection, random_state, progress)

    # --- variance ---------------------------------------------------------------------------

    def _by_variance(
        self,
        problem: EigenProblem,
        selection: Selection,
        random_state: int | None,
        progress: Progress | None,
    ) -> Eigenpairs:
        """A fraction's count is not known beforehand: it is tried with ever more pairs."""
        k = selection.count
        if k is None:
            k = problem.size if selection.n_components is None else 16
        while True:
            k = min(k, problem.size)
            pairs = self._leading(problem, selection, k, random_state, progress)
            if pairs is not None:
                return pairs
            k *= 2

    def _leading(
        self,
        problem: EigenProblem,
        selection: Selection,
        k: int,
        random_state: int | None,
        progress: Progress | None,
    ) -> Eigenpairs | None:
        """The chosen among the k leading pairs; None if more than k are needed."""
        tie = max(TIE, problem.relative_error)
        raw, vectors, converged, products = leading_eigenpairs(
            problem.product,
            problem.size,
            k,
            tolerance=CONVERGED * tie,
            random_state=random_state,
            max_passes=self.max_products,
            progress=progress,
        )
        values, vectors, start_products = canonical(
            raw, vectors, problem.start, tie * float(np.abs(raw).max())
        )
        terms = terms_of(problem, values, start_products)
        floor = problem.zero(values[0])
        lowest = float(values[-1]) if values[-1] < -floor else 0.0
        kept = selection.choose(values, terms, floor)
        exhausted = k == problem.size or values[-1] <= floor
        if kept is None and converged and not exhausted:
            return None
        if kept is None and not converged:
            kept = np.arange(len(values))
        if kept is None:
            raise selection.refuse(int((values > floor).sum()), lowest)
        pairs = Eigenpairs(
            values=values[kept],
            vectors=vectors[:, kept],
            overlaps=problem.overlaps(values, start_products)[kept],
            method="block Krylov",
            certified=converged,
            certificate=f"residuals below {CONVERGED * tie:.0e} of the largest eigenvalue",
            ranks=kept + 1,
            multiplicities=None,
            known_values=values,
            known_terms=terms,
            lowest=lowest,
            products=products,
        )
        if not converged:
            raise ConvergenceError(
                f"Block Krylov did not converge to {k} eigenpairs within {self.max_products} "
                f"passes; raise Lanczos(max_products=…) or use solver='dense'. The best so far "
                "are in this error's 'pairs'.",
                pairs,
            )
        return pairs

    # --- entropy ----------------------------------------------------------------------------

    def _by_entropy(
        self,
        problem: EigenProblem,
        selection: Selection,
        progress: Progress | None,
    ) -> Eigenpairs:
        search = EntropySearch(problem, selection, self.max_products, progress)
        found = search.run()
        if search.too_few:
            raise ConvergenceError(
                f"The entropy iteration found too few converged eigenpairs for "
                f"n_components={selection.n_components!r} within {search.steps} products; raise "
                "Lanczos(max_products=…), ask for fewer components or use solver='dense'. Those "
                "that converged are in this error's 'pairs'.",
                found,
            )
        return found
