"""Selection of the columns and rows of a table that are analyzed, with a record of the others."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from mercer.data.points import require_memory
from mercer.tables.columns import (
    ColumnType,
    Omission,
    as_strings,
    as_typed_frame,
    constant_column,
    constant_columns,
    find_column_types,
    find_omissions,
    ignored_column,
)
from mercer.tables.readers import need_pandas, read_frame
from mercer.utils.formatting import format_names, shorten
from mercer.utils.frames import as_frame, check_distinct_names, is_frame
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = [
    "ACCEPTABLE_LOSS",
    "EMBEDDED",
    "Missing",
    "Rows",
    "SelectedTable",
    "Table",
    "as_table",
    "check_columns",
    "check_enough_data",
    "labels_of",
    "read_rows",
    "read_table",
]

#: What to do with rows that have missing values.
Missing = Literal["auto", "drop", "keep"]

#: Largest fraction of the rows that "auto" drops from a table of numbers.
ACCEPTABLE_LOSS = 0.2

_MIN_ROWS = 3  # two centered components need three rows


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as read, with all rows and columns.

    Parameters
    ----------
    name : str
        Name of the data set or of the file.
    frame : pandas.DataFrame
    label : str or None
        Column with class labels.
    notes : tuple of str
        Assumptions of the reader about the format.

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
class SelectedTable:
    """Selected columns and rows of a table; base class of tables in memory and in chunks.

    For the fields see :class:`Table`.
    """

    name: str
    column_types: dict[str, ColumnType]
    label: str | None
    rows_read: int
    omissions: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of selected rows."""
        raise NotImplementedError

    @property
    def missing(self) -> dict[str, int]:
        """Number of missing values in the selected rows, by column, if there are any."""
        return {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the selected columns."""
        return tuple(self.column_types)

    @property
    def rows_omitted(self) -> int:
        """Number of rows that are not selected because of missing values."""
        return self.rows_read - self.n

    @property
    def is_numeric(self) -> bool:
        """Whether all columns contain numbers and no value is missing."""
        return set(self.column_types.values()) == {"number"} and not self.missing


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(SelectedTable):
    """A table in memory, ready for an estimator, with a record of omitted columns and rows.

    Parameters
    ----------
    name : str
        Name of the data set or of the file.
    column_types : dict of str to str
        By selected column: "number", "date", "category" or "text".
    label : str or None
        Column with class labels.
    rows_read : int
    omissions : tuple of Omission
        Columns that are not selected.
    notes : tuple of str
        Assumptions of the reader about the format.
    categorical : tuple of str
        Columns that the user declared as categories.
    frame : pandas.DataFrame
        The selected columns and rows.
    labels : array of shape (n,) or None
        Class label (str) or number per row. Rows without a label have a placeholder.
    rows : int array of shape (n,)
        Indices of the selected rows among all rows that were read.
    has_label : bool array of shape (n,) or None
        Which rows have a label; by default all rows, if there are labels.

    Examples
    --------
    >>> from mercer.tables import read_table
    >>> table = read_table("wine")
    >>> table.name, table.frame.shape, table.rows_read, set(table.column_types.values())
    ('wine', (178, 13), 178, {'number'})
    """

    frame: Any
    labels: Array | None
    rows: Array
    has_label: Array | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and self.has_label is None:
            object.__setattr__(self, "has_label", np.ones(len(self.labels), dtype=bool))

    @property
    def n(self) -> int:
        """Number of selected rows."""
        return len(self.frame)

    @property
    def missing(self) -> dict[str, int]:
        """Number of missing values in the selected rows, by column, if there are any."""
        counts = self.frame.isna().to_numpy().sum(axis=0)
        return {self.columns[j]: int(counts[j]) for j in np.flatnonzero(counts)}

    @property
    def X(self) -> Array:  # noqa: N802 - as in scikit-learn
        """The numbers as an array, if :attr:`is_numeric`."""
        if not self.is_numeric:
            raise ValueError(
                f"{self.name} has columns that are not numbers, or missing values. Use its frame."
            )
        numbers: Array = self.frame.to_numpy(dtype=np.float64)
        return numbers


def read_table(
    data: str | Path | BinaryIO = "wine",
    *,
    label: str | None = None,
    ignore: Iterable[str] = (),
    include: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Missing = "auto",
    encoding: str = "utf-8",
) -> Table:
    """Read an embedded data set or a file, and select columns and rows.

    Parameters
    ----------
    data : str, Path or binary file
        One of :data:`EMBEDDED`; or the path of a CSV, TSV, Parquet, NPY or NPZ file; or "-" for
        standard input. For a file with the name of an embedded data set, add its folder:
        ``./wine``.
    label : str or None
        Column with class labels, which is not analyzed. Embedded data sets have a default. In
        text files only empty cells are missing labels; "NA" is a label. Labels are numbers if
        these are as distinct as the cells: 01, 1 and 001 are three labels.
    ignore : iterable of str
        Columns that are not analyzed.
    include : iterable of str
        Columns to analyze even if they look like identifiers, which are left out otherwise.
    categorical : iterable of str
        Columns of numbers or texts to treat as categories. In text files the cells are labels as
        they are written; only empty cells are missing.
    missing : {"auto", "drop", "keep"}
        "drop" removes rows with missing values. "keep" includes them; missing values are
        represented by the column's mean embedding. "auto" is "drop" for tables of numbers with
        at most a fifth of such rows, and "keep" otherwise.
    encoding : str
        Encoding of text files.

    Examples
    --------
    >>> table = read_table("wine")
    >>> table.X.shape, table.label
    ((178, 13), 'class')
    """
    categorical = list(categorical)
    rows = read_rows(data, label=label, categorical=categorical, encoding=encoding)
    return as_table(
        rows.frame,
        name=rows.name,
        label=rows.label,
        ignore=ignore,
        include=include,
        categorical=categorical,
        missing=missing,
        notes=rows.notes,
    )


def read_rows(
    data: str | Path | BinaryIO,
    *,
    label: str | None = None,
    categorical: Iterable[str] = (),
    texts: Iterable[str] = (),
    encoding: str = "utf-8",
    as_written: bool = False,
) -> Rows:
    """Read all rows and columns of an embedded data set or a file.

    Parameters
    ----------
    data, label, categorical, encoding
        As in :func:`read_table`.
    texts : iterable of str
        Other columns of text files whose cells are not numbers.
    as_written : bool
        Do not parse the cells of text files.

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
        frame, notes = read_frame(
            data,
            encoding=encoding,
            as_written=as_written,
            label=label,
            categorical=categorical,
            texts=texts,
        )
        return Rows(name, frame, label, tuple(notes))
    columns, classes = EMBEDDED[data](data)
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
            f"{data} was not found, and no embedded data set has that name. Embedded data sets: "
            f"{', '.join(EMBEDDED)}."
        )
    return Path(data).name


