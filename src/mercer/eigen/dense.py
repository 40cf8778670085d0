"""Full eigendecomposition, and the canonical form in which all solvers return eigenpairs.

In an eigenspace that is degenerate up to rounding error the basis is arbitrary. The canonical basis
has one vector with all of the overlap with the vector of ones: the projection of that vector onto
the eigenspace. A Krylov space started at the vector of ones contains it, so all solvers agree.

Notation: λ_i eigenvalues of K, e_i unit eigenvectors, n the total weight, o_i = 1'e_i the overlaps,
ψ_i = λ_i o_i² / n² the entropy terms, V = Σ ψ_i = 1'K1/n² the information potential
(Jenssen 2010, eqs. 10-16).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, eigh, eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs

from mercer.eigen.base import Eigenpairs, Selection
from mercer.gram import DenseGram, EigenProblem, Sample
from mercer.utils.resources import check_memory
from mercer.utils.types import Array

__all__ = [
    "RANK_ERROR",
    "TERM_FLOOR",
    "TIE",
    "Dense",
    "Tridiagonalized",
    "canonical",
    "choose_components",
    "dense_bytes",
    "entropy_order",
    "entropy_terms",
    "has_no_overlap",
    "is_sign_free",
    "terms_for_fraction",
    "tie_groups",
    "tie_sizes",
    "tie_width",
]

# Eigenvalues closer than TIE * λ₁ are treated as equal. (1e-9 would merge four eigenvalues of the
# Frey faces that double precision separates well.)
TIE = 1e-11

# An approximation of K exchanges eigenvalues that differ by less than its error, so its ranks are
# not those of K, unless the error is below this fraction of the smallest eigenvalue.
RANK_ERROR = 1e-6

# An eigenvector whose eigenvalue has a relative gap of 1e-9 has an error of about eps / 1e-9, so an
# overlap of zero may be computed as large as that. Terms below the square of this error,
# relative to V, are treated as zero.
TERM_FLOOR = 1e-13

_FEW = 0.25  # part of the eigenvectors, up to which those of a tridiagonal matrix are faster


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
        third of the time. ``spectrum_.known_eigenvalues`` are then those of the components, because
        the entropy terms of the others are not known; ranks and multiplicities are exact in both
        cases. The eigenvectors of a centered K have no entropy, so only those of the components are
        computed in any case, and all eigenvalues are known.

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

    def gram(self, sample: Sample) -> DenseGram:
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
        ordered = np.sort(raw)[::-1]
        known_values = values if problem.has_entropy else ordered  # other terms are not known
        return Eigenpairs(
            values=values[selected],
            vectors=vectors,
            overlaps=problem.overlaps(values, products)[selected],
            method=problem.decomposition[0],
            converged=True,
            certified=True,
            certificate=problem.decomposition[1],
            ranks=selected + 1,
            multiplicities=tie_sizes(ordered, tie)[selected],
            known_values=known_values,
            known_terms=np.pad(terms, (0, len(known_values) - len(terms))),
            lowest=lowest,
            products=0,
        )

    def _needed(self, problem: EigenProblem, selection: Selection, raw: Array) -> int:
        """Return how many of the largest eigenvalues need vectors; equal ones are not separated."""
        count = selection.n_components
        few = self.only_selected or not problem.has_entropy
        if not few or selection.target != "variance" or not isinstance(count, int):
            return len(raw)
        tie = max(TIE, problem.relative_error) * float(np.abs(raw).max())
        gaps = raw[1:] - raw[:-1] > tie
        ends = np.flatnonzero(np.append(gaps[::-1], True)) + 1
        return int(ends[ends >= min(count, len(raw))][0])


def _few(n_components: int | float | None, size: int) -> bool:
    """Return whether computing only the selected eigenvectors saves time."""
    # below, both take less than a millisecond
    if n_components is None or size < 50:
        return False
    return not isinstance(n_components, int) or n_components <= _FEW * size


class Tridiagonalized:
    """A symmetric matrix ``A = Q T Q'``, with eigenpairs of the tridiagonal matrix T.

    The eigenpairs of T take O(n²) operations, and each eigenvector of A takes 2 n² more. If few of
    them are needed, this is up to three times as fast as a full decomposition. A, of at least two
    rows, is overwritten; the eigenvalues increase.
    """

    def __init__(self, A: Array) -> None:
        reduce, workspace = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
        size = int(workspace(len(A), lower=1)[0].real)
        # the transpose of a row-major matrix is in the order of LAPACK
        A = A if A.flags.f_contiguous else A.T
        reflectors, diagonal, below, self._scales, info = reduce(
            A, lower=1, lwork=size, overwrite_a=1
        )
        if info:
            raise LinAlgError(f"?sytrd returned {info}.")
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])
        self._matrix = diagonal, below
        self.values = eigvalsh_tridiagonal(diagonal, below, check_finite=False)

    def vectors(self, count: int) -> Array:
        """Return eigenvectors of T for the ``count`` largest eigenvalues, smallest first."""
        n = len(self.values)
        chosen: dict[str, Any] = {"check_finite": False}
        if count < n:  # an index range takes longer than all if it contains most of them
            chosen |= {"select": "i", "select_range": (n - count, n - 1)}
        try:
            return eigh_tridiagonal(*self._matrix, lapack_driver="stemr", **chosen)[1]
        except LinAlgError:  # rare; inverse iteration is slower
            return eigh_tridiagonal(*self._matrix, lapack_driver="stebz", **chosen)[1]

    def from_basis(self, columns: Array) -> Array:
        """Return ``Q @ columns``: eigenvectors of A from those of T."""
        return self._multiplied(columns, "N")

    def to_basis(self, columns: Array) -> Array:
        """Return ``Q' @ columns``."""
        return self._multiplied(columns, "T")

    def _multiplied(self, columns: Array, transposed: str) -> Array:
        # Q is the identity in its first row and column
        (multiply,) = get_lapack_funcs(("ormqr",), (self._reflectors,))
        size = 64 * max(columns.shape[1], 1)  # a block of 64 reflectors, as LAPACK recommends
        out = np.array(columns, self._reflectors.dtype)
        rest, _, info = multiply(
            "L", transposed, self._reflectors, self._scales, np.asfortranarray(out[1:]), size
        )
        if info:
            raise LinAlgError(f"?ormqr returned {info}.")
        out[1:] = rest
        return out


