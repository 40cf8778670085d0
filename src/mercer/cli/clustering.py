"""``mercer cluster``: a cluster for every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Parameter

from mercer.cli.options import Data, Fitting, Output, Reading
from mercer.cli.telling import count
from mercer.cli.working import Task, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel

__all__ = ["cluster"]


@dataclass(frozen=True)
class Clustering(Task):
    """Columns cluster and cosine."""

    command: ClassVar[str] = "cluster"
    clusters: int | Literal["auto"] = "auto"

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Entropy clustering; a Gaussian with an automatic bandwidth is swept."""
        from mercer import EntropyClustering

        return EntropyClustering(self.clusters, kernel=kernel, solver=solver, verbose=verbose)

    def columns(self, model: Any, frame: Any) -> dict[str, Any]:
        """Labels, and how well each row fits its cluster's direction."""
        import numpy as np

        clustering, seen = model["model"], model[:-1].transform(frame)
        labels = clustering.predict(seen)
        scores = clustering.eca_.transform(seen)
        lengths = np.linalg.norm(scores, axis=1)
        along = (scores * clustering.cluster_centers_[labels]).sum(axis=1)
        cosines = np.full(len(labels), np.nan)
        has_cluster = labels >= 0
        cosines[has_cluster] = along[has_cluster] / lengths[has_cluster]
        return {"cluster": labels, "cosine": cosines}

    def words(self, model: Any) -> Iterator[str]:
        """Sizes, and the cost."""
        import numpy as np

        found = model["model"]
        sizes = np.bincount(found.labels_[found.labels_ >= 0], minlength=found.n_clusters_)
        shown = ", ".join(f"{size:,}" for size in sizes)
        yield f"  {count(found.n_clusters_, 'cluster')} of {shown} rows; cost {found.cost_:.4g}"
        if found.n_clusters_ == 1 and self.clusters == "auto":
            yield "  (only one group shows itself; --clusters N insists on N)"


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
        How many; auto counts the groups that the spectrum shows, which may be one.
    """
    return perform(Clustering(clusters), data, reading, fitting, output)
