"""Saving is atomic: failures leave the old file."""

import errno
import os
import resource
import stat
import threading

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian
from tests.expectations import raises
from tests.persistence.tools import X
from tests.stopped_writers import Writers


def test_missing_folders_are_created_and_names_are_unchanged(tmp_path):
    mercer.save(Gaussian(1.0), str(tmp_path / "a" / "b" / "no suffix"))
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["no suffix"]


def test_links_stay_links(tmp_path):
    (tmp_path / "real.mercer").write_bytes(b"old")
    (tmp_path / "link.mercer").symlink_to(tmp_path / "real.mercer")
    mercer.save(Gaussian(1.0), tmp_path / "link.mercer")
    assert (tmp_path / "link.mercer").is_symlink()
    assert mercer.load(tmp_path / "real.mercer") == Gaussian(1.0)


def assert_unchanged(folder, path):
    """The folder holds the old file and no other."""
    assert [p.name for p in folder.iterdir()] == [path.name]
    assert mercer.load(path) == Gaussian(1.0)


def test_full_disk_leaves_the_old_file(path, tmp_path):
    mercer.save(Gaussian(1.0), path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with raises(OSError, os.strerror(errno.EFBIG)) as caught:
            mercer.save(np.zeros(10**6), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert_unchanged(tmp_path, path)


def test_failed_sync_leaves_the_old_file(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with raises(OSError, "No space left"):
        mercer.save(X, path)
    assert_unchanged(tmp_path, path)


def test_failed_temporary_file_leaves_the_old_file(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def denied(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("mercer.utils.atomic_files.tempfile.TemporaryDirectory", denied)
    with pytest.raises(PermissionError):
        mercer.save(X, path)
    assert_unchanged(tmp_path, path)


def test_interrupt_leaves_the_old_file(path, tmp_path, monkeypatch):
    mercer.save(Gaussian(1.0), path)

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mercer.save(X, path)
    assert_unchanged(tmp_path, path)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["kill", "fail"])
def test_model_is_old_or_new_after_every_step(tmp_path, action):
    """The process is killed, or an operation fails, at every step of a save."""
    with Writers() as writers:
        steps = writers.run("model", [tmp_path / "first"], "12345").steps
        assert steps > 15
        for step in range(1, steps + 1):
            path = tmp_path / str(step) / "model"
            mercer.save(Gaussian(1.0), path)
            path.chmod(0o600)
            outcome = writers.run("model", [path], "12345", action=action, step=step)
            found = mercer.load(path)
            assert found in (Gaussian(1.0), Gaussian(5.0))
            if action == "fail":
                assert (found == Gaussian(5.0)) == (outcome.error == "")
            mercer.save(Gaussian(2.0), path)
            assert mercer.load(path) == Gaussian(2.0)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            others = {p.name for p in path.parent.iterdir()} - {"model"}
            assert not others or outcome.killed or found == Gaussian(5.0)


def test_models_follow_the_umask(path):
    mask = os.umask(0o027)
    try:
        mercer.save(Gaussian(1.0), path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_threads_can_save_to_the_same_file(path):
    kernels = [Gaussian(float(i)) for i in range(8)]
    threads = [threading.Thread(target=mercer.save, args=(k, path)) for k in kernels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mercer.load(path) in kernels
    assert [p.name for p in path.parent.iterdir()] == [path.name]
