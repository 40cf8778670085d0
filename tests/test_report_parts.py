"""Sections of the report say what the estimators say, for tables of every kind and size."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from mercer import EntropyClustering, ParzenDensity
from mercer.cluster_count import Counting, count_clusters
from mercer.datasets import make_machines
from mercer.errors import RankError
from mercer.formatting import format_count, format_names, format_percent, shorten
from mercer.kernels import Gaussian, table_kernel
from mercer.report import analyse, write_report
from mercer.report.cautions import cautions
from mercer.report.clusters import NOWHERE, sweep_widths
from mercer.report.columns import summarise_columns
from mercer.report.densities import Curve
from mercer.report.densities import _range as drawn_range
from mercer.report.labels import class_labels, study_labels
from mercer.report.novelty import find_novel
from mercer.report.numbers import numbers, plain
from mercer.report.page import page
from mercer.report.profiles import describe_clusters
from mercer.report.results import result_files
from mercer.report.sections.choices import choices_section
from mercer.report.sections.clusters import _value as date_cell
from mercer.report.sections.densities import densities_section
from mercer.report.sections.labels import labels_section, verdict
from mercer.report.sections.novelty import _cell as novel_cell
from mercer.tables import as_table, prepare, read_table


def blobs(n=60, seed=0, sep=8.0, **columns):
    rng = np.random.default_rng(seed)
    most = 2 * n // 3
    a = np.concatenate([rng.normal(0, 1, most), rng.normal(sep, 1, n - most)])
    return pd.DataFrame({"a": a, "b": rng.normal(size=n), **columns})


@pytest.fixture(scope="module")
def machines():
    return analyse(read_table("machines"))


@pytest.fixture(scope="module")
def machines_page(machines):
    return page(machines)


@pytest.fixture(scope="module")
def iris():
    return analyse(read_table("iris"))


def read(files, name):
    return pd.read_csv(io.BytesIO(files[name]))


# --- clusters --------------------------------------------------------------------------------


def test_clusters_are_those_of_the_estimator(iris):
    X = StandardScaler().fit_transform(read_table("iris").X)
    own = EntropyClustering(iris.counting.chosen).fit(X)
    assert adjusted_rand_score(own.labels_, iris.clusters.numbers) == 1
    assert iris.clusters.cost == pytest.approx(own.cost_ / 150)
    assert iris.clusters.width == pytest.approx(own.kernel_.bandwidth)
    sizes = [one.size for one in iris.clusters.each]
    assert sizes == sorted(np.bincount(own.labels_), reverse=True)
    assert_allclose(iris.sweep.costs, [record.cost / 150 for record in own.path_])
    assert_allclose(iris.sweep.stabilities, [record.stability for record in own.path_])


def test_the_number_of_clusters_of_a_mixed_table(machines):
    """Three states of machines, which nobody told of."""
    assert machines.counting.chosen == 3
    assert machines.labels.agreement.adjusted_rand_index > 0.9
    assert machines.sweep.kind == "factor"
    assert machines.clusters.width == machines.sweep.chosen


def test_one_cloud_is_one_cluster():
    analysis = analyse(as_table(pd.DataFrame(np.random.default_rng(1).normal(size=(150, 3)))))
    assert analysis.counting.stable is None
    assert len(analysis.clusters.each) == 1
    assert analysis.traits == ()
    text = page(analysis)
    assert "All rows are in one cluster" in text
    assert "The rows form one cloud" in text


def test_the_number_that_was_asked_for():
    analysis = analyse(as_table(blobs()), n_clusters=3)
    assert len(analysis.clusters.each) == 3
    assert analysis.counting.because == "asked"
    assert analysis.counting.suggested == 2
    assert "You asked for 3 clusters; the data suggest 2." in cautions(analysis)
    with pytest.raises(ValueError, match="n_clusters=99 must be from 1 to the number of rows, 60"):
        analyse(as_table(blobs()), n_clusters=99)


def test_persistence_is_one_for_groups_that_are_always_found(iris):
    assert all(0.9 < one.persistence <= 1 for one in iris.clusters.each)


def test_counting_wants_both_counts_to_agree():
    rng = np.random.default_rng(0)
    groups = (((0, 0), 80), ((12, 0), 60), ((0, 14), 40))
    X = np.concatenate([rng.normal(at, 1, (size, 2)) for at, size in groups])
    found = count_clusters(X, Gaussian("auto"))
    assert (found.chosen, found.because) == (3, "agree")
    assert found.stability[3] > 0.9


class OneWidth(EntropyClustering):
    """As if K had too few eigenvalues at all bandwidths but one."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.path_ = self.path_[:1]
        return self


