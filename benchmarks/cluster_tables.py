"""Clustering of tables with a class column, compared with other methods.

The 26 tables of Rdatasets with categories and missing values are in ``tables/`` of the folder
``MERCER_DATA``; mpg is in ``reports/``, and other sets are part of packages. Classes are labels of
the tables and not natural clusters, so that only averages over tables mean something. Other methods
get standardized numbers and one-hot categories.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks.cluster_sets import METHODS, NUMBERS, CpuLimit, Labels, folder
from benchmarks.measure import best_times, table
from benchmarks.mixed_tables import mixed_table, one_hot, penguins
from mercer import EntropyClustering, KernelPCA, SpectralClustering
from papers.data import load_usps

Data = tuple[Any, Labels]


# --- methods ------------------------------------------------------------------------------------


def _encoded(X: Any) -> np.ndarray:
    """Return standardized numbers and one-hot categories of a frame; arrays unchanged."""
    if isinstance(X, np.ndarray):
        return X
    return np.asarray(one_hot().fit_transform(X))


def _components(X: Any, k: int) -> Labels:
    components = KernelPCA(k, kernel="table").fit(X).spectrum_.projections
    return KMeans(k, n_init=10, random_state=0).fit_predict(components)


def _mixture(X: Any, k: int) -> Labels:
    mixture = GaussianMixture(k, n_init=10, reg_covar=1e-3, random_state=0)
    return mixture.fit_predict(_encoded(X))


MIXED: dict[str, Callable[[Any, int], Labels]] = {
    "SpectralClustering": lambda X, k: SpectralClustering(k).fit(X).labels_,
    "leading components, k-means": _components,
    "EntropyClustering": lambda X, k: EntropyClustering(k, kernel="table").fit(X).labels_,
    "one-hot, k-means": lambda X, k: METHODS["k-means"](_encoded(X), k),
    "one-hot, GaussianMixture": _mixture,
    "one-hot, HDBSCAN, 2 % of the rows": lambda X, k: NUMBERS["HDBSCAN, 2 % of the rows"](
        _encoded(X)
    ),
}


# --- 26 tables ----------------------------------------------------------------------------------


def _load(path: Path, target: str) -> tuple[pd.DataFrame, Labels]:
    frame = pd.read_csv(path).dropna(subset=[target]).reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy(str)


def mixed_tables(source: Path) -> Iterator[str]:
    index = pd.read_csv(source / "index.csv")
    scores: dict[str, list[float]] = {}
    spent = dict.fromkeys(MIXED, 0.0)
    for name, target in zip(index["name"], index["target"], strict=True):
        X, y = _load(source / f"{name}.csv.gz", target)
        flags = X.select_dtypes("bool").columns
        X = X.astype(dict.fromkeys(flags, str))
        scores[name] = []
        for method, cluster in MIXED.items():
            begin = time.process_time()
            scores[name].append(adjusted_rand_score(y, cluster(X, len(np.unique(y)))))
            spent[method] += time.process_time() - begin
        print(name, *np.round(scores[name], 3), file=sys.stderr, flush=True)
    values = np.array(list(scores.values()))
    best = values >= values.max(axis=1, keepdims=True) - 0.01
    rows = [
        (name, f"{column.mean():.3f}", f"{is_best.sum()}", f"{spent[name]:.0f} s")
        for name, column, is_best in zip(MIXED, values.T, best.T, strict=True)
    ]
    header = ("method", "adjusted Rand index", "best up to 0.01", "CPU time")
    yield table(f"Number of classes given: mean of {len(scores)} mixed tables", rows, header)
    each = [(name, *(f"{value:.2f}" for value in found)) for name, found in scores.items()]
    yield table("Adjusted Rand index of each table", each, ("table", *MIXED))


# --- common sets --------------------------------------------------------------------------------


def _mpg() -> Data:
    """Cars with 4, 6 or 8 cylinders, which are the classes, by the other columns."""
    source = folder()
    assert source is not None
    X, y = _load(source.parent / "reports" / "mpg.csv.gz", "cylinders")
    common = np.isin(y, ["4", "6", "8"])
    return X[common].reset_index(drop=True), y[common]


SETS: dict[str, Callable[[], Data]] = {
    "penguins": penguins,
    "wine": lambda: load_wine(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "mpg": _mpg,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "USPS test": lambda: load_usps(subset="test", return_X_y=True),
}
STANDARDIZED = {"wine", "breast cancer"}  # for other methods


def _entropy(X: Any, k: int) -> Labels:
    kernel = "auto" if isinstance(X, np.ndarray) else "table"
    return EntropyClustering(k, kernel=kernel).fit(X).labels_


GIVEN = {"SpectralClustering": MIXED["SpectralClustering"], "EntropyClustering": _entropy}
GIVEN |= {name: METHODS[name] for name in ("k-means", "GaussianMixture")}
if "UMAP, k-means" in METHODS:
    GIVEN["UMAP, k-means"] = METHODS["UMAP, k-means"]


def _cell(y: Labels, cluster: Callable[[], Labels], with_number: bool) -> str:
    try:
        with CpuLimit():
            labels = cluster()
    except (TimeoutError, ValueError):
        return "-"
    number = f" ({max(1, labels.max() + 1)})" if with_number else ""
    return f"{adjusted_rand_score(y, labels):.2f}{number}"


def common_sets() -> Iterator[str]:
    data = {}
    for name, load in SETS.items():
        X, y = load()
        others = StandardScaler().fit_transform(X) if name in STANDARDIZED else _encoded(X)
        data[name] = X, others, y
    given, chosen = [], []
    for method, cluster in GIVEN.items():
        use = 0 if method.endswith("Clustering") else 1
        cells = (
            _cell(one[2], partial(cluster, one[use], len(np.unique(one[2]))), False)
            for one in data.values()
        )
        given.append((method, *cells))
        print(*given[-1], sep=" | ", file=sys.stderr, flush=True)
    for method, cluster in NUMBERS.items():
        use = 0 if method == "SpectralClustering()" else 1
        cells = (_cell(one[2], partial(cluster, one[use]), True) for one in data.values())
        chosen.append((method, *cells))
        print(*chosen[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ("method", *(f"{name} ({len(np.unique(one[2]))})" for name, one in data.items()))
    yield table("Adjusted Rand index, number of classes given", given, header)
    yield table("Adjusted Rand index and number, which is not given", chosen, header)


# --- time ---------------------------------------------------------------------------------------


def times() -> str:
    frame = mixed_table(10_000).iloc[:, :10]
    calls = {
        "SpectralClustering(3)": lambda: SpectralClustering(3).fit(frame),
        "SpectralClustering()": lambda: SpectralClustering().fit(frame),
        "one-hot, k-means": lambda: MIXED["one-hot, k-means"](frame, 3),
    }
    rows = [(name, f"{spent:.1f} s") for name, spent in best_times(calls).items()]
    return table("10,000 × 10 mixed rows", rows, ("method", "time"))


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = folder()
        if source is None:
            yield "The tables were not found. Set MERCER_DATA to the folder above them.\n"
        else:
            yield from mixed_tables(source.parent / "tables")
            yield from common_sets()
        yield times()
