"""Figure 1: two Gaussians under a quadratic kernel, for a core in a halo."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import MercerMixture
from mercer.cluster.diagnostics import clustering_error
from mercer.datasets import make_halo
from mercer.domains import Box, GaussianBase
from mercer.kernels import Polynomial
from papers.comparison import Picture, Row, Table
from papers.figures import PALETTE, new_figure
from papers.types import Array

__all__ = ["figures", "table"]

_BOX = Box(-3.5, 3.5)
_STARTS = 11


@cache
def _fitted(seed: int, starts: int) -> MercerMixture:
    X, _ = make_halo(random_state=seed)
    mixture = MercerMixture(
        2, kernel=Polynomial(degree=2), alpha=1.0, beta=1.0, n_init=starts, random_state=0
    )
    return mixture.fit(X).normalize(_BOX)


def _accuracy(seed: int, starts: int) -> float:
    X, y = make_halo(random_state=seed)
    return 1 - clustering_error(y, _fitted(seed, starts).predict(X))


def _masses(seed: int) -> tuple[float, float]:
    """Mass of the core, with each component normalized and as in the paper."""
    mixture = _fitted(seed, _STARTS)
    nodes = mixture.normalization_.domain.nodes()
    core = np.hypot(*nodes.points.data.T) < 1
    right = np.exp(mixture.score_samples(nodes.points.data) + nodes.log_weights)
    X, _ = make_halo(random_state=seed)
    raw = MercerMixture(**{**mixture.get_params(deep=False), "domain": None}).fit(X)
    induced = raw.pdf(nodes.points.data)
    return float(right[core].sum()), float(induced[core].sum() / induced.sum())


def _normalizer_difference(seed: int) -> float:
    """Difference between a grid and importance sampling, in standard errors."""
    X, _ = make_halo(random_state=seed)
    mixture = MercerMixture(kernel=Polynomial(degree=2), alpha=1.0).fit(X)
    found = mixture.normalize(GaussianBase(n_nodes=50_000)).normalization_
    grid = Box(-14, 14, n_nodes=250_000).for_dimension(2).nodes()
    # The density includes the base measure q, so it integrates to 1 over R².
    logs = mixture.score_samples(grid.points.data) + grid.log_weights
    return float(abs(np.exp(logs).sum() - 1) / found.standard_errors[0])


def table(quick: bool) -> Table:
    """Labels and masses over seeds."""
    seeds = range(5 if quick else 20)
    single, several = (np.array([_accuracy(seed, k) for seed in seeds]) for k in (1, _STARTS))
    right, raw = np.array([_masses(seed) for seed in seeds]).T
    rows = (
        Row(
            "one Gaussian for the core, one for the halo, initialized by k-means: at least 97 % "
            "correct labels in most samples",
            True,
            bool(np.median(single) >= 0.97),
            remark=f"Mean {100 * single.mean():.1f} %, lowest {100 * single.min():.0f} %: EM may "
            "converge to a local maximum.",
        ),
        Row.of_mean(
            f"correct labels, best of {_STARTS} initializations",
            "",
            100 * several,
            " %",
            remark=f"Lowest {100 * several.min():.0f} %.",
        ),
        Row.of_mean(
            "mass of the core, each component normalized",
            "",
            100 * right,
            " %",
            remark="Half of the points are in the core.",
        ),
        Row.of_mean(
            "mass of the core, normalized as in the paper",
            "",
            100 * raw,
            " %",
            remark="p(x) ∝ p(Φ(x)) ignores the volume element of Φ.",
        ),
        Row(
            "normalizer: grid and importance sampling differ by",
            "",
            max(_normalizer_difference(seed) for seed in seeds[:3]),
            " standard errors",
        ),
    )
    note = (
        f"{len(seeds)} samples: 50 points about the origin (sd 0.3), 50 about a circle of radius 2 "
        "(sd 0.2). The paper does not give these standard deviations."
    )
    return Table(rows, note)


def figures(quick: bool) -> Iterator[Picture]:
    """Density, posterior, and the Gaussians in feature space."""
    X, y = make_halo(random_state=0)
    mixture = _fitted(0, _STARTS)
    ticks = np.linspace(-3.5, 3.5, 141)
    plane = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    core = mixture.predict(np.zeros((1, 2)))[0]
    drawing = new_figure(12, 4)
    left, middle = drawing.add_subplot(1, 3, 1), drawing.add_subplot(1, 3, 2)
    for ax, values, title in (
        (left, mixture.pdf(plane), "(a) density"),
        (middle, mixture.predict_proba(plane)[:, core], "(b) p(core | x)"),
    ):
        image = ax.pcolormesh(ticks, ticks, values.reshape(141, 141), cmap="viridis")
        drawing.colorbar(image, ax=ax)
        for label, color in ((0, "white"), (1, "black")):
            ax.scatter(*X[y == label].T, s=8, color=color, edgecolors="grey", linewidths=0.3)
        ax.set_aspect("equal")
        ax.set_title(title, loc="left")
    ax = drawing.add_subplot(1, 3, 3, projection="3d")
    _draw_features(ax, mixture, X, y)
    ax.set_title("(c) in feature space", loc="left")
    yield Picture(
        "fig1",
        "Fig. 1. (a) Density of two Gaussians, normalized separately; (b) posterior of the "
        "component at the origin; (c) data, image of the plane (gray) and Gaussians (two standard "
        "deviations) in feature space. The paper's (a) is p(Φ(x)), normalized as a whole.",
        drawing,
    )


def _draw_features(ax: Any, mixture: MercerMixture, X: Array, y: Array) -> None:
    Z = mixture.spectrum_.project(X)[:, :3]
    turns, heights = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    sphere = np.stack(
        [np.cos(turns) * np.sin(heights), np.sin(turns) * np.sin(heights), np.cos(heights)], axis=-1
    )
    fitted = mixture.mixture_
    # the image of the plane
    radii, angles = np.meshgrid(np.linspace(0, 2.6, 9), np.linspace(0, 2 * np.pi, 33))
    plane = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1)
    image = mixture.spectrum_.project(plane.reshape(-1, 2))[:, :3].reshape(*radii.shape, 3)
    ax.plot_wireframe(*np.moveaxis(image, -1, 0), linewidth=0.3, color="0.7")
    for label, color in ((0, PALETTE[0]), (1, PALETTE[1])):
        ax.scatter(*Z[y == label].T, s=6, color=color)
    for mean, factor in zip(fitted.means, fitted.factors, strict=True):
        shell = mean + 2 * sphere @ factor.T
        ax.plot_wireframe(*np.moveaxis(shell, -1, 0), linewidth=0.3, color=PALETTE[-1])
