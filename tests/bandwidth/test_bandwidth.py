"""Bandwidth rules: formulas, published values, invariances, errors and warnings."""

from __future__ import annotations

import tracemalloc
import warnings
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import KernelECA, KernelPCA
from mercer.bandwidth import (
    distance_fraction,
    fit_kernel,
    leave_one_out,
    median_distance,
    scott,
    silverman,
    spectroscopy,
)
from mercer.datasets import make_ring_and_blob, make_rings
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from papers.data import load_frey_faces, load_segment
from tests.expectations import raises, warns
from tests.papers.loading import load_or_skip

RULES = [silverman, scott, median_distance, distance_fraction]
DISTANCE_RULES = [median_distance, distance_fraction]
NAMES = ["auto", "silverman", "scott", "median-distance", "distance-fraction"]


def array(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(1, 3, d)


# --- formulas ----------------------------------------------------------------------------------


def naive_spread(X):
    n, d = len(X), len(X[0])
    means = [sum(row[j] for row in X) / n for j in range(d)]
    variances = [sum((row[j] - means[j]) ** 2 for row in X) / n for j in range(d)]
    return sqrt(sum(variances) / d)


def naive_median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def naive_median_distance(X):
    def distance(x, y):
        return sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))

    return naive_median([naive_median([distance(x, y) for y in X]) for x in X])


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_rules_equal_their_formulas(n, d):
    X = array(n, d)
    rows = X.tolist()
    s = naive_spread(rows)
    median = naive_median_distance(rows)
    # sums of at most 240 numbers: 1e-13 is about 400 rounding errors
    assert_allclose(silverman(X), s * (4 / ((2 * d + 1) * n)) ** (1 / (d + 4)), rtol=1e-13)
    assert_allclose(scott(X), s * n ** (-1 / (d + 4)), rtol=1e-13)
    assert_allclose(median_distance(X), median, rtol=1e-13)
    assert_allclose(distance_fraction(X), 0.15 * median, rtol=1e-13)
    assert_allclose(distance_fraction(X, fraction=0.2), 0.2 * median, rtol=1e-13)
    robust = silverman(X) * min(1.0, sqrt(2) * median_distance(X) / naive_spread(rows))
    auto = robust if d <= 3 else median_distance(X) / sqrt(2)
    assert_allclose(fit_kernel(Gaussian("auto"), X).bandwidth, auto, rtol=1e-13)
    assert_allclose(fit_kernel(Gaussian(), X).bandwidth, auto, rtol=1e-13)


def test_mean_distance_is_used_if_most_rows_are_equal():
    X = np.zeros((10, 2))
    X[0], X[1] = [3.0, 4.0], [0.0, 1.0]
    distances = [5.0, 1.0, sqrt(9 + 9)]
    expected = (8 * distances[0] + 8 * distances[1] + distances[2]) / 17
    assert_allclose(median_distance(X), expected, rtol=1e-14)


def test_fit_kernel_replaces_rules_only():
    X = array(50, 4)
    kernel = Gaussian("scott") + 2.0 * (Matern("median-distance", nu=2.5) * Laplacian(3.0))
    found = fit_kernel(kernel + Linear(0.5), X).get_params()
    assert found["0__bandwidth"] == scott(X)
    assert found["1__kernel__0__bandwidth"] == median_distance(X)
    assert found["1__kernel__0__nu"] == 2.5
    assert found["1__kernel__1__bandwidth"] == 3.0
    assert found["2__scale"] == 0.5
    assert kernel.get_params()["0__bandwidth"] == "scott"  # the given kernel does not change


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
@pytest.mark.parametrize("name", NAMES)
def test_estimators_apply_the_rule_in_fit(estimator, name):
    X = array(50, 4)
    model = estimator(kernel=Gaussian(name)).fit(X)
    assert model.kernel_ == fit_kernel(Gaussian(name), X)
    assert model.kernel == Gaussian(name)


# --- published values (ERRATA, B.0) -------------------------------------------------------------


