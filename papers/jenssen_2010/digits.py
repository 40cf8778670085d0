"""Example 3, Fig. 10: USPS digits 6 and 9 over a range of bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer import KernelECA, KernelPCA
from mercer.datasets import load_usps
from mercer.kernels import Gaussian
from papers.comparison import AtMost, Picture, Row, Same, Table
from papers.figures import new_figure, scatter
from papers.jenssen_2010.sweeps import Sweep, sweep, tenths, without_warnings
from papers.types import Array

__all__ = ["figures", "tables"]

_RANGE = tenths(2.5, 3.9)
# the second selected component by bandwidth; the first one is always selected
_SECOND = {2.8: 4, 2.9: 4} | {b / 10: 3 for b in range(30, 37)} | {3.7: 2, 3.8: 2, 3.9: 2}


@cache
def _digits() -> tuple[Array, Array]:
    """The 347 sixes and nines of the test file."""
    X, y = load_usps(subset="test", return_X_y=True)
    chosen = np.isin(y, [6, 9])
    return X[chosen], y[chosen]


@cache
def _sweep() -> Sweep:
    return sweep(*_digits(), _RANGE, methods=("eca", "pca"))


def tables(quick: bool) -> Iterator[Table]:
    """Components and errors at every bandwidth."""
    found = _sweep()
    right = sum(found.components_at(b) == {1, second} for b, second in _SECOND.items())
    others = [b for b in _RANGE if not np.isclose(b, 3.7)]
    below = found.between(2.5, 3.6, "pca")
    rows = (
        Row("first σ with components {1, 2}", "3.7", found.first_with({1, 2}), Same(3.7)),
        Row("component sets as recomputed, σ = 2.8 to 3.9", "", right, Same(12), " of 12"),
        Row("components at σ = 2.5", "", found.components_at(2.5), Same({1, 9})),
        Row(
            "largest error, σ = 3.7 excluded",
            "",
            max(found.at(b) for b in others),
            AtMost(2.0),
            " %",
        ),
        Row(
            "error at σ = 3.7",
            "exception",
            found.at(3.7),
            unit=" %",
            remark="According to the paper, only this bandwidth gives no angular structure.",
        ),
        Row(
            "kernel PCA, angular, σ = 2.5 to 3.6",
            "collapsed",
            f"{below.min():.1f} to {below.max():.1f} %",
        ),
    )
    yield Table("Example 3: USPS 6 and 9, 347 test digits (Fig. 10)", rows)


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 10."""
    X, y = _digits()
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
