"""The adjusted Rand index against scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from mercer.cluster.label_agreement import adjusted_rand_index


@pytest.mark.parametrize("seed", range(5))
def test_index_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 3, 40), rng.integers(-1, 4, 40)
    assert_allclose(adjusted_rand_index(one, other), adjusted_rand_score(one, other), rtol=1e-12)


def test_integer_weights_equal_repeated_rows(rng):
    one, other, counts = (rng.integers(low, 4, 40) for low in (0, 0, 1))
    copied = adjusted_rand_score(np.repeat(one, counts), np.repeat(other, counts))
    assert_allclose(adjusted_rand_index(one, other, counts.astype(float)), copied, rtol=1e-12)


def test_rows_with_zero_weight_are_ignored(rng):
    one, other = rng.integers(0, 3, (2, 40))
    weights = np.r_[np.ones(30), np.zeros(10)]
    expected = adjusted_rand_score(one[:30], other[:30])
    assert_allclose(adjusted_rand_index(one, other, weights), expected, rtol=1e-12)


def test_labels_may_be_strings():
    one = np.array(["a", "a", "b", "b", "b"])
    other = np.array([1, 1, 1, 2, 2])
    assert_allclose(adjusted_rand_index(one, other), adjusted_rand_score(one, other), rtol=1e-12)


@pytest.mark.parametrize("labels", [np.zeros(5, int), np.arange(5), np.zeros(1, int)])
def test_trivial_partitions_agree_with_themselves(labels):
    assert adjusted_rand_index(labels, labels) == 1
