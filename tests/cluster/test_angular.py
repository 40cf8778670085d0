"""Angular k-means: invariances, and agreement with naive loops."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.cluster.angular import (
    _full_step,
    angular_cost,
    angular_kmeans,
    assign_directions,
    farthest_directions,
    shortest,
)
from mercer.utils.row_passes import IN_MEMORY

EPS = np.finfo(np.float64).eps


def rows(seed, n, k, groups=3):
    """Return rows of different lengths around a few directions, some of them along one ray."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(groups, k))
    Z = centers[rng.integers(groups, size=n)] + 0.3 * rng.normal(size=(n, k))
    Z[rng.random(n) < 0.2] = rng.normal(size=k)
    return Z * np.exp(rng.normal(size=(n, 1)))


def naive_kmeans(Z, n_clusters, weights, steps):
    """Run the algorithm of the paper with plain loops, until the labels do not change."""
    unit = [z / np.sqrt(sum(z * z)) for z in Z]
    longest = unit[max(range(len(Z)), key=lambda i: sum(Z[i] ** 2))]
    start = [min(unit, key=lambda u: u @ longest)]
    while len(start) < n_clusters:
        start.append(min(unit, key=lambda u: sum(u @ s for s in start)))
    if n_clusters == 1:
        start = [longest]
    centers = start
    labels = None
    for _ in range(steps):
        new = [max(range(n_clusters), key=lambda c: u @ centers[c]) for u in unit]
        if new == labels:
            return new
        labels = new
        centers = []
        for c in range(n_clusters):
            if c not in labels:
                return None  # the paper does not define the next step of an empty cluster
            total = sum(weights[t] * Z[t] for t in range(len(Z)) if labels[t] == c)
            centers.append(total / np.sqrt(sum(total**2)))
    raise AssertionError("the naive loop did not converge")


# --- the iteration ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n_clusters", "k"), [(1, 2), (2, 2), (3, 3), (4, 3)])
def test_angular_kmeans_equals_a_naive_loop(seed, n_clusters, k):
    Z = rows(seed, 40, k, groups=n_clusters)
    weights = np.random.default_rng(seed).uniform(0.5, 3, size=len(Z))
    for w in (None, weights):
        found = angular_kmeans(Z, n_clusters, weights=w)
        plain = np.ones(len(Z)) if w is None else w
        expected = naive_kmeans(Z, n_clusters, plain, 100)
        assert expected is None or found.labels.tolist() == expected
        for c, direction in enumerate(found.directions):
            total = (plain[:, None] * Z)[found.labels == c].sum(axis=0)
            assert_allclose(direction, total / np.linalg.norm(total), atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    k=st.integers(1, 4),
    n_clusters=st.integers(1, 6),
    weighted=st.booleans(),
    few=st.booleans(),
)
def test_objective_never_decreases(seed, n, k, n_clusters, weighted, few):
    """Also if clusters become empty: few distinct directions for many clusters."""
    rng = np.random.default_rng(seed)
    Z = rows(seed, n, k)
    if few:
        Z = Z[rng.integers(min(3, n), size=n)]
    weights = rng.uniform(0.1, 5, size=n) if weighted else None
    found = angular_kmeans(Z, min(n_clusters, n), weights=weights)
    objectives = np.array(found.objectives)
    assert (np.diff(objectives) >= -1e-12 * objectives[-1]).all()
    plain = np.ones(n) if weights is None else weights
    sums = [(plain[:, None] * Z)[found.labels == c].sum(axis=0) for c in range(n_clusters)]
    assert_allclose(objectives[-1], np.linalg.norm(sums, axis=1).sum(), rtol=1e-12)
    lengths = np.linalg.norm(Z, axis=1)
    assert objectives[-1] <= (plain * lengths).sum() * (1 + 1e-12)  # triangle inequality
    assert_allclose(np.linalg.norm(found.directions, axis=1), 1, rtol=1e-12)
    assert found.converged


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(2, 5))
def test_no_cluster_is_empty_given_enough_directions(seed, n_clusters):
    """With as many distinct directions as clusters, each cluster has a row."""
    rng = np.random.default_rng(seed)
    unit = rng.normal(size=(n_clusters, 3))
    Z = np.repeat(unit, rng.integers(1, 4, size=n_clusters), axis=0)
    found = angular_kmeans(Z, n_clusters)
    assert set(found.labels) == set(range(n_clusters))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 4))
