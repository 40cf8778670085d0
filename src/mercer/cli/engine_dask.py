"""The Dask engine for folders of Parquet or CSV files with numeric columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.engine import (
    Engine,
    UsableRows,
    add_row_numbers,
    check_label,
    check_new_names,
    join_columns,
    spread_rows,
)
from mercer.cli.errors import UsageError
from mercer.cli.options import Output, Reading
from mercer.cli.output_files import check_folder, write_marker
from mercer.data.dask import passes_for
from mercer.data.dask.cluster import connected, require_dask
from mercer.data.dask.files import write_frames
from mercer.data.dask.tasks import with_lengths
from mercer.tables.chunked_table import ChunkedRows, ChunkedTable, read_chunked_rows
from mercer.tables.chunked_table import usable as usable_mask
from mercer.tables.column_types import as_strings
from mercer.tables.number_formats import as_labels
from mercer.tables.table import labels_of

if TYPE_CHECKING:
    from mercer.cli.runner import Task
    from mercer.utils.types import Array

__all__ = ["DaskEngine"]

_TIMEOUT = "10s"  # of the connection to a scheduler


@dataclass(frozen=True)
class UsableChunks(UsableRows):
    """Usable rows of every partition.

    Attributes
    ----------
    columns : tuple of str
        Columns in which a usable row has no missing values.
    lengths, usable : tuple of int
        Numbers of rows and of usable rows of every partition.
    """

    columns: tuple[str, ...]
    lengths: tuple[int, ...]
    usable: tuple[int, ...]


class DaskEngine(Engine[ChunkedRows, UsableChunks]):
    """Process partitions where they are read; only summaries and models are sent.

    Parameters
    ----------
    data : str
        A folder, or one file.
    reading : Reading
    scheduler : str or None
        Address of a running scheduler; None uses threads of this process.
    """

    def __init__(self, data: str, reading: Reading, scheduler: str | None) -> None:
        super().__init__(data, reading)
        self.scheduler = scheduler
        if data == "-":
            raise UsageError("--engine dask cannot read standard input. Name a folder or a file.")
        rejected = [f"--categorical {name}" for name in reading.categorical]
        rejected += ["--missing keep"] if reading.missing == "keep" else []
        if rejected:
            raise UsageError(
                f"{rejected[0]} cannot be used with --engine dask, which needs complete rows of "
                "numeric columns."
            )

    def check_output(self, output: Output) -> None:
        """Accept folders that do not exist, are empty, or may be replaced."""
        out = output.out
        if str(out) == "-" or out.suffix.lower() in (".csv", ".tsv", ".npy"):
            raise UsageError(
                f"--out {out}: --engine dask writes a folder of Parquet files. Use --out FOLDER."
            )
        check_folder(out, Path(self.data), output.overwrite)

    @contextmanager
    def session(self, verbose: bool) -> Iterator[None]:
        """Connect to the scheduler, if there is one."""
        from mercer.utils.progress import show_progress

        require_dask("--engine dask")
        with show_progress(verbose):
            if self.scheduler is None:
                yield
                return
            with connected(self.scheduler, _TIMEOUT):
                yield

    def read(self, model: Any = None) -> ChunkedRows:
        """Read the names and types of the columns."""
        return read_chunked_rows(
            self.data, label=self.reading.label, encoding=self.reading.encoding
        )

    def select(self, rows: ChunkedRows, task: Task) -> ChunkedTable:
        """Select numeric columns and complete rows, with a label if the task learns classes."""
        if not task.fits_chunks:
            raise UsageError(
                f"{task.command} cannot be fitted with --engine dask. Fit it in memory to a "
                "subsample with --model, then use --apply with --engine dask."
            )
        check_label(rows.label, task)
        return rows.table(
            ignore=self.reading.ignore,
            include=self.reading.include,
            missing=self.reading.missing,
            labeled=task.learns_classes,
        )

    def fit(self, pipeline: Any, table: ChunkedTable, task: Task) -> Any:
        """Fit step by step; all steps but the last need only statistics of the table."""
        pipeline["columns"].fit(None)
        if "scale" in pipeline.named_steps:
            table.fit_scaler(pipeline["scale"])
        X = table.map_training_rows(pipeline[:-1].transform, np.empty((0, len(table.columns))))
        targets = None
        if task.learns_classes:
            targets = table.map_training_rows(
                partial(_targets, task, table.label), np.empty(0, dtype=str)
            )
        pipeline["model"].fit(_with_names(X, pipeline), targets)
        return pipeline

    def find_usable(
        self, rows: ChunkedRows, model: Any, table: ChunkedTable | None = None
    ) -> UsableChunks:
        """Count usable rows in a pass over the data, unless the model was fitted to all rows."""
        names = model["columns"].columns_
        if model["model"].kernel_.compares != "vectors":
            raise ValueError(
                "The model was fitted to a mixed table, and --engine dask needs numeric columns. "
                "Use --engine memory for each file."
            )
        absent = [name for name in names if name not in rows.frame.columns]
        if absent:
            raise ValueError(
                f"{rows.name} has no column {', '.join(map(repr, absent[:5]))}, which the model "
                "needs."
            )
        if table is not None and table.rows_omitted == 0 and table.labeled is None:
            lengths = usable = table.lengths
        else:
            lengths, usable = rows.counts(names)
        return UsableChunks(sum(lengths), sum(usable), tuple(names), lengths, usable)

    def apply(self, rows: ChunkedRows, usable: UsableChunks, model: Any, task: Task) -> Any:
        """Return lazy columns of the usable rows."""
        names = list(usable.columns)
        transform = partial(_transform, model[:-1], names)
        frames = _usable_frames(rows, usable)
        X = passes_for(frames).map(transform, frames, like=np.empty((0, len(names))))
        return task.columns(model, _with_names(X, model), self)

    def count_correct(
        self, rows: ChunkedRows, usable: UsableChunks, columns: Any, task: Task
    ) -> tuple[int, int]:
        """Compare predictions with the label column on the workers."""
        label = rows.label
        if label is None or label not in rows.frame.columns:
            return 0, 0
        count = partial(_count_correct, task, label, list(usable.columns))
        frames = _usable_frames(rows, usable)
        return passes_for(frames).sum(count, frames, columns["predicted"])

    def prepare_output(
        self, rows: ChunkedRows, usable: UsableChunks, columns: Any, output: Output, task: Task
    ) -> Callable[[], Any]:
        """Return a function that computes and writes one partition at a time."""
        if output.keep and not task.replaces:
            check_new_names(rows.name, columns, rows.frame.columns)
        starts = list(accumulate(usable.lengths, initial=0))
        frame = partial(_output_frame, list(columns), list(usable.columns), starts, output.keep)
        arrays = [_usable_frames(rows, usable), *columns.values()]
        return partial(_write, output, Path(self.data), frame, arrays)

    def map_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Return a lazy array."""
        return passes_for(*columns).map(function, *columns)

    def sum_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Compute the sum on the workers."""
        return passes_for(*columns).sum(function, *columns)


def _usable_frames(rows: ChunkedRows, usable: UsableChunks) -> Any:
    """Return the partitions as an array whose chunks have the lengths of the model's results."""
    return with_lengths(rows.chunks, usable.usable)


