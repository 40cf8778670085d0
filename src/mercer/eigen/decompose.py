"""The spectrum, and how it is found: plan, build the operator, solve, warn.

A :class:`Spectrum` holds eigenpairs of K as functions of points; all estimators use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import sqrt
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from mercer.data.points import Points, validate_points
from mercer.eigen.approximations import Nystrom
from mercer.eigen.base import Eigenpairs, Selection, Target
from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.eigen.dense import RANK_ERROR, TIE, entropy_terms, has_no_overlap
from mercer.eigen.plan import Plan, Request, can_compute_all_eigenvalues, plan
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    IdentifiabilityWarning,
    RankError,
    suppressed,
    warn,
)
from mercer.gram import (
    EigenProblem,
    Expansion,
    FactoredGram,
    FourierGram,
    GramOperator,
    NormalizedGram,
    Sample,
)
from mercer.gram.expansion import KernelExpansion
from mercer.gram.gram import KernelGram
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.formatting import bar, table
from mercer.utils.resources import blas_threads_for, check_memory
from mercer.utils.types import Array
from mercer.utils.weights import multiplicities

__all__ = [
    "MANY_ISOLATED",
    "NEIGHBOR_COSINE",
    "PlannedGram",
    "Spectrum",
    "component_ranks",
    "count_above",
    "decompose",
    "eigenvalue_ranks",
    "isolated_fraction",
    "plan_gram",
]

# Two points are neighbors if the cosine of their images, |k(x, y)| / √(k(x, x) k(y, y)), is larger.
NEIGHBOR_COSINE = 0.01
MANY_ISOLATED = 0.05  # fraction of the points above which a fit warns
_MIN_PAIRS, _MAX_PAIRS = 32, 256  # limits of the number of leading eigenpairs to compute


@dataclass(frozen=True, repr=False, eq=False)
class Spectrum:
    r"""Eigenpairs of a Gram matrix, in the requested order. Immutable.

    Notation: :math:`\lambda_i` eigenvalues of K (with weights of :math:`W^{1/2} K W^{1/2}`),
    :math:`e_i` unit eigenvectors with :math:`1'e_i \ge 0`, n the total weight,
    :math:`\psi_i = \lambda_i (1'e_i)^2 / n^2` entropy terms, :math:`V = \sum_i \psi_i`.

    Attributes
    ----------
    pairs : Eigenpairs
        What the solver found (without the eigenvectors, which the expansion determines); most of
        it is available as attributes of the spectrum: ``eigenvalues``, ``overlaps``,
        ``certified``, ``certificate``, …
    total_weight : float
        n.
    potential : float
        V over all eigenpairs, selected or not; 0 where K is centered.
    trace : float
        Sum of all eigenvalues.
    target : {"variance", "entropy"}
        What the order follows.
    centered : bool
    operator : str
        Short description of the Gram operator.
    error_bound : float
        Bound on the error of every eigenvalue due to approximating K (0: only rounding error).
    expansion : Expansion
        The projections as functions of new points.
    weights : array of shape (n,) or None

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.kernels import Gaussian
    >>> X, _ = make_rings(random_state=0)
    >>> spectrum = KernelECA(3, kernel=Gaussian(3.7)).fit(X).spectrum_
    >>> (spectrum.entropy_terms / spectrum.potential).round(2)
    array([0.55, 0.29, 0.15])
    >>> spectrum.certified, spectrum.error_bound
    (True, 0.0)
    """

    pairs: Eigenpairs = field(repr=False)
    total_weight: float
    potential: float
    trace: float
    target: str
    centered: bool
    operator: str
    error_bound: float
    expansion: Expansion = field(repr=False)
    weights: Array | None = field(repr=False, default=None)

    @property
    def kernel(self) -> Kernel:
        """The fitted kernel."""
        return self.expansion.kernel

    @property
    def points(self) -> Points:
        """The training points with a positive weight."""
        return self.expansion.points

    @property
    def counts(self) -> Array:
        """The weights of the training points; ones without weights."""
        return self.points.ones() if self.weights is None else self.weights

    @property
    def multiplicities_of_rows(self) -> Array:
        """The weights of the training points with the sum ``n = max(Σw, (Σw)² / Σw²)``."""
        if self.weights is None:
            return self.points.ones()
        if self.points.is_chunked:
            factor: float = self.points.survey.totals.factor  # type: ignore[attr-defined]
            return self.weights * factor
        return multiplicities(self.weights)

    @property
    def n_components(self) -> int:
        """Number of selected pairs."""
        return len(self.pairs.values)

    @property
    def eigenvalues(self) -> Array:
        """``λ_i`` of K."""
        return self.pairs.values

    @property
    def operator_eigenvalues(self) -> Array:
        """``λ_i / n``, estimates of the eigenvalues of the kernel operator."""
        return self.eigenvalues / self.total_weight

    @property
    def overlaps(self) -> Array:
        """``1'e_i``."""
        return self.pairs.overlaps

    @cached_property
    def entropy_terms(self) -> Array:
        """``ψ_i = λ_i (1'e_i)² / n²``."""
        return entropy_terms(self.eigenvalues, self.overlaps, self.total_weight)

    @property
    def method(self) -> str:
        """Algorithm and operator, for display."""
        return f"{self.pairs.method}, {self.operator}"

    @property
    def certified(self) -> bool:
        """Whether it is proven that the selection is complete."""
        return self.pairs.certified

    @property
    def certificate(self) -> str:
        """The proof, or why there is none."""
        return self.pairs.certificate

    @property
    def proof(self) -> str:
        """Whether the selection is proven, and for which matrix."""
        if not self.certified:
            return "not certified"
        return "certified" if self.error_bound == 0 else "certified for an approximation of K"

    @property
    def known_eigenvalues(self) -> Array:
        """All eigenvalues that the solver computed, largest first (all of K after ``Dense``)."""
        return self.pairs.known_values

    @property
    def known_entropy_terms(self) -> Array:
        """Entropy terms of ``known_eigenvalues``."""
        return self.pairs.known_terms

    @property
    def known_ranks(self) -> Array | None:
        """1-based ranks of the selected eigenvalues among all, if the solver knows them."""
        return self.pairs.ranks

    @property
    def multiplicities(self) -> Array | None:
        """Number of eigenvalues tied with each selected one, itself included, where known."""
        return self.pairs.multiplicities

    @property
    def lowest(self) -> float:
        """Smallest eigenvalue if it is negative beyond rounding error (indefinite K), else 0."""
        return self.pairs.lowest

    @property
    def products(self) -> int:
        """Number of matrix-vector products."""
        return self.pairs.products

    def without_points(self) -> Spectrum:
        """Return the same functions without the training points, where these are not needed."""
        return replace(self, expansion=self.expansion.without_points(), weights=None)

    # --- functions of points ------------------------------------------------------------------

    @ignore_underflow
    def project(self, X: Any) -> Array:
        """Return the projections ``λ_i^(-1/2) Σ_j √w_j e_ji k(x, x_j)`` (Jenssen, eq. 7)."""
        return self.expansion(self._validate(X))

    @ignore_underflow
    def eigenfunctions(self, X: Any) -> Array:
        """Return ``φ_i(x) = √n/λ_i Σ_j e_ji k(x, x_j)``, of unit L2 norm under the sample."""
        return self.project(X) * np.sqrt(self.total_weight / self.eigenvalues)

    @ignore_underflow
    def squared_norms(self, X: Any) -> Array:
        """Return ``k(x, x)`` of the (centered) kernel, the squared norm of all projections."""
        return self.expansion.squared_norms(self._validate(X))

    def _validate(self, X: Any) -> Points:
        return X if isinstance(X, Points) else validate_points(X, self.kernel, reset=False)

    # --- at the training points ---------------------------------------------------------------

    @property
    def projections(self) -> Array:
        """Projections of the training points, ``√λ_i e_ji / √w_j``."""
        return self.expansion.at_training(self.eigenvalues)

    @property
    def eigenvectors(self) -> Array:
        """Unit eigenvectors e_i as columns."""
        vectors = self.projections / np.sqrt(self.eigenvalues)
        return vectors if self.weights is None else vectors * np.sqrt(self.weights)[:, None]

    def gram(self) -> Array:
        """Return ``Σ_i λ_i e_i e_i'``, K reconstructed from the pairs (K_eca, Jenssen eq. 14)."""
        n = self.points.n
        check_memory(
            8 * n * n,
            f"The reconstructed Gram matrix of {n} points",
            "Use projections: the matrix is projections @ projections.T",
        )
        Z = self.projections
        return np.asarray(Z @ Z.T)

    def __repr__(self) -> str:
        return (
            f"Spectrum({self.n_components} components by {self.target}, n={self.points.n}, "
            f"{self.kernel!r}, {self.method}, {self.proof})"
        )

    def _repr_html_(self) -> str:
        by = "entropy term ψ" if self.target == "entropy" else "eigenvalue λ"
        heads = ["component", "λ", "λ / n", "fraction of trace"]
        if not self.centered:
            heads += ["ψ", "fraction of V"]
        most = 10  # rows of the table
        shown = [self._cells(i) for i in range(min(self.n_components, most))]
        if self.n_components > most:
            more = f"… {self.n_components - most} more"
            shown.append([more, *[""] * (len(heads) - 1)])
        title = f"{self.n_components} components by {by} of {self.points.n:,} points"
        note = f"{self.kernel!r}; {self.method}; {self.proof}: {self.certificate}"
        return table(title, heads, shown, note)

    def _cells(self, i: int) -> list[str]:
        """Return a row of the table shown in notebooks."""
        value, term = float(self.eigenvalues[i]), float(self.entropy_terms[i])
        cells = [str(i + 1), f"{value:.4g}", f"{value / self.total_weight:.4g}"]
        cells.append(bar(value / self.trace) if self.trace > 0 else "")
        if not self.centered:
            cells += [f"{term:.4g}", bar(term / self.potential) if self.potential > 0 else ""]
        return cells


