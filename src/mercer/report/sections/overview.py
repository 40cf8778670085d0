"""The report in a few sentences and numbers."""

from __future__ import annotations

from html import escape

from mercer.formatting import format_count, format_number, format_percent, join_words, shorten
from mercer.report.analysis import Analysis
from mercer.report.cautions import cautions
from mercer.report.profiles import SMALL
from mercer.report.sections.clusters import trait_words
from mercer.report.sections.html import Section, facts, note, paragraph
from mercer.report.sections.labels import verdict

__all__ = ["findings", "head", "warnings_section"]


def head(analysis: Analysis) -> str:
    """Title, findings and the main numbers."""
    table = analysis.table
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in findings(analysis))
    return (
        f"<h1>Kernel entropy report: {escape(shorten(table.name, 80))}</h1>\n"
        + paragraph(
            f"{format_count(table.n, 'row')} × {format_count(len(table.columns), 'column')}", "soft"
        )
        + f'<ul class="lead">{said}</ul>\n'
        + facts(_facts(analysis))
    )


def _facts(analysis: Analysis) -> list[tuple[str, str, str]]:
    eca, n = analysis.eca, analysis.table.n
    counting = analysis.counting
    sure = {
        "agree": "two counts agree",
        "stable": "by stability; see how sure",
        "spectroscopy": "not sure",
        "asked": f"asked for; suggested: {counting.suggested}",
    }[counting.because]
    if analysis.sigma is not None:
        entropy = "nats; −log of the mean density: larger is more spread out"
        width = ("Bandwidth σ", format_number(analysis.sigma), "of the Gaussian kernel")
    else:
        entropy = "nats; −log V: larger is more spread out"
        width = ("Width factor", format_number(analysis.factor or 1.0), "1: the table's own widths")
    return [
        ("Clusters", str(len(analysis.clusters.each)), sure),
        (
            "Information potential V",
            format_number(eca.information_potential_),
            f"mean similarity of all pairs of rows; from {format_number(1 / n, 2)} (no two alike) to 1",
        ),
        ("Renyi entropy", format_number(eca.renyi_entropy_), entropy),
        (
            "Entropy kept",
            format_percent(analysis.share_kept),
            f"of V, by {eca.n_components_} components",
        ),
        width,
    ]


def findings(analysis: Analysis) -> list[str]:
    """What was found, in sentences."""
    said = [_clusters(analysis), _components(analysis)]
    if analysis.labels is not None:
        said.append(verdict(analysis.labels))
    listed = analysis.novelty.listed
    if listed and listed[0].columns:
        row = int(analysis.table.rows[listed[0].row]) + 1
        said.append(
            f"The most novel row is number {row:,}, mostly because of "
            f"{shorten(listed[0].columns[0][0])}."
        )
    return said


def _clusters(analysis: Analysis) -> str:
    counting, clusters = analysis.counting, analysis.clusters
    if len(clusters.each) == 1:
        return (
            "The rows form one cloud: no division into clusters was found"
            f"{'' if counting.because == 'asked' else ' that holds when the bandwidth changes'}."
        )
    sizes = join_words([f"{c.size:,}" for c in clusters.each])
    sure = {
        "agree": "Two independent counts agree on this number.",
        "stable": "This number of clusters changes least when the bandwidth does.",
        "spectroscopy": "No number of clusters is stable, so take them with care.",
        "asked": "The number was given by you.",
    }[counting.because]
    strong = [t for t in analysis.traits if abs(t.effect) >= SMALL]
    best = max(strong, key=lambda t: abs(t.effect), default=None)
    most = "" if best is None else f" Most telling: cluster {best.cluster} has {trait_words(best)}."
    return f"There are {len(clusters.each)} clusters, of {sizes} rows. {sure}{most}"


def _components(analysis: Analysis) -> str:
    eca, spectra, n = analysis.eca, analysis.spectra, analysis.table.n
    k, ranks = eca.n_components_, spectra.ranks
    width = (
        f"At bandwidth σ = {format_number(analysis.sigma)}"
        if analysis.sigma is not None
        else "With the table's own widths"
        if analysis.factor == 1
        else f"With {format_number(analysis.factor or 1.0)} times the table's own widths"
    )
    said = (
        f"{width}, {k} components out of {n:,} hold {format_percent(analysis.share_kept)} of the "
        "information potential."
    )
    leading = spectra.share_of_leading
    if ranks is not None and sorted(ranks) != list(range(1, k + 1)):
        instead = "" if leading is None else f", with {format_percent(leading)} of the potential"
        said += (
            f" They belong to the eigenvalues ranked {join_words(ranks)}. Kernel PCA without "
            f"centring, which takes the largest eigenvalues, would have kept ranks "
            f"{join_words(range(1, k + 1))}{instead}."
        )
    elif ranks is not None:
        said += f" They belong to the {k} largest eigenvalues: here entropy and size choose alike."
    if any(
        one.category == "IdentifiabilityWarning" and one.step.startswith("kernel ECA")
        for one in analysis.raised
    ):
        said += " But the data do not determine these components: see the warnings."
    return said


def warnings_section(analysis: Analysis) -> Section | None:
    """Nothing where there is nothing to warn of: the computation's section says that."""
    own = "".join(note(sentence) for sentence in cautions(analysis))
    raised = "".join(
        f'<div class="warning"><strong>{escape(one.category)}</strong> ({escape(one.step)}): '
        f"{escape(one.message)}</div>\n"
        for one in analysis.raised
    )
    return Section("warnings", "Read this first", own + raised) if own or raised else None
