"""Sections of the report: their answers state what the results say, for tables of every kind."""

import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from mercer import KernelECA, KernelNovelty, ParzenDensity
from mercer.cluster.profiles import Trait
from mercer.information import column_dependence
from mercer.kernels import Gaussian
from mercer.novelty.unusual_cells import held_out_scores
from mercer.report import analyze, numbers, page, result_files, write_report
from mercer.report.distributions import Curve, Frequencies, estimate_distributions
from mercer.report.distributions import _range as drawn_range
from mercer.report.groups import describe_trait
from mercer.report.methods import Raised, Steps
from mercer.report.prediction import class_labels
from mercer.report.section import format_fraction, format_value, plain
from mercer.tables import as_table, read_table
from mercer.tables.columns import calendar_parts, find_placeholder
from mercer.utils.formatting import format_count, format_names, shorten
from tests.expectations import names_values, raises


def blobs(n=60, seed=0, sep=8.0, **columns):
    rng = np.random.default_rng(seed)
    most = 2 * n // 3
    a = np.concatenate([rng.normal(0, 1, most), rng.normal(sep, 1, n - most)])
    return pd.DataFrame({"a": a, "b": rng.normal(size=n), **columns})


@pytest.fixture(scope="module")
def machines():
    return analyze(read_table("machines"))


@pytest.fixture(scope="module")
def iris():
    return analyze(read_table("iris"))


def read(files, name):
    return pd.read_csv(io.BytesIO(files[name]))


# --- contents --------------------------------------------------------------------------------


def test_answer_counts_rows_types_and_missing_values(machines):
    table, answer = machines.table, machines.contents.answer
    kinds = list(table.column_types.values())
    for kind, plural in (("number", "numbers"), ("category", "categories"), ("date", "dates")):
        count = kinds.count(kind)
        assert f"{count} {plural if count > 1 else kind}" in answer
    fraction = table.frame.isna().to_numpy().mean()
    assert names_values(answer, f"{table.n} rows", format_fraction(fraction)) == []
    complete = analyze(as_table(blobs(same=1.0), ignore=["b"]))
    assert names_values(complete.contents.answer, "no missing", "b and same", "left out") == []


def test_column_summaries(machines):
    by_name = {column.name: column for column in machines.contents.columns}
    frame = machines.table.frame
    assert by_name["temperature"].missing == frame["temperature"].isna().sum() > 0
    assert by_name["temperature"].middle == frame["temperature"].median()
    assert by_name["coolant"].frequent[0] == ("True", int((frame["coolant"] == "True").sum()))
    assert by_name["date"].low == str(frame["date"].min().isoformat())


def test_problems_are_listed_with_what_was_done():
    frame = blobs(
        size=np.r_[np.linspace(40, 70, 59), 0.0],
        grade=list("xyz") * 20,
        code=[7, 8, 9] * 20,
        same=1,
        kind=["u", None] + ["v"] * 58,
    )
    frame = pd.concat([frame, frame.iloc[[5, 5, 6]]], ignore_index=True)
    frame.loc[3, "grade"] = None
    frame.loc[3, "code"] = np.nan
    table = as_table(frame, label="kind", notes=["numbers have decimal commas"])
    body = str(analyze(table, n_clusters=2).contents.body)
    expected = [
        "numbers have decimal commas",
        "same: the same value",
        "3 rows repeat",
        "size is 0 in 1 row",
        "the nearest is 40",
        "code repeats grade",
        "grade (1), code (1)",
        "kind is missing in 1 row",
    ]
    assert names_values(body, *expected) == []
    dropped = blobs()
    dropped.loc[[2, 9], "a"] = np.nan
    assert "2 of 60 rows" in analyze(as_table(dropped)).contents.body


