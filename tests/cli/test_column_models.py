"""Commands that write columns: saved models and classes."""

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import KernelECA, KernelLDA
from mercer.kernels import Gaussian, table_kernel
from mercer.utils.formatting import format_percent
from tests.cli.running import COLUMNS, assert_names, typed_machines

# --- models ---------------------------------------------------------------------------------------

TASKS = {
    "embed": ["embed", "--components", "3"],
    "embed-pca": ["embed", "--method", "pca"],
    "cluster": ["cluster", "--clusters", "3", "--noise", "0.1"],
    "cluster-entropy": ["cluster", "--method", "entropy", "--clusters", "3"],
    "density": ["density"],
    "density-series": ["density", "--method", "series"],
    "denoise": ["denoise", "--components", "3"],
    "discriminate": ["discriminate"],
}

MIXED = [
    *("embed", "embed-pca", "cluster", "cluster-entropy", "denoise"),
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
    direct = KernelECA(2, kernel=table_kernel(frame).scale_bandwidths(2.0)).fit(frame)
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


# --- classes --------------------------------------------------------------------------------------


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
