"""Atomic writing: new content is staged in a hidden folder, synchronized, then renamed.

All files that the package writes follow the same rules:

- A file is replaced by a rename, so a reader sees the old or the new file, never a part of one.
- Symbolic links are followed: the file that a link points to is replaced, and the link stays.
- An existing file keeps its permissions, and its owner and group if the system permits that. A
  write-protected file is not replaced. A new file follows the umask.
- Errors and interrupts remove what was staged. A killed process (``kill -9``) leaves a folder
  ``.mercer-staging-*`` next to the target.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "atomic_write",
    "check_parent",
    "check_target",
    "replace_folder",
    "staging_folder",
    "write_together",
]


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; if the content of one cannot be written, none is changed.

    All targets are checked and all contents are staged and synchronized before the first file is
    replaced. Only a process that stops between two renames leaves new and old files: each is
    complete, and the new ones are the first in the order of ``contents``. Strings are encoded in
    UTF-8, and missing folders are created.
    """
    targets = [check_target(path) for path in contents]
    twice = next((path for path in targets if targets.count(path) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{twice} is given twice, possibly through a link; pass each file only once."
        )
    parents = dict.fromkeys(target.parent for target in targets)
    with ExitStack() as stack:
        staging = {parent: stack.enter_context(staging_folder(parent)) for parent in parents}
        staged: dict[Path, Path] = {}
        for number, (target, content) in enumerate(zip(targets, contents.values(), strict=True)):
            staged[target] = staging[target.parent] / f"new-{number}"
            with open(staged[target], "xb") as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
                _finish(file, target)
        for target, new in staged.items():
            os.replace(new, target)
        for parent in parents:
            _sync_folder(parent)


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file for binary writing and reading that replaces ``path`` when the block ends.

    If the block raises, the old file is unchanged. The content is synchronized to the disk before
    the old file is replaced, so after a crash the file is either the old or the new one. Missing
    folders are created.
    """
    target = check_target(path)
    with staging_folder(target.parent) as staging:
        with open(staging / "new", "x+b") as file:
            yield file
            _finish(file, target)
        os.replace(staging / "new", target)
        _sync_folder(target.parent)


def check_target(path: Path) -> Path:
    """Return the path with all links resolved; raise OSError if no file can be written there."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path} is a symbolic link to itself. Remove the link.")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Add a file name.")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file, so it cannot be replaced.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is write-protected. Choose another file.")
    check_parent(path)
    return target


def check_parent(path: Path) -> None:
    """Raise OSError if nothing can be created in the folder of a path (or of a link's target)."""
    target = Path(os.path.realpath(path))
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is a file, not a folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written: the folder {folder} is read-only.")


def replace_folder(new: Path, target: Path) -> None:
    """Rename a folder in a staging folder next to the target to the target, which may exist.

    Folders cannot be exchanged atomically: a process that is killed between the two renames leaves
    the old folder in the staging folder, under the name ``old``.
    """
    if not target.exists():
        os.rename(new, target)
        return
    new.chmod(target.stat().st_mode & 0o777)
    old = new.with_name("old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Create a hidden folder in ``parent``, and remove it at the end of the block.

    Only its owner can enter it, so files in it can be created with the usual permissions.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=parent, prefix=".mercer-staging-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _finish(file: BinaryIO, target: Path) -> None:
    """Give a staged file the permissions of its target, and synchronize it to the disk."""
    file.flush()
    if target.exists() and sys.platform != "win32":
        _copy_permissions(target.stat(), file.fileno())
    os.fsync(file.fileno())


def _copy_permissions(old: os.stat_result, handle: int) -> None:
    mode = old.st_mode & 0o777
    for owner in (old.st_uid, -1):  # only root can give a file to another user
        with suppress(OSError):
            os.fchown(handle, owner, old.st_gid)
            break
    else:
        mode &= 0o707  # permissions of the old group do not apply to another one
    os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Synchronize the new name to the disk, on systems that support this for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
