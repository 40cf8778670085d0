"""Cautions about the results: instability, near ties, approximations, subsamples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mercer.kernels.tables import logarithm_helps
from mercer.report.analysis import Analysis
from mercer.utils.formatting import format_percent, shorten

__all__ = ["cautions"]

_NEAR_TIE = 0.02  # relative difference of eigenvalues that may swap if a few rows change
_CLOSE_CALL = 0.1  # relative difference of entropy terms
_MANY_OMITTED = 0.05
_EXACT = 1e-6  # relative error bound up to which eigenvalues count as exact
_GRAPH_ROWS = 2000  # smallest limit of the rows in the graph of a spectral clustering
_MAX_COLUMNS = 5  # listed by name
_PERSISTENT = 0.5  # a cluster below this has no counterpart with most kernels


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
            f"{counting.chosen}, is right with an estimated probability of "
            f"{format_percent(counting.confidence)}. Request a number if you know it."
        )
    unstable = [
        f"{one.number} ({one.persistence:.2f})"
        for one in clusters.each
        if one.persistence is not None and one.persistence < _PERSISTENT
    ]
    if unstable:
        found.append(
            f"Some clusters depend on the kernel; those with a persistence below {_PERSISTENT}: "
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
    others = len(found) - _MAX_COLUMNS
    more = f" and {others:,} more" if others > 0 else ""
    return [
        f"Positive numbers with a long tail: {', '.join(found[:_MAX_COLUMNS])}{more}. One "
        "bandwidth does not suit both their bulk and their tail; replace these columns by their "
        "logarithms, and compare the results."
    ]


def _about_components(analysis: Analysis) -> list[str]:
    values = analysis.eca.eigenvalues_
    found = []
    near = [
        (int(a) + 1, int(b) + 1)
        for a, b in pairwise(np.argsort(-values))
        if values[a] - values[b] < _NEAR_TIE * values[a]
    ]
    if near:
        pairs = "; ".join(f"{min(pair)} and {max(pair)}" for pair in near)
        found.append(
            f"Components {pairs} have nearly equal eigenvalues (within {_NEAR_TIE:.0%}): only the "
            "subspace that they span is determined. Adding or removing a few rows could rotate "
            "them within it."
        )
    listed = analysis.spectra.components()
    selected = [c for c in listed if c.kept]
    others = [c for c in listed if not c.kept]
    if others and others[0].entropy_term > (1 - _CLOSE_CALL) * selected[-1].entropy_term > 0:
        found.append(
            f"The selection of component {selected[-1].order} is uncertain: it holds "
            f"{format_percent(selected[-1].share)} of V, and the next component "
            f"{format_percent(others[0].share)}."
        )
    return found


def _about_omitted_rows(analysis: Analysis) -> list[str]:
    table = analysis.table
    if table.rows_omitted <= _MANY_OMITTED * table.rows_read:
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
        if relative > _EXACT:
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
    if graph_rows >= _GRAPH_ROWS:  # fewer are all distinct rows
        used["clusters"] = graph_rows
    if analysis.sweep is not None:
        used["bandwidth sweep"] = len(analysis.sweep.rows)
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
