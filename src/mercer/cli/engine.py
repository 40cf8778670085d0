"""The steps of all commands that write columns: read, fit or load a model, apply it, write.

A command is described by a :class:`Task`: the estimator that it fits and the columns that it
writes. The output has one line per input row, in the same order; rows to which the model cannot be
applied have missing values.

A :class:`Source` reads the table as a whole or, with ``--engine dask``, in chunks. Functions of
rows are called by :func:`mercer.data.dask.passes_for`: once, or once per chunk on the workers. Both
ways fit the same pipelines, so that a model fitted by one can be applied by the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

from mercer.cli.console import Messages, UsageError, describe_table
from mercer.cli.files import (
    check_file,
    check_folder,
    encode_frame,
    is_special,
    open_data,
    write_file,
    write_marker,
)
from mercer.cli.options import SUFFIXES, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_count, format_percent

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Preparation, Rows, Table
    from mercer.utils.types import Array

__all__ = ["Source", "Task", "fit_pipeline", "run_task", "select_table"]

_TIMEOUT = "10s"  # of the connection to a scheduler

# class of a fitted model -> the command that fits it
_COMMANDS = {
    "KernelECA": "embed",
    "KernelPCA": "embed",
    "EntropyClustering": "cluster",
    "SpectralClustering": "cluster",
    "ParzenDensity": "density",
    "SeriesDensity": "density",
    "KernelNovelty": "novelty",
    "KernelDenoiser": "denoise",
    "KernelLDA": "discriminate",
}


@dataclass(frozen=True)
class Task:
    """The estimator and the output columns of a command; the fields are the command's options."""

    command: ClassVar[str]
    replaces: ClassVar[bool] = False  # whether new columns replace input columns of the same name
    learns_classes: ClassVar[bool] = False  # whether it is fitted to the classes of --label
    standardizes: ClassVar[bool] = True  # numeric columns, unless --no-scale is given
    fits_chunks: ClassVar[bool] = True  # whether the estimator can be fitted to Dask arrays

    def select(self, rows: Rows, reading: Reading) -> Table:
        """Select the columns and rows of a table in memory to fit to."""
        return select_table(rows, reading)

    def check(self, preparation: Preparation) -> None:
        """Raise ValueError if the command cannot use the table."""

    def adapt(self, preparation: Preparation, bandwidth: float | str) -> Self:
        """Return the task with the parameters that depend on the table."""
        return self

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the estimator to fit."""
        raise NotImplementedError

    def targets(self, labels: Any, name: str | None) -> Any:
        """Return the targets for labels of the column ``name``; None if there are no targets."""
        return None

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return the new columns for rows as transformed by all steps of the model but the last."""
        raise NotImplementedError

    def summary(self, model: Any) -> Iterator[str]:
        """Yield lines on a fitted model."""
        yield from ()

    def results(self, columns: dict[str, Any], usable: Array) -> Iterator[str]:
        """Yield lines on the new columns; ``usable`` is the mask of their rows."""
        yield from ()

    def count_correct(self, labels: Any, name: str, columns: Any) -> tuple[int, int]:
        """Return the number of known labels, and of correct predictions among them."""
        raise NotImplementedError


def run_task(
    task: Task, data: str, reading: Reading, fitting: Fitting, output: Output, running: Running
) -> int:
    """Run a command that writes columns.

    Arguments and output paths are checked before any computation. With Dask the model is saved
    before the columns are computed, so that it need not be fitted again if that fails.
    """
    _check_usage(task, reading, fitting, output)
    source = Source(data, reading, running)
    source.check_output(output)
    if output.model is not None:
        check_file(output.model)
    messages = Messages(output.quiet)
    with messages.showing_warnings(), source.session(output.verbose):
        table = None
        if output.apply is None:
            rows = source.read()
            table = source.select(rows, task)
            task, model = _fit(task, table, fitting, output.verbose, messages)
        else:
            model = _load(task, output.apply)
            rows = source.read(model)
        new = _find_usable(rows, model, table)
        if table is None:
            messages.print(f"{new.name}: {format_count(new.n_rows, 'row')}")
        messages.print_all(_check_usable(new))
        columns = _apply(new, model, task)
        if output.apply is not None and task.learns_classes:
            messages.print_results(_accuracy(new, columns, task))
        if not source.is_chunked:
            messages.print_results(task.results(columns, new.usable(new.frames)))
        write = _prepare_output(source, new, columns, output, task)
        if output.model is not None:
            _save(model, output.model)
            messages.print(f"saved {output.model}")
        write()
        if str(output.out) != "-":
            messages.print(f"wrote {output.out}")
    return 0