@pytest.mark.parametrize(
    ("numbers", "value"),
    [
        (np.r_[np.linspace(4, 9, 99), 0.0], 0.0),
        (np.r_[np.linspace(18, 65, 99), 999.0, np.nan], 999.0),
        (np.r_[np.linspace(5, 9, 99), 1.0], None),  # not a code
        (np.r_[np.linspace(4, 9, 80), np.zeros(20)], None),  # too many
        (np.linspace(0, 9, 99), None),  # near other values
        (np.zeros(5), None),
    ],
)
def test_placeholders_are_rare_codes_far_from_other_values(numbers, value):
    found = find_placeholder(numbers)
    assert (found and found.value) == value


# --- groups ----------------------------------------------------------------------------------


def test_answer_states_the_groups_of_the_estimator(iris):
    groups = iris.groups
    sizes = np.bincount(groups.estimator.labels_)
    assert [one.size for one in groups.each] == sorted(sizes.tolist(), reverse=True)
    assert adjusted_rand_score(groups.numbers, groups.estimator.labels_) == 1
    assert groups.confidence == groups.estimator.confidence_
    assert names_values(groups.answer, *(one.size for one in groups.each)) == []
    largest = max(groups.traits, key=lambda trait: abs(trait.effect))
    assert groups.distinguishing[0] == largest.column
    assert largest.column in groups.answer


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"confidence": 0.2}, ["uncertain", "2 groups"]),
        ({"confidence": 0.9}, ["form 2 groups"]),
        ({"requested": True, "suggested": 2}, ["as requested"]),
        ({"requested": True, "suggested": 4, "confidence": 0.9}, ["requested", "suggest 4 groups"]),
    ],
)
def test_answer_states_the_certainty_of_the_number(changes, words):
    groups = analyze(as_table(blobs()), n_clusters=2).groups
    groups = replace(groups, **{"requested": False, "suggested": 2, "confidence": 0.9} | changes)
    assert names_values(groups.answer, *words) == []
    assert ("uncertain" in groups.answer) == (changes.get("confidence") == 0.2)


def test_one_group_is_not_described_by_differences():
    groups = analyze(as_table(blobs()), n_clusters=1).groups
    assert "one group, as requested" in groups.answer
    assert groups.traits == ()
    assert groups.context()["groups"] is None
    one = replace(groups, requested=False, confidence=0.9)
    assert "form one group" in one.answer
    assert "no clear groups" in replace(one, confidence=0.3).answer
    with raises(ValueError, "n_clusters=99", 60):
        analyze(as_table(blobs()), n_clusters=99)


def test_isolated_rows_are_in_no_group():
    analysis = analyze(as_table(blobs(kind=["p", "q"] * 30), label="kind"), n_clusters=2)
    numbers = analysis.groups.numbers.copy()
    numbers[[4, 7]] = 0
    groups = replace(analysis.groups, numbers=numbers, alternative=4, followed=["a"])
    assert "2 rows belong to none" in groups.answer
    body = str(groups.body)
    assert "a was not used" in body
    assert "next best" not in body  # the number was requested
    assert "next best number is 4" in str(replace(groups, requested=False).body)
    assert np.isnan(groups.row_columns()["group"]).sum() == 2
    curve = estimate_distributions(analysis.table, groups).drawn[0]
    assert np.trapezoid(curve.density, curve.x) == pytest.approx(1, abs=0.03)
    assert (sum(curve.parts) <= curve.density + 1e-12).all()


def test_map_shows_groups_although_some_rows_have_a_rare_category_or_no_numbers():
    frame = blobs(n=200, sep=12.0)
    frame["c"] = frame["a"] + np.random.default_rng(1).normal(size=200)
    frame["kind"] = np.where(np.arange(200) == 5, "rare", "usual")
    frame.loc[[10, 11], ["a", "b", "c"]] = np.nan
    shown = analyze(as_table(frame, missing="keep"), n_clusters=2).groups.map
    assert not shown.are_columns
    side = shown.points[:, 0] * np.sign(shown.points[199, 0])
    complete = frame["a"].notna().to_numpy()
    assert (side > 0)[complete].tolist() == (frame["a"] > 6)[complete].tolist()
    assert np.abs(shown.points[[10, 11]]).max() < np.abs(shown.points).max()


