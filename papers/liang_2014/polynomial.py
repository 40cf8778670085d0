"""Chapter 3: polynomial operators, uncentered; the effect of the degree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from mercer import KernelPCA
from mercer.kernels import Polynomial
from mercer.plots import EigenfunctionDisplay
from mercer.population import Mixture, Normal, PolynomialOperator, Uniform
from papers.comparison import Correction, Picture, Row, Table
from papers.figures import GRAY, PALETTE, panels, scatter
from papers.types import Array

__all__ = ["CLOUDS", "TABLES", "TESTS", "auc", "draw_degrees", "figures", "separation"]

SQUARE = Uniform([0, 0], [1, 1])
CLOUDS = Mixture([0.5, 0.5], [Normal([-3, 1]), Normal([2, -1])])
_N = 400
#: Module of the tests that confirm corrections.
TESTS = "tests/papers/test_liang_2014.py::"


#: Printed numerators of the eigenfunctions, by example.
_NUMERATORS = (
    (
        "uniform, degree 2",
        PolynomialOperator(2, SQUARE),
        (".542 .908 .542", ".707 0 -.707", ".454 -1.084 .454"),
    ),
    (
        "clouds, degree 2",
        PolynomialOperator(2, CLOUDS),
        (".886 -.597 .191", "-.459 -1.050 .487", ".064 .735 .852"),
    ),
    (
        "clouds, degree 3",
        PolynomialOperator(3, CLOUDS),
        (
            ".848 -.791 .437 -.097",
            "-.518 -1.073 .862 -.317",
            "-.112 -1.079 -.929 .559",
            "-.026 .245 1.097 .761",
        ),
    ),
    (
        "clouds, (1 + x'y)²",
        PolynomialOperator(2, CLOUDS, constant=1, n_components=3),
        (
            ".873 -.583 -.231 .185 .061 .075",
            ".328 .956 -.640 -.459 .197 -.030",
            "-.347 -.463 -1.100 .153 .532 -.050",
        ),
    ),
)


def _spectra(quick: bool) -> Table:
    """Spectra and functions of the two distributions."""
    rows = [
        _spectrum(PolynomialOperator(2, SQUARE), "uniform, degree 2", ".5206 .0889 .0127"),
        _spectrum(PolynomialOperator(2, CLOUDS), "clouds, degree 2", "110.593 17.415 2.492"),
        _spectrum(
            PolynomialOperator(3, CLOUDS), "clouds, degree 3", "1862.615 343.748 59.266 9.870"
        ),
        _spectrum(
            PolynomialOperator(2, CLOUDS, constant=1, n_components=3),
            "clouds, (1 + x'y)², the first three of six",
            "114.101 18.857 12.821",
        ),
    ]
    for name, operator, functions in _NUMERATORS:
        for i, (printed, found) in enumerate(zip(functions, operator.numerators, strict=True), 1):
            rows.append(_function(f"{name}: function {i}", printed, found))
    covariance = CLOUDS.moment((1, 1)) - CLOUDS.moment((1, 0)) * CLOUDS.moment((0, 1))
    rows.append(
        Row(
            'covariance of the clouds\' coordinates ("independent")',
            "0.0",
            float(covariance),
            correction=Correction(
                "-2.5", TESTS + "test_variables_of_the_mixture_are_not_independent"
            ),
            remark="They are independent only within each cloud.",
        )
    )
    return Table(
        tuple(rows),
        note="Uniform distribution on the square; clouds: .5 N((-3, 1), I) + .5 N((2, -1), I). "
        "Functions are numerators in the scaling of the thesis, up to sign. Its header M_3^2 "
        "should be M_2^3.",
    )


def _spectrum(operator: PolynomialOperator, item: str, printed: str) -> Row:
    return Row(f"{item}: eigenvalues", printed, tuple(map(float, operator.eigenvalues)))


def _function(item: str, printed: str, found: Array) -> Row:
    expected = np.array([float(number) for number in printed.split()])
    found = found * (np.sign(found @ expected) or 1)
    correction = None
    if ".791" in printed:  # rounded incorrectly
        correction = Correction(
            printed.replace(".791", ".790"), TESTS + "test_cubic_numerators_by_quadrature"
        )
    return Row(item, printed, tuple(map(float, found)), correction=correction)


def _samples(quick: bool) -> Table:
    seeds = 5 if quick else 40
    rows = []
    for name, operator, printed in (
        ("uniform, degree 2", PolynomialOperator(2, SQUARE), ".5409 .0944 .0139"),
        ("clouds, degree 2", PolynomialOperator(2, CLOUDS), "110.558 17.276 2.278"),
        ("clouds, degree 3", PolynomialOperator(3, CLOUDS), "1892.775 346.190 58.954 8.365"),
    ):
        errors = operator.standard_errors(_N)
        found = np.array(
            [_fit(operator, seed).spectrum_.operator_eigenvalues for seed in range(seeds)]
        )
        z = (found.mean(axis=0) - operator.eigenvalues) / (errors / seeds**0.5)
        rows.append(
            Row(
                f"{name}: eigenvalues of samples, mean",
                printed,
                tuple(map(float, found.mean(axis=0))),
                sampling_error=tuple(map(float, errors)),
                our_error=tuple(map(float, errors / seeds**0.5)),
                remark="The means differ from the population's eigenvalues by "
                f"{', '.join(f'{v:+.1f}' for v in z)} of their standard errors.",
            )
        )
    note = (
        f"Eigenvalues of K/n, n = {_N}, {seeds} samples. The standard deviation of a printed value "
        "is λ √((E φ⁴ - 1)/n)."
    )
    return Table(tuple(rows), note)


def _parity(quick: bool) -> Table:
    X, y = _clouds(_N)
    found = {degree: separation(X, y, degree) for degree in range(1, 6)}
    odd, even = [found[d] for d in (1, 3, 5)], [found[d] for d in (2, 4)]
    return Table(
        (
            Row(
                "clouds: odd degrees separate (AUC above .95), each better than even degrees",
                True,
                bool(min(odd) > 0.95 and min(odd) > max(even)),
                remark="Largest AUC of φ₁ and φ₂ at degrees 1 to 5: "
                + ", ".join(f"{auc:.3f}" for auc in found.values())
                + ".",
            ),
        ),
        note=f"{_N} points, uncentered kernel PCA. AUC: probability that a component orders two "
        "points of different classes correctly.",
    )


def separation(X: Array, y: Array, degree: int) -> float:
    """Largest AUC of the first two uncentered components."""
    pca = KernelPCA(2, kernel=Polynomial(degree), center=False, solver="dense").fit(X)
    return max(auc(y, component) for component in pca.spectrum_.eigenfunctions(X).T)


def auc(y: Array, values: Array) -> float:
    """Area under the ROC curve of a component whose sign is arbitrary."""
    area = roc_auc_score(y == y.max(), values)
    return float(max(area, 1 - area))


TABLES = {
    "Uncentered polynomial kernels (3.2)": _spectra,
    "Samples compared with the population (3.2)": _samples,
    "Effect of the degree (3.2.3, Figure 3.4)": _parity,
}


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
