"""Entropy components by Lanczos from the vector of ones, with a proof that none is missing.

Only eigenvectors with 1'e ≠ 0 have an entropy term, and the Krylov space of the vector of ones
contains exactly those; in a degenerate eigenspace it contains the one with non-zero overlap. After
m steps with full reorthogonalization the eigenpairs (θ, s) of the tridiagonal T give masses s_1²
and residuals β_m |s_m|. The selection is proven when the first m moments exclude any other
eigenpair with a larger term than the smallest selected one (see :mod:`mercer.eigen.christoffel`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.eigen.base import CONVERGED, Eigenpairs, Selection
from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.eigen.christoffel import largest_hidden_term
from mercer.eigen.lanczos_basis import LanczosBasis
from mercer.gram import EigenProblem
from mercer.utils.eigenpairs import TERM_FLOOR, TIE, canonical, choose_components
from mercer.utils.progress import report_status
from mercer.utils.types import Array

__all__ = ["EntropySearch"]

_FIRST_CHECK = 6  # steps before the first check of the selection
# If the relative difference of V and Σψ, both sums over n entries, is smaller, no term is missing.
_SUM_TOLERANCE = 1e-12


@dataclass
class _Ritz:
    """Converged Ritz pairs in canonical form, in Lanczos coordinates."""

    values: Array
    vectors: Array
    products: Array  # start' times the vectors
    terms: Array
    unconverged_term: float  # largest term of an unconverged Ritz pair
    tie: float
    lowest: float  # smallest Ritz value if it is negative beyond rounding error, else 0


class EntropySearch:
    """One run of the iteration.

    Parameters
    ----------
    problem : EigenProblem
    selection : Selection
        With target "entropy".
    max_products : int
    """

    def __init__(self, problem: EigenProblem, selection: Selection, max_products: int) -> None:
        self.problem = problem
        self.selection = selection
        self.limit = min(max_products, problem.size)
        self.basis = LanczosBasis(
            lambda v: problem.product(v[:, None])[:, 0],
            problem.start,
            self.limit,
            problem.relative_error,
        )
        self.too_few = False

    @property
    def steps(self) -> int:
        """Number of products so far."""
        return self.basis.steps

    def run(self) -> Eigenpairs:
        """Iterate until the selection is proven or the limit on products is reached.

        If fewer pairs converged than requested, ``too_few`` is set and all of them are returned.
        """
        check = _FIRST_CHECK
        while True:
            self.basis.extend()
            last = self.basis.ended or self.steps == self.limit
            if self.steps < check and not last:
                continue
            check = self.steps + max(4, self.steps // 16)
            ritz = self._ritz()
            selected = choose_components(ritz.values, ritz.terms, self._floor(ritz), self.selection)
            proof = self._proof(ritz, selected)
            if proof is not None or last:
                return self._result(ritz, selected, proof)

    def _ritz(self) -> _Ritz:
        diagonal, off_diagonal = np.array(self.basis.diagonal), np.array(self.basis.off_diagonal)
        theta, S = eigh_tridiagonal(diagonal, off_diagonal[:-1])
        tie = max(TIE, self.problem.relative_error) * float(np.abs(theta).max())
        residuals = np.abs(off_diagonal[-1] * S[-1])
        converged = (residuals <= CONVERGED * tie) | self.basis.ended
        start = np.zeros(self.steps)
        start[0] = self.problem.start_norm
        values, vectors, products = canonical(theta[converged], S[:, converged], start, tie)
        unconverged = (~converged) & (theta > 0)
        unconverged_terms = self.problem.entropy_terms(
            theta[unconverged], start[0] * S[0, unconverged]
        )
        return _Ritz(
            values,
            vectors,
            products,
            self.problem.entropy_terms(values, products),
            float(unconverged_terms.max(initial=0.0)),
            tie,
            float(theta[0]) if theta[0] < -self.problem.numerical_zero(theta[-1]) else 0.0,
        )

    def _floor(self, ritz: _Ritz) -> float:
        return self.problem.numerical_zero(ritz.values.max(initial=0))

    def _proof(self, ritz: _Ritz, selected: Array | None) -> str | None:
        """Return why no other eigenpair belongs to the selection; None if one might."""
        potential = self.selection.potential
        missing = potential - float(ritz.terms.sum())
        if self.basis.ended:
            return f"the Krylov space is exhausted after {self.steps} products"
        if abs(missing) <= _SUM_TOLERANCE * potential and ritz.lowest == 0:
            return f"the terms found after {self.steps} products add up to V"
        threshold = ritz.terms[selected[-1]] if selected is not None and len(selected) else 0.0
        if self.selection.n_components is None or threshold <= TERM_FLOOR * potential:
            return None
        report_status(
            f"entropy Lanczos: {self.steps} products, {len(ritz.values)} pairs converged, largest "
            f"unconverged term {ritz.unconverged_term / threshold:.1e} of the smallest selected"
        )
        if missing < threshold and ritz.lowest == 0:
            return f"after {self.steps} products only {missing:.2e} of V is missing"
        if self.steps < 3 or ritz.unconverged_term >= threshold:
            return None
        hidden = largest_hidden_term(
            np.array(self.basis.diagonal),
            np.array(self.basis.off_diagonal[:-1]),
            ritz.values,
            ritz.tie / 2,
            self.problem.term_of_mass,
            threshold,
        )
        if hidden >= threshold:
            return None
        return (
            f"after {self.steps} products no other eigenpair can have a term above {hidden:.3e} "
            f"(Christoffel bound; the smallest selected is {threshold:.3e})"
        )

    def _result(self, ritz: _Ritz, selected: Array | None, proof: str | None) -> Eigenpairs:
        """Map the selected Ritz vectors back; add components with zero entropy term if needed."""
        missing = self._count_without_entropy(ritz, proof)
        if selected is None and missing == 0:
            usable = replace(self.selection, n_components=None)
            selected = choose_components(ritz.values, ritz.terms, self._floor(ritz), usable)
            self.too_few = True
        if missing:
            with_entropy = ritz.terms > TERM_FLOOR * self.selection.potential
            selected = np.flatnonzero(with_entropy & (ritz.values > self._floor(ritz)))
            selected = selected[np.argsort(-ritz.terms[selected], kind="stable")]
        assert selected is not None
        values, products = ritz.values[selected], ritz.products[selected]
        vectors = self.basis.rows.T @ ritz.vectors[:, selected]
        n_products = self.steps
        if missing:
            more_values, more_vectors, converged, used = self._leading_orthogonal(vectors, missing)
            proof = proof if converged else None
            values = np.r_[values, more_values]
            vectors = np.column_stack([vectors, more_vectors])
            products = np.r_[products, np.zeros(len(more_values))]
            n_products += used
        return Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=self.problem.overlaps(values, products),
            method="entropy Lanczos",
            converged=not self.too_few,
            certified=proof is not None,
            certificate=proof or f"not proven within {self.steps} products",
            ranks=None,
            multiplicities=None,
            known_values=ritz.values,
            known_terms=ritz.terms,
            lowest=ritz.lowest,
            products=n_products,
        )

    def _count_without_entropy(self, ritz: _Ritz, proof: str | None) -> int:
        """Return the number of requested components that have a zero entropy term."""
        count = self.selection.count
        if proof is None or count is None:
            return 0
        with_entropy = ritz.terms > TERM_FLOOR * self.selection.potential
        usable = int((with_entropy & (ritz.values > self._floor(ritz))).sum())
        return max(count - usable, 0)

    def _leading_orthogonal(self, found: Array, count: int) -> tuple[Array, Array, bool, int]:
        """Find the leading eigenpairs orthogonal to the eigenvectors already found."""

        def product(V: Array) -> Array:
            V = V - found @ (found.T @ V)
            W = self.problem.product(V)
            return np.asarray(W - found @ (found.T @ W))

        tie = max(TIE, self.problem.relative_error)
        available = self.problem.size - found.shape[1]
        values, vectors, converged, used = leading_eigenpairs(
            product, self.problem.size, min(count, available), tolerance=CONVERGED * tie
        )
        largest = max(float(values[0]), max(map(abs, self.basis.diagonal)))
        floor = self.problem.numerical_zero(largest)
        if (values > floor).sum() < count:
            rank = found.shape[1] + int((values > floor).sum())
            raise self.selection.rank_error(rank, float(values[-1]) if values[-1] < -floor else 0.0)
        return values, vectors, converged, used
