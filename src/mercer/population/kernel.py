"""The operator of any kernel under any measure, by quadrature (the Nyström method)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from mercer.eigen.dense import TIE, canonical
from mercer.errors import ApproximationWarning, MemoryBudgetError, warn
from mercer.gram.gram import double_center, remove_direction
from mercer.kernels import Kernel, as_kernel
from mercer.population.measure import Measure
from mercer.population.measures import as_measure
from mercer.population.operator import PopulationOperator, orient
from mercer.population.quadrature import Quadrature, refine_quadrature
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["KernelOperator"]

# A node with a smaller fraction of the trace does not change any eigenvalue in double precision.
_NEGLIGIBLE = 1e-19
_MAX_GRID_NODES = 2**18


class KernelOperator(PopulationOperator):
    r"""The operator of any kernel under any measure, by quadrature.

    With nodes x_j and weights w_j the integral equation becomes the eigenproblem of
    :math:`\sqrt{w_i} k(x_i, x_j) \sqrt{w_j}`, and

    .. math:: \phi(x) = \lambda^{-1} \sum_j \sqrt{w_j}\, v_j\, k(x, x_j)

    extends an eigenvector v to all points. The size of tensor rules is doubled until all
    eigenvalues have converged to the tolerance. If such rules are too large, the nodes are
    quasi-random and the error is estimated from several random shifts.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel on vectors whose parameters are numbers.
    measure : measure or frozen scipy distribution
    center : bool
        Remove the mean in feature space.
    n_components : int
        Maximal number of eigenpairs; eigenvalues that do not exceed their error are dropped.
    tolerance : float
        Allowed error of the eigenvalues, relative to the largest. A kernel with a kink, such as
        the Laplacian, converges slowly; if the limit on nodes is reached first, an
        :class:`~mercer.errors.ApproximationWarning` reports the accuracy.
    max_nodes : int
        Size of the largest matrix that is decomposed.

    Attributes
    ----------
    rule : Quadrature
        The nodes and weights used.
    errors : array of shape (k,)
        Estimated error of each eigenvalue: the last change under refinement, extrapolated; for
        quasi-random nodes the larger of the last change and the spread over random shifts. 0 for
        :class:`~mercer.population.Empirical`, whose sums are exact.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import KernelOperator, Mixture, Normal
    >>> p = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
    >>> KernelOperator(Gaussian(1.5), p).eigenvalues[:3].round(4).tolist()
    [0.4709, 0.3035, 0.1269]
    """

    def __init__(
        self,
        kernel: str | Kernel,
        measure: Any,
        *,
        center: bool = False,
        n_components: int = 50,
        tolerance: float = 1e-10,
        max_nodes: int = 2048,
    ) -> None:
        self.kernel = as_kernel(kernel)
        if self.kernel.compares != "vectors":
            raise ValueError(
                f"{self.kernel!r} compares {self.kernel.compares}; a population operator needs a "
                "kernel on vectors."
            )
        self.measure = as_measure(measure)
        self.center = bool(center)
        count = check_integer(n_components, "n_components")
        check_real(tolerance, "tolerance", above=0)
        problem = _Problem(self.kernel, self.center, count)
        pairs, errors, self.method = _solve(problem, self.measure, tolerance, max_nodes)
        self._store(pairs, errors)
        self._warn_if_inaccurate(tolerance)

    def _store(self, pairs: _Pairs, errors: Array) -> None:
        rounding = pairs.rule.size * np.finfo(np.float64).eps
        known = pairs.values > np.maximum(errors, rounding * pairs.values.max(initial=0.0))
        if not known.any():
            centered = " after centering" if self.center else ""
            raise ValueError(
                f"No eigenvalue of {self.kernel!r} under {self.measure!r}{centered} exceeds its "
                f"error {errors.max(initial=0.0):.1e}. If the kernel varies under the measure, "
                "raise max_nodes or use a larger bandwidth."
            )
        k = int(np.argmin(known)) if not known.all() else len(known)
        self.rule = pairs.rule
        self.trace = pairs.trace
        self.eigenvalues, self.errors = pairs.values[:k], errors[:k]
        self.error_bound = float(self.errors.max())
        vectors = pairs.vectors[:, :k]
        self._coefficients = np.sqrt(pairs.rule.weights)[:, None] * vectors / self.eigenvalues
        # centered eigenvectors are orthogonal to √w, so centering subtracts a constant from each
        self._offsets = self.center * (pairs.mean_function @ self._coefficients)
        means = np.zeros(k) if self.center else np.sqrt(pairs.rule.weights) @ vectors
        self.means, flips = orient(means, self._functions(self.measure.probes()))
        self._offsets = self._offsets * flips
        self._coefficients = self._coefficients * flips

    def _warn_if_inaccurate(self, tolerance: float) -> None:
        relative = self.error_bound / self.eigenvalues[0]
        if relative > tolerance:
            warn(
                f"Eigenvalues of {self.kernel!r} have an error of about {relative:.1e} of the "
                f"largest ({self.method}), above the tolerance {tolerance:.1e}. Raise max_nodes "
                "or, if this is sufficient, the tolerance.",
                ApproximationWarning,
            )

    def _functions(self, X: Array) -> Array:
        values = np.empty((len(X), len(self.eigenvalues)))
        step = max(1, 2**22 // self.rule.size)
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            values[rows] = self.kernel(X[rows], self.rule.points) @ self._coefficients
        return values - self._offsets


@dataclass(frozen=True)
class _Pairs:
    """Eigenpairs on a rule; ``mean_function`` is E k(x_j, X) at the nodes."""

    rule: Quadrature
    values: Array
    vectors: Array
    mean_function: Array
    trace: float


@dataclass(frozen=True)
class _Problem:
    kernel: Kernel
    center: bool
    count: int

    def prune(self, rule: Quadrature) -> Quadrature:
        """Return the rule without nodes of negligible weight."""
        trace_terms = rule.weights * np.abs(self.kernel.diagonal(rule.points))
        return rule.without(trace_terms <= _NEGLIGIBLE * trace_terms.sum())

    def solve(self, rule: Quadrature) -> _Pairs:
        """Return the leading pairs of √w K √w, padded with zeros to the requested number."""
        roots = np.sqrt(rule.weights)
        unit = roots / np.linalg.norm(roots)
        A = self.kernel(rule.points)
        mean_function = A @ rule.weights
        trace = float(rule.weights @ (np.diag(A) - self.center * mean_function))
        A *= roots[:, None]
        A *= roots
        n, k = rule.size, min(self.count, rule.size)
        values, vectors = self._leading(A, unit, k)
        top = max(float(values[-1]), 0.0)
        values, vectors, _ = canonical(values, vectors, roots, TIE * top)
        if k < self.count:
            values = np.r_[values, np.zeros(self.count - k)]
            vectors = np.hstack([vectors, np.zeros((n, self.count - k))])
        return _Pairs(rule, np.maximum(values, 0.0), vectors, mean_function, trace)

    def _leading(self, A: Array, unit: Array, k: int) -> tuple[Array, Array]:
        """Return the k largest eigenpairs of A, without the direction ``unit`` if centered.

        A smooth kernel has few eigenvalues above rounding error. Pivoted Cholesky then gives
        ``A = LL'`` with few columns, and ``L'L`` has the same eigenvalues.
        """
        L = _pivoted_factor(A) if self.kernel.is_psd else None
        if L is None:
            if self.center:
                double_center(A, unit)
            n = len(A)
            found: tuple[Array, Array] = eigh(A, subset_by_index=(n - k, n - 1), overwrite_a=True)
            return found
        if self.center:
            L = remove_direction(L, unit)
        values, small = np.linalg.eigh(L.T @ L)
        values, small = values[-k:], small[:, -k:]
        positive = values > len(values) * np.finfo(np.float64).eps * values[-1]
        values = np.where(positive, values, 0.0)
        norms = np.where(positive, np.sqrt(values), 1.0)
        vectors = np.where(positive, L @ small / norms, 0.0)
        padding = k - len(values)
        return np.r_[np.zeros(padding), values], np.pad(vectors, ((0, 0), (padding, 0)))


def _pivoted_factor(A: Array) -> Array | None:
    """Return ``L`` with ``A = LL'`` up to rounding error; None if it has many columns."""
    tolerance = _NEGLIGIBLE * float(np.trace(A))
    lower, order, rank, _ = dpstrf(A, tol=tolerance, lower=1)
    if 2 * rank > len(A):
        return None
    L = np.zeros((len(A), rank))
    L[order - 1] = np.tril(lower)[:, :rank]
    return L


