"""Leading eigenpairs of degree-normalized kernel matrices by SciPy's ARPACK.

Every connected component of a graph has the eigenvalue 1, with a known eigenvector. These are
removed, and ARPACK finds the next ones. Its Krylov space of one vector contains one eigenvector of
a multiple eigenvalue, so it runs again without all vectors found, until nothing larger appears.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from mercer.eigen.base import Eigenpairs, Selection
from mercer.eigen.dense import Dense, canonical
from mercer.eigen.lanczos import Lanczos
from mercer.errors import ConvergenceError
from mercer.gram import EigenProblem, GramOperator, NormalizedGram, Sample, SparseGram
from mercer.gram.gram import GramProblem
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["Arpack"]

_TIE = 1e-9
_SHIFT = 1e-9  # distance of the shift from 1, less than 1 - λ₂ of a chain of 10,000 points


@dataclass(frozen=True)
class Arpack:
    """Leading eigenpairs of ``D^-½ K D^-½`` for a sparse or a stored K, by ``scipy``'s ``eigsh``.

    For a graph on which the iteration converges slowly, such as a long chain, it runs with a sparse
    factorization of ``(1 + s) I - D^-½ K D^-½``: such graphs have factors with few values.

    Parameters
    ----------
    tolerance : float
        Largest residual ``‖A v - λ v‖``.
    max_restarts : int
        Largest number of restarts of ARPACK.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.data.points import Points, Sample
    >>> from mercer.eigen.decompose import decompose
    >>> from mercer.kernels import Neighbors
    >>> from mercer.solvers import Arpack
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> sample = Sample(fit_kernel(Neighbors(1), X), Points(X))
    >>> spectrum = decompose(sample, "variance", 3, normalize=True, solver=Arpack())
    >>> spectrum.eigenvalues.round(3)
    array([1. , 1. , 0.5])
    """

    tolerance: float = 1e-8
    max_restarts: int = 100

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Build the sparse operator; for other kernels the stored one."""
        return Lanczos(stored=True).gram(sample)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the leading pairs; raise ConvergenceError if ARPACK does not converge."""
        gram = problem.gram if isinstance(problem, GramProblem) else None
        if not isinstance(gram, NormalizedGram) or selection.target != "variance":
            raise ValueError(
                "Arpack finds leading eigenvalues of a degree-normalized matrix. Use 'lanczos' for "
                "other problems."
            )
        k = check_integer(selection.n_components, "n_components", high=problem.size)
        # small matrices are decomposed in full
        if problem.size <= max(600, 3 * k):
            return Dense().solve(problem, selection)
        vectors = _component_vectors(gram, k)
        values = np.ones(vectors.shape[1])
        search = _Search(self, problem, k, random_state)
        if len(values) < k:
            try:
                values, vectors = search.run(gram.product, values, vectors)
            except ArpackNoConvergence as error:
                if not isinstance(gram.base, SparseGram):
                    raise ConvergenceError(
                        f"ARPACK did not converge to {k} eigenpairs within {self.max_restarts} "
                        "restarts. Raise Arpack(max_restarts=…) or use solver='dense'.",
                        None,
                    ) from error
                values, vectors = search.run_inverted(gram, vectors)
        values, vectors, overlaps = canonical(values, vectors, problem.start, _TIE)
        # an eigenvalue below the residual is not distinguishable from 0
        floor = max(problem.numerical_zero(values[0]), search.tolerance * float(values[0]))
        if len(values) < k or values[-1] <= floor:
            raise selection.rank_error(int((values > floor).sum()), float(min(values[-1], 0.0)))
        return Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=problem.overlaps(values, overlaps),
            method="ARPACK",
            converged=True,
            certified=False,
            certificate=(
                f"residuals below {self.tolerance:.0e}; completeness is almost sure for random "
                "starts, not proven"
            ),
            ranks=np.arange(1, k + 1),
            multiplicities=None,
            known_values=values,
            known_terms=problem.entropy_terms(values, overlaps),
            lowest=0.0,
            products=search.products,
        )


class _Search:
    """Runs of ARPACK, each without the vectors found before."""

    def __init__(
        self, settings: Arpack, problem: EigenProblem, k: int, random_state: int | None
    ) -> None:
        self.n, self.k, self.settings = problem.size, k, settings
        self.tolerance = max(settings.tolerance, problem.relative_error)
        self.rng = np.random.default_rng(random_state or 0)
        self.products = 0

    def run(
        self, product: Callable[[Array], Array], values: Array, vectors: Array
    ) -> tuple[Array, Array]:
        """Return the k leading pairs of a symmetric operator, of which some are known."""
        count = self.k - len(values)
        while True:
            lowest = np.sort(values)[-self.k] if len(values) >= self.k else -np.inf
            found, new = self._leading(product, vectors, count)
            more = found > max(lowest + _TIE * np.abs(values).max(initial=1.0), 0.0)
            order = np.argsort(-np.r_[values, found[more]], kind="stable")
            values = np.r_[values, found[more]][order]
            vectors = np.column_stack([vectors, new[:, more]])[:, order]
            if not more.all() or len(values) < self.k:  # those found or the positive ones are all
                return values[: self.k], vectors[:, : self.k]
            # a copy of a multiple eigenvalue was missing, perhaps several
            count = 1 if lowest == -np.inf else min(2 * count, self.k)

    def run_inverted(self, gram: NormalizedGram, vectors: Array) -> tuple[Array, Array]:
        """Return the k leading pairs of a normalized graph by a factorization."""
        assert isinstance(gram.base, SparseGram)
        scale = diags_array(1 / np.sqrt(gram.degrees))
        matrix = scale @ (gram.base.matrix - diags_array(gram.removed)) @ scale
        shifted = csc_array(diags_array(np.full(self.n, 1 + _SHIFT)) - matrix)
        # without pivoting, because the matrix is positive definite
        factors = splu(
            shifted, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        values, vectors = self.run(factors.solve, np.full(vectors.shape[1], 1 / _SHIFT), vectors)
        return 1 + _SHIFT - 1 / values, vectors

    def _leading(
        self, product: Callable[[Array], Array], known: Array, count: int
    ) -> tuple[Array, Array]:
        """Return the leading pairs orthogonal to known vectors."""

        def multiply(v: Array) -> Array:
            self.products += 1
            v = v.reshape(-1, 1)
            w = product(v - known @ (known.T @ v))
            return np.asarray(w - known @ (known.T @ w))[:, 0]

        operator = LinearOperator((self.n, self.n), matvec=multiply, dtype=np.float64)
        start = self.rng.standard_normal((self.n, 1))
        start -= known @ (known.T @ start)
        values, vectors = eigsh(
            operator,
            count,
            which="LA",
            v0=start[:, 0],
            tol=self.tolerance,
            ncv=min(max(2 * count + 1, 40), self.n),  # more vectors than usual: fewer restarts
            maxiter=self.settings.max_restarts,
        )
        # ARPACK continues with arbitrary vectors where its Krylov space is exhausted
        vectors = np.linalg.qr(vectors - known @ (known.T @ vectors))[0]
        images = np.column_stack([multiply(vector) for vector in vectors.T])
        values, rotation = np.linalg.eigh(vectors.T @ images)
        vectors = vectors @ rotation
        residuals = np.linalg.norm(images @ rotation - values * vectors, axis=0)
        if residuals.max() > 100 * self.tolerance * max(np.abs(values).max(), 1.0):
            raise ArpackNoConvergence("large residuals", values, vectors)
        return values, vectors


def _component_vectors(gram: NormalizedGram, most: int) -> Array:
    """Return eigenvectors of the eigenvalue 1; of components with the largest weight first."""
    labels = np.zeros(gram.size, dtype=int)
    if isinstance(gram.base, SparseGram):
        labels = connected_components(gram.base.matrix, directed=False)[1]
    order = np.argsort(-np.bincount(labels, gram.start**2), kind="stable")
    place = np.argsort(order)[labels]
    rows = np.flatnonzero(place < most)
    vectors = np.zeros((gram.size, min(most, len(order))))
    vectors[rows, place[rows]] = (gram.start * np.sqrt(gram.degrees))[rows]
    return vectors / np.linalg.norm(vectors, axis=0)
