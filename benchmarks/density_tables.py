"""Held-out log density on 32 real tables (benchmarks.density_data), all methods in one run.

Every method has its own best practice, and nothing is chosen on held-out rows. Our estimators get
the columns in their units. Densities of other libraries that underflow are computed as logarithms
with the bandwidths that these libraries choose.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import logsumexp
from scipy.stats import gaussian_kde
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.neighbors import KernelDensity

from benchmarks.density_data import DEVELOPMENT, REPORT, load
from benchmarks.measure import table
from mercer import ParzenDensity, StackedDensity

SPLITS = 3
BANDWIDTHS = np.geomspace(0.05, 2.0, 24)  # of standardized columns
COMPONENTS = range(1, 9)
MAX_STATSMODELS_COLUMNS = 5  # beyond, one fit takes minutes
EXACT_ROWS = 200  # for which statsmodels uses all rows at once
BLOCK = 50  # rows, the default of statsmodels
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


def log_sums(X: np.ndarray, Y: np.ndarray, bandwidths: np.ndarray) -> np.ndarray:
    """Return log densities of Gaussian kernels with one bandwidth per column."""
    parts = []
    for rows in np.array_split(Y, max(1, len(Y) * X.size // 10**7)):
        squares = (((rows[:, None] - X) / bandwidths) ** 2).sum(axis=2)
        parts.append(logsumexp(-0.5 * squares, axis=1))
    constant = np.log(len(X)) + np.log(bandwidths * np.sqrt(2 * np.pi)).sum()
    return np.concatenate(parts) - constant


def kdepy(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """KDEpy: the improved Sheather-Jones bandwidth, or one Silverman bandwidth per column.

    KDEpy has no rule for several columns; its author scales every column by its own bandwidth
    (github.com/tommyod/KDEpy/issues/81). The exponent is that of d columns. The improved rule
    depends on the unit of the data unless their range is larger than 12 (issue 201).
    """
    from KDEpy.bw_selection import improved_sheather_jones, silvermans_rule

    unit, (n, d) = 100.0, X.shape
    rule = improved_sheather_jones if d == 1 else silvermans_rule
    found = [rule(unit * X[:, [c]]) / unit for c in range(d)]
    return log_sums(X, Y, np.array(found) * n ** (1 / 5 - 1 / (d + 4)))


def statsmodels(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """KDEMultivariate of statsmodels, one bandwidth per column by cross-validated likelihood.

    Beyond EXACT_ROWS rows with its option for large samples: medians over blocks of rows.
    """
    from statsmodels.nonparametric.kernel_density import EstimatorSettings, KDEMultivariate

    large = len(X) > EXACT_ROWS
    settings = EstimatorSettings(efficient=large, randomize=False, n_sub=BLOCK, n_jobs=1)
    some = X[: len(X) // BLOCK * BLOCK] if large else X  # it rejects a small last block
    with np.errstate(all="ignore"):
        fitted = KDEMultivariate(some, "c" * X.shape[1], bw="cv_ml", defaults=settings)
    return log_sums(X, Y, np.abs(fitted.bw))


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
    "KDEpy": whitened(kdepy),
    "statsmodels": standardized(statsmodels),
    "GaussianMixture": standardized(mixture_by_bic),
    "one Gaussian": standardized(lambda X, Y: GaussianMixture(1).fit(X).score_samples(Y)),
}
KERNEL_PEERS = ("KernelDensity", "KernelDensity, whitened", "gaussian_kde", "KDEpy", "statsmodels")


class Results:
    """Log densities of held-out rows in standard deviations, mean over the splits of a row."""

    def __init__(self, name: str) -> None:
        X = load(name)
        self.name, (self.n, self.d) = name, X.shape
        totals = {method: np.zeros(self.n) for method in METHODS if self.runs(method)}
        counts = np.zeros(self.n)
        self.seconds = dict.fromkeys(totals, 0.0)
        self.by_split: dict[str, list[float]] = {method: [] for method in totals}
        for train, test in ShuffleSplit(SPLITS, test_size=0.25, random_state=0).split(X):
            units = np.log(X[train].std(axis=0)).sum()
            counts[test] += 1
            for method, total in totals.items():
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    logs = METHODS[method](X[train], X[test]) + units
                self.seconds[method] += time.process_time() - begin
                self.by_split[method].append(float(logs.mean()))
                total[test] += logs
        self.rows = {m: total[counts > 0] / counts[counts > 0] for m, total in totals.items()}

    def runs(self, method: str) -> bool:
        return method != "statsmodels" or self.d <= MAX_STATSMODELS_COLUMNS

    def mean(self, method: str) -> float:
        return float(np.mean(self.by_split[method]))

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return the mean difference of two methods and its standard error over held-out rows."""
        values = self.rows[first] - self.rows[second]
        return self.mean(first) - self.mean(second), values.std(ddof=1) / np.sqrt(len(values))


def mean_gain(results: list[Results], first: str, second: str) -> str:
    """Return the mean difference of two methods over tables, with its standard error."""
    gains = [r.mean(first) - r.mean(second) for r in results if r.runs(first) and r.runs(second)]
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    return f"{np.mean(gains):+.3f} ± {error:.3f} ({len(gains)})"


def summary(choices: list[Results], others: list[Results]) -> Iterator[str]:
    """Yield tables of mean differences, of goals, and of losses to one Gaussian."""
    parts = (choices, others, choices + others)
    yield table(
        "Mean difference to ParzenDensity(), with its standard error over tables",
        [(m, *(mean_gain(part, m, "Parzen") for part in parts)) for m in METHODS],
        ("density", "tables for choices", "other tables", "all"),
    )
    pairs = [("Parzen", peer) for peer in KERNEL_PEERS]
    pairs += [("adaptive", peer) for peer in KERNEL_PEERS]
    pairs += [("stacked", other) for other in METHODS if other != "stacked"]
    yield table(
        "Mean difference between densities, with its standard error over tables",
        [(a, b, *(mean_gain(part, a, b) for part in parts)) for a, b in pairs],
        ("density", "compared with", "tables for choices", "other tables", "all"),
    )
    losses = []
    for found in choices + others:
        difference, error = found.difference("Parzen", "one Gaussian")
        if difference < 0:
            losses.append((found.name, f"{difference:.3f}", f"{error:.3f}"))
    yield table(
        "Tables where one Gaussian is better than ParzenDensity()",
        losses,
        ("table", "difference", "standard error over held-out rows"),
    )
    seconds = [(m, sum(r.seconds.get(m, 0.0) for r in parts[2])) for m in METHODS]
    yield table(
        "CPU time of all fits and evaluations",
        [(method, f"{total:.0f} s") for method, total in seconds],
        ("density", "CPU time"),
    )


def tables() -> Iterator[str]:
    """Yield all tables of this module."""
    found: dict[str, list[Results]] = {"for choices": [], "others": []}
    rows = []
    for part, names in zip(found, (DEVELOPMENT, REPORT), strict=True):
        for name in names:
            try:
                results = Results(name)
            except FileNotFoundError:
                print(f"{name}: skipped, the data are not available", flush=True)
                continue
            found[part].append(results)
            cells = [f"{results.mean(m):.3f}" if results.runs(m) else "" for m in METHODS]
            rows.append((part, name, f"{results.n} × {results.d}", *cells))
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    yield table(
        f"Mean held-out log density (nats per point, columns in standard deviations, {SPLITS} "
        "splits; higher is better)",
        rows,
        ("defaults", "table", "size", *METHODS),
    )
    yield from summary(found["for choices"], found["others"])
