"""The clusters, and how they hold when the bandwidth changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import EntropyClustering
from mercer.bandwidth import representatives
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.subsampling import drawn_rows, take
from mercer.tables import BANDWIDTH_FACTORS

__all__ = ["NOWHERE", "Cluster", "Clusters", "Sweep", "find_clusters", "sweep_widths"]

#: What rows that are in no cluster are numbered.
NOWHERE = -1
_SWEEP_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Sweep:
    """Clusterings at several bandwidths (or factors for the widths of a table's kernel).

    Attributes
    ----------
    kind : "bandwidth" or "factor"
    n_clusters : int
    widths, costs, stabilities : arrays
        Costs are J of Jenssen's eq. (28) per row.
    labels : int array of shape (len(widths), len(rows))
    rows : int array
        The rows that were clustered.
    chosen : float
        The width of lowest cost among the stable ones.
    kernel : Kernel
        With that width.
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
    """A cluster in a line.

    ``persistence`` is the mean over the sweep of the largest Jaccard index that any cluster there
    has with this one: 1 where it is found at every bandwidth.
    """

    number: int
    size: int
    share: float
    persistence: float | None


@dataclass(frozen=True, eq=False)
class Clusters:
    """All rows in clusters; numbers start at 1, with the largest.

    Attributes
    ----------
    numbers : int array of shape (n,)
        -1 for rows in no cluster.
    each : tuple of Cluster
    cost : float
        J per row.
    width : float or None
        Bandwidth, or factor, of the kernel.
    estimator : EntropyClustering
    """

    numbers: Array
    each: tuple[Cluster, ...]
    cost: float
    width: float | None
    estimator: EntropyClustering

    @property
    def unassigned(self) -> int:
        """Rows in no cluster."""
        return int((self.numbers == NOWHERE).sum())


def sweep_widths(data: Any, kernel: Kernel, n_clusters: int) -> Sweep | None:
    """Cluster at many bandwidths, and choose one without labels.

    Of more than 1000 rows, 1000 are used. A table's kernel has no bandwidth: its widths are
    multiplied by factors. One cluster is the same at any bandwidth, so two are looked at then.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
    kernel : Kernel
        Gaussian with the bandwidth "auto" for an array; a table's kernel for a data frame.
    n_clusters : int

    Returns
    -------
    Sweep or None
        None where there are too few different rows.
    """
    is_frame = hasattr(data, "iloc")
    weights = None
    rows = drawn_rows(len(data), _SWEEP_ROWS)
    if not is_frame and len(data) > _SWEEP_ROWS:
        rows, weights = representatives(data, np.ones(len(data)), _SWEEP_ROWS)
    count = max(n_clusters, 2)
    tried = EntropyClustering(
        count, kernel=kernel, bandwidths=BANDWIDTH_FACTORS if is_frame else None
    )
    try:
        with suppress_warnings():
            tried.fit(take(data, rows), sample_weight=weights)
    except ValueError:
        return None
    path = tried.path_
    if len(path) < 2:
        return None
    chosen = next(record for record in path if record.kernel == tried.kernel_)
    counted = len(rows) if weights is None else weights.sum()
    return Sweep(
        kind="factor" if is_frame else "bandwidth",
        n_clusters=count,
        widths=np.array([record.bandwidth for record in path]),
        costs=np.array([record.cost for record in path]) / counted,
        stabilities=np.array([record.stability for record in path]),
        labels=np.stack([record.labels for record in path]),
        rows=rows,
        chosen=float(chosen.bandwidth or np.nan),
        kernel=tried.kernel_,
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
        With its numbers, or with a rule for them.
    n_clusters : int
    width : float or None
        The kernel's bandwidth, or the factor of its widths, to be told.
    sweep : Sweep or None
        For the persistence of the clusters.
    solver : str or solver
    """
    fitted = EntropyClustering(n_clusters, kernel=kernel, solver=solver).fit(data)
    sizes = np.bincount(fitted.labels_[fitted.labels_ >= 0], minlength=fitted.n_clusters_)
    by_size = np.argsort(-sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    numbers = np.full(len(fitted.labels_), NOWHERE)
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
    mine = members[sweep.rows]
    if not mine.any() or members.all():
        return None
    found = []
    for labels in sweep.labels:
        theirs = [labels == label for label in np.unique(labels[labels >= 0])]
        found.append(max(((mine & c).sum() / (mine | c).sum() for c in theirs), default=0.0))
    return float(np.mean(found))
