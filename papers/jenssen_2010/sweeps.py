"""Clustering by three methods over a range of bandwidths: the experiment of Figs. 11 to 13."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import EntropyClustering
from mercer.cluster.diagnostics import clustering_error
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from papers.baselines import sweep_baseline
from papers.figures import PALETTE
from papers.types import Array

__all__ = [
    "METHODS",
    "Sweep",
    "components_of",
    "most_frequent",
    "plot_errors",
    "sweep",
    "tenths",
    "without_warnings",
]

METHODS = {"eca": "kernel ECA", "pca": "kernel PCA", "njw": "NJW"}
_BASELINES: dict[str, Any] = {"pca": "kernel-pca", "njw": "njw"}
_STYLES = {"eca": "o-", "pca": "^--", "njw": "s:"}


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings about small bandwidths, which are part of the experiment."""
    with warnings.catch_warnings():
        for expected in (IdentifiabilityWarning, ApproximationWarning):
            warnings.simplefilter("ignore", expected)
        yield


def tenths(low: float, high: float, step: int = 1) -> Array:
    """Return bandwidths in steps of ``step`` tenths, with both ends and without rounding drift."""
    return np.arange(round(10 * low), round(10 * high) + 1, step) / 10


@dataclass(frozen=True)
class Sweep:
    """Errors in percent, and the components that kernel ECA selected, at each bandwidth."""

    bandwidths: Array
    errors: dict[str, Array]
    components: tuple[frozenset[int], ...]

    def at(self, bandwidth: float, method: str = "eca") -> float:
        """Error of a method at one of the bandwidths."""
        return float(self.errors[method][self._index(bandwidth)])

    def components_at(self, bandwidth: float) -> frozenset[int]:
        """Components that kernel ECA selected at one of the bandwidths."""
        return self.components[self._index(bandwidth)]

    def first_with(self, components: set[int]) -> float:
        """Smallest bandwidth at which kernel ECA selected these components; NaN if none."""
        hits = [selected == components for selected in self.components]
        return float(self.bandwidths[hits.index(True)]) if any(hits) else np.nan

    def between(self, low: float, high: float, method: str = "eca") -> Array:
        """Errors of a method over a range, both ends included."""
        inside = (self.bandwidths >= low - 1e-9) & (self.bandwidths <= high + 1e-9)
        return self.errors[method][inside]

    def _index(self, bandwidth: float) -> int:
        index = int(np.abs(self.bandwidths - bandwidth).argmin())
        assert np.isclose(self.bandwidths[index], bandwidth), "not one of the bandwidths"
        return index


def components_of(selected: Any) -> frozenset[int]:
    """Return the ranks of selected eigenvalues as a set."""
    return frozenset(int(rank) for rank in selected)


def most_frequent(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    """Return the set that occurs most often; of equally frequent ones the first."""
    return Counter(sets).most_common(1)[0][0]


def sweep(
    X: Array, y: Array, bandwidths: Array, methods: tuple[str, ...] = tuple(METHODS)
) -> Sweep:
    """Cluster at every bandwidth, with as many clusters as there are classes."""
    count = len(np.unique(y))
    errors: dict[str, Array] = {}
    with without_warnings():
        # The full decomposition gives the ranks of the components.
        path = EntropyClustering(count, bandwidths=bandwidths, solver="dense").fit(X).path_
        errors["eca"] = _errors(y, [record.labels for record in path])
        for name, baseline in _BASELINES.items():
            if name in methods:
                found = sweep_baseline(baseline, X, count, bandwidths=bandwidths)
                errors[name] = _errors(y, [record.labels for record in found.records])
    return Sweep(bandwidths, errors, tuple(components_of(record.components) for record in path))


def plot_errors(ax: Any, bandwidths: Array, errors: dict[str, Array]) -> None:
    """Error against bandwidth, one curve per method."""
    for color, (name, values) in zip(PALETTE, errors.items(), strict=False):
        every = max(1, len(bandwidths) // 25)
        ax.plot(
            bandwidths,
            values,
            _STYLES[name],
            color=color,
            markevery=every,
            markersize=5,
            label=METHODS[name],
        )
    ax.set_xlabel("bandwidth σ")
    ax.set_ylabel("errors, %")
    ax.set_ylim(bottom=-1)
    ax.legend(frameon=False)


def _errors(y: Array, labelings: list[Array]) -> Array:
    return 100 * np.array([clustering_error(y, labels) for labels in labelings])
