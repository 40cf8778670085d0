"""Where a command writes: standard output, a file that appears as a whole, or a device."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["check_folder", "check_place", "is_special", "rendered", "write"]


def check_place(path: Path) -> None:
    """Refuse, before any work, a place that cannot be written."""
    if str(path) == "-":
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; add a file name.")
    _check_parents(path)


def check_folder(path: Path, data: Path) -> None:
    """Refuse, before any work, a folder that is no place for parts made of these data."""
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; name a folder for the parts.")
    inside = data.resolve() == path.resolve() or path.resolve() in data.resolve().parents
    if inside:
        raise ValueError(f"{path} holds the data that are read; name another folder.")
    if path.is_dir():
        others = [one.name for one in path.iterdir() if one.suffix != ".parquet"]
        if others:
            raise FileExistsError(
                f"{path} holds {others[0]!r}, so it is no folder of Parquet parts that could be "
                "replaced; name another folder."
            )
    _check_parents(path)


def is_special(path: Path) -> bool:
    """Whether this is a pipe, a terminal, or another device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_parents(path: Path) -> None:
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is a file, not a folder.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {folder} is read-only.")


def write(path: Path, content: bytes) -> None:
    """Write all, or leave what was there."""
    try:
        _write(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if str(path) == "-" else path
        raise OSError(f"{name} cannot be written: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    if str(path) == "-":
        sys.stdout.flush()
        left = memoryview(content)
        while left:  # without a buffer (PYTHONUNBUFFERED) less may be written, and no error raised
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():  # a device or a named pipe must not be replaced
        path.write_bytes(content)
    else:
        from mercer.atomic_files import atomic_write

        with atomic_write(Path(os.path.realpath(path))) as file:  # through links: they stay
            file.write(content)


def rendered(frame: Any, suffix: str) -> bytes:
    """Bytes of a data frame in the format of a file name's suffix; floats lose no digit."""
    if suffix == ".parquet":
        return _parquet(frame)
    if suffix == ".npy":
        return _npy(frame)
    separator = "\t" if suffix == ".tsv" else ","
    text: str = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    return text.encode("utf-8")


def _parquet(frame: Any) -> bytes:
    held = io.BytesIO()
    try:
        frame.to_parquet(held, index=False)
    except ImportError as error:
        raise ModuleNotFoundError(
            "Writing Parquet needs pyarrow, which is not installed: pip install mercer[io]",
            name="pyarrow",
        ) from error
    return held.getvalue()


def _npy(frame: Any) -> bytes:
    import numpy as np
    from pandas.api.types import is_numeric_dtype

    words = [name for name in frame.columns if not is_numeric_dtype(frame[name].dtype)]
    if words:
        raise ValueError(
            f"An .npy file holds numbers, and column {words[0]!r} does not; write .csv or .parquet."
        )
    held = io.BytesIO()
    np.save(held, frame.to_numpy(dtype=np.float64, na_value=np.nan), allow_pickle=False)
    return held.getvalue()
