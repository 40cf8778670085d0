"""The one road of the commands that write columns: read, fit or load, apply, write.

A command says what it fits and which columns it writes: it is a :class:`Task`. One line is written
per row of the input, in its order; rows that a model cannot be applied to have empty cells.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from mercer.cli.failing import UsageError
from mercer.cli.options import Fitting, Output, Reading
from mercer.cli.places import check_place, rendered, write
from mercer.cli.telling import Teller, count, table_lines

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Modelling, Rows, Table

__all__ = ["Task", "chosen_table", "held", "kernel_words", "perform"]

# class of a fitted model -> the command that makes it
_MAKERS = {
    "KernelECA": "embed",
    "KernelPCA": "embed",
    "EntropyClustering": "cluster",
    "ParzenDensity": "density",
    "SeriesDensity": "density",
    "MercerNovelty": "density",
    "KernelDenoiser": "denoise",
    "KernelLDA": "discriminate",
}


@dataclass(frozen=True)
class Task:
    """What a command fits and which columns it writes; its fields are the command's own options."""

    command: ClassVar[str]
    replaces: ClassVar[bool] = False  # columns that take the place of the table's own

    def table(self, rows: Rows, reading: Reading) -> Table:
        """Choose columns and rows to learn from."""
        return chosen_table(rows, reading)

    def check(self, modelling: Modelling) -> None:
        """Refuse tables that the command can do nothing with."""

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """What is fitted."""
        raise NotImplementedError

    def targets(self, table: Table) -> Any:
        """What the estimator learns to predict, if it does."""
        return None

    def columns(self, model: Any, frame: Any) -> dict[str, Any]:
        """New columns for rows that the model (a pipeline) can be applied to."""
        raise NotImplementedError

    def words(self, model: Any) -> Iterator[str]:
        """What is worth saying about a fitted model."""
        yield from ()

    def words_on_new(self, rows: Rows, columns: Any) -> Iterator[str]:
        """What is worth saying about new rows."""
        yield from ()


def perform(task: Task, data: str, reading: Reading, fitting: Fitting, output: Output) -> int:
    """Do a command's work; everything is known before anything is written."""
    _check_usage(task, reading, fitting, output)
    for path in [output.out, *([output.model] if output.model else [])]:
        check_place(path)
    from mercer.tables import read_rows

    tell = Teller(output.quiet)
    with tell.telling_warnings():
        model = None if output.apply is None else _loaded(task, output.apply)
        source = held(data)
        rows = read_rows(source, label=reading.label, encoding=reading.encoding)
        if model is None:
            model = _fitted(task, rows, reading, fitting, output.verbose, tell)
            columns = _applied(task, model, rows, tell)
        else:
            tell(f"{rows.name}: {count(len(rows.frame), 'row')}")
            columns = _applied(task, model, rows, tell)
            tell.all(task.words_on_new(rows, columns))
        written = _with_rows(task, columns, source, rows, reading, output)
        content = rendered(written, output.out.suffix.lower())
        if output.model is not None:
            from mercer import save

            save(model, output.model)
            tell(f"saved {output.model}")
        write(output.out, content)
        if str(output.out) != "-":
            tell(f"wrote {output.out}")
    return 0


def held(data: str) -> str | BinaryIO:
    """Standard input as something that can be read twice; other data as they are."""
    if data != "-":
        return data
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content


def chosen_table(rows: Rows, reading: Reading) -> Table:
    """Decide what is analysed."""
    from mercer.tables import as_table

    return as_table(
        rows.frame,
        name=rows.name,
        label=rows.label,
        ignore=reading.ignore,
        categorical=reading.categorical,
        missing=reading.missing,
        notes=rows.notes,
    )


def kernel_words(model: Any) -> Iterator[str]:
    """The bandwidth of a fitted pipeline's kernel, where it has one."""
    bandwidth = getattr(model["model"].kernel_, "bandwidth", None)
    if isinstance(bandwidth, float | int):
        unit = " standard deviations" if "scale" in model.named_steps else ""
        yield f"  bandwidth σ = {bandwidth:.4g}{unit}"


# --- usage -----------------------------------------------------------------------------------


