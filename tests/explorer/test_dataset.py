"""Tables made ready for the page: classes and coordinates of odd ones."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
from mercer.explorer.dataset import Dataset
from mercer.explorer.views import rounded
from mercer.tables import as_table


def dataset(frame, label=None):
    return Dataset.of("mine", as_table(frame, label=label), False, "gaussian")


def test_of_many_classes_the_nine_most_frequent_have_names(rng):
    names = np.repeat([f"c{j:02d}" for j in range(12)], [9, 3, 9, 9, 2, 9, 9, 1, 9, 9, 9, 9])
    frame = pd.DataFrame({"x": rng.normal(size=len(names)), "y": 1 - rng.random(len(names))})
    classes = dataset(frame.assign(kind=names), "kind").classes
    rare = ("c01", "c04", "c07")
    assert classes.kind == "class"
    assert classes.names == [*sorted(set(names) - set(rare)), "others"]
    found = [classes.names[code] for code in classes.values]
    assert found == ["others" if name in rare else name for name in names]


def test_tables_of_fewer_than_two_numbers_are_drawn_over_their_rows(rng):
    x = rng.normal(3.0, 2.0, size=20)
    plane = dataset(pd.DataFrame({"x": x})).plane("", "")
    assert plane.names == ("x", "row")
    np.testing.assert_allclose(plane.points, np.column_stack([x, np.arange(20)]))
    plane = dataset(pd.DataFrame({"kind": ["a", "b"] * 10, "size": ["s", "m", "l", "s"] * 5}))
    plane = plane.plane("", "")
    assert plane.names == ("", "row")
    np.testing.assert_array_equal(plane.points, np.column_stack([np.zeros(20), np.arange(20)]))


def test_rounding_keeps_seven_digits_of_the_largest_and_no_gaps():
    found = rounded(np.array([1234.56789012, 1e-9, np.nan, np.inf]))
    assert found == [1234.568, 0.0, 0.0, 0.0]
    assert rounded(np.zeros(2)) == [0.0, 0.0]
    assert rounded(np.array([np.nan])) == [0.0]
