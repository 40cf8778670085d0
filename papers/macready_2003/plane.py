"""Figure 2 (a): one Gaussian in feature space, for two Gaussians and a Laplace distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer import MercerMixture
from mercer.bandwidth import leave_one_out
from mercer.domains import Box
from mercer.kernels import Gaussian
from papers.comparison import Picture, Row, Table
from papers.figures import panels
from papers.types import Array

__all__ = ["agreement", "density", "divergence", "draw", "figures", "fitted", "table"]

_LAPLACE = np.array([[1.0, -0.6], [-0.6, 1.0]])
_CENTERS = np.array([[-2.0, 2.0], [2.0, 2.0], [0.0, 0.0]])
_WEIGHTS = (0.3, 0.3, 0.4)
_SIDE = 8.0
_TAIL = 0.05


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
    return float(np.corrcoef(truth, found)[0, 1]), divergence(truth, found)


def divergence(truth: Array, found: Array) -> float:
    """Divergence KL(truth, found) of two densities on the same nodes."""
    truth, found = truth / truth.sum(), found / found.sum()
    return float((truth * np.log(truth / found)).sum())


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
    nodes = Box(-side, side, n_nodes=90_000).for_dimension(2).nodes()
    logs = mixture.score_samples(np.vstack([nodes.points.data, [[1e3, 1e3]]]))
    values = np.exp(logs - logs.max())
    return float(values[-1] / values[:-1].mean())


def _log_densities(seed: int) -> dict[str, Callable[[Array], Array]]:
    """The fit, and three estimates of the same sample."""
    X = draw(seed)
    windows = [
        KernelDensity(bandwidth=bandwidth).fit(X) for bandwidth in ("silverman", leave_one_out(X))
    ]
    mixtures = [GaussianMixture(k, random_state=0).fit(X) for k in range(1, 7)]
    best = min(mixtures, key=lambda mixture: float(mixture.bic(X)))
    return {
        "the fit": fitted(seed).score_samples,
        "a kernel density estimate by Silverman's rule": windows[0].score_samples,
        "a kernel density estimate by leave-one-out": windows[1].score_samples,
        "a Gaussian mixture by BIC": best.score_samples,
    }


def _tail(truth: Array) -> Array:
    """Nodes of lowest true density that hold 5 % of the true mass."""
    order = np.argsort(truth)
    tail = np.zeros(len(truth), dtype=bool)
    tail[order[np.cumsum(truth[order]) <= _TAIL * truth.sum()]] = True
    return tail


def _gaussian_peak() -> float:
    """Height at the origin if the Laplace part were a Gaussian of the same covariance 2CC'."""
    determinant = np.linalg.det(2 * _LAPLACE @ _LAPLACE.T)
    origin = density(np.zeros((1, 2)))[0]
    laplace = 0.4 / (4 * abs(np.linalg.det(_LAPLACE)))
    return float((origin - laplace + 0.4 / (2 * np.pi * determinant**0.5)) / origin)


def table(quick: bool) -> Table:
    """Peak, tails and divergence over seeds, next to other estimates; the mass far away."""
    seeds = range(3 if quick else 15)
    grid = Box(-_SIDE, _SIDE).for_dimension(2).nodes().points.data
    truth = density(grid)
    tail, origin = _tail(truth), np.zeros((1, 2))
    found: dict[str, list[list[float]]] = {}
    for seed in seeds:
        for name, log_density in _log_densities(seed).items():
            p = np.exp(log_density(grid))
            peak = float(np.exp(log_density(origin))[0] / density(origin)[0])
            measured = [peak, float(p[tail].sum() / p.sum()), *agreement(truth, p)]
            found.setdefault(name, []).append(measured)
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    spreads = {name: np.std(values, axis=0, ddof=1) for name, values in found.items()}
    peak, mass = means["the fit"][:2]
    gaussian = _gaussian_peak()
    rows = [
        Row(
            "the sharp peak: height at the origin nearer to the true one than to that of a "
            "Gaussian of the same covariance",
            True,
            bool(abs(peak - 1) < abs(peak - gaussian)),
            reason="the prior smooths the density",
            remark=f"Fraction of the true height: {_each(means, spreads, 0)}; a Gaussian would have"
            f" {gaussian:.2f}.",
        ),
        Row(
            "the fat tails: mass where the true density is lowest (5 % of the true mass) within a "
            "factor of two",
            True,
            bool(_TAIL / 2 <= mass <= 2 * _TAIL),
            reason="the density is flat far from the data",
            remark=f"Mass there: {_each(means, spreads, 1)}.",
        ),
    ]
    rows += [
        Row(
            f"divergence from the true distribution: {name}",
            ".302" if name == "the fit" else "",
            float(values[3]),
            " nats",
            spread=float(spreads[name][3]),
            sampling_error=float(spreads[name][3] / 15**0.5),
            recomputed=name == "the fit",
            remark=f"Correlation {values[2]:.3f}.",
        )
        for name, values in means.items()
    ]
    background = {side: 100 * _background(0, side) for side in (8.0, 12.0, 50.0)}
    rows.append(
        Row(
            "the density far away is tiny: it holds less than 1 % of the mass on [-8, 8]²",
            True,
            background[8.0] < 1,
            reason="the residual 1 - k'K⁻¹k is bounded by 1, so the density is flat far away",
            remark=", ".join(
                f"{percent:.1f} % on [-{side:g}, {side:g}]²" for side, percent in background.items()
            )
            + ". It cannot be normalized over the plane, as the paper says.",
        )
    )
    note = f"{len(seeds)} samples of 200 points, normalized on [-8, 8]²."
    return Table(tuple(rows), note)


def _each(means: dict[str, Array], spreads: dict[str, Array], column: int) -> str:
    return ", ".join(
        f"{name} {means[name][column]:.2f} ± {spreads[name][column]:.2f}" for name in means
    )


def figures(quick: bool) -> Iterator[Picture]:
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
    yield Picture(
        "fig2a",
        "Fig. 2 (a). Two Gaussians and a Laplace distribution, and the fit of one Gaussian "
        "in feature space to 200 points, normalized on [-8, 8]².",
        drawing,
    )
