"""How it was computed: methods, accuracy, times, versions."""

from __future__ import annotations

from typing import Any

from mercer.formatting import format_number
from mercer.report.analysis import Analysis
from mercer.report.numbers import versions
from mercer.report.sections.html import Section, listing, paragraph, table

__all__ = ["computation_section", "made_with"]


def computation_section(analysis: Analysis) -> Section:
    """Methods and times."""
    novelty, n = analysis.novelty, analysis.table.n
    compared = "every other row" if novelty.reference >= n else f"{novelty.reference:,} rows"
    items = [
        ("Kernel ECA", _how(analysis.eca.spectrum_)),
        ("Kernel PCA", _how(analysis.pca.spectrum_)),
        ("Clusters", _how(analysis.clusters.estimator.spectrum_)),
        ("Novelty", f"Each row compared with {compared}; exact but for rounding."),
    ]
    labels = analysis.labels
    if labels is not None and labels.prediction is not None:
        p = labels.prediction
        items.append(
            (
                "Kernel LDA",
                f"{p.rank} coordinates, {p.folds}-fold cross-validation on {p.rows:,} rows.",
            )
        )
    raised = f"{len(analysis.raised)}, shown at the top" if analysis.raised else "none raised"
    items.append(("Warnings", raised))
    times = [[step, f"{seconds:.2f}"] for step, seconds in analysis.seconds.items()]
    times.append(["all steps", f"{sum(analysis.seconds.values()):.2f}"])
    return Section(
        "computation",
        "How it was computed",
        listing(items)
        + table("Time by step", ["Step", "Seconds"], times, texts=[0])
        + paragraph("Reading the file and drawing are not counted.", "soft"),
    )


def _how(spectrum: Any) -> str:
    proof = "Certified" if spectrum.certified else "Not certified"
    exact = (
        "exact to rounding"
        if spectrum.error_bound == 0
        else f"eigenvalues exact to {format_number(spectrum.error_bound)} (the largest is "
        f"{format_number(float(spectrum.eigenvalues.max()))})"
    )
    method = spectrum.method[0].upper() + spectrum.method[1:]
    return f"{method}; {exact}. {proof}: {spectrum.certificate}."


def made_with() -> str:
    """Names and versions of the software."""
    return ", ".join(f"{name} {version}" for name, version in versions().items())
