"""Read files as data frames: CSV, TSV, Parquet, NPY and NPZ, from a path or a pipe.

The format is detected from the content, because a pipe has no name. Ambiguous files raise an error
with the line or the remedy; assumptions are recorded in notes. Files of embeddings have one vector
per row, and texts or image paths if there are any.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.tables.text_files import TextColumns, read_text
from mercer.utils.formatting import format_names
from mercer.utils.frames import as_frame
from mercer.utils.types import Array

__all__ = ["Embeddings", "need_pandas", "read_embeddings", "read_frame"]

_METHODS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_PREFERRED = ("X", "embeddings", "embedding", "features")


def read_frame(
    source: str | Path | BinaryIO,
    *,
    encoding: str = "utf-8",
    as_written: bool = False,
    label: str | None = None,
    categorical: Iterable[str] = (),
    texts: Iterable[str] = (),
    max_bytes: int | None = None,
) -> tuple[Any, list[str]]:
    """Return a file as a data frame with distinct names, and the assumptions about its format.

    "-" is standard input. A folder stands for the Parquet files in it. A byte order mark takes
    precedence over the encoding. In text files:

    - ``as_written`` leaves all cells as strings: "007", "NA" and "1.50";
    - cells of ``label`` stay strings unless they are numbers that are as distinct as the strings;
      only empty cells are missing;
    - cells of ``categorical`` columns stay strings; only empty cells are missing;
    - cells of ``texts`` stay strings; cells such as "NA" are missing.

    ``max_bytes`` limits the size of compressed files after decompression.

    >>> import io
    >>> frame, notes = read_frame(io.BytesIO(b"a;b\\n1,5;2\\n2,5;3\\n"))
    >>> frame["a"].tolist(), notes
    ([1.5, 2.5], ['numbers have decimal commas'])
    """
    need_pandas()
    if isinstance(source, str | Path) and Path(source).is_dir():
        return _parquet_parts(Path(source))
    name, content = _content(source, max_bytes)
    if not content.strip():
        raise ValueError(f"{name} is empty. Expected a header and data rows.")
    notes: list[str] = []
    if content.startswith(b"PAR1"):
        frame = _parquet(name, content)
    elif content.startswith(b"\x93NUMPY"):
        frame = _from_array(name, _load_arrays(name, content))
    elif content.startswith(b"PK\x03\x04"):
        frame = _from_arrays(name, _load_arrays(name, content))
    else:
        columns = TextColumns(label, frozenset(categorical), frozenset(texts), as_written)
        frame = read_text(name, content, encoding, columns, notes)
    frame.columns = _distinct_names([str(column) for column in frame.columns], notes)
    return frame, notes


def need_pandas() -> None:
    """Raise an error that names the extra to install if pandas is missing."""
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Tables need pandas, which is not installed: pip install mercer[io]",
            name=error.name,
        ) from error


def _content(source: str | Path | BinaryIO, max_bytes: int | None) -> tuple[str, bytes]:
    if not isinstance(source, str | Path):
        name = str(getattr(source, "name", "the file"))
        return name, _expanded(name, source.read(), max_bytes)
    if str(source) == "-":
        return "standard input", _expanded("standard input", sys.stdin.buffer.read(), max_bytes)
    path = Path(source)
    return str(path), _expanded(str(path), path.read_bytes(), max_bytes)


# --- binary formats --------------------------------------------------------------------------


def _parquet_parts(folder: Path) -> tuple[Any, list[str]]:
    """Return the rows of all Parquet files in a folder, in the order of the numbers in names."""
    import pandas as pd

    paths = [path for path in folder.glob("*.parquet") if path.is_file()]
    if not paths:
        raise IsADirectoryError(
            f"{folder} is a folder without Parquet files (*.parquet). Pass a file."
        )
    paths.sort(key=lambda path: [part.zfill(20) for part in re.split(r"(\d+)", path.name)])
    parts = [_parquet(str(path), path.read_bytes()) for path in paths]
    first = list(parts[0].columns)
    for path, part in zip(paths, parts, strict=True):
        if list(part.columns) != first:
            raise ValueError(
                f"{path} has other columns than {paths[0].name}: {format_names(list(part), 5)} "
                f"instead of {format_names(first, 5)}. Pass one of the files."
            )
    notes = [] if len(paths) == 1 else [f"the folder has {len(paths)} Parquet files"]
    frame = pd.concat(parts, ignore_index=True)
    frame.columns = _distinct_names([str(column) for column in frame.columns], notes)
    return frame, notes


def _parquet(name: str, content: bytes) -> Any:
    try:
        import pyarrow.parquet as pq

        return as_frame(pq.read_table(io.BytesIO(content))).reset_index(drop=True)
    except ImportError as error:
        raise ModuleNotFoundError(
            "Reading Parquet needs pyarrow, which is not installed: pip install mercer[io]",
            name="pyarrow",
        ) from error
    except Exception as error:  # pyarrow has its own exceptions for damaged files
        raise ValueError(f"{name} cannot be read as Parquet: {str(error).strip()}") from error


def _load_arrays(name: str, content: bytes) -> Any:
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except Exception as error:  # zip, header and pickle errors have many types
        raise ValueError(
            f"{name} cannot be read as arrays of numbers: {str(error).strip()}. Arrays of objects "
            "are not supported, because reading them could run code."
        ) from error


def _from_array(name: str, array: Any) -> Any:
    import pandas as pd

    if array.dtype.names:
        with _as_columns(name):
            return pd.DataFrame({field: array[field] for field in array.dtype.names})
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2:
        raise ValueError(
            f"{name} contains an array with {array.ndim} dimensions, but a table has 2."
        )
    with _as_columns(name):
        return pd.DataFrame(table, columns=[f"x{j + 1}" for j in range(table.shape[1])])


@contextmanager
def _as_columns(name: str) -> Iterator[None]:
    """Add the file name to errors from arrays that cannot be columns, such as very late dates."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} contains an array that cannot be a column: {error}.") from error


