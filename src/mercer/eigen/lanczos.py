"""Krylov iterations: from a random block for variance, from the vector of ones for entropy.

Only eigenvectors with 1'e ≠ 0 have an entropy term, and the Krylov space of the vector of ones
contains exactly those; in a degenerate eigenspace it contains the one with non-zero overlap. After
m steps with full reorthogonalization the eigenpairs (θ, s) of the tridiagonal T give masses s_1²
and residuals β_m |s_m|. The selection is proven when the first m moments exclude any other
eigenpair with a larger term than the smallest selected one (:func:`largest_hidden_term`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal
from scipy.linalg.blas import daxpy, ddot, dgemv, dnrm2

from mercer.eigen.base import CONVERGED, Eigenpairs, Selection
from mercer.eigen.block_krylov import KrylovResult, leading_eigenpairs
from mercer.eigen.dense import TERM_FLOOR, TIE, canonical, choose_components
from mercer.errors import ConvergenceError
from mercer.gram import (
    BlockedGram,
    ChunkedGram,
    DenseGram,
    EigenProblem,
    GramOperator,
    Sample,
    SparseGram,
)
from mercer.utils.resources import check_memory, memory_budget, report_status, single_threaded_blas
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["Lanczos", "LanczosBasis", "christoffel", "largest_hidden_term", "stored_fits"]

_MAX_CHUNKED_ROWS = 300_000  # one product of this size takes a core 15 minutes
# Relative positions at which each interval between Ritz values is probed: dense at both ends, where
# narrow peaks occur, and evenly spaced in the middle.
_ENDS = np.array([0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.12, 0.21, 0.31, 0.4])
_PROBES = np.r_[_ENDS, 0.5, 1 - _ENDS[::-1]]
_BIG = 1e100


def _chunked_gram(sample: Sample, points: Any) -> ChunkedGram:
    if points.n > _MAX_CHUNKED_ROWS:
        raise ValueError(
            f"solver='lanczos' evaluates the kernel {points.n**2 / 2:.2g} times for every product "
            f"with K of {points.n} rows. The limit for Dask collections is {_MAX_CHUNKED_ROWS} "
            "rows. Use solver='fourier' (Gaussian or Matern, at most 3 columns), solver='nystrom', "
            "or a sample of the rows."
        )
    return ChunkedGram(sample.kernel, points, sample.weights)


def stored_fits(n: int, itemsize: int, budget: float) -> bool:
    """Return whether K takes at most half of the memory budget, so that it may be stored."""
    return 2 * n * n * itemsize <= budget


@dataclass(frozen=True)
class Lanczos:
    """Krylov iteration, which needs only products with K.

    For "entropy" the iteration starts at the vector of ones, whose Krylov space contains exactly
    the eigenvectors with a non-zero entropy term, and continues until the Christoffel bound proves
    that none is missing. For "variance" it is a block iteration from random vectors.

    Parameters
    ----------
    max_products : int
        Largest number of products with one vector ("entropy"), or with a block ("variance").
    stored : bool or None
        Store K (True), nothing (False), or decide by the memory budget (None).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.solvers import Lanczos
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> eca = KernelECA(3, solver=Lanczos(stored=False)).fit(X)  # K is never formed
    >>> eca.certified_, eca.spectrum_.products < 100
    (True, True)
    """

    max_products: int = 2000
    stored: bool | None = None

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Build a stored, a sparse or a matrix-free operator."""
        if sample.points.is_chunked:
            return _chunked_gram(sample, sample.points)
        if sample.kernel.is_sparse:
            return SparseGram(sample.kernel, sample.points, sample.weights)
        n, itemsize = sample.points.n, sample.points.dtype.itemsize
        stored = stored_fits(n, itemsize, memory_budget()) if self.stored is None else self.stored
        if self.stored and sample.matrix is None:
            check_memory(
                n * n * itemsize,
                f"The Gram matrix of {n} points",
                "Use Lanczos(stored=False) (matrix-free)",
            )
        if sample.matrix is not None:
            return DenseGram(sample.kernel, sample.points, sample.weights, sample.matrix)
        if stored:
            return DenseGram(sample.kernel, sample.points, sample.weights)
        return BlockedGram(sample.kernel, sample.points, sample.weights)

    def solve(
        self, problem: EigenProblem, selection: Selection, *, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the requested pairs; raise ConvergenceError if the limit on products is reached."""
        check_integer(self.max_products, "Lanczos.max_products")
        if selection.target == "entropy":
            return self._by_entropy(problem, selection)
        return self._by_variance(problem, selection, random_state)

    # --- variance ---------------------------------------------------------------------------

    def _by_variance(
        self, problem: EigenProblem, selection: Selection, random_state: int | None
    ) -> Eigenpairs:
        """Find the leading pairs; for a fraction, double their number until it is reached."""
        k = selection.count
        if k is None:
            k = problem.size if selection.n_components is None else 16
        while True:
            k = min(k, problem.size)
            pairs = self._leading(problem, selection, k, random_state)
            if pairs is not None:
                return pairs
            k *= 2

    def _iterate(
        self, problem: EigenProblem, k: int, tie: float, random_state: int | None
    ) -> KrylovResult:
        width = problem.block_width(k)
        # Threads of OpenBLAS spin after a call, which takes cores from the threads that multiply K.
        with single_threaded_blas() if (width or k) <= 64 else nullcontext():
            return leading_eigenpairs(
                problem.product,
                problem.size,
                k,
                tolerance=CONVERGED * tie,
                random_state=random_state,
                max_passes=self.max_products,
                width=width,
            )

    def _leading(
        self,
        problem: EigenProblem,
        selection: Selection,
        k: int,
        random_state: int | None,
    ) -> Eigenpairs | None:
        """Return the selection from the k leading pairs; None if more than k are needed."""
        tie = max(TIE, problem.relative_error)
        raw, vectors, converged, products = self._iterate(problem, k, tie, random_state)
        values, vectors, start_products = canonical(
            raw, vectors, problem.start, tie * float(np.abs(raw).max())
        )
        terms = problem.entropy_terms(values, start_products)
        floor = problem.numerical_zero(values[0])
        lowest = float(values[-1]) if values[-1] < -floor else 0.0
        selected = choose_components(values, terms, floor, selection)
        if selected is None and not converged:
            selected = np.arange(len(values))
        elif selected is None and k < problem.size and values[-1] > floor:
            return None
        if selected is None:
            raise selection.rank_error(int((values > floor).sum()), lowest)
        pairs = Eigenpairs(
            values=values[selected],
            vectors=vectors[:, selected],
            overlaps=problem.overlaps(values, start_products)[selected],
            method="block Krylov",
            converged=converged,
            # small residuals show that these are eigenpairs, not that none is missing
            certified=False,
            certificate=(
                f"residuals below {CONVERGED * tie:.0e} of the largest eigenvalue; completeness "
                "is almost sure for a random start, not proven"
            ),
            ranks=selected + 1,
            multiplicities=None,
            known_values=values,
            known_terms=terms,
            lowest=lowest,
            products=products,
        )
        if not converged:
            raise ConvergenceError(
                f"Block Krylov did not converge to {k} eigenpairs within {self.max_products} "
                "passes. Raise Lanczos(max_products=…) or use solver='dense'. The attribute "
                "'pairs' of this error holds the approximations.",
                pairs,
            )
        return pairs

    # --- entropy ----------------------------------------------------------------------------

    def _by_entropy(self, problem: EigenProblem, selection: Selection) -> Eigenpairs:
        search = EntropySearch(problem, selection, self.max_products)
        found = search.run()
        if search.too_few:
            raise ConvergenceError(
                f"The entropy iteration found too few converged eigenpairs for "
                f"n_components={selection.n_components!r} within {search.steps} products. Raise "
                "Lanczos(max_products=…), request fewer components or use solver='dense'. The "
                "attribute 'pairs' of this error holds those that converged.",
                found,
            )
        return found


# --- entropy --------------------------------------------------------------------------------------


@dataclass
class _Ritz:
    """Converged Ritz pairs in canonical form, in Lanczos coordinates."""

    values: Array
    vectors: Array
    products: Array  # start' times the vectors
    terms: Array
    unconverged_term: float  # largest term of an unconverged Ritz pair
    tie: float
    lowest: float  # smallest Ritz value if it is negative beyond rounding error, else 0


class EntropySearch:
    """One run of the iteration, for a selection by entropy."""

    def __init__(self, problem: EigenProblem, selection: Selection, max_products: int) -> None:
        self.problem = problem
        self.selection = selection
        self.limit = min(max_products, problem.size)
        self.basis = LanczosBasis(
            lambda v: problem.product(v[:, None])[:, 0],
            problem.start,
            self.limit,
            problem.relative_error,
        )
        self.too_few = False

    @property
    def steps(self) -> int:
        """Number of products so far."""
        return self.basis.steps

    def run(self) -> Eigenpairs:
        """Iterate until the selection is proven or the limit on products is reached.

        If fewer pairs converged than requested, ``too_few`` is set and all of them are returned.
        """
        check = 6  # steps before the first check of the selection
        while True:
            self.basis.extend()
            last = self.basis.ended or self.steps == self.limit
            if self.steps < check and not last:
                continue
            check = self.steps + max(4, self.steps // 16)
            ritz = self._ritz()
            selected = choose_components(ritz.values, ritz.terms, self._floor(ritz), self.selection)
            proof = self._proof(ritz, selected)
            if proof is not None or last:
                return self._result(ritz, selected, proof)

    def _ritz(self) -> _Ritz:
        diagonal, off_diagonal = np.array(self.basis.diagonal), np.array(self.basis.off_diagonal)
        theta, S = eigh_tridiagonal(diagonal, off_diagonal[:-1])
        tie = max(TIE, self.problem.relative_error) * float(np.abs(theta).max())
        residuals = np.abs(off_diagonal[-1] * S[-1])
        converged = (residuals <= CONVERGED * tie) | self.basis.ended
        start = np.zeros(self.steps)
        start[0] = self.problem.start_norm
        values, vectors, products = canonical(theta[converged], S[:, converged], start, tie)
        unconverged = (~converged) & (theta > 0)
        unconverged_terms = self.problem.entropy_terms(
            theta[unconverged], start[0] * S[0, unconverged]
        )
        return _Ritz(
            values,
            vectors,
            products,
            self.problem.entropy_terms(values, products),
            float(unconverged_terms.max(initial=0.0)),
            tie,
            float(theta[0]) if theta[0] < -self.problem.numerical_zero(theta[-1]) else 0.0,
        )

    def _floor(self, ritz: _Ritz) -> float:
        return self.problem.numerical_zero(ritz.values.max(initial=0))

    def _proof(self, ritz: _Ritz, selected: Array | None) -> str | None:
        """Return why no other eigenpair belongs to the selection; None if one might."""
        potential = self.selection.potential
        missing = potential - float(ritz.terms.sum())
        if self.basis.ended:
            return f"the Krylov space is exhausted after {self.steps} products"
        # both are sums over n entries with rounding errors
        if abs(missing) <= 1e-12 * potential and ritz.lowest == 0:
            return f"the terms found after {self.steps} products add up to V"
        threshold = ritz.terms[selected[-1]] if selected is not None and len(selected) else 0.0
        if self.selection.n_components is None or threshold <= TERM_FLOOR * potential:
            return None
        report_status(
            f"entropy Lanczos: {self.steps} products, {len(ritz.values)} pairs converged, largest "
            f"unconverged term {ritz.unconverged_term / threshold:.1e} of the smallest selected"
        )
        if missing < threshold and ritz.lowest == 0:
            return f"after {self.steps} products only {missing:.2e} of V is missing"
        return self._christoffel_proof(ritz, threshold)

    def _christoffel_proof(self, ritz: _Ritz, threshold: float) -> str | None:
        """Return why no other eigenpair can have a term above the threshold; None if one might."""
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
            f"(Christoffel bound; the smallest selected is {threshold:.3e})"
        )

    def _result(self, ritz: _Ritz, selected: Array | None, proof: str | None) -> Eigenpairs:
        """Map the selected Ritz vectors back; add components with zero entropy term if needed."""
        missing = self._count_without_entropy(ritz, proof)
        if selected is None and missing == 0:
            usable = replace(self.selection, n_components=None)
            selected = choose_components(ritz.values, ritz.terms, self._floor(ritz), usable)
            self.too_few = True
        if missing:
            with_entropy = ritz.terms > TERM_FLOOR * self.selection.potential
            selected = np.flatnonzero(with_entropy & (ritz.values > self._floor(ritz)))
            selected = selected[np.argsort(-ritz.terms[selected], kind="stable")]
        assert selected is not None
        values, products = ritz.values[selected], ritz.products[selected]
        vectors = self.basis.rows.T @ ritz.vectors[:, selected]
        n_products = self.steps
        if missing:
            more_values, more_vectors, converged, used = self._leading_orthogonal(vectors, missing)
            proof = proof if converged else None
            values = np.r_[values, more_values]
            vectors = np.column_stack([vectors, more_vectors])
            products = np.r_[products, np.zeros(len(more_values))]
            n_products += used
        return Eigenpairs(
            values=values,
            vectors=vectors,
            overlaps=self.problem.overlaps(values, products),
            method="entropy Lanczos",
            converged=not self.too_few,
            certified=proof is not None,
            certificate=proof or f"not proven within {self.steps} products",
            ranks=None,
            multiplicities=None,
            known_values=ritz.values,
            known_terms=ritz.terms,
            lowest=ritz.lowest,
            products=n_products,
        )

    def _count_without_entropy(self, ritz: _Ritz, proof: str | None) -> int:
        """Return the number of requested components that have a zero entropy term."""
        count = self.selection.count
        if proof is None or count is None:
            return 0
        with_entropy = ritz.terms > TERM_FLOOR * self.selection.potential
        usable = int((with_entropy & (ritz.values > self._floor(ritz))).sum())
        return max(count - usable, 0)

    def _leading_orthogonal(self, found: Array, count: int) -> tuple[Array, Array, bool, int]:
        """Find the leading eigenpairs orthogonal to the eigenvectors already found."""

        def product(V: Array) -> Array:
            V = V - found @ (found.T @ V)
            W = self.problem.product(V)
            return np.asarray(W - found @ (found.T @ W))

        tie = max(TIE, self.problem.relative_error)
        available = self.problem.size - found.shape[1]
        values, vectors, converged, used = leading_eigenpairs(
            product, self.problem.size, min(count, available), tolerance=CONVERGED * tie
        )
        largest = max(float(values[0]), max(map(abs, self.basis.diagonal)))
        floor = self.problem.numerical_zero(largest)
        if (values > floor).sum() < count:
            rank = found.shape[1] + int((values > floor).sum())
            raise self.selection.rank_error(rank, float(values[-1]) if values[-1] < -floor else 0.0)
        return values, vectors, converged, used


class LanczosBasis:
    """An orthonormal Krylov basis from one vector, and the tridiagonal matrix in it.

    The last off-diagonal entry couples to the next vector. ``relative_error`` is the accuracy of a
    product, relative to the largest eigenvalue; ``ended`` tells that the Krylov space is exhausted.
    """

    def __init__(
        self,
        product: Callable[[Array], Array],
        start: Array,
        max_steps: int,
        relative_error: float,
    ) -> None:
        self.diagonal: list[float] = []
        self.off_diagonal: list[float] = []
        self.ended = False
        self._product, self._relative_error = product, relative_error
        self._max_steps = min(max_steps, len(start))
        self._rows = np.empty((min(64, self._max_steps), len(start)))
        self._rows[0] = start / dnrm2(start)

    @property
    def steps(self) -> int:
        """Number of products so far."""
        return len(self.diagonal)

    @property
    def rows(self) -> Array:
        """The basis, one vector per row."""
        return self._rows[: self.steps]

    def extend(self) -> None:
        """Add one vector: a product, orthogonalized against all earlier vectors.

        After the three-term recurrence one pass over the basis is enough, unless it removes much
        of the vector; then cancellation matters and a second pass follows (Daniel et al. 1976).
        """
        # All calls use SciPy's BLAS, like the product with a stored K. NumPy may load another copy
        # of the library, whose busy-waiting threads would compete for the cores.
        m = self.steps
        w = np.ascontiguousarray(self._product(self._rows[m]))
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
        self.ended = length <= 4 * self._relative_error * largest or (
            self.steps == self._rows.shape[1]
        )
        if not self.ended and self.steps < self._max_steps:
            if self.steps == len(self._rows):
                rows = np.empty((min(2 * self.steps, self._max_steps), self._rows.shape[1]))
                rows[: self.steps] = self._rows
                self._rows = rows
            self._rows[self.steps] = w / length


# --- undetected spectral mass: the Christoffel function of a Lanczos recurrence -------------------
#
# After m Lanczos steps from a unit vector, T contains the recurrence coefficients of the
# polynomials p_0, …, p_{m-1} that are orthonormal for the spectral measure of that vector. No
# measure with these moments has an atom at x with a mass above ρ_m(x) = 1 / Σ_{j<m} p_j(x)²
# (Chebyshev, Markov, Stieltjes). This bounds the mass of eigenpairs that have not been found, for
# every symmetric matrix, definite or not.


def christoffel(diagonal: Array, off_diagonal: Array, x: Array) -> Array:
    """Return ``ρ_m(x)`` for the m × m tridiagonal matrix with the given diagonals.

    >>> christoffel(np.array([0.5]), np.array([]), np.array([0.0, 0.5]))
    array([1., 1.])
    """
    previous, current = np.zeros_like(x), np.ones_like(x)
    total, exponent = np.ones_like(x), np.zeros_like(x)
    before = 0.0
    for alpha, beta in zip(diagonal[:-1], off_diagonal, strict=True):
        previous, current = current, ((x - alpha) * current - before * previous) / beta
        before = beta
        huge = np.abs(current) > _BIG
        if huge.any():  # outside the spectrum the recurrence grows like a power of x: rescale
            previous[huge] /= _BIG
            current[huge] /= _BIG
            total[huge] /= _BIG**2
            exponent[huge] += 2 * np.log(_BIG)
        total += current * current
    return np.asarray(np.exp(-np.log(total) - exponent))


def largest_hidden_term(
    diagonal: Array,
    off_diagonal: Array,
    known: Array,
    radius: float,
    weight: Callable[[Array], Array],
    enough: float,
) -> float:
    """Return the maximum of ``weight(x) ρ_m(x)`` over x > 0 away from known eigenvalues.

    Values closer than ``radius`` to these are excluded. ``weight`` is the term of an atom of mass 1
    at x, a non-decreasing function: ``x / n`` for a Gram matrix, V for the smaller Gram matrix of a
    factorization. The recurrence has the tridiagonal matrix T, of order m ≥ 2. Maxima far below
    ``enough``, to which the caller compares the result, are not refined.

    In floating point the recurrence is that of a perturbed matrix, and it misses peaks around
    converged Ritz values that are narrower than the perturbation. The bound at the Ritz values is
    therefore computed from the eigenvectors of T, where it is exact: ``ρ_m(θ) = s_1²``.
    """
    ritz, S = eigh_tridiagonal(diagonal, off_diagonal)
    unknown = (_distance(ritz, known) >= radius) & (ritz > 0)
    at_ritz = float((weight(ritz[unknown]) * S[0, unknown] ** 2).max(initial=0.0))
    inner = eigvalsh_tridiagonal(diagonal[:-1], off_diagonal[:-1])
    top = _search_limit(diagonal, off_diagonal, weight, enough, ritz[-1])
    edges = np.r_[0.0, ritz, inner, known - radius, known + radius, np.geomspace(ritz[-1], top, 20)]
    edges = np.unique(edges[(edges >= 0) & (edges <= top)])
    x = np.unique((edges[:-1, None] + np.diff(edges)[:, None] * _PROBES).ravel())
    x = x[_distance(x, known) >= radius * (1 - 1e-9)]

    def bound(points: Array) -> Array:
        return weight(points) * christoffel(diagonal, off_diagonal, points)

    y = bound(x)
    peak = (y >= np.r_[0, y[:-1]]) & (y >= np.r_[y[1:], 0]) & (y > enough / 100) & (y < enough)
    at = np.flatnonzero(peak)
    best = max(at_ritz, float(y.max(initial=0.0)))
    if len(at) == 0 or best >= enough:  # a refinement could only increase the result
        return best
    low, high = x[np.maximum(at - 1, 0)], x[np.minimum(at + 1, len(x) - 1)]
    return max(best, _refined_maximum(bound, low, high, known, radius))


def _refined_maximum(
    bound: Callable[[Array], Array], low: Array, high: Array, known: Array, radius: float
) -> float:
    """Run golden-section searches in all brackets at once, excluding points near known values."""

    def outside(points: Array) -> Array:
        near = _distance(points, known) < radius * (1 - 1e-9)
        return np.where(near, 0.0, bound(points))

    ratio = (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = outside(left), outside(right)
    best = max(float(at_left.max()), float(at_right.max()))
    for _ in range(23):  # reduce a bracket to 1e-5 of its width; one of the two inner points stays
        rises = at_left < at_right
        low, high = np.where(rises, left, low), np.where(rises, high, right)
        new = np.where(rises, low + ratio * (high - low), high - ratio * (high - low))
        at_new = outside(new)
        best = max(best, float(at_new.max()))
        left, right = np.where(rises, right, new), np.where(rises, new, left)
        at_left, at_right = np.where(rises, at_right, at_new), np.where(rises, at_new, at_left)
    return best


def _distance(x: Array, known: Array) -> Array:
    """Return the distance from each x to the nearest known value."""
    if len(known) == 0:
        return np.full(x.shape, np.inf)
    known = np.sort(known)
    after = np.searchsorted(known, x)
    left = np.abs(x - known[np.maximum(after - 1, 0)])
    right = np.abs(x - known[np.minimum(after, len(known) - 1)])
    return np.asarray(np.minimum(left, right))


def _search_limit(
    diagonal: Array,
    off_diagonal: Array,
    weight: Callable[[Array], Array],
    enough: float,
    largest: float,
) -> float:
    """Return an x beyond which ``weight(x) ρ_2(x) ≤ weight(x) (β / (x - α))²`` is negligible.

    Negligible means below ``enough / 100``.
    """
    top = 2 * max(abs(largest), float(np.finfo(float).tiny))
    while weight(np.array([top]))[0] * (off_diagonal[0] / (top - diagonal[0])) ** 2 > enough / 100:
        top *= 2
    return top
