"""Example 3, Fig. 10: USPS digits 6 and 9 over a range of bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import KernelECA, KernelPCA
from mercer.kernels import Gaussian
from papers.comparison import Picture, Row, Table
from papers.data import load_usps
from papers.figures import new_figure, scatter
from papers.jenssen_2010.sweeps import Sweep, sweep, tenths, without_warnings
from papers.types import Array

__all__ = ["TABLES", "figures", "load_digits"]

_RANGE = tenths(2.5, 3.9)
# the second selected component by bandwidth; the first one is always selected
_SECOND = {2.8: 4, 2.9: 4} | {b / 10: 3 for b in range(30, 37)} | {3.7: 2, 3.8: 2, 3.9: 2}


@cache
def load_digits() -> tuple[Array, Array]:
    """The 347 sixes and nines of the test file."""
    X, y = load_usps(subset="test", return_X_y=True)
    chosen = np.isin(y, [6, 9])
    return X[chosen], y[chosen]


@cache
def _sweep() -> Sweep:
    return sweep(*load_digits(), _RANGE, methods=("eca", "pca"))


def _table(quick: bool) -> Table:
    """Components and errors at every bandwidth."""
    found = _sweep()
    right = sum(found.components_at(b) == {1, second} for b, second in _SECOND.items())
    errors = found.errors["eca"]
    others = np.delete(errors, int(errors.argmax()))
    below = found.between(2.5, 3.6, "pca")
    rows = (
        Row("first σ with components {1, 2}", "3.7", found.first_with({1, 2})),
        Row(
            "kernel ECA and kernel PCA are equivalent from there to 3.9",
            True,
            all(found.components_at(b) == {1, 2} for b in (3.7, 3.8, 3.9)),
        ),
        Row(
            "σ without angular structure (most errors of kernel ECA)",
            "3.7",
            float(found.bandwidths[errors.argmax()]),
            remark=f"{errors.max():.1f} % there, at most {others.max():.1f} % elsewhere.",
        ),
        Row(
            "kernel PCA collapses a class (10 % errors or more) at most σ below 3.7",
            True,
            bool(np.median(below) >= 10),
            remark=f"Errors with angular k-means: {below.min():.1f} to {below.max():.1f} %.",
        ),
        Row("bandwidths 2.8 to 3.9 with the known components", "12", right, recomputed=True),
        Row("components at σ = 2.5", frozenset({1, 9}), found.components_at(2.5), recomputed=True),
    )
    return Table(rows, note="347 sixes and nines of the test file.")


TABLES = {"Example 3: USPS 6 and 9 (Fig. 10)": _table}


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 10."""
    X, y = load_digits()
    models: dict[str, Callable[[Gaussian], Any]] = {
        "(a) kernel ECA": lambda kernel: KernelECA(2, kernel=kernel, solver="dense"),
        "(b) kernel PCA": lambda kernel: KernelPCA(2, kernel=kernel, center=False, solver="dense"),
        "(c) centered kernel PCA": lambda kernel: KernelPCA(2, kernel=kernel, solver="dense"),
    }
    figure = new_figure(9, 15)
    for part, (title, model) in zip(figure.subfigures(3, 1), models.items(), strict=True):
        axes = part.subplots(3, 5)
        part.suptitle(title, fontweight="bold")
        for ax, sigma in zip(axes.flat, _RANGE, strict=True):
            with without_warnings():
                Z = model(Gaussian(float(sigma))).fit_transform(X)
            scatter(ax, Z, y, size=8)
            ax.set_title(f"σ = {sigma:.1f}", fontsize=8)
            ax.set_xticks([])
            ax.set_yticks([])
    figure.legend(
        *ax.get_legend_handles_labels(), title="digit", loc="outside lower center", ncols=2
    )
    yield Picture(
        "fig10",
        "Fig. 10. USPS 6 and 9 for σ = 2.5 to 3.9 in steps of 0.1: (a) kernel ECA, (b) kernel PCA, "
        "(c) centered kernel PCA. Thin lines mark the origin.",
        figure,
    )