# --- from a sample to a spectrum ------------------------------------------------------------------


class PlannedGram(NamedTuple):
    """A plan and the operator that was built by it."""

    plan: Plan
    gram: GramOperator


def plan_gram(sample: Sample, request: Request) -> PlannedGram:
    """Choose operator and solver, and build the operator."""
    chosen = plan(sample, request)
    return PlannedGram(chosen, chosen.gram(sample))


def decompose(
    sample: Sample,
    target: Target,
    n_components: int | float | None,
    *,
    solver: Any = "auto",
    center: bool = False,
    normalize: bool = False,
    random_state: int | None = 0,
    planned: PlannedGram | None = None,
    at_most: bool = False,
) -> Spectrum:
    """Find the requested eigenpairs of the (centered) Gram operator.

    Parameters
    ----------
    sample : Sample
    target : {"variance", "entropy"}
    n_components : int, float in (0, 1) or None
    solver : str or solver
    center : bool
        Remove the mean in feature space; not possible for "entropy", because it makes V = 0.
    normalize : bool
        Divide K by the roots of its degrees: ``D^-½ K D^-½``.
    random_state : int or None
        Seed of the iteration's random start (None: a new one each time); results do not depend
        on it beyond rounding error.
    planned : PlannedGram or None
        Plan and uncentered operator, if they exist already.
    at_most : bool
        Accept fewer components than requested where K has a lower rank.
    """
    rows = sample.points.n if planned is None else planned.gram.rows
    n_components = _checked_count(n_components, rows)
    if planned is None:
        planned = plan_gram(sample, Request(target, n_components, solver, normalize))
    gram, potential = _prepared(planned.gram, sample, target, center, normalize)
    selection = Selection(target, n_components, gram.trace, potential, sample.points.n)
    pairs = _solve(planned.plan, gram, selection, random_state, at_most)
    if sample.matrix is not None and pairs.ranks is None:
        # a model does not store a precomputed matrix, so its ranks are counted now
        pairs = replace(pairs, ranks=count_above(gram.problem(), pairs.values))
    if not isinstance(gram, FactoredGram) and not normalize and not _stand_out(pairs, gram):
        _warn_if_isolated(sample)
    unit = 1.0 if normalize else sample.unit  # eigenvalues are proportional to weights, or not
    spectrum = _spectrum(gram, pairs, selection, center, unit)
    if not normalize:  # graphs have negative eigenvalues, and one eigenvalue 1 per component
        _warn_about_pairs(spectrum.pairs, target)
    _warn_about_error(gram, spectrum)
    return spectrum


