"""Where the rows are."""

from __future__ import annotations

from mercer.formatting import format_count, format_number
from mercer.report.analysis import Analysis
from mercer.report.densities import CURVE_ROWS, Curve
from mercer.report.figures import contours_figure, curve_figure, shares_figure
from mercer.report.sections.html import Section, figure, grid, paragraph

__all__ = ["densities_section"]


def densities_section(analysis: Analysis) -> Section | None:
    """Contours and profiles; None where all columns are texts."""
    densities = analysis.densities
    body = ""
    if densities.contours is not None:
        outside = _outside(densities.contours.outside)
        body += figure(
            contours_figure(analysis, densities.contours),
            "Contours of the density enclose 10, 30, 50, 70, 90 and 99 % of it, from thick to "
            f"thin. Window: the kernel’s, σ = {format_number(analysis.sigma or 0.0)}"
            f"{' standard deviations' if analysis.model.scaled else ''}. Grey: rows.{outside}"
            f"{_picked(analysis)}",
            "wide",
        )
    if densities.profiles:
        body += paragraph(_words(analysis))
        drawn = []
        for i, profile in enumerate(densities.profiles):
            if isinstance(profile, Curve):
                drawing = curve_figure(f"profile{i}", profile)
                days = " days" if profile.is_date else ""
                caption = f"Window {format_number(profile.bandwidth, 3)}{days}."
                drawn.append(figure(drawing, caption + _outside(profile.outside)))
            else:
                others = f"{format_count(profile.others, 'more label')}." if profile.others else ""
                drawn.append(figure(shares_figure(f"profile{i}", profile), others))
        body += grid(drawn, "small")
    return Section("densities", "Where the rows are", body) if body else None


def _words(analysis: Analysis) -> str:
    curves = [p for p in analysis.densities.profiles if isinstance(p, Curve)]
    words = "Each column by itself, in its own units."
    if any(curve.parts for curve in curves):
        words += (
            " Coloured areas are the clusters’ parts, in the colours of the pictures of clusters; "
            "they add up to the grey line."
        )
    elif curves:
        words += " Curves are Parzen densities."
    if curves:
        words += _picked(analysis)
    if analysis.densities.columns_left:
        words += (
            f" Shown are the {len(analysis.densities.profiles)} columns that distinguish clusters "
            f"most; {format_count(analysis.densities.columns_left, 'other')} not."
        )
    return words


def _picked(analysis: Analysis) -> str:
    if analysis.table.n <= CURVE_ROWS:
        return ""
    return f" Densities are estimated from {CURVE_ROWS:,} rows, picked at random."


def _outside(count: int) -> str:
    return f" {format_count(count, 'row')} further out not shown." if count else ""