def test_a_single_bandwidth_shows_no_stability(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in (0, 8, 16)])
    for module in ("cluster_count", "report.clusters"):
        monkeypatch.setattr(f"mercer.{module}.EntropyClustering", OneWidth)
    found = count_clusters(X, Gaussian("auto"))
    assert (found.chosen, found.because, found.stability) == (3, "spectroscopy", {})
    assert sweep_widths(X, Gaussian("auto"), 3) is None


def test_equal_rows_are_one_group():
    found = count_clusters(np.ones((20, 2)), Gaussian("auto"))
    assert (found.chosen, found.because, found.stability) == (1, "spectroscopy", {})


def test_a_number_that_only_the_spectrum_shows_is_told_with_care(iris):
    counting = Counting(3, 3, "spectroscopy", 3, None, {2: 0.61, 3: 0.7}, 150)
    said = "No number of clusters is stable (best agreement of neighbouring bandwidths: 0.70;"
    assert any(one.startswith(said) for one in cautions(replace(iris, counting=counting)))
    assert not any(one.startswith(said) for one in cautions(iris))


# --- what distinguishes them -----------------------------------------------------------------


def test_traits_are_medians_and_shares():
    frame = blobs(colour=["red"] * 20 + ["blue"] * 40, note=["good old thing"] * 30 + ["bad"] * 30)
    frame["note"] += [f" {i} was seen by us" for i in range(60)]
    table = as_table(frame)
    assert table.kinds["note"] == "text"
    clusters = np.repeat([1, 2], 30)
    traits = {(t.cluster, t.column): t for t in describe_clusters(table, clusters)}
    first = traits[1, "a"]
    assert first.inside == np.median(frame["a"][:30])
    assert first.overall == np.median(frame["a"])
    low, high = np.quantile(frame["a"], [0.25, 0.75])
    assert first.effect == pytest.approx((first.inside - first.overall) / (high - low) * 1.349)
    colour = traits[1, "colour"]
    assert (colour.label, colour.inside, colour.overall) == ("red", 20 / 30, 20 / 60)
    assert colour.effect == pytest.approx(
        2 * np.arcsin(np.sqrt(2 / 3)) - 2 * np.arcsin(np.sqrt(1 / 3))
    )
    assert traits[2, "note"].label == "bad"
    assert traits[2, "note"].inside == 1.0
    in_order = [abs(t.effect) for t in describe_clusters(table, clusters) if t.cluster == 1]
    assert in_order == sorted(in_order, reverse=True)


def test_dates_are_told_as_dates():
    frame = blobs(when=pd.date_range("2026-01-01", periods=60))
    traits = describe_clusters(as_table(frame), np.repeat([1, 2], 30))
    when = next(t for t in traits if t.column == "when" and t.cluster == 2)
    assert when.inside == "2026-02-14T12:00:00"
    assert when.effect > 0
    assert date_cell(when.inside) == "2026-02-14 12:00:00"
    assert date_cell("2026-02-14T00:00:00") == "2026-02-14"


def test_clusters_without_a_value_or_a_word_have_no_trait(monkeypatch):
    values = np.where(np.arange(60) < 30, np.nan, np.arange(60.0))
    frame = blobs(
        gaps=values,
        marks=[f"{'!' * i} ? {'.' * i}" for i in range(60)],
        kind=["u", "v"] * 30,
        note=[f"thing {i} was seen by us" for i in range(60)],
    )
    table = as_table(frame, missing="keep")
    assert [table.kinds[name] for name in ("gaps", "marks", "note")] == ["number", "text", "text"]
    clusters = np.repeat([1, 2], 30)
    found = {(t.cluster, t.column) for t in describe_clusters(table, clusters)}
    assert (2, "gaps") in found
    assert (1, "gaps") not in found
    assert {(1, "marks"), (2, "marks")}.isdisjoint(found)
    assert {(1, "note"), (2, "note")} <= found
    monkeypatch.setattr("mercer.report.profiles._TEXT_ROWS", 10)  # every sixth row
    clusters = np.where(np.arange(60) == 7, 2, 1)
    found = {(t.cluster, t.column) for t in describe_clusters(table, clusters)}
    assert (1, "note") in found
    assert (2, "note") not in found
    assert (2, "kind") in found


