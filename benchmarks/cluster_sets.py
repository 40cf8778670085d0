"""Spectral clustering on public cluster sets and tables, compared with other methods.

The 36 sets are from Gagolewski's benchmark suite (https://clustering-benchmarks.gagolewski.com), in
the folder ``clusters`` of the data that ``mercer.datasets`` uses. The number of clusters is given.
A set with several reference labelings counts with the best adjusted Rand index, and noise points of
the reference are left out. Nothing is tuned for single sets.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import (
    adjusted_rand_score,
    pairwise_distances_argmin,
    silhouette_score,
)
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks import mixed_tables
from benchmarks.cluster_scale import gaussians
from benchmarks.measure import table
from mercer import EntropyClustering, SpectralClustering
from mercer.cluster.diagnostics import clustering_error
from mercer.cluster.graphs import unit_rows
from mercer.kernels import Gaussian, Kernel, Neighbors, SelfTuning, table_kernel
from papers.data import files, load_usps

Labels = np.ndarray
Method = Callable[[Any, int], Labels]
MUTUAL = {"mode": "weighted", "mutual": True}
HELD_OUT_ROWS = 500
SECONDS = 30  # of CPU time for a method and a set
SLOW, SLOW_ROWS = {"scikit-learn spectral, rbf", "UMAP, k-means"}, 1500


# --- methods ------------------------------------------------------------------------------------


def _ours(make_kernel: Callable[[Kernel | None], Any], X: Any, k: int) -> Labels:
    distance = None if isinstance(X, np.ndarray) else table_kernel(X)
    return SpectralClustering(k, kernel=make_kernel(distance)).fit(X).labels_


OURS: dict[str, Method] = {
    "SpectralClustering": partial(_ours, lambda distance: "auto"),
    "SelfTuning(7)": partial(_ours, lambda distance: SelfTuning(7, kernel=distance)),
    "Neighbors(10)": partial(_ours, lambda distance: Neighbors(10, kernel=distance)),
    "Neighbors(7, weighted, mutual)": partial(
        _ours, lambda distance: Neighbors(7, kernel=distance, **MUTUAL)
    ),
}


def _entropy(X: Any, k: int) -> Labels:
    kernel = Gaussian() if isinstance(X, np.ndarray) else table_kernel(X)
    return EntropyClustering(k, kernel=kernel).fit(X).labels_


def _genie(X: np.ndarray, k: int) -> Labels:
    from genieclust import Genie

    return Genie(n_clusters=k).fit_predict(X)


def _umap(X: np.ndarray, k: int) -> Labels:
    from umap import UMAP

    return KMeans(k, n_init=10, random_state=0).fit_predict(
        UMAP(n_neighbors=min(15, len(X) - 1), random_state=0, n_jobs=1).fit_transform(X)
    )


PEERS: dict[str, Method] = {
    "scikit-learn spectral, rbf": lambda X, k: SklearnSpectral(k, random_state=0).fit_predict(X),
    "scikit-learn spectral, neighbors": lambda X, k: SklearnSpectral(
        k, affinity="nearest_neighbors", random_state=0
    ).fit_predict(X),
    "k-means": lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(X),
    "GaussianMixture": lambda X, k: GaussianMixture(k, n_init=10, random_state=0).fit_predict(X),
    "HDBSCAN": lambda X, k: HDBSCAN(copy=True).fit_predict(X),  # noise points are one cluster
}
if find_spec("genieclust"):
    PEERS["Genie"] = _genie
if find_spec("umap"):
    PEERS["UMAP, k-means"] = _umap
METHODS = OURS | {"EntropyClustering": _entropy} | PEERS


# --- the 36 sets --------------------------------------------------------------------------------


def folder() -> Path | None:
    """Return the folder of the cluster sets, where ``mercer.datasets`` looks for its files."""
    found = [one / "clusters" for one in files._folders().values() if one is not None]
    return next((one for one in found if one.is_dir()), None)


def load_set(path: Path) -> tuple[np.ndarray, list[Labels]]:
    with np.load(path) as stored:
        truths = [stored[name] for name in stored.files if name.startswith("labels")]
        return stored["X"].astype(float), truths


def _each(source: Path) -> Iterator[tuple[str, np.ndarray, list[Labels]]]:
    """Load one set after the other; write its name to the standard error."""
    for path in sorted(source.glob("*.npz")):
        print(f"{time.strftime('%H:%M:%S')} {path.stem}", file=sys.stderr, flush=True)
        yield path.stem, *load_set(path)


def n_clusters(truth: Labels) -> int:
    return len(np.unique(truth[truth > 0]))


def _score(method: Method, X: np.ndarray, truths: list[Labels]) -> float:
    """Return the best adjusted Rand index over the reference labelings."""
    labels = {k: method(X, k) for k in {n_clusters(truth) for truth in truths}}
    return max(
        adjusted_rand_score(truth[truth > 0], labels[n_clusters(truth)][truth > 0])
        for truth in truths
    )


class _CpuLimit:
    """Raise TimeoutError inside a ``with`` block that uses more CPU time than SECONDS."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._stop)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    @staticmethod
    def _stop(*_: object) -> None:
        raise TimeoutError


