"""Diagnostics of clusterings: eigenvectors that represent clusters, cost, and error rate.

Section 4.1 of Jenssen 2010 explains angular structure by eigenvectors that represent one cluster.
Such an eigenvector is nearly constant on its cluster and nearly 0 elsewhere; one that separates
parts of a cluster oscillates around 0 within it, and has a small entropy term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from mercer.cluster.angular import angular_cost
from mercer.data.points import require_memory
from mercer.eigen import summing_gram
from mercer.eigen.decompose import Spectrum
from mercer.information.samples import fitted_sample
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = ["ClusterProfile", "cluster_profile", "clustering_cost", "clustering_error"]


@dataclass(frozen=True)
class ClusterProfile:
    """The relation of k eigenvectors to C clusters.

    Attributes
    ----------
    clusters : array of shape (C,)
        The labels, sorted.
    mass : array of shape (k, C)
        Fraction of each eigenvector's squared norm on each cluster; rows add up to 1 minus the
        fraction on unlabeled points.
    constancy : array of shape (k, C)
        ``(Σ_c e)² / (n_c Σ_c e²)``: 1 where the eigenvector is constant on the cluster, 0 where it
        oscillates evenly around 0.
    entropy_terms : array of shape (k,)
        ψ of each eigenvector.
    represents : array of shape (k,)
        The cluster with the largest ``mass · constancy`` of each eigenvector, if this is at least
        0.5; None otherwise.

    Examples
    --------
    >>> from mercer import KernelECA
    >>> from mercer.datasets import make_rings
    >>> from mercer.cluster import cluster_profile
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_rings(random_state=0)
    >>> profile = cluster_profile(KernelECA(3, kernel=Gaussian(3.7)).fit(X), y)
    >>> profile.mass.shape, profile.represents.tolist()
    ((3, 3), [0, 1, 2])
    """

    clusters: Array
    mass: Array
    constancy: Array
    entropy_terms: Array
    represents: Array

    def __str__(self) -> str:
        width = max([12, *(len(str(c)) + 2 for c in self.clusters)])
        head = "".join(f"{c!s:>{width}}" for c in self.clusters)
        lines = [
            f"{'':>4}{'entropy':>10}  represents  mass (constancy) on cluster",
            f"{'':28}{head}",
        ]
        for i, term in enumerate(self.entropy_terms):
            cluster = "-" if self.represents[i] is None else str(self.represents[i])
            cells = [
                f"{f'{m:.2f} ({c:.2f})':>{width}}"
                for m, c in zip(self.mass[i], self.constancy[i], strict=True)
            ]
            lines.append(f"{i + 1:>4}{term:>10.2e}{cluster:>12}  {''.join(cells)}")
        return "\n".join(lines)


@ignore_underflow
def cluster_profile(spectrum: Any, labels: Any) -> ClusterProfile:
    """Relate the components of a Spectrum (or a fitted estimator) to clusters of its points.

    Parameters
    ----------
    spectrum : Spectrum or estimator with ``spectrum_``
        For the leading eigenvectors by eigenvalue instead of entropy, fit
        ``KernelPCA(n_components=…, center=False)``.
    labels : array-like of shape (n,)
        Clusters or classes of the training points; -1 for points without a cluster.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.datasets import make_ring_and_blob
    >>> from mercer.cluster import cluster_profile
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_ring_and_blob(random_state=0)
    >>> pca = KernelPCA(4, kernel=Gaussian(1.2), center=False).fit(X)
    >>> cluster_profile(pca, y).represents.tolist()
    [1, None, None, 0]
    """
    spectrum = getattr(spectrum, "spectrum_", spectrum)
    if not isinstance(spectrum, Spectrum):
        kind = type(spectrum).__name__
        raise TypeError(f"cluster_profile needs a Spectrum or a fitted estimator, not {kind}.")
    labels = np.asarray(labels)
    vectors = spectrum.eigenvectors
    if labels.shape != (len(vectors),):
        raise ValueError(
            f"labels have shape {labels.shape}. Pass one label for each of the {len(vectors)} "
            "training points with a positive weight."
        )
    weights = spectrum.counts
    clusters = np.array([c for c in np.unique(labels) if c != -1])
    members = (labels[:, None] == clusters).astype(np.float64)
    mass = (vectors**2).T @ members
    sums = (np.sqrt(weights)[:, None] * vectors).T @ members
    sizes = weights @ members
    constancy = np.divide(sums**2, sizes * mass, out=np.zeros_like(mass), where=mass > 0)
    constancy = np.minimum(constancy, 1.0)  # at most 1 by Cauchy-Schwarz, up to rounding error
    strength = mass * constancy if len(clusters) else np.zeros((len(mass), 1))
    strongest = strength.argmax(axis=1)
    represents = np.array(
        [clusters[c].item() if strength[i, c] >= 0.5 else None for i, c in enumerate(strongest)],
        dtype=object,
    )
    return ClusterProfile(clusters, mass, constancy, spectrum.entropy_terms, represents)


@ignore_underflow
def clustering_cost(
    X: Any, labels: Any, kernel: str | Kernel = "gaussian", *, sample_weight: Any = None
) -> float:
    r"""Return the cost of any clustering, :math:`J = \sum_i n_i \cos\angle(m_i, m)`.

    This is Jenssen's eq. (28), with means :math:`m_i` of the clusters and m of all points in the
    full kernel space; ``-log cos`` is the Cauchy-Schwarz divergence of a cluster from the whole
    sample (eqs. 26-27). J is small if the clusters point in different directions, and n for one
    cluster. For the labels and the kernel of an :class:`mercer.EntropyClustering` it is ``cost_``.
    Compare costs at one bandwidth only: at small bandwidths all points are orthogonal to each
    other, and every clustering has a low cost.

    Parameters
    ----------
    X : array-like of shape (n, d), data that the kernel compares, or a precomputed K
    labels : array-like of shape (n,)
        Any labels; -1 for points without a cluster, each of which adds its weight to J.
    kernel : str or Kernel
        "precomputed" if X is the Gram matrix.
    sample_weight : array-like of shape (n,) or None

    Examples
    --------
    >>> from mercer.datasets import make_rings
    >>> from mercer.cluster import clustering_cost
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_rings(random_state=0)
    >>> round(clustering_cost(X, y, Gaussian(3.7)), 1)  # the true rings
    179.4
    >>> K = Gaussian(3.7)(X)
    >>> round(clustering_cost(K, X[:, 0] > 0, "precomputed"), 1)  # left and right halves
    256.5
    """
    labels = np.asarray(labels)
    require_memory(X, "clustering_cost")
    sample = fitted_sample(X, kernel, sample_weight)
    n = sample.points.n if sample.indices is None else np.size(sample_weight)
    if labels.shape != (n,):
        raise ValueError(f"labels have shape {labels.shape}; pass one label for each of {n} rows.")
    if sample.indices is not None:  # rows with zero weight
        labels = labels[sample.indices]
    clusters, groups = np.unique(labels, return_inverse=True)
    counts = np.bincount(groups, sample.weights, len(clusters))
    products = summing_gram(sample).group_products(groups, len(clusters))
    assigned = clusters != -1
    cost = angular_cost(
        np.diagonal(products)[assigned],
        products[assigned].sum(axis=1),
        counts[assigned],
        float(products.sum()),
    )
    return cost + float(counts[~assigned].sum())


def clustering_error(
    classes: Any, labels: Any, *, matching: Literal["one-to-one", "majority"] = "one-to-one"
) -> float:
    r"""Return the fraction of points misclassified under a matching of clusters to classes.

    With :math:`n_{kc}` points of class k in cluster c and n points in total, the error is
    :math:`1 - \frac1n \max_\pi \sum_c n_{\pi(c) c}` over one-to-one matchings :math:`\pi`, or
    :math:`1 - \frac1n \sum_c \max_k n_{kc}` if each cluster counts as its most frequent class.
    A point without a cluster (label -1) counts as misclassified.

    Parameters
    ----------
    classes, labels : array-like of shape (n,)
    matching : {"one-to-one", "majority"}
        "majority" allows several clusters of one class, and is never above "one-to-one". It
        decreases if clusters are split, so compare it at equal numbers of clusters only.

    Examples
    --------
    >>> from mercer.cluster import clustering_error
    >>> clustering_error(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.25
    >>> clustering_error(["a", "a", "a", "b"], [0, 0, 1, 2])
    0.25
    >>> clustering_error(["a", "a", "a", "b"], [0, 0, 1, 2], matching="majority")
    0.0
    """
    check_choice(matching, "matching", ("one-to-one", "majority"))
    classes, labels = np.asarray(classes), np.asarray(labels)
    if classes.shape != labels.shape or classes.ndim != 1 or not len(classes):
        raise ValueError(
            f"classes and labels must be two sequences of the same positive length; got shapes "
            f"{classes.shape} and {labels.shape}."
        )
    codes, clusters = (np.unique(a, return_inverse=True)[1] for a in (classes, labels))
    counts = np.zeros((codes.max() + 1, clusters.max() + 1))
    np.add.at(counts, (codes, clusters), labels != -1)
    if matching == "majority":
        right = counts.max(axis=0).sum()
    else:
        right = counts[linear_sum_assignment(-counts)].sum()
    return float(1 - right / len(classes))
