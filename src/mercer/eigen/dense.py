"""Full eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, eigh, eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs

from mercer.eigen.base import Eigenpairs, Selection
from mercer.gram import DenseGram, EigenProblem, Sample
from mercer.utils.eigenpairs import TIE, canonical, choose_components, tie_sizes
from mercer.utils.resources import check_memory
from mercer.utils.types import Array

__all__ = ["Dense", "Tridiagonalized", "dense_bytes"]

_FEW = 0.25  # part of the eigenvectors, up to which those of a tridiagonal matrix are faster
_SMALLEST = 50  # rows, below which both take less than a millisecond


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
    >>> from mercer.eigen import Dense
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
            method="full decomposition",
            converged=True,
            certified=True,
            certificate="all eigenpairs are known",
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
    if n_components is None or size < _SMALLEST:
        return False
    return not isinstance(n_components, int) or n_components <= _FEW * size


class Tridiagonalized:
    """A symmetric matrix ``A = Q T Q'``, with eigenpairs of the tridiagonal matrix T.

    The eigenpairs of T take O(n²) operations, and each eigenvector of A takes 2 n² more. If few of
    them are needed, this is up to three times as fast as a full decomposition.

    Parameters
    ----------
    A : array of shape (n, n)
        At least 2 rows; it is overwritten.

    Attributes
    ----------
    values : array of shape (n,)
        Eigenvalues of A and T, smallest first.
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
