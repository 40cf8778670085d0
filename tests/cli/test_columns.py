"""Commands that write columns: their numbers are those of the estimators, for old rows and new."""

import json

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
    KernelPCA,
    MercerNovelty,
    ParzenDensity,
    SeriesDensity,
)
from mercer.cli import main
from mercer.cli.telling import percent
from mercer.datasets import make_machines
from mercer.kernels import Gaussian, table_kernel
from tests.cli.running import table

COLUMNS = ["length", "width", "petal", "petal width"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture
def flowers(iris, tmp_path):
    """A CSV of numbers with a column of classes."""
    path = tmp_path / "flowers.csv"
    pd.DataFrame(iris[0], columns=COLUMNS).assign(species=iris[1]).to_csv(path, index=False)
    return path


@pytest.fixture
def machines(tmp_path):
    """A CSV of numbers, labels, texts, dates and gaps."""
    columns, state = make_machines(80, random_state=5)
    path = tmp_path / "machines.csv"
    pd.DataFrame(columns).assign(state=state).to_csv(path, index=False)
    return path


@pytest.fixture
def command(capsys):
    """Run in this process; what is written, as a data frame, and what is told."""

    def run(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        told = capsys.readouterr()
        if code:
            assert told.out == ""
            assert "Traceback" not in told.err
        return (table(told.out) if told.out else None), told.err

    return run


# --- numbers are the estimators' ---------------------------------------------------------------


def assert_close(found, expected):
    """Equal up to rounding: rows of a frame and of an array lie otherwise in memory."""
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def scaled(X):
    return StandardScaler().fit_transform(X)


def test_embed(flowers, iris, command):
    found, told = command("embed", flowers, "--label", "species", "--components", 3)
    direct = KernelECA(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert list(found) == ["row", "eca1", "eca2", "eca3"]
    assert_array_equal(found["row"], np.arange(1, 151))
    assert_close(found.iloc[:, 1:], direct.transform(scaled(iris[0])))
    assert "150 rows, 4 columns" in told
    assert f"bandwidth σ = {direct.kernel_.bandwidth:.4g} standard deviations" in told


def test_embed_by_variance_without_scaling(flowers, iris, command):
    options = ("--method", "pca", "--components", 0.9, "--no-scale", "--bandwidth", 1.5)
    found, told = command("embed", flowers, "--label", "species", *options)
    direct = KernelPCA(0.9, kernel=Gaussian(1.5)).fit(iris[0])
    assert list(found)[1] == "pca1"
    assert_close(found.iloc[:, 1:], direct.transform(iris[0]))
    assert f"{direct.n_components_} components with" in told
    assert "standard deviations" not in told


def test_cluster(flowers, iris, command):
    found, told = command("cluster", flowers, "--ignore", "species", "--clusters", 3)
    direct = EntropyClustering(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert_array_equal(found["cluster"], direct.labels_)
    Z = direct.eca_.transform(scaled(iris[0]))
    centres = direct.cluster_centers_[direct.labels_]
    cosines = (Z * centres).sum(axis=1) / np.linalg.norm(Z, axis=1)
    assert_allclose(found["cosine"], cosines, atol=1e-12)
    assert ", ".join(map(str, np.bincount(direct.labels_))) in told


def test_cluster_counts_groups_by_itself(command):
    found, told = command("cluster", "rings", "--bandwidth", 0.2)
    assert f"{found['cluster'].nunique()} cluster" in told


@pytest.mark.parametrize("options", [(), ("--clusters", "auto")], ids=" ".join)
def test_one_cloud_is_one_cluster_and_says_how_to_get_more(tmp_path, command, options):
    X = np.random.default_rng(0).normal(size=(80, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "x.csv", index=False)
    found, told = command("cluster", tmp_path / "x.csv", "--bandwidth", 1.5, *options)
    assert set(found["cluster"]) == {0}
    assert "only one group shows itself; --clusters N insists on N" in told
    _, told = command("cluster", tmp_path / "x.csv", "--bandwidth", 1.5, "--clusters", 1)
    assert "insists" not in told


def test_rows_without_a_cluster_have_no_cosine(tmp_path, command):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.1, size=(30, 1)) for at in (0, 2)] + [[[900.0]]])
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    options = ("--clusters", 2, "--bandwidth", 0.3, "--no-scale")
    found, told = command("cluster", tmp_path / "x.csv", *options)
    assert found["cluster"].iloc[-1] == -1
    assert np.isnan(found["cosine"].iloc[-1])
    assert found["cosine"].iloc[:-1].min() > 0
    assert "ApproximationWarning: 1 of 61 points are labelled -1" in told


@pytest.mark.parametrize(("method", "kind"), [("parzen", ParzenDensity), ("series", SeriesDensity)])
def test_density_is_in_the_units_of_the_columns(flowers, iris, command, method, kind):
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


def test_density_of_one_column_is_that_of_a_wider_window(tmp_path, command):
    X = np.random.default_rng(3).normal(7.0, 250.0, size=(60, 1))
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("density", tmp_path / "x.csv", "--bandwidth", 0.3)
    direct = ParzenDensity(kernel=Gaussian(0.3 * X.std())).fit(X)
    assert_allclose(found["log_density"], direct.score_samples(X), rtol=1e-10)


def test_novelty(machines, command):
    options = ("--ignore", "state", "--method", "novelty", "--outliers", 0.05)
    found, _ = command("density", machines, *options)
    frame = typed_machines()
    direct = MercerNovelty(kernel=table_kernel(frame), contamination=0.05, random_state=0)
    scores = direct.fit(frame).decision_function(frame)
    assert_allclose(found["score"], scores, atol=1e-9)
    assert_array_equal(found["outlier"], (scores < 0).astype(int))


def test_denoise_is_in_the_units_of_the_columns(flowers, iris, command):
    options = ("--components", 3, "--order", "variance", "--preimage", "mika")
    found, told = command("denoise", flowers, *options)
    scaler = StandardScaler().fit(iris[0])
    direct = KernelDenoiser(3, kernel=Gaussian("auto"), order="variance", preimage="mika")
    cleaned = direct.fit(scaler.transform(iris[0])).transform(scaler.transform(iris[0]))
    assert list(found) == ["row", *COLUMNS]
    assert_allclose(found[COLUMNS], scaler.inverse_transform(cleaned), rtol=1e-6)  # it iterates
    assert "left out: column species (not numbers)" in told


def test_a_column_named_row_is_not_taken_for_row_numbers(tmp_path, command):
    X = np.random.default_rng(0).normal(7.0, size=(30, 2))
    pd.DataFrame(X, columns=["x", "row"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("denoise", tmp_path / "x.csv", "--components", 2)
    assert list(found) == ["x", "row"]
    assert abs(found["row"].mean() - 7.0) < 1  # and not 15.5, as of row numbers


def test_discriminate(flowers, iris, command):
    found, told = command("discriminate", flowers, "--label", "species")
    X, y = scaled(iris[0]), iris[1]
    direct = KernelLDA(kernel=Gaussian("auto"), regularization="cv").fit(X, y)
    assert_close(found[["discriminant1", "discriminant2"]], direct.transform(X))
    assert_array_equal(found["predicted"], direct.predict(X))
    assert_close(found[[f"p_{c}" for c in direct.classes_]], direct.predict_proba(X))
    best = direct.cv_results_["error"][
        direct.cv_results_["regularization"].tolist().index(direct.regularization_)
    ]
    assert f"{100 * (1 - best):.3g} % of left-out rows are predicted right" in told


def test_entropy_as_json(flowers, iris, capsys):
    assert (
        main(["entropy", str(flowers), "--ignore", "species", "--json", "--components", "4"]) == 0
    )
    told = capsys.readouterr()
    facts = json.loads(told.out)
    direct = KernelECA(4, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert facts["information_potential"] == pytest.approx(direct.information_potential_)
    assert facts["renyi_entropy"] == pytest.approx(direct.renyi_entropy_)
    assert_close([one["term"] for one in facts["terms"]], direct.entropy_terms_)
    assert facts["columns_left_out"] == {"species": "ignored as requested"}
    own = facts["renyi_entropy_in_own_units"]
    assert own == pytest.approx(direct.renyi_entropy_ + np.log(iris[0].std(axis=0)).sum())


def test_entropy_in_words(capsys):
    assert main(["entropy", "wine"]) == 0
    told = capsys.readouterr()
    direct = KernelECA(10, kernel=Gaussian("auto"))
    direct.fit(scaled(mercer.tables.read_table("wine").X))
    assert told.out.startswith(f"Renyi entropy          {direct.renyi_entropy_:.6g} nats")
    assert len(told.out.split("together\n")[1].splitlines()) == 10
    assert "wine: 178 rows" in told.err


def test_entropy_of_many_terms_lists_twenty(capsys):
    assert main(["entropy", "wine", "--components", "25", "--json", "--quiet"]) == 0
    shares = [one["share"] for one in json.loads(capsys.readouterr().out)["terms"]]
    assert main(["entropy", "wine", "--components", "25", "--quiet"]) == 0
    *lines, last = capsys.readouterr().out.split("together\n")[1].splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(1, 21))
    assert len(shares) == 25
    assert last.split() == f"5 more terms: {percent(sum(shares))} together (--json has all)".split()


def test_entropy_of_fewer_terms_than_ten(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("x\n1\n1\n1\n2\n2\n5\n" + "5\n" * 9, encoding="utf-8")
    assert main(["entropy", str(tmp_path / "x.csv"), "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["terms"]) == 3
    assert sum(one["share"] for one in facts["terms"]) == pytest.approx(1)
    assert main(["entropy", str(tmp_path / "x.csv"), "--components", "9"]) == 1


# --- models ------------------------------------------------------------------------------------

TASKS = {
    "embed": ["embed", "--components", "3"],
    "embed-pca": ["embed", "--method", "pca"],
    "cluster": ["cluster", "--clusters", "3"],
    "density": ["density"],
    "density-series": ["density", "--method", "series"],
    "density-novelty": ["density", "--method", "novelty"],
    "denoise": ["denoise", "--components", "3"],
    "discriminate": ["discriminate"],
}
MIXED = ["embed", "embed-pca", "cluster", "density-novelty", "denoise", "discriminate"]


@pytest.mark.parametrize(
    ("data", "task"),
    [*[("flowers", task) for task in TASKS], *[("machines", task) for task in MIXED]],
)
def test_a_model_gives_the_same_again(request, data, task, tmp_path, command):
    path = request.getfixturevalue(data)
    label = "species" if data == "flowers" else "state"
    model, first, again = tmp_path / "m.mercer", tmp_path / "1.csv", tmp_path / "2.csv"
    command(*TASKS[task], path, "--label", label, "--model", model, "--out", first, "--quiet")
    command(TASKS[task][0], path, "--apply", model, "--out", again, "--quiet")
    assert first.read_bytes() == again.read_bytes()
    # some rows, columns in another order and more of them: the same cells
    some = pd.read_csv(path).iloc[5:12, ::-1].assign(extra="x")
    some.to_csv(tmp_path / "some.csv", index=False)
    found, _ = command(TASKS[task][0], tmp_path / "some.csv", "--apply", model)
    whole = pd.read_csv(first).iloc[5:12].reset_index(drop=True)
    numbers = whole.select_dtypes("number").columns.drop("row")
    assert_allclose(found[numbers], whole[numbers], rtol=1e-9, atol=1e-12)
    assert list(found) == list(whole)


def typed_machines():
    """The table of the machines fixture, with types that table_kernel understands."""
    columns, _ = make_machines(80, random_state=5)
    frame = pd.DataFrame(columns)
    frame["coolant"] = frame["coolant"].astype(str).astype("category")
    for name in ("material", "shift"):
        frame[name] = frame[name].astype("category")
    frame["date"] = pd.to_datetime(frame["date"])
    return frame


def test_models_of_a_mixed_table_are_those_of_the_table_kernel(machines, tmp_path, command):
    found, _ = command("embed", machines, "--label", "state", "--model", tmp_path / "m.mercer")
    frame = typed_machines()
    direct = KernelECA(2, kernel=table_kernel(frame)).fit(frame)
    assert_allclose(found[["eca1", "eca2"]], direct.transform(frame), rtol=1e-9, atol=1e-12)
    loaded = mercer.load(tmp_path / "m.mercer")
    assert_allclose(loaded.transform(pd.read_csv(machines)), found[["eca1", "eca2"]], rtol=1e-9)


def test_a_bandwidth_is_a_factor_for_a_mixed_table(machines, command):
    found, _ = command("embed", machines, "--ignore", "state", "--bandwidth", 2)
    frame = typed_machines()
    direct = KernelECA(2, kernel=table_kernel(frame).widened(2.0)).fit(frame)
    assert_allclose(found[["eca1", "eca2"]], direct.transform(frame), rtol=1e-9, atol=1e-12)


def test_new_rows_with_gaps_and_unknown_categories(machines, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", machines, "--ignore", "state", "--model", model, "--out", tmp_path / "o.csv")
    new = pd.read_csv(machines).iloc[:4].astype(object)
    new.loc[0, "material"] = "unobtainium"
    new.loc[1, "temperature"] = None
    new.loc[2, :] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    found, told = command("embed", tmp_path / "new.csv", "--apply", model)
    assert found["eca1"].notna().tolist() == [True, True, False, True]
    assert "1 of 4 rows cannot be used (missing values): their cells are empty" in told
    seen = mercer.load(model).transform(pd.read_csv(tmp_path / "new.csv").iloc[[0, 1, 3]])
    assert_allclose(found[["eca1", "eca2"]].dropna(), seen, rtol=1e-9)


def test_new_rows_without_all_numbers_have_empty_cells(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    options = ("--ignore", "species", "--clusters", 2, "--model", model)
    command("cluster", flowers, *options, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text(
        "length,width,petal,petal width\n5,3,1.4,.2\n5,,1.4,.2\n6,3,inf,2\n7,3,5,2\n",
        encoding="utf-8",
    )
    out = tmp_path / "new-clusters.csv"
    _, told = command("cluster", tmp_path / "new.csv", "--apply", model, "--out", out, "--keep")
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line.count(",") for line in lines] == [5] * 5
    assert lines[2] == "5,,1.4,.2,,"  # as written, and nothing more
    assert lines[1].split(",")[4] in "01"  # a whole number although others are missing
    assert "2 of 4 rows" in told


def test_a_table_without_any_usable_row(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n,1,2,3\n", encoding="utf-8")
    _, told = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert "has 1 rows, and none has all the numbers" in told
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    command("embed", tmp_path / "new.csv", "--apply", model, code=1)


def test_new_rows_need_the_models_columns(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    (tmp_path / "new.csv").write_text("length,width\n1,2\n", encoding="utf-8")
    _, told = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert "no column 'petal', 'petal width', which the model was fitted with" in told
    (tmp_path / "new.csv").write_text(",".join(COLUMNS) + "\n1,2,3,many\n", encoding="utf-8")
    _, told = command("embed", tmp_path / "new.csv", "--apply", model, code=1)
    assert "'petal width'" in told
    assert "'many'" in told


def test_models_of_other_commands_are_refused(flowers, iris, tmp_path, command):
    model, out = tmp_path / "m.mercer", tmp_path / "o.csv"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "1.csv")
    _, told = command("cluster", flowers, "--apply", model, "--out", out, code=1)
    assert "holds a KernelECA, not a model of mercer cluster; use mercer embed --apply" in told
    mercer.save(KernelECA(2).fit(iris[0]), model)
    _, told = command("embed", flowers, "--apply", model, "--out", out, code=1)
    assert "holds a KernelECA, which takes no table as it comes from a file" in told
    mercer.save([1, 2], model)
    _, told = command("embed", flowers, "--apply", model, "--out", out, code=1)
    assert "holds a list" in told
    assert not out.exists()


def test_damaged_models_are_refused(flowers, tmp_path, command):
    model = tmp_path / "m.mercer"
    command("embed", flowers, "--ignore", "species", "--model", model, "--out", tmp_path / "o.csv")
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    _, told = command("embed", flowers, "--apply", model, code=1)
    assert "m.mercer" in told
    model.write_bytes(content[: len(content) // 2])
    command("embed", flowers, "--apply", model, code=1)
    _, told = command("embed", flowers, "--apply", tmp_path / "none.mercer", code=1)
    assert "There is no file" in told


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
def test_a_model_cannot_be_changed_by_options(options, name, command):
    _, told = command("embed", "wine", "--apply", "m.mercer", *options, code=2)
    assert f"--{name} cannot be given with it" in told


# --- classes -----------------------------------------------------------------------------------


def test_rows_without_a_class_are_predicted_but_not_learnt_from(flowers, iris, tmp_path, command):
    frame = pd.read_csv(flowers)
    frame.loc[::10, "species"] = None
    frame.to_csv(tmp_path / "some.csv", index=False)
    found, told = command("discriminate", tmp_path / "some.csv", "--label", "species")
    known = frame["species"].notna().to_numpy()
    scaler = StandardScaler().fit(iris[0][known])
    direct = KernelLDA(kernel=Gaussian("auto"), regularization="cv")
    direct.fit(scaler.transform(iris[0][known]), iris[1][known])
    assert_array_equal(found["predicted"], direct.predict(scaler.transform(iris[0])))
    assert "135 rows" in told
    assert "3 classes" in told


def test_known_classes_of_new_rows_are_compared(flowers, iris, tmp_path, command):
    model = tmp_path / "m.mercer"
    frame = pd.read_csv(flowers)
    frame.iloc[::2].to_csv(tmp_path / "half.csv", index=False)
    frame.iloc[1::2].to_csv(tmp_path / "rest.csv", index=False)
    out = ("--model", model, "--out", tmp_path / "o.csv")
    command("discriminate", tmp_path / "half.csv", "--label", "species", *out)
    found, told = command(
        "discriminate", tmp_path / "rest.csv", "--label", "species", "--apply", model
    )
    right = (found["predicted"].to_numpy() == iris[1][1::2]).mean()
    assert right > 0.9
    assert f"{100 * right:.3g} % of 75 rows are predicted right" in told
    _, told = command("discriminate", tmp_path / "rest.csv", "--apply", model)
    assert "predicted right" not in told


def test_classes_that_are_whole_numbers(flowers, tmp_path, command):
    frame = pd.read_csv(flowers)
    frame["species"] = frame["species"].astype("category").cat.codes.astype(float)
    frame.loc[3, "species"] = None
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    found, _ = command("discriminate", tmp_path / "numbers.csv", "--label", "species")
    assert list(found)[-3:] == ["p_0", "p_1", "p_2"]
    assert found["predicted"].dtype.kind == "i"


def test_measurements_are_no_classes(flowers, command):
    _, told = command("discriminate", flowers, "--label", "length", code=1)
    assert "Column 'length' holds numbers such as 5.1, not classes" in told


def test_discriminate_without_classes(flowers, command):
    _, told = command("discriminate", flowers, code=2)
    assert "name their column with --label" in told
    _, told = command("discriminate", flowers, "--label", "kind", code=1)
    assert "has no column 'kind'" in told


# --- refusals in words -------------------------------------------------------------------------


def test_densities_need_numbers(machines, tmp_path, command):
    _, told = command("density", machines, "--ignore", "state", code=1)
    assert "column 'coolant' holds none (category)" in told
    assert "--method novelty" in told
    frame = pd.DataFrame({"a": [1, 2, None, None, 5.0], "b": [3, 1, 4, 1, 5]})
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    _, told = command("density", tmp_path / "gaps.csv", code=1)
    assert "column 'a' has missing cells: --missing drop" in told
    found, _ = command("density", tmp_path / "gaps.csv", "--missing", "drop")
    assert found["log_density"].notna().tolist() == [True, True, False, False, True]


def test_words_cannot_be_denoised(tmp_path, command):
    (tmp_path / "w.csv").write_text("a\nx\ny\nx\ny\nx\n", encoding="utf-8")
    _, told = command("denoise", tmp_path / "w.csv", code=1)
    assert "no column of numbers that could be denoised" in told
    _, told = command("denoise", "wine", "--missing", "keep", code=2)
    assert "complete rows" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embed"], "requires an argument"),
        (["embed", "--nonsense"], "There is no option --nonsense"),
        (["embed", "wine", "--components", "0"], "at least 1"),
        (["embed", "wine", "--components", "1.5"], "at least 1"),
        (["embed", "wine", "--components", "three"], "at least 1"),
        (["embed", "wine", "--method", "ica"], "--method"),
        (["cluster", "wine", "--clusters", "few"], "or auto"),
        (["density", "wine", "--outliers", "0.9"], "<= 0.5"),
        (["embed", "wine", "--out", "wine.xlsx"], ".parquet"),
        (["embed", "wine", "--out", "w.npy", "--keep"], "numbers only"),
        (["embed", "wine", "--out", "w.csv", "--model", "w.csv"], "the same file"),
        (["embed", "wine", "--missing", "no"], "--missing"),
    ],
)
def test_bad_usage(arguments, message, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, told = command(*arguments, code=2)
    assert message in " ".join(told.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


# --- what is written ---------------------------------------------------------------------------


def test_kept_columns_are_as_they_were_written(tmp_path, command):
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
    assert written[2].endswith(",,")  # a number is missing


def test_columns_are_not_written_twice(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("cluster", flowers, "--ignore", "species", "--clusters", 2, "--keep", "--out", out)
    _, told = command("cluster", out, "--clusters", 2, "--keep", code=1)
    assert "has a column 'cluster' already" in told


def test_denoised_columns_take_the_place_of_noisy_ones(flowers, tmp_path, command):
    out = tmp_path / "o.csv"
    command("denoise", flowers, "--keep", "--out", out)
    written, before = pd.read_csv(out), pd.read_csv(flowers)
    assert list(written) == list(before)
    assert_array_equal(written["species"], before["species"])
    assert not (written["length"] == before["length"]).any()


def test_formats_hold_the_same(flowers, tmp_path, command):
    found, _ = command("embed", flowers, "--ignore", "species")
    for suffix in (".csv", ".tsv", ".parquet", ".npy"):
        command("embed", flowers, "--ignore", "species", "--out", tmp_path / f"new/o{suffix}")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.csv"), found)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new/o.tsv", sep="\t"), found)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "new/o.parquet"), found)
    assert_array_equal(np.load(tmp_path / "new/o.npy"), found[["eca1", "eca2"]])


def test_kept_columns_have_types_in_parquet(flowers, tmp_path, command):
    command("embed", flowers, "--ignore", "species", "--keep", "--out", tmp_path / "o.parquet")
    written = pd.read_parquet(tmp_path / "o.parquet")
    pd.testing.assert_frame_equal(written.iloc[:, :5], pd.read_csv(flowers))


def test_parquet_without_its_package(tmp_path, command, monkeypatch):
    def absent(frame, *_, **__):
        raise ImportError("pyarrow or fastparquet is required")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", absent)
    _, told = command("embed", "rings", "--out", tmp_path / "o.parquet", code=1)
    assert "Writing Parquet needs pyarrow, which is not installed: pip install mercer[io]" in told
    assert list(tmp_path.iterdir()) == []


def test_columns_that_are_left_out_are_not_all_listed(tmp_path, command):
    X = np.random.default_rng(0).normal(size=(20, 2))
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(**{f"same{j}": 1 for j in range(7)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    _, told = command("embed", tmp_path / "x.csv")
    assert told.count("left out: column same") == 5
    assert "left out: 2 more columns" in told


def test_arrays_hold_no_words(flowers, tmp_path, command):
    out = tmp_path / "o.npy"
    _, told = command("discriminate", flowers, "--label", "species", "--out", out, code=1)
    assert "column 'predicted' does not; write .csv or .parquet" in told
    assert not out.exists()


def test_quiet_and_loud(flowers, tmp_path, command):
    arguments = ("embed", flowers, "--ignore", "species", "--bandwidth", 0.001)
    _, told = command(*arguments)
    assert "IdentifiabilityWarning" in told
    assert "left out: column species (ignored as requested)" in told
    assert command(*arguments, "--quiet")[1] == ""
    _, told = command("embed", tmp_path / "none.csv", "--quiet", code=1)
    assert "There is no file" in told


def test_verbose_shows_where_it_happened(tmp_path, capsys):
    assert main(["embed", str(tmp_path / "none.csv"), "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


# --- broken files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "leaves 0 columns and 0 rows of 0"),
        (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 fields, the header has 2"),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3 has 2 fields, the header has 3"),
        ("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"), "line 1 holds the byte 0xf6"),
        (b"a,b\n1,\x002\n3,4\n", "zero bytes"),
        (b'a,b\n1,"2\n3,4\n', "cannot be read as a table"),
        (b"PAR1 and then nothing", "cannot be read as Parquet"),
        (b"\x93NUMPY and then nothing", "cannot be read as arrays"),
        (b"\x1f\x8b and then nothing", "damaged"),
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
def test_broken_files(tmp_path, command, name, content, message):
    (tmp_path / "bad.csv").write_bytes(content)
    _, told = command(name, tmp_path / "bad.csv", code=1)
    assert message in told
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_strange_files_that_can_be_read(tmp_path, command):
    path = tmp_path / "strange.csv"
    path.write_bytes("größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"))
    assert len(command("embed", path, "--encoding", "latin-1")[0]) == 3
    path.write_bytes(b"a,a,b\n1,2,3\n4,5,6\n9,1,0\n")
    assert "columns of the same name are numbered: a" in command("embed", path)[1]
    path.write_text("a,b\n" + "".join(f'{i},"{"x" * 200_000}{i % 3}"\n' for i in range(9)))
    assert len(command("embed", path)[0]) == 9
    path.write_bytes(b"a,b\r1,2\r3,5\r7,1\r")
    assert len(command("embed", path)[0]) == 3
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3000)))
    wide.add_prefix("c").to_csv(path, index=False)
    found, told = command("embed", path)
    assert "5 rows, 3,000 columns" in told
    assert list(found) == ["row", "eca1", "eca2"]


@pytest.mark.parametrize("name", ["wine", "machines"])
def test_cluster_counts_and_sweeps_as_the_report_does(name, tmp_path):
    from mercer.report import analyse
    from mercer.tables import read_table

    assert main(["cluster", name, "--out", str(tmp_path / "c.csv")]) == 0
    labels = pd.read_csv(tmp_path / "c.csv")["cluster"].to_numpy()
    told = analyse(read_table(name)).clusters.numbers
    assert adjusted_rand_score(told, labels) == 1
