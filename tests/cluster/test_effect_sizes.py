"""Effect sizes equal their definitions."""

import math

import numpy as np
import pytest

from mercer.cluster.effect_sizes import cohens_h, robust_scale


def test_robust_scale_estimates_the_standard_deviation_of_a_normal_sample():
    values = np.random.default_rng(0).normal(5, 3, size=100_000)
    assert robust_scale(values) == pytest.approx(3, rel=0.02)


def test_robust_scale_ignores_outliers():
    assert robust_scale(np.array([0.0, 1, 2, 3, 4])) == robust_scale(np.array([0.0, 1, 2, 3, 1e9]))


def test_robust_scale_of_mostly_equal_values_is_the_standard_deviation():
    values = np.array([1.0] * 9 + [2.0])
    assert robust_scale(values) == pytest.approx(values.std())


@pytest.mark.parametrize(("p", "q"), [(0.0, 0.0), (1.0, 0.0), (0.3, 0.7), (0.25, 0.2)])
def test_cohens_h_is_a_difference_of_arcsines(p, q):
    expected = 2 * math.asin(math.sqrt(p)) - 2 * math.asin(math.sqrt(q))
    assert cohens_h(np.array([p]), np.array([q]))[0] == pytest.approx(expected)
