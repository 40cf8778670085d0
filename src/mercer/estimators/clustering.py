"""Clustering by angle in kernel entropy component space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import median_distance, representatives, resolve
from mercer.chunked import ChunkedPoints
from mercer.chunks import is_dask, kept, mapped, summed
from mercer.data import Points, admit, admit_weights
from mercer.decompose import make_gram, places_among_all
from mercer.errors import ApproximationWarning, ConvergenceWarning, RankError, Tell, warn
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.base import KernelEstimator
from mercer.estimators.dask_methods import rowwise
from mercer.estimators.eca import KernelECA
from mercer.kernels import Kernel, Stationary, as_kernel
from mercer.maths.angular import (
    AngularClusters,
    angular_cost,
    angular_kmeans,
    assign_directions,
    shortest,
)
from mercer.maths.label_agreement import adjusted_rand_index
from mercer.maths.types import Array
from mercer.operators import FactoredGram, GramOperator, Sample
from mercer.progress import Bar, show_progress
from mercer.solvers import Auto
from mercer.spectroscopy import groups_of
from mercer.spectrum import Spectrum
from mercer.threads import blas_threads_for

__all__ = ["BandwidthRecord", "EntropyClustering"]

_PAPER_RANGE = (0.10, 0.20)  # of the median distance
# The library's own sweep, chosen on twenty labelled sets: see benchmarks/bandwidth_rule.py.
_OWN_RANGE = (0.10, 2.00)
_OWN_COUNT = 33
_OWN_ROWS = 1000  # a bandwidth can be chosen from so many
_STABLE = 0.95
_LARGEST_GRAM = 5e8  # bytes: clustering should leave room for other work
_NEAR = np.log(1.1)  # bandwidths so near, in logarithms, should give the same clusters


@dataclass(frozen=True)
class BandwidthRecord:
    """What clustering at one bandwidth gave; fields can also be had as items, ``record["cost"]``.

    Attributes
    ----------
    bandwidth : float or None
        None where the kernel has none; the factor, where widths were multiplied by one.
    cost : float
        J of Jenssen's eq. (28) with means in the full kernel space. A point without a cluster
        counts as much as one along the mean: it must not pay to lose points.
    eca_cost : float
        J with means in the space of the kept components.
    labels : int array of shape (n,)
    stability : float
        Mean adjusted Rand index with the labels at bandwidths at most a tenth away, and at least
        at the neighbouring ones; nan without any.
    entropy_ratio : float
        Share of the information potential in the kept components.
    coherence : float
        ``Σ_i |Σ_{t∈C_i} φ_t| / Σ_t |φ_t|``: 1 where every cluster is one ray.
    eigenvalues : array of shape (k,)
        Of the kept components, by falling entropy term.
    certified : bool
        Whether the choice of components is proven.
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
        """1-based places of the kept eigenvalues among all; found when first asked for."""
        if self._ranks is not None:
            return self._ranks
        return places_among_all(self._sample, self.eigenvalues, self._error)

    @property
    def kernel(self) -> Kernel:
        """The kernel with this bandwidth."""
        return self._sample.kernel

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class EntropyClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    r"""Kernel entropy component analysis followed by k-means on angles.

    Clusters that hardly touch lie along different directions of kernel entropy component space.
    A point belongs to the cluster whose mean it makes the smallest angle with; the number of
    components is the number of clusters (Jenssen 2010, section 4). The start, farthest directions,
    is deterministic.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" counts eigenvectors without a change of sign
        (:func:`mercer.spectroscopy.find_groups`); the answer may be 1.
    kernel : str or Kernel
        "gaussian" ("rbf"), "laplacian", "polynomial", "linear", "sigmoid", "cosine",
        "precomputed", or a kernel object. A bandwidth of "auto", the default's, is chosen by a
        sweep; any other bandwidth is used as it is.
    bandwidths : int, array-like or None
        How many bandwidths to try, evenly spaced over 10 to 20 % of the median distance as in the
        paper, or which. None: 33 over 10 to 200 % where the kernel's bandwidth is "auto" (tried on
        1000 of the rows if there are more), else the kernel's own alone. For a kernel that has no
        bandwidth of its own (a product over columns, say) numbers are factors for its widths:
        :meth:`~mercer.kernels.Kernel.widened`.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom" or a solver object. "auto" holds no Gram
        matrix above 0.5 GB (about 8000 points): ``Lanczos(stored=True)`` is faster and takes the
        memory.
    max_iter : int
        Steps of k-means; it settles within a few.
    random_state : int or None
        Seed of the solver's random start; results do not depend on it beyond rounding.
    verbose : bool
        Show a bar during the sweep from its start. (On a terminal it appears by itself when the
        sweep takes long.)

    Attributes
    ----------
    labels_ : int array of shape (n,)
        -1 for points whose projection vanishes: they have nothing in common with any other.
    cluster_centers_ : array of shape (n_clusters_, n_clusters_)
        Unit directions in component space.
    cost_ : float
        J of eq. (28), ``Σ_i n_i cos∠(m_i, m)``, with means in the full kernel space; small where
        clusters point apart, n for one cluster. Points labelled -1 add 1 each.
    n_clusters_ : int
    n_iter_ : int
    eca_ : KernelECA
        The components.
    path_ : list of BandwidthRecord
        One for every bandwidth tried, from the smallest: bandwidth, cost, eca_cost, components,
        labels, stability, …
    sweep_rows_ : int array or None
        The rows that ``path_`` is about, where the sweep took some of them only; None for a Dask
        collection, whose rows are chosen by their values.
    kernel_ : Kernel
        The kernel with its numbers.
    spectrum_ : Spectrum

    Notes
    -----
    Among bandwidths the one with the lowest cost is taken, of those whose labels agree with
    those at nearby bandwidths to an adjusted Rand index of 0.95 (of the most stable, if none does):
    ``docs/keca.md`` has the evidence. No rule without labels is safe, and the clusters depend on
    the bandwidth: look at ``path_``.

    Examples
    --------
    >>> from mercer import EntropyClustering
    >>> from mercer.datasets import make_rings
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_rings(random_state=0)
    >>> clustering = EntropyClustering(n_clusters=3, kernel=Gaussian(3.7)).fit(X)
    >>> sorted(np.bincount(clustering.labels_).tolist())
    [63, 126, 126]
    """

    eca_: KernelECA

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 3,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidths: Any = None,
        solver: Any = "auto",
        max_iter: int = 100,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of a sample.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            How often each row counts.
        """
        with show_progress(self.verbose):
            return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        kernel = as_kernel(self.kernel)
        points = admit(X, kernel.compares, estimator=self)
        weights = admit_weights(sample_weight, points)
        _check_steps(self.max_iter)
        n_clusters = self._count(kernel, points, weights)
        _check_clusters(n_clusters, Sample.of(kernel, points, weights).points.n)
        kernels = self._kernels(kernel, points, weights)
        rows, records, best = None, None, kernels[0]
        if len(kernels) > 1:
            rows, records = self._sweep(kernels, points, weights, n_clusters)
            chosen = records[choose_record(records)]
            best = _Wide(chosen.bandwidth, chosen.kernel)
        try:
            trial = self._cluster(Sample.of(best.kernel, points, weights), best, n_clusters, warn)
        except RankError as few:
            raise _too_few(n_clusters, few) from few
        self._keep(trial, points, weights)
        self.path_ = records or [trial.record]
        self.sweep_rows_ = rows
        return self

    @rowwise
    def predict(self, X: Any) -> Array:
        """Assign points to the clusters, by angle.

        Parameters
        ----------
        X : array-like of shape (m, d); for a precomputed kernel the cross-Gram (m, n)

        Returns
        -------
        int array of shape (m,)
            -1 for points that have nothing in common with the sample.
        """
        return self._labels(self._admit_new(X))

    @property
    def spectrum_(self) -> Spectrum:
        """The components' Spectrum."""
        check_is_fitted(self)
        return self.eca_.spectrum_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "eca_")

    # --- one bandwidth ------------------------------------------------------------------------

    def _cluster(self, sample: Sample, wide: _Wide, n_clusters: int, tell: Tell) -> _Trial:
        auto = isinstance(self.solver, str) and self.solver == "auto"
        solver = Auto(n_clusters, _LARGEST_GRAM) if auto else self.solver
        gram = make_gram(sample, solver, n_clusters)
        eca = KernelECA(
            n_clusters, kernel=sample.kernel, solver=solver, random_state=self.random_state
        )
        eca._learn(sample, gram, tell=tell)
        Z = kept(_projections(gram, eca.spectrum_))
        found = angular_kmeans(
            Z,
            n_clusters,
            weights=sample.weights,
            max_iter=self.max_iter,
            noise=eca.spectrum_.expansion.noise,
        )
        vanishing = shortest(Z, eca.spectrum_.expansion.noise)
        return _Trial(eca, found, vanishing, _record(sample, wide, gram, eca, Z, found))

    def _keep(self, trial: _Trial, points: Points, weights: Array | None) -> None:
        self.eca_, found = trial.eca, trial.clusters
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.eca_, name, getattr(self, name))
        self.kernel_ = self.eca_.kernel_
        self.cluster_centers_ = found.directions
        self.n_clusters_ = len(found.directions)
        self.n_iter_ = len(found.objectives)
        self.cost_ = trial.record.cost
        self.labels_ = trial.record.labels
        self._vanishing = trial.vanishing
        if len(self.labels_) < points.n:  # rows that weigh nothing have a place too
            self.labels_ = self._labels(points)
            if not is_dask(self.labels_):
                self.labels_[np.asarray(weights) > 0] = trial.record.labels
        if not found.converged:
            warn(
                f"The clusters still change after {self.max_iter} steps; raise max_iter.",
                ConvergenceWarning,
            )
        lost = summed(_count_lost, self.labels_)
        if lost:
            warn(
                f"{lost} of {len(self.labels_)} points are labelled -1: their projection vanishes "
                "(50 roundings of the longest), so they have nothing in common with any cluster. "
                "Use a larger bandwidth to reach them.",
                ApproximationWarning,
            )

    def _labels(self, points: Points) -> Array:
        project = self.spectrum_.without_points().project
        return points.mapped(partial(_directed, project, self.cluster_centers_, self._vanishing))

    _stays_behind: ClassVar[tuple[str, ...]] = ("labels_", "path_", "sweep_rows_")

    def _travelling(self) -> Self:
        model = super()._travelling()
        model.eca_ = self.eca_._travelling()
        return model

    # --- several ------------------------------------------------------------------------------

    def _sweep(
        self, kernels: list[_Wide], points: Points, weights: Array | None, n_clusters: int
    ) -> tuple[Array | None, list[BandwidthRecord]]:
        """The records, and the rows that they are about if not all."""
        rows = None
        if self.bandwidths is None and points.n > _OWN_ROWS >= n_clusters:
            rows, points, weights = _few(points, weights)
        sample = Sample.of(kernels[0].kernel, points, weights)
        bar = Bar(len(kernels), "bandwidths", always=self.verbose)
        records, failed = [], []
        with blas_threads_for(sample.points.n):
            for done, wide in enumerate(kernels, start=1):
                tried = replace(sample, kernel=wide.kernel)
                try:
                    trial = self._cluster(tried, wide, n_clusters, _silence)
                    records.append(trial.record)
                except RankError as few:
                    failed.append(few)
                bar.step(done)
        bar.close()
        if not records:
            raise _too_few(n_clusters, failed[0]) from failed[0]
        if failed:
            warn(
                f"{len(failed)} of {len(kernels)} bandwidths were left out: K has fewer than "
                f"n_clusters={n_clusters} positive eigenvalues there.",
                ApproximationWarning,
            )
        return rows, _with_stability(records, sample.weights)

    def _kernels(self, kernel: Kernel, points: Points, weights: Array | None) -> list[_Wide]:
        """Kernels to try, by rising bandwidth."""
        own = isinstance(kernel, Stationary) and kernel.has_rule("auto")
        if self.bandwidths is None and not own:
            resolved = resolve(kernel, points, weights)
            return [_Wide(_bandwidth_of(resolved), resolved)]
        if isinstance(kernel, Stationary):
            if np.ndim(self.bandwidths) == 0:
                resolve(kernel, points, weights)  # for its warnings and errors
            grid = self._grid(points, weights)
            return [_Wide(float(b), kernel.with_bandwidth(float(b))) for b in grid]
        if np.ndim(self.bandwidths) == 0:
            raise ValueError(
                f"bandwidths={self.bandwidths!r} needs a kernel with a bandwidth (Gaussian, "
                f"Laplacian, Matern, Epanechnikov), not {kernel!r}; pass bandwidths=None, or "
                "factors for its widths, such as [0.5, 0.7, 1.0, 1.4]."
            )
        resolved = resolve(kernel, points, weights)
        return [_Wide(float(f), resolved.widened(f)) for f in self._grid(points, weights)]

    def _grid(self, points: Points, weights: Array | None) -> Array:
        if self.bandwidths is None:
            return median_distance(points, weights) * np.geomspace(*_OWN_RANGE, _OWN_COUNT)
        whole = isinstance(self.bandwidths, int | np.integer)
        if whole and not isinstance(self.bandwidths, bool) and self.bandwidths >= 1:
            count = int(self.bandwidths)
            return median_distance(points, weights) * np.linspace(*_PAPER_RANGE, count)
        grid = np.asarray(self.bandwidths)
        usable = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iuf"
        if not usable or not (np.isfinite(grid) & (grid > 0)).all():
            raise ValueError(
                f"bandwidths={self.bandwidths!r} must be a count of at least 1, or positive finite "
                "numbers."
            )
        return np.unique(grid.astype(np.float64))

    def _count(self, kernel: Kernel, points: Points, weights: Array | None) -> int:
        if isinstance(self.n_clusters, str) and self.n_clusters == "auto":
            return groups_of(kernel, points, weights).n_groups
        whole = isinstance(self.n_clusters, int | np.integer)
        if not whole or isinstance(self.n_clusters, bool) or self.n_clusters < 1:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} must be a whole number of at least 1, or 'auto'."
            )
        return int(self.n_clusters)


