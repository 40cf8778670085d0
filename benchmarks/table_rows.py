"""Unusual rows of mixed tables: KernelNovelty compared with other detectors.

The 26 tables are in the folder ``tables`` of the data that ``mercer.datasets`` uses (from the
public collection Rdatasets; ``index.csv`` names the column of classes). Two kinds of abnormality:

- corrupted rows: in every second test row a third of the cells, at random, come from other test
  rows, so every column keeps its distribution. The column of classes is a column like others.
- a rare class: the smallest class, of tables where it has at most 20 % of the rows, among the test
  rows; training rows contain none of its rows, or 3 %. The column of classes is left out.

Half of the (other) rows are for training. Columns with one value in training are left out. Nothing
is tuned for single tables.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.measure import table
from benchmarks.mixed_tables import one_hot
from mercer import KernelNovelty, KernelPCA
from mercer.kernels import table_kernel
from papers.data import files

N_SPLITS = 3
LARGEST_CLASS = 0.2
FEW = 0.03  # fraction of the rare class among training rows
KINDS = ("corrupted rows", "rare class, absent", "rare class, few")
RATES = (0.01, 0.05)

Frame = pd.DataFrame
Scorer = Callable[[Frame], np.ndarray]  # large scores are abnormal


class Split(NamedTuple):
    train: Frame
    test: Frame
    is_abnormal: np.ndarray


# --- tables ---------------------------------------------------------------------------------------


def load() -> Iterator[tuple[str, Frame, str]]:
    """Yield the name of each table, the table, and the name of its column of classes."""
    folders = [one / "tables" for one in files._folders().values() if one is not None]
    folder = next((one for one in folders if one.is_dir()), None)
    if folder is None:
        return
    for _, entry in pd.read_csv(folder / "index.csv").iterrows():
        yield entry["name"], pd.read_csv(folder / f"{entry['name']}.csv.gz"), entry["target"]


def split(frame: Frame, target: str, kind: str, seed: int) -> Split | None:
    """Return training and test rows, some of which are abnormal; None without a rare class."""
    rng = np.random.default_rng(seed)
    if kind == "corrupted rows":
        order = rng.permutation(len(frame))
        half = len(frame) // 2
        train, test = frame.iloc[order[:half]], frame.iloc[order[half:]].copy()
        is_abnormal = np.arange(len(test)) % 2 == 1
        changed = is_abnormal[:, None] & _third(len(test), frame.shape[1], rng)
        for j, name in enumerate(frame.columns):
            others = test[name].iloc[rng.permutation(len(test))].to_numpy()
            test[name] = test[name].where(~changed[:, j], others)
    else:
        counts = frame[target].value_counts(normalize=True)
        if counts.iloc[-1] > LARGEST_CLASS:
            return None
        is_rare = (frame[target] == counts.index[-1]).to_numpy()
        usual, rare = (rng.permutation(np.flatnonzero(one)) for one in (~is_rare, is_rare))
        half = len(usual) // 2
        n_few = min(round(FEW * half), len(rare) // 2) if kind.endswith("few") else 0
        train = frame.iloc[np.r_[usual[:half], rare[:n_few]]].drop(columns=target)
        test = frame.iloc[np.r_[usual[half:], rare[n_few:]]].drop(columns=target)
        is_abnormal = np.arange(len(test)) >= len(usual) - half
    varying = [name for name in train if train[name].nunique(dropna=False) > 1]
    return Split(train[varying], test[varying], is_abnormal)


def _third(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of a third of the cells of every row, at random."""
    return rng.random((n, d)).argsort(axis=1) < max(round(d / 3), 1)


# --- detectors ------------------------------------------------------------------------------------


def _encoded(fit: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]], X: Frame) -> Scorer:
    booleans = dict.fromkeys(X.select_dtypes("bool"), str)  # imputers reject them
    encoder = one_hot().fit(X.astype(booleans))
    score = fit(encoder.transform(X.astype(booleans)))
    return lambda Y: score(encoder.transform(Y.astype(booleans)))


