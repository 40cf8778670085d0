"""The choice of operator and solver, made once per fit.

``plan`` returns how the Gram matrix is represented and which algorithm finds its eigenpairs.
For ``solver="auto"`` the first of these rules that applies decides (n rows, d columns):

{rules}

A *small problem* is the matrix Φ*Φ of a factored operator, which is decomposed in full or by
``Lanczos``, depending on its order. Where a full decomposition fits the memory budget, iterations
are limited to products that take about as long, and ``Dense`` is the fallback. Only landmarks are
approximate beyond rounding error or 1e-10; a fit then warns with the exact fraction of the trace
that is missing. The memory budget is read once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Points
from mercer.eigen.approximations import FiniteFeatures, Fourier, Nystrom
from mercer.eigen.arpack import Arpack
from mercer.eigen.base import Eigenpairs, Eigensolver, OperatorChoice, Selection, Target
from mercer.eigen.dense import Dense, dense_bytes
from mercer.eigen.lanczos import Lanczos, stored_fits
from mercer.eigen.verified_lanczos import VerifiedLanczos
from mercer.errors import ConvergenceError
from mercer.gram import (
    EigenProblem,
    FactoredGram,
    FourierGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    Sample,
)
from mercer.kernels import Kernel
from mercer.utils.resources import memory_budget
from mercer.utils.types import Array

__all__ = [
    "RULES",
    "Auto",
    "Plan",
    "Request",
    "Rule",
    "as_solver",
    "can_compute_all_eigenvalues",
    "has_few_features",
    "plan",
    "rules_table",
    "streaming_gram",
    "summing_gram",
    "summing_grid",
]

log = logging.getLogger("mercer")

# Below this order a full decomposition is faster than an iteration with its certificate, and all
# ranks and ties are known.
SMALL = 600
_SMALL_FOR_LEADING = 400  # the same for leading pairs, found from one vector in half the time
# One vector needs fewer products than a block, and a Cholesky factorization in addition: faster up
# to this order, and for more components than n/60.
_VERIFIED_UP_TO = 2000
_FOURIER_FROM = 4000
_FOURIER_FRACTION = 250  # with n² / 250 points of the grid a fit takes as long as with a stored K
_LARGEST_GRID = 2**24
_GRID_PER_ROW = 500  # points of the grid per row of a Dask collection
_EXACT_UP_TO = 30_000
_LANDMARKS = 1000
_SPARSE_COLUMNS = 1000  # beyond which chunks of sparse rows are not made dense


@dataclass(frozen=True, kw_only=True)
class Auto:
    """The choice of ``solver="auto"``, with limits of your own.

    Parameters
    ----------
    largest_gram : float
        Bytes beyond which K is not stored, even if the memory budget allows it.
    exact_up_to : int or None
        Number of rows beyond which the last rule applies even where an earlier one is
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
    >>> from mercer.solvers import Auto
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
class Request:
    """What a fit asks for.

    With ``normalize``, K is divided by the roots of its degrees, which needs an operator of K
    itself. With ``for_labels``, only cluster labels are derived from the components: "auto" then
    stores no Gram matrix above 0.5 GB and uses landmarks for products that cost more than 1.2e10
    (20,000 rows of 10 columns), because labels depend little on errors of single components.
    """

    target: Target
    n_components: int | float | None
    solver: Any = "auto"
    normalize: bool = False
    for_labels: bool = False

    @property
    def chosen_solver(self) -> Any:
        """The solver object."""
        is_default = isinstance(self.solver, str) and self.solver == "auto"
        return _FOR_LABELS if is_default and self.for_labels else as_solver(self.solver)


