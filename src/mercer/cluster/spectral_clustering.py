"""Spectral clustering with a kernel chosen without labels."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.cluster.cluster_number import (
    COULD_NOT_TELL,
    ClusterNumber,
    choose_number,
    choose_table_number,
    is_one_more,
)
from mercer.cluster.graphs import (
    ENTROPY_POOL,
    ClusterRows,
    Embedding,
    KernelRecord,
    Partition,
    Voters,
    choose_partition,
    embed_rows,
    voters_of,
)
from mercer.cluster.table_coordinates import (
    TableAssignment,
    TableClusters,
    TableCoordinates,
    cluster_without_followed,
)
from mercer.data.dask import passes_for
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
from mercer.errors import (
    ColumnWarning,
    ConvergenceError,
    IdentifiabilityWarning,
    suppress_warnings,
    warn,
)
from mercer.kernels import (
    Kernel,
    Neighbors,
    SelfTuning,
    Stationary,
    as_kernel,
)
from mercer.kernels.neighbors import NeighborPairs
from mercer.solvers import Arpack, Dense
from mercer.utils.estimators import all_or_nothing
from mercer.utils.frames import as_frame, is_mixed_table
from mercer.utils.pairwise import check_column_ranges
from mercer.utils.resources import show_progress
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real, warn_if_heavy
from mercer.utils.weights import multiplicities

_ATTEMPTS = 3  # without isolated rows
_TABLE_ROWS = 20_000
_DENSE_ROWS = 5000

__all__ = ["KernelRecord", "SpectralClustering"]


class SpectralClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    r"""Spectral clustering of a neighbor graph or kernel, chosen without labels.

    The rows of the k leading eigenvectors of :math:`D^{-1/2} K D^{-1/2}` are normalized and
    clustered by k-means (Ng, Jordan and Weiss). K is a kernel matrix without its diagonal and D the
    diagonal matrix of its row sums. With ``kernel="auto"`` three neighbor graphs and k-means are
    compared on at most 2000 rows (``max_rows``). The graph with the lowest normalized cut on the
    mutual 10-neighbor graph is chosen, unless the cut of k-means is at most 1.5 times as large:
    then the graphs have no clear gap.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" chooses the number of clusters, which may be 1 (see the notes).
    kernel : "auto", str or Kernel
        "auto" compares weighted mutual neighbor graphs with 10 and 20 neighbors, the 10-neighbor
        graph, and k-means. A kernel object such as ``SelfTuning(7)``, ``Neighbors(10)`` or
        ``Gaussian(1.0)`` is used as it is; its values must not be negative.
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
    min_cluster_size : float
        Fraction of the rows below which a cluster is not one of the ``n_clusters`` if the kernel is
        "auto": its rows are isolated, with the label -1. If a tenth of the mean cluster size is
        less, that counts. 0 accepts all clusters.
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
        0, …, ``n_clusters_`` - 1, and -1 for noise and isolated rows.
    n_clusters_ : int
    kernel_ : Kernel
        The fitted kernel that was chosen; ``Linear()`` for k-means, and the kernel of the table for
        data frames that are not numeric.
    path_ : list of KernelRecord
        The kernels that were tried, with the cost and the labels of each; empty if the kernel was
        given.
    best_index_ : int or None
        Index of the chosen record in ``path_``.
    confidence_ : float
        With ``n_clusters="auto"``: fraction of five smallest cluster sizes at which the density
        tree has this number of clusters, or one less if the cut adds one; nan if the number was
        given. Below 0.5 a warning says that the number could not be determined.
    alternative_ : int or None
        With ``n_clusters="auto"``: the next most frequent number at these sizes, if there is one,
        or the number of the tree if the cut adds one.
    followed_columns_ : list
        Columns of a table that were left out, because a cluster was the set of rows with some of
        their values and the other columns have other clusters.
    spectrum_ : Spectrum
        Of the normalized kernel matrix of the rows in the graph with the lowest cut.

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
    used). Rows without any split are one cluster. The count is repeated with half to twice this
    size (factors 0.5, 0.71, 1, 1.41, 2), and ``confidence_`` is the fraction of these sizes with
    the same number. If at least as many of them have one cluster, the number is 1. Distances are
    those that the kernel induces. With ``kernel="auto"`` the number is one more if the normalized
    cut T then grows much more: if
    :math:`(T(k+2) - T(k+1)) / (T(k+1) + 0.1)` exceeds
    :math:`2\, (T(k+1) - T(k)) / (T(k) + 0.1)`.

    Data frames with columns that are not numbers, or with missing values, are compared by the
    features of :class:`~mercer.kernels.Table`: standardized numbers, indicators of categories,
    similarities of texts, each column with variance 1. k-means uses all columns. The graphs and the
    density tree use columns of numbers with more than 20 different values only, because gaps
    between categories and codes are not clusters; a graph is chosen only if its clusters also
    explain at least 90 % of the variance that k-means explains. A row without one of these numbers
    gets the cluster with the nearest mean. If a cluster is the set of rows with some of the values
    of one column (Jaccard index at least 0.95), this column is left out with a
    :class:`~mercer.errors.ColumnWarning`, unless the others have similar clusters. At most ten
    columns are left out.

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
        min_cluster_size: float = 0.01,
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
        self.min_cluster_size = min_cluster_size
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
        self._affinity = affinity
        weighted = sample.points if points.is_chunked else points
        self.scale_ = self._column_scale(affinity, weighted, weights)
        self.followed_columns_: list[Any] = []
        self._assignment: TableAssignment | None = None
        with show_progress() if self.verbose else nullcontext():
            if affinity.is_table:
                found, number = self._cluster_table(points, weights)
            else:
                rows = self._rows(affinity, weighted, weights)
                self._check_number(rows, points)
                found, number = self._cluster(affinity, rows)
        self.kernel_, self.path_, self.best_index_ = found.kernel, found.path, found.best_index
        self.confidence_ = float("nan") if number is None else number.confidence
        self.alternative_ = None if number is None else number.alternative
        self.spectrum_ = found.spectrum
        self.n_clusters_ = found.n_clusters
        self._voters = voters_of(found, self.noise)
        self.labels_ = self._assign(points)
        if found.rows.matrix is not None:  # rows of a precomputed matrix do not identify themselves
            used = slice(None) if weights is None else np.flatnonzero(weights)
            self.labels_[used] = found.labels
        self._warn()
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
        check_is_fitted(self)
        return self._assign(validate_points(X, self._affinity, estimator=self, reset=False))

    def _assign(self, points: Points) -> Array:
        assign = partial(_assign_points, self._voters, self._assignment, self.scale_)
        return points.map_rows(assign)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_voters")

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("labels_", "path_", "spectrum_")

    def _check_parameters(self) -> None:
        check_choice(self.components, "components", ("variance", "entropy"))
        if self.standardize not in (True, False, "auto"):
            raise ValueError(f"standardize={self.standardize!r} must be True, False or 'auto'.")
        check_real(self.noise, "noise", low=0.0, below=1.0, remedy="Pass a fraction of the rows.")
        check_real(self.min_cluster_size, "min_cluster_size", low=0.0, below=1.0)
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
        most = self._most_rows(affinity.kernel)
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
            check_column_ranges(rows.data)
        return ClusterRows(rows, counts, affinity.fitted_distance(rows, counts))

    def _most_rows(self, kernel: Kernel | None) -> int:
        if self.max_rows is not None:
            return int(self.max_rows)
        if kernel is None:
            return 2000 if self.n_clusters == "auto" else max(2000, 30 * int(self.n_clusters))
        return 20_000 if kernel.is_sparse else 5000

    def _check_number(self, rows: ClusterRows, points: Points) -> None:
        if rows.n < 2:
            raise ValueError(
                f"X has {rows.n} distinct row with a positive weight (n_samples={points.n}, "
                f"n_clusters={self.n_clusters!r}). Pass at least two different rows."
            )
        if self.n_clusters != "auto":
            remedy = f"X has {rows.n} distinct rows with a positive weight."
            check_integer(self.n_clusters, "n_clusters", high=rows.n, remedy=remedy)

    # --- kernels and numbers of clusters --------------------------------------------------------

    def _cluster(
        self, affinity: _Affinity, rows: ClusterRows
    ) -> tuple[Partition, ClusterNumber | None]:
        """Return the clustering by the given kernel, or by one of those that are compared."""
        number = None
        if self.n_clusters == "auto":
            number = choose_number(rows.points, rows.distance, rows.matrix)
        if affinity.kernel is None:
            return self._with_number(rows, rows, number)
        k = int(self.n_clusters) if number is None else number.n_clusters
        with suppress_warnings():
            kernel = fit_kernel(affinity.kernel, rows.points, rows.weights)
        tree = None if rows.matrix is not None else rows.tree()
        embedding = self._embed(rows, kernel, k, tree)
        labels = embedding.cluster(k, self.components)
        return Partition(kernel, embedding.spectrum, rows, labels, k), number

    def _cluster_table(
        self, points: Points, weights: Array | None
    ) -> tuple[Partition, ClusterNumber | None]:
        """Return the clustering of a table, without columns that alone determine the clusters."""
        counts = np.ones(points.n) if weights is None else weights
        used = np.flatnonzero(counts)
        used = used[random_rows(len(used), _TABLE_ROWS)]
        points, counts = points.take(used), multiplicities(counts[used])
        found, self.followed_columns_ = cluster_without_followed(
            TableCoordinates.fit(points, counts),
            partial(self._cluster_coordinates, points, counts),
            points.data,
            counts,
        )
        self._assignment = replace(found.assignment, voters=voters_of(found.partition, self.noise))
        kernel = found.assignment.coordinates.kernel
        return replace(found.partition, kernel=kernel), found.number

    def _cluster_coordinates(
        self, points: Points, counts: Array, coordinates: TableCoordinates
    ) -> TableClusters:
        """Compare graphs of the measurements with k-means in all coordinates."""
        Z = coordinates(points.data)
        chosen, masses, _ = select_representatives(Z, counts, self._most_rows(None))
        rows = ClusterRows(Points(Z[chosen]), _bounded(masses), None)
        self._check_number(rows, points)
        measured = ClusterRows(Points(Z[chosen][:, coordinates.is_measured]), rows.weights, None)
        auto = self.n_clusters == "auto"
        number = choose_table_number(measured.points.data) if auto else None
        found, number = self._with_number(rows, measured, number)
        assignment = TableAssignment(coordinates, voters_of(found))
        if found.rows is measured:
            assignment = assignment.of_measurements(points.data, counts)
        return TableClusters(found, number, assignment, assignment(points.data))

    def _with_number(
        self, rows: ClusterRows, measured: ClusterRows, number: ClusterNumber | None
    ) -> tuple[Partition, ClusterNumber | None]:
        """Return the clustering with the given number, that of the density tree, or one more."""
        if number is None:
            return self._compare(rows, measured, int(self.n_clusters)), None
        k = number.n_clusters
        found = self._compare(rows, measured, k)
        if number.confidence > 0 and k + 2 <= rows.n:
            other, next_one = (self._compare(rows, measured, one) for one in (k + 1, k + 2))
            if is_one_more(found.cut, other.cut, next_one.cut):
                return other, number._replace(n_clusters=k + 1, alternative=k)
        return found, number

    def _compare(
        self, rows: ClusterRows, measured: ClusterRows, k: int, attempts: int = _ATTEMPTS
    ) -> Partition:
        """Return the chosen clustering; rows of tiny clusters are isolated, and get the label k."""
        found = choose_partition(rows, measured, k, self._embed, self.components)
        weights = np.ones(rows.n) if rows.weights is None else rows.weights
        smallest = min(self.min_cluster_size, 0.1 / k) * weights.sum()
        large = np.flatnonzero(np.bincount(found.labels, weights)[found.labels] >= smallest)
        if attempts == 1 or not k <= len(large) < rows.n:
            return found
        some = rows.take(large)
        others = some if measured is rows else measured.take(large)
        rest = self._compare(some, others, k, attempts - 1)
        labels = np.full(rows.n, k)
        labels[large] = rest.labels
        return replace(rest, rows=rows if rest.rows is some else measured, labels=labels)

    def _warn(self) -> None:
        if self.followed_columns_:
            listed = ", ".join(map(repr, self.followed_columns_))
            warn(
                f"Clusters follow values of {listed}. n_clusters_={self.n_clusters_} clusters were "
                "found in the other columns; followed_columns_ has the names.",
                ColumnWarning,
            )
        if self.confidence_ < COULD_NOT_TELL:
            warn(
                f"Could not tell the number of clusters: n_clusters_={self.n_clusters_} is found "
                f"at {self.confidence_:.0%} of the smallest cluster sizes only. Pass n_clusters "
                "if you know it.",
                IdentifiabilityWarning,
            )

    def _embed(
        self, rows: ClusterRows, kernel: Kernel, k: int, tree: NeighborPairs | None
    ) -> Embedding:
        embed = partial(
            embed_rows,
            rows,
            kernel,
            k if self.components == "variance" else ENTROPY_POOL * k,
            n_clusters=k,
            tree=tree,
            random_state=0 if self.random_state is None else self.random_state,
        )
        try:
            return embed(solver=self.solver)
        except ConvergenceError:  # many eigenvalues nearly coincide
            return embed(solver=Dense() if rows.n <= _DENSE_ROWS else Arpack())


@dataclass(frozen=True)
class _Affinity:
    """What compares rows: a kernel, or None for the choice among several, and a distance."""

    kernel: Kernel | None
    distance: Kernel | None
    is_table: bool = False

    @property
    def compares(self) -> Any:
        """Type of data."""
        if self.is_table:
            return "objects"
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
        may_be_table = not (isinstance(X, np.ndarray) or passes_for(X).is_chunked)
        return _Affinity(None, None, may_be_table and is_mixed_table(as_frame(X)))
    kernel = as_kernel(kernel)
    if isinstance(kernel, SelfTuning | Neighbors):
        return _Affinity(kernel, kernel.kernel)
    return _Affinity(kernel, None if isinstance(kernel, Stationary) else kernel)


def _bounded(counts: Array) -> Array:
    """Scale multiplicities to at most 10¹²: the graph of so many copies hardly depends on them."""
    return counts / max(1.0, float(counts.max()) / 1e12)


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


def _assign_points(
    voters: Voters, table: TableAssignment | None, scale: Array | None, points: Points
) -> Array:
    if table is not None:
        return table(points.data)
    return voters(Points(_scaled(points.data, scale), points.kind))
