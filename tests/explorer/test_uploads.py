"""Uploads are read in another process: limits of memory and time, and the same tables."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
import time
from random import Random

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
pytest.importorskip("pyarrow", reason="Parquet needs mercer[io]")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mercer.explorer.uploads import Limits, convert, read_upload
from mercer.tables import as_table
from mercer.tables.readers import read_frame
from tests.expectations import names_values, raises
from tests.explorer_client import connect
from tests.processes import environment

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
GOOD = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"
SMALL = Limits(memory=100_000_000)


# --- files that expand -----------------------------------------------------------------------


def parquet(columns, **options):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd", **options)
    return file.getvalue()


def repeated_text(rows, size):
    """A text that is stored once, in the dictionary of a string column."""
    parts = [pa.array(["x" * size] * 50)] * (rows // 50)
    columns = {"text": pa.chunked_array(parts), "x": np.arange(50.0 * (rows // 50))}
    return parquet(columns, dictionary_pagesize_limit=10 * size)


def repeated_category(rows, size):
    codes = pa.array(np.zeros(rows, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size, "y"]))
    return parquet({"text": column, "x": np.arange(float(rows))})


def repeated_list(rows, size):
    column = pa.array([["x" * size] * 10] * (rows // 10))
    columns = {"text": column, "x": np.arange(float(rows // 10))}
    return parquet(columns, dictionary_pagesize_limit=10 * size)


def repeated_struct(rows, size):
    column = pa.array([{"a": {"b": "x" * size}}] * rows)
    columns = {"text": column, "x": np.arange(float(rows))}
    return parquet(columns, dictionary_pagesize_limit=10 * size)


def run_lengths(rows, size):
    return parquet({f"x{j}": np.zeros(rows * 100) for j in range(size // 500)})


def zeros_npz(rows, size):
    file = io.BytesIO()
    np.savez_compressed(file, X=np.zeros((rows * 10, size // 100)))
    return file.getvalue()


def compressed(pack):
    return lambda rows, size: pack(b"a,b\n" + (b"0,1" + b" " * (size // 10) + b"\n") * rows)


EXPANDING = {
    "text.parquet": repeated_text,
    "category.parquet": repeated_category,
    "list.parquet": repeated_list,
    "struct.parquet": repeated_struct,
    "runs.parquet": run_lengths,
    "zeros.npz": zeros_npz,
    "text.csv.gz": compressed(lambda content: gzip.compress(content, 1)),
    "text.csv.bz2": compressed(bz2.compress),
    "text.csv.xz": compressed(lambda content: lzma.compress(content, preset=0)),
}
SIZES = {"struct.parquet": (500, 300_000), "text.csv.bz2": (3000, 400_000)}


FAST = ("text.parquet", "category.parquet", "text.csv.gz")


@on_linux
@pytest.mark.parametrize(
    "name",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in EXPANDING],
)
def test_files_that_expand_are_rejected(name, tmp_path):
    content = EXPANDING[name](*SIZES.get(name, (4000, 300_000)))
    assert len(content) < 2_000_000
    path = tmp_path / "upload"
    path.write_bytes(content)
    with raises((MemoryError, ValueError), name, "100 MB"):
        read_upload(path, name, SMALL)
    assert [one.name for one in tmp_path.iterdir()] == ["upload"]


@on_linux
def test_server_responds_after_a_file_that_expands():
    """The declared size counts the dictionary once; the table would take 17.8 GB."""
    content = repeated_text(2500, 1_000_000)
    assert len(content) < 30_000
    with connect() as client:
        answer = client.post("/api/upload?name=bomb.parquet", content=content)
        assert answer.status_code == 413
        assert names_values(answer.json()["error"], "bomb.parquet", "1,000 MB") == []
        assert client.get("/api/start").json()["uploads"] == []
        assert client.get("/api/views?show=points").status_code == 200
        assert not list(client.app.state.service.uploads.folder.iterdir())


def test_moderate_files_are_accepted(tmp_path):
    for name, make in EXPANDING.items():
        content = make(100, 1000)
        notes = convert(content, name, tmp_path / "table", SMALL)
        assert notes == []
        assert len(pd.read_feather(tmp_path / "table")) >= 10


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_small_compressed_files_are_accepted(pack, tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(pack(GOOD))
    frame, _ = read_upload(path, "a.csv", Limits())
    assert len(frame) == 5


def test_long_labels_do_not_pad_the_others():
    frame = pd.DataFrame({"x": np.arange(2000.0), "y": np.arange(2000) % 7, "label": "a"})
    frame.loc[0, "label"] = "x" * 1_000_000
    table = as_table(frame, label="label")
    assert table.labels.nbytes < 1_000_000
    assert sorted(set(table.labels), key=len)[0] == "a"


# --- the process -----------------------------------------------------------------------------


@pytest.fixture
def worker(monkeypatch, tmp_path):
    """Replace the worker by a shell command."""

    def replace(command):
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\n{command}\n")
        script.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(script))

    return replace


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("command", ["kill -9 $$", "kill -6 $$", "exit 3", "echo '{}'"])
def test_worker_that_dies_gives_an_error(client, worker, command):
    worker(command)
    answer = client.post("/api/upload?name=a.csv", content=GOOD)
    assert answer.status_code == 413
    assert names_values(answer.json()["error"], "a.csv", "1,000 MB") == []
    assert client.get("/api/start").json()["uploads"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_slow_files_are_rejected(client, worker, monkeypatch):
    worker("exec sleep 60")
    monkeypatch.setattr("mercer.explorer.uploads.READ_TIMEOUT", 0.2)
    answer = client.post("/api/upload?name=a.csv", content=GOOD)
    assert answer.status_code == 422
    assert names_values(answer.json()["error"], "a.csv", "0.2 s") == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_views_are_computed_while_files_are_read(client, worker, tmp_path):
    go, answers = tmp_path / "go", []
    started = tmp_path / "started"
    worker(f"echo > {started}\nwhile [ ! -e {go} ]; do sleep 0.1; done\necho '{{}}'")

    def upload():
        answers.append(client.post("/api/upload?name=a.csv", content=GOOD))

    thread = threading.Thread(target=upload)
    thread.start()
    while not started.exists():
        time.sleep(0.05)
    try:
        assert client.get("/api/views?show=points").status_code == 200
        assert not answers
    finally:
        go.touch()
    thread.join(60)
    assert len(answers) == 1


@on_linux
def test_memory_of_the_process_is_limited():
    code = (
        "from mercer.explorer import uploads\n"
        "import resource\n"
        "uploads.READ_TIMEOUT = 7\n"
        "uploads._limit_process(uploads.Limits(memory=50_000_000))\n"
        "bytearray(30_000_000)\n"
        "try:\n    bytearray(60_000_000)\n"
        "except MemoryError:\n    print(resource.getrlimit(resource.RLIMIT_CORE)[0],\n"
        "          resource.getrlimit(resource.RLIMIT_CPU)[0])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["0", "8"]


def test_worker_imports_nothing_from_the_current_folder(client, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    (tmp_path / "pandas.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert client.post("/api/upload?name=a.csv", content=GOOD).status_code == 200


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_table_that_cannot_be_written_raises():
    from pathlib import Path

    with raises(OSError, "No space left on device"):
        convert(GOOD, "a.csv", Path("/dev/full"), SMALL)


# --- the same tables -------------------------------------------------------------------------


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def mixed_parquet():
    dates = pd.date_range("2024", periods=6, tz="Europe/Berlin")
    frame = pd.DataFrame(
        {
            "x": [1.5, None, 3, 4, 5, 6],
            "i": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
            "flag": [True, None, False, True, True, False],
            "kind": pd.Categorical(
                ["a", "a", "b", "b", "c", None], categories=list("cbaz"), ordered=True
            ),
            "text": ["one two", "", None, "three", "four", "five"],
            "date": dates,
            "day": dates.date,
            "length": pd.to_timedelta(range(6), unit="s"),
            "bytes": [b"\xff", b"x", None, b"", b"y", b"z"],
            "list": [[1, 2], [], None, [3], [4], [5]],
        }
    )
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


TABLES = {
    "text": GOOD,
    "missing": b"a,b,flag,k\n1,,True,x\n,2,,y\n3,5,False,NA\n4,4,True,\n5,1,True,z\n",
    "large integers": b"a,b\n1,99999999999999999999\n2,18446744073709551615\n3,-5\n4,1\n",
    "dates": b"d,x\n2024-01-31,1\n2024-02-01,2\n2024-02-02,4\n2024-03-03,5\n",
    "decimal commas": b"a;b\n1,5;2\n2,5;3\n3,5;5\n4;4\n",
    "equal names": b"a,a\n1,2\n2,3\n3,5\n4,4\n",
    "mixed": mixed_parquet(),
    **{
        f"array of {code}": npy(np.arange(12).reshape(6, 2).astype(code))
        for code in ("f2", ">f8", "longdouble", "u8", "i1", "?", "U5", "S5", "M8[D]", "m8[s]")
    },
    "structured": npy(np.array([(1, "a"), (2, "b"), (4, "a")], dtype=[("x", "f8"), ("k", "U3")])),
}


@pytest.mark.parametrize("name", TABLES)
def test_worker_returns_the_table_that_was_read(name, tmp_path):
    stream = io.BytesIO(TABLES[name])
    expected, expected_notes = read_frame(stream)
    notes = convert(TABLES[name], name, tmp_path / "table", SMALL)
    found = pd.read_feather(tmp_path / "table")
    assert notes == expected_notes
    assert list(found) == list(expected)
    assert found.isna().to_numpy().tolist() == expected.isna().to_numpy().tolist()
    table, read = as_table(expected, name=name), as_table(found, name=name)
    assert (read.columns, read.column_types) == (table.columns, table.column_types)
    pd.testing.assert_frame_equal(read.frame, table.frame, check_dtype=False)


def test_complex_numbers_are_rejected(tmp_path):
    with raises(ValueError, "x1", "complex"):
        convert(npy(np.ones((5, 2), dtype=complex)), "a.npy", tmp_path / "table", SMALL)


def test_objects_that_arrow_cannot_store_become_text(tmp_path):
    pairs = pa.array([[("a", 1)], [("b", 2)], None], pa.map_(pa.string(), pa.int64()))
    convert(parquet({"m": pairs, "x": [1.0, 2, 4]}), "a.parquet", tmp_path / "table", SMALL)
    assert pd.read_feather(tmp_path / "table")["m"].isna().tolist() == [False, False, True]


# --- random files ----------------------------------------------------------------------------


def random_file(random):
    """Return the name and the content of a file that may expand beyond the limit."""
    name = random.choice(list(EXPANDING))
    rows, size = int(10 ** random.uniform(1.7, 3.5)), int(10 ** random.uniform(2.7, 5.5))
    if name == "struct.parquet":
        rows = min(rows, 20_000_000 // size + 10)  # this one is expanded to be written
    content = EXPANDING[name](rows, size)
    change = random.random()
    if change < 0.2:
        content = content[: random.randrange(len(content))]
    elif change < 0.4:
        where = random.randrange(len(content))
        content = content[:where] + random.randbytes(4) + content[where + 4 :]
    elif change < 0.5 and len(content) < 1_000_000:
        name, content = f"{name}.gz", gzip.compress(content)
    return name, content


def read_small_table(path, name, limits):
    frame, notes = read_upload(path, name, limits)
    assert frame.memory_usage(deep=True).sum() <= limits.memory
    return frame, notes


def check_random_files(monkeypatch, count, seed):
    """Upload random files; return the number of each status."""
    random, counts = Random(seed), {}
    monkeypatch.setattr("mercer.explorer.service.read_upload", read_small_table)
    with connect(limits=SMALL) as client:
        for _ in range(count):
            name, content = random_file(random)
            answer = client.post(f"/api/upload?name={name}", content=content)
            counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
            assert answer.status_code in (200, 413, 422), (name, answer.text)
            assert client.get("/api/start").status_code == 200
    return counts


@on_linux
@pytest.mark.parametrize("count", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_random_files_never_exceed_the_limit(monkeypatch, count):
    counts = check_random_files(monkeypatch, count, seed=1)
    assert sum(counts.values()) == count
