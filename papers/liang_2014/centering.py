"""Chapter 4, first part, and the appendices: effect of centering on polynomial kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.population import Normal, PolynomialOperator
from papers.comparison import Correction, Picture, Row, Table
from papers.figures import GRAY, PALETTE, panels
from papers.liang_2014.contours import draw_contours, grid_over
from papers.liang_2014.polynomial import CLOUDS, TESTS

__all__ = ["TABLES", "figures"]

_FORMS = {(2, 0): "x₁²", (1, 1): "x₁x₂", (0, 2): "x₂²"}
_CIRCLE = float(np.sqrt(3 * (np.sqrt(2) - 1)))
_APPENDIX_B = (
    (0.0, "12.424 4 2.576"),
    (0.5, "12.762 5 3.8"),
    (1.0, "15.123 8 6.877"),
    (1.1147, "16.485 8.97 7.515"),
    (2.0, "45.946 20 9.054"),
    (5.0, "781.514 104 8.486"),
)


def _along(m: float, k: float = 2.0, *, center: bool = False) -> PolynomialOperator:
    """Degree 2 under a normal distribution about (m, 0) with variances 1 and k, (4.6)."""
    return PolynomialOperator(2, Normal([m, 0], [1, k]), center=center)


def _form(m: float, k: float) -> str:
    operator = _along(m, k, center=True)
    largest = int(np.abs(operator.numerators[0]).argmax())
    return _FORMS[tuple(operator.exponents[largest].tolist())]


def _appendix_b(quick: bool) -> Table:
    rows = [
        Row(f"m = {m:g}: eigenvalues", printed, _numbers(_along(m))) for m, printed in _APPENDIX_B
    ]
    C0, _, C2 = _along(_CIRCLE).numerators[0]
    rows += [
        Row(
            "m at which the contours are circles",
            "1.1147",
            _CIRCLE,
            remark=f"√(3(√2 - 1)); there C₀/C₂ - 1 = {C0 / C2 - 1:.0e}.",
        ),
        Row(
            "λ₁/m⁴ for large m (at m = 50)",
            ".5",
            float(_along(50.0).eigenvalues[0] / 50**4),
            correction=Correction(
                "1.0024", TESTS + "test_first_eigenvalue_far_from_the_origin_is_m_to_the_fourth"
            ),
            remark="The thesis has ½ m⁴σ⁴ (4.1.3); the limit is m⁴σ⁴.",
        ),
    ]
    note = "Uncentered kernel and data (centered in the title of the appendix), k = 2."
    return Table(tuple(rows), note)


def _numbers(operator: PolynomialOperator) -> tuple[float, ...]:
    return tuple(map(float, operator.eigenvalues))


def _trichotomy(quick: bool) -> Table:
    rows = [
        Row(f"leading form at m = {m:g}, k = 1.5", printed, _form(m, 1.5))
        for m, printed in ((0.7, "x₂²"), (0.72, "x₁x₂"), (0.99, "x₁x₂"), (1.01, "x₁²"))
    ]
    first, second, third = _numbers(_along(1.0, center=True))
    rows.append(
        Row(
            "at m = 1, k = 2 the leading form is x₂² alone",
            True,
            bool(first - second > 1e-9 * first),
            correction=Correction(False, TESTS + "test_leading_monomials_tie_at_m_1_and_k_2"),
            remark=f"Eigenvalues {first:.6g}, {second:.6g}, {third:.6g}: an exact tie.",
        )
    )
    return Table(tuple(rows))


def _centered_spectra(quick: bool) -> Table:
    rows = [
        Row(name, printed, _numbers(operator), recomputed=True)
        for name, operator, printed in (
            (
                "clouds, degree 2",
                PolynomialOperator(2, CLOUDS, center=True),
                "38.3065672535 17.3093993784 2.1340333682",
            ),
            (
                "clouds, degree 3",
                PolynomialOperator(3, CLOUDS, center=True),
                "1725.3092940286 338.6660144126 58.9485348875 9.8261566712",
            ),
            (
                "clouds, (1 + x'y)², one fewer than uncentered",
                PolynomialOperator(2, CLOUDS, constant=1, center=True),
                "42.9702726276 17.9053232431 11.2995166967 2.5551977566 1.5196896759",
            ),
        )
    ]
    return Table(tuple(rows), note="Not in the thesis.")


TABLES = {
    "Appendix B: the center moves along x₁": _appendix_b,
    "The trichotomy of the centered kernel (4.1.4, Figures 4.3 and 4.4)": _trichotomy,
    "Centered spectra of the examples of chapter 3": _centered_spectra,
}


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