def _check_usage(task: Task, reading: Reading, fitting: Fitting, output: Output) -> None:
    if output.model is not None and output.model == output.out:
        raise UsageError(f"--model and --out are the same file, {output.model}; name two.")
    if output.keep and output.out.suffix.lower() == ".npy":
        raise UsageError("--keep writes columns of any kind, and an .npy file holds numbers only.")
    if output.apply is None:
        return
    given = [*_changed(task), *_changed(reading), *_changed(fitting)]
    settled = [name for name in given if name not in ("label", "encoding")]
    if output.model is not None:
        settled.append("model")
    if settled:
        raise UsageError(
            f"--apply uses a model as it was fitted: --{settled[0]} cannot be given with it."
        )


def _changed(options: Any) -> Iterator[str]:
    """Names of options that differ from their defaults."""
    for one in fields(options):
        if one.default is not MISSING and getattr(options, one.name) != one.default:
            yield one.name


# --- models ----------------------------------------------------------------------------------


def _fitted(
    task: Task, rows: Rows, reading: Reading, fitting: Fitting, verbose: bool, tell: Teller
) -> Any:
    from mercer.tables import modelling

    table = task.table(rows, reading)
    tell.all(table_lines(table))
    chosen = modelling(table, bandwidth=fitting.bandwidth, scale=fitting.scale)
    task.check(chosen)
    estimator = task.estimator(chosen.kernel, fitting.solver, verbose)
    model = chosen.pipeline(estimator).fit(table.frame, task.targets(table))
    tell.all(kernel_words(model))
    tell.all(task.words(model))
    return model


def _loaded(task: Task, path: Path) -> Any:
    """A model of this command, or a sentence on what the file holds instead."""
    from mercer import load

    model = load(path)
    steps = getattr(model, "named_steps", {})
    if "columns" not in steps or "model" not in steps:
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which takes no table as it comes from a file; "
            f"make a model with: mercer {task.command} DATA --model {path}"
        )
    kind = type(steps["model"]).__name__
    maker = _MAKERS.get(kind)
    if maker != task.command:
        remedy = f"; use mercer {maker} --apply {path}" if maker else ""
        raise ValueError(f"{path} holds a {kind}, not a model of mercer {task.command}{remedy}")
    return model


def _applied(task: Task, model: Any, rows: Rows, tell: Teller) -> Any:
    """New columns for all rows, as a data frame; empty cells where the model cannot be applied."""
    import numpy as np
    import pandas as pd

    frame = rows.frame
    gaps = model["columns"].transform(frame).isna().to_numpy()
    takes_gaps = model["model"].kernel_.compares != "vectors"
    usable = ~(gaps.all(axis=1) if takes_gaps else gaps.any(axis=1))
    if not usable.any():
        raise ValueError(
            f"{rows.name} has {len(frame)} rows, and none has all the numbers that the model needs."
        )
    columns = pd.DataFrame(task.columns(model, frame[usable]), index=np.flatnonzero(usable))
    skipped = len(frame) - int(usable.sum())
    if skipped:
        tell(
            f"  {skipped:,} of {count(len(frame), 'row')} cannot be used (missing values): "
            "their cells are empty"
        )
        whole = {name: "Int64" for name in columns if columns[name].dtype.kind == "i"}
        columns = columns.astype(whole)  # has empty cells; int64 would become float
    return columns.reindex(range(len(frame)))


# --- output ----------------------------------------------------------------------------------


def _with_rows(
    task: Task,
    columns: Any,
    source: str | BinaryIO,
    rows: Rows,
    reading: Reading,
    output: Output,
) -> Any:
    """New columns beside the row numbers, or beside the table's own columns."""
    import pandas as pd

    if output.out.suffix.lower() == ".npy":
        return columns
    if not output.keep:
        if "row" in columns:
            return columns
        numbers = pd.DataFrame({"row": range(1, len(columns) + 1)})
        return pd.concat([numbers, columns], axis=1)
    own = rows.frame.reset_index(drop=True)
    if output.out.suffix.lower() != ".parquet":
        own = _as_written(source, reading)
    if task.replaces:
        return own.assign(**{name: columns[name] for name in columns})
    twice = [name for name in columns if name in own]
    if twice:
        raise ValueError(
            f"{rows.name} has a column {twice[0]!r} already, and --keep would write another; "
            "rename it, or write the new columns alone."
        )
    return pd.concat([own, columns], axis=1)


def _as_written(source: str | BinaryIO, reading: Reading) -> Any:
    from mercer.tables import read_rows

    if not isinstance(source, str):
        source.seek(0)
    return read_rows(source, encoding=reading.encoding, as_written=True).frame
