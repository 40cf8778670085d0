"""Bandwidth selectors against naive double sums and independent implementations."""

from functools import partial
from math import comb, exp, pi, sqrt

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtri

from mercer.bandwidth import bandwidth, fit_kernel, plug_in_matrix
from mercer.bandwidth.selectors import (
    SELECTORS,
    PairMoments,
    PairSums,
    biased_criterion,
    least_squares_criterion,
    plug_in,
    smoothed_criterion,
)
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian
from tests.expectations import raises, warns

NAMES = {name: partial(bandwidth, rule=name) for name in SELECTORS}
ANY_DIMENSION = ["normal-reference", "plug-in", "least-squares-cv", "biased-cv", "smoothed-cv"]
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
    assert_allclose(NAMES["sheather-jones"](X), naive_sheather_jones(X[:, 0]), rtol=2e-4)


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
    assert_allclose(NAMES["improved-sheather-jones"](x[:, None]), expected, rtol=0.01)


def test_improved_sheather_jones_does_not_depend_on_the_distance_of_modes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    near, far = (NAMES["improved-sheather-jones"](np.r_[X, X + shift]) for shift in (20, 100))
    assert_allclose(near, far, rtol=0.05)
    optimum = 1.06 * 400**-0.2
    assert_allclose(far, optimum, rtol=0.25)


# --- plug-in --------------------------------------------------------------------------------------


def naive_functional(X, m, g):
    """Return the mean of (-Δ)^m of a normal density, from products of Hermite polynomials."""
    n, d = X.shape
    U = (X[:, None] - X) / g
    powers = [(m,)] if d == 1 else [(i, m - i) for i in range(m + 1)]
    total = 0.0
    for power in powers:  # Δ^m = Σ binomial(m, i) ∂₁^2i ∂₂^2(m-i)
        factors = [hermeval(U[:, :, c], np.eye(2 * m + 1)[2 * p]) for c, p in enumerate(power)]
        total = total + comb(m, power[0]) * np.prod(factors, axis=0)
    values = (-1) ** m * total * np.exp(-0.5 * (U**2).sum(axis=2)) / (2 * pi) ** (d / 2)
    return values.sum() / (n * (n - 1) * g ** (d + 2 * m))


@pytest.mark.parametrize("d", [1, 2])
def test_plug_in_equals_its_definition(d):
    """Every stage minimizes a leading error; ψ_4 is that of a normal distribution."""
    X = two_modes(80, d)
    n = len(X)
    if d == 1:
        quartiles = np.quantile(X, [0.25, 0.75])
        scale = min(X.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.349)
    else:
        scale = sqrt(X.var(axis=0, ddof=1).mean())
    normal_functional = {1: 105 / (32 * sqrt(pi)), 2: 6 / pi}[d] * scale ** -(d + 8)  # ∫ f Δ⁴ f
    at_zero = {m: (2 * pi) ** (-d / 2) * np.prod(d + 2.0 * np.arange(m)) for m in (2, 3)}
    g = (2 * at_zero[3] / (n * normal_functional)) ** (1 / (d + 8))
    g = (2 * at_zero[2] / (n * naive_functional(X, 3, g))) ** (1 / (d + 6))
    roughness = naive_functional(X, 2, g)
    expected = (d / (n * (4 * pi) ** (d / 2) * roughness)) ** (1 / (d + 4))
    assert_allclose(NAMES["plug-in"](X), expected, rtol=1e-4 if d == 1 else 1e-10)


def test_functionals_estimate_integrals_of_derivatives():
    """For a normal density and a large sample the result is the normal reference rule."""
    X = np.random.default_rng(0).normal(size=(1000, 3))
    assert_allclose(NAMES["plug-in"](X), NAMES["normal-reference"](X), rtol=0.05)


def scaled_covariance(X):
    return fit_kernel(Gaussian("plug-in", metric="covariance"), X).bandwidth_matrix(X.shape[1])


@pytest.mark.parametrize("matrix", [scaled_covariance, plug_in_matrix])
def test_plug_in_matrices_follow_linear_maps(matrix):
    X, A = two_modes(100, 3), np.array([[2.0, 1.0, 0.0], [0.0, 0.1, 3.0], [1.0, 0.0, 1.0]])
    after, expected = matrix(X @ A), A.T @ matrix(X) @ A
    assert_allclose(after, expected, atol=1e-5 * np.abs(expected).max())


def test_quadratic_form_is_the_integral_of_second_derivatives():
    """∫ tr²(H D²f) of a kernel estimate of bandwidth g/√2, by quadrature."""
    X, g, H = two_modes(12, 2), 0.9, np.array([[1.0, 0.3], [0.3, 0.5]])
    moments = PairMoments(X, np.ones(12), g)
    axis = np.linspace(-7, 11, 361)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    h2 = g**2 / 2
    contracted = np.zeros(grid.shape[:2])
    for x in X:
        U = grid - x
        values = np.exp(-0.5 * (U**2).sum(axis=-1) / h2) / (2 * pi * h2)
        contracted += values * (((U @ H) * U).sum(axis=-1) / h2**2 - np.trace(H) / h2) / 12
    integral = (contracted**2).sum() * (axis[1] - axis[0]) ** 2
    found = moments.form(H) * np.exp(moments.log_factor) * 11 / 12  # n (n - 1) for n²
    assert_allclose(found, integral, rtol=1e-8)


def test_plug_in_matrix_is_the_scalar_rule_in_one_column():
    X = two_modes(150)
    assert_allclose(plug_in_matrix(X), [[NAMES["plug-in"](X) ** 2]], rtol=1e-3)


