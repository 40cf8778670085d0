"""Commands that write columns: same results as the estimators, for training and new rows."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    EntropyClustering,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelNovelty,
    KernelPCA,
    MercerNovelty,
    ParzenDensity,
    SeriesDensity,
    SpectralClustering,
)
from mercer.cli import main
from mercer.datasets import make_machines
from mercer.formatting import format_percent
from mercer.kernels import Gaussian, table_kernel
from mercer.table_clusters import describe_kernel
from mercer.tables import read_table
from tests.cli.running import assert_names, table

COLUMNS = ["length", "width", "petal", "petal width"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture
def flowers(iris, tmp_path):
    """Write a CSV of numeric columns and a column of classes."""
    path = tmp_path / "flowers.csv"
    pd.DataFrame(iris[0], columns=COLUMNS).assign(species=iris[1]).to_csv(path, index=False)
    return path


@pytest.fixture
def machines(tmp_path):
    """Write a CSV of numbers, categories, texts, dates and missing values."""
    columns, state = make_machines(80, random_state=5)
    path = tmp_path / "machines.csv"
    pd.DataFrame(columns).assign(state=state).to_csv(path, index=False)
    return path


@pytest.fixture
def command(capsys):
    """Run in this process; return standard output as a data frame, and standard error."""

    def run(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        if code:
            assert printed.out == ""
            assert "Traceback" not in printed.err
        return (table(printed.out) if printed.out else None), printed.err

    return run


# --- same results as the estimators -----------------------------------------------------------


def assert_close(found, expected):
    """Compare up to rounding error: frames and arrays have different memory layouts."""
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def scaled(X):
    return StandardScaler().fit_transform(X)


def test_embed_equals_kernel_eca(flowers, iris, command):
    found, text = command("embed", flowers, "--label", "species", "--components", 3)
    direct = KernelECA(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert list(found) == ["row", "eca1", "eca2", "eca3"]
    assert_array_equal(found["row"], np.arange(1, 151))
    assert_close(found.iloc[:, 1:], direct.transform(scaled(iris[0])))
    assert_names(text, "150 rows", "4 columns", f"{direct.kernel_.bandwidth:.4g}")
    assert_names(text, "3 components", format_percent(direct.entropy_ratio_.sum()))


def test_embed_by_variance_equals_kernel_pca(flowers, iris, command):
    options = ("--method", "pca", "--components", 0.9, "--no-scale", "--bandwidth", 1.5)
    found, text = command("embed", flowers, "--label", "species", *options)
    direct = KernelPCA(0.9, kernel=Gaussian(1.5)).fit(iris[0])
    assert list(found)[1] == "pca1"
    assert_close(found.iloc[:, 1:], direct.transform(iris[0]))
    assert_names(text, f"{direct.n_components_} components", "σ = 1.5")


def test_cluster_equals_spectral_clustering(flowers, iris, command):
    found, text = command("cluster", flowers, "--ignore", "species", "--clusters", 3)
    direct = SpectralClustering(3, standardize=False).fit(scaled(iris[0]))
    assert list(found) == ["row", "cluster"]
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, ", ".join(map(str, np.bincount(direct.labels_))))
    assert_names(text, describe_kernel(direct.kernel_), f"{len(direct.path_)} kernels")


def test_cluster_with_a_bandwidth_uses_the_gaussian_kernel(flowers, iris, command):
    options = ("--ignore", "species", "--clusters", 3, "--bandwidth", 0.7, "--no-scale")
    found, text = command("cluster", flowers, *options)
    direct = SpectralClustering(3, kernel=Gaussian(0.7)).fit(iris[0])
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, "σ = 0.7", "Gaussian kernel")


@pytest.mark.parametrize("bandwidth", ["auto", 0.5])
def test_clusters_of_mixed_tables_use_the_table_kernel(machines, bandwidth, command):
    options = ("--ignore", "state", "--clusters", 3, "--bandwidth", bandwidth)
    found, _ = command("cluster", machines, *options)
    frame = typed_machines()
    kernel = "auto" if bandwidth == "auto" else table_kernel(frame).widened(bandwidth)
    direct = SpectralClustering(3, kernel=kernel).fit(frame)
    assert_array_equal(found["cluster"], direct.labels_)


def test_clusters_of_numbers_with_missing_values(tmp_path, command):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(40, 3)) for at in (0, 9)])
    X[::2, 0] = np.nan
    pd.DataFrame(X, columns=["x", "y", "z"]).to_csv(tmp_path / "x.csv", index=False)
    options = ("--clusters", 2, "--missing", "keep")
    found, text = command("cluster", tmp_path / "x.csv", *options)
    assert adjusted_rand_score(np.repeat([0, 1], 40), found["cluster"]) == 1
    assert_names(text, "one bandwidth per row")


def test_noise_labels_a_fraction_of_the_rows(flowers, iris, command):
    options = ("--ignore", "species", "--clusters", 2)
    found, text = command("cluster", flowers, *options, "--noise", 0.1)
    direct = SpectralClustering(2, standardize=False, noise=0.1).fit(scaled(iris[0]))
    assert_array_equal(found["cluster"], direct.labels_)
    sizes = np.bincount(direct.labels_ + 1)
    assert_names(text, ", ".join(map(str, sizes[1:])), f"{sizes[0]} of noise")
    _, text = command("cluster", flowers, *options)
    assert "noise" not in text


def test_a_chosen_number_of_clusters_is_printed_with_its_confidence(command):
    found, text = command("cluster", "rings", "--no-scale")
    direct = SpectralClustering().fit(read_table("rings").X)
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, "3 clusters of 63, 126, 126 rows", f"{direct.confidence_:.0%}")


def test_cluster_by_entropy_equals_entropy_clustering(flowers, iris, command):
    options = ("--method", "entropy", "--clusters", 3)
    found, text = command("cluster", flowers, "--ignore", "species", *options)
    direct = EntropyClustering(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert_array_equal(found["cluster"], direct.labels_)
    Z = direct.eca_.transform(scaled(iris[0]))
    centers = direct.cluster_centers_[direct.labels_]
    cosines = (Z * centers).sum(axis=1) / np.linalg.norm(Z, axis=1)
    assert_allclose(found["cosine"], cosines, atol=1e-12)
    assert_names(text, ", ".join(map(str, np.bincount(direct.labels_))))


@pytest.mark.parametrize(
    "options", [(), ("--method", "entropy"), ("--method", "entropy", "--bandwidth", 0.2)], ids=str
)
def test_cluster_estimates_the_number_of_clusters(options, command):
    found, text = command("cluster", "rings", *options)
    assert_names(text, f"{found['cluster'].nunique()} cluster")


@pytest.mark.parametrize("method", ["spectral", "entropy"])
@pytest.mark.parametrize("options", [(), ("--clusters", "auto")], ids=" ".join)
def test_one_cluster_is_reported_with_a_remedy(tmp_path, command, method, options):
    X = np.random.default_rng(0).normal(size=(80, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "x.csv", index=False)
    given = ("cluster", tmp_path / "x.csv", "--method", method, "--bandwidth", 1.5)
    found, text = command(*given, *options)
    assert set(found["cluster"]) == {0}
    assert_names(text, "--clusters N")
    _, text = command(*given, "--clusters", 1)
    assert "--clusters" not in text


def test_isolated_rows_have_no_cosine(tmp_path, command):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.1, size=(30, 1)) for at in (0, 2)] + [[[900.0]]])
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    options = ("--method", "entropy", "--clusters", 2, "--bandwidth", 0.3, "--no-scale")
    found, text = command("cluster", tmp_path / "x.csv", *options)
    assert found["cluster"].iloc[-1] == -1
    assert np.isnan(found["cosine"].iloc[-1])
    assert found["cosine"].iloc[:-1].min() > 0
    assert_names(text, "ApproximationWarning", 61, -1)


@pytest.mark.parametrize(("method", "kind"), [("parzen", ParzenDensity), ("series", SeriesDensity)])
def test_density_has_the_units_of_the_columns(flowers, iris, command, method, kind):
    options = ("--ignore", "species", "--method", method, "--bandwidth", 0.4)
    found, _ = command("density", flowers, *options)
    direct = kind(kernel=Gaussian(0.4)).fit(scaled(iris[0]))
    jacobian = np.log(iris[0].std(axis=0)).sum()
    assert_allclose(
        found["log_density"], direct.score_samples(scaled(iris[0])) - jacobian, rtol=1e-12
    )


def test_density_and_denoise_without_scaling(flowers, iris, command):
    options = ("--ignore", "species", "--no-scale", "--bandwidth", 0.4)
    found, _ = command("density", flowers, *options)
    direct = ParzenDensity(kernel=Gaussian(0.4)).fit(iris[0])
    assert_allclose(found["log_density"], direct.score_samples(iris[0]), rtol=1e-12)
    found, _ = command("denoise", flowers, *options, "--components", 3)
    direct = KernelDenoiser(3, kernel=Gaussian(0.4), order="entropy", random_state=0)
    assert_allclose(found[COLUMNS], direct.fit(iris[0]).transform(iris[0]), rtol=1e-6)


def test_density_of_one_standardized_column_has_a_rescaled_bandwidth(tmp_path, command):
    X = np.random.default_rng(3).normal(7.0, 250.0, size=(60, 1))
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("density", tmp_path / "x.csv", "--bandwidth", 0.3)
    direct = ParzenDensity(kernel=Gaussian(0.3 * X.std())).fit(X)
    assert_allclose(found["log_density"], direct.score_samples(X), rtol=1e-10)


def test_novelty_scores_equal_mercer_novelty(machines, command):
    options = ("--ignore", "state", "--method", "novelty", "--outliers", 0.05)
    found, _ = command("density", machines, *options)
    frame = typed_machines()
    direct = MercerNovelty(kernel=table_kernel(frame), contamination=0.05, random_state=0)
    scores = direct.fit(frame).decision_function(frame)
    assert_allclose(found["score"], scores, atol=1e-9)
    assert_array_equal(found["outlier"], (scores < 0).astype(int))


def test_p_values_equal_kernel_novelty(machines, command):
    options = ("--ignore", "state", "--method", "conformal", "--outliers", 0.05)
    found, _ = command("density", machines, *options)
    frame = typed_machines()
    direct = KernelNovelty(table_kernel(frame), false_alarm_rate=0.05, random_state=0).fit(frame)
    assert_allclose(found["p_value"], direct.p_values(frame), atol=1e-9)
    assert_array_equal(found["outlier"], (direct.predict(frame) == -1).astype(int))


def test_denoised_columns_have_their_own_units(flowers, iris, command):
    options = ("--components", 3, "--order", "variance", "--preimage", "mika")
    found, text = command("denoise", flowers, *options)
    scaler = StandardScaler().fit(iris[0])
    direct = KernelDenoiser(3, kernel=Gaussian("auto"), order="variance", preimage="mika")
    cleaned = direct.fit(scaler.transform(iris[0])).transform(scaler.transform(iris[0]))
    assert list(found) == ["row", *COLUMNS]
    assert_allclose(found[COLUMNS], scaler.inverse_transform(cleaned), rtol=1e-6)  # it iterates
    assert_names(text, "column species")


def test_column_named_row_is_not_replaced_by_row_numbers(tmp_path, command):
    X = np.random.default_rng(0).normal(7.0, size=(30, 2))
    pd.DataFrame(X, columns=["x", "row"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("denoise", tmp_path / "x.csv", "--components", 2)
    assert list(found) == ["x", "row"]
    assert abs(found["row"].mean() - 7.0) < 1  # not 15.5, the mean of row numbers


def test_discriminate_equals_kernel_lda(flowers, iris, command):
    found, text = command("discriminate", flowers, "--label", "species")
    X, y = scaled(iris[0]), iris[1]
    direct = KernelLDA(kernel=Gaussian("auto"), regularization="cv").fit(X, y)
    assert_close(found[["discriminant1", "discriminant2"]], direct.transform(X))
    assert_array_equal(found["predicted"], direct.predict(X))
    assert_close(found[[f"p_{c}" for c in direct.classes_]], direct.predict_proba(X))
    best = direct.cv_results_["error"][
        direct.cv_results_["regularization"].tolist().index(direct.regularization_)
    ]
    assert_names(text, "3 classes", format_percent(1 - best), format_percent(1 / 3))


def test_entropy_as_json_equals_kernel_eca(flowers, iris, capsys):
    assert (
        main(["entropy", str(flowers), "--ignore", "species", "--json", "--components", "4"]) == 0
    )
    results = json.loads(capsys.readouterr().out)
    direct = KernelECA(4, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert results["information_potential"] == pytest.approx(direct.information_potential_)
    assert results["renyi_entropy"] == pytest.approx(direct.renyi_entropy_)
    assert_close([one["term"] for one in results["terms"]], direct.entropy_terms_)
    assert list(results["columns_left_out"]) == ["species"]
    own = results["renyi_entropy_in_own_units"]
    assert own == pytest.approx(direct.renyi_entropy_ + np.log(iris[0].std(axis=0)).sum())


def printed_terms(text):
    """Return the indices and eigenvalues in the printed table of terms."""
    return re.findall(r"^ *(\d+) +(\S+) .* %$", text, re.MULTILINE)


def test_entropy_as_text_equals_kernel_eca(capsys):
    assert main(["entropy", "wine"]) == 0
    printed = capsys.readouterr()
    direct = KernelECA(10, kernel=Gaussian("auto"))
    direct.fit(scaled(mercer.tables.read_table("wine").X))
    assert_names(printed.out, f"{direct.renyi_entropy_:.6g} nats")
    assert_names(printed.out, f"{direct.information_potential_:.6g}")
    expected = [(str(i + 1), f"{value:.6g}") for i, value in enumerate(direct.eigenvalues_)]
    assert printed_terms(printed.out) == expected
    assert_names(printed.err, "wine", "178 rows")


def test_entropy_prints_at_most_twenty_terms(capsys):
    assert main(["entropy", "wine", "--components", "25", "--json", "--quiet"]) == 0
    ratios = [one["share"] for one in json.loads(capsys.readouterr().out)["terms"]]
    assert main(["entropy", "wine", "--components", "25", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert [int(number) for number, _ in printed_terms(text)] == list(range(1, 21))
    assert len(ratios) == 25
    assert_names(text.splitlines()[-1], 5, format_percent(sum(ratios)), "--json")


def test_cumulative_percentage_below_one_is_not_printed_as_100(capsys):
    assert main(["entropy", "wine", "--components", "25", "--json", "--quiet"]) == 0
    ratios = [one["share"] for one in json.loads(capsys.readouterr().out)["terms"]]
    assert 0.9995 < sum(ratios) < 1 - 1e-8
    assert main(["entropy", "wine", "--components", "25", "--quiet"]) == 0
    assert "100 %" not in capsys.readouterr().out


def test_entropy_of_a_table_with_fewer_than_ten_terms(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("x\n1\n1\n1\n2\n2\n5\n" + "5\n" * 9, encoding="utf-8")
    assert main(["entropy", str(tmp_path / "x.csv"), "--json", "--quiet"]) == 0
    terms = json.loads(capsys.readouterr().out)["terms"]
    assert len(terms) == 3
    assert sum(one["share"] for one in terms) == pytest.approx(1)
    assert main(["entropy", str(tmp_path / "x.csv"), "--components", "9"]) == 1


# --- models ------------------------------------------------------------------------------------

TASKS = {
    "embed": ["embed", "--components", "3"],
    "embed-pca": ["embed", "--method", "pca"],
    "cluster": ["cluster", "--clusters", "3", "--noise", "0.1"],
    "cluster-entropy": ["cluster", "--method", "entropy", "--clusters", "3"],
    "density": ["density"],
    "density-series": ["density", "--method", "series"],
    "density-novelty": ["density", "--method", "novelty"],
    "denoise": ["denoise", "--components", "3"],
    "discriminate": ["discriminate"],
}
MIXED = [
    *("embed", "embed-pca", "cluster", "cluster-entropy", "density-novelty", "denoise"),
    "discriminate",
]


@pytest.mark.parametrize(
    ("data", "task"),
    [*[("flowers", task) for task in TASKS], *[("machines", task) for task in MIXED]],
)
def test_applying_a_model_gives_the_results_of_the_fit(request, data, task, tmp_path, command):
    path = request.getfixturevalue(data)
    label = "species" if data == "flowers" else "state"
    model, first, again = tmp_path / "m.mercer", tmp_path / "1.csv", tmp_path / "2.csv"
    command(*TASKS[task], path, "--label", label, "--model", model, "--out", first, "--quiet")
    command(TASKS[task][0], path, "--apply", model, "--out", again, "--quiet")
    assert first.read_bytes() == again.read_bytes()
    # a subset of the rows, with permuted and additional columns, has the same results
    some = pd.read_csv(path).iloc[5:12, ::-1].assign(extra="x")
    some.to_csv(tmp_path / "some.csv", index=False)
    found, _ = command(TASKS[task][0], tmp_path / "some.csv", "--apply", model)
    whole = pd.read_csv(first).iloc[5:12].reset_index(drop=True)
    numbers = whole.select_dtypes("number").columns.drop("row")
    assert_allclose(found[numbers], whole[numbers], rtol=1e-9, atol=1e-12)
    assert list(found) == list(whole)


def typed_machines():
    """Return the table of the machines fixture, with types that table_kernel accepts."""
    columns, _ = make_machines(80, random_state=5)
    frame = pd.DataFrame(columns)
    frame["coolant"] = frame["coolant"].astype(str).astype("category")
    for name in ("material", "shift"):
        frame[name] = frame[name].astype("category")
    frame["date"] = pd.to_datetime(frame["date"])
    return frame


def test_models_of_mixed_tables_use_the_table_kernel(machines, tmp_path, command):
    found, _ = command("embed", machines, "--label", "state", "--model", tmp_path / "m.mercer")
    frame = typed_machines()
    direct = KernelECA(2, kernel=table_kernel(frame)).fit(frame)
    assert_allclose(found[["eca1", "eca2"]], direct.transform(frame), rtol=1e-9, atol=1e-12)
    loaded = mercer.load(tmp_path / "m.mercer")
    assert_allclose(loaded.transform(pd.read_csv(machines)), found[["eca1", "eca2"]], rtol=1e-9)


def test_bandwidth_multiplies_those_of_a_mixed_table(machines, command):
    found, _ = command("embed", machines, "--ignore", "state", "--bandwidth", 2)
    frame = typed_machines()
    direct = KernelECA(2, kernel=table_kernel(frame).widened(2.0)).fit(frame)
    assert_allclose(found[["eca1", "eca2"]], direct.transform(frame), rtol=1e-9, atol=1e-12)


def test_new_rows_with_missing_values_and_unknown_categories(machines, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", machines, "--ignore", "state", "--model", model, "--out", tmp_path / "o.csv")
    new = pd.read_csv(machines).iloc[:4].astype(object)
    new.loc[0, "material"] = "unobtainium"
    new.loc[1, "temperature"] = None
    new.loc[2, :] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    found, text = command("embed", tmp_path / "new.csv", "--apply", model)
    assert found["eca1"].notna().tolist() == [True, True, False, True]
    assert_names(text, "1 of 4 rows")
    expected = mercer.load(model).transform(pd.read_csv(tmp_path / "new.csv").iloc[[0, 1, 3]])
    assert_allclose(found[["eca1", "eca2"]].dropna(), expected, rtol=1e-9)


def test_incomplete_new_rows_have_empty_cells(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    options = ("--ignore", "species", "--clusters", 2, "--model", model)
    command("cluster", flowers, *options, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text(
        "length,width,petal,petal width\n5,3,1.4,.2\n5,,1.4,.2\n6,3,inf,2\n7,3,5,2\n",
        encoding="utf-8",
    )
    out = tmp_path / "new-clusters.csv"
    _, text = command("cluster", tmp_path / "new.csv", "--apply", model, "--out", out, "--keep")
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line.count(",") for line in lines] == [4] * 5
    assert lines[2] == "5,,1.4,.2,"  # unchanged, and no results
    assert lines[1].split(",")[4] in "01"  # an integer although others are missing
    assert_names(text, "2 of 4 rows")


def test_table_without_a_usable_row(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n,1,2,3\n", encoding="utf-8")
    _, text = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert_names(text, "new.csv", "1 row")
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    command("embed", tmp_path / "new.csv", "--apply", model, code=1)


def test_new_rows_need_the_columns_of_the_model(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text("length,width\n1,2\n", encoding="utf-8")
    _, text = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert_names(text, "'petal'", "'petal width'")
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n1,2,3,many\n", encoding="utf-8")
    _, text = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert_names(text, "'petal width'", "'many'")


def test_models_of_other_commands_are_rejected(flowers, iris, tmp_path, command):
    model, out = tmp_path / "m.mercer", tmp_path / "o.csv"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "1.csv")
    _, text = command("cluster", flowers, "--apply", model, "--out", out, code=1)
    assert_names(text, model, "KernelECA", "mercer cluster", "mercer embed")
    mercer.save(KernelECA(2).fit(iris[0]), model)
    _, text = command("embed", flowers, "--apply", model, "--out", out, code=1)
    assert_names(text, model, "KernelECA", "--model")
    mercer.save([1, 2], model)
    _, text = command("embed", flowers, "--apply", model, "--out", out, code=1)
    assert_names(text, model, "list")
    assert not out.exists()


def test_damaged_models_are_rejected(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    _, text = command("embed", flowers, "--apply", model, code=1)
    assert_names(text, "m.mercer")
    model.write_bytes(content[: len(content) // 2])
    command("embed", flowers, "--apply", model, code=1)
    _, text = command("embed", flowers, "--apply", tmp_path / "none.mercer", code=1)
    assert_names(text, "none.mercer")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--components", "3"], "components"),
        (["--bandwidth", "2"], "bandwidth"),
        (["--no-scale"], "scale"),
        (["--ignore", "x"], "ignore"),
        (["--model", "other.mercer"], "model"),
    ],
)
def test_options_of_the_fit_cannot_be_used_with_apply(options, name, command):
    _, text = command("embed", "wine", "--apply", "m.mercer", *options, code=2)
    assert_names(text, f"--{name}", "--apply")


# --- classes -----------------------------------------------------------------------------------


def test_unlabeled_rows_are_predicted_but_not_fitted_to(flowers, iris, tmp_path, command):
    frame = pd.read_csv(flowers)
    frame.loc[::10, "species"] = None
    frame.to_csv(tmp_path / "some.csv", index=False)
    found, text = command("discriminate", tmp_path / "some.csv", "--label", "species")
    known = frame["species"].notna().to_numpy()
    scaler = StandardScaler().fit(iris[0][known])
    direct = KernelLDA(kernel=Gaussian("auto"), regularization="cv")
    direct.fit(scaler.transform(iris[0][known]), iris[1][known])
    assert_array_equal(found["predicted"], direct.predict(scaler.transform(iris[0])))
    assert_names(text, "135 rows", "3 classes")


def test_accuracy_on_labeled_new_rows(flowers, iris, tmp_path, command):
    model = tmp_path / "m.mercer"
    frame = pd.read_csv(flowers)
    frame.iloc[::2].to_csv(tmp_path / "half.csv", index=False)
    frame.iloc[1::2].to_csv(tmp_path / "rest.csv", index=False)
    out = ("--model", model, "--out", tmp_path / "o.csv")
    command("discriminate", tmp_path / "half.csv", "--label", "species", *out)
    found, text = command(
        "discriminate", tmp_path / "rest.csv", "--label", "species", "--apply", model
    )
    accuracy = (found["predicted"].to_numpy() == iris[1][1::2]).mean()
    assert accuracy > 0.9
    assert_names(text, format_percent(accuracy), 75)
    _, text = command("discriminate", tmp_path / "rest.csv", "--apply", model)
    assert "%" not in text


def test_integer_classes_with_missing_labels(flowers, tmp_path, command):
    frame = pd.read_csv(flowers)
    frame["species"] = frame["species"].astype("category").cat.codes.astype(float)
    frame.loc[3, "species"] = None
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    found, _ = command("discriminate", tmp_path / "numbers.csv", "--label", "species")
    assert list(found)[-3:] == ["p_0", "p_1", "p_2"]
    assert found["predicted"].dtype.kind == "i"


def test_categories_and_labels_are_as_written_in_new_rows(tmp_path, command):
    """Codes 01 and 1 are two categories when a model is fitted and when it is applied."""
    rows = [
        f"{code},{i * i},{kind}" for i, (code, kind) in enumerate([("01", "1"), ("1", "NA")] * 9)
    ]
    text = "\n".join(["code,x,kind", *rows])
    (tmp_path / "all.csv").write_text(text)
    (tmp_path / "new.csv").write_text("\n".join(["code,x,kind", *rows[1::2]]))
    options = ["--label", "kind", "--categorical", "code", "--model", tmp_path / "m.mercer"]
    found, _ = command("discriminate", tmp_path / "all.csv", *options)
    assert list(found)[-2:] == ["p_1", "p_NA"]
    apply = ["--apply", tmp_path / "m.mercer", "--label", "kind"]
    new, text = command("discriminate", tmp_path / "new.csv", *apply)
    assert_allclose(new["p_NA"], found["p_NA"][1::2], rtol=1e-9)
    assert_names(text, "9 labeled rows")


def test_continuous_labels_are_rejected(flowers, command):
    _, text = command("discriminate", flowers, "--label", "length", code=1)
    assert_names(text, "'length'", 5.1, "--label")


def test_discriminate_without_labels(flowers, command):
    _, text = command("discriminate", flowers, code=2)
    assert_names(text, "--label")
    _, text = command("discriminate", flowers, "--label", "kind", code=1)
    assert_names(text, "'kind'")


# --- invalid input and arguments --------------------------------------------------------------


def test_density_needs_complete_numeric_columns(machines, tmp_path, command):
    _, text = command("density", machines, "--ignore", "state", code=1)
    assert_names(text, "'coolant'", "category", "--ignore", "--method novelty")
    frame = pd.DataFrame({"a": [1, 2, None, None, 5.0], "b": [3, 1, 4, 1, 5]})
    frame.to_csv(tmp_path / "incomplete.csv", index=False)
    _, text = command("density", tmp_path / "incomplete.csv", code=1)
    assert_names(text, "'a'", "--missing drop")
    found, _ = command("density", tmp_path / "incomplete.csv", "--missing", "drop")
    assert found["log_density"].notna().tolist() == [True, True, False, False, True]


def test_denoise_needs_complete_numeric_columns(tmp_path, command):
    (tmp_path / "w.csv").write_text("a\nx\ny\nx\ny\nx\n", encoding="utf-8")
    _, text = command("denoise", tmp_path / "w.csv", code=1)
    assert_names(text, "w.csv", "numeric")
    _, text = command("denoise", "wine", "--missing", "keep", code=2)
    assert_names(text, "denoise", "--missing keep")


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["embed"], ["DATA"]),
        (["embed", "--nonsense"], ["--nonsense", "./--nonsense"]),
        (["embed", "wine", "--components", "0"], ["--components", ">= 1"]),
        (["embed", "wine", "--components", "1.5"], ["--components", ">= 1"]),
        (["embed", "wine", "--components", "three"], ["--components", ">= 1"]),
        (["embed", "wine", "--method", "ica"], ["--method", "ica"]),
        (["cluster", "wine", "--noise", "1"], ["--noise", 1]),
        (
            ["cluster", "wine", "--noise", "0.1", "--method", "entropy"],
            ["--noise", "--method spectral"],
        ),
        (["cluster", "wine", "--clusters", "few"], ["--clusters", ">= 1", "auto"]),
        (["cluster", "wine", "--clusters", "0"], ["--clusters", ">= 1", "auto"]),
        (["density", "wine", "--outliers", "0.9"], ["--outliers", "<= 0.5"]),
        (["embed", "wine", "--out", "wine.xlsx"], ["wine.xlsx", ".parquet"]),
        (["embed", "wine", "--out", "w.npy", "--keep"], ["--keep", ".npy"]),
        (["embed", "wine", "--out", "w.csv", "--model", "w.csv"], ["--model", "--out", "w.csv"]),
        (["embed", "wine", "--missing", "no"], ["--missing"]),
    ],
)
def test_invalid_arguments(arguments, values, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, text = command(*arguments, code=2)
    assert_names(text, *values)
    assert list(tmp_path.iterdir()) == []


# --- output -----------------------------------------------------------------------------------


def test_keep_copies_columns_unchanged(tmp_path, command):
    lines = [
        'id,code,"a, b",x',
        '1,007,1.50,"say ""hi"""',
        "2,011,NA,é",
        "3,010,2.0,",
        "4,012,7e3,x",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "o.csv"
    command(
        "embed", tmp_path / "t.csv", "--ignore", "x", "--ignore", "code", "--keep", "--out", out
    )
    written = out.read_text(encoding="utf-8").splitlines()
    assert [line.rsplit(",", 2)[0] for line in written] == lines
    assert written[2].endswith(",,")  # a value is missing


