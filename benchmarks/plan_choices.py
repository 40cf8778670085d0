"""The choices of ``solver="auto"`` next to a full decomposition and to scikit-learn.

Sizes, columns, bandwidths and numbers of components are on both sides of the thresholds in
:mod:`mercer.eigen.plan`. A row is marked if "auto" takes more than 1.15 times as long as a peer.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from sklearn.decomposition import KernelPCA as SklearnKernelPCA

from benchmarks.measure import best_times, table
from mercer import KernelECA, KernelPCA
from mercer.bandwidth import median_distance
from mercer.errors import RankError
from mercer.kernels import Gaussian
from mercer.utils.resources import thread_count

SIZES = (300, 600, 1200, 2500)
LARGE_SIZES = (5000, 8000)  # without a full decomposition, which takes 20 s and more
COLUMNS = (2, 10, 100)
BANDWIDTHS = (1.0, 0.3)  # times that of kernel PCA
COMPONENTS = (2, 10, 50, 150)
TOLERANCE = 1.15  # of the time of a peer
SHORTEST = 0.005  # seconds, within which differences do not count
TIMED = ("auto", "dense", "scikit-learn", "eca auto", "eca dense")


def fits(X: np.ndarray, kernel: Gaussian, k: int, dense: bool) -> dict[str, Callable[[], object]]:
    """Return what is compared for kernel PCA and, under names that begin with "eca", kernel ECA."""
    gamma = 0.5 / kernel.bandwidth**2
    found: dict[str, Callable[[], object]] = {
        "auto": lambda: KernelPCA(k, kernel=kernel).fit(X),
        "scikit-learn": lambda: SklearnKernelPCA(k, kernel="rbf", gamma=gamma).fit(X),
    }
    if dense:
        found["dense"] = lambda: KernelPCA(k, kernel=kernel, solver="dense").fit(X)
        if k <= 10:
            found["eca auto"] = lambda: KernelECA(k, kernel=kernel).fit(X)
            found["eca dense"] = lambda: KernelECA(k, kernel=kernel, solver="dense").fit(X)
    return found


def slower(times: dict[str, float]) -> list[str]:
    """Return the peers that are clearly faster than "auto"."""
    pairs = {"scikit-learn": "auto", "dense": "auto", "eca dense": "eca auto"}
    return [
        f"{peer} ({times[own] / times[peer]:.2f})"
        for peer, own in pairs.items()
        if peer in times and times[own] > TOLERANCE * times[peer] + SHORTEST
    ]


def compared(n: int, d: int, factor: float, k: int, dense: bool) -> tuple[str, ...] | None:
    """Return a row of the table; None if K has fewer than k positive eigenvalues."""
    clock = time.process_time if thread_count() == 1 else time.perf_counter
    X = np.random.default_rng(0).normal(size=(n, d))
    kernel = Gaussian(factor * median_distance(X) / np.sqrt(2))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rounds = 4 if n <= 1200 else 2 if dense else 1
            times = best_times(fits(X, kernel, k, dense), rounds, clock)
    except RankError:
        return None
    cells = [f"{times[name]:.3f}" if name in times else "" for name in TIMED]
    return f"{n:,} × {d}", f"{factor:g}", str(k), *cells, ", ".join(slower(times))


def tables(largest: int = LARGE_SIZES[-1]) -> Iterator[str]:
    """Yield a table for each size; ``largest`` is the largest number of rows."""
    count = marked = 0
    for n in SIZES + LARGE_SIZES:
        dense = n in SIZES
        factors, numbers = (BANDWIDTHS, COMPONENTS) if dense else (BANDWIDTHS[:1], (2, 10, 150))
        cases = [case for case in product(COLUMNS, factors, numbers) if case[2] <= n // 4]
        found = [compared(n, *case, dense) for case in cases if n <= largest]
        rows = [row for row in found if row is not None]
        count, marked = count + len(rows), marked + sum(bool(row[-1]) for row in rows)
        if rows:
            header = ("rows", "bandwidth", "k", *TIMED, "faster than auto (ratio)")
            yield table(f"Seconds of a fit to {n:,} rows", rows, header)
    yield f"- {marked} of {count} rows have a faster peer."
