"""Atomic writing: files are complete or unchanged, also if the writer fails or is killed."""

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.utils.atomic_files import atomic_write, write_together
from tests.expectations import raises
from tests.stopped_writers import NOBODY, Writers


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


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


def test_a_file_as_folder_leaves_the_other_files_unchanged(tmp_path):
    (tmp_path / "a").write_text("old")
    with raises(NotADirectoryError, tmp_path / "a" / "b"):
        write_together({tmp_path / "c": "new", tmp_path / "a" / "b": "new"})
    assert contents(tmp_path) == {"a": "old"}


def test_two_names_of_one_file_are_rejected(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with raises(ValueError, tmp_path / "a"):
        write_together({tmp_path / "a": "one", tmp_path / "link": "two"})
    assert (tmp_path / "a").read_text() == "old"


def test_links_to_themselves_are_rejected(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with raises(OSError, tmp_path / "a"), atomic_write(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_symlink()


def test_failed_block_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_text("old")
    with raises(KeyError, "stop"), atomic_write(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyError("stop")
    assert contents(tmp_path) == {"a": "old"}


# --- properties -------------------------------------------------------------------------------

OLD_MODES = [0o600, 0o644, 0o640, 0o664, 0o604, 0o777]
KINDS = ["absent", "file", "link", "link to nothing", "absent folder"]


@dataclass(frozen=True)
class Target:
    """A path to write to, and what is there before."""

    path: Path
    kind: str
    mode: int

    def create(self):
        self.path.parent.mkdir(exist_ok=True)
        if self.kind in ("file", "link"):
            self.real.parent.mkdir(exist_ok=True)
            self.real.write_text(f"old {self.path.name}")
            self.real.chmod(self.mode)
        if "link" in self.kind:
            self.path.symlink_to(os.path.relpath(self.real, self.path.parent))
        if self.kind == "absent folder":
            self.path.parent.rmdir()

    @property
    def real(self):
        """The file that is written."""
        if "link" in self.kind:
            return self.path.parent / "linked" / f"real {self.path.name}"
        return self.path

    def content(self):
        return self.path.read_text() if self.path.exists() else None

    def check(self, new_text, umask):
        """Return whether the file is new; it must be complete and have the right permissions."""
        assert self.path.is_symlink() == ("link" in self.kind)
        old = f"old {self.path.name}" if self.kind in ("file", "link") else None
        content = self.content()
        assert content in (old, f"{new_text} {self.path.name}")
        if content is not None:
            assert mode_of(self.path) == (0o666 & ~umask if old is None else self.mode)
        return content != old


@st.composite
def targets(draw, most=4):
    """Draw names, kinds and permissions of the targets; paths are relative."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most))
    modes = [draw(st.sampled_from(OLD_MODES)) for _ in kinds]
    folders = ["new" if kind == "absent folder" else "." for kind in kinds]
    return [
        Target(Path(folder, f"name{i}"), kind, mode)
        for i, (folder, kind, mode) in enumerate(zip(folders, kinds, modes, strict=True))
    ]


@pytest.fixture(scope="module")
def writers():
    with Writers() as process:
        yield process


@pytest.fixture
def shared_folder():
    """Yield a folder that every user can enter, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def inside(folder, found):
    placed = [Target(folder / one.path, one.kind, one.mode) for one in found]
    for one in sorted(placed, key=lambda one: one.kind == "absent folder"):
        one.create()
    return placed


def staged(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(".mercer-staging-")]


@given(
    targets(),
    st.integers(1, 80),
    st.sampled_from(["", "x" * 100_000]),
    st.sampled_from([0, 0o022, 0o027, 0o077]),
)
def test_killed_writer_leaves_complete_files(writers, found, step, padding, umask):
    """Killed at any step: every file is old or new, the first are new, and links stay links."""
    text = f"new{padding}"
    with tempfile.TemporaryDirectory() as name:
        placed = inside(Path(name), found)
        paths = [one.path for one in placed]
        outcome = writers.run("together", paths, text, step=step, umask=umask)
        new = [one.check(text, umask) for one in placed]
        assert new == sorted(new, reverse=True)
        if not outcome.killed:
            assert outcome.error == ""
            assert all(new)
            assert staged(Path(name)) == []
        assert writers.run("together", paths, text, umask=umask).error == ""
        assert all(one.check(text, umask) for one in placed)


@given(targets(), st.integers(1, 80), st.sampled_from(["fail", "interrupt"]))
def test_failing_writer_leaves_complete_files(writers, found, step, action):
    """An error or Ctrl-C at any step; an error in the last steps, which clean up, is no failure."""
    with tempfile.TemporaryDirectory() as name:
        placed = inside(Path(name), found)
        paths = [one.path for one in placed]
        outcome = writers.run("together", paths, "new", action=action, step=step)
        new = [one.check("new", 0o022) for one in placed]
        assert new == sorted(new, reverse=True)
        assert all(new) or outcome.error
        if action == "fail":
            assert all(new) == (outcome.error == "")
        if not all(new):
            assert staged(Path(name)) == []
        assert writers.run("together", paths, "newer").error == ""
        assert all(one.content().startswith("newer ") for one in placed)


EVERY_KIND = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("absent", "link")]


@pytest.mark.parametrize("kind", ["file", *EVERY_KIND])
@pytest.mark.parametrize("action", ["kill", "fail", "interrupt"])
def test_every_step_of_one_file(writers, kind, action):
    """As above for all steps of :func:`atomic_write`, in particular within a write."""
    steps = writers_steps(writers, kind)
    assert steps > 15
    for step in range(1, steps + 1):
        with tempfile.TemporaryDirectory() as name:
            (one,) = inside(Path(name), [Target(Path("name"), kind, 0o600)])
            outcome = writers.run("file", [one.path], "new", action=action, step=step)
            new = one.check("new", 0o022)
            assert outcome.killed == (action == "kill")
            if action == "fail":
                assert new == (outcome.error == "")
            if action != "kill" and not new:
                assert staged(Path(name)) == []
            assert writers.run("file", [one.path], "new").error == ""
            assert one.check("new", 0o022)


def writers_steps(writers, kind):
    with tempfile.TemporaryDirectory() as name:
        (one,) = inside(Path(name), [Target(Path("name"), kind, 0o600)])
        return writers.run("file", [one.path], "new").steps


# --- users without privileges -----------------------------------------------------------------

USER = NOBODY if os.geteuid() == 0 else None


def own(*paths):
    if USER is not None:
        for path in paths:
            os.chown(path, USER, USER, follow_symlinks=False)


@pytest.mark.parametrize("writer", ["together", "file", "model"])
@pytest.mark.parametrize("protected", ["folder", "file", "target of a link", "missing parent"])
def test_protected_targets_raise_and_nothing_is_lost(writers, shared_folder, writer, protected):
    open_folder, closed = shared_folder / "open", shared_folder / "closed"
    for folder in (open_folder, closed):
        folder.mkdir()
        (folder / "a").write_text("old")
    (open_folder / "link").symlink_to(closed / "a")
    own(open_folder, closed, open_folder / "a", closed / "a")
    closed.chmod(0o555)
    path = {
        "folder": closed / "a",
        "file": open_folder / "a",
        "target of a link": open_folder / "link",
        "missing parent": closed / "new" / "a",
    }[protected]
    if protected == "file":
        path.chmod(0o444)
    first = [open_folder / "b"] if writer == "together" else []
    outcome = writers.run(writer, [*first, path], "new", user=USER)
    closed.chmod(0o755)  # so that a user without privileges can remove it
    assert outcome.error.startswith("PermissionError")
    assert str(path) in outcome.error
    assert {p.name for p in shared_folder.rglob("*")} == {"open", "closed", "a", "link"}
    assert (closed / "a").read_text() == (open_folder / "a").read_text() == "old"


@pytest.mark.skipif(USER is None, reason="only root can write as two users")
def test_root_does_not_take_files_from_their_owner(writers, shared_folder):
    path = shared_folder / "a"
    path.write_text("old")
    path.chmod(0o600)
    own(path)
    assert writers.run("file", [path], "new").error == ""
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode_of(path)) == (NOBODY, NOBODY, 0o600)


@pytest.mark.skipif(USER is None, reason="only root can write as two users")
def test_permissions_of_the_group_are_not_given_to_another_group(writers, shared_folder):
    """A file that everybody may write, of a group of which the writer is no member."""
    path = shared_folder / "a"
    path.write_text("old")
    path.chmod(0o676)
    shared_folder.chmod(0o777)
    assert writers.run("file", [path], "new", user=NOBODY).error == ""
    assert path.read_text() == "new a"
    assert mode_of(path) == 0o606


@pytest.mark.slow
@pytest.mark.parametrize("protected", ["folder", "file", "target of a link"])
def test_commands_check_protected_targets_before_any_work(writers, shared_folder, protected):
    open_folder, closed = shared_folder / "open", shared_folder / "closed"
    for folder in (open_folder, closed):
        folder.mkdir()
        (folder / "a.csv").write_text("old")
    (open_folder / "link.csv").symlink_to(closed / "a.csv")
    own(open_folder, closed, open_folder / "a.csv", closed / "a.csv")
    closed.chmod(0o555)
    path = {
        "folder": closed / "a.csv",
        "file": open_folder / "a.csv",
        "target of a link": open_folder / "link.csv",
    }[protected]
    if protected == "file":
        path.chmod(0o444)
    outcome = writers.run("command", [path], "1", user=USER)
    closed.chmod(0o755)
    assert outcome.error == "OSError: exit code 1"
    assert path.read_text() == "old"
    assert {p.name for p in shared_folder.rglob("*")} == {"open", "closed", "a.csv", "link.csv"}
    closed.chmod(0o755)
    path.chmod(0o644)
    assert writers.run("command", [path], "1", user=USER).error == ""
    assert path.read_text().startswith("row,eca1,eca2\n")
