"""Clusters: sizes, stability, profiles and the certainty of their number."""

from __future__ import annotations

from typing import Any

from mercer.cluster.profiles import SMALL, Trait
from mercer.cluster.table_clusters import describe_kernel
from mercer.report.analysis import Analysis
from mercer.report.figures import clusters_figure
from mercer.report.sections.html import Figure, HtmlTable, Section
from mercer.utils.formatting import format_count, format_number, format_percent, shorten

__all__ = ["clusters_section", "describe_trait", "format_value"]

_TRAITS = 5


def clusters_section(analysis: Analysis) -> Section:
    """Sizes, profiles and number of the clusters."""
    clusters = analysis.clusters
    has_clusters = len(clusters.each) > 1
    context = {
        "sizes": _sizes(analysis) if has_clusters else None,
        "method": _method(analysis),
        "scatter_plot": _scatter_plot(analysis) if has_clusters else None,
        "profiles": _profiles(analysis),
        "most_columns": _TRAITS,
        "counting": _counting(analysis),
    }
    return Section("clusters", "Clusters and their profiles", context)


def _sizes(analysis: Analysis) -> HtmlTable:
    clusters = analysis.clusters
    rows = [
        [
            f"Cluster {c.number}",
            f"{c.size:,}",
            format_percent(c.share),
            "unknown" if c.persistence is None else f"{c.persistence:.2f}",
        ]
        for c in clusters.each
    ]
    caption = "Size and persistence of each cluster"
    if any(c.persistence is not None for c in clusters.each):
        caption += (
            ". Persistence is the mean overlap (Jaccard index) with the best-matching cluster over "
            f"{clusters.kernels} kernels: 1 if the cluster is found with every kernel, below 0.5 "
            "if it is not stable"
        )
    return HtmlTable(caption, ["Cluster", "Rows", "Fraction", "Persistence"], rows, [0])


def _method(analysis: Analysis) -> str:
    clusters = analysis.clusters
    kernel = describe_kernel(clusters.estimator.kernel_)
    article = "A" if clusters.kernels > 1 else "The"
    among = (
        f" It was chosen without labels among {clusters.kernels} neighbor graphs and kernels."
        if clusters.kernels > 1
        else ""
    )
    cost = (
        ""
        if clusters.cost is None
        else " On the graph of mutual 10 nearest neighbors, a fraction of "
        f"{format_number(clusters.cost, 3)} of the connections of a cluster leads to other "
        "clusters, on average (0: separate clusters)."
    )
    return (
        "Rows are clustered by spectral clustering: rows that are connected through chains of "
        f"similar rows are in the same cluster. {article} {kernel} connects the rows.{among}{cost}"
    )


def _scatter_plot(analysis: Analysis) -> Figure:
    if analysis.table.is_numeric and len(analysis.table.columns) == 2:
        caption = "The rows, colored by cluster."
    else:
        caption = (
            "The first two kernel ECA components, colored by cluster. Clusters that overlap here "
            "may differ in other directions."
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
    confidence = format_percent(counting.confidence)
    meaning = (
        "The number is the number of parts into which the graph of the 10 nearest neighbors of "
        "each row divides at significant gaps. Confidence is the fraction of correct numbers among "
        "test data with equally clear gaps."
    )
    if counting.requested:
        found = f"You requested {format_count(counting.chosen, 'cluster')}."
        if counting.is_uncertain:
            return f"{found} The data do not determine the number of clusters. {meaning}"
        return (
            f"{found} The data suggest {counting.suggested}, with {confidence} confidence. "
            f"{meaning}"
        )
    if counting.is_uncertain:
        return (
            f"Could not tell the number of clusters: {counting.chosen} is the best guess, with "
            f"{confidence} confidence. {meaning}"
        )
    return (
        f"Found {format_count(counting.chosen, 'cluster')}, with {confidence} confidence. {meaning}"
    )
