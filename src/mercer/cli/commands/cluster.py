"""``mercer cluster``: a cluster for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.console import UsageError
from mercer.cli.engine import Task, run_task
from mercer.cli.options import Data, Fitting, Output, Reading, Running, parse_integer
from mercer.utils.formatting import format_count

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Preparation
    from mercer.utils.types import Array

__all__ = ["cluster"]


Method = Literal["spectral", "entropy"]


@dataclass(frozen=True)
class ClusterTask(Task):
    """Column cluster; for entropy clustering also cosine."""

    command: ClassVar[str] = "cluster"
    method: Method = "spectral"
    clusters: int | Literal["auto"] = "auto"
    noise: float = 0.0
    unfitted: Any = None  # the estimator, which depends on the table
    table: Any = None

    def adapt(self, preparation: Preparation, bandwidth: float | str) -> Self:
        """Return the task with the estimator for a table and a bandwidth."""
        if self.method == "entropy":
            clustering = self._entropy_clustering(preparation, bandwidth)
            return replace(self, unfitted=clustering, table=preparation.table)
        from mercer.cluster.table_clustering import table_clustering

        clustering = table_clustering(
            preparation, self.clusters, bandwidth=bandwidth, noise=self.noise
        )
        return replace(self, unfitted=clustering, table=preparation.table)

    def _entropy_clustering(self, preparation: Preparation, bandwidth: float | str) -> Any:
        """Return entropy clustering; it sweeps the bandwidth of a Gaussian kernel with "auto".

        The bandwidths of tables of the Dask engine are left to the estimator.
        """
        from mercer import EntropyClustering
        from mercer.tables import BANDWIDTH_FACTORS, Table

        kernel, count, factors = preparation.kernel, self.clusters, None
        if bandwidth == "auto" and isinstance(preparation.table, Table):
            factors = None if preparation.table.is_numeric else BANDWIDTH_FACTORS
        return EntropyClustering(count, kernel=kernel, bandwidths=factors)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return the estimator of the method."""
        return self.unfitted.set_params(solver=solver, verbose=verbose)

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return labels, and for entropy clustering cosines with the cluster centers."""
        from mercer.data.dask import passes_for

        clustering = model["model"]
        labels = clustering.predict(X)
        if not hasattr(clustering, "eca_"):
            return {"cluster": labels}
        scores = clustering.eca_.transform(X)
        cosines = passes_for(scores).map(
            partial(_cosines, clustering.cluster_centers_), scores, labels
        )
        return {"cluster": labels, "cosine": cosines}

    def summary(self, model: Any) -> Iterator[str]:
        """Yield the sizes of the clusters, and how they were chosen."""
        from mercer.data.dask import passes_for

        fitted = model["model"]
        noise, *sizes = passes_for(fitted.labels_).sum(
            partial(_sizes, fitted.n_clusters_), fitted.labels_
        )
        listed = ", ".join(f"{size:,}" for size in sizes)
        text = f"  {format_count(fitted.n_clusters_, 'cluster')} of {listed} rows"
        if self.method == "entropy":
            yield f"{text}; cost {fitted.cost_:.4g}"
        else:
            yield f"{text}; {noise:,} of noise (-1)" if self.noise else text
            yield from _describe_choice(fitted)
        yield from self._describe_clusters(fitted.labels_)
        if fitted.n_clusters_ == 1 and self.clusters == "auto":
            yield "  Found no separate clusters. Use --clusters N to force N."

    def _describe_clusters(self, labels: Array) -> Iterator[str]:
        """Yield a line for each cluster of a table in memory: the columns that distinguish it."""
        from mercer.cluster.profiles import cluster_traits, summarize_traits
        from mercer.tables import Table

        if isinstance(self.table, Table):
            for number, line in summarize_traits(cluster_traits(self.table, labels)).items():
                yield f"  {number}: {line}"


def _describe_choice(fitted: Any) -> Iterator[str]:
    """Yield the kernel of a spectral clustering, and how clear the number of clusters is."""
    from mercer.cluster.cluster_number import COULD_NOT_TELL
    from mercer.cluster.table_clustering import describe_kernel

    among = ", chosen among neighbor graphs and k-means" if fitted.path_ else ""
    yield f"  {describe_kernel(fitted.kernel_)}{among}"
    if fitted.followed_columns_:
        yield f"  Left out, because clusters follow them: {', '.join(fitted.followed_columns_)}"
    confidence = fitted.confidence_
    if confidence != confidence:  # nan: the number was given
        return
    next_best = "" if fitted.alternative_ is None else f"; next best: {fitted.alternative_}"
    if confidence < COULD_NOT_TELL:
        yield f"  Could not tell the number of clusters ({confidence:.0%} confidence{next_best})."
    else:
        yield f"  {confidence:.0%} confidence in the number of clusters{next_best}"


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
    """Return the numbers of rows with the labels -1, 0, … in this order."""
    import numpy as np

    return np.bincount(labels + 1, minlength=n_clusters + 1)


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
    method: Method = "spectral",
    noise: Annotated[float, Parameter(validator=Number(gte=0, lt=1))] = 0.0,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
    running: Running = Running(),
) -> int:
    """Cluster rows by spectral clustering, or by angle in the space of kernel entropy components.

    Writes a column *cluster*: 0, 1, …; -1 for noise and isolated rows. *spectral* compares three
    neighbor graphs and k-means, and chooses without labels; with --bandwidth it uses the kernel
    with this bandwidth. *entropy* also writes *cosine* (of the angle between the row and its
    cluster's center; 1 at the center), and labels rows that are not similar to any other row -1.

    For example:

    - `mercer cluster measurements.csv --clusters 3 --keep --out clustered.csv`
    - `mercer cluster measurements.csv --noise 0.05`
    - `mercer embed wine --components 3 | mercer cluster -`
    - `mercer cluster rings --method entropy --clusters 3 --bandwidth 0.5 --no-scale`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    clusters
        Number of clusters. auto chooses it by a density tree (HDBSCAN).
    method
        spectral: eigenvectors of a normalized neighbor graph or kernel. entropy: angles between
        kernel entropy components.
    noise
        Fraction of the rows that spectral labels -1: those with the lowest density relative to
        their cluster.
    """
    if noise and method == "entropy":
        raise UsageError("--noise can only be used with --method spectral.")
    task = ClusterTask(method, clusters, noise)
    return run_task(task, data, reading, fitting, output, running)
