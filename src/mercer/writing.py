"""Files that are complete or not there: written beside their place, then moved to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_together"]


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
    >>> from mercer.writing import write_together
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "new", "a.txt"): "α"})
    ...     Path(folder, "new", "a.txt").read_bytes()
    b'\\xce\\xb1'
    """
    written: list[Path] = []
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            written.append(Path(name))
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
            os.chmod(name, 0o666 & ~_umask())  # mkstemp's files are for their owner's eyes only
        for temporary, path in zip(written, contents, strict=True):
            os.replace(temporary, path)
    finally:
        for temporary in written:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
