"""Baselines for kernel entropy clustering: kernel PCA and spectral clustering."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.cluster import KMeans

from mercer import KernelPCA
from mercer.bandwidth import fit_kernel, median_distance
from mercer.cluster import starting_rows
from mercer.cluster.angular import angular_cost, angular_kmeans
from mercer.data.points import validate_points
from mercer.eigen.block_krylov import leading_eigenpairs
from mercer.gram import Sample
from mercer.kernels import Kernel, Stationary, as_kernel
from mercer.utils.resources import blas_threads_for, check_memory
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer

__all__ = [
    "BaselineRecord",
    "BaselineSweep",
    "kernel_pca_clustering",
    "njw_clustering",
    "sweep_baseline",
]

Init: TypeAlias = Literal["random", "farthest", "orthogonal"]
_INITS = ("random", "farthest", "orthogonal")

_MIN_DEGREE = 1e-12  # relative to the largest; isolated points have degree 0
_PAPER_RANGE = (0.10, 0.20)  # multiples of the median distance
_RESIDUAL = 1e-10  # of eigenvectors from an iteration
_MAX_PASSES = 60


@np.errstate(under="ignore")
def kernel_pca_clustering(
    X: Any,
    n_clusters: int,
    *,
    kernel: str | Kernel = "gaussian",
    metric: Literal["angular", "euclidean"] = "angular",
    center: bool = False,
    init: Init = "random",
    n_init: int = 10,
    random_state: int | None = 0,
    return_cost: bool = False,
) -> Any:
    """Cluster by k-means on the ``n_clusters`` leading components of kernel PCA.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    n_clusters : int
    kernel : str or Kernel
    metric : {"angular", "euclidean"}
        "angular" clusters as :class:`mercer.EntropyClustering` does, so that the two methods
        differ only in their components.
    center : bool
        As in :class:`mercer.KernelPCA`; the papers do not center.
    init : {"random", "farthest", "orthogonal"}
        Starts of Euclidean k-means. The last two are one deterministic start from the rows of
        :func:`mercer.cluster.starting_rows`; "farthest" is step 2 of Jenssen's algorithm.
    n_init : int
        Number of random starts.
    random_state : int or None
        Seed of these starts, and of the eigensolver.
    return_cost : bool
        Also return the cost.

    Returns
    -------
    labels : int array of shape (n,)
        With the angular metric -1 for isolated points, whose projections are zero up to the error
        of the eigenvectors.
    cost : float
        Only with ``return_cost=True``. Euclidean: the mean squared distance of the projections to
        the mean of their cluster. Angular: J of Jenssen's eq. (28) in the space of the components;
        a point labeled -1 adds 1.

    Examples
    --------
    >>> from papers.baselines import kernel_pca_clustering
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> labels = kernel_pca_clustering(X, 2, kernel="gaussian")
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    check_choice(metric, "metric", ("angular", "euclidean"))
    check_choice(init, "init", _INITS)
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    check_integer(n_clusters, "n_clusters", high=points.n)
    pca = KernelPCA(n_clusters, kernel=kernel, center=center, random_state=random_state).fit(X)
    Z = pca.spectrum_.projections
    if metric == "angular":
        labels = angular_kmeans(Z, n_clusters, noise=_relative_error(pca, X, Z)).labels
        found = labels, _angular_cost(Z, labels)
    else:
        found = _euclidean(Z, n_clusters, init, n_init, random_state)
    return found if return_cost else found[0]


def _relative_error(pca: KernelPCA, X: Any, Z: Array) -> float:
    """Return the error of the projections Z of X, relative to the largest.

    Eigenvectors of an iteration have larger errors than rounding errors. The projection of an exact
    eigenvector at the training points equals the formula for new points.
    """
    difference = np.abs(np.asarray(pca.transform(X)) - Z).max() / np.abs(Z).max()
    return max(float(difference), pca.spectrum_.expansion.noise)


