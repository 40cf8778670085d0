"""Ten million points: Fourier features and Nyström landmarks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.measure import best_times, extra_peak, table
from benchmarks.solvers import HEADER, eight_thousand, normal, seconds
from mercer import KernelECA, KernelPCA
from mercer.data.points import Points
from mercer.eigen import summing_gram
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from mercer.gram import BlockedGram, Sample
from mercer.information import cauchy_schwarz_divergence, information_potential, renyi_entropy
from mercer.kernels import Gaussian
from mercer.solvers import Lanczos, Nystrom


def clouds(n: int, d: int = 2, proportions: tuple[float, ...] = (0.5, 0.3, 0.2)) -> np.ndarray:
    """Three normal clouds of unequal weight and spread."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, d)) * 6
    group = rng.choice(3, p=proportions, size=n)
    return centers[group] + rng.normal(size=(n, d)) * np.array([1.0, 0.5, 1.5])[group, None]


# --- kernel ECA of many points in the plane -------------------------------------------------------


def million() -> np.ndarray:
    return clouds(10**6)


def ten_million() -> np.ndarray:
    return clouds(10**7)


def embed(X: np.ndarray) -> None:
    KernelECA(3).fit_transform(X)


def many_points() -> str:
    peer_data = eight_thousand()
    X = million()
    times = best_times(
        {
            "mercer": lambda: embed(X),
            "peer": lambda: SklearnKernelPCA(8, kernel="rbf", gamma=1 / 18).fit_transform(
                peer_data
            ),
        }
    )
    unit = times["peer"]
    peer = f"scikit-learn KernelPCA, 8 of 8,000 × 10: {seconds(unit)}"
    rows = [
        (
            "KernelECA(3).fit_transform, 10⁶ × 2",
            seconds(times["mercer"]),
            peer,
            f"{times['mercer'] / unit:.2f}",
            "≤ 0.6",
        )
    ]
    per_size = {10**6: times["mercer"]}
    for n in (10**5, 10**7):
        data = clouds(n)
        per_size[n] = best_times({"mercer": lambda data=data: embed(data)})["mercer"]
    memory = extra_peak("benchmarks.large_samples", "ten_million", "embed")
    rows.append(
        (
            "the same, 10⁷ × 2",
            f"{seconds(per_size[10**7])}, {memory / 1e3:.2f} GB in addition to the data",
            peer,
            f"{per_size[10**7] / unit:.2f}",
            "≤ 5, under 3 GB",
        )
    )
    slope = np.log10(per_size[10**7] / per_size[10**5]) / 2
    rows.append(
        (
            "the same, 10⁵ × 2; slope of log time over log n from 10⁵ to 10⁷",
            seconds(per_size[10**5]),
            "",
            f"slope {slope:.2f}",
            "≤ 1.05",
        )
    )
    part = clouds(3000)
    width = KernelECA(3).fit(million()).kernel_
    fourier = KernelECA(3, kernel=width, solver="fourier").fit(part)
    dense = KernelECA(3, kernel=width, solver="dense").fit(part)
    error = np.abs(fourier.entropy_terms_ - dense.entropy_terms_).max()
    rows.append(
        (
            "error of the entropy terms for 3,000 points, compared with the full decomposition",
            f"{error / dense.information_potential_:.0e} of V",
            "",
            "",
            "≤ 1e-8",
        )
    )
    return table("Kernel ECA of many points", rows, HEADER)


# --- sums over all pairs ------------------------------------------------------------------------


