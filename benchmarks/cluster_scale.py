"""Spectral clustering of many rows and of nearly disconnected graphs: time, memory, accuracy."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import extra_peak, table
from mercer import SpectralClustering
from mercer.bandwidth import fit_kernel
from mercer.data import Points, Sample
from mercer.decompose import decompose
from mercer.kernels import Neighbors
from mercer.solvers import GraphSolver

Labels = np.ndarray


def gaussians(n: int, columns: int = 16) -> tuple[np.ndarray, Labels]:
    """Ten normal clusters of unequal weight and spread."""
    rng = np.random.default_rng(0)
    y = rng.choice(10, p=np.arange(1, 11) / 55, size=n)
    centers, spread = 3 * rng.normal(size=(10, columns)), rng.uniform(0.5, 1.5, 10)
    return centers[y] + spread[y, None] * rng.normal(size=(n, columns)), y


def twenty_thousand() -> np.ndarray:
    return gaussians(20_000)[0]


def hundred_thousand() -> np.ndarray:
    return gaussians(10**5)[0]


def million() -> np.ndarray:
    return gaussians(10**6)[0]


def fit_default(X: np.ndarray) -> Labels:
    return SpectralClustering(10).fit(X).labels_


def fit_neighbors(X: np.ndarray) -> Labels:
    return SpectralClustering(10, kernel=Neighbors(10)).fit(X).labels_


def fit_peer(X: np.ndarray) -> Labels:
    return SklearnSpectral(10, affinity="nearest_neighbors", random_state=0).fit_predict(X)


def scale() -> str:
    rows = []
    for n, make, fit, name in (
        (10**5, hundred_thousand, fit_default, "SpectralClustering(10)"),
        (10**6, million, fit_default, "SpectralClustering(10)"),
        (10**5, hundred_thousand, fit_neighbors, "SpectralClustering(10, kernel=Neighbors(10))"),
        (10**6, million, fit_neighbors, "SpectralClustering(10, kernel=Neighbors(10))"),
        (20_000, twenty_thousand, fit_peer, "scikit-learn spectral, neighbors"),
    ):
        X, y = gaussians(n)
        begin, cpu = time.perf_counter(), time.process_time()
        labels = fit(X)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        del X
        memory = extra_peak(__name__, make.__name__, fit.__name__)
        index = adjusted_rand_score(y, labels)
        rows.append((f"{n:,} × 16", name, f"{spent:.1f} s", f"{cpu:.1f} s", f"{memory:.0f} MB"))
        rows[-1] += (f"{index:.4f}",)
    header = ("rows", "method", "time", "CPU time", "peak memory", "adjusted Rand index")
    return table("Ten normal clusters", rows, header)


def weakly_connected() -> str:
    """Ten distant clusters of 10⁴ points in the plane, each joined to the next by ten points."""
    rng = np.random.default_rng(0)
    centers = 100.0 * np.arange(10)[:, None] * [1.0, 0.0]
    chains = [np.linspace(a, b, 12)[1:-1] for a, b in pairwise(centers)]
    X = np.concatenate([center + rng.normal(size=(10**4, 2)) for center in centers] + chains)
    rows = []
    for kernel in (Neighbors(10), Neighbors(10, mode="weighted")):
        begin = time.process_time()
        sample = Sample(fit_kernel(kernel, X), Points(X))
        spectrum = decompose(sample, "variance", 10, normalize=True, solver=GraphSolver())
        spent = time.process_time() - begin
        gap = 1 - spectrum.eigenvalues[-1]
        rows.append((f"`{kernel!r}`", f"{gap:.1e}", spectrum.pairs.method, f"{spent:.1f} s"))
    header = ("kernel", "1 - λ₁₀", "solver", "CPU time")
    return table(f"Ten eigenpairs of a nearly disconnected graph of {len(X):,} nodes", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield scale()
        yield weakly_connected()
