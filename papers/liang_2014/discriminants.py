"""Chapter 5: kernel LDA under two normal distributions, and from samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import KernelLDA
from mercer.kernels import Polynomial
from mercer.population import Mixture, Normal, PolynomialDiscriminant
from papers.comparison import Correction, Picture, Row, Table
from papers.figures import panels, scatter
from papers.liang_2014.contours import draw_contours, grid_around
from papers.liang_2014.polynomial import auc
from papers.types import Array

__all__ = ["TABLES", "figures"]

TESTS = "tests/papers/test_liang_2014_discriminants.py::"
CLASSES = (Normal([2, -2]), Normal([-1, 2]))
_MIXTURE = Mixture([0.5, 0.5], CLASSES)
_DEGREES = (1, 2, 3)
_NAMES = ["class 0", "class 1"]
#: Printed C and coefficients of f, by degree.
_PRINTED = {
    1: ("-.6 .8", "-.6 .8"),
    2: (".1627 -.1085 -.0723", ".1627 -.217 -.0723"),
    3: (".0414 -.0071 -.0052 -.0460", ".0414 -.0142 -.0104 -.0460"),
}


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


def _coefficients(quick: bool) -> Table:
    rows = []
    for degree, (C, f) in _PRINTED.items():
        found = _population(degree)
        sign = np.sign(found.coefficients @ [float(number) for number in f.split()])
        correction = (
            Correction(
                ".0414 -.0212 -.0157 -.0460", TESTS + "test_cubic_discriminant_by_quadrature"
            )
            if degree == 3
            else None
        )
        rows += [
            Row(f"degree {degree}: C", C, tuple(map(float, sign * found.thesis_coefficients))),
            Row(
                f"degree {degree}: coefficients of f",
                f,
                tuple(map(float, sign * found.coefficients)),
                correction=correction,
                remark="The thesis has 2C₁ and 2C₂ instead of 3C₁ and 3C₂ (binomial coefficients)."
                if degree == 3
                else "",
            ),
        ]
    note = "Classes N((2, -2), I) and N((-1, 2), I), prior probabilities of one half; C'W*C = 1."
    return Table(tuple(rows), note)


def _samples(quick: bool) -> Table:
    seeds = 5 if quick else 50
    points, y = _draw(4000, 12345)
    rows = []
    for n in (400, 1500):
        for degree in _DEGREES:
            truth = _population(degree)(points)
            values = [
                np.corrcoef(_fit(degree, n, seed).transform(points)[:, 0], truth)[0, 1]
                for seed in range(seeds)
            ]
            rows.append(
                Row(
                    f"degree {degree}, n = {n}: similar functions (correlations above .9 in all "
                    "samples)",
                    True if n == 400 else "",
                    bool(min(values) > 0.9),
                    remark=f"Smallest {min(values):.4f}, median {np.median(values):.4f}.",
                )
            )
    areas = [auc(y, _population(degree)(points)) for degree in _DEGREES]
    rows.append(
        Row(
            "degrees 1 and 3 separate the classes (AUC above .95), degree 2 fails (below .8)",
            True,
            bool(min(areas[0], areas[2]) > 0.95 and areas[1] < 0.8),
            reason="the quadratic function still separates the classes partly",
            remark="AUC of degrees 1 to 3: " + ", ".join(f"{area:.3f}" for area in areas) + ".",
        )
    )
    note = f"Discriminant functions of {seeds} samples, correlated with that of the population."
    return Table(tuple(rows), note)


TABLES = {
    "Population kernel LDA (5.3)": _coefficients,
    "Kernel LDA of samples compared with the population (Figures 5.2 to 5.4)": _samples,
}


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
