"""KernelLDA compared with other classifiers by nested cross-validation; many points; memory.

Every method follows a StandardScaler and is tuned in the inner folds over a grid of its own
parameters; the kernel methods have the same grid of bandwidths. Times include the whole search and
the final fit, and are means over the outer folds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.measure import best_times, extra_peak, table
from benchmarks.solvers import seconds
from mercer import KernelLDA
from mercer.kernels import Gaussian
from mercer.solvers import Nystrom
from papers.data import load_ida, load_segment, load_thyroid

MAX_ROWS = 1000
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)  # times √d, after standardization
LANDMARKS = 200


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)
    yield "thyroid", *load_thyroid(return_X_y=True)
    yield "segment", *load_segment(return_X_y=True)
    for name in ("heart", "german", "banana", "ringnorm", "image"):
        yield name, *load_ida(name, return_X_y=True)


def subsample(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most MAX_ROWS rows, and their integer class codes."""
    rows = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    return X[rows], np.unique(y, return_inverse=True)[1][rows]


def searches(d: int) -> dict[str, GridSearchCV]:
    bandwidths = [float(bandwidth * d**0.5) for bandwidth in BANDWIDTHS]
    gammas = [1 / (2 * bandwidth**2) for bandwidth in bandwidths]
    nystroem = Nystroem(n_components=LANDMARKS, random_state=0)
    lda = LinearDiscriminantAnalysis(solver="lsqr")
    return {
        "KernelLDA": _search(
            [("lda", KernelLDA(kernel=Gaussian(1.0), regularization="cv"))],
            {"lda__kernel__bandwidth": bandwidths},
        ),
        "QDA": _search(
            [("qda", QuadraticDiscriminantAnalysis(solver="eigen"))],
            {"qda__shrinkage": [1e-3, 0.01, 0.1, 0.5]},
        ),
        "SVC(rbf)": _search([("svc", SVC())], {"svc__gamma": gammas, "svc__C": [1.0, 10.0, 100.0]}),
        "Nystroem + LDA": _search(
            [("features", nystroem), ("lda", lda)],
            {"features__gamma": gammas, "lda__shrinkage": [1e-4, 1e-3, 0.01, 0.1]},
        ),
    }


def _search(steps: list[tuple[str, Any]], grid: dict[str, Any]) -> GridSearchCV:
    return GridSearchCV(Pipeline([("scale", StandardScaler()), *steps]), grid, cv=4)


def compare(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Return errors and log-losses on the outer folds, and mean times."""
    results = {}
    for name, search in searches(X.shape[1]).items():
        errors, losses, spent = [], [], 0.0
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            begin = time.perf_counter()
            search.fit(X[train], y[train])
            spent += (time.perf_counter() - begin) / 5
            errors.append(100 * np.mean(search.predict(X[test]) != y[test]))
            if hasattr(search, "predict_proba"):
                losses.append(log_loss(y[test], search.predict_proba(X[test])))
        results[name] = np.array(errors), np.array(losses), spent
    return results


def real_data() -> Iterator[str]:
    errors, losses = [], []
    for name, X, y in data_sets():
        X, y = subsample(X, y)
        found = compare(X, y)
        shape = f"{name} ({len(X)} × {X.shape[1]}, {y.max() + 1} classes)"
        errors.append(
            (shape, *(f"{e.mean():.1f} ± {e.std():.1f}, {t:.1f} s" for e, _, t in found.values()))
        )
        losses.append(
            (shape, *(f"{loss.mean():.3f}" for _, loss, _ in found.values() if len(loss)))
        )
    names = list(searches(1))
    yield table("Error in % (5 outer folds), time of search and fit", errors, ("data set", *names))
    probabilistic = [name for name in names if name != "SVC(rbf)"]
    yield table(
        "Log-loss of probabilities on the outer folds", losses, ("data set", *probabilistic)
    )


# --- many points ----------------------------------------------------------------------------------


def scales(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that differ in scale only, which a linear method cannot separate."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) * np.array([1.0, 1.5, 2.0])[y][:, None], y


def twenty_thousand() -> tuple[np.ndarray, np.ndarray]:
    return scales(20_000)


def million_in_plane() -> tuple[np.ndarray, np.ndarray]:
    return scales(1_000_000, 2)


def fit(data: tuple[np.ndarray, np.ndarray]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KernelLDA(rank=100 if len(data[0]) > 100_000 else None).fit(*data)


def many_points() -> Iterator[str]:
    data, few = twenty_thousand(), scales(4000)
    test = scales(30_000)[0][-5000:], scales(30_000)[1][-5000:]
    times = best_times(
        {
            "auto": lambda: fit(data),
            "svc": lambda: SVC(C=10, gamma=1 / 40).fit(*few),
        },
        rounds=2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = KernelLDA(solver=Nystrom(1000)).fit(*data).score(*test)
    peer = SVC(C=10, gamma=1 / 40).fit(*few).score(*test)
    rows = [
        ("KernelLDA, 20,000 × 10", seconds(times["auto"]), f"{100 * (1 - ours):.1f} %"),
        ("SVC(rbf), 4000 × 10", seconds(times["svc"]), f"{100 * (1 - peer):.1f} %"),
    ]
    yield table("Many points: three classes of different scale", rows, ("fit", "time", "error"))
    rows = [
        ("20,000 × 10", f"{extra_peak(__name__, 'twenty_thousand', 'fit'):.0f} MB", "3200 MB"),
        (
            "10⁶ × 2, rank 100",
            f"{extra_peak(__name__, 'million_in_plane', 'fit'):.0f} MB",
            "8 TB",
        ),
    ]
    yield table("Peak memory in addition to the data", rows, ("KernelLDA", "growth", "K alone"))


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from many_points()
        yield from real_data()
