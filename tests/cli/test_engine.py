"""Commands with ``--engine dask``: same results as in memory, models that both engines apply."""

import json
import re
import socket
import sys

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.cli import main
from mercer.cli.files import MARKER
from tests.cli.running import assert_names, run

pytest.importorskip("dask.dataframe", reason="needs mercer[dask]")

OPTIONS = ["--label", "kind", "--bandwidth", "0.5", "--solver", "fourier"]
SPECTRAL = ["cluster", "--clusters", "3", "--noise", "0.05", "--label", "kind"]
TASKS = [
    ["embed"],
    ["embed", "--method", "pca", "--no-scale"],
    ["cluster", "--method", "entropy", "--clusters", "3"],
    ["density"],
    ["density", "--method", "series"],
    ["discriminate"],
]


@pytest.fixture
def frame():
    """Numeric columns on two scales, classes, a constant column, missing values."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=240)
    found = pd.DataFrame(
        {
            "a": 10 + 3 * group + 0.5 * rng.normal(size=240),
            "b": -9 * group + 2 * rng.normal(size=240),
            "same": 1.0,
            "kind": np.array(["u", "v", "w"])[group],
        }
    )
    found.loc[[5, 100], "a"] = np.nan
    found.loc[[7, 201], "kind"] = None
    return found


@pytest.fixture
def folder(frame, tmp_path):
    """Write the table as one file and as a folder of files of different sizes."""
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    as_parts(frame, tmp_path / "parts")
    return tmp_path


def as_parts(frame, folder, suffix="parquet"):
    folder.mkdir()
    for number, (first, last) in enumerate([(0, 50), (50, 53), (53, 240)]):
        part = frame[first:last]
        write = part.to_parquet if suffix == "parquet" else part.to_csv
        write(folder / f"part{number}.{suffix}", index=False)


@pytest.fixture
def command(capsys):
    """Run in this process; return standard error as one line.

    Lines that describe clusters are left out: only those of tables in memory are described.
    """

    def call(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        text = capsys.readouterr().err
        assert "Traceback" not in text
        return " ".join(re.sub(r"^ +\d+: .*$", "", text, flags=re.MULTILINE).split())

    return call


def assert_same(found, expected):
    pd.testing.assert_frame_equal(
        found, expected, check_dtype=False, rtol=1e-8, atol=1e-8, check_index_type=False
    )


def without_names(text):
    """Replace the names of files and folders, which differ between engines."""
    return re.sub(r"\b(all\.parquet|parts|[abcd]\.(parquet|mercer)|(?<=wrote )[bd])", "FILE", text)


def test_novelty_of_engines_agrees_for_new_rows(folder, command, monkeypatch):
    """Both engines fit to the same rows; only in memory are training rows left out of the fit."""
    monkeypatch.chdir(folder)
    chunks, memory = ["parts", "--engine", "dask"], ["all.parquet"]
    label = ["--label", "kind"]
    command("novelty", *memory, *label, "--out", "a.parquet", "--model", "a.mercer")
    command("novelty", *chunks, *label, "--out", "b", "--model", "b.mercer")
    command("novelty", *memory, *label, "--apply", "b.mercer", "--out", "c.parquet")
    command("novelty", *chunks, *label, "--apply", "a.mercer", "--out", "d")
    own, columns = pd.read_parquet("a.parquet"), ["row", "score", "p_value", "outlier"]
    expected = pd.read_parquet("c.parquet")
    assert_same(expected[["row", "score"]], own[["row", "score"]])
    assert expected["column"].notna().sum() == expected["outlier"].sum() > 0
    for name in ("b", "d"):
        found = pd.read_parquet(name)
        assert list(found) == columns
        assert_same(found, expected[columns])


@pytest.mark.parametrize("task", [SPECTRAL, *[[*task, *OPTIONS] for task in TASKS]], ids=" ".join)
def test_engines_agree_and_apply_models_of_each_other(folder, task, command, monkeypatch):
    monkeypatch.chdir(folder)
    chunks, memory = ["parts", "--engine", "dask"], ["all.parquet"]
    name, *own = task
    here = command(name, *memory, *own, "--out", "a.parquet", "--model", "a.mercer")
    there = command(name, *chunks, *own, "--out", "b", "--model", "b.mercer")
    assert without_names(there) == without_names(here)
    expected = pd.read_parquet("a.parquet")
    assert expected["row"].tolist() == list(range(1, 241))
    assert expected.isna().any(axis=1).sum() == 2
    assert_same(pd.read_parquet("b"), expected)
    assert sorted(path.name for path in (folder / "b").iterdir()) == [
        MARKER,
        *[f"part-0000{i}.parquet" for i in range(3)],
    ]
    label = ["--label", "kind"]
    here = command(name, *memory, *label, "--apply", "b.mercer", "--out", "c.parquet")
    assert_same(pd.read_parquet("c.parquet"), expected)
    there = command(name, *chunks, *label, "--apply", "a.mercer", "--out", "d", "--keep")
    assert without_names(there) == without_names(here)
    joined = pd.read_parquet("d")
    assert list(joined) == ["a", "b", "same", "kind", *expected.columns[1:]]
    assert_same(joined[expected.columns[1:]], expected[expected.columns[1:]])


def test_models_of_both_engines_are_the_same_pipelines(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    command("embed", "all.parquet", *OPTIONS, "--out", "a.parquet", "--model", "a.mercer")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "b", "--model", "b.mercer")
    here, there = mercer.load("a.mercer"), mercer.load("b.mercer")
    assert list(here.named_steps) == list(there.named_steps)
    assert here["columns"].get_params() == there["columns"].get_params()
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        found, expected = getattr(there["scale"], name), getattr(here["scale"], name)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert there["scale"].feature_names_in_.tolist() == ["a", "b"]


def test_csv_files_and_a_single_file(folder, frame, command, monkeypatch):
    monkeypatch.chdir(folder)
    as_parts(frame, folder / "texts", "csv")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "a")
    command("embed", "texts", *OPTIONS, "--engine", "dask", "--out", "b")
    command("embed", "all.parquet", *OPTIONS, "--engine", "dask", "--out", "c")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a"))
    assert_same(pd.read_parquet("c"), pd.read_parquet("a"))


def test_complete_tables_are_counted_by_the_fit(frame, tmp_path, command, monkeypatch):
    """No pass over the data is needed to count rows."""
    whole = frame.fillna({"a": 0.0, "kind": "u"})
    whole.to_parquet(tmp_path / "all.parquet", index=False)
    as_parts(whole, tmp_path / "parts")
    monkeypatch.setattr("mercer.tables.chunked_table.ChunkedRows.counts", None)
    monkeypatch.chdir(tmp_path)
    command("embed", "all.parquet", *OPTIONS, "--out", "a.parquet")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "b")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_classes_are_predicted_without_a_label_column(folder, frame, command, monkeypatch):
    monkeypatch.chdir(folder)
    command("discriminate", "all.parquet", *OPTIONS, "--model", "m.mercer", "--out", "a.parquet")
    as_parts(frame.drop(columns=["kind"]), folder / "new")
    apply = ["--engine", "dask", "--apply", "m.mercer", "--out", "b"]
    for more in ([], ["--label", "kind"]):
        assert "%" not in command("discriminate", "new", *more, *apply)  # no accuracy
        assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_labels_of_text_files_are_as_written(folder, frame, command, monkeypatch):
    """Codes 01 and 1 are two classes, and NA is a class, as in memory."""
    monkeypatch.chdir(folder)
    codes = frame["kind"].map({"u": "01", "v": "1", "w": "NA"})
    coded = frame[["a", "b"]].assign(code=codes)
    as_parts(coded, folder / "texts", "csv")
    coded.to_csv("all.csv", index=False)
    command("discriminate", "all.csv", "--label", "code", "--out", "a.parquet")
    command("discriminate", "texts", "--label", "code", "--engine", "dask", "--out", "b")
    found = pd.read_parquet("b")
    assert [name for name in found if name.startswith("p_")] == ["p_01", "p_1", "p_NA"]
    assert_same(found, pd.read_parquet("a.parquet"))


def test_missing_columns_of_a_model_are_named(folder, frame, command, monkeypatch):
    monkeypatch.chdir(folder)
    command("embed", "all.parquet", *OPTIONS, "--model", "m.mercer", "--out", "a.parquet")
    as_parts(frame.drop(columns=["b"]), folder / "new")
    apply = ["--engine", "dask", "--apply", "m.mercer", "--out", "o"]
    assert_names(command("embed", "new", *apply, code=1), "new", "'b'")
    assert not (folder / "o").exists()


def test_density_that_needs_its_training_rows_is_not_saved(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(240, 4))
    as_parts(pd.DataFrame(X, columns=list("abcd")), tmp_path / "parts")
    options = ["--engine", "dask", "--bandwidth", "0.5", "--out", "o", "--model", "m.mercer"]
    assert command("density", "parts", *options, code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_columns_of_row_numbers_are_omitted(frame, tmp_path, command):
    numbered = frame.drop(columns=["kind"]).assign(id=np.arange(240))
    as_parts(numbered, tmp_path / "parts")
    text = command("embed", tmp_path / "parts", "--engine", "dask", "--out", tmp_path / "o")
    assert_names(text, "2 columns", "column id")
    as_parts(numbered[::-1], tmp_path / "back")
    text = command("embed", tmp_path / "back", "--engine", "dask", "--out", tmp_path / "o")
    assert_names(text, "3 columns")


def test_rows_far_from_a_density_without_its_training_rows(folder, frame, command, monkeypatch):
    monkeypatch.chdir(folder)
    command("density", "parts", *OPTIONS, "--engine", "dask", "--out", "b", "--model", "m.mercer")
    frame.loc[3, "a"] = 1e4
    frame.to_parquet("far.parquet", index=False)
    for more in (["--out", "o.parquet"], ["--out", "o", "--engine", "dask"]):
        assert command("density", "far.parquet", "--apply", "m.mercer", *more, code=1)
    assert not (folder / "o").exists()
    assert not (folder / "o.parquet").exists()


def test_entropy_agrees_between_engines(folder, capsys):
    found = []
    for data in (["all.parquet"], ["parts", "--engine", "dask"]):
        assert main(["entropy", str(folder / data[0]), *data[1:], *OPTIONS, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for name in ("renyi_entropy", "renyi_entropy_in_own_units", "information_potential"):
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-10)
    assert found[1]["rows_left_out"] == 2


def test_denoise_is_fitted_in_memory_and_applied_by_dask(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    text = command("denoise", "parts", "--engine", "dask", "--out", "b", code=2)
    assert_names(text, "denoise", "--apply")
    command("denoise", "all.parquet", "--model", "m.mercer", "--out", "a.parquet")
    command("denoise", "parts", "--engine", "dask", "--apply", "m.mercer", "--out", "b")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_text_columns_and_missing_values_are_rejected(folder, frame, command, monkeypatch):
    monkeypatch.chdir(folder)
    dask = ["--engine", "dask", "--out", "o"]
    assert_names(command("embed", "parts", *dask, code=1), "'kind'", "--ignore")
    frame.loc[frame.index[::3], "b"] = np.nan
    as_parts(frame, folder / "incomplete")
    text = command("embed", "incomplete", "--label", "kind", *dask, code=1)
    assert_names(text, "'b'", 80, "--missing drop")
    command("embed", "incomplete", "--label", "kind", "--missing", "drop", *dask)
    assert pd.read_parquet("o")["eca1"].isna().sum() == 82
    command("embed", "all.parquet", "--model", "mixed.mercer", "--out", "-", "--quiet")
    text = command("embed", "parts", "--apply", "mixed.mercer", *dask, code=1)
    assert_names(text, "mixed", "--engine memory")
    assert_names(command("embed", "parts", "--label", "sort", *dask, code=1), "'sort'")


@pytest.mark.parametrize(
    ("arguments", "code", "value"),
    [
        (["parts", "--engine", "dask"], 2, "--out FOLDER"),
        (["parts", "--engine", "dask", "--out", "o.csv"], 2, "--out FOLDER"),
        (["parts", "--engine", "dask", "--out", "o", "--categorical", "a"], 2, "--categorical a"),
        (["parts", "--engine", "dask", "--out", "o", "--missing", "keep"], 2, "--missing keep"),
        (["-", "--engine", "dask", "--out", "o"], 2, "standard input"),
        (["parts", "--scheduler", "tcp://127.0.0.1:1"], 2, "--engine dask"),
        (["other"], 1, "without Parquet files"),
        (["nothing", "--engine", "dask", "--out", "o"], 1, "nothing"),
        (["parts", "--engine", "dask", "--out", "parts"], 1, "parts"),
        (["parts", "--engine", "dask", "--out", "other"], 1, "'notes.txt'"),
        (["parts", "--engine", "dask", "--out", "all.parquet"], 1, "all.parquet"),
    ],
)
def test_invalid_arguments_write_nothing(folder, command, monkeypatch, arguments, code, value):
    monkeypatch.chdir(folder)
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("mine")
    before = sorted(folder.rglob("*"))
    assert_names(command("embed", *arguments, code=code), value)
    assert sorted(folder.rglob("*")) == before


# --- replacing folders ---------------------------------------------------------------------------


def test_output_of_mercer_is_replaced(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    options = [*OPTIONS, "--engine", "dask", "--out", "o"]
    command("embed", "parts", *options)
    command("embed", "parts", *options, "--components", "3")
    assert "eca3" in pd.read_parquet("o")


@pytest.mark.parametrize("with_output", [False, True], ids=["alone", "next to output"])
def test_other_parquet_files_are_not_replaced(folder, command, monkeypatch, with_output):
    monkeypatch.chdir(folder)
    options = [*OPTIONS, "--engine", "dask", "--out", "o"]
    if with_output:
        command("embed", "parts", *options)
    (folder / "o").mkdir(exist_ok=True)
    pd.DataFrame({"precious": [1]}).to_parquet("o/data.parquet")
    before = {path: path.read_bytes() for path in (folder / "o").iterdir()}
    text = command("embed", "parts", *options, code=1)
    assert_names(text, "o", "'data.parquet'", "--overwrite")
    assert {path: path.read_bytes() for path in (folder / "o").iterdir()} == before
    command("embed", "parts", *options, "--overwrite")
    assert list(pd.read_parquet("o")) == ["row", "eca1", "eca2"]


def test_files_written_during_the_fit_are_not_replaced(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    fit = mercer.KernelECA.fit

    def write_and_fit(*arguments):
        (folder / "o").mkdir()
        pd.DataFrame({"precious": [1]}).to_parquet("o/data.parquet")
        return fit(*arguments)

    monkeypatch.setattr(mercer.KernelECA, "fit", write_and_fit)
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "o", code=1)
    assert [path.name for path in (folder / "o").iterdir()] == ["data.parquet"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}'])
def test_damaged_marker_protects_the_folder(folder, command, monkeypatch, content):
    monkeypatch.chdir(folder)
    options = [*OPTIONS, "--engine", "dask", "--out", "o"]
    command("embed", "parts", *options)
    (folder / "o" / MARKER).write_text(content)
    text = command("embed", "parts", *options, code=1)
    assert_names(text, "part-00000.parquet", "--overwrite")
    command("embed", "parts", *options, "--overwrite")


def test_overwrite_replaces_parquet_files_only(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "o").mkdir()
    (folder / "o" / "notes.txt").write_text("mine")
    options = [*OPTIONS, "--engine", "dask", "--out", "o", "--overwrite"]
    assert_names(command("embed", "parts", *options, code=1), "'notes.txt'")
    assert (folder / "o" / "notes.txt").read_text() == "mine"


# --- schedulers ----------------------------------------------------------------------------------


def test_scheduler_that_does_not_answer(folder, command, monkeypatch):
    monkeypatch.setattr("mercer.cli.engine._TIMEOUT", "0.5s")
    with socket.socket() as taken:  # bound but not listening, so that connections are refused
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        options = ["--engine", "dask", "--scheduler", address, "--out", folder / "o"]
        text = command("embed", folder / "parts", *options, code=1)
    assert_names(text, address, "--scheduler")


def test_error_names_the_extra_of_dask(folder, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    text = command("embed", folder / "parts", "--engine", "dask", "--out", folder / "o", code=1)
    assert_names(text, "--engine dask", "pip install mercer[dask]")


def test_verbose_prints_progress(folder, command):
    text = command(
        "embed", folder / "parts", *OPTIONS, "--engine", "dask", "--out", folder / "o", "--verbose"
    )
    assert_names(text, "3/3")


def test_running_scheduler(folder):
    distributed = pytest.importorskip("distributed", reason="needs mercer[dask]")
    options = ["embed", folder / "parts", *OPTIONS, "--engine", "dask", "--scheduler"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        done = run(*options, cluster.scheduler_address, "--out", folder / "there")
    assert done.returncode == 0, done.stderr
    assert main([*map(str, options[:-1]), "--out", str(folder / "here")]) == 0
    assert_same(pd.read_parquet(folder / "there"), pd.read_parquet(folder / "here"))
