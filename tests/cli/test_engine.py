"""Commands on folders of parts: the numbers of the same commands in memory, and models for both."""

import json
import socket
import sys

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.cli import main
from mercer.tables.chunked_table import ChunkedRows
from tests.cli.running import run

pytest.importorskip("dask.dataframe", reason="needs mercer[dask]")

OPTIONS = ["--label", "kind", "--bandwidth", "0.5", "--solver", "fourier"]
TASKS = [
    ["embed"],
    ["embed", "--method", "pca", "--no-scale"],
    ["cluster", "--clusters", "3"],
    ["density"],
    ["density", "--method", "series"],
    ["density", "--method", "novelty"],
    ["discriminate"],
]


@pytest.fixture
def frame():
    """Numbers on two scales, classes, row numbers, a constant, gaps."""
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
def places(frame, tmp_path):
    """The table as one file and as a folder of parts of different sizes."""
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
    """Run in this process; what is told."""

    def call(*arguments, code=0):
        assert main([str(argument) for argument in arguments]) == code, capsys.readouterr().err
        return " ".join(capsys.readouterr().err.split())

    return call


def assert_same(found, expected):
    pd.testing.assert_frame_equal(
        found, expected, check_dtype=False, rtol=1e-8, atol=1e-8, check_index_type=False
    )


@pytest.mark.parametrize("task", TASKS, ids=" ".join)
def test_both_engines_agree_and_apply_each_others_models(places, task, command, monkeypatch):
    monkeypatch.chdir(places)
    chunks, memory = ["parts", "--engine", "dask"], ["all.parquet"]
    name, *own = task
    here = command(name, *memory, *own, *OPTIONS, "--out", "a.parquet", "--model", "a.mercer")
    there = command(name, *chunks, *own, *OPTIONS, "--out", "b", "--model", "b.mercer")
    assert (
        there.replace("parts:", "all.parquet:").replace(
            "saved b.mercer wrote b", "saved a.mercer wrote a.parquet"
        )
        == here
    )
    expected = pd.read_parquet("a.parquet")
    assert expected["row"].tolist() == list(range(1, 241))
    assert expected.isna().any(axis=1).sum() == 2
    assert_same(pd.read_parquet("b"), expected)
    assert sorted(path.name for path in (places / "b").iterdir()) == [
        f"part-0000{i}.parquet" for i in range(3)
    ]
    label = ["--label", "kind"]
    told = command(name, *memory, *label, "--apply", "b.mercer", "--out", "c.parquet")
    assert_same(pd.read_parquet("c.parquet"), expected)
    again = command(name, *chunks, *label, "--apply", "a.mercer", "--out", "d", "--keep")
    assert again.replace("parts:", "all.parquet:").replace("wrote d", "wrote c.parquet") == told
    kept = pd.read_parquet("d")
    assert list(kept) == ["a", "b", "same", "kind", *expected.columns[1:]]
    assert_same(kept[expected.columns[1:]], expected[expected.columns[1:]])


def test_models_are_the_same_pipelines(places, command, monkeypatch):
    monkeypatch.chdir(places)
    command("embed", "all.parquet", *OPTIONS, "--out", "a.parquet", "--model", "a.mercer")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "b", "--model", "b.mercer")
    here, there = mercer.load("a.mercer"), mercer.load("b.mercer")
    assert list(here.named_steps) == list(there.named_steps)
    assert here["columns"].column_types == there["columns"].column_types
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        found, expected = getattr(there["scale"], name), getattr(here["scale"], name)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert there["scale"].feature_names_in_.tolist() == ["a", "b"]


def test_csv_parts_and_one_file(places, frame, command, monkeypatch):
    monkeypatch.chdir(places)
    as_parts(frame, places / "texts", "csv")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "a")
    command("embed", "texts", *OPTIONS, "--engine", "dask", "--out", "b")
    command("embed", "all.parquet", *OPTIONS, "--engine", "dask", "--out", "c")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a"))
    assert_same(pd.read_parquet("c"), pd.read_parquet("a"))


