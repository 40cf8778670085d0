"""Recognition of data frames."""

import numpy as np
import pytest

from mercer.frames import column_names, is_frame, rows_of

X = np.arange(6.0).reshape(3, 2)


def test_arrays_and_lists_are_not_frames():
    assert not is_frame(X)
    assert not is_frame(X.tolist())
    assert column_names(X) is None
    assert rows_of(X, [0, 2]).tolist() == [[0, 1], [4, 5]]


def test_pandas_frames_are_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", 1], index=[7, 8, 9])
    assert is_frame(frame)
    assert not is_frame(frame["a"])
    assert column_names(frame) == ["a", 1]
    for rows in ([0, 2], np.array([True, False, True])):
        selected = rows_of(frame, rows)
        assert selected.to_numpy().tolist() == [[0, 1], [4, 5]]
        assert selected.index.tolist() == [0, 1]
    assert rows_of(frame["a"], [2]).tolist() == [4.0]