def test_descriptions_name_one_of_columns_that_repeat_each_other():
    frame = blobs(c=np.repeat([0, 1], [40, 20]), d=np.repeat(["no", "yes"], [40, 20]))
    groups = analyze(as_table(frame), n_clusters=2).groups
    found = column_dependence(frame)
    assert found.strength[2, 3] > 0.8
    small = groups.each[1].description
    assert ("c “1”" in small) != ("d “yes”" in small)  # binary numbers are described by frequencies


def test_traits_are_described_by_medians_and_proportions():
    date = Trait(0, "when", "date", None, "2026-02-14T12:00:00", "2026-01-01T00:00:00", 1.0)
    assert describe_trait(date) == "high when (2026-02-14 12:00:00; all rows 2026-01-01)"


# --- dependence ------------------------------------------------------------------------------


def test_answer_names_repeated_columns_and_groups_of_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=300), "z": rng.normal(size=300)})
    frame["kind"] = rng.choice(list("pqr"), 300)
    frame["code"] = frame["kind"].map({"p": "one", "q": "two", "r": "three"})
    section = analyze(as_table(frame)).dependence
    assert names_values(section.answer, "kind = code", "x and y") == []
    assert "z" not in section.answer
    assert_allclose(section.found.predicted, column_dependence(frame).predicted)
    independent = analyze(as_table(pd.DataFrame(rng.normal(size=(300, 3)))))
    assert "independent" in independent.dependence.answer


def test_a_single_column_has_no_section_about_dependence():
    analysis = analyze(as_table(blobs()[["a"]]))
    assert analysis.dependence is None
    assert "dependence.csv" not in result_files(analysis)


# --- unusual rows ----------------------------------------------------------------------------


def test_answer_names_the_most_unusual_row_and_its_cell():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, 400)
    frame = pd.DataFrame({"side": x, "area": x**2, "kind": rng.choice(list("uv"), 400)})
    frame.loc[17, "area"] = 1000.0
    frame.loc[:5, "side"] = np.nan
    unusual = analyze(as_table(frame, missing="keep"), n_clusters=1).unusual
    row = frame.loc[17, "side"] ** 2
    assert unusual.cells[0].row == 18
    assert unusual.cells[0].expected == pytest.approx(row, rel=0.5)
    assert names_values(unusual.answer, "row 18", "area is 1000", "expected") == []
    assert unusual.standing_out == (unusual.scores > unusual.limit).sum() > 0
    assert f"{format_count(unusual.standing_out, 'row')} stand" in unusual.answer
    assert all(cell.observed is not None for cell in unusual.cells)


def test_no_row_of_a_normal_sample_stands_out():
    X = np.random.default_rng(1).normal(size=(500, 4))
    unusual = analyze(as_table(pd.DataFrame(X))).unusual
    assert unusual.standing_out == 0
    assert "No row stands out" in unusual.answer


def test_scores_are_those_of_the_estimator(machines):
    names = [c for c, kind in machines.table.column_types.items() if kind != "text"]
    frame = machines.table.frame[names]
    detector = KernelNovelty(statistic="conditional", random_state=0)
    assert_allclose(machines.unusual.scores, held_out_scores(detector, frame))
    highest = np.argsort(-machines.unusual.scores, kind="stable")[:3] + 1
    assert list(dict.fromkeys(one.row for one in machines.unusual.cells))[:3] == highest.tolist()


def test_texts_alone_have_no_unusual_rows():
    frame = pd.DataFrame(
        {"t": [f"the {w} fox number {i}" for i, w in enumerate(["red", "old"] * 20)]}
    )
    assert analyze(as_table(frame)).unusual is None


# --- distributions ---------------------------------------------------------------------------


