"""Clustering by angles between kernel entropy components."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.cluster.angular import (
    AngularClusters,
    ClusterMeans,
    angular_kmeans,
    assign_points,
    check_isolated,
    shortest,
)
from mercer.cluster.bandwidth_sweep import (
    BandwidthRecord,
    Candidate,
    candidates,
    choose_record,
    record_of,
    subsample,
    with_stability,
)
from mercer.cluster.cluster_number import MOST_ROWS, choose_number
from mercer.data.points import Points, rowwise, validate_points, validate_weights
from mercer.decomposition.base import KernelEstimator, own_points
from mercer.decomposition.eca import KernelECA, fit_eca
from mercer.eigen import Request
from mercer.eigen.decompose import Spectrum, plan_gram
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    RankError,
    suppress_warnings,
    warn,
)
from mercer.gram import FactoredGram, GramOperator, Sample
from mercer.kernels import Kernel, Stationary, as_kernel
from mercer.utils.estimators import all_or_nothing
from mercer.utils.resources import ProgressBar, blas_threads_for, show_progress
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, warn_if_heavy

__all__ = ["BandwidthRecord", "EntropyClustering"]

_SWEEP_ROWS = 1000  # enough rows to choose a bandwidth


class EntropyClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    r"""Kernel entropy component analysis followed by k-means on angles.

    Well-separated clusters lie along different directions of kernel entropy component space. A
    point belongs to the cluster whose mean has the smallest angle with it; the number of components
    is the number of clusters (Jenssen 2010, section 4). The initialization by farthest directions
    is deterministic. Prefer :class:`SpectralClustering` to find clusters of any shape: it depends
    less on the bandwidth. This class is the method of the paper, with directions in component space
    and isolated points.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" chooses the number by a density tree, as :class:`SpectralClustering` does; the
        result may be 1.
    kernel : str or Kernel
        "gaussian" ("rbf"), "laplacian", "polynomial", "linear", "sigmoid", "cosine",
        "precomputed", or a kernel object; "table" for data frames with categories, dates, texts or
        missing values; "auto" for "table" with such a frame, and "gaussian" otherwise. A bandwidth
        of "auto", the default, is chosen by a sweep; any other bandwidth is used unchanged.
    bandwidths : int, array-like or None
        Number of bandwidths to try, evenly spaced over 10 to 20 % of the median distance as in the
        paper, or the bandwidths themselves. None: 33 over 10 to 200 % if the kernel's bandwidth is
        "auto" (tried on 1000 of the rows if there are more), else only the kernel's own. For a
        kernel without a single bandwidth (such as a product over columns) they are multipliers of
        its bandwidths: :meth:`~mercer.kernels.Kernel.scale_bandwidths`.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom" or a solver object. "auto"
        stores no Gram matrix above 0.5 GB (about 8000 points); ``Lanczos(stored=True)`` is faster
        and needs the memory.
    max_iter : int
        Largest number of k-means iterations; a few usually suffice.
    random_state : int or None
        Seed of the solver's random start; results do not depend on it beyond rounding error.
    isolated : {"label", "nearest"}
        What to do with isolated points, whose projections are zero up to rounding error (up to 5e-9
        of the longest where K is applied by Fourier sums, as for Dask collections): label them -1,
        or assign them to the cluster whose mean has the smallest angle to them in the full kernel
        space (only a point whose kernel with all others is exactly 0 keeps -1). The latter is not
        available for Dask collections.
    verbose : bool
        Show a progress bar from the start of the sweep. On a terminal it appears automatically if
        the sweep takes long.

    Attributes
    ----------
    labels_ : int array of shape (n,)
        -1 for isolated points (see the ``isolated`` parameter).
    cluster_centers_ : array of shape (n_clusters_, n_clusters_)
        Unit directions in component space.
    cost_ : float
        J of eq. (28), ``Σ_i n_i cos∠(m_i, m)``, with means in the full kernel space; small if
        clusters point in different directions, n for one cluster. Points labeled -1 add 1 each.
    n_clusters_ : int
    n_iter_ : int
    eca_ : KernelECA
        The fitted components.
    path_ : list of BandwidthRecord
        One record per bandwidth, from the smallest: bandwidth, cost, eca_cost, components, labels,
        stability, …
    sweep_rows_ : int array or None
        Indices of the rows in the sweep if it used a subsample; None otherwise, and for Dask
        collections.
    kernel_ : Kernel
        The fitted kernel.
    spectrum_ : Spectrum

    Notes
    -----
    The sweep chooses the bandwidth with the lowest cost among those whose labels agree with the
    labels at nearby bandwidths to an adjusted Rand index of 0.95 (among the most stable ones if
    none does). No rule without labels is safe, and the clusters depend on the bandwidth: inspect
    ``path_``.

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

    _table: ClassVar[Literal["sum", "product"] | None] = "product"

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 3,
        *,
        kernel: str | Kernel = "gaussian",
        bandwidths: Any = None,
        solver: Any = "auto",
        max_iter: int = 100,
        random_state: int | None = None,
        isolated: Literal["label", "nearest"] = "label",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.bandwidths = bandwidths
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state
        self.isolated = isolated
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of a sample.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or data that the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Multiplicity of each row.
        """
        with show_progress() if self.verbose else nullcontext():
            return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        kernel = as_kernel(self.kernel, X, table=self._table)
        points = own_points(validate_points(X, kernel, estimator=self), X)
        weights = validate_weights(sample_weight, points)
        check_integer(self.max_iter, "max_iter")
        check_isolated(self.isolated, points)
        n_clusters = self._count(kernel, points, weights)
        sample = Sample.of(kernel, points, weights)
        _check_clusters(n_clusters, sample.points.n)
        warn_if_heavy(sample.sample_size, sample.points.n)
        tried = candidates(self.bandwidths, kernel, points, weights)
        rows, records = None, None
        if len(tried) > 1:
            rows, records = self._sweep(tried, points, weights, n_clusters)
        trial = self._final_trial(records, tried[0], points, weights, n_clusters)
        self._set_clusters(trial, points, weights)
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
            -1 for points that are isolated from the sample, unless ``isolated="nearest"``.
        """
        return self._labels(self._validate_new(X))

    @property
    def spectrum_(self) -> Spectrum:
        """The components' Spectrum."""
        check_is_fitted(self)
        return self.eca_.spectrum_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "eca_")

    # --- one bandwidth ------------------------------------------------------------------------

    def _cluster(self, sample: Sample, candidate: Candidate, n_clusters: int) -> _Trial:
        request = Request("entropy", n_clusters, self.solver, for_labels=True)
        planned = plan_gram(sample, request)
        eca = fit_eca(sample, planned, request, random_state=self.random_state)
        Z = sample.passes.persist(_projections(planned.gram, eca.spectrum_, sample.unit))
        noise = eca.spectrum_.expansion.noise
        found = angular_kmeans(
            Z,
            n_clusters,
            weights=sample.weights,
            max_iter=self.max_iter,
            noise=noise,
            rows=sample.passes,
        )
        means = None
        if self.isolated == "nearest" and (found.labels < 0).any():
            means = ClusterMeans.of(sample, found.labels)
            found = replace(found, labels=means.assign_training(sample, found.labels))
        spectrum, ratio = eca.spectrum_, float(eca.entropy_ratio_.sum())
        record = record_of(sample, candidate, planned.gram, spectrum, ratio, Z, found)
        return _Trial(eca, found, shortest(Z, noise, rows=sample.passes), record, means)

    def _final_trial(
        self,
        records: list[BandwidthRecord] | None,
        single: Candidate,
        points: Points,
        weights: Array | None,
        n_clusters: int,
    ) -> _Trial:
        """Cluster all rows with the best bandwidth of a sweep, or with the single candidate.

        K of all rows may have fewer positive eigenvalues than that of the rows in the sweep. The
        next best bandwidth is used then.
        """
        remaining = list(records or [])
        while True:
            best = single
            if remaining:
                chosen = remaining.pop(choose_record(remaining))
                best = Candidate(chosen.bandwidth, chosen.kernel)
            try:
                return self._cluster(Sample.of(best.kernel, points, weights), best, n_clusters)
            except RankError as error:
                if not remaining:
                    raise _rank_error(n_clusters, error) from error

    def _set_clusters(self, trial: _Trial, points: Points, weights: Array | None) -> None:
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
        self._zero_norm = trial.zero_norm
        self._means = trial.means
        if self.isolated == "nearest" and self._means is None:
            sample = Sample.of(self.kernel_, points, weights)
            self._means = ClusterMeans.of(sample, trial.record.labels)
        if len(self.labels_) < points.n:  # rows with zero weight get a label too
            self.labels_ = self._labels(points)
            if not points.is_chunked:
                self.labels_[np.asarray(weights) > 0] = trial.record.labels
        if not found.converged:
            warn(
                f"k-means has not converged within max_iter={self.max_iter} iterations. "
                "Increase max_iter.",
                ConvergenceWarning,
            )
        n_unassigned = points.passes.sum(_count_unassigned, self.labels_)
        if n_unassigned:
            warn(
                f"{n_unassigned} of {len(self.labels_)} points are labeled -1: their projections "
                "are zero up to rounding error, so they are isolated from all clusters. Use a "
                "larger bandwidth, or isolated='nearest'.",
                ApproximationWarning,
            )

    def _labels(self, points: Points) -> Array:
        project = self.spectrum_.without_points().project
        directions = self.cluster_centers_
        return points.map_rows(
            partial(assign_points, project, directions, self._zero_norm, self._means)
        )

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("labels_", "path_", "sweep_rows_")

    def _for_workers(self) -> Self:
        model = super()._for_workers()
        model.eca_ = self.eca_._for_workers()
        return model

    # --- bandwidth sweep ----------------------------------------------------------------------

    def _sweep(
        self, kernels: list[Candidate], points: Points, weights: Array | None, n_clusters: int
    ) -> tuple[Array | None, list[BandwidthRecord]]:
        """Return the indices of the rows in the sweep (None for all), and the records."""
        rows = None
        if self.bandwidths is None and points.n > _SWEEP_ROWS >= n_clusters:
            rows, points, weights = subsample(points, weights, _SWEEP_ROWS)
        sample = Sample.of(kernels[0].kernel, points, weights)
        records, failed = [], []
        with (
            ProgressBar(len(kernels), "bandwidths", always=self.verbose) as bar,
            blas_threads_for(sample.points.n),
            suppress_warnings(),  # the final fit warns
        ):
            for done, candidate in enumerate(kernels, start=1):
                tried = replace(sample, kernel=candidate.kernel)
                try:
                    records.append(self._cluster(tried, candidate, n_clusters).record)
                except RankError as error:
                    failed.append(error)
                bar.step(done)
        if not records:
            raise _rank_error(n_clusters, failed[0]) from failed[0]
        if failed:
            warn(
                f"{len(failed)} of {len(kernels)} bandwidths were skipped: K has fewer than "
                f"n_clusters={n_clusters} positive eigenvalues there.",
                ApproximationWarning,
            )
        return rows, with_stability(records, sample)

    def _count(self, kernel: Kernel, points: Points, weights: Array | None) -> int:
        if isinstance(self.n_clusters, str) and self.n_clusters == "auto":
            return _choose_number(kernel, points, weights)
        return check_integer(self.n_clusters, "n_clusters", remedy="Or pass 'auto'.")


