"""Entropy components by Lanczos from the vector of ones, with a proof that none is missing.

Only eigenvectors with 1'e ≠ 0 carry entropy, and the Krylov space of the vector of ones contains
exactly those; in a degenerate eigenspace it contains the one member with overlap. After m steps
with full re-orthogonalisation the eigenpairs (θ, s) of the tridiagonal T give masses s_1² and
residuals β_m |s_m|. The selection is proven when nothing that the first m moments allow to hide
could outweigh the smallest kept term (see :mod:`mercer.maths.christoffel`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.blas import daxpy, ddot, dgemv, dnrm2

from mercer.maths.christoffel import largest_hidden_term
from mercer.maths.eigen import TIE, canonical
from mercer.maths.entropy import TERM_FLOOR
from mercer.maths.types import Array
from mercer.operators import EigenProblem
from mercer.solvers.base import CONVERGED, Eigenpairs, Selection, terms_of
from mercer.solvers.block_krylov import leading_eigenpairs

__all__ = ["EntropySearch", "LanczosBasis"]

_FIRST_CHECK = 6
# V and Σψ are sums over n entries: they agree to this, relatively, when nothing is missing.
_SAME_SUM = 1e-12


class LanczosBasis:
    """An orthonormal Krylov basis from one vector, and the tridiagonal matrix in it."""

    def __init__(self, problem: EigenProblem, room: int) -> None:
        self.problem = problem
        self.diagonal: list[float] = []
        self.off_diagonal: list[float] = []  # the last one couples to the next vector
        self.ended = False
        self._room = min(room, problem.size)
        self._rows = np.empty((min(64, self._room), problem.size))
        self._rows[0] = problem.start / problem.start_length

    @property
    def steps(self) -> int:
        """Products spent."""
        return len(self.diagonal)

    @property
    def rows(self) -> Array:
        """The basis, one vector per row."""
        return self._rows[: self.steps]

    def extend(self) -> None:
        """One product, orthogonalised against all that came before.

        After the three-term recurrence one pass over the basis is enough, unless it takes much of
        the vector away; then rounding is felt and a second pass follows (Daniel et al. 1976).
        """
        # scipy's BLAS throughout, like the product with a stored K: numpy's may be another copy of
        # the library, whose waiting threads would take the cores from the first
        m = self.steps
        w = np.ascontiguousarray(self.problem.product(self._rows[m][:, None])[:, 0])
        scale = float(dnrm2(w))
        self.diagonal.append(float(ddot(self._rows[m], w)))
        w = daxpy(self._rows[m], w, a=-self.diagonal[m])
        if m > 0:
            w = daxpy(self._rows[m - 1], w, a=-self.off_diagonal[m - 1])
        length, before = float(dnrm2(w)), np.inf
        while length < 0.7 * before and length > 0:
            before = length
            columns = self.rows.T
            w = dgemv(-1.0, columns, dgemv(1.0, columns, w, trans=1), 1.0, w, overwrite_y=1)
            length = float(dnrm2(w))
        self.off_diagonal.append(length)
        largest = max(scale, max(map(abs, self.diagonal)))
        self.ended = length <= 4 * self.problem.relative_error * largest or (
            self.steps == self.problem.size
        )
        if not self.ended and self.steps < self._room:
            if self.steps == len(self._rows):
                rows = np.empty((min(2 * self.steps, self._room), self.problem.size))
                rows[: self.steps] = self._rows
                self._rows = rows
            self._rows[self.steps] = w / length


@dataclass
class _Ritz:
    """Converged Ritz pairs in canonical form, in Lanczos coordinates."""

    values: Array
    vectors: Array
    products: Array  # start' times the vectors
    terms: Array
    unconverged_term: float  # largest term of a Ritz pair still moving
    tie: float
    lowest: float  # smallest Ritz value if it is negative beyond rounding, else 0


class EntropySearch:
    """One run of the iteration.

    Parameters
    ----------
    problem : EigenProblem
    selection : Selection
        With target "entropy".
    max_products : int
    progress : callable or None
        Told a line at every check.
    """

    def __init__(
        self,
        problem: EigenProblem,
        selection: Selection,
        max_products: int,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.problem = problem
        self.selection = selection
        self.progress = progress
        self.limit = min(max_products, problem.size)
        self.basis = LanczosBasis(problem, self.limit)
        self.too_few = False

    @property
    def steps(self) -> int:
        """Products spent so far."""
        return self.basis.steps

    def run(self) -> Eigenpairs:
        """Iterate until proven, exhausted or out of products.

        If fewer pairs converged than the selection needs, ``too_few`` is set and all of them are
        returned.
        """
        check = _FIRST_CHECK
        while True:
            self.basis.extend()
            last = self.basis.ended or self.steps == self.limit
            if self.steps < check and not last:
                continue
            check = self.steps + max(3, self.steps // 25)
            ritz = self._ritz()
            kept = self.selection.choose(ritz.values, ritz.terms, self._floor(ritz))
            proof = self._proof(ritz, kept)
            if proof is not None or last:
                return self._answer(ritz, kept, proof)

    def _ritz(self) -> _Ritz:
        diagonal, off_diagonal = np.array(self.basis.diagonal), np.array(self.basis.off_diagonal)
        theta, S = eigh_tridiagonal(diagonal, off_diagonal[:-1])
        tie = max(TIE, self.problem.relative_error) * float(np.abs(theta).max())
        residuals = np.abs(off_diagonal[-1] * S[-1])
        converged = (residuals <= CONVERGED * tie) | self.basis.ended
        start = np.zeros(self.steps)
        start[0] = self.problem.start_length
        values, vectors, products = canonical(theta[converged], S[:, converged], start, tie)
        moving = (~converged) & (theta > 0)
        moving_terms = terms_of(self.problem, theta[moving], start[0] * S[0, moving])
        return _Ritz(
            values,
            vectors,
            products,
            terms_of(self.problem, values, products),
            float(moving_terms.max(initial=0.0)),
            tie,
            float(theta[0]) if theta[0] < -self.problem.zero(theta[-1]) else 0.0,
        )

    def _floor(self, ritz: _Ritz) -> float:
        return self.problem.zero(ritz.values.max(initial=0))

    def _proof(self, ritz: _Ritz, kept: Array | None) -> str | None:
        """Why no other eigenpair can belong to the selection; None while one still could."""
        potential = self.selection.potential
        missing = potential - float(ritz.terms.sum())
        if self.basis.ended:
            return f"the Krylov space is exhausted after {self.steps} products"
        if abs(missing) <= _SAME_SUM * potential and ritz.lowest == 0:
            return f"the terms found after {self.steps} products add up to V"
        threshold = ritz.terms[kept[-1]] if kept is not None and len(kept) else 0.0
        if self.selection.n_components is None or threshold <= TERM_FLOOR * potential:
            return None
        if self.progress is not None:
            self.progress(
                f"entropy Lanczos: {self.steps} products, {len(ritz.values)} pairs converged, "
                f"largest moving term {ritz.unconverged_term / threshold:.1e} of the last kept"
            )
        if missing < threshold and ritz.lowest == 0:
            return f"all entropy but {missing:.2e} is found after {self.steps} products"
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
            f"(Christoffel bound; the smallest kept is {threshold:.3e})"
        )

    def _answer(self, ritz: _Ritz, kept: Array | None, proof: str | None) -> Eigenpairs:
        """Map the chosen Ritz vectors back; fill up with components that carry no entropy."""
        missing = self._without_entropy(ritz, proof)
        if kept is None and missing == 0:
            usable = replace(self.selection, n_components=None)
            kept = usable.choose(ritz.values, ritz.terms, self._floor(ritz))
            self.too_few = True
        if missing:
            carrying = ritz.terms > TERM_FLOOR * self.selection.potential
            kept = np.flatnonzero(carrying & (ritz.values > self._floor(ritz)))
            kept = kept[np.argsort(-ritz.terms[kept], kind="stable")]
        assert kept is not None
        values, products = ritz.values[kept], ritz.products[kept]
        vectors = self.basis.rows.T @ ritz.vectors[:, kept]
        spent = self.steps
        if missing:
            more, directions, converged, used = self._leading_without(vectors, missing)
            proof = proof if converged else None
            values, vectors = np.r_[values, more], np.column_stack([vectors, directions])
            products = np.r_[products, np.zeros(len(more))]
            spent += used
        return Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=self.problem.overlaps(values, products),
            method="entropy Lanczos",
            certified=proof is not None,
            certificate=proof or f"not proven within {self.steps} products",
            ranks=None,
            multiplicities=None,
            known_values=ritz.values,
            known_terms=ritz.terms,
            lowest=ritz.lowest,
            products=spent,
        )

    def _without_entropy(self, ritz: _Ritz, proof: str | None) -> int:
        """How many wanted components must come from outside the Krylov space, carrying nothing."""
        count = self.selection.count
        if proof is None or count is None:
            return 0
        carrying = ritz.terms > TERM_FLOOR * self.selection.potential
        usable = int((carrying & (ritz.values > self._floor(ritz))).sum())
        return max(count - usable, 0)

    def _leading_without(self, found: Array, count: int) -> tuple[Array, Array, bool, int]:
        """Leading eigenpairs of the problem on the complement of the pairs already found."""

        def product(V: Array) -> Array:
            V = V - found @ (found.T @ V)
            W = self.problem.product(V)
            return np.asarray(W - found @ (found.T @ W))

        tie = max(TIE, self.problem.relative_error)
        room = self.problem.size - found.shape[1]
        values, vectors, converged, used = leading_eigenpairs(
            product, self.problem.size, min(count, room), tolerance=CONVERGED * tie
        )
        largest = max(float(values[0]), max(map(abs, self.basis.diagonal)))
        floor = self.problem.zero(largest)
        if (values > floor).sum() < count:
            rank = found.shape[1] + int((values > floor).sum())
            raise self.selection.refuse(rank, float(values[-1]) if values[-1] < -floor else 0.0)
        return values, vectors, converged, used
