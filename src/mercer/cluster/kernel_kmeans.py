"""Angular k-means with means in the full kernel space, and deterministic starts of k-means."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points, validate_weights
from mercer.errors import ConvergenceWarning, warn
from mercer.gram import Sample
from mercer.kernels import Kernel, as_kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.resources import check_memory
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer

__all__ = ["angular_kernel_kmeans", "starting_rows"]

_RULES = ("farthest", "orthogonal")
_SAME = 1e-12  # cosines that differ by less are equal


def starting_rows(
    Z: Any, n_clusters: int, *, rule: Literal["farthest", "orthogonal"] = "orthogonal"
) -> Array:
    r"""Return the indices of rows of Z that point in different directions, to start k-means.

    With the cosine :math:`c_{st}` of the angle between rows s and t, the first two rows are the
    pair with the smallest value, and each further row has the smallest value to those before:

    - "orthogonal": :math:`|c_{st}|`, then :math:`\max_s |c_{st}|`, for rows nearest to 90° from
      each other (the start of Ng, Jordan and Weiss, whose first row is random);
    - "farthest": :math:`c_{st}`, then :math:`\sum_s c_{st}` (Jenssen 2010, step 2).

    The first of equal rows counts; rows of zeros are left out. All pairs are compared.

    Parameters
    ----------
    Z : array-like of shape (n, k)
        For example rows of eigenvectors, or projections.
    n_clusters : int
    rule : {"farthest", "orthogonal"}

    Returns
    -------
    int array of shape (n_clusters,)

    Examples
    --------
    >>> from mercer.cluster import starting_rows
    >>> Z = [[1.0, 0.1], [-1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]
    >>> starting_rows(Z, 2).tolist(), starting_rows(Z, 2, rule="farthest").tolist()
    ([1, 2], [1, 3])

    Start scikit-learn's k-means there:

    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> Z = np.array(Z)
    >>> KMeans(2, init=Z[starting_rows(Z, 2)], n_init=1).fit(Z).cluster_centers_.shape
    (2, 2)
    """
    check_choice(rule, "rule", _RULES)
    data = validate_points(Z, "vectors").data.astype(np.float64)
    n = len(data)
    check_integer(n_clusters, "n_clusters", high=n)
    check_memory(24 * n**2, f"The cosines between {n} rows", "Use a subsample of the rows")
    lengths = np.sqrt(np.einsum("ij,ij->i", data, data))
    usable = lengths > 0
    unit = data / np.where(usable, lengths, 1.0)[:, None]
    return _spread(unit @ unit.T, n_clusters, rule, usable)


def _spread(cosines: Array, count: int, rule: str, usable: Array) -> Array:
    """Return the rows of :func:`starting_rows`, from the cosines of all pairs."""
    if usable.sum() < count:
        raise ValueError(
            f"Only {int(usable.sum())} rows have a direction, but n_clusters={count}. Pass fewer "
            "clusters."
        )
    values = np.abs(cosines) if rule == "orthogonal" else cosines.copy()
    values[~usable] = values[:, ~usable] = np.inf
    np.fill_diagonal(values, np.inf)
    chosen: list[int] = []
    if count > 1:
        first = int(np.flatnonzero((values <= values.min() + _SAME).any(axis=1))[0])
        chosen = [first, int(np.flatnonzero(values[first] <= values[first].min() + _SAME)[0])]
    else:
        chosen = [int(usable.argmax())]
    while len(chosen) < count:
        some = values[chosen]
        total = some.max(axis=0) if rule == "orthogonal" else some.sum(axis=0)
        chosen.append(int(np.flatnonzero(total <= total.min() + _SAME)[0]))
    return np.array(chosen)


@ignore_underflow
def angular_kernel_kmeans(
    X: Any,
    n_clusters: int,
    kernel: str | Kernel = "gaussian",
    *,
    init: Any = "farthest",
    sample_weight: Any = None,
    max_iter: int = 100,
) -> Array:
    r"""Return clusters by angle in the full kernel space, not in that of a few components.

    A point x belongs to the cluster with the smallest angle between :math:`\Phi(x)` and the sum
    :math:`s_i = \sum_{t \in C_i} w_t \Phi(x_t)`, that is with the largest

    .. math:: \frac{\langle s_i, \Phi(x) \rangle}{\|s_i\|} =
        \frac{\sum_{t \in C_i} w_t k(x, x_t)}
             {\sqrt{\sum_{s, t \in C_i} w_s w_t k(x_s, x_t)}} .

    No step decreases :math:`\sum_i \|s_i\|`. This is kernel k-means with an angular distance
    (reference 31 of Jenssen 2010, Jenssen and Eltoft 2008). Jenssen optimizes the same cost in the
    space of kernel entropy components: :class:`mercer.EntropyClustering`. At small bandwidths the
    points are nearly orthogonal in the full space, and the result depends on the start.

    Parameters
    ----------
    X : array-like of shape (n, d), data that the kernel compares, or a precomputed K
    n_clusters : int
    kernel : str or Kernel
    init : {"farthest", "orthogonal"} or int array of shape (n,)
        Rows from which to start, by a rule of :func:`starting_rows` on the cosines in kernel space,
        or labels to start from, for example those of :class:`mercer.EntropyClustering`; -1 for
        points without a cluster.
    sample_weight : array-like of shape (n,) or None
        Multiplicity of each row.
    max_iter : int

    Returns
    -------
    int array of shape (n,)
        Labels 0 to n_clusters - 1; -1 for points with k(x, x) = 0, which have no direction.

    Examples
    --------
    >>> from mercer.cluster import angular_kernel_kmeans, clustering_cost, clustering_error
    >>> from mercer.datasets import make_clusters
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_clusters(random_state=0)
    >>> labels = angular_kernel_kmeans(X, 3, Gaussian(0.5))
    >>> clustering_error(y, labels), round(clustering_cost(X, labels, Gaussian(0.5)), 1)
    (0.0, 176.0)
    """
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    if points.is_chunked:
        raise ValueError("angular_kernel_kmeans needs the rows in memory. Pass a subsample.")
    weights = validate_weights(sample_weight, points)
    n = points.n
    check_integer(n_clusters, "n_clusters", high=n)
    check_integer(max_iter, "max_iter")
    check_memory(32 * n**2, f"The kernel matrix of {n} points", "Use EntropyClustering")
    sample = Sample.of(fit_kernel(kernel, points, weights), points, None)
    K = sample.matrix if sample.matrix is not None else sample.kernel(points.data)
    counts = np.ones(n) if weights is None else weights
    lengths = np.sqrt(np.maximum(K.diagonal(), 0))
    directed = lengths > 0
    labels = _first_labels(init, K, lengths, directed & (counts > 0), n_clusters)
    before, converged = -np.inf, False
    for _ in range(max_iter):
        sums, norms = _sums(K, counts, labels, n_clusters)
        labels, sums, norms = _without_empty(K, counts, labels, sums, norms, lengths)
        cosines = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
        new = np.where(directed, cosines.argmax(axis=1), -1)
        objective = float(norms.sum())
        if (new == labels).all() or objective <= before * (1 + _SAME):
            converged = True
            break
        labels, before = new, objective
    if not converged:
        warn(
            f"k-means has not converged within max_iter={max_iter} iterations. Increase max_iter.",
            ConvergenceWarning,
        )
    return labels


def _first_labels(init: Any, K: Array, lengths: Array, usable: Array, n_clusters: int) -> Array:
    if isinstance(init, str):
        check_choice(init, "init", _RULES)
        safe = np.where(lengths > 0, lengths, 1.0)
        rows = _spread(K / safe[:, None] / safe, n_clusters, init, usable)
        return np.where(lengths > 0, (K[:, rows] / safe[rows]).argmax(axis=1), -1)
    given = np.asarray(init)
    if given.shape != (len(K),):
        raise ValueError(f"init has shape {given.shape}. Pass one label for each of {len(K)} rows.")
    clusters, labels = np.unique(given, return_inverse=True)
    labels = labels - int(clusters[0] == -1)
    if labels.max() + 1 != n_clusters:
        raise ValueError(
            f"init has {labels.max() + 1} different labels, but n_clusters={n_clusters}. Pass "
            "labels of as many clusters."
        )
    return np.where(lengths > 0, labels, -1)


def _sums(K: Array, counts: Array, labels: Array, n_clusters: int) -> tuple[Array, Array]:
    """Return ``⟨s_i, Φ(x_t)⟩`` of shape (n, C) and ``‖s_i‖``."""
    members = counts[:, None] * (labels[:, None] == np.arange(n_clusters))
    sums = K @ members
    return sums, np.sqrt(np.maximum(np.einsum("ti,ti->i", members, sums), 0))


def _without_empty(
    K: Array, counts: Array, labels: Array, sums: Array, norms: Array, lengths: Array
) -> tuple[Array, Array, Array]:
    """Move the point with the smallest cosine to its own cluster to each empty cluster."""
    clusters = len(norms)
    for empty in range(clusters):
        sizes = np.bincount(labels[labels >= 0], counts[labels >= 0], clusters)
        if sizes[empty] > 0:
            continue
        own = sums[np.arange(len(K)), labels]
        scale = norms[labels] * lengths
        fit = np.divide(own, scale, out=np.zeros_like(own), where=scale > 0)
        movable = (labels >= 0) & (counts > 0) & (sizes[labels] > counts)
        if not movable.any():
            break
        labels = labels.copy()
        labels[int(np.where(movable, fit, np.inf).argmin())] = empty
        sums, norms = _sums(K, counts, labels, clusters)
    return labels, sums, norms