def _choose_number(kernel: Kernel, points: Points, weights: Array | None) -> int:
    if points.kind == "vectors":
        _, points, weights = subsample(points, weights, MOST_ROWS)
    if isinstance(kernel, Stationary):
        return choose_number(points).n_clusters
    with suppress_warnings():
        sample = Sample.of(fit_kernel(kernel, points, weights), points, weights)
    return choose_number(sample.points, sample.kernel, sample.matrix).n_clusters


@dataclass(frozen=True)
class _Trial:
    eca: KernelECA
    clusters: AngularClusters
    zero_norm: float  # norm up to which a projection is noise
    record: BandwidthRecord
    means: ClusterMeans | None  # for isolated points


def _projections(gram: GramOperator, spectrum: Spectrum, unit: float) -> Array:
    """Return the projections of the training points by the formula for new points.

    An iteration leaves noise of 1e-13 in the zeros of an eigenvector; one more product divides it
    by the eigenvalue. Isolated rows then project to zero, as they do in ``predict``.
    """
    if isinstance(gram, FactoredGram):  # same formula for training and new points
        return spectrum.projections
    product = gram.product(spectrum.eigenvectors) / np.sqrt(spectrum.eigenvalues / unit)
    return np.asarray(product / gram.start[:, None])


def _count_unassigned(labels: Array) -> int:
    return int((labels < 0).sum())


def _rank_error(n_clusters: int, error: RankError) -> RankError:
    return RankError(
        f"n_clusters={n_clusters} needs as many components, but K has {error.rank} positive "
        f"eigenvalues. Pass at most {error.rank}, or use a smaller bandwidth.",
        error.rank,
    )


def _check_clusters(n_clusters: int, n: int) -> None:
    if n_clusters > n:
        raise ValueError(
            f"n_clusters={n_clusters} exceeds the number of rows with a positive weight "
            f"(n_samples={n}). Pass at most {n}."
        )
