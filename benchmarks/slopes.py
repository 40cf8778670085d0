"""Time and memory of several routes for 10⁴ to 10⁶ rows: slopes in n, and where each takes over.

Each fit runs in a process of its own with all cores. A route ends at the first size that would
take longer than the limit by its slope so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.measure import _status, in_new_process, table
from mercer.utils.pairwise import row_ranges

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SMALL_SIZES = (2_000, 4_000, 8_000)
SIZE_LABELS = {10_000: "10⁴", 100_000: "10⁵", 1_000_000: "10⁶", 30_000: "3·10⁴", 300_000: "3·10⁵"}
LONGEST = 100.0  # seconds


def clusters(n: int, d: int) -> np.ndarray:
    """Ten Gaussian clusters: centers of standard deviation 1.5 per column, spread 0.4."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 1.5, (10, d))
    labels = rng.integers(0, 10, n)
    X = rng.normal(0, 0.4, (n, d))
    for rows in row_ranges(n, 4096):  # without copies, which would count as peak memory
        X[rows] += centers[labels[rows]]
    return X


def landmarks(X: np.ndarray) -> None:
    """1000 landmarks, as "auto" uses them."""
    _pca(X, "nystrom")


def fourier(X: np.ndarray) -> None:
    """Frequency grid."""
    from mercer import KernelPCA

    KernelPCA(10, solver="fourier").fit(X)


def neighbors(X: np.ndarray) -> None:
    """Sparse graph of ten neighbors, and its leading pairs."""
    from mercer import KernelPCA
    from mercer.kernels import Neighbors

    KernelPCA(10, kernel=Neighbors(10), center=False).fit(X)


def graph_clusters(X: np.ndarray) -> None:
    """Ten clusters of a degree-normalized graph of ten neighbors."""
    from mercer import SpectralClustering
    from mercer.kernels import Neighbors

    SpectralClustering(10, kernel=Neighbors(10), random_state=0).fit(X)


def matrix_free(X: np.ndarray) -> None:
    """Block Krylov with a K that is not stored."""
    from mercer import KernelPCA
    from mercer.solvers import Lanczos

    KernelPCA(10, solver=Lanczos(stored=False)).fit(X)


def stored(X: np.ndarray) -> None:
    """Block Krylov with a stored K."""
    from mercer import KernelPCA
    from mercer.solvers import Lanczos

    KernelPCA(10, solver=Lanczos(stored=True)).fit(X)


def _pca(X: np.ndarray, solver: str) -> None:
    from mercer import KernelPCA
    from mercer.solvers import Nystrom

    KernelPCA(10, solver=Nystrom(1000) if solver == "nystrom" else solver).fit(X)


ROUTES: dict[str, tuple[Callable[[np.ndarray], None], int]] = {
    "landmarks (1000)": (landmarks, 16),
    "Fourier": (fourier, 2),
    "sparse graph of 10 neighbors": (neighbors, 16),
    "clusters of that graph": (graph_clusters, 16),
    "matrix-free": (matrix_free, 16),
}
EXACT: dict[str, tuple[Callable[[np.ndarray], None], int]] = {
    "stored K, 2 columns": (stored, 2),
    "Fourier": (fourier, 2),
    "stored K, 16 columns": (stored, 16),
    "matrix-free": (matrix_free, 16),
    "landmarks (1000)": (landmarks, 16),
}


def measure(name: str, n: int) -> dict[str, float]:
    """Run one route; return wall time, CPU time and growth of the peak memory in megabytes."""
    import warnings

    route, d = (ROUTES | EXACT)[name]
    X = clusters(n, d)
    route(X[:500])  # imports
    before = _status("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # landmarks warn about what they miss
        route(X)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "memory": (_status("VmHWM") - before) / 1e3,
    }


def series(name: str, sizes: tuple[int, ...]) -> dict[int, dict[str, float]]:
    """Measure a route at increasing sizes, until the next one would take too long."""
    found: dict[int, dict[str, float]] = {}
    for n in sizes:
        if found:
            last = max(found)
            expected = found[last]["wall"] * (n / last) ** max(slope(found), 1.0)
            if expected > LONGEST:
                break
        found[n] = in_new_process("benchmarks.slopes", f"measure({name!r}, {n})")
    return found


def slope(found: dict[int, dict[str, float]]) -> float:
    """Return the slope of log time over log n of the two largest sizes; 2 if there is one."""
    sizes = sorted(found)[-2:]
    if len(sizes) < 2:
        return 2.0
    first, last = (found[n]["wall"] for n in sizes)
    return math.log(last / first) / math.log(sizes[1] / sizes[0])


def tables(largest: int = SIZES[-1]) -> Iterator[str]:
    """Return both tables; ``largest`` is the largest number of rows."""
    sizes = tuple(n for n in SIZES if n <= largest)
    rows, found = [], {}
    for name, (_, d) in ROUTES.items():
        found[name] = series(name, sizes)
        times = [_entry(found[name].get(n)) for n in sizes]
        rows.append((name, str(d), *times, _slopes(found[name])))
    header = ("route", "columns", *(SIZE_LABELS[n] for n in sizes), "slope: all, last two")
    yield table("Time in n (wall time, CPU time, peak memory; ten components)", rows, header)
    small = {name: series(name, (*SMALL_SIZES, 10_000, 20_000)) for name in EXACT}
    columns = (*SMALL_SIZES, 10_000, 20_000)
    rows = [(name, *(_entry(small[name].get(n)) for n in columns)) for name in EXACT]
    yield table("Where routes take over", rows, ("route", *(f"{n:,}" for n in columns)))
    pairs = (
        ("stored K, 2 columns", "Fourier"),
        ("stored K, 16 columns", "landmarks (1000)"),
        ("matrix-free", "landmarks (1000)"),
    )
    for exact, other in pairs:
        yield f"- {other} instead of {exact}: faster from {_takeover(small, exact, other)}."


def _slopes(found: dict[int, dict[str, float]]) -> str:
    if len(found) < 2:
        return ""
    times = [entry["wall"] for entry in found.values()]
    fitted = np.polyfit(np.log(list(found)), np.log(times), 1)[0]
    return f"{fitted:.2f}, {slope(found):.2f}"


def _entry(found: dict[str, float] | None) -> str:
    if found is None:
        return f"> {LONGEST:.0f} s"
    return f"{found['wall']:.2g} s, {found['cpu']:.2g} s, {found['memory']:.0f} MB"


def _takeover(found: dict[str, dict[int, dict[str, float]]], exact: str, other: str) -> str:
    """Return the first size from which the other route is faster."""
    sizes = sorted(set(found[exact]) & set(found[other]))
    faster = [found[other][n]["wall"] < found[exact][n]["wall"] for n in sizes]
    first = next((n for i, n in enumerate(sizes) if all(faster[i:])), None)
    return "more rows than measured" if first is None else f"{first:,} rows (or fewer)"


if __name__ == "__main__":
    print(*tables(), sep="\n")
