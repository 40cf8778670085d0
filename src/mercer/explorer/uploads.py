"""Uploaded files: limits, storage, and reading in a process with limited memory and time.

Uploads are stored in a temporary folder under generated names. A file name or path sent by a client
is never opened.

A small file can expand to a huge table in many ways: compression, dictionaries, run lengths and
declared sizes. Only the operating system knows what reading allocates, so the limit is one of the
process. The table comes back as an uncompressed Feather file: its size is checked before it is
loaded, and loading it does not run code.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

__all__ = ["Limits", "Upload", "Uploads", "check_shape", "convert", "read_upload"]

MAX_COLUMNS = 2000
READ_TIMEOUT = 120.0  # seconds to read one file
_MAX_UPLOADS = 5  # stored files
#: Few threads and plain malloc: arenas of threads and memory pools reserve address space.
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
#: Exceptions of pyarrow are subclasses.
_NOT_STORABLE = (TypeError, ValueError, OverflowError, NotImplementedError)


@dataclass(frozen=True)
class Limits:
    """Limits of the explorer.

    Attributes
    ----------
    upload : int
        Bytes of one uploaded file.
    memory : int
        Bytes of memory to read one uploaded file, and bytes of its table in memory.
    rows : int
        Rows of a table.
    """

    upload: int = 100_000_000
    memory: int = 1_000_000_000
    rows: int = 2_000_000


def check_shape(frame: Any, name: str, limits: Limits) -> None:
    """Raise ValueError if a table has too many rows or columns."""
    n, d = frame.shape
    if n > limits.rows or d > MAX_COLUMNS:
        raise ValueError(
            f"{name} has {n:,} rows and {d:,} columns. The explorer accepts at most "
            f"{limits.rows:,} rows and {MAX_COLUMNS:,} columns. Use a smaller table, or the "
            "library."
        )


# --- storage ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Upload:
    """A stored file."""

    key: str
    name: str
    path: Path


class Uploads:
    """The newest uploaded files, by key, in a temporary folder.

    >>> uploads = Uploads()
    >>> upload = uploads.add("../etc/my table.csv", b"a,b")
    >>> upload.name, uploads.files[upload.key].path.read_bytes()
    ('my table.csv', b'a,b')
    >>> uploads.close(); upload.path.exists()
    False
    """

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="mercer-explore-")
        self.folder = Path(self._temporary.name)
        self.files: dict[str, Upload] = {}

    def add(self, name: str, content: bytes) -> Upload:
        """Write a file. The oldest file is removed if there are too many."""
        key = f"upload-{secrets.token_hex(8)}"
        upload = Upload(key, _base_name(name), self.folder / key)
        self.files[key] = upload
        try:
            upload.path.write_bytes(content)
        except BaseException:
            self.remove(upload)
            raise
        for oldest in list(self.files.values())[:-_MAX_UPLOADS]:
            self.remove(oldest)
        return upload

    def remove(self, upload: Upload) -> None:
        """Remove a file."""
        self.files.pop(upload.key, None)
        upload.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove all files."""
        self.files.clear()
        self._temporary.cleanup()


def _base_name(name: str) -> str:
    """Return the last part of a POSIX or Windows path, without control characters."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[:80] or "table"


# --- reading ---------------------------------------------------------------------------------


def read_upload(
    path: Path,
    name: str,
    limits: Limits,
    label: str | None = None,
    categorical: Sequence[str] = (),
) -> tuple[Any, list[str]]:
    """Read an uploaded file in another process, as :func:`mercer.tables.readers.read_frame` does.

    Temporary files are written to its folder. MemoryError if reading needs too much memory;
    ValueError if the file is not a table, is too large otherwise, or is not read in time.
    """
    import pandas as pd

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target = Path(folder, "table")
        task = {"path": str(path), "name": name, "target": str(target), "limits": asdict(limits)}
        task["columns"] = {"label": label, "categorical": list(categorical)}
        result = _run(task, READ_TIMEOUT)
        if "error" in result:
            raise ValueError(result["error"])
        if "notes" not in result or target.stat().st_size > limits.memory:
            raise MemoryError(
                f"{name} cannot be read with {limits.memory / 1e6:,.0f} MB. Use fewer rows, or the "
                "library."
            )
        return pd.read_feather(target), result["notes"]


def _run(task: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Return the result of the worker; it is empty if the worker died."""
    paths = [path for path in sys.path if path]
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(task).encode(),  # other users could read arguments
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"{task['name']} was not read within {timeout:g} s. Use fewer rows."}
    # C++ libraries abort if an allocation fails.
    result: dict[str, Any] = json.loads(process.stdout) if process.returncode == 0 else {}
    return result


