"""The choice of operator and solver, made once per fit.

:func:`plan` returns how the Gram matrix is represented and which algorithm finds its eigenpairs.
For ``solver="auto"`` the first row that applies decides:

=========================================================  ====================  ===================
condition                                                  operator              eigenpairs
=========================================================  ====================  ===================
kernel with exact features, fewer than n/2 (and at most    features              small problem
1000 for sparse rows)
Dask collection, and a frequency grid with ≤ 500 n and     ``Fourier``           small problem
≤ 2²⁴ points
Dask collection, positive semi-definite kernel             ``Nystrom``, 1000     small problem
n ≤ 600, or more than n/20 components (400 and n/15 for a  stored K              ``Dense``
number of leading ones); four n × n matrices fit the
budget
sparse kernel (``Neighbors``)                              sparse K              ``Lanczos``, or
                                                                                 ``Arpack``
degree-normalized K, n ≤ 10,000, four n × n matrices fit   stored K              ``Arpack``
the budget
Gaussian or Matérn, d ≤ 3, n > 4000, and a frequency grid  ``Fourier`` (1e-10)   small problem
with ≤ min(n²/250, 2²⁴) points
number of leading components, n ≤ 2000 or more than n/60   stored K              ``VerifiedLanczos``
of them, four n × n matrices fit the budget
two n × n matrices fit the budget, or K is precomputed     stored K              ``Lanczos``
n ≤ 30,000 and n² (d + 20) ≤ 6e10; or an indefinite        matrix-free           ``Lanczos``
kernel
otherwise                                                  ``Nystrom``, 1000     small problem
=========================================================  ====================  ===================

A *small problem* is the matrix Φ*Φ of a factored operator. It is decomposed in full up to order
600, or up to order 4800 if more than an eighth of its eigenpairs are requested, and solved by
``Lanczos`` otherwise. ``Arpack`` finds eigenpairs of degree-normalized matrices only, with
``Dense`` as a fallback if K is stored. A frequency grid is counted in its doubled version; with
n²/250 points a fit takes about as long as one with a stored K. Where a full decomposition fits the
budget, iterations are limited to products that cost about as much (n/8 vectors for entropy,
50 + n/10 + 5 per component for ``VerifiedLanczos``, blocks of n/2 vectors in total for ``Lanczos``
and variance), and ``Dense`` is the fallback.

Only the last row is approximate beyond rounding error or 1e-10; a fit then warns with the exact
fraction of the trace that is missing. The memory budget is read once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Points
from mercer.eigen.arpack import Arpack
from mercer.eigen.base import Eigenpairs, Eigensolver, OperatorChoice, Selection, Target
from mercer.eigen.dense import Dense, dense_bytes
from mercer.eigen.fourier import Fourier
from mercer.eigen.lanczos import Lanczos, stored_fits
from mercer.eigen.nystrom import Nystrom
from mercer.eigen.verified_lanczos import VerifiedLanczos
from mercer.errors import ConvergenceError
from mercer.gram import (
    EigenProblem,
    ExactFeatures,
    ExplicitGram,
    FactoredGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    Sample,
)
from mercer.kernels import Kernel
from mercer.utils.resources import memory_budget
from mercer.utils.types import Array

__all__ = [
    "Auto",
    "FiniteFeatures",
    "Plan",
    "Request",
    "as_solver",
    "can_compute_all_eigenvalues",
    "has_few_features",
    "plan",
    "streaming_gram",
    "summing_grid",
]

log = logging.getLogger("mercer")

# Below this order a full decomposition is faster than an iteration with its certificate, and all
# ranks and ties are known.
SMALL = 600
# The same for leading components: up to this order a full decomposition takes 5 ms longer than an
# iteration, and all eigenvalues are known.
_SMALL_FOR_LEADING = 400
# A single vector needs fewer products than a block, and a Cholesky factorization in addition. It is
# faster up to this order, and for more components than this part of n.
_VERIFIED_UP_TO, _VERIFIED_PART = 2000, 1 / 60
_FOURIER_FROM = 4000
_FOURIER_FRACTION = 250
_LARGEST_GRID = 2**24
_GRID_PER_ROW = 500  # points of the grid per row of a Dask collection
_EXACT_UP_TO = 30_000
# Iterations for more pairs than this part of n take as long as a full decomposition: with a stored
# K, the same from one vector, and with the fast products of a factored operator.
_LARGE_PART, _LARGE_VERIFIED_PART, _LARGE_FACTORED_PART = 1 / 20, 1 / 15, 1 / 8
_FEWEST_PRODUCTS, _FEWEST_PASSES = 100, 8
_INVERTED_UP_TO = 10_000  # a Cholesky factorization takes about 15 s
_LANDMARKS = 1000
_SPARSE_COLUMNS = 1000  # beyond which chunks of sparse rows are not made dense
_ALL_EIGENVALUES_UP_TO = 4000  # all eigenvalues, without vectors, take a few seconds


@dataclass(frozen=True, kw_only=True)
class Auto:
    """The choice of ``solver="auto"``, with limits of your own.

    Parameters
    ----------
    largest_gram : float
        Bytes beyond which K is not stored, even if the memory budget allows it.
    exact_up_to : int or None
        Number of rows beyond which the last row of the table applies even where an earlier one is
        affordable: for uses that need the span of many components rather than each of them.
    n_landmarks : int or None
        Number of landmarks where K is approximated; None for 1000.
    largest_product : float
        Cost ``n² (d + 20)`` of a product with K beyond which K is approximated by landmarks if it
        is not stored. A fit needs ten to several hundred products.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.eigen import Auto
    >>> X = np.random.default_rng(0).normal(size=(700, 5))
    >>> KernelECA(2, solver=Auto(largest_gram=1e6)).fit(X).spectrum_.method
    'entropy Lanczos, matrix-free products, float64 tiles'
    """

    largest_gram: float = inf
    exact_up_to: int | None = None
    n_landmarks: int | None = None
    largest_product: float = 6e10

    can_grow: ClassVar[bool] = True  # partial_fit uses features or landmarks


_FOR_LABELS = Auto(largest_gram=5e8, largest_product=1.2e10)


@dataclass(frozen=True)
class FiniteFeatures:
    """Gram operator of a kernel with exact finite features, such as the linear one."""

    can_grow: ClassVar[bool] = True

    def gram(self, sample: Sample) -> ExplicitGram:
        """Build the operator."""
        return ExplicitGram(ExactFeatures(sample.kernel), sample.points, sample.weights)


@dataclass(frozen=True)
class Request:
    """What a fit asks for.

    Parameters
    ----------
    target : {"variance", "entropy"}
    n_components : int, float or None
        A count, a fraction in (0, 1), or None for all.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object.
    normalize : bool
        Whether K is divided by the roots of its degrees; needs an operator of K itself.
    for_labels : bool
        Whether only cluster labels are derived from the components. "auto" then stores no Gram
        matrix above 0.5 GB and uses landmarks for products that cost more than 1.2e10 (20,000 rows
        of 10 columns), because labels depend little on errors of single components.

    Examples
    --------
    >>> from mercer.eigen import Request
    >>> Request("entropy", 3).for_labels
    False
    """

    target: Target
    n_components: int | float | None
    solver: Any = "auto"
    normalize: bool = False
    for_labels: bool = False


@dataclass(frozen=True)
class Plan:
    """Operator and solver of a fit.

    Attributes
    ----------
    operator : OperatorChoice
        Builds the Gram operator.
    eigensolver : Eigensolver or None
        Finds the eigenpairs; None for a small problem, whose order is known once it is built.
    fallback : Eigensolver or None
        Used if the eigensolver does not converge, or cannot prove its selection.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import Request
    >>> from mercer.eigen.plan import plan
    >>> sample = Sample(Gaussian(1.0), Points(np.arange(40.0).reshape(-1, 1)))
    >>> plan(sample, Request("variance", 2))
    Plan(operator=Dense(only_selected=False), eigensolver=Dense(only_selected=False), fallback=None)
    """

    operator: OperatorChoice
    eigensolver: Eigensolver | None
    fallback: Eigensolver | None = None

    def gram(self, sample: Sample) -> GramOperator:
        """Build the Gram operator."""
        return self.operator.gram(sample)

    def solve(
        self, problem: EigenProblem, selection: Selection, random_state: int | None = None
    ) -> Eigenpairs:
        """Find the requested eigenpairs."""
        solver = self.eigensolver or _small_problem_solver(problem.size, selection.n_components)
        if self.fallback is None:
            return solver.solve(problem, selection, random_state=random_state)
        try:
            pairs = solver.solve(problem, selection, random_state=random_state)
            if pairs.certified or selection.target == "variance":
                return pairs
        except ConvergenceError:
            pass
        log.info("%r did not converge or prove its selection; using %r", solver, self.fallback)
        return self.fallback.solve(problem, selection)


def plan(sample: Sample, request: Request, budget: float | None = None) -> Plan:
    """Choose operator and solver by the table of this module.

    Parameters
    ----------
    sample : Sample
    request : Request
    budget : float or None
        Bytes; None for the current memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen.plan import Request, plan
    >>> for n in (500, 3000, 20_000):
    ...     X = np.random.default_rng(0).normal(size=(n, 2))
    ...     chosen = plan(Sample(Gaussian(0.3), Points(X)), Request("entropy", 3), budget=4e9)
    ...     print(n, type(chosen.operator).__name__)
    500 Dense
    3000 Lanczos
    20000 Fourier
    """
    is_default = isinstance(request.solver, str) and request.solver == "auto"
    solver = _FOR_LABELS if is_default and request.for_labels else as_solver(request.solver)
    budget = memory_budget() if budget is None else budget
    n, itemsize = sample.points.n, sample.points.dtype.itemsize
    if isinstance(solver, Auto):
        chosen = _automatic(sample, request, budget, solver)
    elif isinstance(solver, Lanczos):
        stored = stored_fits(n, itemsize, budget) if solver.stored is None else solver.stored
        chosen = Plan(replace(solver, stored=stored), solver)
    else:
        chosen = Plan(solver, solver if hasattr(solver, "solve") else None)
    log.info("plan for %d points: %r", n, chosen)
    return chosen


def _automatic(sample: Sample, request: Request, budget: float, limits: Auto) -> Plan:
    kernel, points, n_components = sample.kernel, sample.points, request.n_components
    n, itemsize = points.n, points.dtype.itemsize
    if has_few_features(sample) and not request.normalize:
        return Plan(FiniteFeatures(), None)
    if points.is_chunked:
        return Plan(_for_chunks(kernel, points), None)
    may_store = n * n * itemsize <= limits.largest_gram
    dense_fits = may_store and dense_bytes(n, itemsize) <= budget
    leading = _are_leading(request) and n <= (limits.exact_up_to or n)
    one_vector = leading and not kernel.is_sparse
    small = n <= (_SMALL_FOR_LEADING if one_vector else SMALL)
    part = _LARGE_VERIFIED_PART if one_vector else _LARGE_PART
    if dense_fits and (small or _is_large_part(n_components, n, part)):
        return Plan(Dense(), Dense(only_selected=n > SMALL))
    if kernel.is_sparse:
        fallback = Dense() if dense_fits and request.normalize else None
        return Plan(Lanczos(), Arpack() if request.normalize else Lanczos(), fallback)
    large = sample.matrix is None and n > _FOURIER_FROM and not request.normalize
    if large and _affordable_grid(kernel, points, n * n / _FOURIER_FRACTION) is not None:
        return Plan(Fourier(), None)
    if one_vector and dense_fits and _prefers_one_vector(n_components, n):
        limit = _affordable_products(request, n, one_vector=True)
        return Plan(Dense(), VerifiedLanczos(limit), Dense(only_selected=True))
    stored = sample.matrix is not None or (may_store and stored_fits(n, itemsize, budget))
    affordable = n <= _EXACT_UP_TO and _product_cost(points) <= limits.largest_product
    exact = (stored or affordable) and n <= (limits.exact_up_to or n)
    if sample.matrix is None and not exact and kernel.is_psd and not request.normalize:
        return Plan(Nystrom(limits.n_landmarks or _LANDMARKS), None)
    inverted = request.normalize and n <= _INVERTED_UP_TO and isinstance(n_components, int)
    if inverted and stored and dense_fits:
        return Plan(Lanczos(stored=True), Arpack(), Dense())
    operator = Lanczos(stored=stored)
    if dense_fits:
        limit = _affordable_products(request, n)
        return Plan(operator, Lanczos(max_products=limit), Dense(only_selected=True))
    return Plan(operator, Lanczos())


def _are_leading(request: Request) -> bool:
    """Return whether a number of leading components of K itself is requested."""
    is_count = isinstance(request.n_components, int)
    return is_count and request.target == "variance" and not request.normalize


def _prefers_one_vector(n_components: int | float | None, n: int) -> bool:
    """Return whether an iteration with one vector and its proof are faster than one with blocks."""
    return n <= _VERIFIED_UP_TO or _is_large_part(n_components, n, _VERIFIED_PART)


def _affordable_products(request: Request, n: int, one_vector: bool = False) -> int:
    """Return the number of products with K after which an iteration is given up.

    The spectrum decides how many an iteration needs, and is not known before. At 1200 to 2500 rows
    n/8 products with single vectors (entropy) took 0.1 to 0.4 of the time of a decomposition, and
    blocks of n/2 vectors in total (variance) 1 to 1.4 times as long. From one vector, 581
    products for 160 components of 1600 rows took 1 to 1.2 times as long.
    """
    if one_vector:
        assert isinstance(request.n_components, int)
        return 50 + n // 10 + 5 * request.n_components
    if request.target == "entropy":
        return max(n // 8, _FEWEST_PRODUCTS)
    count = request.n_components if isinstance(request.n_components, int) else 16
    return max(n // (2 * (count + 8)), _FEWEST_PASSES)


def _product_cost(points: Points) -> float:
    """Return the approximate number of operations of a product with K: pairs times columns.

    An exponential costs about as much as 20 columns. Of sparse rows only the entries count.
    """
    columns = points.data.nnz / points.n if points.is_sparse else points.dimension or 0
    return float(points.n) ** 2 * (columns + 20)


def _is_large_part(n_components: int | float | None, size: int, part: float) -> bool:
    """Return whether so many components are requested that a full decomposition is cheaper."""
    if n_components is None:
        return True
    return isinstance(n_components, int) and n_components > part * size


def _small_problem_solver(size: int, n_components: int | float | None) -> Eigensolver:
    large = _is_large_part(n_components, size, _LARGE_FACTORED_PART)
    full = size <= SMALL or (large and size <= 8 * SMALL)
    return Dense() if full else Lanczos()


def _for_chunks(kernel: Kernel, points: Points) -> OperatorChoice:
    if _affordable_grid(kernel, points, _GRID_PER_ROW * points.n) is not None:
        return Fourier()
    if not kernel.is_psd:
        raise ValueError(
            f"{kernel!r} is not positive semi-definite, which the solvers for Dask collections "
            "require. Use another kernel, or solver='lanczos' for at most 300,000 rows."
        )
    return Nystrom(_LANDMARKS)


def _feature_count(sample: Sample) -> int | None:
    """Return the number of exact features of the kernel; None if it has none."""
    if sample.points.kind != "vectors":
        return None
    one = sample.kernel.features(np.ones((1, sample.points.dimension or 0)))
    return None if one is None else int(one.shape[1])


def _affordable_grid(kernel: Kernel, points: Points, largest: float) -> FrequencyGrid | None:
    """Return a frequency grid whose doubled version has at most ``largest`` points, or None."""
    if points.dimension is None or points.dimension > 3:
        return None
    grid = Fourier().grid(kernel, points)
    if isinstance(grid, NoGrid):
        return None
    doubled = 2 ** len(grid.shape) * grid.size
    return grid if doubled <= min(largest, _LARGEST_GRID) else None


def can_compute_all_eigenvalues(size: int) -> bool:
    """Return whether all eigenvalues, without vectors, are affordable: to find ranks among them."""
    return size <= _ALL_EIGENVALUES_UP_TO and dense_bytes(size) <= memory_budget()


def summing_grid(sample: Sample, box: tuple[Array, Array] | None = None) -> FrequencyGrid | None:
    """Return the frequency grid for sums over K if it is cheaper than a sum over pairs.

    With a ``box`` the grid covers the points of several samples.
    """
    points = sample.points
    chunked = points.is_chunked
    small = points.n <= _FOURIER_FROM and not chunked
    if points.dimension is None or small or points.dimension > 3:
        return None
    grid = Fourier(box=box).grid(sample.kernel, points)
    largest = _LARGEST_GRID if chunked else points.n**2 / _FOURIER_FRACTION
    return grid if isinstance(grid, FrequencyGrid) and grid.size <= largest else None


def has_few_features(sample: Sample) -> bool:
    """Return whether the kernel has exact features, fewer than half the number of rows."""
    if sample.points.is_sparse and (sample.points.dimension or 0) > _SPARSE_COLUMNS:
        return False
    features = _feature_count(sample)
    return features is not None and features < sample.points.n / 2


def streaming_gram(sample: Sample, solver: Any = "auto") -> FactoredGram:
    """Return an operator that can absorb more points: exact features, landmarks or a grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import streaming_gram
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> type(streaming_gram(Sample(Gaussian(1.0), Points(X)))).__name__
    'NystromGram'
    """
    choice = as_solver(solver)
    if isinstance(choice, Auto):
        choice = Nystrom(_LANDMARKS) if _feature_count(sample) is None else FiniteFeatures()
    gram = choice.gram(sample)
    assert isinstance(gram, FactoredGram), f"{solver!r} has can_grow=True"
    return gram


_NAMES: dict[str, Callable[[], Any]] = {
    "auto": Auto,
    "dense": Dense,
    "lanczos": Lanczos,
    "fourier": Fourier,
    "nystrom": Nystrom,
}


def as_solver(solver: Any) -> Any:
    """Return the solver object of a name; a solver object is returned unchanged.

    Examples
    --------
    >>> from mercer.eigen import as_solver
    >>> as_solver("lanczos")
    Lanczos(max_products=2000, stored=None)
    """
    if isinstance(solver, str) and solver in _NAMES:
        return _NAMES[solver]()
    is_object = not isinstance(solver, str | type)
    if is_object and (isinstance(solver, Auto) or hasattr(solver, "gram")):
        return solver
    raise ValueError(
        f"solver={solver!r} must be one of {', '.join(map(repr, _NAMES))}, or a solver object such "
        "as mercer.solvers.Lanczos(max_products=500)."
    )
