"""Atomic writing: a file is written under a temporary name, then renamed.

Symbolic links are followed: the file that a link points to is replaced, not the link.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_write", "current_umask", "write_together"]


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; if one cannot be written, none is changed.

    The targets are checked first, then all contents are written under temporary names, then the
    files are renamed. If a rename fails, the files that were already replaced are restored. A
    process that is killed between two renames leaves new and old files.

    Parameters
    ----------
    contents : mapping of Path to str or bytes
        Strings are encoded in UTF-8. Missing folders are created.

    Raises
    ------
    OSError
        If a file cannot be written, or a target is a folder or a device.
    ValueError
        If two of the paths are the same file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.atomic_files import write_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "new", "a.txt"): "α"})
    ...     Path(folder, "new", "a.txt").read_bytes()
    b'\\xce\\xb1'
    """
    targets = [_target(path) for path in contents]
    twice = next((path for path in targets if targets.count(path) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{twice} is given twice, possibly through a link; pass each file only once."
        )
    written: list[Path] = []
    try:
        for target, content in zip(targets, contents.values(), strict=True):
            with _temporary_file(target, written) as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
        _replace_all(written, targets)
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file for binary writing and reading that replaces ``path`` when the block ends.

    If the block raises, the old file is unchanged. The content is synchronized to the disk before
    the old file is replaced, so after a crash the file is either the old or the new one. A process
    that is killed may leave a temporary file whose name starts with a dot.

    Parameters
    ----------
    path : Path
        Missing folders are created.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.atomic_files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "a")) as file:
    ...         _ = file.write(b"first, ")
    ...         _ = file.write(b"second")
    ...     Path(folder, "a").read_bytes()
    b'first, second'
    """
    target = _target(path)
    written: list[Path] = []
    try:
        with _temporary_file(target, written) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(written[0], target)
        _sync_folder(target.parent)
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


def current_umask() -> int:
    """Return the permission bits that the process removes from new files and folders."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _target(path: Path) -> Path:
    """Return the path with all links resolved; raise OSError if it cannot be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; add a file name.")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file, so it cannot be replaced.")
    return target


@contextmanager
def _temporary_file(target: Path, written: list[Path]) -> Iterator[BinaryIO]:
    """Open a new file in the folder of ``target``; its path is appended to ``written`` at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    written.append(Path(name))
    with os.fdopen(handle, "w+b") as file:
        yield file
    os.chmod(name, 0o666 & ~current_umask())  # mkstemp permits only the owner


def _replace_all(temporaries: list[Path], targets: list[Path]) -> None:
    """Rename all temporary files to their targets, or restore the old files and raise."""
    backups = [Path(f"{temporary}-old-") for temporary in temporaries]
    replaced: list[tuple[Path, Path]] = []
    try:
        for temporary, target, backup in zip(temporaries, targets, backups, strict=True):
            if target.exists():
                _copy(target, backup)
            os.replace(temporary, target)
            replaced.append((target, backup))
    except BaseException:
        for target, backup in reversed(replaced):
            if backup.exists():
                os.replace(backup, target)
            else:
                target.unlink(missing_ok=True)
        raise
    finally:
        for backup in backups:
            backup.unlink(missing_ok=True)


def _copy(source: Path, copy: Path) -> None:
    try:
        os.link(source, copy)
    except OSError:  # the file system has no hard links
        shutil.copy2(source, copy)


def _sync_folder(folder: Path) -> None:
    """Synchronize the new name to the disk, on systems that support this for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