@dataclass(frozen=True)
class _Wide:
    """A kernel, and the bandwidth or factor that it is known by."""

    width: float | None
    kernel: Kernel


@dataclass(frozen=True)
class _Trial:
    eca: KernelECA
    clusters: AngularClusters
    vanishing: float  # length up to which a projection is noise
    record: BandwidthRecord


def _with_stability(records: list[BandwidthRecord], weights: Array | None) -> list[BandwidthRecord]:
    """Compare each with those at most a tenth away, and at least with its neighbours."""
    widths = np.log([float(record.bandwidth or np.nan) for record in records])
    agreement = np.full((len(records), len(records)), np.nan)
    for i, j in zip(*np.triu_indices(len(records), 1), strict=True):
        if j == i + 1 or widths[j] - widths[i] <= _NEAR:
            agreement[i, j] = agreement[j, i] = adjusted_rand_index(
                records[i].labels, records[j].labels, weights
            )
    means = np.nanmean(agreement, axis=1)
    return [replace(r, stability=float(m)) for r, m in zip(records, means, strict=True)]


def choose_record(records: list[BandwidthRecord]) -> int:
    """Number of the record to trust: the lowest cost among the stable ones.

    Stable are those with a stability of 0.95, or the most stable ones if none reaches that. The
    cost alone prefers small bandwidths, at which everything is orthogonal to everything else.
    """
    stability = np.array([record.stability for record in records])
    cost = np.array([record.cost for record in records])
    stable = stability >= min(_STABLE, stability.max())
    return int(np.argmin(np.where(stable, cost, np.inf)))