def _from_arrays(name: str, arrays: dict[str, Any]) -> Any:
    """Return the array "X" or the only 2-D array; append 1-D arrays of its length as columns."""
    chosen = _chosen_array(name, arrays)
    frame = _from_array(name, arrays[chosen])
    for key, array in arrays.items():
        if key != chosen and array.shape == (len(frame),):
            with _as_columns(name):
                frame.insert(len(frame.columns), key, array, allow_duplicates=True)
    return frame


def _chosen_array(name: str, arrays: dict[str, Any]) -> str:
    others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(
            f"{name} is an archive with files that are not arrays: {format_names(others, 5)}. "
            "Expected an archive written by numpy.savez."
        )
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if "X" in tables:
        return "X"
    if len(tables) != 1:
        raise ValueError(
            f"{name} should contain one array with 2 dimensions, or one named X. It contains "
            f"{_list_shapes(arrays)}."
        )
    return tables[0]


def _list_shapes(arrays: dict[str, Any]) -> str:
    return ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "nothing"


def _distinct_names(names: list[str], notes: list[str]) -> list[str]:
    """Number repeated names, as pandas does for text files."""
    if len(set(names)) == len(names):
        return names
    taken: set[str] = set()
    distinct = []
    for name in names:
        new, count = name, 0
        while new in taken:
            count += 1
            new = f"{name}.{count}"
        taken.add(new)
        distinct.append(new)
    notes.append("columns of the same name are numbered")
    return distinct


# --- compressed files -------------------------------------------------------------------------


def _expanded(name: str, content: bytes, largest: int | None = None) -> bytes:
    """Decompress gzip, bzip2 and xz; return other content unchanged.

    ``largest`` limits the size in bytes: a few kilobytes can expand to many gigabytes.
    """
    import lzma
    import zlib

    method = next((found for magic, found in _METHODS.items() if content.startswith(magic)), None)
    if method is None:
        return content
    if method == "zstd":
        raise ValueError(
            f"{name} is compressed with {method}, which is not supported. Decompress it first."
        )
    try:
        with _opened(content, method) as file:
            plain = _read_part(file, largest)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(
            f"{name} is compressed with {method}, but cannot be decompressed: {error}."
        ) from error
    if largest is not None and len(plain) > largest:
        raise ValueError(
            f"{name} would expand to more than {largest / 1e6:,.0f} MB, which is the limit. Use a "
            "part of it."
        )
    return plain