def _mixture(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    made = [GaussianMixture(k, reg_covar=1e-3, random_state=0).fit(X) for k in (1, 2, 3, 4, 5)]
    best = min(made, key=lambda one: one.bic(X))
    return lambda Y: -best.score_samples(Y)


def _kernel_density(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    squares = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    d = X.shape[1]
    bandwidths = np.geomspace(0.03, 3, 20) * np.sqrt(d)
    gains = [
        np.maximum(logsumexp(-squares / (2 * h**2), axis=1), -1e6).sum() - len(X) * d * np.log(h)
        for h in bandwidths
    ]
    h = bandwidths[int(np.argmax(gains))]
    return lambda Y: -logsumexp(-cdist(Y, X, "sqeuclidean") / (2 * h**2), axis=1)


def _lof(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    model = LocalOutlierFactor(novelty=True).fit(X)
    return lambda Y: -model.score_samples(Y)


def _forest(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    model = IsolationForest(random_state=0).fit(X)
    return lambda Y: -model.score_samples(Y)


def _gower(X: Frame) -> Scorer:
    """Return the mean Gower distance to the 5 nearest rows; a missing value is a category."""
    numbers = list(X.select_dtypes("number"))
    labels = [name for name in X if name not in numbers]
    ranges = np.ptp(X[numbers].fillna(X[numbers].median()).to_numpy(float), axis=0)

    def prepared(Y: Frame) -> tuple[np.ndarray, np.ndarray]:
        values = Y[numbers].fillna(X[numbers].median()).to_numpy(float) / ranges
        codes = [pd.Index(X[c].unique()).get_indexer(Y[c]) for c in labels]
        return values, np.array(codes).reshape(len(labels), len(Y)).T.astype(float)

    train = prepared(X)

    def score(Y: Frame) -> np.ndarray:
        new = prepared(Y)
        distances = cdist(new[0], train[0], "cityblock") if numbers else 0.0
        if labels:
            distances = distances + len(labels) * cdist(new[1], train[1], "hamming")
        return np.partition(distances, 5, axis=1)[:, :5].mean(axis=1)

    return score


def _reconstruction(X: Frame) -> Scorer:
    model = KernelPCA(30, kernel=table_kernel(X)).fit(X)
    return model.reconstruction_error


def _novelty(X: Frame, **settings: Any) -> Scorer:
    model = KernelNovelty(random_state=0, **settings).fit(X)
    return lambda Y: -model.score_samples(Y)


PEERS: dict[str, Callable[[Frame], Scorer]] = {
    "one-hot, Gaussian mixture by BIC": partial(_encoded, _mixture),
    "one-hot, KDE, leave-one-out bandwidth": partial(_encoded, _kernel_density),
    "one-hot, LOF": partial(_encoded, _lof),
    "one-hot, isolation forest": partial(_encoded, _forest),
    "Gower distance to 5 neighbors": _gower,
    "KernelPCA(30, table_kernel), reconstruction": _reconstruction,
}
OURS: dict[str, Callable[[Frame], Scorer]] = {
    "KernelNovelty()": _novelty,
    "KernelNovelty(statistic='conditional')": partial(_novelty, statistic="conditional"),
    "KernelNovelty(statistic='neighbors')": partial(_novelty, statistic="neighbors"),
    "KernelNovelty(statistic='mixture')": partial(_novelty, statistic="mixture"),
}
METHODS = OURS | PEERS


# --- comparison -----------------------------------------------------------------------------------


class Result(NamedTuple):
    table: str
    aurocs: np.ndarray  # of the methods
    seconds: np.ndarray  # CPU time


def evaluate(kind: str, n_splits: int) -> Iterator[Result]:
    """Yield the mean results of every table with this kind of abnormal rows."""
    for name, frame, target in load():
        found = []
        for seed in range(n_splits):
            rows = split(frame, target, kind, seed)
            if rows is not None:
                found.append([_result(make, rows) for make in METHODS.values()])
        if found:
            print(kind, name, file=sys.stderr, flush=True)
            yield Result(name, *np.mean(found, axis=0).T)


def _result(make: Callable[[Frame], Scorer], rows: Split) -> tuple[float, float]:
    begin = time.process_time()
    scores = make(rows.train)(rows.test)
    spent = time.process_time() - begin
    return roc_auc_score(rows.is_abnormal, np.nan_to_num(scores, posinf=1e300)), spent


def quality(n_splits: int) -> Iterator[str]:
    """Compare means and wins of the methods, then the tables, for every kind."""
    for kind in KINDS:
        found = list(evaluate(kind, n_splits))
        if not found:
            yield "The tables were not found. Set MERCER_DATA to the folder above them.\n"
            return
        values = np.array([one.aurocs for one in found])
        rows = []
        for i, name in enumerate(METHODS):
            change = values[:, i] - values[:, 0]
            error = change.std(ddof=1) / np.sqrt(len(found))
            against = "" if i == 0 else f"{change.mean():+.3f} ± {error:.3f}"
            wins = "" if i == 0 else f"{(change < 0).sum()} / {len(found)}"
            spent = np.mean([one.seconds[i] for one in found])
            rows.append((name, f"{values[:, i].mean():.3f}", against, wins, f"{spent:.2f} s"))
        header = ("method", "AUROC", "difference", "first is better", "CPU time")
        yield table(f"{kind}: means over {len(found)} tables", rows, header)
        rows = [(one.table, *(f"{value:.2f}" for value in one.aurocs)) for one in found]
        yield table(f"{kind}: AUROC on each table", rows, ("table", *METHODS))


def false_alarms(n_splits: int) -> str:
    """Count alarms among new clean rows: the uncorrupted ones, with all training rows clean."""
    found = []
    for _, frame, target in load():
        for seed in range(n_splits):
            rows = split(frame, target, "corrupted rows", seed)
            for calibration in ("auto", "split"):
                model = KernelNovelty(calibration=calibration, random_state=0).fit(rows.train)
                p = model.p_values(rows.test[~rows.is_abnormal])
                found.append([(p <= rate).mean() for rate in RATES])
    values = np.array(found).reshape(-1, n_splits, 2, len(RATES)).mean(axis=1)
    rows = []
    for i, calibration in enumerate(("auto", "split")):
        means, errors = values[:, i].mean(axis=0), values[:, i].std(axis=0, ddof=1)
        cells = [
            f"{100 * m:.2f} ± {100 * e / np.sqrt(len(values)):.2f} %"
            for m, e in zip(means, errors, strict=True)
        ]
        rows.append((calibration, *cells))
    header = ("calibration", *(f"{100 * rate:g} %" for rate in RATES))
    return table(f"False alarms, means over {len(values)} tables", rows, header)


def tables(n_splits: int = N_SPLITS) -> Iterator[str]:
    """A size (``table_rows:1``) is the number of random splits of each table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from quality(n_splits)
        yield false_alarms(n_splits)
