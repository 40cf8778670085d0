"""Error of ``KernelDenoiser`` by number of components, order and pre-image.

700 clean rows, 150 noisy ones; noise in units of the root mean square of the columns' standard
deviations. Each error is relative to that of the noisy rows. The second table compares rules: error
relative to the best of all settings for the same data and noise. The rule was chosen after
results on digits, which are left out of it, and on USPS, which are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll

from benchmarks.measure import table
from mercer import KernelDenoiser, datasets
from mercer.decomposition.preimages import preimages
from mercer.errors import RankError

N, NEW = 700, 150
LEVELS = (0.25, 0.5, 1.0, 2.0)
COMPONENTS = (8, 16, 32, 64, 128, 256, 0.8, 0.9, 0.95, 0.98, 0.99)
SETTINGS = [
    (order, count, method)
    for order, counts in (("variance", COMPONENTS), ("entropy", (8, 64)))
    for count in counts
    for method in ("kwok-tsang", "mika")
]


def circle(rng: np.random.Generator, n: int) -> np.ndarray:
    """A closed curve in a rotated space of 20 dimensions."""
    t = rng.uniform(0, 2 * np.pi, n)
    Z = np.zeros((n, 20))
    Z[:, :4] = np.column_stack([np.cos(t), np.sin(t), 0.5 * np.cos(2 * t), 0.5 * np.sin(3 * t)])
    return Z @ np.linalg.qr(np.random.default_rng(3).normal(size=(20, 20)))[0]


def sphere(rng: np.random.Generator, n: int) -> np.ndarray:
    """A sphere in 10 dimensions."""
    v = rng.normal(size=(n, 3))
    return np.column_stack([v / np.linalg.norm(v, axis=1, keepdims=True), np.zeros((n, 7))])


def torus(rng: np.random.Generator, n: int) -> np.ndarray:
    """A torus in 6 dimensions."""
    a, b = rng.uniform(0, 2 * np.pi, (2, n))
    parts = (np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.cos(a + b), np.sin(a - b))
    return np.column_stack(parts)


def clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    """Six small clusters in 10 dimensions."""
    centers = 2 * np.random.default_rng(5).normal(size=(6, 10))
    return centers[rng.integers(6, size=n)] + 0.15 * rng.normal(size=(n, 10))


def blobs(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three blobs in the plane."""
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return centers[rng.integers(3, size=n)] + 0.2 * rng.normal(size=(n, 2))


def _first(loaded: Any) -> np.ndarray:
    return np.asarray(loaded[0] if isinstance(loaded, tuple) else loaded, dtype=np.float64)


def _standardized(X: np.ndarray) -> np.ndarray:
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)


SETS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "digits": lambda rng: load_digits().data / 16,
    "USPS": lambda rng: _first(datasets.load_usps()),
    "Frey faces": lambda rng: _first(datasets.load_frey_faces()) / 255,
    "pendigits": lambda rng: _first(datasets.load_pendigits()) / 100,
    "segment": lambda rng: _standardized(_first(datasets.load_segment())),
    "Swiss roll": lambda rng: make_swiss_roll(N + NEW, random_state=1)[0],
    "S curve": lambda rng: make_s_curve(N + NEW, random_state=1)[0],
    "circle": lambda rng: circle(rng, N + NEW),
    "sphere": lambda rng: sphere(rng, N + NEW),
    "torus": lambda rng: torus(rng, N + NEW),
    "clusters": lambda rng: clusters(rng, N + NEW),
    "blobs": lambda rng: blobs(rng, N + NEW),
}


def errors(X: np.ndarray) -> dict[tuple[float, Any], float]:
    """Return errors by noise level and setting."""
    rows = np.random.default_rng(0).permutation(len(X))
    train, clean = X[rows[:N]], X[rows[N : N + NEW]]
    unit = float(np.sqrt(train.var(axis=0).mean()))
    found = {}
    models: dict[Any, KernelDenoiser] = {}
    for order, count, method in SETTINGS:
        if (order, count) not in models:
            try:
                models[order, count] = KernelDenoiser(count, order=order).fit(train)
            except RankError:
                models[order, count] = KernelDenoiser(None, order=order).fit(train)
        spectrum = models[order, count].spectrum_
        for level in LEVELS:
            noise = level * unit * np.random.default_rng(9).normal(size=clean.shape)
            restored = preimages(spectrum, spectrum.project(clean + noise), method)
            error = ((restored - clean) ** 2).mean() / (noise**2).mean()
            found[level, (order, count, method)] = float(error)
    return found


def tables() -> Iterator[str]:
    """Yield the table of errors by data set, and the table of rules."""
    warnings.simplefilter("ignore")
    shown = [("variance", count, "mika") for count in (8, 64, 0.9, 0.95, 0.98)]
    shown += [("variance", 64, "kwok-tsang"), ("entropy", 8, "kwok-tsang")]
    heads: tuple[str, ...] = ("data", "noise", *(", ".join(map(str, one)) for one in shown))
    lines: list[tuple[str, ...]] = []
    ratios: dict[Any, list[float]] = {setting: [] for setting in SETTINGS}
    for name, load in SETS.items():
        found = errors(load(np.random.default_rng(1)))
        for level in LEVELS:
            best = min(found[level, setting] for setting in SETTINGS)
            cells = [f"{found[level, one]:.3g}" for one in shown]
            lines.append((name, str(level), *cells))
            if name != "digits":
                for setting in SETTINGS:
                    ratios[setting].append(np.log(found[level, setting] / best))
    yield table("Denoising: error relative to the noisy rows", lines, heads)
    rules = [
        (", ".join(map(str, one)), f"{np.exp(np.mean(r)):.3g}", f"{np.exp(np.max(r)):.3g}")
        for one, r in ratios.items()
    ]
    heads = ("order, components, pre-image", "geometric mean", "worst")
    yield table("Denoising: error relative to the best setting", rules, heads)
