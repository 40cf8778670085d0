"""The fitted estimators of a view, cached across views.

Small data: the spectrum comes from one full decomposition. Large data (Fourier features): only the
entropy iteration runs; the spectrum view shows its converged eigenpairs, and kernel PCA and the
clustering use the shown rows. The exported code makes the same calls.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mercer import EntropyClustering, KernelECA, KernelNovelty, KernelPCA, SpectralClustering
from mercer.cluster.table_clustering import table_clustering
from mercer.eigen.decompose import Spectrum
from mercer.errors import RankError, capture_warnings
from mercer.explorer.dataset import Dataset
from mercer.explorer.state import State
from mercer.kernels import Kernel, Stationary
from mercer.tables import prepare
from mercer.utils.types import Array

__all__ = ["BARS", "MAX_DENSE", "NO_ENTROPY", "Bars", "Cache", "Components", "Models"]

BARS = 24  # components in the spectrum view
NO_ENTROPY = 1e-12  # fraction of the information potential that is rounding error
MAX_DENSE = 500  # rows up to which a full decomposition is faster than an iteration
_MULTIPLIERS = np.geomspace(0.25, 4, 17)  # multipliers of the bandwidths of a mixed table's kernel


Value = TypeVar("Value")


class Cache:
    """Least-recently-used cache for values of known size.

    Two threads that miss the same key at the same time both compute the value. This is rare, and
    waiting would let a slow request delay a fast one. Values that exceed ``max_bytes`` are returned
    but not stored.

    >>> cache = Cache(100)
    >>> cache.get("a", lambda: (1, 60)), cache.get("b", lambda: (2, 60)), len(cache)
    (1, 2, 1)
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, compute: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value of a key; if it is missing, call ``compute() -> (value, bytes)``."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]  # type: ignore[return-value]
        value, size = compute()
        with self._lock:
            if key not in self._entries and size <= self.max_bytes:
                self._entries[key] = (value, size)
                self._size += size
            while self._size > self.max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self._size -= freed
        return value


@dataclass(frozen=True)
class Components:
    """Selected components of a spectrum."""

    spectrum: Spectrum
    columns: Array  # their indices in the spectrum
    ranks: list[int | None]  # from 1, by eigenvalue, for large data by entropy term

    def scores(self, X: Any) -> Array:
        """Project rows onto the components."""
        return self.spectrum.project(X)[:, self.columns]

    @property
    def potential_fraction(self) -> float:
        """Fraction of the information potential V."""
        return float(self.spectrum.entropy_terms[self.columns].sum() / self.spectrum.potential)


@dataclass(frozen=True)
class Bars:
    """Eigenvalues and entropy terms by rank, where ranks are counted by ``order``."""

    ranks: Array
    eigenvalues: Array
    entropy_terms: Array
    order: str


