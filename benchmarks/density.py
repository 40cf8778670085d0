"""Densities: held-out likelihood on real data, cost and gain of learned weights, speed.

Every method chooses its one parameter (a factor on Silverman's bandwidth, or the number of
mixture components) by the same 5-fold cross-validation on the training part of each split, on
standardized columns. All data sets are reported.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from benchmarks.large_samples import clouds
from benchmarks.measure import best_times, table
from mercer import ParzenDensity, SeriesDensity
from mercer.bandwidth import silverman
from mercer.datasets import load_ida, load_thyroid, make_clusters
from mercer.kernels import Gaussian

FACTORS = np.geomspace(0.3, 2.0, 7)
COMPONENTS = [1, 2, 3, 4, 6, 8]
SPLITS = 3


def data_sets() -> dict[str, np.ndarray]:
    """Return real data sets of one to five columns; unavailable ones are skipped."""
    iris, wine, diabetes = load_iris().data, load_wine().data, load_diabetes().data
    sets = {
        "iris petal length (1)": iris[:, 2:3],
        "wine flavanoids (1)": wine[:, 6:7],
        "iris sepals (2)": iris[:, :2],
        "wine 1, 7 (2)": wine[:, [0, 6]],
        "diabetes bmi, bp, s5 (3)": diabetes[:, [2, 3, 8]],
        "iris (4)": iris,
        "wine 1-5 (5)": wine[:, :5],
    }
    for name, load in {
        "thyroid (5)": lambda: load_thyroid().data,
        "banana, 400 rows (2)": lambda: load_ida("banana").data[:400],
    }.items():
        try:
            sets[name] = load()
        except FileNotFoundError:
            print(f"{name}: skipped, the data are not available")
    return sets


class SciPyKDE(BaseEstimator):
    """``scipy.stats.gaussian_kde`` (full covariance) with scikit-learn's interface."""

    def __init__(self, bandwidth: float = 1.0) -> None:
        self.bandwidth = bandwidth

    def fit(self, X: np.ndarray, y: object = None) -> SciPyKDE:
        self.kde_ = gaussian_kde(X.T, bw_method=self.bandwidth)
        return self

    def score(self, X: np.ndarray, y: object = None) -> float:
        return float(self.kde_.logpdf(X.T).mean())


class KDEpyNaive(BaseEstimator):
    """KDEpy's exact estimate with scikit-learn's interface."""

    def __init__(self, bandwidth: float = 1.0) -> None:
        self.bandwidth = bandwidth

    def fit(self, X: np.ndarray, y: object = None) -> KDEpyNaive:
        from KDEpy import NaiveKDE

        self.kde_ = NaiveKDE(kernel="gaussian", bw=self.bandwidth).fit(X)
        return self

    def score(self, X: np.ndarray, y: object = None) -> float:
        return float(np.log(np.maximum(self.kde_.evaluate(X), 1e-300)).mean())


def searches(X: np.ndarray) -> dict[str, GridSearchCV]:
    widths = silverman(X) * FACTORS
    folds = KFold(5, shuffle=True, random_state=0)

    def search(model: object, **grid: object) -> GridSearchCV:
        return GridSearchCV(model, grid, cv=folds)

    parzen = ParzenDensity(kernel=Gaussian(1.0))
    learned = ParzenDensity(kernel=Gaussian(1.0), weights="learned")
    series = SeriesDensity(kernel=Gaussian(1.0), terms="diggle-hall", max_terms=50)
    found = {
        "Parzen": search(parzen, kernel__bandwidth=widths),
        "Parzen, learned weights": search(learned, kernel__bandwidth=widths),
        "series (diggle-hall)": search(series, kernel__bandwidth=widths),
        "sklearn KernelDensity": search(KernelDensity(), bandwidth=widths),
        "scipy gaussian_kde": search(
            SciPyKDE(), bandwidth=FACTORS * len(X) ** (-1 / (X.shape[1] + 4))
        ),
        "sklearn GaussianMixture": search(
            GaussianMixture(reg_covar=1e-3, n_init=2, random_state=0), n_components=COMPONENTS
        ),
    }
    if find_spec("KDEpy"):
        found["KDEpy NaiveKDE"] = search(KDEpyNaive(), bandwidth=widths)
    return found


def held_out() -> str:
    rows = []
    names: list[str] = []
    for label, raw in data_sets().items():
        scores: dict[str, list[float]] = {}
        for train, test in ShuffleSplit(SPLITS, test_size=0.25, random_state=0).split(raw):
            scaler = StandardScaler().fit(raw[train])
            X, Y = scaler.transform(raw[train]), scaler.transform(raw[test])
            for name, model in searches(X).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    score = model.fit(X).score(Y)
                # The score of KernelDensity is a sum, that of the other estimators a mean.
                is_sum = isinstance(model.estimator, KernelDensity)
                scores.setdefault(name, []).append(score / len(Y) if is_sum else score)
        names = list(scores)
        rows.append((f"{label}, n={len(raw)}", *[f"{np.mean(scores[n]):.3f}" for n in names]))
    return table(
        f"Mean held-out log density (nats per point, {SPLITS} splits; higher is better)",
        rows,
        ("data set (columns)", *names),
    )


