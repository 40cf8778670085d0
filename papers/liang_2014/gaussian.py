"""Chapter 4, second part: Gaussian kernel, normal distribution and mixture of two normals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.population import GaussianOperator, Measure, Mixture, Normal, separated_spectrum
from papers.comparison import AtMost, Picture, Row, Table
from papers.figures import GRAY, PALETTE, panels
from papers.liang_2014.number_list import CloseTo, number_list
from papers.types import Array

__all__ = ["figures", "tables"]

ONE = Normal(2, 1)
TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
_WIDTH = 1.5
_N = 1000
_HERMITE = (
    "Error in the thesis: it uses the probabilists' Hermite polynomials in a formula for the "
    "physicists' ones, and these functions are not orthonormal."
)


def _operator(measure: Measure, count: int = 50, *, center: bool = False) -> GaussianOperator:
    return GaussianOperator(_WIDTH, measure, n_components=count, center=center)


def _cosine(bandwidth: float) -> float:
    """Return the cosine between the first eigenfunction and E k(x, Y) = Σ λ μ φ."""
    operator = GaussianOperator(bandwidth, ONE, n_components=400)
    parts = operator.eigenvalues * operator.means
    return float(parts[0] / np.linalg.norm(parts))


def tables(quick: bool) -> Iterator[Table]:
    """Spectra, means and centered spectra; compared with samples."""
    yield _normal_table()
    yield _mixture_table()
    yield _samples(2 if quick else 10)


def _normal_table() -> Table:
    plain, centered = _operator(ONE), _operator(ONE, center=True)
    rows = (
        Row(
            "eigenvalues",
            ".75 .1875 .0469 .0117 .0029",
            number_list(plain.eigenvalues[:5]),
            CloseTo(tuple(0.75 / 4.0 ** np.arange(5))),
        ),
        Row(
            "means μ₁, μ₃, μ₅",
            ".984 -.1305 .0212",
            number_list(plain.means[[0, 2, 4]]),
            CloseTo((0.9839948356, 0.1739473552, 0.0376607071)),
            remark=_HERMITE,
        ),
        Row(
            "sum of squared means",
            "",
            number_list([(plain.means**2).sum()]),
            CloseTo((1.0,), 1e-10),
        ),
        Row(
            "centered eigenvalues",
            ".1875 .0615 .0117 .0085 .0028",
            number_list(centered.eigenvalues[:5]),
            CloseTo((0.1875, 0.068518138596, 0.01171875, 0.0036479097, 0.000732421875)),
            remark="Error in the thesis: the second, fourth and fifth follow from the wrong means.",
        ),
        Row(
            "centered trace",
            "",
            number_list([centered.trace]),
            CloseTo((0.272393124891,)),
        ),
        Row(
            "cosine of φ₁ and the mean function at w = 0.1",
            "close to .96",
            number_list([_cosine(0.1)]),
            CloseTo((0.819514,), 1e-6),
            remark=f"{_cosine(0.1**0.5):.4f} at w² = 0.1; the axis of the figure is probably w².",
        ),
        Row("the same at w = 3", "1", number_list([_cosine(3.0)]), CloseTo((0.999999852,), 1e-8)),
    )
    return Table("Gaussian kernel, w = 1.5, under N(2, 1) (4.3.2)", rows)


def _mixture_table() -> Table:
    plain, centered = _operator(TWO), _operator(TWO, center=True)
    apart = separated_spectrum(Gaussian(_WIDTH), TWO)
    worst = float(np.abs(apart.relative_errors[:4]).max())
    rows = (
        Row(
            "products π λ, the thesis' approximation",
            ".45 .3 .1125 .075 .0281",
            number_list(apart.eigenvalues[:5]),
            CloseTo((0.45, 0.3, 0.1125, 0.075, 0.028125)),
        ),
        Row(
            "eigenvalues",
            "approximated by the products",
            number_list(plain.eigenvalues[:5]),
            CloseTo((0.4708894779, 0.3035028126, 0.1268904615, 0.0604572515, 0.0235789845)),
            remark=f"The first four products deviate by up to {worst:.0%}: the parts overlap.",
        ),
        Row(
            "centered eigenvalues",
            ".1833 .1383 .0579 .0253",
            number_list(centered.eigenvalues[:4]),
            CloseTo((0.3303904177, 0.1342629830, 0.0604584360, 0.0282157082)),
            remark="Error in the thesis: wrong means, and λ(1 - μ)² instead of λ(1 - μ²).",
        ),
    )
    return Table("Gaussian kernel, w = 1.5, under 0.6 N(2, 1) + 0.4 N(-2, 1) (4.3.3)", rows)


def _fit(measure: Measure, seed: int, *, center: bool, count: int = 5) -> KernelPCA:
    X = measure.sample(_N, random_state=seed)
    return KernelPCA(count, kernel=Gaussian(_WIDTH), center=center, solver="lanczos").fit(X)


def _samples(seeds: int) -> Table:
    rows = []
    for name, measure in (("N(2, 1)", ONE), ("mixture", TWO)):
        for center in (False, True):
            operator = _operator(measure, 3, center=center)
            errors = operator.standard_errors(_N)
            differences = [
                np.abs(
                    _fit(measure, seed, center=center).spectrum_.operator_eigenvalues[:3]
                    - operator.eigenvalues
                )
                for seed in range(seeds)
            ]
            what = f"{name}, {'centered' if center else 'uncentered'}: largest deviation"
            worst = float((np.array(differences) / errors).max())
            rows.append(Row(what, "", worst, AtMost(5.0), " sd"))
    note = f"First three eigenvalues of K/n, n = {_N}, over {seeds} seeds."
    return Table("Samples compared with the population", tuple(rows), note)


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 4.6 to 4.8."""
    yield Picture(
        "fig4_6",
        "Figure 4.6. Eigenfunctions under N(2, 1): sample (dots) and population (line), uncentered "
        "(top) and centered (bottom). Rows of the thesis with wrong coefficients are not redrawn.",
        _both_rows(ONE, 5),
    )
    bandwidths = np.linspace(0.1, 3, 60)
    figure, axes = panels(1, 1, (5, 3.4))
    axes[0, 0].plot(
        bandwidths, [_cosine(w) for w in bandwidths], color=PALETTE[0], label="against w"
    )
    axes[0, 0].plot(
        bandwidths,
        [_cosine(w**0.5) for w in bandwidths],
        "--",
        color=PALETTE[1],
        label="against w²",
    )
    axes[0, 0].set(xlabel="w, or w²", ylabel="cosine", ylim=(0.8, 1.005))
    axes[0, 0].legend(frameon=False)
    yield Picture(
        "fig4_7",
        "Figure 4.7. Cosine between φ₁ and the mean function. The curve in the thesis begins at "
        ".96, so its axis is w².",
        figure,
    )
    yield Picture(
        "fig4_8",
        "Figure 4.8. The same as 4.6 for 0.6 N(2, 1) + 0.4 N(-2, 1): uncentered, the first two "
        "functions belong to one part each; centered, the first separates the parts.",
        _both_rows(TWO, 4),
    )


