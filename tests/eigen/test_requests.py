"""Requests at the limits of a solver: fractions, boxes, iterations that do not converge."""

import numpy as np
import pytest

from mercer import EntropyClustering, KernelECA, KernelLDA, KernelPCA, SeriesDensity
from mercer.data.points import Points
from mercer.eigen import Plan
from mercer.eigen.plan import _NAMES
from mercer.errors import ConvergenceError, RankError
from mercer.gram import Sample
from mercer.kernels import Gaussian
from mercer.solvers import Dense, Fourier, Lanczos
from tests.eigen.problems import DiagonalProblem, selection
from tests.expectations import names_values, raises

BOTH = pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])


def cloud(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


@BOTH
def test_fraction_that_needs_many_components(estimator):
    """More than the sixteen that an iteration by variance starts with."""
    X = cloud(150, 3)
    full = estimator(0.9999, kernel=Gaussian(0.7), solver=Dense()).fit(X)
    iterated = estimator(0.9999, kernel=Gaussian(0.7), solver=Lanczos()).fit(X)
    assert iterated.n_components_ == full.n_components_ > 32
    np.testing.assert_allclose(iterated.eigenvalues_, full.eigenvalues_, rtol=1e-9)


@BOTH
def test_unreachable_fractions_raise(estimator):
    almost_all = np.nextafter(1.0, 0.0)
    with raises(RankError, "n_components=0.99"):
        estimator(float(almost_all), kernel=Gaussian(3.0), solver=Dense()).fit(cloud(40, 2))


@pytest.mark.parametrize("box", [(0, -1), (0, np.inf), (np.nan, 1)])
def test_empty_or_infinite_boxes_raise(box):
    sample = Sample(Gaussian(1.0), Points(cloud(5, 2)))
    with raises(ValueError, f"box={box!r}"):
        Fourier(box=box).gram(sample)


def hard_problem():
    """Return a problem whose eigenvalues are too close for a few products."""
    n = 700
    return DiagonalProblem(np.linspace(1, 1.001, n), np.ones(n))


def test_convergence_error_holds_all_approximate_pairs():
    problem = hard_problem()
    request = selection(problem, "variance", 30)
    with raises(ConvergenceError, "max_products") as raised:
        Lanczos(max_products=1).solve(problem, request, random_state=0)
    assert len(raised.value.pairs.values) == 30
    assert not raised.value.pairs.certified


def test_plan_falls_back_to_the_full_decomposition():
    problem = hard_problem()
    request = selection(problem, "entropy", 3)
    with pytest.raises(ConvergenceError):
        Lanczos(max_products=5).solve(problem, request)
    pairs = Plan(Lanczos(), Lanczos(max_products=5), Dense()).solve(problem, request)
    assert pairs.method == "full decomposition"
    assert pairs.certified


@pytest.mark.parametrize(
    "estimator",
    [EntropyClustering, KernelECA, KernelLDA, KernelPCA, SeriesDensity],
    ids=lambda cls: cls.__name__,
)
def test_docstrings_list_every_solver(estimator):
    """Core e16: "fourier" and "nystrom" were missing."""
    entry = estimator.__doc__.partition("solver : ")[2].partition(" : ")[0]
    assert names_values(entry, *(f'"{name}"' for name in _NAMES)) == []
