"""Spectral clustering with a kernel chosen without labels."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin

from mercer.bandwidth import fit_kernel
from mercer.cluster.cluster_number import COULD_NOT_TELL, choose_number
from mercer.cluster.graphs import (
    ENTROPY_POOL,
    ClusterRows,
    Embedding,
    KernelRecord,
    StoredKernel,
    Voters,
    candidate_kernels,
    conductances,
    embed_rows,
    mutual_graph,
    voters_of,
)
from mercer.data.points import (
    Points,
    Sample,
    rowwise,
    select_rows,
    validate_points,
    validate_weights,
)
from mercer.data.subsampling import random_rows, select_representatives
from mercer.decomposition.base import KernelEstimator, own_points
from mercer.errors import IdentifiabilityWarning, suppress_warnings, warn
from mercer.kernels import (
    Gaussian,
    Kernel,
    Neighbors,
    SelfTuning,
    Stationary,
    as_kernel,
    table_kernel,
)
from mercer.kernels.neighbors import NeighborPairs
from mercer.tables import Preparation
from mercer.utils.estimators import all_or_nothing
from mercer.utils.frames import as_frame, is_mixed_table
from mercer.utils.pairwise import column_ranges
from mercer.utils.resources import ProgressBar, show_progress
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real, warn_if_heavy
from mercer.utils.weights import multiplicities

__all__ = ["KernelRecord", "SpectralClustering", "describe_kernel", "table_clustering"]


class SpectralClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    r"""Spectral clustering of a neighbor graph or kernel, chosen without labels.

    The rows of the k leading eigenvectors of :math:`D^{-1/2} K D^{-1/2}` are normalized and
    clustered by k-means (Ng, Jordan and Weiss). K is a kernel matrix without its diagonal and D the
    diagonal matrix of its row sums. With ``kernel="auto"`` three neighbor graphs are tried on at
    most 2000 rows (``max_rows``), and the clustering with the lowest normalized cut on the mutual
    10-neighbor graph is chosen.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" chooses the number of clusters, which may be 1 (see the notes).
    kernel : "auto", str or Kernel
        "auto" compares weighted mutual neighbor graphs with 10 and 20 neighbors, and the
        10-neighbor graph. A kernel object such as ``SelfTuning(7)``, ``Neighbors(10)`` or
        ``Gaussian(1.0)`` is used as it is; its values must not be negative. Data frames with
        columns that are not numbers, or with missing values, are compared by
        :func:`~mercer.kernels.table_kernel` if the kernel is "auto".
    components : {"variance", "entropy"}
        The leading eigenvectors, or those with the largest entropy terms among the 3 k leading
        ones.
    standardize : bool or "auto"
        Divide columns by their standard deviations. "auto" does so if one of them exceeds ten times
        the median one, and the kernel has no units of its own ("auto", ``SelfTuning`` or
        ``Neighbors`` with the Euclidean distance).
    noise : float
        Fraction of the rows that are labeled -1: those with the lowest density relative to the
        median of their cluster, by the distance to the tenth neighbor. 0 labels none.
    max_rows : int or None
        Largest number of distinct rows in the graph. Of more rows, so many representative ones are
        clustered, and the others get the labels of their neighbors among them. None: 2000, or 30
        per cluster if that is more, for ``kernel="auto"``; 20,000 for ``Neighbors``; 5000 for other
        kernels.
    solver : str or solver
    random_state : int or None
        Seed of the solver's random start; results do not depend on it beyond rounding error.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    labels_ : int array of shape (n,)
        0, …, ``n_clusters_`` - 1, and -1 for noise.
    n_clusters_ : int
    kernel_ : Kernel
        The fitted kernel that was chosen.
    path_ : list of KernelRecord
        The kernels that were tried, with the cost and the labels of each; empty if the kernel was
        given.
    confidence_ : float
        With ``n_clusters="auto"``: fraction of five smallest cluster sizes at which the density
        tree has this number of clusters; nan if the number was given. Below 0.5 a warning says that
        the number could not be determined.
    spectrum_ : Spectrum
        Of the normalized kernel matrix of the rows in the graph.

    Notes
    -----
    A new row gets the label of the majority of its five nearest rows in the graph, each weighted by
    :math:`\exp(-d^2 / r^2)`, r the distance of the fifth: one step of the random walk on the
    neighbor graph. Rows of the training sample keep their labels. Equal rows are merged, so weights
    are equivalent to copies.

    A sparse graph with at most ``n_clusters`` connected components, each with more rows than
    ``n_neighbors``, is used as it is. Others get the edges of a minimum spanning tree.

    ``n_clusters="auto"`` counts the clusters that scikit-learn's HDBSCAN finds with a
    ``min_cluster_size`` of 2 % of the distinct rows (at least 10; at most 2000 random rows are
    used). Rows without any split are one cluster. The count is repeated with
    half to twice this size (factors 0.5, 0.71, 1, 1.41, 2), and ``confidence_`` is the fraction of
    these sizes with the same number. Tables with columns that are not numbers are compared by the
    kernel principal components that their columns have in common, other data by the distance that
    their kernel induces.

    References
    ----------
    .. [1] A. Ng, M. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS
       2001.
    .. [2] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> from mercer.datasets import make_rings
    >>> X, y = make_rings(random_state=0)
    >>> clustering = SpectralClustering(3).fit(X)
    >>> sorted(np.bincount(clustering.labels_).tolist())
    [63, 126, 126]
    >>> bool((clustering.predict(X) == clustering.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernel: str | Kernel = "auto",
        components: Literal["variance", "entropy"] = "variance",
        standardize: bool | Literal["auto"] = "auto",
        noise: float = 0.0,
        max_rows: int | None = None,
        solver: Any = "auto",
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.components = components
        self.standardize = standardize
        self.noise = noise
        self.max_rows = max_rows
        self.solver = solver
        self.random_state = random_state
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
        self._check_parameters()
        affinity = _affinity(self.kernel, X)
        points = own_points(validate_points(X, affinity, estimator=self), X)
        weights = validate_weights(sample_weight, points)
        sample = Sample.of(affinity.kernel, points, weights)
        warn_if_heavy(sample.sample_size, sample.points.n)
        self.scale_ = self._column_scale(affinity, points, weights)
        rows = self._rows(affinity, points, weights)
        if self.n_clusters != "auto":
            check_integer(self.n_clusters, "n_clusters", high=rows.n)
        if rows.n < 2:
            raise ValueError(
                f"X has {rows.n} distinct row with a positive weight (n_samples={points.n}). Pass "
                "at least two different rows."
            )
        self.path_: list[KernelRecord] = []
        self.confidence_ = float("nan")
        with show_progress() if self.verbose else nullcontext():
            embedding, labels = self._cluster(affinity, rows)
        self.kernel_ = embedding.kernel
        self.spectrum_ = embedding.spectrum
        self.n_clusters_ = int(labels.max()) + 1
        self._voters = voters_of(rows, labels, self.noise)
        self.labels_ = self._assign(points)
        if rows.matrix is not None:  # rows of a precomputed matrix do not identify themselves
            used = slice(None) if weights is None else np.flatnonzero(weights)
            self.labels_[used] = labels
        return self

    @rowwise
    def predict(self, X: Any) -> Array:
        """Assign rows to clusters.

        Parameters
        ----------
        X : array-like of shape (m, d); for a precomputed kernel the cross-Gram (m, n)

        Returns
        -------
        int array of shape (m,)
        """
        return self._assign(self._validate_new(X))

    def _assign(self, points: Points) -> Array:
        return points.map_rows(partial(_assign_points, self._voters, self.scale_))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_voters")

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("labels_", "path_", "spectrum_")

    def _check_parameters(self) -> None:
        check_choice(self.components, "components", ("variance", "entropy"))
        if self.standardize not in (True, False, "auto"):
            raise ValueError(f"standardize={self.standardize!r} must be True, False or 'auto'.")
        check_real(self.noise, "noise", low=0.0, below=1.0, remedy="Pass a fraction of the rows.")
        if self.max_rows is not None:
            check_integer(self.max_rows, "max_rows", low=2)
        if isinstance(self.n_clusters, str):
            check_choice(self.n_clusters, "n_clusters", ("auto",))

    # --- the rows of the graph ------------------------------------------------------------------

    def _column_scale(
        self, affinity: _Affinity, points: Points, weights: Array | None
    ) -> Array | None:
        """Return the standard deviations by which columns are divided; None to leave them."""
        if affinity.compares != "vectors" or self.standardize is False:
            return None
        if self.standardize == "auto" and not affinity.is_unitless:
            return None
        points.require_dense("standardize=True")
        deviations = _deviations(points, weights)
        positive = deviations[deviations > 0]
        equal = not len(positive) or positive.max() <= 10 * np.median(positive)
        if self.standardize == "auto" and equal:
            return None
        return np.where(deviations > 0, deviations, 1.0)

    def _rows(self, affinity: _Affinity, points: Points, weights: Array | None) -> ClusterRows:
        """Return distinct rows with their multiplicities, representative ones if there are many."""
        if points.kind == "gram":
            sample = Sample.of(affinity.kernel, points, weights)
            return ClusterRows(sample.points, _bounded(sample.multiplicities), None, sample.matrix)
        most = self._most_rows(affinity)
        if points.is_chunked:
            data, counts, _ = points.representatives(most)  # type: ignore[attr-defined]
        else:
            counts = np.ones(points.n) if weights is None else weights
            used = np.flatnonzero(counts)
            counts = multiplicities(counts[used])
            if points.kind == "vectors":
                chosen, counts, _ = select_representatives(points.data[used], counts, most)
            else:
                chosen = random_rows(len(used), most)
                counts = counts[chosen]
            data = select_rows(points.data, used[chosen])
        counts = _bounded(counts)
        rows = Points(_scaled(data, self.scale_), points.kind, points.feature_names)
        if points.kind == "vectors":
            _check_ranges(rows.data)
        return ClusterRows(rows, counts, affinity.fitted_distance(rows, counts))

    def _most_rows(self, affinity: _Affinity) -> int:
        if self.max_rows is not None:
            return int(self.max_rows)
        if affinity.kernel is None:
            return 2000 if self.n_clusters == "auto" else max(2000, 30 * int(self.n_clusters))
        return 20_000 if affinity.kernel.is_sparse else 5000

    # --- kernels and numbers of clusters --------------------------------------------------------

    def _cluster(self, affinity: _Affinity, rows: ClusterRows) -> tuple[Embedding, Array]:
        """Return the clustering, with the kernel of lowest cost if several are compared."""
        stored = rows.with_stored_distances()
        tree = None if rows.matrix is not None else stored.tree()
        k = self._choose_number(rows, stored) if self.n_clusters == "auto" else int(self.n_clusters)
        if affinity.kernel is not None:
            with suppress_warnings():
                kernel = fit_kernel(affinity.kernel, rows.points, rows.weights)
            embedding = self._embed(rows, kernel, k, tree)
            return embedding, embedding.cluster(k, self.components)
        assert tree is not None
        fitted = [fit_kernel(one, rows.points, rows.weights) for one in candidate_kernels(rows)]
        compared = fitted
        if stored is not rows:
            compared = [
                fit_kernel(one, stored.points, stored.weights) for one in candidate_kernels(stored)
            ]
        graph, embeddings = mutual_graph(stored, tree), []
        with ProgressBar(len(fitted), "kernels", always=self.verbose) as bar:
            for done, (kernel, one) in enumerate(zip(fitted, compared, strict=True), start=1):
                embeddings.append(self._embed(stored, one, k, tree))
                labels = embeddings[-1].cluster(k, self.components)
                cost = float(conductances(graph, labels, k).mean())
                self.path_.append(KernelRecord(kernel, k, cost, labels))
                bar.step(done)
        best = int(np.argmin([record.cost for record in self.path_]))
        embedding = embeddings[best]
        if stored is not rows:
            embedding = embedding.of_rows(rows, fitted[best])
        return embedding, self.path_[best].labels

    def _choose_number(self, rows: ClusterRows, stored: ClusterRows) -> int:
        matrix = rows.matrix
        if isinstance(stored.distance, StoredKernel):
            matrix = stored.distance.values
        chosen = choose_number(rows.points, rows.distance, matrix)
        self.confidence_ = chosen.confidence
        if chosen.confidence < COULD_NOT_TELL:
            warn(
                f"Could not tell the number of clusters: n_clusters_={chosen.n_clusters} is found "
                f"at {chosen.confidence:.0%} of the smallest cluster sizes only. Pass n_clusters "
                "if you know it.",
                IdentifiabilityWarning,
            )
        return chosen.n_clusters

    def _embed(
        self, rows: ClusterRows, kernel: Kernel, k: int, tree: NeighborPairs | None
    ) -> Embedding:
        count = k if self.components == "variance" else ENTROPY_POOL * k
        seed = 0 if self.random_state is None else self.random_state
        return embed_rows(
            rows,
            kernel,
            count,
            n_clusters=k,
            tree=tree,
            solver=self.solver,
            random_state=seed,
        )


@dataclass(frozen=True)
class _Affinity:
    """What compares rows: a kernel, or None for the choice among several, and a distance."""

    kernel: Kernel | None
    distance: Kernel | None

    @property
    def compares(self) -> Any:
        """Type of data."""
        compared = self.kernel or self.distance
        return "vectors" if compared is None else compared.compares

    @property
    def accepts_sparse(self) -> bool:
        """Whether rows may be sparse; the choice among kernels needs dense ones."""
        return self.kernel is not None and self.kernel.accepts_sparse

    @property
    def is_unitless(self) -> bool:
        """Whether the result does not depend on the unit of a distance."""
        chosen = self.kernel is None or isinstance(self.kernel, SelfTuning | Neighbors)
        return chosen and self.distance is None

    def fitted_distance(self, rows: Points, weights: Array) -> Kernel | None:
        """Return the fitted kernel that induces the distance; None for the Euclidean distance."""
        if self.distance is None:
            return None
        with suppress_warnings():
            return fit_kernel(self.distance, rows, weights)


def _affinity(kernel: str | Kernel, X: Any) -> _Affinity:
    if isinstance(kernel, str) and kernel == "auto":
        return _Affinity(None, table_kernel(X) if is_mixed_table(as_frame(X)) else None)
    kernel = as_kernel(kernel)
    if isinstance(kernel, SelfTuning | Neighbors):
        return _Affinity(kernel, kernel.kernel)
    return _Affinity(kernel, None if isinstance(kernel, Stationary) else kernel)


def _bounded(counts: Array) -> Array:
    """Scale multiplicities to at most 10¹²: the graph of so many copies hardly depends on them."""
    return counts / max(1.0, float(counts.max()) / 1e12)


def _check_ranges(X: Any) -> None:
    with np.errstate(over="ignore"):
        largest = float(column_ranges(X).max())
    if largest > 0 and not 1e-150 <= largest <= 1e152:  # squares would underflow or overflow
        raise ValueError(
            f"The largest range of a column is {largest:.3g}; squared distances need one between "
            "1e-150 and 1e+152. Multiply X by a constant."
        )


def _deviations(points: Points, weights: Array | None) -> Array:
    """Return the standard deviations of the columns."""
    if points.is_chunked:
        return np.asarray(points.survey.deviation)  # type: ignore[attr-defined]
    X = points.data if weights is None else points.data[weights > 0]
    extent = np.ptp(X, axis=0).astype(np.float64)
    scaled = X / np.where(extent > 0, extent, 1)  # squares must not overflow
    masses = None if weights is None else weights[weights > 0]
    mean = np.average(scaled, axis=0, weights=masses)
    return np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=masses)) * extent


