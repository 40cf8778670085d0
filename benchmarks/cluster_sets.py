"""Spectral clustering on public cluster sets, compared with other methods.

The 36 sets are from Gagolewski's benchmark suite (https://clustering-benchmarks.gagolewski.com), in
the folder ``clusters`` of the data that ``mercer.datasets`` uses. A set with several reference
labelings counts with the best adjusted Rand index, and noise points of the reference are left out.
Nothing is tuned for single sets.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

from benchmarks.cluster_scale import gaussians
from benchmarks.measure import table
from mercer import EntropyClustering, SpectralClustering
from mercer.cluster import graphs
from mercer.kernels import Neighbors, SelfTuning
from papers.data import files

Labels = np.ndarray
Method = Callable[[Any, int], Labels]
SECONDS = 30  # of CPU time for a method and a set
SLOW, SLOW_ROWS = {"scikit-learn spectral, rbf", "UMAP, k-means"}, 1500


# --- methods ------------------------------------------------------------------------------------


def _ours(kernel: Any, X: np.ndarray, k: int) -> Labels:
    return SpectralClustering(k, kernel=kernel).fit(X).labels_


OURS: dict[str, Method] = {
    "SpectralClustering": partial(_ours, "auto"),
    "SelfTuning(7)": partial(_ours, SelfTuning(7)),
    "Neighbors(10)": partial(_ours, Neighbors(10)),
    "Neighbors(7, weighted, mutual)": partial(_ours, Neighbors(7, mode="weighted", mutual=True)),
    "EntropyClustering": lambda X, k: EntropyClustering(k).fit(X).labels_,
}


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
}
if find_spec("genieclust"):
    PEERS["Genie"] = _genie
if find_spec("umap"):
    PEERS["UMAP, k-means"] = _umap
METHODS = OURS | PEERS


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
    return max(_index(truth, labels[n_clusters(truth)]) for truth in truths)


def _index(truth: Labels, labels: Labels) -> float:
    return float(adjusted_rand_score(truth[truth > 0], labels[truth > 0]))


class CpuLimit:
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
        with CpuLimit():
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


MOST_ROWS, MOST_CLUSTERS, COUNTED_ROWS = 6000, 50, 1000
Number = Callable[[np.ndarray], Labels]


def _hdbscan(smallest: float, X: np.ndarray) -> Labels:
    """Return labels of HDBSCAN; ``smallest`` is a fraction of the rows or a number of rows."""
    size = smallest if smallest > 1 else max(10, smallest * len(X))
    return HDBSCAN(min_cluster_size=round(size), copy=True).fit_predict(X)


def _counted(X: np.ndarray) -> tuple[np.ndarray, range]:
    """Return at most 1000 random rows, and the numbers of clusters that are tried."""
    some = X[np.random.default_rng(0).permutation(len(X))[:COUNTED_ROWS]]
    return some, range(2, min(MOST_CLUSTERS, len(some) // 2) + 1)


def silhouette(X: np.ndarray) -> Labels:
    """Return the labels of k-means with the largest mean silhouette."""
    some, counts = _counted(X)
    labels = {k: KMeans(k, n_init=3, random_state=0).fit_predict(some) for k in counts}
    best = max(counts, key=lambda k: silhouette_score(some, labels[k]))
    return KMeans(best, n_init=10, random_state=0).fit_predict(X)


def bic(X: np.ndarray) -> Labels:
    """Return the labels of the normal mixture with the lowest BIC.

    The search stops at the fifth number after the lowest value.
    """
    some, counts = _counted(X)
    found: dict[int, float] = {}
    for k in (1, *counts):
        found[k] = GaussianMixture(k, n_init=2, random_state=0).fit(some).bic(some)
        if k >= min(found, key=found.__getitem__) + 5:
            break
    best = min(found, key=found.__getitem__)
    return GaussianMixture(best, n_init=10, random_state=0).fit_predict(X)


NUMBERS: dict[str, Number] = {
    "SpectralClustering()": lambda X: SpectralClustering().fit(X).labels_,
    "HDBSCAN": partial(_hdbscan, 5),
    "HDBSCAN, 1 % of the rows": partial(_hdbscan, 0.01),
    "HDBSCAN, 2 % of the rows": partial(_hdbscan, 0.02),
    "k-means, silhouette": silhouette,
    "GaussianMixture, BIC": bic,
}


def _count(labels: Labels) -> int:
    return max(1, int(labels.max()) + 1)


def numbers(source: Path) -> str:
    """Compare methods that choose the number of clusters, on sets with at most 6000 rows."""
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in NUMBERS}
    small = []
    for _, X, truths in _each(source):
        if len(X) > MOST_ROWS:
            continue
        small.append(len(X) <= 2000)
        for name, method in NUMBERS.items():
            labels = method(X)
            index = max(_index(truth, labels) for truth in truths)
            is_right = _count(labels) in {n_clusters(truth) for truth in truths}
            found[name].append((index, is_right))
        print(*(values[-1] for values in found.values()), file=sys.stderr, flush=True)
    rows = []
    for name, values in found.items():
        index, right = np.array(values).T
        row = (name, f"{index.mean():.3f}", f"{100 * right.mean():.0f} %")
        rows.append((*row, f"{index[small].mean():.3f}", f"{100 * right[small].mean():.0f} %"))
    header = ("method", "adjusted Rand index", "right", "at most 2000 rows", "right")
    title = f"Number of clusters not given: {len(small)} sets with at most {MOST_ROWS} rows"
    return table(f"{title}, {sum(small)} with at most 2000", rows, header)


# --- choices ------------------------------------------------------------------------------------


HALVES = 200
#: Normalized cut of k-means relative to that of the best graph, from which a graph is chosen.
GAPS = (1.0, 1.25, 1.5, 2.0, 3.0)
#: Smallest cluster of the density tree, and what decides for one cluster more: the ratio of the
#: growths of the cut (infinite: the tree alone), and the term that is added to the cut.
SIZES, RATIOS = (0.01, 0.014, 0.02, 0.028, 0.04), (1.0, 1.5, 2.0, 3.0, np.inf)
RULES = list(product(SIZES, RATIOS, (0.05, 0.1, 0.2)))
DEFAULT_GAP, DEFAULT_RULE = 1.5, (0.02, 2.0, 0.1)


def _fits(X: np.ndarray, truths: list[Labels], counts: set[int]) -> dict[int, tuple[float, float]]:
    """Return the index and the normalized cut for every number of clusters."""
    found = {}
    for k in counts:
        model = SpectralClustering(k).fit(X)
        index = max(_index(truth, model.labels_) for truth in truths)
        found[k] = index, k * min(record.cost for record in model.path_[:-1])
    return found


def _with_growth(k: int, rule: tuple[float, float, float], cuts: dict[int, float]) -> int:
    """Return k, or one more if the cut then grows more than the rule requires."""
    _, ratio, added = rule
    growth, following = ((cuts[j + 1] - cuts[j]) / (cuts[j] + added) for j in (k, k + 1))
    return k + int(ratio < np.inf and following > ratio * growth)


def _scores_of_rules(X: np.ndarray, truths: list[Labels]) -> list[tuple[float, bool]]:
    """Return index and correctness of the number for every rule."""
    rows = SpectralClustering(1).fit(X).spectrum_.points.data
    trees = {size: _count(_hdbscan(size, rows)) for size in SIZES}
    counts = {k + more for k in trees.values() for more in range(3)}
    fits = _fits(X, truths, {min(k, len(rows)) for k in counts})
    cuts = {k: fits[min(k, len(rows))][1] for k in counts}
    right = {n_clusters(truth) for truth in truths}
    chosen = [_with_growth(trees[rule[0]], rule, cuts) for rule in RULES]
    return [(fits[k][0], k in right) for k in chosen]


def _scores_of_gaps(X: np.ndarray, truths: list[Labels]) -> list[float]:
    """Return the index with the given number of clusters for every value in ``GAPS``."""
    scores = []
    for gap in GAPS:
        with patch.object(graphs, "_CLEAR_GAP", gap):
            scores.append(_score(METHODS["SpectralClustering"], X, truths))
    return scores


def _halves(scores: np.ndarray, default: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean scores on halves: of the choice that is best on the other half, and the default.

    The axes of ``scores`` are sets, choices, and measures, of which the first one decides.
    """
    rng, found = np.random.default_rng(0), []
    for _ in range(HALVES):
        order = rng.permutation(len(scores))
        first, second = scores[order[::2]], scores[order[1::2]].mean(axis=0)
        found.append((second[first.mean(axis=0)[:, 0].argmax()], second[default]))
    chosen, fixed = np.mean(found, axis=0)
    return chosen, fixed


def choices(source: Path) -> str:
    """Choose the constants on a random half of the sets and judge them on the other half."""
    gaps, rules = [], []
    for _, X, truths in _each(source):
        gaps.append(_scores_of_gaps(X, truths))
        if len(X) <= MOST_ROWS:
            rules.append(_scores_of_rules(X, truths))
    given = _halves(np.array(gaps)[:, :, None], GAPS.index(DEFAULT_GAP))
    counted = _halves(np.array(rules, dtype=float), RULES.index(DEFAULT_RULE))
    rows = [
        (f"number given, {len(GAPS)} values", *(f"{one[0]:.3f}" for one in given)),
        (f"number not given, {len(RULES)} rules", *(f"{one[0]:.3f}" for one in counted)),
        ("the same, number right", *(f"{100 * one[1]:.0f} %" for one in counted)),
    ]
    header = ("adjusted Rand index", "best on the other half", "default")
    return table(f"Choice on one half, mean of the other half ({HALVES} halves)", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = folder()
        if source is None:
            yield "The cluster sets were not found. Set MERCER_DATA to the folder above them.\n"
        else:
            yield from sets(source)
            yield numbers(source)
            yield choices(source)