def sums() -> str:
    """Return times of V, entropy and divergence; errors from 20 random row sums of K."""
    rows = []
    for d in (1, 2, 3):
        X, Y = clouds(10**6, d), clouds(10**6, d)[::-1] + 0.5
        kernel = Gaussian(0.3)
        times = best_times(
            {
                "potential": partial(information_potential, X, kernel),
                "entropy": partial(renyi_entropy, X, kernel),
                "divergence": partial(cauchy_schwarz_divergence, X, Y, kernel),
            }
        )
        few = X[:5000]
        direct = kernel(few).mean()
        gram = summing_gram(Sample(kernel, Points(X), None, None))
        some = np.random.default_rng(1).choice(len(X), size=20, replace=False)
        exact = np.array([kernel(X[i : i + 1], X).mean() for i in some])
        fourier = gram.grid.roots**2 * gram.sums / len(X)
        found = gram.grid.evaluate(fourier[None], Points(X[some]))[:, 0]
        rows.append(
            (
                f"10⁶ × {d}, σ = 0.3",
                *(seconds(value) for value in times.values()),
                f"{information_potential(X, kernel):.10f}",
                f"{np.abs(found / exact - 1).max():.0e}",
                f"{abs(information_potential(few, kernel) / direct - 1):.0e}",
            )
        )
    header = (
        "data",
        "information potential",
        "Renyi entropy",
        "Cauchy–Schwarz divergence",
        "V",
        "relative error of 20 row sums of K, compared with direct sums",
        "relative error of V of 5,000 points, compared with the double sum",
    )
    return table("Sums over 10¹² pairs", rows, header)


# --- landmarks ------------------------------------------------------------------------------------


def sixteen_columns() -> np.ndarray:
    return clouds(10**6, 16)


def embed_landmarks(X: np.ndarray) -> None:
    KernelECA(3, kernel=Gaussian(6.0), solver=Nystrom(1000)).fit_transform(X)


