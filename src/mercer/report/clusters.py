"""Clusters of a table, their persistence over kernels, and a sweep over bandwidths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import EntropyClustering, SpectralClustering
from mercer.cluster.cluster_count import can_vary_bandwidth, validate_request
from mercer.cluster.cluster_number import COULD_NOT_TELL
from mercer.cluster.table_clusters import known_confidence
from mercer.data.subsampling import random_rows, representative_rows, take_rows
from mercer.errors import ColumnWarning, IdentifiabilityWarning, RankError, suppress_warnings
from mercer.kernels import Kernel
from mercer.tables import BANDWIDTH_FACTORS
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = [
    "Cluster",
    "Clusters",
    "Counting",
    "Sweep",
    "find_clusters",
    "suggest_number",
    "sweep_widths",
]

_SWEEP_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Sweep:
    """Entropy clusters at several bandwidths (for a mixed table, multipliers of all bandwidths).

    Attributes
    ----------
    kind : "bandwidth" or "factor"
    n_clusters : int
    widths, costs, stabilities : arrays
        Costs are J of Jenssen's eq. (28) per row.
    labels : int array of shape (len(widths), len(rows))
    rows : int array
        Indices of the clustered rows.
    chosen : float
        The width with the lowest cost among those with stable labels.
    kernel : Kernel
        Kernel with the chosen width.
    """

    kind: Literal["bandwidth", "factor"]
    n_clusters: int
    widths: Array
    costs: Array
    stabilities: Array
    labels: Array
    rows: Array
    chosen: float
    kernel: Kernel


@dataclass(frozen=True)
class Cluster:
    """Size and persistence of a cluster; fields are named like the columns of clusters.csv.

    ``share`` is the fraction of rows. ``persistence`` is the mean, over the kernels that were
    compared, of the largest Jaccard index between this cluster and any cluster of that kernel: 1 if
    the cluster is found with every kernel. None if there is nothing to compare.
    """

    number: int
    size: int
    share: float
    persistence: float | None


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of all rows, with the numbers 0, 1, … of ``estimator.labels_``.

    Attributes
    ----------
    numbers : int array of shape (n,)
    each : tuple of Cluster
    cost : float or None
        Mean conductance; None if the kernel and the number of clusters were given.
    confidence : float or None
        Estimated probability that the number of clusters is right; None if it was given.
    kernels : int
        Number of kernels that were compared.
    estimator : SpectralClustering
    """

    numbers: Array
    each: tuple[Cluster, ...]
    cost: float | None
    confidence: float | None
    kernels: int
    estimator: SpectralClustering


@dataclass(frozen=True)
class Counting:
    """The number of clusters.

    Attributes
    ----------
    chosen : int
        The number in use.
    suggested : int
        The number that was estimated from the data.
    requested : bool
        Whether the user requested the number in use.
    confidence : float
        Estimated probability that ``suggested`` is right.
    """

    chosen: int
    suggested: int
    requested: bool
    confidence: float

    @property
    def is_uncertain(self) -> bool:
        """Whether the number could not be determined."""
        return self.confidence < COULD_NOT_TELL


def suggest_number(data: Any, clusters: Clusters, clustering: SpectralClustering) -> Counting:
    """Return the number of clusters, and the one that the data suggest if it was requested.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    clusters : Clusters
    clustering : SpectralClustering
        Not fitted, with the number "auto".
    """
    chosen = len(clusters.each)
    if clusters.confidence is not None:
        return Counting(chosen, chosen, False, clusters.confidence)
    with suppress_warnings():
        fitted = clustering.set_params(max_rows=_SWEEP_ROWS).fit(data)
    return Counting(chosen, fitted.n_clusters_, True, fitted.confidence_)


def sweep_widths(data: Any, kernel: str | Kernel, n_clusters: int) -> Sweep | None:
    """Cluster at many bandwidths, and choose one without labels.

    At most 1000 rows are used. The kernel of a mixed table has no single bandwidth: all its
    bandwidths are multiplied by a common factor. One cluster does not depend on the bandwidth, so
    two are computed instead.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    kernel : str or Kernel
        Gaussian with the bandwidth "auto" for an array; a table kernel for a data frame.
    n_clusters : int

    Returns
    -------
    Sweep or None
        None if there are fewer different rows than clusters, or if the kernel has no bandwidth.
    """
    check_integer(n_clusters, "n_clusters")
    data, kernel = validate_request(data, kernel)
    is_frame = hasattr(data, "iloc")
    weights = None
    rows = random_rows(len(data), _SWEEP_ROWS)
    if not is_frame and len(data) > _SWEEP_ROWS:
        rows, weights = representative_rows(data, np.ones(len(data)), _SWEEP_ROWS)
    count = max(n_clusters, 2)
    sample = take_rows(data, rows)
    distinct = len(sample) if is_frame else len(np.unique(sample, axis=0))
    if distinct < count or not can_vary_bandwidth(sample, kernel):
        return None
    clustering = EntropyClustering(
        count, kernel=kernel, bandwidths=BANDWIDTH_FACTORS if is_frame else None
    )
    try:
        with suppress_warnings():
            clustering.fit(sample, sample_weight=weights)
    except RankError:  # fewer positive eigenvalues than clusters, at every bandwidth
        return None
    path = clustering.path_
    if len(path) < 2:
        return None
    chosen = next(record for record in path if record.kernel == clustering.kernel_)
    total = len(rows) if weights is None else weights.sum()
    return Sweep(
        kind="factor" if is_frame else "bandwidth",
        n_clusters=count,
        widths=np.array([record.bandwidth for record in path]),
        costs=np.array([record.cost for record in path]) / total,
        stabilities=np.array([record.stability for record in path]),
        labels=np.stack([record.labels for record in path]),
        rows=rows,
        chosen=float(chosen.bandwidth or np.nan),
        kernel=clustering.kernel_,
    )


def find_clusters(data: Any, clustering: SpectralClustering) -> Clusters:
    """Cluster all rows.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    clustering : SpectralClustering
        Not fitted.
    """
    # the page states the confidence and skewed columns
    with suppress_warnings(IdentifiabilityWarning, ColumnWarning):
        fitted = clustering.fit(data)
    records = fitted.path_
    chosen = next((one for one in records if one.kernel is fitted.kernel_), None)
    numbers = np.asarray(fitted.labels_)
    sizes = np.bincount(numbers, minlength=fitted.n_clusters_)
    each = []
    for number, size in enumerate(sizes.tolist()):
        persistence = None
        if chosen is not None and len(records) > 1 and fitted.n_clusters_ > 1:
            others = [one.labels for one in records]
            persistence = _persistence(chosen.labels == number, others)
        each.append(Cluster(number, size, size / len(numbers), persistence))
    return Clusters(
        numbers=numbers,
        each=tuple(each),
        cost=None if chosen is None else chosen.cost,
        confidence=known_confidence(fitted),
        kernels=len(records),
        estimator=fitted,
    )


def _persistence(members: Array, clusterings: list[Array]) -> float:
    """Return the mean over clusterings of the largest Jaccard index with a cluster."""
    best = []
    for labels in clusterings:
        shared = np.bincount(labels, weights=members)
        best.append((shared / (np.bincount(labels) + members.sum() - shared)).max())
    return float(np.mean(best))
