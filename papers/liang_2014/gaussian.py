"""Chapter 4, second part: Gaussian kernel, normal distribution and mixture of two normals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.population import (
    GaussianOperator,
    Measure,
    Mixture,
    Normal,
    SeparatedSpectrum,
    centered_matrix,
    separated_spectrum,
)
from papers.comparison import Correction, Picture, Row, Table
from papers.figures import GRAY, PALETTE, panels
from papers.liang_2014.spectroscopy import find_groups
from papers.types import Array

__all__ = ["TABLES", "figures"]

TESTS = "tests/papers/test_liang_2014_gaussian.py::"
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


def _combinations(plain: GaussianOperator, count: int = 6) -> Array:
    """Coefficients c of the centered functions Σ c (φ - μ), one column each; scale of (4.9)."""
    _, vectors = np.linalg.eigh(centered_matrix(plain.eigenvalues, plain.means))
    return np.sqrt(plain.eigenvalues)[:, None] * vectors[:, ::-1][:, :count]


def _coefficient_row(
    found: Array, number: int, functions: tuple[int, ...], printed: str, **settings: Any
) -> Row:
    """Compare the coefficients of some uncentered functions in a centered one, up to sign."""
    values = found[np.array(functions) - 1]
    values = values * (np.sign(values[0] * float(printed.split()[0])) or 1.0)
    names = " ".join(f"φ{'₀₁₂₃₄₅₆'[i]}" for i in functions)
    item = f"centered function {number}: coefficients of {names}"
    return Row(item, printed, _numbers(values), **settings)


def _coefficients(plain: GaussianOperator) -> Iterator[Row]:
    """The centered functions (4.9) as combinations of uncentered ones."""
    found = _combinations(plain)
    route = TESTS + "test_centered_eigenfunctions_by_quadrature"
    means = "It follows from the wrong means."
    yield _coefficient_row(found[:, 0], 1, (2,), "-.4330")
    yield _coefficient_row(
        found[:, 1],
        2,
        (1, 3),
        "-.4665 -.1825",
        correction=Correction("-.5053 .1758", route),
        remark=means,
    )
    # the thesis multiplies with the root of its rounded eigenvalue
    yield _coefficient_row(found[:, 2], 3, (4,), ".1082", within_rounding=[(0.0117**0.5,)])
    yield _coefficient_row(
        found[:, 3],
        4,
        (1, 3, 5),
        ".7214 -.1157 .0078",
        correction=Correction(".3108 .0593 -.0483", route),
        remark=means,
    )
    yield _coefficient_row(
        found[:, 5],
        5,
        (1, 3, 5),
        "-.1091 .0152 .0539",
        correction=Correction("-.2368 -.0420 -.0098", route),
        remark=f"{means} Compared with the third combination of these functions, number 6 "
        "(λ = .0002); number 5 is φ₆ (λ = .0007), which the thesis leaves out with all above φ₅.",
    )


def _normal(quick: bool) -> Table:
    plain, centered = _operator(ONE), _operator(ONE, center=True)
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
        *_coefficients(plain),
        Row(
            "cosine of φ₁ and the mean function at the left end of Figure 4.7, w² = 0.1",
            "≈ .96",
            _cosine(0.1**0.5),
            readings=2,
            remark=f"The text says w; at w = 0.1 it is {_cosine(0.1):.4f}.",
        ),
        Row("the same at the right end, w² = 3", "1.00", _cosine(3**0.5)),
    )
    return Table(rows)


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))


def _mixture(quick: bool) -> Table:
    plain, centered = _operator(TWO), _operator(TWO, center=True)
    apart = separated_spectrum(Gaussian(_WIDTH), TWO)
    worst = float(np.abs(apart.relative_errors[:4]).max())
    means = TWO.expectation(apart.eigenfunctions) * np.sqrt(TWO.weights[apart.parts])
    printed = ".6437 .4735 -.1032 .1547 .0559 .1491 -.1342 .2013 .1209 .1707"
    signs = np.sign([float(number) for number in printed.split()])
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
            # products of the eigenvalues as the thesis prints them
            within_rounding=[(0.6 * 0.0117, 0.4 * 0.0117, 0.6 * 0.0029, 0.4 * 0.0029)],
        ),
        Row(
            "eigenvalues of the mixture",
            "",
            ", ".join(f"{value:.4f}" for value in plain.eigenvalues[:5]),
            remark=f"The first four products deviate by up to {worst:.0%}. The thesis takes them "
            "from Shi et al., who require separated parts; these overlap.",
        ),
        Row(
            "uncentered functions 1 and 2 belong to one part each (cosine above .9)",
            True,
            bool((_part_cosines(plain, apart)[:2] > 0.9).all()),
            remark="Cosines with the parts' functions: "
            f"{_each(_part_cosines(plain, apart)[:4])} for functions 1 to 4.",
        ),
        Row(
            "means of the ten functions of the parts, up to sign",
            printed,
            _numbers(signs * np.abs(means)),
            correction=Correction(
                ".6437 .4735 -.2063 .3095 .6788 .9312 -1.3265 1.9898 2.7158 4.0548",
                TESTS + "test_means_of_component_functions_equal_published_ones",
            ),
            remark=_HERMITE,
        ),
        Row(
            "centered eigenvalues",
            ".1833 .1383 .0579 .0253",
            _numbers(centered.eigenvalues[:4]),
            correction=Correction(".3304 .1343 .0605 .0282", route),
            remark="The thesis has wrong means, and λ(1 - μ)² instead of λ(1 - μ²).",
        ),
        *_mixture_functions(plain, centered, apart),
    )
    return Table(
        rows,
        note="Centered functions are combinations of the uncentered functions of the mixture, in "
        "the order of the eigenvalues. The thesis uses functions of the parts in their place.",
    )


#: Printed centered functions of the mixture: numbers of the uncentered ones, and coefficients.
_MIXTURE_FUNCTIONS = (
    ((1, 2), ".4494 -.4043", ".3317 -.4820"),
    ((3, 2, 1), ".3330 -.0640 -.0150", ".3410 .0901 .1629"),
    ((4, 1, 2), ".2676 -.0889 -.0875", ".2459 -.0028 -.0013"),
    ((5, 1, 2, 4, 6), "-.1670 .0305 .0261 .0089 -.0057", "-.1390 .2403 .1074 .0008 -.0005"),
)


def _mixture_functions(
    plain: GaussianOperator, centered: GaussianOperator, apart: SeparatedSpectrum
) -> Iterator[Row]:
    """The printed centered functions: their coefficients, and correlations with the true ones."""
    found = _combinations(plain)
    found[2] *= -1  # the mean of φ₃ is negative in the thesis
    slip = "The sign of φ₃ is a slip: the printed means and eigenvalues give .3330 .0640 .0150."
    for number, (functions, printed, correct) in enumerate(_MIXTURE_FUNCTIONS, start=1):
        yield _coefficient_row(
            found[:, number - 1],
            number,
            functions,
            printed,
            correction=Correction(
                correct, TESTS + "test_centered_eigenfunctions_of_the_mixture_by_quadrature"
            ),
            remark="It follows from the wrong matrix." + (f" {slip}" if number == 2 else ""),
        )
    rule = TWO.quadrature(200)
    # Hermite functions of the parts, with a positive leading coefficient as in the thesis
    parts = apart.eigenfunctions(rule.points)[:, :10]
    parts *= np.sign(rule.weights @ parts) * np.array([1, 1, -1, 1, 1, 1, -1, 1, 1, 1])
    true = centered.eigenfunctions(rule.points)
    for number, (functions, printed, _) in enumerate(_MIXTURE_FUNCTIONS, start=1):
        values = parts[:, np.array(functions) - 1]
        as_printed = np.array([float(c) for c in printed.split()])
        coefficients = np.abs(as_printed) if number == 2 else as_printed
        at = true[:, number - 1]
        correlation = _weighted_correlation(values @ coefficients, at, rule.weights)
        remark = f"Correlation {correlation:.3f}."
        if number == 2:
            slipped = _weighted_correlation(values @ as_printed, at, rule.weights)
            remark += f" With the sign of φ₃ as printed {slipped:.3f}."
        if number > 2:
            remark += " The thesis claims it for functions 1 and 2."
        yield Row(
            f"centered function {number} of the thesis agrees strongly with the true one "
            "(correlation above .9)",
            True if number <= 2 else "",
            correlation > 0.9,
            readings=2 if number == 2 else 1,
            remark=remark,
        )


def _part_cosines(plain: GaussianOperator, apart: SeparatedSpectrum) -> Array:
    """Cosines of the mixture's functions and those of the parts, in L2 of the mixture."""
    rule = TWO.quadrature(200)
    ours, parts = plain.eigenfunctions(rule.points)[:, :6], apart.eigenfunctions(rule.points)[:, :6]
    return np.asarray(np.abs(rule.weights @ (ours * parts)) / np.sqrt(rule.weights @ parts**2))