def test_answer_names_long_tails_and_dominating_values():
    rng = np.random.default_rng(0)
    frame = blobs(n=300, tail=rng.lognormal(0, 1.5, 300), flat=rng.uniform(size=300))
    frame["mostly"] = ["yes"] * 295 + ["no"] * 5
    frame["left"] = -frame["tail"]
    section = analyze(as_table(frame), n_clusters=1).distributions
    assert set(section.tails) == {"tail", "left"}
    assert names_values(section.answer, "right: tail", "left: left", "mostly (98 %)") == []
    assert "flat" not in section.answer
    plain_ = analyze(as_table(frame[["a", "flat"]]), n_clusters=1).distributions
    assert "No column" in plain_.answer


def test_curves_add_up_to_one_and_positive_columns_have_no_density_below_zero():
    rng = np.random.default_rng(0)
    frame = blobs(n=300, price=rng.exponential(size=300))
    section = analyze(as_table(frame), n_clusters=2).distributions
    curves = {one.column: one for one in section.drawn}
    for curve in curves.values():
        assert_allclose(sum(curve.parts), curve.density)
        assert np.trapezoid(curve.density, curve.x) == pytest.approx(1, abs=0.03)
    assert curves["price"].x[0] == 0
    assert curves["a"].x[0] < frame["a"].min()


def test_a_curve_is_the_parzen_density_with_silvermans_bandwidth():
    frame = blobs()
    section = analyze(as_table(frame), n_clusters=1).distributions
    curve = next(one for one in section.drawn if one.column == "a")
    own = ParzenDensity(kernel=Gaussian("silverman")).fit(frame[["a"]].to_numpy())
    assert_allclose(curve.density, own.pdf(curve.x[:, None]))


def test_few_whole_numbers_have_bars_in_their_order():
    frame = blobs(doors=[4.0, 2.0, 4.0, 3.0, 5.0, 4.0] * 10)
    section = analyze(as_table(frame), n_clusters=1).distributions
    bars = next(one for one in section.drawn if one.column == "doors")
    assert isinstance(bars, Frequencies)
    assert bars.labels == ("2", "3", "4", "5")
    assert_allclose(bars.fractions, [1 / 6, 1 / 6, 1 / 2, 1 / 6])


def test_bars_are_divided_into_groups():
    frame = blobs(n=300, kind=list("uuvwvu") * 50)
    analysis = analyze(as_table(frame), n_clusters=2)
    bars = next(one for one in analysis.distributions.drawn if one.column == "kind")
    numbers = analysis.groups.numbers
    assert_allclose(np.sum(bars.parts, axis=0), bars.fractions)
    for group, part in enumerate(bars.parts, start=1):
        for label, fraction in zip(bars.labels, part, strict=True):
            assert fraction == np.mean((numbers == group) & (frame["kind"] == label))


def test_a_density_leaves_out_a_value_of_many_rows():
    rng = np.random.default_rng(0)
    toll = np.where(rng.random(400) < 0.6, 0.0, rng.normal(8, 1, 400))
    analysis = analyze(as_table(blobs(n=400, toll=toll)), n_clusters=1)
    curve = next(one for one in analysis.distributions.drawn if one.column == "toll")
    assert curve.repeated == (0.0, np.mean(toll == 0))
    own = ParzenDensity(kernel=Gaussian("silverman"), support="positive").fit(toll[toll > 0, None])
    assert_allclose(curve.density, own.pdf(curve.x[:, None]))
    assert format_fraction(curve.repeated[1]) in str(analysis.distributions.body)
    other = next(one for one in analysis.distributions.drawn if one.column == "a")
    assert other.repeated is None


def test_range_excludes_extreme_outliers():
    inner = np.linspace(0.0, 10.0, 5001)
    low, high = drawn_range(np.append(inner, 1e6))
    assert -1 < low < 0.1
    assert 9.9 < high < 11
    assert drawn_range(inner) == pytest.approx((-0.6, 10.6))


def test_many_columns():
    X = np.random.default_rng(0).normal(size=(60, 200))
    analysis = analyze(as_table(pd.DataFrame(X)))
    assert len(analysis.contents.columns) == 200
    assert len(analysis.distributions.drawn) == 12
    text = page(analysis)
    assert names_values(text, "160 more columns", "188 other columns") == []
    assert len(text) < 1_500_000


