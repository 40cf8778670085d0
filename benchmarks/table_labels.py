"""Class labels of 26 public tables with categories and missing values, compared with others.

The tables are those of Rdatasets in ``tables/`` of the folder ``MERCER_DATA``. The form of the
kernel that "table" stands for in ``KernelLDA`` was chosen on every other table in the order of
``index.csv``. Methods have default parameters and the same three folds.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.measure import table
from benchmarks.mixed_tables import one_hot
from mercer import KernelLDA
from mercer.kernels import Table

ROWS = 1000  # of each table
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
METHODS: dict[str, Callable[[], ClassifierMixin]] = {
    'KernelLDA(kernel="table"), the sum': lambda: KernelLDA(kernel="table"),
    "KernelLDA, product of column kernels": lambda: KernelLDA(kernel=Table("product")),
    "one-hot, KernelLDA()": lambda: make_pipeline(one_hot(), KernelLDA()),
    "one-hot, SVC": lambda: make_pipeline(one_hot(), SVC(probability=True, random_state=0)),
    "one-hot, gradient boosting": lambda: make_pipeline(
        one_hot(), HistGradientBoostingClassifier(random_state=0)
    ),
}


def load(folder: Path, name: str, target: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return random rows of a table and their labels, without classes of fewer than six rows."""
    frame = pd.read_csv(folder / f"{name}.csv.gz").dropna(subset=[target])
    frame = frame.sample(min(ROWS, len(frame)), random_state=0).reset_index(drop=True)
    counts = frame[target].value_counts()
    frame = frame[frame[target].isin(counts.index[counts >= 6])].reset_index(drop=True)
    X = frame.drop(columns=target)
    flags = X.select_dtypes("bool").columns
    return X.astype(dict.fromkeys(flags, str)), frame[target].astype(str).to_numpy()


def evaluate(
    make: Callable[[], ClassifierMixin], X: pd.DataFrame, y: np.ndarray
) -> tuple[float, float, float]:
    """Return accuracy, log loss and CPU time of held-out predictions."""
    classes, codes = np.unique(y, return_inverse=True)
    probabilities = np.zeros((len(y), len(classes)))
    begin = time.process_time()
    for train, test in FOLDS.split(X, y):
        model = make().fit(X.iloc[train], y[train])
        probabilities[test] = model.predict_proba(X.iloc[test])
    spent = time.process_time() - begin
    probabilities = np.clip(probabilities, 1e-6, 1)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    loss = -np.log(probabilities[np.arange(len(y)), codes]).mean()
    return float((probabilities.argmax(axis=1) == codes).mean()), float(loss), spent


def tables() -> Iterator[str]:
    folder = Path(os.environ.get("MERCER_DATA", "../shared/data")) / "tables"
    index = pd.read_csv(folder / "index.csv")
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in METHODS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, target in zip(index["name"], index["target"], strict=True):
            X, y = load(folder, name, target)
            for method, make in METHODS.items():
                found[method].append(evaluate(make, X, y))
    for half, title in ((slice(0, None, 2), "chosen on these"), (slice(1, None, 2), "judged on")):
        rows = []
        for method, values in found.items():
            accuracy, loss, spent = np.array(values[half]).T
            rows.append(
                (method, f"{accuracy.mean():.3f}", f"{loss.mean():.3f}", f"{spent.sum():.1f} s")
            )
        header = ("method", "accuracy", "log loss", "CPU time")
        yield table(f"Labels of {len(values[half])} tables, {title}", rows, header)
