"""Spectral clustering of many rows and of nearly disconnected graphs: time, memory, accuracy."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import eigsh
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import peak_growth, table
from mercer import SpectralClustering
from mercer.bandwidth import fit_kernel
from mercer.cluster.graphs import ClusterRows, embed_rows, mutual_graph
from mercer.data.points import Points
from mercer.kernels import Neighbors
from mercer.solvers import Arpack

Labels = np.ndarray


def gaussians(n: int, columns: int = 16) -> tuple[np.ndarray, Labels]:
    """Ten normal clusters of unequal weight and spread."""
    rng = np.random.default_rng(0)
    y = rng.choice(10, p=np.arange(1, 11) / 55, size=n)
    centers, spread = 3 * rng.normal(size=(10, columns)), rng.uniform(0.5, 1.5, 10)
    return centers[y] + spread[y, None] * rng.normal(size=(n, columns)), y


def fit_default(X: np.ndarray) -> Labels:
    return SpectralClustering(10).fit(X).labels_


def fit_neighbors(X: np.ndarray) -> Labels:
    return SpectralClustering(10, kernel=Neighbors(10)).fit(X).labels_


def fit_all_rows(X: np.ndarray) -> Labels:
    return SpectralClustering(10, kernel=Neighbors(10), max_rows=len(X)).fit(X).labels_


def fit_peer(X: np.ndarray) -> Labels:
    return SklearnSpectral(10, affinity="nearest_neighbors", random_state=0).fit_predict(X)


NEIGHBORS = "SpectralClustering(10, kernel=Neighbors(10)"
PEER = "scikit-learn spectral, neighbors"
SECONDS = 300  # of CPU time for a fit
FITS: list[tuple[int, Callable[[np.ndarray], Labels], str]] = [
    (10**5, fit_default, "SpectralClustering(10)"),
    (10**6, fit_default, "SpectralClustering(10)"),
    (10**5, fit_neighbors, f"{NEIGHBORS})"),
    (10**6, fit_neighbors, f"{NEIGHBORS})"),
    (20_000, fit_all_rows, f"{NEIGHBORS}, max_rows=20_000)"),
    (50_000, fit_all_rows, f"{NEIGHBORS}, max_rows=50_000)"),
    (20_000, fit_peer, PEER),
    (50_000, fit_peer, PEER),
]


def scale() -> str:
    """Measure each fit in a new process; labels by votes are compared with a graph of all rows."""
    rows = []
    for n, fit, name in FITS:
        rows.append((f"{n:,} × 16", name, *measured(n, fit.__name__)))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ("rows", "method", "time", "CPU time", "peak memory", "adjusted Rand index")
    return table("Ten normal clusters", rows, header)


def measured(n: int, fit: str) -> tuple[str, str, str, str]:
    """Return time, CPU time, growth of the peak memory and adjusted Rand index of a fit."""
    code = f"from benchmarks import cluster_scale as m; m.print_measures({n}, m.{fit})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return f"stopped after {SECONDS} s of CPU time", "-", "-", "-"
    done.check_returncode()
    wall, cpu, memory, index = json.loads(done.stdout.splitlines()[-1])
    return f"{wall:.1f} s", f"{cpu:.1f} s", f"{memory:.0f} MB", f"{index:.4f}"


def print_measures(n: int, fit: Callable[[np.ndarray], Labels]) -> None:
    fit(gaussians(500)[0])  # imports
    X, y = gaussians(n)
    used, begin = time.process_time(), time.perf_counter()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + SECONDS, resource.RLIM_INFINITY))
    memory, labels = peak_growth(lambda: fit(X))
    wall, cpu = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps([wall, cpu, memory, adjusted_rand_score(y, labels)]))


# --- a nearly disconnected graph ----------------------------------------------------------------


def _exact_gaps(matrix: csr_array, k: int) -> np.ndarray:
    """Return 1 - λ of the k leading eigenvalues by shift-invert Lanczos of the Laplacian."""
    roots = diags_array(1 / np.sqrt(np.asarray(matrix.sum(axis=1)).ravel()))
    laplacian = eye_array(matrix.shape[0]) - roots @ matrix @ roots
    start = np.random.default_rng(0).normal(size=matrix.shape[0])
    values = eigsh(laplacian.tocsc(), k, sigma=-1e-9, v0=start, return_eigenvectors=False)
    return np.sort(values)


def weakly_connected(n: int = 10**5) -> str:
    """Distant normal clusters in the plane, n points, each joined to the next by one edge."""
    rows = []
    for k in (2, 10):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(k), n // k)
        X = rng.normal(size=(n, 2)) + 100.0 * labels[:, None] * [1.0, 0.0]
        begin = time.process_time()
        sample = ClusterRows(Points(X), None, None)
        tree = sample.tree()
        kernel = fit_kernel(Neighbors(10, mutual=True), X)
        graph = time.process_time() - begin
        found = embed_rows(sample, kernel, k, tree=tree, solver=Arpack())
        spent = time.process_time() - begin - graph
        expected = _exact_gaps(mutual_graph(sample, tree), k)[1:]
        error = np.abs((1 - found.spectrum.eigenvalues[1:]) / expected - 1).max()
        index = adjusted_rand_score(labels, found.cluster(k))
        gaps = f"{expected.min():.1e} to {expected.max():.1e}" if k > 2 else f"{expected[0]:.1e}"
        rows.append((f"{k}", gaps, f"{error:.0e}", f"{found.spectrum.products:,}"))
        rows[-1] += (f"{graph:.1f} s", f"{spent:.1f} s", f"{index:.4f}")
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ("clusters", "1 - λ", "largest relative error", "products with a vector", "graph")
    header += ("eigenpairs", "adjusted Rand index")
    return table(f"Clusters of {n:,} points, joined by single edges: Arpack", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield scale()
        yield weakly_connected()
