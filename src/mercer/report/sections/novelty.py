"""The rows that have the least in common with all others."""

from __future__ import annotations

from typing import Any

from mercer.formatting import format_number, shorten
from mercer.report.analysis import Analysis
from mercer.report.sections.html import Section, paragraph, table

__all__ = ["novelty_section"]


def novelty_section(analysis: Analysis) -> Section:
    """The ten most novel rows, with the cells that make them so."""
    novelty, source = analysis.novelty, analysis.table
    density = (
        " For numbers this is minus the log density of all other rows, up to a constant."
        if source.is_numeric
        else ""
    )
    sampled = (
        f" Rows were compared with {novelty.reference:,} rows drawn at random."
        if novelty.reference < source.n
        else ""
    )
    window = getattr(novelty.kernel, "bandwidth", None)
    width = "" if window is None else f" at σ = {format_number(float(window))}"
    words = (
        "The score of a row is −log of its mean similarity to all other rows"
        f"{width}: high where it has little in common with any.{density} Half of the rows score "
        f"below {format_number(novelty.typical, 3)}, one in a hundred above {format_number(novelty.high, 3)}. "
        "Novel is not wrong: these are rows to look at, and some rows always come first."
        f"{sampled}"
    )
    lines = []
    for one in novelty.listed:
        cells = "; ".join(
            f"{shorten(name, 30)} = {_cell(source.frame[name].iloc[one.row])} "
            f"({gain:+.2f})".replace("+", "")
            for name, gain in one.columns
        )
        row = f"{int(source.rows[one.row]) + 1:,}"
        lines.append([row, format_number(one.score, 3), cells or "no single column"])
    caption = (
        "The most novel rows. Row 1 is the first below the header. In brackets: by how much the "
        "score would fall if that cell held the column’s median or most frequent label"
    )
    return Section(
        "novelty",
        "The most novel rows",
        paragraph(words)
        + table(caption, ["Row", "Score", "Columns that contribute most"], lines, texts=[0, 2])
        + paragraph(f"Scores of all rows are in {_file(analysis)}.", "soft"),
    )


def _file(analysis: Analysis) -> str:
    from mercer.report.results import CSV_ROWS, ROW_FILES

    return ROW_FILES[0] if analysis.table.n <= CSV_ROWS else ROW_FILES[1]


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "(missing)"
    if isinstance(value, float):
        return format_number(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).replace("T00:00:00", "")
    return f"“{shorten(str(value), 40)}”"
