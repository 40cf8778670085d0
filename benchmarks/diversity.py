"""Bounds, coverage, bias, tests and speed of diversity scores, next to other methods.

    python -m benchmarks.diversity bounds [rows [columns [frequencies]]]
    python -m benchmarks.diversity large [rows [columns]]
    python -m benchmarks.diversity dask [rows [columns]]
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

import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import quad

import mercer
from mercer.bandwidth import fit_kernel
from mercer.information import vendi_score
from mercer.information.entropy import spectral_entropy
from mercer.kernels import Cosine, Gaussian
from mercer.population import GaussianOperator, Normal
from mercer.solvers import Nystrom

ORDERS = (1.0, 2.0, inf)


def distributions() -> dict[str, tuple]:
    """Return name -> (sampler, kernel, eigenvalues of the population)."""
    p = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    normal = GaussianOperator(1.0, Normal([0.0], 1.0), n_components=60)
    plane = GaussianOperator(1.0, Normal(np.zeros(2), 1.0), n_components=400)
    space = GaussianOperator(2.0, Normal(np.zeros(3), 1.0), n_components=800)
    inverse_rank = 1 / np.arange(1, 13)
    inverse_rank /= inverse_rank.sum()
    scales = np.sqrt(np.array([4.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25]))
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
            cosine_eigenvalues(scales**2),
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
        "12 atoms, inverse rank, cosine": (
            lambda rng, n: np.eye(12)[rng.choice(12, n, p=inverse_rank)],
            Cosine(),
            inverse_rank,
        ),
        "3 normal columns, Gaussian, bandwidth 2": (
            lambda rng, n: rng.normal(size=(n, 3)),
            Gaussian(2.0),
            space.eigenvalues,
        ),
    }


def cosine_eigenvalues(variances: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of the cosine kernel of independent normal columns with mean 0.

    Signs are symmetric, so the operator is diagonal with entries E[z_i² / |z|²], which is the
    integral over t of E[z_i² exp(-t |z|²)].
    """

    def integrand(t: float, i: int) -> float:
        factors = 1 + 2 * t * variances
        return float(variances[i] / factors[i] / np.sqrt(factors.prod()))

    return np.array([quad(integrand, 0, inf, args=(i,))[0] for i in range(len(variances))])


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
        # where landmarks span the kernel they give the same score in a fraction of the time
        is_smooth = "Gaussian" in name and n >= 500
        solver = Nystrom(500, tolerance=9e-10) if is_smooth else "auto"
        for seed in range(repetitions):
            X = draw(np.random.default_rng(seed), n)
            found.append(
                mercer.measure_diversity(
                    X, kernel, orders=ORDERS, n_modes=0, solver=solver, random_state=seed
                )
            )
        for k, order in enumerate(ORDERS):
            low, high = np.array([one.intervals[k] for one in found]).T
            above, below = np.mean(low > truth[k]), np.mean(high < truth[k])
            plug = np.array([one.scores[k] for one in found]) - truth[k]
            fixed = np.array([one.corrected[k] for one in found]) - truth[k]
            error = plug.std() / np.sqrt(repetitions)
            inside = 1 - above - below
            inside_error = np.sqrt(inside * (1 - inside) / repetitions)
            print(
                f"| {name} | {n} | {repetitions} | {order:g} | {inside:.1%} ± {inside_error:.1%} | "
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

    print("| kernel | AUC (mean) | AUC (lowest) | best novel mode: planted representatives |")
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

    vendi_score(X[:500], kernel, 1, bounds=True, solver="lanczos")  # imports
    found, *cost = measured(lambda: vendi_score(X, kernel, 1, bounds=True, solver="lanczos"))
    width = found.upper / found.lower - 1
    text = f"{found.value:.3f} in [{found.lower:.3f}, {found.upper:.3f}], width {width:.2%}"
    show("Lanczos quadrature", text, *cost)
    quadrature_time = cost[0]
    values = {}
    for count in (1000, frequencies) if frequencies > 1000 else (frequencies,):
        values[count], *cost = measured(lambda c=count: fkea(X, float(kernel.bandwidth), c))
        show(f"FKEA, 2 × {count} features", f"{values[count]:.3f}", *cost)
    exact, *cost = measured(lambda: vendi_score(X, kernel, 1, solver="dense"))
    show("all eigenvalues", f"{exact:.3f}", *cost)
    inside = "inside" if found.lower <= exact <= found.upper else "OUTSIDE"
    print(
        f"time: 1/{cost[0] / quadrature_time:.1f} of all eigenvalues, which are {inside} the bounds"
    )
    print(f"relative error of the quadrature: {abs(found.value / exact - 1):.1e}")
    for count, value in values.items():
        print(f"relative error of FKEA, 2 × {count} features: {abs(value / exact - 1):.1e}")


def _peak_memory() -> float:
    """Return the largest resident memory of this process so far, in GB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def large(n: int = 500_000, d: int = 384) -> None:
    """Print time and memory of the cosine kernel on many rows in single precision."""
    rng = np.random.default_rng(0)
    scales = np.linspace(2, 0.1, d, dtype=np.float32)
    X = np.empty((n, d), np.float32)
    for first in range(0, n, 20_000):
        rows = X[first : first + 20_000]
        rows[:] = rng.standard_normal(rows.shape, np.float32) * scales
    before = _peak_memory()
    print("| call | orders 1, 2, ∞ | CPU time | elapsed | peak memory, of it X |")
    print("|---|---|---|---|---|")
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("vendi_score", lambda: [vendi_score(X, "cosine", order) for order in ORDERS]),
        ("measure_diversity", lambda: mercer.measure_diversity(X).scores),
    ]
    for name, call in calls:
        start = time.process_time(), time.perf_counter()
        scores = np.round(call(), 2)
        cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
        memory = f"{_peak_memory():.2f} GB, {before:.2f} GB"
        print(f"| {name} | {scores} | {cpu:.1f} s | {wall:.1f} s | {memory} |", flush=True)


def on_dask(n: int = 1_000_000, d: int = 768) -> None:
    """Print time and memory of the cosine kernel on two Dask workers, in single precision."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        drawn = da.random.default_rng(0).standard_normal(
            (n, d), chunks=(20_000, d), dtype=np.float32
        )
        X = drawn * da.from_array(np.linspace(2, 0.1, d, dtype=np.float32), chunks=d)
        start = time.perf_counter()
        before = sum(client.run(time.process_time).values())
        score = vendi_score(X, "cosine", 1)
        wall = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) - before
        peaks = ", ".join(f"{peak:.2f}" for peak in client.run(_peak_memory).values())
        print(f"{n} x {d}: score {score:.2f}, CPU time of the workers {cpu:.0f} s (with the")
        print(
            f"generation of the rows), elapsed {wall:.0f} s, peak memory of the workers {peaks} GB"
        )


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
    "large": large,
    "dask": on_dask,
    "coverage": coverage,
    "tests": two_samples,
    "novelty": novelty,
    "published": published,
    "embeddings": embeddings,
}

if __name__ == "__main__":
    given = [int(text) if text.isdigit() else text for text in sys.argv[2:]]
    COMMANDS[sys.argv[1]](*given)
