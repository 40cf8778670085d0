"""Small samples of every kind, and how closely two fits of them must agree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer import EntropyClustering, KernelECA
from mercer.solvers import Dense
from mercer.spectrum import Spectrum
from tests.properties.estimator_cases import Answers, Case, fit

__all__ = [
    "EXAMPLES",
    "Tally",
    "World",
    "assert_agree",
    "condition",
    "fitted",
    "law",
    "magnification",
    "worlds",
]

#: Examples per law and estimator: a few in every test run, many by ``./run laws``.
EXAMPLES = int(os.environ.get("MERCER_LAW_EXAMPLES", "6"))
LONG = "MERCER_LAW_EXAMPLES" in os.environ

# A short run is the same every time; a long one looks for what nobody has seen yet.
law = settings(
    max_examples=EXAMPLES,
    derandomize=not LONG,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

ROUNDING = 1e-11  # of the largest value, for a well-conditioned answer
WORST = 1e5  # answers that magnify rounding more than this are not determined by the data


class Tally:
    """Examples that were compared, for the summary at the end of a run."""

    count = 0


@dataclass(frozen=True)
class World:
    """A sample, its bandwidth, and new points."""

    X: np.ndarray
    new: np.ndarray
    width: float


@st.composite
def worlds(draw: Any, least: int = 6, most: int = 16) -> World:
    """Clouds, groups, points with copies: rows in general position or nearly so."""
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["cloud", "groups", "copies", "long tails"]))
    width = draw(st.sampled_from([0.5, 0.8, 1.3, 2.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    if kind == "groups":
        X += 3.0 * (np.arange(n) % 2)[:, None]
    elif kind == "long tails":
        X *= rng.exponential(size=(n, 1))
    elif kind == "copies":
        X[n // 2 :] = X[: n - n // 2]
    return World(X, rng.normal(size=(5, d)), width)


def fitted(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit, or give the example up where the sample is refused in words."""
    try:
        return fit(model, X, y, weights)
    except ValueError:
        assume(False)


def condition(case: Case, world: World, y: Any, tie: float = 0.0) -> float:
    """:func:`magnification`; an example whose answer hangs on rounding is given up."""
    try:
        worst = magnification(case, world, y, tie)
    except ValueError:
        worst = np.inf
    assume(worst < min(case.most, WORST))
    return worst


def magnification(case: Case, world: World, y: Any, tie: float = 0.0) -> float:
    """How much rounding is magnified on the way to the answers of this estimator.

    ``tie`` is the share of the largest eigenvalue within which others may be taken for equal.
    """
    if not case.spectral:
        return 1.0
    model = fit(case.make(world.width).set_params(solver=Dense()), world.X, y)
    spectra = [model.spectrum_]
    if isinstance(model, EntropyClustering):  # its choice of a bandwidth looks at all of them
        models = [KernelECA(2, kernel=one.kernel, solver=Dense()) for one in model.path_]
        spectra = [one.fit(world.X).spectrum_ for one in models]
    worst = max(turning(spectrum, tie) for spectrum in spectra)
    if hasattr(model, "coef_"):  # least squares divide by what a component adds to the others
        ones = np.ones((len(world.X), int(model.fit_intercept)))
        worst *= float(np.linalg.cond(np.hstack([ones, model.spectrum_.projections])))
    return case.magnifies * worst


def turning(spectrum: Spectrum, tie: float) -> float:
    """How much rounding in K turns the span of the kept components.

    By Davis and Kahan an error of size ε in K turns the span by ε over the gap between kept and
    other eigenvalues; kernel values of new points are divided by the kept ones. A choice by
    entropy must not hang on rounding either.
    """
    values, terms = spectrum.known_eigenvalues, spectrum.known_entropy_terms
    kept = np.zeros(len(values), dtype=bool)
    kept[spectrum.known_ranks - 1] = True
    smallest = float(values[kept].min())
    if not kept.all():
        smallest = min(
            smallest, float(np.abs(np.subtract.outer(values[kept], values[~kept])).min())
        )
    diagonal = spectrum.kernel.diagonal(spectrum.points.data)
    size = max(float(values.max()), float(diagonal.sum()))  # before anything was centred
    worst = size / smallest if smallest > 0 else np.inf
    if spectrum.target == "entropy" and not kept.all():
        # of eigenvalues that are taken for equal, one vector carries all the entropy
        near = np.abs(np.subtract.outer(values, values)) <= tie * values.max()
        behind = float(terms[kept].min() - (near @ terms)[~kept].max())
        worst = max(worst, float(terms.max()) / behind if behind > 0 else np.inf)
    return worst


def assert_agree(
    found: Answers,
    expected: Answers,
    case: Case,
    magnified: float = 1.0,
    rounding: float = ROUNDING,
) -> None:
    """Compare all answers, each within rounding of its largest value, magnified."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        other = found[name]
        if name == "log density" and case.vanishing:
            top = value.max() if np.isfinite(value).any() else 0.0
            value, other = np.exp(value - top), np.exp(other - top)
        if value.dtype.kind == "b":
            assert (other == value).all(), name
            continue
        finite = np.isfinite(value)
        largest = max(1.0, float(np.abs(value[finite]).max(initial=0)))
        assert_allclose(
            other,
            value,
            rtol=0,
            atol=(rounding * magnified + case.slack) * largest,
            err_msg=name,
        )
    Tally.count += 1
