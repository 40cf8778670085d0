"""The engine for tables that fit in memory, with any file format and column type."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

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
from mercer.cli.options import SUFFIXES, Output
from mercer.cli.output_files import check_file, encode_frame, is_special, write_file

if TYPE_CHECKING:
    from mercer.cli.runner import Task
    from mercer.tables import Rows, Table
    from mercer.utils.types import Array

__all__ = ["MemoryEngine", "open_data"]


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """A table in memory, and where it was read from."""

    rows: Rows
    source: str | BinaryIO

    @property
    def name(self) -> str:
        """Name of the file or the embedded data set."""
        return self.rows.name


@dataclass(frozen=True, eq=False)
class UsableMask(UsableRows):
    """Usable rows as a Boolean array."""

    mask: Array


class MemoryEngine(Engine[LoadedRows, UsableMask]):
    """Load the whole table."""

    def check_output(self, output: Output) -> None:
        """Accept files of known formats, standard output and devices."""
        suffix = output.out.suffix.lower()
        if str(output.out) != "-" and suffix not in SUFFIXES and not is_special(output.out):
            raise UsageError(
                f"--out {output.out}: the file name must end in {', '.join(SUFFIXES)}. Use - for "
                "standard output."
            )
        if output.keep and suffix == ".npy":
            raise UsageError("--keep cannot be used with .npy, which holds numeric columns only.")
        check_file(output.out)

    def read(self, model: Any = None) -> LoadedRows:
        """Read the whole table."""
        from mercer.tables import EMBEDDED, read_rows

        if self.data not in EMBEDDED and Path(self.data).is_dir():
            raise IsADirectoryError(
                f"{self.data} is a folder. Name a file, or use --engine dask to read all files "
                "of a folder."
            )
        source = open_data(self.data)
        rows = read_rows(
            source,
            label=self.reading.label,
            categorical=self.reading.categorical if model is None else model["columns"].categorical,
            texts=() if model is None else model["columns"].texts,
            encoding=self.reading.encoding,
        )
        return LoadedRows(rows, source)

    def select(self, rows: LoadedRows, task: Task) -> Table:
        """Select by the task's rule, from labeled rows only if the task learns classes."""
        table = rows.rows
        check_label(table.label, task)
        if task.learns_classes and table.label in table.frame:
            table = replace(table, frame=table.frame[table.frame[table.label].notna()])
        return task.select(table, self.reading)

    def fit(self, pipeline: Any, table: Table, task: Task) -> Any:
        """Fit the pipeline to the data frame."""
        return pipeline.fit(table.frame, task.targets(table.labels, table.label))

    def find_usable(self, rows: LoadedRows, model: Any, table: Any = None) -> UsableMask:
        """Find complete rows; for kernels that accept missing values, rows with any value."""
        missing = model["columns"].transform(rows.rows.frame).isna().to_numpy()
        accepts_missing = (
            getattr(model["model"], "kernel_", None) is not None
            and model["model"].kernel_.compares != "vectors"
        ) or _imputes(model, rows.rows.frame, missing)
        mask = ~(missing.all(axis=1) if accepts_missing else missing.any(axis=1))
        return UsableMask(len(mask), int(mask.sum()), mask)

    def apply(self, rows: LoadedRows, usable: UsableMask, model: Any, task: Task) -> Any:
        """Return a data frame with missing values in rows that are not usable."""
        X = model[:-1].transform(rows.rows.frame[usable.mask])
        return spread_rows(task.columns(model, X, self), usable.mask)

    def count_correct(
        self, rows: LoadedRows, usable: UsableMask, columns: Any, task: Task
    ) -> tuple[int, int]:
        """Compare predictions with the label column, if the table has it."""
        from mercer.tables.column_types import as_strings

        label, frame = rows.rows.label, rows.rows.frame
        if label is None or label not in frame:
            return 0, 0
        return task.count_correct(as_strings(frame[label]).to_numpy(), label, columns)

    def prepare_output(
        self, rows: LoadedRows, usable: UsableMask, columns: Any, output: Output, task: Task
    ) -> Callable[[], Any]:
        """Encode the columns, and return a function that writes them."""
        suffix = output.out.suffix.lower()
        frame = self._output_frame(rows, columns, suffix, output.keep, task)
        return partial(write_file, output.out, encode_frame(frame, suffix))

    def map_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Call the function."""
        return function(*columns)

    def sum_rows(self, function: Callable[..., Any], *columns: Any) -> Any:
        """Call the function."""
        return function(*columns)

    def _output_frame(
        self, rows: LoadedRows, columns: Any, suffix: str, keep: bool, task: Task
    ) -> Any:
        if suffix == ".npy":
            return columns
        if not keep:
            return add_row_numbers(columns, 0)
        own = rows.rows.frame if suffix == ".parquet" else self._read_texts(rows.source)
        if not task.replaces:
            check_new_names(rows.name, columns, own)
        return join_columns(own, columns)

    def _read_texts(self, source: str | BinaryIO) -> Any:
        """Read the cells of a text file again, without converting them."""
        from mercer.tables import read_rows

        if not isinstance(source, str):
            source.seek(0)
        return read_rows(source, encoding=self.reading.encoding, as_written=True).frame


def _imputes(model: Any, frame: Any, missing: Array) -> bool:
    """Return whether the steps before the model replace missing values."""
    import numpy as np

    incomplete = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if not len(incomplete) or len(model.steps) == 2:
        return False
    try:
        return not np.isnan(model[:-1].transform(frame.iloc[incomplete])).any()
    except (TypeError, ValueError):  # a step rejects missing values
        return False


def open_data(data: str) -> str | BinaryIO:
    """Return standard input as a file that can be read twice; other names unchanged."""
    if data != "-":
        return data
    if sys.stdin is None:
        raise OSError("Standard input is closed. Name a file instead of -.")
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content
