"""Tables in parts, on an engine: the same decisions as for a table in memory, made by sums.

Only numbers are compared there. A part is a pandas data frame where it lies; what leaves it are
counts, bounds, means and deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from mercer.chunks import passes_for
from mercer.chunks.survey import Survey, combine_surveys
from mercer.maths.types import Array
from mercer.tables.kinds import (
    LARGEST_NUMBER,
    ColumnKind,
    as_kind,
    each_is_one_more,
    why_not_numbers,
)
from mercer.tables.reading import need_pandas
from mercer.tables.table import (
    ACCEPTABLE_LOSS,
    Missing,
    Omission,
    Selection,
    refuse_too_little,
    some_names,
)

__all__ = ["ChunkedRows", "ChunkedTable", "read_chunked_rows", "usable"]


@dataclass(frozen=True, eq=False)
class ChunkedRows:
    """Parts as they lie in a folder: every row, every column.

    Parameters
    ----------
    name : str
        Of the folder or the file.
    frame : dask.dataframe.DataFrame
    label : str or None
        The column of classes that was named.
    """

    name: str
    frame: Any
    label: str | None

    @cached_property
    def pieces(self) -> Any:
        """A Dask array whose chunks are pandas data frames, one for each part."""
        from mercer.chunks.files import frame_chunks

        return frame_chunks(self.frame)

    def counts(self, columns: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Rows of every part, and those that have a number in all these columns."""
        look = partial(_counts, list(columns))
        found: list[tuple[int, int]] = self._summed(look, _in_a_row)
        rows, complete = zip(*found, strict=True)
        return rows, complete

    def table(
        self, *, ignore: Iterable[str] = (), missing: Missing = "auto", labelled: bool = False
    ) -> ChunkedTable:
        """Decide what is analysed; with ``labelled`` only rows that have a class.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = tempfile.TemporaryDirectory()
        >>> for part in (1, 2):
        ...     _ = Path(folder.name, f"{part}.csv").write_text(f"x,y\\n{part},0\\n{part},1\\n")
        >>> table = read_chunked_rows(folder.name).table()
        >>> table.n, table.kinds, table.mean.tolist()
        (4, {'x': 'number', 'y': 'number'}, [1.5, 0.5])
        >>> folder.cleanup()
        """
        ignored, names = list(ignore), list(self.frame.columns)
        for column in [*([] if self.label is None else [self.label]), *ignored]:
            if column not in names:
                raise ValueError(
                    f"{self.name} has no column {column!r}; it has: {some_names(names)}."
                )
        left = [column for column in names if column != self.label and column not in ignored]
        self._refuse_words(left)
        label = self.label if labelled else None
        scan: _Scan = self._summed(partial(_Scan.of, left, label), _joined_scans)
        omissions = [Omission(column, "you left it out") for column in ignored]
        kinds: dict[str, ColumnKind] = {}
        for column, reason in zip(left, scan.reasons(left), strict=True):
            if reason is None:
                kinds[column] = "number"
            else:
                omissions.append(Omission(column, reason))
        complete_in, survey, n = list(kinds), scan.survey, scan.rows
        refuse_too_little(self.name, kinds, n, n, omissions)
        kept = [left.index(column) for column in kinds]
        if scan.gaps[kept].any():
            look = partial(_complete_survey, complete_in, label)
            survey = self._summed(look, combine_surveys)
            _refuse_gaps(self.name, left, scan, kept, n - int(survey.total), missing)
            kept = list(range(len(complete_in)))
        for place, column in zip(list(kept), complete_in, strict=True):
            if survey.total and survey.low[place] == survey.high[place]:
                omissions.append(Omission(column, "the same value in every complete row"))
                del kinds[column]
                kept.remove(place)
        refuse_too_little(self.name, kinds, int(survey.total), n, omissions)
        return ChunkedTable(
            name=self.name,
            kinds=kinds,
            label=self.label,
            rows_read=n,
            omissions=tuple(omissions),
            source=self,
            complete_in=tuple(complete_in),
            labelled=label,
            lengths=survey.lengths,
            mean=survey.mean[kept],
            deviation=survey.deviation[kept],
        )

    def _summed(self, look: Callable[[Any], Any], combine: Callable[[Any], Any]) -> Any:
        """What is found out of all parts, together."""
        from mercer.chunks.files import readable

        with readable(self.name):
            return passes_for(self.pieces).sum(look, self.pieces, combine=combine)

    def _refuse_words(self, columns: list[str]) -> None:
        """Only numbers are compared in chunks."""
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        for column in columns:
            dtype = self.frame.dtypes[column]
            if not is_numeric_dtype(dtype) or is_bool_dtype(dtype):
                raise ValueError(
                    f"{self.name} is worked on in chunks, where only numbers are compared, and "
                    f"column {column!r} holds {dtype}: --ignore it, name it as --label, encode it "
                    "as numbers, or use the engine 'memory'."
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedTable(Selection):
    """Columns of numbers in chunks, ready for an estimator.

    Parameters
    ----------
    name, kinds, label, rows_read, omissions, notes
        As in :class:`~mercer.tables.table.Selection`.
    source : ChunkedRows
    complete_in : tuple of str
        Columns in which a row has to have numbers to be learnt from.
    labelled : str or None
        Column in which it has to have a class.
    lengths : tuple of int
        Rows to learn from, of every part.
    mean, deviation : arrays of shape (d,)
        Of these rows.
    """

    source: ChunkedRows
    complete_in: tuple[str, ...]
    labelled: str | None
    lengths: tuple[int, ...]
    mean: Array
    deviation: Array

    @property
    def n(self) -> int:
        """Number of rows that are analysed."""
        return sum(self.lengths)

    def learnt(self, function: Any, like: Array) -> Any:
        """Lazy results of a function of data frames, for the rows that are learnt from."""
        from mercer.chunks.tasks import with_lengths

        chosen = partial(_of_usable, function, list(self.complete_in), self.labelled)
        pieces = self.source.pieces
        return with_lengths(passes_for(pieces).map(chosen, pieces, like=like), self.lengths)

    def fit_scaler(self, scaler: Any) -> Any:
        """Let a ``StandardScaler`` know mean and deviation of all rows, as its ``fit`` would."""
        variance, rounding = self.deviation**2, self.n * np.finfo(np.float64).eps
        constant = variance <= rounding * variance + (rounding * self.mean) ** 2
        scaler.mean_, scaler.var_ = self.mean, variance
        scaler.scale_ = np.where(constant, 1.0, self.deviation)
        scaler.n_samples_seen_ = np.int64(self.n)
        scaler.n_features_in_ = len(self.columns)
        scaler.feature_names_in_ = np.array(self.columns, dtype=object)
        return scaler


def read_chunked_rows(
    path: str | Path, *, label: str | None = None, encoding: str = "utf-8"
) -> ChunkedRows:
    """Look at a folder of Parquet or CSV parts, or at one file; nothing is read yet but types."""
    need_pandas()
    from mercer.chunks.files import open_parts

    return ChunkedRows(Path(path).name, open_parts(path, encoding=encoding), label)


# --- what is found out of a part ------------------------------------------------------------------


@dataclass(frozen=True)
class _Scan:
    """Facts of the columns of some rows.

    Attributes
    ----------
    survey : Survey
        With 0 where a number is missing or too large; of no use for such columns.
    gaps : int array of shape (d,)
    largest : array of shape (d,)
        Of the absolute values.
    first, last : arrays of shape (d,)
    counts : bool array of shape (d,)
        Whether each number is the one before it, and one more.
    """

    survey: Survey
    gaps: Array
    largest: Array
    first: Array
    last: Array
    counts: Array

    @classmethod
    def of(cls, columns: list[str], label: str | None, frame: Any) -> _Scan:
        """Look at one part."""
        values = _numbers(frame if label is None else frame[frame[label].notna()], columns)
        gaps, sizes = np.isnan(values), np.abs(values)
        edge = np.full(len(columns), np.nan)
        return cls(
            Survey.of(np.where(sizes <= LARGEST_NUMBER, values, 0.0)),
            gaps.sum(axis=0),
            np.where(gaps, 0.0, sizes).max(axis=0, initial=0.0),
            values[0] if len(values) else edge,
            values[-1] if len(values) else edge,
            np.asarray(each_is_one_more(values[:-1], values[1:]).all(axis=0)),
        )

    @property
    def rows(self) -> int:
        return sum(self.survey.lengths)

    def __add__(self, other: _Scan) -> _Scan:
        survey = self.survey + other.survey
        if self.rows == 0 or other.rows == 0:
            some = other if self.rows == 0 else self
            return replace(some, survey=survey)
        steps = each_is_one_more(self.last, other.first)
        counts = self.counts & other.counts & steps
        largest = np.maximum(self.largest, other.largest)
        gaps = self.gaps + other.gaps
        return _Scan(survey, gaps, largest, self.first, other.last, counts)

    def reasons(self, columns: list[str]) -> list[str | None]:
        """Why columns are not analysed."""
        plain = (self.gaps == 0) & (self.largest <= LARGEST_NUMBER)
        constant = plain & (self.survey.low == self.survey.high)
        facts = zip(columns, self.gaps, constant, self.counts, self.largest, strict=True)
        return [
            why_not_numbers(name, self.rows, self.rows - int(gaps), bool(same), bool(counts), most)
            for name, gaps, same, counts, most in facts
        ]


def _numbers(frame: Any, columns: list[str]) -> Array:
    """The columns as an array, NaN where a number is missing."""
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise ValueError(
            f"A part has no column {absent[0]!r}; it has: {some_names(frame.columns)}."
        )
    cells = [as_kind(frame[column], "number").to_numpy(dtype=np.float64) for column in columns]
    return np.column_stack(cells) if cells else np.empty((len(frame), 0))


def usable(columns: list[str], label: str | None, frame: Any) -> Array:
    """Which rows of a part have all these numbers, and a class if one is needed."""
    whole: Array = np.asarray(np.isfinite(_numbers(frame, columns)).all(axis=1))
    return whole if label is None else whole & frame[label].notna().to_numpy()


def _of_usable(function: Any, columns: list[str], label: str | None, frame: Any) -> Array:
    rows = usable(columns, label, frame)
    return np.asarray(function(frame if rows.all() else frame[rows]))


def _counts(columns: list[str], frame: Any) -> list[tuple[int, int]]:
    return [(len(frame), int(usable(columns, None, frame).sum()))]


def _complete_survey(columns: list[str], label: str | None, frame: Any) -> Survey:
    return Survey.of(_numbers(frame[usable(columns, label, frame)], columns))


def _in_a_row(parts: Sequence[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    return [counts for part in parts for counts in part]


def _joined_scans(parts: Sequence[_Scan]) -> _Scan:
    return reduce(_Scan.__add__, parts)


def _refuse_gaps(
    name: str, columns: list[str], scan: _Scan, kept: list[int], lost: int, missing: Missing
) -> None:
    if missing == "drop" or (missing == "auto" and lost <= ACCEPTABLE_LOSS * scan.rows):
        return
    worst = max(kept, key=lambda place: int(scan.gaps[place]))
    raise ValueError(
        f"{name} is worked on in chunks, where only complete rows are compared: {lost} of "
        f"{scan.rows} rows have gaps, most of them in column {columns[worst]!r} "
        f"({scan.gaps[worst]}). --ignore it, or --missing drop learns from the others."
    )
