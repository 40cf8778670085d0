"""Clustering example 4, Table 1 and Fig. 14: Iris, Wine and Pen at 80 bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from mercer import EntropyClustering, KernelECA
from mercer.baselines import kernel_pca_clustering, njw_clustering
from mercer.datasets import load_pendigits
from mercer.diagnostics import clustering_error
from mercer.kernels import Gaussian
from mercer.plots import BandwidthDisplay
from papers.comparison import AcceptedRange, AtMost, Picture, Row, Same, Table, Within, show
from papers.figures import new_figure, scatter_3d
from papers.jenssen_2010.sweeps import components_of, without_warnings
from papers.types import Array

__all__ = ["DATA", "figures", "tables"]

_BANDWIDTHS = 80


def _pen() -> tuple[Array, Array]:
    """Digits 0, 1 and 2 of the test file: 1091 rows."""
    X, y = load_pendigits(subset="test", return_X_y=True)
    return X[y <= 2], y[y <= 2]


_LOADERS: dict[str, Callable[[], tuple[Array, Array]]] = {
    "Iris": lambda: load_iris(return_X_y=True),
    "Wine": lambda: load_wine(return_X_y=True),
    "Pen": _pen,
}
DATA = tuple(_LOADERS)


@cache
def load(name: str) -> tuple[Array, Array]:
    """Standardized rows of a data set, and their classes."""
    X, y = _LOADERS[name]()
    return scale(X), y


@dataclass(frozen=True)
class _Printed:
    """Published values of a line of Table 1, and accepted ranges."""

    error: str
    sigma: float
    components: frozenset[int]
    lowest: AcceptedRange
    label_free: AcceptedRange
    njw: str
    njw_range: AcceptedRange
    njw_up_to: float
    pca: str
    pca_sigma: float


_TABLE_1 = {
    "Iris": _Printed(
        "10.7", 0.36, frozenset({1, 3, 4}), AtMost(11.4), AtMost(20.0),
        "31.3", Within(30.8, 31.8), np.inf, "38.7", 0.46,
    ),
    "Wine": _Printed(
        "5.1", 0.91, frozenset({1, 3, 4}), Within(4.5, 5.7), AtMost(10.0),
        "38.2", Within(37.7, 38.7), 0.83, "32.6", 0.99,
    ),
    "Pen": _Printed(
        "16.2", 0.98, frozenset({1, 2, 6}), Within(15.9, 16.6), AtMost(20.0),
        "27.4", Within(26.9, 27.9), np.inf, "27.2", 1.11,
    ),
}  # fmt: skip


@cache
def _fitted(name: str) -> EntropyClustering:
    with without_warnings():
        return EntropyClustering(3, bandwidths=_BANDWIDTHS).fit(load(name)[0])


@cache
def _errors(name: str) -> Array:
    """Errors along the sweep, in percent."""
    y = load(name)[1]
    return np.array([100 * clustering_error(y, r.labels) for r in _fitted(name).path_])


def _at(name: str, sigma: Any, method: Any = "eca") -> float:
    """Error of one method at one bandwidth, in percent."""
    X, y = load(name)
    kernel = Gaussian(sigma)
    with without_warnings():
        if method == "eca":
            labels = EntropyClustering(3, kernel=kernel).fit(X).labels_
        elif method == "njw":
            labels = njw_clustering(X, 3, kernel=kernel)
        else:
            labels = kernel_pca_clustering(X, 3, kernel=kernel, metric=method)
    return 100 * clustering_error(y, labels)


def _sigma(fitted: EntropyClustering) -> float:
    kernel: Any = fitted.kernel_
    return float(kernel.bandwidth)


@dataclass(frozen=True)
class _Measured:
    """Recomputed values of a line of Table 1; errors in percent."""

    errors: Array
    sigma: float
    components: frozenset[int]
    at_printed: float
    njw: float
    njw_beyond: float
    pca: float

    @property
    def lowest(self) -> float:
        """Lowest error on the grid."""
        return float(self.errors.min())


@cache
def _measured(name: str, every: int) -> _Measured:
    printed, path, errors = _TABLE_1[name], _fitted(name).path_, _errors(name)
    best = path[int(errors.argmin())]
    bandwidths = np.array([record.bandwidth for record in path[::every]])
    njw = np.array([_at(name, sigma, "njw") for sigma in bandwidths])
    usual = bandwidths <= printed.njw_up_to
    return _Measured(
        errors=errors,
        sigma=float(best["bandwidth"]),
        components=components_of(best.components),
        at_printed=_at(name, printed.sigma),
        njw=float(np.median(njw[usual])),
        njw_beyond=float(np.median(njw[~usual])) if not usual.all() else np.nan,
        pca=_at(name, printed.pca_sigma, "euclidean"),
    )


def tables(quick: bool) -> Iterator[Table]:
    """Table 1, the rule without labels, and larger bandwidths."""
    every = 16 if quick else 4
    yield Table(
        "Table 1: clustering of three UCI data sets with three clusters",
        tuple(row for name in DATA for row in _rows(name, every)),
        layout=_as_printed(every),
        note="80 bandwidths from 10 to 20 % of the median distance, columns standardized; NJW at "
        f"every {every}th of them. The kernel ECA values of the paper are the lowest errors on the "
        "grid, so they were selected with the labels.",
    )
    yield _label_free()
    yield _larger()


def _rows(name: str, every: int) -> Iterator[Row]:
    printed, ours = _TABLE_1[name], _measured(name, every)
    spread = float(ours.errors.std())
    yield Row(f"{name}: lowest error on the grid", printed.error, ours.lowest, printed.lowest, " %")
    yield Row(
        f"{name}: components there",
        show(printed.components),
        ours.components,
        Same(printed.components),
    )
    if name != "Iris":  # 11.3 % at 0.36, 10.7 % at 0.365: only the minimum is judged
        yield Row(
            f"{name}: error at σ = {printed.sigma}",
            printed.error,
            ours.at_printed,
            printed.lowest,
            " %",
        )
    yield Row(
        f"{name}: error over the grid, mean",
        "",
        float(ours.errors.mean()),
        unit=" %",
        spread=spread,
        remark=f"From {ours.lowest:.1f} to {ours.errors.max():.1f} %.",
    )
    limited = np.isfinite(printed.njw_up_to)
    yield Row(
        f"{name}: NJW, median over the grid" + (f" up to {printed.njw_up_to}" if limited else ""),
        printed.njw,
        ours.njw,
        printed.njw_range,
        " %",
        remark=f"{ours.njw_beyond:.1f} % above. The value that the paper gives for all bandwidths "
        "is probably due to a poor initialization of k-means."
        if limited
        else "",
    )
    yield Row(
        f"{name}: kernel PCA with C-means at σ = {printed.pca_sigma}",
        printed.pca,
        ours.pca,
        unit=" %",
        remark="Depends on the initialization of C-means; no accepted range.",
    )


def _as_printed(every: int) -> str:
    """Return Table 1 in the layout of the paper, with its numbers and ours."""
    lines = [
        f"{'errors, %':<9}{'KECA':>14}{'σ':>15}{'components':>24}{'NJW':>16}{'KPCA/C-means':>18}"
    ]
    for name in DATA:
        printed, ours = _TABLE_1[name], _measured(name, every)
        selected = ",".join(map(str, sorted(printed.components)))
        mine = ",".join(map(str, sorted(ours.components)))
        lines.append(
            f"{name:<9}{f'{printed.error} | {ours.lowest:.1f}':>14}"
            f"{f'{printed.sigma} | {ours.sigma:.3f}':>15}{f'{selected} | {mine}':>24}"
            f"{f'{printed.njw} | {ours.njw:.1f}':>16}{f'{printed.pca} | {ours.pca:.1f}':>18}"
        )
    return "\n".join([*lines, "(paper | here)"])


def _label_free() -> Table:
    rows = []
    for name in DATA:
        fitted, errors = _fitted(name), _errors(name)
        y, printed = load(name)[1], _TABLE_1[name]
        rows.append(
            Row(
                f"{name}: EntropyClustering(bandwidths=80)",
                printed.error,
                100 * clustering_error(y, fitted.labels_),
                printed.label_free,
                " %",
                remark=f"Chose σ = {_sigma(fitted):.3f}.",
            )
        )
        for what, costs in (
            ("full kernel space", [r.cost for r in fitted.path_]),
            ("kernel ECA space", [r.eca_cost for r in fitted.path_]),
        ):
            rows.append(
                Row(
                    f"{name}: minimum of (28), means in {what}",
                    printed.error,
                    float(errors[int(np.argmin(costs))]),
                    unit=" %",
                )
            )
    return Table(
        "Table 1 without labels: selection of the bandwidth",
        tuple(rows),
        note="Does not reproduce: according to the paper, the minimum of the Cauchy-Schwarz cost "
        "(28) selects its rows; neither interpretation of that rule does. EntropyClustering "
        "selects the bandwidth with the lowest cost among the stable ones.",
    )


def _larger() -> Table:
    cases = (
        ("Wine", 2.0, "eca", "kernel ECA", "2.8"),
        ("Wine", 2.0, "njw", "NJW", "2.2"),
        ("Iris", 1.0, "eca", "kernel ECA", "24.7"),
        ("Iris", 1.0, "angular", "kernel PCA, angular", "15.3"),
        ("Iris", 1.0, "njw", "NJW", "16.0"),
        ("Pen", 0.98, "angular", "kernel PCA, angular", "16.5"),
    )
    rows = tuple(
        Row(
            f"{name}, σ = {sigma}: {what}",
            f"(recomputed: {known})",
            _at(name, sigma, method),
            unit=" %",
        )
        for name, sigma, method, what, known in cases
    )
    return Table(
        "Larger bandwidths, and kernel PCA with the same angles",
        rows,
        note="Kernel ECA is better at small bandwidths only. On Pen at σ = 0.98 the gain comes "
        "from clustering by angle, not from the selection of components. According to the paper, "
        "the other methods are much better at larger σ. Numbers in parentheses are from an "
        "independent recomputation.",
    )


def figures(quick: bool) -> Iterator[Picture]:
    """Fig. 14, and the sweeps of Table 1."""
    figure = new_figure(13, 4.6)
    for position, name in enumerate(DATA, start=1):
        X, y = load(name)
        best = _fitted(name).path_[int(_errors(name).argmin())]
        with without_warnings():
            eca = KernelECA(3, kernel=Gaussian(float(best["bandwidth"]))).fit(X)
        ax = figure.add_subplot(1, 3, position, projection="3d")
        scatter_3d(ax, eca.transform(X), y, best["components"])
        ax.view_init(elev=22, azim=40)
        ax.set_title(f"({'abc'[position - 1]}) {name}, σ = {best.bandwidth:.3f}")
        ax.legend(title="class", frameon=False, loc="upper left", fontsize=8)
    yield Picture(
        "fig14",
        "Fig. 14. Kernel ECA at the bandwidth with the lowest clustering error: Iris, Wine, Pen. "
        "Symbols are the true classes.",
        figure,
    )
    figure = new_figure(13, 7)
    for part, name in zip(figure.subfigures(1, 3), DATA, strict=True):
        # Computing the ranks of the components takes long for Pen.
        axes = part.subplots(3 if quick else 4, 1, sharex=True)
        BandwidthDisplay.from_estimator(
            _fitted(name), y=load(name)[1], components=not quick, axes=axes
        )
        part.suptitle(name, fontweight="bold")
    yield Picture(
        "table01-sweeps",
        "Sweeps of Table 1 (not in the paper): cost (28), stability, error and selected components "
        "over the 80 bandwidths. Dashed line: the bandwidth selected without labels.",
        figure,
    )
