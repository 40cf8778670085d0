"""Initial rows of EM and k-means, compared with naive versions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.mixture.kmeans import farthest_rows, kmeans, random_distant_rows, weighted_mean


def squared_distances(Z, centers):
    return ((Z[:, None] - centers[None]) ** 2).sum(axis=2)


@pytest.fixture
def Z(rng):
    return rng.normal(size=(60, 3))


@pytest.fixture
def weights(rng):
    return rng.uniform(0.1, 3, size=60)


def test_weighted_mean_equals_the_mean_of_repeated_rows(Z, rng):
    counts = rng.integers(1, 4, size=60)
    assert_allclose(weighted_mean(Z, counts.astype(float)), np.repeat(Z, counts, axis=0).mean(0))


def test_farthest_rows_equal_a_naive_search(Z, weights):
    first = Z[np.argmax(((Z - np.average(Z, axis=0, weights=weights)) ** 2).sum(axis=1))]
    expected = [first]
    while len(expected) < 4:
        nearest = squared_distances(Z, np.array(expected)).min(axis=1)
        expected.append(Z[np.argmax(nearest)])
    assert_array_equal(farthest_rows(Z, weights, 4), expected)


def naive_draws(Z, weights, count, rng):
    """Draw rows one by one from masses cumulated along the first coordinate."""
    order = np.argsort(Z[:, 0])
    Z, weights, rows = Z[order], weights[order], []
    for _ in range(count):
        masses = weights if not rows else weights * squared_distances(Z, np.array(rows)).min(axis=1)
        if masses.max() <= 1e-12:
            masses = weights
        cumulated = np.cumsum(masses)
        level = rng.random() * cumulated[-1]
        rows.append(Z[np.searchsorted(cumulated, level, side="right")])
    return np.array(rows)


@pytest.mark.parametrize("n", [5, 60, 3000])
@pytest.mark.parametrize("seed", range(4))
def test_random_distant_rows_equal_naive_draws(n, seed):
    rng = np.random.default_rng(seed)
    Z, weights = rng.normal(size=(n, 2)), rng.uniform(0.1, 3, size=n)
    Z[: n // 5] *= 1e-3  # many rows in few bins
    drawn = random_distant_rows(Z, weights, 4, np.random.default_rng(seed))
    assert_array_equal(drawn, naive_draws(Z, weights, 4, np.random.default_rng(seed)))


@pytest.mark.parametrize("outlier", [-5.0, 5.0])
def test_rows_with_close_first_coordinates_are_distinguished(outlier):
    rng = np.random.default_rng(1)
    Z = np.column_stack([1 + 1e-9 * rng.normal(size=4000), rng.normal(size=4000)])
    Z[0, 0] = outlier
    drawn = random_distant_rows(Z, np.ones(4000), 3, np.random.default_rng(2))
    assert_array_equal(drawn, naive_draws(Z, np.ones(4000), 3, np.random.default_rng(2)))


def test_rows_are_drawn_again_if_all_were_drawn(rng):
    Z = np.array([[0.0, 1.0], [2.0, 3.0]])[rng.integers(0, 2, size=30)]
    drawn = random_distant_rows(Z, np.ones(30), 5, rng)
    assert len(np.unique(drawn[:2], axis=0)) == 2
    assert len(drawn) == 5


def test_rows_with_zero_weight_are_never_drawn(Z, weights, rng):
    weights[::2] = 0
    for row in random_distant_rows(Z, weights, 20, rng):
        assert (Z[1::2] == row).all(axis=1).any()


def test_zero_steps_assign_rows_to_the_nearest_center(Z, weights):
    centers = Z[:4] + 0.1
    members = kmeans(Z, weights, centers, steps=0)
    assert_array_equal(members, np.eye(4)[squared_distances(Z, centers).argmin(axis=1)])


def test_one_step_moves_centers_to_the_means(Z, weights):
    centers = Z[:3].copy()
    nearest = squared_distances(Z, centers).argmin(axis=1)
    means = [np.average(Z[nearest == m], axis=0, weights=weights[nearest == m]) for m in range(3)]
    expected = squared_distances(Z, np.array(means)).argmin(axis=1)
    assert_array_equal(kmeans(Z, weights, centers, steps=1), np.eye(3)[expected])
    assert_array_equal(centers, Z[:3])  # the argument is not modified


def test_kmeans_converges_to_the_nearest_means(Z, weights):
    members = kmeans(Z, weights, Z[:4])
    masses = members * weights[:, None]
    means = masses.T @ Z / masses.sum(axis=0)[:, None]
    assert_array_equal(members.argmax(axis=1), squared_distances(Z, means).argmin(axis=1))


def test_center_without_rows_is_unchanged(Z, weights):
    far = np.array([[1e3, 0, 0]])
    members = kmeans(Z, weights, np.concatenate([Z[:2], far]))
    assert_array_equal(members, np.column_stack([kmeans(Z, weights, Z[:2]), np.zeros(60)]))


class FixedLevels:
    """A random generator that returns the given numbers."""

    def __init__(self, levels):
        self.levels = iter(levels)

    def random(self):
        return next(self.levels)


@pytest.mark.parametrize("levels", [(0.0, 0.0, 0.0), (0.5, 0.5, 0.25), (1 - 2**-53,) * 3])
@pytest.mark.parametrize("n", [8, 2048])
def test_draws_at_the_ends_and_between_rows(n, levels):
    Z = np.column_stack([np.arange(n), np.zeros(n)])
    drawn = random_distant_rows(Z, np.ones(n), 3, FixedLevels(levels))
    assert_array_equal(drawn, naive_draws(Z, np.ones(n), 3, FixedLevels(levels)))
