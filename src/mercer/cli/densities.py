"""``mercer density``: how dense the data are at every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.options import Data, Fitting, Output, Reading
from mercer.cli.working import Task, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Modelling

__all__ = ["density"]

Method = Literal["parzen", "series", "novelty"]


@dataclass(frozen=True)
class Density(Task):
    """Column log_density, or the columns score and outlier."""

    command: ClassVar[str] = "density"
    method: Method = "parzen"
    outliers: float = 0.1

    def check(self, modelling: Modelling) -> None:
        """Only numbers have a density in the usual sense."""
        table = modelling.table
        if self.method == "novelty" or table.is_numeric:
            return
        others = [name for name, kind in table.kinds.items() if kind != "number"]
        if others:
            what = f"column {others[0]!r} holds none ({table.kinds[others[0]]})"
            remedy = "--ignore it"
        else:
            what = f"column {next(iter(table.missing))!r} has missing cells"
            remedy = "--missing drop learns from the complete rows"
        raise ValueError(
            f"A density per unit of volume needs numbers in all columns, and {what}: {remedy}, "
            "or use --method novelty, whose score is not normalised."
        )

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """One of three."""
        from mercer import MercerNovelty, ParzenDensity, SeriesDensity

        if self.method == "novelty":
            return MercerNovelty(
                kernel=kernel, contamination=self.outliers, solver=solver, random_state=0
            )
        kind = ParzenDensity if self.method == "parzen" else SeriesDensity
        return kind(kernel=kernel, solver=solver)

    def columns(self, model: Any, frame: Any) -> dict[str, Any]:
        """Logarithms of densities in the units of the columns."""
        import numpy as np

        if type(model["model"]).__name__ == "MercerNovelty":
            scores = model.decision_function(frame)
            return {"score": scores, "outlier": (scores < 0).astype(int)}
        logs = model.score_samples(frame)
        if "scale" in model.named_steps:  # a density of z = (x - mean) / scale
            logs = logs - np.log(model["scale"].scale_).sum()
        return {"log_density": logs}

    def words(self, model: Any) -> Iterator[str]:
        """What a series leaves out."""
        found = model["model"]
        if hasattr(found, "selected_"):
            yield f"  {len(found.selected_)} terms hold {100 * found.mass_:.3g} % of the mass"


def density(
    data: Data,
    /,
    *,
    method: Method = "parzen",
    outliers: Annotated[float, Parameter(validator=Number(gt=0, lte=0.5))] = 0.1,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
) -> int:
    """Estimate how dense the data are at every row.

    *parzen* and *series* write a column *log_density*: the natural logarithm of the density, in the
    units of the table's columns whether they are scaled or not. They need numbers in all columns.
    *novelty* works for any table and writes *score* (a logarithm of a density in feature space, not
    normalised; below 0 for outliers) and *outlier* (1 or 0).

    For example:

    - `mercer density measurements.csv --bandwidth leave-one-out`
    - `mercer density machines --method novelty --outliers 0.05 --keep --out marked.csv`
    - `mercer density good.csv --method novelty --model good.mercer` and later
      `mercer density new.csv --apply good.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    method
        parzen: a window on every row. series: the eigenfunctions that carry it, which smooths more.
        novelty: a Gaussian in feature space.
    outliers
        Share of the rows learnt from that novelty calls outliers, at most 0.5.
    """
    return perform(Density(method, outliers), data, reading, fitting, output)
