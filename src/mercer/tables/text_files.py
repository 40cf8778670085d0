"""Text files: read as data frames (CSV, TSV and the like), and written as CSV.

pandas parses the cells, and decides by column whether they are numbers. Where it misreads them, the
cells as written decide: labels stay strings, and so do identifiers such as 007; integers above 2⁵³
keep their digits if a cell of their column is missing; decimal commas and thousands separators are
recognized.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any

import numpy as np

from mercer.utils.formatting import format_names

__all__ = ["TextColumns", "as_labels", "escape_formula", "read_text", "to_csv"]

_SEPARATORS = (",", "\t", ";", "|")  # ties are broken in this order
_JSON = re.compile(r'\s*(\{\s*"|\[\s*[{\[])')
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_FIELD_LIMIT_LOCK = RLock()

_IDENTIFIER = r"\s*0\d+\s*"
_EXPONENT = r"(?:[eE][-+]?\d+)?\s*"
# 1234,5 and 1.234,5 and 1 234,5
_DECIMAL_COMMA = rf"\s*[-+]?(?:\d+|\d{{1,3}}(?:[.\s']\d{{3}})+)(?:,\d+)?{_EXPONENT}"
# 1234.5 and 1,234.5
_THOUSANDS_COMMA = rf"\s*[-+]?(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d+)?{_EXPONENT}"
_BOOLEANS = {
    spelling: name for name in ("True", "False") for spelling in (name, name.lower(), name.upper())
}

# A second apostrophe keeps cells apart that differ in their apostrophe only.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_HARMLESS = re.compile(r"[-+]?(\d+([.,]\d+)*(e[-+]?\d+)?)?", re.IGNORECASE | re.ASCII)


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
    if _JSON.match(text):
        raise ValueError(
            f"{name} is JSON, not a text file with a line per row. Convert it to CSV or Parquet, "
            "for example with pandas.read_json."
        )
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of classic Mac OS
    separator = _find_separator(text)
    header = _header(name, text, separator)
    named = _are_names(header)
    file = _TextFile(name, text, separator, named)
    frame = file.cells() if columns.as_written else file.parsed()
    if len(frame) and frame.iloc[:, -1].isna().any():
        _check_row_lengths(name, text, separator, len(header))
    repeated = [column for column, count in Counter(header).items() if count > 1]
    if not named:
        notes.append("no header: the first line contains numbers, so columns are named x1, x2, …")
        frame.columns = [f"x{j + 1}" for j in range(len(frame.columns))]
    elif repeated:
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

    def has_odd_numbers(self) -> bool:
        """Return whether a cell begins with a zero and a digit, or has more than 15 digits."""
        odd = rf"(?:^|[\"{re.escape(self.separator)}])[ \t]*(?:0\d|[-+]?\d{{16}})"
        return re.search(odd, self.text, re.MULTILINE) is not None

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
    for i, cells in _columns_at(file.cells, labels):
        column = _with_booleans(cells.mask(cells == ""))
        new[i] = as_labels(column) if names[i] == columns.label else column
    for i, cells in _columns_at(file.texts, texts):
        new[i] = _with_booleans(cells)
    others = [i for i in range(len(names)) if i not in new]
    new |= _correct_numbers(frame, others, file, notes)
    for i, column in new.items():
        frame.isetitem(i, column)
    return frame


def _decoded(name: str, content: bytes, encoding: str) -> str:
    for mark, marked in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            encoding = marked
    if b"\0" in content[: 1 << 16] and not encoding.lower().startswith(("utf-16", "utf-32")):
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
    start = text[: 1 << 20]
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
                if len(widths) > 20:
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
        limit = csv.field_size_limit(1 << 27)  # characters; the default is 131,072
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


# --- cells that pandas misreads --------------------------------------------------------------


@dataclass(frozen=True)
class _ColumnRule:
    """A format of the cells of a column.

    ``matches`` is called with the cells that are not missing, ``parse`` with all cells, as strings.
    """

    matches: Callable[[Any], bool]
    parse: Callable[[Any], Any]


def _all_match(pattern: str, character: str = "") -> Callable[[Any], bool]:
    """Return a test whether all cells match, and at least one contains a character."""

    def matches(cells: Any) -> bool:
        return bool(
            cells.str.contains(character, regex=False).any() and cells.str.fullmatch(pattern).all()
        )

    return matches


def _parse_number(thousands: str, decimal: str, cells: Any) -> Any:
    """Return numbers without their thousands separators."""
    import pandas as pd

    plain = cells.str.replace(thousands, "", regex=True).str.replace(decimal, ".", regex=False)
    return pd.to_numeric(plain.str.strip())


def _parse_integer(cells: Any) -> Any:
    """Return integers exactly, also if a cell is missing; strings if they are too large."""
    import pandas as pd

    numbers = pd.to_numeric(cells, dtype_backend="numpy_nullable")
    return numbers if numbers.dtype.kind in "iu" else cells


_with_decimal_comma = partial(_parse_number, r"[.\s']", ",")
_DECIMAL_COMMAS = _ColumnRule(_all_match(_DECIMAL_COMMA, ","), _with_decimal_comma)
_THOUSANDS_POINTS = _ColumnRule(_all_match(_DECIMAL_COMMA, "."), _with_decimal_comma)
_THOUSANDS_COMMAS = _ColumnRule(_all_match(_THOUSANDS_COMMA, ","), partial(_parse_number, ",", "."))
_IDENTIFIERS = _ColumnRule(lambda cells: bool(cells.str.fullmatch(_IDENTIFIER).any()), lambda c: c)
_INTEGERS = _ColumnRule(_all_match(r"\s*[-+]?\d+\s*"), _parse_integer)


def _first_rule(rules: Sequence[_ColumnRule], cells: Any) -> _ColumnRule | None:
    """Return the first rule that a column matches."""
    present = cells.dropna()
    return next((rule for rule in rules if rule.matches(present)), None)


def _correct_numbers(
    frame: Any, positions: Sequence[int], file: _TextFile, notes: list[str]
) -> dict[int, Any]:
    """Return columns that replace those which pandas misreads, by position."""
    kinds = [dtype.kind for dtype in frame.dtypes]
    strings = _string_columns(frame, positions)
    commas = _comma_rules(strings.values(), file.separator, "f" in kinds)
    rules = {i: _first_rule(commas, cells) for i, cells in strings.items()}
    others = [_IDENTIFIERS]
    suspects = "iuf" if file.has_odd_numbers() else ""
    if _DECIMAL_COMMAS in rules.values():
        others = [_THOUSANDS_POINTS, _IDENTIFIERS]  # 1.234 can be 1234
        suspects = suspects or "f"
    numeric = [i for i in positions if kinds[i] in suspects]
    written = strings | dict(_columns_at(file.texts, numeric))
    for i, cells in written.items():
        integers = [_INTEGERS] if kinds[i] == "f" else []
        rules[i] = rules.get(i) or _first_rule([*others, *integers], cells)
    found = {i: rule for i, rule in sorted(rules.items()) if rule is not None}
    notes += _describe_rules({frame.columns[i]: rule for i, rule in found.items()})
    return {i: rule.parse(written[i]) for i, rule in found.items()}


def _describe_rules(rules: dict[str, _ColumnRule]) -> list[str]:
    notes = ["numbers have decimal commas"] if _DECIMAL_COMMAS in rules.values() else []
    thousands = (_THOUSANDS_POINTS, _THOUSANDS_COMMAS)
    names = [name for name, rule in rules.items() if rule in thousands]
    if names:
        listed = format_names(names, 5)
        notes.append(f"thousands separators are removed from the numbers in {listed}")
    return notes


def _comma_rules(columns: Iterable[Any], separator: str, has_points: bool) -> list[_ColumnRule]:
    """Return the rules for numbers with commas; the first one that a column matches applies.

    Cells such as 1,234 fit both rules. Then the other columns decide; without any, commas are
    decimal unless they are also the separator of the file.
    """
    if separator == "," and has_points:
        return [_THOUSANDS_COMMAS]
    both = (_DECIMAL_COMMAS, _THOUSANDS_COMMAS)
    fits = {tuple(rule.matches(cells.dropna()) for rule in both) for cells in columns}
    if (True, False) in fits or (separator != "," and (False, True) not in fits):
        return [_DECIMAL_COMMAS, _THOUSANDS_COMMAS]
    return [_THOUSANDS_COMMAS, _DECIMAL_COMMAS]


def _string_columns(frame: Any, positions: Sequence[int]) -> dict[int, Any]:
    """Return the columns with strings only, unlike booleans with missing values."""
    columns = {i: frame.iloc[:, i] for i in positions if frame.dtypes.iloc[i].kind not in "biufc"}
    return {
        i: column
        for i, column in columns.items()
        if all(isinstance(cell, str) for cell in column.dropna())
    }


def _columns_at(
    read: Callable[[Sequence[int]], Any], positions: Sequence[int]
) -> Iterator[tuple[int, Any]]:
    """Yield each position with its column of the data frame that ``read(positions)`` returns."""
    if positions:
        frame = read(positions)
        for j, i in enumerate(positions):
            yield i, frame.iloc[:, j]


def _with_booleans(cells: Any) -> Any:
    """Write booleans as Python does if all cells are booleans, so that files can be compared."""
    present = cells.dropna()
    if len(present) and present.isin(list(_BOOLEANS)).all():
        return cells.map(_BOOLEANS)
    return cells


def as_labels(cells: Any) -> Any:
    """Return labels as numbers if these are as distinct as the strings, else as strings."""
    import pandas as pd

    present = cells.dropna()
    if not len(present) or present.str.fullmatch(_IDENTIFIER).any():
        return cells
    try:
        numbers = pd.to_numeric(cells, dtype_backend="numpy_nullable")
    except (ValueError, TypeError):
        return cells
    values = numbers.dropna().to_numpy()
    if values.dtype.kind not in "iuf" or len(values) < len(present):
        return cells
    if values.dtype.kind == "f" and not (np.abs(values) < 2.0**53).all():
        return cells  # integers that floats cannot distinguish, or infinity
    return numbers if numbers.nunique() == present.nunique() else cells


# --- CSV output --------------------------------------------------------------------------------


def escape_formula(cell: Any) -> Any:
    """Return a text that would be a formula with a leading apostrophe; other cells unchanged.

    Formulas begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers are not
    changed, also if they are text, such as the class labels "+1" and "-1".

    >>> [escape_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-1", -1.5, "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1', -1.5, 'a=b']
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _HARMLESS.fullmatch(cell):
        return f"'{cell}"
    return cell


def to_csv(frame: Any, *, separator: str = ",", float_format: str | None = None) -> str:
    """Return a data frame as CSV, without its index; texts and names of columns are escaped.

    >>> import pandas as pd
    >>> print(to_csv(pd.DataFrame({"x": [-1.5], "label": ["=A1"]})), end="")
    x,label
    -1.5,'=A1
    """
    escaped = frame.copy(deep=False)
    for i, (_, column) in enumerate(frame.items()):
        if column.dtype.kind == "O":  # objects, strings and categories
            escaped.isetitem(i, column.astype(object).map(escape_formula))
    escaped.columns = [escape_formula(name) for name in frame.columns]
    text: str = escaped.to_csv(
        index=False, sep=separator, float_format=float_format, lineterminator="\n"
    )
    return text
