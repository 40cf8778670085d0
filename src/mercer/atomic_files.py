"""Files that are complete or not there: written beside their place, then moved to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file", "write_together"]


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write all files, or, where one fails, none.

    Parameters
    ----------
    contents : mapping of Path to str or bytes
        Texts are encoded in UTF-8. Folders that are missing are made.

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
    written: list[Path] = []
    try:
        for path, content in contents.items():
            with _beside(path, written) as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
        for temporary, path in zip(written, contents, strict=True):
            os.replace(temporary, path)
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for binary writing and reading that is put in its place when the block ends.

    Where the block raises, whatever was there before stays. The content is on the disk, not only
    on its way there, before the old file goes: a crash leaves one of the two. A process that is
    killed may leave its half-written file behind; its name starts with a dot.

    Parameters
    ----------
    path : Path
        Folders that are missing are made.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.atomic_files import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a")) as file:
    ...         _ = file.write(b"piece by ")
    ...         _ = file.write(b"piece")
    ...     Path(folder, "a").read_bytes()
    b'piece by piece'
    """
    written: list[Path] = []
    try:
        with _beside(path, written) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(written[0], path)
        _settle_folder(path.parent)
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


@contextmanager
def _beside(path: Path, written: list[Path]) -> Iterator[BinaryIO]:
    """Open a new file in the folder of ``path``; its name is added to ``written`` at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    written.append(Path(name))
    with os.fdopen(handle, "w+b") as file:
        yield file
    os.chmod(name, 0o666 & ~_umask())  # mkstemp's files are for their owner's eyes only


def _settle_folder(folder: Path) -> None:
    """Let the new name reach the disk too, where the system can do that for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
