"""``mercer density``: log density, novelty score or p-value of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.engine import Task, run_task
from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_count

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Preparation

__all__ = ["density"]

Method = Literal["parzen", "series", "novelty", "conformal"]


@dataclass(frozen=True)
class DensityTask(Task):
    """Column log_density, or columns score, p_value and outlier."""

    command: ClassVar[str] = "density"
    method: Method = "parzen"
    outliers: float = 0.1

    def check(self, preparation: Preparation) -> None:
        """Raise ValueError for mixed tables, which have no density with respect to volume."""
        table = preparation.table
        if self.method in ("novelty", "conformal") or table.is_numeric:
            return
        others = [name for name, kind in table.column_types.items() if kind != "number"]
        if others:
            kind = table.column_types[others[0]]
            problem = f"{others[0]!r} has type {kind}. Use --ignore {others[0]}"
        else:
            problem = f"{next(iter(table.missing))!r} has missing values. Use --missing drop"
        raise ValueError(
            f"--method {self.method} needs complete numeric columns; column {problem}, or --method "
            "novelty or conformal, whose scores are not normalized."
        )

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the estimator of the method."""
        from mercer import KernelNovelty, ParzenDensity, SeriesDensity

        if self.method in ("novelty", "conformal"):
            statistic = "mixture" if self.method == "novelty" else "auto"
            return KernelNovelty(
                kernel, statistic=statistic, false_alarm_rate=self.outliers, random_state=0
            )
        kind = ParzenDensity if self.method == "parzen" else SeriesDensity
        return kind(kernel=kernel, solver=solver)

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return log densities in the units of the columns, or scores."""
        import numpy as np

        fitted = model["model"]
        if type(fitted).__name__ == "KernelNovelty":
            p = fitted.p_values(X)
            outlier = (p <= fitted.false_alarm_rate).astype(int)
            return {"score": fitted.decision_function(X), "p_value": p, "outlier": outlier}
        logs = fitted.score_samples(X)
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
    outliers: Annotated[float, Parameter(validator=Number(gt=0, lte=0.5))] = 0.1,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Estimate the density, or a novelty score, at every row.

    *parzen* and *series* write a column *log_density*: the natural logarithm of the density, in
    the units of the table's columns even if they are standardized. They need numeric columns.
    *novelty* and *conformal* accept any table and write *score* (negative for outliers), *p_value*
    (small for outliers) and *outlier* (1 or 0).

    For example:

    - `mercer density measurements.csv --bandwidth leave-one-out`
    - `mercer density machines --method novelty --outliers 0.05 --keep --out marked.csv`
    - `mercer density good.csv --method novelty --model good.mercer` and later
      `mercer density new.csv --apply good.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    method
        parzen: Parzen window estimate. series: eigenfunction expansion, which is smoother.
        novelty: distance from a Gaussian model in feature space. conformal: distance from the
        nearest rows.
    outliers
        Fraction of normal rows that novelty and conformal mark as outliers, at most 0.5.
    """
    return run_task(DensityTask(method, outliers), data, reading, fitting, output, running)
