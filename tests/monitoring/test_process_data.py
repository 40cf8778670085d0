"""Lagged rows, segments, held-out blocks and the number of lags, against loops."""

import numpy as np
from numpy.testing import assert_array_equal

from mercer.monitoring.process_data import choose_lags, held_out_blocks, lagged_rows, segment_starts


def naive_lagged_rows(X, n_lags, starts, history):
    rows = []
    for t in range(len(X)):
        row, known = [], True
        for lag in range(n_lags + 1):
            if lag > 0 and t - lag + 1 >= 0 and starts[t - lag + 1]:
                known = False
            position = t - lag
            inside = position >= -len(history)
            value = (X[position] if position >= 0 else history[position]) if inside else None
            row.append(value if known and inside else np.full(X.shape[1], np.nan))
        rows.append(np.concatenate(row))
    return np.array(rows)


def test_lagged_rows_equal_a_loop():
    rng = np.random.default_rng(0)
    X, history = rng.normal(size=(12, 2)), rng.normal(size=(3, 2))
    starts = np.zeros(12, dtype=bool)
    starts[[5, 9]] = True
    for n_lags in (0, 1, 4):
        found = lagged_rows(X, n_lags, starts, history)
        assert_array_equal(found, naive_lagged_rows(X, n_lags, starts, history))
    no_starts = np.zeros(12, dtype=bool)
    expected = naive_lagged_rows(X, 2, no_starts, np.empty((0, 2)))
    assert_array_equal(lagged_rows(X, 2), expected)


def test_segments_begin_after_long_steps():
    times = np.array([0, 1, 2, 20, 21, 100.0])
    assert_array_equal(np.flatnonzero(segment_starts(times, 10.0)), [3, 5])


def test_held_out_blocks_partition_the_rows_and_keep_a_gap():
    blocks = held_out_blocks(53, 5, 3)
    assert_array_equal(np.concatenate([block for _, block in blocks]), np.arange(53))
    for training, block in blocks:
        assert np.abs(training[:, None] - block).min() > 3


def test_lags_of_independent_and_second_order_processes():
    rng = np.random.default_rng(1)
    assert choose_lags(rng.normal(size=(600, 3)), 4) == 0
    x = np.zeros((1500, 2))
    for t in range(2, 1500):
        x[t] = 0.5 * x[t - 1] - 0.6 * x[t - 2] + rng.normal(size=2)
    assert choose_lags(x, 5) == 2
