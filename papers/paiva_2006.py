"""Paiva, Xu, Príncipe (2006), "Kernel principal components are maximum entropy projections".

The statement of the title is derived from the total variance in feature space, which is the same
for every direction. Among projections scaled to the same variance, the first kernel principal
component has less entropy than the first linear one on the paper's example, as the rows below show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from mercer import KernelPCA, MaximumEntropyProjection
from mercer.datasets import make_two_gaussians
from mercer.information import renyi_entropy
from mercer.kernels import Gaussian
from papers.comparison import AtMost, Picture, Row, Table, Within
from papers.figures import GRAY, ORDERED, new_panels
from papers.types import Array

__all__ = ["TITLE", "figures", "tables"]

TITLE = "Paiva, Xu, Príncipe (2006): kernel principal components are maximum entropy projections"

_LOWEST_POTENTIAL = (
    0.4032  # information potential of any distribution on [-1, 1], kernel of bandwidth 0.2
)


def tables(quick: bool) -> Iterator[Table]:
    """Entropies of scaled projections, and the potential before and after training."""
    samples = [make_two_gaussians(random_state=s)[0] for s in range(4 if quick else 20)]
    yield _entropies(samples)
    yield _networks(samples)


def _entropies(samples: list[Array]) -> Table:
    """Entropies of projections scaled to unit variance."""
    cases: list[tuple[str, list[float], Within]] = [
        ("PCA", [_entropy(PCA(1).fit_transform(X)) for X in samples], Within(1.13, 1.23)),
        (
            "best line",
            [max(_entropy(X @ line) for line in _lines()) for X in samples],
            Within(1.24, 1.30),
        ),
        ("kernel PCA, σ² = 1", [_entropy(_component(X, 1.0)) for X in samples], Within(0.75, 0.95)),
        (
            "kernel PCA, σ² = 10",
            [_entropy(_component(X, 10.0)) for X in samples],
            Within(0.95, 1.13),
        ),
    ]
    rows = [
        Row(name, "", float(np.mean(values)), accepted, " nats", digits=3)
        for name, values, accepted in cases
    ]
    X = samples[0]
    correlations = [
        abs(np.corrcoef(_component(X, v)[:, 0], PCA(1).fit_transform(X)[:, 0])[0, 1])
        for v in (1.0, 10.0, 100.0)
    ]
    rows.append(
        Row(
            "correlation of kernel PCA with PCA, σ² = 1, 10, 100",
            "contours tend to PCA's",
            ", ".join(f"{c:.4f}" for c in correlations),
        )
    )
    return Table(
        "Renyi entropy of projections scaled to unit variance, bandwidth 0.2",
        tuple(rows),
        note="Does not hold as stated: among projections with the same variance, the first kernel "
        "principal component has less entropy than the first linear one. The paper's argument "
        "compares variances in feature space, which do not depend on the scale of a projection.",
    )


def _networks(samples: list[Array]) -> Table:
    rows = []
    for optimizer, highest in (("gradient-descent", 0.50), ("lbfgs", 0.42)):
        before, after = _training(samples, optimizer)
        accepted = Within(_LOWEST_POTENTIAL, highest)
        rows += [
            Row(f"{optimizer}: V before, mean", "figure only", float(np.mean(before)), digits=4),
            Row(f"{optimizer}: V after, minimum", "figure only", min(after), accepted, digits=4),
            Row(f"{optimizer}: V after, maximum", "figure only", max(after), accepted, digits=4),
        ]
    _, after = _training(samples, "lbfgs", output="standardized")
    rows.append(
        Row("standardized output: V after, maximum", "", max(after), AtMost(0.285), digits=4)
    )
    return Table(
        f"Information potential of a 2-4-1 network's output, {len(samples)} seeds",
        tuple(rows),
        note=f"No distribution on [-1, 1] has less than {_LOWEST_POTENTIAL} with this kernel.",
    )


def figures(quick: bool, seed: int = 0) -> Iterator[Picture]:
    """Figure 1: contours of four projections over the sample."""
    X, _ = make_two_gaussians(random_state=seed)
    pca = PCA(1).fit(X)
    projections = {
        "PCA": pca.transform,
        "kernel PCA, σ² = 1": KernelPCA(1, kernel=Gaussian(1.0)).fit(X).transform,
        "kernel PCA, σ² = 10": KernelPCA(1, kernel=Gaussian(10.0**0.5)).fit(X).transform,
        "network of maximum entropy": MaximumEntropyProjection(random_state=seed).fit(X).transform,
    }
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("mercer", ORDERED)
    side = np.linspace(-4, 4, 120)
    points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    axes = new_panels(4, 3.2, columns=2)
    for ax, (title, project) in zip(axes, projections.items(), strict=True):
        ax.scatter(*X.T, s=6, color=GRAY, alpha=0.6, linewidths=0)
        ax.contour(side, side, project(points).reshape(120, 120), 14, cmap=colors)
        ax.set_title(title)
    yield Picture("fig01", "Contours of four projections over the sample.", axes[0].figure)


def _component(X: Array, variance: float) -> Array:
    return KernelPCA(1, kernel=Gaussian(variance**0.5)).fit_transform(X)


def _entropy(z: Array) -> float:
    """Return the entropy of a projection scaled to unit variance, with bandwidth 0.2."""
    return renyi_entropy((z - z.mean()) / z.std(), Gaussian(0.2))


def _lines() -> list[Array]:
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    return [np.array([[np.cos(a)], [np.sin(a)]]) for a in angles]


def _training(
    samples: list[Array], optimizer: Any, output: Any = "tanh"
) -> tuple[list[float], list[float]]:
    models = [
        MaximumEntropyProjection(optimizer=optimizer, output=output, random_state=s).fit(X)
        for s, X in enumerate(samples)
    ]
    before = [float(model.initial_information_potential_) for model in models]
    return before, [float(model.information_potential_) for model in models]