# --- novelty ---------------------------------------------------------------------------------


def naive_scores(K):
    K = K - np.diag(np.diag(K))
    return -np.log(K.sum(axis=1) / (len(K) - 1))


def test_novelty_of_numbers_is_minus_the_log_of_the_mean_similarity():
    table = as_table(blobs())
    model = prepare(table)
    found = find_novel(model, model.data, Gaussian(0.5))
    assert_allclose(found.scores, naive_scores(Gaussian(0.5)(model.data)), rtol=1e-9)
    scale = table.X.std(axis=0)
    i = 7
    others = np.delete(np.arange(table.n), i)
    alone = ParzenDensity(kernel=Gaussian(0.5)).fit(model.data[others])
    density = alone.pdf(model.data[[i]])[0] / scale.prod()
    assert found.log_density[i] == pytest.approx(np.log(density))


def test_novelty_of_a_mixed_table_is_the_same_statistic():
    columns, _ = make_machines(60, random_state=1)
    table = as_table(pd.DataFrame(columns))
    model = prepare(table, bandwidth=0.5)
    found = find_novel(model, model.data, model.kernel)
    K = table_kernel(table.frame).widened(0.5)(table.frame)
    assert_allclose(found.scores, naive_scores(K), rtol=1e-9)
    assert found.log_density is None


def test_only_so_many_columns_are_asked_why_a_row_is_novel(monkeypatch):
    frame = blobs(kind=["u", "v"] * 30)
    frame.loc[0, "b"] = 90.0
    model = prepare(as_table(frame))

    def because():
        return [name for name, _ in find_novel(model, model.data, model.kernel).listed[0].columns]

    assert because() == ["b"]
    monkeypatch.setattr("mercer.report.novelty._COLUMNS", 1)
    assert because() == []  # only column a was looked at


@pytest.mark.parametrize("gap", [None, np.nan, pd.NaT], ids=str)
def test_a_missing_cell_is_called_so(gap):
    assert novel_cell(gap) == "(missing)"


def test_novelty_reaches_into_the_deepest_tails():
    frame = blobs()
    frame.loc[3, "a"], frame.loc[4, "b"] = 1e4, -300.0
    table = as_table(frame)
    model = prepare(table, scale=False)
    found = find_novel(model, model.data, Gaussian(1.0))
    assert np.isfinite(found.scores).all()
    assert [one.row for one in found.listed[:2]] == [3, 4]
    assert found.listed[0].columns[0][0] == "a"
    assert found.listed[1].columns[0][0] == "b"
    nearest = np.delete(frame["a"].to_numpy(), 3).max()
    assert found.scores[3] == pytest.approx((1e4 - nearest) ** 2 / 2, rel=1e-2)


def test_sampled_references_give_nearly_the_same_scores(monkeypatch):
    table = as_table(
        blobs(n=800, x=np.random.default_rng(3).normal(size=800), y=0.0 + np.arange(800))
    )
    model = prepare(table)
    whole = find_novel(model, model.data, Gaussian(1.0))
    monkeypatch.setattr("mercer.report.novelty._ALL_PAIRS", 100)
    monkeypatch.setattr("mercer.report.novelty._REFERENCE", 400)
    some_rows = find_novel(model, model.data, Gaussian(1.0))
    assert (whole.reference, some_rows.reference) == (800, 400)
    assert np.corrcoef(whole.scores, some_rows.scores)[0, 1] > 0.95


# --- densities -------------------------------------------------------------------------------


def test_curves_are_parzen_densities_and_add_up(machines):
    curves = [p for p in machines.densities.profiles if isinstance(p, Curve)]
    assert {curve.column for curve in curves} == {"temperature", "vibration", "power", "date"}
    power = next(curve for curve in curves if curve.column == "power")
    values = machines.table.frame["power"].to_numpy()[:, None]
    own = ParzenDensity(kernel=Gaussian(power.bandwidth)).fit(values)
    assert_allclose(power.density, own.pdf(power.x[:, None]))
    assert_allclose(sum(power.parts), power.density, atol=1e-12)