def as_table(
    frame: Any,
    *,
    name: str = "table",
    label: str | None = None,
    ignore: Iterable[str] = (),
    include: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Missing = "auto",
    notes: Sequence[str] = (),
) -> Table:
    """Select columns and rows of a data frame.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars or pyarrow. Column names are converted to strings and must be distinct.
    name : str
        Name of the table in messages.
    label, ignore, include, categorical, missing
        As in :func:`read_table`.
    notes : sequence of str
        Remarks to store with the table.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2, 4, 8], "color": ["red", "red", "blue", "blue"]})
    >>> as_table(frame).column_types
    {'size': 'number', 'color': 'category'}
    """
    frame = _with_string_names(frame, name)
    labels = [] if label is None else [label]
    ignored, included, categories = list(ignore), list(include), list(categorical)
    check_columns(name, frame.columns, [*labels, *ignored, *included, *categories])
    check_choice(missing, "missing", ("auto", "drop", "keep"))
    candidates = [column for column in frame.columns if column not in (*labels, *ignored)]
    types = find_column_types(frame[candidates], categories)
    typed = as_typed_frame(frame, types)
    numbers = typed[[column for column, kind in types.items() if kind == "number"]]
    notes = [*notes, *_notes_on_infinity(frame, numbers)]
    found = find_omissions(typed, types, categories, included)
    types = _without(types, found)
    rows = _selected_rows(typed[list(types)], missing, set(types.values()) <= {"number"})
    omissions = [*map(ignored_column, ignored), *found.values()]
    check_enough_data(name, types, int(rows.sum()), len(frame), omissions)
    typed = typed.loc[rows, list(types)].reset_index(drop=True)
    constant = set() if rows.all() else constant_columns(typed, types)
    if constant:
        omissions += [constant_column(c, "complete row") for c in types if c in constant]
        types = _without(types, constant)
        check_enough_data(name, types, int(rows.sum()), len(frame), omissions)
    return Table(
        name=name,
        frame=typed[list(types)],
        column_types=types,
        labels=None if label is None else labels_of(frame[label])[rows],
        has_label=None if label is None else frame[label].notna().to_numpy()[rows],
        label=label,
        rows=np.flatnonzero(rows),
        rows_read=len(frame),
        omissions=tuple(omissions),
        notes=tuple(notes),
        categorical=tuple(column for column in categories if column in types),
    )