def _scaled(data: Any, scale: Array | None) -> Any:
    return data if scale is None else (data / scale).astype(data.dtype, copy=False)


def _assign_points(voters: Voters, scale: Array | None, points: Points) -> Array:
    return voters(Points(_scaled(points.data, scale), points.kind))


# --- tables --------------------------------------------------------------------------------------


def table_clustering(
    preparation: Preparation,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    bandwidth: float | str = "auto",
    noise: float = 0.0,
    solver: Any = "auto",
    verbose: bool = False,
) -> SpectralClustering:
    """Return a clustering for the data of a prepared table, not fitted.

    With the bandwidth "auto" three graphs are compared; any other bandwidth selects the kernel
    of the table with this bandwidth. Columns are standardized by the table's pipeline only. Tables
    of numbers with missing values get a self-tuning kernel with the distance of the table's kernel.
    """
    kernel: str | Kernel = "auto"
    if bandwidth != "auto":
        kernel = preparation.kernel
    elif set(preparation.table.column_types.values()) == {"number"} and preparation.table.missing:
        kernel = SelfTuning(kernel=preparation.kernel)
    return SpectralClustering(
        n_clusters,
        kernel=kernel,
        standardize=False,
        noise=noise,
        solver=solver,
        verbose=verbose,
    )


def describe_kernel(kernel: Kernel) -> str:
    """Describe a kernel of a spectral clustering."""
    if isinstance(kernel, Neighbors):
        mutual = "mutual " if kernel.mutual else ""
        weighted = ", weighted by distance" if kernel.mode == "weighted" else ""
        return f"graph of {mutual}nearest neighbors ({kernel.n_neighbors} per row{weighted})"
    if isinstance(kernel, SelfTuning):
        return (
            "Gaussian kernel with one bandwidth per row (from its distance to neighbor "
            f"{kernel.n_neighbors})"
        )
    return "Gaussian kernel" if isinstance(kernel, Gaussian) else "product of column kernels"
