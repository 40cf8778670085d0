"""The bandwidth "auto" of densities, and warnings about bandwidths that are far from it."""

import warnings

import numpy as np
import pytest

from mercer import (
    ComponentClassifier,
    JointMixtureClassifier,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    ParzenDensity,
    SeriesDensity,
)
from mercer.bandwidth import fit_kernel, leave_one_out, median_distance, silverman
from mercer.bandwidth.likelihood import most_likely_kernel, smoothing_gap
from mercer.errors import ApproximationWarning
from mercer.kernels import Epanechnikov, Gaussian, Laplacian
from tests.expectations import raises


def naive_likelihood(kernel, X):
    """Mean log density of each row under the kernels of the others, by explicit loops."""
    logs = []
    for i in range(len(X)):
        others = np.delete(X, i, axis=0)
        others = others[(others != X[i]).any(axis=1)]
        values = kernel(X[i : i + 1], others)[0]
        logs.append(np.log(values.mean()))
    return np.mean(logs) - kernel.log_normalizer(X.shape[1])


def most_likely(X, weights=None, kernel=None):
    return fit_kernel(kernel or Gaussian("auto"), X, weights, auto=most_likely_kernel)


def steps(kernel, d):
    """The covariance matrix of a Gaussian kernel."""
    return kernel.bandwidth_matrix(d)


def correlated(n, rng):
    z = rng.normal(size=(n, 2))
    return z @ [[1.0, 0.98], [0.0, 0.2]] * [1.0, 50.0]


@pytest.mark.parametrize("table", ["units", "correlated", "one column"])
def test_most_likely_kernel_maximizes_the_likelihood(table):
    rng = np.random.default_rng(0)
    X = {
        "units": np.r_[rng.normal(size=(60, 2)), rng.normal(5, 1, (60, 2))] * [1.0, 1000.0],
        "correlated": correlated(120, rng),
        "one column": rng.normal(size=(120, 1)),
    }[table]
    found = most_likely(X)
    assert (found.metric is not None) == (table == "correlated")
    highest = naive_likelihood(found, X)
    candidates = [Gaussian(X.std(axis=0))]
    if X.shape[1] > 1:
        covariance = np.cov(X.T, bias=True)
        halved = 0.5 * (covariance + np.diag(covariance.diagonal()))
        candidates += [Gaussian(1.0, metric=covariance), Gaussian(1.0, metric=halved)]
    for unit in candidates:
        for factor in np.geomspace(0.05, 2, 15):
            # the tolerance of the search, 0.01 of log h, costs less than 1e-4 nats
            assert naive_likelihood(unit.scale_bandwidths(factor), X) < highest + 1e-4


def test_default_of_parzen_density_is_the_most_likely_kernel():
    X = correlated(100, np.random.default_rng(1))
    assert ParzenDensity().fit(X).kernel_ == most_likely(X)
    assert SeriesDensity().fit(X).kernel_ == most_likely(X)
    assert ParzenDensity(kernel=Gaussian("leave-one-out")).fit(
        X
    ).kernel_.bandwidth == leave_one_out(X)


@pytest.mark.parametrize("n", [300, 3000])
def test_units_of_columns_have_no_effect(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) ** 3
    units = np.array([1.0, 1e-6, 1e7])
    expected = ParzenDensity().fit(X).score_samples(X[:50])
    got = ParzenDensity().fit(X * units).score_samples(X[:50] * units)
    assert got == pytest.approx(expected - np.log(units).sum(), rel=1e-6)


@pytest.mark.parametrize("n", [200, 2500])
def test_weights_equal_repeated_rows(n):
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(n, 2)), rng.integers(1, 4, n)
    expected = steps(most_likely(np.repeat(X, counts, axis=0)), 2)
    assert steps(most_likely(X, counts), 2) == pytest.approx(expected, rel=1e-6)


def test_copies_are_left_out_together():
    """Otherwise bandwidth 0 would be the most likely one for rounded values."""
    X = np.random.default_rng(0).normal(size=(5000, 1))
    assert most_likely(X).bandwidth < most_likely(X.round(1)).bandwidth < 1


def test_single_precision():
    X = correlated(400, np.random.default_rng(0))
    got = steps(most_likely(X.astype(np.float32)), 2)
    assert got == pytest.approx(steps(most_likely(X), 2), rel=1e-3)


@pytest.mark.parametrize("kernel", [Laplacian("auto"), Epanechnikov("auto")])
def test_other_kernels_have_one_bandwidth_per_column(kernel):
    X = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 100.0]
    found = most_likely(X, kernel=kernel)
    assert found.bandwidth / X.std(axis=0) == pytest.approx(found.bandwidth[0] / X[:, 0].std())
    for factor in (0.9, 1.1):
        assert naive_likelihood(found.scale_bandwidths(factor), X) < naive_likelihood(found, X)


