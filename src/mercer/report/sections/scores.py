"""The rows with the highest leave-one-out scores."""

from __future__ import annotations

from typing import Any

from mercer.report.analysis import Analysis
from mercer.report.results import rows_file
from mercer.report.scores import ScoredRow
from mercer.report.sections.html import HtmlTable, Section
from mercer.utils.formatting import format_number, shorten

__all__ = ["format_cell", "scores_section"]


def scores_section(analysis: Analysis) -> Section:
    """The most isolated rows, with the columns that contribute most."""
    rows = [
        [
            f"{int(analysis.table.rows[one.row]) + 1:,}",
            format_number(one.score, 3),
            _contributions(analysis, one) or "no single column",
        ]
        for one in analysis.row_scores.listed
    ]
    caption = (
        "Rows with the highest scores. Row 1 is the first below the header. In parentheses: how "
        "much the score would fall if the cell held the column’s median or most frequent label"
    )
    heads = ["Row", "Score", "Columns that contribute most"]
    context = {
        "introduction": _introduction(analysis),
        "rows": HtmlTable(caption, heads, rows, [0, 2]),
        "file": rows_file(analysis.table.n),
    }
    return Section("scores", "The most isolated rows", context)


def _introduction(analysis: Analysis) -> str:
    row_scores, table = analysis.row_scores, analysis.table
    sigma = getattr(row_scores.kernel, "bandwidth", None)
    bandwidth = "" if sigma is None else f" (σ = {format_number(float(sigma))})"
    density = (
        " For a numeric table it is minus the leave-one-out log density, up to a constant."
        if table.is_numeric
        else ""
    )
    subsample = (
        f" Rows were compared with a random subsample of {row_scores.reference:,} rows."
        if row_scores.reference < table.n
        else ""
    )
    return (
        "The leave-one-out density score of a row is −log of its mean similarity to all other rows"
        f"{bandwidth}.{density} Half of the rows have scores below "
        f"{format_number(row_scores.typical, 3)}, 1 % above {format_number(row_scores.high, 3)}. A "
        "high score does not mean that a row is wrong: every table has rows with the highest "
        "scores."
        f"{subsample}"
    )


def _contributions(analysis: Analysis, scored: ScoredRow) -> str:
    frame = analysis.table.frame
    return "; ".join(
        f"{shorten(name, 30)} = {format_cell(frame[name].iloc[scored.row])} ({contribution:.2f})"
        for name, contribution in scored.columns
    )


def format_cell(value: Any) -> str:
    """Format a cell of a table."""
    if value is None or value != value:
        return "(missing)"
    if isinstance(value, float):
        return format_number(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).replace("T00:00:00", "")
    return f"“{shorten(str(value), 40)}”"
