"""Eigenpairs of a degree-normalized Gram matrix: sparse, component by component, or stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer.eigen.base import Eigenpairs, Selection
from mercer.eigen.block_krylov import KrylovResult
from mercer.eigen.chebyshev import filtered_eigenpairs
from mercer.eigen.lanczos import Lanczos
from mercer.eigen.shift_invert import inverse_eigenpairs
from mercer.errors import ConvergenceError
from mercer.gram import DenseGram, EigenProblem, NormalizedGram, Sample, SparseGram
from mercer.gram.gram import GramProblem, KernelGram
from mercer.utils.eigenpairs import canonical
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["GraphSolver"]

_SMALL = 600  # rows of a component that is decomposed in full
_TIE = 1e-9


@dataclass(frozen=True)
class GraphSolver:
    """Leading eigenpairs of ``D^-½ K D^-½`` for a sparse or a stored K without negative values.

    Sparse K: every connected component of the graph has the eigenvalue 1, with a known eigenvector.
    It is removed, and the next eigenpairs of each component are computed separately, so a graph
    that is not connected, or nearly so, costs no more than its components. Stored K: Krylov
    iteration with the inverse of ``(1 + s) I - D^-½ K D^-½`` for a small s, which takes as long for
    a nearly disconnected graph as for any other.

    Parameters
    ----------
    tolerance : float
        For a sparse K: largest residual ``‖A v - λ v‖``, relative to 1 - λ for the smallest λ
        requested, or to the distance of λ from the next eigenvalues if that is larger.
    max_products : int
        Largest number of products with a block of vectors, per component.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.data.points import Points, Sample
    >>> from mercer.eigen.decompose import decompose
    >>> from mercer.kernels import Neighbors
    >>> from mercer.eigen import GraphSolver
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> sample = Sample(fit_kernel(Neighbors(1), X), Points(X))
    >>> spectrum = decompose(sample, "variance", 3, normalize=True, solver=GraphSolver())
    >>> spectrum.eigenvalues.round(3)
    array([1. , 1. , 0.5])
    """

    tolerance: float = 1e-3
    max_products: int = 20_000

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> KernelGram:
        """Build the sparse operator; for other kernels the stored one."""
        if sample.kernel.is_sparse:
            return SparseGram(sample.kernel, sample.points, sample.weights)
        stored = Lanczos(stored=True).gram(sample)
        assert isinstance(stored, KernelGram)
        return stored

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the leading pairs; raise ConvergenceError if the limit on passes is reached."""
        gram = _checked(problem, selection)
        k = check_integer(selection.n_components, "n_components", high=problem.size)
        if isinstance(gram.base, SparseGram):
            found, method, certificate = self._by_components(gram, k, random_state)
        else:
            found = inverse_eigenpairs(
                problem.dense(), k, random_state=random_state, max_passes=self.max_products
            )
            method = "block Krylov with the shifted inverse"
            certificate = "small residuals"
        if not len(found.values):
            raise ConvergenceError(
                "An eigenvalue of the normalized kernel matrix exceeds 1, so the kernel has "
                "negative values. Use solver='lanczos' or 'dense'.",
                None,
            )
        values, vectors, overlaps = canonical(found.values, found.vectors, problem.start, _TIE)
        floor = problem.numerical_zero(values[0])
        if values[-1] <= floor:
            raise selection.rank_error(int((values > floor).sum()), float(values[-1]))
        pairs = Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=problem.overlaps(values, overlaps),
            method=method,
            converged=found.converged,
            certified=False,
            certificate=(
                f"{certificate}; completeness is almost sure for a random start, not proven"
            ),
            ranks=np.arange(1, k + 1),
            multiplicities=None,
            known_values=values,
            known_terms=problem.entropy_terms(values, overlaps),
            lowest=0.0,
            products=found.products,
        )
        if not found.converged:
            raise ConvergenceError(
                f"The iteration did not converge to {k} eigenpairs of the graph within "
                f"{self.max_products} products. Raise GraphSolver(max_products=…) or the "
                "tolerance. The attribute 'pairs' of this error holds the approximations.",
                pairs,
            )
        return pairs

    def _by_components(
        self, gram: NormalizedGram, k: int, random_state: int | None
    ) -> tuple[KrylovResult, str, str]:
        """Return the leading pairs of a sparse graph, a method and a certificate."""
        assert isinstance(gram.base, SparseGram)
        n_components, labels = connected_components(gram.base.matrix, directed=False)
        first = _trivial_vectors(gram, labels, n_components)[:, :k]
        found = [(np.ones(first.shape[1]), first)]
        products, converged = 0, True
        if k > n_components:
            for indices in _members(labels, n_components):
                part = self._next_pairs(gram, indices, k - n_components, random_state)
                found.append((part.values, _padded(part.vectors, indices, gram.size)))
                converged, products = converged and part.converged, products + part.products
        values = np.concatenate([part for part, _ in found])
        order = np.argsort(-values, kind="stable")[:k]
        vectors = np.concatenate([part for _, part in found], axis=1)[:, order]
        method = f"graph with {n_components} connected component{'s' * (n_components > 1)}"
        certificate = f"residuals below {self.tolerance:.0e} (1 - λ)"
        return KrylovResult(values[order], vectors, converged, products), method, certificate

    def _next_pairs(
        self, gram: NormalizedGram, indices: Array, k: int, random_state: int | None
    ) -> KrylovResult:
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
            return KrylovResult(values[::-1][:k], vectors[:, ::-1][:, :k], True, len(indices))
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
    normalized = isinstance(gram, NormalizedGram) and isinstance(gram.base, SparseGram | DenseGram)
    if not normalized or selection.target != "variance":
        raise ValueError(
            "GraphSolver finds leading eigenvalues of a degree-normalized graph. Use 'lanczos' for "
            "other problems."
        )
    assert isinstance(gram, NormalizedGram)
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