def _notes_on_infinity(frame: Any, numbers: Any) -> list[str]:
    """Return a note if cells of columns of numbers are infinite; these count as missing."""
    lost = (frame[list(numbers)].notna() & numbers.isna()).sum()
    listed = [f"{name} ({count:,})" for name, count in lost[lost > 0].items()]
    return [f"infinite numbers in {', '.join(listed)} count as missing"] if listed else []


def _with_string_names(frame: Any, name: str) -> Any:
    require_memory(frame, "as_table")
    frame = as_frame(frame)
    if not is_frame(frame):
        raise TypeError(f"frame must be a data frame, not {type(frame).__name__}.")
    check_distinct_names(frame.columns, name)
    frame = frame.reset_index(drop=True)
    frame.columns = [str(column) for column in frame.columns]
    return frame


def _without(types: dict[str, ColumnType], omitted: Container[str]) -> dict[str, ColumnType]:
    return {column: kind for column, kind in types.items() if column not in omitted}


def check_columns(name: str, columns: Sequence[str], wanted: Iterable[str]) -> None:
    """Raise ValueError if a table does not have one of these columns."""
    for column in wanted:
        if column not in columns:
            raise ValueError(
                f"{name} has no column {column!r}. Its columns are: {format_names(columns, 20)}."
            )


def _selected_rows(frame: Any, missing: Missing, only_numbers: bool) -> Array:
    """Return a mask of the rows to analyze."""
    is_missing = frame.isna().to_numpy()
    incomplete = is_missing.any(axis=1)
    is_acceptable = only_numbers and incomplete.sum() <= ACCEPTABLE_LOSS * len(frame)
    drop = missing == "drop" or (missing == "auto" and is_acceptable)
    return np.logical_not(incomplete if drop else is_missing.all(axis=1))


def check_enough_data(
    name: str, columns: Mapping[str, ColumnType], rows: int, n: int, omissions: list[Omission]
) -> None:
    """Raise ValueError if no column, or fewer than three of n rows, are selected."""
    if columns and rows >= _MIN_ROWS:
        return
    reasons = "".join(f"\n  - {shorten(o.column)}: {o.reason}" for o in omissions[:20])
    more = len(omissions) - 20
    raise ValueError(
        f"{name} has {len(columns)} columns and {rows} of {n} rows that can be analyzed. At least "
        f"1 column and {_MIN_ROWS} rows are required. Omitted columns:{reasons or ' none'}"
        f"{f' and {more} more columns' if more > 0 else ''}"
    )


def labels_of(column: Any) -> Array:
    """Return the labels of a column: numbers if none is missing, strings otherwise.

    Missing labels get a placeholder that differs from all other labels.
    """
    if column.dtype.kind in "iuf" and not column.isna().any():
        numbers: Array = column.to_numpy(dtype=column.dtype.kind + "8")
        return numbers
    strings = as_strings(column).tolist()
    placeholder = "no label"
    while placeholder in strings:
        placeholder = f"({placeholder})"
    labels = [placeholder if label is None else label for label in strings]
    # An array of fixed width pads all labels to the longest one.
    is_short = max(map(len, labels), default=0) <= 100
    return np.array(labels, dtype=str if is_short else object)


# --- built-in data sets ----------------------------------------------------------------------

# Columns by name, and class labels (or None).
_Parts = tuple[dict[str, Array], Array | None]


def _from_sklearn(name: str) -> _Parts:
    import sklearn.datasets

    bunch: Any = getattr(sklearn.datasets, f"load_{name}")()
    columns = _by_name(bunch.data, bunch.feature_names)
    names = bunch.get("target_names")
    return columns, None if names is None else np.asarray(names).astype(str)[bunch.target]


def _rings(name: str) -> _Parts:
    from mercer.datasets import make_rings

    X, part = make_rings(random_state=0)
    return _by_name(X, ["x", "y"]), np.array(["inner", "middle", "outer"])[part]


def _ring_and_blob(name: str) -> _Parts:
    from mercer.datasets import make_ring_and_blob

    X, part = make_ring_and_blob(random_state=0)
    return _by_name(X, ["x", "y"]), np.array(["ring", "blob"])[part]


def _machines(name: str) -> _Parts:
    from mercer.datasets import make_machines

    columns, state = make_machines(random_state=0)
    return columns, state


def _by_name(X: Array, names: Sequence[str]) -> dict[str, Array]:
    return {str(name): np.asarray(X)[:, j] for j, name in enumerate(names)}


#: Name of a data set -> function that returns its columns and labels.
EMBEDDED: dict[str, Callable[[str], _Parts]] = {
    "wine": _from_sklearn,
    "iris": _from_sklearn,
    "digits": _from_sklearn,
    "breast_cancer": _from_sklearn,
    "diabetes": _from_sklearn,
    "rings": _rings,
    "ring-and-blob": _ring_and_blob,
    "machines": _machines,
}
