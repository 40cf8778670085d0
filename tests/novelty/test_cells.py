"""Unusual cells: planted errors are found, each with the value that was replaced."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelNovelty
from mercer.novelty.cells import unusual_cells


def boxes(n=400, seed=0):
    """Sides and surfaces of cubes, measured with errors of 5 %, and a category by the side."""
    rng = np.random.default_rng(seed)
    side = rng.uniform(1, 2, n)
    size = pd.Categorical(np.where(side < 1.5, "small", "large"))
    measured = {"side": side, "area": 6 * side**2, "diagonal": side * 3**0.5, "volume": side**3}
    errors = {name: rng.normal(1, 0.05, n) for name in measured}
    return pd.DataFrame({name: measured[name] * errors[name] for name in measured} | {"size": size})


def model_of(frame):
    return KernelNovelty(statistic="conditional", random_state=0).fit(frame)


def test_planted_errors_come_first_with_the_expected_value():
    true = boxes()
    first, second, third = np.argsort(np.abs(true["side"] - 1.4))[:3]
    frame = true.copy()
    frame.loc[first, "area"] = 200.0
    frame.loc[second, "diagonal"] = 30.0
    frame.loc[third, ["side", "volume"]] = [9.0, 400.0]
    found = unusual_cells(model_of(frame), frame, n_rows=3)
    planted = {(first, "area"), (second, "diagonal"), (third, "side"), (third, "volume")}
    cells = {(one.row, one.column) for one in found.itertuples()}
    assert planted <= cells
    assert {row for row, _ in cells - planted} <= {third}
    assert found["score"].is_monotonic_decreasing
    for one in found.itertuples():
        assert one.observed == frame.loc[one.row, one.column]
        # all but one of the others are right; for two wrong cells the first expectation is worse
        if one.row != third:
            assert one.expected == pytest.approx(true.loc[one.row, one.column], rel=0.2)


def test_other_cells_of_a_row_are_judged_without_the_wrong_one():
    """A wrong cell makes other cells of its row unexpected."""
    true = boxes()
    row = int(np.argmin(np.abs(true["side"] - 1.4)))
    frame = true.copy()
    frame.loc[row, "area"] = 200.0
    model = model_of(frame)
    cells = model.explain(frame.iloc[[row]]).set_index("column")["contribution"]
    before = model.explain(true.iloc[[row]]).set_index("column")["contribution"]
    assert (cells / before).drop("area").max() > 2
    assert unusual_cells(model, frame, n_rows=1)["column"].tolist() == ["area"]


def test_missing_values_are_not_unusual():
    frame = boxes()
    frame.loc[5, "area"] = np.nan
    frame.loc[6, ["side", "diagonal"]] = np.nan
    frame.loc[9, "size"] = None
    model = model_of(frame)
    assert model.explain(frame.iloc[[9]])["observed"].iloc[0] is None  # the largest contribution
    found = unusual_cells(model, frame, n_rows=10)
    assert found["observed"].notna().all()
    nothing = frame.iloc[:2].assign(size=None)
    nothing.loc[:, ["side", "area", "diagonal", "volume"]] = np.nan
    assert len(unusual_cells(model, nothing)) == 0


def test_categories_have_the_probability_of_the_observed_one():
    frame = boxes()
    row = int(np.argmin(np.abs(frame["side"] - 1.8)))
    frame.loc[row, "size"] = "small"
    found = unusual_cells(model_of(frame), frame, n_rows=20).set_index("row").loc[[row]].iloc[0]
    assert (found["column"], found["expected"]) == ("size", "large")
    assert found["probability"] < 0.5


def test_rows_and_cells_are_limited():
    frame = boxes(40)
    found = unusual_cells(model_of(frame), frame, n_rows=7, n_cells=2)
    assert found["row"].nunique() == 7
    assert found.groupby("row").size().max() <= 2
    assert not found.duplicated(["row", "column"]).any()


def test_dates_are_replaced_by_dates():
    frame = boxes()
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(frame["side"] * 100, unit="D")
    row = int(np.argmin(np.abs(frame["side"] - 1.4)))
    frame["day"] = day.where(np.arange(len(frame)) != row, pd.Timestamp("1970-01-01"))
    found = unusual_cells(model_of(frame), frame, n_rows=1).iloc[0]
    assert (found["row"], found["column"]) == (row, "day")
    assert abs(found["expected"] - day[row]) < pd.Timedelta(days=30)
