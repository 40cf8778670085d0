"""Components: kernel ECA and kernel PCA, and the entropy of each component."""

from __future__ import annotations

from mercer.report.analysis import Analysis
from mercer.report.figures import eca_figure, pca_figure, spectrum_figure
from mercer.report.sections.html import Figure, HtmlTable, Section
from mercer.utils.formatting import format_number, format_percent

__all__ = ["components_section", "embeddings_section"]


def embeddings_section(analysis: Analysis) -> Section:
    """Scatter plots of the first two components."""
    k = analysis.eca.n_components_
    more = f" (of {k} selected)" if k > 2 else ""
    near_origin = " Rows near the origin lie along the other components." if k > 2 else ""
    eca = (
        f"The two components with the largest entropy terms{more}. The kernel is not centered: "
        "groups differ by their direction from the origin, where the thin lines cross."
        f"{near_origin}"
    )
    pca = "The two components with the largest variance, after centering: the origin is the mean."
    if analysis.table.label is not None:
        pca += f" Colors in both figures: “{analysis.table.label}”."
    elif len(analysis.clusters.each) > 1:
        pca += " Colors in both figures: clusters."
    context = {
        "eca": Figure(eca_figure(analysis), eca),
        "pca": Figure(pca_figure(analysis), pca),
    }
    return Section("embeddings", "Kernel ECA and kernel PCA", context)


def components_section(analysis: Analysis) -> Section:
    """Eigenvalues and entropy terms."""
    found = "" if analysis.spectra.is_complete else " Only converged eigenpairs are shown."
    caption = (
        "Top: eigenvalues λ of the kernel matrix K. Bottom: fraction ψ / V that each eigenpair "
        "adds to the information potential. Filled and numbered: the components selected by "
        f"kernel ECA, by decreasing entropy term.{found}"
    )
    context = {
        "spectrum": Figure(spectrum_figure(analysis), caption, "wide"),
        "components": _table(analysis),
    }
    return Section("components", "Entropy by component", context)


def _table(analysis: Analysis) -> HtmlTable:
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
    return HtmlTable(
        "Components by decreasing entropy term",
        [*heads, "Fraction ψ\u00a0/\u00a0V", "Selected"],
        rows,
        marked_rows=[i for i, c in enumerate(components) if c.kept],
    )
