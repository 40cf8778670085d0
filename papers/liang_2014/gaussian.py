"""Chapter 4, second part: Gaussian kernel, normal distribution and mixture of two normals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.population import GaussianOperator, Measure, Mixture, Normal, separated_spectrum
from papers.comparison import Correction, Picture, Row, Table
from papers.figures import GRAY, PALETTE, panels
from papers.liang_2014.polynomial import TESTS
from papers.types import Array

__all__ = ["TABLES", "figures"]

ONE = Normal(2, 1)
TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 1)])
_WIDTH = 1.5
_N = 1000
_HERMITE = (
    "The thesis uses the probabilists' Hermite polynomials in a formula for the physicists' ones; "
    "these functions are not orthonormal."
)


def _operator(measure: Measure, count: int = 50, *, center: bool = False) -> GaussianOperator:
    return GaussianOperator(_WIDTH, measure, n_components=count, center=center)


def _cosine(bandwidth: float) -> float:
    """Return the cosine between the first eigenfunction and E k(x, Y) = Σ λ μ φ."""
    operator = GaussianOperator(bandwidth, ONE, n_components=400)
    parts = operator.eigenvalues * operator.means
    return float(parts[0] / np.linalg.norm(parts))


def _normal(quick: bool) -> Table:
    plain, centered = _operator(ONE), _operator(ONE, center=True)
    _, vectors = np.linalg.eigh(
        np.diag(plain.eigenvalues) - np.outer(*2 * [np.sqrt(plain.eigenvalues) * plain.means])
    )
    second = np.sqrt(plain.eigenvalues) * vectors[:, -2]
    second = second * -np.sign(second[0])
    rows = (
        Row("eigenvalues", ".75 .1875 .0469 .0117 .0029", _numbers(plain.eigenvalues[:5])),
        Row(
            "means μ₁, μ₃, μ₅",
            ".984 -.1305 .0212",
            _numbers(plain.means[[0, 2, 4]]),
            correction=Correction(
                ".984 .1739 .0377", TESTS + "test_eigenvalues_and_means_of_one_normal_part"
            ),
            remark=_HERMITE,
        ),
        Row(
            "sum of squared means, minus 1",
            "equal",
            float((plain.means**2).sum() - 1),
            identity=True,
        ),
        Row(
            "centered eigenvalues",
            ".1875 .0615 .0117 .0085 .0028",
            _numbers(centered.eigenvalues[:5]),
            correction=Correction(
                ".1875 .0685 .0117 .0036 .0007", TESTS + "test_centered_spectrum_of_one_normal_part"
            ),
            remark="The second, fourth and fifth follow from the wrong means.",
        ),
        Row(
            "coefficients of φ₁ and φ₃ in the second centered function",
            "-.4665 -.1825",
            _numbers(second[[0, 2]]),
            correction=Correction("-.5053 .1758", TESTS + "test_second_centered_eigenfunction"),
            remark="They follow from the wrong means.",
        ),
        Row(
            "cosine of φ₁ and the mean function at w = 0.1 (Figure 4.7)",
            "≈ .96",
            _cosine(0.1),
            correction=Correction(
                ".8195", TESTS + "test_cosine_between_mean_function_and_first_eigenfunction"
            ),
            remark=f"{_cosine(0.1**0.5):.4f} at w² = 0.1; the axis of the figure is probably w².",
        ),
        Row("the same at w = 3", "1.00", _cosine(3.0)),
    )
    return Table(rows)


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))


def _mixture(quick: bool) -> Table:
    plain, centered = _operator(TWO), _operator(TWO, center=True)
    apart = separated_spectrum(Gaussian(_WIDTH), TWO)
    worst = float(np.abs(apart.relative_errors[:4]).max())
    route = TESTS + "test_spectra_of_two_normal_parts"
    rows = (
        Row(
            "products π λ, the first six",
            ".45 .3 .1125 .075 .0281 .0188",
            _numbers(apart.eigenvalues[:6]),
        ),
        Row(
            "products π λ, the last four",
            ".00702 .00468 .00174 .00116",
            _numbers(apart.eigenvalues[6:10]),
            correction=Correction(
                ".00703 .00469 .00176 .00117",
                TESTS + "test_separated_approximation_has_the_published_errors",
            ),
            remark="Computed from rounded values in the thesis.",
        ),
        Row(
            "eigenvalues, approximated by the products",
            ".45 .3 .1125 .075 .0281",
            _numbers(plain.eigenvalues[:5]),
            correction=Correction(".4709 .3035 .1269 .0605 .0236", route),
            remark=f"The first four products deviate by up to {worst:.0%}: the parts overlap.",
        ),
        Row(
            "centered eigenvalues",
            ".1833 .1383 .0579 .0253",
            _numbers(centered.eigenvalues[:4]),
            correction=Correction(".3304 .1343 .0605 .0282", route),
            remark="The thesis has wrong means, and λ(1 - μ)² instead of λ(1 - μ²).",
        ),
    )
    return Table(rows)


def _samples(quick: bool) -> Table:
    seeds = 5 if quick else 40
    rows = []
    for name, measure, printed, true, route in (
        (
            "N(2, 1)",
            ONE,
            ".1875 .0615 .0117",
            ".1875 .0685 .0117",
            "test_centered_spectrum_of_one_normal_part",
        ),
        (
            "mixture",
            TWO,
            ".1833 .1383 .0579",
            ".3304 .1343 .0605",
            "test_spectra_of_two_normal_parts",
        ),
    ):
        operator = _operator(measure, 3, center=True)
        found = np.array(
            [
                _fit(measure, seed, center=True, count=3).spectrum_.operator_eigenvalues
                for seed in range(seeds)
            ]
        )
        errors = operator.standard_errors(_N) / seeds**0.5
        z = (found.mean(axis=0) - operator.eigenvalues) / errors
        thesis = (found.mean(axis=0) - [float(x) for x in printed.split()]) / errors
        rows.append(
            Row(
                f"{name}: centered eigenvalues of samples, mean",
                printed,
                _numbers(found.mean(axis=0)),
                sampling_error=_numbers(errors),
                correction=Correction(true, TESTS + route),
                remark=f"The means differ from the population's by {_listed(z)}, from the printed "
                f"values by {_listed(thesis)} standard errors.",
            )
        )
    note = f"First three eigenvalues of centered K/n, n = {_N}, mean over {seeds} samples."
    return Table(tuple(rows), note)


def _listed(values: Array) -> str:
    return ", ".join(f"{value:+.1f}" for value in values)


TABLES = {
    "Gaussian kernel, w = 1.5, under N(2, 1) (4.3.2)": _normal,
    "Gaussian kernel, w = 1.5, under 0.6 N(2, 1) + 0.4 N(-2, 1) (4.3.3)": _mixture,
    "Samples compared with the population (4.3)": _samples,
}


def _fit(measure: Measure, seed: int, *, center: bool, count: int = 5) -> KernelPCA:
    X = measure.sample(_N, random_state=seed)
    return KernelPCA(count, kernel=Gaussian(_WIDTH), center=center, solver="lanczos").fit(X)


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
        ".96, so its axis is presumably w².",
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