def _weighted_correlation(f: Array, g: Array, weights: Array) -> float:
    f, g = f - weights @ f, g - weights @ g
    return float(abs(weights @ (f * g)) / np.sqrt((weights @ f**2) * (weights @ g**2)))


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
                our_error=_numbers(errors),
                correction=Correction(true, TESTS + route),
                remark=f"The means differ from the population's by {_listed(z)}, from the printed "
                f"values by {_listed(thesis)} standard errors.",
            )
        )
    note = f"First three eigenvalues of centered K/n, n = {_N}, mean over {seeds} samples."
    return Table(tuple(rows), note)


def _group_counts(distance: float, bandwidth: float, weight: float, seeds: int) -> list[int]:
    """Number of eigenvectors without a change of sign, in samples of two parts."""
    measure = Mixture([weight, 1 - weight], [Normal(distance, 1), Normal(-distance, 1)])
    samples = [measure.sample(500, random_state=seed) for seed in range(seeds)]
    return [find_groups(X, Gaussian(bandwidth)).n_groups for X in samples]


def _groups(quick: bool) -> Table:
    """Eigenvectors without a change of sign (2.3.2)."""
    seeds = 4 if quick else 20
    apart = _group_counts(3, 0.8, 0.6, seeds) + _group_counts(4, 1.5, 0.6, seeds)
    equal = _group_counts(3, 0.8, 0.5, seeds) + _group_counts(4, 1.5, 0.5, seeds)
    rows = (
        Row(
            "separated parts: as many eigenvectors without a change of sign as parts",
            True,
            set(apart) == {2},
            remark=f"Two in {apart.count(2)} of {len(apart)} samples, of N(±3, 1) with w = 0.8 and "
            "N(±4, 1) with w = 1.5.",
        ),
        Row(
            "the same with equal proportions: samples with two",
            "",
            equal.count(2),
            f" of {len(equal)}",
            remark="The eigenvalues of the parts are nearly equal then, and samples mix their "
            "functions.",
        ),
        Row(
            "N(±2, 1), w = 1.5 (4.3.3): their number, mean",
            "1",
            float(np.mean(_group_counts(2, 1.5, 0.6, seeds))),
            recomputed=True,
            remark="These parts are not separated.",
        ),
    )
    return Table(rows, note=f"{seeds} samples of 500 points, two parts of probability 0.6 and 0.4.")


