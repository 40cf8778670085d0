"""Gauss and Gauss-Radau rules bracket quadratic forms of the functions that the bounds use."""

import numpy as np
import pytest

from mercer.information.entropy import entropy_summand
from mercer.information.lanczos_quadrature import LanczosBlock, bound_norm
from mercer.information.trace_quadrature import TraceSum


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
        fitted = found._fit()
        g = found._f(rest) - np.polynomial.polynomial.polyval(rest, fitted)
        squares = np.hstack([found._brackets(block, fitted)[2] for block in found._blocks])
        below, above, norm = found._norms(fitted, float(squares.mean()), 1e-6)
        assert norm >= np.linalg.norm(g)
        assert below <= g.min()
        assert above >= g.max()


def test_norm_bound_is_an_upper_bound_and_tightens():
    for seed in range(10):
        p = spectrum(seed, 200)
        rng = np.random.default_rng(seed)
        bound = bound_norm(
            lambda V, p=p: p[:, None] * V, np.empty((200, 0)), 0.9 * p[0], 0, 1e-6, rng
        )
        assert p[0] <= bound <= 1.05 * p[0]
