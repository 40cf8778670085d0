"""Chapter 3: polynomial operators, uncentered; the effect of the degree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.kernels import Polynomial
from mercer.plots import EigenfunctionDisplay
from mercer.population import Mixture, Normal, PolynomialOperator, Uniform
from papers.comparison import AtMost, Picture, Row, Same, Table
from papers.figures import GRAY, PALETTE, panels, scatter
from papers.liang_2014.number_list import CloseTo, number_list
from papers.types import Array

__all__ = ["CLOUDS", "draw_degrees", "figures", "tables"]

SQUARE = Uniform([0, 0], [1, 1])
CLOUDS = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])
_N = 400


def tables(quick: bool) -> Iterator[Table]:
    """Spectra of the two distributions, and deviations of samples."""
    yield Table(
        "Uncentered polynomial kernels (3.2)",
        (
            _spectrum(
                PolynomialOperator(2, SQUARE),
                "uniform on the square, degree 2",
                ".5206 .0889 .0127",
                (0.520586552934, 4 / 45, 0.012746780399),
            ),
            _spectrum(
                PolynomialOperator(2, CLOUDS),
                "two normal clouds, degree 2",
                "110.593 17.415 2.492",
                (110.5927500645, 17.4150032981, 2.4922466374),
            ),
            _spectrum(
                PolynomialOperator(3, CLOUDS),
                "two normal clouds, degree 3",
                "1862.615 343.748 59.266 9.870",
                (1862.6152043698, 343.7484257952, 59.2658710114, 9.8704988236),
                "The header M_3^2 should be M_2^3.",
            ),
            Row(
                "first function of degree 3, |numerators|",
                ".848 .791 .437 .097",
                number_list(np.abs(PolynomialOperator(3, CLOUDS).numerators[0])),
                CloseTo((0.847733, 0.790426, 0.437388, 0.096543), 1e-6),
                remark=".791 is rounded incorrectly; all other coefficients are correct.",
            ),
            _spectrum(
                PolynomialOperator(2, CLOUDS, constant=1),
                "two normal clouds, (1 + x'y)²",
                "114.101 18.857 12.821 (three only)",
                (
                    114.1006076783,
                    18.8574879662,
                    12.8212034338,
                    2.8717117715,
                    1.5791351675,
                    0.2698539826,
                ),
            ),
            Row(
                "covariance of the clouds' coordinates",
                "independent",
                float(CLOUDS.moment((1, 1)) - CLOUDS.moment((1, 0)) * CLOUDS.moment((0, 1))),
                Same(-2.5),
                remark="They are independent only within each cloud.",
            ),
            Row(
                "largest |φ₂/φ₁| in the example of 3.2.4",
                "",
                number_list([0.5 / (2 * np.sqrt(0.1 * 0.02))]),
                CloseTo((5.5901699437,), 1e-9),
            ),
        ),
    )
    yield _samples(3 if quick else 20)


def _spectrum(
    operator: PolynomialOperator, item: str, paper: str, true: tuple[float, ...], remark: str = ""
) -> Row:
    return Row(item, paper, number_list(operator.eigenvalues), CloseTo(true), remark=remark)


def _samples(seeds: int) -> Table:
    rows = []
    for name, operator, printed in (
        ("uniform, degree 2", PolynomialOperator(2, SQUARE), ".5409 .0944 .0139"),
        ("clouds, degree 2", PolynomialOperator(2, CLOUDS), "110.558 17.276 2.278"),
        ("clouds, degree 3, the first two", PolynomialOperator(3, CLOUDS), "1892.775 346.190"),
    ):
        count = 2 if operator.n_components == 4 else 3  # further eigenvalues have heavy tails
        errors = operator.standard_errors(_N)[:count]
        differences = [
            np.abs(_fit(operator, seed).spectrum_.operator_eigenvalues - operator.eigenvalues)
            for seed in range(seeds)
        ]
        worst = float((np.array(differences)[:, :count] / errors).max())
        rows.append(Row(f"{name}: largest deviation", printed, worst, AtMost(5.0), " sd"))
    note = f"Eigenvalues of K/n, n = {_N}, over {seeds} seeds; sd is λ √((E φ⁴ - 1)/n)."
    return Table("Samples compared with the population", tuple(rows), note)


def _fit(operator: PolynomialOperator, seed: int) -> KernelPCA:
    X = operator.measure.sample(_N, random_state=seed)
    pca = KernelPCA(operator.n_components, kernel=operator.kernel, center=False, solver="dense")
    return pca.fit(X)


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 3.1 to 3.4 and 3.6."""
    for number, operator, what in (
        ("3.1", PolynomialOperator(2, SQUARE), "the uniform distribution on the square, degree 2"),
        ("3.2", PolynomialOperator(2, CLOUDS), "two normal clouds, degree 2"),
        ("3.3", PolynomialOperator(3, CLOUDS), "two normal clouds, degree 3"),
    ):
        pca = _fit(operator, 0)
        display = EigenfunctionDisplay.from_operator(
            operator, pca.spectrum_.points.data, estimator=pca
        )
        yield Picture(
            f"fig{number.replace('.', '_')}",
            f"Figure {number}. Eigenfunctions of a sample of {_N} (top) and of the population "
            f"(bottom): {what}.",
            display.figure_,
        )
    X, y = _clouds(_N)
    yield Picture(
        "fig3_4",
        "Figure 3.4. Two normal clouds and their first two principal components for degrees 1 to "
        "5: odd degrees separate the clouds, even ones do not, and high ones follow outliers.",
        draw_degrees(X, y, range(1, 6), ["first cloud", "second cloud"]),
    )
    yield Picture(
        "fig3_6",
        "Figure 3.6. Range of embeddings by φ₁ = -0.1 x₁² - 0.02 x₂² and φ₂ = -0.5 x₁ x₂.",
        _restricted(),
    )


