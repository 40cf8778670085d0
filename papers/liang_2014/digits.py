"""Handwritten digits 3 and 8, 7 and 9 (Figures 3.7 to 3.10)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.kernels import Polynomial
from mercer.population import Empirical, PolynomialOperator
from papers.comparison import Picture, Row, Table
from papers.data import load_usps
from papers.figures import PALETTE, panels, scatter
from papers.liang_2014.polynomial import auc
from papers.types import Array

__all__ = ["TABLES", "figures"]

_PAIRS = ((3, 8), (7, 9))
_EACH = 100
_DEGREES = (1, 2, 3, 4)


@cache
def _digits(pair: tuple[int, int]) -> tuple[Array, Array]:
    """100 random images of each digit; the thesis does not name its images."""
    X, y = load_usps(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == digit))[:_EACH] for digit in pair])
    return X[rows], y[rows]


@cache
def _components(pair: tuple[int, int], degree: int) -> Array:
    X, _ = _digits(pair)
    pca = KernelPCA(2, kernel=Polynomial(degree), center=False, solver="dense").fit(X)
    return pca.spectrum_.eigenfunctions(X)


def _halved(X: Array) -> Array:
    """16 × 16 images averaged to 8 × 8."""
    return X.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)


@cache
def _from_moments(pair: tuple[int, int], degree: int) -> Array:
    """Eigenfunctions from the sample moment matrix; above degree 1, of the halved images."""
    X, _ = _digits(pair)
    X = X if degree == 1 else _halved(X)
    return PolynomialOperator(degree, Empirical(X), n_components=2).eigenfunctions(X)


def _claims(quick: bool) -> Table:
    """Separation by each component, change with the degree, components from moments."""
    rows = []
    for pair in _PAIRS:
        name = f"{pair[0]} and {pair[1]}"
        areas = {
            degree: [auc(_digits(pair)[1], column) for column in _components(pair, degree).T]
            for degree in _DEGREES
        }
        listed = "; ".join(f"{first:.2f}, {second:.2f}" for first, second in areas.values())
        captured = all(second > max(0.9, first) for first, second in areas.values())
        rows.append(
            Row(
                f"{name}: φ₂ captures the difference (AUC above .9 and above that of φ₁) at all "
                "degrees",
                True if pair == (3, 8) else "",
                captured,
                remark=f"AUC of φ₁, φ₂ at degrees 1 to 4: {listed}."
                + ("" if pair == (3, 8) else " The thesis claims this for 3 and 8 only."),
            )
        )
        planes = [
            _subspace_agreement(_components(pair, 1), _components(pair, degree))
            for degree in _DEGREES[1:]
        ]
        rows.append(
            Row(
                f"{name}: little change with the degree (canonical correlations with degree 1 "
                "above .9)",
                True,
                min(planes) > 0.9,
                remark="Smallest at degrees 2 to 4: "
                + ", ".join(f"{plane:.3f}" for plane in planes)
                + ".",
            )
        )
        moments = {
            d: _subspace_agreement(_components(pair, d), _from_moments(pair, d)) for d in (1, 2)
        }
        rows += [
            Row(
                f"{name}, degree 1: components from K and from moments, 1 - smallest canonical "
                "correlation",
                "equal",
                abs(1 - moments[1]),
                identity=True,
            ),
            Row(
                f"{name}, degree 2: similar patterns from moments of 8 × 8 images (canonical "
                "correlations above .9)",
                True,
                moments[2] > 0.9,
                remark=f"Smallest: {moments[2]:.3f}.",
            ),
        ]
    note = f"First two components of {_EACH} random images of each digit."
    return Table(tuple(rows), note)


TABLES = {"Digits (3.3, Figures 3.7 to 3.10)": _claims}


def _subspace_agreement(A: Array, B: Array) -> float:
    """Smallest canonical correlation of two pairs of columns, about the origin."""
    bases = [np.linalg.qr(columns)[0] for columns in (A, B)]
    return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).min())


# --- figures ------------------------------------------------------------------------------------


def figures(quick: bool) -> Iterator[Picture]:
    """Figures 3.7 to 3.10."""
    yield _projections("3.7", (3, 8))
    yield _images((3, 8))
    yield _projections("3.9", (7, 9))
    figure, axes = panels(2, 2, (7.4, 6.6))
    for row, pair in zip(axes, _PAIRS, strict=True):
        for ax, degree in zip(row, (1, 2), strict=True):
            scatter(ax, _from_moments(pair, degree), _digits(pair)[1])
            ax.set(title=f"{pair[0]} and {pair[1]}, degree {degree}", xlabel="φ₁", ylabel="φ₂")
        row[0].legend(frameon=False)
    yield Picture(
        "fig3_10",
        "Figure 3.10. Projections by eigenfunctions from sample moment matrices; those of degree 2 "
        "are of images halved to 8 × 8 pixels.",
        figure,
    )


def _projections(number: str, pair: tuple[int, int]) -> Picture:
    figure, axes = panels(2, 2, (7.4, 6.6))
    for degree, ax in zip(_DEGREES, axes.flat, strict=True):
        scatter(ax, _components(pair, degree), _digits(pair)[1])
        ax.set(title=f"degree {degree}", xlabel="φ₁", ylabel="φ₂")
    axes[0, 0].legend(frameon=False)
    return Picture(
        f"fig{number.replace('.', '_')}",
        f"Figure {number}. Digits {pair[0]} and {pair[1]}, first two components for degrees 1 to "
        "4 (100 random images of each digit).",
        figure,
    )


def _images(pair: tuple[int, int]) -> Picture:
    X, _ = _digits(pair)
    figure, axes = panels(1, 2, (9.4, 4.9))
    for degree, ax in zip((1, 2), axes[0], strict=True):
        _draw_images(ax, X, _components(pair, degree))
        ax.set(title=f"degree {degree}", xlabel="φ₁", ylabel="φ₂")
    return Picture(
        "fig3_8",
        "Figure 3.8. Images nearest to a 5 × 5 grid between the 5 % and 95 % quantiles of the two "
        "components; positions without an image nearby are empty.",
        figure,
    )


def _draw_images(ax: Any, X: Array, Z: Array) -> None:
    low, high = np.quantile(Z, [0.05, 0.95], axis=0)
    steps = (high - low) / 4
    half = 0.46 * steps
    for i in range(5):
        for j in range(5):
            x, y = node = low + steps * [i, j]
            distances = np.abs(Z - node) / steps
            nearest = int((distances**2).sum(axis=1).argmin())
            box = (x - half[0], x + half[0], y - half[1], y + half[1])
            if distances[nearest].max() <= 0.5:
                ax.imshow(
                    X[nearest].reshape(16, 16), cmap="gray_r", extent=box, interpolation="nearest"
                )
            else:
                ax.plot(*node, ".", color=PALETTE[-1], markersize=3)
    ax.set_xlim(low[0] - steps[0] / 2, high[0] + steps[0] / 2)
    ax.set_ylim(low[1] - steps[1] / 2, high[1] + steps[1] / 2)
    ax.set_aspect("auto")