def _limited_score(name: str, X: np.ndarray, truths: list[Labels]) -> float:
    """Return the score, nan beyond the limit of CPU time."""
    if name in SLOW:
        rows = np.random.default_rng(0).permutation(len(X))[:SLOW_ROWS]
        X, truths = X[rows], [truth[rows] for truth in truths]
    try:
        with _CpuLimit():
            return _score(METHODS[name], X, truths)
    except TimeoutError:
        return np.nan


def sets(source: Path) -> Iterator[str]:
    scores: dict[str, list[float]] = {}
    spent = dict.fromkeys(METHODS, 0.0)
    warm_up = gaussians(100, 2)[0]
    for method in METHODS.values():
        method(warm_up, 3)  # imports and compilation do not count
    for title, X, truths in _each(source):
        scores[title] = []
        for name in METHODS:
            begin = time.process_time()
            scores[title].append(_limited_score(name, X, truths))
            spent[name] += time.process_time() - begin
        print(*np.round(scores[title], 3), file=sys.stderr, flush=True)
    values = np.array(list(scores.values()))
    stopped = np.isnan(values).sum(axis=0)
    values = np.nan_to_num(values)
    rows = [
        (name, f"{column.mean():.3f}", f"{np.median(column):.3f}", f"{spent[name]:.0f} s", f"{m}")
        for name, column, m in zip(METHODS, values.T, stopped, strict=True)
    ]
    header = ("method", "mean", "median", "CPU time", f"stopped after {SECONDS} s (counts as 0)")
    yield table(f"Adjusted Rand index over {len(scores)} sets", rows, header)
    each = [
        (name, *("-" if np.isnan(value) else f"{value:.2f}" for value in found))
        for name, found in scores.items()
    ]
    yield table("Adjusted Rand index of each set", each, ("set", *METHODS))


# --- number of clusters -------------------------------------------------------------------------


MOST_CLUSTERS, COUNTED_ROWS, REFERENCE_SAMPLES = 50, 1000, 5


def _some_rows(X: np.ndarray) -> np.ndarray:
    return X[np.random.default_rng(0).permutation(len(X))[:COUNTED_ROWS]]