def test_complete_parts_are_read_once_less(frame, tmp_path, command, monkeypatch):
    """The fit knows how long the parts are: nothing is counted again."""
    whole = frame.fillna({"a": 0.0, "kind": "u"})
    whole.to_parquet(tmp_path / "all.parquet", index=False)
    as_parts(whole, tmp_path / "parts")
    monkeypatch.setattr(ChunkedRows, "counts", None)
    monkeypatch.chdir(tmp_path)
    command("embed", "all.parquet", *OPTIONS, "--out", "a.parquet")
    command("embed", "parts", *OPTIONS, "--engine", "dask", "--out", "b")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_classes_are_predicted_where_none_are_known(places, frame, command, monkeypatch):
    monkeypatch.chdir(places)
    command("discriminate", "all.parquet", *OPTIONS, "--model", "m.mercer", "--out", "a.parquet")
    as_parts(frame.drop(columns=["kind"]), places / "new")
    apply = ["--engine", "dask", "--apply", "m.mercer", "--out", "b"]
    for more in ([], ["--label", "kind"]):
        told = command("discriminate", "new", *more, *apply)
        assert "predicted right" not in told
        assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_models_need_their_columns(places, frame, command, monkeypatch):
    monkeypatch.chdir(places)
    command("embed", "all.parquet", *OPTIONS, "--model", "m.mercer", "--out", "a.parquet")
    as_parts(frame.drop(columns=["b"]), places / "new")
    apply = ["--engine", "dask", "--apply", "m.mercer", "--out", "o"]
    told = command("embed", "new", *apply, code=1)
    assert "new has no column 'b', which the model was fitted with" in told
    assert not (places / "o").exists()


def test_densities_that_need_their_rows_are_not_saved(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(240, 4))
    as_parts(pd.DataFrame(X, columns=list("abcd")), tmp_path / "parts")
    options = ["--engine", "dask", "--bandwidth", "0.5", "--out", "o", "--model", "m.mercer"]
    told = command("density", "parts", *options, code=1)
    assert "needs the training rows, which lie on an engine" in told
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_row_numbers_are_left_out_across_parts(frame, tmp_path, command):
    numbered = frame.drop(columns=["kind"]).assign(id=np.arange(240))
    as_parts(numbered, tmp_path / "parts")
    told = command("embed", tmp_path / "parts", "--engine", "dask", "--out", tmp_path / "o")
    assert "column id (row numbers)" in told
    as_parts(numbered[::-1], tmp_path / "back")
    told = command("embed", tmp_path / "back", "--engine", "dask", "--out", tmp_path / "o")
    assert "row numbers" not in told


def test_far_rows_of_a_density_whose_rows_are_gone(places, frame, command, monkeypatch):
    monkeypatch.chdir(places)
    command("density", "parts", *OPTIONS, "--engine", "dask", "--out", "b", "--model", "m.mercer")
    frame.loc[3, "a"] = 1e4
    frame.to_parquet("far.parquet", index=False)
    for more in (["--out", "o.parquet"], ["--out", "o", "--engine", "dask"]):
        told = command("density", "far.parquet", "--apply", "m.mercer", *more, code=1)
        assert "needs the training rows, which stayed on the engine" in told


def test_entropy(places, capsys):
    facts = []
    for data in (["all.parquet"], ["parts", "--engine", "dask"]):
        assert main(["entropy", str(places / data[0]), *data[1:], *OPTIONS, "--json"]) == 0
        facts.append(json.loads(capsys.readouterr().out))
    for name in ("renyi_entropy", "renyi_entropy_in_own_units", "information_potential"):
        np.testing.assert_allclose(facts[1][name], facts[0][name], rtol=1e-10)
    assert facts[1]["rows_left_out"] == 2


def test_denoise_is_fitted_in_memory_and_applied_in_chunks(places, command, monkeypatch):
    monkeypatch.chdir(places)
    told = command("denoise", "parts", "--engine", "dask", "--out", "b", code=2)
    assert "needs all rows in one place" in told
    command("denoise", "all.parquet", "--model", "m.mercer", "--out", "a.parquet")
    command("denoise", "parts", "--engine", "dask", "--apply", "m.mercer", "--out", "b")
    assert_same(pd.read_parquet("b"), pd.read_parquet("a.parquet"))


