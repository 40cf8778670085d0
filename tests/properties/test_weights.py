"""Sample weights of every estimator: scalars, and totals of any size."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    EntropyClustering,
    JointMixtureClassifier,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.bandwidth import silverman
from mercer.errors import WeightWarning
from mercer.kernels import Gaussian, Linear
from mercer.utils.weights import WeightTotals, multiplicities
from tests.expectations import warns
from tests.properties.estimator_cases import CASES

pytestmark = pytest.mark.filterwarnings("ignore")
KERNEL = Gaussian(1.0)


@pytest.fixture
def X(rng):
    return 3.0 * rng.integers(2, size=(60, 1)) + rng.normal(size=(60, 2))


@pytest.mark.parametrize("weights", [None, "learned"])
def test_support_of_a_parzen_density_with_weights(X, weights):
    w = np.where(np.arange(60) % 3 == 0, 0.0, 2.0)
    density = ParzenDensity(kernel=KERNEL, weights=weights).fit(X, sample_weight=w)
    assert (w[density.support_] > 0).all()
    alone = ParzenDensity(kernel=KERNEL, weights=weights).fit(X[w > 0])
    assert_array_equal(density.support_, np.flatnonzero(w)[alone.support_])
    scalar = ParzenDensity(kernel=KERNEL, weights=weights).fit(X, sample_weight=2.0)
    plain = ParzenDensity(kernel=KERNEL, weights=weights).fit(X)
    assert_array_equal(scalar.support_, plain.support_)


# --- sample size ----------------------------------------------------------------------------------

DEFAULTS = [
    EntropyClustering(2, bandwidths=[0.8, 1.0, 1.2]),
    JointMixtureClassifier(),
    KernelECA(2),
    KernelLDA(),
    KernelPCA(2),
    MercerMixture(),
    MercerMixture(alpha="scaled", rank=5),
    OrthogonalSeries(),
    OrthogonalSeries("legendre", terms="diggle-hall"),
    ParzenDensity(kernel=Gaussian("leave-one-out")),
    SeriesDensity(kernel=Gaussian("spectroscopy")),
    SeriesDensity(terms="kronmal-tarter-run"),
]


def outputs(model, X):
    names = ("transform", "predict_proba", "decision_function", "score_samples", "predict")
    name = next(name for name in names if hasattr(model, name))
    return getattr(model, name)(X)


@pytest.mark.parametrize("model", DEFAULTS, ids=repr)
@pytest.mark.parametrize("scale", [1 / 60, 1e-12, 2.0**-900])
def test_equal_weights_below_1_equal_no_weights(model, scale, X):
    """With rules for bandwidths, ranks, terms and priors: n is the number of rows."""
    y = (X[:, 0] > 1.5).astype(int)
    expected = outputs(model.fit(X, y), X)
    found = outputs(model.fit(X, y, sample_weight=np.full(60, scale)), X)
    assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_sample_size_equals_its_formula(rng):
    for w in (rng.integers(1, 5, 50).astype(float), rng.uniform(size=50), 3 * rng.uniform(size=50)):
        n = max(w.sum(), w.sum() ** 2 / (w**2).sum())
        assert_allclose(WeightTotals.of(w).sample_size, n, rtol=1e-14)
        assert_allclose(multiplicities(w), w * n / w.sum(), rtol=1e-14)
        parts = WeightTotals.of(w[:20]) + WeightTotals.of(w[20:20]) + WeightTotals.of(w[20:])
        assert_allclose(parts.sample_size, n, rtol=1e-14)
    counts = rng.integers(0, 9, 50).astype(float)
    assert multiplicities(counts) is counts


def test_weights_with_sum_1_do_not_oversmooth(rng):
    X = rng.normal(size=(2000, 1))
    assert silverman(X, np.full(2000, 1 / 2000)) == silverman(X)
    weights = rng.exponential(size=2000)
    weights /= weights.sum()
    size = 1 / (weights**2).sum()  # about 1000
    spread = np.sqrt(weights @ (X[:, 0] - weights @ X[:, 0]) ** 2)
    assert_allclose(silverman(X, weights), spread * (4 / (3 * size)) ** 0.2, rtol=1e-12)


@pytest.mark.parametrize("scale", [1 / 60, 1e-12])
def test_totals_below_the_number_of_components(X, scale):
    weights = np.full(60, scale)
    assert EntropyClustering(3, kernel=KERNEL).fit(X, sample_weight=weights).n_clusters_ == 3
    model = KernelECA(3, kernel=KERNEL).partial_fit(X, sample_weight=weights)
    expected = KernelECA(3, kernel=KERNEL).partial_fit(X)
    assert_allclose(model.eigenvalues_ / scale, expected.eigenvalues_, rtol=1e-9)


def test_eigenvalues_and_costs_are_proportional_to_the_weights(X, rng):
    weights = rng.uniform(size=60)
    for scale in (1e-200, 1e200):
        one = KernelPCA(3, kernel=KERNEL).fit(X, sample_weight=weights)
        other = KernelPCA(3, kernel=KERNEL).fit(X, sample_weight=scale * weights)
        assert_allclose(other.eigenvalues_ / scale, one.eigenvalues_, rtol=1e-12)
        assert_allclose(other.spectrum_.trace / scale, one.spectrum_.trace, rtol=1e-12)
        assert_allclose(other.spectrum_.total_weight / scale, weights.sum(), rtol=1e-14)
        assert_allclose(other.spectrum_.projections, one.spectrum_.projections, atol=1e-12)
        assert_allclose(other.spectrum_.eigenvectors, one.spectrum_.eigenvectors, atol=1e-12)
        costs = [
            EntropyClustering(2, kernel=KERNEL).fit(X, sample_weight=w).cost_
            for w in (weights, scale * weights)
        ]
        assert_allclose(costs[1] / scale, costs[0], rtol=1e-12)
    lanczos = KernelECA(2, kernel=KERNEL, solver="lanczos").fit(X, sample_weight=1e-200 * weights)
    dense = KernelECA(2, kernel=KERNEL, solver="dense").fit(X, sample_weight=weights)
    assert_array_equal(lanczos.component_ranks_, dense.component_ranks_)


def test_control_limits_use_the_sample_size(X, rng):
    weights = rng.uniform(0.2, 1.0, size=60)
    expected = KernelPCA(2, kernel=KERNEL).fit(X, sample_weight=multiplicities(weights))
    for scale in (1e-9, 1.0):
        found = KernelPCA(2, kernel=KERNEL).fit(X, sample_weight=scale * weights)
        for statistic, limits in expected.control_limits_.items():
            for name, value in limits.items():
                assert_allclose(found.control_limits_[statistic][name], value, rtol=1e-9)


def test_limits_of_a_batch_are_means_over_that_batch(X):
    model = KernelPCA(2, kernel=Linear()).partial_fit(X).partial_fit(X)
    expected = KernelPCA(2, kernel=Linear()).partial_fit(X)
    found = model.control_limits_["reconstruction_error"]
    assert_allclose(found["quantile"], expected.control_limits_["reconstruction_error"]["quantile"])
    assert_allclose(
        found["chi2"], expected.control_limits_["reconstruction_error"]["chi2"], atol=1e-12
    )


# --- limits and warnings --------------------------------------------------------------------------


ONE_FIT = [case for case in CASES if case.name not in ("KernelNovelty", "StackedDensity")]


@pytest.mark.parametrize("case", ONE_FIT, ids=repr)
@pytest.mark.filterwarnings("default")
def test_totals_above_ten_per_row_warn_once(case, X):
    model, y = case.make(1.0), (X[:, 0] > 1.5).astype(int)
    weights = np.where(np.arange(60) < 50, 10.0, 0.0)  # 50 rows with a total of 500
    assert not weight_warnings(model, X, y, weights)
    weights[0] += 1
    (message,) = weight_warnings(model, X, y, weights)
    assert "501" in message
    assert " 50 " in message


@pytest.mark.filterwarnings("default")
def test_rules_and_sweeps_warn_once(X):
    weights = np.full(60, 11.0)
    assert len(weight_warnings(EntropyClustering(2), X, None, weights)) == 1
    assert len(weight_warnings(EntropyClustering("auto"), X, None, weights)) == 1
    assert len(weight_warnings(ParzenDensity(), X, None, weights)) == 1
    with warns(WeightWarning, "660", "60"):
        silverman(X, weights)


def weight_warnings(model, X, y, weights):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weights)
    return [str(entry.message) for entry in raised if entry.category is WeightWarning]
