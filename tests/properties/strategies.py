"""Hypothesis strategies for small samples, and the comparison of two fits.

A property test compares two fits that must agree. Rounding errors in the kernel matrix K are
amplified by the decomposition, so the tolerance is ``ROUNDING`` times a condition number that is
computed for every example. Examples with a large condition number are skipped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer import EntropyClustering, KernelECA
from mercer.eigen.decompose import Spectrum
from mercer.errors import RankError
from mercer.solvers import Dense
from tests.properties.estimator_cases import Case, Results, fit

__all__ = [
    "MAX_EXAMPLES",
    "Examples",
    "Sample",
    "assert_same_results",
    "condition_number",
    "condition_or_skip",
    "fit_or_skip",
    "normal_sample",
    "property_test",
    "samples",
]

#: Examples per estimator and property, in the profiles of ``tests/conftest.py``.
MAX_EXAMPLES = {"fast": 2, "full": 6, "search": 20}[os.environ.get("MERCER_TEST_PROFILE", "full")]

property_test = settings(
    max_examples=MAX_EXAMPLES,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

ROUNDING = 1e-11  # relative to the largest value, for a condition number of 1
MAX_CONDITION = 1e5  # beyond it the results are not determined by the data


class Examples:
    """Number of examples compared, for the summary at the end of a run."""

    count = 0


@dataclass(frozen=True)
class Sample:
    """Training rows, a bandwidth, and new points."""

    X: np.ndarray
    new: np.ndarray
    bandwidth: float


@st.composite
def samples(draw: Any, least: int = 6, most: int = 16) -> Sample:
    """Draw normal samples, two groups, samples with repeated rows or with heavy tails."""
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["normal", "groups", "repeated rows", "heavy tails"]))
    bandwidth = draw(st.sampled_from([0.5, 0.8, 1.3, 2.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    if kind == "groups":
        X += 3.0 * (np.arange(n) % 2)[:, None]
    elif kind == "heavy tails":
        X *= rng.exponential(size=(n, 1))
    elif kind == "repeated rows":
        X[n // 2 :] = X[: n - n // 2]
    return Sample(X, rng.normal(size=(5, d)), bandwidth)


def normal_sample(n: int = 24, d: int = 3, seed: int = 0) -> np.ndarray:
    """Return a normal sample that is the same in every run."""
    return np.random.default_rng(seed).normal(size=(n, d))


def fit_or_skip(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit; skip the example if K has too small a rank, the documented reason to raise."""
    try:
        return fit(model, X, y, weights)
    except RankError:
        assume(False)


def condition_or_skip(
    case: Case, sample: Sample, y: Any, tie: float = 0.0, weights: Any = None
) -> float:
    """Return the condition number; skip the example if it is too large."""
    try:
        condition = condition_number(case, sample, y, tie, weights)
    except RankError:
        condition = np.inf
    assume(condition < min(case.max_condition, MAX_CONDITION))
    return condition


def condition_number(
    case: Case, sample: Sample, y: Any, tie: float = 0.0, weights: Any = None
) -> float:
    """Return the amplification of rounding errors from K to the results of an estimator.

    Eigenvalues that differ by less than ``tie`` times the largest may be treated as equal.
    """
    if not case.spectral:
        return 1.0
    model = fit(case.make(sample.bandwidth).set_params(solver=Dense()), sample.X, y, weights)
    spectra = [model.spectrum_]
    if isinstance(model, EntropyClustering):  # the choice of a bandwidth depends on all of them
        models = [KernelECA(2, kernel=record.kernel, solver=Dense()) for record in model.path_]
        spectra = [trial.fit(sample.X, sample_weight=weights).spectrum_ for trial in models]
    condition = max(subspace_condition(spectrum, tie) for spectrum in spectra)
    if hasattr(model, "coef_"):  # condition number of the least-squares problem
        ones = np.ones((len(sample.X), int(model.fit_intercept)))
        columns = np.hstack([ones, model.spectrum_.projections])
        roots = np.sqrt(model.spectrum_.counts)[:, None]
        condition *= float(np.linalg.cond(roots * columns))
    return case.amplification * condition


def subspace_condition(spectrum: Spectrum, tie: float) -> float:
    """Return the condition number of the subspace of the selected components.

    By the theorem of Davis and Kahan an error of size ε in K rotates the subspace by ε divided by
    the gap between selected and other eigenvalues. Kernel values of new points are divided by the
    selected eigenvalues. A selection by entropy must not depend on rounding errors either.
    """
    values, terms = spectrum.known_eigenvalues, spectrum.known_entropy_terms
    selected = np.zeros(len(values), dtype=bool)
    selected[spectrum.known_ranks - 1] = True
    gap = float(values[selected].min())
    if not selected.all():
        differences = np.subtract.outer(values[selected], values[~selected])
        gap = min(gap, float(np.abs(differences).min()))
    diagonal = spectrum.counts * spectrum.kernel.diagonal(spectrum.points.data)
    norm = max(float(values.max()), float(diagonal.sum()))  # of K before centering
    condition = norm / gap if gap > 0 else np.inf
    if spectrum.target == "entropy" and not selected.all():
        # in a tie one eigenvector carries all the entropy
        near = np.abs(np.subtract.outer(values, values)) <= tie * values.max()
        margin = float(terms[selected].min() - (near @ terms)[~selected].max())
        condition = max(condition, float(terms.max()) / margin if margin > 0 else np.inf)
    return condition


def assert_same_results(
    found: Results,
    expected: Results,
    case: Case,
    condition: float = 1.0,
    rounding: float = ROUNDING,
) -> None:
    """Compare all results, each relative to its largest value."""
    assert found.keys() == expected.keys()
    peak = expected.get("largest log density", np.array(-np.inf))
    for name, value in expected.items():
        other = found[name]
        if name == "log density" and case.compare_densities:
            # the density is accurate relative to its maximum, its logarithm is not
            top = max(float(peak), value.max(initial=-np.inf))
            top = top if np.isfinite(top) else 0.0
            value, other = np.exp(value - top), np.exp(other - top)
        if value.dtype.kind == "b":
            assert (other == value).all(), name
            continue
        finite = np.isfinite(value)
        largest = max(1.0, float(np.abs(value[finite]).max(initial=0)))
        tolerance = (rounding * condition + case.tolerance) * largest
        assert_allclose(other, value, rtol=0, atol=tolerance, err_msg=name)
    Examples.count += 1