def test_labels_follow_a_permutation_of_rows(seed, n_clusters):
    Z = rows(seed, 30, 3)
    order = np.random.default_rng(seed).permutation(len(Z))
    straight, mixed = angular_kmeans(Z, n_clusters), angular_kmeans(Z[order], n_clusters)
    assert_allclose(mixed.objectives[-1], straight.objectives[-1], rtol=1e-10)
    same = straight.labels[order][:, None] == straight.labels[order]
    assert_array_equal(mixed.labels[:, None] == mixed.labels, same)


def test_results_are_deterministic():
    Z = rows(3, 50, 3)
    one, other = angular_kmeans(Z, 3), angular_kmeans(Z.copy(), 3)
    assert_array_equal(one.labels, other.labels)
    assert_array_equal(one.directions, other.directions)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 4), distinct=st.integers(6, 20))
def test_integer_weights_equal_repeated_rows(seed, n_clusters, distinct):
    """Also if a cluster becomes empty: the row that refills it must not depend on copies."""
    rng = np.random.default_rng(seed)
    Z = rows(seed, distinct, 3) + 0.1 * rng.normal(size=(distinct, 3))
    weights = rng.integers(1, 4, size=distinct)
    weighted = angular_kmeans(Z, n_clusters, weights=weights.astype(float))
    copies = angular_kmeans(np.repeat(Z, weights, axis=0), n_clusters)
    assert_array_equal(np.repeat(weighted.labels, weights), copies.labels)
    assert_allclose(weighted.objectives[-1], copies.objectives[-1], rtol=1e-12)
    assert_allclose(weighted.directions, copies.directions, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-100, 1e100), n_clusters=st.integers(1, 4))
def test_copies_and_multiples_have_equal_labels(seed, factor, n_clusters):
    """A copy and a positive multiple of a row have the label of the row."""
    rng = np.random.default_rng(seed)
    Z = factor * (rows(seed, 15, 3) + 0.1 * rng.normal(size=(15, 3)))
    labels = angular_kmeans(np.concatenate([Z, Z, 2 * Z]), n_clusters).labels
    assert_array_equal(labels[:15], labels[15:30])
    assert_array_equal(labels[:15], labels[30:])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-100, 1e100), n_clusters=st.integers(1, 4))
def test_labels_are_invariant_under_scaling_and_rotation(seed, factor, n_clusters):
    Z = rows(seed, 25, 3)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    found = angular_kmeans(Z, n_clusters)
    assert_array_equal(angular_kmeans(factor * Z, n_clusters).labels, found.labels)
    assert_array_equal(angular_kmeans(Z @ rotation, n_clusters).labels, found.labels)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 4))
def test_final_labels_minimize_the_angle(seed, n_clusters):
    Z = rows(seed, 30, 3)
    found = angular_kmeans(Z, n_clusters)
    cosines = Z @ found.directions.T / np.linalg.norm(Z, axis=1, keepdims=True)
    own = cosines[np.arange(len(Z)), found.labels]
    assert (own >= cosines.max(axis=1) - 1e-6).all()


def test_reaching_max_iter_is_reported():
    Z = rows(1, 200, 3, groups=6)
    stopped = angular_kmeans(Z, 3, max_iter=1)
    assert len(stopped.objectives) == 1
    assert not stopped.converged
    assert angular_kmeans(Z, 3).converged


# --- zero rows ----------------------------------------------------------------------------------


