"""Selection of terms, written out term by term; masses of negative parts, from closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.density.series_terms import (
    check_terms,
    choose_terms,
    grid_points,
    negative_mass_by_draws,
    negative_mass_on_grid,
)
from tests.expectations import raises


def gains(squares, moments, n):
    return [square - 2 * moment / (n + 1) for square, moment in zip(squares, moments, strict=True)]


@pytest.fixture(params=range(6))
def terms(request):
    rng = np.random.default_rng(request.param)
    return rng.uniform(0, 0.1, 12) * rng.integers(0, 2, 12), rng.uniform(0.5, 1, 12), 40.0


def test_kronmal_tarter_selects_all_terms_with_a_gain(terms):
    expected = [k for k, gain in enumerate(gains(*terms)) if gain > 0]
    assert_array_equal(choose_terms("kronmal-tarter", *terms), expected)


def test_kronmal_tarter_run_stops_before_the_first_loss(terms):
    gained = gains(*terms)
    stop = next((k for k, gain in enumerate(gained) if gain <= 0), len(gained))
    assert_array_equal(choose_terms("kronmal-tarter-run", *terms), np.arange(stop))


def test_diggle_hall_minimizes_the_error(terms):
    gained = gains(*terms)
    best = max(range(len(gained) + 1), key=lambda k: sum(gained[:k]))
    assert_array_equal(choose_terms("diggle-hall", *terms), np.arange(best))


@pytest.mark.parametrize("rule", ["kronmal-tarter", "kronmal-tarter-run", "diggle-hall"])
def test_rules_may_select_all_terms_or_none(rule):
    assert_array_equal(choose_terms(rule, np.ones(3), np.ones(3), 9.0), [0, 1, 2])
    assert len(choose_terms(rule, np.zeros(3), np.ones(3), 9.0)) == 0


@pytest.mark.parametrize("rule", ["kronmal-tarter", "kronmal-tarter-run", "diggle-hall"])
def test_term_with_a_small_gain_is_selected(rule):
    squares = np.array([2.01 / 11])
    assert_array_equal(choose_terms(rule, squares, np.ones(1), 10.0), [0])


def test_term_without_gain_is_not_selected():
    squares = np.array([2 / 11])
    assert len(choose_terms("kronmal-tarter", squares, np.ones(1), 10.0)) == 0
    assert len(choose_terms("kronmal-tarter-run", squares, np.ones(1), 10.0)) == 0
    assert len(choose_terms("diggle-hall", squares, np.ones(1), 10.0)) == 0


def test_given_number_of_terms(terms):
    assert_array_equal(choose_terms(None, *terms), np.arange(12))
    assert_array_equal(choose_terms(5, *terms), np.arange(5))
    assert_array_equal(choose_terms(50, *terms), np.arange(12))


@pytest.mark.parametrize("rule", [None, 1, np.int64(3), "diggle-hall"])
def test_valid_rules_are_accepted(rule):
    check_terms(rule)


@pytest.mark.parametrize("rule", [0, np.int64(0), -1, 2.5, "diggle", "Kronmal-Tarter"])
def test_invalid_rules_raise(rule):
    with raises(ValueError, "terms=", rule):
        check_terms(rule)


def test_grid_points_are_cell_centers_in_order():
    points, edges = grid_points(np.array([0.0, 10.0]), np.array([2.0, 40.0]), 3)
    assert_allclose(edges, [2 / 3, 10])
    assert_allclose(points[:, 0], np.repeat([1 / 3, 1, 5 / 3], 3))
    assert_allclose(points[:, 1], np.tile([15, 25, 35], 3))


@pytest.mark.parametrize("cells", [30, 90])
def test_negative_mass_of_the_cosine_is_one(cells):
    points, edges = grid_points(np.zeros(1), np.full(1, np.pi), cells)
    mass, error = negative_mass_on_grid(np.cos(points[:, 0]), 1, edges[0])
    assert abs(mass - 1) < 1 / cells**2
    assert abs(mass - 1) < error < 9 / cells**2


def test_negative_mass_in_two_dimensions():
    """``cos x cos y`` is negative on two of four quarters, with mass 1 each."""
    points, edges = grid_points(np.zeros(2), np.full(2, np.pi), 60)
    values = np.cos(points[:, 0]) * np.cos(points[:, 1])
    mass, error = negative_mass_on_grid(values, 2, np.prod(edges))
    assert abs(mass - 2) < error < 0.02


def test_positive_functions_have_no_negative_mass():
    assert negative_mass_on_grid(np.ones(81), 2, 0.5) == (0, 0)
    assert negative_mass_by_draws(np.ones(5)) == (0, 0)


def test_negative_mass_of_normal_draws():
    ratios = np.random.default_rng(0).normal(size=10_000)
    mass, error = negative_mass_by_draws(ratios)
    assert abs(mass - 1 / np.sqrt(2 * np.pi)) < 4 * error
    # the negative half of a normal distribution: mean square 1/2, mean 1/√2π
    assert_allclose(error, np.sqrt((0.5 - 1 / (2 * np.pi)) / 10_000), rtol=0.05)
