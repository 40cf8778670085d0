"""Components: kernel ECA beside kernel PCA, and which of them carry the entropy."""

from __future__ import annotations

from mercer.formatting import format_number, format_percent
from mercer.report.analysis import Analysis
from mercer.report.figures import eca_figure, pca_figure, spectrum_figure
from mercer.report.sections.html import Section, figure, grid, paragraph, table

__all__ = ["components_section", "embeddings_section"]


def embeddings_section(analysis: Analysis) -> Section:
    """Two pictures of the rows."""
    k = analysis.eca.n_components_
    more = f" (of {k} kept)" if k > 2 else ""
    eca = (
        f"The two components with the most entropy{more}. The kernel is not centred: groups "
        "differ by their direction from the origin, where the thin lines cross."
        f"{' Rows near the origin lie along the other components.' if k > 2 else ''}"
    )
    pca = "The two components with the most variance, after centring: the origin is the mean."
    if analysis.table.label is not None:
        pca += f" In both pictures colours show “{analysis.table.label}”."
    elif len(analysis.clusters.each) > 1:
        pca += " In both pictures colours show the clusters."
    return Section(
        "embeddings",
        "What the components show",
        grid([figure(eca_figure(analysis), eca), figure(pca_figure(analysis), pca)], "pair"),
    )


def components_section(analysis: Analysis) -> Section:
    """Eigenvalues and entropy terms."""
    complete = analysis.spectra.is_complete
    found = "" if complete else " Only pairs that the search found are shown."
    caption = (
        "Above, the eigenvalues λ of the kernel matrix K; below, the share ψ / V that each pair "
        "adds to the information potential. Filled and numbered: the components kept by kernel "
        f"ECA, in the order of their entropy.{found}"
    )
    words = (
        "Every eigenpair of the kernel matrix adds a term ψ to the information potential V. Kernel "
        "ECA keeps the largest terms, which need not belong to the largest eigenvalues. Well "
        "separated groups of rows add about one component each."
    )
    body = paragraph(words) + figure(spectrum_figure(analysis), caption, "wide") + _lines(analysis)
    return Section("components", "Which components carry the entropy", body)


def _lines(analysis: Analysis) -> str:
    components = analysis.spectra.components()
    rows = [
        [
            str(c.order),
            "unknown" if c.rank is None else str(c.rank),
            format_number(c.eigenvalue),
            format_number(c.entropy_term),
            format_percent(c.share),
            "yes" if c.kept else "no",
        ]
        for c in components
    ]
    heads = ["No.", "Rank of\u00a0λ", "Eigen\u00advalue\u00a0λ", "Entropy term\u00a0ψ"]
    return table(
        "Components by entropy, largest first",
        [*heads, "Share ψ\u00a0/\u00a0V", "Kept"],
        rows,
        marked=[i for i, c in enumerate(components) if c.kept],
    )
