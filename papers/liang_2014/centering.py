"""Chapter 4, first part, and the appendices: effect of centering on polynomial kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.population import Normal, PolynomialOperator
from papers.comparison import Picture, Row, Same, Table
from papers.figures import GRAY, PALETTE, panels
from papers.liang_2014.contours import draw_contours, grid_over
from papers.liang_2014.number_list import CloseTo, number_list
from papers.liang_2014.polynomial import CLOUDS

__all__ = ["figures", "tables"]

_FORMS = {(2, 0): "x₁²", (1, 1): "x₁x₂", (0, 2): "x₂²"}
_CIRCLE = float(np.sqrt(3 * (np.sqrt(2) - 1)))
_APPENDIX_B = (
    (0.0, "12.424 4 2.576", (12.4244289009, 4.0, 2.5755710991)),
    (0.5, "12.762 5 3.8", (12.7622210513, 5.0, 3.8002789487)),
    (1.0, "15.123 8 6.877", (15.1231056256, 8.0, 6.8768943744)),
    (1.1147, "16.485 8.97 7.515", (16.4847532828, 8.97022436, 7.514528894)),
    (2.0, "45.946 20 9.054", (45.9458667457, 20.0, 9.0541332543)),
    (5.0, "781.514 104 8.486", (781.5139066062, 104.0, 8.4860933938)),
)


def _along(m: float, k: float = 2.0, *, center: bool = False) -> PolynomialOperator:
    """Degree 2 under a normal distribution about (m, 0) with variances 1 and k, (4.6)."""
    return PolynomialOperator(2, Normal([m, 0], [1, k]), center=center)


def _form(m: float, k: float) -> str:
    operator = _along(m, k, center=True)
    largest = int(np.abs(operator.numerators[0]).argmax())
    return _FORMS[tuple(operator.exponents[largest].tolist())]


def tables(quick: bool) -> Iterator[Table]:
    """Appendix B, the trichotomy, and the centered spectra of chapter 3."""
    yield _appendix_b()
    yield _trichotomy()
    rows = [
        Row(name, "not printed", number_list(operator.eigenvalues), CloseTo(true))
        for name, operator, true in (
            (
                "two normal clouds, degree 2",
                PolynomialOperator(2, CLOUDS, center=True),
                (38.3065672535, 17.3093993784, 2.1340333682),
            ),
            (
                "two normal clouds, degree 3",
                PolynomialOperator(3, CLOUDS, center=True),
                (1725.3092940286, 338.6660144126, 58.9485348875, 9.8261566712),
            ),
            (
                "two normal clouds, (1 + x'y)², one fewer than uncentered",
                PolynomialOperator(2, CLOUDS, constant=1, center=True),
                (42.9702726276, 17.9053232431, 11.2995166967, 2.5551977566, 1.5196896759),
            ),
        )
    ]
    yield Table("Centered spectra of the examples of chapter 3", tuple(rows))


def _appendix_b() -> Table:
    rows = [
        Row(f"m = {m:g}", printed, number_list(_along(m).eigenvalues), CloseTo(true))
        for m, printed, true in _APPENDIX_B
    ]
    C0, _, C2 = _along(_CIRCLE).numerators[0]
    rows.append(
        Row(
            f"C₀/C₂ at m = {_CIRCLE:.6f} (contours are circles)",
            "at 1.1147",
            number_list([C0 / C2]),
            CloseTo((1.0,)),
            remark="Exactly at √(3(√2 - 1)); for any k at m² = -3 + √(6 + 3k²).",
        )
    )
    rows.append(
        Row(
            "λ₁/m⁴ at m = 50",
            "1/2",
            number_list([_along(50.0).eigenvalues[0] / 50**4]),
            CloseTo((1.0024,), 5e-5),
            remark="The thesis gives ½ m⁴σ⁴ for large m; the correct value is m⁴σ⁴.",
        )
    )
    note = "Uncentered kernel and data (centered in the title of the appendix), k = 2."
    return Table("Appendix B: the center moves along x₁", tuple(rows), note)


def _trichotomy() -> Table:
    rows = [
        Row(f"leading form at m = {m:g}, k = 1.5", printed, _form(m, 1.5), Same(printed))
        for m, printed in ((0.7, "x₂²"), (0.72, "x₁x₂"), (0.99, "x₁x₂"), (1.01, "x₁²"))
    ]
    rows.append(
        Row(
            "eigenvalues at m = 1, k = 2",
            "x₂² if m ≤ 1",
            number_list(_along(1.0, center=True).eigenvalues),
            CloseTo((8.0, 8.0, 6.0)),
            remark="An exact tie: the leading form is not unique.",
        )
    )
    return Table("The trichotomy of the centered kernel (4.1.4, Figures 4.3 and 4.4)", tuple(rows))


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 4.1 to 4.5."""
    box = grid_over((-4, -4), (4, 4))
    figure, axes = panels(1, 2, (6.4, 3.4))
    for ax, center in zip(axes[0], (False, True), strict=True):
        operator = _along(0.0, center=center)
        draw_contours(ax, box, _leading(operator), title="centered" if center else "uncentered")
    yield Picture(
        "fig4_1",
        "Figure 4.1. First eigenfunction for data around the origin, k = 2: ellipses, and a "
        "function of x₂ only.",
        figure,
    )
    yield Picture(
        "fig4_2",
        "Figure 4.2. First eigenfunction, uncentered, as the center (cross) moves along x₁, k = 2.",
        _moving((0, 0.5, 1, _CIRCLE, 2, 5), 2.0, center=False),
    )
    yield _regions()
    yield Picture(
        "fig4_4",
        "Figure 4.4. First eigenfunction, centered, k = 1.5: x₂², then x₁x₂, then x₁² as m grows.",
        _moving((0, 0.5, 0.65, 0.8, 0.95, 2), 1.5, center=True),
    )
    yield Picture(
        "fig4_5",
        "Figure 4.5. First eigenfunction, uncentered, as the center moves along x₁ = x₂, k = 2.",
        _moving((0, 0.3, 0.6, 1, 2, 5), 2.0, center=False, diagonal=True),
    )


