"""Clustering at several bandwidths: one record each, their stability, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.maths.label_agreement import adjusted_rand_index
from mercer.maths.types import Array
from mercer.operators import Sample
from mercer.solvers import eigenvalue_ranks

__all__ = ["BandwidthRecord", "Candidate", "choose_record", "with_stability"]

_STABLE = 0.95  # adjusted Rand index
_NEARBY = np.log(1.1)  # log bandwidths closer than this should give the same clusters


@dataclass(frozen=True)
class Candidate:
    """A kernel to try and its bandwidth (or its multiplier of all bandwidths)."""

    bandwidth: float | None
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class BandwidthRecord:
    """The result of clustering at one bandwidth; ``record["cost"]`` is ``record.cost``.

    Attributes
    ----------
    bandwidth : float or None
        None if the kernel has none. For kernels with several bandwidths, their common multiplier.
    cost : float
        J of Jenssen's eq. (28) with means in the full kernel space. Each point labeled -1
        adds 1 (as does a point in the direction of the overall mean), so unassigned points do not
        lower the cost.
    eca_cost : float
        J with means in the space of the selected components.
    labels : int array of shape (n,)
    stability : float
        Mean adjusted Rand index with the labels at all bandwidths within 10 % and at the adjacent
        ones; nan for a single bandwidth.
    entropy_ratio : float
        Fraction of the information potential in the selected components.
    coherence : float
        ``Σ_i |Σ_{t∈C_i} φ_t| / Σ_t |φ_t|``: 1 if every cluster lies on one ray.
    eigenvalues : array of shape (k,)
        Eigenvalues of the selected components, by decreasing entropy term.
    certified : bool
        Whether the selection of components is proven.
    """

    bandwidth: float | None
    cost: float
    eca_cost: float
    labels: Array = field(repr=False)
    stability: float
    entropy_ratio: float
    coherence: float
    eigenvalues: Array = field(repr=False)
    certified: bool
    _sample: Sample = field(repr=False)
    _error: float = field(repr=False)
    _ranks: Array | None = field(repr=False)

    @cached_property
    def components(self) -> Array | None:
        """1-based ranks of the selected eigenvalues among all; computed on first access."""
        if self._ranks is not None:
            return self._ranks
        return eigenvalue_ranks(self._sample, self.eigenvalues, self._error)

    @property
    def kernel(self) -> Kernel:
        """The kernel with this bandwidth."""
        return self._sample.kernel

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def with_stability(records: list[BandwidthRecord], sample: Sample) -> list[BandwidthRecord]:
    """Return the records with their stability: agreement with nearby and adjacent bandwidths."""
    logs = np.log([float(record.bandwidth or np.nan) for record in records])
    weights = None if sample.weights is None else sample.multiplicities
    agreement = np.full((len(records), len(records)), np.nan)
    for i, j in zip(*np.triu_indices(len(records), 1), strict=True):
        if j == i + 1 or logs[j] - logs[i] <= _NEARBY:
            agreement[i, j] = agreement[j, i] = adjusted_rand_index(
                records[i].labels, records[j].labels, weights, rows=sample.passes
            )
    means = np.nanmean(agreement, axis=1)
    return [replace(r, stability=float(m)) for r, m in zip(records, means, strict=True)]


def choose_record(records: list[BandwidthRecord]) -> int:
    """Return the index of the record with the lowest cost among the stable ones.

    Stable records have a stability of at least 0.95, or the largest one if none reaches that. The
    cost alone prefers small bandwidths, at which all points are orthogonal to each other.
    """
    stability = np.array([record.stability for record in records])
    cost = np.array([record.cost for record in records])
    stable = stability >= min(_STABLE, stability.max())
    return int(np.argmin(np.where(stable, cost, np.inf)))
