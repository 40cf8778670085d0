"""Random, representative and evenly spaced rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer.subsampling import (
    evenly_spaced_rows,
    random_rows,
    representative_rows,
    take_rows,
)


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
    assert take_rows(frame, np.array([2, 0]))["a"].tolist() == [3, 1]
    assert take_rows(frame, np.array([2, 0])).index.tolist() == [0, 1]
    assert take_rows(np.arange(3), np.array([2, 0])).tolist() == [2, 0]
