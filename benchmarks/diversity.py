"""Bounds, coverage, bias, tests and speed of diversity scores, next to other methods.

    python -m benchmarks.diversity bounds [rows]
    python -m benchmarks.diversity coverage [samples [n [distribution]]]
    python -m benchmarks.diversity tests [samples]
    python -m benchmarks.diversity novelty
    python -m benchmarks.diversity published [rows]
    python -m benchmarks.diversity embeddings folder

Samples come from distributions whose kernel operator has a known spectrum: discrete ones on
orthogonal directions, and normal ones under the cosine and under a Gaussian kernel. The packages
vendi-score and hyppo are compared with if they are installed.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.bandwidth import fit_kernel
from mercer.information import vendi_score
from mercer.kernels import Cosine, Gaussian
from mercer.maths.entropy import spectral_entropy
from mercer.population import GaussianOperator, Normal

ORDERS = (1.0, 2.0, inf)


def distributions() -> dict[str, tuple]:
    """Return name -> (sampler, kernel, eigenvalues of the population)."""
    p = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    normal = GaussianOperator(1.0, Normal([0.0], 1.0), n_components=60)
    plane = GaussianOperator(1.0, Normal(np.zeros(2), 1.0), n_components=400)
    scales = np.sqrt(np.array([4.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25]))
    rng = np.random.default_rng(12345)
    Z = rng.normal(size=(2_000_000, 8)) * scales
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    sphere = (Z**2).mean(axis=0)  # signs are symmetric, so the operator is diagonal
    return {
        "6 atoms, cosine": (lambda rng, n: np.eye(6)[rng.choice(6, n, p=p)], Cosine(), p),
        "even 20 atoms, cosine": (
            lambda rng, n: np.eye(20)[rng.integers(20, size=n)],
            Cosine(),
            np.full(20, 0.05),
        ),
        "8 normal columns, cosine": (
            lambda rng, n: rng.normal(size=(n, 8)) * scales,
            Cosine(),
            sphere,
        ),
        "normal, Gaussian": (
            lambda rng, n: rng.normal(size=(n, 1)),
            Gaussian(1.0),
            normal.eigenvalues,
        ),
        "2 normal columns, Gaussian": (
            lambda rng, n: rng.normal(size=(n, 2)),
            Gaussian(1.0),
            plane.eigenvalues,
        ),
    }


def coverage(repetitions: int = 1000, n: int = 200, only: str = "") -> None:
    """Print coverage of 95 % intervals, and the bias of plug-in and corrected scores."""
    print("| distribution | n | samples | order | coverage | below, above | plug-in bias |", end="")
    print(" corrected bias | s.e. of the bias |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, (draw, kernel, eigenvalues) in distributions().items():
        if only not in name:
            continue
        p = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
        truth = np.exp([spectral_entropy(p, order) for order in ORDERS])
        found = []
        for seed in range(repetitions):
            X = draw(np.random.default_rng(seed), n)
            found.append(
                mercer.measure_diversity(X, kernel, orders=ORDERS, n_modes=0, random_state=seed)
            )
        for k, order in enumerate(ORDERS):
            low, high = np.array([one.intervals[k] for one in found]).T
            above, below = np.mean(low > truth[k]), np.mean(high < truth[k])
            plug = np.array([one.scores[k] for one in found]) - truth[k]
            fixed = np.array([one.corrected[k] for one in found]) - truth[k]
            error = plug.std() / np.sqrt(repetitions)
            print(
                f"| {name} | {n} | {repetitions} | {order:g} | {1 - above - below:.1%} | "
                f"{below:.1%}, {above:.1%} | {plug.mean():.4f} | {fixed.mean():.4f} | "
                f"{error:.4f} |",
                flush=True,
            )


def two_samples(repetitions: int = 1000, n: int = 100) -> None:
    """Print size and power of the tests at level 5 %, next to energy distance and hyppo's MMD."""
    print("| kernel | shift | samples | MMD | Cauchy-Schwarz | energy distance | hyppo MMD |")
    print("|---|---|---|---|---|---|---|")
    try:
        from hyppo.ksample import MMD
    except ImportError:
        MMD = None
    for kernel in ("cosine", "gaussian"):
        for shift in (0.0, 0.2, 0.4, 0.6):
            count = repetitions if shift == 0 else max(repetitions // 5, 1)
            p_values = np.full((count, 4), np.nan)
            for seed in range(count):
                rng = np.random.default_rng(seed)
                X, Y = rng.normal(1, 1, size=(n, 5)), rng.normal(1, 1, size=(n, 5))
                Y[:, 0] += shift
                found = mercer.compare_samples(
                    X, Y, kernel, n_modes=0, n_permutations=199, random_state=seed
                )
                p_values[seed, :2] = found.p_value, found.cauchy_schwarz_p_value
                if kernel == "gaussian":
                    p_values[seed, 2] = energy_p_value(X, Y, 199, rng)
                    if MMD is not None and shift:  # a quarter of a second each
                        p_values[seed, 3] = MMD().test(
                            X, Y, reps=199, workers=1, auto=False, random_state=seed
                        )[1]
            rates = np.where(np.isnan(p_values), np.nan, p_values <= 0.05).mean(axis=0)
            cells = " | ".join("" if np.isnan(rate) else f"{rate:.1%}" for rate in rates)
            print(f"| {kernel} | {shift} | {count} | {cells} |", flush=True)


def energy_p_value(X: np.ndarray, Y: np.ndarray, count: int, rng: np.random.Generator) -> float:
    """Return the permutation p-value of the energy distance."""
    Z = np.vstack([X, Y])
    D = np.sqrt(np.maximum(((Z[:, None] - Z[None]) ** 2).sum(axis=2), 0))
    signs = np.r_[np.full(len(X), 1 / len(X)), np.full(len(Y), -1 / len(Y))]
    drawn = np.array([signs, *(rng.permutation(signs) for _ in range(count))])
    statistics = -np.einsum("ij,ij->i", drawn @ D, drawn)
    return float((statistics >= statistics[0] - 1e-12).mean())


def planted(seed: int, n: int = 2000, d: int = 64, fraction: float = 0.01) -> tuple:
    """Return X, Y and the mask of planted rows: mixtures on a sphere, one more mode in Y."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(11, d))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)

    def draw(labels: np.ndarray) -> np.ndarray:
        Z = centers[labels] + 0.6 / np.sqrt(d) * rng.normal(size=(len(labels), d))
        return Z / np.linalg.norm(Z, axis=1, keepdims=True)

    labels = rng.integers(10, size=n)
    is_new = rng.random(n) < fraction
    return draw(rng.integers(10, size=n)), draw(np.where(is_new, 10, labels)), is_new


def novelty(repetitions: int = 20) -> None:
    """Print the area under the ROC curve of the novelty of a planted mode of 1 %."""
    from sklearn.metrics import roc_auc_score

    print("| kernel | AUC (mean) | AUC (lowest) | first novel mode: planted representatives |")
    print("|---|---|---|---|")
    for kernel in ("cosine", "gaussian"):
        areas, hits = [], []
        for seed in range(repetitions):
            X, Y, is_new = planted(seed)
            found = mercer.compare_samples(X, Y, kernel, n_permutations=19, random_state=seed)
            areas.append(roc_auc_score(is_new, found.novelty))
            hits.append(max(is_new[mode.representatives].mean() for mode in found.novel_modes))
        print(f"| {kernel} | {np.mean(areas):.4f} | {min(areas):.4f} | {np.mean(hits):.1%} |")


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of a call, its CPU time in seconds and its peak memory in MB."""
    tracemalloc.start()
    start = time.process_time()
    result = work()
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, seconds, peak / 1e6


def fkea(X: np.ndarray, bandwidth: float, count: int, seed: int = 0) -> float:
    """Return the score of order 1 from random Fourier features, as in FKEA."""
    rng = np.random.default_rng(seed)
    angles = X @ rng.normal(scale=1 / bandwidth, size=(X.shape[1], count))
    features = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(count)
    p = np.linalg.eigvalsh(features.T @ features / len(X))
    p = p[p > 0]
    return float(np.exp(-(p * np.log(p)).sum()))


def bounds(n: int = 10_000, d: int = 512, frequencies: int = 4000) -> None:
    """Print width and time of the bounds, of random Fourier features and of all eigenvalues."""
    X = np.random.default_rng(0).normal(size=(n, d))
    kernel = fit_kernel(Gaussian("auto"), X)
    print("| method | score | CPU time | peak memory |\n|---|---|---|---|")

    def show(name: str, score: str, seconds: float, memory: float) -> None:
        print(f"| {name} | {score} | {seconds:.1f} s | {memory:.0f} MB |", flush=True)

    found, *cost = measured(lambda: vendi_score(X, kernel, 1, bounds=True, solver="lanczos"))
    width = found.upper / found.lower - 1
    text = f"{found.value:.3f} in [{found.lower:.3f}, {found.upper:.3f}], width {width:.2%}"
    show("Lanczos quadrature", text, *cost)
    for count in (1000, frequencies) if frequencies > 1000 else (frequencies,):
        value, *cost = measured(lambda c=count: fkea(X, float(kernel.bandwidth), c))
        show(f"FKEA, 2 × {count} features", f"{value:.3f}", *cost)
    value, *cost = measured(lambda: vendi_score(X, kernel, 1, solver="dense"))
    show("all eigenvalues", f"{value:.3f}", *cost)


def published(n: int = 600, d: int = 64) -> None:
    """Print values, CPU time and memory next to vendi-score, FKEA, KEN and SPEC."""
    X, Y, _ = planted(0, n, d)
    other = np.random.default_rng(1).normal(size=(d, d // 2))
    gaussian = fit_kernel(Gaussian("auto"), X)
    K = Cosine()

    def ken() -> np.ndarray:
        A, B, C = gaussian(Y) / n, gaussian(X) / n, gaussian(Y, X) / n
        return np.sort(np.linalg.eigvals(np.block([[A, C], [-C.T, -B]])).real)[::-1][:3]

    def spec() -> np.ndarray:
        return np.linalg.eigvalsh((K(X) - K(X @ other)) / n)[::-1][:3]

    pairs: list[tuple[str, Callable[[], Any], str, Callable[[], Any]]] = []
    try:
        from vendi_score import vendi
    except ImportError:
        vendi = None
    if vendi is not None:
        pairs += [
            ("vendi-score: score_K", lambda: vendi.score_K(K(X)), "cosine", lambda: score(K)),
            ("vendi-score: score_dual", lambda: vendi.score_dual(X), "cosine", lambda: score(K)),
            (
                "vendi-score: score_K",
                lambda: vendi.score_K(gaussian(X)),
                "Gaussian",
                lambda: score(gaussian),
            ),
        ]

    def score(kernel: Any) -> float:
        return float(vendi_score(X, kernel, 1))

    def novel() -> list[float]:
        found = mercer.compare_samples(X, Y, gaussian, n_modes=3, n_permutations=19)
        return [mode.eigenvalue for mode in found.novel_modes]

    def different() -> list[float]:
        found = mercer.compare_embeddings(X, X @ other, n_modes=3)
        return [mode.eigenvalue for mode in found.first_modes]

    pairs += [
        (
            "FKEA, 2 × 1000 features",
            lambda: fkea(X, float(gaussian.bandwidth), 1000),
            "Gaussian",
            lambda: score(gaussian),
        ),
        ("KEN: three eigenvalues", ken, "Gaussian", novel),
        ("SPEC: three eigenvalues", spec, "cosine", different),
    ]
    print(
        "| method | kernel | value | CPU, memory | ours | CPU, memory |\n|---|---|---|---|---|---|"
    )
    for name, theirs, kernel, ours in pairs:
        cells = []
        for work in (theirs, ours):
            value, seconds, memory = measured(work)
            numbers = " ".join(f"{x:.5g}" for x in np.atleast_1d(value))
            cells.append(f"{numbers} | {seconds:.2f} s, {memory:.0f} MB")
        print(f"| {name} | {kernel} | " + " | ".join(cells) + " |", flush=True)


def embeddings(folder: str) -> None:
    """Print where ViT and ResNet-18 embeddings of the same images differ.

    The folder holds ``vit_mvtec_PRODUCT.npz`` and ``resnet18_mvtec_PRODUCT.npz`` with arrays X and
    y (1: defective).
    """
    products = sorted(path.stem.removeprefix("vit_mvtec_") for path in Path(folder).glob("vit_*"))
    parts: dict[str, list[np.ndarray]] = {"vit": [], "resnet18": []}
    labels: list[str] = []
    for product in products:
        for name, rows in parts.items():
            stored = np.load(Path(folder) / f"{name}_mvtec_{product}.npz")
            rows.append(stored["X"].astype(np.float64))
        labels += [product + (" (defective)" if y else "") for y in stored["y"]]
    data = {name: np.concatenate(rows) for name, rows in parts.items()}
    # the common mean direction is removed: it holds almost all of V
    data = {name: X - X.mean(axis=0) for name, X in data.items()}
    for name, X in data.items():
        print(f"{name}: scores", np.round(mercer.measure_diversity(X, n_modes=0).scores, 2))
    found = mercer.compare_embeddings(data["vit"], data["resnet18"], n_modes=4)
    print(f"{len(labels)} rows, ‖K₁ - K₂‖/n = {found.distance:.4f}, residual {found.residual:.1e}")
    print("| held together by | eigenvalue | products of the eight representatives |")
    print("|---|---|---|")
    for name, modes in (("ViT only", found.first_modes), ("ResNet-18 only", found.second_modes)):
        for mode in modes:
            names, counts = np.unique([labels[i] for i in mode.representatives], return_counts=True)
            shown = ", ".join(f"{c} {x}" for x, c in zip(names, counts, strict=True))
            print(f"| {name} | {mode.eigenvalue:.4f} | {shown} |")


COMMANDS: dict[str, Callable[..., None]] = {
    "bounds": bounds,
    "coverage": coverage,
    "tests": two_samples,
    "novelty": novelty,
    "published": published,
    "embeddings": embeddings,
}

if __name__ == "__main__":
    given = [int(text) if text.isdigit() else text for text in sys.argv[2:]]
    COMMANDS[sys.argv[1]](*given)
