"""Krylov iterations: from a random block for variance, from the vector of ones for entropy."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.eigen.base import CONVERGED, Eigenpairs, Selection
from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.eigen.entropy_lanczos import EntropySearch
from mercer.errors import ConvergenceError
from mercer.gram import (
    BlockedGram,
    ChunkedGram,
    DenseGram,
    EigenProblem,
    GramOperator,
    Sample,
    SparseGram,
)
from mercer.utils.eigenpairs import TIE, canonical, choose_components
from mercer.utils.resources import check_memory, memory_budget, single_threaded_blas
from mercer.utils.validation import check_integer

__all__ = ["Lanczos", "stored_fits"]


_MAX_CHUNKED_ROWS = 300_000  # one product of this size takes a core 15 minutes
# Blocks up to this width are orthogonalized by one thread: threads of OpenBLAS go on spinning for
# some 30 ms after a call and take the cores from the threads that multiply K.
_NARROW_BLOCK = 64


def _chunked_gram(sample: Sample, points: Any) -> ChunkedGram:
    if points.n > _MAX_CHUNKED_ROWS:
        raise ValueError(
            f"solver='lanczos' evaluates the kernel {points.n**2 / 2:.2g} times for every product "
            f"with K of {points.n} rows. The limit for Dask collections is {_MAX_CHUNKED_ROWS} "
            "rows. Use solver='fourier' (Gaussian or Matern, at most 3 columns), solver='nystrom', "
            "or a sample of the rows."
        )
    return ChunkedGram(sample.kernel, points, sample.weights)


def stored_fits(n: int, itemsize: int, budget: float) -> bool:
    """Return whether K takes at most half of the memory budget, so that it may be stored."""
    return 2 * n * n * itemsize <= budget


@dataclass(frozen=True)
class Lanczos:
    """Krylov iteration, which needs only products with K.

    For "entropy" the iteration starts at the vector of ones, whose Krylov space contains exactly
    the eigenvectors with a non-zero entropy term, and continues until the Christoffel bound proves
    that none is missing. For "variance" it is a block iteration from random vectors.

    Parameters
    ----------
    max_products : int
        Largest number of products with one vector ("entropy"), or with a block ("variance").
    stored : bool or None
        Store K (True), nothing (False), or decide by the memory budget (None).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.eigen import Lanczos
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> eca = KernelECA(3, solver=Lanczos(stored=False)).fit(X)  # K is never formed
    >>> eca.certified_, eca.spectrum_.products < 100
    (True, True)
    """

    max_products: int = 2000
    stored: bool | None = None

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Build a stored, a sparse or a matrix-free operator."""
        if sample.points.is_chunked:
            return _chunked_gram(sample, sample.points)
        if sample.kernel.is_sparse:
            return SparseGram(sample.kernel, sample.points, sample.weights)
        n, itemsize = sample.points.n, sample.points.dtype.itemsize
        stored = stored_fits(n, itemsize, memory_budget()) if self.stored is None else self.stored
        if self.stored and sample.matrix is None:
            check_memory(
                n * n * itemsize,
                f"The Gram matrix of {n} points",
                "Use Lanczos(stored=False) (matrix-free)",
            )
        if sample.matrix is not None:
            return DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        if stored:
            return DenseGram(sample.kernel, sample.points, sample.weights)
        return BlockedGram(sample.kernel, sample.points, sample.weights)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the requested pairs; raise ConvergenceError if the limit on products is reached."""
        check_integer(self.max_products, "Lanczos.max_products")
        if selection.target == "entropy":
            return self._by_entropy(problem, selection)
        return self._by_variance(problem, selection, random_state)

    # --- variance ---------------------------------------------------------------------------

    def _by_variance(
        self, problem: EigenProblem, selection: Selection, random_state: int | None
    ) -> Eigenpairs:
        """Find the leading pairs; for a fraction, double their number until it is reached."""
        k = selection.count
        if k is None:
            k = problem.size if selection.n_components is None else 16
        while True:
            k = min(k, problem.size)
            pairs = self._leading(problem, selection, k, random_state)
            if pairs is not None:
                return pairs
            k *= 2

    def _leading(
        self,
        problem: EigenProblem,
        selection: Selection,
        k: int,
        random_state: int | None,
    ) -> Eigenpairs | None:
        """Return the selection from the k leading pairs; None if more than k are needed."""
        tie = max(TIE, problem.relative_error)
        width = problem.block_width(k)
        with single_threaded_blas() if (width or k) <= _NARROW_BLOCK else nullcontext():
            raw, vectors, converged, products = leading_eigenpairs(
                problem.product,
                problem.size,
                k,
                tolerance=CONVERGED * tie,
                random_state=random_state,
                max_passes=self.max_products,
                width=width,
            )
        values, vectors, start_products = canonical(
            raw, vectors, problem.start, tie * float(np.abs(raw).max())
        )
        terms = problem.entropy_terms(values, start_products)
        floor = problem.numerical_zero(values[0])
        lowest = float(values[-1]) if values[-1] < -floor else 0.0
        selected = choose_components(values, terms, floor, selection)
        exhausted = k == problem.size or values[-1] <= floor
        if selected is None and converged and not exhausted:
            return None
        if selected is None and not converged:
            selected = np.arange(len(values))
        if selected is None:
            raise selection.rank_error(int((values > floor).sum()), lowest)
        pairs = Eigenpairs(
            values=values[selected],
            vectors=vectors[:, selected],
            overlaps=problem.overlaps(values, start_products)[selected],
            method="block Krylov",
            converged=converged,
            # small residuals show that these are eigenpairs, not that none is missing
            certified=False,
            certificate=(
                f"residuals below {CONVERGED * tie:.0e} of the largest eigenvalue; completeness "
                "is almost sure for a random start, not proven"
            ),
            ranks=selected + 1,
            multiplicities=None,
            known_values=values,
            known_terms=terms,
            lowest=lowest,
            products=products,
        )
        if not converged:
            raise ConvergenceError(
                f"Block Krylov did not converge to {k} eigenpairs within {self.max_products} "
                "passes. Raise Lanczos(max_products=…) or use solver='dense'. The attribute "
                "'pairs' of this error holds the approximations.",
                pairs,
            )
        return pairs

    # --- entropy ----------------------------------------------------------------------------

    def _by_entropy(self, problem: EigenProblem, selection: Selection) -> Eigenpairs:
        search = EntropySearch(problem, selection, self.max_products)
        found = search.run()
        if search.too_few:
            raise ConvergenceError(
                f"The entropy iteration found too few converged eigenpairs for "
                f"n_components={selection.n_components!r} within {search.steps} products. Raise "
                "Lanczos(max_products=…), request fewer components or use solver='dense'. The "
                "attribute 'pairs' of this error holds those that converged.",
                found,
            )
        return found
