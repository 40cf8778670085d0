"""Folders of Parquet and CSV files, read and written by chunks."""

import os
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA
from mercer.kernels import Gaussian
from mercer.solvers import Fourier
from tests.data.arrays import in_chunks
from tests.expectations import raises
from tests.stopped_writers import Writers

pytest.importorskip("dask.array", reason="needs mercer[dask]")
pd = pytest.importorskip("pandas", reason="needs mercer[dask]")

pytestmark = pytest.mark.filterwarnings("ignore")
KERNEL = Gaussian(0.6)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_are_read_and_written(X, tmp_path, kind):
    from mercer.data.dask.files import columns_of, read_parts, write_parts

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
    from mercer.data.dask.files import write_parts

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
    from mercer.data.dask import files

    late = []

    def fail(write, columns):
        late.append(write)
        raise OSError("broken")

    rmtree = shutil.rmtree

    def write_late(path, **settings):
        with pytest.raises(OSError, match="directory"):
            late[0](4)
        late.append("raised")
        rmtree(path, **settings)

    monkeypatch.setattr("mercer.data.dask.tasks.write_chunks", fail)
    monkeypatch.setattr(shutil, "rmtree", write_late)
    with raises(OSError, "broken"):
        files.write_frames(tmp_path / "result", lambda i: pd.DataFrame({"x": [1.0]}), [])
    assert late[1:] == ["raised"]
    assert os.listdir(tmp_path) == []


def test_temporary_files_of_dead_workers_are_removed(X, tmp_path):
    from mercer.data.dask.files import write_frames

    def frame(number, column):
        folder = next(tmp_path.glob(".mercer-staging-*")) / "new"
        (folder / f".part-{number:05d}-half-written").write_text("x")
        return pd.DataFrame({"x": column})

    write_frames(tmp_path / "result", frame, [in_chunks(X)[:, 0]])
    assert sorted(os.listdir(tmp_path / "result")) == [f"part-0000{i}.parquet" for i in range(8)]
    assert os.listdir(tmp_path) == ["result"]


def test_links_to_folders_stay_links_and_permissions_are_kept(X, tmp_path):
    from mercer.data.dask.files import write_parts

    (tmp_path / "elsewhere" / "real").mkdir(parents=True)
    (tmp_path / "elsewhere" / "real").chmod(0o700)
    (tmp_path / "link").symlink_to("elsewhere/real")
    write_parts(tmp_path / "link", {"new": in_chunks(X)[:, 0]}, overwrite=True)
    assert os.readlink(tmp_path / "link") == "elsewhere/real"
    assert list(pd.read_parquet(tmp_path / "elsewhere" / "real").columns) == ["new"]
    assert (tmp_path / "elsewhere" / "real").stat().st_mode & 0o777 == 0o700
    assert os.listdir(tmp_path / "elsewhere") == ["real"]


@pytest.mark.slow
@pytest.mark.parametrize("action", ["kill", "fail"])
def test_folder_is_old_or_new_after_every_step(tmp_path, action):
    """Killed between two renames the old folder is in the staging folder."""
    missing = 0
    with Writers() as writers:
        assert writers.run("parts", [tmp_path / "first"], "old").error == ""
        steps = writers.run("parts", [tmp_path / "first"], "new").steps
        assert steps > 15
        for step in range(1, steps + 1):
            folder = tmp_path / str(step)
            target = folder / "result"
            assert writers.run("parts", [target], "old").error == ""
            outcome = writers.run("parts", [target], "new", action=action, step=step)
            if not target.exists():
                assert outcome.killed
                missing += 1
                os.rename(next(folder.glob(".mercer-staging-*/old")), target)
            assert columns_of_parts(target) in (["old"], ["new"])
            if action == "fail":
                assert (columns_of_parts(target) == ["new"]) == (outcome.error == "")
            assert writers.run("parts", [target], "newer").error == ""
            assert columns_of_parts(target) == ["newer"]
    assert missing == (action == "kill")


def columns_of_parts(folder):
    found = [pd.read_parquet(folder / name) for name in sorted(os.listdir(folder))]
    assert [len(part) for part in found] == [2, 2]
    return list(found[0].columns)


@pytest.mark.parametrize("step", [1, 2])
def test_failed_replacement_leaves_the_old_folder(X, tmp_path, monkeypatch, step):
    from mercer.data.dask.files import write_parts

    write_parts(tmp_path / "result", {"old": in_chunks(X)[:, 0]})
    rename, calls = os.rename, []

    def broken(source, target):
        calls.append(source)
        if len(calls) == step:
            raise OSError("not permitted")
        rename(source, target)

    monkeypatch.setattr("mercer.utils.atomic_files.os.rename", broken)
    with raises(OSError, "not permitted"):
        write_parts(tmp_path / "result", {"new": in_chunks(X)[:, 0]}, overwrite=True)
    assert list(pd.read_parquet(tmp_path / "result").columns) == ["old"]
    assert os.listdir(tmp_path) == ["result"]


def test_unreadable_folders_raise(tmp_path):
    from mercer.data.dask.files import read_parts

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
