"""Leave-one-out density scores equal a naive log-sum-exp over all other rows."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import mercer.novelty.density_scores
from mercer import ParzenDensity
from mercer.datasets import make_machines
from mercer.kernels import Gaussian, Laplacian, Matern, table_kernel
from mercer.novelty.density_scores import leave_one_out_scores, mean_similarity_scores
from mercer.report import scores as report_scores
from mercer.tables import as_table, prepare
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
    monkeypatch.setattr(mercer.novelty.density_scores, "_ISOLATED_BLOCK", 7)
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


# --- continuity -------------------------------------------------------------------------------


def laplacian_logs(X, bandwidth):
    return -np.abs((X[:, None] - X) / bandwidth).sum(axis=-1)


def matern_logs(X, bandwidth):
    r = np.sqrt(3) * np.linalg.norm((X[:, None] - X) / bandwidth, axis=-1)
    return np.log1p(r) - r


LOG_KERNELS = {
    Gaussian: lambda X, bandwidth: gaussian_logs(X / bandwidth),
    Laplacian: laplacian_logs,
    Matern: matern_logs,
}


@st.composite
def paths(draw):
    """Draw samples of which one row moves away from another one.

    Both are in the sample or far from it, alone or in a group. The first and the last distance are
    on both sides of all thresholds: similarities of 1, 0.01 and below the smallest number.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, group = draw(st.integers(1, 30)), draw(st.integers(1, 4)), draw(st.integers(2, 6))
    bandwidth = draw(st.sampled_from([0.03, 1.0, 20.0])) * np.exp(rng.normal(size=d))
    if draw(st.booleans()):
        bandwidth = bandwidth[0]
    far = draw(st.sampled_from([0.0, 5.0, 60.0])) * bandwidth
    X = rng.normal(size=(n + group, d)) * bandwidth * draw(st.sampled_from([0.3, 1.0, 4.0]))
    X[n:] += far
    direction = rng.normal(size=d)
    direction *= bandwidth / np.linalg.norm(direction)
    distances = draw(st.floats(0.5, 60)) * np.sort(rng.uniform(size=4))
    moved = []
    for distance in distances:
        X = X.copy()
        X[-1] = X[-2] + distance * direction
        moved.append(X)
    return moved, bandwidth


@given(paths(), st.sampled_from(list(LOG_KERNELS)), st.sampled_from([2, 5000]), st.booleans())
def test_scores_equal_the_definition_along_paths(found, family, block, some):
    """The scores, and so their changes, are those of a log-sum-exp over all other rows.

    A log-sum-exp changes by no more than its largest term, so this bounds the change of a score.
    """
    path, bandwidth = found
    n = len(path[0])
    reference = np.arange(n % 3, n, 2) if some and n > 6 else np.arange(n)
    counts = len(reference) - np.isin(np.arange(n), reference)
    scores, logs = [], []
    for X in path:
        with mock.patch.object(mercer.novelty.density_scores, "_ISOLATED_BLOCK", block):
            scores.append(leave_one_out_scores(X, family(bandwidth), reference))
        logs.append(LOG_KERNELS[family](X, bandwidth))
        np.fill_diagonal(logs[-1], -np.inf)
        expected = np.log(counts) - np.logaddexp.reduce(logs[-1][:, reference], axis=1)
        assert_allclose(scores[-1], expected, rtol=1e-9, atol=1e-9)
    for i in range(len(path) - 1):
        np.fill_diagonal(logs[i], 0)
        np.fill_diagonal(logs[i + 1], 0)
        largest = np.abs(logs[i + 1] - logs[i])[:, reference].max(axis=1)
        assert (np.abs(scores[i + 1] - scores[i]) <= largest * (1 + 1e-9) + 2e-9).all()


@pytest.mark.parametrize("d", [1, 2])
def test_scores_by_fourier_sums_equal_the_definition(d):
    """Beyond 4000 rows sums have an error of up to 1e-10 n; here pairs cross the threshold."""
    rng = np.random.default_rng(d)
    pairs = np.zeros((40, d))
    pairs[:, 0] = 60 + 20.0 * np.repeat(np.arange(20), 2)
    pairs[1::2, 0] += np.linspace(2.95, 3.1, 20)
    X = np.concatenate([rng.normal(scale=5, size=(6000, d)), pairs])
    rows = np.r_[0:100, 6000:6040]
    logs = -((X[rows, None] - X) ** 2).sum(axis=-1) / 2
    logs[np.arange(len(rows)), rows] = -np.inf
    expected = np.log(len(X) - 1) - np.logaddexp.reduce(logs, axis=1)
    assert_allclose(leave_one_out_scores(X, Gaussian(1.0))[rows], expected, atol=1e-6)


@pytest.mark.parametrize("subsampled", [False, True])
def test_scores_and_log_densities_of_the_report_are_continuous(monkeypatch, subsampled):
    """Two outliers move apart by 0.01; a score changes by at most 0.01 times a distance."""
    if subsampled:
        monkeypatch.setattr(report_scores, "_ALL_PAIRS", 20)
        monkeypatch.setattr(report_scores, "_REFERENCE", 150)
        monkeypatch.setattr(report_scores, "FEW_COLUMNS", 0)
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(200, 2))
    found = []
    for distance in np.arange(2.9, 3.2, 0.01):
        X = np.concatenate([[[60, 60], [60 + distance, 60]], cloud])
        model = prepare(as_table(pd.DataFrame(X, columns=["x", "y"])), scale=False)
        rows = report_scores.score_rows(model, model.data, Gaussian(1.0))
        assert_allclose(rows.log_density, -rows.scores - np.log(2 * np.pi), rtol=1e-12)
        found.append(rows.scores)
    changes = np.abs(np.diff(found, axis=0))
    assert changes[:, 2:].max() < 0.9  # their distance from the outliers changes by 0.01
    assert changes[:, :2].max() < (0.9 if subsampled else 0.033)
