"""Tables for the command line: an embedded set by its name, or a text file; what was left out.

Only numeric columns and complete rows are analysed. Whatever is left out is listed with the reason,
so that nobody has to guess which data a result is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.maths.types import Array

__all__ = ["EMBEDDED", "Omission", "Table", "read_table"]

_FEWEST_ROWS = 3  # two centred components need three rows
_NO_LABEL = "no label"


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


@dataclass(frozen=True)
class Table:
    """Numbers ready for an estimator, with their history.

    Parameters
    ----------
    name : str
        Of the embedded set or of the file.
    X : array of shape (n, d)
        Finite numbers.
    columns : tuple of str
    labels : array of shape (n,) or None
        A class, or a number, per row.
    label : str or None
        Name of the column that the labels came from.
    rows_read : int
        Rows before incomplete ones were left out.
    omissions : tuple of Omission

    Examples
    --------
    >>> from mercer.tables import read_table
    >>> table = read_table("wine")
    >>> table.name, len(table.columns), table.rows_read
    ('wine', 13, 178)
    """

    name: str
    X: Array
    columns: tuple[str, ...]
    labels: Array | None
    label: str | None
    rows_read: int
    omissions: tuple[Omission, ...] = ()

    @property
    def rows_omitted(self) -> int:
        """Rows left out because a value was missing."""
        return self.rows_read - len(self.X)


def read_table(data: str | Path = "wine", *, label: str | None = None) -> Table:
    """Read an embedded set or a CSV/TSV file.

    Parameters
    ----------
    data : str or Path
        One of :data:`EMBEDDED`, or the path of a file with a header line (``.tsv`` and ``.tab``:
        separated by tabs; others: by commas or semicolons). A file that is called like an embedded
        set needs its folder: ``./wine``.
    label : str or None
        Column that holds classes: it colours pictures and is not analysed. Embedded sets know
        theirs.

    Examples
    --------
    >>> table = read_table("wine")
    >>> table.X.shape, table.label
    ((178, 13), 'class')
    """
    if str(data) in EMBEDDED:
        return _embedded(str(data), label)
    return _from_file(Path(data), label)


# --- embedded sets ---------------------------------------------------------------------------


def _embedded(name: str, label: str | None) -> Table:
    X, columns, labels = EMBEDDED[name](name)
    if label not in (None, "class"):
        raise ValueError(f"The embedded set {name!r} has one label column, 'class', no {label!r}.")
    return _complete(name, X, columns, labels, "class", ())


_Parts = tuple[Array, Sequence[str], Array]


def _from_sklearn(name: str) -> _Parts:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    return bunch.data, list(bunch.feature_names), bunch.target_names.astype(str)[bunch.target]


def _rings(name: str) -> _Parts:
    from mercer.datasets import make_rings

    X, part = make_rings(random_state=0)
    return X, ["x", "y"], np.array(["inner", "middle", "outer"])[part]


def _ring_and_blob(name: str) -> _Parts:
    from mercer.datasets import make_ring_and_blob

    X, part = make_ring_and_blob(random_state=0)
    return X, ["x", "y"], np.array(["ring", "blob"])[part]


EMBEDDED: dict[str, Callable[[str], _Parts]] = {
    "wine": _from_sklearn,
    "iris": _from_sklearn,
    "digits": _from_sklearn,
    "breast_cancer": _from_sklearn,
    "rings": _rings,
    "ring-and-blob": _ring_and_blob,
}


# --- files -----------------------------------------------------------------------------------


def _from_file(path: Path, label: str | None) -> Table:
    frame = _read_frame(path)
    names = [str(name) for name in frame.columns]
    frame.columns = names
    if label is not None and label not in names:
        raise ValueError(f"{path} has no column {label!r}; it has: {', '.join(names)}.")
    labels = None if label is None else _labels(frame[label])
    omissions = []
    numeric = []
    for name in names:
        if name == label:
            continue
        reason = _why_not_numeric(frame[name])
        if reason is None:
            numeric.append(name)
        else:
            omissions.append(Omission(name, reason))
    X = frame[numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    return _complete(path.name, X, numeric, labels, label, omissions)


def _read_frame(path: Path) -> Any:
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file {path}, nor an embedded set of that name; embedded are "
            f"{', '.join(EMBEDDED)}."
        )
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Reading a file needs pandas, which is not installed: pip install mercer[io]",
            name=error.name,
        ) from error
    separator = "\t" if {".tsv", ".tab"} & set(path.suffixes) else ","
    try:
        frame = pd.read_csv(path, sep=separator)
        if len(frame.columns) == 1 and ";" in str(frame.columns[0]):
            frame = pd.read_csv(path, sep=";")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} cannot be read as a table: {str(error).strip()}. Expected is text in UTF-8 "
            "with one header line and the same number of fields in every line."
        ) from error
    return frame


def _labels(column: Any) -> Array:
    """Numbers stay numbers where none is missing; anything else becomes text."""
    values: Array = column.to_numpy()
    if values.dtype.kind in "iuf" and not column.isna().any():
        return values
    return column.astype(object).where(column.notna(), _NO_LABEL).astype(str).to_numpy(dtype=str)


def _why_not_numeric(column: Any) -> str | None:
    from pandas import to_numeric
    from pandas.api.types import is_numeric_dtype

    if column.isna().all():
        return "no value in any row"
    if not is_numeric_dtype(column):
        values = column.dropna()
        strange = values[to_numeric(values, errors="coerce").isna()]
        return f"not numeric, for example {str(strange.iloc[0])[:30]!r}"
    return None


# --- both ------------------------------------------------------------------------------------


def _complete(
    name: str,
    X: Array,
    columns: Sequence[str],
    labels: Array | None,
    label: str | None,
    omissions: Sequence[Omission],
) -> Table:
    """Leave out columns that say nothing or too little, then rows that lack a value."""
    rows_read = len(X)
    finite = np.isfinite(X)
    left_out = list(omissions)
    use = np.zeros(len(columns), dtype=bool)
    for j, column in enumerate(columns):
        present = X[finite[:, j], j]
        if 2 * len(present) < rows_read:
            missing = rows_read - len(present)
            left_out.append(Omission(column, f"missing in {missing} of {rows_read} rows"))
        elif len(present) == 0 or (present == present[0]).all():
            left_out.append(Omission(column, "the same value in every row"))
        else:
            use[j] = True
    whole = finite[:, use].all(axis=1)
    if not use.any() or whole.sum() < _FEWEST_ROWS:
        reasons = "".join(f"\n  - {o.column}: {o.reason}" for o in left_out)
        raise ValueError(
            f"{name} leaves {use.sum()} numeric columns and {whole.sum()} complete rows of "
            f"{rows_read}; at least 1 column and {_FEWEST_ROWS} rows are needed. Left out:"
            f"{reasons or ' nothing'}"
        )
    return Table(
        name=name,
        X=X[np.ix_(whole, use)],
        columns=tuple(str(c) for c, used in zip(columns, use, strict=True) if used),
        labels=None if labels is None else labels[whole],
        label=label,
        rows_read=rows_read,
        omissions=tuple(left_out),
    )