# --- prediction of a label ---------------------------------------------------------------------


def test_answer_states_accuracy_and_the_best_predictors(iris):
    section = iris.prediction
    assert section.accuracy.most_frequent == pytest.approx(1 / 3)
    assert section.accuracy.mean > 0.9
    stated = [format_fraction(section.accuracy.mean), "33 %", section.predictors[0].column]
    assert names_values(section.answer, *stated) == []
    frame = iris.table.frame.assign(species=iris.table.labels)
    expected = column_dependence(frame).predictors("species")
    assert [(one.column, one.alone) for one in section.predictors] == expected
    assert section.by_group.sum() == 150
    assert section.agreement == adjusted_rand_score(iris.table.labels, iris.groups.numbers)


def test_numbers_are_predicted_by_the_fraction_of_their_variation():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300))
    noise = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": y, "price": 2 * x + noise})
    section = analyze(as_table(frame, label="price"), n_clusters=1).prediction
    assert section.accuracy is None
    assert section.explained == pytest.approx(0.8, abs=0.1)  # 4 / 5 of the variance
    assert section.predictors[0].column == "x"
    assert names_values(section.answer, "price", format_fraction(section.explained), "is x") == []


def test_random_labels_are_predicted_at_chance_level():
    frame = blobs(n=100, kind=np.random.default_rng(5).choice(["p", "q"], 100))
    section = analyze(as_table(frame, label="kind"), n_clusters=1).prediction
    assert abs(section.accuracy.mean - 0.5) < 0.2
    assert section.explained < 0.1


@pytest.mark.parametrize(
    ("kind", "value"), [([f"name {i}" for i in range(60)], "60"), (["same"] * 60, "same")]
)
def test_labels_that_are_not_classes(kind, value):
    section = analyze(as_table(blobs(kind=kind), label="kind"), n_clusters=1).prediction
    assert value in section.reason
    assert section.reason in section.answer
    assert section.accuracy is None


def test_rows_without_a_label_and_single_row_classes_are_excluded():
    kinds = [None] * 5 + ["p"] * 25 + ["q"] * 29 + ["r"]
    section = analyze(as_table(blobs(kind=kinds), label="kind"), n_clusters=2).prediction
    assert section.accuracy.rare_classes == ("r",)
    assert section.accuracy.rows == 54
    assert section.by_group.sum() == 55
    one_row = as_table(blobs(kind=["p"] * 59 + ["q"]), label="kind")
    assert analyze(one_row, n_clusters=1).prediction.accuracy is None


def test_few_whole_numbers_are_classes():
    names, reason = class_labels(as_table(blobs(kind=[1.0, 2.0] * 30), label="kind"))
    assert reason is None
    assert set(names) == {"1", "2"}


# --- changes over time -------------------------------------------------------------------------


def test_answer_names_what_changes_with_the_hour():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2026-03-02") + pd.to_timedelta(rng.uniform(0, 20, 800), unit="D")
    load = np.where(when.hour < 12, 1.0, 5.0) + rng.normal(size=800)
    frame = pd.DataFrame({"when": when, "load": load, "noise": rng.normal(size=800)})
    section = analyze(as_table(frame), n_clusters=1).changes
    first = section.largest[0]
    assert (first.column, first.part) == ("load", "hour")
    assert first.fraction == pytest.approx(0.8, abs=0.05)  # 4 of 5
    expected = ["2026-03-02", "2026-03-21", "load (by hour", format_fraction(first.fraction)]
    assert names_values(section.answer, *expected) == []
    assert "noise" not in section.answer
    constant = analyze(as_table(frame[["when", "noise"]]), n_clusters=1).changes
    assert "no column changes much" in constant.answer