@dataclass(frozen=True)
class Source:
    """The table of a command: a file or a data set in memory, or with Dask a folder in chunks."""

    data: str
    reading: Reading
    running: Running

    def __post_init__(self) -> None:
        if not self.is_chunked:
            if self.running.scheduler is not None:
                raise UsageError("--scheduler can only be used with --engine dask.")
            return
        if self.data == "-":
            raise UsageError("--engine dask cannot read standard input. Name a folder or a file.")
        rejected = [f"--categorical {name}" for name in self.reading.categorical]
        rejected += ["--missing keep"] if self.reading.missing == "keep" else []
        if rejected:
            raise UsageError(
                f"{rejected[0]} cannot be used with --engine dask, which needs complete rows of "
                "numeric columns."
            )

    @property
    def is_chunked(self) -> bool:
        """Whether Dask processes partitions where they are read."""
        return self.running.engine == "dask"

    @cached_property
    def _file(self) -> str | BinaryIO:
        return open_data(self.data)

    def check_output(self, output: Output) -> None:
        """Raise an error, before any work, if the columns cannot be written."""
        out, suffix = output.out, output.out.suffix.lower()
        if self.is_chunked:
            if str(out) == "-" or suffix in (".csv", ".tsv", ".npy"):
                raise UsageError(
                    f"--out {out}: --engine dask writes a folder of Parquet files. Use --out "
                    "FOLDER."
                )
            check_folder(out, Path(self.data), output.overwrite)
            return
        if str(out) != "-" and suffix not in SUFFIXES and not is_special(out):
            raise UsageError(
                f"--out {out}: the file name must end in {', '.join(SUFFIXES)}. Use - for "
                "standard output."
            )
        if output.keep and suffix == ".npy":
            raise UsageError("--keep cannot be used with .npy, which holds numeric columns only.")
        check_file(out)

    @contextmanager
    def session(self, verbose: bool) -> Iterator[None]:
        """Connect to the scheduler, if there is one, and show the progress of Dask."""
        if not self.is_chunked:
            yield
            return
        from mercer.data.dask.cluster import connected, require_dask
        from mercer.utils.resources import show_progress

        require_dask("--engine dask")
        with show_progress(verbose):
            if self.running.scheduler is None:
                yield
                return
            with connected(self.running.scheduler, _TIMEOUT):
                yield

    def read(self, model: Any = None) -> Any:
        """Return the table with all rows and columns; in chunks only their names are read.

        A fitted model knows columns of labels that look like numbers.
        """
        reading = self.reading
        if self.is_chunked:
            from mercer.tables.chunked_table import read_chunked_rows

            return read_chunked_rows(self.data, label=reading.label, encoding=reading.encoding)
        from mercer.tables import read_rows

        return read_rows(
            self._file,
            label=reading.label,
            categorical=reading.categorical if model is None else model["columns"].categorical,
            texts=() if model is None else model["columns"].texts,
            encoding=reading.encoding,
        )

    def select(self, rows: Any, task: Task) -> Any:
        """Select the rows and columns to fit to, with a label if the task learns classes."""
        if self.is_chunked and not task.fits_chunks:
            raise UsageError(
                f"{task.command} cannot be fitted with --engine dask. Fit it in memory to a "
                "subsample with --model, then use --apply with --engine dask."
            )
        if task.learns_classes and rows.label is None:
            raise UsageError(f"{task.command} needs class labels. Name their column with --label.")
        if self.is_chunked:
            return rows.table(
                ignore=self.reading.ignore,
                include=self.reading.include,
                missing=self.reading.missing,
                labeled=task.learns_classes,
            )
        if task.learns_classes and rows.label in rows.frame:
            rows = replace(rows, frame=rows.frame[rows.frame[rows.label].notna()])
        return task.select(rows, self.reading)

    def read_own(self, rows: Rows, suffix: str) -> Any:
        """Return the columns to keep; for text formats the cells as they are written."""
        if suffix == ".parquet":
            return rows.frame
        from mercer.tables import read_rows

        if not isinstance(self._file, str):
            self._file.seek(0)
        return read_rows(self._file, encoding=self.reading.encoding, as_written=True).frame


def select_table(rows: Rows, reading: Reading) -> Table:
    """Select the columns and rows to fit to, by the options."""
    from mercer.tables import as_table

    return as_table(
        rows.frame,
        name=rows.name,
        label=rows.label,
        ignore=reading.ignore,
        include=reading.include,
        categorical=reading.categorical,
        missing=reading.missing,
        notes=rows.notes,
    )


