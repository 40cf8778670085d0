"""Eigenpairs of a Davidson iteration with their bounds and certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.eigen.base import Eigenpairs, Selection
from mercer.eigen.block_basis import Ritz
from mercer.eigen.complement_norm import FAILURE
from mercer.eigen.ritz_bounds import RitzBounds, bound_entropy_terms, bound_ritz_pairs
from mercer.gram import EigenProblem
from mercer.gram.mixed_precision import MixedPrecisionGram
from mercer.utils.eigenpairs import TIE, canonical, choose_components
from mercer.utils.types import Array

__all__ = ["CertifiedPairs"]

_NEARLY_ORTHONORMAL = 1.001  # bound on the norm of coefficients of Ritz vectors
_SMALL_REST = 0.3  # of the smallest selected term, if what is missing can be proven to be less
_NORM_ROUNDING = 1e-11  # relative rounding error of ‖A‖_F²


class CertifiedPairs:
    """What a run knows about the matrix, and the pairs and bounds that follow from a basis.

    Parameters
    ----------
    problem : EigenProblem
    base : MixedPrecisionGram
        Its operator, not centered.
    center : bool
    selection : Selection
    tol : float
        Largest residual, relative to the largest eigenvalue.
    """

    def __init__(
        self,
        problem: EigenProblem,
        base: MixedPrecisionGram,
        center: bool,
        selection: Selection,
        tol: float,
    ) -> None:
        self.problem, self.base, self.selection, self.tol = problem, base, selection, tol
        self.unit = base.unit if center else None
        self.first_pass = base.passes
        self.products = 0
        self.complement_norm = np.inf
        self.group_error = 0.0  # bound on the error of products of the second block of the basis

    @property
    def passes(self) -> int:
        """Number of passes of this run."""
        return self.base.passes - self.first_pass

    def exact_selection(self) -> Selection:
        """Return the selection with the totals known so far."""
        gram = self.base
        trace, potential = gram.trace, gram.potential
        if self.unit is not None:
            trace, potential = trace - gram.total * potential, 0.0
        return replace(self.selection, trace=trace, potential=potential)

    def selected(self, ritz: Ritz) -> Array:
        """Return the Ritz pairs that would be selected; all if these are too few."""
        values = ritz.values
        terms = self.problem.entropy_terms(values, ritz.adjoint(self.base.start))
        floor = self.problem.numerical_zero(values[0])
        found = choose_components(values, terms, floor, self.exact_selection())
        return np.flatnonzero(values > floor) if found is None else found

    def may_be_proven(self, pairs: Eigenpairs) -> bool:
        """Return whether only residuals prevent a proof of the selection by entropy."""
        if pairs.certified or self.selection.target == "variance":
            return False
        smallest = self.problem.entropy_terms(pairs.values, pairs.overlaps).min()
        missing = self.base.potential - float(pairs.known_terms.sum())
        return bool(missing < _SMALL_REST * smallest)

    def result(self, ritz: Ritz) -> Eigenpairs:
        """Return the selected pairs of a basis in float64, with bounds."""
        base, problem = self.base, self.problem
        selection = self.exact_selection()
        values, start = ritz.values, base.start
        products = ritz.adjoint(start)
        terms = problem.entropy_terms(values, products)
        floor = problem.numerical_zero(values[0])
        selected, complete = choose_components(values, terms, floor, selection), True
        if selected is None:
            usable = values > floor
            if isinstance(selection.n_components, int) and usable.sum() < selection.n_components:
                raise self.selection.rank_error(int(usable.sum()), 0.0)
            selected, complete = np.flatnonzero(usable), False
        errors = np.full(len(values), self.product_error())
        joint = float(np.linalg.norm(errors)) + _NEARLY_ORTHONORMAL * self.group_error
        if self.group_error:
            errors += self.group_error * ritz.part_of(1)
        rest = self._rest(values, ritz.squares)
        needed = int(selected.max(initial=0)) + 1 if selection.target == "variance" else None
        bounds = bound_ritz_pairs(values, ritz.squares, rest, errors, joint, needed)
        largest = float(bounds.residuals[selected].max(initial=0.0))
        converged = complete and largest <= self.tol * float(values[0])
        certified, certificate = self._certificate(bounds, ritz, products, selected)
        joint = self._joint_residual(ritz.squares, selected, errors[selected])
        vectors, overlaps = self._canonical(ritz, selected)
        proven = selected < bounds.proven
        upper = np.full(len(values), np.nan)
        upper[: bounds.proven] = bounds.upper[:-1]
        known = max(bounds.proven, int(selected.max(initial=-1)) + 1)
        return Eigenpairs(
            values=values[selected],
            vectors=vectors,
            overlaps=problem.overlaps(values[selected], overlaps),
            method=f"block Davidson in {self.passes} passes",
            converged=converged,
            certified=certified,
            certificate=certificate,
            ranks=selected + 1 if proven.all() else None,
            multiplicities=None,
            known_values=values[:known],
            known_terms=terms[:known],
            lowest=0.0,
            products=self.products,
            residuals=bounds.residuals[selected],
            value_bounds=np.column_stack(
                [
                    np.where(proven, bounds.lower[selected], values[selected] - joint),
                    np.where(proven, upper[selected], values[selected] + joint),
                ]
            ),
            angle_bounds=bounds.sines[selected],
            passes=self.passes,
        )

    def _canonical(self, ritz: Ritz, selected: Array) -> tuple[Array, Array]:
        """Return the selected vectors with ties rotated and signs chosen, and their overlaps."""
        order = np.argsort(selected)
        chosen = selected[order]
        tie = TIE * float(ritz.values[0])
        _, found, overlaps = canonical(
            ritz.values[chosen], ritz.vectors(chosen, np.dtype(np.float64)), self.base.start, tie
        )
        back = np.argsort(order)
        return found[:, back], overlaps[back]

    def _rest(self, values: Array, squares: Array) -> float:
        """Bound the eigenvalues on the complement of the basis.

        By random vectors, or by the Frobenius norm there if all products are in float64.
        """
        if self.group_error:
            return self.complement_norm
        total = self.base.squared_norm
        if self.unit is not None:
            mean = self.base.start_product / np.sqrt(self.base.total)
            total += float(self.unit @ mean) ** 2 - 2 * float(mean @ mean)
        rounding = _NORM_ROUNDING + 4 * self.base.product_error
        rest = total - float(values @ values) - 2 * float(np.trace(squares))
        frobenius = float(np.sqrt(max(rest, 0.0) + rounding * self.base.squared_norm))
        return min(frobenius, self.complement_norm)

    def product_error(self) -> float:
        """Bound the error of a product in float64 with a unit vector."""
        return self.base.product_error * float(np.sqrt(self.base.squared_norm))

    def _joint_residual(self, squares: Array, selected: Array, errors: Array) -> float:
        """Bound the distances of all selected Ritz values to eigenvalues (Kahan)."""
        part = squares[np.ix_(selected, selected)]
        largest = float(np.linalg.eigvalsh(part)[-1]) if len(part) else 0.0
        return float(np.sqrt(max(largest, 0.0)) + np.linalg.norm(errors))

    def _certificate(
        self, bounds: RitzBounds, ritz: Ritz, products: Array, selected: Array
    ) -> tuple[bool, str]:
        """Return whether the selection is proven, and why or why not."""
        if self.selection.target == "variance":
            how = "the Frobenius norm"
            if self._rest(ritz.values, ritz.squares) == self.complement_norm:
                how = f"products with random vectors (they fail with probability {FAILURE:.0e})"
            others = f"all other eigenvalues are at most {bounds.upper[-1]:.3e} by {how}"
            if (selected < bounds.proven).all():
                after = int(selected.max()) + 1
                return True, (
                    f"by {how} the eigenvalue after those selected is at most "
                    f"{bounds.upper[after]:.6e}; the smallest selected is at least "
                    f"{bounds.lower[selected].min():.6e}"
                )
            return False, (
                f"residuals below {self.tol:.0e} of the largest eigenvalue; the "
                f"{bounds.proven} leading eigenvalues are proven, {others}"
            )
        groups = bound_entropy_terms(
            bounds, ritz.squares, products, self.base.total, self.base.potential
        )
        reason = groups.unproven(selected)
        if reason is not None:
            return False, f"after {self.passes} passes {reason}"
        return True, (
            f"after {self.passes} passes no other eigenpair can have a term above "
            f"{groups.largest_other(selected):.3e}; the smallest selected is at least "
            f"{groups.smallest(selected):.3e}"
        )