def test_single_values_far_out_do_not_squeeze_the_picture():
    inner = np.linspace(0.0, 10.0, 5001)
    low, high = drawn_range(np.append(inner, 1e6))
    assert -1 < low < 0.1
    assert 9.9 < high < 11
    assert drawn_range(inner) == pytest.approx((-0.6, 10.6))


def test_densities_of_very_many_rows_are_said_to_be_of_some(iris, monkeypatch):
    said = "Densities are estimated from 40 rows, picked at random."
    assert said not in densities_section(iris).body
    monkeypatch.setattr("mercer.report.sections.densities.CURVE_ROWS", 40)
    assert said in densities_section(iris).body


def test_contours_are_in_the_columns_own_units():
    table = as_table(blobs() * [100.0, 0.01])
    analysis = analyse(table, bandwidth=0.4)
    contours = analysis.densities.contours
    assert contours.columns == ("a", "b")
    cell = (contours.x[1] - contours.x[0]) * (contours.y[1] - contours.y[0])
    assert contours.density.sum() * cell == pytest.approx(1, abs=0.1)


# --- labels ----------------------------------------------------------------------------------


def test_agreement_is_that_of_scikit_learn(iris):
    labels = read_table("iris").labels
    agreement = iris.labels.agreement
    found = iris.clusters.numbers
    assert agreement.adjusted_rand_index == pytest.approx(adjusted_rand_score(labels, found))
    assert agreement.normalized_mutual_information == pytest.approx(
        normalized_mutual_info_score(labels, found)
    )
    assert agreement.error == pytest.approx(50 / 150)  # two clusters for three classes
    assert np.sum(agreement.table) == 150


def test_prediction_beats_the_majority(iris):
    prediction = iris.labels.prediction
    assert prediction.majority == pytest.approx(1 / 3)
    assert len(prediction.accuracies) == prediction.folds == 5
    assert prediction.accuracy > 0.9
    assert prediction.functions.shape == (150, 2)


def test_noise_cannot_be_predicted():
    frame = blobs(n=100, kind=np.random.default_rng(5).choice(["p", "q"], 100))
    found = study_labels(prepare(as_table(frame, label="kind")), np.ones(100, dtype=int))
    assert abs(found.prediction.accuracy - 0.5) < 0.2


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (np.linspace(0, 1, 60), "60 different numbers: a measurement"),
        ([f"name {i}" for i in range(60)], "60 different labels are too many"),
        (["same"] * 60, "all rows have the same label"),
    ],
)
def test_labels_that_are_no_classes(kind, reason):
    analysis = analyse(as_table(blobs(kind=kind), label="kind"))
    assert analysis.labels.reason.startswith(reason)
    assert analysis.labels.agreement is analysis.labels.prediction is None
    assert reason in page(analysis)


def test_rows_without_a_label_and_rare_classes_are_left_aside():
    kinds = [None] * 5 + ["p"] * 25 + ["q"] * 29 + ["r"]
    found = study_labels(prepare(as_table(blobs(kind=kinds), label="kind")), np.ones(60, int))
    assert found.unlabelled == 5
    assert found.agreement.rows == 55
    assert found.prediction.left_out == ("r",)
    assert found.prediction.rows == 54


def test_a_single_row_of_another_class_cannot_be_predicted():
    analysis = analyse(as_table(blobs(kind=["p"] * 59 + ["q"]), label="kind"))
    assert analysis.labels.reason is None
    assert analysis.labels.prediction is None
    assert verdict(analysis.labels).startswith("Clusters hardly agree with “kind” (adjusted Rand")
    assert "Kernel LDA predicts" not in verdict(analysis.labels)
    assert "No two classes have two rows each: nothing to predict." in labels_section(analysis).body


def test_whole_numbers_are_names_of_classes():
    names, reason = class_labels(as_table(blobs(kind=[1.0, 2.0] * 30), label="kind"))
    assert reason is None
    assert set(names) == {"1", "2"}


# --- data ------------------------------------------------------------------------------------


def test_columns_with_kinds_gaps_and_kernels(machines, machines_page):
    by_name = {column.name: column for column in machines.columns}
    frame = machines.table.frame
    assert by_name["temperature"].missing == frame["temperature"].isna().sum() > 0
    assert by_name["temperature"].middle == frame["temperature"].median()
    assert by_name["coolant"].kind == "category"
    assert by_name["coolant"].frequent[0] == ("True", int((frame["coolant"] == "True").sum()))
    assert by_name["date"].low == str(frame["date"].min().isoformat())
    assert by_name["power"].kernel == "Gaussian"
    assert f"σ = {by_name['power'].width:.3f}" in machines_page
    total = sum(machines.table.missing.values())
    assert f"{total} (" in machines_page