def _prepared(
    gram: GramOperator, sample: Sample, target: Target, center: bool, normalize: bool
) -> tuple[GramOperator, float]:
    """Return the operator, normalized or centered, and V; raise if it has no usable pairs."""
    _check_trace(gram, sample.unit)
    if normalize and not isinstance(gram, NormalizedGram):
        gram = _normalized(gram)
    potential = 0.0 if center else gram.potential
    gram = gram.centered() if center else gram
    if target == "entropy":
        _check_potential(potential, gram.trace / (gram.total * gram.rows), gram.precision)
    return gram, potential


def _solve(
    chosen: Plan,
    gram: GramOperator,
    selection: Selection,
    random_state: int | None,
    at_most: bool,
) -> Eigenpairs:
    """Find the selected pairs; with ``at_most``, all pairs of a K of lower rank."""
    problem = gram.problem()
    # Fourier features are multiplied by FFTs, which leave BLAS only operations on vectors
    with blas_threads_for(0 if isinstance(gram, FourierGram) else problem.size):
        try:
            return chosen.solve(problem, selection, random_state)
        except RankError as error:
            if not at_most or error.rank == 0:
                raise
            fewer = replace(selection, n_components=error.rank)
            return chosen.solve(gram.problem(), fewer, random_state)


def _spectrum(
    gram: GramOperator, pairs: Eigenpairs, selection: Selection, center: bool, unit: float
) -> Spectrum:
    """Return the spectrum for weights in the user's unit: eigenvalues are proportional to them."""
    vectors = pairs.vectors
    assert vectors is not None
    undecided = has_no_overlap(pairs.overlaps, gram.total, gram.precision)
    if undecided.any():
        vectors = vectors.copy()
        vectors[:, undecided] *= gram.undecided_signs(vectors[:, undecided])
    approximate = gram.error_bound > RANK_ERROR * pairs.values.min(initial=np.inf)
    stored = replace(
        pairs,
        values=pairs.values * unit,
        vectors=None,
        overlaps=np.where(undecided, 0.0, pairs.overlaps) * sqrt(unit),
        known_values=pairs.known_values * unit,
        lowest=pairs.lowest * unit,
        ranks=None if approximate else pairs.ranks,
    )
    expansion, weights = gram.expansion(pairs.values, vectors), gram.weights
    if unit != 1 and weights is not None:
        weights = weights * unit
        if isinstance(expansion, KernelExpansion):
            expansion = replace(expansion, weights=weights)
    return Spectrum(
        pairs=stored,
        total_weight=gram.total * unit,
        # after the solver: some operators know their totals only then
        potential=0.0 if center else gram.potential,
        trace=gram.trace * unit,
        target=selection.target,
        centered=center,
        operator=gram.description,
        error_bound=gram.error_bound * unit,
        expansion=expansion,
        weights=weights,
    )


