"""Settings of the analysis with their reasons, and the bandwidth sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer import EntropyClustering
from mercer.bandwidth import fit_kernel
from mercer.cluster.spectral_clustering import describe_kernel
from mercer.data.subsampling import random_rows, representative_rows
from mercer.errors import RankError, suppress_warnings
from mercer.kernels import Kernel
from mercer.plots import BandwidthDisplay
from mercer.plots.style import HIGHLIGHT, MUTED
from mercer.report.clusters import SWEEP_ROWS, Clusters
from mercer.report.components import DENSE_ROWS, ENTROPY_FRACTION, EXACT_ROWS, Spectra
from mercer.report.section import Figure, Section, svg
from mercer.tables import BANDWIDTH_FACTORS, Preparation
from mercer.utils.formatting import format_number
from mercer.utils.frames import rows_of
from mercer.utils.types import Array

__all__ = ["Settings", "Sweep", "sweep_widths"]

_RULES = {
    "silverman": "Silverman's rule, from the spread of the columns and the number of rows",
    "scott": "Scott's rule, from the spread of the columns and the number of rows",
    "median-distance": "the median distance between rows",
    "distance-fraction": "15 % of the median distance between rows",
    "leave-one-out": "the leave-one-out likelihood",
    "spectroscopy": "the rule of data spectroscopy",
}


@dataclass(frozen=True, eq=False)
class Sweep:
    """Entropy clusters at several bandwidths (for a mixed table, multipliers of all bandwidths).

    Costs are J of Jenssen's eq. (28) per row, ``labels`` has one line per width, and ``rows`` are
    the indices of the clustered rows. ``chosen`` is the width with the lowest cost among those with
    stable labels, and ``kernel`` has this width.
    """

    kind: Literal["bandwidth", "factor"]
    n_clusters: int
    widths: Array
    costs: Array
    stabilities: Array
    labels: Array
    rows: Array
    chosen: float
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class Settings(Section):
    """Settings in use, and the sweep that suggests a bandwidth; None if it is impossible."""

    name = "choices"
    title = "Settings and reasons"

    spectra: Spectra
    clusters: Clusters
    sweep: Sweep | None

    def to_json(self) -> dict[str, Any]:
        """Return the settings and the sweep."""
        spectra, sweep = self.spectra, self.sweep
        return {
            "choices": {
                "scaled": spectra.model.scaled,
                "kernel": "gaussian" if spectra.model.table.is_numeric else "table",
                "bandwidth_asked": spectra.bandwidth,
                "bandwidth": spectra.sigma,
                "factor": spectra.factor,
                "n_components": spectra.eca.n_components_,
                "n_components_because": spectra.because,
            },
            "sweep": None
            if sweep is None
            else {
                "kind": sweep.kind,
                "n_clusters": sweep.n_clusters,
                "widths": sweep.widths,
                "costs": sweep.costs,
                "stabilities": sweep.stabilities,
                "chosen": sweep.chosen,
                "rows": len(sweep.rows),
            },
        }

    def context(self) -> dict[str, Any]:
        """Return names, values and reasons of the settings, and the figure of the sweep."""
        eca = self.spectra.eca
        method = _capitalize(eca.spectrum_.pairs.method)
        items = [
            ("Scaling", *self._scaling()),
            ("Kernel", *self._kernel()),
            ("Bandwidth", *self._bandwidth()),
            ("Clusters", *self._clusters()),
            ("Solver", method, self._solver()),
            ("Components", str(eca.n_components_), self._components()),
        ]
        return {"items": items, "sweep": self._sweep()}

    def _scaling(self) -> tuple[str, str]:
        if not self.spectra.model.table.is_numeric:
            return "By column", (
                "Each column has its own bandwidth, so the result does not depend on the units."
            )
        if self.spectra.model.scaled:
            return "Standardized", (
                "Each column has mean 0 and standard deviation 1, so the result does not depend on "
                "the units."
            )
        return "None", "Columns with large values dominate the distances."

    def _kernel(self) -> tuple[str, str]:
        if self.spectra.model.table.is_numeric:
            return "Gaussian", (
                "k(x, y) = exp(−‖x − y‖² / 2σ²). It is a density kernel, so the entropy is that of "
                "a smoothed density of the data."
            )
        return "Product over columns", (
            "Each column has a kernel for its type (see the table of columns); the similarity of "
            "two rows is the product. V and the entropy refer to this similarity, not to a density."
        )

    def _bandwidth(self) -> tuple[str, str]:
        rule = self.spectra.bandwidth
        if self.spectra.sigma is None:
            if isinstance(rule, str):
                return "One per column", (
                    "The bandwidths are chosen such that a typical pair of rows has similarity "
                    "0.37."
                )
            factor = format_number(self.spectra.factor or 1.0)
            return f"One per column, multiplied by {factor}", "You requested this multiplier."
        value = f"σ = {format_number(self.spectra.sigma)}"
        if not isinstance(rule, str):
            return value, "You requested this bandwidth."
        if rule != "auto":
            return value, f"Chosen by the rule you requested: {_RULES.get(rule, rule)}."
        d = len(self.spectra.model.table.columns)
        if d <= 3:
            return value, f"Chosen by {_RULES['silverman']} (the default for up to 3 columns)."
        return value, (
            f"{_capitalize(_RULES['median-distance'])}, divided by √2 (the default for more than 3 "
            f"columns; here {d:,})."
        )

    def _clusters(self) -> tuple[str, str]:
        clusters = self.clusters
        value = _capitalize(describe_kernel(clusters.estimator.kernel_))
        if clusters.kernels < 2:
            return value, "The default for tables of numbers with missing values."
        return value, (
            f"Chosen without labels among {clusters.kernels} neighbor graphs: its "
            "clusters are cut from each other at the lowest cost on the graph of mutual 10 nearest "
            "neighbors."
        )

    def _solver(self) -> str:
        if self.spectra.solver == "dense":
            return f"Up to {DENSE_ROWS:,} rows all eigenpairs are computed."
        if self.spectra.solver == "nystrom":
            return (
                f"Above {EXACT_ROWS:,} rows (with more than three columns, or a mixed table) the "
                "Nyström method is used; its error bound is given below."
            )
        return (
            f"Above {DENSE_ROWS:,} rows only the required eigenpairs are computed; the certificate "
            "below states whether one could have been missed."
        )

    def _components(self) -> str:
        fraction = f"{100 * ENTROPY_FRACTION:.0f} %"
        return {
            "asked": "You requested this number.",
            "share": f"The fewest that hold {fraction} of the information potential.",
            "picture": f"One holds {fraction} of the information potential, but the figures need "
            "two.",
            "most": f"The maximum for a report; together they hold less than {fraction}.",
        }[self.spectra.because]

    def _sweep(self) -> Figure | None:
        sweep = self.sweep
        if sweep is None:
            return None
        subsample = (
            f" The sweep used {len(sweep.rows):,} of {self.spectra.model.table.n:,} rows."
            if len(sweep.rows) < self.spectra.model.table.n
            else ""
        )
        two = (
            " A single cluster does not depend on the bandwidth, so the sweep uses two clusters."
            if self.clusters.counting.chosen == 1
            else ""
        )
        caption = (
            f"Cost of {sweep.n_clusters} clusters of kernel entropy components per row (low: "
            "clusters are nearly orthogonal) and stability of the labels (1: equal at neighboring "
            "bandwidths). Orange: chosen by the sweep (lowest cost among the bandwidths with "
            "stable labels), for scores of isolated rows in mixed tables and in more than three "
            f"columns. Gray: bandwidth of the components.{two}{subsample} Low costs at the left "
            "end are not informative: at small bandwidths all rows are dissimilar."
        )
        own = self.spectra.sigma or self.spectra.factor or 1.0
        return Figure(_figure(sweep, own), caption, "wide")


def _figure(sweep: Sweep, own: float) -> str:
    """Cost and stability over bandwidths, with marks at the bandwidths in use."""
    name = "bandwidth σ" if sweep.kind == "bandwidth" else "multiplier of all bandwidths"
    low, high = sweep.widths[0], sweep.widths[-1]
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


def sweep_widths(model: Preparation, n_clusters: int) -> Sweep | None:
    """Cluster at many bandwidths, and choose one without labels.

    The model has the default bandwidths. The kernel of a mixed table has no single bandwidth: all
    its bandwidths are multiplied by a common factor. One cluster does not depend on the bandwidth,
    so two are computed instead. None if there are fewer different rows than clusters, or if the
    kernel has no bandwidth.
    """
    count = max(n_clusters, 2)
    rows, weights = _sweep_rows(model)
    clustering = _fit_bandwidths(model, count, rows_of(model.data, rows), weights)
    if clustering is None or len(clustering.path_) < 2:
        return None
    path = clustering.path_
    chosen = next(record for record in path if record.kernel == clustering.kernel_)
    total = len(rows) if weights is None else weights.sum()
    return Sweep(
        kind="bandwidth" if model.table.is_numeric else "factor",
        n_clusters=count,
        widths=np.array([record.bandwidth for record in path]),
        costs=np.array([record.cost for record in path]) / total,
        stabilities=np.array([record.stability for record in path]),
        labels=np.stack([record.labels for record in path]),
        rows=rows,
        chosen=float(chosen.bandwidth or np.nan),
        kernel=clustering.kernel_,
    )


def _sweep_rows(model: Preparation) -> tuple[Array, Array | None]:
    """Return representative rows with weights, or random rows of a mixed table."""
    data = model.data
    if model.table.is_numeric and len(data) > SWEEP_ROWS:
        return representative_rows(data, np.ones(len(data)), SWEEP_ROWS)
    return random_rows(len(data), SWEEP_ROWS), None


def _fit_bandwidths(
    model: Preparation, n_clusters: int, sample: Any, weights: Array | None
) -> EntropyClustering | None:
    """Return entropy clusters at many bandwidths, or None if the sample or kernel has too few."""
    kernel, bandwidths = model.kernel, None
    distinct = len(sample)
    if model.table.is_numeric:
        distinct = len(np.unique(sample, axis=0))
    else:
        bandwidths = BANDWIDTH_FACTORS
        if not fit_kernel(kernel, sample).has_bandwidth:
            return None
    if distinct < n_clusters:
        return None
    clustering = EntropyClustering(n_clusters, kernel=kernel, bandwidths=bandwidths)
    try:
        with suppress_warnings():
            return clustering.fit(sample, sample_weight=weights)
    except RankError:  # fewer positive eigenvalues than clusters, at every bandwidth
        return None


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]
