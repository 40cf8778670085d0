"""Rules for choosing a bandwidth without labels, compared on twenty labeled data sets.

For every data set the clustering is computed at 41 bandwidths from 5 % to 200 % of the median
distance. A rule uses the records of the sweep and no labels. Regret is the error of the rule minus
the lowest error in its range. To estimate the selection bias, rule and range are also selected for
each data set from the other data sets only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import table
from mercer import EntropyClustering, datasets
from mercer.bandwidth import median_distance
from mercer.cluster.bandwidth_sweep import BandwidthRecord, choose_record
from mercer.cluster.diagnostics import clustering_error

Records = list[BandwidthRecord]

FRACTIONS = np.geomspace(0.05, 2, 41)
RANGES = {"10-20 %": (0.1, 0.2), "10-50 %": (0.1, 0.5), "10-100 %": (0.1, 1), "10-200 %": (0.1, 2)}


def standardized(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def some_classes(X: np.ndarray, y: np.ndarray, classes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    is_selected = np.isin(y, classes)
    return X[is_selected], y[is_selected]


def labeled_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, data and labels; real data are standardized unless the paper uses raw values."""
    for loader in (load_iris, load_wine, load_breast_cancer):
        X, y = loader(return_X_y=True)
        yield loader.__name__.removeprefix("load_"), standardized(X), y
    X, y = some_classes(*datasets.load_pendigits(subset="test", return_X_y=True), [0, 1, 2])
    yield "pen 0, 1, 2", standardized(X), y
    segment = datasets.load_segment(subset="train", return_X_y=True)
    yield "segmentation, 3 classes", *some_classes(*segment, [2, 4, 7])
    X, y = datasets.load_thyroid(return_X_y=True)
    yield "thyroid, 3 classes", standardized(X), y
    yield "thyroid, normal or not", standardized(X), y == 1
    usps = datasets.load_usps(subset="test", return_X_y=True)
    yield "usps 6, 9", *some_classes(*usps, [6, 9])
    yield "usps 3, 6, 9", *some_classes(*usps, [3, 6, 9])
    digits = load_digits(return_X_y=True)
    yield "digits 3, 6, 9", *some_classes(*digits, [3, 6, 9])
    yield "digits, all ten", *digits
    yield "rings", *datasets.make_rings(random_state=0)
    yield "ring and blob", *datasets.make_ring_and_blob(random_state=0)
    yield "moons", *make_moons(300, noise=0.07, random_state=0)
    yield "blobs, 2-D", *make_blobs(400, centers=4, random_state=3, n_features=2)
    yield (
        "blobs, 10-D",
        *make_blobs(400, centers=4, random_state=3, n_features=10, cluster_std=3.0),
    )
    for name in ("banana", "twonorm", "heart", "image"):
        X, y = datasets.load_ida(name, return_X_y=True)
        yield name, standardized(X[:1000]), y[:1000]


def _best(values: list[float], largest: bool = False) -> int:
    return int(np.argmax(values) if largest else np.argmin(values))


def _largest_agreement(records: Records) -> int:
    agreement = [[adjusted_rand_score(a.labels, b.labels) for b in records] for a in records]
    return _best(np.mean(agreement, axis=1).tolist(), largest=True)


RULES: dict[str, Callable[[Records], int]] = {
    "lowest cost, full kernel space": lambda r: _best([x.cost for x in r]),
    "lowest cost, component space": lambda r: _best([x.eca_cost for x in r]),
    "most stable": lambda r: _best([x.stability for x in r], largest=True),
    "most coherent directions": lambda r: _best([x.coherence for x in r], largest=True),
    "largest entropy ratio": lambda r: _best([x.entropy_ratio for x in r], largest=True),
    "largest mean agreement": _largest_agreement,
    "lowest cost among the stable": choose_record,
}


def compare() -> Iterator[str]:
    errors: dict[tuple[str, str], list[float]] = {(a, b): [] for a in RANGES for b in RULES}
    lowest: dict[str, list[float]] = {name: [] for name in RANGES}
    average: dict[str, list[float]] = {name: [] for name in RANGES}
    names = []
    for name, X, y in labeled_sets():
        names.append(name)
        swept = EntropyClustering(len(np.unique(y)), bandwidths=FRACTIONS * median_distance(X))
        path = swept.fit(X).path_
        wrong = np.array([clustering_error(y, record.labels) for record in path])
        for label, (low, high) in RANGES.items():
            rows = np.flatnonzero((low * 0.999 <= FRACTIONS) & (high * 1.001 >= FRACTIONS))
            records = [path[i] for i in rows]
            lowest[label].append(wrong[rows].min())
            average[label].append(wrong[rows].mean())
            for rule, choose in RULES.items():
                errors[label, rule].append(wrong[rows[choose(records)]])
    yield _summary(errors, lowest, average)
    yield _by_set(names, errors, lowest)
    yield _selection_bias(errors)


def _summary(
    errors: dict[tuple[str, str], list[float]],
    lowest: dict[str, list[float]],
    average: dict[str, list[float]],
) -> str:
    def cell(label: str, rule: str) -> str:
        found = np.array(errors[label, rule])
        regret = found - lowest[label]
        return f"{100 * found.mean():.1f} ({100 * regret.mean():.1f}, {100 * regret.max():.0f})"

    rows = [(rule, *(cell(label, rule) for label in RANGES)) for rule in RULES]
    rows.append(("mean over the range", *(f"{100 * np.mean(average[r]):.1f}" for r in RANGES)))
    rows.append(("lowest in the range", *(f"{100 * np.mean(lowest[r]):.1f}" for r in RANGES)))
    title = "Mean error in percent (mean regret, largest regret), by range of bandwidths"
    return table(title, rows, ("rule", *RANGES))


def _by_set(
    names: list[str], errors: dict[tuple[str, str], list[float]], lowest: dict[str, list[float]]
) -> str:
    label, rule = "10-200 %", "lowest cost among the stable"
    chosen = errors[label, rule]
    rows = [
        (name, f"{100 * found:.1f}", f"{100 * best:.1f}")
        for name, found, best in zip(names, chosen, lowest[label], strict=True)
    ]
    return table(f"The rule in use: {rule}, {label}", rows, ("data set", "error %", "lowest %"))


def _selection_bias(errors: dict[tuple[str, str], list[float]]) -> str:
    all_errors = np.array(list(errors.values()))
    unbiased = []
    for i in range(all_errors.shape[1]):
        others = np.delete(all_errors, i, axis=1).mean(axis=1)
        unbiased.append(all_errors[others.argmin(), i])
    rows = [("rule and range selected from the other data sets", f"{100 * np.mean(unbiased):.1f}")]
    return table("Selection bias", rows, ("", "mean error %"))


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from compare()