def test_new_columns_must_have_new_names(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("cluster", flowers, "--ignore", "species", "--clusters", 2, "--keep", "--out", out)
    _, text = command("cluster", out, "--clusters", 2, "--keep", code=1)
    assert_names(text, "o.csv", "'cluster'", "--keep")


def test_denoised_columns_replace_those_of_the_input(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("denoise", flowers, "--keep", "--out", out)
    written, before = pd.read_csv(out), pd.read_csv(flowers)
    assert list(written) == list(before)
    assert_array_equal(written["species"], before["species"])
    assert not (written["length"] == before["length"]).any()


def test_formats_have_the_same_content(flowers, tmp_path, command):
    found, _ = command("embed", flowers, "--ignore", "species")
    for suffix in (".csv", ".tsv", ".parquet", ".npy"):
        command("embed", flowers, "--ignore", "species", "--out", tmp_path / f"new/o{suffix}")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.csv"), found)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.tsv", sep="\t"), found)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "new/o.parquet"), found)
    assert_array_equal(np.load(tmp_path / "new/o.npy"), found[["eca1", "eca2"]])


def test_copied_columns_have_types_in_parquet(flowers, tmp_path, command):
    command("embed", flowers, "--ignore", "species", "--keep", "--out", tmp_path / "o.parquet")
    written = pd.read_parquet(tmp_path / "o.parquet")
    pd.testing.assert_frame_equal(written.iloc[:, :5], pd.read_csv(flowers))


