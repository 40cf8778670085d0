"""EWMA, CUSUM and detection delay against their recursions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.monitoring.control_charts import cusum, detection_delay, ewma

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
