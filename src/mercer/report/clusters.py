"""Clusters of a table, and their stability over bandwidths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import EntropyClustering
from mercer.bandwidth import representatives
from mercer.cluster_count import can_vary_bandwidth, validate_request
from mercer.errors import RankError, suppress_warnings
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.subsampling import drawn_rows, take
from mercer.tables import BANDWIDTH_FACTORS
from mercer.validation import check_integer

__all__ = ["UNASSIGNED", "Cluster", "Clusters", "Sweep", "find_clusters", "sweep_widths"]

#: Cluster number of rows that are in no cluster.
UNASSIGNED = -1
_SWEEP_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Sweep:
    """Clusters at several bandwidths (for a mixed table, multipliers of all bandwidths).

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

    ``share`` is the fraction of rows. ``persistence`` is the mean over the sweep of the largest
    Jaccard index between this cluster and any cluster found there: 1 if the cluster is found at
    every bandwidth.
    """

    number: int
    size: int
    share: float
    persistence: float | None


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of all rows, numbered from 1 by decreasing size.

    Attributes
    ----------
    numbers : int array of shape (n,)
        -1 for rows in no cluster.
    each : tuple of Cluster
    cost : float
        J per row.
    width : float or None
        Bandwidth, or multiplier of all bandwidths, of the kernel.
    estimator : EntropyClustering
    """

    numbers: Array
    each: tuple[Cluster, ...]
    cost: float
    width: float | None
    estimator: EntropyClustering

    @property
    def unassigned(self) -> int:
        """Number of rows in no cluster."""
        return int((self.numbers == UNASSIGNED).sum())


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
    rows = drawn_rows(len(data), _SWEEP_ROWS)
    if not is_frame and len(data) > _SWEEP_ROWS:
        rows, weights = representatives(data, np.ones(len(data)), _SWEEP_ROWS)
    count = max(n_clusters, 2)
    sample = take(data, rows)
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


def find_clusters(
    data: Any,
    kernel: Kernel,
    n_clusters: int,
    *,
    width: float | None = None,
    sweep: Sweep | None = None,
    solver: Any = "auto",
) -> Clusters:
    """Cluster all rows.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    kernel : Kernel
    n_clusters : int
    width : float or None
        The kernel's bandwidth, or multiplier of all bandwidths, for display.
    sweep : Sweep or None
        For the persistence of the clusters.
    solver : str or solver
    """
    fitted = EntropyClustering(n_clusters, kernel=kernel, solver=solver).fit(data)
    sizes = np.bincount(fitted.labels_[fitted.labels_ >= 0], minlength=fitted.n_clusters_)
    by_size = np.argsort(-sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    numbers = np.full(len(fitted.labels_), UNASSIGNED)
    for number, label in enumerate(by_size, start=1):
        numbers[fitted.labels_ == label] = number
    each = tuple(
        Cluster(i, int(size), float(size / len(numbers)), _persistence(numbers == i, sweep))
        for i, size in enumerate(sizes[by_size], start=1)
    )
    return Clusters(numbers, each, fitted.cost_ / len(numbers), width, fitted)


def _persistence(members: Array, sweep: Sweep | None) -> float | None:
    if sweep is None:
        return None
    inside = members[sweep.rows]
    if not inside.any() or members.all():
        return None
    best = []
    for labels in sweep.labels:
        others = [labels == label for label in np.unique(labels[labels >= 0])]
        best.append(max(((inside & c).sum() / (inside | c).sum() for c in others), default=0.0))
    return float(np.mean(best))
