"""What kernel entropy clustering is compared with: thin, honest versions of two standards."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans

from mercer.bandwidth import resolve
from mercer.data import validate_points
from mercer.errors import MemoryBudgetError
from mercer.estimators import KernelPCA
from mercer.kernels import Kernel, as_kernel
from mercer.maths.angular import angular_kmeans
from mercer.maths.types import Array
from mercer.operators import Sample
from mercer.resources import memory_budget

__all__ = ["kernel_pca_clustering", "njw_clustering"]

_DEGREE_FLOOR = 1e-12  # of the largest: a point alone has no degree to divide by


def kernel_pca_clustering(
    X: Any,
    n_clusters: int,
    *,
    kernel: str | Kernel = "gaussian",
    metric: Literal["angular", "euclidean"] = "angular",
    center: bool = False,
    n_init: int = 10,
    random_state: int | None = 0,
) -> Array:
    """Kernel PCA on the ``n_clusters`` leading components, then k-means on angles or distances.

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    n_clusters : int
    kernel : str or Kernel
    metric : {"angular", "euclidean"}
        "angular" clusters as :class:`mercer.EntropyClustering` does, so that the two differ in
        their components alone.
    center : bool
        As in :class:`mercer.KernelPCA`; the papers compare without.
    n_init, random_state : int
        Starts of Euclidean k-means, and their seed.

    Returns
    -------
    int array of shape (n,)

    Examples
    --------
    >>> from mercer.baselines import kernel_pca_clustering
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> labels = kernel_pca_clustering(X, 2, kernel="gaussian")
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    if metric not in ("angular", "euclidean"):
        raise ValueError(f"metric={metric!r} must be 'angular' or 'euclidean'.")
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    _check_clusters(n_clusters, points.n)
    Z = KernelPCA(n_clusters, kernel=kernel, center=center).fit_transform(X)
    if metric == "angular":
        return angular_kmeans(Z, n_clusters, noise=float(np.finfo(points.dtype).eps)).labels
    return _euclidean(Z, n_clusters, n_init, random_state)


def njw_clustering(
    X: Any,
    n_clusters: int,
    *,
    kernel: str | Kernel = "gaussian",
    n_init: int = 5,
    random_state: int | None = 0,
) -> Array:
    """Spectral clustering of Ng, Jordan and Weiss (2002).

    Leading eigenvectors of ``D^{-1/2} (K - diag K) D^{-1/2}``, rows scaled to unit length, k-means.
    The diagonal is left out as in their paper; degrees that underflow are floored.

    Parameters
    ----------
    X : array-like of shape (n, d), or what the kernel compares
    n_clusters : int
    kernel : str or Kernel
    n_init, random_state : int
        Starts of k-means, and their seed.

    Returns
    -------
    int array of shape (n,)

    Examples
    --------
    >>> from mercer.baselines import njw_clustering
    >>> from mercer.kernels import Gaussian
    >>> labels = njw_clustering([[0.0], [0.1], [5.0], [5.1]], 2, kernel=Gaussian(1.0))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    sample = Sample.of(resolve(kernel, points), points, None)
    _check_clusters(n_clusters, points.n)
    if 3 * 8 * points.n**2 > memory_budget():
        raise MemoryBudgetError(
            f"The full decomposition for {points.n} points needs {24e-9 * points.n**2:.3g} GB; the "
            f"memory budget is {memory_budget() / 1e9:.3g} GB. Raise it (mercer.set_config), or "
            "use EntropyClustering."
        )
    return _euclidean(_njw_rows(sample, n_clusters), n_clusters, n_init, random_state)


def _njw_rows(sample: Sample, n_clusters: int) -> Array:
    K = sample.matrix if sample.matrix is not None else sample.kernel(sample.points.data)
    A = np.array(K, dtype=np.float64)
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1)
    if degrees.min() < 0:
        raise ValueError(
            f"The degrees of some points are negative (down to {degrees.min():.3g}): normalised "
            "spectral clustering needs similarities that are not. Use a Gaussian kernel."
        )
    roots = np.sqrt(np.maximum(degrees, _DEGREE_FLOOR * max(degrees.max(), 1e-300)))
    A /= roots[:, None]
    A /= roots
    _, vectors = np.linalg.eigh(A)
    rows = vectors[:, ::-1][:, :n_clusters]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _check_clusters(n_clusters: Any, n: int) -> None:
    whole = isinstance(n_clusters, int | np.integer) and not isinstance(n_clusters, bool)
    if not whole or not 1 <= n_clusters <= n:
        raise ValueError(
            f"n_clusters={n_clusters!r} must be a whole number between 1 and the number of rows, "
            f"{n}."
        )


def _euclidean(Z: Array, n_clusters: int, n_init: int, random_state: int | None) -> Array:
    found = KMeans(n_clusters, n_init=n_init, random_state=random_state).fit(Z)
    return np.asarray(found.labels_)
