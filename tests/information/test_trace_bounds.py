"""Bounds on traces from Gaussian vectors: range, largest eigenvalue, deviations."""

import numpy as np
import pytest

from mercer.information.entropy import entropy_summand
from mercer.information.trace_bounds import (
    chebyshev_power,
    largest_eigenvalue,
    lower_tail,
    mean_deviation,
    remainder_range,
    trace_from_mean,
)


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 3])
def test_range_contains_the_remainder_at_every_point(order):
    rng = np.random.default_rng(0)
    for _ in range(20):
        top, fitted = float(rng.random()), rng.normal(size=3)
        x = top * rng.random(5000)
        peak = np.exp(-1) if order == 1 else np.inf
        low, high = remainder_range(lambda x: entropy_summand(x, order), peak, fitted, top)
        g = entropy_summand(x, order) - np.polynomial.polynomial.polyval(x, fitted)
        assert low <= g.min()
        assert g.max() <= high
        # the grid has 4000 intervals, of relative size at most 1/2000
        assert high - low <= np.ptp(g) + 0.02 * (1 + np.abs(fitted).sum())


def test_largest_eigenvalue_is_bounded_by_a_polynomial():
    rng = np.random.default_rng(1)
    for degree in (2, 4, 9):
        for _ in range(20):
            values = rng.random(50) ** 2
            for c in (0.5 * values.max(), values.max()):
                trace = float(chebyshev_power(values, c, degree).sum())
                assert largest_eigenvalue(trace, c, degree) >= values.max() * (1 - 1e-12)


def test_chebyshev_power_is_a_polynomial():
    x = np.linspace(0, 3, 50)
    T = np.polynomial.chebyshev.Chebyshev.basis(5)
    np.testing.assert_allclose(chebyshev_power(x, 1.3, 5), x * T(2 * x / 1.3 - 1) ** 2, rtol=1e-9)


def test_deviations_hold_with_their_probability():
    # eigenvalues of both signs; 4000 means of 10 values z'Gz
    rng = np.random.default_rng(2)
    g = rng.normal(size=30) ** 3
    z = rng.normal(size=(4000, 10, 30))
    means = (z**2 @ g).mean(axis=1)
    norm, probability = float(np.linalg.norm(g)), 0.05
    above = mean_deviation(norm, g.max(), 10, probability)
    below = mean_deviation(norm, -g.min(), 10, probability)
    # 4 standard errors of the simulation
    slack = 4 * np.sqrt(probability / 4000)
    assert np.mean(means > g.sum() + above) <= probability + slack
    assert np.mean(means < g.sum() - below) <= probability + slack
    h = g**2
    observed = (z**2 @ h).mean(axis=1)
    bounds = np.array([trace_from_mean(x, 10, h.max(), probability) for x in observed])
    assert np.mean(bounds < h.sum()) <= probability + slack
    assert np.mean(observed / lower_tail(10, probability) < h.sum()) <= probability + slack