def _write(output: Output, data: Path, frame: Callable[..., Any], arrays: list[Any]) -> None:
    check_folder(output.out, data, output.overwrite)  # it may have changed during the fit
    write_frames(output.out, frame, arrays, overwrite=True, finish=write_marker)


def _with_names(X: Any, pipeline: Any) -> Any:
    """Set the column names as in memory, where only standardized rows are without names."""
    if "scale" not in pipeline.named_steps:
        X.columns = pipeline["columns"].columns_
    return X


# --- functions that run on workers ------------------------------------------------------------


def _transform(steps: Any, names: list[str], frame: Any) -> Array:
    return np.asarray(steps.transform(frame[usable_mask(names, None, frame)]), dtype=np.float64)


def _targets(task: Task, label: str | None, frame: Any) -> Any:
    return task.targets(labels_of(_labels(frame[label])), label)


def _labels(column: Any) -> Any:
    """Return labels as they are read in memory: as numbers if no labels are lost."""
    is_text = all(isinstance(cell, str) for cell in column.dropna())
    return as_labels(column) if is_text else column


def _count_correct(
    task: Task, label: str, names: list[str], frame: Any, predicted: Array
) -> tuple[int, int]:
    labels = as_strings(_labels(frame[label][usable_mask(names, None, frame)]))
    return task.count_correct(labels.to_numpy(), label, {"predicted": predicted})


def _output_frame(
    names: list[str],
    needed: list[str],
    starts: list[int],
    keep: bool,
    number: int,
    frame: Any,
    *columns: Array,
) -> Any:
    """Return the data frame that is written for one partition."""
    found = spread_rows(dict(zip(names, columns, strict=True)), usable_mask(needed, None, frame))
    texts = {name: "string" for name in found if found[name].dtype == object}
    found = found.astype(texts)  # even if all values are missing: partitions need equal types
    return join_columns(frame, found) if keep else add_row_numbers(found, starts[number])
