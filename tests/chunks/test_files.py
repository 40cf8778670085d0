"""Folders of Parquet and CSV files, read and written by chunks."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA
from mercer.kernels import Gaussian
from mercer.solvers import Fourier
from tests.chunks.arrays import in_chunks
from tests.expectations import raises

pytest.importorskip("dask.array", reason="needs mercer[dask]")
pd = pytest.importorskip("pandas", reason="needs mercer[dask]")

pytestmark = pytest.mark.filterwarnings("ignore")
KERNEL = Gaussian(0.6)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_are_read_and_written(X, tmp_path, kind):
    from mercer.chunks.files import columns_of, read_parts, write_parts

    source = tmp_path / "in"
    source.mkdir()
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(name="a")
    for i in range(3):
        part = frame[i::3]
        write = part.to_parquet if kind == "parquet" else part.to_csv
        write(source / f"part{i}.{kind}", index=False)
    lazy = read_parts(source)
    assert list(lazy.columns) == ["x", "y"]
    model = KernelECA(2, kernel=KERNEL, solver=Fourier()).fit(lazy)
    target = tmp_path / "out" / "result"
    parts, rows = write_parts(target, columns_of(model.transform(lazy), "component"))
    assert (parts, rows) == (3, 1000)
    assert sorted(os.listdir(target)) == [f"part-0000{i}.parquet" for i in range(3)]
    assert os.listdir(target.parent) == ["result"]
    found = pd.read_parquet(target)
    ordered = np.concatenate([X[i::3] for i in range(3)])
    assert_allclose(found, model.transform(pd.DataFrame(ordered, columns=["x", "y"])), atol=1e-9)
    with raises(FileExistsError, "overwrite=True"):
        write_parts(target, {"x": in_chunks(X)[:, 0]})
    write_parts(target, {"x": in_chunks(X)[:, 0]}, overwrite=True)
    assert list(pd.read_parquet(target).columns) == ["x"]
    assert os.listdir(target.parent) == ["result"]


def test_failed_writes_leave_nothing(X, tmp_path):
    from mercer.chunks.files import write_parts

    def fail(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 3:
            raise OSError("broken")
        return block

    column = in_chunks(X)[:, 0].map_blocks(fail, dtype=float)
    with raises(OSError, "broken"):
        write_parts(tmp_path / "result", {"x": column})
    assert os.listdir(tmp_path) == []


def test_files_written_after_a_failure_are_removed(tmp_path, monkeypatch):
    """Other threads continue after a failure: one writes while the folder is removed."""
    from mercer.chunks import files

    folder = tmp_path / ".result-1"
    folder.mkdir()
    remove, late = files.shutil.rmtree, []

    def removing(path, **settings):
        try:
            files._write_part(str(folder), lambda number: pd.DataFrame({"x": [1.0]}), 4)
        except OSError as gone:
            late.append(gone)
        remove(path, **settings)

    monkeypatch.setattr(files.shutil, "rmtree", removing)
    files._remove(folder)
    assert len(late) == 1
    assert os.listdir(tmp_path) == []


def test_temporary_files_of_dead_workers_are_removed(X, tmp_path):
    from mercer.chunks.files import write_frames

    def frame(number, column):
        folder = next(tmp_path.glob(".result-*"))
        (folder / f".part-{number:05d}-half-written").write_text("x")
        return pd.DataFrame({"x": column})

    write_frames(tmp_path / "result", frame, [in_chunks(X)[:, 0]])
    assert sorted(os.listdir(tmp_path / "result")) == [f"part-0000{i}.parquet" for i in range(8)]
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.parametrize("step", [1, 2])
def test_failed_replacement_leaves_the_old_folder(X, tmp_path, monkeypatch, step):
    from mercer.chunks.files import write_parts

    write_parts(tmp_path / "result", {"old": in_chunks(X)[:, 0]})
    rename, calls = os.rename, []

    def broken(source, target):
        calls.append(source)
        if len(calls) == step:
            raise OSError("not permitted")
        rename(source, target)

    monkeypatch.setattr("mercer.chunks.files.os.rename", broken)
    with raises(OSError, "not permitted"):
        write_parts(tmp_path / "result", {"new": in_chunks(X)[:, 0]}, overwrite=True)
    assert list(pd.read_parquet(tmp_path / "result").columns) == ["old"]
    assert os.listdir(tmp_path) == ["result"]


def test_unreadable_folders_raise(tmp_path):
    from mercer.chunks.files import read_parts

    with raises(FileNotFoundError, "nowhere"):
        read_parts(tmp_path / "nowhere")
    with raises(ValueError, tmp_path, ".parquet"):
        read_parts(tmp_path)
    (tmp_path / "a.csv").write_text("a\nb\n")
    with raises(ValueError, tmp_path, "'a'"):
        read_parts(tmp_path)
    with raises(ValueError, "'z'", "'a'"):
        read_parts(tmp_path, ["z"])
    (tmp_path / "b.parquet").write_bytes(b"")
    with raises(ValueError, "Parquet", "CSV"):
        read_parts(tmp_path)
