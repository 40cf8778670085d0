"""Spectral clustering of many rows and of nearly disconnected graphs: time, memory, accuracy."""

from __future__ import annotations

import json
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
from mercer.data import Points
from mercer.estimators.graph_clusters import ClusterRows, ReferenceGraphs, embed_rows
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


def fit_all_rows(X: np.ndarray) -> Labels:
    return SpectralClustering(10, kernel=Neighbors(10), max_rows=len(X)).fit(X).labels_


def fit_peer(X: np.ndarray) -> Labels:
    return SklearnSpectral(10, affinity="nearest_neighbors", random_state=0).fit_predict(X)


NEIGHBORS = "SpectralClustering(10, kernel=Neighbors(10))"
FITS: list[tuple[Callable[[], np.ndarray], Callable[[np.ndarray], Labels], str]] = [
    (hundred_thousand, fit_default, "SpectralClustering(10)"),
    (million, fit_default, "SpectralClustering(10)"),
    (hundred_thousand, fit_neighbors, NEIGHBORS),
    (million, fit_neighbors, NEIGHBORS),
    (twenty_thousand, fit_all_rows, f"{NEIGHBORS[:-1]}, max_rows=20_000)"),
    (hundred_thousand, fit_all_rows, f"{NEIGHBORS[:-1]}, max_rows=100_000)"),
    (twenty_thousand, fit_peer, "scikit-learn spectral, neighbors"),
    (hundred_thousand, fit_peer, "scikit-learn spectral, neighbors"),
]


def scale() -> str:
    """Measure each fit in a new process; labels by votes are compared with a graph of all rows."""
    rows = []
    for make, fit, name in FITS:
        cpu, memory, index = measured(make.__name__, fit.__name__)
        rows.append((f"{SIZES[make]:,} × 16", name, f"{cpu:.1f} s", f"{memory:.0f} MB"))
        rows[-1] += (f"{index:.4f}",)
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ("rows", "method", "CPU time", "peak memory", "adjusted Rand index")
    return table("Ten normal clusters", rows, header)


SIZES = {twenty_thousand: 20_000, hundred_thousand: 10**5, million: 10**6}


def measured(make: str, fit: str) -> tuple[float, float, float]:
    """Return CPU seconds, growth of the peak memory in MB and adjusted Rand index of a fit."""
    code = f"from benchmarks import cluster_scale as m; m.print_measures(m.{make}, m.{fit})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cpu, memory, index = json.loads(done.stdout.splitlines()[-1])
    return cpu, memory, index


def print_measures(make: Callable[[], np.ndarray], fit: Callable[[np.ndarray], Labels]) -> None:
    fit(gaussians(500)[0])  # imports
    X, y = gaussians(SIZES[make])
    begin = time.process_time()
    memory, labels = peak_growth(lambda: fit(X))
    cpu = time.process_time() - begin
    print(json.dumps([cpu, memory, adjusted_rand_score(y, labels)]))


# --- a nearly disconnected graph ----------------------------------------------------------------


def _exact_gaps(matrix: csr_array, k: int) -> np.ndarray:
    """Return 1 - λ of the k leading eigenvalues by shift-invert Lanczos of the Laplacian."""
    roots = diags_array(1 / np.sqrt(np.asarray(matrix.sum(axis=1)).ravel()))
    laplacian = eye_array(matrix.shape[0]) - roots @ matrix @ roots
    start = np.random.default_rng(0).normal(size=matrix.shape[0])
    values = eigsh(laplacian.tocsc(), k, sigma=-1e-9, v0=start, return_eigenvectors=False)
    return np.sort(values)


def weakly_connected() -> str:
    """Distant normal clusters in the plane, 10⁵ points, each joined to the next by one edge."""
    rows = []
    for k in (2, 10):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(k), 10**5 // k)
        X = rng.normal(size=(10**5, 2)) + 100.0 * labels[:, None] * [1.0, 0.0]
        begin = time.process_time()
        sample = ClusterRows(Points(X), None, None)
        tree = sample.tree()
        kernel = fit_kernel(Neighbors(10), X)
        graph = time.process_time() - begin
        found = embed_rows(sample, kernel, k, tree=tree, solver=GraphSolver())
        spent = time.process_time() - begin - graph
        expected = _exact_gaps(ReferenceGraphs.of(sample, tree).symmetric, k)[1:]
        error = np.abs((1 - found.spectrum.eigenvalues[1:]) / expected - 1).max()
        index = adjusted_rand_score(labels, found.cluster(k))
        gaps = f"{expected.min():.1e} to {expected.max():.1e}" if k > 2 else f"{expected[0]:.1e}"
        rows.append((f"{k}", gaps, f"{error:.0e}", f"{found.spectrum.products:,}"))
        rows[-1] += (f"{graph:.1f} s", f"{spent:.1f} s", f"{index:.4f}")
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ("clusters", "1 - λ", "largest relative error", "products with a vector", "graph")
    header += ("eigenpairs", "adjusted Rand index")
    return table("Clusters of 100,000 points, joined by single edges: GraphSolver", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield scale()
        yield weakly_connected()
