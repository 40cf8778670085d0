"""Leading eigenpairs of a stored matrix by Lanczos from one vector, proven complete afterwards.

One vector needs a fraction of the products of a block, but its Krylov space contains only one
eigenvector of a multiple eigenvalue, and rounding errors alone lead to others. A Cholesky
factorization, n³/3 operations, decides whether one is missing. For any V of k columns and any
positive Θ,

    σ I - A + V Θ V' positive definite  ⇒  λ_{k+1}(A) < σ,

because V Θ V' has rank k (Weyl). With Ritz pairs (θ, v) and σ just below the smallest θ, the pairs
are then the k leading ones, and none of them is tied with an eigenvalue outside the selection. If
the factorization fails, another solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal
from scipy.linalg.blas import dsymv, dsyrk
from scipy.linalg.lapack import dpotrf

from mercer.eigen.base import CONVERGED, Eigenpairs, Selection
from mercer.eigen.dense import TIE, Dense, canonical, choose_components, tie_sizes, tie_width
from mercer.eigen.lanczos import LanczosBasis
from mercer.errors import ConvergenceError
from mercer.gram import DenseGram, EigenProblem, Sample
from mercer.utils.resources import report_status
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["VerifiedLanczos"]


@dataclass(frozen=True)
class VerifiedLanczos:
    """Lanczos iteration from a random vector, and a proof that no leading eigenpair is missing.

    For a number of leading components of a K that fits into memory four times. "auto" uses it for
    small samples and for many components, with a full decomposition if the proof fails.

    Parameters
    ----------
    max_products : int
        Largest number of products with K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.solvers import VerifiedLanczos
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> spectrum = KernelPCA(3, solver=VerifiedLanczos()).fit(X).spectrum_
    >>> spectrum.certified, spectrum.products < 50
    (True, True)
    """

    max_products: int = 2000

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> DenseGram:
        """Store K."""
        return Dense().gram(sample)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find and verify the leading pairs; raise ConvergenceError if either is not possible."""
        k = selection.n_components
        if selection.target != "variance" or not isinstance(k, int):
            raise ValueError(
                f"VerifiedLanczos finds a number of leading components, not {selection.target} "
                f"with n_components={k!r}. Use solver='lanczos' or 'dense'."
            )
        limit = check_integer(self.max_products, "VerifiedLanczos.max_products")
        # float32 values are exact in float64; their error counts in the tolerances
        A = problem.dense().astype(np.float64, copy=False)
        # a fixed seed for None: results are reproducible, and the proof does not rely on chance
        start = np.random.default_rng(random_state or 0).standard_normal(problem.size)
        # the transpose, which is equal, has the memory order of BLAS
        basis = LanczosBasis(
            lambda v: dsymv(1.0, A.T, v, lower=1), start, limit, problem.relative_error
        )
        found = _leading_ritz_pairs(basis, k, limit, max(TIE, problem.relative_error))
        if found is None:
            raise ConvergenceError(
                f"Lanczos did not converge to {k} eigenpairs within {basis.steps} products. Raise "
                "VerifiedLanczos(max_products=…), or use solver='lanczos' or 'dense'.",
                None,
            )
        raw, coefficients, residual, lowest = found
        largest = max(float(raw[-1]), -lowest)
        tie = max(TIE, problem.relative_error) * largest
        values, vectors, start_products = canonical(
            raw, basis.rows.T @ coefficients, problem.start, tie
        )
        floor = problem.numerical_zero(largest)
        terms = problem.entropy_terms(values, start_products)
        complete = choose_components(values, terms, floor, selection) is not None
        gap = residual + tie_width(values[-1], tie)
        if not complete or not is_complete(A, values, vectors, gap):
            raise ConvergenceError(
                f"The {k} eigenpairs found are not proven to be the largest: an eigenvalue may be "
                "multiple, or zero up to rounding error. Use solver='dense'.",
                None,
            )
        return Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=problem.overlaps(values, start_products),
            method="verified Lanczos",
            converged=True,
            certified=True,
            certificate=(
                f"a Cholesky factorization proves that no other eigenvalue exceeds {values[-1]:.6g}"
            ),
            ranks=np.arange(1, k + 1),
            multiplicities=tie_sizes(values, tie),
            known_values=values,
            known_terms=terms,
            lowest=lowest if lowest < -floor else 0.0,
            products=basis.steps,
        )


def _leading_ritz_pairs(
    basis: LanczosBasis, k: int, limit: int, tie: float
) -> tuple[Array, Array, float, float] | None:
    """Extend the basis until k Ritz pairs have converged; None after ``limit`` steps.

    Returns their values, smallest first, the coefficients in the basis, the largest residual and
    the smallest Ritz value.
    """
    check = k + 8
    while not (basis.ended or basis.steps >= limit):
        basis.extend()
        m = basis.steps
        last = basis.ended or m >= limit
        if m < k or (m < check and not last):
            continue
        check = m + max(4, m // 10)
        T = np.array(basis.diagonal), np.array(basis.off_diagonal[:-1])
        for first, end in ((m - k, m - k), (m - k, m - 1)):  # the k-th usually converges last
            values, S = eigh_tridiagonal(*T, select="i", select_range=(first, end))
            residual = float(np.abs(basis.off_diagonal[-1] * S[-1]).max())
            scale = max(abs(values).max(), max(map(abs, basis.diagonal)))
            if residual > CONVERGED * tie * scale:
                report_status(f"Lanczos: {m} products, residual {residual / scale:.1e}")
                break
        else:
            (lowest,) = eigvalsh_tridiagonal(*T, select="i", select_range=(0, 0))
            return values, S, residual, float(lowest)
    return None


def is_complete(A: Array, values: Array, vectors: Array, gap: float) -> bool:
    """Return whether all other eigenvalues are proven to be below ``min(values) - gap``.

    A is overwritten. If a computed Cholesky factorization of B exists, then ``B + ε I`` is positive
    definite with ``ε = (n + 2) eps tr B`` (Higham 2002, theorem 10.3: the error is at most γ
    |R'||R|, and ``‖|R'||R|‖ ≤ ‖R‖_F² = tr B`` up to rounding error). The entries of B have errors
    below ``(k + 3) eps`` of the sum of absolute values, whose norm is at most ``‖A‖_F + Σ θ + σ``.
    """
    n, k = vectors.shape
    smallest, total = float(values.min()), float(values.sum())
    trace = n * smallest - float(np.trace(A)) + total
    norm = float(np.sqrt(np.einsum("ij,ij->", A, A)))
    eps = float(np.finfo(np.float64).eps)
    error = (n + 2) * eps * trace + (k + 3) * eps * (norm + total + smallest)
    shift = smallest - gap - error
    np.negative(A, out=A)
    A[np.diag_indices(n)] += shift
    scaled = np.asfortranarray(vectors * np.sqrt(values))
    # only the lower half of the transpose is used
    B = dsyrk(1.0, scaled, beta=1.0, c=A.T, lower=1, overwrite_c=1)
    _, info = dpotrf(B, lower=1, clean=0, overwrite_a=1)
    return bool(info == 0)
