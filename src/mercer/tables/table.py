"""Which columns and rows of a table are analysed, and what is left out, with the reason.

Nobody should have to guess which data a result is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from mercer.maths.types import Array
from mercer.tables.embedded import EMBEDDED, embedded_parts
from mercer.tables.kinds import ColumnKind, as_kind, kind_of, why_not
from mercer.tables.reading import need_pandas, read_frame

__all__ = [
    "ACCEPTABLE_LOSS",
    "Missing",
    "Omission",
    "Rows",
    "Selection",
    "Table",
    "as_table",
    "labels_of",
    "read_rows",
    "read_table",
    "refuse_too_little",
    "some_names",
]

#: What happens to rows in which a value is missing.
Missing = Literal["auto", "drop", "keep"]

#: Share of the rows of a table of numbers that may be lost for the sake of a simple kernel.
ACCEPTABLE_LOSS = 0.2

_FEWEST_ROWS = 3  # two centred components need three rows
#: Stands for a label that is missing.
NO_LABEL = "no label"
_NAMES_LISTED = 20


@dataclass(frozen=True)
class Omission:
    """A column that was left out, and why.

    Examples
    --------
    >>> from mercer.tables import Omission
    >>> Omission("name", "it holds no numbers")
    Omission(column='name', reason='it holds no numbers')
    """

    column: str
    reason: str


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as it was read: every row, every column.

    Parameters
    ----------
    name : str
        Of the embedded set or of the file.
    frame : pandas.DataFrame
    label : str or None
        The column of classes that was named, or that an embedded set has.
    notes : tuple of str
        What had to be guessed while reading.

    Examples
    --------
    >>> from mercer.tables import read_rows
    >>> read_rows("rings").frame.columns.tolist()
    ['x', 'y', 'class']
    """

    name: str
    frame: Any
    label: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection:
    """Which columns are analysed, and what was left out.

    Parameters
    ----------
    name : str
        Of the embedded set, the file or the folder.
    kinds : dict of str to str
        By column: "number", "date", "category" or "text".
    label : str or None
        Name of the column with classes.
    rows_read : int
    omissions : tuple of Omission
    notes : tuple of str
        What had to be guessed while reading.
    """

    name: str
    kinds: dict[str, ColumnKind]
    label: str | None
    rows_read: int
    omissions: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows that are analysed."""
        raise NotImplementedError

    @property
    def missing(self) -> dict[str, int]:
        """Cells that are missing in the rows analysed, by column, where there are any."""
        return {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are analysed."""
        return tuple(self.kinds)

    @property
    def rows_omitted(self) -> int:
        """Rows left out because a value was missing."""
        return self.rows_read - self.n

    @property
    def is_numeric(self) -> bool:
        """Whether all cells are numbers and none is missing."""
        return set(self.kinds.values()) == {"number"} and not self.missing


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Selection):
    """Columns ready for an estimator, with their history.

    Parameters
    ----------
    name : str
        Of the embedded set or of the file.
    kinds : dict of str to str
        By column that is analysed: "number", "date", "category" or "text".
    label : str or None
        Name of the column with classes.
    rows_read : int
    omissions : tuple of Omission
        Columns that were left out, and why.
    notes : tuple of str
        What had to be guessed while reading.
    frame : pandas.DataFrame
        The columns and rows that are analysed.
    labels : array of shape (n,) or None
        A class, or a number, per row.
    rows : int array of shape (n,)
        Their places among the rows that were read, from 0.

    Examples
    --------
    >>> from mercer.tables import read_table
    >>> table = read_table("wine")
    >>> table.name, table.frame.shape, table.rows_read, set(table.kinds.values())
    ('wine', (178, 13), 178, {'number'})
    """

    frame: Any
    labels: Array | None
    rows: Array

    @property
    def n(self) -> int:
        """Number of rows that are analysed."""
        return len(self.frame)

    @property
    def missing(self) -> dict[str, int]:
        """Cells that are missing in the rows analysed, by column, where there are any."""
        counts = self.frame.isna().sum()
        return {name: int(counts[name]) for name in self.columns if counts[name]}

    @property
    def X(self) -> Array:  # noqa: N802 - as everywhere
        """The numbers, where :attr:`is_numeric`."""
        if not self.is_numeric:
            raise ValueError(
                f"{self.name} has columns that are not numbers, or missing cells: use its frame."
            )
        numbers: Array = self.frame.to_numpy(dtype=np.float64)
        return numbers


