"""``mercer denoise``: rows projected onto leading components, as pre-images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter

from mercer.cli.console import UsageError
from mercer.cli.engine import Task, run_task, select_table
from mercer.cli.options import Data, Fitting, Output, Reading, Running, parse_components

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Omission, Rows, Table

__all__ = ["denoise"]

Order = Literal["auto", "entropy", "variance"]
Preimage = Literal["auto", "kwok-tsang", "mika", "ridge"]


@dataclass(frozen=True)
class DenoiseTask(Task):
    """The numeric columns, denoised, under their own names."""

    command: ClassVar[str] = "denoise"
    replaces: ClassVar[bool] = True
    fits_chunks: ClassVar[bool] = False
    components: int | float | Literal["auto"] = "auto"
    order: Order = "auto"
    preimage: Preimage = "auto"

    def select(self, rows: Rows, reading: Reading) -> Table:
        """Select complete rows of the numeric columns; others have no pre-images."""
        if reading.missing == "keep":
            raise UsageError("denoise needs complete rows and cannot be used with --missing keep.")
        table = select_table(rows, reading)
        others = [name for name, kind in table.column_types.items() if kind != "number"]
        if len(others) == len(table.columns):
            raise ValueError(f"{rows.name} has no numeric column to denoise.")
        numeric = replace(reading, missing="drop", ignore=(*reading.ignore, *others))
        table = select_table(rows, numeric)
        omissions = tuple(_explain(one, others) for one in table.omissions)
        return replace(table, omissions=omissions)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the denoiser: projection and pre-image."""
        from mercer import KernelDenoiser

        return KernelDenoiser(
            self.components,
            kernel=kernel,
            order=self.order,
            preimage=self.preimage,
            solver=solver,
            random_state=0,
        )

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return pre-images in the units of the columns."""
        if set(model.named_steps) - {"columns", "scale", "model"}:
            step = type(model.steps[1][1]).__name__
            raise ValueError(
                f"The model transforms columns by {step} before the denoiser, so pre-images are "
                "not in the units of the columns. Use a pipeline of at most StandardScaler and "
                "KernelDenoiser."
            )
        from mercer.data.dask import passes_for

        denoised = model["model"].transform(X)
        if "scale" in model.named_steps:
            denoised = passes_for(denoised).map(model["scale"].inverse_transform, denoised)
        names = model["columns"].columns_
        return {name: denoised[:, j] for j, name in enumerate(names)}


def _explain(omission: Omission, others: list[str]) -> Omission:
    return replace(omission, reason="not numeric") if omission.column in others else omission


def _parse_components(kind: Any, tokens: Any) -> int | float | str:
    return "auto" if tokens[0].value == "auto" else parse_components(kind, tokens)


def denoise(
    data: Data,
    /,
    *,
    components: Annotated[
        int | float | Literal["auto"], Parameter(converter=_parse_components, n_tokens=1)
    ] = "auto",
    order: Order = "auto",
    preimage: Preimage = "auto",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Denoise numeric columns: project rows onto leading components and compute pre-images.

    Writes the numeric columns under their own names and in their own units; other columns are
    ignored. With --keep they replace the columns of the input. With few components the result is a
    prototype rather than a denoised copy of the row. Results are best with a model of clean rows
    that is applied to noisy ones.

    For example:

    - `mercer denoise clean.csv --model clean.mercer --out -` and then
      `mercer denoise noisy.csv --apply clean.mercer --out cleaned.csv`
    - `mercer denoise digits --components 20 --keep --out digits-clean.parquet`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    components
        Number of components; or a fraction below 1: the fewest components with this fraction of
        the total. auto: the fewest with 95 % of the variance, at most 256.
    order
        Order of the components: by entropy or by variance. auto: variance, or entropy if a number
        of components is given.
    preimage
        Pre-image method: from distances to neighbors (kwok-tsang), by fixed-point iteration
        (mika), or by ridge regression (ridge). auto: mika, or kwok-tsang if a number of components
        is given.
    """
    task = DenoiseTask(components, order, preimage)
    return run_task(task, data, reading, fitting, output, running)
