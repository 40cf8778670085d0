"""Comparison with k-means, Ng-Jordan-Weiss and kernel PCA on the data of the clustering examples.

Each method is run on raw and on standardized columns. Bandwidths without labels are the median
distance for all kernel methods, and for kernel ECA also the rule of ``EntropyClustering``. The best
of 33 bandwidths from 10 to 200 % of the median distance is chosen with the labels, and marked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import EntropyClustering
from mercer.bandwidth import median_distance
from mercer.cluster.diagnostics import clustering_error
from mercer.datasets import make_ring_and_blob, make_rings
from mercer.kernels import Gaussian
from papers.baselines import sweep_baseline
from papers.comparison import Table
from papers.data import load_pendigits, load_thyroid
from papers.jenssen_2010.digits import load_digits
from papers.jenssen_2010.segmentation import load_three_surfaces
from papers.jenssen_2010.sweeps import without_warnings
from papers.types import Array

__all__ = ["TABLES", "errors"]

_METHODS = ("NJW", "KPCA angular", "KPCA C-means", "KECA")


def _pen() -> tuple[Array, Array]:
    X, y = load_pendigits(subset="test", return_X_y=True)
    return X[y <= 2], y[y <= 2]


def _thyroid() -> tuple[Array, Array]:
    X, y = load_thyroid(return_X_y=True)
    return X, y == 1


_DATA: dict[str, Callable[[], tuple[Array, Array]]] = {
    "Iris": lambda: load_iris(return_X_y=True),
    "Wine": lambda: load_wine(return_X_y=True),
    "Pen 0, 1, 2": _pen,
    "thyroid, normal or not": _thyroid,
    "image segmentation": load_three_surfaces,
    "USPS 6 and 9": load_digits,
    "ring and blob": lambda: make_ring_and_blob(random_state=0),
    "three rings": lambda: make_rings(random_state=0),
}


def _labels(X: Array, count: int, bandwidths: list[float], method: str) -> list[Array]:
    """Labels of one method at each bandwidth."""
    if method == "KECA":
        return [EntropyClustering(count, kernel=Gaussian(b)).fit(X).labels_ for b in bandwidths]
    baseline: Any = "njw" if method == "NJW" else "kernel-pca"
    settings: Any = {}
    if baseline == "kernel-pca":
        settings["metric"] = "angular" if "angular" in method else "euclidean"
    found = sweep_baseline(baseline, X, count, bandwidths=bandwidths, **settings)
    return [record.labels for record in found.records]


def errors(X: Array, y: Array, every: int = 1) -> dict[str, float]:
    """Errors in percent without labels, and with the best of the bandwidths ("NJW*")."""
    count = len(np.unique(y))

    def error(labels: Array) -> float:
        return 100 * clustering_error(y, labels)

    with without_warnings():
        own = EntropyClustering(count, random_state=0).fit(X)
        median = median_distance(X)
        bandwidths = [float(record.bandwidth) for record in own.path_]
        found = {
            "k-means": error(KMeans(count, n_init=10, random_state=0).fit_predict(X)),
            "KECA rule": error(own.labels_),
        }
        for method in _METHODS:
            found[method] = error(_labels(X, count, [median], method)[0])
            found[f"{method}*"] = min(map(error, _labels(X, count, bandwidths[::every], method)))
    return found


def _table(quick: bool, name: str) -> Table:
    X, y = _DATA[name]()
    columns = ["k-means", *_METHODS, "KECA rule", *(f"{method}*" for method in _METHODS)]
    lines = [f"{'':13}" + "".join(f"{_short(column):>10}" for column in columns)]
    for scaling, points in (("raw", X), ("standardized", scale(X))):
        found = errors(points, y, every=8 if quick else 1)
        lines.append(f"{scaling:13}" + "".join(f"{found[column]:10.1f}" for column in columns))
    return Table(
        (),
        layout="\n".join(lines),
        note="Errors in percent. NJW, kernel PCA (angular or C-means) and kernel ECA at the median "
        "distance; rule: the bandwidth that EntropyClustering selects. None of these uses labels. "
        "Isolated points count as errors. *: the best of 33 bandwidths from 10 to 200 % of the "
        "median distance, chosen with labels.",
    )


def _short(column: str) -> str:
    return column.replace("KPCA angular", "KPCAa").replace("KPCA C-means", "KPCAc")


TABLES = {f"Comparison of methods: {name}": partial(_table, name=name) for name in _DATA}
