"""The interface of solvers: a selection of eigenpairs, and the eigenpairs found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from mercer.errors import RankError
from mercer.gram import EigenProblem, GramOperator, Sample
from mercer.utils.types import Array

__all__ = [
    "CONVERGED",
    "Eigenpairs",
    "Eigensolver",
    "OperatorChoice",
    "Selection",
    "Target",
]

# A Ritz pair has converged when its residual is this small relative to the tie tolerance: 1e-13 of
# the largest eigenvalue in double precision, a little above rounding error.
CONVERGED = 1e-2

Target = Literal["variance", "entropy"]


@dataclass(frozen=True)
class Selection:
    """Which eigenpairs are requested.

    ``n_components`` is a count, a fraction in (0, 1) of the trace (target "variance") or of the
    potential ("entropy"), or None for all positive eigenvalues. ``n_samples`` is for messages.
    """

    target: Target
    n_components: int | float | None
    trace: float
    potential: float
    n_samples: int

    @property
    def count(self) -> int | None:
        """The count, if a count was requested."""
        return None if isinstance(self.n_components, float) else self.n_components

    def rank_error(self, rank: int, lowest: float) -> RankError:
        """Return the error for a request that exceeds the rank of K."""
        indefinite = (
            f" K has negative eigenvalues down to {lowest:.3g}; components need positive ones."
            if lowest < 0
            else ""
        )
        request = f"n_components={self.n_components!r}"
        if rank == 0:
            return RankError(
                f"K is zero up to rounding error (n_samples={self.n_samples}), so it has no "
                "components: a single row, or equal rows, have no variance after centering. Add "
                f"rows that differ, or use center=False.{indefinite}",
                rank,
            )
        if isinstance(self.n_components, float):
            return RankError(
                f"{request} of the total cannot be reached with the {rank} positive eigenvalues of "
                f"K. Pass a smaller fraction, or None for all of them.{indefinite}",
                rank,
            )
        return RankError(
            f"{request} exceeds the rank of K, which has {rank} positive eigenvalues. Pass at most "
            f"{rank}, or None for all of them.{indefinite}",
            rank,
        )


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Selected eigenpairs of an :class:`~mercer.gram.EigenProblem`, in order.

    Attributes
    ----------
    values : array of shape (k,)
    vectors : array of shape (size, k) or None
        Unit eigenvectors of the problem; a spectrum does not store them.
    overlaps : array of shape (k,)
        1'e_i, nonnegative.
    method : str
        Name of the algorithm.
    converged : bool
        Whether all selected pairs have small residuals.
    certified : bool
        Whether it is proven that the selection is complete: no other eigenpair belongs to it.
    certificate : str
        The proof, or why there is none.
    ranks : array of int or None
        1-based ranks of the selected values among all eigenvalues.
    multiplicities : array of int or None
        Number of eigenvalues tied with each, itself included.
    known_values, known_terms : arrays
        Eigenvalues and entropy terms of all pairs that the solver computed, largest value first.
    lowest : float
        Smallest eigenvalue (or Ritz value) if it is negative beyond rounding error, else 0.
    products : int
        Number of products with one vector.
    """

    values: Array
    vectors: Array | None
    overlaps: Array
    method: str
    converged: bool
    certified: bool
    certificate: str
    ranks: Array | None
    multiplicities: Array | None
    known_values: Array
    known_terms: Array
    lowest: float
    products: int


class OperatorChoice(Protocol):
    """Settings from which a Gram operator is built."""

    @property
    def can_grow(self) -> bool:
        """Whether ``partial_fit`` is possible."""

    def gram(self, sample: Sample) -> GramOperator:
        """Build the operator."""


class Eigensolver(Protocol):
    """Settings of an algorithm that finds eigenpairs."""

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the requested eigenpairs."""


def check_order(order: str) -> None:
    """Raise ValueError unless the order of components is known."""
    if order not in ("entropy", "variance"):
        raise ValueError(f"order={order!r} must be 'entropy' or 'variance'.")