def test_zero_rows_have_label_minus_one():
    Z = np.array([[0.0, 0.0], [3.0, 0.1], [0.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    found = angular_kmeans(Z, 2)
    assert (found.labels[[0, 3]] == -1).all()
    assert found.labels[1] == found.labels[4] != found.labels[2]
    without = angular_kmeans(Z[[1, 2, 4]], 2)
    assert_array_equal(found.labels[[1, 2, 4]], without.labels)
    assert_allclose(found.objectives, without.objectives)


@pytest.mark.parametrize("eps", [EPS, np.finfo(np.float32).eps])
def test_rows_below_fifty_eps_of_the_longest_are_zero(eps):
    Z = np.array([[7.0, 0.0], [0.0, 7.0], [0.0, 7.0 * 49 * eps], [0.0, 7.0 * 51 * eps]])
    assert_allclose(shortest(Z, eps), 7 * 50 * eps)
    assert angular_kmeans(Z, 2, noise=float(eps)).labels.tolist()[2:] == [-1, 0]
    assert assign_directions(Z, np.eye(2), shortest(Z, eps)).tolist() == [0, 1, -1, 1]
    assert assign_directions(np.zeros((1, 2)), np.eye(2)).tolist() == [-1]


@settings(max_examples=80, deadline=None)
@example(seed=3008, size=1e-7)
@example(seed=22, size=1e-9)
@example(seed=22, size=1e-13)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-7, 1e-9, 1e-13, 1e-17, 0.0]))
def test_tiny_rows_do_not_change_the_other_labels(seed, size):
    """Added tiny rows change neither the initial directions nor the labels of the others."""
    rng = np.random.default_rng(seed)
    Z = rows(seed, 30, 3)
    longest = np.linalg.norm(Z, axis=1).max()
    directions = rng.normal(size=(60, 3))
    tiny = directions / np.linalg.norm(directions, axis=1, keepdims=True) * size * longest
    where = rng.permutation(90)
    mixed = np.concatenate([Z, tiny])[where]
    for count in (1, 2, 3, 4):
        assert_allclose(farthest_directions(mixed, count), farthest_directions(Z, count))
    if size < 1e-8:  # rows of 1e-7 change a mean noticeably
        labels = np.empty(90, int)
        labels[where] = angular_kmeans(mixed, 3).labels
        assert_array_equal(labels[:30], angular_kmeans(Z, 3).labels)
        assert (labels[30:] == -1).all() == (size <= 50 * EPS)


@settings(max_examples=100, deadline=None)
@example(seed=3008, n_clusters=3)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(2, 5))
def test_initial_directions_are_distinct(seed, n_clusters):
    """A row that was chosen before may have the smallest sum of cosines; it is skipped."""
    starts = farthest_directions(rows(seed, 30, 3), n_clusters)
    cosines = starts @ starts.T
    assert (cosines[np.triu_indices(n_clusters, 1)] < 1 - 1e-9).all()


def test_initial_directions_are_normalized_rows_far_apart():
    Z = rows(2, 60, 3)
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    for count in range(1, 6):
        found = farthest_directions(Z, count)
        assert found.shape == (count, 3)
        for direction in found:
            assert np.abs(unit - direction).max(axis=1).min() < 1e-15
    longest = np.argmax(np.linalg.norm(Z, axis=1))
    first = np.argmin(unit @ unit[longest])
    assert_allclose(found[0], unit[first])
    assert_allclose(found[1], unit[np.argmin(unit @ unit[first])])


# --- edges --------------------------------------------------------------------------------------


def test_as_many_clusters_as_rows():
    Z = rows(5, 4, 4)
    found = angular_kmeans(Z, 4)
    assert sorted(found.labels) == [0, 1, 2, 3]
    assert_allclose(found.objectives[-1], np.linalg.norm(Z, axis=1).sum(), rtol=1e-12)


def test_one_cluster_points_along_the_sum():
    Z = rows(5, 10, 2)
    found = angular_kmeans(Z, 1)
    assert (found.labels == 0).all()
    total = Z.sum(axis=0)
    assert_allclose(found.directions[0], total / np.linalg.norm(total))
    single = angular_kmeans(np.array([[3.0, 4.0]]), 1)
    assert_allclose(single.directions, [[0.6, 0.8]])


