"""Spectral clustering on public cluster sets and tables, compared with other methods; its scale.

The 36 sets are from Gagolewski's benchmark suite (https://clustering-benchmarks.gagolewski.com), in
the folder ``clusters`` of the data that ``mercer.datasets`` uses. The number of clusters is given.
A set with several reference labelings counts with the best adjusted Rand index, and noise points of
the reference are left out. Nothing is tuned for single sets.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks import mixed_tables
from benchmarks.measure import extra_peak, table
from mercer import EntropyClustering, SpectralClustering
from mercer.bandwidth import fit_kernel
from mercer.data import Points, Sample
from mercer.datasets import files, load_usps
from mercer.decompose import decompose
from mercer.diagnostics import clustering_error
from mercer.kernels import Gaussian, Kernel, Neighbors, SelfTuning, table_kernel
from mercer.solvers import GraphSolver

Labels = np.ndarray
Method = Callable[[Any, int], Labels]
MUTUAL = {"mode": "weighted", "mutual": True}
HELD_OUT_ROWS = 1500


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


def n_clusters(truth: Labels) -> int:
    return len(np.unique(truth[truth > 0]))


def _score(method: Method, X: np.ndarray, truths: list[Labels]) -> float:
    """Return the best adjusted Rand index over the reference labelings."""
    labels = {k: method(X, k) for k in {n_clusters(truth) for truth in truths}}
    return max(
        adjusted_rand_score(truth[truth > 0], labels[n_clusters(truth)][truth > 0])
        for truth in truths
    )


def sets(source: Path) -> Iterator[str]:
    scores: dict[str, list[float]] = {}
    spent = dict.fromkeys(METHODS, 0.0)
    for path in sorted(source.glob("*.npz")):
        X, truths = load_set(path)
        scores[path.stem] = []
        for name, method in METHODS.items():
            begin = time.process_time()
            scores[path.stem].append(_score(method, X, truths))
            spent[name] += time.process_time() - begin
    values = np.array(list(scores.values()))
    rows = [
        (name, f"{column.mean():.3f}", f"{np.median(column):.3f}", f"{spent[name]:.0f} s")
        for name, column in zip(METHODS, values.T, strict=True)
    ]
    header = ("method", "mean", "median", "CPU time")
    yield table(f"Adjusted Rand index over {len(scores)} sets", rows, header)
    each = [(name, *(f"{value:.2f}" for value in found)) for name, found in scores.items()]
    yield table("Adjusted Rand index of each set", each, ("set", *METHODS))


# --- number of clusters -------------------------------------------------------------------------


def _silhouette(X: np.ndarray) -> int:
    """Return the number of k-means clusters, up to 20, with the largest silhouette."""
    X = X[np.random.default_rng(0).permutation(len(X))[:1000]]
    labels = {k: KMeans(k, n_init=3, random_state=0).fit_predict(X) for k in range(2, 21)}
    return max(labels, key=lambda k: silhouette_score(X, labels[k]))


def _hdbscan(smallest: int, X: np.ndarray) -> int:
    return max(1, int(HDBSCAN(min_cluster_size=smallest, copy=True).fit(X).labels_.max()) + 1)


COUNTS: dict[str, Callable[[np.ndarray], int]] = {
    "SpectralClustering()": lambda X: SpectralClustering().fit(X).n_clusters_,
    "HDBSCAN": partial(_hdbscan, 5),
    "HDBSCAN, min_cluster_size=15": partial(_hdbscan, 15),
    "k-means, silhouette": _silhouette,
}


def numbers(source: Path) -> str:
    found: dict[str, list[int]] = {name: [] for name in COUNTS}
    expected: list[set[int]] = []
    for path in sorted(source.glob("*.npz")):
        X, truths = load_set(path)
        expected.append({n_clusters(truth) for truth in truths})
        for name, count in COUNTS.items():
            found[name].append(count(X))
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
            labels = method(X if ours else _encoded(name, X), len(np.unique(y)))
            error, index = clustering_error(y, labels), adjusted_rand_score(y, labels)
            row.append(f"{100 * error:.1f} %, {index:.2f}")
        rows.append(tuple(row))
    return table("Clustering error and adjusted Rand index", rows, ("method", *TABLES))


# --- held-out rows ------------------------------------------------------------------------------


KERNELS: list[Any] = ["auto", SelfTuning(7), Neighbors(10), Neighbors(7, **MUTUAL), Gaussian()]


def _agreement(kernel: Any, X: np.ndarray, k: int) -> float:
    """Return the fraction of held-out rows that get the label of a clustering of all rows."""
    held_out = np.random.default_rng(0).random(len(X)) < 0.3
    part = SpectralClustering(k, kernel=kernel).fit(X[~held_out])
    together = SpectralClustering(k, kernel=kernel).fit(X).labels_
    counts = contingency_matrix(together[~held_out], part.labels_)  # labels are matched on these
    rows, columns = linear_sum_assignment(-counts)
    matched = dict(zip(columns, rows, strict=True))
    predicted = [matched[label] for label in part.predict(X[held_out])]
    return float(np.mean(predicted == together[held_out]))


def held_out_rows(source: Path) -> str:
    found = []
    for path in sorted(source.glob("*.npz")):
        X, truths = load_set(path)
        X = X[np.random.default_rng(0).permutation(len(X))[:HELD_OUT_ROWS]]
        found.append([_agreement(kernel, X, n_clusters(truths[0])) for kernel in KERNELS])
    rows = [
        (f"`{kernel!r}`", f"{column.mean():.3f}", f"{np.median(column):.3f}", f"{column.min():.2f}")
        for kernel, column in zip(KERNELS, np.array(found).T, strict=True)
    ]
    header = ("kernel", "mean", "median", "lowest")
    return table("Held-out rows: predict agrees with clustering all rows", rows, header)


# --- scale --------------------------------------------------------------------------------------


def gaussians(n: int) -> tuple[np.ndarray, Labels]:
    """Ten normal clusters of unequal weight and spread in 16 dimensions."""
    rng = np.random.default_rng(0)
    y = rng.choice(10, p=np.arange(1, 11) / 55, size=n)
    centers, spread = 3 * rng.normal(size=(10, 16)), rng.uniform(0.5, 1.5, 10)
    return centers[y] + spread[y, None] * rng.normal(size=(n, 16)), y


def twenty_thousand() -> np.ndarray:
    return gaussians(20_000)[0]


def hundred_thousand() -> np.ndarray:
    return gaussians(10**5)[0]


def million() -> np.ndarray:
    return gaussians(10**6)[0]


def fit_default(X: np.ndarray) -> Labels:
    return SpectralClustering(10).fit(X).labels_


def fit_neighbors(X: np.ndarray) -> Labels:
    return SpectralClustering(10, kernel=Neighbors(10)).fit(X).labels_


def fit_peer(X: np.ndarray) -> Labels:
    return PEERS["scikit-learn spectral, neighbors"](X, 10)


def scale() -> str:
    rows = []
    for n, make, fit, name in (
        (10**5, hundred_thousand, fit_default, "SpectralClustering(10)"),
        (10**6, million, fit_default, "SpectralClustering(10)"),
        (10**5, hundred_thousand, fit_neighbors, "SpectralClustering(10, kernel=Neighbors(10))"),
        (10**6, million, fit_neighbors, "SpectralClustering(10, kernel=Neighbors(10))"),
        (20_000, twenty_thousand, fit_peer, "scikit-learn spectral, neighbors"),
    ):
        X, y = gaussians(n)
        begin, cpu = time.perf_counter(), time.process_time()
        labels = fit(X)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        del X
        memory = extra_peak(__name__, make.__name__, fit.__name__)
        index = adjusted_rand_score(y, labels)
        rows.append((f"{n:,} × 16", name, f"{spent:.1f} s", f"{cpu:.1f} s", f"{memory:.0f} MB"))
        rows[-1] += (f"{index:.4f}",)
    header = ("rows", "method", "time", "CPU time", "peak memory", "adjusted Rand index")
    return table("Ten normal clusters", rows, header)


def weakly_connected() -> str:
    """Ten distant clusters of 10⁴ points in the plane, each joined to the next by ten points."""
    rng = np.random.default_rng(0)
    centers = 100.0 * np.arange(10)[:, None] * [1.0, 0.0]
    chains = [np.linspace(a, b, 12)[1:-1] for a, b in pairwise(centers)]
    X = np.concatenate([center + rng.normal(size=(10**4, 2)) for center in centers] + chains)
    rows = []
    for kernel in (Neighbors(10), Neighbors(10, mode="weighted")):
        begin = time.process_time()
        sample = Sample(fit_kernel(kernel, X), Points(X))
        spectrum = decompose(sample, "variance", 10, normalize=True, solver=GraphSolver())
        spent = time.process_time() - begin
        gap = 1 - spectrum.eigenvalues[-1]
        rows.append((f"`{kernel!r}`", f"{gap:.1e}", spectrum.pairs.method, f"{spent:.1f} s"))
    header = ("kernel", "1 - λ₁₀", "solver", "CPU time")
    return table(f"Ten eigenpairs of a nearly disconnected graph of {len(X):,} nodes", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = folder()
        if source is None:
            yield "The cluster sets were not found. Set MERCER_DATA to the folder above them.\n"
        else:
            yield from sets(source)
            yield numbers(source)
            yield held_out_rows(source)
        for make in (common_tables, scale, weakly_connected):
            yield make()
