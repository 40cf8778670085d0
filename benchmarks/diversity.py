"""Coverage of diversity intervals, bias of scores, size and power of the two-sample tests.

    python -m benchmarks.diversity coverage [samples [n [distribution]]]
    python -m benchmarks.diversity tests [repetitions]
    python -m benchmarks.diversity novelty

Samples come from distributions whose kernel operator has a known spectrum: discrete ones on
orthogonal directions, and normal ones under the cosine and under a Gaussian kernel.
"""

from __future__ import annotations

import sys
from math import inf

import numpy as np

import mercer
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
                f"{below:.1%}, {above:.1%} | {plug.mean():.4f} | {fixed.mean():.4f} | {error:.4f} |",
                flush=True,
            )


def two_samples(repetitions: int = 1000, n: int = 100) -> None:
    """Print size and power of the tests at level 5 %."""
    print("| kernel | shift | MMD rejects | Cauchy-Schwarz rejects |")
    print("|---|---|---|---|")
    for kernel in ("cosine", "gaussian"):
        for shift in (0.0, 0.2, 0.4):
            rejected = np.zeros(2)
            for seed in range(repetitions if shift == 0 else repetitions // 5):
                rng = np.random.default_rng(seed)
                X, Y = rng.normal(1, 1, size=(n, 5)), rng.normal(1, 1, size=(n, 5))
                Y[:, 0] += shift
                found = mercer.compare_samples(
                    X, Y, kernel, n_modes=0, n_permutations=199, random_state=seed
                )
                rejected += np.array([found.p_value, found.cauchy_schwarz_p_value]) <= 0.05
            rate = rejected / (seed + 1)
            print(f"| {kernel} | {shift} | {rate[0]:.1%} | {rate[1]:.1%} |", flush=True)


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


if __name__ == "__main__":
    given = [int(text) if text.isdigit() else text for text in sys.argv[2:]]
    {"coverage": coverage, "tests": two_samples, "novelty": novelty}[sys.argv[1]](*given)
