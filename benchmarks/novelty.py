"""Novelty detection on public tables and embeddings with known anomalies, compared with others.

The sets are in the folders ``novelty`` and ``embeddings`` of the data that ``mercer.datasets`` uses
(files with the arrays X and y, where y = 1 marks anomalies; from ADBench, Han et al. 2022).
Protocol: stratified random halves; columns standardized by the training half; at most 3,000
training rows and 20,000 test rows, drawn at random; no labels are used for fitting. Anomalies stay
in the training half, unless "clean training" is stated (without the slower fixed statistics).
Nothing is tuned for single sets.

A size (``novelty:5000``) is the largest number of test rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks.measure import extra_peak, table
from mercer import KernelNovelty
from papers.data import files

_MAX_TRAINING, _MAX_TEST = 3000, 20_000
_SMALL = 1000  # sets with fewer rows are divided several times
_N_SPLITS = 2
_RATES = (0.01, 0.05, 0.1)
_MAX_DEFICIT = 0.15  # against the best other detector of a set

Scorer = Callable[[np.ndarray], np.ndarray]
Detector = Callable[[np.ndarray], Scorer]  # large scores are abnormal


# --- methods ------------------------------------------------------------------------------------


def _scikit_learn(make: Callable[[], Any], X: np.ndarray) -> Scorer:
    model = make().fit(X)
    return lambda Y: -model.score_samples(Y)


def _neighbors(X: np.ndarray) -> Scorer:
    search = NearestNeighbors(n_neighbors=5).fit(X)
    return lambda Y: search.kneighbors(Y)[0][:, -1]


def _mahalanobis(X: np.ndarray) -> Scorer:
    inverse, mean = np.linalg.pinv(np.cov(X.T) + 1e-6 * np.eye(X.shape[1])), X.mean(axis=0)
    return lambda Y: np.einsum("ij,ij->i", (Y - mean) @ inverse, Y - mean)


def _pyod(module: str, name: str, X: np.ndarray) -> Scorer:
    from importlib import import_module

    model = getattr(import_module(f"pyod.models.{module}"), name)().fit(X)
    return lambda Y: np.nan_to_num(model.decision_function(Y))


STATISTICS = ("auto", "neighbors", "mahalanobis", "density", "mixture", "spe", "t2", "combined")
OURS: dict[str, Detector] = {
    f"KernelNovelty, {name}": partial(
        _scikit_learn, partial(KernelNovelty, statistic=name, random_state=0)
    )
    for name in STATISTICS
}
OURS["KernelNovelty, robust=False"] = partial(
    _scikit_learn, partial(KernelNovelty, robust=False, random_state=0)
)
PEERS: dict[str, Detector] = {
    "IsolationForest": partial(_scikit_learn, partial(IsolationForest, random_state=0)),
    "LOF": partial(_scikit_learn, partial(LocalOutlierFactor, novelty=True)),
    "5th neighbor": _neighbors,
    "OneClassSVM": partial(_scikit_learn, OneClassSVM),
    "Mahalanobis": _mahalanobis,
}
if find_spec("pyod"):
    for _module, _name in (("ecod", "ECOD"), ("copod", "COPOD"), ("kpca", "KPCA")):
        PEERS[f"{_name} (PyOD)"] = partial(_pyod, _module, _name)
METHODS = OURS | PEERS
#: Fixed statistics that are left out with clean training, to save time.
_SLOW = {f"KernelNovelty, {name}" for name in ("density", "mixture", "spe", "t2", "combined")}


# --- sets ---------------------------------------------------------------------------------------


def paths(kind: str) -> list[Path]:
    """Return the files of a kind of sets, "novelty" or "embeddings"."""
    folders = [one / kind for one in files._folders().values() if one is not None]
    found = next((one for one in folders if one.is_dir()), None)
    return [] if found is None else sorted(found.glob("*.npz"))


def splits(
    path: Path, clean: bool, max_test: int = _MAX_TEST
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield training rows, test rows and labels of the test rows."""
    with np.load(path) as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(int)
    for seed in range(_N_SPLITS if len(X) < _SMALL else 1):
        rng = np.random.default_rng(seed)
        train, test = train_test_split(
            np.arange(len(X)), test_size=0.5, stratify=y, random_state=seed
        )
        train = train[y[train] == 0] if clean else train
        train = rng.permutation(train)[:_MAX_TRAINING]
        test = rng.permutation(test)[:max_test]
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), scaler.transform(X[test]), y[test]


def _evaluate(path: Path, methods: dict[str, Detector], clean: bool, max_test: int) -> np.ndarray:
    """Return AUROC, average precision, fit and score time of each method."""
    print(path.stem, "clean" if clean else "", file=sys.stderr, flush=True)
    found = []
    for X, Y, y in splits(path, clean, max_test):
        row = []
        for method in methods.values():
            begin = time.process_time()
            score = method(X)
            middle = time.process_time()
            scores = score(Y)
            end = time.process_time()
            quality = roc_auc_score(y, scores), average_precision_score(y, scores)
            row.append((*quality, middle - begin, end - middle))
        found.append(row)
    return np.mean(found, axis=0)


