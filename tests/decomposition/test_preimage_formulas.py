"""Points from distances: exact distances give the exact point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.decomposition.preimage_formulas import points_at_distances


def squared_to(x, neighbors):
    return ((neighbors - x) ** 2).sum(axis=-1)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    extra=st.integers(1, 6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 10.0]),
)
def test_exact_distances_give_the_exact_point(seed, d, extra, scale, shift):
    rng = np.random.default_rng(seed)
    neighbors = scale * (rng.normal(size=(4, d + extra, d)) + shift)
    x = scale * (rng.normal(size=(4, d)) + shift)
    squared = squared_to(x[:, None], neighbors)
    assert_allclose(points_at_distances(neighbors, squared), x, atol=1e-5 * scale)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(0, 3))
def test_rank_deficient_neighbors_give_the_projection(seed, rank):
    """Neighbors in a subspace determine the projection of the point onto their span."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    origin = rng.normal(size=5)
    neighbors = origin + rng.normal(size=(1, 8, rank)) @ basis[:rank]
    x = rng.normal(size=(1, 5))
    inside = origin + (x - origin) @ basis[:rank].T @ basis[:rank]
    found = points_at_distances(neighbors, squared_to(x[:, None], neighbors))
    assert_allclose(found, inside, atol=1e-6)


def test_points_equal_the_direct_formula(rng):
    """½ (Z Z')⁻¹ Z (c² - d²) + mean, with the inverse that is missing in the paper."""
    neighbors = rng.normal(size=(3, 9, 4))
    squared = rng.uniform(0.5, 3, size=(3, 9))
    for X, d2, found in zip(
        neighbors, squared, points_at_distances(neighbors, squared), strict=True
    ):
        Z = (X - X.mean(axis=0)).T
        c2 = (Z**2).sum(axis=0)
        expected = 0.5 * np.linalg.inv(Z @ Z.T) @ Z @ (c2 - d2) + X.mean(axis=0)
        assert_allclose(found, expected, atol=1e-10)


def test_points_minimize_the_squared_misfit(rng):
    """For inexact distances no other point has a smaller misfit of the centered equations."""
    X = rng.normal(size=(8, 3))
    d2 = rng.uniform(0.5, 2, size=8)

    def misfit(x):
        gap = squared_to(x, X) - d2
        return ((gap - gap.mean()) ** 2).sum()

    found = points_at_distances(X[None], d2[None])[0]
    for _ in range(50):
        assert misfit(found) <= misfit(found + 0.1 * rng.normal(size=3))


def test_one_neighbor_and_equal_neighbors_give_that_point():
    point = np.array([[[1.0, 2.0, 3.0]]])
    assert_allclose(points_at_distances(point, np.array([[4.0]])), point[0])
    copies = np.repeat(point, 5, axis=1)
    assert_allclose(points_at_distances(copies, np.full((1, 5), 4.0)), point[0])


def test_fewer_neighbors_than_columns(rng):
    X = rng.normal(size=(1, 4, 10))
    weights = rng.dirichlet(np.ones(4))
    x = weights @ X[0]
    found = points_at_distances(X, squared_to(x, X[0])[None])
    assert_allclose(found[0], x, atol=1e-10)


def test_common_error_of_all_distances_has_no_effect(rng):
    """Only differences of squared distances matter."""
    X = rng.normal(size=(1, 7, 3))
    d2 = squared_to(np.array([0.3, 0.1, -0.2]), X)
    assert_allclose(points_at_distances(X, d2 + 5.0), points_at_distances(X, d2), atol=1e-10)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_shapes(m):
    assert points_at_distances(np.zeros((m, 4, 2)), np.zeros((m, 4))).shape == (m, 2)