def test_published_bandwidth_of_frey_faces():
    X = load_or_skip(load_frey_faces).data
    assert distance_fraction(X) == pytest.approx(129.9, abs=0.05)  # 0.15 of the median


def test_published_bandwidths_of_segmentation():
    found = load_or_skip(load_segment, subset="train")
    X = found.data[np.isin(found.target, [4, 2, 7])]  # cement, sky, grass
    assert len(X) == 90
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)  # raw columns, as in the paper
        assert distance_fraction(X, fraction=0.1) == pytest.approx(18.19, abs=0.005)
        assert distance_fraction(X, fraction=0.2) == pytest.approx(36.38, abs=0.005)


def test_published_bandwidths_of_iris_and_wine():
    iris = load_iris().data.copy()
    iris[[34, 37]] = [4.9, 3.1, 1.5, 0.1]  # as in the UCI file that the papers used
    iris = StandardScaler().fit_transform(iris)
    assert distance_fraction(iris, fraction=0.1) == pytest.approx(0.232, abs=0.0005)
    assert distance_fraction(iris, fraction=0.2) == pytest.approx(0.465, abs=0.0005)
    wine = StandardScaler().fit_transform(load_wine().data)
    assert distance_fraction(wine, fraction=0.2) == pytest.approx(0.987, abs=0.0005)


def test_published_bandwidths_of_rings():
    # Radii and noise level are reconstructed, and the noise is random: up to 2 %.
    for seed in range(3):
        assert silverman(make_rings(random_state=seed)[0]) == pytest.approx(3.71, rel=0.02)
        assert silverman(make_ring_and_blob(random_state=seed)[0]) == pytest.approx(1.245, rel=0.02)


# --- weights -----------------------------------------------------------------------------------

grid = st.integers(-16, 16).map(lambda i: i / 4)  # often gives ties and equal rows
samples = st.integers(1, 4).flatmap(
    lambda d: st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            arrays(float, (n, d), elements=grid), arrays(int, n, elements=st.integers(0, 4))
        )
    )
)


@settings(max_examples=100, deadline=None)
@given(samples)
def test_weights_equal_copies(sample):
    X, weights = sample
    copies = np.repeat(X, weights, axis=0)
    assume(len(copies) > 1)
    assume((copies != copies[0]).any())
    for rule in RULES:
        # coordinates are multiples of 1/4 up to 4: sums have errors of a few eps, results are
        # above 0.1
        assert_allclose(rule(X, weights), rule(copies), rtol=1e-13, err_msg=rule.__name__)
        assert_allclose(rule(X[weights > 0], weights[weights > 0]), rule(X, weights), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_weights_equal_copies_when_only_the_copies_are_sampled(rule):
    X = array(1500, 5)  # 1500 rows are all used, 3000 are more than the sample of 2000
    assert_allclose(rule(X, np.full(1500, 2.0)), rule(np.repeat(X, 2, axis=0)), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_weights_equal_copies_when_both_are_sampled(rule):
    rng = np.random.default_rng(0)
    X, weights = array(3000, 3), rng.integers(0, 4, 3000)
    assert_allclose(rule(X, weights), rule(np.repeat(X, weights, axis=0)), rtol=1e-12)


@pytest.mark.parametrize("rule", [*RULES, spectroscopy])
@pytest.mark.parametrize("n", [60, 2000, 2001])
def test_equal_weights_of_any_small_scale_equal_no_weights(rule, n):
    X = array(n, 2)
    expected = rule(X)
    for scale in (1 / n, 1 / 3, 1e-12, 2.0**-40):
        assert rule(X, np.full(n, scale)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("rule", [*RULES, spectroscopy])
def test_scale_of_small_weights_has_no_effect(rule):
    X, weights = array(400, 2), np.random.default_rng(1).uniform(0.1, 1.0, 400)
    expected = rule(X, weights)
    for scale in (1 / weights.sum(), 1 / 3, 1e-12, 2.0**-40):
        assert rule(X, scale * weights) == pytest.approx(expected, rel=1e-12)


def test_scale_of_weights_has_no_effect_on_leave_one_out():
    X, weights = array(300, 1), np.random.default_rng(1).uniform(0.1, 1.0, 300)
    assert leave_one_out(X, np.full(300, 1 / 300)) == leave_one_out(X)
    expected = leave_one_out(X, weights)
    for scale in (1e-12, 1 / 3, 1e6, 1e300):
        assert leave_one_out(X, scale * weights) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1999, 2001])
def test_leave_one_out_on_both_sides_of_2000_rows(n):
    X = array(n, 1)
    expected = leave_one_out(X)
    assert leave_one_out(X, np.full(n, 1 / n)) == expected
    assert leave_one_out(X, np.full(n, 1e6)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*RULES, spectroscopy, leave_one_out])
