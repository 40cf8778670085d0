"""Figure 2 (a): one Gaussian in feature space, for two Gaussians and a Laplace distribution."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer import MercerMixture
from mercer.domains import Box
from mercer.kernels import Gaussian
from papers.comparison import AtLeast, Picture, Row, Table, Within
from papers.figures import panels
from papers.types import Array

__all__ = ["agreement", "density", "draw", "figure", "fitted", "table"]

_LAPLACE = np.array([[1.0, -0.6], [-0.6, 1.0]])
_CENTERS = np.array([[-2.0, 2.0], [2.0, 2.0], [0.0, 0.0]])
_WEIGHTS = (0.3, 0.3, 0.4)
_SIDE = 8.0


def draw(seed: int, n: int = 200) -> Array:
    """Draw n points, and remove the few outside of the square [-8, 8]²."""
    rng = np.random.default_rng(seed)
    part = rng.choice(3, size=n, p=_WEIGHTS)
    X = rng.normal(size=(n, 2)) + _CENTERS[part]
    X[part == 2] = rng.laplace(size=((part == 2).sum(), 2)) @ _LAPLACE.T
    return X[(np.abs(X) < _SIDE).all(axis=1)]


def density(X: Array) -> Array:
    """Density of the distribution, ``|C⁻¹| exp(-|C⁻¹x|₁) / 4`` for its Laplace part."""
    inverse = np.linalg.inv(_LAPLACE)
    normal = [np.exp(-((X - m) ** 2).sum(axis=1) / 2) / (2 * np.pi) for m in _CENTERS[:2]]
    laplace = np.linalg.det(inverse) * np.exp(-np.abs(X @ inverse.T).sum(axis=1)) / 4
    return np.asarray(0.3 * normal[0] + 0.3 * normal[1] + 0.4 * laplace)


def agreement(truth: Array, found: Array) -> tuple[float, float]:
    """Correlation, and divergence KL(truth, found), of two densities on the same nodes."""
    truth, found = truth / truth.sum(), found / found.sum()
    return float(np.corrcoef(truth, found)[0, 1]), float((truth * np.log(truth / found)).sum())


@cache
def fitted(seed: int) -> MercerMixture:
    """Fit one Gaussian with the paper's kernel exp(-|x - x'|²), α and β."""
    kernel = Gaussian(np.sqrt(0.5))
    return MercerMixture(kernel=kernel, alpha=15.0, beta=1.0, domain=Box(-_SIDE, _SIDE)).fit(
        draw(seed)
    )


def _background(seed: int, side: float) -> float:
    """Return the fraction of the mass on a square that is due to the constant value far away."""
    settings = fitted(seed).get_params(deep=False) | {"domain": None}
    mixture = MercerMixture(**settings).fit(draw(seed))
    nodes = Box(-side, side, n_nodes=90_000).fitted_to(2).nodes()
    logs = mixture.score_samples(np.vstack([nodes.points.data, [[1e3, 1e3]]]))
    values = np.exp(logs - logs.max())
    return float(values[-1] / values[:-1].mean())


def _alternatives(seeds: range, grid: Array) -> dict[str, list[float]]:
    """Divergences of a kernel density estimate and of a mixture."""
    found: dict[str, list[float]] = {"a kernel density estimate": [], "a mixture by BIC": []}
    for seed in seeds:
        X = draw(seed)
        window = KernelDensity(bandwidth="silverman").fit(X)
        mixtures = [GaussianMixture(k, random_state=0).fit(X) for k in range(1, 7)]
        best = min(mixtures, key=lambda mixture: float(mixture.bic(X)))
        for values, model in zip(found.values(), (window, best), strict=True):
            values.append(agreement(density(grid), np.exp(model.score_samples(grid)))[1])
    return found


def table(quick: bool) -> Table:
    """Agreement with the true distribution over seeds, and the mass far away."""
    seeds = range(3 if quick else 15)
    grid = Box(-_SIDE, _SIDE).fitted_to(2).nodes().points.data
    found = np.array([agreement(density(grid), fitted(seed).pdf(grid)) for seed in seeds])
    (correlation, divergence), spreads = found.mean(axis=0), found.std(axis=0)
    rows = [
        Row(
            "correlation with the true distribution",
            "captures peak and tails",
            float(correlation),
            AtLeast(0.85),
            spread=float(spreads[0]),
        ),
        Row(
            "divergence from the true distribution, nats",
            "",
            float(divergence),
            Within(0.24, 0.38),
            spread=float(spreads[1]),
        ),
    ]
    rows += [
        Row(f"the same for {name}", "", float(np.mean(values)), spread=float(np.std(values)))
        for name, values in _alternatives(seeds, grid).items()
    ]
    rows += [
        Row(
            f"fraction of the flat background on [-{side:g}, {side:g}]²",
            "tiny but finite",
            100 * _background(0, side),
            None,
            " %",
            remark="It grows with the size of the square, so there is no density on the plane.",
        )
        for side in (8.0, 12.0, 50.0)
    ]
    note = f"{len(seeds)} seeds, 200 points, on [-8, 8]²."
    return Table("Figure 2 (a): one Gaussian, α = 15, β = 1", tuple(rows), note)


def figure() -> Picture:
    """The true distribution and the fit."""
    ticks = np.linspace(-6, 6, 121)
    plane = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    values = density(plane), fitted(0).pdf(plane)
    drawing, axes = panels(1, 2, (9, 4))
    X = draw(0)
    for ax, height, title in zip(axes[0], values, ("true", "fit"), strict=True):
        image = ax.pcolormesh(ticks, ticks, height.reshape(121, 121), vmin=0, vmax=values[0].max())
        ax.scatter(*X.T, s=3, color="white", alpha=0.5)
        ax.set_xlim(-6, 6)
        ax.set_ylim(-6, 6)
        ax.set_aspect("equal")
        ax.set_title(title)
    drawing.colorbar(image, ax=axes)
    return Picture(
        "fig2a",
        "Fig. 2 (a). Two Gaussians and a Laplace distribution, and the fit of one Gaussian "
        "in feature space to 200 points, normalized on [-8, 8]².",
        drawing,
    )
