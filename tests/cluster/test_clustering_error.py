"""Clustering error: the fraction of misclassified points under the best matching of labels."""

from itertools import permutations

import numpy as np
import pytest

from mercer.cluster.diagnostics import clustering_error
from tests.expectations import raises


def naive_error(truth, labels, classes):
    """Return the smallest error over all assignments of clusters to classes."""
    return min(
        np.mean(truth != np.array([assignment[label] for label in labels]))
        for assignment in permutations(classes)
    )


@pytest.mark.parametrize("seed", range(5))
def test_error_is_that_of_the_best_matching(seed):
    draw = np.random.default_rng(seed)
    truth, labels = draw.integers(4, size=(2, 60))
    assert clustering_error(truth, labels) == pytest.approx(naive_error(truth, labels, range(4)))


def test_error_does_not_depend_on_label_values():
    truth = np.array(["a", "a", "b", "b", "c", "c"])
    assert clustering_error(truth, [7, 7, 3, 3, 0, 0]) == 0
    assert clustering_error(truth, [7, 7, 3, 0, 0, 0]) == pytest.approx(1 / 6)


def test_points_without_a_cluster_count_as_errors():
    assert clustering_error([0, 0, 1, 1], [-1, 0, 1, 1]) == pytest.approx(0.25)
    assert clustering_error([0, 0], [-1, -1]) == 1


def test_points_of_unmatched_clusters_count_as_errors():
    assert clustering_error([0, 0, 0, 0], [0, 0, 1, 2]) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_majority_error_counts_each_cluster_as_its_most_frequent_class(seed):
    draw = np.random.default_rng(seed)
    truth, labels = draw.integers(4, size=60), draw.integers(-1, 3, size=60)
    right = 0
    for cluster in set(labels.tolist()) - {-1}:
        members = truth[labels == cluster].tolist()
        right += max(members.count(k) for k in members)
    found = clustering_error(truth, labels, matching="majority")
    assert found == pytest.approx(1 - right / 60)
    assert found <= clustering_error(truth, labels)


def test_unknown_matching_raises():
    with raises(ValueError, "'purity'", "'majority'"):
        clustering_error([0, 1], [0, 1], matching="purity")


def test_lengths_must_agree():
    with raises(ValueError, "(3,)", "(2,)"):
        clustering_error([0, 0, 1], [0, 1])