def _normalized(gram: GramOperator) -> NormalizedGram:
    if not isinstance(gram, KernelGram):
        raise ValueError(
            f"Degrees can normalize a stored or matrix-free Gram matrix, not {gram.description}. "
            "Use solver='lanczos' or 'dense'."
        )
    return NormalizedGram(gram)


# --- ranks of the selected eigenvalues ------------------------------------------------------------


def component_ranks(spectrum: Spectrum) -> Array | None:
    """Return the 1-based ranks of the selected eigenvalues; None if that costs too much."""
    if spectrum.known_ranks is not None:
        return spectrum.known_ranks
    if spectrum.points.kind == "gram":
        return None  # the model does not store a precomputed matrix
    weights = None if spectrum.points.is_chunked else spectrum.weights
    values = spectrum.eigenvalues
    # no more values of a Krylov space than eigenvalues exceed a number (Cauchy)
    exceeding = spectrum.known_eigenvalues > values.min() + TIE * values.max()
    return eigenvalue_ranks(
        Sample.of(spectrum.kernel, spectrum.points, weights),
        values,
        spectrum.error_bound,
        spectrum.centered,
        at_least=1 + int(exceeding.sum()),
        products=spectrum.products,
    )


def eigenvalue_ranks(
    sample: Sample,
    eigenvalues: Array,
    error: float,
    center: bool = False,
    *,
    at_least: int = 1,
    products: int = _MAX_PAIRS,
) -> Array | None:
    """Return the 1-based ranks of eigenvalues of K among all; None if this costs too much.

    The eigenvalues are for weights as given by the user, in units of ``sample.unit``, with errors
    of at most ``error``. ``at_least`` is a lower bound on the largest rank. Not many more leading
    eigenpairs are computed than the fit took ``products`` with K: products with a block are faster,
    so this takes about as long as the fit.
    """
    if sample.points.kind == "gram" or error > RANK_ERROR * eigenvalues.min():
        return None  # decompose counts the ranks of a precomputed matrix, which is not stored
    affordable = min(max(products, _MIN_PAIRS), _MAX_PAIRS)
    if at_least > affordable and not can_compute_all_eigenvalues(sample.points.n):
        return None
    chosen = plan(sample, Request("variance", 1))
    if isinstance(chosen.operator, Nystrom):
        return None  # ranks in an approximation of K may differ
    gram = chosen.gram(sample)
    gram = gram.centered() if center else gram
    values, error = eigenvalues / sample.unit, error / sample.unit
    return count_above(gram.problem(), values, max(error, gram.error_bound), affordable, at_least)


