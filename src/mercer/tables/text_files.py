"""Read text files as data frames: CSV, TSV and the like.

pandas parses the cells. Where it cannot know the meaning of a cell, the cells as written decide:
labels stay strings, and so do identifiers such as 007 (see :mod:`mercer.tables.number_formats`).
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

from mercer.tables.number_formats import as_labels, columns_at, correct_numbers, with_booleans
from mercer.utils.formatting import format_names

__all__ = ["TextColumns", "read_text"]

_SEPARATORS = (",", "\t", ";", "|")  # ties are broken in this order
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_BINARY_CHECK = 1 << 16  # bytes
_HEADER_CHECK = 1 << 20  # characters
_ROWS_CHECK = 20  # whose numbers of fields are compared with the header
_LARGEST_FIELD = 1 << 27  # characters; the default of csv is 131,072
_FIELD_LIMIT_LOCK = RLock()


@dataclass(frozen=True)
class TextColumns:
    """Columns whose cells are not parsed; see :func:`mercer.tables.readers.read_frame`."""

    label: str | None = None
    categorical: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    as_written: bool = False


def read_text(
    name: str, content: bytes, encoding: str, columns: TextColumns, notes: list[str]
) -> Any:
    """Return the data frame of a text file; assumptions about its format are added to notes."""
    text = _decoded(name, content, encoding)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of classic Mac OS
    separator = _find_separator(text)
    header = _header(name, text, separator)
    named = _are_names(header)
    if not named:
        notes.append("no header: the first line contains numbers, so columns are named x1, x2, …")
    file = _TextFile(name, text, separator, named)
    frame = file.cells() if columns.as_written else file.parsed()
    if not named:
        frame.columns = [f"x{j + 1}" for j in range(len(frame.columns))]
    if len(frame) and frame.iloc[:, -1].isna().any():
        _check_row_lengths(name, text, separator, len(header))
    repeated = [column for column, count in Counter(header).items() if named and count > 1]
    if repeated:
        notes.append(f"columns of the same name are numbered: {format_names(repeated, 5)}")
    return frame if columns.as_written else _corrected(frame, file, columns, notes)


@dataclass(frozen=True)
class _TextFile:
    """A decoded text file."""

    name: str
    text: str
    separator: str
    named: bool

    def parsed(self) -> Any:
        """Return the cells as pandas parses them."""
        return self._read({})

    def cells(self, positions: Sequence[int] | None = None) -> Any:
        """Return the cells of some columns as strings; empty cells are empty strings."""
        return self._read({"dtype": str, "keep_default_na": False, "usecols": positions})

    def texts(self, positions: Sequence[int]) -> Any:
        """Return the cells of some columns as strings; empty cells, "NA" etc. are missing."""
        return self._read({"dtype": str, "usecols": positions})

    def _read(self, options: dict[str, Any]) -> Any:
        options |= {
            "sep": self.separator,
            "header": 0 if self.named else None,
            "index_col": False,
            "low_memory": False,
            "skipinitialspace": True,
        }
        return _parsed(self.name, self.text, options)


def _corrected(frame: Any, file: _TextFile, columns: TextColumns, notes: list[str]) -> Any:
    """Replace columns whose cells are not what pandas parses them as."""
    names = list(frame.columns)
    as_written = columns.categorical | {columns.label}
    labels = [i for i, name in enumerate(names) if name in as_written]
    texts = [i for i, name in enumerate(names) if name in columns.texts - as_written]
    new: dict[int, Any] = {}
    for i, cells in columns_at(file.cells, labels):
        column = with_booleans(cells.mask(cells == ""))
        new[i] = as_labels(column) if names[i] == columns.label else column
    for i, cells in columns_at(file.texts, texts):
        new[i] = with_booleans(cells)
    others = [i for i in range(len(names)) if i not in new]
    new |= correct_numbers(frame, others, file.text, file.separator, file.texts, notes)
    for i, column in new.items():
        frame.isetitem(i, column)
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
    """Return the separator with the most fields in the header; quoted separators are ignored.

    Separators for which the first rows have as many fields as the header take precedence.
    """
    start = text[:_HEADER_CHECK]
    if len(text) > len(start):
        start = start[: start.rfind("\n") + 1] or start  # the last line is incomplete
    widths = {s: _row_widths(start, s, strict=True) for s in _SEPARATORS}
    if not any(found[0] for found in widths.values()):  # malformed quotes
        widths = {s: _row_widths(start, s, strict=False) for s in _SEPARATORS}

    def preference(separator: str) -> tuple[bool, int, bool]:
        header, *rows = widths[separator]
        is_table = all(width == header for width in rows)
        return is_table and header > 1, header, is_table

    return max(_SEPARATORS, key=preference)


def _row_widths(text: str, separator: str, strict: bool) -> list[int]:
    """Return the numbers of fields of the first lines; 0 where the separator splits quotes."""
    widths: list[int] = []
    with _large_fields():
        rows = csv.reader(
            io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=strict
        )
        try:
            for row in rows:
                if "".join(row).strip():
                    widths.append(len(row))
                if len(widths) > _ROWS_CHECK:
                    break
        except csv.Error:
            widths.append(0)
    return widths or [0]


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
            frame = pd.read_csv(io.StringIO(text), **options)
            return frame.copy()  # one block per type; selecting from 100,000 blocks takes seconds
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
