"""The engine for tables that fit the memory: any file, any kind of column."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mercer.cli.engines import Engine, beside, numbered, spread
from mercer.cli.failing import UsageError
from mercer.cli.options import SUFFIXES
from mercer.cli.places import check_place, is_special, rendered, write

if TYPE_CHECKING:
    from mercer.cli.working import Task
    from mercer.maths.types import Array
    from mercer.tables import Rows, Table

__all__ = ["Memory"]


class Memory(Engine):
    """The whole table at once."""

    rows: Rows
    source: str | BinaryIO
    usable: Array

    def check_out(self, out: Path, keep: bool) -> None:
        """Only files in formats that are known."""
        suffix = out.suffix.lower()
        if str(out) != "-" and suffix not in SUFFIXES and not is_special(out):
            raise UsageError(
                f"--out {out}: a file's name must end in {', '.join(SUFFIXES)}; or give -"
            )
        if keep and suffix == ".npy":
            raise UsageError(
                "--keep writes columns of any kind, and an .npy file holds numbers only."
            )
        check_place(out)

    def read(self) -> None:
        """Read all of it; standard input is held, since it may be read twice."""
        from mercer.tables import EMBEDDED, read_rows

        if self.data not in EMBEDDED and Path(self.data).is_dir():
            raise IsADirectoryError(
                f"{self.data} is a folder; give one file in it, or --engine dask for all its parts."
            )
        self.source = _held(self.data)
        self.rows = read_rows(self.source, label=self.reading.label, encoding=self.reading.encoding)

    @property
    def name(self) -> str:
        """Of the file or the embedded set."""
        return self.rows.name

    def table(self, task: Task) -> Table:
        """What the command takes of the rows; of those that have a class, if it learns classes."""
        rows = self.rows
        self.need_label(rows.label, task)
        if task.learns_classes and rows.label in rows.frame:
            rows = replace(rows, frame=rows.frame[rows.frame[rows.label].notna()])
        return task.table(rows, self.reading)

    def fitted(self, pipeline: Any, table: Table, task: Task) -> Any:
        """Fit it."""
        return pipeline.fit(table.frame, task.targets(table.labels, table.label))

    def counted(self, model: Any) -> tuple[int, int]:
        """Look for gaps."""
        gaps = model["columns"].transform(self.rows.frame).isna().to_numpy()
        takes_gaps = model["model"].kernel_.compares != "vectors"
        self.usable = ~(gaps.all(axis=1) if takes_gaps else gaps.any(axis=1))
        return len(gaps), int(self.usable.sum())

    def applied(self, model: Any, task: Task) -> Any:
        """A data frame with empty cells where the model cannot be applied."""
        seen = model[:-1].transform(self.rows.frame[self.usable])
        return spread(task.columns(model, seen), self.usable)

    def judged(self, columns: Any, task: Task) -> tuple[int, int]:
        """Compare, if the file has the column."""
        label, frame = self.rows.label, self.rows.frame
        if label is None or label not in frame:
            return 0, 0
        return task.judge(frame[label].to_numpy(), label, columns)

    def prepared(self, columns: Any, out: Path, keep: bool, task: Task) -> Callable[[], Any]:
        """Everything but the writing is done now."""
        suffix = out.suffix.lower()
        return partial(write, out, rendered(self._with_rows(columns, suffix, keep, task), suffix))

    def _with_rows(self, columns: Any, suffix: str, keep: bool, task: Task) -> Any:
        """New columns beside the row numbers, or beside the table's own columns."""
        if suffix == ".npy":
            return columns
        if not keep:
            return numbered(columns, 0)
        own = self.rows.frame if suffix == ".parquet" else self._as_written()
        if not task.replaces:
            self.need_new_names(columns, own)
        return beside(own, columns)

    def _as_written(self) -> Any:
        from mercer.tables import read_rows

        if not isinstance(self.source, str):
            self.source.seek(0)
        return read_rows(self.source, encoding=self.reading.encoding, as_written=True).frame


def _held(data: str) -> str | BinaryIO:
    """Standard input as something that can be read twice; other data as they are."""
    if data != "-":
        return data
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content
