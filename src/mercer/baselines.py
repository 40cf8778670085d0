"""Baselines for kernel entropy clustering: kernel PCA and spectral clustering."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans

from mercer.bandwidth import fit_kernel
from mercer.data import validate_points
from mercer.estimators import KernelPCA
from mercer.kernels import Kernel, as_kernel
from mercer.maths.angular import angular_kmeans
from mercer.maths.types import Array
from mercer.operators import Sample
from mercer.resources import check_memory
from mercer.validation import check_choice, check_integer

__all__ = ["kernel_pca_clustering", "njw_clustering"]

_MIN_DEGREE = 1e-12  # relative to the largest; isolated points have degree 0


@np.errstate(under="ignore")
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
    n_init, random_state : int
        Number of starts of Euclidean k-means, and their seed.

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
    check_choice(metric, "metric", ("angular", "euclidean"))
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    check_integer(n_clusters, "n_clusters", high=points.n)
    Z = KernelPCA(n_clusters, kernel=kernel, center=center).fit_transform(X)
    if metric == "angular":
        return angular_kmeans(Z, n_clusters, noise=float(np.finfo(points.dtype).eps)).labels
    return _euclidean(Z, n_clusters, n_init, random_state)


@np.errstate(under="ignore")
def njw_clustering(
    X: Any,
    n_clusters: int,
    *,
    kernel: str | Kernel = "gaussian",
    n_init: int = 5,
    random_state: int | None = 0,
) -> Array:
    """Cluster by the spectral method of Ng, Jordan and Weiss (2002).

    K-means on the rows of the leading eigenvectors of ``D^{-1/2} (K - diag K) D^{-1/2}``, scaled to
    unit norm. The diagonal is set to 0 as in their paper. Degrees are bounded from
    below by 1e-12 of the largest.

    Parameters
    ----------
    X : array-like of shape (n, d), or data that the kernel compares
    n_clusters : int
    kernel : str or Kernel
    n_init, random_state : int
        Number of starts of k-means, and their seed.

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
    sample = Sample.of(fit_kernel(kernel, points), points, None)
    check_integer(n_clusters, "n_clusters", high=points.n)
    check_memory(
        3 * 8 * points.n**2,
        f"A full decomposition of {points.n} points",
        "Use EntropyClustering",
    )
    return _euclidean(_njw_rows(sample, n_clusters), n_clusters, n_init, random_state)


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
    _, vectors = np.linalg.eigh(A)
    rows = vectors[:, ::-1][:, :n_clusters]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def _euclidean(Z: Array, n_clusters: int, n_init: int, random_state: int | None) -> Array:
    found = KMeans(n_clusters, n_init=n_init, random_state=random_state).fit(Z)
    return np.asarray(found.labels_)
