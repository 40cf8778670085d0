"""The engine for folders of parts, on Dask: columns of numbers in, Parquet parts out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.engines import Engine, beside, numbered, spread
from mercer.cli.failing import UsageError
from mercer.cli.options import Reading
from mercer.cli.places import check_folder

if TYPE_CHECKING:
    from mercer.cli.working import Task
    from mercer.maths.types import Array
    from mercer.tables.chunked_table import ChunkedRows, ChunkedTable

__all__ = ["Chunks"]

_PATIENCE = "10s"  # for a scheduler to answer


class Chunks(Engine):
    """Parts stay where they are read; what travels are sums and models.

    Parameters
    ----------
    data : str
        A folder, or one file.
    reading : Reading
    scheduler : str or None
        Address of a running scheduler; None for threads of this process.
    """

    rows: ChunkedRows
    lengths: tuple[int, ...] = ()
    complete: tuple[int, ...] = ()  # rows of each part that the model can be applied to

    def __init__(self, data: str, reading: Reading, scheduler: str | None) -> None:
        super().__init__(data, reading)
        self.scheduler = scheduler
        if data == "-":
            raise UsageError("--engine dask reads a folder or a file, not standard input.")
        unknown = [("categorical", name) for name in reading.categorical]
        unknown += [("missing", "keep")] if reading.missing == "keep" else []
        for option, value in unknown:
            raise UsageError(
                f"--engine dask compares complete rows of numbers: --{option} {value} cannot be "
                "given with it."
            )

    def check_out(self, out: Path, keep: bool) -> None:
        """Only folders."""
        if str(out) == "-" or out.suffix.lower() in (".csv", ".tsv", ".npy"):
            raise UsageError(
                f"--engine dask writes a folder of Parquet parts, and --out is {out}: name a "
                "folder, --out FOLDER."
            )
        check_folder(out, Path(self.data))

    @contextmanager
    def running(self, verbose: bool) -> Iterator[None]:
        """Connect to the scheduler, if there is one."""
        from mercer.chunks.cluster import connected, require_dask

        require_dask("--engine dask")
        from mercer.progress import show_progress

        with show_progress(verbose):
            if self.scheduler is None:
                yield
                return
            with connected(self.scheduler, _PATIENCE):
                yield

    def read(self) -> None:
        """Look at names and types."""
        from mercer.tables.chunked_table import read_chunked_rows

        self.rows = read_chunked_rows(
            self.data, label=self.reading.label, encoding=self.reading.encoding
        )

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.rows.name

    def table(self, task: Task) -> ChunkedTable:
        """Columns of numbers; rows that are complete, and have a class if classes are learnt."""
        if not task.fits_chunks:
            raise UsageError(
                f"{task.command} needs all rows in one place to learn from: fit it in memory to "
                "some of the rows, with --model, and use --apply with --engine dask."
            )
        self.need_label(self.rows.label, task)
        table = self.rows.table(
            ignore=self.reading.ignore,
            missing=self.reading.missing,
            labeled=task.learns_classes,
        )
        if table.rows_omitted == 0 and not task.learns_classes:
            self.lengths = self.complete = table.lengths  # no need to count
        return table

    def fitted(self, pipeline: Any, table: ChunkedTable, task: Task) -> Any:
        """Fit it step by step: only the last one needs more than what is known of the table."""
        import numpy as np

        pipeline["columns"].fit(None)
        if "scale" in pipeline.named_steps:
            table.fit_scaler(pipeline["scale"])
        seen = table.map_training_rows(pipeline[:-1].transform, np.empty((0, len(table.columns))))
        targets = None
        if task.learns_classes:
            targets = table.map_training_rows(
                partial(_classes, task, table.label), np.empty(0, dtype=str)
            )
        pipeline["model"].fit(_named(seen, pipeline), targets)
        return pipeline

    def counted(self, model: Any) -> tuple[int, int]:
        """Count in a pass over the parts, unless the fit has done so."""
        names = model["columns"].columns_
        if model["model"].kernel_.compares != "vectors":
            raise ValueError(
                "The model compares rows of a mixed table, and --engine dask rows of numbers; use "
                "--engine memory for each part."
            )
        absent = [name for name in names if name not in self.rows.frame.columns]
        if absent:
            raise ValueError(
                f"{self.name} has no column {', '.join(map(repr, absent[:5]))}, which the model "
                "was fitted with."
            )
        if not self.lengths:
            self.lengths, self.complete = self.rows.counts(names)
        return sum(self.lengths), sum(self.complete)

    def applied(self, model: Any, task: Task) -> Any:
        """Lazy columns for the rows that have all numbers."""
        import numpy as np

        from mercer.chunks import passes_for

        names = model["columns"].columns_
        self._usable_in = list(names)
        look = partial(_seen, model[:-1], self._usable_in)
        seen = passes_for(pieces := self._pieces()).map(
            look, pieces, like=np.empty((0, len(names)))
        )
        return task.columns(model, _named(seen, model))

    def judged(self, columns: Any, task: Task) -> tuple[int, int]:
        """Compare where the rows lie."""
        from mercer.chunks import passes_for

        label = self.rows.label
        if label is None or label not in self.rows.frame.columns:
            return 0, 0
        judge = partial(_judged_part, task, label, self._usable_in)
        return passes_for(pieces := self._pieces()).sum(judge, pieces, columns["predicted"])

    def prepared(self, columns: Any, out: Path, keep: bool, task: Task) -> Callable[[], Any]:
        """Columns are computed where and when they are written, part by part."""
        from mercer.chunks.files import write_frames

        if keep and not task.replaces:
            self.need_new_names(columns, self.rows.frame.columns)
        starts = list(accumulate(self.lengths, initial=0))
        part = partial(_part, list(columns), self._usable_in, starts, keep)
        arrays = [self._pieces(), *columns.values()]
        return partial(write_frames, out, part, arrays, overwrite=True)

    def _pieces(self) -> Any:
        """The parts, as long as what a model makes of them."""
        from mercer.chunks.tasks import with_lengths

        return with_lengths(self.rows.pieces, self.complete)


def _named(seen: Any, pipeline: Any) -> Any:
    """Rows as the last step sees them in memory: with names, unless they were standardised."""
    if "scale" not in pipeline.named_steps:
        seen.columns = pipeline["columns"].columns_
    return seen


# --- on a worker ----------------------------------------------------------------------------------


def _seen(steps: Any, names: list[str], frame: Any) -> Array:
    import numpy as np

    from mercer.tables.chunked_table import usable

    return np.asarray(steps.transform(frame[usable(names, None, frame)]), dtype=np.float64)


def _classes(task: Task, label: str | None, frame: Any) -> Any:
    from mercer.tables.table import labels_of

    return task.targets(labels_of(frame[label]), label)


def _judged_part(
    task: Task, label: str, names: list[str], frame: Any, predicted: Array
) -> tuple[int, int]:
    from mercer.tables.chunked_table import usable

    known = frame[label][usable(names, None, frame)].to_numpy()
    return task.judge(known, label, {"predicted": predicted})


def _part(
    names: list[str],
    usable_in: list[str],
    starts: list[int],
    keep: bool,
    number: int,
    frame: Any,
    *columns: Array,
) -> Any:
    """What is written of one part."""
    from mercer.tables.chunked_table import usable

    found = spread(dict(zip(names, columns, strict=True)), usable(usable_in, None, frame))
    texts = {name: "string" for name in found if found[name].dtype == object}
    found = found.astype(texts)  # also where all cells are empty: parts must agree
    return beside(frame, found) if keep else numbered(found, starts[number])
