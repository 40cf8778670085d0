"""Solvers: entropy Lanczos, kernel PCA and matrix-free products."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy.linalg import eigh
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.measure import best_times, extra_peak, table
from mercer import KernelECA, KernelPCA
from mercer.bandwidth import median_distance
from mercer.data.points import Points
from mercer.errors import IdentifiabilityWarning
from mercer.gram import BlockedGram
from mercer.kernels import Gaussian
from mercer.solvers import Lanczos

HEADER = ("task", "mercer", "other library", "ratio", "target")


def normal(n: int, d: int = 10, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def seconds(value: float) -> str:
    return f"{value:.3g} s"


# --- entropy components, compared with the full decomposition -----------------------------------


def entropy() -> str:
    X = normal(5000)
    rows = []
    for label, sigma in (("auto", median_distance(X) / np.sqrt(2)), ("a third of it", 1.0)):
        kernel = Gaussian(sigma)
        fitted = KernelECA(5, kernel=kernel, solver="lanczos")

        def full(sigma: float = sigma) -> np.ndarray:
            K = rbf_kernel(X, gamma=1 / (2 * sigma**2))
            values, vectors = eigh(K)
            terms = values * vectors.sum(axis=0) ** 2 / len(X) ** 2
            return np.sort(terms)[::-1][:5]

        times = {
            **best_times({"mercer": lambda fitted=fitted: fitted.fit(X)}),
            **best_times({"eigh": full}, rounds=1),
        }
        error = np.abs(fitted.entropy_terms_ - full()).max() / fitted.information_potential_
        rows.append(
            (
                f"5 entropy components, n=5000, d=10, σ {label} ({sigma:.2f}); terms agree to "
                f"{error:.0e} of V; certified: {fitted.certified_}",
                seconds(times["mercer"]),
                f"scipy.linalg.eigh {seconds(times['eigh'])}",
                f"{times['eigh'] / times['mercer']:.1f}× faster",
                "≥ 20×",
            )
        )
    return table("Entropy components", rows, HEADER)


# --- kernel PCA, compared with scikit-learn -------------------------------------------------------


def eight_thousand() -> np.ndarray:
    return normal(8000)


def fit_kernel_pca(X: np.ndarray) -> None:
    KernelPCA(8, kernel=Gaussian(3.0)).fit_transform(X)


def fit_sklearn_kernel_pca(X: np.ndarray) -> None:
    SklearnKernelPCA(8, kernel="rbf", gamma=1 / 18).fit_transform(X)


def kernel_pca() -> str:
    X = eight_thousand()
    times = best_times(
        {"mercer": lambda: fit_kernel_pca(X), "peer": lambda: fit_sklearn_kernel_pca(X)}, rounds=3
    )
    gram = 8e-6 * len(X) ** 2
    ours = extra_peak("benchmarks.solvers", "eight_thousand", "fit_kernel_pca")
    theirs = extra_peak("benchmarks.solvers", "eight_thousand", "fit_sklearn_kernel_pca")
    rows = [
        (
            "KernelPCA, n=8000, d=10, 8 components: time",
            seconds(times["mercer"]),
            f"scikit-learn {seconds(times['peer'])}",
            f"{times['mercer'] / times['peer']:.2f}",
            "≤ 0.7",
        ),
        (
            "the same: extra peak memory",
            f"{ours:.0f} MB",
            f"scikit-learn {theirs:.0f} MB; K alone {gram:.0f} MB",
            f"{ours / gram:.2f} × K",
            "≤ 1.2",
        ),
    ]
    return table("Kernel PCA", rows, HEADER)


# --- matrix-free products and fits ----------------------------------------------------------------


def twenty_thousand() -> np.ndarray:
    return normal(20_000)


def fit_matrix_free_pca(X: np.ndarray) -> None:
    KernelPCA(8, solver=Lanczos(stored=False)).fit_transform(X)


def fit_matrix_free_eca(X: np.ndarray) -> None:
    KernelECA(3, kernel=Gaussian(2.0), solver=Lanczos(stored=False)).fit_transform(X)


def products() -> str:
    rows = []
    for dtype, target in ((np.float64, "≥ 4×"), (np.float32, "≥ 10×")):
        X, V = normal(20_000, dtype=dtype), normal(20_000, 8, dtype)
        gram = BlockedGram(Gaussian(2.0), Points(X))
        times = best_times(
            {
                "mercer": partial(gram.product, V),
                "peer": lambda X=X, V=V: rbf_kernel(X, gamma=1 / 8) @ V,
            }
        )
        reference = rbf_kernel(X.astype(float)[:500], X.astype(float), gamma=1 / 8) @ V
        error = np.abs((gram @ V)[:500] - reference).max() / np.abs(reference).max()
        rows.append(
            (
                f"K @ V, n=20,000, d=10, 8 columns, {np.dtype(dtype).name} (error {error:.0e})",
                seconds(times["mercer"]),
                f"rbf_kernel(X) @ V {seconds(times['peer'])}",
                f"{times['peer'] / times['mercer']:.1f}× faster",
                target,
            )
        )
    for name, call in (
        ("KernelPCA(8)", "fit_matrix_free_pca"),
        ("KernelECA(3)", "fit_matrix_free_eca"),
    ):
        X = twenty_thousand()
        run = globals()[call]
        times = best_times({"mercer": lambda run=run, X=X: run(X)}, rounds=1)
        memory = extra_peak("benchmarks.solvers", "twenty_thousand", call)
        rows.append(
            (
                f"{name}, matrix-free, n=20,000: extra peak memory",
                f"{memory:.0f} MB ({seconds(times['mercer'])})",
                "K alone 3200 MB",
                f"{memory / 3200:.3f} × K",
                "≤ 500 MB",
            )
        )
    return table("Matrix-free", rows, HEADER)


def tables() -> list[str]:
    """Return all tables of this module."""
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    return [entropy(), kernel_pca(), products()]