def test_cluster_with_sum_zero_has_a_unit_direction():
    """One cluster of a row and its opposite has the sum 0, which has no direction."""
    Z = np.array([[1.0, 0.0], [-1.0, 0.0]])
    found = angular_kmeans(Z, 1)
    assert found.labels.tolist() == [0, 0]
    assert found.objectives[-1] == 0
    assert np.isfinite(found.directions).all()
    assert_allclose(np.linalg.norm(found.directions), 1)
    apart = angular_kmeans(Z, 2)
    assert set(apart.labels) == {0, 1}
    assert_allclose(apart.objectives[-1], 2)


def test_equal_rows_and_more_clusters_than_directions():
    Z = np.tile([[1.0, 2.0]], (5, 1))
    found = angular_kmeans(Z, 2)
    assert found.converged
    assert_allclose(found.objectives[-1], 5 * np.sqrt(5))


# --- J of eq. (28) ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_cost_equals_a_double_sum_over_the_kernel(rng, n_clusters, weighted):
    X = rng.normal(size=(20, 2))
    n = len(X)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    labels = rng.integers(n_clusters, size=n)
    w = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    J, products, totals, counts = 0.0, [], [], []
    potential = sum(w[s] * w[t] * K[s, t] for s in range(n) for t in range(n))
    for c in range(n_clusters):
        own = [t for t in range(n) if labels[t] == c]
        size = sum(w[t] for t in own)
        with_itself = sum(w[s] * w[t] * K[s, t] for s in own for t in own)
        with_all = sum(w[s] * w[t] * K[s, t] for s in own for t in range(n))
        J += size * with_all / np.sqrt(with_itself * potential)
        products.append(with_itself)
        totals.append(with_all)
        counts.append(size)
    found = angular_cost(np.array(products), np.array(totals), np.array(counts), potential)
    assert_allclose(found, J, rtol=1e-12)
    if n_clusters == 1:
        assert_allclose(found, w.sum(), rtol=1e-12)
    assert found <= w.sum() * (1 + 1e-12)


def test_cost_of_orthogonal_and_of_empty_clusters():
    """C equal orthogonal clusters: cos∠(m_i, m) = 1/√C each. An empty cluster adds nothing."""
    cost = angular_cost(np.full(4, 9.0), np.full(4, 9.0), np.full(4, 3.0), 36.0)
    assert_allclose(cost, 12 / np.sqrt(4))
    with_empty = angular_cost(
        np.array([9.0, 0, 9, 9, 9]), np.array([9.0, 0, 9, 9, 9]), np.array([3.0, 0, 3, 3, 3]), 36.0
    )
    assert_allclose(with_empty, cost)


def test_initial_directions_are_not_repeated_if_others_remain():
    """All sums of cosines with the first two directions are 0; the third direction is new."""
    Z = np.array([[1.0, 0], [-1, 0], [0, 0.5], [0, -0.5]])
    starts = farthest_directions(Z, 4)
    assert {tuple(start) for start in starts} == {(1, 0), (-1, 0), (0, 1), (0, -1)}


def test_empty_cluster_receives_the_row_with_the_largest_angle():
    angles = np.deg2rad([0.0, 5, 10, 40, 90, 95])
    Z = np.column_stack([np.cos(angles), np.sin(angles)]) * np.array(
        [[3.0], [1], [2], [1], [2], [1]]
    )
    before = np.array([[1.0, 0], [0, 1], [-1, 0]])  # no row is closest to the third
    step, after = _full_step(Z, None, before, 0.0, IN_MEMORY)
    assert_allclose(after, [[1, 0], [0, 1], [np.cos(angles[3]), np.sin(angles[3])]])
    assert step.counts.tolist() == [3, 2, 1]
    assert_allclose(step.sums[2], Z[3])
    assert_allclose(before[2], [-1, 0])  # the argument is not modified


def test_clusters_remain_empty_without_further_directions():
    Z, directions = np.array([[1.0, 0], [2, 0], [0, 1]]), np.array([[1.0, 0], [0, 1], [-1, 0]])
    step, after = _full_step(Z, None, directions, 0.0, IN_MEMORY)
    assert step.counts.tolist() == [2, 1, 0]
    assert_allclose(after, directions)