class Models:
    """The estimators of one view; the cache is shared by all views."""

    def __init__(self, data: Dataset, state: State, cache: Cache) -> None:
        self.data, self.state = data, state
        self._cache = cache
        self.notes: list[str] = []

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel of the view."""
        return self.data.kernel(self.state)

    # --- estimators ---------------------------------------------------------------------------

    def leading(self, count: int) -> KernelPCA:
        """Return the components with the largest eigenvalues, not centered."""
        solver = "dense" if self.data.n <= MAX_DENSE else "auto"
        count = min(count, self.data.n)
        estimator = KernelPCA(count, kernel=self.kernel, center=False, solver=solver)
        return self.fit(_LimitToRank(estimator), self.data.data, "all")

    def eca(self, count: int) -> KernelECA:
        """Return the components with the largest entropy terms."""
        estimator = KernelECA(min(count, self.data.n), kernel=self.kernel)
        return self.fit(_LimitToRank(estimator), self.data.data, "all")

    def pca(self) -> KernelPCA:
        """Return kernel PCA for comparison; for large data it is fitted to the shown rows."""
        center = self.state.center
        if not center and not self.data.is_large:
            return self.leading(BARS)
        rows, which = self.data.data, "all"
        if self.data.is_large:
            rows, which = self.data.take(self.data.shown), "shown"
        estimator = KernelPCA(min(3, len(rows) - 1), kernel=self.kernel, center=center)
        return self.fit(_LimitToRank(estimator), rows, which)

    @cached_property
    def clustering(self) -> EntropyClustering | SpectralClustering | None:
        """Spectral clustering, or clustering by angle in the space of the selected components.

        Spectral clustering uses the analyzed rows, for large data the shown rows. By angle: with as
        many clusters as components in entropy order, the estimator is fitted to the data. Otherwise
        it is fitted to the scores with the linear kernel, whose components are the selected ones.
        None if the selected components hold no entropy.
        """
        if self.state.method == "spectral":
            return self._spectral_clustering()
        if self.components.potential_fraction < NO_ENTROPY:
            return None
        n_selected = len(self.components.columns)
        k = min(self.state.n_clusters, n_selected)
        if self.is_entropy_order and k == n_selected and not self.data.is_large:
            estimator = EntropyClustering(k, kernel=self.kernel)
            return self.fit(estimator, self.data.data, "all")
        which = f"{self.components.ranks} by {self.components.spectrum.target}"
        estimator = EntropyClustering(k, kernel="linear")
        return self.fit(estimator, self.clustered_scores, which)

    def _spectral_clustering(self) -> SpectralClustering:
        data, k = self.data, self.state.n_clusters
        rows = data.take(data.shown) if data.is_large else data.data
        estimator = table_clustering(prepare(data.table), k)
        fitted: SpectralClustering = self._fit_cached(estimator, rows, data.key, "spectral", k)
        return fitted

    def novelty(self) -> tuple[KernelNovelty, Any]:
        """Return the detector of unusual rows, and the frame of the rows that it is fitted to.

        These are the analyzed rows, for large data the shown rows, in the units of their columns.
        """
        data = self.data
        rows = data.rows[data.shown] if data.is_large else data.rows
        frame = data.table.frame.iloc[rows]
        detector = KernelNovelty(random_state=0)
        return self._fit_cached(detector, frame, data.key, "novelty"), frame

    def sweep(self) -> EntropyClustering:
        """Return the library's sweep over bandwidths; for mixed tables over their multipliers.

        The estimator uses at most 1000 rows. For large data and mixed tables these are the shown
        rows.
        """
        data, n_clusters = self.data, self.sweep_clusters
        rows = data.data
        if data.is_large or not data.is_numeric:
            rows = data.take(data.shown)
        kernel, bandwidths = data.kernel(self.state, 1.0), None if data.is_numeric else _MULTIPLIERS
        if isinstance(kernel, Stationary):
            kernel = kernel.with_bandwidth("auto")
        estimator = EntropyClustering(n_clusters, kernel=kernel, bandwidths=bandwidths)
        key = (data.key, "sweep", n_clusters, self.state.kernel, self.state.nu)
        return self._fit_cached(estimator, rows, *key)

    def fit(self, estimator: Any, rows: Any, which: str) -> Any:
        """Fit an estimator to some rows with the kernel of this view, or take it from the cache."""
        key = (self.data.key, which, repr(estimator), repr(self.kernel))
        return self._fit_cached(estimator, rows, *key)

    def _fit_cached(self, estimator: Any, rows: Any, *key: Any) -> Any:
        """Fit, or take from the cache; the warnings of the fit are cached with it."""

        def compute() -> tuple[tuple[Any, list[str]], int]:
            with capture_warnings() as messages:
                fitted = estimator.fit(rows)
            count = len(getattr(fitted, "path_", "")) + getattr(fitted, "n_components_", 4)
            return (fitted, messages), 8 * len(rows) * (count + 4)

        fitted, messages = self._cache.get(key, compute)
        self.notes += [text for text in messages if text not in self.notes]
        return fitted

    # --- selected components ------------------------------------------------------------------

    @property
    def is_entropy_order(self) -> bool:
        """Whether the components with the largest entropy terms are selected."""
        return self.state.order == "entropy" and not self.state.picks

    @property
    def sweep_clusters(self) -> int:
        """Number of clusters of the sweep; it does not depend on components picked by hand."""
        return max(2, min(self.state.clusters or self.state.components, self.data.n - 1))

    @cached_property
    def estimator(self) -> KernelECA | KernelPCA:
        """The estimator whose spectrum contains the selected components."""
        state = self.state
        if self.is_entropy_order or (self.data.is_large and state.picks):
            return self.eca(max(state.picks, default=state.components))
        return self.leading(max(BARS, *state.picks, state.components))

    @cached_property
    def components(self) -> Components:
        """The selected components."""
        spectrum = self.estimator.spectrum_
        if self.is_entropy_order and not self.data.is_large:
            return Components(spectrum, np.arange(spectrum.n_components), self._ranks(spectrum))
        return self._pick(spectrum)

    def _pick(self, spectrum: Spectrum) -> Components:
        picks = self.state.picks or range(1, self.state.components + 1)
        ranks = [rank for rank in picks if rank <= spectrum.n_components]
        if not ranks:
            raise ValueError(
                f"K has {spectrum.n_components} positive eigenvalues, so the components "
                f"{', '.join(map(str, picks))} do not exist. Pick components of smaller rank."
            )
        return Components(spectrum, np.array(ranks) - 1, list(ranks))

    def _ranks(self, spectrum: Spectrum) -> list[int | None]:
        """Return the ranks of the components with the largest entropy terms by eigenvalue."""
        if spectrum.known_ranks is not None:
            return [int(rank) for rank in spectrum.known_ranks]
        # Counting eigenvalues is slow, so those among the leading ones are looked up first.
        leading = self.leading(BARS).spectrum_
        known = leading.known_eigenvalues if self.data.n <= MAX_DENSE else leading.eigenvalues
        if spectrum.eigenvalues.min() >= known[-1]:
            found = np.abs(known[None, :] - spectrum.eigenvalues[:, None]).argmin(axis=1)
            return [int(index) + 1 for index in found]
        ranks = self.eca(self.state.components).component_ranks_
        return [None] * spectrum.n_components if ranks is None else [int(rank) for rank in ranks]

    @cached_property
    def bars(self) -> Bars:
        """The components of the spectrum view."""
        if self.data.is_large:
            spectrum = self.eca(self.state.components).spectrum_
            order = np.argsort(-spectrum.known_entropy_terms, kind="stable")[:BARS]
            values, terms = spectrum.known_eigenvalues[order], spectrum.known_entropy_terms[order]
            return Bars(np.arange(1, len(order) + 1), values, terms, "entropy")
        spectrum = self.leading(BARS).spectrum_
        ranks = list(range(1, spectrum.n_components + 1))
        values, terms = list(spectrum.eigenvalues), list(spectrum.entropy_terms)
        selected = self.components
        for column, rank in zip(selected.columns, selected.ranks, strict=True):
            if rank is not None and rank not in ranks:
                ranks.append(rank)
                values.append(selected.spectrum.eigenvalues[column])
                terms.append(selected.spectrum.entropy_terms[column])
        order = np.argsort(ranks, kind="stable")
        return Bars(
            np.array(ranks)[order], np.array(values)[order], np.array(terms)[order], "variance"
        )

    @cached_property
    def shown_scores(self) -> Array:
        """Scores of the shown rows."""
        return self.components.scores(self.data.take(self.data.shown))

    @property
    def clustered_scores(self) -> Array:
        """Scores of the clustered rows: all, for large data the shown rows."""
        if self.data.is_large:
            return self.shown_scores
        return self.components.spectrum.projections[:, self.components.columns]

    @cached_property
    def shown_clusters(self) -> Array:
        """Cluster labels of the shown rows; all 0 if there is no clustering."""
        if self.clustering is None:
            return np.zeros(len(self.data.shown), dtype=int)
        labels = self.clustering.labels_
        return labels if self.data.is_large else labels[self.data.shown]


class _LimitToRank:
    """Fit an estimator with at most as many components as the rank of K."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __repr__(self) -> str:
        return repr(self.estimator)

    def fit(self, X: Any) -> Any:
        try:
            return self.estimator.fit(X)
        except RankError as error:
            if error.rank == 0:
                raise
            return self.estimator.set_params(n_components=error.rank).fit(X)