# --- usage ------------------------------------------------------------------------------------


def _check_usage(task: Task, reading: Reading, fitting: Fitting, output: Output) -> None:
    if output.model is not None and output.model == output.out:
        raise UsageError(f"--model and --out are both {output.model}. Choose two files.")
    if output.apply is None:
        return
    given = [*_given_options(task), *_given_options(reading), *_given_options(fitting)]
    rejected = [name for name in given if name not in ("label", "encoding")]
    if output.model is not None:
        rejected.append("model")
    if rejected:
        raise UsageError(
            f"--{rejected[0]} cannot be used with --apply, which uses the model as it was fitted."
        )


def _given_options(options: Any) -> Iterator[str]:
    """Yield the names of options that differ from their defaults."""
    for field in fields(options):
        if field.default is not MISSING and getattr(options, field.name) != field.default:
            yield field.name


# --- models -----------------------------------------------------------------------------------


def _fit(
    task: Task, table: Any, fitting: Fitting, verbose: bool, messages: Messages
) -> tuple[Task, Any]:
    """Return the task as adapted to the table, and the fitted pipeline."""
    from mercer.tables import prepare

    messages.print_all(describe_table(table))
    scale = fitting.scale and task.standardizes
    preparation = prepare(table, bandwidth=fitting.bandwidth, scale=scale)
    task.check(preparation)
    task = task.adapt(preparation, fitting.bandwidth)
    estimator = task.estimator(preparation.kernel, fitting.solver, verbose)
    model = fit_pipeline(preparation.pipeline(estimator), table, task)
    messages.print_all(_describe_kernel(model))
    messages.print_results(task.summary(model))
    return task, model


def fit_pipeline(pipeline: Any, table: Any, task: Task) -> Any:
    """Fit a pipeline to a selection and return it; in chunks only statistics leave the workers."""
    import numpy as np

    from mercer.tables import Table

    if isinstance(table, Table):
        return pipeline.fit(table.frame, task.targets(table.labels, table.label))
    pipeline["columns"].fit(None)
    if "scale" in pipeline.named_steps:
        table.fit_scaler(pipeline["scale"])
    X = table.map_training_rows(pipeline[:-1].transform, np.empty((0, len(table.columns))))
    targets = None
    if task.learns_classes:
        read_targets = partial(_targets, task, table.label)
        targets = table.map_training_rows(read_targets, np.empty(0, dtype=str))
    pipeline["model"].fit(_with_names(X, pipeline), targets)
    return pipeline


def _targets(task: Task, label: str | None, frame: Any) -> Any:
    from mercer.tables.table import labels_of

    return task.targets(labels_of(_labels(frame[label])), label)


def _labels(column: Any) -> Any:
    """Return labels as they are read in memory: as numbers if no labels are lost."""
    from mercer.tables.text_files import as_labels

    is_text = all(isinstance(cell, str) for cell in column.dropna())
    return as_labels(column) if is_text else column


def _with_names(X: Any, pipeline: Any) -> Any:
    """Set the column names of a Dask array; as in memory, standardized rows are without names."""
    if "scale" not in pipeline.named_steps:
        X.columns = pipeline["columns"].columns_
    return X


def _describe_kernel(model: Any) -> Iterator[str]:
    kernel = model["model"].kernel_
    bandwidth = getattr(kernel, "bandwidth", None)
    unit = " standard deviations" if "scale" in model.named_steps else ""
    if getattr(kernel, "metric", None) is not None:
        bandwidth = [
            float(scale) for scale in kernel.bandwidth_matrix(len(kernel.metric)).diagonal() ** 0.5
        ]
        unit += ", correlated"
    if isinstance(bandwidth, float | int):
        yield f"  bandwidth σ = {bandwidth:.4g}{unit}"
    elif bandwidth is not None:
        listed = ", ".join(f"{one:.4g}" for one in bandwidth)
        if len(bandwidth) > 20:
            listed = f"{min(bandwidth):.4g} to {max(bandwidth):.4g} ({len(bandwidth):,} columns)"
        yield f"  bandwidths σ = {listed}{unit}"