def landmarks() -> str:
    X = sixteen_columns()
    kernel = Gaussian(6.0)
    some = X[:1000]
    begin = time.perf_counter()
    for first in range(0, len(X), 10_000):
        kernel(X[first : first + 10_000], some)
    evaluations = time.perf_counter() - begin
    block = normal(10_000, 1000)
    other = block.copy()  # NumPy would use the symmetry of block.T @ block
    begin = time.perf_counter()
    for _ in range(len(X) // 10_000):
        block.T @ other
    multiplications = time.perf_counter() - begin
    begin = time.perf_counter()
    embed_landmarks(X)
    ours = time.perf_counter() - begin
    memory = extra_peak("benchmarks.large_samples", "sixteen_columns", "embed_landmarks")
    alone = evaluations + multiplications
    rows = [
        (
            "KernelECA(3, solver=Nystrom(1000)).fit_transform, 10⁶ × 16",
            f"{seconds(ours)}, {memory / 1e3:.2f} GB in addition to the data",
            f"kernel values {seconds(evaluations)} + products {seconds(multiplications)}",
            f"{ours / alone:.2f}",
            "≤ 3, under 6 GB",
        )
    ]
    return table("Landmarks", rows, ("task", "mercer", "its main steps", "ratio", "target"))


def landmark_accuracy() -> str:
    """Return errors relative to exact Lanczos; means over five choices of landmarks."""
    rows = []
    rare = (0.989, 0.01, 0.001)
    for sigma, proportions in ((3.0, None), (6.0, None), (12.0, None), (6.0, rare), (12.0, rare)):
        X = clouds(20_000, 16) if proportions is None else clouds(20_000, 16, proportions)
        kernel = Gaussian(sigma)
        exact = KernelPCA(5, kernel=kernel, center=False, solver=Lanczos(stored=True)).fit(X)
        found: dict[str, list[float]] = {
            "error": [],
            "sklearn error": [],
            "missing trace": [],
            "sklearn missing trace": [],
        }
        for seed in range(5):
            ours = KernelPCA(
                5, kernel=kernel, center=False, solver=Nystrom(500, random_state=seed)
            ).fit(X)
            uniform = Nystroem(
                kernel="rbf", gamma=1 / (2 * sigma**2), n_components=500, random_state=seed
            )
            features = uniform.fit_transform(X)
            theirs = np.linalg.eigvalsh(features.T @ features)[::-1][:5]
            found["error"].append(np.abs(1 - ours.eigenvalues_ / exact.eigenvalues_).max())
            found["sklearn error"].append(np.abs(1 - theirs / exact.eigenvalues_).max())
            found["missing trace"].append(ours.spectrum_.error_bound / len(X))
            fraction = np.einsum("ij,ij->", features, features) / len(X)
            found["sklearn missing trace"].append(1 - fraction)
        mean = {name: float(np.mean(values)) for name, values in found.items()}
        rows.append(
            (
                f"σ = {sigma}" + ("" if proportions is None else ", groups of 1 % and 0.1 %"),
                f"{mean['error']:.1e}",
                f"{mean['sklearn error']:.1e}",
                f"{mean['missing trace']:.3%}",
                f"{mean['sklearn missing trace']:.3%}",
            )
        )
    header = (
        "20,000 × 16, 500 landmarks, mean of 5 choices",
        "worst relative error of the top 5 eigenvalues, mercer",
        "the same, scikit-learn Nystroem (uniform)",
        "missing trace, mercer",
        "missing trace, uniform",
    )
    return table("Landmarks compared with exact Lanczos", rows, header)


# --- matrix-free products, compared with their main steps -----------------------------------------


def _exponentials(arguments: np.ndarray, out: np.ndarray) -> None:
    for _ in range(200):
        np.exp(arguments, out=out)


def _tile_products(left: np.ndarray, right: np.ndarray, out: np.ndarray, V: np.ndarray) -> None:
    for _ in range(200):
        np.matmul(left, right.T, out=out)
        out @ V
        out.T @ V


def _keops_product(X: np.ndarray, V: np.ndarray) -> Callable[[], object] | None:
    """Return the same product by pykeops (CPU), already compiled; None if it is not installed."""
    try:
        from pykeops.numpy import LazyTensor
    except ImportError:
        return None
    x, y = LazyTensor(X[:, None, :]), LazyTensor(X[None, :, :])
    K = (-((x - y) ** 2).sum(-1) / 8).exp()
    K @ V
    return lambda: K @ V


def limits() -> str:
    rows = []
    for dtype in (np.float64, np.float32):
        n, tile = 20_000, 256
        X, V = normal(n, dtype=dtype), normal(n, 8, dtype)
        gram = BlockedGram(Gaussian(2.0), Points(X))
        left, right = normal(tile, 12, dtype), normal(tile, 12, dtype)
        out = np.empty((tile, tile), dtype)
        small = normal(tile, 8, dtype)
        tiles = (n / tile) ** 2 / 2
        times = best_times(
            {
                "product": lambda gram=gram, V=V: gram @ V,
                "peer": lambda X=X, V=V: rbf_kernel(X, gamma=1 / 8) @ V,
                "exp": partial(_exponentials, -np.ones((tile, tile), dtype), out),
                "gemm": partial(_tile_products, left, right, out, small),
            }
        )
        keops = _keops_product(X, V)
        times |= best_times({"keops": keops}) if keops is not None else {}
        alone = (times["exp"] + times["gemm"]) / 200 * tiles / 2  # on two cores
        rows.append(
            (
                np.dtype(dtype).name,
                seconds(times["product"]),
                f"{times['peer'] / times['product']:.1f}×",
                f"{times['keops'] / times['product']:.1f}×" if keops else "not installed",
                seconds(alone),
                f"{alone / times['product']:.0%}",
            )
        )
    header = (
        "K @ V, n = 20,000, d = 10, 8 columns",
        "matrix-free product",
        "faster than rbf_kernel(X) @ V",
        "faster than KeOps",
        "exponentials and small products only",
        "as a fraction of the matrix-free product",
    )
    return table("Matrix-free products", rows, header)


def tables() -> list[str]:
    """Return all tables of this module."""
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    warnings.simplefilter("ignore", ApproximationWarning)
    return [many_points(), sums(), landmarks(), landmark_accuracy(), limits()]
