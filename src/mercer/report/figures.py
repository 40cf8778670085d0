"""Figures of the page, with alternative texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.subsampling import random_rows
from mercer.plots import BandwidthDisplay, DensityDisplay, EmbeddingDisplay, SpectrumDisplay
from mercer.plots.style import HIGHLIGHT, MARKERS, MUTED, PALETTE
from mercer.report.analysis import Analysis
from mercer.report.densities import Contours, Curve, Frequencies
from mercer.report.labels import Prediction
from mercer.report.svg import svg
from mercer.utils.formatting import format_number, format_percent, join_words, shorten

__all__ = [
    "clusters_figure",
    "contours_figure",
    "curve_figure",
    "discriminant_figure",
    "eca_figure",
    "frequencies_figure",
    "pca_figure",
    "spectrum_figure",
    "sweep_figure",
]

# Limits the size of the page to a few hundred kilobytes.
_MAX_POINTS = 3000
_SMALL = (3.6, 2.5)


# --- components ------------------------------------------------------------------------------


def spectrum_figure(analysis: Analysis) -> str:
    """Eigenvalues (top) and entropy terms (bottom)."""
    eca, ranks = analysis.eca, analysis.spectra.ranks
    fractions = join_words([format_percent(ratio) for ratio in eca.entropy_ratio_])
    which = "" if ranks is None else f" Their eigenvalue ranks: {join_words(ranks)}."
    alt = (
        "Two charts of the eigenpairs, largest eigenvalue first. Top: eigenvalues of the kernel "
        "matrix. Bottom: fraction of the information potential in each eigenpair. Highlighted: "
        f"the {eca.n_components_} selected components, with fractions {fractions}.{which}"
    )
    return svg(
        "spectrum",
        alt,
        (5.4, 4.8),
        lambda figure: SpectrumDisplay.from_estimator(
            eca, axes=figure.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.08})
        ),
    )


def eca_figure(analysis: Analysis) -> str:
    """First two components of kernel ECA."""
    eca, ranks = analysis.eca, analysis.spectra.ranks
    names = [
        f"component {i + 1}: {'' if ranks is None else f'λ rank {ranks[i]}, '}"
        f"{format_percent(eca.entropy_ratio_[i])} of V"
        for i in (0, 1)
    ]
    return _embedding("eca", "Kernel ECA", eca.spectrum_.projections, names, analysis)


def pca_figure(analysis: Analysis) -> str:
    """First two components of kernel PCA."""
    pca = analysis.pca
    points = pca.spectrum_.projections
    ratios = [*pca.explained_variance_ratio_, 0.0]  # two different rows have only one component
    if pca.n_components_ == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    names = [f"component {i + 1}: {format_percent(ratios[i])} of variance" for i in (0, 1)]
    return _embedding("pca", "Kernel PCA", points, names, analysis)


def clusters_figure(analysis: Analysis) -> str:
    """The clusters in the plane of two columns, or of the first two kernel ECA components."""
    table = analysis.table
    if table.is_numeric and len(table.columns) == 2:
        first, second = (shorten(name, 30) for name in table.columns)
        return svg(
            "clusters",
            f"Scatter plot of {_rows_drawn(analysis)}: {second} against {first}, by cluster.",
            (4.8, 4.8),
            lambda figure: _columns_by_cluster(analysis, figure.subplots(), (first, second)),
        )
    eca = analysis.eca
    names = [f"component {i + 1}: {format_percent(eca.entropy_ratio_[i])} of V" for i in (0, 1)]
    alt = (
        f"Scatter plot of {_rows_drawn(analysis)} on the first two of the {eca.n_components_} "
        "kernel ECA components, colored by cluster."
    )
    return svg(
        "clusters",
        alt,
        (4.8, 4.8),
        lambda figure: EmbeddingDisplay(
            points=eca.spectrum_.projections[:, :2],
            labels=_cluster_names(analysis),
            axis_labels=(names[0], names[1]),
        ).plot(figure.subplots(), max_points=_MAX_POINTS),
    )


def _columns_by_cluster(analysis: Analysis, ax: Any, names: tuple[str, str]) -> None:
    EmbeddingDisplay(
        points=analysis.table.X, labels=_cluster_names(analysis), axis_labels=names
    ).plot(ax, max_points=_MAX_POINTS)
    for line in list(ax.lines):  # the origin has no meaning here, and may be far away
        line.remove()
    ax.relim()
    ax.autoscale_view()


def _embedding(
    name: str, title: str, projections: Any, axis_labels: list[str], analysis: Analysis
) -> str:
    table = analysis.table
    labels, label_name = table.labels, table.label
    if labels is None and len(analysis.clusters.each) > 1:
        labels, label_name = _cluster_names(analysis), "cluster"
    colors = "" if labels is None else f", colored by {label_name}"
    alt = f"Scatter plot of {_rows_drawn(analysis)} on the first two components of {title}{colors}."
    return svg(
        name,
        alt,
        (4.8, 4.8),
        lambda figure: EmbeddingDisplay(
            points=projections[:, :2], labels=labels, axis_labels=(axis_labels[0], axis_labels[1])
        ).plot(figure.subplots(), title=title, max_points=_MAX_POINTS),
    )


def _rows_drawn(analysis: Analysis) -> str:
    n = analysis.table.n
    return f"{n:,} rows" if n <= _MAX_POINTS else f"{_MAX_POINTS:,} of {n:,} rows"


def _cluster_names(analysis: Analysis) -> Any:
    return analysis.clusters.numbers.astype(str)


# --- bandwidth and number of clusters --------------------------------------------------------


def sweep_figure(analysis: Analysis) -> str:
    """Cost and stability over bandwidths, with marks at the bandwidths in use."""
    sweep = analysis.sweep
    assert sweep is not None
    name = "bandwidth σ" if sweep.kind == "bandwidth" else "multiplier of all bandwidths"
    low, high = sweep.widths[0], sweep.widths[-1]
    own = analysis.sigma if sweep.kind == "bandwidth" else analysis.factor
    assert own is not None
    alt = (
        f"Two charts over the {name}, from {format_number(low)} to {format_number(high)}. Top: "
        f"cost of {sweep.n_clusters} clusters per row, from {format_number(sweep.costs.min())} to "
        f"{format_number(sweep.costs.max())}. Bottom: stability of the labels, from "
        f"{format_number(sweep.stabilities.min(), 2)} to "
        f"{format_number(sweep.stabilities.max(), 2)}. Marks: {format_number(sweep.chosen)}, "
        f"chosen by the sweep, and {format_number(own)}, used for the components."
    )

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.08})
        BandwidthDisplay(
            bandwidths=sweep.widths, costs=sweep.costs, stabilities=sweep.stabilities
        ).plot(axes)
        axes[0].set_xscale("log")
        for ax in axes:
            ax.axvline(sweep.chosen, color=HIGHLIGHT, linestyle="--", linewidth=1.3)
            ax.axvline(own, color=MUTED, linestyle=":", linewidth=1.6)
        for x, text, color in ((sweep.chosen, "sweep", HIGHLIGHT), (own, "components", MUTED)):
            axes[0].annotate(
                text,
                (x, 1),
                (3, 2),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                color=color,
                fontsize=9,
                rotation=30,
            )
        axes[-1].set_xlabel(name)
        axes[-1].set_ylim(min(0.0, float(sweep.stabilities.min()) - 0.05), 1.05)
        _set_round_ticks(axes[-1], low, high)

    return svg("sweep", alt, (5.4, 4.4), draw)


def _set_round_ticks(ax: Any, low: float, high: float) -> None:
    """Set a few round ticks on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ticks = [float(f"{value:.2g}") for value in np.geomspace(low, high, 5)]
    ax.xaxis.set_major_locator(FixedLocator(sorted(set(ticks))))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())


