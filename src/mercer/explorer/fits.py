"""The estimators behind a view, each fitted once and kept while there is room.

Small data: all bars come from one full decomposition. Large data (plane waves): the entropy
iteration alone, whose converged pairs are the bars; kernel PCA and clusters then look at the shown
rows. The exported code makes the same calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mercer import EntropyClustering, KernelECA, KernelPCA
from mercer.explorer.cache import Cache
from mercer.explorer.dataset import Dataset
from mercer.explorer.listening import listening
from mercer.explorer.state import State
from mercer.kernels import Kernel, Stationary
from mercer.maths.types import Array
from mercer.spectrum import Spectrum

__all__ = ["BARS", "DENSE", "NO_ENTROPY", "Bars", "Fits", "Selection"]

BARS = 24
NO_ENTROPY = 1e-12  # share of the information potential that is rounding
DENSE = 500  # rows up to which a full decomposition is quicker than an iteration
_FACTORS = np.geomspace(0.25, 4, 17)  # on the widths of a table's own kernel

Fitted = TypeVar("Fitted")


@dataclass(frozen=True)
class Selection:
    """Some components: which columns of which Spectrum, and their places on the page."""

    spectrum: Spectrum
    columns: Array
    places: list[int | None]

    def scores(self, X: Any) -> Array:
        """Projections of any rows."""
        return self.spectrum.project(X)[:, self.columns]

    @property
    def share(self) -> float:
        """Share of the information potential."""
        return float(self.spectrum.entropy_terms[self.columns].sum() / self.spectrum.potential)


@dataclass(frozen=True)
class Bars:
    """Eigenvalues and entropy terms by place, largest first in the sense of ``order``."""

    places: Array
    eigenvalues: Array
    terms: Array
    order: str


class Fits:
    """What is fitted for one view.

    Parameters
    ----------
    data : Dataset
    state : State
    cache : Cache
        Shared by all views.
    """

    def __init__(self, data: Dataset, state: State, cache: Cache) -> None:
        self.data, self.state = data, state
        self._cache = cache
        self.notes: list[str] = []

    @cached_property
    def kernel(self) -> Kernel:
        """With its numbers."""
        return self.data.kernel(self.state)

    # --- estimators ---------------------------------------------------------------------------

    def leading(self, count: int) -> KernelPCA:
        """The leading pairs by eigenvalue, never centred; all are known where n is small."""
        solver = "dense" if self.data.n <= DENSE else "auto"
        count = min(count, self.data.n)
        estimator = KernelPCA(count, kernel=self.kernel, center=False, solver=solver)
        return self.fit(_FewerIfNeeded(estimator), self.data.data, "all")

    def eca(self, count: int) -> KernelECA:
        """The pairs with the largest entropy terms."""
        estimator = KernelECA(min(count, self.data.n), kernel=self.kernel)
        return self.fit(_FewerIfNeeded(estimator), self.data.data, "all")

    def pca(self) -> KernelPCA:
        """Kernel PCA for the comparison; of large data on the shown rows."""
        count = max(3, min(self.state.n_selected, 3))
        center = self.state.center
        if not center and not self.data.is_large:
            return self.leading(BARS)
        rows, which = self.data.data, "all"
        if self.data.is_large:
            rows, which = self.data.take(self.data.shown), "shown"
        estimator = KernelPCA(min(count, len(rows) - 1), kernel=self.kernel, center=center)
        return self.fit(_FewerIfNeeded(estimator), rows, which)

    @cached_property
    def clustering(self) -> EntropyClustering | None:
        """Clusters in the space of the selected components, by angle.

        With as many clusters as components in the entropy order this is the paper's method on the
        data. Otherwise it is the same method on the scores, with the linear kernel: its components
        are the selected ones. None where these have no mean: without entropy there are no clusters.
        """
        if self.selection.share < NO_ENTROPY:
            return None
        k = min(self.state.n_clusters, len(self.selection.columns))
        if self.is_plain and k == len(self.selection.columns) and not self.data.is_large:
            estimator = EntropyClustering(k, kernel=self.kernel)
            return self.fit(estimator, self.data.data, "all")
        which = f"{self.selection.places} by {self.selection.spectrum.target}"
        estimator = EntropyClustering(k, kernel="linear")
        return self.fit(estimator, self.clustered_scores, which)

    def sweep(self) -> EntropyClustering:
        """The library's sweep over bandwidths; of a table with other columns than numbers, factors.

        It chooses at most 1000 rows by itself; of large data and of such tables those shown do.
        """
        data, few = self.data, self.sweep_clusters
        rows = data.data
        if data.is_large or not data.is_numeric:
            rows = data.take(data.shown)
        kernel, bandwidths = data.kernel(self.state, 1.0), None if data.is_numeric else _FACTORS
        if isinstance(kernel, Stationary):
            kernel = kernel.with_bandwidth("auto")
        estimator = EntropyClustering(few, kernel=kernel, bandwidths=bandwidths)
        key = (data.key, "sweep", few, self.state.kernel, self.state.nu)
        return self._fitted(estimator, rows, *key)

    def fit(self, estimator: Any, rows: Any, which: str) -> Any:
        """Fit to some rows, with this view's kernel."""
        key = (self.data.key, which, repr(estimator), repr(self.kernel))
        return self._fitted(estimator, rows, *key)

    def _fitted(self, estimator: Any, rows: Any, *key: Any) -> Any:
        """Fit, or take from the cache; what was warned of is remembered with it."""

        def make() -> tuple[tuple[Any, list[str]], int]:
            with listening() as heard:
                fitted = estimator.fit(rows)
            count = len(getattr(fitted, "path_", "")) + getattr(fitted, "n_components_", 4)
            return (fitted, heard), 8 * len(rows) * (count + 4)

        fitted, heard = self._cache.get(key, make)
        self.notes += [text for text in heard if text not in self.notes]
        return fitted

    # --- what they add up to ------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether components are those with the largest entropy terms."""
        return self.state.order == "entropy" and not self.state.picks

    @property
    def sweep_clusters(self) -> int:
        """Clusters of the sweep: they do not follow what was picked by hand."""
        return max(2, min(self.state.clusters or self.state.components, self.data.n - 1))

    @cached_property
    def estimator(self) -> KernelECA | KernelPCA:
        """What finds the selected components, and maybe others."""
        state = self.state
        if self.is_plain or (self.data.is_large and state.picks):
            return self.eca(max(state.picks, default=state.components))
        return self.leading(max(BARS, *state.picks, state.components))

    @cached_property
    def selection(self) -> Selection:
        """The selected components."""
        spectrum = self.estimator.spectrum_
        if self.is_plain and not self.data.is_large:
            return Selection(spectrum, np.arange(spectrum.n_components), self._places(spectrum))
        return self._take(spectrum)

    def _take(self, spectrum: Spectrum) -> Selection:
        picks = self.state.picks or range(1, self.state.components + 1)
        places = [place for place in picks if place <= spectrum.n_components]
        if not places:
            raise ValueError(
                f"K has {spectrum.n_components} positive eigenvalues; none of the components "
                f"{', '.join(map(str, picks))} is among them. Pick smaller places."
            )
        return Selection(spectrum, np.array(places) - 1, list(places))

    def _places(self, spectrum: Spectrum) -> list[int | None]:
        """Places of the entropy components among all eigenvalues."""
        if spectrum.known_ranks is not None:
            return [int(place) for place in spectrum.known_ranks]
        # counting eigenvalues is slow: those among the leading ones, which are known, are looked up
        leading = self.leading(BARS).spectrum_
        known = leading.known_eigenvalues if self.data.n <= DENSE else leading.eigenvalues
        if spectrum.eigenvalues.min() >= known[-1]:
            found = np.abs(known[None, :] - spectrum.eigenvalues[:, None]).argmin(axis=1)
            return [int(place) + 1 for place in found]
        ranks = self.eca(self.state.components).component_ranks_
        return [None] * spectrum.n_components if ranks is None else [int(rank) for rank in ranks]

    @cached_property
    def bars(self) -> Bars:
        """What the spectrum view shows."""
        if self.data.is_large:
            spectrum = self.eca(self.state.components).spectrum_
            order = np.argsort(-spectrum.known_entropy_terms, kind="stable")[:BARS]
            values, terms = spectrum.known_eigenvalues[order], spectrum.known_entropy_terms[order]
            return Bars(np.arange(1, len(order) + 1), values, terms, "entropy")
        spectrum = self.leading(BARS).spectrum_
        places = list(range(1, spectrum.n_components + 1))
        values, terms = list(spectrum.eigenvalues), list(spectrum.entropy_terms)
        chosen = self.selection
        for column, place in zip(chosen.columns, chosen.places, strict=True):
            if place is not None and place not in places:
                places.append(place)
                values.append(chosen.spectrum.eigenvalues[column])
                terms.append(chosen.spectrum.entropy_terms[column])
        order = np.argsort(places, kind="stable")
        return Bars(
            np.array(places)[order], np.array(values)[order], np.array(terms)[order], "variance"
        )

    @cached_property
    def shown_scores(self) -> Array:
        """Scores of the shown rows."""
        return self.selection.scores(self.data.take(self.data.shown))

    @property
    def clustered_scores(self) -> Array:
        """Scores of the rows that are clustered: all, of large data the shown ones."""
        if self.data.is_large:
            return self.shown_scores
        return self.selection.spectrum.projections[:, self.selection.columns]

    @cached_property
    def shown_clusters(self) -> Array:
        """Clusters of the shown rows: 0 where there are none."""
        if self.clustering is None:
            return np.zeros(len(self.data.shown), dtype=int)
        labels = self.clustering.labels_
        return labels if self.data.is_large else labels[self.data.shown]


class _FewerIfNeeded:
    """Fit with as many components as K has, where it has fewer than asked for."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __repr__(self) -> str:
        return repr(self.estimator)

    def fit(self, X: Any) -> Any:
        from mercer.errors import RankError

        try:
            return self.estimator.fit(X)
        except RankError as few:
            if few.rank == 0:
                raise
            return self.estimator.set_params(n_components=few.rank).fit(X)
