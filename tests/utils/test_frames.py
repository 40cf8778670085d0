"""Recognition of data frames."""

import numpy as np
import pytest

from mercer.utils.frames import as_frame, check_distinct_names, column_names, is_frame, rows_of
from tests.expectations import raises

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


def test_other_objects_are_not_converted():
    assert as_frame(X) is X
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    assert as_frame(frame) is frame
    assert as_frame(frame[0]) is not None


def test_arrow_columns_keep_large_integers_and_the_index():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    cells = pd.array([2**53 + 1, None, 2**53], dtype="int64[pyarrow]")
    frame = pd.DataFrame({"id": cells, "x": X[:, 0]}, index=[7, 8, 9])
    found = as_frame(frame)
    assert found["id"].tolist() == [2**53 + 1, None, 2**53]
    assert found.index.tolist() == [7, 8, 9]
    assert frame["id"].dtype == "int64[pyarrow]"  # the caller's frame does not change


def test_duplicate_names_are_listed():
    check_distinct_names(["a", "b"])
    with raises(ValueError, "cars", "'1'"):
        check_distinct_names([1, "1", "b"], "cars")
