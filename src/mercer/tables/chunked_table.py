"""Tables in chunks: columns and rows are selected as in memory, from statistics of Dask partitions.

Only columns of numbers are supported. Each partition is a pandas data frame on a worker, which
returns counts, bounds, means and standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.dask import passes_for
from mercer.data.dask.validation import Survey, combine_surveys
from mercer.tables.columns import (
    LARGEST_NUMBER,
    ColumnType,
    Omission,
    as_column_type,
    constant_column,
    counted_identifiers,
    find_omission_of_numbers,
    ignored_column,
    is_included,
    is_successor,
)
from mercer.tables.readers import need_pandas
from mercer.tables.table import (
    ACCEPTABLE_LOSS,
    Missing,
    SelectedTable,
    check_columns,
    check_enough_data,
)
from mercer.utils.types import Array

__all__ = ["ChunkedRows", "ChunkedTable", "read_chunked_rows"]


@dataclass(frozen=True, eq=False)
class ChunkedRows:
    """A table in partitions, with all rows and columns, as a Dask data frame."""

    name: str
    frame: Any
    label: str | None

    @cached_property
    def chunks(self) -> Any:
        """A Dask array whose chunks are pandas data frames, one per partition."""
        from mercer.data.dask.files import frame_chunks

        return frame_chunks(self.frame)

    def counts(self, usable: Callable[[Any], Array]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return per partition the number of rows, and of rows in the mask ``usable(frame)``."""
        count = partial(_counts, usable)
        found: list[tuple[int, int]] = self._sum(count, _concatenate)
        rows, complete = zip(*found, strict=True)
        return rows, complete

    def table(
        self,
        *,
        ignore: Iterable[str] = (),
        include: Iterable[str] = (),
        missing: Missing = "auto",
        labeled: bool = False,
    ) -> ChunkedTable:
        """Select columns and rows as :func:`~mercer.tables.as_table` does.

        Rows with missing values are dropped: by "auto" only if they are at most a fifth, and
        otherwise ValueError is raised. ``labeled`` selects only rows that have a class label.
        """
        ignored, included, names = list(ignore), list(include), list(self.frame.columns)
        required = [*([] if self.label is None else [self.label]), *ignored, *included]
        check_columns(self.name, names, required)
        candidates = [c for c in names if c != self.label and c not in ignored]
        self._check_numeric(candidates)
        label = self.label if labeled else None
        scan: _Scan = self._sum(partial(_Scan.of, candidates, label), _add_scans)
        found = scan.omissions(candidates, included)
        omissions = [*map(ignored_column, ignored), *found.values()]
        types: dict[str, ColumnType] = {c: "number" for c in candidates if c not in found}
        complete_in, survey, n = list(types), scan.survey, scan.rows
        check_enough_data(self.name, types, n, n, omissions)
        selected = [candidates.index(column) for column in types]
        if scan.missing[selected].any():
            survey = self._sum(partial(_complete_survey, complete_in, label), combine_surveys)
            dropped = n - int(survey.totals.total)
            _check_missing_values(self.name, candidates, scan, selected, dropped, missing)
            selected = list(range(len(complete_in)))
        for index, column in zip(list(selected), complete_in, strict=True):
            if survey.totals.total and survey.low[index] == survey.high[index]:
                omissions.append(constant_column(column, "complete row"))
                del types[column]
                selected.remove(index)
        check_enough_data(self.name, types, int(survey.totals.total), n, omissions)
        return ChunkedTable(
            name=self.name,
            column_types=types,
            label=self.label,
            rows_read=n,
            omissions=tuple(omissions),
            source=self,
            complete_in=tuple(complete_in),
            labeled=label,
            lengths=survey.lengths,
            mean=survey.mean[selected],
            deviation=survey.deviation[selected],
        )

    def _sum(self, function: Callable[[Any], Any], combine: Callable[[Any], Any]) -> Any:
        """Return the combined results of a function of all partitions."""
        from mercer.data.dask.files import readable

        with readable(self.name):
            return passes_for(self.chunks).sum(function, self.chunks, combine=combine)

    def _check_numeric(self, columns: list[str]) -> None:
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        for column in columns:
            dtype = self.frame.dtypes[column]
            if not is_numeric_dtype(dtype) or is_bool_dtype(dtype):
                raise ValueError(
                    f"{self.name} is processed in chunks, which supports only numbers, but "
                    f"column {column!r} has type {dtype}. Use --ignore or --label for this column, "
                    "encode it as numbers, or use the engine 'memory'."
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedTable(SelectedTable):
    """Selected columns of numbers in chunks, ready for an estimator.

    Training rows are those without missing values in the columns ``complete_in``, and with a class
    label in the column ``labeled``. ``lengths`` are their numbers by partition, ``mean`` and
    ``deviation`` their means and standard deviations by column.
    """

    source: ChunkedRows
    complete_in: tuple[str, ...]
    labeled: str | None
    lengths: tuple[int, ...]
    mean: Array
    deviation: Array

    @property
    def n(self) -> int:
        """Number of selected rows."""
        return sum(self.lengths)

    def map_training_rows(self, function: Any, like: Array) -> Any:
        """Return lazy results of a function of data frames, for the training rows."""
        from mercer.data.dask.tasks import with_lengths

        of_rows = partial(_apply_to_usable, function, list(self.complete_in), self.labeled)
        chunks = self.source.chunks
        return with_lengths(passes_for(chunks).map(of_rows, chunks, like=like), self.lengths)

    def fit_scaler(self, scaler: Any) -> Any:
        """Set the fitted attributes of a ``StandardScaler`` to those of the training rows."""
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
    """Open a folder of Parquet or CSV partitions, or one file; only column types are read."""
    need_pandas()
    from mercer.data.dask.files import open_parts

    return ChunkedRows(Path(path).name, open_parts(path, encoding=encoding, label=label), label)


# --- statistics of one partition ------------------------------------------------------------------


@dataclass(frozen=True)
class _Scan:
    """Statistics of the columns of some rows.

    The survey is invalid for columns with missing or too large values, which are replaced by 0. By
    column: numbers of missing values, largest absolute, first and last values, and whether each
    number is the previous one plus 1.
    """

    survey: Survey
    missing: Array
    largest: Array
    first: Array
    last: Array
    counts_rows: Array

    @classmethod
    def of(cls, columns: list[str], label: str | None, frame: Any) -> _Scan:
        """Scan one partition."""
        values = _numbers(frame if label is None else frame[frame[label].notna()], columns)
        is_missing, sizes = np.isnan(values), np.abs(values)
        edge = np.full(len(columns), np.nan)
        return cls(
            Survey.of(np.where(sizes <= LARGEST_NUMBER, values, 0.0)),
            is_missing.sum(axis=0),
            np.where(is_missing, 0.0, sizes).max(axis=0, initial=0.0),
            values[0] if len(values) else edge,
            values[-1] if len(values) else edge,
            np.asarray(is_successor(values[1:], values[:-1]).all(axis=0)),
        )

    @property
    def rows(self) -> int:
        return sum(self.survey.lengths)

    def __add__(self, other: _Scan) -> _Scan:
        survey = self.survey + other.survey
        if self.rows == 0 or other.rows == 0:
            return replace(other if self.rows == 0 else self, survey=survey)
        counts_rows = self.counts_rows & other.counts_rows & is_successor(other.first, self.last)
        largest = np.maximum(self.largest, other.largest)
        missing = self.missing + other.missing
        return _Scan(survey, missing, largest, self.first, other.last, counts_rows)

    def omissions(self, columns: list[str], include: list[str]) -> dict[str, Omission]:
        """Return the reasons not to analyze columns, by name."""
        is_plain = (self.missing == 0) & (self.largest <= LARGEST_NUMBER)
        constant = is_plain & (self.survey.low == self.survey.high)
        found = (
            find_omission_of_numbers(
                name,
                rows=self.rows,
                present=self.rows - int(self.missing[j]),
                is_constant=bool(constant[j]),
                counts_rows=bool(self.counts_rows[j]),
                largest=self.largest[j],
                identifies=counted_identifiers(
                    name, bool(self.counts_rows[j]), self.first[j], self.last[j], self.rows
                ),
            )
            for j, name in enumerate(columns)
        )
        return {one.column: one for one in found if one and not is_included(one, include)}


def _numbers(frame: Any, columns: list[str]) -> Array:
    """Return the columns as an array, with NaN for missing values."""
    check_columns("A partition", frame.columns, columns)
    cells = [as_column_type(frame[c], "number").to_numpy(dtype=np.float64) for c in columns]
    return np.column_stack(cells) if cells else np.empty((len(frame), 0))


def usable(columns: list[str], label: str | None, frame: Any) -> Array:
    """Return a mask of the rows without missing values in these columns and in the label column."""
    complete: Array = np.asarray(np.isfinite(_numbers(frame, columns)).all(axis=1))
    return complete if label is None else complete & frame[label].notna().to_numpy()


def _apply_to_usable(function: Any, columns: list[str], label: str | None, frame: Any) -> Array:
    rows = usable(columns, label, frame)
    return np.asarray(function(frame if rows.all() else frame[rows]))


def _counts(usable: Callable[[Any], Array], frame: Any) -> list[tuple[int, int]]:
    return [(len(frame), int(usable(frame).sum()))]


def _complete_survey(columns: list[str], label: str | None, frame: Any) -> Survey:
    return Survey.of(_numbers(frame[usable(columns, label, frame)], columns))


def _concatenate(parts: Sequence[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    return [counts for part in parts for counts in part]


def _add_scans(parts: Sequence[_Scan]) -> _Scan:
    return reduce(_Scan.__add__, parts)


def _check_missing_values(
    name: str, columns: list[str], scan: _Scan, selected: list[int], dropped: int, missing: Missing
) -> None:
    """Raise ValueError unless rows with missing values may be dropped."""
    if missing == "drop" or (missing == "auto" and dropped <= ACCEPTABLE_LOSS * scan.rows):
        return
    worst = max(selected, key=lambda index: int(scan.missing[index]))
    raise ValueError(
        f"{name} is processed in chunks, which supports only complete rows, but {dropped} of "
        f"{scan.rows} rows have missing values, most of them in column {columns[worst]!r} "
        f"({scan.missing[worst]}). Use --ignore for this column, or --missing drop."
    )
