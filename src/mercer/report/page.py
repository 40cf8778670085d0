"""The HTML page of a report."""

from __future__ import annotations

from mercer.report.analysis import Analysis
from mercer.report.sections.choices import choices_section
from mercer.report.sections.clusters import clusters_section
from mercer.report.sections.components import components_section, embeddings_section
from mercer.report.sections.computation import computation_section, format_versions
from mercer.report.sections.data import data_section
from mercer.report.sections.densities import densities_section
from mercer.report.sections.html import render
from mercer.report.sections.labels import labels_section
from mercer.report.sections.overview import findings, main_numbers, warnings_section
from mercer.report.sections.scores import scores_section
from mercer.report.svg import palette_variables
from mercer.utils.formatting import format_count, shorten

__all__ = ["page"]


def page(analysis: Analysis) -> str:
    """Return the page as HTML; it needs no other file."""
    sections = (
        warnings_section(analysis),
        clusters_section(analysis),
        embeddings_section(analysis),
        labels_section(analysis),
        densities_section(analysis),
        scores_section(analysis),
        components_section(analysis),
        data_section(analysis),
        choices_section(analysis),
        computation_section(analysis),
    )
    table = analysis.table
    light, dark = palette_variables()
    return str(
        render(
            "page.html",
            name=table.name,
            short_name=shorten(table.name, 80),
            size=f"{format_count(table.n, 'row')} × {format_count(len(table.columns), 'column')}",
            findings=findings(analysis),
            main_numbers=main_numbers(analysis),
            sections=[section for section in sections if section is not None],
            palette={"light": light, "dark": dark},
            versions=format_versions(),
        )
    )