def test_parts_of_dates_are_used_if_they_vary():
    def parts(**options):
        return set(calendar_parts(pd.Series(pd.date_range("2026-01-01", **options))))

    assert parts(periods=5) == set()
    assert parts(periods=30) == {"weekday"}
    assert parts(periods=30, freq="h") == {"hour"}
    assert parts(periods=800) == {"month", "weekday"}
    assert parts(periods=800, freq="17h") == {"month", "weekday", "hour"}


def test_tables_without_dates_have_no_section_about_time(iris):
    assert iris.changes is None
    only_dates = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=30)})
    assert analyze(as_table(only_dates)).changes is None


# --- methods ---------------------------------------------------------------------------------


def test_warnings_that_differ_in_numbers_appear_once_and_only_in_methods():
    def work():
        warnings.warn("500 landmarks: 8.1% of K is missing (centered)", UserWarning, stacklevel=1)
        warnings.warn("200 landmarks: 9% of K is missing", UserWarning, stacklevel=1)
        warnings.warn("something else", UserWarning, stacklevel=1)

    steps = Steps(1)
    steps.run("a step", work)
    assert [one.message[:9] for one in steps.raised] == ["500 landm", "something"]
    analysis = analyze(as_table(blobs(), name="x"), n_clusters=1)
    methods = replace(analysis.methods, raised=(Raised("a step", "UserWarning", "a caution"),))
    assert "one technical warning" in methods.answer
    text = page(replace(analysis, methods=methods))
    assert text.index("a caution") > text.index('<section id="methods"')


def test_methods_have_kernel_eca_times_memory_and_versions(iris):
    found = plain(iris.methods.to_json())
    own = KernelECA(0.99).fit(iris.methods.model.data)
    assert found["kernel_eca"]["information_potential"] == pytest.approx(own.information_potential_)
    assert found["kernel_eca"]["renyi_entropy"] == pytest.approx(own.renyi_entropy_)
    assert set(found["versions"]) >= {"mercer", "python", "numpy", "scikit-learn"}
    assert {"groups", "unusual rows", "dependence of columns"} <= set(found["seconds"])
    assert found["peak_memory"] > 2**20
    body = str(iris.methods.body)
    assert names_values(body, iris.methods.eca.spectrum_.certificate, "HDBSCAN") == []


# --- results ---------------------------------------------------------------------------------


def test_result_tables(machines):
    files = result_files(machines)
    rows = read(files, "rows.csv")
    assert_array_equal(rows["row"], machines.table.rows + 1)
    assert_array_equal(rows["group"], machines.groups.numbers)
    assert_allclose(rows["score"], machines.unusual.scores, rtol=1e-6)
    groups = read(files, "groups.csv")
    assert groups.groupby("group")["size"].first().sum() == machines.table.n
    columns = len(machines.table.columns)
    assert list(read(files, "columns.csv")["name"]) == list(machines.table.columns)
    assert len(read(files, "dependence.csv")) == columns * (columns - 1)
    assert len(read(files, "cells.csv")) == len(machines.unusual.cells)
    assert set(read(files, "changes.csv")["part"]) >= {"date"}
    assert list(read(files, "predictors.csv")["column"]) == [
        one.column for one in machines.prediction.predictors
    ]


def test_row_numbers_count_omitted_rows():
    frame = blobs()
    frame.loc[2, "a"] = np.nan
    files = result_files(analyze(as_table(frame)))
    assert list(read(files, "rows.csv")["row"][:3]) == [1, 2, 4]


def test_numbers_are_valid_json_with_the_answers(machines, iris):
    for analysis in (machines, iris):
        found = numbers(analysis)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert {name: one["answer"] for name, one in found.items()} == {
            section.name: section.answer for section in analysis.sections
        }
    assert numbers(iris)["unusual"]["cells"][0]["row"] == iris.unusual.cells[0].row


