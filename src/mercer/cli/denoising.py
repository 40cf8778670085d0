"""``mercer denoise``: rows as the leading components see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mercer.cli.failing import UsageError
from mercer.cli.options import Components, Data, Fitting, Output, Reading, Running
from mercer.cli.working import Task, chosen_table, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Omission, Rows, Table

__all__ = ["denoise"]

Order = Literal["entropy", "variance"]
Preimage = Literal["kwok-tsang", "mika", "ridge"]


@dataclass(frozen=True)
class Denoising(Task):
    """The columns of numbers, denoised, under their own names."""

    command: ClassVar[str] = "denoise"
    replaces: ClassVar[bool] = True
    fits_chunks: ClassVar[bool] = False
    components: int | float = 8
    order: Order = "entropy"
    preimage: Preimage = "kwok-tsang"

    def table(self, rows: Rows, reading: Reading) -> Table:
        """Complete rows of the columns of numbers: nothing else has a pre-image."""
        if reading.missing == "keep":
            raise UsageError("denoise learns from complete rows: --missing keep cannot be given.")
        table = chosen_table(rows, reading)
        others = [name for name, kind in table.kinds.items() if kind != "number"]
        if len(others) == len(table.columns):
            raise ValueError(f"{rows.name} has no column of numbers that could be denoised.")
        numbers = replace(reading, missing="drop", ignore=(*reading.ignore, *others))
        table = chosen_table(rows, numbers)
        return replace(table, omissions=tuple(_explained(one, others) for one in table.omissions))

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Projection, and a pre-image of it."""
        from mercer import KernelDenoiser

        return KernelDenoiser(
            self.components,
            kernel=kernel,
            order=self.order,
            preimage=self.preimage,
            solver=solver,
            random_state=0,
        )

    def columns(self, model: Any, seen: Any) -> dict[str, Any]:
        """Pre-images in the units of the columns."""
        from mercer.chunks import passes_for

        cleaned = model["model"].transform(seen)
        if "scale" in model.named_steps:
            cleaned = passes_for(cleaned).map(model["scale"].inverse_transform, cleaned)
        names = model["columns"].columns_
        return {name: cleaned[:, j] for j, name in enumerate(names)}


def _explained(omission: Omission, others: list[str]) -> Omission:
    return (
        replace(omission, reason="not numbers", code="not_numeric")
        if omission.column in others
        else omission
    )


def denoise(
    data: Data,
    /,
    *,
    components: Components = 8,
    order: Order = "entropy",
    preimage: Preimage = "kwok-tsang",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Denoise columns of numbers: project rows onto leading components, and come back.

    Writes the columns of numbers under their own names and in their own units; other columns are
    not looked at. With --keep they take the place of the table's own. With few components the
    answer is closer to a prototype than to a cleaned copy of the row. Best is a model of clean
    rows, applied to noisy ones.

    For example:

    - `mercer denoise clean.csv --model clean.mercer --out -` and then
      `mercer denoise noisy.csv --apply clean.mercer --out cleaned.csv`
    - `mercer denoise digits --components 20 --keep --out digits-clean.parquet`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    components
        How many; or, as a number below 1, as many as hold this share of the total.
    order
        Which components come first: those of most entropy, or of most variance.
    preimage
        How the way back is found: from distances to neighbours (kwok-tsang), by a fixed point
        (mika), by regression (ridge).
    """
    return perform(Denoising(components, order, preimage), data, reading, fitting, output, running)
