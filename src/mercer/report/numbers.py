"""The numbers of a report as JSON data."""

from __future__ import annotations

import platform
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import mercer
from mercer.cluster.table_clusters import describe_kernel
from mercer.report.analysis import Analysis
from mercer.report.cautions import cautions

__all__ = ["numbers", "plain", "versions"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")


def plain(value: Any) -> Any:
    """Convert dataclasses, arrays and tuples to dicts, lists, numbers, strings and None.

    NaN and infinity become None, because JSON has no such numbers.

    >>> plain({"a": (1, np.float64("nan")), 2: np.array([0.5])})
    {'a': [1, None], '2': [0.5]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def numbers(analysis: Analysis) -> dict[str, Any]:
    """Return all numbers of the report, except those of single rows (see the table of rows).

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze, numbers
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> numbers(analyze(table))["data"]["rows"]
    6
    """
    found = {
        "data": _data(analysis),
        "choices": _choices(analysis),
        "columns": analysis.columns,
        "kernel_eca": _eca(analysis),
        "kernel_pca": {
            "eigenvalues": analysis.pca.eigenvalues_,
            "explained_variance_ratio": analysis.pca.explained_variance_ratio_,
            **_computation(analysis.pca),
        },
        "number_of_clusters": analysis.counting,
        "sweep": _sweep(analysis),
        "clusters": _clusters(analysis),
        "densities": analysis.densities,
        "novelty": _row_scores(analysis),
        "labels": _labels(analysis),
        "seconds": analysis.seconds,
        "cautions": cautions(analysis),
        "warnings": analysis.raised,
        "versions": versions(),
    }
    result: dict[str, Any] = plain(found)
    return result


def _data(analysis: Analysis) -> dict[str, Any]:
    table = analysis.table
    return {
        "name": table.name,
        "rows_read": table.rows_read,
        "rows": table.n,
        "columns": list(table.columns),
        "kinds": table.column_types,
        "missing": table.missing,
        "label": table.label,
        "omitted_columns": {o.column: o.reason for o in table.omissions},
        "notes": table.notes,
    }


def _choices(analysis: Analysis) -> dict[str, Any]:
    return {
        "scaled": analysis.model.scaled,
        "kernel": "gaussian" if analysis.table.is_numeric else "table",
        "bandwidth_asked": analysis.bandwidth,
        "bandwidth": analysis.sigma,
        "factor": analysis.factor,
        "n_components": analysis.eca.n_components_,
        "n_components_because": analysis.spectra.because,
    }


def _eca(analysis: Analysis) -> dict[str, Any]:
    eca = analysis.eca
    return {
        "information_potential": eca.information_potential_,
        "renyi_entropy": eca.renyi_entropy_,
        "residual_potential": eca.residual_potential_,
        "entropy_kept": analysis.entropy_fraction,
        "entropy_of_leading_eigenvalues": analysis.spectra.leading_fraction,
        "components": analysis.spectra.components(),
        **_computation(eca),
    }


def _sweep(analysis: Analysis) -> dict[str, Any] | None:
    sweep = analysis.sweep
    if sweep is None:
        return None
    return {
        "kind": sweep.kind,
        "n_clusters": sweep.n_clusters,
        "widths": sweep.widths,
        "costs": sweep.costs,
        "stabilities": sweep.stabilities,
        "chosen": sweep.chosen,
        "rows": len(sweep.rows),
    }


def _clusters(analysis: Analysis) -> dict[str, Any]:
    clusters = analysis.clusters
    return {
        "each": clusters.each,
        "cost": clusters.cost,
        "kernel": describe_kernel(clusters.estimator.kernel_),
        "kernels_compared": clusters.kernels,
        "confidence": clusters.confidence,
        "traits": analysis.traits,
        **_computation(clusters.estimator),
    }


def _row_scores(analysis: Analysis) -> dict[str, Any]:
    row_scores, rows = analysis.row_scores, analysis.table.rows
    listed = [
        {"row": int(rows[one.row]) + 1, "score": one.score, "columns": dict(one.columns)}
        for one in row_scores.listed
    ]
    return {
        "listed": listed,
        "typical": row_scores.typical,
        "high": row_scores.high,
        "reference_rows": row_scores.reference,
    }


def _labels(analysis: Analysis) -> dict[str, Any] | None:
    labels = analysis.labels
    if labels is None:
        return None
    prediction = labels.prediction
    return {
        "name": labels.name,
        "classes": labels.classes,
        "unlabelled": labels.unlabeled,
        "reason": labels.reason,
        "agreement": labels.agreement,
        "prediction": None
        if prediction is None
        else {
            "accuracy": prediction.accuracy,
            "accuracies": prediction.accuracies,
            "majority": prediction.majority,
            "folds": prediction.folds,
            "rows": prediction.rows,
            "classes_left_out": prediction.single_row_classes,
            "rank": prediction.rank,
        },
    }


def _computation(estimator: Any) -> dict[str, Any]:
    spectrum = estimator.spectrum_
    return {
        "method": spectrum.method,
        "certified": bool(spectrum.certified),
        "certificate": spectrum.certificate,
        "error_bound": float(spectrum.error_bound),
        "products": int(spectrum.products),
    }


def versions() -> dict[str, str]:
    """Return the versions of mercer, Python and the packages used."""
    own = {"mercer": mercer.__version__, "python": platform.python_version()}
    return own | {package: version(package) for package in _PACKAGES}
