"""Cells of unusual rows in a common form for all statistics, and their description."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelNovelty
from mercer.novelty.cells import describe_cell, explained_cells
from tests.novelty.test_conditional import animals


def test_cells_of_a_table_are_those_of_explain_with_positions_as_rows():
    frame = animals()
    detector = KernelNovelty().fit(frame)
    some = frame.head(3).set_axis(["x", "y", "z"])
    found = explained_cells(detector, some)
    assert found["row"].tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert found.drop(columns="row").equals(detector.explain(some).drop(columns="row"))


@pytest.mark.parametrize("container", [pd.DataFrame, np.asarray])
def test_cells_of_numbers_are_compared_with_typical_values(container):
    X = np.random.default_rng(0).normal(size=(100, 3))
    detector = KernelNovelty().fit(container(X))
    new = np.array([[0.0, 0.0, 7.0], [-6.0, 0.0, 1.0]])
    found = explained_cells(detector, container(new))
    assert len(found) == 6
    assert found["column"][0] == 2
    assert (found["observed"][0], found["observed"][3]) == (7.0, -6.0)
    assert_allclose(found["expected"][[0, 3]].astype(float), np.median(X, axis=0)[[2, 0]])
    contributions = detector.explain(new)
    assert_allclose(found["contribution"][:3], np.sort(contributions[0])[::-1])


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (("age", 200.0, 41.26), "age is 200, expected 41.26"),
        (("age", None, 41), "age is missing, expected 41"),
        (("city", "Rome", "Rome"), "city is Rome, which is rare"),
        (("price", 123456.0, np.nan), "price is 123456.0, expected missing"),
    ],
)
def test_description_of_a_cell(cell, text):
    assert describe_cell(*cell) == text
