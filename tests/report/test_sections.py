"""Parts of the report equal the results of the estimators, for tables of every kind and size."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from mercer import EntropyClustering, ParzenDensity, SpectralClustering
from mercer.cluster.profiles import cluster_traits
from mercer.datasets import make_machines
from mercer.errors import RankError
from mercer.kernels import Gaussian, table_kernel
from mercer.report import analyze, numbers, page, result_files, write_report
from mercer.report.clusters import format_value
from mercer.report.data import summarize_columns
from mercer.report.densities import Curve
from mercer.report.densities import _range as drawn_range
from mercer.report.labels import class_labels, study_labels
from mercer.report.overview import cautions, findings, main_numbers
from mercer.report.scores import format_cell, score_rows
from mercer.report.section import plain
from mercer.tables import as_table, prepare, read_table
from mercer.utils.formatting import format_count, format_names, format_percent, shorten
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
def machines_page(machines):
    return page(machines)


@pytest.fixture(scope="module")
def iris():
    return analyze(read_table("iris"))


def with_counting(analysis, **changes):
    counting = replace(analysis.counting, **changes)
    return replace(analysis, clusters=replace(analysis.clusters, counting=counting))


def read(files, name):
    return pd.read_csv(io.BytesIO(files[name]))


# --- clusters --------------------------------------------------------------------------------


def test_clusters_equal_those_of_the_estimator(iris):
    X = StandardScaler().fit_transform(read_table("iris").X)
    own = SpectralClustering(standardize=False).fit(X)
    np.testing.assert_array_equal(iris.clusters.numbers, own.labels_)
    assert iris.counting.chosen == own.n_clusters_ == len(iris.clusters.each)
    assert iris.clusters.cost == min(one.cost for one in own.path_[-iris.clusters.kernels :])
    assert iris.counting.confidence == iris.clusters.confidence == own.confidence_
    sizes = [one.size for one in iris.clusters.each]
    assert sizes == np.bincount(own.labels_).tolist()


def test_sweep_equals_that_of_the_estimator(iris):
    X = StandardScaler().fit_transform(read_table("iris").X)
    own = EntropyClustering(iris.counting.chosen).fit(X)
    assert iris.settings.sweep.chosen == pytest.approx(own.kernel_.bandwidth)
    assert_allclose(iris.settings.sweep.costs, [record.cost / 150 for record in own.path_])
    assert_allclose(iris.settings.sweep.stabilities, [record.stability for record in own.path_])


def test_number_of_clusters_of_a_mixed_table(machines):
    """The data set has three classes; its number of clusters is uncertain."""
    assert machines.counting.is_uncertain
    three = analyze(machines.table, n_clusters=3)
    assert three.labels.agreement.adjusted_rand_index > 0.9
    assert machines.settings.sweep.kind == "factor"


def test_one_cluster_without_a_division():
    analysis = analyze(as_table(blobs()), n_clusters=1)
    assert len(analysis.clusters.each) == 1
    assert analysis.clusters.traits == ()
    assert "--clusters" in analysis.clusters.body


@pytest.mark.parametrize("confidence", [0.3, 0.8])
def test_uncertain_numbers_are_not_reported_as_one_cluster(confidence):
    analysis = analyze(as_table(blobs()), n_clusters=1)
    analysis = with_counting(analysis, requested=False, confidence=confidence)
    texts = (
        findings(analysis)[0],
        main_numbers(analysis)[0][2],
        analysis.clusters.context()["counting"],
        " ".join(cautions(analysis)),
    )
    assert ["ould not tell" in text for text in texts] == [confidence < 0.5] * 4


def test_a_requested_number_of_clusters():
    analysis = analyze(as_table(blobs()), n_clusters=3)
    assert len(analysis.clusters.each) == 3
    assert analysis.clusters.confidence is None
    assert analysis.counting.requested
    assert analysis.counting.suggested == 2
    caution = cautions(analysis)[0]
    assert names_values(caution, 3, 2) == []
    with raises(ValueError, "n_clusters=99", 60):
        analyze(as_table(blobs()), n_clusters=99)


def test_numbers_of_profiles_are_aligned_unless_there_are_labels(iris, machines):
    for analysis, text_columns in ((iris, [0]), (machines, [0, 1])):
        profiles = analysis.clusters.context()["profiles"]
        assert {tuple(one["table"].text_columns) for one in profiles if one["table"]} == {
            tuple(text_columns)
        }


def test_a_requested_bandwidth_does_not_change_the_clusters():
    table = as_table(blobs())
    default = analyze(table, n_clusters=2, scale=False)
    narrow = analyze(table, n_clusters=2, bandwidth=1e-4, scale=False)
    np.testing.assert_array_equal(narrow.clusters.numbers, default.clusters.numbers)


def test_clusters_of_numbers_with_missing_values():
    frame = blobs()
    frame.loc[::2, "b"] = np.nan
    analysis = analyze(as_table(frame, missing="keep"), n_clusters=2)
    assert [one.size for one in analysis.clusters.each] == [40, 20]
    assert "missing values" in analysis.settings.body


def test_persistence_is_the_mean_of_the_largest_jaccard_indices(machines):
    """The naive computation uses sets of rows."""

    def sets(labels):
        return [set(np.flatnonzero(labels == one)) for one in np.unique(labels)]

    estimator, clusters = machines.clusters.estimator, machines.clusters
    records = estimator.path_[-clusters.kernels :]
    assert len(records[0].labels) == machines.table.n
    for one in clusters.each:
        own = set(np.flatnonzero(clusters.numbers == one.number))
        best = [
            max(len(own & other) / len(own | other) for other in sets(record.labels))
            for record in records
        ]
        assert one.persistence == pytest.approx(np.mean(best))


def test_separated_clusters_are_persistent(iris):
    assert all(0.9 < one.persistence <= 1 for one in iris.clusters.each)


def test_cautions_name_uncertain_numbers_and_clusters(iris):
    iris = with_counting(iris, confidence=0.9)
    changed = with_counting(iris, confidence=0.24)
    unstable = replace(iris.clusters.each[1], persistence=0.31)
    clusters = replace(changed.clusters, each=(iris.clusters.each[0], unstable))
    changed = replace(changed, clusters=clusters)
    added = [one for one in cautions(changed) if one not in cautions(iris)]
    assert len(added) == 2
    assert names_values(added[0], iris.counting.chosen, "24.0 %") == []
    assert names_values(added[1], "1 (0.31)", 0.5) == []


# --- cluster profiles --------------------------------------------------------------------------


def test_traits_are_medians_and_proportions():
    frame = blobs(color=["red"] * 20 + ["blue"] * 40, note=["good old thing"] * 30 + ["bad"] * 30)
    frame["note"] += [f" {i} was seen by us" for i in range(60)]
    table = as_table(frame)
    assert table.column_types["note"] == "text"
    clusters = np.repeat([1, 2], 30)
    traits = {(t.cluster, t.column): t for t in cluster_traits(table, clusters)}
    first = traits[1, "a"]
    assert first.inside == np.median(frame["a"][:30])
    assert first.overall == np.median(frame["a"])
    low, high = np.quantile(frame["a"], [0.25, 0.75])
    assert first.effect == pytest.approx((first.inside - first.overall) / (high - low) * 1.349)
    color = traits[1, "color"]
    assert (color.label, color.inside, color.overall) == ("red", 20 / 30, 20 / 60)
    assert color.effect == pytest.approx(
        2 * np.arcsin(np.sqrt(2 / 3)) - 2 * np.arcsin(np.sqrt(1 / 3))
    )
    assert traits[2, "note"].label == "bad"
    assert traits[2, "note"].inside == 1.0
    in_order = [abs(t.effect) for t in cluster_traits(table, clusters) if t.cluster == 1]
    assert in_order == sorted(in_order, reverse=True)


def test_traits_of_dates_are_dates():
    frame = blobs(when=pd.date_range("2026-01-01", periods=60))
    traits = cluster_traits(as_table(frame), np.repeat([1, 2], 30))
    when = next(t for t in traits if t.column == "when" and t.cluster == 2)
    assert when.inside == "2026-02-14T12:00:00"
    assert when.effect > 0
    assert format_value(when.inside) == "2026-02-14 12:00:00"
    assert format_value("2026-02-14T00:00:00") == "2026-02-14"


def test_clusters_without_values_or_words_have_no_trait(monkeypatch):
    values = np.where(np.arange(60) < 30, np.nan, np.arange(60.0))
    frame = blobs(
        sparse=values,
        marks=[f"{'!' * i} ? {'.' * i}" for i in range(60)],
        kind=["u", "v"] * 30,
        note=[f"thing {i} was seen by us" for i in range(60)],
    )
    table = as_table(frame, missing="keep")
    assert [table.column_types[name] for name in ("sparse", "marks", "note")] == [
        "number",
        "text",
        "text",
    ]
    clusters = np.repeat([1, 2], 30)
    found = {(t.cluster, t.column) for t in cluster_traits(table, clusters)}
    assert (2, "sparse") in found
    assert (1, "sparse") not in found
    assert {(1, "marks"), (2, "marks")}.isdisjoint(found)
    assert {(1, "note"), (2, "note")} <= found
    monkeypatch.setattr("mercer.cluster.profiles._TEXT_ROWS", 10)  # every sixth row
    clusters = np.where(np.arange(60) == 7, 2, 1)
    found = {(t.cluster, t.column) for t in cluster_traits(table, clusters)}
    assert (1, "note") in found
    assert (2, "note") not in found
    assert (2, "kind") in found


# --- leave-one-out scores ------------------------------------------------------------------------


def naive_scores(K):
    K = K - np.diag(np.diag(K))
    return -np.log(K.sum(axis=1) / (len(K) - 1))


def test_scores_of_numbers_are_minus_log_densities_of_the_other_rows():
    table = as_table(blobs())
    model = prepare(table)
    found = score_rows(model, model.data, Gaussian(0.5))
    assert_allclose(found.scores, naive_scores(Gaussian(0.5)(model.data)), rtol=1e-9)
    scale = table.X.std(axis=0)
    i = 7
    others = np.delete(np.arange(table.n), i)
    leave_one_out = ParzenDensity(kernel=Gaussian(0.5)).fit(model.data[others])
    density = leave_one_out.pdf(model.data[[i]])[0] / scale.prod()
    assert found.log_density[i] == pytest.approx(np.log(density))


def test_scores_of_a_mixed_table_are_mean_similarities():
    columns, _ = make_machines(60, random_state=1)
    table = as_table(pd.DataFrame(columns))
    model = prepare(table, bandwidth=0.5)
    found = score_rows(model, model.data, model.kernel)
    K = table_kernel(table.frame).scale_bandwidths(0.5)(table.frame)
    assert_allclose(found.scores, naive_scores(K), rtol=1e-9)
    assert found.log_density is None


def test_contributions_are_limited_to_the_first_columns(monkeypatch):
    frame = blobs(kind=["u", "v"] * 30)
    frame.loc[0, "b"] = 90.0
    model = prepare(as_table(frame))

    def contributing():
        return [name for name, _ in score_rows(model, model.data, model.kernel).listed[0].columns]

    assert contributing() == ["b"]
    monkeypatch.setattr("mercer.report.scores._MAX_COLUMNS", 1)
    assert contributing() == []  # only column a is considered


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT], ids=str)
def test_format_of_missing_values(missing):
    assert format_cell(missing) == "(missing)"


def test_labels_with_plus_signs_are_shown_unchanged():
    frame = blobs(grade=["B"] * 30 + ["C"] * 28 + ["A+", "C++"])
    body = analyze(as_table(frame, categorical=["grade"])).row_scores.body
    assert names_values(body, "“A+”", "“C++”") == []


def test_scores_do_not_underflow():
    frame = blobs()
    frame.loc[3, "a"], frame.loc[4, "b"] = 1e4, -300.0
    table = as_table(frame)
    model = prepare(table, scale=False)
    found = score_rows(model, model.data, Gaussian(1.0))
    assert np.isfinite(found.scores).all()
    assert [one.row for one in found.listed[:2]] == [3, 4]
    assert found.listed[0].columns[0][0] == "a"
    assert found.listed[1].columns[0][0] == "b"
    nearest = np.delete(frame["a"].to_numpy(), 3).max()
    assert found.scores[3] == pytest.approx((1e4 - nearest) ** 2 / 2, rel=1e-2)


def test_scores_from_a_subsample_are_similar(monkeypatch):
    table = as_table(
        blobs(n=800, x=np.random.default_rng(3).normal(size=800), y=0.0 + np.arange(800))
    )
    model = prepare(table)
    exact = score_rows(model, model.data, Gaussian(1.0))
    monkeypatch.setattr("mercer.report.scores._ALL_PAIRS", 100)
    monkeypatch.setattr("mercer.report.scores._REFERENCE", 400)
    subsampled = score_rows(model, model.data, Gaussian(1.0))
    assert (exact.reference, subsampled.reference) == (800, 400)
    assert np.corrcoef(exact.scores, subsampled.scores)[0, 1] > 0.95


# --- densities -------------------------------------------------------------------------------


def test_curves_are_parzen_densities_and_add_up(machines):
    curves = [p for p in machines.densities.profiles if isinstance(p, Curve)]
    assert {curve.column for curve in curves} == {"temperature", "vibration", "power", "date"}
    power = next(curve for curve in curves if curve.column == "power")
    values = machines.table.frame["power"].to_numpy()[:, None]
    own = ParzenDensity(kernel=Gaussian(power.bandwidth)).fit(values)
    assert_allclose(power.density, own.pdf(power.x[:, None]))
    assert_allclose(sum(power.parts), power.density, atol=1e-12)


def test_range_excludes_extreme_outliers():
    inner = np.linspace(0.0, 10.0, 5001)
    low, high = drawn_range(np.append(inner, 1e6))
    assert -1 < low < 0.1
    assert 9.9 < high < 11
    assert drawn_range(inner) == pytest.approx((-0.6, 10.6))


def test_density_subsamples_are_stated(iris, monkeypatch):
    before = iris.densities.context()["introduction"]
    monkeypatch.setattr("mercer.report.densities._CURVE_ROWS", 40)
    after = iris.densities.context()["introduction"]
    assert after.startswith(before)
    assert names_values(after.removeprefix(before), 40) == []


def test_contours_are_in_the_units_of_the_columns():
    table = as_table(blobs() * [100.0, 0.01])
    analysis = analyze(table, bandwidth=0.4)
    contours = analysis.densities.contours
    assert contours.columns == ("a", "b")
    cell = (contours.x[1] - contours.x[0]) * (contours.y[1] - contours.y[0])
    assert contours.density.sum() * cell == pytest.approx(1, abs=0.1)


# --- labels ----------------------------------------------------------------------------------


def test_agreement_equals_that_of_scikit_learn(iris):
    labels = read_table("iris").labels
    agreement = iris.labels.agreement
    found = iris.clusters.numbers
    assert agreement.adjusted_rand_index == pytest.approx(adjusted_rand_score(labels, found))
    assert agreement.normalized_mutual_information == pytest.approx(
        normalized_mutual_info_score(labels, found)
    )
    assert agreement.error == pytest.approx(50 / 150)  # two clusters for three classes
    assert np.sum(agreement.table) == 150


def test_prediction_is_better_than_the_majority_class(iris):
    prediction = iris.labels.prediction
    assert prediction.majority == pytest.approx(1 / 3)
    assert len(prediction.accuracies) == prediction.folds == 5
    assert prediction.accuracy > 0.9
    assert prediction.functions.shape == (150, 2)


def test_random_labels_are_predicted_at_chance_level():
    frame = blobs(n=100, kind=np.random.default_rng(5).choice(["p", "q"], 100))
    found = study_labels(prepare(as_table(frame, label="kind")), np.ones(100, dtype=int))
    assert abs(found.prediction.accuracy - 0.5) < 0.2


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (np.linspace(0, 1, 60), "60"),
        ([f"name {i}" for i in range(60)], "60"),
        (["same"] * 60, "same"),
    ],
)
def test_labels_that_are_not_classes(kind, value):
    found = study_labels(prepare(as_table(blobs(kind=kind), label="kind")), np.ones(60, int))
    assert value in found.reason
    assert found.agreement is found.prediction is None
    assert names_values(found.body, found.reason) == []


def test_rows_without_a_label_and_single_row_classes_are_excluded():
    kinds = [None] * 5 + ["p"] * 25 + ["q"] * 29 + ["r"]
    found = study_labels(prepare(as_table(blobs(kind=kinds), label="kind")), np.ones(60, int))
    assert found.unlabeled == 5
    assert found.agreement.rows == 55
    assert found.prediction.single_row_classes == ("r",)
    assert found.prediction.rows == 54


def test_no_prediction_if_one_class_has_a_single_row():
    table = as_table(blobs(kind=["p"] * 59 + ["q"]), label="kind")
    found = study_labels(prepare(table), np.repeat([0, 1], 30))
    assert found.reason is found.prediction is None
    rand = found.agreement.adjusted_rand_index
    assert names_values(found.verdict(), "“kind”", f"{rand:.2f}") == []
    assert "LDA" not in found.verdict()
    assert found.context()["scatter_plot"] is None


def test_few_whole_numbers_are_classes():
    names, reason = class_labels(as_table(blobs(kind=[1.0, 2.0] * 30), label="kind"))
    assert reason is None
    assert set(names) == {"1", "2"}


# --- data ------------------------------------------------------------------------------------


def test_column_summaries(machines, machines_page):
    by_name = {column.name: column for column in machines.data.columns}
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


def test_bandwidths_of_scaled_columns_are_in_their_units():
    table = as_table(blobs() * [1.0, 1000.0])
    first, second = summarize_columns(table, Gaussian(0.5), True)
    assert first.width == pytest.approx(0.5 * table.X[:, 0].std())
    assert second.width == pytest.approx(0.5 * table.X[:, 1].std())


def test_a_mixed_table_has_no_sigma(machines, machines_page):
    assert machines.sigma is None
    assert machines.spectra.factor == 1.0
    assert "bandwidth σ =" not in machines_page


def test_notes_on_reading_are_shown():
    table = as_table(blobs(), notes=["numbers have decimal commas"])
    assert "numbers have decimal commas" in analyze(table).data.body


# --- results ---------------------------------------------------------------------------------


def test_result_tables(machines):
    files = result_files(machines)
    rows = read(files, "rows.csv")
    assert_array_equal(rows["row"], machines.table.rows + 1)
    assert_array_equal(rows["cluster"], machines.clusters.numbers)
    assert_allclose(rows["novelty"], machines.row_scores.scores, rtol=1e-6)
    assert_allclose(
        rows.filter(like="component_"), machines.eca.spectrum_.projections, rtol=1e-5, atol=1e-6
    )
    clusters = read(files, "clusters.csv")
    assert len(clusters) == len(machines.clusters.each) * 8
    assert clusters.groupby("cluster")["size"].first().sum() == 300
    assert list(read(files, "components.csv")["order"]) == list(range(1, 11))
    columns = read(files, "columns.csv")
    assert list(columns["name"]) == list(machines.table.columns)


def test_row_numbers_count_omitted_rows():
    frame = blobs()
    frame.loc[2, "a"] = np.nan
    files = result_files(analyze(as_table(frame)))
    rows = read(files, "rows.csv")
    assert list(rows["row"][:3]) == [1, 2, 4]
    assert {"log_density", "novelty", "cluster"} <= set(rows.columns)


def test_many_rows_are_written_as_parquet_and_an_old_csv_is_removed(iris, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.report.analyze", lambda table, **options: iris)
    monkeypatch.setattr("mercer.report.page", lambda analysis: "page")
    assert (tmp_path / "rows.csv") in write_report(iris.table, tmp_path).tables
    monkeypatch.setattr("mercer.report.scores._CSV_ROWS", 10)
    write_report(iris.table, tmp_path)
    assert not (tmp_path / "rows.csv").exists()
    assert len(pd.read_parquet(tmp_path / "rows.parquet")) == 150


def test_numbers_are_valid_json(machines, iris):
    for analysis in (machines, iris):
        found = numbers(analysis)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert set(found) == {
            "data", "choices", "columns", "kernel_eca", "kernel_pca", "number_of_clusters",
            "sweep", "clusters", "densities", "novelty", "labels", "seconds", "cautions",
            "warnings", "versions",
        }  # fmt: skip
    found = numbers(iris)
    assert found["novelty"]["listed"][0]["row"] == iris.row_scores.listed[0].row + 1
    assert found["labels"]["prediction"]["accuracy"] == iris.labels.prediction.accuracy
    assert found["clusters"]["each"][0]["size"] == iris.clusters.each[0].size


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
    ],
    ids=["3x1", "two-points", "labels", "texts", "dates"],
)
def test_small_and_unusual_tables(frame, tmp_path):
    report = write_report(as_table(frame), tmp_path)
    assert sum(one.size for one in report.analysis.clusters.each) == len(frame)
    assert report.html.read_text(encoding="utf-8").count("<section") >= 7


def test_many_columns():
    X = np.random.default_rng(0).normal(size=(60, 200))
    analysis = analyze(as_table(pd.DataFrame(X)))
    assert len(analysis.data.columns) == 200
    assert len(analysis.densities.profiles) == 8
    text = page(analysis)
    assert "160 more columns" in text
    assert len(text) < 1_500_000


def test_error_bounds_of_landmarks_are_stated(monkeypatch):
    for name, rows in (("DENSE_ROWS", 30), ("EXACT_ROWS", 60)):
        monkeypatch.setattr(f"mercer.report.components.{name}", rows)
        monkeypatch.setattr(f"mercer.report.settings.{name}", rows)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(700, 5)), columns=list("abcde"))
    analysis = analyze(as_table(frame), n_components=2, n_clusters=2)
    assert analysis.spectra.solver == "nystrom"
    bounds = [
        f"kernel {name} {format_percent(model.spectrum_.error_bound / model.eigenvalues_.max())}"
        for name, model in (("ECA", analysis.eca), ("PCA", analysis.pca))
    ]
    assert any(names_values(one, *bounds) == [] for one in cautions(analysis))
    assert "Nyström" in analysis.settings.body


def test_a_bandwidth_that_makes_all_rows_equal_raises():
    with raises(RankError, 1, "smaller bandwidth"):
        analyze(as_table(blobs()), bandwidth=1e12)
    with raises(RankError, "n_components=3"):
        analyze(as_table(blobs()), bandwidth=1e12, n_components=3)


def test_page_of_many_rows_is_small_and_states_subsamples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2)) + 8 * rng.integers(0, 2, size=(6000, 1))
    analysis = analyze(as_table(pd.DataFrame(X, columns=["x", "y"])), n_clusters=2)
    assert analysis.counting.suggested == 2
    text = page(analysis)
    assert len(text) < 2_000_000
    assert "3,000 of 6,000 rows" in text
    assert any(names_values(one, "6,000", "clusters 2,000") == [] for one in cautions(analysis))


def test_format_helpers():
    assert (format_count(1, "row"), format_count(1200, "row")) == ("1 row", "1,200 rows")
    assert shorten("abcdef", 4) == "abc…"
    assert format_names([f"c{i}" for i in range(17)]).endswith("c14 and 2 more")
