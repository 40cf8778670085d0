"""Leave-one-out density scores equal a naive log-sum-exp over all other rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer.row_scores
from mercer import ParzenDensity
from mercer.datasets import make_machines
from mercer.kernels import Gaussian, Laplacian, table_kernel
from mercer.row_scores import leave_one_out_scores, mean_similarity_scores
from tests.expectations import raises


def naive_scores(logs):
    """Minus the logarithm of the mean of exp(logs) over the other columns, for every row."""
    logs = np.array(logs, dtype=np.float64)
    np.fill_diagonal(logs, -np.inf)
    return np.log(len(logs) - 1) - np.logaddexp.reduce(logs, axis=1)


def gaussian_logs(X, bandwidth=1.0):
    return -((X[:, None] - X) ** 2).sum(axis=-1) / (2 * bandwidth**2)


def with_outliers(*outliers, n=200):
    cloud = np.random.default_rng(0).normal(size=(n, 2))
    return np.concatenate([cloud, np.reshape(outliers, (-1, 2))])


# ParzenDensity warns about the small bandwidths.
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")


@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 0.5, 2.0, 30.0])
def test_scores_equal_the_definition(bandwidth):
    X = with_outliers()
    expected = naive_scores(gaussian_logs(X, bandwidth))
    assert_allclose(leave_one_out_scores(X, Gaussian(bandwidth)), expected, rtol=1e-9)


@pytest.mark.parametrize("distance", [0.0, 2.0, 3.0, 3.03, 3.034, 3.035, 3.04, 3.1, 7, 14, 20])
def test_pairs_of_outliers_equal_the_definition(distance):
    """Below a similarity of 0.01 the sum is computed without the row, not by a difference."""
    X = with_outliers([60, 60], [60 + distance, 60])
    scores = leave_one_out_scores(X, Gaussian(1.0))
    assert_allclose(scores, naive_scores(gaussian_logs(X)), rtol=1e-9)


def test_scores_are_continuous_in_the_distance_of_two_outliers():
    scores = [
        leave_one_out_scores(with_outliers([60, 60], [60 + d, 60]), Gaussian(1.0))[-2:]
        for d in np.linspace(2.9, 3.2, 31)
    ]
    assert np.abs(np.diff(scores, axis=0)).max() < 0.04  # d · 0.01 at d = 3.2


def test_isolated_rows_are_processed_in_groups(monkeypatch):
    monkeypatch.setattr(mercer.row_scores, "_ISOLATED_BLOCK", 7)
    X = with_outliers(*(10.0 * np.arange(2, 32)[:, None] * [1, 1]), n=20)
    X = np.concatenate([X, X[20:] + np.array([3.5, 0])])
    expected = naive_scores(gaussian_logs(X))
    assert_allclose(leave_one_out_scores(X, Gaussian(1.0)), expected, rtol=1e-9)


def test_scores_of_isolated_rows_equal_the_definition():
    X = np.array([[0.0], [100.0], [250.0], [251.0]])
    expected = naive_scores(gaussian_logs(X, 0.1))
    assert_allclose(leave_one_out_scores(X, Gaussian(0.1)), expected, rtol=1e-9)


def test_scores_of_the_laplacian_kernel_equal_the_definition():
    X = with_outliers([30, 30], [36, 30])
    logs = -np.abs(X[:, None] - X).sum(axis=-1) / 0.8
    assert_allclose(leave_one_out_scores(X, Laplacian(0.8)), naive_scores(logs), rtol=1e-9)


def test_scores_are_log_densities_of_the_other_rows():
    X = with_outliers([5, 5])
    scores = leave_one_out_scores(X, Gaussian(0.5))
    for i in (0, 7, 200):
        others = ParzenDensity(kernel=Gaussian(0.5)).fit(np.delete(X, i, axis=0))
        log_density = -scores[i] - Gaussian(0.5).log_normalizer(2)
        assert log_density == pytest.approx(others.score_samples(X[[i]])[0])


def test_scores_relative_to_reference_rows():
    X = with_outliers([60, 60], [63.5, 60])
    reference = np.r_[np.arange(0, 200, 3), 201]
    logs = gaussian_logs(X)
    logs[np.arange(len(X)), np.arange(len(X))] = -np.inf
    counts = len(reference) - np.isin(np.arange(len(X)), reference)
    expected = np.log(counts) - np.logaddexp.reduce(logs[:, reference], axis=1)
    scores = leave_one_out_scores(X, Gaussian(1.0), reference)
    assert_allclose(scores, expected, rtol=1e-9)


def test_scores_of_a_data_frame():
    frame = pd.DataFrame(make_machines(60, random_state=1)[0])
    kernel = table_kernel(frame)
    with np.errstate(divide="ignore"):
        expected = naive_scores(np.log(kernel(frame)))
    assert_allclose(leave_one_out_scores(frame, kernel), expected, rtol=1e-9)
    some = mean_similarity_scores(frame.iloc[:3], kernel, frame.iloc[3:].reset_index(drop=True))
    assert_allclose(some, -np.log(kernel(frame)[:3, 3:].mean(axis=1)), rtol=1e-9)


def test_too_few_reference_rows_raise():
    with raises(ValueError, 1):
        leave_one_out_scores(np.zeros((1, 2)), Gaussian(1.0))
