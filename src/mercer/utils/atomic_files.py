"""Atomic writing: new content is staged in a hidden folder, synchronized, then renamed.

All files that the package writes follow the same rules:

- A file is replaced by a rename, so a reader sees the old or the new file, never a part of one.
- Symbolic links are followed: the file that a link points to is replaced, and the link stays.
- An existing file keeps its permissions, and its owner and group if the system permits that. A
  write-protected file is not replaced. A new file follows the umask.
- New content is staged in a folder ``.mercer-staging-*`` next to the target, which is locked
  while its writer lives. A killed process leaves it behind; the next write next to it removes it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":  # there, abandoned staging folders are not removed
    import fcntl

__all__ = [
    "atomic_write",
    "check_parent",
    "check_target",
    "replace_folder",
    "staging_folder",
    "write_together",
]

_PREFIX = ".mercer-staging-"
_OLD = "old"  # subfolder of a staging folder: holds the folder that is being replaced


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; if one cannot be written, none is changed.

    All targets are checked and all contents are staged before the first file is replaced. If a
    replacement fails, the files that were already replaced are restored. Only a process that is
    killed (or a machine that stops) between two replacements leaves new and old files: each is
    complete, and the new ones are the first in the order of ``contents``.

    Parameters
    ----------
    contents : mapping of Path to str or bytes
        Strings are encoded in UTF-8. Missing folders are created.

    Raises
    ------
    OSError
        If a file cannot be written, or a target is a folder, a device or write-protected.
    ValueError
        If two of the paths are the same file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.utils.atomic_files import write_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "new", "a.txt"): "α"})
    ...     Path(folder, "new", "a.txt").read_bytes()
    b'\\xce\\xb1'
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
        _replace_all(staged)
        for parent in parents:
            _sync_folder(parent)


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file for binary writing and reading that replaces ``path`` when the block ends.

    If the block raises, the old file is unchanged. The content is synchronized to the disk before
    the old file is replaced, so after a crash the file is either the old or the new one.

    Parameters
    ----------
    path : Path
        Missing folders are created.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.utils.atomic_files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "a")) as file:
    ...         _ = file.write(b"first, ")
    ...         _ = file.write(b"second")
    ...     Path(folder, "a").read_bytes()
    b'first, second'
    """
    target = check_target(path)
    with staging_folder(target.parent) as staging:
        with open(staging / "new", "x+b") as file:
            yield file
            _finish(file, target)
        os.replace(staging / "new", target)
        _sync_folder(target.parent)


def check_target(path: Path) -> Path:
    """Return the path with all links resolved; raise OSError if no file can be written there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mercer.utils.atomic_files import check_target
    >>> check_target(Path("/"))
    Traceback (most recent call last):
        ...
    IsADirectoryError: / is a folder. Add a file name.
    """
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
    the old folder in the staging folder, and the next write next to the target moves it back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.utils.atomic_files import replace_folder, staging_folder
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     Path(parent, "old").mkdir()
    ...     with staging_folder(Path(parent)) as staging:
    ...         (staging / "new" / "a").mkdir(parents=True)
    ...         replace_folder(staging / "new", Path(parent, "old"))
    ...     [path.name for path in Path(parent, "old").iterdir()]
    ['a']
    """
    if target.exists():
        new.chmod(target.stat().st_mode & 0o777)
        old = new.parent / _OLD
        old.mkdir()
        os.rename(target, old / target.name)
    os.rename(new, target)  # if this fails, staging_folder moves the old folder back


# --- staging folders ------------------------------------------------------------------------------


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Create a hidden folder in ``parent``, and remove it at the end of the block.

    Only its owner can enter it, so files in it can be created with the usual permissions. Staging
    folders of killed processes are removed first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.utils.atomic_files import staging_folder
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with staging_folder(Path(parent)) as folder:
    ...         print(folder.parent == Path(parent), folder.name.startswith(".mercer-staging-"))
    ...     folder.exists()
    True True
    False
    """
    parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(parent)
    folder, lock = _create_locked(parent)
    try:
        yield folder
    finally:
        _discard(folder)
        if lock is not None:
            os.close(lock)


def _create_locked(parent: Path) -> tuple[Path, int | None]:
    """Create a staging folder; the lock ends with the process, even if it is killed."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=_PREFIX))
        if sys.platform == "win32":
            return folder, None
        # Another process may remove the folder as abandoned before it is locked here.
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # without locks on this file system nothing is removed
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    """Remove the staging folders of processes that were killed: these are not locked."""
    if sys.platform == "win32" or not os.access(parent, os.R_OK):
        return
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # in use, of another user, or removed by another process
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _discard(folder)
            finally:
                os.close(lock)


def _discard(staging: Path) -> None:
    """Remove a staging folder; a folder that was about to be replaced is moved back first."""
    with suppress(OSError):  # then it is not removed, and the next write tries again
        for old in (staging / _OLD).glob("*"):
            target = staging.parent / old.name
            if not target.exists():
                os.rename(old, target)
        shutil.rmtree(staging)


# --- files ----------------------------------------------------------------------------------------


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


def _replace_all(staged: Mapping[Path, Path]) -> None:
    """Rename all staged files to their targets, or restore the old files and raise."""
    backups = {target: Path(f"{new}-old") for target, new in staged.items() if target.exists()}
    for target, backup in backups.items():
        _copy(target, backup)
    try:
        for target, new in staged.items():
            os.replace(new, target)
    except BaseException:
        for target, new in staged.items():
            if new.exists():  # not replaced yet
                continue
            if target in backups:
                os.replace(backups[target], target)
            else:
                target.unlink(missing_ok=True)
        raise


def _copy(source: Path, copy: Path) -> None:
    try:
        os.link(source, copy)
    except OSError:  # the file system has no hard links, or does not permit this one
        shutil.copy2(source, copy)


def _sync_folder(folder: Path) -> None:
    """Synchronize the new name to the disk, on systems that support this for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
