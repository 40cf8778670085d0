"""Read files as data frames: CSV, TSV, Parquet, NPY and NPZ, from a path or a pipe.

The format is detected from the content, because a pipe has no name. Ambiguous files raise an error
with the line or the remedy; assumptions are recorded in notes.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, BinaryIO

import numpy as np

from mercer.formatting import format_names
from mercer.tables.compressed import expanded

__all__ = ["need_pandas", "read_frame"]

_SEPARATORS = (",", "\t", ";")  # ties are broken in this order
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_BINARY_CHECK = 1 << 16  # bytes
_HEADER_CHECK = 1 << 20  # characters
_LARGEST_FIELD = 1 << 27  # characters; the default of csv is 131,072
_FIELD_LIMIT_LOCK = RLock()


def read_frame(
    source: str | Path | BinaryIO,
    *,
    encoding: str = "utf-8",
    as_written: bool = False,
    max_bytes: int | None = None,
) -> tuple[Any, list[str]]:
    """Read a file as a data frame.

    Parameters
    ----------
    source : str, Path or binary file
        "-" is standard input.
    encoding : str
        Encoding of text files. A byte order mark takes precedence.
    as_written : bool
        Do not parse the cells of text files: "007", "NA" and "1.50" stay strings.
    max_bytes : int or None
        Largest size of a gzip, bzip2 or xz file after decompression.

    Returns
    -------
    frame : pandas.DataFrame
        Names of columns are distinct strings.
    notes : list of str
        Assumptions about the format, such as decimal commas.

    Examples
    --------
    >>> import io
    >>> frame, notes = read_frame(io.BytesIO(b"a;b\\n1,5;2\\n2,5;3\\n"))
    >>> frame["a"].tolist(), notes
    ([1.5, 2.5], ['numbers have decimal commas'])
    """
    need_pandas()
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
        frame = _text(name, content, encoding, notes, as_written)
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
        return name, expanded(name, source.read(), max_bytes)
    if str(source) == "-":
        return "standard input", expanded("standard input", sys.stdin.buffer.read(), max_bytes)
    path = Path(source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Pass one file in it.")
    return str(path), expanded(str(path), path.read_bytes(), max_bytes)


# --- binary formats --------------------------------------------------------------------------


def _parquet(name: str, content: bytes) -> Any:
    import pandas as pd

    try:
        return pd.read_parquet(io.BytesIO(content)).reset_index(drop=True)
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
    others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(
            f"{name} is an archive with files that are not arrays: {format_names(others, 5)}. "
            "Expected an archive written by numpy.savez."
        )
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if "X" not in tables and len(tables) != 1:
        raise ValueError(
            f"{name} should contain one array with 2 dimensions, or one named X. It contains "
            f"{', '.join(f'{key} {array.shape}' for key, array in arrays.items()) or 'none'}."
        )
    chosen = "X" if "X" in tables else tables[0]
    frame = _from_array(name, arrays[chosen])
    for key, array in arrays.items():
        if key != chosen and array.shape == (len(frame),):
            with _as_columns(name):
                frame.insert(len(frame.columns), key, array, allow_duplicates=True)
    return frame


# --- text ------------------------------------------------------------------------------------


def _text(name: str, content: bytes, encoding: str, notes: list[str], as_written: bool) -> Any:
    import pandas as pd

    text = _decoded(name, content, encoding)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of classic Mac OS
    separator = _find_separator(text)
    header = _header(name, text, separator)
    named = _are_names(header)
    if not named:
        notes.append("no header: the first line contains numbers, so columns are named x1, x2, …")
    options: dict[str, Any] = {
        "sep": separator,
        "header": 0 if named else None,
        "index_col": False,
        "low_memory": False,
        "skipinitialspace": True,
    }
    if as_written:
        options |= {"dtype": str, "keep_default_na": False}
    frame = _parsed(name, text, options)
    if not named:
        frame.columns = [f"x{j + 1}" for j in range(len(frame.columns))]
    if separator == ";" and not as_written and _has_decimal_commas(frame, pd):
        names = frame.columns
        frame = _parsed(name, text, {**options, "decimal": ","})
        frame.columns = names
        notes.append("numbers have decimal commas")
    if len(frame) and frame.iloc[:, -1].isna().any():
        _check_row_lengths(name, text, separator, len(header))
    repeated = [column for column, count in Counter(header).items() if named and count > 1]
    if repeated:
        notes.append(f"columns of the same name are numbered: {format_names(repeated, 5)}")
    return frame


def _decoded(name: str, content: bytes, encoding: str) -> str:
    for mark, marked in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            encoding = marked
    if b"\0" in content[:_BINARY_CHECK] and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise ValueError(
            f"{name} is not a table: it contains zero bytes, so it is not text. Binary files must "
            "be Parquet, NPY or NPZ."
        )
    try:
        return content.decode(encoding)
    except LookupError:
        raise ValueError(f"encoding={encoding!r} is unknown. Try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} is not text in {encoding}: line {line} contains the byte "
            f"0x{content[error.start]:02x}. Pass its encoding, for example latin-1."
        ) from error


def _find_separator(text: str) -> str:
    """Return the separator with the most fields in the header; quoted separators are ignored."""
    start = text[:_HEADER_CHECK]
    counts = {s: _count_fields(start, s, strict=True) for s in _SEPARATORS}
    if not any(counts.values()):  # malformed quotes
        counts = {s: _count_fields(start, s, strict=False) for s in _SEPARATORS}
    return max(_SEPARATORS, key=lambda separator: counts[separator])


def _count_fields(text: str, separator: str, strict: bool) -> int:
    """Return the number of fields in the header, or 0 if the separator splits a quoted field."""
    with _large_fields():
        rows = csv.reader(
            io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=strict
        )
        try:
            return len(next(row for row in rows if "".join(row).strip()))
        except (csv.Error, StopIteration):
            return 0


def _header(name: str, text: str, separator: str) -> list[str]:
    with _large_fields():
        rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        try:
            return [cell.strip() for cell in next(row for row in rows if row)]
        except (csv.Error, StopIteration) as error:
            raise ValueError(f"{name} has no readable header line: {error}.") from error


@contextmanager
def _large_fields() -> Iterator[None]:
    """Raise the global field size limit of the csv module temporarily."""
    with _FIELD_LIMIT_LOCK:
        limit = csv.field_size_limit(_LARGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _are_names(header: list[str]) -> bool:
    """Return whether the first line contains names: not only numbers, or a count from 0 or 1."""
    counted = [[str(first + j) for j in range(len(header))] for first in (0, 1)]
    return header in counted or not all(_is_number(cell) for cell in header)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parsed(name: str, text: str, options: dict[str, Any]) -> Any:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return pd.read_csv(io.StringIO(text), **options)
    except pd.errors.ParserWarning as error:
        _check_row_lengths(name, text, options["sep"], len(_header(name, text, options["sep"])))
        raise ValueError(f"{name} cannot be read as a table: {error}") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        _check_row_lengths(name, text, options["sep"], len(_header(name, text, options["sep"])))
        raise ValueError(
            f"{name} cannot be read as a table: {str(error).strip()}. Expected one header line and "
            "the same number of fields in every line."
        ) from error


def _check_row_lengths(name: str, text: str, separator: str, width: int) -> None:
    """Raise ValueError if a line and the header differ in length; pandas pads short lines."""
    with _large_fields():
        rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        try:
            for row in rows:
                if row and len(row) != width:
                    raise ValueError(
                        f"{name} cannot be read as a table: line {rows.line_num} has {len(row)} "
                        f"fields, but the header has {width}. Quote fields that contain the "
                        "separator."
                    )
        except csv.Error as error:
            raise ValueError(
                f"{name} cannot be read as a table: line {rows.line_num}: {error}."
            ) from error


def _has_decimal_commas(frame: Any, pd: Any) -> bool:
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            cells = frame[column].dropna().astype(str)
            if len(cells) and _DECIMAL_COMMA.fullmatch(cells.iloc[0]):
                return True
    return False


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
