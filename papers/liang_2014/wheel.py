"""The wheel data: degrees in kernel PCA (Figure 3.5), discriminants (5.5, 5.6, 5.8, 5.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelLDA
from mercer.datasets import make_wheel
from mercer.kernels import Polynomial
from mercer.population import Empirical, PolynomialDiscriminant, PolynomialOperator
from papers.comparison import AtLeast, AtMost, Picture, Row, Table
from papers.figures import panels, scatter
from papers.liang_2014.contours import draw_contours, grid_around
from papers.liang_2014.polynomial import draw_degrees
from papers.types import Array

__all__ = ["figures", "tables"]

_NAMES = ["hub", "rim"]
_DEGREES = (1, 2, 3)


def _wheel() -> tuple[Array, Array]:
    return make_wheel(random_state=0)


def _population(degree: int) -> PolynomialDiscriminant:
    """Discriminant from sample moments, as in the thesis: the distribution is not known."""
    X, y = _wheel()
    fractions = np.bincount(y) / len(y)
    return PolynomialDiscriminant(degree, [Empirical(X[y == k]) for k in (0, 1)], fractions)


def _sample(degree: int) -> KernelLDA:
    return KernelLDA(kernel=Polynomial(degree), regularization=1e-6).fit(*_wheel())


def tables(quick: bool) -> Iterator[Table]:
    """Errors of each degree in the separation of hub and rim."""
    X, _ = _wheel()
    rows = []
    for degree, accepted in ((1, AtLeast(20.0)), (2, AtMost(2.0)), (3, AtLeast(20.0))):
        error = 100 * float(_sample(degree).cv_results_["error"][0])
        rows.append(
            Row(f"degree {degree}: error of held-out rows", "figure 5.6", error, accepted, " %")
        )
        agreement = np.corrcoef(_population(degree)(X), _sample(degree).transform(X)[:, 0])[0, 1]
        rows.append(
            Row(
                f"degree {degree}: correlation with the function from sample moments",
                "similar figures",
                float(agreement),
                AtLeast(0.9999),
            )
        )
    note = "The thesis gives no numbers for these data; generator and ranges are ours."
    yield Table("Wheel data: even degrees separate the classes, odd ones do not", tuple(rows), note)


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 3.5, 5.5, 5.6, 5.8 and 5.9."""
    X, y = _wheel()
    yield Picture(
        "fig3_5",
        "Figure 3.5. Wheel data and their first two principal components for degrees 1 to 6 (our "
        "data): even degrees separate hub and rim.",
        draw_degrees(X, y, range(1, 7), _NAMES),
    )
    grid = grid_around(X)
    figure, axes = panels(1, 4, (12, 3.1))
    scatter(axes[0, 0], X, y, names=_NAMES, origin=False)
    axes[0, 0].set(title="data", aspect="equal")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
    for degree, ax in zip(_DEGREES, axes[0, 1:], strict=True):
        draw_contours(ax, grid, _population(degree), X, y, f"degree {degree}")
    yield Picture(
        "fig5_5",
        "Figure 5.5. Wheel data and the discriminant functions of degrees 1 to 3 from sample "
        "moments.",
        figure,
    )
    figure, axes = panels(1, 3, (9.2, 3.1))
    for degree, ax in zip(_DEGREES, axes[0], strict=True):
        draw_contours(ax, grid, _first(_sample(degree)), X, y, f"degree {degree}")
    yield Picture("fig5_6", "Figure 5.6. The same by kernel LDA.", figure)
    figure, axes = panels(1, 1, (4.6, 4))
    scatter(axes[0, 0], X**2, y, names=_NAMES, origin=False)
    axes[0, 0].set(xlabel="x₁²", ylabel="x₂²")
    axes[0, 0].legend(frameon=False)
    yield Picture(
        "fig5_8", "Figure 5.8. Two features of degree 2: the classes are almost separated.", figure
    )
    yield _two_methods(X, y, grid)


def _two_methods(X: Array, y: Array, grid: Any) -> Picture:
    operator = PolynomialOperator(2, Empirical(X))
    figure, axes = panels(1, 2, (6.6, 3.3))
    draw_contours(
        axes[0, 0], grid, lambda Z: operator.eigenfunctions(Z)[:, 0], X, y, "kernel PCA, φ₁"
    )
    draw_contours(axes[0, 1], grid, _population(2), X, y, "kernel LDA, f")
    return Picture(
        "fig5_9",
        "Figure 5.9. First principal component and discriminant function of degree 2. Both are "
        "ellipses close to circles.",
        figure,
    )


def _first(model: KernelLDA) -> Any:
    return lambda Z: model.transform(Z)[:, 0]
