"""``mercer cluster``: a cluster for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from cyclopts import Parameter

from mercer.cli.options import Data, Fitting, Output, Reading, Running, parse_integer
from mercer.cli.runner import Task, run_task
from mercer.formatting import format_count

if TYPE_CHECKING:
    from mercer.cli.engine import Engine
    from mercer.kernels import Kernel
    from mercer.maths.types import Array
    from mercer.tables import Preparation

__all__ = ["cluster"]


@dataclass(frozen=True)
class ClusterTask(Task):
    """Columns cluster and cosine."""

    command: ClassVar[str] = "cluster"
    clusters: int | Literal["auto"] = "auto"
    estimated: int | None = None  # the number of clusters, if it was estimated before the fit
    factors: tuple[float, ...] | None = None  # multipliers of a mixed table's bandwidths to try

    def adapt(self, preparation: Preparation, bandwidth: float | str) -> Self:
        """Set the number of clusters and the bandwidths to try, as in a report.

        Tables of the Dask engine are left to the estimator.
        """
        from mercer.cluster_count import count_clusters
        from mercer.tables import BANDWIDTH_FACTORS, Table

        if bandwidth != "auto" or not isinstance(preparation.table, Table):
            return self
        estimated = None
        if self.clusters == "auto":
            estimated = count_clusters(preparation.data, preparation.kernel).chosen
        factors = None if preparation.table.is_numeric else BANDWIDTH_FACTORS
        return replace(self, estimated=estimated, factors=factors)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return entropy clustering; it sweeps the bandwidth of a Gaussian kernel with "auto"."""
        from mercer import EntropyClustering

        return EntropyClustering(
            self.clusters if self.estimated is None else self.estimated,
            kernel=kernel,
            bandwidths=self.factors,
            solver=solver,
            verbose=verbose,
        )

    def columns(self, model: Any, X: Any, engine: Engine[Any, Any]) -> dict[str, Any]:
        """Return labels, and cosines with the cluster centers."""
        clustering = model["model"]
        labels = clustering.predict(X)
        scores = clustering.eca_.transform(X)
        cosines = engine.map_rows(partial(_cosines, clustering.cluster_centers_), scores, labels)
        return {"cluster": labels, "cosine": cosines}

    def summary(self, model: Any, engine: Engine[Any, Any]) -> Iterator[str]:
        """Yield the sizes of the clusters, and the cost."""
        fitted = model["model"]
        sizes = engine.sum_rows(partial(_sizes, fitted.n_clusters_), fitted.labels_)
        listed = ", ".join(f"{size:,}" for size in sizes)
        clusters = format_count(fitted.n_clusters_, "cluster")
        yield f"  {clusters} of {listed} rows; cost {fitted.cost_:.4g}"
        if fitted.n_clusters_ == 1 and self.clusters == "auto":
            yield "  Found one cluster. Use --clusters N to force N."


def _cosines(centers: Array, scores: Array, labels: Array) -> Array:
    """Return cosines of the angles between rows and their cluster centers; NaN for label -1."""
    import numpy as np

    lengths = np.linalg.norm(scores, axis=1)
    products = (scores * centers[labels]).sum(axis=1)
    cosines = np.full(len(labels), np.nan)
    has_cluster = labels >= 0
    cosines[has_cluster] = products[has_cluster] / lengths[has_cluster]
    return cosines


def _sizes(n_clusters: int, labels: Array) -> Array:
    import numpy as np

    return np.bincount(labels[labels >= 0], minlength=n_clusters)


def _parse_clusters(kind: Any, tokens: Any) -> int | str:
    text: str = tokens[0].value
    value = text if text == "auto" else parse_integer(text)
    if value is None:
        raise ValueError(f"{text!r} is not an integer >= 1 or auto")
    return value


def cluster(
    data: Data,
    /,
    *,
    clusters: Annotated[
        int | Literal["auto"], Parameter(converter=_parse_clusters, n_tokens=1)
    ] = "auto",
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Cluster rows by angle in the space of kernel entropy components.

    Writes columns *cluster* (0, 1, …; -1 for isolated rows, which are not similar to any other row)
    and *cosine* (of the angle between the row and its cluster's center; 1 at the center).

    For example:

    - `mercer cluster measurements.csv --clusters 3 --keep --out clustered.csv`
    - `mercer embed wine --components 3 | mercer cluster -`
    - `mercer cluster rings --clusters 3 --bandwidth 0.5 --no-scale`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    clusters
        Number of clusters. auto chooses the number whose clusters are most stable under changes of
        the bandwidth; if none is stable, or with --bandwidth or --engine dask, the number is
        estimated from the spectrum.
    """
    return run_task(ClusterTask(clusters), data, reading, fitting, output, running)