def test_widths_of_scaled_columns_are_in_their_units():
    table = as_table(blobs() * [1.0, 1000.0])
    first, second = summarise_columns(table, Gaussian(0.5), True)
    assert first.width == pytest.approx(0.5 * table.X[:, 0].std())
    assert second.width == pytest.approx(0.5 * table.X[:, 1].std())


def test_a_mixed_table_has_no_sigma(machines, machines_page):
    assert machines.sigma is None
    assert machines.factor == 1.0
    assert "There is no single bandwidth" in machines_page
    assert "bandwidth σ =" not in machines_page


def test_notes_of_reading_are_told():
    from mercer.report.sections.data import data_section

    table = as_table(blobs(), notes=["numbers have decimal commas"])
    assert "numbers have decimal commas" in data_section(analyse(table)).body


# --- results ---------------------------------------------------------------------------------


def test_result_tables(machines):
    files = result_files(machines)
    rows = read(files, "rows.csv")
    assert_array_equal(rows["row"], machines.table.rows + 1)
    assert_array_equal(rows["cluster"], machines.clusters.numbers)
    assert_allclose(rows["novelty"], machines.novelty.scores, rtol=1e-6)
    assert_allclose(
        rows.filter(like="component_"), machines.eca.spectrum_.projections, rtol=1e-5, atol=1e-6
    )
    clusters = read(files, "clusters.csv")
    assert len(clusters) == 3 * 8
    assert clusters.groupby("cluster")["size"].first().sum() == 300
    assert list(read(files, "components.csv")["order"]) == list(range(1, 11))
    columns = read(files, "columns.csv")
    assert list(columns["name"]) == list(machines.table.columns)


def test_left_out_rows_keep_their_numbers():
    frame = blobs()
    frame.loc[2, "a"] = np.nan
    files = result_files(analyse(as_table(frame)))
    rows = read(files, "rows.csv")
    assert list(rows["row"][:3]) == [1, 2, 4]
    assert {"log_density", "novelty", "cluster"} <= set(rows.columns)


def test_many_rows_are_parquet_and_the_other_format_goes(tmp_path, monkeypatch):
    table = as_table(blobs())
    assert (tmp_path / "rows.csv") in write_report(table, tmp_path).tables
    monkeypatch.setattr("mercer.report.results.CSV_ROWS", 10)
    write_report(table, tmp_path)
    assert not (tmp_path / "rows.csv").exists()
    assert len(pd.read_parquet(tmp_path / "rows.parquet")) == 60


def test_numbers_hold_everything_and_nothing_that_json_lacks(machines, iris):
    for analysis in (machines, iris):
        told = numbers(analysis)
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert set(told) == {
            "data", "choices", "columns", "kernel_eca", "kernel_pca", "number_of_clusters",
            "sweep", "clusters", "densities", "novelty", "labels", "seconds", "cautions",
            "warnings", "versions",
        }  # fmt: skip
    told = numbers(iris)
    assert told["novelty"]["listed"][0]["row"] == iris.novelty.listed[0].row + 1
    assert told["labels"]["prediction"]["accuracy"] == iris.labels.prediction.accuracy
    assert told["clusters"]["each"][0]["size"] == iris.clusters.each[0].size


def test_what_is_not_finite_becomes_null():
    assert plain({"a": [np.inf, np.float32(1)], "b": (np.int64(2),)}) == {
        "a": [None, 1.0],
        "b": [2],
    }


# --- hostile and extreme tables --------------------------------------------------------------


