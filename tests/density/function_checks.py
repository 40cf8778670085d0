"""Functions of random densities, compared with quadrature and finite differences.

Integrals are sums over cells of Gauss-Legendre rules in coordinates in which each column covers the
line. Cells begin and end at data points, their reflections and bounds, and the cell with the
largest difference from the sum over its parts is divided until the total is small, so the error of
each integral is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from mercer import ParzenDensity
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Matern

LEVELS = np.array([0.01, 0.3, 0.5, 0.9])


@dataclass
class Case:
    """A fitted density and what describes it."""

    density: ParzenDensity
    description: str
    low: np.ndarray
    high: np.ndarray
    transformed: bool
    X: np.ndarray


def random_case(seed: int) -> Case:
    """Fit a density to a random sample with random settings."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([1, 1, 2]))
    n = int(rng.integers(4, 30 if d == 1 else 9))
    shape = rng.choice(["normal", "lognormal", "uniform", "outlier", "ties"])
    X = rng.uniform(size=(n, d)) if shape == "uniform" else rng.normal(size=(n, d))
    if shape == "lognormal":
        X = np.exp(1.5 * X)
    if shape == "outlier":
        X[0] = rng.choice([-1, 1], d) * 10 ** rng.uniform(1, 3)
    if shape == "ties":
        X = np.round(2 * X) / 2
        X[: d + 2] += 0.01 * rng.normal(size=(d + 2, d))
    settings: dict[str, Any] = {}
    span = np.ptp(X, axis=0)
    kinds = rng.choice(["none", "low", "high", "both", "unit"], d)
    low = np.where(np.isin(kinds, ["low", "both"]), X.min(axis=0) - 0.1 * span, -np.inf)
    high = np.where(np.isin(kinds, ["high", "both"]), X.max(axis=0) + 0.2 * span, np.inf)
    if shape in ("uniform", "lognormal"):
        low = np.where(kinds == "unit", 0, low)
        high = np.where((kinds == "unit") & (shape == "uniform"), 1, high)
    if np.isfinite(low).any() or np.isfinite(high).any():
        settings["support"] = np.stack([low, high], axis=1).tolist()
        settings["boundary"] = str(rng.choice(["reflection", "transformation"]))
    transformed = settings.get("boundary") == "transformation"
    scale = np.minimum(np.median(np.abs(X - np.median(X, axis=0)), axis=0) + 0.05, span)
    widths = (np.ones(d) if transformed else scale) * 10 ** rng.uniform(-0.7, 0.5)
    bandwidth = float(widths[0]) if d == 1 or rng.random() < 0.3 else widths
    if transformed:  # numbers next to a bound are as far apart as numbers of its size
        bandwidth = bandwidth / 4
    kernels = [
        "gaussian",
        Gaussian(2 * bandwidth),
        Laplacian(bandwidth),
        Matern(bandwidth, nu=float(rng.choice([0.5, 1.5, 2.5, 3.7]))),
        Epanechnikov(2.5 * bandwidth),
        Gaussian(bandwidth) + 0.5 * Laplacian(0.7 * bandwidth),
        Gaussian(0.5, metric=np.diag(widths**2) * (0.4 + 0.6 * np.eye(d))),
        Gaussian(0.5 * float(widths[0]), metric=0.5 * np.eye(d) + 0.5),
    ]
    kernel = kernels[rng.integers(len(kernels))]
    settings["kernel"] = kernel
    if isinstance(kernel, str) or (isinstance(kernel, Gaussian) and rng.random() < 0.4):
        by_rule = isinstance(kernel, str)
        settings["adaptive"] = [False, True, "shape" if by_rule else True][rng.integers(3)]
    if not settings.get("adaptive") and rng.random() < 0.15:
        settings["weights"] = "learned"
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(0, 4, n).astype(float) + (np.arange(n) < 4)
    density = ParzenDensity(**settings).fit(X, sample_weight=weights)
    weighted = "" if weights is None else ", weighted"
    description = f"{seed}: {shape} {X.shape}{weighted}, {settings}"
    return Case(density, description, low, high, transformed, X)


