"""The top of the page: findings, main numbers, and cautions about the results."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cluster.profiles import SMALL
from mercer.kernels.tables import logarithm_helps
from mercer.report.clusters import describe_trait
from mercer.report.components import ECA_STEP, Spectra
from mercer.report.computation import Raised
from mercer.report.section import Section
from mercer.utils.formatting import format_number, format_percent, join_words, shorten

if TYPE_CHECKING:
    from mercer.report.analysis import Analysis

__all__ = ["Warnings", "cautions", "findings", "main_numbers"]


@dataclass(frozen=True)
class Warnings(Section):
    """Cautions about the results, and warnings of the estimators."""

    name = "warnings"
    title = "Read this first"

    cautions: tuple[str, ...]
    raised: tuple[Raised, ...]

    @property
    def is_shown(self) -> bool:
        """Whether there are any."""
        return bool(self.cautions or self.raised)

    def to_json(self) -> dict[str, Any]:
        """Return cautions and warnings."""
        return {"cautions": self.cautions, "warnings": self.raised}

    def context(self) -> dict[str, Any]:
        """Return cautions and warnings."""
        return {"cautions": self.cautions, "warnings": self.raised}


def main_numbers(analysis: Analysis) -> list[tuple[str, str, str]]:
    """Name, value and explanation of each main number."""
    eca, n = analysis.eca, analysis.table.n
    counting = analysis.counting
    if counting.requested:
        certainty = "requested"
        if not counting.is_uncertain:
            certainty += f"; suggested: {counting.suggested}"
    elif counting.is_uncertain:
        certainty = "could not tell the number"
    else:
        certainty = f"{format_percent(counting.confidence)} confidence"
    if analysis.sigma is not None:
        entropy = "nats; −log of the mean density: larger is more spread out"
        width = ("Bandwidth σ", format_number(analysis.sigma), "of the Gaussian kernel")
    else:
        entropy = "nats; −log V: larger is more spread out"
        factor = format_number(analysis.spectra.factor or 1.0)
        width = ("Bandwidth multiplier", factor, "1: the default bandwidths of the columns")
    return [
        ("Clusters", str(len(analysis.clusters.each)), certainty),
        (
            "Information potential V",
            format_number(eca.information_potential_),
            f"mean similarity of all pairs of rows; from {format_number(1 / n, 2)} (all "
            "dissimilar) to 1 (all equal)",
        ),
        ("Renyi entropy", format_number(eca.renyi_entropy_), entropy),
        (
            "Fraction of V",
            format_percent(analysis.spectra.entropy_fraction),
            f"in {eca.n_components_} components",
        ),
        width,
    ]


def findings(analysis: Analysis) -> list[str]:
    """Return the main findings as sentences."""
    found = [_describe_clusters(analysis), _describe_components(analysis)]
    if analysis.labels is not None:
        found.append(analysis.labels.verdict())
    listed = analysis.row_scores.listed
    if listed and listed[0].columns:
        row = int(analysis.table.rows[listed[0].row]) + 1
        found.append(
            f"The most isolated row is row {row:,}, mainly because of "
            f"{shorten(listed[0].columns[0][0])}."
        )
    return found


def _describe_clusters(analysis: Analysis) -> str:
    counting, clusters = analysis.counting, analysis.clusters
    if len(clusters.each) == 1:
        if counting.requested:
            return "All rows are in one cluster, as requested."
        if counting.is_uncertain:
            return "Could not tell whether the rows form several clusters."
        return f"Found one cluster ({format_percent(counting.confidence)} confidence)."
    sizes = join_words([f"{c.size:,}" for c in clusters.each])
    if counting.requested:
        certainty = "You requested this number."
    elif counting.is_uncertain:
        certainty = "This number could not be determined reliably."
    else:
        certainty = f"Confidence in this number: {format_percent(counting.confidence)}."
    large = [t for t in analysis.clusters.traits if abs(t.effect) >= SMALL]
    best = max(large, key=lambda t: abs(t.effect), default=None)
    difference = (
        ""
        if best is None
        else f" The largest difference: cluster {best.cluster} has {describe_trait(best)}."
    )
    return f"Found {len(clusters.each)} clusters with {sizes} rows. {certainty}{difference}"


def _describe_components(analysis: Analysis) -> str:
    eca, spectra, n = analysis.eca, analysis.spectra, analysis.table.n
    k, ranks, fraction = eca.n_components_, spectra.ranks, format_percent(spectra.entropy_fraction)
    text = (
        f"At {_describe_bandwidth(spectra)}, {k} components out of {n:,} hold {fraction} of the "
        "information potential."
    )
    if ranks is not None and sorted(ranks) != list(range(1, k + 1)):
        leading = spectra.leading_fraction
        leading_part = "" if leading is None else f", with {format_percent(leading)} of V"
        text += (
            f" They belong to the eigenvalues ranked {join_words(ranks)}. Uncentered kernel PCA, "
            "which selects the largest eigenvalues, would use ranks "
            f"{join_words(range(1, k + 1))}{leading_part}."
        )
    elif ranks is not None:
        text += (
            f" They belong to the {k} largest eigenvalues: entropy and eigenvalue select the "
            "same components."
        )
    if any(
        one.category == "IdentifiabilityWarning" and one.step == ECA_STEP for one in analysis.raised
    ):
        text += " The data do not determine these components: see the warnings."
    return text


def _describe_bandwidth(spectra: Spectra) -> str:
    if spectra.sigma is not None:
        return f"bandwidth σ = {format_number(spectra.sigma)}"
    factor = spectra.factor or 1.0
    return f"{'' if factor == 1 else f'{format_number(factor)} times '}the default bandwidths"


# --- cautions --------------------------------------------------------------------------------


def cautions(analysis: Analysis) -> list[str]:
    """Return cautions as sentences, the most serious first."""
    return [
        *_about_clusters(analysis),
        *_about_components(analysis),
        *_about_skewed_columns(analysis),
        *_about_omitted_rows(analysis),
        *_about_approximations(analysis),
        *_about_subsamples(analysis),
    ]


def _about_clusters(analysis: Analysis) -> list[str]:
    counting, clusters = analysis.counting, analysis.clusters
    found = []
    if counting.requested and counting.suggested != counting.chosen and not counting.is_uncertain:
        found.append(
            f"You requested {counting.chosen} clusters; the data suggest {counting.suggested}."
        )
    elif not counting.requested and counting.is_uncertain:
        found.append(
            "Could not tell the number of clusters: the number in use, "
            f"{counting.chosen}, is found at {format_percent(counting.confidence)} of the smallest "
            "cluster sizes only. Request a number if you know it."
        )
    unstable = [
        f"{one.number} ({one.persistence:.2f})"
        for one in clusters.each
        if one.persistence is not None and one.persistence < 0.5  # as the page explains
    ]
    if unstable:
        found.append(
            "Some clusters depend on the neighbor graph; those with a persistence below 0.5: "
            f"{', '.join(unstable)}."
        )
    return found


def _about_skewed_columns(analysis: Analysis) -> list[str]:
    table, found = analysis.table, []
    for name, kind in table.column_types.items():
        if kind == "number":
            numbers = table.frame[name].dropna().to_numpy()
            change = logarithm_helps(numbers)
            if change is not None:
                found.append(f"{shorten(name)} (skewness {change.before:.1f})")
    if not found:
        return []
    others = len(found) - 5
    more = f" and {others:,} more" if others > 0 else ""
    return [
        f"Positive numbers with a long tail: {', '.join(found[:5])}{more}. One "
        "bandwidth does not suit both their bulk and their tail; replace these columns by their "
        "logarithms, and compare the results."
    ]


def _about_components(analysis: Analysis) -> list[str]:
    values, k = analysis.eca.eigenvalues_, analysis.eca.n_components_
    found = []
    near = [
        f"{min(a, b) + 1} and {max(a, b) + 1}"
        for a, b in pairwise(np.argsort(-values).tolist())
        if values[a] - values[b] < 0.02 * values[a]
    ]
    if near:
        found.append(
            f"Components {'; '.join(near)} have nearly equal eigenvalues (within 2 %): only the "
            "subspace that they span is determined. Adding or removing a few rows could rotate "
            "them within it."
        )
    last, *others = analysis.spectra.components()[k - 1 :]
    if others and others[0].entropy_term > 0.9 * last.entropy_term > 0:
        found.append(
            f"The selection of component {last.order} is uncertain: it holds "
            f"{format_percent(last.share)} of V, and the next component "
            f"{format_percent(others[0].share)}."
        )
    return found


def _about_omitted_rows(analysis: Analysis) -> list[str]:
    table = analysis.table
    if table.rows_omitted <= 0.05 * table.rows_read:
        return []
    return [
        f"{table.rows_omitted:,} of {table.rows_read:,} rows were omitted because of missing "
        "values. If values are not missing at random, the other rows may not be representative."
    ]


def _about_approximations(analysis: Analysis) -> list[str]:
    bounds = {}
    for name, estimator in (
        ("kernel ECA", analysis.eca),
        ("kernel PCA", analysis.pca),
        ("clusters", analysis.clusters.estimator),
    ):
        spectrum = estimator.spectrum_
        relative = spectrum.error_bound / float(spectrum.eigenvalues.max())
        if relative > 1e-6:  # otherwise exact for all purposes of the page
            bounds[name] = format_percent(min(relative, 1.0))
    if not bounds:
        return []
    listed = ", ".join(f"{name} {bound}" for name, bound in bounds.items())
    return [
        "Eigenvalues are approximate (landmarks). Error bounds relative to the largest "
        f"eigenvalue: {listed}."
    ]


def _about_subsamples(analysis: Analysis) -> list[str]:
    n = analysis.table.n
    used = {}
    graph_rows = len(analysis.clusters.estimator.spectrum_.eigenvectors)
    if graph_rows >= 2000:  # the smallest limit of the estimator; fewer are all distinct rows
        used["clusters"] = graph_rows
    if analysis.settings.sweep is not None:
        used["bandwidth sweep"] = len(analysis.settings.sweep.rows)
    used["leave-one-out scores"] = analysis.row_scores.reference
    subsampled = {step: rows for step, rows in used.items() if rows < n}
    prediction = None if analysis.labels is None else analysis.labels.prediction
    # Classes with a single row are excluded from cross-validation without any subsampling.
    if prediction is not None and prediction.rows < 0.9 * n:
        subsampled["cross-validation"] = prediction.rows
    if not subsampled:
        return []
    listed = "; ".join(f"{step} {rows:,}" for step, rows in subsampled.items())
    return [f"Some steps used a subsample of the {n:,} rows: {listed}."]
