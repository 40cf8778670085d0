"""Files as data frames: CSV and TSV text, Parquet, NPY and NPZ; from a path or a pipe.

What a file is, its first bytes say, since a pipe has no name. Whatever cannot be read without a
guess is refused with the line or the remedy; what was guessed is told in notes.
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
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.tables.compressed import expanded

__all__ = ["need_pandas", "read_frame"]

_SEPARATORS = ("\t", ";", ",")
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_LOOK = 1 << 16  # bytes that tell a format
_FIELD = 1 << 27  # characters: csv's own limit of 131,072 is for other times


def read_frame(
    source: str | Path | BinaryIO, *, encoding: str = "utf-8", as_written: bool = False
) -> tuple[Any, list[str]]:
    """Read a table, and tell in notes what had to be guessed.

    Parameters
    ----------
    source : str, Path or binary file
        "-" is standard input.
    encoding : str
        Of text files. A byte order mark outranks it.
    as_written : bool
        Leave the cells of text files as they are: "007", "NA" and "1.50" stay.

    Returns
    -------
    frame : pandas.DataFrame
        Columns have different names, all of them strings.
    notes : list of str

    Examples
    --------
    >>> import io
    >>> frame, notes = read_frame(io.BytesIO(b"a;b\\n1,5;2\\n2,5;3\\n"))
    >>> frame["a"].tolist(), notes
    ([1.5, 2.5], ['numbers have decimal commas'])
    """
    need_pandas()
    name, content = _content(source)
    if not content.strip():
        raise ValueError(f"{name} is empty: expected is a header line and rows below it.")
    notes: list[str] = []
    if content.startswith(b"PAR1"):
        frame = _parquet(name, content)
    elif content.startswith(b"\x93NUMPY"):
        frame = _from_array(name, _load_arrays(name, content))
    elif content.startswith(b"PK\x03\x04"):
        frame = _from_arrays(name, _load_arrays(name, content))
    else:
        frame = _text(name, content, encoding, notes, as_written)
    frame.columns = _different_names([str(column) for column in frame.columns], notes)
    return frame, notes


def need_pandas() -> None:
    """Say which extra has pandas, where it is missing."""
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Tables need pandas, which is not installed: pip install mercer[io]",
            name=error.name,
        ) from error


def _content(source: str | Path | BinaryIO) -> tuple[str, bytes]:
    if not isinstance(source, str | Path):
        name = str(getattr(source, "name", "the file"))
        return name, expanded(name, source.read())
    if str(source) == "-":
        return "standard input", expanded("standard input", sys.stdin.buffer.read())
    path = Path(source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give one file in it.")
    return str(path), expanded(str(path), path.read_bytes())


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
    except Exception as error:  # pyarrow raises its own kinds for damaged files
        raise ValueError(f"{name} cannot be read as Parquet: {str(error).strip()}") from error


def _load_arrays(name: str, content: bytes) -> Any:
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except Exception as error:  # zip, header and pickle errors are of many kinds
        raise ValueError(
            f"{name} cannot be read as arrays of numbers: {str(error).strip()}. Arrays of objects "
            "are refused, since reading them could run code."
        ) from error


def _from_array(name: str, array: Any) -> Any:
    import pandas as pd

    if array.dtype.names:
        with _as_columns(name):
            return pd.DataFrame({field: array[field] for field in array.dtype.names})
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2:
        raise ValueError(f"{name} holds an array with {array.ndim} axes; a table has two.")
    with _as_columns(name):
        return pd.DataFrame(table, columns=[f"x{j + 1}" for j in range(table.shape[1])])


@contextmanager
def _as_columns(name: str) -> Iterator[None]:
    """Say so where pandas takes an array for no column: a date in the year 300,000, for example."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} holds an array that cannot be a column: {error}.") from error


def _from_arrays(name: str, arrays: dict[str, Any]) -> Any:
    """The table "X" (or the only one with two axes); arrays as long as it are columns more."""
    others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(
            f"{name} is an archive that holds other files than arrays: {_some(others)}. Expected "
            "is what numpy.savez writes."
        )
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    if "X" not in tables and len(tables) != 1:
        raise ValueError(
            f"{name} should hold one array with two axes, or one called X; it holds "
            f"{', '.join(f'{key} {array.shape}' for key, array in arrays.items()) or 'nothing'}."
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
        text = text.replace("\r", "\n")  # as old Macintosh programs end lines
    separator = _separator(text)
    header = _header(name, text, separator)
    named = _are_names(header)
    if not named:
        notes.append("the first line holds numbers, so columns are numbered and it is a row")
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
        _refuse_short_rows(name, text, separator, len(header))
    twice = [column for column, count in Counter(header).items() if named and count > 1]
    if twice:
        notes.append(f"columns of the same name are numbered: {_some(twice)}")
    return frame


def _decoded(name: str, content: bytes, encoding: str) -> str:
    for mark, kind in _MARKS.items():
        if content.startswith(mark):
            encoding = kind
    if b"\0" in content[:_LOOK] and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise ValueError(
            f"{name} is not a table: it holds zero bytes, so it is neither text nor one of the "
            "formats that are read (CSV, TSV, Parquet, NPY, NPZ)."
        )
    try:
        return content.decode(encoding)
    except LookupError:
        raise ValueError(f"encoding={encoding!r} is not known; try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} is not text in {encoding}: line {line} holds the byte "
            f"0x{content[error.start]:02x}. Name its encoding, for example latin-1."
        ) from error


def _separator(text: str) -> str:
    first = next((line for line in text.splitlines()[:100] if line.strip()), "")
    return max(_SEPARATORS, key=lambda mark: (first.count(mark), mark == ","))


def _header(name: str, text: str, separator: str) -> list[str]:
    csv.field_size_limit(_FIELD)
    rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    try:
        return [cell.strip() for cell in next(row for row in rows if row)]
    except (csv.Error, StopIteration) as error:
        raise ValueError(f"{name} has no header line that can be read: {error}.") from error


def _are_names(header: list[str]) -> bool:
    """Whether the first line names columns: not all numbers, or counted from 0 or 1."""
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
        _refuse_ragged_rows(name, text, options["sep"])
        raise ValueError(f"{name} cannot be read as a table: {error}") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        _refuse_ragged_rows(name, text, options["sep"])
        raise ValueError(
            f"{name} cannot be read as a table: {str(error).strip()}. Expected is text with one "
            "header line and the same number of fields in every line."
        ) from error


def _refuse_ragged_rows(name: str, text: str, separator: str) -> None:
    _refuse_short_rows(name, text, separator, len(_header(name, text, separator)))


def _refuse_short_rows(name: str, text: str, separator: str, width: int) -> None:
    """Raise where a line has more or fewer fields than the header: pandas fills up short ones."""
    rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    try:
        for row in rows:
            if row and len(row) != width:
                raise ValueError(
                    f"{name} cannot be read as a table: line {rows.line_num} has {len(row)} "
                    f"fields, the header has {width}. Every line needs the same number; quote "
                    "fields that hold the separator."
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


def _different_names(names: list[str], notes: list[str]) -> list[str]:
    """Number names that come twice; pandas has done so for text, but not for other formats."""
    if len(set(names)) == len(names):
        return names
    taken: set[str] = set()
    different = []
    for name in names:
        new, count = name, 0
        while new in taken:
            count += 1
            new = f"{name}.{count}"
        taken.add(new)
        different.append(new)
    notes.append("columns of the same name are numbered")
    return different


def _some(names: list[str], most: int = 5) -> str:
    shown = ", ".join(islice(names, most))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