def _leading(operator: PolynomialOperator) -> Any:
    return lambda X: operator.eigenfunctions(X)[:, 0]


def _moving(means: tuple[float, ...], k: float, *, center: bool, diagonal: bool = False) -> Any:
    figure, axes = panels(2, 3, (8.4, 5.8))
    for m, ax in zip(means, axes.flat, strict=True):
        mean = (m, m if diagonal else 0.0)
        operator = PolynomialOperator(2, Normal(mean, [1, k]), center=center)
        reach = max(4.0, m + 2)
        box = grid_over((-reach, -reach), (reach, reach))
        draw_contours(ax, box, _leading(operator), title=f"m = {m:.4g}")
        ax.plot(*mean, "+", color=PALETTE[1], markersize=11, markeredgewidth=2)
    return figure


def _regions() -> Picture:
    m = np.linspace(0, 2, 200)
    upper, lower = m**2 + 1, (2 * m**2 + 1) / (m**2 + 1)
    figure, axes = panels(1, 1, (5, 4))
    ax = axes[0, 0]
    for low, high, color in (
        (np.zeros_like(m), lower, PALETTE[0]),
        (lower, upper, GRAY),
        (upper, np.full_like(m, 6.0), PALETTE[1]),
    ):
        ax.fill_between(m, low, high, color=color, alpha=0.2, linewidth=0)
    ax.plot(m, upper, color=PALETTE[1])
    ax.plot(m, lower, color=PALETTE[0])
    for x, y, text in ((0.45, 3.6, "x₂²"), (1.5, 2.4, "x₁x₂"), (1.2, 0.7, "x₁²")):
        ax.text(x, y, text, ha="center", va="center", fontsize="large")
    ax.set(xlabel="m", ylabel="k", xlim=(0, 2), ylim=(0, 5))
    return Picture(
        "fig4_3",
        "Figure 4.3. Form of the first eigenfunction of the centered kernel, by k = m² + 1 and "
        "k = (2m² + 1)/(m² + 1).",
        figure,
    )
