"""Densities of the columns."""

from __future__ import annotations

from mercer.report.analysis import Analysis
from mercer.report.densities import CURVE_ROWS, Contours, Curve, Frequencies
from mercer.report.figures import contours_figure, curve_figure, frequencies_figure
from mercer.report.sections.html import Figure, Section
from mercer.utils.formatting import format_count, format_number

__all__ = ["densities_section"]


def densities_section(analysis: Analysis) -> Section | None:
    """Contours and profiles; None if all columns are texts."""
    densities = analysis.densities
    if densities.contours is None and not densities.profiles:
        return None
    context = {
        "contours": None if densities.contours is None else _contours(analysis, densities.contours),
        "profiles": [
            _profile(f"profile{i}", profile) for i, profile in enumerate(densities.profiles)
        ],
        "introduction": _introduction(analysis),
    }
    return Section("densities", "Densities", context)


def _contours(analysis: Analysis, contours: Contours) -> Figure:
    unit = " standard deviations" if analysis.model.scaled else ""
    caption = (
        "Contours enclose 10, 30, 50, 70, 90 and 99 % of the density, from thick to thin lines. "
        f"Bandwidth of the kernel: σ = {format_number(analysis.sigma or 0.0)}{unit}. Gray: rows."
        f"{_outside(contours.outside)}{_subsample(analysis)}"
    )
    return Figure(contours_figure(analysis, contours), caption, "wide")


def _profile(name: str, profile: Curve | Frequencies) -> Figure:
    if isinstance(profile, Curve):
        unit = " days" if profile.is_date else ""
        caption = f"Bandwidth {format_number(profile.bandwidth, 3)}{unit}."
        return Figure(curve_figure(name, profile), caption + _outside(profile.outside))
    caption = f"{format_count(profile.others, 'more label')}." if profile.others else ""
    return Figure(frequencies_figure(name, profile), caption)


def _introduction(analysis: Analysis) -> str:
    densities = analysis.densities
    curves = [profile for profile in densities.profiles if isinstance(profile, Curve)]
    text = "Each column separately, in its units."
    if any(curve.parts for curve in curves):
        text += (
            " Colored areas are the contributions of the clusters, in the colors of the cluster "
            "figures; they add up to the gray line."
        )
    elif curves:
        text += " Curves are Parzen densities."
    if curves:
        text += _subsample(analysis)
    if densities.columns_left:
        text += (
            f" Shown are the {len(densities.profiles)} columns that differ most between clusters; "
            f"{format_count(densities.columns_left, 'other column')} not shown."
        )
    return text


def _subsample(analysis: Analysis) -> str:
    if analysis.table.n <= CURVE_ROWS:
        return ""
    return f" Densities are estimated from a random subsample of {CURVE_ROWS:,} rows."


def _outside(count: int) -> str:
    return f" Not shown: {format_count(count, 'row')} outside of the range." if count else ""
