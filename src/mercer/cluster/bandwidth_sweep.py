"""Clustering at several bandwidths: one record each, their stability, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel, median_distance
from mercer.cluster.angular import AngularClusters, angular_cost
from mercer.data.points import Points
from mercer.data.subsampling import representative_rows
from mercer.eigen import eigenvalue_ranks
from mercer.eigen.decompose import Spectrum
from mercer.errors import WeightWarning, suppress_warnings
from mercer.gram import GramOperator, Sample
from mercer.kernels import Kernel, Stationary
from mercer.utils.formatting import Result
from mercer.utils.row_passes import RowPasses
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = [
    "BandwidthRecord",
    "Candidate",
    "candidates",
    "choose_record",
    "record_of",
    "subsample",
    "with_stability",
]

_DEFAULT_COUNT = 33  # bandwidths; see benchmarks/bandwidth_rule.py
_NEARBY = np.log(1.1)  # log bandwidths closer than this should give the same clusters


@dataclass(frozen=True)
class Candidate:
    """A kernel to try and its bandwidth (or its multiplier of all bandwidths)."""

    bandwidth: float | None
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class BandwidthRecord(Result):
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

    Examples
    --------
    >>> from mercer import EntropyClustering
    >>> from mercer.datasets import make_rings
    >>> X, _ = make_rings(random_state=0)
    >>> record = EntropyClustering(3, bandwidths=[2.0, 4.0]).fit(X).path_[1]
    >>> record.bandwidth, len(record.labels)
    (4.0, 315)
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
            agreement[i, j] = agreement[j, i] = _agreement(
                records[i].labels, records[j].labels, weights, sample.passes
            )
    means = np.nanmean(agreement, axis=1)
    return [replace(r, stability=float(m)) for r, m in zip(records, means, strict=True)]


def _agreement(one: Array, other: Array, weights: Array | None, rows: RowPasses) -> float:
    """Return the adjusted Rand index; integer weights are equivalent to repeated rows.

    Rows may be those of a Dask collection, and have weights, which scikit-learn does not support.
    """
    highest = max(rows.sum(_highest_label, labels, combine=max) for labels in (one, other))
    table = rows.sum(partial(_contingency, highest + 2), one, other, weights)
    table = table * min(1.0, 1e12 / table.sum())  # products of larger totals would overflow
    together = _pairs(table).sum()
    in_one, in_other = _pairs(table.sum(axis=1)).sum(), _pairs(table.sum(axis=0)).sum()
    expected = in_one * in_other / max(_pairs(table.sum()), np.finfo(float).tiny)
    most = 0.5 * (in_one + in_other)
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _highest_label(labels: Array) -> int:
    return int(labels.max(initial=-1))


def _contingency(size: int, one: Array, other: Array, weights: Array | None) -> Array:
    """Return the total weight of each pair of labels, from -1."""
    counts = np.bincount((one + 1) * size + other + 1, weights, size**2)
    return counts.reshape(size, size).astype(np.float64)


def _pairs(n: Any) -> Any:
    return 0.5 * n * (n - 1)


def choose_record(records: list[BandwidthRecord]) -> int:
    """Return the index of the record with the lowest cost among the stable ones.

    Stable records have a stability of at least 0.95, or the largest one if none reaches that. The
    cost alone prefers small bandwidths, at which all points are orthogonal to each other.
    """
    stability = np.array([record.stability for record in records])
    cost = np.array([record.cost for record in records])
    stable = stability >= min(0.95, stability.max())
    return int(np.argmin(np.where(stable, cost, np.inf)))


# --- kernels and rows of the sweep ---------------------------------------------------------------


def candidates(
    bandwidths: Any, kernel: Kernel, points: Points, weights: Array | None
) -> list[Candidate]:
    """Return the kernels to try, by increasing bandwidth.

    ``bandwidths`` is the parameter of EntropyClustering.
    """
    is_auto = isinstance(kernel, Stationary) and kernel.has_rule("auto")
    if bandwidths is None and not is_auto:
        fitted = fit_kernel(kernel, points, weights)
        return [Candidate(_bandwidth_of(fitted), fitted)]
    if isinstance(kernel, Stationary):
        if np.ndim(bandwidths) == 0:
            fit_kernel(kernel, points, weights)  # only for its warnings and errors
        grid = _grid(bandwidths, points, weights)
        return [Candidate(float(b), kernel.with_bandwidth(float(b))) for b in grid]
    if np.ndim(bandwidths) == 0:
        raise ValueError(
            f"bandwidths={bandwidths!r} requires a kernel with a bandwidth (Gaussian, "
            f"Laplacian, Matern, Epanechnikov), not {kernel!r}. Pass bandwidths=None, or "
            "multipliers of its bandwidths, such as [0.5, 0.7, 1.0, 1.4]."
        )
    fitted = fit_kernel(kernel, points, weights)
    return [
        Candidate(float(f), fitted.scale_bandwidths(f)) for f in _grid(bandwidths, points, weights)
    ]


def _grid(bandwidths: Any, points: Points, weights: Array | None) -> Array:
    if bandwidths is None:
        return _median(points, weights) * np.geomspace(0.1, 2, _DEFAULT_COUNT)
    if isinstance(bandwidths, Integral):
        count = check_integer(bandwidths, "bandwidths")
        return _median(points, weights) * np.linspace(0.1, 0.2, count)
    grid = np.asarray(bandwidths)
    usable = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iuf"
    if not usable or not (np.isfinite(grid) & (grid > 0)).all():
        raise ValueError(
            f"bandwidths={bandwidths!r} must be an integer of at least 1, or an array of "
            "positive finite numbers."
        )
    return np.unique(grid.astype(np.float64))


def _median(points: Points, weights: Array | None) -> float:
    with suppress_warnings(WeightWarning):  # the fit warns
        return median_distance(points, weights)


def _bandwidth_of(kernel: Kernel) -> Any:
    bandwidth = getattr(kernel, "bandwidth", None)
    return bandwidth if bandwidth is None or np.ndim(bandwidth) else float(bandwidth)


def subsample(points: Any, weights: Array | None, most: int) -> tuple[Array | None, Points, Array]:
    """Return at most ``most`` representative rows: indices if known, points and weights."""
    if points.is_chunked:
        rows, multiplicities, _ = points.with_weights(weights).representatives(most)
        return None, Points(rows, "vectors", points.feature_names), multiplicities
    counts = np.ones(points.n) if weights is None else weights
    present = np.flatnonzero(counts > 0)
    some, multiplicities = representative_rows(points.data[present], counts[present], most)
    return present[some], points.take(present[some]), multiplicities


# --- one record ----------------------------------------------------------------------------------


def record_of(
    sample: Sample,
    candidate: Candidate,
    gram: GramOperator,
    spectrum: Spectrum,
    entropy_ratio: float,
    Z: Array,
    found: AngularClusters,
) -> BandwidthRecord:
    """Return the record of clusters ``found`` in the projections Z; its stability is unknown."""
    clusters = len(found.directions)
    cluster_sums = partial(_cluster_sums, clusters)
    counts, sums, lengths = sample.passes.sum(cluster_sums, Z, found.labels, sample.weights)
    unassigned = float(counts[-1])
    # the last group contains the points labeled -1
    groups = sample.passes.map(partial(_groups, clusters), found.labels)
    products = gram.group_products(groups, clusters + (unassigned > 0))
    assigned, counts = slice(0, clusters), counts[:-1]
    cost = angular_cost(
        np.diagonal(products)[assigned],
        products[assigned].sum(axis=1),
        counts,
        float(products.sum()),
    )
    total, sums = sums.sum(axis=0), sums[:-1]
    eca_cost = angular_cost((sums**2).sum(axis=1), sums @ total, counts, float(total @ total))
    return BandwidthRecord(
        bandwidth=candidate.bandwidth,
        cost=(cost + unassigned) * sample.unit,
        eca_cost=(eca_cost + unassigned) * sample.unit,
        labels=found.labels,
        stability=np.nan,
        entropy_ratio=entropy_ratio,
        coherence=found.objectives[-1] / lengths,
        eigenvalues=spectrum.eigenvalues,
        certified=spectrum.certified,
        _sample=replace(sample, matrix=None, indices=None),
        _error=spectrum.error_bound,
        _ranks=spectrum.known_ranks,
    )


def _groups(clusters: int, labels: Array) -> Array:
    return np.where(labels < 0, clusters, labels)


def _cluster_sums(
    clusters: int, Z: Array, labels: Array, weights: Array | None
) -> tuple[Array, Array, float]:
    """Return weights and sums of rows per cluster (last: no cluster), and the sum of norms."""
    weights = np.ones(len(Z)) if weights is None else weights
    groups = _groups(clusters, labels)
    counts = np.bincount(groups, weights, clusters + 1)
    sums = [np.bincount(groups, weights * column, clusters + 1) for column in Z.T]
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    return counts, np.column_stack(sums), float(weights @ lengths)
