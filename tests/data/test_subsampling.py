"""Random, representative and evenly spaced rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less

from mercer.data.subsampling import (
    evenly_spaced_rows,
    group_medians,
    random_rows,
    representative_rows,
    select_representatives,
)
from mercer.utils.frames import rows_of


def test_random_rows_are_distinct_sorted_and_reproducible():
    rows = random_rows(1000, 50, seed=1)
    assert len(set(rows.tolist())) == 50
    assert_array_equal(rows, np.sort(rows))
    assert_array_equal(rows, random_rows(1000, 50, seed=1))
    assert_array_equal(random_rows(5, 50), np.arange(5))


def test_representative_rows_do_not_depend_on_row_order(rng):
    X = rng.normal(size=(500, 2)).round(1)
    rows, weights = representative_rows(X, np.ones(500), 40)
    shuffled = X[rng.permutation(500)]
    again, same_weights = representative_rows(shuffled, np.ones(500), 40)
    assert_array_equal(X[rows], shuffled[again])
    assert_array_equal(weights, same_weights)


def test_representative_rows_treat_copies_as_weights(rng):
    X = rng.normal(size=(30, 2))
    counts = rng.integers(1, 4, size=30)
    rows, weights = representative_rows(X, counts.astype(float), 100)
    copies = np.repeat(X, counts, axis=0)
    other, other_weights = representative_rows(copies, np.ones(len(copies)), 100)
    assert_array_equal(X[rows], copies[other])
    assert_array_equal(weights, other_weights)


def test_evenly_spaced_rows_do_not_depend_on_row_order(rng):
    X = rng.normal(size=(500, 3))
    shuffled = X[rng.permutation(500)]
    chosen, again = X[evenly_spaced_rows(X, 40)], shuffled[evenly_spaced_rows(shuffled, 40)]
    assert len(chosen) == 40
    assert_array_equal(np.sort(chosen[:, 0]), np.sort(again[:, 0]))


@pytest.mark.parametrize("data", [list("abcdefgh"), np.array(list("abcdefgh"), dtype=object)])
def test_objects_are_spaced_by_position(data):
    assert evenly_spaced_rows(data, 3).tolist() == [0, 3, 7]
    assert evenly_spaced_rows(data, 8).tolist() == list(range(8))


def test_take_rows_of_arrays_and_frames():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert rows_of(frame, np.array([2, 0]))["a"].tolist() == [3, 1]
    assert rows_of(frame, np.array([2, 0])).index.tolist() == [0, 1]
    assert rows_of(np.arange(3), np.array([2, 0])).tolist() == [2, 0]


def test_weighted_subsamples_represent_the_weights(rng):
    X, weights = rng.normal(size=(500, 2)), rng.exponential(size=500)
    weights[7] = 30.0  # about 6 % of the total
    rows, counts = representative_rows(X, weights, 100)
    assert len(set(rows.tolist())) == len(rows) < 100
    assert counts.sum() == 100
    assert_array_less(np.abs(counts - 100 * weights[rows] / weights.sum()), 1)
    grouped = select_representatives(X, weights, 100, grouped=True)
    assert len(set(grouped.rows.tolist())) == 100
    assert_allclose(grouped.weights.sum(), weights.sum())
    assert 7 in rows
    assert 7 in grouped.rows


def test_size_ratio_is_that_of_effective_sample_sizes(rng):
    X = rng.normal(size=(500, 2))
    assert select_representatives(X, np.ones(500), 100).size_ratio == 0.2
    assert select_representatives(X, rng.uniform(size=500), 600).size_ratio == 1
    weights = rng.uniform(size=500)
    found = select_representatives(X, weights, 100)
    sizes = [w.sum() ** 2 / (w**2).sum() for w in (found.weights, weights)]
    assert_allclose(found.size_ratio, sizes[0] / sizes[1])


def test_groups_of_slightly_more_rows_are_mostly_single_rows(rng):
    weights = rng.uniform(size=103)
    indices, totals = group_medians(weights, 100)
    assert (totals == weights[indices]).sum() >= 97
    assert_allclose(totals.sum(), weights.sum())