def read_table(
    data: str | Path | BinaryIO = "wine",
    *,
    label: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Missing = "auto",
    encoding: str = "utf-8",
) -> Table:
    """Read an embedded set or a file, and decide what of it is analysed.

    Parameters
    ----------
    data : str, Path or binary file
        One of :data:`EMBEDDED`; or the path of a CSV, TSV, Parquet, NPY or NPZ file; or "-", the
        standard input. A file that is called like an embedded set needs its folder: ``./wine``.
    label : str or None
        Column that holds classes: it colours pictures and is not analysed. Embedded sets know
        theirs.
    ignore : iterable of str
        Columns to leave out.
    categorical : iterable of str
        Columns of numbers or texts that are names of categories.
    missing : {"auto", "drop", "keep"}
        Rows in which a value is missing are left out ("drop") or compared by what they have
        ("keep"). "auto" drops them from tables of numbers, unless that would lose a fifth of the
        rows, and keeps them in others.
    encoding : str
        Of text files.

    Examples
    --------
    >>> table = read_table("wine")
    >>> table.X.shape, table.label
    ((178, 13), 'class')
    """
    rows = read_rows(data, label=label, encoding=encoding)
    return as_table(
        rows.frame,
        name=rows.name,
        label=rows.label,
        ignore=ignore,
        categorical=categorical,
        missing=missing,
        notes=rows.notes,
    )


def read_rows(
    data: str | Path | BinaryIO,
    *,
    label: str | None = None,
    encoding: str = "utf-8",
    as_written: bool = False,
) -> Rows:
    """Read an embedded set or a file, all of it.

    Parameters
    ----------
    data, label, encoding
        As in :func:`read_table`.
    as_written : bool
        Leave the cells of text files as they are.

    Examples
    --------
    >>> from mercer.tables import read_rows
    >>> rows = read_rows("iris")
    >>> rows.frame.shape, rows.label
    ((150, 5), 'class')
    """
    need_pandas()
    import pandas as pd

    if not (isinstance(data, str) and data in EMBEDDED):
        name = _name(data)
        frame, notes = read_frame(data, encoding=encoding, as_written=as_written)
        return Rows(name, frame, label, tuple(notes))
    columns, classes = embedded_parts(data)
    frame = pd.DataFrame(columns)
    if classes is not None:
        frame["class"] = classes
        label = "class" if label is None else label
    return Rows(data, frame, label, ())


def _name(data: str | Path | BinaryIO) -> str:
    if not isinstance(data, str | Path):
        return str(getattr(data, "name", "table"))
    if str(data) == "-":
        return "standard input"
    if not Path(data).exists():
        raise FileNotFoundError(
            f"There is no file {data}, nor an embedded set of that name; embedded are "
            f"{', '.join(EMBEDDED)}."
        )
    return Path(data).name


