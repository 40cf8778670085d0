"""``mercer cluster``: a cluster for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from cyclopts import Parameter

from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.cli.telling import count
from mercer.cli.working import Task, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.maths.types import Array
    from mercer.tables import Modelling

__all__ = ["cluster"]


@dataclass(frozen=True)
class Clustering(Task):
    """Columns cluster and cosine."""

    command: ClassVar[str] = "cluster"
    clusters: int | Literal["auto"] = "auto"
    counted: int | None = None
    factors: tuple[float, ...] | None = None

    def settled(self, modelling: Modelling, bandwidth: float | str) -> Self:
        """In memory: as many clusters as the report counts, at widths that are swept as there."""
        from mercer.cluster_count import count_clusters
        from mercer.tables import WIDTH_FACTORS, Table

        if bandwidth != "auto" or not isinstance(modelling.table, Table):
            return self
        counted = None
        if self.clusters == "auto":
            counted = count_clusters(modelling.data, modelling.kernel).chosen
        factors = None if modelling.table.is_numeric else WIDTH_FACTORS
        return replace(self, counted=counted, factors=factors)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Entropy clustering; a Gaussian with an automatic bandwidth is swept by itself."""
        from mercer import EntropyClustering

        return EntropyClustering(
            self.clusters if self.counted is None else self.counted,
            kernel=kernel,
            bandwidths=self.factors,
            solver=solver,
            verbose=verbose,
        )

    def columns(self, model: Any, seen: Any) -> dict[str, Any]:
        """Labels, and how well each row fits its cluster's direction."""
        from mercer.chunks import passes_for

        clustering = model["model"]
        labels = clustering.predict(seen)
        scores = clustering.eca_.transform(seen)
        cosine = partial(_cosines, clustering.cluster_centers_)
        cosines = passes_for(scores).map(cosine, scores, labels)
        return {"cluster": labels, "cosine": cosines}

    def words(self, model: Any) -> Iterator[str]:
        """Sizes, and the cost."""
        from mercer.chunks import passes_for

        found = model["model"]
        labels = found.labels_
        sizes = passes_for(labels).sum(partial(_sizes, found.n_clusters_), labels)
        shown = ", ".join(f"{size:,}" for size in sizes)
        yield f"  {count(found.n_clusters_, 'cluster')} of {shown} rows; cost {found.cost_:.4g}"
        if found.n_clusters_ == 1 and self.clusters == "auto":
            yield "  (only one group shows itself; --clusters N insists on N)"


def _cosines(centers: Array, scores: Array, labels: Array) -> Array:
    """Of the angles between rows and the directions of their clusters; NaN without a cluster."""
    import numpy as np

    lengths = np.linalg.norm(scores, axis=1)
    along = (scores * centers[labels]).sum(axis=1)
    cosines = np.full(len(labels), np.nan)
    has_cluster = labels >= 0
    cosines[has_cluster] = along[has_cluster] / lengths[has_cluster]
    return cosines


def _sizes(n_clusters: int, labels: Array) -> Array:
    import numpy as np

    return np.bincount(labels[labels >= 0], minlength=n_clusters)


def _read_clusters(kind: Any, tokens: Any) -> int | str:
    text: str = tokens[0].value
    if text == "auto":
        return text
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise ValueError("give a whole number of at least 1, or auto")
    return count


def cluster(
    data: Data,
    /,
    *,
    clusters: Annotated[
        int | Literal["auto"], Parameter(converter=_read_clusters, n_tokens=1)
    ] = "auto",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Find clusters by angle in kernel entropy component space.

    Writes columns *cluster* (0, 1, …; -1 for a row that has nothing in common with any other) and
    *cosine* (of the angle between the row and its cluster's direction: 1 in the middle).

    For example:

    - `mercer cluster measurements.csv --clusters 3 --keep --out clustered.csv`
    - `mercer embed wine --components 3 | mercer cluster -`
    - `mercer cluster rings --clusters 3 --bandwidth 0.5 --no-scale`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    clusters
        How many; auto counts as the report does: the number at which clusters change least with the
        bandwidth, or the groups that the spectrum shows (always so with --bandwidth or in chunks).
    """
    return perform(Clustering(clusters), data, reading, fitting, output, running)
