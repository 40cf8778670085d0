"""Eigenpairs of a degree-normalized sparse Gram matrix, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer.errors import ConvergenceError
from mercer.maths.eigenpairs import canonical
from mercer.maths.types import Array
from mercer.operators import EigenProblem, NormalizedGram, Sample, SparseGram
from mercer.operators.gram import GramProblem
from mercer.solvers.base import Eigenpairs, Selection
from mercer.solvers.chebyshev import filtered_eigenpairs
from mercer.validation import check_integer

__all__ = ["GraphSolver"]

_SMALL = 600  # rows of a component that is decomposed in full
_TIE = 1e-9


@dataclass(frozen=True)
class GraphSolver:
    """Leading eigenpairs of ``D^-½ K D^-½`` for a sparse K.

    Every connected component of the graph has the eigenvalue 1, with a known eigenvector. It is
    removed, and the next eigenpairs of each component are computed separately, so a graph that is
    not connected, or nearly so, costs no more than its components.

    Parameters
    ----------
    tolerance : float
        Largest residual ``‖A v - λ v‖``, relative to 1 - λ for the smallest λ requested, or to the
        distance of λ from the next eigenvalues if that is larger.
    max_products : int
        Largest number of products with a block of vectors, per component.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.data import Points, Sample
    >>> from mercer.decompose import decompose
    >>> from mercer.kernels import Neighbors
    >>> from mercer.solvers import GraphSolver
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> sample = Sample(fit_kernel(Neighbors(1), X), Points(X))
    >>> spectrum = decompose(sample, "variance", 3, normalize=True, solver=GraphSolver())
    >>> spectrum.eigenvalues.round(3)
    array([1. , 1. , 0.5])
    """

    tolerance: float = 1e-3
    max_products: int = 20_000

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> SparseGram:
        """Build the sparse operator."""
        if not sample.kernel.is_sparse:
            raise ValueError(
                f"GraphSolver needs a sparse kernel such as Neighbors(10), not {sample.kernel!r}."
            )
        return SparseGram(sample.kernel, sample.points, sample.weights)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the leading pairs; raise ConvergenceError if the limit on passes is reached."""
        gram = _checked(problem, selection)
        assert isinstance(gram.base, SparseGram)
        k = check_integer(selection.n_components, "n_components", high=problem.size)
        n_components, labels = connected_components(gram.base.matrix, directed=False)
        first = _trivial_vectors(gram, labels, n_components)[:, :k]
        found = [(np.ones(first.shape[1]), first)]
        products, converged = 0, True
        if k > n_components:
            for indices in _members(labels, n_components):
                part = self._next_pairs(gram, indices, k - n_components, random_state)
                found.append((part[0], _padded(part[1], indices, problem.size)))
                converged, products = converged and part[2], products + part[3]
        values = np.concatenate([part for part, _ in found])
        order = np.argsort(-values, kind="stable")[:k]
        vectors = np.concatenate([part for _, part in found], axis=1)[:, order]
        values = values[order]
        values, vectors, overlaps = canonical(values, vectors, problem.start, _TIE)
        pairs = Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=problem.overlaps(values, overlaps),
            method=f"graph with {n_components} connected component{'s' * (n_components > 1)}",
            converged=converged,
            certified=False,
            certificate=(
                f"residuals below {self.tolerance:.0e} (1 - λ); completeness is almost sure for a "
                "random start, not proven"
            ),
            ranks=np.arange(1, k + 1),
            multiplicities=None,
            known_values=values,
            known_terms=problem.entropy_terms(values, overlaps),
            lowest=0.0,
            products=products,
        )
        if not converged:
            raise ConvergenceError(
                f"The Chebyshev filter did not converge to {k} eigenpairs of the graph within "
                f"{self.max_products} products. Raise GraphSolver(max_products=…) or the "
                "tolerance. The attribute 'pairs' of this error holds the approximations.",
                pairs,
            )
        return pairs

    def _next_pairs(
        self, gram: NormalizedGram, indices: Array, k: int, random_state: int | None
    ) -> tuple[Array, Array, bool, int]:
        """Return up to k eigenpairs of a component after the first, which is known."""
        assert isinstance(gram.base, SparseGram)
        roots = np.sqrt(gram.degrees[indices])
        block = csr_array(gram.base.matrix[indices][:, indices])
        removed = gram.removed[indices, None]
        first = gram.start[indices] * roots
        first = first / np.linalg.norm(first)
        k = min(k, len(indices) - 1)

        def product(V: Array) -> Array:
            scaled = V / roots[:, None]
            scaled = (block @ scaled - removed * scaled) / roots[:, None]
            return np.asarray(scaled - np.outer(first, first @ V))

        if len(indices) <= _SMALL:
            values, vectors = np.linalg.eigh(product(np.eye(len(indices))))
            return values[::-1][:k], vectors[:, ::-1][:, :k], True, len(indices)
        return filtered_eigenpairs(
            product,
            len(indices),
            k,
            tolerance=self.tolerance,
            random_state=0 if random_state is None else random_state,
            max_products=self.max_products,
        )


def _checked(problem: EigenProblem, selection: Selection) -> NormalizedGram:
    gram = problem.gram if isinstance(problem, GramProblem) else None
    if not isinstance(gram, NormalizedGram) or selection.target != "variance":
        raise ValueError(
            "GraphSolver finds leading eigenvalues of a degree-normalized graph. Use 'lanczos' for "
            "other problems."
        )
    return gram


def _trivial_vectors(gram: NormalizedGram, labels: Array, count: int) -> Array:
    """Return the eigenvectors of the eigenvalue 1; components with the largest weight first."""
    entries = gram.start * np.sqrt(gram.degrees)
    masses = np.bincount(labels, gram.start**2, minlength=count)
    order = np.argsort(-masses, kind="stable")
    vectors = np.zeros((len(labels), count))
    vectors[np.arange(len(labels)), np.argsort(order)[labels]] = entries
    return vectors / np.linalg.norm(vectors, axis=0)


def _members(labels: Array, count: int) -> list[Array]:
    """Return the indices of each component with at least two rows."""
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])
    return [part for part in parts if len(part) > 1]


def _padded(vectors: Array, indices: Array, size: int) -> Array:
    out = np.zeros((size, vectors.shape[1]))
    out[indices] = vectors
    return out
