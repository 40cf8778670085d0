"""Folders of Parquet or CSV files: read lazily, written atomically, one file per chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from mercer.errors import MercerError
from mercer.utils.atomic_files import replace_folder, staging_folder
from mercer.utils.types import Array

__all__ = [
    "columns_of",
    "frame_chunks",
    "open_parts",
    "read_parts",
    "readable",
    "write_frames",
    "write_parts",
]

# The defaults of pandas.read_csv, which cannot be changed for one column only.
_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}


def read_parts(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """Return a lazy Dask data frame of a folder of Parquet or CSV files, or of one file.

    Parameters
    ----------
    path : str or Path
        Files are read in the order of their names; names that begin with a dot or an underscore are
        ignored.
    columns : sequence of str or None
        Names of columns; None for all numeric ones.

    Returns
    -------
    dask.dataframe.DataFrame
    """
    frame = open_parts(path)
    if columns is None:
        columns = [name for name in frame.columns if frame.dtypes[name].kind in "iuf"]
        if not columns:
            raise ValueError(
                f"{path} has no numeric column; it has: {', '.join(map(repr, frame.columns))}."
            )
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has: "
            f"{', '.join(map(repr, frame.columns))}."
        )
    return frame[list(columns)]


def open_parts(path: str | Path, *, encoding: str = "utf-8", label: str | None = None) -> Any:
    """Return a lazy Dask data frame with all columns of a folder of files, or of one file.

    In CSV files the cells of the column ``label`` stay strings; only empty cells are missing.
    """
    import dask.dataframe as dd

    parts, kind = _parts_of(Path(path).absolute())  # workers may use another working directory
    names = [str(part) for part in parts]
    with readable(str(path)):
        if kind == "parquet":
            return dd.read_parquet(names)
        options = {} if label is None else _label_options(names[0], encoding, label)
        return dd.read_csv(names, encoding=encoding, **options)


def _label_options(name: str, encoding: str, label: str) -> dict[str, Any]:
    """Return options of ``read_csv`` that keep the cells of one column as they are written."""
    import pandas as pd

    columns = pd.read_csv(name, encoding=encoding, nrows=0).columns
    missing = {column: [""] if column == label else _MISSING for column in columns}
    return {"dtype": {label: str}, "keep_default_na": False, "na_values": missing}


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Convert errors of file readers to ValueError with the name of the data."""
    try:
        yield
    except Exception as error:
        if not _is_about_content(error):
            raise
        first = error.__cause__ or error  # Dask wraps the error of pandas
        kind = "" if isinstance(first, ValueError | OSError) else f"{type(first).__name__}: "
        raise ValueError(
            f"{name} cannot be read: {kind}{str(first).strip().rstrip('.')}. Supported are "
            "Parquet, and CSV with commas, one header line and the same number of fields in every "
            "line, in the given encoding (default: UTF-8)."
        ) from error


def _is_about_content(error: Exception) -> bool:
    """Whether an error is about the content of a file, rather than about mercer, Dask or the OS."""
    if isinstance(error, MercerError | MemoryError | ImportError):
        return False
    if type(error).__module__.partition(".")[0] in ("asyncio", "concurrent", "distributed"):
        return False
    if isinstance(error, OSError):
        return error.errno is None  # pyarrow raises OSError without errno for damaged files
    return type(error) not in (ValueError, TypeError)


def frame_chunks(frame: Any) -> Any:
    """Return a Dask array whose chunks are the pandas partitions of a lazy data frame.

    Functions of :class:`mercer.data.dask.DaskPasses` then receive data frames. Chunk lengths are
    unknown.
    """
    import dask.array as da

    frame = frame.optimize()
    sizes = (float("nan"),) * frame.npartitions
    name = frame.__dask_keys__()[0][0]
    return da.Array(frame.__dask_graph__(), name, chunks=(sizes,), dtype=object)


def _parts_of(path: Path) -> tuple[list[Path], str]:
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}; pass a folder of Parquet or CSV files.")
    found = [path] if path.is_file() else sorted(path.iterdir())
    parts = [part for part in found if part.name[0] not in "._" and part.suffix in _ENDINGS]
    kinds = {_ENDINGS[part.suffix] for part in parts}
    if len(kinds) != 1:
        found_kinds = "both Parquet and CSV files" if kinds else "no .parquet or .csv file"
        raise ValueError(f"{path} contains {found_kinds}; it must contain files of one format.")
    return parts, kinds.pop()


def write_parts(
    path: str | Path, columns: dict[str, Any], *, overwrite: bool = False
) -> tuple[int, int]:
    """Compute lazy columns and write them as Parquet files, one per chunk.

    Files are written to a temporary folder next to the target, which is renamed when all are
    written, so the target is never incomplete. Replacing a folder takes two renames; if the process
    is killed between them, the next write next to the target restores the old folder. A file of a
    worker that died is written again by another. The workers must have access to the folder (a
    shared file system, or one machine).

    Parameters
    ----------
    path : str or Path
        Folder to create.
    columns : dict of str to dask.array.Array of shape (n,)
        With the same chunks; at least one.
    overwrite : bool
        Replace an existing folder.

    Returns
    -------
    parts, rows : int
        Numbers of files and rows written.
    """
    arrays = list(columns.values())
    return write_frames(path, partial(_as_frame, list(columns)), arrays, overwrite=overwrite)


def write_frames(
    path: str | Path,
    frame: Callable[..., Any],
    columns: Sequence[Any],
    *,
    overwrite: bool = False,
    finish: Callable[[Path], None] | None = None,
) -> tuple[int, int]:
    """Write a pandas data frame ``frame(i, *chunks)`` for every chunk i, as :func:`write_parts`.

    ``frame`` is pickled, so it must be a module-level function or a ``partial`` of one. ``finish``
    is called with the temporary folder when all files are written, before it is renamed.
    """
    from mercer.data.dask.tasks import write_chunks

    target = Path(os.path.realpath(path))
    if target.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; use another folder, or pass overwrite=True.")
    with staging_folder(target.parent) as staging:
        folder = staging / "new"
        folder.mkdir()
        try:
            rows = write_chunks(partial(_write_part, str(folder), frame), columns)
        except BaseException:
            os.rename(folder, staging / "failed")  # tasks that still run cannot write any more
            raise
        for incomplete in folder.glob(".part-*"):  # of workers that died while writing
            incomplete.unlink()
        if finish is not None:
            finish(folder)
        replace_folder(folder, target)
    return len(columns[0].chunks[0]), rows


def _as_frame(names: list[str], i: int, *columns: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(zip(names, map(np.asarray, columns), strict=True)))


def _write_part(folder: str, make: Callable[..., Any], *arguments: Any) -> int:
    """Write one file under a temporary name and rename it; repeating this is harmless."""
    *columns, i = arguments
    frame = make(i, *columns)
    temporary = Path(folder, f".part-{i:05d}-{uuid4().hex}")
    frame.to_parquet(temporary, index=False)
    os.replace(temporary, Path(folder, f"part-{i:05d}.parquet"))
    return len(frame)


def columns_of(array: Array, prefix: str) -> dict[str, Any]:
    """Return the columns of a lazy array (n, k) by name: prefix1, prefix2 and so on.

    >>> sorted(columns_of(np.zeros((2, 2)), "component"))
    ['component1', 'component2']
    """
    return {f"{prefix}{i + 1}": array[:, i] for i in range(array.shape[1])}