def _load(task: Task, path: Path) -> Any:
    """Load a model of this command: of --model, or any estimator or pipeline of mercer.save."""
    from mercer import load
    from mercer.tables.preparation import as_table_pipeline

    model = load(path)
    steps = getattr(model, "named_steps", {})
    if "columns" not in steps or "model" not in steps:
        name, model = type(model).__name__, as_table_pipeline(model)
        if model is None:
            raise ValueError(
                f"{path} contains a {name} that was fitted without column names, so the columns of "
                "a file cannot be matched with it. Fit it to a data frame and save it again, or "
                f"save a model to another file with: mercer {task.command} DATA --model FILE"
            )
    kind = type(model["model"]).__name__
    command = _COMMANDS.get(kind)
    if command != task.command:
        remedy = f" Use: mercer {command} DATA --apply {path}" if command else ""
        raise ValueError(
            f"{path} contains a {kind}, which mercer {task.command} does not apply.{remedy}"
        )
    return model


def _save(model: Any, path: Path) -> None:
    """Save a model; results for training rows, which Dask holds lazily, are not saved."""
    from mercer import save

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # save warns that lazy results are dropped
        try:
            save(model, path)
        except TypeError as error:  # the model needs training rows that Dask holds
            raise ValueError(str(error)) from error


# --- new rows ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _NewRows:
    """Rows to which a fitted model is applied."""

    rows: Any  # Rows or ChunkedRows
    frames: Any  # data frame, or Dask array of them with the lengths of the model's results
    usable: Callable[[Any], Array]  # mask of the rows to which the model can be applied
    lengths: tuple[int, ...]  # number of rows of each chunk
    n_usable: int

    @property
    def name(self) -> str:
        name: str = self.rows.name
        return name

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)


def _find_usable(rows: Any, model: Any, table: Any) -> _NewRows:
    """Find the rows to which a model can be applied.

    No pass over the chunks is needed if the model was fitted to all rows of ``table``.
    """
    from mercer.tables import Rows

    kernel = getattr(model["model"], "kernel_", None)
    accepts_missing = kernel is not None and kernel.compares != "vectors"
    usable = partial(_usable, model[:-1], accepts_missing)
    if isinstance(rows, Rows):
        mask = usable(rows.frame)
        return _NewRows(rows, rows.frame, lambda _: mask, (len(mask),), int(mask.sum()))
    if accepts_missing:
        raise ValueError(
            "The model was fitted to a mixed table, and --engine dask needs numeric columns. "
            "Use --engine memory for each file."
        )
    absent = [name for name in model["columns"].columns_ if name not in rows.frame.columns]
    if absent:
        raise ValueError(
            f"{rows.name} has no column {', '.join(map(repr, absent[:5]))}, which the model needs."
        )
    from mercer.data.dask.tasks import with_lengths

    if table is not None and table.rows_omitted == 0 and table.labeled is None:
        lengths = counts = table.lengths
    else:
        lengths, counts = rows.counts(usable)
    return _NewRows(rows, with_lengths(rows.chunks, counts), usable, lengths, sum(counts))


def _usable(steps: Any, accepts_missing: bool, frame: Any) -> Array:
    """Return a mask of complete rows, or of rows with any value if missing values are accepted."""
    missing = steps["columns"].transform(frame).isna().to_numpy()
    accepts = accepts_missing or _imputes(steps, frame, missing)
    mask: Array = ~(missing.all(axis=1) if accepts else missing.any(axis=1))
    return mask


def _imputes(steps: Any, frame: Any, missing: Array) -> bool:
    """Return whether the steps before the model replace missing values."""
    import numpy as np

    incomplete = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if not len(incomplete) or len(steps) == 1:
        return False
    try:
        return not np.isnan(steps.transform(frame.iloc[incomplete])).any()
    except (TypeError, ValueError):  # a step rejects missing values
        return False


def _check_usable(new: _NewRows) -> Iterator[str]:
    """Raise ValueError if no row is usable; report how many are not."""
    if new.n_usable == 0:
        raise ValueError(
            f"None of the {format_count(new.n_rows, 'row')} of {new.name} has all values that the "
            "model needs."
        )
    if new.n_usable < new.n_rows:
        yield (
            f"  {new.n_rows - new.n_usable:,} of {format_count(new.n_rows, 'row')} have "
            "missing values and get empty cells"
        )


def _apply(new: _NewRows, model: Any, task: Task) -> dict[str, Any]:
    """Return the task's columns of the usable rows, lazily if the rows are in chunks."""
    import numpy as np

    from mercer.data.dask import passes_for

    steps, passes = model[:-1], passes_for(new.frames)
    if not passes.is_chunked:
        return task.columns(model, steps.transform(new.frames[new.usable(new.frames)]))
    empty = np.empty((0, len(model["columns"].columns_)))
    X = passes.map(partial(_transform, steps, new.usable), new.frames, like=empty)
    return task.columns(model, _with_names(X, model))


