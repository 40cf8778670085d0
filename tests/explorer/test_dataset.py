"""Classes and coordinates of unusual tables."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
from mercer.explorer.dataset import Dataset
from mercer.explorer.views import rounded
from mercer.tables import as_table


def dataset(frame, label=None):
    return Dataset.from_table("mine", as_table(frame, label=label), False, "gaussian")


def test_rare_classes_are_merged(rng):
    names = np.repeat([f"c{j:02d}" for j in range(12)], [9, 3, 9, 9, 2, 9, 9, 1, 9, 9, 9, 9])
    frame = pd.DataFrame({"x": rng.normal(size=len(names)), "y": 1 - rng.random(len(names))})
    classes = dataset(frame.assign(kind=names), "kind").classes
    rare = ("c01", "c04", "c07")
    assert classes.kind == "class"
    assert classes.names == [*sorted(set(names) - set(rare)), "others"]
    found = [classes.names[code] for code in classes.values]
    assert found == ["others" if name in rare else name for name in names]


def test_tables_with_one_numeric_column_are_drawn_against_the_row_index(rng):
    x = rng.normal(3.0, 2.0, size=20)
    plane = dataset(pd.DataFrame({"x": x})).plane("", "")
    assert plane.names == ("x", "row")
    np.testing.assert_allclose(plane.points, np.column_stack([x, np.arange(20)]))
    plane = dataset(pd.DataFrame({"kind": ["a", "b"] * 10, "size": ["s", "m", "l", "s"] * 5}))
    plane = plane.plane("", "")
    assert plane.names == ("", "row")
    np.testing.assert_array_equal(plane.points, np.column_stack([np.zeros(20), np.arange(20)]))


def test_values_are_rounded_to_seven_digits_of_the_largest():
    assert rounded(np.array([1234.56789012, 1e-9])) == [1234.568, 0.0]
    assert rounded(np.zeros(2)) == [0.0, 0.0]


def test_values_that_are_not_finite_become_none():
    assert rounded(np.array([1.5, np.nan, np.inf, -np.inf])) == [1.5, None, None, None]
    assert rounded(np.array([[np.nan], [2.0]])) == [[None], [2.0]]
    assert rounded(np.array([np.nan])) == [None]
