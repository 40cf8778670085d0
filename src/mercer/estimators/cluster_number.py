"""The number of clusters, from the conductance of clusterings with 1, 2, 3, … clusters.

Let x_k be the largest conductance of a cluster in the best clustering with k clusters (geometric
mean over two neighbor graphs), made monotone: a clustering with more clusters that leaks less shows
that x_k could be smaller. At the right number the next cluster has to cut through a dense region,
so ``log (x_{k+1} + ε) / (x_k + ε)`` is largest there. There is one cluster if the best cut into two
is not much better than that of samples without clusters: of a uniform and a normal distribution
with the extent and the variances of the sample along its principal axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer.estimators.graph_clusters import KernelRecord
from mercer.maths.types import Array

__all__ = ["ClusterNumber", "choose_number", "null_samples"]

_SMALL = 0.005  # conductances below are equivalent
_ONE_CLUSTER = 0.5  # conductance of a cut into two, relative to samples without clusters


class ClusterNumber(NamedTuple):
    """A number of clusters.

    Attributes
    ----------
    n_clusters : int
    gap : float
        Logarithm of the ratio by which the conductance grows with one more cluster; for one cluster
        that of the best cut relative to samples without clusters.
    """

    n_clusters: int
    gap: float


def choose_number(path: Sequence[KernelRecord], null: float) -> ClusterNumber:
    """Choose the number of clusters.

    Parameters
    ----------
    path : sequence of KernelRecord
        With all numbers of clusters from 2 to a largest one.
    null : float
        Leakage of cuts into two of samples without clusters; 0 if there are none.

    Examples
    --------
    >>> labels = np.zeros(1, dtype=int)
    >>> path = [KernelRecord(None, k, x, x, labels) for k, x in ((2, 0.01), (3, 0.01), (4, 0.3))]
    >>> choose_number(path, null=0.1).n_clusters
    3
    """
    best: dict[int, KernelRecord] = {}
    for record in path:
        if record.n_clusters > 1:
            other = best.get(record.n_clusters)
            best[record.n_clusters] = record if other is None else min(other, record, key=_cost)
    if not best:
        return ClusterNumber(1, 0.0)
    numbers = sorted(best)
    leakages = np.array([best[k].leakage for k in numbers])
    if leakages[0] > _ONE_CLUSTER * null > 0:
        return ClusterNumber(1, float(np.log(leakages[0] / (_ONE_CLUSTER * null))))
    if len(numbers) == 1:
        return ClusterNumber(numbers[0], 0.0)
    leakages = np.minimum.accumulate(leakages[::-1])[::-1] + _SMALL
    gaps = np.log(leakages[1:] / leakages[:-1])
    at = int(np.argmax(gaps))
    return ClusterNumber(numbers[at], float(gaps[at]))


def _cost(record: KernelRecord) -> float:
    return record.cost


def null_samples(X: Array) -> list[Array]:
    """Return samples without clusters, as large as X: uniform and normal along principal axes."""
    rng = np.random.default_rng(0)
    centered = X - X.mean(axis=0)
    scale = max(float(np.abs(centered).max()), float(np.finfo(np.float64).tiny))
    axes = np.linalg.svd(centered / scale, full_matrices=False)[2]
    scores = centered / scale @ axes.T
    shape = scores.shape
    uniform = rng.uniform(scores.min(axis=0), scores.max(axis=0), shape)
    return [uniform, rng.normal(size=shape) * scores.std(axis=0)]