def _clouds(n: int) -> tuple[Array, Array]:
    X = np.vstack([part.sample(n // 2, random_state=i) for i, part in enumerate(CLOUDS.parts)])
    return X, np.repeat([0, 1], n // 2)


def draw_degrees(X: Array, y: Array, degrees: range, names: list[str]) -> Any:
    """Draw the data, and their first two principal components for several degrees."""
    count = len(degrees) + 1
    columns = -(-count // 2)
    figure, axes = panels(2, columns, (3.1 * columns, 6))
    scatter(axes[0, 0], X, y, names=names, origin=False)
    axes[0, 0].set(title="data", xlabel="x₁", ylabel="x₂")
    for degree, ax in zip(degrees, axes.flat[1:], strict=False):
        # uncentered, as in the chapter
        pca = KernelPCA(2, kernel=Polynomial(degree), center=False, solver="dense").fit(X)
        Z = pca.spectrum_.eigenfunctions(X)
        scatter(ax, Z, y)
        ax.set(title=f"degree {degree}", xlabel="φ₁", ylabel="φ₂")
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _restricted() -> Any:
    figure, axes = panels(1, 1, (5, 3.8))
    ax = axes[0, 0]
    first = np.linspace(-4, 0, 2)
    bound = 0.5 / (2 * np.sqrt(0.1 * 0.02)) * np.abs(first)
    ax.fill_between(first, -bound, bound, color=PALETTE[0], alpha=0.2, linewidth=0)
    for sign in (-1, 1):
        ax.plot(first, sign * bound, color=PALETTE[0])
    x = Normal([0, 0], [9, 9]).sample(400, random_state=0)
    values = np.column_stack([-0.1 * x[:, 0] ** 2 - 0.02 * x[:, 1] ** 2, -0.5 * x[:, 0] * x[:, 1]])
    seen = values[values[:, 0] > first[0]]
    ax.scatter(*seen.T, s=8, color=GRAY, linewidths=0)
    ax.set(xlabel="φ₁", ylabel="φ₂", xlim=(first[0], 0.1))
    return figure
