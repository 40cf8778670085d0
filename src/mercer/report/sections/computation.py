"""Methods, accuracy, times and software versions."""

from __future__ import annotations

from typing import Any

from mercer.report.analysis import Analysis
from mercer.report.numbers import versions
from mercer.report.sections.html import HtmlTable, Section
from mercer.utils.formatting import format_number

__all__ = ["computation_section", "format_versions"]


def computation_section(analysis: Analysis) -> Section:
    """Methods and times."""
    reference, n = analysis.row_scores.reference, analysis.table.n
    compared = "all other rows" if reference >= n else f"{reference:,} rows"
    items = [
        ("Kernel ECA", _describe(analysis.eca.spectrum_)),
        ("Kernel PCA", _describe(analysis.pca.spectrum_)),
        ("Clusters", _describe(analysis.clusters.estimator.spectrum_)),
        (
            "Leave-one-out scores",
            f"Each row compared with {compared}; exact up to rounding error.",
        ),
    ]
    prediction = None if analysis.labels is None else analysis.labels.prediction
    if prediction is not None:
        text = (
            f"{prediction.rank} coordinates, {prediction.folds}-fold cross-validation on "
            f"{prediction.rows:,} rows."
        )
        items.append(("Kernel LDA", text))
    raised = f"{len(analysis.raised)}, shown at the top" if analysis.raised else "none"
    items.append(("Warnings", raised))
    times = [[step, f"{seconds:.2f}"] for step, seconds in analysis.seconds.items()]
    times.append(["total", f"{sum(analysis.seconds.values()):.2f}"])
    context = {
        "items": items,
        "times": HtmlTable("Time by step", ["Step", "Seconds"], times, [0]),
    }
    return Section("computation", "Methods and computing time", context)


def _describe(spectrum: Any) -> str:
    certified = "Certified" if spectrum.certified else "Not certified"
    accuracy = (
        "exact up to rounding error"
        if spectrum.error_bound == 0
        else f"eigenvalues exact to {format_number(spectrum.error_bound)} (the largest is "
        f"{format_number(float(spectrum.eigenvalues.max()))})"
    )
    method = spectrum.method[0].upper() + spectrum.method[1:]
    return f"{method}; {accuracy}. {certified}: {spectrum.certificate}."


def format_versions() -> str:
    """Names and versions of the software."""
    return ", ".join(f"{name} {version}" for name, version in versions().items())
