"""``mercer novelty``: unusual rows of a table, their cells and what was expected there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.engine import Task, run_task
from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_count

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Preparation
    from mercer.utils.types import Array

__all__ = ["novelty"]

Statistic = Literal["auto", "table", "conditional", "neighbors", "mahalanobis", "mixture"]

_PRINTED_ROWS = 5


@dataclass(frozen=True)
class NoveltyTask(Task):
    """Columns score, p_value, outlier, and the most unusual cells of outliers."""

    command: ClassVar[str] = "novelty"
    standardizes: ClassVar[bool] = False  # the estimator does, and cells have their units
    false_alarm_rate: float = 0.05
    statistic: Statistic = "auto"
    cells: int = 3
    is_fitted: bool = False  # whether the rows are those that the model is fitted to

    def adapt(self, preparation: Preparation, bandwidth: float | str) -> Self:
        """Return the task of a model that is fitted to the table."""
        return replace(self, is_fitted=True)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the estimator; it chooses its own kernel."""
        from mercer import KernelNovelty

        return KernelNovelty(
            statistic=self.statistic, false_alarm_rate=self.false_alarm_rate, random_state=0
        )

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return scores and p-values and, in memory, the cells of outliers."""
        import numpy as np

        from mercer.data.dask import passes_for

        detector = model["model"]
        score, p = detector.decision_function(X), detector.p_values(X)
        own = detector.p_values_
        if self.is_fitted and own is not None and len(own) == len(X):
            p = own  # leave-one-out values
        outlier = (p <= detector.false_alarm_rate).astype(int)
        found = {"score": score, "p_value": p, "outlier": outlier}
        # later steps than the selection of columns change their values
        if not passes_for(X).is_chunked and len(model.steps) == 2:
            found |= _cells(detector, X, np.flatnonzero(outlier), self.cells)
        return found

    def results(self, columns: dict[str, Any], usable: Array) -> Iterator[str]:
        """Yield the number of outliers, and the most unusual rows with their first cell."""
        import numpy as np

        from mercer.novelty.cells import describe_cell

        rows, p = np.flatnonzero(usable) + 1, columns["p_value"]
        outliers = np.flatnonzero(columns["outlier"])
        yield f"  {len(outliers):,} of {format_count(len(p), 'row')} are outliers"
        for i in outliers[np.argsort(p[outliers], kind="stable")][:_PRINTED_ROWS]:
            cell = ""
            if "column" in columns:
                parts = [columns[name][i] for name in ("column", "observed", "expected")]
                cell = f": {describe_cell(*parts)}"
            yield f"  row {rows[i]}, p = {p[i]:.2g}{cell}"


def _cells(detector: Any, X: Any, outliers: Array, count: int) -> dict[str, Any]:
    """Return the columns of the most unusual cells of outliers, empty for other rows.

    Values are strings, because one column holds cells of columns of different types.
    """
    import numpy as np

    from mercer.novelty.cells import explained_cells

    count = min(count, X.shape[1])
    names = [
        f"{name}{'' if k == 0 else f'_{k + 1}'}"
        for k in range(count)
        for name in ("column", "observed", "expected")
    ]
    found = {name: np.full(len(X), None, dtype=object) for name in names}
    if not len(outliers):
        return found
    cells = explained_cells(detector, X.iloc[outliers])
    parts = [cells[name].to_numpy(dtype=object) for name in ("column", "observed", "expected")]
    for k, name in enumerate(names):
        values = parts[k % 3].reshape(len(outliers), -1)[:, k // 3]
        found[name][outliers] = [_as_text(value) for value in values]
    return found


def _as_text(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def novelty(
    data: Data,
    /,
    *,
    false_alarm_rate: Annotated[float, Parameter(validator=Number(gt=0, lte=0.5))] = 0.05,
    statistic: Statistic = "auto",
    cells: Annotated[int, Parameter(validator=Number(gte=0))] = 3,
    reading: Reading = Reading(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Find unusual rows, the cells that make them unusual, and what was expected there.

    Writes *p_value* (the probability that a normal row is at least as unusual), *outlier* (1 if it
    is at most --false-alarm-rate, else 0), *score* (negative for outliers), and for outliers the
    most unusual cells: *column*, *observed*, *expected*, *column_2*, *observed_2*, …

    For example:

    - `mercer novelty measurements.csv --keep --out rows.csv`
    - `mercer novelty good.csv --model good.mercer --false-alarm-rate 0.01` and later
      `mercer novelty new.csv --apply good.mercer --keep --out marked.csv`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    false_alarm_rate
        Fraction of normal rows that are marked as outliers, at most 0.5.
    statistic
        What is measured. auto is table for mixed tables and tables with missing values: cells
        given the other cells of the row, and distance from the nearest rows. For numbers it is
        neighbors, or mahalanobis for more than 100 columns; what is expected in a cell is then the
        typical value of its column.
    cells
        Number of cells to name for each outlier. Not with --engine dask.
    """
    task = NoveltyTask(false_alarm_rate, statistic, cells)
    return run_task(task, data, reading, Fitting(), output, running)
