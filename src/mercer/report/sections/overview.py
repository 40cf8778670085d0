"""Findings, main numbers and warnings at the top of the page."""

from __future__ import annotations

from mercer.cluster.profiles import SMALL
from mercer.report.analysis import Analysis
from mercer.report.cautions import cautions
from mercer.report.sections.clusters import describe_trait
from mercer.report.sections.html import Section
from mercer.report.sections.labels import verdict
from mercer.report.spectra import ECA_STEP
from mercer.utils.formatting import format_number, format_percent, join_words, shorten

__all__ = ["findings", "main_numbers", "warnings_section"]


def main_numbers(analysis: Analysis) -> list[tuple[str, str, str]]:
    """Name, value and explanation of each main number."""
    eca, n = analysis.eca, analysis.table.n
    counting = analysis.counting
    if counting.requested:
        certainty = "requested"
        if not counting.is_uncertain:
            certainty += f"; suggested: {counting.suggested}"
    elif counting.is_uncertain:
        certainty = "could not tell the number"
    else:
        certainty = f"{format_percent(counting.confidence)} confidence"
    if analysis.sigma is not None:
        entropy = "nats; −log of the mean density: larger is more spread out"
        width = ("Bandwidth σ", format_number(analysis.sigma), "of the Gaussian kernel")
    else:
        entropy = "nats; −log V: larger is more spread out"
        factor = format_number(analysis.factor or 1.0)
        width = ("Bandwidth multiplier", factor, "1: the default bandwidths of the columns")
    return [
        ("Clusters", str(len(analysis.clusters.each)), certainty),
        (
            "Information potential V",
            format_number(eca.information_potential_),
            f"mean similarity of all pairs of rows; from {format_number(1 / n, 2)} (all "
            "dissimilar) to 1 (all equal)",
        ),
        ("Renyi entropy", format_number(eca.renyi_entropy_), entropy),
        (
            "Fraction of V",
            format_percent(analysis.entropy_fraction),
            f"in {eca.n_components_} components",
        ),
        width,
    ]


def findings(analysis: Analysis) -> list[str]:
    """Return the main findings as sentences."""
    found = [_clusters(analysis), _components(analysis)]
    if analysis.labels is not None:
        found.append(verdict(analysis.labels))
    listed = analysis.row_scores.listed
    if listed and listed[0].columns:
        row = int(analysis.table.rows[listed[0].row]) + 1
        found.append(
            f"The most isolated row is row {row:,}, mainly because of "
            f"{shorten(listed[0].columns[0][0])}."
        )
    return found


def _clusters(analysis: Analysis) -> str:
    counting, clusters = analysis.counting, analysis.clusters
    if len(clusters.each) == 1:
        if counting.requested:
            return "All rows are in one cluster, as requested."
        if counting.is_uncertain:
            return "Could not tell whether the rows form several clusters."
        return f"Found one cluster ({format_percent(counting.confidence)} confidence)."
    sizes = join_words([f"{c.size:,}" for c in clusters.each])
    if counting.requested:
        certainty = "You requested this number."
    elif counting.is_uncertain:
        certainty = "This number could not be determined reliably."
    else:
        certainty = f"Confidence in this number: {format_percent(counting.confidence)}."
    large = [t for t in analysis.traits if abs(t.effect) >= SMALL]
    best = max(large, key=lambda t: abs(t.effect), default=None)
    difference = (
        ""
        if best is None
        else f" The largest difference: cluster {best.cluster} has {describe_trait(best)}."
    )
    return f"Found {len(clusters.each)} clusters with {sizes} rows. {certainty}{difference}"


def _components(analysis: Analysis) -> str:
    eca, spectra, n = analysis.eca, analysis.spectra, analysis.table.n
    k, ranks = eca.n_components_, spectra.ranks
    width = (
        f"At bandwidth σ = {format_number(analysis.sigma)}"
        if analysis.sigma is not None
        else "At the default bandwidths"
        if analysis.factor == 1
        else f"At {format_number(analysis.factor or 1.0)} times the default bandwidths"
    )
    text = (
        f"{width}, {k} components out of {n:,} hold {format_percent(analysis.entropy_fraction)} "
        "of the information potential."
    )
    if ranks is not None and sorted(ranks) != list(range(1, k + 1)):
        leading = spectra.leading_fraction
        fraction = "" if leading is None else f", with {format_percent(leading)} of V"
        text += (
            f" They belong to the eigenvalues ranked {join_words(ranks)}. Uncentered kernel PCA, "
            "which selects the largest eigenvalues, would use ranks "
            f"{join_words(range(1, k + 1))}{fraction}."
        )
    elif ranks is not None:
        text += (
            f" They belong to the {k} largest eigenvalues: entropy and eigenvalue select the "
            "same components."
        )
    if any(
        one.category == "IdentifiabilityWarning" and one.step == ECA_STEP for one in analysis.raised
    ):
        text += " The data do not determine these components: see the warnings."
    return text


def warnings_section(analysis: Analysis) -> Section | None:
    """Cautions and warnings; None if there are none."""
    context = {"cautions": cautions(analysis), "warnings": analysis.raised}
    return Section("warnings", "Read this first", context) if any(context.values()) else None