def _shapes(quick: bool) -> Table:
    """Whether combinations of sample functions resemble the centered ones (Figure 4.6)."""
    seeds = 4 if quick else 40
    plain, centered = _operator(ONE), _operator(ONE, 5, center=True)
    found = []
    for seed in range(seeds):
        X = ONE.sample(_N, random_state=seed)
        target = _fit(ONE, seed, center=True).spectrum_.eigenfunctions(X)
        candidates = _combined(plain, seed, X), centered.eigenfunctions(X)
        found.append([np.abs(_correlations(target, values)) for values in candidates])
    combined, population = np.median(found, axis=0)
    return Table(
        (
            Row(
                "combinations of sample functions agree better with the centered functions of the "
                "sample than the population's functions do",
                True,
                bool((combined > population).all()),
                remark=f"Median correlations with the sample's functions 1 to 5: "
                f"{_each(combined)} for combinations, {_each(population)} for the population.",
            ),
        ),
        note=f"{seeds} samples of {_N} points. Combinations of the first six uncentered functions "
        "of the sample (the fifth centered function is the sixth uncentered one) with the corrected"
        " coefficients of the population.",
    )


def _combined(plain: GaussianOperator, seed: int, X: Array) -> Array:
    """Combinations of the sample's uncentered functions with the population's coefficients."""
    functions = _fit(ONE, seed, center=False, count=6).spectrum_.eigenfunctions(X)
    functions = functions * _signs(functions, plain.eigenfunctions(X)[:, :6])
    functions = functions - functions.mean(axis=0)
    values = functions @ _combinations(plain, 5)[:6]
    return np.asarray(values / np.sqrt((values**2).mean(axis=0)))


