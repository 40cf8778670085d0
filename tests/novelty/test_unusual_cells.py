"""Unusual cells: planted errors are found, each with the value that was replaced."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from mercer import KernelNovelty
from mercer.novelty.unusual_cells import held_out_scores, outlying_score, unusual_cells


def boxes(n=400, seed=0):
    """Sides and surfaces of cubes, measured with errors of 5 %, and a category by the side."""
    rng = np.random.default_rng(seed)
    side = rng.uniform(1, 2, n)
    size = pd.Categorical(np.where(side < 1.5, "small", "large"))
    measured = {"side": side, "area": 6 * side**2, "diagonal": side * 3**0.5, "volume": side**3}
    errors = {name: rng.normal(1, 0.05, n) for name in measured}
    return pd.DataFrame({name: measured[name] * errors[name] for name in measured} | {"size": size})


DETECTOR = KernelNovelty(statistic="conditional", random_state=0)


def cells_of(frame, **options):
    return unusual_cells(DETECTOR, frame, held_out_scores(DETECTOR, frame), **options)


def test_planted_errors_come_first_with_the_expected_value():
    true = boxes()
    first, second, third = np.argsort(np.abs(true["side"] - 1.4))[:3]
    frame = true.copy()
    frame.loc[first, "area"] = 200.0
    frame.loc[second, "diagonal"] = 30.0
    frame.loc[third, ["side", "volume"]] = [9.0, 400.0]
    found = cells_of(frame, n_rows=3)
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
    model = clone(DETECTOR).fit(frame)
    cells = model.explain(frame.iloc[[row]]).set_index("column")["contribution"]
    before = model.explain(true.iloc[[row]]).set_index("column")["contribution"]
    assert (cells / before).drop("area").max() > 2
    assert cells_of(frame, n_rows=1)["column"].tolist() == ["area"]


def test_missing_values_are_not_unusual():
    frame = boxes()
    frame.loc[5, "area"] = np.nan
    frame.loc[6, ["side", "diagonal"]] = np.nan
    frame.loc[9, "size"] = None
    model = clone(DETECTOR).fit(frame)
    assert model.explain(frame.iloc[[9]])["observed"].iloc[0] is None  # the largest contribution
    found = cells_of(frame, n_rows=10)
    assert found["observed"].notna().all()
    frame.loc[:1, :] = np.nan
    scores = np.r_[9.0, 8.0, np.zeros(len(frame) - 2)]
    assert len(unusual_cells(DETECTOR, frame, scores, n_rows=2)) == 0


def test_scores_are_those_of_fits_without_the_row():
    frame = boxes(200)
    frame.loc[3, "area"] = 200.0
    found = held_out_scores(DETECTOR, frame)
    for others, rows in KFold(5, shuffle=True, random_state=0).split(frame):
        model = clone(DETECTOR).fit(frame.iloc[others])
        assert_allclose(found[rows], -model.score_samples(frame.iloc[rows]))
    assert found.argmax() == 3


@pytest.mark.parametrize("n", [300, 1000, 10_000])
def test_no_value_of_an_exponential_sample_stands_out(n):
    """The quantiles are those of the distribution: the largest value is near log(n)."""
    scores = -np.log1p(-(np.arange(n) + 0.5) / n)
    limit = outlying_score(scores)
    assert limit == pytest.approx(np.log(10) * (1 + 2.5 * np.log10(n / 10)), rel=0.1)
    assert scores.max() < limit
    assert outlying_score(1000 * scores) == pytest.approx(1000 * limit)


def test_missing_values_do_not_raise_scores():
    frame = boxes(200)
    before = held_out_scores(DETECTOR, frame)
    frame.loc[9, "size"] = None
    frame.loc[20, "side"] = np.nan
    frame.loc[[50, 51], ["side", "area", "diagonal", "volume"]] = np.nan  # missing together
    after = held_out_scores(DETECTOR, frame)
    assert (after[[9, 20, 50, 51]] < 1.2 * np.maximum(before[[9, 20, 50, 51]], 30)).all()


def test_categories_have_the_probability_of_the_observed_one():
    frame = boxes()
    row = int(np.argmin(np.abs(frame["side"] - 1.8)))
    frame.loc[row, "size"] = "small"
    found = cells_of(frame, n_rows=20).set_index("row").loc[[row]].iloc[0]
    assert (found["column"], found["expected"]) == ("size", "large")
    assert found["probability"] < 0.5


def test_rows_and_cells_are_limited():
    frame = boxes(40)
    found = cells_of(frame, n_rows=7, n_cells=2)
    assert found["row"].nunique() == 7
    assert found.groupby("row").size().max() <= 2
    assert not found.duplicated(["row", "column"]).any()


def test_dates_are_replaced_by_dates():
    frame = boxes()
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(frame["side"] * 100, unit="D")
    row = int(np.argmin(np.abs(frame["side"] - 1.4)))
    frame["day"] = day.where(np.arange(len(frame)) != row, pd.Timestamp("1970-01-01"))
    found = cells_of(frame, n_rows=1).iloc[0]
    assert (found["row"], found["column"]) == (row, "day")
    assert abs(found["expected"] - day[row]) < pd.Timedelta(days=30)


def test_codes_for_missing_values_come_first_with_what_the_other_cells_predict():
    frame = boxes()
    true = frame.loc[7].copy()
    frame.loc[7, ["side", "area", "volume"]] = 0.0
    found = cells_of(frame, n_rows=1, codes={"side": 0.0, "area": 0.0, "volume": 0.0})
    assert set(found["column"]) == {"side", "area", "volume"}
    assert (found["observed"] == 0).all()
    assert (found["contribution"] > 0).all()
    for one in found.itertuples():
        assert one.expected == pytest.approx(true[one.column], rel=0.35)


def test_codes_that_no_unusual_row_has_change_nothing():
    frame = boxes()
    frame.loc[3, "area"] = 100.0
    pd.testing.assert_frame_equal(cells_of(frame), cells_of(frame, codes={"side": -1.0}))
