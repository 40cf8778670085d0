"""``mercer embed``: kernel entropy or principal components of every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mercer.cli.options import Components, Data, Fitting, Output, Reading
from mercer.cli.telling import count, percent
from mercer.cli.working import Task, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel

__all__ = ["embed"]

Method = Literal["eca", "pca"]


@dataclass(frozen=True)
class Embedding(Task):
    """Columns eca1, eca2 and so on, or pca1, pca2."""

    command: ClassVar[str] = "embed"
    components: int | float = 2
    method: Method = "eca"

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Kernel ECA or kernel PCA."""
        from mercer import KernelECA, KernelPCA

        kind = KernelECA if self.method == "eca" else KernelPCA
        return kind(self.components, kernel=kernel, solver=solver, verbose=verbose)

    def columns(self, model: Any, frame: Any) -> dict[str, Any]:
        """Projections."""
        name = "eca" if _is_eca(model) else "pca"
        projected = model.transform(frame)
        return {f"{name}{j + 1}": projected[:, j] for j in range(projected.shape[1])}

    def words(self, model: Any) -> Iterator[str]:
        """How much the components hold."""
        found = model["model"]
        shares = found.entropy_ratio_ if _is_eca(model) else found.explained_variance_ratio_
        of = "the information potential" if _is_eca(model) else "the variance"
        held = percent(float(shares.sum()))
        yield f"  {count(found.n_components_, 'component')} with {held} of {of}"


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
) -> int:
    """Write kernel entropy components, or kernel principal components, of every row.

    Writes columns eca1, eca2, … (or pca1, pca2, …).

    For example:

    - `mercer embed measurements.csv --label species --out coordinates.csv`
    - `mercer embed wine --components 3 --keep > wine-and-components.csv`
    - `mercer embed old.csv --model old.mercer` and later
      `mercer embed new.csv --apply old.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    components
        How many; or, as a number below 1, as many as hold this share of the information potential
        (eca) or of the variance (pca).
    method
        eca keeps the components that carry the Renyi entropy; pca the ones of largest variance.
    """
    return perform(Embedding(components, method), data, reading, fitting, output)
