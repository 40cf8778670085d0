"""Densities: held-out likelihood on real data, cost and gain of learned weights, speed.

Held-out likelihood: 32 tables (benchmarks.density_tables), every method with its own best practice,
nothing is chosen on held-out rows. Our estimators get the columns in their units.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.neighbors import KernelDensity

from benchmarks.density_tables import DEVELOPMENT, REPORT, load
from benchmarks.large_samples import clouds
from benchmarks.measure import best_times, table
from mercer import ParzenDensity, SeriesDensity, StackedDensity
from mercer.bandwidth import silverman
from mercer.datasets import make_clusters
from mercer.kernels import Gaussian

SPLITS = 3
BANDWIDTHS = np.geomspace(0.05, 2.0, 24)  # of standardized columns
COMPONENTS = range(1, 9)
Logs = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of the second rows, fitted to the first


def ours(model: object) -> Logs:
    """Return the log densities of one of our estimators, in the units of the table."""
    return lambda X, Y: clone(model).fit(X).score_samples(Y)


def standardized(logs: Logs) -> Logs:
    """Standardize the columns first; log densities are those of the table."""

    def run(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        center, scale = X.mean(axis=0), X.std(axis=0)
        return logs((X - center) / scale, (Y - center) / scale) - np.log(scale).sum()

    return run


def whitened(logs: Logs) -> Logs:
    """Rotate standardized columns to principal components of variance 1."""

    def run(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(X.T, bias=True)))
        rotation = vectors / np.sqrt(values)
        return logs(X @ rotation, Y @ rotation) - 0.5 * np.log(values).sum()

    return standardized(run)


def cross_validated(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """scikit-learn's KernelDensity with the bandwidth by 5-fold cross-validation."""
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=folds)
    return search.fit(X).best_estimator_.score_samples(Y)


def improved_sheather_jones(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """KDEpy in one dimension. Densities that underflow count as 1e-300."""
    from KDEpy import NaiveKDE

    density = NaiveKDE(kernel="gaussian", bw="ISJ").fit(X[:, 0]).evaluate(Y[:, 0])
    return np.log(np.maximum(density, 1e-300))


def mixture_by_bic(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """scikit-learn's mixture: type of covariance and number of components by BIC.

    With fewer than five rows per column and component BIC chooses singular covariances.
    """
    fits = [
        GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        for kind in ("full", "tied", "diag", "spherical")
        for k in COMPONENTS
        if k <= max(1, len(X) // (5 * X.shape[1]))
    ]
    return min(fits, key=lambda fit: fit.bic(X)).score_samples(Y)


METHODS: dict[str, Logs] = {
    "Parzen": ours(ParzenDensity()),
    "adaptive": ours(ParzenDensity(adaptive=True)),
    "shape": ours(ParzenDensity(adaptive="shape")),
    "stacked": ours(StackedDensity()),
    "KernelDensity": standardized(cross_validated),
    "KernelDensity, whitened": whitened(cross_validated),
    "gaussian_kde": lambda X, Y: gaussian_kde(X.T).logpdf(Y.T),
    "KDEpy": standardized(improved_sheather_jones),
    "GaussianMixture": standardized(mixture_by_bic),
    "one Gaussian": standardized(lambda X, Y: GaussianMixture(1).fit(X).score_samples(Y)),
}


def held_out_logs(name: str) -> dict[str, np.ndarray]:
    """Return log densities of the held-out rows of all splits, in standard deviations."""
    X = load(name)
    found: dict[str, list[np.ndarray]] = {}
    for train, test in ShuffleSplit(SPLITS, test_size=0.25, random_state=0).split(X):
        units = np.log(X[train].std(axis=0)).sum()
        for method, logs in METHODS.items():
            if method == "KDEpy" and X.shape[1] > 1:
                continue  # the same function as KernelDensity
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.setdefault(method, []).append(logs(X[train], X[test]) + units)
    return {method: np.concatenate(parts) for method, parts in found.items()}


def held_out() -> Iterator[str]:
    """Yield the table of mean log densities, and that of differences to the default."""
    means: dict[str, dict[str, float]] = {}
    rows, worse = [], []
    for part, names in (("chosen on", DEVELOPMENT), ("reported", REPORT)):
        for name in names:
            try:
                X = load(name)
            except FileNotFoundError:
                print(f"{name}: skipped, the data are not available")
                continue
            logs = held_out_logs(name)
            means[name] = {method: float(np.mean(values)) for method, values in logs.items()}
            cells = [f"{means[name][m]:.3f}" if m in logs else "" for m in METHODS]
            rows.append((part, name, f"{len(X)} × {X.shape[1]}", *cells))
            difference = logs["Parzen"] - logs["one Gaussian"]
            error = difference.std() / np.sqrt(len(difference))
            if difference.mean() < 0:
                worse.append((name, f"{difference.mean():.3f}", f"{error:.3f}"))
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    yield table(
        f"Mean held-out log density (nats per point, columns in standard deviations, {SPLITS} "
        "splits; higher is better)",
        rows,
        ("defaults", "table", "size", *METHODS),
    )
    summary = []
    for method in METHODS:
        cells = []
        for names in (DEVELOPMENT, REPORT, {**DEVELOPMENT, **REPORT}):
            gains = [
                means[name][method] - means[name]["Parzen"]
                for name in names
                if method in means.get(name, {})
            ]
            cells.append(f"{np.mean(gains):+.3f} ± {np.std(gains) / np.sqrt(len(gains)):.3f}")
        summary.append((method, *cells))
    yield table(
        "Mean difference to ParzenDensity(), with its standard error over tables",
        summary,
        ("density", "tables for choices", "other tables", "all"),
    )
    yield table(
        "Tables where one Gaussian is better than ParzenDensity()",
        worse,
        ("table", "difference", "standard error over rows"),
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

    def million() -> np.ndarray:
        return ParzenDensity(kernel=Gaussian(width)).fit(X).score_samples(Y)

    mine = min(_seconds(million) for _ in range(3))
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
    for make in (speed, accuracy, learned_weights):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield make()
    yield from held_out()