# --- quadrature -----------------------------------------------------------------------------------


class Columns:
    """Coordinates z of each column that cover the line, whatever the bounds: x = x(z)."""

    def __init__(self, case: Case) -> None:
        self.low, self.high, self.transformed = case.low, case.high, case.transformed

    def x(self, z: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return x and dx/dz of a column; without transformation z is x."""
        a, b = self.low[c], self.high[c]
        if not self.transformed or (np.isinf(a) and np.isinf(b)):
            return z, np.ones_like(z)
        if np.isinf(b):
            return a + np.exp(z), np.exp(z)
        if np.isinf(a):
            return b - np.exp(-z), np.exp(-z)
        return a + (b - a) * expit(z), (b - a) * expit(z) * expit(-z)

    def z(self, x: float, c: int) -> float:
        """Return z of one number."""
        a, b = self.low[c], self.high[c]
        if not self.transformed or (np.isinf(a) and np.isinf(b)):
            return x
        left = np.log(x - a) if np.isfinite(a) else 0.0
        return float(left - (np.log(b - x) if np.isfinite(b) else 0.0))


def reach(case: Case, c: int, extent: float) -> float:
    """Return a distance beyond which every kernel is negligible along a column of z."""
    density, kernel = case.density, case.density.kernel_
    if density.adaptive == "shape":
        return 25 * extent
    if density.adaptive:
        return float(
            10 * density.bandwidths_.max() * np.abs(density.adaptation_.coordinates.factor[c]).sum()
        )
    found = 0.0
    for part in getattr(kernel, "terms", (kernel,)):
        inner = getattr(part, "kernel", part)
        metric = getattr(inner, "metric", None)
        scale = 1.0 if metric is None else float(np.sqrt(metric[c, c]))
        widths = np.broadcast_to(inner.bandwidth, len(case.low))
        cutoff = {Gaussian: 10.0, Epanechnikov: 1.0}.get(type(inner), 45.0)
        found = max(found, cutoff * scale * float(widths[c]))
    return found


def breaks(case: Case, c: int) -> np.ndarray:
    """Return the ends of cells of a column in z: bounds, centers of kernels, and their edges."""
    columns = Columns(case)
    Y = np.array([columns.z(x, c) for x in case.X[:, c]])
    width = reach(case, c, float(np.ptp(Y)))
    # cells far wider than a kernel would contain none of its mass at their nodes
    found = [Y + step * width for step in (-1, -0.3, -0.1, 0, 0.1, 0.3, 1)]
    # in more columns, the edge of compact kernels is curved and does not follow the cells
    n_cells = 40 if isinstance(case.density.kernel_, Epanechnikov) else 8
    low, high = (-np.inf, np.inf) if case.transformed else (case.low[c], case.high[c])
    points = np.concatenate(found)
    images = [points] + [2 * bound - points for bound in (low, high) if np.isfinite(bound)]
    if np.isfinite(low) and np.isfinite(high):
        images = [p + 2 * k * (high - low) for p in images for k in range(-6, 7)]
    # exp(z) times a normal density has its center further away by the variance
    extra = (width / 9) ** 2 if case.transformed else 0.0
    first, last = max(Y.min() - width - extra, low), min(Y.max() + width + extra, high)
    middle = np.concatenate([*images, np.linspace(first, last, n_cells + 1)])
    merged = np.unique(np.r_[first, middle[(middle > first) & (middle < last)], last])
    return merged[np.r_[True, np.diff(merged) > 1e-9 * (last - first)]]


def integrate(function: Any, edges: list[np.ndarray], tolerance: float, most: int) -> Any:
    """Return integrals of the columns of a function over cells, and bounds of their errors."""
    order = 12 if len(edges) == 1 else 7
    nodes, weights = np.polynomial.legendre.leggauss(order)
    d = len(edges)
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), -1).reshape(-1, d)
    masses = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), -1), -1).ravel()

    def sums(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        found = []
        for rows in np.array_split(np.arange(len(lower)), max(1, len(lower) // 2000)):
            half = 0.5 * (upper[rows] - lower[rows])
            at = (lower[rows] + half)[:, None] + half[:, None] * grid
            values = function(at.reshape(-1, d)).reshape(len(rows), len(masses), -1)
            found.append(np.einsum("cgk,g->ck", values, masses) * half.prod(axis=1)[:, None])
        return np.concatenate(found)

    def parts(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * (upper - lower)
        corners = [np.array(corner) for corner in product((0, 1), repeat=d)]
        starts = np.stack([lower + half * corner for corner in corners], axis=1)
        return starts.reshape(-1, d), (starts + half[:, None]).reshape(-1, d)

    index = np.stack(np.meshgrid(*[np.arange(len(e) - 1) for e in edges], indexing="ij"), -1)
    index = index.reshape(-1, d)
    lower = np.stack([e[index[:, c]] for c, e in enumerate(edges)], axis=1)
    upper = np.stack([e[index[:, c] + 1] for c, e in enumerate(edges)], axis=1)
    coarse = sums(lower, upper)
    total: Any = 0.0
    error: Any = 0.0
    evaluated = 0
    while True:
        low, high = parts(lower, upper)
        fine = sums(low, high)
        evaluated += len(low)
        together = fine.reshape(-1, 2**d, fine.shape[1]).sum(axis=1)
        gaps = np.abs(together - coarse)
        divided = gaps.max(axis=1) > tolerance / (len(gaps) + 100)
        if evaluated > most:
            divided[:] = False
        total = total + together[~divided].sum(axis=0)
        error = error + gaps[~divided].sum(axis=0)
        if not divided.any():
            return total, error
        rows = np.repeat(divided, 2**d)
        lower, upper, coarse = low[rows], high[rows], fine[rows]


# --- comparison -----------------------------------------------------------------------------------


def differences(case: Case) -> list[str]:
    """Return what disagrees with quadrature or finite differences."""
    found: list[str] = []
    with np.errstate(all="raise", under="ignore"):
        (one_column if len(case.low) == 1 else two_columns)(case, found)
        gradients(case, found)
    return [f"{entry} | {case.description}" for entry in found]


def compare(found: list[str], name: str, value: Any, expected: Any, tolerance: Any) -> None:
    gap = np.abs(np.asarray(value) - expected)
    if not (gap <= tolerance).all():
        worst = int(np.argmax(np.nan_to_num(gap - tolerance, nan=np.inf)))
        at = np.ravel(value)[worst], np.ravel(expected)[worst]
        found.append(f"{name}: {at[0]:.10g}, expected {at[1]:.10g}, gap {np.ravel(gap)[worst]:.1e}")


def moments(case: Case, at: dict[int, float], edges: list[np.ndarray]) -> Any:
    """Return ∫ (1, x) p over the columns that are not given."""
    columns, d = Columns(case), len(case.low)
    free = [c for c in range(d) if c not in at]
    most = 40_000 if len(free) == 1 else 60_000

    def integrand(Z: np.ndarray) -> np.ndarray:
        X, slopes = np.empty((len(Z), d)), np.ones(len(Z))
        for c, value in at.items():
            X[:, c] = value
        for i, c in enumerate(free):
            X[:, c], slope = columns.x(Z[:, i], c)
            slopes = slopes * slope
        p = case.density.pdf(X) * slopes
        return np.column_stack([p, *(p * X[:, c] for c in free)])

    return integrate(integrand, edges, 1e-10 if len(free) == 1 else 1e-7, most)


def if_defined(function: Any, *arguments: Any) -> Any:
    """Return a result, or None where the message names the kernels that are needed."""
    try:
        return function(*arguments)
    except ValueError as error:
        if "Gaussian" in str(error):
            return None
        raise


def one_column(case: Case, found: list[str]) -> None:
    density, edges, columns = case.density, breaks(case, 0), Columns(case)
    (mass, first), errors = moments(case, {}, [edges])
    compare(found, "mass", 1.0, mass, 1e-8 + errors[0])
    mean = if_defined(density.mean)
    if mean is not None:
        scale = 1e-7 * max(1.0, abs(first))
        compare(found, "mean", mean[0], first, scale + errors[1])
    quantiles = density.quantile(LEVELS)
    at = np.sort(np.r_[quantiles, np.quantile(density.sample(50, random_state=0), [0.2, 0.7])])
    cdf = density.cdf(at[:, None])
    for x, value in zip(at, cdf, strict=True):
        z = columns.z(float(x), 0)
        below = np.r_[edges[edges < z], z]
        if len(below) > 1:
            (part, _), error = moments(case, {}, [below])
            compare(found, "cdf", value, part, 1e-8 + error[0])
            level = np.flatnonzero(quantiles == x)
            if len(level):
                compare(found, "quantile", LEVELS[level[0]], part, 1e-8 + error[0])


def two_columns(case: Case, found: list[str]) -> None:
    density, columns = case.density, Columns(case)
    edges = [breaks(case, c) for c in range(2)]
    (mass, *means), errors = moments(case, {}, edges)
    compare(found, "mass", 1.0, mass, 1e-6 + errors[0])
    mean = if_defined(density.mean)
    if mean is not None:
        scales = 1e-5 * np.maximum(1.0, np.abs(means))
        compare(found, "mean", mean, np.array(means), scales + errors[1:])
    corner = np.median(density.sample(50, random_state=0), axis=0)
    cdf = if_defined(density.cdf, corner[None])
    if cdf is not None:
        below = []
        for c in range(2):
            z = columns.z(float(corner[c]), c)
            below.append(np.r_[edges[c][edges[c] < z], z])
        (part, *_), error = moments(case, {}, below)
        compare(found, "cdf", cdf[0], part, 1e-6 + error[0])
    conditional(case, corner, edges[1], found)


def conditional(case: Case, corner: np.ndarray, edges: np.ndarray, found: list[str]) -> None:
    density = case.density
    given = if_defined(density.conditional, {0: float(corner[0])})
    if given is None:
        return
    (marginal, _), errors = moments(case, {0: float(corner[0])}, [edges])
    y = density.sample(5, random_state=1)[:, 1]
    joint = density.pdf(np.column_stack([np.full(5, corner[0]), y]))
    expected = joint / marginal
    tolerance = 1e-7 * expected.max() + expected * errors[0] / marginal
    compare(found, "conditional", given.pdf(y[:, None]), expected, tolerance)


def gradients(case: Case, found: list[str]) -> None:
    """Compare with extrapolated differences, where these converge (not at kinks)."""
    density, d = case.density, len(case.low)
    X = density.sample(12, random_state=3)
    scale = np.ptp(density.sample(40, random_state=4), axis=0)
    margin = np.minimum(X - case.low, case.high - X)
    gradient, at = density.gradient(X), density.score_samples(X)
    for c in range(d):
        step = np.minimum(1e-3 * scale[c], 0.1 * margin[:, c])
        slopes, bends = [], []
        for h in (step, step / 2, step / 4):
            shift = np.zeros_like(X)
            shift[:, c] = h
            up, down = density.score_samples(X + shift), density.score_samples(X - shift)
            with np.errstate(invalid="ignore"):  # outside of compact kernels
                slopes.append((up - down) / (2 * h))
                bends.append(np.abs(up - 2 * at + down) / h)
        finite = np.isfinite(slopes).all(axis=0)
        slopes = [np.where(finite, slope, 0.0) for slope in slopes]
        first = (4 * slopes[1] - slopes[0]) / 3
        second = (4 * slopes[2] - slopes[1]) / 3
        error = np.abs(second - first)
        # at a kink the difference of one-sided slopes does not decrease with the step
        noise = 1e-9 / step
        smooth = finite & ~(bends[2] > 0.4 * bends[0] + noise) & (error < 1e-3 / scale[c])
        tolerance = 3 * error + noise + 1e-6 * np.abs(second)
        compare(found, "gradient", gradient[smooth, c], second[smooth], tolerance[smooth])
