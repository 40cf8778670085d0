"""``mercer embed``: kernel entropy components or kernel principal components of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mercer.cli.engine import Task, run_task
from mercer.cli.options import Components, Data, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_count, format_percent

if TYPE_CHECKING:
    from mercer.kernels import Kernel

__all__ = ["embed"]

Method = Literal["eca", "pca"]


@dataclass(frozen=True)
class EmbedTask(Task):
    """Columns eca1, eca2, … or pca1, pca2, …."""

    command: ClassVar[str] = "embed"
    components: int | float = 2
    method: Method = "eca"

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return kernel ECA or kernel PCA."""
        from mercer import KernelECA, KernelPCA

        kind = KernelECA if self.method == "eca" else KernelPCA
        return kind(self.components, kernel=kernel, solver=solver, verbose=verbose)

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return the projections."""
        name = "eca" if _is_eca(model) else "pca"
        projections = model["model"].transform(X)
        return {f"{name}{j + 1}": projections[:, j] for j in range(projections.shape[1])}

    def summary(self, model: Any) -> Iterator[str]:
        """Yield the fraction of entropy or variance in the components."""
        fitted = model["model"]
        ratios = fitted.entropy_ratio_ if _is_eca(model) else fitted.explained_variance_ratio_
        total = "the information potential" if _is_eca(model) else "the variance"
        percent = format_percent(float(ratios.sum()))
        yield f"  {format_count(fitted.n_components_, 'component')}: {percent} of {total}"


def _is_eca(model: Any) -> bool:
    return type(model["model"]).__name__ == "KernelECA"


def embed(
    data: Data,
    /,
    *,
    components: Components = 2,
    method: Method = "eca",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Compute kernel entropy components or kernel principal components of every row.

    Writes columns eca1, eca2, … (or pca1, pca2, …).

    For example:

    - `mercer embed measurements.csv --label species --out coordinates.csv`
    - `mercer embed wine --components 3 --keep > wine-and-components.csv`
    - `mercer embed old.csv --model old.mercer` and later
      `mercer embed new.csv --apply old.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    components
        Number of components; or a fraction below 1: the fewest components with this fraction of
        the information potential (eca) or of the variance (pca).
    method
        eca selects components by their contribution to the Renyi entropy, pca by their variance.
    """
    return run_task(EmbedTask(components, method), data, reading, fitting, output, running)