# --- densities -------------------------------------------------------------------------------


def contours_figure(analysis: Analysis, contours: Contours) -> str:
    """Contours of the density of two columns, and at most 3,000 rows."""
    first, second = (shorten(name, 30) for name in contours.columns)
    rows = random_rows(analysis.table.n, _MAX_POINTS)
    points = analysis.table.X[rows]
    inside = np.logical_and.reduce(
        [
            (points[:, j] >= axis[0]) & (points[:, j] <= axis[-1])
            for j, axis in enumerate((contours.x, contours.y))
        ]
    )
    i, j = np.unravel_index(int(contours.density.argmax()), contours.density.shape)
    alt = (
        f"Contours of the density of {first} and {second} that enclose 10, 30, 50, 70, 90 and 99 % "
        f"of it. The peak is near {first} = {format_number(contours.x[i], 3)}, "
        f"{second} = {format_number(contours.y[j], 3)}."
    )

    def draw(figure: Any) -> None:
        display = DensityDisplay(
            axes_points=[contours.x, contours.y],
            values=contours.density,
            points=points[inside],
            labels=[first, second],
        ).plot(figure.subplots())
        # a single color, which the page can set; line widths distinguish the levels
        display.contours_.set(edgecolor=PALETTE[0], linewidth=np.linspace(0.8, 2.0, 6))

    return svg("contours", alt, (5.4, 4.4), draw)