def _read_part(file: Any, largest: int | None) -> bytes:
    """Read a file, or a little more than ``largest`` bytes of it.

    ``file.read(largest)`` would allocate that many bytes for every file.
    """
    parts: list[bytes] = []
    size = 0
    while (largest is None or size <= largest) and (part := file.read(1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _opened(content: bytes, method: str) -> Any:
    import bz2
    import gzip
    import lzma

    openers: dict[str, Any] = {"gzip": gzip.GzipFile, "bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
    file = io.BytesIO(content)
    return openers[method](fileobj=file) if method == "gzip" else openers[method](file)


# --- embeddings -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors (a memory map for NPY files), and a text or image path per row."""

    vectors: Array
    captions: list[str] | None = None


def read_embeddings(path: str | Path) -> Embeddings:
    """Read embeddings from an NPY, NPZ, Parquet, CSV or TSV file.

    An NPZ file has one 2-D array of numbers (or one named X, embeddings, embedding or features),
    and may have a 1-D array of texts. A table has one column of lists or many numeric columns, and
    may have a column of texts, such as image paths. Other columns are not used.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Embeddings(_as_vectors(np.load(path, mmap_mode="r", allow_pickle=False), path))
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return _embeddings_of_arrays({name: arrays[name] for name in arrays.files}, path)
    if suffix in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        return _from_table(pq.read_table(path), path)
    if suffix in (".csv", ".tsv"):
        import pyarrow.csv as pv

        delimiter = "\t" if suffix == ".tsv" else ","
        options = pv.ParseOptions(delimiter=delimiter)
        return _from_table(pv.read_csv(path, parse_options=options), path)
    raise ValueError(
        f"{path} has the ending {suffix!r}; embeddings are read from .npy, .npz, .parquet, .csv "
        "and .tsv files."
    )


def _as_vectors(array: Any, path: Path) -> Array:
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{path} has an array of shape {array.shape} and type {array.dtype}; embeddings are a "
            "2-D array of numbers, one row per object."
        )
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _embeddings_of_arrays(arrays: dict[str, Array], path: Path) -> Embeddings:
    numeric = [name for name, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiu"]
    if not numeric:
        raise ValueError(f"{path} has no 2-D array of numbers; it has {_list_shapes(arrays)}.")
    chosen = next((name for name in _PREFERRED if name in numeric), numeric[0])
    vectors = _as_vectors(arrays[chosen], path)
    texts = [a for a in arrays.values() if a.shape == (len(vectors),) and a.dtype.kind in "SU"]
    return Embeddings(vectors, [str(text) for text in texts[0]] if texts else None)


def _from_table(table: Any, path: Path) -> Embeddings:
    from mercer.utils.frames import as_numbers

    columns: dict[str, list[Any]] = {"list": [], "number": [], "text": [], "other": []}
    for column in table.columns:
        columns[_arrow_kind(column.type)].append(column)
    captions = None
    if columns["text"]:
        captions = ["" if text is None else text for text in columns["text"][0].to_pylist()]
    if columns["list"]:
        return Embeddings(_as_vectors(as_numbers(columns["list"][0]), path), captions)
    if not columns["number"]:
        raise ValueError(f"{path} has neither a column of lists nor numeric columns.")
    return Embeddings(np.column_stack([c.to_numpy() for c in columns["number"]]), captions)


def _arrow_kind(arrow: Any) -> str:
    import pyarrow.types as types

    if types.is_list(arrow) or types.is_fixed_size_list(arrow) or types.is_large_list(arrow):
        return "list"
    if types.is_floating(arrow) or types.is_integer(arrow):
        return "number"
    return "text" if types.is_string(arrow) or types.is_large_string(arrow) else "other"
