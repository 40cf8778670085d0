"""Distances by matrix products and by differences agree, also where products cancel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from mercer.utils.pairwise import (
    augment_columns,
    augment_rows,
    euclidean_distances,
    half_squared_differences,
    half_squared_products,
    products_would_cancel,
)


@pytest.mark.parametrize("d", [1, 4, 5, 9])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_equal_scipy(rng, d, scale, offset):
    X, Y = rng.normal(size=(13, d)) + offset, rng.normal(size=(7, d)) + offset
    found = euclidean_distances(X * scale, Y * scale)
    # the offset costs digits of the coordinates when they are scaled
    assert_allclose(found / scale, cdist(X, Y), rtol=1e-12, atol=1e-15 * offset)


@pytest.mark.parametrize("copies", [1, 20])
def test_distances_of_close_rows_are_accurate(rng, copies):
    """Few close pairs are recomputed one by one, many all together."""
    X = rng.normal(size=(40, 6))
    Y = np.concatenate([X[:copies] * (1 + 1e-9), rng.normal(size=(20, 6))])
    assert_allclose(euclidean_distances(X, Y), cdist(X, Y), rtol=1e-6)


def test_equal_rows_have_distance_0(rng):
    X = rng.normal(size=(20, 6)) * 1e3
    assert (euclidean_distances(X, X).diagonal() == 0).all()


@pytest.mark.parametrize("d", [2, 6])
def test_equal_points_and_empty_input(d):
    assert euclidean_distances(np.ones((3, d)), np.ones((2, d))).tolist() == [[0, 0]] * 3
    assert euclidean_distances(np.zeros((0, d)), np.ones((2, d))).shape == (0, 2)


def test_exponents_equal_their_formula(rng):
    X, Y, widths = rng.normal(size=(8, 3)), rng.normal(size=(5, 3)), np.array([0.5, 1.0, 3.0])
    expected = -0.5 * cdist(X / widths, Y / widths) ** 2
    assert_allclose(half_squared_differences(X, Y, widths), expected, rtol=1e-12)
    products = half_squared_products(augment_rows(X / widths), augment_columns(Y / widths))
    assert_allclose(products, expected, rtol=1e-12, atol=1e-14)


def test_exponents_are_written_to_out(rng):
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    for compute in (
        lambda out: half_squared_differences(X, Y, np.ones(3), out),
        lambda out: half_squared_products(augment_rows(X), augment_columns(Y), out),
    ):
        out = np.full((8, 5), np.nan)
        assert compute(out) is out
        assert_allclose(out, -0.5 * cdist(X, Y) ** 2, rtol=1e-12, atol=1e-14)


def test_exponents_are_never_positive(rng):
    X = rng.normal(size=(50, 5)) + 1e3
    assert half_squared_products(augment_rows(X), augment_columns(X)).max() == 0


@pytest.mark.parametrize(("dtype", "near", "far"), [(np.float64, 600, 700), (np.float32, 40, 42)])
def test_cancellation_of_products_is_detected(dtype, near, far):
    """The error eps·|x|² of the exponent may be 1e-10 in double, 2e-4 in single precision."""
    at = np.zeros((2, 3), dtype)
    for reach, cancels in ((near, False), (far, True)):
        away = np.array([[0, reach, 0]], dtype)
        assert products_would_cancel(away, at) is cancels
        assert products_would_cancel(at, away) is cancels


def test_cancellation_with_empty_input():
    none, far = np.zeros((0, 3)), np.full((1, 3), 1e9)
    assert not products_would_cancel(none, none)
    assert products_would_cancel(none, far)
    assert products_would_cancel(far, none)
