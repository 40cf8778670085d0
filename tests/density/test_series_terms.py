"""Selection of the terms of a series: the rules written out term by term."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.density.series_terms import check_terms, choose_terms
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
