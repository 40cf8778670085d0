"""The page: an analysis as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from mercer.report.analysis import Analysis
from mercer.report.sections.choices import choices_section
from mercer.report.sections.clusters import clusters_section
from mercer.report.sections.components import components_section, embeddings_section
from mercer.report.sections.computation import computation_section, made_with
from mercer.report.sections.data import data_section
from mercer.report.sections.densities import densities_section
from mercer.report.sections.html import Section
from mercer.report.sections.labels import labels_section
from mercer.report.sections.novelty import novelty_section
from mercer.report.sections.overview import head, warnings_section
from mercer.report.svg import root_colours

__all__ = ["page"]


def page(analysis: Analysis) -> str:
    """Return the whole page."""
    asked = (
        warnings_section(analysis),
        clusters_section(analysis),
        embeddings_section(analysis),
        labels_section(analysis),
        densities_section(analysis),
        novelty_section(analysis),
        components_section(analysis),
        data_section(analysis),
        choices_section(analysis),
        computation_section(analysis),
    )
    sections = [section for section in asked if section is not None]
    name = escape(analysis.table.name)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name} · mercer report</title>
<style>
{_style()}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the findings</a>
<main id="main">
{head(analysis)}{_contents(sections)}{"".join(section.html() for section in sections)}</main>
<footer><p>Made with {escape(made_with())}. All numbers of this page are in
<code>report.json</code> beside it; <code>rows</code>, <code>clusters</code>,
<code>components</code> and <code>columns</code> are tables to go on with.</p></footer>
</body>
</html>
"""


def _contents(sections: list[Section]) -> str:
    links = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    return f'<nav class="contents" aria-label="Contents"><ol>{links}</ol></nav>\n'


def _style() -> str:
    light, dark = root_colours()
    css = files("mercer.report").joinpath("style.css").read_text(encoding="utf-8")
    return Template(css).substitute(light=light, dark=dark)