@dataclass(frozen=True)
class Plan:
    """Operator and solver of a fit.

    ``eigensolver`` is None for a small problem, whose order is known once it is built. ``fallback``
    is used if the eigensolver does not converge, or cannot prove its selection.
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
    """Choose operator and solver by the rules of this module, for a memory budget in bytes."""
    solver = request.chosen_solver
    case = Case(sample, request, memory_budget() if budget is None else budget, solver)
    if isinstance(solver, Auto):
        chosen = next(rule for rule in RULES if rule.applies(case)).plan(case)
    elif isinstance(solver, Lanczos) and solver.stored is None:
        chosen = Plan(replace(solver, stored=case.stored_fits), solver)
    else:
        chosen = Plan(solver, solver if hasattr(solver, "solve") else None)
    log.info("plan for %d points: %r", sample.points.n, chosen)
    return chosen


@dataclass(frozen=True)
class Case:
    """What the rules look at; ``limits`` is the solver, an :class:`Auto` for the rules."""

    sample: Sample
    request: Request
    budget: float
    limits: Any

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sample.points.n

    @property
    def count(self) -> int | None:
        """Number of components, if a number is requested."""
        count = self.request.n_components
        return count if isinstance(count, int) else None

    @property
    def may_store(self) -> bool:
        """Whether the limits of the user allow to store K."""
        largest = self.limits.largest_gram if isinstance(self.limits, Auto) else inf
        return self.n**2 * self._itemsize <= largest

    @cached_property
    def dense_fits(self) -> bool:
        """Whether four n × n matrices fit the budget."""
        return self.may_store and dense_bytes(self.n, self._itemsize) <= self.budget

    @cached_property
    def stored_fits(self) -> bool:
        """Whether K is stored already, or two n × n matrices fit the budget."""
        is_precomputed = self.sample.matrix is not None
        return is_precomputed or (
            self.may_store and stored_fits(self.n, self._itemsize, self.budget)
        )

    @property
    def _itemsize(self) -> int:
        return self.sample.points.dtype.itemsize

    @cached_property
    def may_approximate(self) -> bool:
        """Whether landmarks can approximate K."""
        sample = self.sample
        return sample.matrix is None and sample.kernel.is_psd and not self.request.normalize

    @property
    def must_approximate(self) -> bool:
        """Whether the user wants landmarks for so many rows."""
        return self.may_approximate and self.n > (self.limits.exact_up_to or self.n)

    @property
    def suits_one_vector(self) -> bool:
        """Whether a number of leading pairs of a K that is not sparse is requested."""
        leading = self.request.target == "variance" and self.count is not None
        plain = not (self.request.normalize or self.sample.kernel.is_sparse)
        return leading and plain and not self.must_approximate

    def grid(self, largest: float) -> bool:
        """Return whether a frequency grid with at most ``largest`` points exists."""
        return _affordable_grid(self.sample.kernel, self.sample.points, largest) is not None

    @property
    def affordable_products(self) -> int:
        """Number of products with K that take about as long as a full decomposition.

        The spectrum decides how many an iteration needs, and is not known before.
        """
        if self.request.target == "variance":
            return max(self.n // (2 * ((self.count or 16) + 8)), 8)
        return max(self.n // 8, 100)

    @property
    def fallback(self) -> Dense | None:
        """A full decomposition, if it fits the budget."""
        return Dense(only_selected=not self.request.normalize) if self.dense_fits else None


@dataclass(frozen=True)
class Rule:
    """A row of the table of this module: condition, operator and eigenpairs as texts and code."""

    condition: str
    operator: str
    eigenpairs: str
    applies: Callable[[Case], bool]
    plan: Callable[[Case], Plan]


def _needs_full_decomposition(case: Case) -> bool:
    # iterations for more pairs take as long as a full decomposition
    small, part = SMALL, 1 / 20
    if case.suits_one_vector:
        small, part = _SMALL_FOR_LEADING, 1 / 10
    many = _is_large_part(case.request.n_components, case.n, part)
    return case.dense_fits and not case.must_approximate and (case.n <= small or many)


def _has_affordable_grid(case: Case) -> bool:
    large = case.sample.matrix is None and case.n > _FOURIER_FROM and not case.request.normalize
    return large and case.grid(case.n**2 / _FOURIER_FRACTION)


def _prefers_one_vector(case: Case) -> bool:
    few_rows = case.n <= _VERIFIED_UP_TO
    faster = few_rows or _is_large_part(case.count, case.n, 1 / 60)
    return case.suits_one_vector and faster and case.dense_fits


def _can_multiply(case: Case) -> bool:
    cost = _product_cost(case.sample.points)
    affordable = case.n <= _EXACT_UP_TO and cost <= case.limits.largest_product
    return not case.may_approximate or (affordable and not case.must_approximate)


def _dask_landmarks(case: Case) -> Plan:
    if not case.sample.kernel.is_psd:
        raise ValueError(
            f"{case.sample.kernel!r} is not positive semi-definite, which the solvers for Dask "
            "collections require. Use another kernel, or solver='lanczos' for at most 300,000 rows."
        )
    return Plan(Nystrom(_LANDMARKS), None)


def _iterate(case: Case, stored: bool) -> Plan:
    solver = Lanczos(max_products=case.affordable_products) if case.dense_fits else Lanczos()
    return Plan(Lanczos(stored=stored), solver, case.fallback)


def _verified(case: Case) -> Plan:
    limit = 50 + case.n // 10 + 5 * (case.count or 0)
    return Plan(Dense(), VerifiedLanczos(limit), case.fallback)


RULES = (
    Rule(
        f"exact features, fewer than n/2 (of sparse rows at most {_SPARSE_COLUMNS:,} columns)",
        "features",
        "small problem",
        lambda case: has_few_features(case.sample) and not case.request.normalize,
        lambda case: Plan(FiniteFeatures(), None),
    ),
    Rule(
        f"Dask collection, frequency grid with at most {_GRID_PER_ROW} n and 2²⁴ points",
        "``Fourier``",
        "small problem",
        lambda case: case.sample.points.is_chunked and case.grid(_GRID_PER_ROW * case.n),
        lambda case: Plan(Fourier(), None),
    ),
    Rule(
        "Dask collection, positive semi-definite kernel",
        f"``Nystrom``, {_LANDMARKS:,}",
        "small problem",
        lambda case: case.sample.points.is_chunked,
        _dask_landmarks,
    ),
    Rule(
        f"n ≤ {SMALL} or more than n/20 components ({_SMALL_FOR_LEADING} and n/10 for a number of "
        "leading ones); four n × n matrices fit the budget",
        "stored K",
        "``Dense``",
        _needs_full_decomposition,
        lambda case: Plan(Dense(), Dense(only_selected=case.n > SMALL)),
    ),
    Rule(
        "degree-normalized K that is sparse, or of which two copies fit the budget",
        "sparse or stored K",
        "``Arpack``",
        lambda case: (
            case.request.normalize
            and case.count is not None
            and (case.sample.kernel.is_sparse or case.stored_fits)
        ),
        lambda case: Plan(Lanczos(stored=True), Arpack(), case.fallback),
    ),
    Rule(
        "sparse kernel (``Neighbors``)",
        "sparse K",
        "``Lanczos``",
        lambda case: case.sample.kernel.is_sparse,
        lambda case: Plan(Lanczos(), Lanczos()),
    ),
    Rule(
        f"Gaussian or Matérn, d ≤ 3, n > {_FOURIER_FROM:,}, frequency grid with at most "
        f"n²/{_FOURIER_FRACTION} and 2²⁴ points",
        "``Fourier`` (1e-10)",
        "small problem",
        _has_affordable_grid,
        lambda case: Plan(Fourier(), None),
    ),
    Rule(
        f"number of leading components, n ≤ {_VERIFIED_UP_TO:,} or more than n/60 of them; four "
        "n × n matrices fit the budget",
        "stored K",
        "``VerifiedLanczos``",
        _prefers_one_vector,
        _verified,
    ),
    Rule(
        "two n × n matrices fit the budget, or K is precomputed",
        "stored K",
        "``Lanczos``",
        lambda case: case.stored_fits and not case.must_approximate,
        lambda case: _iterate(case, stored=True),
    ),
    Rule(
        f"n ≤ {_EXACT_UP_TO:,} and n² (d + 20) ≤ 6e10; or K cannot be approximated",
        "matrix-free",
        "``Lanczos``",
        _can_multiply,
        lambda case: _iterate(case, stored=False),
    ),
    Rule(
        "otherwise",
        f"``Nystrom``, {_LANDMARKS:,}",
        "small problem",
        lambda case: True,
        lambda case: Plan(Nystrom(case.limits.n_landmarks or _LANDMARKS), None),
    ),
)


def rules_table() -> str:
    """Return the rules as a table in reStructuredText."""
    rows = [("condition", "operator", "eigenpairs")]
    rows += [(rule.condition, rule.operator, rule.eigenpairs) for rule in RULES]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    texts = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([line, texts[0], line, *texts[1:], line])


__doc__ = (__doc__ or "").replace("{rules}", rules_table())


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
    large = _is_large_part(n_components, size, 1 / 8)
    full = size <= SMALL or (large and size <= 8 * SMALL)
    return Dense() if full else Lanczos()


def _feature_count(sample: Sample) -> int | None:
    """Return the number of exact features of the kernel; None if it has none."""
    points = sample.points
    if points.kind == "gram":
        return None
    is_table = points.kind == "objects"
    row = points.take(slice(0, 1)).data if is_table else np.ones((1, points.dimension or 0))
    one = sample.kernel.features(row)
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
    # 4000 eigenvalues, without vectors, take a few seconds
    return size <= 4000 and dense_bytes(size) <= memory_budget()


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


def summing_gram(sample: Sample, box: tuple[Array, Array] | None = None) -> GramOperator:
    """Return the cheapest operator for sums over K: features, a frequency grid, or one product.

    With a ``box`` the frequency grid covers the points of several samples.
    """
    if has_few_features(sample):
        return FiniteFeatures().gram(sample)
    grid = summing_grid(sample, box)
    if grid is not None:
        return FourierGram(sample.kernel, sample.points, sample.weights, grid, only_mean=True)
    return Lanczos(stored=False).gram(sample)


def has_few_features(sample: Sample) -> bool:
    """Return whether the kernel has exact features, fewer than half the number of rows."""
    if sample.points.is_sparse and (sample.points.dimension or 0) > _SPARSE_COLUMNS:
        return False
    features = _feature_count(sample)
    return features is not None and features < sample.points.n / 2


def streaming_gram(sample: Sample, solver: Any = "auto") -> FactoredGram:
    """Return an operator that can absorb more points: exact features, landmarks or a grid."""
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
    """Return the solver object of a name; a solver object is returned unchanged."""
    if isinstance(solver, str) and solver in _NAMES:
        return _NAMES[solver]()
    is_object = not isinstance(solver, str | type)
    if is_object and (isinstance(solver, Auto) or hasattr(solver, "gram")):
        return solver
    raise ValueError(
        f"solver={solver!r} must be one of {', '.join(map(repr, _NAMES))}, or a solver object such "
        "as mercer.solvers.Lanczos(max_products=500)."
    )