def test_hostile_names_and_cells_are_text():
    evil = "<script>alert(1)</script>"
    frame = blobs(
        **{evil: [evil, "b&b"] * 30, "x": ['"><img src=x onerror=alert(1)>'] * 30 + ["y"] * 30}
    )
    text = page(analyse(as_table(frame, name=evil, label="x"), n_clusters=2))
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 5.0, 1.0]}),
        pd.DataFrame({"a": np.repeat([0.0, 1.0], 20), "b": np.repeat([0.0, 3.0], 20)}),
        pd.DataFrame({"a": list("xxyyzz")}),
        pd.DataFrame({"t": [f"the {w} fox number {i}" for i, w in enumerate(["red", "old"] * 20)]}),
        pd.DataFrame({"d": pd.date_range("2020-01-01", periods=30), "e": np.arange(30) % 7.0}),
        pd.DataFrame({"a": np.random.default_rng(0).normal(size=60)}),
    ],
    ids=["3x1", "3x2", "two-points", "labels", "texts", "dates", "1-column"],
)
def test_small_and_odd_tables(frame, tmp_path):
    report = write_report(as_table(frame), tmp_path)
    assert sum(one.size for one in report.analysis.clusters.each) == (
        len(frame) - report.analysis.clusters.unassigned
    )
    assert report.html.read_text(encoding="utf-8").count("<section") >= 7


def test_rows_in_no_cluster_are_explained():
    frame = blobs()
    frame.loc[0] = [400.0, 400.0]
    analysis = analyse(as_table(frame), bandwidth=0.5, scale=False, n_clusters=2)
    assert analysis.clusters.unassigned == (analysis.clusters.numbers == NOWHERE).sum() > 0
    text = page(analysis)
    assert "None (−1)" in text
    assert "Rows in no cluster (−1 in the table of rows)" in text


def test_very_many_columns():
    X = np.random.default_rng(0).normal(size=(60, 2000))
    analysis = analyse(as_table(pd.DataFrame(X)))
    assert len(analysis.columns) == 2000
    assert len(analysis.densities.profiles) == 8
    text = page(analysis)
    assert "1,960 more columns in columns.csv." in text
    assert len(text) < 1_500_000


def test_landmarks_and_their_error_are_told(monkeypatch):
    """As of a table of very many rows: some stand for all."""
    for name, rows in (("DENSE_ROWS", 30), ("EXACT_ROWS", 60)):
        monkeypatch.setattr(f"mercer.report.spectra.{name}", rows)
        monkeypatch.setattr(f"mercer.report.sections.choices.{name}", rows)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(700, 5)), columns=list("abcde"))
    analysis = analyse(as_table(frame), n_components=2, n_clusters=2)
    (said,) = [one for one in cautions(analysis) if one.startswith("Eigenvalues were computed")]
    for name, model in (("ECA", analysis.eca), ("PCA", analysis.pca)):
        bound = model.spectrum_.error_bound / model.eigenvalues_.max()
        assert f"kernel {name} {format_percent(bound)}" in said
    assert "some rows stand for all; the error is told below." in choices_section(analysis).body


def test_a_bandwidth_at_which_all_rows_are_alike_is_refused():
    with pytest.raises(RankError, match=r"all rows look alike.* Give a smaller bandwidth"):
        analyse(as_table(blobs()), bandwidth=1e12)
    with pytest.raises(RankError, match=r"n_components=3 exceeds"):
        analyse(as_table(blobs()), bandwidth=1e12, n_components=3)


def test_many_rows_stay_small_and_samples_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 2)) + 8 * rng.integers(0, 2, size=(100_000, 1))
    analysis = analyse(as_table(pd.DataFrame(X, columns=["x", "y"])))
    assert analysis.counting.chosen == 2
    text = page(analysis)
    assert len(text) < 2_000_000
    assert "3,000 of 100,000 rows" in text
    assert any(
        "Not all 100,000 rows were used for everything: the number of clusters from 500" in one
        for one in cautions(analysis)
    )


def test_words():
    assert (format_count(1, "row"), format_count(1200, "row")) == ("1 row", "1,200 rows")
    assert shorten("abcdef", 4) == "abc…"
    assert format_names([f"c{i}" for i in range(17)]).endswith("c14 and 2 more")


def test_a_clearly_more_stable_number_outranks_spectroscopy():
    from mercer.cluster_count import _most_stable

    assert _most_stable({2: 0.84, 3: 0.91, 4: 1.0}, groups=3) == 4
    assert _most_stable({2: 0.84, 3: 0.96, 4: 1.0}, groups=3) == 3
    assert _most_stable({2: 0.84, 3: 0.89}, groups=3) is None


@pytest.mark.parametrize(("clusters", "is_filled"), [(2, True), (9, False)])
def test_the_number_in_use_is_pointed_at_only_where_it_is_drawn(clusters, is_filled):
    from mercer.report.page import page

    shown = page(analyse(read_table("iris"), n_clusters=clusters))
    assert ("Filled in orange: the number in use" in shown) == is_filled