def test_metric_is_kept_and_parts_of_sums_are_fitted():
    X = correlated(100, np.random.default_rng(0))
    metric = np.diag([1.0, 2500.0])
    assert most_likely(X, kernel=Gaussian("auto", metric=metric)).metric is metric
    total = most_likely(X, kernel=Gaussian("auto") + Gaussian(1.0))
    assert total.inner_kernels() != {}
    assert ParzenDensity(kernel=total).fit(X).kernel_ == total


def test_two_rows():
    """The likelihood exp(-D²/2h²)/h^d is largest at h = D/√d, with D = 2 standard deviations."""
    assert most_likely(np.array([[0.0], [3.0]])).bandwidth == pytest.approx(3.0, rel=0.01)
    found = most_likely(np.array([[0.0, 0.0], [3.0, 40.0]]))
    assert found.bandwidth == pytest.approx([3.0, 40.0], rel=0.01)


def test_constant_columns_and_single_rows_raise():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with raises(ValueError, "Column 1", "constant"):
        ParzenDensity().fit(X * [1.0, 0.0] + [0.0, 7.0])
    with raises(ValueError, "1 sample"):
        ParzenDensity().fit(X[:1])


@pytest.mark.parametrize("n", [50, 2100])
def test_outliers_do_not_break_the_fit(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[n // 2] = 1e150
    with np.errstate(over="ignore"):
        logs = ParzenDensity().fit(X).score_samples(X)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize(
    "estimator",
    [
        KernelPCA(),
        KernelECA(),
        KernelDenoiser(n_components=2),
        ComponentClassifier(n_components=2),
        KernelLDA(),
        MercerMixture(),
        JointMixtureClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_other_estimators_use_silvermans_rule_or_the_median_distance(estimator, d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, d)), np.arange(60) % 2
    expected = silverman(X) if d <= 3 else median_distance(X) / np.sqrt(2)
    assert estimator.fit(X, y).kernel_ == Gaussian(expected)


def smoothing_warnings(model, X, weights=None):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.fit(X, sample_weight=weights)
    return [str(one.message) for one in raised if one.category is ApproximationWarning]


@pytest.mark.parametrize(("n", "d"), [(50, 1), (50, 2), (50, 5), (2500, 2)])
def test_ordinary_bandwidths_do_not_warn(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    for kernel in (Gaussian("silverman"), Gaussian("scott"), "gaussian", Gaussian("leave-one-out")):
        assert smoothing_warnings(ParzenDensity(kernel=kernel), X) == []


@pytest.mark.parametrize(("bandwidth", "word"), [(3.0, "oversmoothed"), (0.005, "undersmoothed")])
@pytest.mark.parametrize(
    ("estimator", "n"),
    # bandwidths are compared on 200 rows; all eigenpairs of 3000 rows would take 14 s
    [(ParzenDensity, 50), (ParzenDensity, 3000), (SeriesDensity, 50), (SeriesDensity, 500)],
)
def test_extreme_bandwidths_warn(estimator, n, bandwidth, word):
    X = np.random.default_rng(0).normal(size=(n, 2))
    found = smoothing_warnings(estimator(kernel=Gaussian(bandwidth)), X)
    assert len(found) == 1
    assert word in found[0]
    assert "nats per point" in found[0]


def test_gap_of_a_whole_sample_is_the_difference_of_likelihoods():
    X = np.random.default_rng(0).normal(size=(80, 2))
    for kernel in (Gaussian(2.0), Gaussian(0.05)):
        factor, gap = smoothing_gap(kernel, X, np.ones(80), 1.0)
        best = naive_likelihood(kernel.scale_bandwidths(factor), X)
        assert gap == pytest.approx(best - naive_likelihood(kernel, X), rel=1e-6)


@pytest.mark.parametrize("bandwidth", [2.0, 0.02])
def test_gap_of_few_rows_is_close_to_that_of_all(bandwidth):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    whole = smoothing_gap(Gaussian(bandwidth), X, np.ones(1000), 1.0)
    few = smoothing_gap(Gaussian(bandwidth), X[:200], np.ones(200), 5.0)
    assert few == pytest.approx(whole, rel=0.3)


def test_gap_is_zero_where_it_cannot_be_computed():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert smoothing_gap(Gaussian(5e-324), X, np.ones(50), 1.0) == (1.0, 0.0)
    assert smoothing_gap(Gaussian(1.0), X[:2], np.ones(2), 1.0) == (1.0, 0.0)
    assert smoothing_gap(Epanechnikov(1e-3), X, np.ones(50), 1.0)[1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("d", [4, 6])
def test_error_of_the_extrapolation_from_2000_rows(d):
    """The stated error: less than 0.01 nats per point for a normal distribution."""
    X, new = np.split(np.random.default_rng(0).normal(size=(21_000, d)), [20_000])
    found = most_likely(X)
    scores = [
        ParzenDensity(kernel=found.scale_bandwidths(factor)).fit(X).score(new)
        for factor in (0.7, 0.85, 1.0, 1.15, 1.3)
    ]
    assert max(scores) - scores[2] < 0.01