# --- worker ----------------------------------------------------------------------------------


def main() -> None:
    """Read a task from standard input, write the table to a file and print the result."""
    task = json.load(sys.stdin)
    limits = Limits(**task["limits"])
    content = Path(task["path"]).read_bytes()
    result: dict[str, Any] = {}
    try:
        import pandas as pd  # noqa: F401 # before memory is limited
        import pyarrow.feather  # noqa: F401

        from mercer.tables.readers import read_frame  # noqa: F401

        _limit_process(limits)
        target = Path(task["target"])
        result = {"notes": convert(content, task["name"], target, limits, **task["columns"])}
    except Exception as error:
        if not _is_memory_error(error):
            expected = isinstance(error, ValueError | ImportError | OSError)
            message = str(error) if expected else repr(error)
            result = {"error": message[:2000]}
    print(json.dumps(result))


def _limit_process(limits: Limits) -> None:
    """Limit memory and time of this process, where the operating system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return

    def lower(kind: int, value: int) -> None:
        bounds = [b for b in (value, *resource.getrlimit(kind)) if b != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(bounds), min(bounds)))

    lower(resource.RLIMIT_CORE, 0)  # no copy of the data on the disk
    lower(resource.RLIMIT_CPU, int(READ_TIMEOUT) + 1)  # if the server exits before the end
    statm = Path("/proc/self/statm")
    if statm.exists():  # Linux; macOS does not enforce RLIMIT_AS
        used = int(statm.read_text().split()[0]) * resource.getpagesize()
        lower(resource.RLIMIT_AS, used + limits.memory)


def convert(content: bytes, name: str, target: Path, limits: Limits, **columns: Any) -> list[str]:
    """Write the table of a file in Feather format; return notes on the format of the file."""
    from mercer.tables.readers import read_frame

    file = io.BytesIO(content)
    file.name = name
    frame, notes = read_frame(file, max_bytes=limits.memory, **columns)
    check_shape(frame, name, limits)
    _check_categories(frame, limits.memory)
    _write(frame, target)
    return notes


def _check_categories(frame: Any, max_bytes: int) -> None:
    """Raise MemoryError if the texts of all cells are too large: a category is stored once."""
    import pandas as pd

    size = 0
    for _, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            size += int(column.astype(object).memory_usage(deep=True))
    if size > max_bytes:
        raise MemoryError(f"The categories of all rows take {size:,} bytes.")


def _write(frame: Any, target: Path) -> None:
    try:
        frame.to_feather(target, compression="uncompressed")
    except _NOT_STORABLE:
        storable = {name: _storable(column) for name, column in frame.items()}
        type(frame)(storable).to_feather(target, compression="uncompressed")


def _storable(column: Any) -> Any:
    """Return a column that Arrow can store: numbers become floats, other objects strings."""
    import pyarrow as pa

    try:
        pa.array(column, from_pandas=True)
    except _NOT_STORABLE:
        if column.dtype.kind == "c":
            raise ValueError(
                f"Column {column.name!r} contains complex numbers. Split it into real and "
                "imaginary parts."
            ) from None
        if all(isinstance(cell, Real) for cell in column.dropna()):
            return column.astype(float)
        return column.astype(object).where(column.isna(), column.astype(str))
    return column


def _is_memory_error(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    main()
