"""``mercer density``: log density of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mercer.cli.engine import Task, run_task
from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_count

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Preparation

__all__ = ["density"]

Method = Literal["parzen", "series"]


@dataclass(frozen=True)
class DensityTask(Task):
    """Column log_density."""

    command: ClassVar[str] = "density"
    method: Method = "parzen"

    def check(self, preparation: Preparation) -> None:
        """Raise ValueError for mixed tables, which have no density with respect to volume."""
        table = preparation.table
        if table.is_numeric:
            return
        others = [name for name, kind in table.column_types.items() if kind != "number"]
        if others:
            kind = table.column_types[others[0]]
            problem = f"{others[0]!r} has type {kind}. Use --ignore {others[0]}"
        else:
            problem = f"{next(iter(table.missing))!r} has missing values. Use --missing drop"
        raise ValueError(
            f"mercer density needs complete numeric columns; column {problem}. For unusual rows of "
            "any table, use mercer novelty."
        )

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the estimator of the method."""
        from mercer import ParzenDensity, SeriesDensity

        kind = ParzenDensity if self.method == "parzen" else SeriesDensity
        return kind(kernel=kernel, solver=solver)

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return log densities in the units of the columns."""
        import numpy as np

        logs = model["model"].score_samples(X)
        if "scale" in model.named_steps:  # p(x) = p(z) / prod(scale) for z = (x - mean) / scale
            logs = logs - np.log(model["scale"].scale_).sum()
        return {"log_density": logs}

    def summary(self, model: Any) -> Iterator[str]:
        """Yield the number of terms of a series, and its mass."""
        fitted = model["model"]
        if hasattr(fitted, "selected_"):
            yield f"  {format_count(len(fitted.selected_), 'term')}; total mass {fitted.mass_:.4g}"


def density(
    data: Data,
    /,
    *,
    method: Method = "parzen",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Estimate the density at every row.

    Writes a column *log_density*: the natural logarithm of the density, in the units of the table's
    columns even if they are standardized. Columns must be numeric.

    For example:

    - `mercer density measurements.csv --bandwidth leave-one-out`
    - `mercer density measurements.csv --model measured.mercer` and later
      `mercer density new.csv --apply measured.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    method
        parzen: Parzen window estimate. series: eigenfunction expansion, which is smoother.
    """
    return run_task(DensityTask(method), data, reading, fitting, output, running)
