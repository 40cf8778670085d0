"""Files of commands: standard input and output, files and folders that are replaced atomically."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

from mercer import __version__
from mercer.utils.atomic_files import atomic_write, check_parent, check_target

__all__ = [
    "MARKER",
    "check_file",
    "check_folder",
    "encode_frame",
    "is_special",
    "open_data",
    "write_file",
    "write_marker",
]

#: File in a folder that lists the Parquet files mercer wrote there, so that it may replace them.
MARKER = "_mercer.json"


def open_data(data: str) -> str | BinaryIO:
    """Return standard input as a file that can be read twice; other names unchanged."""
    if data != "-":
        return data
    if sys.stdin is None:
        raise OSError("Standard input is closed. Name a file instead of -.")
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content


# --- checks before any work -------------------------------------------------------------------


def check_file(path: Path) -> None:
    """Raise OSError if a file cannot be written to this path."""
    if str(path) != "-" and not is_special(path):
        check_target(path)


def check_folder(path: Path, data: Path, overwrite: bool) -> None:
    """Raise an error if a folder of Parquet files cannot, or must not, be written to this path.

    A folder is replaced if it is empty, if all its files were written by mercer, or, with
    ``overwrite``, if it holds Parquet files only. It must not contain the input ``data``.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file. --out must be a folder.")
    if data.resolve() == path.resolve() or path.resolve() in data.resolve().parents:
        raise ValueError(f"{path} contains the input data. Choose another folder for --out.")
    if path.is_dir():
        _check_replaceable(path, overwrite)
    check_parent(path)


def _check_replaceable(folder: Path, overwrite: bool) -> None:
    own = _read_marker(folder)
    others = sorted(one.name for one in folder.iterdir() if one.name not in own)
    not_parquet = [name for name in others if Path(name).suffix != ".parquet"]
    if not_parquet:
        raise FileExistsError(
            f"{folder} contains {not_parquet[0]!r}, which is not a Parquet file. Choose another "
            "folder for --out."
        )
    if others and not overwrite:
        raise FileExistsError(
            f"{folder} contains {others[0]!r}, which mercer did not write. Use --overwrite to "
            "replace the folder, or choose another one."
        )


def write_marker(folder: Path) -> None:
    """List the files of a folder in its marker file."""
    names = sorted(one.name for one in folder.iterdir())
    content = {"written_by": f"mercer {__version__}", "files": names}
    write_file(folder / MARKER, (json.dumps(content, indent=2) + "\n").encode("utf-8"))


def _read_marker(folder: Path) -> set[str]:
    """Return the names of the files that mercer wrote to a folder, including the marker."""
    try:
        content = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return {MARKER, *content["files"]}
    except (OSError, ValueError, KeyError, TypeError):  # no marker, or a damaged one
        return {MARKER}


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, a terminal, or another device."""
    return path.exists() and not path.is_file() and not path.is_dir()


# --- writing ----------------------------------------------------------------------------------


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically: if this fails, the old content remains."""
    try:
        _write(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:  # raised by mercer, with the path
            raise
        name = "standard output" if str(path) == "-" else path
        raise OSError(f"{name} cannot be written: {error.strerror or error}") from error


def _write(path: Path, content: bytes) -> None:
    if str(path) == "-":
        sys.stdout.flush()
        rest = memoryview(content)
        while rest:  # an unbuffered stream (PYTHONUNBUFFERED) may write a part, without an error
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    elif is_special(path):  # a device or a named pipe must not be replaced
        path.write_bytes(content)
    else:
        with atomic_write(path) as file:
            file.write(content)


def encode_frame(frame: Any, suffix: str) -> bytes:
    """Encode a data frame in the format of a file name suffix; floats have all digits.

    In CSV and TSV files, formulas are escaped.
    """
    if suffix == ".parquet":
        return _parquet(frame)
    if suffix == ".npy":
        return _npy(frame)
    from mercer.tables.text_files import to_csv

    return to_csv(frame, separator="\t" if suffix == ".tsv" else ",").encode("utf-8")


def _parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise ModuleNotFoundError(
            "Writing Parquet needs pyarrow, which is not installed. Run: pip install mercer[io]",
            name="pyarrow",
        ) from error
    return buffer.getvalue()


def _npy(frame: Any) -> bytes:
    import numpy as np
    from pandas.api.types import is_numeric_dtype

    texts = [name for name in frame.columns if not is_numeric_dtype(frame[name].dtype)]
    if texts:
        raise ValueError(
            f"Column {texts[0]!r} is not numeric and cannot be written to an .npy file. Use .csv "
            "or .parquet."
        )
    buffer = io.BytesIO()
    np.save(buffer, frame.to_numpy(dtype=np.float64, na_value=np.nan), allow_pickle=False)
    return buffer.getvalue()
