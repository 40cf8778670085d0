"""The fraction of misclassified points does not depend on labels."""

from itertools import permutations

import numpy as np
import pytest

from mercer.diagnostics import clustering_error
from tests.expectations import raises


def slow_error(truth, labels, names):
    """Try every naming."""
    return min(
        np.mean(truth != np.array([naming[label] for label in labels]))
        for naming in permutations(names)
    )


@pytest.mark.parametrize("seed", range(5))
def test_best_matching_of_clusters(seed):
    draw = np.random.default_rng(seed)
    truth, labels = draw.integers(4, size=(2, 60))
    assert clustering_error(truth, labels) == pytest.approx(slow_error(truth, labels, range(4)))


def test_names_do_not_matter():
    truth = np.array(["a", "a", "b", "b", "c", "c"])
    assert clustering_error(truth, [7, 7, 3, 3, 0, 0]) == 0
    assert clustering_error(truth, [7, 7, 3, 0, 0, 0]) == pytest.approx(1 / 6)


def test_points_without_a_cluster_are_errors():
    assert clustering_error([0, 0, 1, 1], [-1, 0, 1, 1]) == pytest.approx(0.25)
    assert clustering_error([0, 0], [-1, -1]) == 1


def test_more_clusters_than_classes():
    assert clustering_error([0, 0, 0, 0], [0, 0, 1, 2]) == pytest.approx(0.5)


def test_lengths_must_agree():
    with raises(ValueError, "(3,)", "(2,)"):
        clustering_error([0, 0, 1], [0, 1])
