"""Clusters: sizes, stability, profiles and the certainty of their number."""

from __future__ import annotations

from typing import Any

from mercer.cluster_count import STABLE
from mercer.formatting import format_count, format_number, format_percent, shorten
from mercer.report.analysis import Analysis
from mercer.report.figures import clusters_figure, counting_figure
from mercer.report.profiles import SMALL, Trait
from mercer.report.sections.html import Figure, HtmlTable, Section

__all__ = ["clusters_section", "describe_trait", "format_value"]

_TRAITS = 5


def clusters_section(analysis: Analysis) -> Section:
    """Sizes, profiles and number of the clusters."""
    clusters = analysis.clusters
    has_clusters = len(clusters.each) > 1
    context = {
        "sizes": _sizes(analysis) if has_clusters else None,
        "cost": format_number(clusters.cost),
        "scatter_plot": _scatter_plot(analysis) if has_clusters else None,
        "profiles": _profiles(analysis),
        "most_columns": _TRAITS,
        "counting": _counting(analysis),
        "stability": _stability(analysis),
    }
    return Section("clusters", "Clusters and their profiles", context)


def _sizes(analysis: Analysis) -> HtmlTable:
    clusters, sweep = analysis.clusters, analysis.sweep
    rows = [
        [
            f"Cluster {c.number}",
            f"{c.size:,}",
            format_percent(c.share),
            "unknown" if c.persistence is None else f"{c.persistence:.2f}",
        ]
        for c in clusters.each
    ]
    unassigned = ""
    if clusters.unassigned:
        fraction = format_percent(clusters.unassigned / analysis.table.n)
        rows.append(["None (−1)", f"{clusters.unassigned:,}", fraction, "–"])
        unassigned = (
            " Rows in no cluster (−1 in the table of rows) are not similar to any other row at "
            "this bandwidth; use a larger bandwidth to assign them."
        )
    over_sweep = "" if sweep is None else f" over {len(sweep.widths)} bandwidths"
    caption = (
        "Size and persistence of each cluster. Persistence is the mean overlap (Jaccard index) "
        f"with the best-matching cluster{over_sweep}: 1 if the cluster is found at every "
        f"bandwidth, below 0.5 if it is not stable.{unassigned}"
    )
    return HtmlTable(caption, ["Cluster", "Rows", "Fraction", "Persistence"], rows, [0])


def _scatter_plot(analysis: Analysis) -> Figure | None:
    if analysis.clusters.estimator.eca_.n_components_ < 2:
        return None
    if analysis.table.is_numeric and len(analysis.table.columns) == 2:
        caption = "The rows, colored by cluster."
    else:
        caption = (
            "The first two components of the clustering. Clusters that overlap here may differ "
            "in the other components."
        )
    return Figure(clusters_figure(analysis), caption)


def describe_trait(trait: Trait) -> str:
    """Describe a trait in a phrase: "high proline (median 1,065, overall 673.5)"."""
    name = shorten(trait.column, 40)
    if trait.label is not None:
        label = shorten(trait.label, 40)
        relation = "with" if trait.kind == "text" else "="
        return (
            f"{name} {relation} “{label}” in {format_percent(float(trait.inside))} of its rows "
            f"(overall {format_percent(float(trait.overall))})"
        )
    level = "high" if trait.effect > 0 else "low"
    inside, overall = format_value(trait.inside), format_value(trait.overall)
    return f"{level} {name} (median {inside}, overall {overall})"


def _profiles(analysis: Analysis) -> list[dict[str, Any]]:
    if not analysis.traits:
        return []
    profiles = []
    for cluster in analysis.clusters.each:
        rows = [
            [shorten(t.column, 40), _inside(t), _overall(t), f"{t.effect:+.2f}".replace("-", "−")]
            for t in analysis.traits
            if t.cluster == cluster.number and abs(t.effect) >= SMALL
        ][:_TRAITS]
        name = f"Cluster {cluster.number}, {format_count(cluster.size, 'row')}"
        heads = ["Column", "In the cluster", "In all rows", "Effect"]
        table = HtmlTable(name, heads, rows, [0, 1]) if rows else None
        profiles.append({"name": name, "table": table})
    return profiles


def format_value(value: float | str) -> str:
    """Format a number, or an ISO date without a time of 00:00:00."""
    if isinstance(value, str):
        return value.replace("T00:00:00", "").replace("T", " ")
    return format_number(value)


def _inside(trait: Trait) -> str:
    if trait.label is None:
        return format_value(trait.inside)
    return f"“{shorten(trait.label, 40)}” {format_percent(float(trait.inside))}"


def _overall(trait: Trait) -> str:
    if trait.label is None:
        return format_value(trait.overall)
    return format_percent(float(trait.overall))


def _counting(analysis: Analysis) -> str:
    counting = analysis.counting
    if counting.stable is not None:
        agreement = counting.stability[counting.stable]
        stable = (
            f"With {counting.stable} clusters, labels at neighboring bandwidths have a mean "
            f"adjusted Rand index of {agreement:.2f}."
        )
    elif counting.stability:
        stable = "No number of clusters from 2 to 8 is stable over bandwidths."
    else:
        stable = "There are too few rows to assess stability."
    spectroscopy = (
        "Data spectroscopy, which counts eigenvectors without a change of sign, finds "
        f"{format_count(counting.spectroscopy, 'group')}."
    )
    conclusion = {
        "agree": "Both methods agree.",
        "stable": "The methods differ. Stability was correct more often on data with known "
        "classes, so its number is used; consider the other number too.",
        "spectroscopy": "The number from data spectroscopy is used; it is uncertain.",
        "asked": f"You requested {counting.chosen}, which is used.",
    }[counting.because]
    subsample = (
        f" Stability was computed on a random subsample of {counting.rows:,} rows."
        if counting.rows < analysis.table.n
        else ""
    )
    return f"{stable} {spectroscopy} {conclusion}{subsample}"


def _stability(analysis: Analysis) -> Figure | None:
    counting = analysis.counting
    if not counting.stability:
        return None
    caption = f"Stability by number of clusters; {STABLE} (line) and above counts as stable."
    if counting.chosen in counting.stability:
        caption += " Orange: the number in use."
    return Figure(counting_figure(analysis), caption, "wide")