@pytest.mark.parametrize("distribution", ["equal", "uniform", "exponential"])
def test_rules_are_continuous_at_2000_rows(rule, distribution):
    """One more row changes the result by the sampling error of subsampling, as documented."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2001, 2))
    weights = {
        "equal": np.full(2001, 0.1),
        "uniform": rng.uniform(0.1, 1.0, 2001),
        "exponential": rng.exponential(size=2001),
    }[distribution]
    assert rule(X, weights) == pytest.approx(rule(X[:2000], weights[:2000]), rel=0.1)


@pytest.mark.parametrize("rule", [*RULES, spectroscopy])
def test_rules_are_continuous_at_30000_rows(rule):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30_001, 1)), rng.exponential(size=30_001)
    found, expected = (rule(X[:n], weights[:n] / n) for n in (30_001, 29_999))
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_leave_one_out_of_a_subsample_with_heavy_rows():
    """Heavy rows, which represent several of the 2000 quantiles, are left out as one point."""
    X = np.random.default_rng(0).normal(size=(2500, 2))
    weights = np.where(np.arange(2500) % 25 == 0, 10.0, 1.0)
    exact = leave_one_out(X[:2000], weights[:2000])
    # the effective sample size is proportional to n, and the bandwidth to its power -1/6
    assert leave_one_out(X, weights) == pytest.approx(exact * 0.8 ** (1 / 6), rel=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_fit_kernel_passes_weights_to_rules(name):
    X, weights = array(40, 4), np.random.default_rng(1).integers(0, 4, 40)
    found = fit_kernel(Gaussian(name), X, weights).bandwidth
    expected = fit_kernel(Gaussian(name), np.repeat(X, weights, axis=0)).bandwidth
    assert_allclose(found, expected, rtol=1e-13)
    assert abs(found / fit_kernel(Gaussian(name), X).bandwidth - 1) > 1e-4


# --- invariances -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 5000])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_rules_do_not_depend_on_row_order(n, d):
    X = array(n, d)
    expected = median_distance(X)
    for seed in range(5 if n < 2000 else 1):
        shuffled = np.random.default_rng(seed).permutation(X)
        assert median_distance(shuffled) == expected
        for rule in (silverman, scott):  # sums in another order
            assert_allclose(rule(shuffled), rule(X), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-3, 1e3, 1e100, 1e150])
@pytest.mark.parametrize("n", [60, 2500])
def test_rules_are_proportional_to_scale(rule, scale, n):
    X = array(n, 3)
    assert_allclose(rule(scale * X) / scale, rule(X), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_fitted_bandwidths_are_proportional_to_scale(name):
    X = array(60, 4)
    for scale in (1e-200, 1e200):
        found = fit_kernel(Gaussian(name), scale * X).bandwidth
        assert_allclose(found / scale, fit_kernel(Gaussian(name), X).bandwidth, rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_rules_do_not_depend_on_an_offset(rule):
    X = np.round(array() * 2**10) / 2**10  # exact when added to 1e8
    assert_allclose(rule(X + 1e8), rule(X), rtol=1e-8)  # rounding errors of the mean
    if rule in DISTANCE_RULES:
        assert_allclose(rule(X + 1e8), rule(X), rtol=1e-12)


@pytest.mark.parametrize("rule", DISTANCE_RULES)
def test_representative_rows_give_similar_bandwidths(rule):
    # 2000 evenly spaced rows in lexicographic order; a median over n = 2000 has a relative
    # standard error of about 1.25 cv/√2000, cv < 0.6: four of them are 7 %.
    X = array(2600, 2)
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    factor = 1 if rule is median_distance else 0.15
    expected = factor * np.median(np.median(distances, axis=1))
    assert rule(X) == pytest.approx(expected, rel=0.07)


def test_lists_and_single_precision():
    X = np.round(array() * 64) / 64
    for rule in RULES:
        assert rule(X.tolist()) == rule(X)
        assert rule(X.astype(np.float32)) == rule(X)


# --- errors and warnings ------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_rules_reject_equal_rows_and_one_row(rule):
    with raises(ValueError, 7, "bandwidth=1.0"):
        rule(np.full((7, 3), 0.1))
    with raises(ValueError, 1, "bandwidth=1.0"):
        rule([[1.0, 2.0]])
    weights = np.zeros(60)
    weights[3] = 5.0  # five copies of one row
    with raises(ValueError, "bandwidth=1.0"):
        rule(array(), weights)


@pytest.mark.parametrize("fraction", [0, -0.1, float("nan")])
def test_the_fraction_must_be_positive(fraction):
    with raises(ValueError, f"fraction={fraction}", 0.10, 0.20):
        distance_fraction(array(), fraction=fraction)


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_errors_for_unknown_rules_list_the_known_ones(estimator):
    with raises(ValueError, "'median'", *map(repr, NAMES)):
        estimator(kernel=Gaussian("median")).fit(array())


def test_unequal_scales_warn():
    X = array(60, 3)
    X[:, 1] *= 1000
    ratio = X.std(axis=0).max() / X.std(axis=0).min()
    with warns(ApproximationWarning, f"{ratio:.3g}"):
        fit_kernel(Gaussian("auto"), X)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 / 3])
@pytest.mark.parametrize("n", [60, 999, 1000])
def test_constant_columns_do_not_warn(value, n):
    X = array(n, 2)
    X[:, 1] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_kernel(Gaussian("auto"), X)


def test_rows_of_zero_weight_do_not_warn():
    X, weights = array(60, 2), np.ones(60)
    X[7, 1], weights[7] = 1e9, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_kernel(Gaussian("auto"), X, weights)


def test_equal_scales_and_given_bandwidths_do_not_warn():
    X = array(60, 3)
    wide = X * [1.0, 1e6, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_kernel(Gaussian("auto"), X)
        fit_kernel(Gaussian(np.array([1.0, 1e6, 1.0])), wide)
        fit_kernel(Gaussian(2.0), wide)


# --- cost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_memory_is_linear_in_n(rule):
    X = np.random.default_rng(0).normal(size=(200_000, 5))
    tracemalloc.start()
    try:
        rule(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300e6  # all distances would take 320 GB


def test_warning_of_unequal_scales_does_not_depend_on_row_order(rng):
    """Regression: of 20,000 rows and more, only every second one was used."""
    X = rng.normal(size=(20_000, 2))
    X[::2, 1] *= 1e4
    for rows in (np.arange(20_000), rng.permutation(20_000), np.argsort(np.arange(20_000) % 2)):
        with warns(ApproximationWarning, f"{X[:, 1].std() / X[:, 0].std():.3g}"):
            fit_kernel(Gaussian("silverman"), X[rows])


def test_rules_in_sums_and_products_are_fitted():
    X = array()
    kernel = 2.0 * (Gaussian("scott") * Laplacian(3.0)) + Linear()
    fitted = fit_kernel(kernel, X)
    assert fitted == 2.0 * (Gaussian(scott(X)) * Laplacian(3.0)) + Linear()
    assert kernel.terms[0].kernel.terms[0].bandwidth == "scott"


def test_fit_returns_a_new_kernel():
    X, kernel = array(), Gaussian(2.0) + Linear()
    fitted = fit_kernel(kernel, X)
    kernel.set_params(**{"0__bandwidth": 5.0})
    assert fitted == Gaussian(2.0) + Linear()