# --- canonical form -------------------------------------------------------------------------------


def canonical(
    values: Array, vectors: Array, start: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Sort eigenpairs, largest first; rotate ties; return values, vectors and overlaps ≥ 0.

    ``start`` is the vector of ones (√w with weights), the overlaps are ``start' vectors``, and
    eigenvalues closer than ``tolerance`` are tied.
    """
    order = np.argsort(-values, kind="stable")
    if (np.diff(order) == -1).all():  # LAPACK's order; a copy in the same memory order is faster
        vectors = vectors[:, ::-1].copy(order="K")
    else:
        vectors = vectors[:, order]
    values = values[order]
    overlaps = start @ vectors
    _rotate_ties(values, vectors, overlaps, tolerance)
    flip = np.where(overlaps < 0, -1, 1).astype(vectors.dtype)
    vectors *= flip
    return values, vectors, overlaps * flip


def tie_width(value: float, tolerance: float) -> float:
    """Return the distance up to which a smaller eigenvalue is tied with this one."""
    # rotating small eigenvalues of different size would make their eigenvectors inaccurate
    return min(tolerance, 1e-6 * abs(value))


def tie_groups(values: Array, tolerance: float) -> list[slice]:
    """Return runs of at least two sorted eigenvalues within the tolerance of the run's first."""
    groups = []
    first = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[first] - values[i] > tie_width(values[first], tolerance):
            if i - first > 1:
                groups.append(slice(first, i))
            first = i
    return groups


def tie_sizes(values: Array, tolerance: float) -> Array:
    """Return the number of sorted eigenvalues that are tied with each, itself included."""
    sizes = np.ones(len(values), dtype=int)
    for group in tie_groups(values, tolerance):
        sizes[group] = group.stop - group.start
    return sizes


def _rotate_ties(values: Array, vectors: Array, overlaps: Array, tolerance: float) -> None:
    """Rotate each tied group in place, so that its first vector has all of the group's overlap.

    The rotation is one Householder reflection per group. Rayleigh quotients replace the
    eigenvalues, which leaves Σ ψ and the trace unchanged.
    """
    for group in tie_groups(values, tolerance):
        direction = overlaps[group]
        length = float(np.linalg.norm(direction))
        if length == 0:
            continue
        mirror = direction / length
        mirror[0] += 1.0 if mirror[0] >= 0 else -1.0
        mirror /= np.linalg.norm(mirror)
        vectors[:, group] -= 2 * np.outer(vectors[:, group] @ mirror, mirror)
        overlaps[group] -= 2 * (direction @ mirror) * mirror
        overlaps[group][1:] = 0.0
        values[group] = _reflected_diagonal(values[group], mirror)


def _reflected_diagonal(values: Array, mirror: Array) -> Array:
    """Return the diagonal of ``R diag(values) R``, ``R = I - 2 mirror mirror'``."""
    mean = float(values @ mirror**2)
    return np.asarray(values - 4 * values * mirror**2 + 4 * mean * mirror**2)


def has_no_overlap(overlaps: Array, n: float, precision: np.dtype[Any]) -> Array:
    """Return whether each overlap is too small, relative to ‖1‖ = √n, to decide a sign."""
    smallest = max(1e-9, 1e3 * float(np.finfo(precision).eps))
    return np.asarray(np.abs(overlaps) <= smallest * np.sqrt(n))


def is_sign_free(vectors: Array, n: float | None = None) -> Array:
    """Return whether each column has no change of sign, up to 1/n of its largest entry."""
    slack = np.abs(vectors).max(axis=0) / (len(vectors) if n is None else n)
    return np.asarray((vectors.min(axis=0) > -slack) | (vectors.max(axis=0) < slack))


# --- entropy terms and selection ------------------------------------------------------------------


def entropy_terms(values: Array, overlaps: Array, n: float) -> Array:
    """Return ``ψ_i = λ_i (1'e_i)² / n²``.

    >>> entropy_terms(np.array([2.0, 1.0]), np.array([1.0, 0.0]), 2)
    array([0.5, 0. ])
    """
    return np.asarray(values * (overlaps / n) ** 2)


def entropy_order(terms: Array, values: Array, potential: float) -> Array:
    """Return indices by decreasing term; equal and numerically zero terms by eigenvalue.

    >>> entropy_order(np.array([0.2, 0.3, 0.3]), np.array([9.0, 1.0, 2.0]), 0.8)
    array([2, 1, 0])
    """
    cleaned = np.where(terms > TERM_FLOOR * potential, terms, 0.0)
    order = np.argsort(-cleaned, kind="stable")
    falling = cleaned[order]
    is_new = np.r_[True, falling[1:] < falling[:-1] * (1 - 1e-9)]
    group = np.empty(len(terms), dtype=int)
    group[order] = np.cumsum(is_new)
    return np.lexsort((-values, group))


def terms_for_fraction(ordered_terms: Array, potential: float, fraction: float) -> int | None:
    """Return how many leading terms sum to ``fraction`` of V; None if all are not enough."""
    reached = np.cumsum(ordered_terms) >= fraction * potential
    return int(np.argmax(reached)) + 1 if reached.any() else None


def choose_components(
    values: Array, terms: Array, floor: float, selection: Selection
) -> Array | None:
    """Return the indices of the requested eigenpairs, in order; None if these are too few.

    The eigenvalues decrease; only those above ``floor`` are selected.
    """
    usable = np.flatnonzero(values > floor)
    parts, total = values, selection.trace
    if selection.target == "entropy":
        parts, total = terms, selection.potential
        usable = usable[entropy_order(terms[usable], values[usable], total)]
    if selection.n_components is None:
        return usable
    if isinstance(selection.n_components, int):
        return usable[: selection.n_components] if len(usable) >= selection.n_components else None
    needed = terms_for_fraction(parts[usable], total, selection.n_components)
    return None if needed is None else usable[:needed]
