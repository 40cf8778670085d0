"""Clusters: how many, how large, how stable, and what distinguishes them."""

from __future__ import annotations

from mercer.cluster_count import STABLE
from mercer.formatting import format_count, format_number, format_percent, shorten
from mercer.report.analysis import Analysis
from mercer.report.figures import clusters_figure, counting_figure
from mercer.report.profiles import SMALL, Trait
from mercer.report.sections.html import Section, figure, grid, paragraph, table

__all__ = ["clusters_section", "trait_words"]

_TRAITS = 5


def clusters_section(analysis: Analysis) -> Section:
    """The section on clusters."""
    return Section(
        "clusters",
        "Clusters, and what distinguishes them",
        _sizes(analysis) + _traits(analysis) + _number(analysis),
    )


def _sizes(analysis: Analysis) -> str:
    clusters, sweep = analysis.clusters, analysis.sweep
    if len(clusters.each) == 1:
        return paragraph(
            "All rows are in one cluster, so there is nothing to distinguish. To see how the data "
            "would divide, ask for a number: --clusters 2."
        )
    rows = [
        [
            f"Cluster {c.number}",
            f"{c.size:,}",
            format_percent(c.share),
            "unknown" if c.persistence is None else f"{c.persistence:.2f}",
        ]
        for c in clusters.each
    ]
    if clusters.unassigned:
        lost = clusters.unassigned
        rows.append(["None (−1)", f"{lost:,}", format_percent(lost / analysis.table.n), "–"])
    tried = "" if sweep is None else f" over {len(sweep.widths)} bandwidths"
    words = (
        "Clusters are directions from the origin of kernel entropy component space: rows that are "
        "similar to each other point the same way, rows that have nothing in common are at right "
        f"angles. The cost is {format_number(clusters.cost)} per row, where 1 means that all clusters "
        "point the same way and small values that they point apart."
    )
    nowhere = (
        " Rows in no cluster (−1 in the table of rows) have nothing in common with any other at "
        "this bandwidth; a larger one reaches them."
        if clusters.unassigned
        else ""
    )
    caption = (
        f"Sizes, and how persistent each cluster is: mean overlap (Jaccard index) with its nearest "
        f"likeness{tried}; 1 means found everywhere, below 0.5 it dissolves.{nowhere}"
    )
    picture = (
        figure(
            clusters_figure(analysis),
            _caption(analysis),
        )
        if clusters.estimator.eca_.n_components_ > 1
        else ""
    )
    sizes = table(caption, ["Cluster", "Rows", "Share", "Persistence"], rows, texts=[0])
    return paragraph(words) + f'<div class="pair">{picture}<div>{sizes}</div></div>\n'


def _caption(analysis: Analysis) -> str:
    if analysis.table.is_numeric and len(analysis.table.columns) == 2:
        return "The rows, coloured by cluster."
    return (
        "The two first components that the clusters were found in. What looks mixed here may "
        "differ along the others."
    )


def trait_words(trait: Trait) -> str:
    """A trait in words: "proline high (median 1,065 against 673.5)"."""
    name = shorten(trait.column, 40)
    if trait.label is not None:
        what = shorten(trait.label, 40)
        verb = "with" if trait.kind == "text" else "="
        return (
            f"{name} {verb} “{what}” in {format_percent(float(trait.inside))} of its rows (overall "
            f"{format_percent(float(trait.overall))})"
        )
    way = "high" if trait.effect > 0 else "low"
    return f"{way} {name} (median {_value(trait.inside)}, overall {_value(trait.overall)})"


def _traits(analysis: Analysis) -> str:
    if not analysis.traits:
        return ""
    tables = []
    for cluster in analysis.clusters.each:
        own = [t for t in analysis.traits if t.cluster == cluster.number]
        rows = [
            [
                shorten(t.column, 40),
                _inside(t),
                _overall(t),
                f"{t.effect:+.2f}".replace("-", "−"),
            ]
            for t in own
            if abs(t.effect) >= SMALL
        ][:_TRAITS]
        name = f"Cluster {cluster.number}, {format_count(cluster.size, 'row')}"
        heads = ["Column", "In the cluster", "In all rows", "Effect"]
        tables.append(
            table(name, heads, rows, texts=[0, 1])
            if rows
            else paragraph(f"{name}: nothing stands out.")
        )
    words = (
        "For numbers: the median in the cluster and in all rows; the effect is their difference in "
        "robust standard deviations. For labels and words: the most over-represented one with its "
        "shares; the effect is Cohen’s h. About 0.2 is small, 0.8 large. The clusters were made "
        "from these columns, so this describes them and proves nothing."
    )
    return (
        "<h3>What distinguishes each cluster</h3>\n"
        + paragraph(words)
        + grid(tables, "pair")
        + paragraph(f"At most {_TRAITS} columns each; all are in clusters.csv.", "soft")
    )


def _value(value: float | str) -> str:
    if isinstance(value, str):
        return value.replace("T00:00:00", "").replace("T", " ")
    return format_number(value)


def _inside(trait: Trait) -> str:
    if trait.label is None:
        return _value(trait.inside)
    return f"“{shorten(trait.label, 40)}” {format_percent(float(trait.inside))}"


def _overall(trait: Trait) -> str:
    return _value(trait.overall) if trait.label is None else format_percent(float(trait.overall))


def _number(analysis: Analysis) -> str:
    counting = analysis.counting
    groups = format_count(counting.spectroscopy, "group")
    spectroscopy = (
        f"Data spectroscopy, which counts eigenvectors without a change of sign, sees {groups}."
    )
    if counting.stable is None:
        stable = (
            "No number of clusters from 2 to 8 is stable over bandwidths"
            if counting.stability
            else "There are too few rows to judge stability"
        )
    else:
        stable = (
            f"With {counting.stable} clusters, labels at neighbouring bandwidths agree to"
            f"  {counting.stability[counting.stable]:.2f} on average (adjusted Rand index)"
        )
    sure = {
        "agree": "Both counts agree, which is as sure as it gets without labels.",
        "stable": "The counts differ. Stability was right more often on data with known groups, "
        "so it decides; look at the other number too.",
        "spectroscopy": "So the second count decides, and one should not rely on it.",
        "asked": f"You asked for {counting.chosen}, and that is what is shown.",
    }[counting.because]
    sampled = (
        f" Stability was judged on {counting.rows:,} rows drawn at random."
        if counting.rows < analysis.table.n
        else ""
    )
    text = paragraph(f"{stable}. {spectroscopy} {sure}{sampled}")
    if counting.stability:
        caption = (
            f"Stability by number of clusters; at {STABLE} (line) and above a number counts as "
            "stable."
        )
        if counting.chosen in counting.stability:
            caption += " Filled in orange: the number in use."
        text += figure(counting_figure(analysis), caption, "wide")
    return "<h3>How sure is the number of clusters?</h3>\n" + text
