"""Entropies of normalized eigenvalues: definitions, and bounds from the leading ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.information.entropy import spectral_entropy, spectral_entropy_bounds
from mercer.utils.eigenpairs import entropy_order

ORDERS = [0.5, 1.0, 2.0, 5.0, np.inf]
every_order = pytest.mark.parametrize("order", ORDERS)


def proportions(seed, n=12):
    return -np.sort(-np.random.default_rng(seed).dirichlet(np.full(n, 0.7)))


@every_order
def test_entropy_equals_its_definition(order):
    p = np.array([0.5, 0.3, 0.2, 0.0])
    naive = {
        1.0: -sum(x * np.log(x) for x in (0.5, 0.3, 0.2)),
        np.inf: -np.log(0.5),
    }
    expected = naive.get(order) or np.log(0.5**order + 0.3**order + 0.2**order) / (1 - order)
    assert_allclose(spectral_entropy(p, order), expected, rtol=1e-14)


def test_powers_do_not_underflow():
    assert_allclose(spectral_entropy(np.full(1000, 1e-3), 400.0), np.log(1000), rtol=1e-12)


@every_order
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("known", [1, 4, 11])
def test_bounds_contain_the_entropy(order, seed, known):
    p = proportions(seed)
    low, high = spectral_entropy_bounds(p[:known], 12 - known, order)
    assert low - 1e-12 <= spectral_entropy(p, order) <= high + 1e-12


@every_order
def test_bounds_are_attained(order):
    """The rest is distributed evenly, or over as few values as possible, each equal to the last."""
    leading = np.array([0.4, 0.2])
    low, high = spectral_entropy_bounds(leading, 8, order)
    assert_allclose(high, spectral_entropy(np.r_[leading, np.full(8, 0.05)], order), rtol=1e-12)
    assert_allclose(low, spectral_entropy(np.r_[leading, 0.2, 0.2], order), rtol=1e-12)
    low, _ = spectral_entropy_bounds(np.array([0.5, 0.2]), 8, order)
    assert_allclose(low, spectral_entropy(np.array([0.5, 0.2, 0.2, 0.1]), order), rtol=1e-12)


@every_order
def test_bounds_of_inexact_values_add_the_rest_to_the_first(order):
    low, high = spectral_entropy_bounds(np.array([0.4, 0.2, 0.1]), 6, order, exact=False)
    assert_allclose(low, spectral_entropy(np.array([0.7, 0.2, 0.1]), order), rtol=1e-12)
    even = np.r_[0.4, 0.2, 0.1, np.full(6, 0.05)]
    assert_allclose(high, spectral_entropy(even, order), rtol=1e-12)


@every_order
@pytest.mark.parametrize(("leading", "others"), [([0.5, 0.5], 3), ([0.3, 0.6], 0)])
def test_bounds_are_equal_if_nothing_is_missing(order, leading, others):
    leading = np.array(leading)
    expected = spectral_entropy(leading / leading.sum(), order)
    assert spectral_entropy_bounds(leading, others, order) == (expected, expected)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_terms_below_rounding_error_are_ordered_by_eigenvalue(scale):
    terms = scale * np.array([0.5, 4e-14, 1e-14, 1e-12])
    order = entropy_order(terms, np.array([1.0, 2.0, 3.0, 0.5]), float(terms.sum()))
    assert order.tolist() == [0, 3, 2, 1]