def test_plug_in_matrix_has_the_smallest_error():
    """In whitened coordinates, compared with changes of single entries and the scalar rule."""
    X = two_modes(100, 2)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    pairs = PairSums.of_pairs(X, np.ones(100))
    pilot, scalar = plug_in(pairs, sqrt(X.var(axis=0, ddof=1).mean()))
    moments = PairMoments(X, np.ones(100), pilot)

    def error(H):
        bias = moments.form(H) * np.exp(moments.log_factor) / 4
        return bias + 1 / (100 * 4 * pi * sqrt(np.linalg.det(H)))

    found = plug_in_matrix(X)
    others = [scalar**2 * np.eye(2)]
    for change in (1.0, -1.0):
        for entry in ([[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]]):
            others.append(found + 0.02 * change * np.abs(found).max() * np.array(entry))
    assert all(error(found) < error(other) for other in others)


def test_matrix_weights_equal_copies():
    X, weights = two_modes(60, 2), np.random.default_rng(1).integers(0, 4, 60)
    copies = np.repeat(X, weights, axis=0)
    assert_allclose(plug_in_matrix(X, weights), plug_in_matrix(copies), rtol=1e-4)


# --- values that R prints -------------------------------------------------------------------------


def r_normal(count):
    """Return R's ``set.seed(1); rnorm(count)``: Mersenne Twister, inversion with 53 bits."""
    seed, words = 1, []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    state = np.random.RandomState()
    state.set_state(("MT19937", np.array(words[51:], dtype=np.uint32), 624))
    u = state.randint(0, 2**32, size=2 * count, dtype=np.uint64) * 2.3283064365386963e-10
    return ndtri((np.floor(2**27 * u[::2]) + u[1::2]) / 2**27)[:, None]


def test_normal_draws_are_those_of_r():
    assert_allclose(r_normal(3)[:, 0], [-0.6264538, 0.1836433, -0.8356286], atol=5e-8)


@pytest.mark.parametrize(
    ("rule", "value", "tolerance"),
    [
        ("plug-in", 4.0220, 5e-4),  # the difference is R's grid of 1000 cells
        # R's searches stop at 1 % of their upper bound, 0.067
        ("sheather-jones", 3.9318, 0.067 / 3.9318),
        ("least-squares-cv", 4.8619, 0.067 / 4.8619),
        ("biased-cv", 6.6808, 0.067 / 6.6808),
    ],
)
@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_precipitation_has_the_bandwidths_that_r_prints(rule, value, tolerance):
    """``tests/bandwidth.Rout.save`` of R's package stats (2019)."""
    assert_allclose(NAMES[rule](precipitation()), value, rtol=tolerance)


def test_biased_cv_warns_at_the_end_of_the_range_as_r_does():
    with warns(ApproximationWarning, "biased-cv"):
        NAMES["biased-cv"](precipitation())


@pytest.mark.parametrize(
    ("rule", "n", "value", "tolerance"),
    [
        ("biased-cv", 6000, 0.18471, 0.01),
        # R truncates towards 0 on its grid, so the cell at 0 is twice as wide: 1.1 %
        ("plug-in", 47000, 0.12257, 0.012),
        ("sheather-jones", 47000, 0.12282, 0.012),
    ],
)
def test_normal_draws_have_the_bandwidths_that_r_prints(rule, n, value, tolerance):
    assert_allclose(NAMES[rule](r_normal(n)), value, rtol=tolerance)


# --- all selectors --------------------------------------------------------------------------------


def test_normal_reference_is_its_formula_and_hns_with_a_metric():
    X = two_modes(80, 3)
    spread = np.sqrt(X.var(axis=0).mean())
    assert_allclose(NAMES["normal-reference"](X), spread * (4 / (5 * 80)) ** (1 / 7), rtol=1e-12)
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
    assert_allclose(NAMES["sheather-jones"](X), NAMES["sheather-jones"](X[:300]), rtol=0.05)


def test_ties_are_reported():
    X = np.repeat(np.arange(6.0), 30)[:, None]
    with warns(ApproximationWarning, "least-squares-cv"):
        NAMES["least-squares-cv"](X)


def test_two_values_have_a_plug_in_bandwidth():
    assert NAMES["sheather-jones"](np.repeat([[0.0], [1.0]], 50, axis=0)) > 0
    assert NAMES["sheather-jones"]([[0.0], [1.0]]) > 0


def test_samples_without_solution_are_refused():
    with raises(ValueError, "leave-one-out"):
        NAMES["improved-sheather-jones"](np.repeat([[0.0], [1.0]], 1000, axis=0))


def test_statsmodels_least_squares_is_near(recwarn):
    nonparametric = pytest.importorskip("statsmodels.nonparametric.kernel_density")
    x = two_modes(150, seed=2)
    fitted = nonparametric.KDEMultivariate(x, var_type="c", bw="cv_ls")
    # statsmodels uses n (n - 1) and its own optimizer
    assert_allclose(NAMES["least-squares-cv"](x), fitted.bw[0], rtol=0.05)


@pytest.mark.parametrize(("name", "d"), [("sheather-jones", 1), ("smoothed-cv", 2)])
def test_dask_rows_have_the_same_bandwidth(name, d):
    da = pytest.importorskip("dask.array")
    X = two_modes(200, d)
    lazy = NAMES[name](da.from_array(X, chunks=(70, d)))
    assert_allclose(lazy, NAMES[name](X), rtol=1e-6)


def test_equal_quartiles_use_the_standard_deviation():
    X = np.r_[np.zeros((80, 1)), two_modes(20)]
    assert NAMES["sheather-jones"](X) > 0