def count_above(
    problem: EigenProblem,
    values: Array,
    error: float = 0.0,
    affordable: int = _MAX_PAIRS,
    at_least: int = 1,
) -> Array | None:
    """Return the 1-based ranks of ``values`` among all eigenvalues; None if this costs too much.

    ``error`` bounds the error of the values. The number of leading eigenpairs, at first somewhat
    more than the lower bound ``at_least`` on the largest rank, is doubled until the last of them is
    below the smallest value.
    """
    small = can_compute_all_eigenvalues(problem.size)
    limit = problem.size // 16 if small else problem.size // 2  # else all values are cheaper
    k = max(_MIN_PAIRS // 2, at_least + at_least // 4 + 1)
    while k <= min(max(limit, _MIN_PAIRS), affordable, problem.size // 2):
        found, _, converged, _ = leading_eigenpairs(
            problem.product, problem.size, k, tolerance=1e-10
        )
        if converged and found[-1] < values.min() * (1 - 1e-8) - error:
            return _ranks(values, found, error)
        k *= 2
    return _ranks(values, np.linalg.eigvalsh(problem.dense()), error) if small else None


def _ranks(values: Array, all_values: Array, error: float) -> Array:
    """Return one plus the number of eigenvalues that exceed each value by more than the error."""
    slack = max(1e-9 * np.abs(all_values).max(), error)
    return np.asarray((all_values[None, :] > values[:, None] + slack).sum(axis=1) + 1)


# --- checks and warnings --------------------------------------------------------------------------


def _checked_count(n_components: Any, rows: int) -> int | float | None:
    """Return n_components as a plain int, float or None, within its limits."""
    if n_components is None:
        return None
    if isinstance(n_components, bool | np.bool) or not isinstance(n_components, Real):
        raise TypeError(
            f"n_components={n_components!r} must be a count, a fraction in (0, 1) or None."
        )
    if not isinstance(n_components, Integral):
        if not 0 < float(n_components) < 1:
            raise ValueError(
                f"n_components={n_components!r} is a fraction, which must be in (0, 1). Pass an "
                "integer for a count."
            )
        return float(n_components)
    count = int(n_components)
    if not 1 <= count <= rows:
        raise ValueError(
            f"n_components={count} must be between 1 and {rows}, the number of rows with a "
            f"positive weight (n_samples={rows}). Pass at most {rows}."
        )
    return count


def _check_trace(gram: GramOperator, unit: float) -> None:
    """Raise if squares of the entries of K would overflow or underflow, or its eigenvalues."""
    trace = abs(gram.trace)
    # squares of the trace and of entries of K neither overflow nor underflow
    low, high = 1e-150, min(1e150, 1e307 / max(unit, 1.0))
    if trace == 0 or low <= trace <= high:
        return
    weighted = gram.weights is not None
    raise ValueError(
        f"The trace of {'the weighted K' if weighted else 'K'} is {trace * unit:.3g}; it must be "
        f"between {low * unit:.3g} and {high * unit:.3g}, because its square is needed. "
        f"{'Divide the weights by their mean, scale' if weighted else 'Scale'} the data, or "
        "multiply the kernel (or the precomputed matrix) by a number that makes k(x, x) about 1."
    )


def _check_potential(potential: float, isolated: float, precision: np.dtype[Any]) -> None:
    """Raise if V is zero; ``isolated`` is V of points that are all orthogonal to each other."""
    if potential > max(1e-10, 100 * float(np.finfo(precision).eps)) * abs(isolated):
        return
    raise ValueError(
        f"The information potential V = 1'K1/n² is {potential:.3g}, so there are no entropy terms. "
        "A centered kernel matrix has V = 0 by construction, and so has a linear kernel on "
        "centered columns. Pass the uncentered kernel, or use KernelPCA."
    )


def _warn_about_error(gram: GramOperator, spectrum: Spectrum) -> None:
    """Warn if the approximation of K may matter for the selected eigenvalues."""
    smallest = float(spectrum.eigenvalues.min(initial=np.inf))
    if spectrum.error_bound > 0.01 * smallest:
        warn(
            f"K is approximated ({gram.description}): {gram.missing_fraction:.2%} of its trace is "
            f"missing, so eigenvalues may be too small by up to {spectrum.error_bound:.3g}; the "
            f"smallest selected is {smallest:.3g}. Use more landmarks, a larger bandwidth, or "
            "solver='lanczos', which uses K itself.",
            ApproximationWarning,
        )


def _warn_about_pairs(pairs: Eigenpairs, target: Target) -> None:
    if pairs.lowest < 0:
        warn(
            f"The kernel matrix is indefinite (eigenvalues down to {pairs.lowest:.3g}). Entropy "
            "terms are signed and only positive eigenvalues are used.",
            ApproximationWarning,
        )
    if not pairs.converged or (target == "entropy" and not pairs.certified):
        warn(
            f"The selection of components is not proven: {pairs.certificate}. Raise "
            "Lanczos(max_products=…) or use solver='dense'.",
            ConvergenceWarning,
        )
    if pairs.multiplicities is not None and (pairs.multiplicities > 1).any():
        tied = [
            f"{value:.6g} (×{count})"
            for value, count in zip(pairs.values, pairs.multiplicities, strict=True)
            if count > 1
        ]
        warn(
            f"Selected eigenvalues are tied up to rounding error: {', '.join(tied[:5])}. Within a "
            "tie the components are not identifiable; the one with the entropy term comes first.",
            IdentifiabilityWarning,
        )


# --- isolated points ------------------------------------------------------------------------------


def _stand_out(pairs: Eigenpairs, gram: GramOperator) -> bool:
    """Return whether the selected eigenvalues are clearly larger than those of isolated points.

    The eigenvalues of a diagonal K are its entries. Components with larger eigenvalues are those of
    many points together, even if each pair of them has a small similarity, as in high dimensions.
    """
    floor = 2.0 * gram.trace / gram.rows
    return bool(len(pairs.values)) and float(pairs.values.min()) > floor


def _warn_if_isolated(sample: Sample) -> None:
    """Warn if many points are isolated, so that components may not be identifiable."""
    if issubclass(IdentifiabilityWarning, suppressed.get()):
        return
    isolated = isolated_fraction(sample)
    if isolated > MANY_ISOLATED:
        warn(
            f"{isolated:.0%} of the points are isolated (cosine with every other point in feature "
            f"space at most {NEIGHBOR_COSINE}): K is almost diagonal there, its eigenvalues are "
            "close to each other, and components may not be identifiable. Use a larger bandwidth, "
            "or standardize the columns.",
            IdentifiabilityWarning,
        )


def isolated_fraction(sample: Sample) -> float:
    """Return the fraction of isolated points among at most 200 of them.

    A point is isolated if ``|k(x, y)| ≤ 0.01 √(k(x, x) k(y, y))`` for all other points y.
    """
    n = sample.points.n
    if n < 3:
        return 0.0
    rows = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
    isolated = rows
    # most points have a neighbor among a subset; only the others are compared with all
    for step in dict.fromkeys((max(1, n // 10_000), 1)):
        isolated = isolated[~_have_neighbors(sample, isolated, np.arange(0, n, step))]
        if len(isolated) == 0:
            return 0.0
    if sample.weights is not None:  # a weight of two equals two copies, which are neighbors
        isolated = isolated[sample.passes.take(sample.multiplicities, isolated) < 2]
    return len(isolated) / len(rows)


def _have_neighbors(sample: Sample, rows: Array, others: Array) -> Array:
    """Return whether each of these rows has a neighbor among the others, itself excluded."""
    if sample.points.is_chunked and len(others) == sample.points.n:
        some = sample.points.take(rows).data
        # the point itself is counted too
        return np.asarray(sample.points.sum_rows(partial(_count_near, sample.kernel, some)) > 1)
    if sample.matrix is not None:
        values = sample.matrix[np.ix_(rows, others)]
        diagonal = sample.matrix.diagonal()
        own, theirs = diagonal[rows], diagonal[others]
    else:
        some, rest = sample.points.take(rows).data, sample.points.take(others).data
        values = sample.kernel(some, rest)
        own, theirs = sample.kernel.diagonal(some), sample.kernel.diagonal(rest)
    near = _are_near(values, own, theirs)
    near &= rows[:, None] != others
    return np.asarray(near.any(axis=1))


def _are_near(values: Array, own: Array, theirs: Array) -> Array:
    # square roots first, because products of large kernel values overflow
    norms = np.outer(np.sqrt(np.abs(own)), np.sqrt(np.abs(theirs)))
    return np.asarray(np.abs(values) > NEIGHBOR_COSINE * norms)


def _count_near(kernel: Kernel, some: Array, points: Points) -> Array:
    near = np.zeros(len(some), dtype=np.int64)
    own = kernel.diagonal(some)
    for _, chunk in points.chunks(16_384):
        near += _are_near(kernel(some, chunk), own, kernel.diagonal(chunk)).sum(axis=1)
    return near
