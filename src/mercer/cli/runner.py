"""The steps of all commands that write columns: read, fit or load a model, apply it, write.

A command is described by a :class:`Task`: the estimator that it fits and the columns that it
writes. The output has one line per input row, in the same order; rows to which the model cannot be
applied have missing values.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mercer.cli.console import Messages, describe_table
from mercer.cli.errors import UsageError
from mercer.cli.options import Fitting, Output, Reading, Running
from mercer.cli.output_files import check_file
from mercer.utils.formatting import format_count, format_percent

if TYPE_CHECKING:
    from mercer.cli.engine import Engine, UsableRows
    from mercer.kernels import Kernel
    from mercer.tables import Preparation, Rows, Table

__all__ = ["Task", "make_engine", "run_task", "select_table"]

# class of a fitted model -> the command that fits it
_COMMANDS = {
    "KernelECA": "embed",
    "KernelPCA": "embed",
    "EntropyClustering": "cluster",
    "SpectralClustering": "cluster",
    "ParzenDensity": "density",
    "SeriesDensity": "density",
    "KernelNovelty": "density",
    "MercerNovelty": "density",
    "KernelDenoiser": "denoise",
    "KernelLDA": "discriminate",
}


@dataclass(frozen=True)
class Task:
    """The estimator and the output columns of a command; the fields are the command's options."""

    command: ClassVar[str]
    replaces: ClassVar[bool] = False  # whether new columns replace input columns of the same name
    learns_classes: ClassVar[bool] = False  # whether it is fitted to the classes of --label
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

    def columns(self, model: Any, X: Any, engine: Engine[Any, Any]) -> dict[str, Any]:
        """Return the new columns, as arrays or lazy Dask arrays.

        Parameters
        ----------
        model : Pipeline
        X : array or Dask array
            Rows as transformed by all steps but the last.
        engine : Engine
            Applies functions to rows.
        """
        raise NotImplementedError

    def summary(self, model: Any, engine: Engine[Any, Any]) -> Iterator[str]:
        """Yield lines on a fitted model."""
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
    engine = make_engine(data, reading, running)
    engine.check_output(output)
    if output.model is not None:
        check_file(output.model)
    messages = Messages(output.quiet)
    with messages.showing_warnings(), engine.session(output.verbose):
        if output.apply is None:
            rows = engine.read()
            table = engine.select(rows, task)
            model = _fit(task, engine, table, fitting, output.verbose, messages)
            usable = engine.find_usable(rows, model, table)
        else:
            model = _load(task, output.apply)
            rows = engine.read(model)
            usable = engine.find_usable(rows, model)
            messages.print(f"{rows.name}: {format_count(usable.n_rows, 'row')}")
        messages.print_all(_check_usable(rows.name, usable))
        columns = engine.apply(rows, usable, model, task)
        if output.apply is not None and task.learns_classes:
            messages.print_all(_accuracy(*engine.count_correct(rows, usable, columns, task)))
        write = engine.prepare_output(rows, usable, columns, output, task)
        if output.model is not None:
            _save(model, output.model)
            messages.print(f"saved {output.model}")
        write()
        if str(output.out) != "-":
            messages.print(f"wrote {output.out}")
    return 0


def make_engine(data: str, reading: Reading, running: Running) -> Engine[Any, Any]:
    """Return the engine preparation by ``--engine``."""
    if running.engine == "dask":
        from mercer.cli.engine_dask import DaskEngine

        return DaskEngine(data, reading, running.scheduler)
    if running.scheduler is not None:
        raise UsageError("--scheduler can only be used with --engine dask.")
    from mercer.cli.engine_memory import MemoryEngine

    return MemoryEngine(data, reading)


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
    task: Task,
    engine: Engine[Any, Any],
    table: Any,
    fitting: Fitting,
    verbose: bool,
    messages: Messages,
) -> Any:
    from mercer.tables import prepare

    messages.print_all(describe_table(table))
    preparation = prepare(table, bandwidth=fitting.bandwidth, scale=fitting.scale)
    task.check(preparation)
    task = task.adapt(preparation, fitting.bandwidth)
    estimator = task.estimator(preparation.kernel, fitting.solver, verbose)
    model = engine.fit(preparation.pipeline(estimator), table, task)
    messages.print_all(_describe_kernel(model))
    messages.print_all(task.summary(model, engine))
    return model


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
        yield f"  bandwidths σ = {', '.join(f'{one:.4g}' for one in bandwidth)}{unit}"


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


def _check_usable(name: str, usable: UsableRows) -> Iterator[str]:
    """Raise ValueError if no row is usable; report how many are not."""
    if usable.n_usable == 0:
        raise ValueError(
            f"None of the {format_count(usable.n_rows, 'row')} of {name} has all values that the "
            "model needs."
        )
    if usable.n_usable < usable.n_rows:
        yield (
            f"  {usable.n_rows - usable.n_usable:,} of {format_count(usable.n_rows, 'row')} have "
            "missing values and get empty cells"
        )


def _accuracy(known: int, correct: int) -> Iterator[str]:
    if known:
        accuracy = format_percent(correct / known)
        yield f"  accuracy: {accuracy} of {format_count(known, 'labeled row')}"