def _silhouette(X: np.ndarray) -> int:
    """Return the number of k-means clusters with the largest mean silhouette."""
    X = _some_rows(X)
    counts = range(2, min(MOST_CLUSTERS, len(X) // 2) + 1)
    labels = {k: KMeans(k, n_init=3, random_state=0).fit_predict(X) for k in counts}
    return max(labels, key=lambda k: silhouette_score(X, labels[k]))


@cache
def _gaps(data: bytes, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the gap statistics of k = 1, 2, … k-means clusters and their standard errors.

    Tibshirani, Walther and Hastie (2001), with uniform samples in a box along the principal axes.
    """
    X = _some_rows(np.frombuffer(data).reshape(-1, columns))
    X = X - X.mean(axis=0)
    X = X @ np.linalg.svd(X, full_matrices=False)[2].T
    rng = np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    samples = [rng.uniform(low, high, X.shape) for _ in range(REFERENCE_SAMPLES)]
    logs = np.array(
        [
            [np.log(KMeans(k, n_init=1, random_state=0).fit(Z).inertia_) for Z in (X, *samples)]
            for k in range(1, min(MOST_CLUSTERS, len(X) // 2) + 1)
        ]
    )
    errors = logs[:, 1:].std(axis=1) * np.sqrt(1 + 1 / REFERENCE_SAMPLES)
    return logs[:, 1:].mean(axis=1) - logs[:, 0], errors


def _gap(X: np.ndarray) -> int:
    """Return the smallest k with Gap(k) ≥ Gap(k + 1) - s(k + 1), the rule of the paper."""
    gaps, errors = _gaps(X.tobytes(), X.shape[1])
    return int(np.argmax(np.append(gaps[:-1] >= gaps[1:] - errors[1:], True))) + 1


def _largest_gap(X: np.ndarray) -> int:
    return int(np.argmax(_gaps(X.tobytes(), X.shape[1])[0])) + 1


def _hdbscan(smallest: int, X: np.ndarray) -> int:
    return max(1, int(HDBSCAN(min_cluster_size=smallest, copy=True).fit(X).labels_.max()) + 1)


COUNTS: dict[str, Callable[[np.ndarray], int]] = {
    "SpectralClustering()": lambda X: SpectralClustering().fit(X).n_clusters_,
    "HDBSCAN": partial(_hdbscan, 5),
    "HDBSCAN, min_cluster_size=15": partial(_hdbscan, 15),
    "k-means, silhouette": _silhouette,
    "k-means, gap statistic": _gap,
    "k-means, largest gap": _largest_gap,
}


def numbers(source: Path) -> str:
    found: dict[str, list[int]] = {name: [] for name in COUNTS}
    expected: list[set[int]] = []
    for _, X, truths in _each(source):
        expected.append({n_clusters(truth) for truth in truths})
        for name, count in COUNTS.items():
            found[name].append(count(X))
        print(expected[-1], *(ks[-1] for ks in found.values()), file=sys.stderr, flush=True)
    rows = [
        (name, f"{np.mean([k in right for k, right in zip(ks, expected, strict=True)]):.2f}")
        for name, ks in found.items()
    ]
    return table("Fraction of sets with the right number of clusters", rows, ("method", "right"))


# --- tables -------------------------------------------------------------------------------------


def _usps(digits: list[int]) -> tuple[np.ndarray, Labels]:
    X, y = load_usps(subset="test", return_X_y=True)
    return X[np.isin(y, digits)], y[np.isin(y, digits)]


TABLES: dict[str, Callable[[], tuple[Any, Labels]]] = {
    "digits": lambda: load_digits(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "USPS test": lambda: _usps(list(range(10))),
    "USPS test, 3 5 8": lambda: _usps([3, 5, 8]),
    **mixed_tables.SETS,
}
STANDARDIZED = {"breast cancer", "wine"}


def _encoded(name: str, X: Any) -> np.ndarray:
    """Return the columns that other libraries get: standardized, or one-hot."""
    if not isinstance(X, np.ndarray):
        return np.asarray(mixed_tables.one_hot().fit_transform(X))
    return np.asarray(StandardScaler().fit_transform(X)) if name in STANDARDIZED else X


def common_tables() -> str:
    rows = []
    for method_name, method in METHODS.items():
        row = [method_name]
        for name, load in TABLES.items():
            X, y = load()
            ours = method_name in OURS or method_name == "EntropyClustering"
            try:
                with _CpuLimit():
                    labels = method(X if ours else _encoded(name, X), len(np.unique(y)))
            except TimeoutError:
                row.append("-")
                continue
            error, index = clustering_error(y, labels), adjusted_rand_score(y, labels)
            row.append(f"{100 * error:.1f} %, {index:.2f}")
        rows.append(tuple(row))
        print(*row, sep=" | ", file=sys.stderr, flush=True)
    return table("Clustering error and adjusted Rand index", rows, ("method", *TABLES))


# --- held-out rows ------------------------------------------------------------------------------


KERNELS: list[Any] = ["auto", SelfTuning(7), Neighbors(10), Neighbors(7, **MUTUAL), Gaussian()]


def _extended(fitted: SpectralClustering, X: np.ndarray) -> Labels:
    """Return labels by the Nyström extension of the eigenvectors and the nearest cluster mean.

    Rows without any neighbor in the graph get the label of ``predict``.
    """
    spectrum, scale = fitted.spectrum_, fitted.scale_
    roots = np.sqrt(spectrum.eigenvalues)
    inside = unit_rows(spectrum.projections * roots)
    labels = fitted._voters.labels
    means = np.array([inside[labels == c].mean(axis=0) for c in range(fitted.n_clusters_)])
    new = unit_rows(spectrum.project(X if scale is None else X / scale) * roots)
    found = pairwise_distances_argmin(new, means)
    return np.where(np.any(new != 0, axis=1), found, fitted.predict(X))


def _agreement(kernel: Any, X: np.ndarray, k: int) -> tuple[float, float]:
    """Return the fraction of held-out rows that get the label of a clustering of all rows.

    The first value is for ``predict``, the second one for the Nyström extension.
    """
    held_out = np.random.default_rng(0).random(len(X)) < 0.3
    part = SpectralClustering(k, kernel=kernel).fit(X[~held_out])
    together = SpectralClustering(k, kernel=kernel).fit(X).labels_
    counts = contingency_matrix(together[~held_out], part.labels_)  # labels are matched on these
    matched = linear_sum_assignment(-counts.T)[1]
    first, second = (
        float(np.mean(matched[labels] == together[held_out]))
        for labels in (part.predict(X[held_out]), _extended(part, X[held_out]))
    )
    return first, second


def held_out_rows(source: Path) -> str:
    found = []
    for _, X, truths in _each(source):
        X = X[np.random.default_rng(0).permutation(len(X))[:HELD_OUT_ROWS]]
        found.append([_agreement(kernel, X, n_clusters(truths[0])) for kernel in KERNELS])
    rows = []
    for kernel, values in zip(KERNELS, np.moveaxis(np.array(found), 1, 0), strict=True):
        for rule, column in zip(("predict", "Nyström extension"), values.T, strict=True):
            numbers = f"{column.mean():.3f}", f"{np.median(column):.3f}", f"{column.min():.2f}"
            rows.append((f"`{kernel!r}`", rule, *numbers))
    header = ("kernel", "rule", "mean", "median", "lowest")
    return table("Held-out rows: labels agree with a clustering of all rows", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = folder()
        if source is None:
            yield "The cluster sets were not found. Set MERCER_DATA to the folder above them.\n"
        else:
            yield from sets(source)
            yield numbers(source)
        yield common_tables()
        if source is not None:
            yield held_out_rows(source)
