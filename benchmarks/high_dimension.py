"""Whether kernel PCA becomes linear as the dimension grows: an open question of Liang (2014).

n = 500 points, centered: the Gaussian kernel with the median distance as bandwidth, and polynomial
kernels of x'y/d (El Karoui 2010 shows that f(x'y/d) becomes linear if f'(0) is not 0; that excludes
the kernels (x'y)² and (x'y)³ of the thesis). Two numbers for the first kernel component: its
correlation with the first linear component, and the fraction of its variance that a linear function
of all coordinates explains on 4000 new points (fitted on 4000 others, so that the estimate is not
optimistic). Means over five samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.measure import table
from mercer import KernelPCA
from mercer.kernels import Gaussian, Kernel, Polynomial

DIMENSIONS = (2, 3, 5, 10, 20, 50, 100, 200)
N, NEW, SAMPLES = 500, 4000, 5

Distribution = Callable[[np.random.Generator, int, int], np.ndarray]


def decaying(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Normal, with standard deviations 1, 2^-½, 3^-½, …."""
    return rng.standard_normal((n, d)) / np.sqrt(np.arange(1, d + 1))


def spiked(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Normal with unit variances, but 4 in the first coordinate."""
    X = rng.standard_normal((n, d))
    X[:, 0] *= 2
    return X


def ring(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """A ring of radius 3 around a blob in the plane, half of the points each; noise elsewhere."""
    X = rng.standard_normal((n, d))
    angles = rng.uniform(0, 2 * np.pi, n)
    circle = 3 * np.column_stack([np.cos(angles), np.sin(angles)])
    X[:, :2] = 0.3 * X[:, :2] + np.where(rng.random(n)[:, None] < 0.5, circle, 0.0)
    return X


def linearity(distribution: Distribution, kernel: Kernel, d: int) -> tuple[float, float]:
    """Return the correlation with the first linear component and the linear fraction."""
    found = []
    for seed in range(SAMPLES):
        rng = np.random.default_rng(seed)
        X, train, test = (distribution(rng, n, d) for n in (N, NEW, NEW))
        pca = KernelPCA(1, kernel=kernel, solver="dense").fit(X)
        center = X.mean(axis=0)
        first = np.linalg.svd(X - center, full_matrices=False)[2][0]
        values = pca.transform(test)[:, 0]
        correlation = abs(np.corrcoef(values, (test - center) @ first)[0, 1])
        design, new = (np.column_stack([np.ones(NEW), part]) for part in (train, test))
        line = np.linalg.lstsq(design, pca.transform(train)[:, 0], rcond=None)[0]
        found.append((correlation, 1 - np.var(values - new @ line) / np.var(values)))
    mean = np.mean(found, axis=0)
    return float(mean[0]), float(mean[1])


def tables() -> Iterator[str]:
    distributions: dict[str, Distribution] = {
        "variances 1/i": decaying,
        "one variance of 4": spiked,
        "ring": ring,
    }
    kernels: dict[str, Callable[[int], Kernel]] = {
        "Gaussian kernel": lambda d: Gaussian("median-distance"),
        "(1 + x'y/d)²": lambda d: Polynomial(2, 1.0, scale=1 / d),
        "(x'y/d)²": lambda d: Polynomial(2, scale=1 / d),
        "(x'y/d)³": lambda d: Polynomial(3, scale=1 / d),
    }
    for name, kernel in kernels.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = [
                (
                    str(d),
                    *(
                        "{:.3f}, {:.3f}".format(*linearity(distribution, kernel(d), d))
                        for distribution in distributions.values()
                    ),
                )
                for d in DIMENSIONS
            ]
        title = "First component: correlation with the first linear one, linear fraction"
        yield table(f"{name}. {title}", rows, ("d", *distributions))