def test_large_tables_are_sampled_and_the_page_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.report.analysis.SAMPLE_ROWS", 100)
    monkeypatch.setattr("mercer.report.unusual._CSV_ROWS", 200)
    frame = blobs(n=300, kind=["u", "v", "w"] * 100, text=["a b c", "d e f", "g h i"] * 100)
    report = write_report(as_table(frame, label="kind"), tmp_path)
    text = report.html.read_text(encoding="utf-8")
    assert text.count("sample of 100 rows") == 1
    assert sum(one.size for one in report.analysis.groups.each) == 100
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert rows["score"].notna().all()
    assert rows["group"].notna().sum() == 100
    assert_array_equal(rows.index[rows["group"].notna()], report.analysis.sampled)
    assert report.analysis.contents.columns[0].different == frame["a"].nunique()


def test_nan_and_infinity_become_none():
    assert plain({"a": [np.inf, np.float32(1)], "b": (np.int64(2),)}) == {
        "a": [None, 1.0],
        "b": [2],
    }


# --- hostile and extreme tables ----------------------------------------------------------------


def test_markup_in_names_and_cells_is_escaped():
    evil = "<script>alert(1)</script>"
    frame = blobs(
        **{evil: [evil, "b&b"] * 30, "x": ['"><img src=x onerror=alert(1)>'] * 30 + ["y"] * 30}
    )
    text = page(analyze(as_table(frame, name=evil, label="x"), n_clusters=2))
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": np.repeat([0.0, 1.0], 20), "b": np.repeat([0.0, 3.0], 20)}),
        pd.DataFrame({"a": list("xxyyzz")}),
        pd.DataFrame({"t": [f"the {w} fox number {i}" for i, w in enumerate(["red", "old"] * 20)]}),
        pd.DataFrame({"d": pd.date_range("2020-01-01", periods=30), "e": np.arange(30) % 7.0}),
        pd.DataFrame({"a": ["u", None, "v", "u", None], "b": [1.0, np.nan, 2.0, np.nan, 5.0]}),
        pd.DataFrame({"a": np.geomspace(1e-290, 1e140, 30), "b": np.arange(30) ** 2.0}),
    ],
    ids=["3x1", "two-points", "labels", "texts", "dates", "missing", "huge"],
)
def test_small_and_unusual_tables(frame, tmp_path):
    report = write_report(as_table(frame), tmp_path)
    assert sum(one.size for one in report.analysis.groups.each) == len(frame.dropna(how="all"))
    text = report.html.read_text(encoding="utf-8")
    assert text.count("<section") == len(report.analysis.sections) >= 3
    assert "nan" not in " ".join(one.answer for one in report.analysis.sections)


def test_label_with_the_name_of_a_part_of_the_date():
    frame = blobs(when=pd.date_range("2026-01-01", periods=60), kind=["p", "q"] * 30)
    frame["date of when"] = np.arange(60) % 7.0
    assert len(analyze(as_table(frame, label="kind"), n_clusters=1).changes.largest) == 3


# --- formatting --------------------------------------------------------------------------------


def test_format_helpers():
    assert (format_count(1, "row"), format_count(1200, "row")) == ("1 row", "1,200 rows")
    assert shorten("abcdef", 4) == "abc…"
    assert format_names([f"c{i}" for i in range(17)]).endswith("c14 and 2 more")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "(missing)"), (np.nan, "(missing)"), (pd.NaT, "(missing)"), (0.0, "0"), (-2.0, "−2"),
        (31.80, "31.8"), (1985.0, "1985"), (53940.0, "53,940"), (2.5e-7, "2.50 × 10⁻⁷"),
        (True, "“True”"), (pd.Timestamp("2026-01-02"), "2026-01-02"),
        (pd.Timestamp("2026-01-02 03:04:05"), "2026-01-02 03:04"),
    ],
)  # fmt: skip
def test_format_of_cells(value, text):
    assert format_value(value) == text


def test_no_curve_of_a_column_with_two_values():
    section = analyze(as_table(blobs(flag=[0.0, 1.0] * 30)), n_clusters=1).distributions
    assert not any(isinstance(one, Curve) for one in section.drawn if one.column == "flag")
