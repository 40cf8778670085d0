"""What a solver is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from mercer.errors import RankError
from mercer.maths.entropy import entropy_order, terms_for_fraction
from mercer.maths.types import Array
from mercer.operators import EigenProblem, GramOperator, Sample

__all__ = [
    "CONVERGED",
    "Eigenpairs",
    "Progress",
    "Selection",
    "Solver",
    "Target",
    "check_order",
    "terms_of",
]

# A Ritz pair has converged when its residual is this small beside the tie tolerance: 1e-13 of the
# largest eigenvalue in double precision, a little above what rounding allows.
CONVERGED = 1e-2

Target = Literal["variance", "entropy"]
Progress = Callable[[str], None]


def check_order(order: str) -> None:
    """Refuse what is no order of components."""
    if order not in ("entropy", "variance"):
        raise ValueError(f"order={order!r} must be 'entropy' or 'variance'.")


@dataclass(frozen=True)
class Selection:
    """Which eigenpairs are wanted.

    Parameters
    ----------
    target : {"variance", "entropy"}
        By falling eigenvalue, or by falling entropy term.
    n_components : int, float or None
        A count, a fraction in (0, 1) of the trace or of V, or None for all positive eigenvalues.
    trace, potential : float
        The totals that a fraction refers to.
    n_samples : int
        For messages.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Selection
    >>> values, terms = np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.0, 0.4])
    >>> by_entropy = Selection("entropy", 2, trace=6.0, potential=0.5, n_samples=10)
    >>> by_entropy.choose(values, terms, floor=0.0).tolist()
    [2, 0]
    """

    target: Target
    n_components: int | float | None
    trace: float
    potential: float
    n_samples: int

    @property
    def count(self) -> int | None:
        """The count, if a count was given."""
        return None if isinstance(self.n_components, float) else self.n_components

    def choose(self, values: Array, terms: Array, floor: float) -> Array | None:
        """Indices of the chosen pairs among these, in order; None if these do not suffice.

        Only eigenvalues above ``floor`` can be chosen; ``values`` must fall.
        """
        usable = np.flatnonzero(values > floor)
        if self.target == "entropy":
            usable = usable[entropy_order(terms[usable], values[usable], self.potential)]
        if self.n_components is None:
            return usable
        if isinstance(self.n_components, int):
            return usable[: self.n_components] if len(usable) >= self.n_components else None
        parts, total = (terms, self.potential) if self.target == "entropy" else (values, self.trace)
        needed = terms_for_fraction(parts[usable], total, self.n_components)
        return None if needed is None else usable[:needed]

    def refuse(self, rank: int, lowest: float) -> RankError:
        """Return the error for a request that the rank of K cannot meet."""
        indefinite = (
            f" K has negative eigenvalues down to {lowest:.3g}; components need positive ones."
            if lowest < 0
            else ""
        )
        asked = f"n_components={self.n_components!r}"
        if rank == 0:
            return RankError(
                f"K is 0 to rounding (n_samples={self.n_samples}), so there is no component: one "
                "sample, or equal ones, have no variance after centring. Add rows that differ, or "
                f"do not centre.{indefinite}",
                rank,
            )
        if isinstance(self.n_components, float):
            return RankError(
                f"{asked} of the total cannot be reached with the {rank} positive eigenvalues of "
                f"K; pass a smaller fraction, or None to keep all.{indefinite}",
                rank,
            )
        return RankError(
            f"{asked} exceeds the number of positive eigenvalues of K, its rank: {rank}; pass at "
            f"most {rank}, or None to keep all.{indefinite}",
            rank,
        )


@dataclass(frozen=True)
class Eigenpairs:
    """Chosen eigenpairs of an :class:`~mercer.operators.EigenProblem`, in order.

    Attributes
    ----------
    values : array of shape (k,)
    vectors : array of shape (size, k)
        Unit eigenvectors of the problem.
    overlaps : array of shape (k,)
        1'e_i, not negative.
    method : str
        How they were found.
    certified : bool
        Whether the selection is proven: no eigenpair left out deserved a place.
    certificate : str
        The proof, or how far it got, in words.
    ranks : array of int or None
        1-based places of the chosen values among all eigenvalues.
    multiplicities : array of int or None
        How many eigenvalues are tied with each, itself included.
    known_values, known_terms : arrays
        Eigenvalues and entropy terms of all pairs the solver came to know, largest value first.
    lowest : float
        Smallest eigenvalue (or Ritz value) seen if it is negative beyond rounding, else 0.
    products : int
        Matrix products with one vector that were spent.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> from mercer.solvers import Dense, Selection
    >>> points = validate_points([[0.0], [0.1], [5.0]], "vectors")
    >>> gram = Dense().gram(Sample(Gaussian(1.0), points))
    >>> wanted = Selection("variance", 2, trace=3.0, potential=1.0, n_samples=3)
    >>> Dense().solve(gram, wanted).values.round(3)
    array([1.995, 1.   ])
    """

    values: Array
    vectors: Array
    overlaps: Array
    method: str
    certified: bool
    certificate: str
    ranks: Array | None
    multiplicities: Array | None
    known_values: Array
    known_terms: Array
    lowest: float
    products: int


class Solver(Protocol):
    """Settings plus two steps: make the operator, find the pairs.

    ``can_grow`` says whether the operator is a factored one, which can absorb more points later.

    Examples
    --------
    >>> from mercer.solvers import Dense, Fourier
    >>> Dense().can_grow, Fourier().can_grow
    (False, True)
    """

    can_grow: ClassVar[bool]

    def gram(self, sample: Sample) -> GramOperator:
        """Make the operator this solver works on."""

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Find the eigenpairs that the selection asks for; ``progress`` is told a line at times."""


def terms_of(problem: EigenProblem, values: Array, products: Array) -> Array:
    """Entropy terms from the products of the start vector with the problem's eigenvectors."""
    if problem.start_length == 0:  # centred features
        return np.zeros(len(values))
    masses = (products / problem.start_length) ** 2
    return np.asarray(problem.term_of_mass(values) * masses)
