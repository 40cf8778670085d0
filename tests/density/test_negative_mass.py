"""Masses of negative parts, compared with closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.density.negative_mass import grid_points, negative_mass_by_draws, negative_mass_on_grid


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