def _correlations(A: Array, B: Array) -> Array:
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)])


def _each(values: Array) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _listed(values: Array) -> str:
    return ", ".join(f"{value:+.1f}" for value in values)


TABLES = {
    "Number of groups (2.3.2)": _groups,
    "Gaussian kernel, w = 1.5, under N(2, 1) (4.3.2)": _normal,
    "Gaussian kernel, w = 1.5, under 0.6 N(2, 1) + 0.4 N(-2, 1) (4.3.3)": _mixture,
    "Samples compared with the population (4.3)": _samples,
    "Combinations of sample functions (4.3.2, third row of Figure 4.6)": _shapes,
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
        "(top; rows 1 and 5 of the thesis) and centered (middle; rows 2 and 4); combinations of the"
        " sample's uncentered functions, with corrected coefficients, and the centered population "
        "(bottom; row 3).",
        _both_rows(ONE, 5, combined=True),
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
        "functions belong to one part each; centered, the first separates the parts. The third "
        "row of the thesis has the functions of a wrong matrix; lines are the correct ones.",
        _both_rows(TWO, 4),
    )


def _both_rows(measure: Measure, count: int, *, combined: bool = False) -> Any:
    rows = 3 if combined else 2
    figure, axes = panels(rows, count, (2.4 * count, 2.3 * rows), sharex=True)
    X = np.sort(measure.sample(_N, random_state=0), axis=0)
    line = np.linspace(X.min(), X.max(), 300)[:, None]
    for row, center in zip(axes, (False, True), strict=False):
        operator = _operator(measure, count, center=center)
        spectrum = _fit(measure, 0, center=center, count=count).spectrum_
        found = spectrum.eigenfunctions(X)
        _draw_row(row, operator, line, X, found)
        for i, ax in enumerate(row):
            ax.set_title(
                f"{i + 1}: {operator.eigenvalues[i]:.3g} ({spectrum.operator_eigenvalues[i]:.3g})",
                fontsize="small",
            )
        row[0].set_ylabel("centered" if center else "uncentered")
    if combined:
        _draw_row(axes[2], operator, line, X, _combined(_operator(ONE), 0, X))
        axes[2, 0].set_ylabel("combined")
    return figure


def _draw_row(row: Any, operator: GaussianOperator, line: Array, X: Array, found: Array) -> None:
    """Functions of the population as lines, and values at the sample's points as dots."""
    truth = operator.eigenfunctions(line)
    found = found * _signs(found, operator.eigenfunctions(X))
    for i, ax in enumerate(row):
        ax.axhline(0, color=GRAY, linewidth=0.6)
        ax.plot(line[:, 0], truth[:, i], color=PALETTE[1], linewidth=1.2)
        ax.plot(X[::8, 0], found[::8, i], ".", color=PALETTE[0], markersize=2.5)


def _signs(found: Array, truth: Array) -> Array:
    return np.where((found * truth).sum(axis=0) < 0, -1.0, 1.0)