def as_table(
    frame: Any,
    *,
    name: str = "table",
    label: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Missing = "auto",
    notes: Sequence[str] = (),
) -> Table:
    """Decide what of a data frame is analysed; the parameters are those of :func:`read_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2, 4, 8], "colour": ["red", "red", "blue", "blue"]})
    >>> as_table(frame).kinds
    {'size': 'number', 'colour': 'category'}
    """
    frame = frame.reset_index(drop=True)
    frame.columns = [str(column) for column in frame.columns]
    ignored, categories = list(ignore), list(categorical)
    for column in [*([] if label is None else [label]), *ignored, *categories]:
        if column not in frame.columns:
            raise ValueError(
                f"{name} has no column {column!r}; it has: {some_names(frame.columns)}."
            )
    labels = None if label is None else labels_of(frame[label])
    omissions = [Omission(column, "you left it out") for column in ignored]
    kinds: dict[str, ColumnKind] = {}
    cells: dict[str, Any] = {}
    for column in frame.columns:
        if column == label or column in ignored:
            continue
        kind, typed = _typed(frame[column], column in categories)
        reason = why_not(typed, kind, categories)
        if reason is None:
            kinds[column], cells[column] = kind, typed
        else:
            omissions.append(Omission(column, reason))
    rows = _rows(cells, len(frame), missing, all(kind == "number" for kind in kinds.values()))
    refuse_too_little(name, kinds, int(rows.sum()), len(frame), omissions)
    for column in [] if rows.all() else [c for c in kinds if cells[c][rows].nunique() < 2]:
        omissions.append(Omission(column, "the same value in every complete row"))
        del kinds[column], cells[column]
    refuse_too_little(name, kinds, int(rows.sum()), len(frame), omissions)
    return Table(
        name=name,
        frame=_frame(cells, rows),
        kinds=kinds,
        labels=None if labels is None else labels[rows],
        label=label,
        rows=np.flatnonzero(rows),
        rows_read=len(frame),
        omissions=tuple(omissions),
        notes=tuple(notes),
    )


def _typed(column: Any, is_category: bool) -> tuple[ColumnKind, Any]:
    kind: ColumnKind = "category" if is_category else kind_of(column)
    return kind, as_kind(column, kind)


def _frame(cells: dict[str, Any], rows: Array) -> Any:
    import pandas as pd

    return pd.DataFrame({name: column[rows] for name, column in cells.items()}).reset_index(
        drop=True
    )


def _rows(cells: dict[str, Any], n: int, missing: Missing, only_numbers: bool) -> Array:
    """Rows to analyse, as a mask."""
    if missing not in ("auto", "drop", "keep"):
        raise ValueError(f"missing={missing!r} must be 'auto', 'drop' or 'keep'.")
    gaps = np.zeros((n, 0), dtype=bool)
    if cells:
        gaps = np.column_stack([column.isna().to_numpy() for column in cells.values()])
    incomplete = gaps.any(axis=1)
    is_cheap = only_numbers and incomplete.sum() <= ACCEPTABLE_LOSS * n
    drop = missing == "drop" or (missing == "auto" and is_cheap)
    return np.logical_not(incomplete if drop else gaps.all(axis=1))


def refuse_too_little(
    name: str, kinds: dict[str, ColumnKind], rows: int, n: int, omissions: list[Omission]
) -> None:
    """Raise where no column, or next to no row of n, is left."""
    if kinds and rows >= _FEWEST_ROWS:
        return
    reasons = "".join(f"\n  - {o.column}: {o.reason}" for o in omissions[:_NAMES_LISTED])
    more = len(omissions) - _NAMES_LISTED
    raise ValueError(
        f"{name} leaves {len(kinds)} columns and {rows} rows of {n}; at least 1 column and "
        f"{_FEWEST_ROWS} rows are needed. Left out:{reasons or ' nothing'}"
        f"{f' and {more} more columns' if more > 0 else ''}"
    )


def labels_of(column: Any) -> Array:
    """Classes of a column: numbers, if none is missing, as they are; all else as text."""
    values: Array = column.to_numpy()
    if values.dtype.kind in "iuf" and not column.isna().any():
        return values
    cells = column.astype(object).where(column.notna(), NO_LABEL)
    return np.array([str(cell) for cell in cells], dtype=str)  # astype(str) would decode bytes


def some_names(names: Any) -> str:
    """Names, the first twenty of them if there are more."""
    shown = ", ".join(names[:_NAMES_LISTED])
    more = len(names) - _NAMES_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
