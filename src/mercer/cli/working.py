"""The one road of the commands that write columns: read, fit or load, apply, write.

A command says what it fits and which columns it writes: it is a :class:`Task`. One line is written
per row of the input, in its order; rows that a model cannot be applied to have empty cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mercer.cli.failing import UsageError
from mercer.cli.options import Fitting, Output, Reading, Running
from mercer.cli.places import check_place
from mercer.cli.telling import Teller, count, percent, table_lines

if TYPE_CHECKING:
    from mercer.cli.engines import Engine
    from mercer.kernels import Kernel
    from mercer.tables import Modelling, Rows, Table

__all__ = ["Task", "chosen_table", "engine_of", "kernel_words", "perform"]

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
    learns_classes: ClassVar[bool] = False  # from the column --label, of rows that have one
    fits_chunks: ClassVar[bool] = True  # its estimator can be fitted to rows in chunks

    def table(self, rows: Rows, reading: Reading) -> Table:
        """Choose columns and rows to learn from, in memory."""
        return chosen_table(rows, reading)

    def check(self, modelling: Modelling) -> None:
        """Refuse tables that the command can do nothing with."""

    def settled(self, modelling: Modelling, bandwidth: float | str) -> Self:
        """The same task, with what depends on the table decided."""
        return self

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """What is fitted."""
        raise NotImplementedError

    def targets(self, labels: Any, name: str | None) -> Any:
        """What the estimator learns to predict, if it does, from the labels of some rows."""
        return None

    def columns(self, model: Any, seen: Any) -> dict[str, Any]:
        """New columns, lazy or not, for rows as the last step of the model, a pipeline, sees."""
        raise NotImplementedError

    def words(self, model: Any) -> Iterator[str]:
        """What is worth saying about a fitted model."""
        yield from ()

    def judge(self, labels: Any, name: str, columns: Any) -> tuple[int, int]:
        """How many of some new rows have a known class, and how many are predicted right.

        Asked of tasks that learn classes.
        """
        raise NotImplementedError


def perform(
    task: Task, data: str, reading: Reading, fitting: Fitting, output: Output, running: Running
) -> int:
    """Do a command's work; everything that can be known beforehand is, before anything is written.

    In chunks the model is saved before the columns are computed: should that fail, nothing has to
    be fitted again.
    """
    _check_usage(task, reading, fitting, output)
    engine = engine_of(data, reading, running)
    engine.check_out(output.out, output.keep)
    if output.model is not None:
        check_place(output.model)
    tell = Teller(output.quiet)
    with tell.telling_warnings(), engine.running(output.verbose):
        model = None if output.apply is None else _loaded(task, output.apply)
        engine.read()
        is_new = model is None
        if is_new:
            model = _fitted(task, engine, fitting, output.verbose, tell)
        rows, usable = engine.counted(model)
        if not is_new:
            tell(f"{engine.name}: {count(rows, 'row')}")
        _tell_skipped(engine.name, rows, usable, tell)
        columns = engine.applied(model, task)
        if not is_new and task.learns_classes:
            tell.all(_judgement(*engine.judged(columns, task)))
        write = engine.prepared(columns, output.out, output.keep, task)
        if output.model is not None:
            _save(model, output.model)
            tell(f"saved {output.model}")
        write()
        if str(output.out) != "-":
            tell(f"wrote {output.out}")
    return 0


def engine_of(data: str, reading: Reading, running: Running) -> Engine:
    """The engine that was asked for."""
    if running.engine == "dask":
        from mercer.cli.in_chunks import Chunks

        return Chunks(data, reading, running.scheduler)
    if running.scheduler is not None:
        raise UsageError("--scheduler is an address for --engine dask, which was not given.")
    from mercer.cli.in_memory import Memory

    return Memory(data, reading)


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


def _fitted(task: Task, engine: Engine, fitting: Fitting, verbose: bool, tell: Teller) -> Any:
    from mercer.tables import modelling

    table = engine.table(task)
    tell.all(table_lines(table))
    chosen = modelling(table, bandwidth=fitting.bandwidth, scale=fitting.scale)
    task.check(chosen)
    task = task.settled(chosen, fitting.bandwidth)
    estimator = task.estimator(chosen.kernel, fitting.solver, verbose)
    model = engine.fitted(chosen.pipeline(estimator), table, task)
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


def _save(model: Any, path: Path) -> None:
    """Save what new rows need; what there is of the old ones is in the columns."""
    from mercer import save

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that lazy results are not saved
        try:
            save(model, path)
        except TypeError as error:  # of a model that cannot do without rows on an engine
            raise ValueError(str(error)) from error


# --- new rows --------------------------------------------------------------------------------


def _tell_skipped(name: str, rows: int, usable: int, tell: Teller) -> None:
    if usable == 0:
        raise ValueError(
            f"{name} has {rows} rows, and none has all the numbers that the model needs."
        )
    if usable < rows:
        tell(
            f"  {rows - usable:,} of {count(rows, 'row')} cannot be used (missing values): "
            "their cells are empty"
        )


def _judgement(known: int, right: int) -> Iterator[str]:
    if known:
        yield f"  {percent(right / known)} of {known:,} rows are predicted right"
