"""Power of tests of two samples: bandwidths of the MMD, several bandwidths, energy distance.

``python -m benchmarks.two_sample_tests widths [REPETITIONS]`` runs mercer's and hyppo's MMD with
each other's bandwidths; ``power [REPETITIONS] [GROUP] [N] [FOLDER]`` compares rules for the
bandwidth on groups of alternatives (first, second, embeddings).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist, squareform

import mercer
from mercer.bandwidth import fit_kernel
from mercer.errors import suppress_warnings
from mercer.kernels import Gaussian

Draw = Callable[[np.random.Generator, int, int, float], tuple[np.ndarray, np.ndarray]]

PERMUTATIONS = 199
FACTORS = 2.0 ** np.arange(-2, 2.5, 0.5)  # bandwidths as multiples of the median distance


def normal_pair(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two samples of the standard normal distribution."""
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def shift(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """All columns are shifted."""
    X, Y = normal_pair(rng, n, d)
    return X, Y + effect / np.sqrt(d)


def one_shift(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """One column is shifted."""
    X, Y = normal_pair(rng, n, d)
    Y[:, 0] += effect
    return X, Y


def scale(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """All columns have another variance."""
    X, Y = normal_pair(rng, n, d)
    return X, Y * (1 + effect)


def one_scale(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """One column has another variance."""
    X, Y = normal_pair(rng, n, d)
    Y[:, 0] *= 1 + effect
    return X, Y


def small_mode(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """A fraction of Y is a tight mode at the typical distance from the origin."""
    X, Y = normal_pair(rng, n, d)
    center = np.zeros(d)
    center[0] = np.sqrt(d)
    rows = rng.random(n) < effect
    Y[rows] = center + 0.2 * rng.normal(size=(int(rows.sum()), d))
    return X, Y


def heavy_tails(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """Y is a mixture with rows of Student's distribution with 2.5 degrees of freedom."""
    X, Y = normal_pair(rng, n, d)
    rows = rng.random(n) < effect
    Y[rows] /= np.sqrt(rng.chisquare(2.5, size=(int(rows.sum()), 1)) / 2.5)
    return X, Y


def correlation(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """All columns of Y have a common correlation."""
    X, Y = normal_pair(rng, n, d)
    return X, np.sqrt(1 - effect) * Y + np.sqrt(effect) * rng.normal(size=(n, 1))


def skewness(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """The columns of Y are mixtures of normal and centered exponential variables."""
    X, Y = normal_pair(rng, n, d)
    return X, np.sqrt(1 - effect) * Y + np.sqrt(effect) * (rng.exponential(size=(n, d)) - 1)


def blobs(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """Nine clusters on a grid in two of the columns; those of Y are elongated."""
    X, Y = normal_pair(rng, n, d)
    Y[:, 0] *= 1 + effect
    for Z in (X, Y):
        Z[:, :2] += 10 * rng.integers(3, size=(n, 2))
    return X, Y


def two_modes(rng: np.random.Generator, n: int, d: int, effect: float) -> tuple:
    """The first column of Y has two modes, with unit variance."""
    X, Y = normal_pair(rng, n, d)
    signs = rng.choice([-1, 1], size=n)
    Y[:, 0] = np.sqrt(1 - effect**2) * Y[:, 0] + effect * signs
    return X, Y


GROUPS: dict[str, dict[str, Draw]] = {
    "first": {f.__name__: f for f in (shift, one_shift, scale, one_scale, small_mode)},
    "second": {f.__name__: f for f in (heavy_tails, correlation, skewness, blobs, two_modes)},
}
EFFECTS = {
    "shift": (0.1, 2.0), "one_shift": (0.1, 2.0), "scale": (0.01, 1.0), "one_scale": (0.1, 8.0),
    "small_mode": (0.02, 0.5), "heavy_tails": (0.03, 1.0), "correlation": (0.01, 0.9),
    "skewness": (0.02, 1.0), "blobs": (0.1, 12.0), "two_modes": (0.1, 1.0),
}  # fmt: skip


def embedding_pairs(folder: Path) -> dict[str, Draw]:
    """Return alternatives from embeddings with labels: rows of one class are more frequent in Y."""
    found: dict[str, Draw] = {}
    for path in sorted(folder.glob("*.npz")):
        stored = np.load(path, allow_pickle=False)
        X, y = stored["X"].astype(float), stored["y"]
        names, counts = np.unique(y, return_counts=True)
        chosen = names[counts.argmin() if len(names) < 3 else 0]
        inside, outside = np.flatnonzero(y == chosen), np.flatnonzero(y != chosen)

        def draw(
            rng: np.random.Generator,
            n: int,
            d: int,
            effect: float,
            parts: tuple[np.ndarray, ...] = (X, inside, outside),
        ) -> tuple:
            X, inside, outside = parts
            from_class = rng.random(2 * n) < np.r_[np.full(n, 0.05), np.full(n, 0.05 + effect)]
            rows = np.where(from_class, rng.choice(inside, 2 * n), rng.choice(outside, 2 * n))
            # without copies: rows with replacement are moved by a hundredth of the spread
            Z = X[rows] + 0.01 * X.std() * rng.normal(size=(2 * n, X.shape[1]))
            return Z[:n], Z[n:]

        found[path.stem] = draw
    return found


def p_values(X: np.ndarray, Y: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Return the p-values of all candidates, from one set of permutations."""
    n, m = len(X), len(Y)
    Z = np.vstack([X, Y])
    D = squareform(pdist(Z))
    signs = np.r_[np.full(n, 1 / n), np.full(m, -1 / m)]
    drawn = np.column_stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))])
    median = float(np.median(D[np.triu_indices(n + m, 1)]))
    with suppress_warnings():  # columns of embeddings have different scales
        auto = float(fit_kernel(Gaussian("auto"), Z).bandwidth)

    columns = drawn.astype(np.float32)

    def statistics(K: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->j", columns, K @ columns).astype(float)

    # the columns sum to 0, so K - 1 gives the same statistics, with small rounding errors
    square = (D**2).astype(np.float32)
    D = D.astype(np.float32)
    widths = {f: statistics(np.expm1(-square / (2 * (f * median) ** 2))) for f in FACTORS}
    scores = {f: (t - t.mean()) / max(t.std(), 1e-300) for f, t in widths.items()}
    candidates = {
        "auto": statistics(np.expm1(-square / (2 * auto**2))),
        **{f"{f:.2f} median": t for f, t in widths.items()},
        "energy": statistics(-D),
        "Laplacian": statistics(np.expm1(-D / median)),
    }
    standardized = {f: scores[f] for f in FACTORS}
    tables = {
        "3": np.array([standardized[f] for f in (0.5, 1.0, 2.0)]),
        "4": np.array([standardized[f] for f in (0.25, 0.5, 1.0, 2.0)]),
        "5": np.array([standardized[f] for f in (0.25, 0.5, 1.0, 2.0, 4.0)]),
        "9": np.array(list(standardized.values())),
    }
    for name, table in tables.items():
        candidates[f"max of {name}"] = table.max(axis=0)
        candidates[f"sum of {name}"] = table.sum(axis=0)
        ranks = table.argsort(axis=1).argsort(axis=1)
        candidates[f"ranks of {name}"] = ranks.max(axis=0) + 1e-6 * table.max(axis=0)
    energy = candidates["energy"]
    energy = (energy - energy.mean()) / energy.std()
    narrow = np.array([energy, standardized[0.5], standardized[0.25]])
    candidates["max of energy, 1/2, 1/4"] = narrow.max(axis=0)
    candidates["sum of energy, 1/2, 1/4"] = narrow.sum(axis=0)
    return {name: float((t >= t[0] - 1e-12).mean()) for name, t in candidates.items()}


def rates(draw: Draw, n: int, d: int, effect: float, seeds: range) -> dict[str, float]:
    """Return the rates of rejection at level 5 %."""
    found: dict[str, list[bool]] = {}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for name, p in p_values(*draw(rng, n, d, effect), rng).items():
            found.setdefault(name, []).append(p <= 0.05)
    return {name: float(np.mean(values)) for name, values in found.items()}


def calibrated(draw: Draw, n: int, d: int, limits: tuple[float, float]) -> float:
    """Return the effect at which all candidates together reject half of the time."""
    low, high = np.log(limits)
    for step in range(5):
        middle = (low + high) / 2
        seeds = range(10_000 + 24 * step, 10_024 + 24 * step)
        if np.mean(list(rates(draw, n, d, float(np.exp(middle)), seeds).values())) < 0.5:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def power(repetitions: int = 200, group: str = "first", n: int = 100, folder: str = "") -> None:
    """Print the power of all candidates; effects are set to half of the rejections on average."""
    if group == "embeddings":
        cases = [
            (name, draw, n, 0, (0.01, 0.95)) for name, draw in embedding_pairs(Path(folder)).items()
        ]
    elif group == "size":
        cases = [("shift", shift, n, d, (0.0, 0.0)) for d in (2, 10, 50)]
    else:
        cases = [
            (name, draw, n, d, EFFECTS[name])
            for name, draw in GROUPS[group].items()
            for d in (2, 10, 50)
        ]
    table: dict[str, list[float]] = {}
    start = time.process_time()
    for name, draw, n, d, limits in cases:
        effect = calibrated(draw, n, d, limits) if limits[1] else 0.0
        found = rates(draw, n, d, effect, range(repetitions))
        for candidate, rate in found.items():
            table.setdefault(candidate, []).append(rate)
        shown = " ".join(f"{c}={r:.1%}" for c, r in found.items())
        print(f"{name} n={n} d={d} effect={effect:.3f}: {shown}", flush=True)
    best = np.max(list(table.values()), axis=0)
    seconds = time.process_time() - start
    print(f"\n{len(best)} alternatives, {repetitions} repetitions, {seconds:.0f} s of CPU time")
    print("| test | mean power | largest loss to the best |\n|---|---|---|")
    for candidate, values in sorted(table.items(), key=lambda item: -np.mean(item[1])):
        print(f"| {candidate} | {np.mean(values):.1%} | {np.max(best - values):.1%} |")


def widths(repetitions: int = 500, n: int = 50, percent: int = 56) -> None:
    """Print the power of mercer's and hyppo's MMD with each other's bandwidths.

    The first of five normal columns is shifted, by this many percent of its standard deviation.
    """
    from hyppo.ksample import MMD

    found = np.empty((repetitions, 5))
    options = {"n_modes": 0, "n_permutations": PERMUTATIONS}
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(1, 1, size=(n, 5)), rng.normal(1, 1, size=(n, 5))
        Y[:, 0] += percent / 100
        median = float(np.median(pdist(np.vstack([X, Y]))))
        kernels = [Gaussian(median / np.sqrt(2)), Gaussian(median), Gaussian("auto")]
        for k, kernel in enumerate(kernels):
            tested = mercer.compare_samples(X, Y, kernel, random_state=seed, **options)
            found[seed, k] = tested.p_value
        for k, kernel in enumerate(kernels[:2], start=3):
            gamma = 1 / (2 * kernel.bandwidth**2)
            with warnings.catch_warnings():  # fewer than 1000 permutations
                warnings.simplefilter("ignore", RuntimeWarning)
                found[seed, k] = MMD(gamma=gamma).test(
                    X, Y, reps=PERMUTATIONS, workers=1, auto=False, random_state=seed
                )[1]
    rejected = found <= 0.05
    names = ("mercer, median/√2", "mercer, median", "mercer, five", "hyppo, median/√2")
    print("| repetitions | " + " | ".join((*names, "hyppo, median")) + " |\n" + "|---" * 6 + "|")
    cells = " | ".join(f"{rate:.1%}" for rate in rejected.mean(axis=0))
    print(f"| {repetitions} | {cells} |")
    for k, name in ((0, "median/√2"), (1, "median")):
        differ = np.mean(rejected[:, k] != rejected[:, k + 3])
        print(f"different decisions of mercer and hyppo with {name}: {differ:.1%}")


if __name__ == "__main__":
    given = [int(text) if text.isdigit() else text for text in sys.argv[2:]]
    {"widths": widths, "power": power}[sys.argv[1]](*given)