def _transform(steps: Any, usable: Callable[[Any], Array], frame: Any) -> Array:
    import numpy as np

    return np.asarray(steps.transform(frame[usable(frame)]), dtype=np.float64)


def _accuracy(new: _NewRows, columns: dict[str, Any], task: Task) -> Iterator[str]:
    """Compare predictions with the label column, if the table has it."""
    from mercer.data.dask import passes_for

    label = new.rows.label
    if label is None or label not in new.rows.frame.columns:
        return
    count = partial(_count_correct, task, label, new.usable)
    known, correct = passes_for(new.frames).sum(count, new.frames, columns["predicted"])
    if known:
        accuracy = format_percent(correct / known)
        yield f"  accuracy: {accuracy} of {format_count(known, 'labeled row')}"


def _count_correct(
    task: Task, label: str, usable: Callable[[Any], Array], frame: Any, predicted: Array
) -> tuple[int, int]:
    from mercer.tables.columns import as_strings

    labels = as_strings(_labels(frame[label][usable(frame)]))
    return task.count_correct(labels.to_numpy(), label, {"predicted": predicted})


# --- output -----------------------------------------------------------------------------------


def _prepare_output(
    source: Source, new: _NewRows, columns: dict[str, Any], output: Output, task: Task
) -> Callable[[], Any]:
    """Return a function that writes the columns: one file, or one per chunk."""
    own = None
    if source.is_chunked:
        names = new.rows.frame.columns
    elif output.keep:
        own = source.read_own(new.rows, output.out.suffix.lower())
        names = own.columns
    if output.keep and not task.replaces:
        _check_new_names(new.name, columns, names)
    if source.is_chunked:
        starts = list(accumulate(new.lengths, initial=0))
        frame = partial(_output_frame, list(columns), new.usable, starts, output.keep)
        arrays = [new.frames, *columns.values()]
        return partial(_write_folder, output, Path(source.data), frame, arrays)
    suffix = output.out.suffix.lower()
    found = _spread_rows(columns, new.usable(new.frames))
    if own is not None:
        found = _join_columns(own, found)
    elif suffix != ".npy":
        found = _add_row_numbers(found, 0)
    return partial(write_file, output.out, encode_frame(found, suffix))


def _write_folder(output: Output, data: Path, frame: Callable[..., Any], arrays: list[Any]) -> None:
    from mercer.data.dask.files import write_frames

    check_folder(output.out, data, output.overwrite)  # it may have changed during the fit
    write_frames(output.out, frame, arrays, overwrite=True, finish=write_marker)


def _output_frame(
    names: list[str],
    usable: Callable[[Any], Array],
    starts: list[int],
    keep: bool,
    number: int,
    frame: Any,
    *columns: Array,
) -> Any:
    """Return the data frame that is written for one chunk."""
    found = _spread_rows(dict(zip(names, columns, strict=True)), usable(frame))
    texts = {name: "string" for name in found if found[name].dtype == object}
    found = found.astype(texts)  # even if all values are missing: chunks need equal types
    return _join_columns(frame, found) if keep else _add_row_numbers(found, starts[number])


def _check_new_names(name: str, columns: Any, own: Any) -> None:
    """Raise ValueError if a new column has the name of an input column."""
    duplicates = [column for column in columns if column in own]
    if duplicates:
        raise ValueError(
            f"{name} already has a column {duplicates[0]!r}. Rename it, or omit --keep."
        )


def _spread_rows(columns: dict[str, Any], usable: Any) -> Any:
    """Return a data frame with one row per input row; unusable rows have missing values."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(columns, index=np.flatnonzero(usable))
    if not usable.all():
        integers = {name: "Int64" for name in frame if frame[name].dtype.kind == "i"}
        frame = frame.astype(integers)  # int64 has no missing values and would become float
    return frame.reindex(range(len(usable)))


def _add_row_numbers(columns: Any, start: int) -> Any:
    """Insert a first column of row numbers, from start + 1, unless a column is called "row"."""
    if "row" in columns:
        return columns
    return columns.assign(row=range(start + 1, start + 1 + len(columns)))[["row", *columns]]


def _join_columns(own: Any, columns: Any) -> Any:
    """Append new columns to those of the input; columns of the same name are replaced."""
    import pandas as pd

    own = own.reset_index(drop=True)
    new = [name for name in columns if name not in own]
    replaced = own.assign(**{name: columns[name] for name in columns if name in own})
    return pd.concat([replaced, columns[new]], axis=1)
