"""What was chosen, and why; the bandwidth with its sweep."""

from __future__ import annotations

from html import escape

from mercer.formatting import format_number
from mercer.report.analysis import Analysis
from mercer.report.figures import sweep_figure
from mercer.report.sections.html import Section, figure, paragraph
from mercer.report.spectra import DENSE_ROWS, EXACT_ROWS, SHARE

__all__ = ["choices_section"]

_RULES = {
    "silverman": "Silverman's rule, from the spread of the columns and the number of rows",
    "scott": "Scott's rule, from the spread of the columns and the number of rows",
    "median-distance": "the median distance between rows",
    "distance-fraction": "15 % of the median distance between rows",
    "leave-one-out": "the likelihood of left-out rows",
    "spectroscopy": "the rule of data spectroscopy",
}


def choices_section(analysis: Analysis) -> Section:
    """A list of choices with reasons, and the sweep."""
    eca = analysis.eca
    items = [
        ("Scaling", *_scaling(analysis)),
        ("Kernel", *_kernel(analysis)),
        ("Bandwidth", *_bandwidth(analysis)),
        ("Bandwidth of clusters", *_of_clusters(analysis)),
        ("Solver", _capital(eca.spectrum_.method.split(",")[0]), _solver(analysis)),
        ("Components", str(eca.n_components_), _components(analysis)),
    ]
    rows = "".join(
        f"<dt>{what}</dt><dd><strong>{escape(value)}.</strong> {escape(why)}</dd>"
        for what, value, why in items
    )
    body = f'<dl class="list">{rows}</dl>\n' + _sweep(analysis)
    return Section("choices", "What was chosen, and why", body)


def _scaling(analysis: Analysis) -> tuple[str, str]:
    if not analysis.table.is_numeric:
        return "By column", (
            "Each column has a width of its own, so that no column decides by its units."
        )
    if analysis.model.scaled:
        return "Standardised", (
            "Each column has mean 0 and standard deviation 1, so that units do not decide."
        )
    return "None", "Columns are as they came, so those with large numbers dominate the distances."


def _kernel(analysis: Analysis) -> tuple[str, str]:
    if analysis.table.is_numeric:
        return "Gaussian", (
            "It compares two rows x and y by exp(−‖x − y‖² / 2σ²), and is a density window: the "
            "entropy is that of a smoothed density of the data."
        )
    return "A product over columns", (
        "Each column is compared by a kernel for its kind (see the table of columns), and the "
        "similarity of two rows is the product. V and the entropy are those of this similarity, "
        "not of a density."
    )


def _bandwidth(analysis: Analysis) -> tuple[str, str]:
    rule = analysis.bandwidth
    if analysis.sigma is None:
        factor = analysis.factor or 1.0
        if isinstance(rule, str):
            return "Own widths", (
                "There is no single bandwidth. Widths are chosen such that all columns together "
                "give a typical pair of rows the similarity 0.37."
            )
        return f"Own widths times {format_number(factor)}", "The factor was given by you."
    value = f"σ = {format_number(analysis.sigma)}"
    if not isinstance(rule, str):
        return value, "Given by you."
    if rule != "auto":
        return value, f"Chosen by the rule you named: {_RULES.get(rule, rule)}."
    d = len(analysis.table.columns)
    if d <= 3:
        return value, f"Chosen by {_RULES['silverman']} (the default for up to 3 columns)."
    return value, (
        f"{_capital(_RULES['median-distance'])}, divided by √2 (the default for more than 3 "
        f"columns; here {d:,})."
    )


def _of_clusters(analysis: Analysis) -> tuple[str, str]:
    width = format_number(analysis.clusters.width or 0.0)
    value = f"σ = {width}" if analysis.table.is_numeric else f"Own widths times {width}"
    swept = analysis.sweep is not None and analysis.counting.chosen > 1
    if analysis.bandwidth == "auto" and swept:
        return value, (
            "The lowest cost among those at which the labels hardly change (see the sweep). "
            "Clusters need less smoothing than components."
        )
    return value, "The same as above."


def _solver(analysis: Analysis) -> str:
    n = analysis.table.n
    if n <= DENSE_ROWS:
        return (
            f"Up to {DENSE_ROWS:,} rows every eigenpair is computed, so nothing can be overlooked."
        )
    if "landmark" in analysis.eca.spectrum_.method:
        return (
            f"Above {EXACT_ROWS:,} rows of more than three numbers, or of a mixed table, some rows "
            "stand for all; the error is told below."
        )
    return (
        f"Above {DENSE_ROWS:,} rows only the eigenpairs that are needed are searched for; the "
        "certificate below says whether one could have been overlooked."
    )


def _components(analysis: Analysis) -> str:
    share = f"{SHARE:.0%}".replace("%", " %")
    return {
        "asked": "Given by you.",
        "share": f"The fewest that hold {share} of the information potential.",
        "picture": f"One would hold {share} of the information potential; a picture needs two.",
        "most": f"The most this page shows; together they hold less than {share}.",
    }[analysis.spectra.because]


def _sweep(analysis: Analysis) -> str:
    sweep = analysis.sweep
    heading = "<h3>The sweep of bandwidths</h3>\n"
    if sweep is None:
        return heading + paragraph("There are too few different rows to compare bandwidths.")
    some = (
        f" The sweep looked at {len(sweep.rows):,} of {analysis.table.n:,} rows."
        if len(sweep.rows) < analysis.table.n
        else ""
    )
    two = (
        " One cluster looks the same at any bandwidth, so the sweep is about two."
        if analysis.counting.chosen == 1
        else ""
    )
    caption = (
        f"Cost of {sweep.n_clusters} clusters per row (low: clusters point apart) and stability of "
        "the labels (1: the same at neighbouring bandwidths). Orange: what the sweep chooses, the "
        f"lowest cost among the stable ones. Grey: what the components were computed with.{two}"
        f"{some} Low costs at the left end mean little: there every row is unlike every other."
    )
    return heading + figure(sweep_figure(analysis), caption, "wide")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
