"""Bandwidth selectors against naive double sums and independent implementations."""

from math import exp, pi, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from mercer.bandwidth import (
    biased_cv,
    fit_kernel,
    improved_sheather_jones,
    least_squares_cv,
    normal_reference,
    sheather_jones,
    smoothed_cv,
)
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian
from mercer.maths.bandwidth_selectors import (
    PairSums,
    biased_criterion,
    least_squares_criterion,
    smoothed_criterion,
)
from tests.expectations import raises, warns

NAMES = {
    "normal-reference": normal_reference,
    "sheather-jones": sheather_jones,
    "improved-sheather-jones": improved_sheather_jones,
    "least-squares-cv": least_squares_cv,
    "biased-cv": biased_cv,
    "smoothed-cv": smoothed_cv,
}
ANY_DIMENSION = ["normal-reference", "least-squares-cv", "biased-cv", "smoothed-cv"]
PRECIPITATION = """67 54.7 7 48.5 14 17.2 20.7 13 43.4 40.2 38.9 54.5 59.8 48.3 22.9 11.5 34.4 35.1
38.7 30.8 30.6 43.1 56.8 40.8 41.8 42.5 31 31.7 30.2 25.9 49.2 37 35.9 15 30.2 7.2 36.2 45.5 7.8
33.4 36.1 40.2 42.7 42.5 16.2 39 35 37 31.4 37.6 39.9 36.2 42.8 46.4 24.7 49.1 46 35.9 7.8 48.2
15.2 32.5 44.7 42.6 38.8 17.4 40.8 29.1 14.6 59.2"""


def precipitation():
    """Mean annual precipitation of 70 cities in inches (McNeil 1977), R's ``precip``."""
    return np.array(PRECIPITATION.split(), dtype=float)[:, None]


def two_modes(n=120, d=1, seed=0):
    rng = np.random.default_rng(seed)
    return np.r_[rng.normal(size=(n - n // 3, d)), rng.normal(4, 0.5, size=(n // 3, d))]


def normal(square, variance, d):
    return exp(-0.5 * square / variance) / (2 * pi * variance) ** (d / 2)


def naive_criterion(name, X, h, pilot=0.5):
    """Return a criterion as it is defined, by a double loop."""
    n, d = X.shape
    total = 0.0
    for i in range(n):
        for j in range(n):
            s = float(((X[i] - X[j]) ** 2).sum())
            if name == "smoothed":
                g2 = 2 * pilot**2
                total += normal(s, 2 * h * h + g2, d) - 2 * normal(s, h * h + g2, d)
                total += normal(s, g2, d)
            elif i != j and name == "least squares":
                total += normal(s, 2 * h * h, d) - 2 * normal(s, h * h, d)
            elif i != j:
                u2 = s / (2 * h * h)
                polynomial = u2 * u2 - (2 * d + 4) * u2 + d * (d + 2)
                total += polynomial * normal(s, 2 * h * h, d) / 16
    return 1 / (n * (4 * pi * h * h) ** (d / 2)) + total / n**2


CRITERIA = {
    "least squares": least_squares_criterion,
    "biased": biased_criterion,
    "smoothed": lambda pairs, h: smoothed_criterion(pairs, h, 0.5),
}


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("h", [0.2, 0.7])
def test_criteria_equal_their_definitions(name, d, h):
    X = two_modes(40, d)
    pairs = PairSums.of_pairs(X, np.ones(40))
    assert_allclose(CRITERIA[name](pairs, h), naive_criterion(name, X, h), rtol=1e-11)


@pytest.mark.parametrize("name", CRITERIA)
def test_pairs_on_a_grid_are_accurate(name):
    """Linear binning has a relative error of about (cell / h)² / 6."""
    X = two_modes(500)
    grid, exact = PairSums.of(X, np.ones(500), 2.0), PairSums.of_pairs(X, np.ones(500))
    for h in (0.2, 0.6):
        scale = 1 / (500 * h)
        difference = CRITERIA[name](grid, h) - CRITERIA[name](exact, h)
        assert abs(difference) < 1e-2 * scale


def test_least_squares_criterion_is_the_integrated_square_minus_leave_one_out():
    """With n - 1 for n in the leave-one-out mean; Scott and Terrell use n."""
    X, h = two_modes(30), 0.4
    x = np.linspace(-8, 10, 20001)
    p = np.mean([np.exp(-0.5 * ((x - v) / h) ** 2) / sqrt(2 * pi) / h for v in X[:, 0]], axis=0)
    k = np.exp(-0.5 * ((X - X.T) / h) ** 2) / sqrt(2 * pi) / h
    np.fill_diagonal(k, 0)
    expected = (p**2).sum() * (x[1] - x[0]) - 2 * k.sum() / 30**2
    pairs = PairSums.of_pairs(X, np.ones(30))
    assert_allclose(least_squares_criterion(pairs, h), expected, rtol=1e-6)


# --- Sheather and Jones ---------------------------------------------------------------------------


def naive_sheather_jones(x):
    """Solve the equation of Sheather and Jones with double sums (Sheather and Jones 1991, § 3)."""
    n = len(x)
    difference = x[:, None] - x
    quartiles = np.quantile(x, [0.25, 0.75])
    scale = min(x.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.349)

    def phi(h, polynomial, order):
        u = difference / h
        values = polynomial(u) * np.exp(-0.5 * u**2) / sqrt(2 * pi)
        return values.sum() / (n * (n - 1) * h ** (order + 1))

    def fourth(h):
        return phi(h, lambda u: u**4 - 6 * u**2 + 3, 4)

    def sixth(h):
        return phi(h, lambda u: u**6 - 15 * u**4 + 45 * u**2 - 15, 6)

    ratio = -fourth(1.24 * scale * n ** (-1 / 7)) / sixth(1.23 * scale * n ** (-1 / 9))

    def equation(h):
        return (1 / (2 * sqrt(pi) * n * fourth(1.357 * ratio ** (1 / 7) * h ** (5 / 7)))) ** 0.2 - h

    return brentq(equation, 0.02 * scale, scale)


@pytest.mark.parametrize("X", [two_modes(), two_modes(400, seed=1), precipitation()])
def test_sheather_jones_equals_the_double_sum(X):
    assert_allclose(sheather_jones(X), naive_sheather_jones(X[:, 0]), rtol=2e-4)


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(0).normal(size=500),
        two_modes(500)[:, 0],
        np.random.default_rng(0).normal(size=20000),
    ],
)
def test_improved_sheather_jones_equals_kdepy_on_its_grid(x):
    """KDEpy multiplies by the range of the data where that of its grid (1024 cells) belongs."""
    kdepy = pytest.importorskip("KDEpy.bw_selection")
    from KDEpy.utils import autogrid

    grid = autogrid(x[:, None], boundary_abs=6, num_points=2**10, boundary_rel=0.5)
    expected = kdepy.improved_sheather_jones(x[:, None]) * np.ptp(grid) / np.ptp(x)
    assert_allclose(improved_sheather_jones(x[:, None]), expected, rtol=0.01)


def test_improved_sheather_jones_does_not_depend_on_the_distance_of_modes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    near, far = (improved_sheather_jones(np.r_[X, X + shift]) for shift in (20, 100))
    assert_allclose(near, far, rtol=0.05)
    optimum = 1.06 * 400**-0.2
    assert_allclose(far, optimum, rtol=0.25)


# --- all selectors --------------------------------------------------------------------------------


def test_normal_reference_is_its_formula_and_hns_with_a_metric():
    X = two_modes(80, 3)
    spread = np.sqrt(X.var(axis=0).mean())
    assert_allclose(normal_reference(X), spread * (4 / (5 * 80)) ** (1 / 7), rtol=1e-12)
    kernel = fit_kernel(Gaussian("normal-reference", metric="covariance"), X)
    hns = (4 / (5 * 80)) ** (2 / 7) * np.cov(X.T, bias=True)
    assert_allclose(kernel.bandwidth_matrix(3), hns, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_selectors_are_near_the_optimum_for_normal_data(name):
    """The optimum is 1.06 n^(-1/5); selectors scatter by about 10 % around it."""
    X = np.random.default_rng(3).normal(size=(2000, 1))
    assert_allclose(NAMES[name](X), 1.06 * 2000**-0.2, rtol=0.3)


@pytest.mark.parametrize("name", NAMES)
def test_rules_have_the_selectors_names(name):
    X = two_modes()
    assert fit_kernel(Gaussian(name), X).bandwidth == NAMES[name](X)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 2])
