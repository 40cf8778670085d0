"""Chapter 5: kernel LDA under two normal distributions, and from samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import KernelLDA
from mercer.kernels import Polynomial
from mercer.population import Mixture, Normal, PolynomialDiscriminant
from papers.comparison import AtLeast, Picture, Row, Table
from papers.figures import panels, scatter
from papers.liang_2014.contours import draw_contours, grid_around
from papers.liang_2014.number_list import CloseTo, number_list
from papers.types import Array

__all__ = ["figures", "tables"]

CLASSES = (Normal([2, -2]), Normal([-1, 2]))
_MIXTURE = Mixture([0.5, 0.5], CLASSES)
_DEGREES = (1, 2, 3)
_NAMES = ["class 0", "class 1"]
#: Lower limits of the correlations by sample size: below the 0.1 % quantiles of 1000 samples.
_LIMITS = {400: (0.995, 0.90, 0.95), 1500: (0.999, 0.97, 0.985)}


@cache
def _population(degree: int) -> PolynomialDiscriminant:
    return PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])


def _draw(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    means = np.array([part.mean for part in CLASSES])
    return means[y] + rng.standard_normal((n, 2)), y


def _fit(degree: int, n: int, seed: int) -> KernelLDA:
    model = KernelLDA(kernel=Polynomial(degree), rank=degree + 1, regularization=1e-6)
    return model.fit(*_draw(n, seed))


def tables(quick: bool) -> Iterator[Table]:
    """Coefficients and ratios; correlations of sample and population."""
    printed = {
        1: ("-.6 .8", "-.6 .8", (-0.6, 0.8), (-0.6, 0.8), 25.0),
        2: (
            ".1627 -.1085 -.0723",
            ".1627 -.217 -.0723",
            (0.1626978434, -0.1084652289, -0.0723101526),
            (0.1626978434, -0.2169304578, -0.0723101526),
            0.85,
        ),
        3: (
            ".0414 -.0071 -.0052 -.0460",
            ".0414 -.0142 -.0104 -.0460",
            (0.0413672093, -0.0070771026, -0.0052490330, -0.0460453965),
            (0.0413672093, -0.0212313079, -0.0157470991, -0.0460453965),
            4.388659202423,
        ),
    }
    rows = []
    for degree, (C, f, true_C, true_f, ratio) in printed.items():
        found = _population(degree)
        sign = np.sign(np.dot(found.coefficients, true_f))
        remark = (
            ""
            if degree < 3
            else "Error in the thesis: 2C₁ and 2C₂ instead of 3C₁ and 3C₂ (binomial coefficients)."
        )
        rows += [
            Row(
                f"degree {degree}: C",
                C,
                number_list(sign * found.thesis_coefficients),
                CloseTo(true_C, 1e-8),
            ),
            Row(
                f"degree {degree}: coefficients of f",
                f,
                number_list(sign * found.coefficients),
                CloseTo(true_f, 1e-8),
                remark=remark,
            ),
            Row(f"degree {degree}: λ", "", number_list([found.ratio]), CloseTo((ratio,), 1e-10)),
        ]
    note = "Classes N((2, -2), I) and N((-1, 2), I), prior probabilities of one half; C'W*C = 1."
    yield Table("Population kernel LDA (5.4)", tuple(rows), note)
    yield _samples(5 if quick else 50)


def _samples(seeds: int) -> Table:
    points, _ = _draw(4000, 12345)
    rows = []
    for n, limits in _LIMITS.items():
        for degree, limit in zip(_DEGREES, limits, strict=True):
            truth = _population(degree)(points)
            values = [
                np.corrcoef(_fit(degree, n, seed).transform(points)[:, 0], truth)[0, 1]
                for seed in range(seeds)
            ]
            rows.append(
                Row(
                    f"degree {degree}, n = {n}: smallest correlation",
                    "similar figures",
                    float(np.min(values)),
                    AtLeast(limit),
                    remark=f"median {np.median(values):.4f}",
                )
            )
    note = f"Discriminant functions of {seeds} samples, correlated with that of the population."
    return Table("Kernel LDA of samples compared with the population", tuple(rows), note)


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 5.1 to 5.4 and 5.7."""
    X, y = _draw(400, 0)
    grid = grid_around(X)
    figure, axes = panels(1, 1, (4.4, 4.2))
    scatter(axes[0, 0], X, y, names=_NAMES, origin=False)
    draw_contours(axes[0, 0], grid, _density)
    axes[0, 0].legend(frameon=False)
    yield Picture(
        "fig5_1", "Figure 5.1. A sample of 400 and the density of its distribution.", figure
    )
    for degree in _DEGREES:
        figure, axes = panels(1, 2, (7.2, 3.7))
        model = _fit(degree, 400, 0)
        draw_contours(axes[0, 0], grid, _first(model), X, y, "sample")
        draw_contours(axes[0, 1], grid, _population(degree), X, y, "population")
        yield Picture(
            f"fig5_{degree + 1}",
            f"Figure 5.{degree + 1}. Discriminant functions of degree {degree}: kernel LDA of a "
            "sample of 400, and the population.",
            figure,
        )
    figure, axes = panels(1, 1, (5, 4))
    features = np.column_stack([X[:, 0] ** 3, np.sqrt(3) * X[:, 0] ** 2 * X[:, 1]])
    scatter(axes[0, 0], features, y, names=_NAMES)
    axes[0, 0].set(xlabel="x₁³", ylabel="√3 x₁² x₂")
    axes[0, 0].legend(frameon=False)
    yield Picture("fig5_7", "Figure 5.7. Two features of degree 3.", figure)


def _density(points: Array) -> Array:
    return np.asarray(_MIXTURE.pdf(points))


def _first(model: KernelLDA) -> Any:
    return lambda Z: model.transform(Z)[:, 0]
