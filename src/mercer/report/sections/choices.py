"""Settings of the analysis with their reasons, and the bandwidth sweep."""

from __future__ import annotations

from mercer.cluster.table_clusters import describe_kernel
from mercer.report.analysis import Analysis
from mercer.report.figures import sweep_figure
from mercer.report.sections.html import Figure, Section
from mercer.report.spectra import DENSE_ROWS, ENTROPY_FRACTION, EXACT_ROWS
from mercer.utils.formatting import format_number

__all__ = ["choices_section"]

_RULES = {
    "silverman": "Silverman's rule, from the spread of the columns and the number of rows",
    "scott": "Scott's rule, from the spread of the columns and the number of rows",
    "median-distance": "the median distance between rows",
    "distance-fraction": "15 % of the median distance between rows",
    "leave-one-out": "the leave-one-out likelihood",
    "spectroscopy": "the rule of data spectroscopy",
}


def choices_section(analysis: Analysis) -> Section:
    """Settings, and the figure of the sweep."""
    eca = analysis.eca
    method = _capitalize(eca.spectrum_.pairs.method)
    items = [
        ("Scaling", *_scaling(analysis)),
        ("Kernel", *_kernel(analysis)),
        ("Bandwidth", *_bandwidth(analysis)),
        ("Clusters", *_clusters(analysis)),
        ("Solver", method, _solver(analysis)),
        ("Components", str(eca.n_components_), _components(analysis)),
    ]
    context = {"items": items, "sweep": _sweep(analysis)}
    return Section("choices", "Settings and reasons", context)


def _scaling(analysis: Analysis) -> tuple[str, str]:
    if not analysis.table.is_numeric:
        return "By column", (
            "Each column has its own bandwidth, so the result does not depend on the units."
        )
    if analysis.model.scaled:
        return "Standardized", (
            "Each column has mean 0 and standard deviation 1, so the result does not depend on "
            "the units."
        )
    return "None", "Columns with large values dominate the distances."


def _kernel(analysis: Analysis) -> tuple[str, str]:
    if analysis.table.is_numeric:
        return "Gaussian", (
            "k(x, y) = exp(−‖x − y‖² / 2σ²). It is a density kernel, so the entropy is that of a "
            "smoothed density of the data."
        )
    return "Product over columns", (
        "Each column has a kernel for its type (see the table of columns); the similarity of two "
        "rows is the product. V and the entropy refer to this similarity, not to a density."
    )


def _bandwidth(analysis: Analysis) -> tuple[str, str]:
    rule = analysis.bandwidth
    if analysis.sigma is None:
        if isinstance(rule, str):
            return "One per column", (
                "The bandwidths are chosen such that a typical pair of rows has similarity 0.37."
            )
        factor = format_number(analysis.factor or 1.0)
        return f"One per column, multiplied by {factor}", "You requested this multiplier."
    value = f"σ = {format_number(analysis.sigma)}"
    if not isinstance(rule, str):
        return value, "You requested this bandwidth."
    if rule != "auto":
        return value, f"Chosen by the rule you requested: {_RULES.get(rule, rule)}."
    d = len(analysis.table.columns)
    if d <= 3:
        return value, f"Chosen by {_RULES['silverman']} (the default for up to 3 columns)."
    return value, (
        f"{_capitalize(_RULES['median-distance'])}, divided by √2 (the default for more than 3 "
        f"columns; here {d:,})."
    )


def _clusters(analysis: Analysis) -> tuple[str, str]:
    clusters = analysis.clusters
    value = _capitalize(describe_kernel(clusters.estimator.kernel_))
    if clusters.kernels < 2:
        return value, "The default for tables of numbers with missing values."
    return value, (
        f"Chosen without labels among {clusters.kernels} neighbor graphs and kernels: its clusters "
        "are cut from each other at the lowest cost on the graph of mutual 10 nearest neighbors."
    )


def _solver(analysis: Analysis) -> str:
    if analysis.spectra.solver == "dense":
        return f"Up to {DENSE_ROWS:,} rows all eigenpairs are computed."
    if analysis.spectra.solver == "nystrom":
        return (
            f"Above {EXACT_ROWS:,} rows (with more than three columns, or a mixed table) the "
            "Nyström method is used; its error bound is given below."
        )
    return (
        f"Above {DENSE_ROWS:,} rows only the required eigenpairs are computed; the certificate "
        "below states whether one could have been missed."
    )


def _components(analysis: Analysis) -> str:
    fraction = f"{100 * ENTROPY_FRACTION:.0f} %"
    return {
        "asked": "You requested this number.",
        "share": f"The fewest that hold {fraction} of the information potential.",
        "picture": f"One holds {fraction} of the information potential, but the figures need two.",
        "most": f"The maximum for a report; together they hold less than {fraction}.",
    }[analysis.spectra.because]


def _sweep(analysis: Analysis) -> Figure | None:
    sweep = analysis.sweep
    if sweep is None:
        return None
    subsample = (
        f" The sweep used {len(sweep.rows):,} of {analysis.table.n:,} rows."
        if len(sweep.rows) < analysis.table.n
        else ""
    )
    two = (
        " A single cluster does not depend on the bandwidth, so the sweep uses two clusters."
        if analysis.counting.chosen == 1
        else ""
    )
    caption = (
        f"Cost of {sweep.n_clusters} clusters of kernel entropy components per row (low: clusters "
        "are nearly orthogonal) and stability of the labels (1: equal at neighboring bandwidths). "
        "Orange: chosen by the sweep (lowest cost among the bandwidths with stable labels), for "
        "scores of isolated rows in mixed tables and in more than three columns. Gray: bandwidth "
        f"of the components.{two}{subsample} Low costs at the left end are not informative: at "
        "small bandwidths all rows are dissimilar."
    )
    return Figure(sweep_figure(analysis), caption, "wide")


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]
