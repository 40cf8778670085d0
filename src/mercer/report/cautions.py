"""What a reader should know before trusting a number: instability, near ties, approximations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mercer.cluster_count import STABLE
from mercer.formatting import format_number, format_percent
from mercer.report.analysis import Analysis

__all__ = ["cautions"]

_NEAR = 0.02  # relative: eigenvalues so near may swap when a few rows change
_CLOSE = 0.1  # relative: entropy terms so near are a close call
_MANY_LOST = 0.05


def cautions(analysis: Analysis) -> list[str]:
    """Sentences, the most serious first; none where there is nothing to say."""
    return [
        *_of_clusters(analysis),
        *_of_components(analysis),
        *_of_rows(analysis),
        *_of_approximations(analysis),
        *_of_samples(analysis),
    ]


def _of_clusters(analysis: Analysis) -> list[str]:
    counting, sweep = analysis.counting, analysis.sweep
    said = []
    if counting.because == "spectroscopy" and counting.chosen > 1:
        said.append(
            f"No number of clusters is stable (best agreement of neighbouring bandwidths: "
            f"{max(counting.stability.values(), default=0.0):.2f}; {STABLE} would be stable). The "
            f"{counting.chosen} clusters are a way to cut the data up, not groups that the data "
            "insist on."
        )
    if counting.because == "asked" and counting.suggested != counting.chosen:
        said.append(
            f"You asked for {counting.chosen} clusters; the data suggest {counting.suggested}."
        )
    if sweep is not None and counting.chosen > 1 and analysis.clusters.width is not None:
        here = int(np.argmin(np.abs(np.log(sweep.widths / analysis.clusters.width))))
        inside = sweep.widths[0] / 1.2 <= analysis.clusters.width <= sweep.widths[-1] * 1.2
        if inside and sweep.stabilities[here] < STABLE:
            said.append(
                f"Near the bandwidth in use the clusters are unstable: labels at neighbouring "
                f"bandwidths agree to {sweep.stabilities[here]:.2f} only (adjusted Rand index)."
            )
        if not inside:
            said.append(
                f"The bandwidth in use, {format_number(analysis.clusters.width)}, lies outside of the "
                f"range that the sweep looked at, {format_number(sweep.widths[0])} to "
                f"{format_number(sweep.widths[-1])}."
            )
        if analysis.bandwidth == "auto" and sweep.chosen in (sweep.widths[0], sweep.widths[-1]):
            said.append(
                f"The sweep chose {format_number(sweep.chosen)}, the end of the range that it looked at; "
                "what lies beyond was not tried."
            )
    return said


def _of_components(analysis: Analysis) -> list[str]:
    values = analysis.eca.eigenvalues_
    said = []
    order = np.argsort(-values)
    near = [
        (int(a) + 1, int(b) + 1)
        for a, b in pairwise(order)
        if values[a] - values[b] < _NEAR * values[a]
    ]
    if near:
        pairs = "; ".join(f"{min(pair)} and {max(pair)}" for pair in near)
        said.append(
            f"Components {pairs} have nearly equal eigenvalues (within {_NEAR:.0%}): each alone "
            "would change with a few rows, only the plane that they span is determined."
        )
    listed = analysis.spectra.components()
    left = [c for c in listed if not c.kept]
    kept = [c for c in listed if c.kept]
    if left and left[0].entropy_term > (1 - _CLOSE) * kept[-1].entropy_term > 0:
        said.append(
            f"The choice of component {kept[-1].order} was close: the next one holds "
            f"{format_percent(left[0].share)} of V, against {format_percent(kept[-1].share)}."
        )
    return said


def _of_rows(analysis: Analysis) -> list[str]:
    table = analysis.table
    if table.rows_omitted <= _MANY_LOST * table.rows_read:
        return []
    return [
        f"{table.rows_omitted:,} of {table.rows_read:,} rows were left out because a value was "
        "missing. If values are not missing by chance, the rest may not be like the whole."
    ]


def _of_approximations(analysis: Analysis) -> list[str]:
    found = {}
    for name, estimator in (
        ("kernel ECA", analysis.eca),
        ("kernel PCA", analysis.pca),
        ("clusters", analysis.clusters.estimator),
    ):
        spectrum = estimator.spectrum_
        relative = spectrum.error_bound / float(spectrum.eigenvalues.max())
        if relative > 1e-6:
            found[name] = relative
    if not found:
        return []
    told = ", ".join(f"{name} {format_percent(min(value, 1.0))}" for name, value in found.items())
    return [
        "Eigenvalues were computed from landmarks, some rows that stand for all. They are right "
        f"to this share of the largest: {told}."
    ]


def _of_samples(analysis: Analysis) -> list[str]:
    n = analysis.table.n
    used = {"the number of clusters": analysis.counting.rows}
    if analysis.sweep is not None:
        used["the sweep of bandwidths"] = len(analysis.sweep.rows)
    used["the similarity that novelty is about"] = analysis.novelty.reference
    if analysis.labels is not None and analysis.labels.prediction is not None:
        used["cross-validation"] = analysis.labels.prediction.rows
    told = [f"{what} from {rows:,}" for what, rows in used.items() if rows < _enough(what, n)]
    if not told:
        return []
    return [f"Not all {n:,} rows were used for everything: {'; '.join(told)}."]


def _enough(what: str, n: int) -> float:
    """Classes with a single row are left out of cross-validation without being a sample."""
    return 0.9 * n if what == "cross-validation" else n
