"""Folders of Parquet or CSV parts: read lazily, written part by part, complete or not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from mercer.atomic_files import current_umask
from mercer.errors import MercerError
from mercer.maths.types import Array

__all__ = [
    "columns_of",
    "open_parts",
    "read_parts",
    "readable",
    "rows_of_frame",
    "write_frames",
    "write_parts",
]

_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


def read_parts(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """A lazy Dask data frame of a folder's Parquet or CSV parts, or of one file.

    Parameters
    ----------
    path : str or Path
        Parts are taken in the order of their names; files that begin with a dot or an underscore
        are not parts.
    columns : sequence of str or None
        Which columns; None for all that hold numbers.

    Returns
    -------
    dask.dataframe.DataFrame
    """
    frame = open_parts(path)
    if columns is None:
        columns = [name for name in frame.columns if frame.dtypes[name].kind in "iuf"]
        if not columns:
            raise ValueError(
                f"{path} has no column of numbers; it has: {', '.join(map(repr, frame.columns))}."
            )
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has: "
            f"{', '.join(map(repr, frame.columns))}."
        )
    return frame[list(columns)]


def open_parts(path: str | Path, *, encoding: str = "utf-8") -> Any:
    """A lazy Dask data frame with all columns of a folder's parts, or of one file.

    Parameters
    ----------
    path : str or Path
        As in :func:`read_parts`.
    encoding : str
        Of CSV parts.
    """
    import dask.dataframe as dd

    parts, kind = _parts_of(Path(path).absolute())  # workers may have other working folders
    names = [str(part) for part in parts]
    with readable(str(path)):
        if kind == "parquet":
            return dd.read_parquet(names)
        return dd.read_csv(names, encoding=encoding)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Say in words that parts cannot be read: the readers raise kinds of their own for that.

    Examples
    --------
    >>> with readable("parts"):
    ...     b"\\xe9".decode()
    Traceback (most recent call last):
        ...
    ValueError: parts cannot be read: 'utf-8' codec can't decode byte 0xe9 in position 0: ...
    """
    try:
        yield
    except Exception as error:
        if not _is_about_content(error):
            raise
        first = error.__cause__ or error  # Dask tells with which function it called pandas
        kind = "" if isinstance(first, ValueError | OSError) else f"{type(first).__name__}: "
        raise ValueError(
            f"{name} cannot be read: {kind}{str(first).strip().rstrip('.')}. Parts are Parquet "
            "files, or CSV with commas, one header line and the same number of fields in every "
            "line, in the encoding that is named (UTF-8 unless told)."
        ) from error


def _is_about_content(error: Exception) -> bool:
    """Whether a reader met something that it cannot read.

    Not so errors of ours, which say what they mean; nor those of the system and of the engine.
    """
    if isinstance(error, MercerError | MemoryError | ImportError):
        return False
    if type(error).__module__.partition(".")[0] in ("asyncio", "concurrent", "distributed"):
        return False
    if isinstance(error, OSError):
        return error.errno is None  # so pyarrow tells of damage
    return type(error) not in (ValueError, TypeError)


def rows_of_frame(frame: Any) -> Any:
    """A Dask array of a lazy data frame's rows: each chunk is the pandas frame of a partition.

    It is made for :func:`mercer.chunks.summed` and ``mapped``, whose functions then see whole
    rows with their names and types. Chunks have unknown sizes.
    """
    import dask.array as da

    frame = frame.optimize()
    sizes = (float("nan"),) * frame.npartitions
    return da.Array(frame.__dask_graph__(), frame._name, chunks=(sizes,), dtype=object)


def _parts_of(path: Path) -> tuple[list[Path], str]:
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}: name a folder of Parquet or CSV parts.")
    found = [path] if path.is_file() else sorted(path.iterdir())
    parts = [part for part in found if part.name[0] not in "._" and part.suffix in _ENDINGS]
    kinds = {_ENDINGS[part.suffix] for part in parts}
    if len(kinds) != 1:
        what = "both Parquet and CSV parts" if kinds else "no part that ends in .parquet or .csv"
        raise ValueError(f"{path} holds {what}; it should hold parts of one kind.")
    return parts, kinds.pop()


def write_parts(
    path: str | Path, columns: dict[str, Any], *, overwrite: bool = False
) -> tuple[int, int]:
    """Compute lazy columns and write them as Parquet parts, one per chunk.

    Parts are written to a folder beside the target, which takes its place when all are there: the
    target is complete or not there. A part that a lost worker began is written anew by another. The
    workers must see the folder (a shared file system, or one machine).

    Parameters
    ----------
    path : str or Path
        Folder to be made.
    columns : dict of str to dask.array.Array of shape (n,)
        With the same chunks; at least one.
    overwrite : bool
        Replace a folder that exists.

    Returns
    -------
    parts, rows : int
        How many were written.
    """
    arrays = list(columns.values())
    return write_frames(path, partial(_framed, list(columns)), arrays, overwrite=overwrite)


def write_frames(
    path: str | Path, frame: Callable[..., Any], columns: Sequence[Any], *, overwrite: bool = False
) -> tuple[int, int]:
    """Write ``frame(number, *pieces)``, a pandas data frame, of every chunk, numbered from 0.

    Else as :func:`write_parts`.

    Parameters
    ----------
    path : str or Path
    frame : callable
        To be pickled: a function of a module or a ``partial`` of one.
    columns : sequence of dask.array.Array
        With the same chunks.
    overwrite : bool
    """
    from mercer.chunks import dask_tasks

    target = Path(path).absolute()
    if target.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; name another folder, or pass overwrite=True.")
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        rows = dask_tasks.counted_parts(partial(_write_part, str(folder), frame), columns)
        folder.chmod(0o777 & ~current_umask())
        _move(folder, target)
    finally:
        _remove(folder)
    return len(columns[0].chunks[0]), rows


def _framed(names: list[str], number: int, *columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(zip(names, map(np.asarray, columns), strict=True)))


def _write_part(folder: str, make: Callable[..., Any], *pieces: Any) -> int:
    """Write one part under a name of its own, then move it to its place: twice does no harm."""
    *columns, number = pieces
    frame = make(number, *columns)
    temporary = Path(folder, f".part-{number:05d}-{uuid4().hex}")
    frame.to_parquet(temporary, index=False)
    os.replace(temporary, Path(folder, f"part-{number:05d}.parquet"))
    return len(frame)


def _move(folder: Path, target: Path) -> None:
    """Let the folder take the target's place; an earlier one is removed only then."""
    for stray in folder.glob(".part-*"):  # of workers that were lost while they wrote
        stray.unlink()
    if not target.exists():
        os.rename(folder, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-old-"))
    try:
        os.rename(target, old / "folder")
        os.rename(folder, target)
    except OSError:
        if (old / "folder").exists():
            os.rename(old / "folder", target)
        old.rmdir()
        raise
    shutil.rmtree(old)


def _remove(folder: Path) -> None:
    """Remove a folder into which tasks may still write: under another name they do not find it."""
    gone = folder.with_name(f"{folder.name}-gone")
    with suppress(FileNotFoundError):  # it has become the target
        os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


def columns_of(array: Array, prefix: str) -> dict[str, Any]:
    """Columns of a lazy array (n, k) by name: prefix1, prefix2 and so on.

    >>> sorted(columns_of(np.zeros((2, 2)), "component"))
    ['component1', 'component2']
    """
    return {f"{prefix}{i + 1}": array[:, i] for i in range(array.shape[1])}
