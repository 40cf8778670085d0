"""Girolami (2002), "Orthogonal series density estimation and the kernel eigenvalue problem".

The paper gives few numbers and leaves several choices open. Choices made here, after a comparison
of 16 combinations: 0.1 is the standard deviation of the clusters and the variance of the kernel
(then exactly three eigenvectors are selected, as reported); the noise of 0.38 is a standard
deviation; the kernel of the annulus has standard deviation 1. The tables show the other reading of
0.1 too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer import KernelPCA, ParzenDensity, SeriesDensity
from mercer.datasets import make_annulus, make_clusters
from mercer.density.orthogonal_series import BASES
from mercer.kernels import Gaussian
from mercer.plots import DensityDisplay, EigenfunctionDisplay, SpectrumDisplay
from papers.comparison import Picture, Row, Table
from papers.figures import GRAY, PALETTE, new_panels
from papers.types import Array

__all__ = ["FIGURES", "TABLES", "TITLE", "divergences", "figures"]

TITLE = "Girolami (2002): orthogonal series density estimation and the kernel eigenvalue problem"

_ROOT = 0.1**0.5
_FIRST = 50  # the eigenvalues that the paper's figures show
_UNIFORM = 600  # points of the paper's estimate of divergences
_CENTERS = np.array([[0.0, 0.7], [0.7, -0.7], [-0.7, -0.7]])


def _identities(quick: bool) -> Table:
    X, _ = make_clusters(random_state=0)
    kernel = Gaussian(_ROOT)
    whole = KernelPCA(None, kernel=kernel, center=False, solver="dense").fit(X).spectrum_
    masses = whole.overlaps**2
    parzen = ParzenDensity(kernel=kernel).fit(X)
    every = SeriesDensity(kernel=kernel, terms=None).fit(X)
    some, n = X[:50], len(X)
    by_terms = (whole.eigenfunctions(some) * whole.eigenvalues * whole.overlaps).sum(axis=1)
    by_terms = by_terms / n**1.5 / kernel.normalizer(2)
    rows = (
        ("Σ λ_k (1'u_k)² against 1'K1", (whole.eigenvalues @ masses) / kernel(X).sum() - 1),
        ("Σ (1'u_k)² against N", masses.sum() / n - 1),
        ("all terms against Parzen, largest difference", np.abs(by_terms - parzen.pdf(some)).max()),
        (
            "SeriesDensity(terms=None) against Parzen",
            np.abs(every.pdf(some) - parzen.pdf(some)).max(),
        ),
    )
    return Table(
        tuple(Row(item, "equal", abs(float(error)), identity=True) for item, error in rows)
    )


def _selections(quick: bool) -> Table:
    seeds = 5 if quick else 20
    clean = [_series(make_clusters(random_state=s)[0], _ROOT) for s in range(seeds)]
    printed = [_series(make_clusters(spread=_ROOT, random_state=s)[0], _ROOT) for s in range(seeds)]
    noisy = [_series(make_clusters(noise=0.38, random_state=s)[0], _ROOT) for s in range(seeds)]
    annulus = [_series(make_annulus(random_state=s)[0], 1.0) for s in range(min(seeds, 10))]
    fraction = 100 * np.min([d.entropy_terms_[:3].sum() / d.spectrum_.potential for d in printed])
    return Table(
        (
            _count("clean clusters (sd .1): number selected", "3", _numbers(clean)),
            _count(
                "clean clusters with variance .1, as printed: number selected of the first 50",
                "3",
                _numbers(printed),
                "the number depends on whether 0.1 is a variance or a standard deviation",
            ),
            _count("the same: run of selected from the first", "", _runs(printed)),
            Row("the same: smallest fraction of V in the first three", "", fraction, " %"),
            _count("noisy clusters: run of selected from the first", "3", _runs(noisy)),
            _count("annulus: number selected", "8", _numbers(annulus)),
        ),
        note=f"{seeds} samples ({len(annulus)} of the annulus). Ours are means over samples; the "
        "paper has one sample. Three are selected if 0.1 is the standard deviation of the clusters "
        'and the variance of the kernel. If 0.1 is the variance of the clusters ("as printed"), '
        "more are selected, but the run is three.",
    )


def _count(item: str, printed: str, counts: list[int], reason: str = "") -> Row:
    """A number of terms: mean over samples, and its spread as the error of the printed one."""
    spread = float(np.std(counts, ddof=1))
    remark = f"From {min(counts)} to {max(counts)}."
    return Row(
        item,
        printed,
        float(np.mean(counts)),
        spread=spread,
        sampling_error=spread,
        reason=reason,
        remark=remark,
    )


def _parzen(quick: bool) -> Table:
    X, _ = make_clusters(random_state=0)
    series = _series(X, _ROOT, positive=True)
    side = np.linspace(-2.5, 2.5, 101)
    points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    cell = (side[1] - side[0]) ** 2
    distances = {
        name: float(np.abs(series.pdf(points) - parzen.pdf(points)).sum() * cell)
        for name, parzen in (
            ("variance", ParzenDensity(kernel=Gaussian(_ROOT)).fit(X)),
            ("standard deviation", ParzenDensity(kernel=Gaussian(0.1)).fit(X)),
        )
    }
    return Table(
        (
            Row(
                "Parzen estimate of width 0.1 (variance) differs from the series by less than .01",
                True,
                distances["variance"] < 0.01,
                remark=f"Integrated absolute difference {distances['variance']:.4f}.",
            ),
            Row("the same, 0.1 a standard deviation", "", distances["standard deviation"]),
        ),
        note='"A Parzen window estimator using a Gaussian kernel with a width of 0.1 gives an '
        'identical result." This supports the reading of 0.1 as a variance of the kernel.',
    )


def _comparison(quick: bool) -> Table:
    seeds = 2 if quick else 6
    rows = []
    for way, title in (("grid", "by quadrature"), ("uniform", "at 600 uniform points")):
        found = divergences(seeds=seeds, way=way)
        series, mixture = np.array(list(found.values())).mean(axis=0).T
        rows += [
            Row(
                f"mean over ten variances, {title}: {name}",
                printed,
                float(values.mean()),
                spread=float(values.std(ddof=1)),
                sampling_error=float(values.std(ddof=1)),
                reason=reason,
            )
            for name, printed, values, reason in (
                (
                    "series",
                    ".036",
                    series,
                    "unknown; .039 to .044 with .3 to .5 times the kernel's variance",
                ),
                ("mixture of three by EM", ".043", mixture, "the paper does not describe its EM"),
            )
        ]
        rows.append(
            Row(
                f"closer to the true density, {title}",
                "series",
                "series" if series.mean() < mixture.mean() else "mixture",
                reason="the true density is a mixture of three Gaussians, the model of EM",
                remark=f"The mixture is closer at {_wins(found)} of {len(found)} variances.",
            )
        )
    return Table(
        tuple(rows),
        note=f"{seeds} times ten samples of 300 points, for variances from .05 to .5. At the "
        "uniform points both densities are normalized to sum 1, and points where the series is not "
        "positive are omitted, which favors the series.",
    )


def _wins(found: dict[float, Array]) -> int:
    return sum(bool(values[:, 1].mean() < values[:, 0].mean()) for values in found.values())


def divergences(
    seeds: int = 3, variances: Array | None = None, way: str = "grid"
) -> dict[float, Array]:
    """Return the divergences of the series and of a mixture by EM, by variance.

    Each array has a row per seed and two columns. The divergences KL(true, estimate) are sums over
    a grid ("grid") or over 600 uniform points of the square of Figure 1 ("uniform"), as in the
    paper.
    """
    from sklearn.mixture import GaussianMixture

    found = {}
    grid = np.arange(0.05, 0.501, 0.05) if variances is None else variances
    for i, variance in enumerate(grid):
        pairs = []
        for seed in range(100 * i, 100 * i + seeds):  # another sample at each variance
            points, cell = _nodes(way, variance, seed)
            p = _truth(points, variance)
            X, _ = make_clusters(spread=variance**0.5, random_state=seed)
            series = SeriesDensity(kernel=Gaussian(variance**0.5), max_terms=_FIRST).fit(X)
            mixture = GaussianMixture(3, n_init=3, random_state=seed).fit(X)
            logs = series.score_samples(points), mixture.score_samples(points)
            pairs.append([_divergence(p, log_q, cell) for log_q in logs])
        found[round(float(variance), 2)] = np.array(pairs)
    return found


def _nodes(way: str, variance: float, seed: int) -> tuple[Array, float | None]:
    """Points, and the area of a cell; None if densities are normalized on the points."""
    if way == "uniform":
        return np.random.default_rng(1000 + seed).uniform(-2.5, 2.5, (_UNIFORM, 2)), None
    reach = 1 + 4 * variance**0.5
    side = np.linspace(-reach, reach, 101)
    return np.stack(np.meshgrid(side, side), -1).reshape(-1, 2), (side[1] - side[0]) ** 2


def _truth(points: Array, variance: float) -> Array:
    differences = ((points[:, None] - _CENTERS) ** 2).sum(axis=2)
    return np.asarray(np.exp(-differences / (2 * variance)).mean(axis=1) / (2 * np.pi * variance))


def _divergence(p: Array, log_q: Array, cell: float | None) -> float:
    if cell is None:  # normalize both on the points with a positive estimate
        positive = np.isfinite(log_q)
        p, log_q = p[positive], log_q[positive]
        log_q = log_q - np.log(np.exp(log_q).sum())
        p = p / p.sum()
        return float(p @ (np.log(p) - log_q))
    return float(p / p.sum() @ (np.log(p / p.sum() / cell) - log_q))


TABLES = {
    "Identities (section 3.1 and equation 4.1)": _identities,
    "Number of eigenvectors selected by the Kronmal-Tarter rule (Figures 4, 5 and 7)": _selections,
    "Figure 6: series and Parzen densities of the clean clusters": _parzen,
    "Divergence from the true density: series and mixture by EM": _comparison,
}


def figures(quick: bool, seed: int = 0) -> Iterator[Picture]:
    """Figures 1 to 9."""
    clean, _ = make_clusters(random_state=seed)
    noisy, _ = make_clusters(noise=0.38, random_state=seed)
    ring, _ = make_annulus(random_state=seed)
    densities = {
        "clean": _series(clean, _ROOT, positive=True),
        "noisy": _series(noisy, _ROOT, "kronmal-tarter-run", positive=True),
        "ring": _series(ring, 1.0, positive=True),
    }
    yield Picture(
        "fig01",
        "The clean and the noisy sample.",
        _scatters([clean, noisy], ["three clusters", "with noise of sd 0.38"]),
    )
    yield Picture(
        "fig02",
        "Eigenfunctions of the clean sample.",
        _functions(densities["clean"], clean, 16),
    )
    yield Picture(
        "fig03",
        "Features of a separate sample of one cluster above, products of Hermite functions below.",
        _hermite(seed),
    )
    yield Picture(
        "fig04",
        "Eigenvalues and entropy terms of the clean sample, the selected ones marked.",
        _spectrum(densities["clean"]),
    )
    yield Picture(
        "fig05",
        "The same for the noisy sample, selected until the first violation.",
        _spectrum(densities["noisy"]),
    )
    yield Picture(
        "fig06",
        "Series and Parzen densities.",
        _contours(
            {
                "series, clean": (densities["clean"], clean),
                "Parzen, noisy": (ParzenDensity(kernel=Gaussian(_ROOT)).fit(noisy), noisy),
                "series, noisy": (densities["noisy"], noisy),
            }
        ),
    )
    yield Picture(
        "fig07",
        "Parzen and series density of the annulus.",
        _contours(
            {
                "Parzen": (ParzenDensity(kernel=Gaussian(1.0)).fit(ring), ring),
                "series": (densities["ring"], ring),
            }
        ),
    )
    yield Picture(
        "fig08",
        "Eigenvalues and entropy terms of the annulus.",
        _spectrum(densities["ring"]),
    )
    yield Picture(
        "fig09",
        "Eigenfunctions of the annulus.",
        _functions(densities["ring"], ring, 16),
    )


FIGURES = {"Figures 1 to 9": figures}


def _series(
    X: Array, bandwidth: float, terms: str = "kronmal-tarter", positive: bool = False
) -> SeriesDensity:
    kernel = Gaussian(bandwidth)
    return SeriesDensity(kernel=kernel, terms=terms, max_terms=_FIRST, positive=positive).fit(X)


def _run(density: SeriesDensity) -> int:
    """Return the number of leading eigenvectors before the first one that is not selected."""
    selected = density.selected_
    return int((selected == np.arange(len(selected))).sum())


def _runs(densities: list[SeriesDensity]) -> list[int]:
    return [_run(density) for density in densities]


def _numbers(densities: list[SeriesDensity]) -> list[int]:
    return [len(density.selected_) for density in densities]


def _scatters(samples: list[Array], titles: list[str]) -> Any:
    axes = new_panels(len(samples), 3.0)
    for ax, X, title in zip(axes, samples, titles, strict=True):
        ax.scatter(*X.T, s=8, color=PALETTE[0], linewidths=0)
        ax.set_title(title)
        ax.set_xlim(-2.5, 2.5)
        ax.set_ylim(-2.5, 2.5)
    return axes[0].figure


def _functions(density: SeriesDensity, X: Array, count: int) -> Any:
    return EigenfunctionDisplay.from_estimator(density, X, n_functions=count).figure_


def _spectrum(density: SeriesDensity) -> Any:
    return SpectrumDisplay.from_estimator(density, n_pairs=_FIRST).figure_


def _contours(densities: dict[str, tuple[Any, Array]]) -> Any:
    axes = new_panels(len(densities), 3.2)
    for ax, (title, (density, X)) in zip(axes, densities.items(), strict=True):
        DensityDisplay.from_estimator(density, X, ax=ax, title=title)
    return axes[0].figure


def _hermite(seed: int) -> Any:
    """Draw features of one cluster (top) and products of Hermite functions (bottom).

    The bandwidth of the kernel is the standard deviation of the cluster.
    """
    cluster, _ = make_clusters((300,), centers=((0.0, 0.0),), spread=_ROOT, random_state=seed)
    features = KernelPCA(4, kernel=Gaussian(_ROOT), center=False).fit(cluster)
    axes = new_panels(8, 2.2, columns=4)
    EigenfunctionDisplay.from_estimator(features, cluster, n_functions=4, axes=axes[:4])
    side = np.linspace(-3, 3, 80)
    one = BASES["hermite"].functions(side, 3)
    for ax, (i, j) in zip(axes[4:], [(0, 0), (1, 0), (0, 1), (1, 1)], strict=True):
        ax.contour(side, side, np.outer(one[:, j], one[:, i]), 9, colors=GRAY)
        ax.set_title(f"Hermite {i}, {j}", fontsize="small")
        ax.set_xticks([])
        ax.set_yticks([])
    return axes[0].figure
