"""Angular k-means in the full kernel space against explicit features, and starting rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import EntropyClustering
from mercer.cluster import (
    angular_kernel_kmeans,
    clustering_cost,
    clustering_error,
    starting_rows,
)
from mercer.datasets import make_rings
from mercer.errors import ConvergenceWarning
from mercer.kernels import Gaussian, Linear


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def naive_start(Z, count, rule):
    """All pairs and all rows, with plain loops."""
    size = abs if rule == "orthogonal" else float
    pairs = [(size(cosine(Z[s], Z[t])), s, t) for s in range(len(Z)) for t in range(s)]
    value = min(pairs)[0]
    chosen = list(min(tuple(sorted(p[1:])) for p in pairs if p[0] <= value + 1e-12))
    joined = max if rule == "orthogonal" else sum
    while len(chosen) < count:
        rest = [t for t in range(len(Z)) if t not in chosen]
        chosen.append(min(rest, key=lambda t: joined(size(cosine(Z[s], Z[t])) for s in chosen)))
    return chosen


def naive_kmeans(Z, labels, weights, steps=100):
    """Angular k-means on explicit features, until the labels do not change."""
    for _ in range(steps):
        sums = [
            sum(weights[t] * Z[t] for t in range(len(Z)) if labels[t] == c)
            for c in range(max(labels) + 1)
        ]
        new = [max(range(len(sums)), key=lambda c: cosine(z, sums[c])) for z in Z]
        if new == labels:
            return labels
        if len(set(new)) < len(sums):
            return None  # the next step of an empty cluster is a matter of definition
        labels = new
    raise AssertionError("the naive loop did not converge")


def features(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


@pytest.mark.parametrize("rule", ["orthogonal", "farthest"])
@pytest.mark.parametrize("seed", range(6))
def test_starting_rows_equal_a_search_over_all_pairs(rule, seed):
    Z = np.random.default_rng(seed).normal(size=(12, 3)) * np.arange(1, 13)[:, None]
    found = starting_rows(Z, 4, rule=rule)
    assert found.tolist() == naive_start(Z, 4, rule)
    assert_array_equal(starting_rows(-2 * Z, 4, rule=rule), found)


def test_starting_rows_leave_out_zeros_and_take_the_first_of_equal_rows():
    Z = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    assert starting_rows(Z, 2).tolist() == [1, 3]
    assert starting_rows(Z, 1).tolist() == [1]
    with pytest.raises(ValueError, match="4 rows"):
        starting_rows(Z, 5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("init", ["orthogonal", "farthest", "labels"])
def test_labels_equal_those_of_explicit_features(seed, weighted, init):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) + rng.integers(0, 3, 30)[:, None] * [2.0, 1.0]
    w = rng.uniform(0.5, 3, 30) if weighted else None
    kernel = Gaussian(1.0)
    Z = features(kernel(X))
    given = rng.permutation(np.arange(30) % 3) if init == "labels" else init
    if init == "labels":
        start = given.tolist()
    else:
        rows = naive_start(Z, 3, init)
        start = [max(range(3), key=lambda c: cosine(z, Z[rows[c]])) for z in Z]
    found = angular_kernel_kmeans(X, 3, kernel, init=given, sample_weight=w)
    expected = naive_kmeans(Z, start, np.ones(30) if w is None else w)
    assert expected is not None
    assert found.tolist() == expected


def test_start_from_entropy_clustering_retains_separate_rings():
    X, y = make_rings(random_state=0)
    kernel = Gaussian(3.7)
    clustering = EntropyClustering(3, kernel=kernel).fit(X)
    refined = angular_kernel_kmeans(X, 3, kernel, init=clustering.labels_)
    assert clustering_error(y, refined) == 0
    assert_allclose(clustering_cost(X, refined, kernel), clustering.cost_)


def test_precomputed_matrix_and_repeated_rows_give_the_same_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2)) + rng.integers(0, 3, 25)[:, None] * 2.0
    kernel, w = Gaussian(1.0), rng.integers(1, 4, 25)
    found = angular_kernel_kmeans(X, 3, kernel, init=np.arange(25) % 3, sample_weight=w)
    repeated = np.repeat(np.arange(25), w)
    again = angular_kernel_kmeans(X[repeated], 3, kernel, init=repeated % 3)
    assert_array_equal(again, found[repeated])
    one = angular_kernel_kmeans(kernel(X), 3, "precomputed", init=np.arange(25) % 3)
    assert_array_equal(one, angular_kernel_kmeans(X, 3, kernel, init=np.arange(25) % 3))


@pytest.mark.parametrize("init", ["farthest", "orthogonal"])
def test_rows_of_zero_weight_do_not_change_the_other_labels(init):
    X = np.random.default_rng(2).normal(size=(30, 2)) * [3.0, 1.0]
    w = np.where(np.arange(30) % 4 == 0, 0.0, 1.0)
    found = angular_kernel_kmeans(X, 3, Gaussian(1.0), init=init, sample_weight=w)
    alone = angular_kernel_kmeans(X[w > 0], 3, Gaussian(1.0), init=init)
    assert_array_equal(found[w > 0], alone)
    assert (found >= 0).all()


def test_points_without_direction_have_no_cluster_and_no_cluster_is_empty():
    X = np.array([[0.0, 0.0], [1.0, 0.1], [1.0, 0.0], [0.9, 0.0], [2.0, 0.1], [1.0, 0.05]])
    labels = angular_kernel_kmeans(X, 3, Linear())
    assert labels[0] == -1
    assert sorted(set(labels[1:].tolist())) == [0, 1, 2]


def test_errors_name_the_value():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="center"):
        angular_kernel_kmeans(X, 2, Gaussian(1.0), init="center")
    with pytest.raises(ValueError, match="3 different labels"):
        angular_kernel_kmeans(X, 2, Gaussian(1.0), init=[0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match=r"\(2,\)"):
        angular_kernel_kmeans(X, 2, Gaussian(1.0), init=[0, 1])
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        angular_kernel_kmeans(X, 2, Gaussian(1.0), init=[0, 1, 0, 1, 0, 1], max_iter=1)
