"""The wheel data: degrees in kernel PCA (Figure 3.5), discriminants (5.5, 5.6, 5.8, 5.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelLDA
from mercer.datasets import make_wheel
from mercer.kernels import Polynomial
from mercer.population import Empirical, PolynomialDiscriminant, PolynomialOperator
from papers.comparison import Picture, Row, Table
from papers.figures import panels, scatter
from papers.liang_2014.contours import draw_contours, grid_around
from papers.liang_2014.polynomial import draw_degrees, separation
from papers.types import Array

__all__ = ["TABLES", "figures"]

_NAMES = ["hub", "rim"]
_DEGREES = (1, 2, 3)
_ACROSS = np.array([1.0, -1.0]) / 2**0.5
_ALONG = np.array([1.0, 1.0]) / 2**0.5


def _wheel() -> tuple[Array, Array]:
    return make_wheel(random_state=0)


def _population(degree: int) -> PolynomialDiscriminant:
    """Discriminant from sample moments, as in the thesis: the distribution is not known."""
    X, y = _wheel()
    fractions = np.bincount(y) / len(y)
    return PolynomialDiscriminant(degree, [Empirical(X[y == k]) for k in (0, 1)], fractions)


def _sample(degree: int) -> KernelLDA:
    return KernelLDA(kernel=Polynomial(degree), regularization=1e-6).fit(*_wheel())


def _claims(quick: bool) -> Table:
    """Separation of hub and rim by each degree."""
    X, y = _wheel()
    areas = {degree: separation(X, y, degree) for degree in range(1, 7)}
    errors = {d: 100 * float(_sample(d).cv_results_["error"][0]) for d in _DEGREES}
    rows = [
        Row(
            "kernel PCA: even degrees separate better than odd ones, degree 2 as well as degree 6",
            True,
            min(areas[d] for d in (2, 4, 6)) > max(areas[d] for d in (1, 3, 5))
            and areas[2] >= areas[6],
            remark="Largest AUC of φ₁ and φ₂ at degrees 1 to 6: "
            + ", ".join(f"{area:.3f}" for area in areas.values())
            + ".",
        ),
        Row(
            "kernel LDA: degree with the fewest errors of held-out rows",
            "2",
            min(errors, key=lambda degree: errors[degree]),
            remark="Errors of degrees 1 to 3: "
            + ", ".join(f"{error:.1f} %" for error in errors.values())
            + ".",
        ),
        *_axes(X, y),
    ]
    for degree in _DEGREES:
        agreement = np.corrcoef(_population(degree)(X), _sample(degree).transform(X)[:, 0])[0, 1]
        rows.append(
            Row(
                f"degree {degree}: functions from K and from sample moments, 1 - correlation",
                "equal",
                abs(1 - float(agreement)),
                identity=True,
                reason="the regularization 1e-6 of the sample version",
            )
        )
    note = (
        "The thesis gives no numbers for these data, and its data are not available. For Figure "
        "5.9 ours are stretched by 10 % along x₂ = -x₁, the direction that it describes."
    )
    return Table(tuple(rows), note)


def _axes(X: Array, y: Array) -> Iterator[Row]:
    """Minor axes of the elliptic contours, for data stretched by 10 % along x₂ = -x₁."""
    stretched = X + 0.1 * np.outer(X @ _ACROSS, _ACROSS)
    parts = [Empirical(stretched[y == k]) for k in (0, 1)]
    lda = PolynomialDiscriminant(2, parts, np.bincount(y) / len(y))
    pca = PolynomialOperator(2, Empirical(stretched))
    for method, numerators, axis, line in (
        ("kernel PCA", pca.numerators[0], _ACROSS, "x₂ = -x₁, the largest variation"),
        ("kernel LDA", lda.coefficients, _ALONG, "x₂ = x₁"),
    ):
        angle = _angle(_minor_axis(numerators), axis)
        yield Row(
            f"Figure 5.9: minor axis of the contours of {method} within 15° of {line}",
            True,
            angle < 15,
            remark=f"Angle {angle:.1f}°.",
        )


def _minor_axis(numerators: Array) -> Array:
    """Direction in which a x₁² + b x₁x₂ + c x₂² grows fastest."""
    a, b, c = numerators
    values, vectors = np.linalg.eigh([[a, b / 2], [b / 2, c]])
    return np.asarray(vectors[:, np.abs(values).argmax()])


def _angle(u: Array, v: Array) -> float:
    """Angle between two lines, in degrees."""
    return float(np.degrees(np.arccos(min(1.0, float(abs(u @ v))))))


TABLES = {"Wheel data (Figures 3.5, 5.5, 5.6 and 5.9)": _claims}


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
