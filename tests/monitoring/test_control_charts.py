"""Charts against their recursions; limits from run lengths against exact ones and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from mercer.monitoring.control_charts import (
    average_run_lengths,
    block_paths,
    correlation_time,
    cusum,
    detection_delay,
    ewma,
    run_length_limit,
)

SCORES = np.random.default_rng(0).normal(0.2, 1, size=200)


@pytest.mark.parametrize("initial", [0.0, 1.5])
def test_ewma_equals_its_recursion(initial):
    value, expected = initial, []
    for score in SCORES:
        value = 0.3 * score + 0.7 * value
        expected.append(value)
    assert_allclose(ewma(SCORES, 0.3, initial), expected, rtol=1e-12)


@pytest.mark.parametrize("initial", [0.0, 1.5])
def test_cusum_equals_its_recursion(initial):
    value, expected = initial, []
    for score in SCORES:
        value = max(0.0, value + score - 0.5)
        expected.append(value)
    assert_allclose(cusum(SCORES, 0.5, initial), expected, atol=1e-10)


def test_charts_work_on_many_paths_and_continue_from_a_state():
    paths = np.stack([SCORES, -SCORES])
    for chart in (lambda s, start: ewma(s, 0.2, start), lambda s, start: cusum(s, 0.1, start)):
        together = chart(paths, 0.0)
        assert_allclose(together[1], chart(-SCORES, 0.0), atol=1e-10)
        first = chart(SCORES[:77], 0.0)
        assert_allclose(chart(SCORES[77:], first[-1]), together[0, 77:], atol=1e-10)


def test_detection_delay_counts_from_the_start():
    alarms = np.array([1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    assert detection_delay(alarms, 0) == 0
    assert detection_delay(alarms, 1) == 2
    assert detection_delay(alarms, 1, 3) == 6
    assert detection_delay(alarms, 6, 3) is None
    assert detection_delay(alarms, 8) is None


# --- run lengths ------------------------------------------------------------------------------


def autoregressive(n, memory, rng):
    x = np.zeros(n)
    shocks = rng.normal(size=n) * np.sqrt(1 - memory**2)
    for t in range(1, n):
        x[t] = memory * x[t - 1] + shocks[t]
    return x


def exact_cusum_run_length(limit, allowance, states=300):
    """Average run length of a CUSUM of independent normal scores (Brook and Evans 1972)."""
    width = 2 * limit / (2 * states - 1)
    centers = np.arange(states) * width
    upper = (centers + width / 2)[None] - centers[:, None] + allowance
    lower = (centers - width / 2)[None] - centers[:, None] + allowance
    move = norm.cdf(upper) - norm.cdf(lower)
    move[:, 0] = norm.cdf(upper[:, 0])
    return np.linalg.solve(np.eye(states) - move, np.ones(states))[0]


def test_cusum_limit_has_the_exact_run_length():
    paths = cusum(np.random.default_rng(0).normal(size=(600, 1000)), 0.5)
    limit = run_length_limit(paths, 200.0)
    # 600 runs have a relative error of 1/√600 = 4 %; four standard errors
    assert_allclose(exact_cusum_run_length(limit, 0.5), 200, rtol=0.17)


def test_ewma_limit_holds_in_new_simulated_runs():
    rng = np.random.default_rng(1)
    limit = run_length_limit(ewma(rng.normal(size=(400, 500)), 0.2), 100.0)
    new = ewma(rng.normal(size=(400, 2000)), 0.2) > limit
    lengths = new.argmax(axis=1) + 1.0
    assert new.any(axis=1).all()
    # standard error of both: 5 % each
    assert_allclose(lengths.mean(), 100, rtol=0.28)


def test_average_run_lengths_count_rows_until_the_first_value_above():
    paths = np.random.default_rng(2).normal(size=(50, 30))
    limits = np.array([0.0, 1.0, 5.0])
    expected = []
    for limit in limits:
        rows = alarms = 0
        for path in paths:
            above = np.flatnonzero(path > limit)
            rows += above[0] + 1 if len(above) else len(path)
            alarms += len(above) > 0
        expected.append(rows / alarms if alarms else np.inf)
    assert_allclose(average_run_lengths(paths, limits), expected)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_correlation_time_of_an_autoregression(memory):
    x = autoregressive(100_000, memory, np.random.default_rng(3))
    expected = (1 + memory) / (1 - memory)
    # the variance of ten block means has a relative standard error of √(2/9)
    assert 0.8 * expected < correlation_time(x) < 3 * max(expected, 1)


def test_correlation_time_sees_slow_changes_between_blocks():
    rng = np.random.default_rng(4)
    x = rng.normal(size=1000)
    assert correlation_time(x) < 4
    assert correlation_time(x + np.repeat([0.0, 1.0], 500)) > 20


def test_paths_are_blocks_of_the_scores_with_one_level_each():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=40)
    paths = block_paths(scores, 23, 6, block=5, independent=np.inf, rng=rng)
    assert paths.shape == (6, 23)
    for path in paths:
        for begin in range(0, 23, 5):
            block = path[begin : begin + 5]
            start = int(np.flatnonzero(scores == block[0])[0])
            assert_allclose(block, np.take(scores, range(start, start + len(block)), mode="wrap"))
    flat = block_paths(np.zeros(9), 5, 4, block=2, independent=9.0, rng=rng)
    assert (flat == flat[:, :1]).all()
    assert np.ptp(flat) > 0


def test_limits_of_paths_hold_for_new_rows_of_a_small_normal_sample():
    """The quantile of paths is at least that of the predictive (Student's) distribution."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(60):
        x = rng.normal(size=25)
        scores = (x - x.mean()) / x.std(ddof=1)
        paths = block_paths(scores, 50, 400, block=1, independent=25.0, rng=rng)
        limit = x.mean() + x.std(ddof=1) * np.quantile(paths, 0.95)
        found.append(norm.sf(limit))
    assert np.mean(found) <= 0.05 + 3 * np.std(found) / np.sqrt(60)
    assert np.mean(found) >= 0.02