def test_weights_equal_copies(name, d):
    if d > 1 and name not in ANY_DIMENSION:
        with raises(ValueError, name, 2):
            NAMES[name](two_modes(30, 2))
        return
    X, weights = two_modes(60, d), np.random.default_rng(1).integers(0, 4, 60)
    weighted = NAMES[name](X, sample_weight=weights)
    assert_allclose(weighted, NAMES[name](np.repeat(X, weights, axis=0)), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bandwidths_scale_with_the_data_and_ignore_order(name):
    X = two_modes()
    expected = NAMES[name](X)
    changed = 1e4 * X[np.random.default_rng(0).permutation(len(X))] - 3e4
    assert_allclose(NAMES[name](changed), 1e4 * expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["least-squares-cv", "smoothed-cv", "biased-cv"])
def test_many_rows_are_extrapolated(name):
    X = np.random.default_rng(0).normal(size=(4000, 2))
    ratio = NAMES[name](X) / NAMES[name](X[:1000])
    assert 0.6 < ratio < 1.0  # 4^(-1/6) = 0.79


def test_outliers_do_not_need_a_large_grid():
    X = np.r_[np.random.default_rng(0).normal(size=(300, 1)), [[1e9]]]
    assert_allclose(sheather_jones(X), sheather_jones(X[:300]), rtol=0.05)


def test_ties_are_reported():
    X = np.repeat(np.arange(6.0), 30)[:, None]
    with warns(ApproximationWarning, "least-squares-cv"):
        least_squares_cv(X)


def test_two_values_have_a_plug_in_bandwidth():
    assert sheather_jones(np.repeat([[0.0], [1.0]], 50, axis=0)) > 0
    assert sheather_jones([[0.0], [1.0]]) > 0


def test_samples_without_solution_are_refused():
    with raises(ValueError, "leave-one-out"):
        improved_sheather_jones(np.repeat([[0.0], [1.0]], 1000, axis=0))


def test_statsmodels_least_squares_is_near(recwarn):
    nonparametric = pytest.importorskip("statsmodels.nonparametric.kernel_density")
    x = two_modes(150, seed=2)
    fitted = nonparametric.KDEMultivariate(x, var_type="c", bw="cv_ls")
    # statsmodels uses n (n - 1) and its own optimizer
    assert_allclose(least_squares_cv(x), fitted.bw[0], rtol=0.05)


@pytest.mark.parametrize(("name", "d"), [("sheather-jones", 1), ("smoothed-cv", 2)])
def test_dask_rows_have_the_same_bandwidth(name, d):
    da = pytest.importorskip("dask.array")
    X = two_modes(200, d)
    lazy = NAMES[name](da.from_array(X, chunks=(70, d)))
    assert_allclose(lazy, NAMES[name](X), rtol=1e-6)


def test_equal_quartiles_use_the_standard_deviation():
    X = np.r_[np.zeros((80, 1)), two_modes(20)]
    assert sheather_jones(X) > 0
