"""From a kernel and points to a Spectrum: the one road that every estimator takes."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    IdentifiabilityWarning,
    RankError,
    Tell,
    warn,
)
from mercer.isolated_points import ISOLATED_SHARE, NEIGHBOUR, isolated_share
from mercer.maths.eigen import has_no_overlap
from mercer.maths.types import Array
from mercer.operators import FactoredGram, FourierGram, GramOperator, Sample
from mercer.progress import Ticker
from mercer.solvers import Eigenpairs, Selection, as_solver, count_above, streaming_gram
from mercer.solvers.base import Target
from mercer.spectrum import Spectrum
from mercer.threads import blas_threads_for

__all__ = [
    "component_ranks",
    "decompose",
    "make_gram",
    "make_streaming_gram",
    "places_among_all",
]

_SMALLEST, _LARGEST = 1e-150, 1e150  # traces whose squares are numbers
_NOTICEABLE = 0.01  # an error bound beyond this share of a kept eigenvalue is worth a warning


def make_gram(sample: Sample, solver: Any, n_components: int | float | None = 1) -> GramOperator:
    """Return the operator that this solver works on."""
    chosen = as_solver(solver, n_components)
    return chosen.gram(sample)


def make_streaming_gram(sample: Sample, solver: Any) -> FactoredGram:
    """Return an operator that can absorb more points later."""
    if solver == "auto":
        return streaming_gram(sample)
    gram = make_gram(sample, solver)
    assert isinstance(gram, FactoredGram), f"{solver!r} said that it can grow"
    return gram


def decompose(
    sample: Sample,
    target: Target,
    n_components: int | float | None,
    *,
    solver: Any = "auto",
    center: bool = False,
    random_state: int | None = None,
    verbose: bool = False,
    gram: GramOperator | None = None,
    tell: Tell = warn,
    at_most: bool = False,
) -> Spectrum:
    """Find the wanted eigenpairs of the (centred) Gram operator, with honest warnings.

    Parameters
    ----------
    sample : Sample
    target : {"variance", "entropy"}
    n_components : int, float in (0, 1) or None
    solver : str or solver
    center : bool
        Remove the mean in feature space; refused for "entropy", which it would make 0.
    random_state : int or None
        Seed of the iteration's random start; results do not depend on it beyond rounding.
    verbose : bool
        Tell the progress on standard error.
    gram : GramOperator or None
        The uncentred operator, where it exists already.
    tell : callable
        Receives each warning and its category; by default they are raised as warnings.
    at_most : bool
        Be content with fewer components than asked for where K has no more.
    """
    rows = sample.points.n if gram is None else int(gram.total)
    n_components = _checked_count(n_components, rows)
    gram = make_gram(sample, solver, n_components) if gram is None else gram
    _check_size(gram.trace)
    _warn_of_isolation(sample, gram, tell)
    potential = 0.0
    if center:
        gram = gram.centered()
    else:
        potential = gram.potential
    trace = gram.trace
    if target == "entropy":
        _check_potential(potential, trace / gram.total**2, gram.precision)
    selection = Selection(target, n_components, trace, potential, sample.points.n)
    progress = Ticker() if verbose else None
    chosen = as_solver(solver, n_components)
    hints: dict[str, Any] = {"random_state": random_state, "progress": progress}
    problem = gram.problem()
    # plane waves are multiplied by Fourier transforms, which leaves BLAS nothing but vectors
    with blas_threads_for(0 if isinstance(gram, FourierGram) else problem.size):
        try:
            pairs = chosen.solve(problem, selection, **hints)
        except RankError as few:
            if not at_most or few.rank == 0:
                raise
            selection = replace(selection, n_components=few.rank)
            pairs = chosen.solve(gram.problem(), selection, **hints)
    if progress is not None:
        progress.close()
    _warn_of_pairs(pairs, tell)
    _warn_of_error(gram, pairs, tell)
    return _spectrum(sample, gram, pairs, selection, center)


def component_ranks(spectrum: Spectrum) -> Array | None:
    """1-based places of the kept eigenvalues among all; None where finding out costs too much."""
    if spectrum.known_ranks is not None:
        return spectrum.known_ranks
    sample = Sample(spectrum.kernel, spectrum.points, spectrum.weights)
    return places_among_all(sample, spectrum.eigenvalues, spectrum.error_bound, spectrum.centered)


def places_among_all(
    sample: Sample, eigenvalues: Array, error: float, center: bool = False
) -> Array | None:
    """:func:`component_ranks` for eigenvalues known up to ``error``, of K made anew."""
    if sample.points.kind == "gram" or error > 1e-3 * eigenvalues.min():
        return None  # a given matrix is not kept after the fit; a rough value has no place
    gram = make_gram(sample, "auto")
    gram = gram.centered() if center else gram
    return count_above(gram.problem(), eigenvalues, error)


def _spectrum(
    sample: Sample, gram: GramOperator, pairs: Eigenpairs, selection: Selection, center: bool
) -> Spectrum:
    vectors = pairs.vectors
    undecided = has_no_overlap(pairs.overlaps, gram.total, gram.precision)
    if undecided.any():
        vectors = vectors.copy()
        vectors[:, undecided] *= gram.undecided_signs(vectors[:, undecided])
    overlaps = np.where(undecided, 0.0, pairs.overlaps)
    return Spectrum(
        eigenvalues=pairs.values,
        overlaps=overlaps,
        total_weight=gram.total,
        potential=selection.potential,
        trace=selection.trace,
        target=selection.target,
        centered=center,
        method=f"{pairs.method}, {gram.description}",
        error_bound=gram.error_bound,
        certified=pairs.certified,
        certificate=pairs.certificate,
        known_eigenvalues=pairs.known_values,
        known_entropy_terms=pairs.known_terms,
        multiplicities=pairs.multiplicities,
        lowest=pairs.lowest,
        products=pairs.products,
        expansion=gram.expansion(pairs.values, vectors),
        weights=gram.weights,
        known_ranks=pairs.ranks,
    )


def _checked_count(n_components: Any, n: int) -> int | float | None:
    """As a plain int, float or None, within its limits."""
    if n_components is None:
        return None
    if isinstance(n_components, bool | np.bool) or not isinstance(n_components, Real):
        raise TypeError(
            f"n_components={n_components!r} must be a count, a fraction in (0, 1) or None."
        )
    n_components = (
        n_components.__index__() if isinstance(n_components, Integral) else float(n_components)
    )
    if isinstance(n_components, float) and not 0 < n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} is a fraction, which must lie in (0, 1); for a count "
            "pass a whole number."
        )
    if isinstance(n_components, int) and not 1 <= n_components <= n:
        samples = "1 sample" if n == 1 else f"{n} samples"
        raise ValueError(
            f"n_components={n_components} must be between 1 and the number of rows (here "
            f"{samples} with a positive weight); pass at most {n}."
        )
    return n_components


def _check_size(trace: float) -> None:
    """Refuse K whose squares overflow or vanish: every method forms some."""
    if trace == 0 or _SMALLEST <= abs(trace) <= _LARGEST:
        return
    raise ValueError(
        f"The trace of K is {trace:.3g}; squares of numbers beyond {_SMALLEST:g} and {_LARGEST:g} "
        "cannot be formed. Scale the data, or multiply the kernel (or the precomputed matrix) by "
        "a number that brings k(x, x) near 1."
    )


def _check_potential(potential: float, isolated: float, precision: np.dtype[Any]) -> None:
    """``isolated`` is what V would be if no two points had anything in common."""
    if potential > max(1e-10, 100 * float(np.finfo(precision).eps)) * abs(isolated):
        return
    raise ValueError(
        f"The information potential V = 1'K1/n² is {potential:.3g}: there is no entropy to "
        "decompose. A centred kernel matrix has V = 0 by construction (so has a linear kernel on "
        "centred columns): pass the uncentred kernel, or use KernelPCA."
    )


def _warn_of_isolation(sample: Sample, gram: GramOperator, tell: Tell) -> None:
    """Say so when many points have no neighbour: K is then almost diagonal."""
    if isinstance(gram, FactoredGram):
        return
    lonely = isolated_share(sample)
    if lonely > ISOLATED_SHARE:
        tell(
            f"{lonely:.0%} of the points have no neighbour with k > {NEIGHBOUR}: K is "
            "almost diagonal there, its eigenvalues cluster, and components may not be "
            "identifiable. Use a larger bandwidth (or standardise the columns).",
            IdentifiabilityWarning,
        )


def _warn_of_error(gram: GramOperator, pairs: Eigenpairs, tell: Tell) -> None:
    """Say so when the approximation of K may matter for the kept eigenvalues."""
    smallest = float(pairs.values.min(initial=np.inf))
    if gram.error_bound > _NOTICEABLE * smallest:
        tell(
            f"K is approximated ({gram.description}): {gram.missing_share:.2%} of its "
            f"trace is missing, so eigenvalues may be too small by up to {gram.error_bound:.3g}; "
            f"the smallest kept is {smallest:.3g}. Use more landmarks, a larger bandwidth, or "
            "solver='lanczos' where its time allows.",
            ApproximationWarning,
        )


def _warn_of_pairs(pairs: Eigenpairs, tell: Tell) -> None:
    if pairs.lowest < 0:
        tell(
            f"The kernel matrix is indefinite (eigenvalues down to {pairs.lowest:.3g}); entropy "
            "terms are signed and only positive eigenvalues are used.",
            ApproximationWarning,
        )
    if not pairs.certified:
        tell(
            f"The selection of components is not proven: {pairs.certificate}. Raise "
            "Lanczos(max_products=…) or use solver='dense'.",
            ConvergenceWarning,
        )
    if pairs.multiplicities is not None and (pairs.multiplicities > 1).any():
        tied = [f"{v:.6g} (×{m})" for v, m in zip(pairs.values, pairs.multiplicities, strict=True)]
        tied = [text for text, m in zip(tied, pairs.multiplicities, strict=True) if m > 1]
        tell(
            f"Kept eigenvalues are tied to rounding: {', '.join(tied[:5])}. Within a tie the "
            "components are not identifiable; the one that carries the entropy comes first.",
            IdentifiabilityWarning,
        )
