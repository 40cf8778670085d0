"""Atomic writing: files are complete or unchanged."""

import os
import stat

import pytest

from mercer import atomic_files
from mercer.atomic_files import atomic_write, current_umask, write_together
from tests.expectations import raises


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_all_files_are_written(tmp_path):
    write_together({tmp_path / "new" / "a": "α", tmp_path / "b": b"\xff"})
    assert (tmp_path / "new" / "a").read_text(encoding="utf-8") == "α"
    assert (tmp_path / "b").read_bytes() == b"\xff"


def test_a_folder_as_target_leaves_the_other_files_unchanged(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "folder").mkdir()
    with raises(OSError, tmp_path / "folder"):
        write_together({tmp_path / "a": "new", tmp_path / "folder": "new"})
    assert contents(tmp_path) == {"a": "old"}


def test_two_names_of_one_file_are_rejected(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with raises(ValueError, tmp_path / "a"):
        write_together({tmp_path / "a": "one", tmp_path / "link": "two"})
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("failing", ["a", "b", "c"])
@pytest.mark.parametrize("links", [True, False], ids=["hard links", "copies"])
def test_failed_replacement_is_rolled_back(tmp_path, monkeypatch, failing, links):
    for name in ("a", "c"):
        (tmp_path / name).write_text(f"old {name}")
    replace = os.replace

    def fail_once(source, target):
        if os.path.basename(target) == failing and "-old-" not in os.path.basename(source):
            raise OSError("No space left on device")
        replace(source, target)

    def unsupported(*args, **options):
        raise OSError("Operation not supported")

    monkeypatch.setattr(atomic_files.os, "replace", fail_once)
    if not links:
        monkeypatch.setattr(atomic_files.os, "link", unsupported)
    with raises(OSError, "No space left"):
        write_together({tmp_path / name: f"new {name}" for name in "abc"})
    assert contents(tmp_path) == {"a": "old a", "c": "old c"}


def test_links_stay_links(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_together({tmp_path / "link": "new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    with atomic_write(tmp_path / "link") as file:
        file.write(b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "newer"


def test_new_files_have_the_usual_permissions(tmp_path):
    mask = os.umask(0o027)
    try:
        assert current_umask() == 0o027
        write_together({tmp_path / "a": "new"})
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_failed_block_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_text("old")
    with raises(KeyError, "stop"), atomic_write(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyError("stop")
    assert contents(tmp_path) == {"a": "old"}