def curve_figure(name: str, curve: Curve) -> str:
    """Density of one column, and the contributions of the clusters."""
    title = shorten(curve.column, 34)
    peak = float(curve.x[curve.density.argmax()])
    at = str(np.datetime64(round(peak), "D")) if curve.is_date else format_number(peak, 3)
    parts = f", and contributions of {len(curve.parts)} clusters" if curve.parts else ""
    alt = f"Density of {title}{parts}. The peak is near {at}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        x = (
            np.asarray(np.round(curve.x * 86400), dtype="datetime64[s]")
            if curve.is_date
            else curve.x
        )
        for i, part in enumerate(curve.parts):
            ax.fill_between(x, part, color=PALETTE[i], alpha=0.25, linewidth=0)
            ax.plot(x, part, color=PALETTE[i], linewidth=1.2, label=str(i))
        if curve.parts:
            ax.plot(x, curve.density, color=MUTED, linewidth=1.0)
        else:
            DensityDisplay(axes_points=[x], values=curve.density, labels=[""]).plot(ax)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="", ylabel="", yticks=[])
        ax.set_ylim(0)
        ax.spines["left"].set_visible(False)
        ax.tick_params(labelsize=9)
        if curve.is_date:
            _set_date_ticks(ax)

    return svg(name, alt, _SMALL, draw)


def _set_date_ticks(ax: Any) -> None:
    import matplotlib.dates

    dates: Any = matplotlib.dates
    # With minticks=3 some ranges (of 60 hours, for example) have no interval with at most 5 ticks,
    # about which Matplotlib warns.
    locator = dates.AutoDateLocator(minticks=2, maxticks=5)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def frequencies_figure(name: str, frequencies: Frequencies) -> str:
    """Bar chart of relative frequencies of labels."""
    title = shorten(frequencies.column, 34)
    listed = ", ".join(
        f"{shorten(label, 30)} {format_percent(fraction)}"
        for label, fraction in zip(frequencies.labels, frequencies.fractions, strict=True)
    )
    others = (
        f"; {frequencies.others:,} other labels are less frequent" if frequencies.others else ""
    )
    alt = f"Relative frequencies of {title}: {listed}{others}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        positions = range(len(frequencies.labels))
        ax.barh(positions, frequencies.fractions, color=PALETTE[0], height=0.7)
        names = [shorten(label, 18) for label in frequencies.labels]
        ax.set_yticks(positions, names, fontsize=9)
        ax.invert_yaxis()
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        ax.tick_params(labelsize=9)
        ax.set_title(title, fontsize=11)

    return svg(name, alt, _SMALL, draw)


# --- labels ----------------------------------------------------------------------------------


def discriminant_figure(prediction: Prediction, label: str) -> str:
    """Rows on the first two discriminant functions; a strip plot if there is only one."""
    n, functions = prediction.functions.shape
    if functions > 1:
        alt = f"Scatter plot of {n:,} rows on two discriminant functions, colored by {label}."
        return svg(
            "discriminant",
            alt,
            (4.8, 4.8),
            lambda figure: EmbeddingDisplay(
                points=prediction.functions[:, :2],
                labels=prediction.classes,
                axis_labels=("discriminant function 1", "discriminant function 2"),
            ).plot(figure.subplots(), max_points=_MAX_POINTS),
        )
    alt = f"Strip plot of the only discriminant function, with one line per class of {label}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        classes = np.unique(prediction.classes)
        jitter = np.asarray(np.random.default_rng(0).uniform(-0.3, 0.3, n))
        for i, name in enumerate(classes):
            members = prediction.classes == name
            ax.scatter(
                prediction.functions[members, 0],
                i + jitter[members],
                color=PALETTE[i % len(PALETTE)],
                marker=MARKERS[i % len(MARKERS)],
                s=14,
                alpha=0.7,
                linewidths=0,
            )
        ax.set_yticks(range(len(classes)), [shorten(str(c), 20) for c in classes])
        ax.set_xlabel("discriminant function")

    return svg("discriminant", alt, (4.8, 2.8), draw)
