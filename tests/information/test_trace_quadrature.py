"""Gauss and Gauss-Radau rules bracket quadratic forms; bounds from Gaussian vectors hold."""

import numpy as np
import pytest

from mercer.information.entropy import entropy_summand
from mercer.information.trace_quadrature import (
    LanczosBlock,
    TraceSum,
    bound_largest,
    lower_tail,
    mean_deviation,
    remainder_range,
    trace_from_mean,
)


def spectrum(seed, size=120):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(size, rng.choice([0.3, 1, 20])))
    return np.sort(p)[::-1]


def drawn_block(p, steps, seed, count=6):
    """Return the block, and the vectors that its generator draws."""
    block = LanczosBlock(
        lambda V: p[:, None] * V, np.empty((len(p), 0)), count, p[0], np.random.default_rng(seed)
    )
    block.extend(steps)
    return block, np.random.default_rng(seed).standard_normal((len(p), count))


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2.5])
@pytest.mark.parametrize("steps", [7, 10])
def test_rules_bracket_every_term(order, steps):
    for seed in range(8):
        p = spectrum(seed)
        block, Z = drawn_block(p, steps, seed)
        f = entropy_summand(p, order)
        terms = {
            "f": lambda x: entropy_summand(x, order),
            "f²": lambda x: entropy_summand(x, order) ** 2,
            "xf": lambda x: x * entropy_summand(x, order),
            "x²f": lambda x: x**2 * entropy_summand(x, order),
        }
        exact = {"f": f, "f²": f**2, "xf": p * f, "x²f": p**2 * f}
        for name, term in terms.items():
            low, high = block.bracket(term)
            value = exact[name] @ Z**2
            slack = 1e-11 * np.abs(value)
            assert (low - slack <= value).all(), (name, seed)
            assert (value <= high + slack).all(), (name, seed)


def test_extending_equals_one_longer_iteration():
    p = spectrum(0)
    short, _ = drawn_block(p, 4, 0)
    short.extend(9)
    long, _ = drawn_block(p, 9, 0)
    np.testing.assert_allclose(short.T, long.T, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 3])
def test_norms_are_upper_bounds(order):
    for seed in range(6):
        p = spectrum(seed, 300)
        found = TraceSum(lambda V, p=p: p[:, None] * V, 300, float(p @ p), order, random_state=seed)
        found.tighten()
        rest = p[len(found.deflation.values) :]
        g = found._f(rest) - np.polynomial.polynomial.polyval(rest, found.fitted)
        squares = np.hstack([found._brackets(block)[2] for block in found._blocks])
        below, above, norm = found._norms(float(squares.mean()), 1e-6)
        assert norm >= np.linalg.norm(g)
        assert below <= g.min()
        assert above >= g.max()


@pytest.mark.parametrize("estimate", [0.9, 1.0, 1.3])
def test_bound_of_the_largest_eigenvalue_holds_and_is_close(estimate):
    for seed in range(10):
        p = spectrum(seed, 200)
        c = estimate * p[0]
        for steps, close in ((7, 1.5), (32, 1.05)):
            block, _ = drawn_block(p, steps, seed, count=12)
            bound = bound_largest([block], c, steps - 1, 1e-6)
            assert p[0] <= bound <= close * max(c, p[0])


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