def _solve(
    problem: _Problem, measure: Measure, tolerance: float, max_nodes: int
) -> tuple[_Pairs, Array, str]:
    if measure.is_discrete:
        size = measure.grid_size(1)
        if size > max_nodes:
            raise MemoryBudgetError(
                f"{measure!r} has {size} points, more than max_nodes={max_nodes}. Raise max_nodes, "
                "or fit KernelPCA, which has faster solvers."
            )
        pairs = problem.solve(measure.grid(1))
        return pairs, np.zeros(problem.count), f"the Gram matrix of {size} points"
    refined = refine_quadrature(
        map(problem.solve, _small_grids(problem, measure, max_nodes)),
        lambda pairs: pairs.values,
        lambda values, errors: bool(errors.max() <= tolerance * values[0]),
    )
    if refined is not None and refined[1].max() <= 1e-3 * refined[0].values[0]:
        return *refined, f"Gauss rules, {refined[0].rule.size} nodes"
    # coarse grids in several dimensions may be worse than scattered nodes: use the more accurate
    scattered = _scattered(problem, measure, max_nodes)
    if refined is None or scattered[1].max() < refined[1].max():
        return *scattered, f"quasi-random nodes, {max_nodes} of them"
    return *refined, f"Gauss rules, {refined[0].rule.size} nodes"


def _small_grids(problem: _Problem, measure: Measure, max_nodes: int) -> Iterator[Quadrature]:
    for rule in measure.grids(_MAX_GRID_NODES):
        pruned = problem.prune(rule)
        if pruned.size > max_nodes:
            return
        yield pruned


def _scattered(problem: _Problem, measure: Measure, max_nodes: int) -> tuple[_Pairs, Array]:
    pairs = problem.solve(measure.scatter(max_nodes, 0))
    half = [problem.solve(measure.scatter(max_nodes // 2, s)).values for s in range(4)]
    change = np.abs(pairs.values - np.mean(half, axis=0))
    spread = 2 * np.std(half, axis=0, ddof=1)
    return pairs, np.maximum(change, spread)
