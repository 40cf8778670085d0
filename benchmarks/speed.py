"""Times of common tasks, on an idle machine and while another process uses one core.

All functions of a row run in every round, interleaved, and the best time counts. Tasks without a
function of another library are only timed; ``tools/compare_revisions.py`` compares revisions. Other
tables compare the matrix-free product with the time of its matrix products and exponentials alone,
compiled exponentials with those of NumPy, and kernel PCA with the code that OpenBLAS has for other
CPUs.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np
from scipy.linalg import eigh
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.measure import best_times, in_new_process, table
from mercer import (
    KernelECA,
    KernelPCA,
    MercerMixture,
    SeriesDensity,
    config_context,
)
from mercer.data.points import Points
from mercer.gram import BlockedGram
from mercer.gram.expansion import TILE_SIDES
from mercer.information import vendi_score
from mercer.kernels import Gaussian
from mercer.solvers import Lanczos
from mercer.utils import compiled
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import augment_columns, augment_rows, row_ranges

BUSY_LOOP = "import numpy as np\nA = np.random.rand(300, 300)\nwhile True: A @ A"
BANDWIDTH = 3.0  # near the median rule for 10 standard normal columns


def normal(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


@contextmanager
def competing_process(active: bool) -> Iterator[None]:
    """Run a process that uses one core."""
    if not active:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", BUSY_LOOP], env={"OMP_NUM_THREADS": "1"})
    try:
        time.sleep(2)
        yield
    finally:
        process.kill()
        process.wait()


# --- compared with other libraries ----------------------------------------------------------------


def full_decomposition(X: np.ndarray) -> None:
    values, vectors = eigh(rbf_kernel(X, gamma=0.5 / BANDWIDTH**2))
    np.sort(values * vectors.sum(axis=0) ** 2)


def sklearn_kernel_pca(X: np.ndarray, solver: str) -> None:
    model = SklearnKernelPCA(
        8, kernel="rbf", gamma=0.5 / BANDWIDTH**2, eigen_solver=solver, random_state=0
    )
    model.fit_transform(X)


def kernel_pca_times() -> dict[str, float]:
    X = normal(8000, 10)
    return best_times(
        {
            "mercer": lambda: KernelPCA(8, kernel=Gaussian(BANDWIDTH)).fit_transform(X),
            "arpack": lambda: sklearn_kernel_pca(X, "arpack"),
            "randomized": lambda: sklearn_kernel_pca(X, "randomized"),
        }
    )


def peers() -> list[tuple[str, ...]]:
    Y = normal(5000, 10)
    pca = kernel_pca_times()
    peer = min(pca["arpack"], pca["randomized"])
    eca = best_times({"mercer": lambda: KernelECA(5, kernel=Gaussian(BANDWIDTH)).fit(Y)})
    eca |= best_times({"eigh": lambda: full_decomposition(Y)}, rounds=1)
    return [
        (
            "KernelPCA(8), 8,000 × 10",
            f"{pca['mercer']:.2f} s",
            f"scikit-learn arpack {pca['arpack']:.2f} s, randomized {pca['randomized']:.2f} s",
            f"{pca['mercer'] / peer:.2f} of the time",
        ),
        (
            "KernelECA(5), 5,000 × 10",
            f"{eca['mercer']:.2f} s",
            f"scipy eigh {eca['eigh']:.1f} s",
            f"{eca['eigh'] / eca['mercer']:.0f}× faster",
        ),
    ]


# --- without a peer -------------------------------------------------------------------------------

TASKS: dict[str, Callable[[], object]] = {
    "vendi_score (cosine), 8,000 × 384": lambda: vendi_score(normal(8000, 384), kernel="cosine"),
    "MercerMixture(3), 5,000 × 12": lambda: MercerMixture(3, random_state=0).fit(normal(5000, 12)),
    "KernelECA(5).component_ranks_, 5,000 × 10": lambda: (
        KernelECA(5).fit(normal(5000, 10)).component_ranks_
    ),
    "KernelECA(3), matrix-free, 20,000 × 10": lambda: KernelECA(
        3, kernel=Gaussian(2.0), solver=Lanczos(stored=False)
    ).fit(normal(20_000, 10)),
    "KernelPCA(300), 2,500 × 10": lambda: KernelPCA(300).fit(normal(2500, 10)),
    "SeriesDensity() (Kronmal–Tarter), 100,000 × 2": lambda: SeriesDensity().fit(
        normal(100_000, 2)
    ),
    "SeriesDensity(), 3,000 × 100": lambda: SeriesDensity().fit(normal(3000, 100)),
}


def times() -> list[tuple[str, ...]]:
    return [
        (name, f"{best_times({'now': run}, rounds=1)['now']:.2f} s", "", "")
        for name, run in TASKS.items()
    ]


# --- compared with the limit of the machine -------------------------------------------------------


def parts_alone(X: np.ndarray, V: np.ndarray, side: int) -> None:
    """Run the matrix products and exponentials of ``K @ V`` on tiles, without sums of them.

    X is in units of the bandwidth. All arguments are those of the product, so that the speed of
    exponentials is that of the exponents it meets.
    """
    left, right = augment_rows(X), augment_columns(X)
    buffer, out = np.empty((side, side), X.dtype), np.empty((side, V.shape[1]), X.dtype)
    ranges = row_ranges(len(X), side)
    for i, rows in enumerate(ranges):
        for columns in ranges[: i + 1]:
            tile = buffer[: rows.stop - rows.start, : columns.stop - columns.start]
            np.matmul(left[rows], right[columns].T, out=tile)
            exponentials(tile)
            np.matmul(tile, V[columns], out=out[: len(tile)])
            if rows != columns:
                np.matmul(tile.T, V[rows], out=out[: len(tile.T)])


def share_of_limit() -> str:
    """Compare the CPU times of a matrix-free product and of its parts alone, interleaved.

    The limit is the faster one of two sizes of tiles.
    """
    rows = []
    with threadpool_limits(1), config_context(threads=1):
        for dtype in (np.float64, np.float32):
            for d in (10, 256):
                X, V = normal(4096, d).astype(dtype), normal(4096, 16)
                bandwidth = float(np.sqrt(d))
                gram = BlockedGram(Gaussian(bandwidth), Points(X))
                alone = partial(parts_alone, X / dtype(bandwidth), V.astype(dtype))
                tasks = {"product": partial(gram.product, V)}
                tasks |= {f"limit {side}": partial(alone, side) for side in TILE_SIDES.values()}
                found = best_times(tasks, 30, time.process_time)
                limit = min(found[name] for name in found if name != "product")
                rows.append(
                    (
                        f"{np.dtype(dtype).name}, 4,096 × {d}, 16 vectors",
                        f"{found['product']:.3f} s",
                        f"{limit:.3f} s",
                        f"{limit / found['product']:.0%}",
                    )
                )
    return table(
        "Matrix-free product, one thread, and its matrix products and exponentials alone",
        rows,
        ("product", "time", "limit", "share"),
    )


# --- compiled exponentials ------------------------------------------------------------------------


def evaluate(gram: BlockedGram) -> None:
    """Evaluate the tiles of K on and below the diagonal."""
    side = TILE_SIDES[gram.precision]
    buffer = np.empty((side, side), gram.precision)
    ranges = row_ranges(gram.size, side)
    for i, rows in enumerate(ranges):
        for columns in ranges[: i + 1]:
            tile = buffer[: rows.stop - rows.start, : columns.stop - columns.start]
            gram._tiles(rows, columns, tile)


def by_numpy(function: Callable[[], object]) -> None:
    with patch.object(compiled, "_functions", dict):
        function()


def compiled_exponentials() -> str:
    """Compare CPU times of kernel values and products, compiled and by NumPy, interleaved."""
    rows = []
    with threadpool_limits(1), config_context(threads=1):
        for dtype, d in product((np.float64, np.float32), (10, 30, 100, 256)):
            X = normal(2048, d).astype(dtype)
            gram = BlockedGram(Gaussian(float(np.sqrt(d))), Points(X))
            tasks = {
                "values": partial(evaluate, gram),
                "1 vector": partial(gram.product, normal(2048, 1)),
                "16 vectors": partial(gram.product, normal(2048, 16)),
            }
            found = best_times(
                tasks | {f"{name}, NumPy": partial(by_numpy, task) for name, task in tasks.items()},
                20,
                time.process_time,
            )
            pairs = 2048 * 2304 / 2  # with all of the tiles on the diagonal
            cells = [
                f"{found[name] / pairs * 1e9:.2f} ns ({found[f'{name}, NumPy'] / found[name]:.1f}×)"
                for name in tasks
            ]
            rows.append((f"{np.dtype(dtype).name}, {d} columns", *cells))
    return table(
        "Compiled exponentials: time per pair of rows (NumPy's divided by it), one thread",
        rows,
        ("kernel", "values", "product with 1 vector", "with 16 vectors"),
    )


# --- other CPUs -----------------------------------------------------------------------------------

CORE_TYPES = ("Zen", "Haswell", "Nehalem")


def core_types() -> str:
    """Compare kernel PCA with scikit-learn as OpenBLAS would compute on other CPUs."""
    rows = []
    for active in (False, True):
        for name in CORE_TYPES:
            with competing_process(active):
                times = in_new_process(
                    "benchmarks.speed", "kernel_pca_times()", variables={"OPENBLAS_CORETYPE": name}
                )
            peer = min(times["arpack"], times["randomized"])
            load = "one competing process" if active else "idle"
            cells = (f"{times['mercer']:.2f} s", f"{peer:.2f} s", f"{times['mercer'] / peer:.2f}")
            rows.append((name, load, *cells))
    header = ("core type", "machine", "mercer", "best of scikit-learn", "ratio")
    return table("KernelPCA(8), 8,000 × 10, with kernels of OpenBLAS for other CPUs", rows, header)


def tables() -> Iterator[str]:
    """Yield all tables of this module."""
    header = ("task", "mercer", "other", "ratio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield share_of_limit()
        yield compiled_exponentials()
        yield core_types()
        for title, active in (("Idle machine", False), ("One competing process", True)):
            with competing_process(active):
                yield table(title, peers() + times(), header)