def _both_rows(measure: Measure, count: int) -> Any:
    figure, axes = panels(2, count, (2.4 * count, 4.6), sharex=True)
    X = np.sort(measure.sample(_N, random_state=0), axis=0)
    line = np.linspace(X.min(), X.max(), 300)[:, None]
    for row, center in zip(axes, (False, True), strict=True):
        operator = _operator(measure, count, center=center)
        spectrum = _fit(measure, 0, center=center, count=count).spectrum_
        truth, found = operator.eigenfunctions(line), spectrum.eigenfunctions(X)
        found = found * _signs(found, operator.eigenfunctions(X))
        for i, ax in enumerate(row):
            ax.axhline(0, color=GRAY, linewidth=0.6)
            ax.plot(line[:, 0], truth[:, i], color=PALETTE[1], linewidth=1.2)
            ax.plot(X[::8, 0], found[::8, i], ".", color=PALETTE[0], markersize=2.5)
            ax.set_title(
                f"{i + 1}: {operator.eigenvalues[i]:.3g} ({spectrum.operator_eigenvalues[i]:.3g})",
                fontsize="small",
            )
        row[0].set_ylabel("centered" if center else "uncentered")
    return figure


def _signs(found: Array, truth: Array) -> Array:
    return np.where((found * truth).sum(axis=0) < 0, -1.0, 1.0)