def test_words_and_gaps_are_refused(places, frame, command, monkeypatch):
    monkeypatch.chdir(places)
    dask = ["--engine", "dask", "--out", "o"]
    told = command("embed", "parts", *dask, code=1)
    assert "column 'kind' holds" in told
    assert "--ignore" in told
    frame.loc[frame.index[::3], "b"] = np.nan
    as_parts(frame, places / "gaps")
    told = command("embed", "gaps", "--label", "kind", *dask, code=1)
    assert "most of them in column 'b' (80)" in told
    assert "--missing drop" in told
    command("embed", "gaps", "--label", "kind", "--missing", "drop", *dask)
    assert pd.read_parquet("o")["eca1"].isna().sum() == 82
    command("embed", "all.parquet", "--model", "mixed.mercer", "--out", "-", "--quiet")
    told = command("embed", "parts", "--apply", "mixed.mercer", *dask, code=1)
    assert "mixed table" in told
    told = command("embed", "parts", "--label", "sort", *dask, code=1)
    assert "has no column 'sort'" in told


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["parts", "--engine", "dask"], 2, "--out FOLDER"),
        (["parts", "--engine", "dask", "--out", "o.csv"], 2, "--out FOLDER"),
        (["parts", "--engine", "dask", "--out", "o", "--categorical", "a"], 2, "--categorical a"),
        (["parts", "--engine", "dask", "--out", "o", "--missing", "keep"], 2, "--missing keep"),
        (["-", "--engine", "dask", "--out", "o"], 2, "not standard input"),
        (["parts", "--scheduler", "tcp://127.0.0.1:1"], 2, "--engine dask"),
        (["parts"], 1, "is a folder; give one file in it, or --engine dask"),
        (["nothing", "--engine", "dask", "--out", "o"], 1, "name a folder of Parquet or CSV"),
        (["parts", "--engine", "dask", "--out", "parts"], 1, "holds the data that are read"),
        (["parts", "--engine", "dask", "--out", "other"], 1, "'notes.txt'"),
        (["parts", "--engine", "dask", "--out", "all.parquet"], 1, "is a file; name a folder"),
    ],
)
def test_refusals(places, command, monkeypatch, arguments, code, message):
    monkeypatch.chdir(places)
    (places / "other").mkdir()
    (places / "other" / "notes.txt").write_text("mine")
    before = sorted(places.rglob("*"))
    assert message in command("embed", *arguments, code=code)
    assert sorted(places.rglob("*")) == before


def test_a_scheduler_that_does_not_answer(places, command, monkeypatch):
    monkeypatch.setattr("mercer.cli.in_chunks._PATIENCE", "0.5s")
    with socket.socket() as taken:  # nobody listens here, and nobody else can
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        options = ["--engine", "dask", "--scheduler", address, "--out", places / "o"]
        told = command("embed", places / "parts", *options, code=1)
    assert f"No Dask scheduler answers at {address}" in told
    assert "leave --scheduler out" in told


def test_without_dask_there_is_a_sentence(places, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    told = command("embed", places / "parts", "--engine", "dask", "--out", places / "o", code=1)
    assert "--engine dask needs Dask, which is not installed: pip install mercer[dask]" in told


def test_progress_is_told(places, command):
    told = command(
        "embed", places / "parts", *OPTIONS, "--engine", "dask", "--out", places / "o", "--verbose"
    )
    assert "3/3 chunks" in told


def test_a_running_scheduler(places):
    distributed = pytest.importorskip("distributed", reason="needs mercer[dask]")
    options = ["embed", places / "parts", *OPTIONS, "--engine", "dask", "--scheduler"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        done = run(*options, cluster.scheduler_address, "--out", places / "there")
    assert done.returncode == 0, done.stderr
    assert main([*map(str, options[:-1]), "--out", str(places / "here")]) == 0
    assert_same(pd.read_parquet(places / "there"), pd.read_parquet(places / "here"))