def test_error_names_the_extra_of_parquet(tmp_path, command, monkeypatch):
    def absent(frame, *_, **__):
        raise ImportError("pyarrow or fastparquet is required")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", absent)
    _, text = command("embed", "rings", "--out", tmp_path / "o.parquet", code=1)
    assert_names(text, "pyarrow", "pip install mercer[io]")
    assert list(tmp_path.iterdir()) == []


def test_at_most_five_omitted_columns_are_listed(tmp_path, command):
    X = np.random.default_rng(0).normal(size=(20, 2))
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(**{f"same{j}": 1 for j in range(7)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    _, text = command("embed", tmp_path / "x.csv")
    assert text.count("column same") == 5
    assert_names(text, "2 more columns")


def test_text_columns_cannot_be_written_to_npy(flowers, tmp_path, command):
    out = tmp_path / "o.npy"
    _, text = command("discriminate", flowers, "--label", "species", "--out", out, code=1)
    assert_names(text, "'predicted'", ".csv", ".parquet")
    assert not out.exists()


def test_quiet_prints_errors_only(flowers, tmp_path, command):
    arguments = ("embed", flowers, "--ignore", "species", "--bandwidth", 0.001)
    _, text = command(*arguments)
    assert_names(text, "IdentifiabilityWarning", "column species")
    assert command(*arguments, "--quiet")[1] == ""
    _, text = command("embed", tmp_path / "none.csv", "--quiet", code=1)
    assert_names(text, "none.csv")


def test_verbose_prints_the_traceback(tmp_path, capsys):
    assert main(["embed", str(tmp_path / "none.csv"), "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", []),
        (b"a,b\n", [0]),
        (b"a,b\n1,2\n1,2,3\n", [3, 2]),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", [3, 2]),
        ("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"), [1, "0xf6"]),
        (b"a,b\n1,\x002\n3,4\n", []),
        (b'a,b\n1,"2\n3,4\n', []),
        (b"PAR1 and then nothing", ["Parquet"]),
        (b"\x93NUMPY and then nothing", []),
        (b"\x1f\x8b and then nothing", []),
    ],
    ids=[
        "empty",
        "header only",
        "long row",
        "short row",
        "encoding",
        "zero bytes",
        "open quote",
        "parquet",
        "npy",
        "gzip",
    ],
)
@pytest.mark.parametrize("name", ["embed", "cluster", "density", "entropy", "denoise"])
def test_invalid_files(tmp_path, command, name, content, values):
    (tmp_path / "bad.csv").write_bytes(content)
    _, text = command(name, tmp_path / "bad.csv", code=1)
    assert_names(text, "bad.csv", *values)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_unusual_files_that_can_be_read(tmp_path, command):
    path = tmp_path / "strange.csv"
    path.write_bytes("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"))
    assert len(command("embed", path, "--encoding", "latin-1")[0]) == 3
    path.write_bytes(b"a,a,b\n1,2,3\n4,5,6\n9,1,0\n")
    assert_names(command("embed", path)[1], "note: ", "3 columns")
    path.write_text("a,b\n" + "".join(f'{i},"{"x" * 200_000}{i % 3}"\n' for i in range(9)))
    assert len(command("embed", path)[0]) == 9
    path.write_bytes(b"a,b\r1,2\r3,5\r7,1\r")
    assert len(command("embed", path)[0]) == 3
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3000)))
    wide.add_prefix("c").to_csv(path, index=False)
    found, text = command("embed", path)
    assert_names(text, "5 rows", "3,000 columns")
    assert list(found) == ["row", "eca1", "eca2"]


@pytest.mark.parametrize("name", ["wine", "machines"])
def test_cluster_and_report_number_clusters_as_the_estimator(name, tmp_path):
    """The files can be joined, and numbers are those that a saved model predicts."""
    assert main(["cluster", name, "--out", str(tmp_path / "c.csv")]) == 0
    assert main(["report", name, "--out", str(tmp_path)]) == 0
    found, expected = (
        pd.read_csv(tmp_path / file).set_index("row")["cluster"] for file in ("c.csv", "rows.csv")
    )
    assert_array_equal(found, expected)
    profiles = pd.read_csv(tmp_path / "clusters.csv").drop_duplicates("cluster")
    assert profiles.set_index("cluster")["size"].to_dict() == found.value_counts().to_dict()