@np.errstate(under="ignore")
def njw_clustering(
    X: Any,
    n_clusters: int,
    *,
    kernel: str | Kernel = "gaussian",
    init: Init = "random",
    n_init: int = 5,
    random_state: int | None = 0,
    return_cost: bool = False,
) -> Any:
    """Cluster by the spectral method of Ng, Jordan and Weiss (2002).

    K-means on the rows of the leading eigenvectors of ``D^{-1/2} (K - diag K) D^{-1/2}``, scaled to
    unit norm. The diagonal is set to 0 as in their paper. Degrees are bounded from
    below by 1e-12 of the largest.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    n_clusters : int
    kernel : str or Kernel
    init : {"random", "farthest", "orthogonal"}
        Starts of k-means, as in :func:`kernel_pca_clustering`.
    n_init, random_state : int
        Number of random starts, and their seed.
    return_cost : bool
        Also return the cost.

    Returns
    -------
    labels : int array of shape (n,)
    cost : float
        Only with ``return_cost=True``: the mean squared distance of the rows to the mean of their
        cluster.

    Examples
    --------
    >>> from papers.baselines import njw_clustering
    >>> from mercer.kernels import Gaussian
    >>> labels = njw_clustering([[0.0], [0.1], [5.0], [5.1]], 2, kernel=Gaussian(1.0))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    check_choice(init, "init", _INITS)
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    sample = Sample.of(fit_kernel(kernel, points), points, None)
    check_integer(n_clusters, "n_clusters", high=points.n)
    check_memory(
        3 * 8 * points.n**2,
        f"A full decomposition of {points.n} points",
        "Use EntropyClustering",
    )
    found = _euclidean(_njw_rows(sample, n_clusters), n_clusters, init, n_init, random_state)
    return found if return_cost else found[0]


def _njw_rows(sample: Sample, n_clusters: int) -> Array:
    K = sample.matrix if sample.matrix is not None else sample.kernel(sample.points.data)
    A = np.array(K, dtype=np.float64)
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1)
    if degrees.min() < 0:
        raise ValueError(
            f"Some points have a negative degree (down to {degrees.min():.3g}), but spectral "
            "clustering needs non-negative similarities. Use a Gaussian kernel."
        )
    roots = np.sqrt(np.maximum(degrees, _MIN_DEGREE * max(degrees.max(), 1e-300)))
    A /= roots[:, None]
    A /= roots
    rows = _leading_vectors(A, n_clusters)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def _leading_vectors(A: Array, k: int) -> Array:
    if k <= len(A) / 32:
        with blas_threads_for(len(A)):
            found = leading_eigenpairs(
                A.__matmul__, len(A), k, tolerance=_RESIDUAL, max_passes=_MAX_PASSES
            )
        if found.converged:  # unless clusters are nearly separate
            return found.vectors
    return np.asarray(np.linalg.eigh(A)[1][:, ::-1][:, :k])


def _euclidean(
    Z: Array, n_clusters: int, init: Init, n_init: int, random_state: int | None
) -> tuple[Array, float]:
    """Return labels and cost: the mean squared distance to the cluster means."""
    if init != "random":
        start = Z[starting_rows(Z, n_clusters, rule=init)]
        # tol=0: iterate until no label changes
        model = KMeans(n_clusters, init=start, n_init=1, tol=0)
    else:
        model = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    found = model.fit(Z)
    return np.asarray(found.labels_), float(found.inertia_) / len(Z)


def _angular_cost(Z: Array, labels: Array) -> float:
    """Return J of eq. (28) for the rows of Z; each row labeled -1 adds 1."""
    sums = np.array([Z[labels == c].sum(axis=0) for c in range(labels.max() + 1)])
    counts = np.bincount(labels[labels >= 0], minlength=len(sums))
    total = Z.sum(axis=0)
    cost = angular_cost((sums**2).sum(axis=1), sums @ total, counts, float(total @ total))
    return cost + int((labels < 0).sum())


# --- bandwidth sweep ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BaselineRecord:
    """The result of a baseline at one bandwidth.

    Attributes
    ----------
    bandwidth : float
    cost : float
        As returned by the baseline.
    labels : int array of shape (n,)

    Examples
    --------
    >>> from papers.baselines import sweep_baseline
    >>> sweep = sweep_baseline("njw", [[0.0], [0.1], [5.0], [5.1]], 2, bandwidths=[1.0])
    >>> sweep.records[0].bandwidth
    1.0
    """

    bandwidth: float
    cost: float
    labels: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class BaselineSweep:
    """The results of a baseline at several bandwidths, from the smallest bandwidth.

    Attributes
    ----------
    records : tuple of BaselineRecord

    Examples
    --------
    >>> from papers.baselines import sweep_baseline
    >>> sweep = sweep_baseline("njw", [[0.0], [0.1], [5.0], [5.1]], 2, bandwidths=[0.5, 1.0])
    >>> sweep.bandwidths.tolist(), len(sweep.costs)
    ([0.5, 1.0], 2)
    """

    records: tuple[BaselineRecord, ...]

    @property
    def bandwidths(self) -> Array:
        """The bandwidths of all records."""
        return np.array([record.bandwidth for record in self.records])

    @property
    def costs(self) -> Array:
        """The costs of all records."""
        return np.array([record.cost for record in self.records])

    @property
    def best(self) -> BaselineRecord:
        """The record with the lowest cost (the smallest bandwidth of equal ones)."""
        return self.records[int(np.argmin(self.costs))]


def sweep_baseline(
    method: Literal["njw", "kernel-pca"],
    X: Any,
    n_clusters: int,
    *,
    bandwidths: Any = 80,
    kernel: str | Kernel = "gaussian",
    **settings: Any,
) -> BaselineSweep:
    """Run a baseline at several bandwidths; its ``best`` record has the lowest k-means cost.

    This is the rule that Jenssen (2010) states for both baselines of Table 1. The lowest cost is
    not always the lowest error: on the Wine data the cost of the spectral method increases with the
    bandwidth while its error decreases.

    Parameters
    ----------
    method : {"njw", "kernel-pca"}
    X : array-like of shape (n, d)
    n_clusters : int
    bandwidths : int or array-like
        Number of bandwidths, evenly spaced over 10 to 20 % of the median distance as in the paper,
        or the bandwidths themselves.
    kernel : str or Kernel
        A kernel with a bandwidth, which is replaced.
    **settings
        Passed to :func:`njw_clustering` or :func:`kernel_pca_clustering`.

    Examples
    --------
    >>> from papers.baselines import sweep_baseline
    >>> from mercer.datasets import make_clusters
    >>> from mercer.cluster.diagnostics import clustering_error
    >>> X, y = make_clusters(random_state=0)
    >>> sweep = sweep_baseline("njw", X, 3, bandwidths=[0.2, 0.4, 0.8])
    >>> clustering_error(y, sweep.best.labels)
    0.0
    """
    check_choice(method, "method", ("njw", "kernel-pca"))
    kernel = as_kernel(kernel)
    if not isinstance(kernel, Stationary):
        raise ValueError(
            f"A sweep needs a kernel with a bandwidth (Gaussian, Laplacian, Matern, Epanechnikov), "
            f"not {kernel!r}."
        )
    cluster = njw_clustering if method == "njw" else kernel_pca_clustering
    records = []
    for bandwidth in _sweep_grid(X, kernel, bandwidths):
        tried = kernel.with_bandwidth(float(bandwidth))
        labels, cost = cluster(X, n_clusters, kernel=tried, return_cost=True, **settings)
        records.append(BaselineRecord(float(bandwidth), cost, labels))
    return BaselineSweep(tuple(records))


def _sweep_grid(X: Any, kernel: Kernel, bandwidths: Any) -> Array:
    if isinstance(bandwidths, Integral):
        count = check_integer(bandwidths, "bandwidths")
        return median_distance(validate_points(X, kernel)) * np.linspace(*_PAPER_RANGE, count)
    grid = np.unique(np.asarray(bandwidths, dtype=np.float64))
    if grid.size == 0 or not (np.isfinite(grid) & (grid > 0)).all():
        raise ValueError(
            f"bandwidths={bandwidths!r} must be an integer of at least 1, or positive finite "
            "numbers."
        )
    return grid
