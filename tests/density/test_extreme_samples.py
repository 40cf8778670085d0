"""Densities of samples with far rows, tiny and huge values, and integers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import ParzenDensity, SeriesDensity, StackedDensity
from mercer.bandwidth.likelihood import is_extreme
from mercer.kernels import Gaussian
from tests.expectations import raises

DENSITIES = {
    "parzen": ParzenDensity(),
    "adaptive": ParzenDensity(adaptive=True),
    "shape": ParzenDensity(adaptive="shape"),
    "reflection": ParzenDensity(support=(-1e308, None), boundary="reflection"),
    "learned": ParzenDensity(weights="learned"),
    "series": SeriesDensity(),
    "stacked": StackedDensity(),
}
every_density = pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES.keys())
BASE = np.random.default_rng(0).exponential(size=(60, 2)) + 0.1


def with_far_row(far, d, seed, every_column=True):
    X = np.random.default_rng(seed).normal(size=(60, d))
    X[0, : d if every_column else 1] = far
    return X


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "far", [1e8, 1e300, pytest.param(1e4, marks=slow), pytest.param(-1e150, marks=slow)]
)
@pytest.mark.parametrize("d", [1, 2])
@every_density
def test_one_far_row_changes_log_densities_near_the_data_by_less_than_half_a_nat(density, d, far):
    for seed, every_column in ((0, True), (1, False)):
        X = with_far_row(far, d, seed, every_column)
        expected = density.fit(X[1:]).score_samples(X[1:]) + np.log(59 / 60)
        with np.errstate(all="raise"):
            found = density.fit(X).score_samples(X)
        assert not np.isnan(found).any()
        assert np.abs(found[1:] - expected).max() < 0.5


@pytest.mark.parametrize("far", [1e8, 1e300])
@pytest.mark.parametrize("adaptive", [True, "shape"])
def test_rows_far_from_the_subsample_of_the_bandwidths_have_little_influence(adaptive, far):
    X = np.random.default_rng(0).normal(size=(5000, 1))
    density = ParzenDensity(adaptive=adaptive)
    expected = density.fit(X[1:]).score_samples(X[1:])
    X[0] = far
    with np.errstate(all="raise"):
        found = density.fit(X).score_samples(X)
    assert np.isfinite(found).all()
    assert np.abs(found[1:] - expected).max() < 0.5


@pytest.mark.parametrize("distance", [5.0, 7.5, 12.0, 30.0])
def test_rows_at_any_distance_have_little_influence(distance):
    changes = []
    for seed in range(5):
        X = with_far_row(distance, 1, seed)
        found = ParzenDensity().fit(X).score_samples(X[1:])
        expected = ParzenDensity().fit(X[1:]).score_samples(X[1:]) + np.log(59 / 60)
        changes.append(np.median(found - expected))
    assert np.abs(np.mean(changes)) < 0.5


@pytest.mark.parametrize(
    "scale", [1e-300, 1e299, pytest.param(1e-150, marks=slow), pytest.param(1e150, marks=slow)]
)
@every_density
def test_scales_shift_log_densities(density, scale):
    for d in (1, 2):
        X = BASE[:, :d]
        expected = density.fit(X).score_samples(X) - d * np.log(scale)
        with np.errstate(all="raise"):
            fitted = density.fit(scale * X)
            found = fitted.score_samples(scale * X)
            assert np.isfinite(fitted.sample(5, random_state=0)).all()
        assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32])
@every_density
def test_other_types_are_computed_in_double_precision(density, dtype):
    X = np.round(30 * BASE).clip(0, 127).astype(dtype)
    with np.errstate(all="raise"):
        found = density.fit(X).score_samples(X)
    assert_allclose(found, density.fit(X.astype(float)).score_samples(X.astype(float)), atol=1e-3)


@every_density
def test_subnormal_differences_are_refused(density):
    for scale in (1e-310, 5e-324):
        with raises(ValueError, "column 0"):
            density.fit(np.round(20 * BASE) * scale)


def test_columns_of_very_different_scales():
    scales = np.array([1e-200, 1e200])
    found = ParzenDensity().fit(BASE * scales).score_samples(BASE * scales)
    kernel = ParzenDensity().fit(BASE).kernel_
    assert kernel.metric is None or np.isfinite(found).all()
    plain = ParzenDensity(kernel=Gaussian(BASE.std(axis=0) / 3)).fit(BASE).score(BASE)
    assert abs(found.mean() - plain) < 1.0


# --- which rows are extreme -----------------------------------------------------------------------


def extremes(X, weights=None):
    X = np.asarray(X, dtype=float).reshape(len(X), -1)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    return np.flatnonzero(is_extreme(X, weights)).tolist()


def test_rows_beyond_a_gap_in_a_column_are_extreme():
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert extremes(X) == []
    X[3, 1] = 3.1 * np.abs(X[:, 1] - np.median(X[:, 1])).max()
    X[[5, 7], 0] = 99999, -99999
    assert extremes(X) == [3, 5, 7]
    assert extremes(X * [1e-200, 1e300]) == [3, 5, 7]
    X[:6, 0] = 99999  # too many
    assert extremes(X) == [3]


def test_values_that_differ_from_a_frequent_value_are_not_extreme():
    assert extremes(np.r_[np.zeros(97), 1.0, 10.0, 100.0]) == [99]  # one row of three
    assert extremes(np.r_[np.zeros(40), np.arange(1.0, 60.0), 1e6]) == [99]
    assert extremes([[0.0], [1.0], [1e9]]) == []  # too few rows remain


def test_columns_remain_variable_without_extreme_rows():
    X = np.zeros((60, 2))
    X[:, 0], X[0] = np.arange(60), (1e9, 1.0)
    assert extremes(X) == []


def test_weights_equal_copies_for_extremes():
    X = np.r_[np.random.default_rng(0).normal(size=57), 1e6, 2e6]
    weights = np.r_[np.ones(57), 1, 2]
    assert extremes(X, weights) == []  # 3 of the 59 rows that differ from the median
    assert extremes(np.repeat(X, weights.astype(int))) == []
    weights[:9] = 2
    assert extremes(X, weights) == [57, 58]
    assert extremes(np.repeat(X, weights.astype(int))) == [66, 67, 68]