def learned_weights() -> str:
    rows = []
    for n in (300, 1000, 3000):
        X, _ = make_clusters((n // 3,) * 3, spread=0.3, random_state=0)
        Y, _ = make_clusters((3000,) * 3, spread=0.3, random_state=1)
        plain = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X)
        learned = ParzenDensity(kernel=plain.kernel_, weights="learned").fit(X)
        times = best_times(
            {
                "plain": partial(plain.score_samples, Y),
                "learned": partial(learned.score_samples, Y),
            }
        )
        rows.append(
            (
                f"n={n}",
                f"{len(learned.support_)}",
                f"{plain.score(Y):.4f}",
                f"{learned.score(Y):.4f}",
                f"{times['plain'] / times['learned']:.1f}×",
            )
        )
    return table(
        "Learned weights: kernels with positive weight, held-out log density, evaluation",
        rows,
        ("sample", "kernels with positive weight", "equal", "learned", "speedup of evaluation"),
    )


MAX_SECONDS = 60.0  # per run of another library
MILLION = 10**6


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _extrapolated_time(run: Callable[[np.ndarray, np.ndarray], object]) -> tuple[float, int]:
    """Extrapolate the time for a million points at a million others; return it and the largest n.

    The sample size doubles as long as a run is expected to take at most MAX_SECONDS. The time of
    the other libraries is proportional to the number of pairs, or slightly less for a tree.
    """
    n, spent, steps = 1000, 0.0, []
    while True:
        X, Y = clouds(n), clouds(n)[::-1].copy()
        spent = _seconds(lambda X=X, Y=Y: run(X, Y))
        steps.append((n, spent))
        growth = 4.0 if len(steps) < 2 else max(steps[-1][1] / steps[-2][1], 1.0)
        if spent * growth > MAX_SECONDS or n >= MILLION:
            break
        n *= 2
    (small, before), (large, after) = steps[-2:]
    power = np.log(after / before) / np.log(large / small)
    return after * (MILLION / large) ** power, large


def speed() -> str:
    X, Y = clouds(MILLION), clouds(MILLION)[::-1].copy() + 1e-3
    width = silverman(X)

    def ours(solver: object = "auto") -> np.ndarray:
        return ParzenDensity(kernel=Gaussian(width), solver=solver).fit(X).score_samples(Y)

    mine = min(_seconds(ours) for _ in range(3))
    rows = [("ParzenDensity", f"{mine:.2f} s", "1", "measured")]
    for name, run in {
        "scikit-learn KernelDensity (rtol 1e-6)": lambda A, B: (
            KernelDensity(bandwidth=silverman(A), rtol=1e-6).fit(A).score_samples(B)
        ),
        "scipy gaussian_kde": lambda A, B: gaussian_kde(A.T).logpdf(B.T),
    }.items():
        expected, largest = _extrapolated_time(run)
        note = f"extrapolated from n = {largest}"
        rows.append((name, f"{expected:.0f} s", f"{expected / mine:.0f}×", note))
    if find_spec("KDEpy"):
        from KDEpy import FFTKDE

        fft = min(_seconds(lambda: FFTKDE(bw=width).fit(X).evaluate((512, 512))) for _ in range(3))
        rows.append(
            ("KDEpy FFTKDE, grid 512 × 512", f"{fft:.2f} s", f"{fft / mine:.2f}×", "measured")
        )
    few = SeriesDensity(kernel=Gaussian(width), terms=50, positive=False)
    series = _seconds(lambda: few.fit(X).pdf(Y))
    rows.append(("SeriesDensity, 50 terms", f"{series:.1f} s", f"{series / mine:.1f}×", "measured"))
    return table(
        "A million points at a million others, two columns, fit and evaluation",
        rows,
        ("density", "time", "relative to ParzenDensity", ""),
    )


def accuracy() -> str:
    """Return the largest relative error of the fast sum at 200 points, by direct summation."""
    X = clouds(MILLION)
    Y = clouds(MILLION)[:: MILLION // 200]
    kernel = Gaussian(silverman(X))
    fast = ParzenDensity(kernel=kernel).fit(X).pdf(Y)
    exact = np.array([kernel(Y[i : i + 1], X).mean() for i in range(len(Y))]) / kernel.normalizer(2)
    worst = np.abs(fast / exact - 1).max()
    rows = [("ParzenDensity, 10⁶ points", f"{worst:.1e}")]
    return table("Accuracy of the fast sum", rows, ("density", "largest relative error"))


def tables() -> Iterator[str]:
    """Yield all tables of this module."""
    for make in (speed, accuracy, held_out, learned_weights):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield make()
