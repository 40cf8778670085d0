"""Matrix-based Renyi entropies and the Vendi score, from eigenvalues of K/n."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.eigen import as_solver, summing_gram
from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.eigen.dense import Dense
from mercer.eigen.lanczos import Lanczos
from mercer.eigen.plan import Request, can_compute_all_eigenvalues, has_few_features, plan
from mercer.errors import ApproximationWarning, warn
from mercer.gram import BlockedGram, DenseGram, ExplicitGram, FourierGram, NystromGram, Sample
from mercer.information.entropy import (
    entropy_of_sum,
    growth_bounds,
    perturbation_bounds,
    spectral_entropy,
)
from mercer.information.samples import clip_negative, fitted_sample, require_unit_diagonal
from mercer.information.trace_quadrature import (
    Deflation,
    LanczosBlock,
    TraceSum,
    bound_largest,
    deflate,
)
from mercer.kernels import Gaussian, Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import Result
from mercer.utils.resources import blas_threads_for, single_threaded_blas
from mercer.utils.types import Array

__all__ = [
    "EntropyBounds",
    "MatrixEntropies",
    "matrix_renyi_entropy",
    "vendi_score",
]

_ENTRY_ROUNDING = 16  # error of a kernel value, in units of the precision
_SOLVER_ROUNDING = 10  # error of a decomposition, in units of the precision and √size


@dataclass(frozen=True)
class EntropyBounds(Result):
    """A value with two-sided numerical bounds.

    Attributes
    ----------
    value, lower, upper : float
    route : str
        How the value was computed.
    deterministic : bool
        Whether the bounds hold with certainty (in the usual model of rounding errors).
    probability : float
        Probability with which they hold: 1.0, or the requested one.
    converged : bool
        Whether the width is at most ``tol``.

    Examples
    --------
    >>> from mercer.information import vendi_score
    >>> from mercer.kernels import Gaussian
    >>> score = vendi_score([[0.0], [0.1], [5.0]], Gaussian(1.0), bounds=True)
    >>> score.lower <= score.value <= score.upper, score.deterministic
    (True, True)
    """

    value: float
    lower: float
    upper: float
    route: str
    deterministic: bool = True
    probability: float = 1.0
    converged: bool = True

    def exp(self) -> EntropyBounds:
        """Return the effective number ``exp S`` with its bounds."""
        value, lower, upper = (float(np.exp(x)) for x in (self.value, self.lower, self.upper))
        return replace(self, value=value, lower=lower, upper=upper)


class MatrixEntropies:
    """Matrix-based entropies of one sample, of any number of orders.

    The eigenvalues, or the iteration that replaces them, are computed once.

    Parameters
    ----------
    sample : Sample
        With k(x, x) = 1.
    solver : str or solver
    tol : float
        Largest ``upper / lower - 1`` of a score.
    probability : float
        With which stochastic bounds hold.
    random_state : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.information import MatrixEntropies
    >>> from mercer.kernels import Cosine
    >>> from mercer.gram import Sample
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> entropies = MatrixEntropies(Sample(Cosine(), Points(X)))
    >>> [round(entropies.of_order(q).value, 2) for q in (1, 2)], entropies.route
    ([1.1, 1.1], 'all eigenvalues of 3 exact features')
    """

    def __init__(
        self,
        sample: Sample,
        *,
        solver: Any = "auto",
        tol: float = 0.01,
        probability: float = 1 - 1e-6,
        random_state: int | None = 0,
    ) -> None:
        if not tol > 0:
            raise ValueError(f"tol={tol!r} must be above 0.")
        if not 0 < probability < 1:
            raise ValueError(f"probability={probability!r} must be between 0 and 1.")
        require_unit_diagonal(sample)
        self.solver, self.tol, self.probability = as_solver(solver), tol, probability
        self.random_state = random_state
        small = sample.points.n <= 4000 and sample.points.kind == "vectors"
        if small and not sample.points.is_chunked and sample.points.dtype == np.float32:
            sample = replace(sample, points=Points(sample.points.data.astype(np.float64)))
        self.sample = sample
        self._deflation: Deflation | None = None

    def of_order(self, order: float) -> EntropyBounds:
        """Return the entropy of an order α ≥ 0, in nats, with bounds."""
        if order == 2 and not self._is_small_side:
            return self._quadratic()
        if self._uses_landmarks:
            return self._from_landmarks(order)
        if self.proportions is not None:
            return self._from_all(order)
        if order == 0:
            return self._count()
        with self._blas_threads:
            return self._largest() if order == np.inf else self._iterate(order)

    @cached_property
    def gram(self) -> Any:
        """The Gram operator."""
        return plan(self.sample, Request("variance", 1, self.solver)).gram(self.sample)

    @property
    def route(self) -> str:
        """How entropies other than the quadratic one are computed."""
        if self._uses_landmarks:
            return f"eigenvalues of {self.gram.description}"
        if self.proportions is not None:
            return f"all eigenvalues of {self.gram.description}"
        return f"Lanczos quadrature, {self.gram.description}"

    @cached_property
    def rank(self) -> int:
        """Largest possible number of positive eigenvalues."""
        rank = self.sample.points.n
        if isinstance(self.gram, ExplicitGram) and not self._uses_landmarks:
            rank = min(rank, len(self.gram.small_start))
        return rank

    @property
    def _is_small_side(self) -> bool:
        return self.sample.matrix is None and has_few_features(self.sample)

    @property
    def _uses_landmarks(self) -> bool:
        return isinstance(self.gram, NystromGram)

    @property
    def _blas_threads(self) -> AbstractContextManager[None]:
        """One thread of BLAS for operators whose products run in threads of their own.

        Threads of BLAS spin for a while after each call, on the cores that the next product uses.
        """
        own_threads = isinstance(self.gram, DenseGram | BlockedGram)
        return single_threaded_blas() if own_threads else nullcontext()

    @cached_property
    def _problem(self) -> Any:
        return self.gram.problem()

    @cached_property
    def proportions(self) -> Array | None:
        """All λ/n (of the landmarks, if there are any); None where that costs too much."""
        size = self._problem.size
        affordable = can_compute_all_eigenvalues(size) and not isinstance(self.solver, Lanczos)
        if not (affordable or self._uses_landmarks or isinstance(self.solver, Dense)):
            return None
        with blas_threads_for(size):
            values = np.linalg.eigvalsh(self._problem.dense()).astype(np.float64)
        return np.asarray(values / self.gram.total)

    @cached_property
    def error(self) -> float:
        """Bound on the Frobenius norm of the error of K/n."""
        error = _ENTRY_ROUNDING * float(np.finfo(self.gram.precision).eps)
        error += _SOLVER_ROUNDING * float(np.finfo(float).eps) * np.sqrt(self._problem.size)
        if isinstance(self.gram, DenseGram) and self.proportions is not None:
            # LAPACK works in the precision of the matrix
            rounding = float(np.finfo(self.gram.precision).eps)
            error += _SOLVER_ROUNDING * rounding * np.sqrt(self._problem.size)
        if isinstance(self.gram, FourierGram):
            error += self.gram.grid.entry_error
        return error

    @cached_property
    def squares(self) -> float:
        """``‖K‖_F² / n²``."""
        gram = self.gram
        if isinstance(gram, DenseGram):
            return gram.squared_norm() / gram.total**2
        if isinstance(gram, ExplicitGram) and not self._uses_landmarks:
            small = gram.small_dense()
            return float(np.einsum("ij,ij->", small, small)) / gram.total**2
        return _mean_square(self.sample)

    # --- routes -----------------------------------------------------------------------------------

    def _result(self, value: float, lower: float, upper: float, route: str) -> EntropyBounds:
        lower, upper = clip_negative(lower), clip_negative(max(lower, upper))
        value = float(np.clip(clip_negative(value), lower, upper))
        converged = upper - lower <= np.log1p(self.tol)
        return EntropyBounds(value, lower, upper, route, converged=bool(converged))

    def _quadratic(self) -> EntropyBounds:
        if self.sample.points.is_chunked or not isinstance(self.solver, Lanczos | Dense):
            squares, error = _mean_square(self.sample), self._summing_error
        else:
            squares, error = self.squares, self._summing_error
        # |‖A‖ - ‖B‖| ≤ ‖A - B‖ in the Frobenius norm
        norm = np.sqrt(squares)
        lower, upper = (-2 * float(np.log(max(norm + e, e))) for e in (error, -error))
        return self._result(-float(np.log(squares)), lower, upper, "sum of squared kernel values")

    @property
    def _summing_error(self) -> float:
        error = _ENTRY_ROUNDING * float(np.finfo(self.sample.points.dtype).eps)
        return error + 1e-8 if (self.sample.points.dimension or 9) <= 3 else error

    def _from_all(self, order: float) -> EntropyBounds:
        proportions = self.proportions
        assert proportions is not None
        zero = self._problem.numerical_zero(proportions[-1] * self.gram.total) / self.gram.total
        positive = np.where(proportions > zero, proportions, 0.0)
        value = spectral_entropy(positive / positive.sum(), order)
        lower, upper = perturbation_bounds(proportions, order, self.error, self.rank)
        lower, upper = min(lower, value), max(upper, value)
        return self._result(value, lower, upper, self.route)

    def _from_landmarks(self, order: float) -> EntropyBounds:
        proportions = self.proportions
        assert proportions is not None
        missing = self.gram.missing_fraction
        lower, upper = growth_bounds(
            np.maximum(proportions - self.error / np.sqrt(len(proportions)), 0),
            order,
            min(missing + self.error * np.sqrt(len(proportions)), 1.0),
            self.rank,
        )
        return self._result((lower + upper) / 2, lower, upper, self.route)

    def _deflate(self, enough: Callable[[Deflation], bool]) -> Deflation:
        """Return converged eigenpairs, those of an earlier order if they are enough."""
        found = self._deflation
        if found is None or not (found.complete or enough(found)):
            rng = np.random.default_rng(self.random_state)
            found = deflate(self._product, self._problem.size, rng, enough)
            self._deflation = found
        return found

    @property
    def _second_seed(self) -> int | None:
        """Seed of vectors that are independent of the deflation."""
        return None if self.random_state is None else self.random_state + 1

    def _product(self, V: Array) -> Array:
        return self._problem.product(V) / self.gram.total

    def _largest(self) -> EntropyBounds:
        found = self._deflate(self._is_separated)
        values, vectors, c = found.values, found.vectors, float(found.nodes.max(initial=0))
        if not len(values):
            values, vectors, *_ = leading_eigenpairs(
                self._product, self._problem.size, 1, tolerance=1e-8, random_state=self.random_state
            )
            values, vectors = values[:1], vectors[:, :1]
            c = float(values[0])
        top = float(values[0])
        residual = self._product(vectors[:, :1]) - top * vectors[:, :1]
        error = self.error + float(np.linalg.norm(residual))
        others = self._others(values)
        certain = others <= top
        if not certain:
            rng = np.random.default_rng(self._second_seed)
            # 12 vectors and 32 steps bound the largest eigenvalue within about 0.3 %
            block = LanczosBlock(self._product, vectors, 12, max(top, c), rng)
            block.extend(32)
            failure = 1 - self.probability
            others = min(others, bound_largest([block], max(top, c), 31, failure))
        lower = -np.log(min(max(top, others) + error, 1.0))
        result = self._result(-np.log(top), lower, -np.log(top - error), self.route)
        if certain:
            return result
        return replace(result, deterministic=False, probability=self.probability)

    def _others(self, values: Array) -> float:
        """Return the largest other eigenvalue possible: the root of the sum of their squares."""
        return float(np.sqrt(max(self.squares - float(values @ values), 0.0)))

    def _is_separated(self, found: Deflation) -> bool:
        return self._others(found.values) <= float(found.values.max(initial=0))

    def _count(self) -> EntropyBounds:
        """Return bounds of order 0: the quadratic entropy, and the logarithm of the size."""
        top = float(np.log(self.rank))
        return self._result(top, -float(np.log(self.squares)), top, self.route)

    def _iterate(self, order: float) -> EntropyBounds:
        size = self._problem.size

        def trace_sum(deflation: Deflation) -> TraceSum:
            return TraceSum(
                self._product,
                size,
                self.squares,
                order,
                failure=1 - self.probability,
                error=self.error * np.sqrt(size),
                tol=float(np.log1p(self.tol)),
                random_state=self._second_seed,
                deflation=deflation,
            )

        terms = trace_sum(self._deflate(lambda found: trace_sum(found).needs_few_vectors))
        while True:
            entropies = [entropy_of_sum(x, order, terms.scale) for x in terms.bounds]
            value, lower, upper = entropies[0], min(entropies[1:]), max(entropies[1:])
            upper = min(upper, float(np.log(self.rank)))
            result = self._result(value, lower, upper, self.route)
            if result.converged or terms.exhausted:
                break
            terms.tighten()
        if not terms.deterministic:
            result = replace(result, deterministic=False, probability=self.probability)
        return result


def _mean_square(sample: Sample) -> float:
    """Return ``‖K‖_F² / n²``, the information potential of the squared kernel."""
    kernel: Kernel = sample.kernel
    if sample.matrix is not None:
        weights = sample.normalized_weights
        return float(weights @ (sample.matrix.astype(np.float64) ** 2 @ weights))
    if isinstance(kernel, Gaussian):  # its square is a Gaussian, which can be summed in O(n)
        squared: Kernel = kernel.with_bandwidth(np.asarray(kernel.bandwidth) / np.sqrt(2))
    else:
        squared = kernel * kernel
    return summing_gram(replace(sample, kernel=squared)).potential


@ignore_underflow
def matrix_renyi_entropy(
    X: Any,
    kernel: str | Kernel = "gaussian",
    alpha: float = 2.0,
    bounds: bool = False,
    *,
    sample_weight: Any = None,
    solver: Any = "auto",
    tol: float = 0.01,
    probability: float = 1 - 1e-6,
    random_state: int | None = 0,
) -> Any:
    r"""Return the matrix-based Renyi entropy of order α, in nats, from the eigenvalues of K/n.

    .. math:: S_\alpha = \frac{1}{1 - \alpha} \log \sum_i p_i^\alpha, \qquad
        p_i = \lambda_i / n

    with the limits :math:`-\sum p_i \log p_i` at α = 1, ``log rank`` at 0 and
    :math:`-\log p_1` at infinity. The p_i add up to 1 because k(x, x) = 1. The entropy lies
    between 0 (equal points) and log n (isolated points).

    The route depends on the kernel and the size:

    ==================================================  ============================================
    α = 2                                               sum of squared kernel values, O(n) for a
                                                        Gaussian kernel in at most 3 columns
    kernel with m < n/2 exact features (cosine)         all eigenvalues of an m × m matrix
    at most 4000 rows                                   all eigenvalues of K
    Gaussian or Matérn kernel in at most 3 columns      eigenvalues of Fourier features
    at most 30,000 rows                                 Lanczos quadrature, see
                                                        ``mercer.information.trace_quadrature``
    more rows, Dask collections                         eigenvalues of 1000 landmarks
    ==================================================  ============================================

    Parameters
    ----------
    X : array-like of shape (n, d), Dask array, or data that the kernel compares
    kernel : str or Kernel
        With k(x, x) = 1.
    alpha : float
        α ≥ 0.
    bounds : bool
        Return the value with two-sided numerical bounds.
    sample_weight : array-like of shape (n,) or None
    solver : {"auto", "dense", "lanczos", "fourier", "nystrom"} or solver
        "lanczos" chooses the quadrature at any size.
    tol : float
        Bounds of the quadrature are tightened until ``exp(upper - lower) ≤ 1 + tol``, or up to 160
        random vectors; ``converged`` reports which.
    probability : float
        With which bounds of the quadrature hold. All others are deterministic.
    random_state : int or None
        Seed of the quadrature.

    Returns
    -------
    float or EntropyBounds
        With ``bounds=False`` a value from landmarks or quadrature is the middle of its bounds or an
        unbiased estimate; an :class:`~mercer.errors.ApproximationWarning` reports bounds wider than
        ``tol``.

    References
    ----------
    .. [1] L. Sanchez Giraldo, M. Rao, J. Príncipe, "Measures of entropy from data using infinitely
       divisible kernels", IEEE Transactions on Information Theory 61(1):535-548, 2015.
    .. [2] G. Golub, G. Meurant, "Matrices, Moments and Quadrature with Applications", 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import matrix_renyi_entropy
    >>> from mercer.kernels import Gaussian
    >>> far_apart = [[0.0], [100.0], [200.0]]
    >>> round(np.exp(matrix_renyi_entropy(far_apart, Gaussian(1.0))), 6)
    np.float64(3.0)

    Bounds without eigenvalues:

    >>> X = np.random.default_rng(0).normal(size=(1000, 20))
    >>> found = matrix_renyi_entropy(X, Gaussian(4.0), 1.0, bounds=True, solver="lanczos")
    >>> exact = matrix_renyi_entropy(X, Gaussian(4.0), 1.0, solver="dense")
    >>> bool(found.lower <= exact <= found.upper), found.deterministic, found.probability
    (True, False, 0.999999)
    """
    _check_order("alpha", alpha)
    sample = fitted_sample(X, kernel, sample_weight)
    found = MatrixEntropies(
        sample, solver=solver, tol=tol, probability=probability, random_state=random_state
    ).of_order(alpha)
    if bounds:
        return found
    if not found.converged and alpha != 0:
        warn(
            f"The entropy of order {alpha:g} is known only to lie between {found.lower:.4g} and "
            f"{found.upper:.4g} ({found.route}), more than tol={tol:g} allows. Use bounds=True, or "
            "solver='dense' for an exact value.",
            ApproximationWarning,
        )
    return found.value


@ignore_underflow
def vendi_score(
    X: Any,
    kernel: str | Kernel = "gaussian",
    q: float = 1.0,
    bounds: bool = False,
    **options: Any,
) -> Any:
    """Return the Vendi score of order q: the effective number of distinct points, ``exp S_q``.

    It is 1 if all points are equal, and n if k(x, y) = 0 for all pairs. Order 2 is the RKE score.

    Parameters
    ----------
    X, kernel
        As in :func:`matrix_renyi_entropy`.
    q : float
        Order of the entropy, at least 0.
    bounds : bool
        Return the score with two-sided numerical bounds.
    **options
        ``sample_weight``, ``solver``, ``tol``, ``probability`` and ``random_state`` of
        :func:`matrix_renyi_entropy`.

    Returns
    -------
    float or EntropyBounds

    References
    ----------
    .. [1] D. Friedman, A. Dieng, "The Vendi score: a diversity evaluation metric for machine
       learning", TMLR 2023.
    .. [2] M. Jalali, C. T. Li, F. Farnia, "An information-theoretic evaluation of generative models
       in learning multi-modal distributions", NeurIPS 2023.

    Examples
    --------
    >>> from mercer.information import vendi_score
    >>> from mercer.kernels import Gaussian
    >>> round(vendi_score([[0.0], [0.0], [100.0], [100.0]], Gaussian(1.0)), 6)
    2.0
    """
    _check_order("q", q)
    found = matrix_renyi_entropy(X, kernel, q, bounds, **options)
    return found.exp() if bounds else float(np.exp(found))


def _check_order(name: str, value: float) -> None:
    if not value >= 0:
        raise ValueError(f"{name}={value!r} must be at least 0 (1: Shannon, inf: min-entropy).")