def _projections(gram: GramOperator, spectrum: Spectrum) -> Array:
    """Projections of the training points by the formula for new points.

    An iteration leaves noise of 1e-13 in an eigenvector's zeros; one more product divides it by
    the eigenvalue. Rows without company then vanish, as they do when predicted.
    """
    if isinstance(gram, FactoredGram):  # these know no difference
        return spectrum.projections
    product = gram.matmat(spectrum.eigenvectors) / np.sqrt(spectrum.eigenvalues)
    return np.asarray(product / gram.start[:, None])


def _bandwidth_of(kernel: Kernel) -> Any:
    bandwidth = getattr(kernel, "bandwidth", None)
    return bandwidth if bandwidth is None or np.ndim(bandwidth) else float(bandwidth)


def _record(
    sample: Sample,
    wide: _Wide,
    gram: GramOperator,
    eca: KernelECA,
    Z: Array,
    found: AngularClusters,
) -> BandwidthRecord:
    clusters = len(found.directions)
    counts, sums, lengths = summed(partial(_tally, clusters), Z, found.labels, sample.weights)
    unassigned = float(counts[-1])
    spectrum = eca.spectrum_
    # the last group is what is in no cluster
    groups = mapped(partial(_groups, clusters), found.labels)
    products = gram.group_products(groups, clusters + (unassigned > 0))
    own, counts = slice(0, clusters), counts[:-1]
    cost = angular_cost(
        np.diagonal(products)[own], products[own].sum(axis=1), counts, float(products.sum())
    )
    whole, sums = sums.sum(axis=0), sums[:-1]
    eca_cost = angular_cost((sums**2).sum(axis=1), sums @ whole, counts, float(whole @ whole))
    return BandwidthRecord(
        bandwidth=wide.width,
        cost=cost + unassigned,
        eca_cost=eca_cost + unassigned,
        labels=found.labels,
        stability=np.nan,
        entropy_ratio=float(eca.entropy_ratio_.sum()),
        coherence=found.objectives[-1] / lengths,
        eigenvalues=spectrum.eigenvalues,
        certified=spectrum.certified,
        _sample=Sample(sample.kernel, sample.points, sample.weights),
        _error=spectrum.error_bound,
        _ranks=spectrum.known_ranks,
    )