def quality(
    kinds: tuple[str, ...] = ("novelty", "embeddings"),
    clean: bool = False,
    max_test: int = _MAX_TEST,
) -> Iterator[str]:
    """Compare all methods: means and mean ranks per kind, then each set."""
    chosen = [(kind, path) for kind in kinds for path in paths(kind)]
    if not chosen:
        yield "The novelty sets were not found. Set MERCER_DATA to the folder above them.\n"
        return
    methods = {name: one for name, one in METHODS.items() if not (clean and name in _SLOW)}
    values = np.array([_evaluate(path, methods, clean, max_test) for _, path in chosen])
    title = "clean training" if clean else "anomalies in the training rows"
    for kind in (*kinds, "all"):
        some = values[[kind in (one, "all") for one, _ in chosen]]
        ranks = [np.mean([rankdata(-row) for row in some[:, :, i]], axis=0) for i in (0, 1)]
        means = some.mean(axis=0)
        rows = [
            (
                name,
                *(f"{mean:.3f}", f"{ranks[0][i]:.1f}", f"{precision:.3f}", f"{ranks[1][i]:.1f}"),
                *(f"{fit:.2f} s", f"{score:.2f} s"),
            )
            for i, (name, (mean, precision, fit, score)) in enumerate(
                zip(methods, means, strict=True)
            )
        ]
        header = ("method", "AUROC", "rank", "average precision", "rank", "fit", "score")
        yield table(f"{kind}, {len(some)} sets, {title}", rows, header)
    rows = []
    for (_, path), row in zip(chosen, values, strict=True):
        cells, deficits = [path.stem], []
        for own, peers in zip(row[0, :2], row[-len(PEERS) :, :2].T, strict=True):
            cells += [f"{own:.2f}", f"{peers.max():.2f}", list(PEERS)[int(peers.argmax())]]
            deficits.append(peers.max() - own)
        rows.append((*cells, "*" if max(deficits) > _MAX_DEFICIT else ""))
    header = (
        *("set", "AUROC", "best other", "method"),
        *("average precision", "best other", "method", f"deficit > {_MAX_DEFICIT:g}"),
    )
    yield table(f"KernelNovelty on each set, {title}", rows, header)


# --- false alarms -------------------------------------------------------------------------------


def _normal_rows(path: Path) -> np.ndarray:
    with np.load(path) as stored:
        return stored["X"][stored["y"] == 0].astype(float)


def false_alarms(n: int = 200, repeats: int = 200) -> str:
    """Compare promised and measured false alarms of models of n normal rows, on other rows."""
    sources: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "normal, 8 columns": lambda rng: rng.normal(size=(n + 1000, 8)),
        "t with 3 degrees, 4 columns": lambda rng: rng.standard_t(3, size=(n + 1000, 4)),
        "normal, 150 columns": lambda rng: rng.normal(size=(n + 1000, 150)),
    }
    for path in paths("novelty"):
        X = _normal_rows(path)
        if len(X) > 3 * n and X.shape[1] <= 100:
            sources[path.stem] = partial(_drawn, X, n)
    rows = []
    for name, draw in sources.items():
        for calibration in ("auto", "split"):
            found = np.empty((repeats, len(_RATES)))
            for seed in range(repeats):
                X = draw(np.random.default_rng(seed))
                model = KernelNovelty(calibration=calibration, random_state=seed).fit(X[:n])
                p = model.p_values(X[n:])
                found[seed] = [(p <= rate).mean() for rate in _RATES]
            errors = found.std(axis=0) / np.sqrt(repeats)
            cells = [
                f"{100 * m:.2f} ± {100 * e:.2f} %"
                for m, e in zip(found.mean(axis=0), errors, strict=True)
            ]
            rows.append((name, calibration, f"{100 / (model.n_calibration_ + 1):.2f} %", *cells))
    header = ("rows", "calibration", "1/(n_cal + 1)", *(f"{100 * r:g} %" for r in _RATES))
    return table(f"False alarms of {repeats} models of {n} rows", rows, header)


def _drawn(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return X[rng.permutation(len(X))[: n + 1000]]


# --- speed --------------------------------------------------------------------------------------


def hundred_thousand() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(10**5, 30))


def million() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(10**6, 30))


def score_million(Y: np.ndarray) -> np.ndarray:
    return KernelNovelty().fit(hundred_thousand()[:5000]).score_samples(Y)


def speed() -> str:
    X, Y = hundred_thousand(), million()
    rows = []
    for name in ("KernelNovelty, auto", "KernelNovelty, mixture", "IsolationForest"):
        begin = time.process_time()
        score = METHODS[name](X)
        middle = time.process_time()
        score(Y)
        rows.append((name, f"{middle - begin:.1f} s", f"{time.process_time() - middle:.1f} s"))
    memory = extra_peak(__name__, million.__name__, score_million.__name__)
    title = (
        "CPU time: fit to 100,000 × 30, score of 1,000,000 × 30; "
        f"memory of KernelNovelty while scoring: {memory:.0f} MB"
    )
    return table(title, rows, ("method", "fit", "score"))


def tables(max_test: int = _MAX_TEST) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield speed()
        yield false_alarms()
        yield from quality(max_test=max_test)
        yield from quality(clean=True, max_test=max_test)
