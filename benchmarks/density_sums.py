"""Gaussian kernel densities in four to ten columns: speed, accuracy, tails and memory.

scikit-learn's ``KernelDensity`` evaluates a random part of the rows, as many as take about twenty
seconds, and its time is extrapolated in proportion to the number of rows: every row is a separate
search in its tree.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.neighbors import KernelDensity

from benchmarks.measure import extra_peak, table
from mercer import ParzenDensity
from mercer.bandwidth import fit_kernel
from mercer.kernels import Gaussian
from papers.data import load_pendigits

COLUMNS = (4, 6, 8, 10)
SECONDS = 20.0  # of scikit-learn per row of the table
RELATIVE_TOLERANCE = 1e-6
CHECKED = 200  # rows at which sums are compared with direct ones


def normal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independent standard normal columns."""
    return rng.standard_normal((n, d))


def mixture(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from twenty correlated Gaussians of different size; standardized columns."""
    fixed = np.random.default_rng(5)
    centers, shapes = 3 * fixed.standard_normal((20, d)), fixed.standard_normal((20, d, d)) / 2
    shapes *= fixed.gamma(1.0, size=(20, 1, d))
    covariance = np.cov(centers.T, bias=True) + np.einsum("kij,klj->il", shapes, shapes) / 20
    group = rng.integers(20, size=n)
    noise = np.einsum("nij,nj->ni", shapes[group], rng.standard_normal((n, d)))
    return (centers[group] + noise) / np.sqrt(covariance.diagonal())


def pendigits(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from a Parzen density of the principal components of the handwritten digits."""
    X = load_pendigits().data.astype(np.float64)
    X = PCA(d, svd_solver="full").fit_transform(X)
    X /= X.std(axis=0)
    noise = rng.standard_normal((n, d)) * _bandwidth(X)
    return X[rng.integers(len(X), size=n)] + noise


SETS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "normal": normal,
    "mixture of 20 Gaussians": mixture,
    "digits, principal components": pendigits,
}


def _bandwidth(X: np.ndarray) -> float:
    return float(fit_kernel(Gaussian("leave-one-out"), X).bandwidth)


def _times(run: Callable[[], object]) -> tuple[float, float]:
    """Return the elapsed time and the CPU time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def _peer_times(X: np.ndarray, Y: np.ndarray, bandwidth: float) -> tuple[float, float, str]:
    """Return elapsed and CPU time of scikit-learn for all rows, with its faster tree."""
    found = []
    for tree in ("kd_tree", "ball_tree"):
        model = KernelDensity(bandwidth=bandwidth, algorithm=tree, rtol=RELATIVE_TOLERANCE).fit(X)
        trial = _times(partial(model.score_samples, Y[:30]))[0] / 30
        found.append((trial, tree, model))
    trial, tree, model = min(found, key=lambda entry: entry[0])
    count = int(np.clip(SECONDS / trial, 30, len(Y)))
    wall, cpu = _times(partial(model.score_samples, Y[:count]))
    return wall * len(Y) / count, cpu * len(Y) / count, f"{tree}, {count} rows"


def direct_log_density(Y: np.ndarray, X: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the log density from differences of coordinates in double precision."""
    logs = np.array([logsumexp(-0.5 * (((X - y) / bandwidth) ** 2).sum(axis=1)) for y in Y])
    return logs - np.log(len(X)) - Gaussian(bandwidth).log_normalizer(X.shape[1])


def speed(n: int, m: int) -> str:
    rows = []
    for name, draw in SETS.items():
        for d in COLUMNS:
            try:
                X, Y = draw(n, d, np.random.default_rng(1)), draw(m, d, np.random.default_rng(2))
            except FileNotFoundError:
                print(f"{name}: skipped, the data are not available")
                break
            bandwidth = _bandwidth(X)
            density = ParzenDensity(kernel=Gaussian(bandwidth)).fit(X)
            found = np.empty(0)

            def ours(density: ParzenDensity = density, Y: np.ndarray = Y) -> None:
                nonlocal found
                found = density.score_samples(Y)

            wall, cpu = _times(ours)
            peer_wall, peer_cpu, how = _peer_times(X, Y, bandwidth)
            errors = np.abs(found[:CHECKED] - direct_log_density(Y[:CHECKED], X, bandwidth))
            rows.append(
                (
                    f"{name}, d = {d}, σ = {bandwidth:.2f}",
                    f"{wall:.1f} s",
                    f"{cpu:.1f} s",
                    f"{peer_wall:.0f} s ({how})",
                    f"{peer_wall / wall:.0f}×",
                    f"{peer_cpu / cpu:.0f}×",
                    f"{errors.max():.1e}",
                )
            )
    return table(
        f"{n:,} training points at {m:,} others, score_samples, leave-one-out bandwidth σ",
        rows,
        (
            "data",
            "ParzenDensity",
            "CPU time",
            f"scikit-learn KernelDensity, rtol {RELATIVE_TOLERANCE:g}",
            "faster",
            "less CPU time",
            f"largest error at {CHECKED} rows (nats)",
        ),
    )


def tails(n: int) -> str:
    rows = []
    for d in COLUMNS:
        X = normal(n, d, np.random.default_rng(1))
        bandwidth = _bandwidth(X)
        distances = np.array([0.0, 3.0, 6.0, 10.0, 20.0, 50.0, 100.0])
        Y = distances[:, None] * np.ones(d) / np.sqrt(d)
        others = normal(1000, d, np.random.default_rng(2))
        expected = direct_log_density(Y, X, bandwidth)
        density = ParzenDensity(kernel=Gaussian(bandwidth)).fit(X)
        found = density.score_samples(np.vstack([Y, others]))  # more than 1000 rows
        peer = KernelDensity(bandwidth=bandwidth, rtol=RELATIVE_TOLERANCE).fit(X)
        wrong = peer.score_samples(Y) - expected
        rows += [
            (f"d = {d}", "log density", *[f"{value:.1f}" for value in expected]),
            (
                "",
                "error of ParzenDensity",
                *[f"{value:.0e}" for value in np.abs(found[: len(Y)] - expected)],
            ),
            (
                "",
                "error of KernelDensity",
                *[f"{value:.1f}" if abs(value) > 0.1 else f"{value:.0e}" for value in wrong],
            ),
        ]
    return table(
        f"Errors in the tails of {n:,} standard normal points (nats), by distance from the mean",
        rows,
        ("", "", *[f"{distance:g}" for distance in distances]),
    )


def fitted_density() -> ParzenDensity:
    return ParzenDensity(kernel=Gaussian(0.45)).fit(normal(10**5, 10, np.random.default_rng(1)))


def evaluate(density: ParzenDensity) -> object:
    return density.score_samples(normal(10**4, 10, np.random.default_rng(2)))


def memory() -> str:
    peak = extra_peak("benchmarks.density_sums", "fitted_density", "evaluate")
    rows = [("ParzenDensity.score_samples, 10⁵ × 10 training points (8 MB)", f"{peak:.0f} MB")]
    return table("Extra peak memory", rows, ("call", "memory"))


def tables(n: int = 10**5) -> Iterator[str]:
    """Yield all tables of this module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield memory()
        yield tails(n)
        yield speed(n, n)