def _groups(clusters: int, labels: Array) -> Array:
    return np.where(labels < 0, clusters, labels)


def _tally(
    clusters: int, Z: Array, labels: Array, weights: Array | None
) -> tuple[Array, Array, float]:
    """Weight and sum of rows in each cluster and in none, and the sum of all lengths."""
    weights = np.ones(len(Z)) if weights is None else weights
    groups = _groups(clusters, labels)
    counts = np.bincount(groups, weights, clusters + 1)
    sums = [np.bincount(groups, weights * column, clusters + 1) for column in Z.T]
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    return counts, np.column_stack(sums), float(weights @ lengths)


def _directed(project: Any, centers: Array, vanishing: float, points: Points) -> Array:
    return assign_directions(project(points), centers, vanishing)


def _count_lost(labels: Array) -> int:
    return int((labels < 0).sum())


def _few(points: Points, weights: Array | None) -> tuple[Array | None, Points, Array]:
    """At most 1000 rows that stand for all: their numbers, where they are known, and weights."""
    if isinstance(points, ChunkedPoints):
        rows, shares = points.counted(weights).representatives(_OWN_ROWS)
        return None, Points(rows, "vectors", points.feature_names), shares
    counts = np.ones(points.n) if weights is None else weights
    present = np.flatnonzero(counts > 0)
    some, shares = representatives(points.data[present], counts[present], _OWN_ROWS)
    return present[some], points.take(present[some]), shares


def _too_few(n_clusters: int, few: RankError) -> RankError:
    return RankError(
        f"n_clusters={n_clusters} needs as many components, and K has {few.rank} positive "
        f"eigenvalues; pass at most {few.rank}, or use a smaller bandwidth.",
        few.rank,
    )


def _silence(message: str, category: type[Warning]) -> None:
    """Warnings of the bandwidths that were only tried: the chosen one speaks for itself."""


def _check_steps(max_iter: Any) -> None:
    if not (isinstance(max_iter, int | np.integer) and max_iter >= 1):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number of at least 1.")


def _check_clusters(n_clusters: int, n: int) -> None:
    if n_clusters > n:
        raise ValueError(
            f"n_clusters={n_clusters} exceeds the number of rows with a positive weight "
            f"(n_samples={n}); pass at most {n}."
        )
