"""The data of each view, as JSON-compatible dictionaries."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from mercer import ParzenDensity, SeriesDensity, SpectralClustering
from mercer.cluster.table_clustering import describe_kernel
from mercer.explorer.models import NO_ENTROPY, Models
from mercer.novelty.cells import describe_cell, explained_cells
from mercer.utils.types import Array

__all__ = ["VIEWS", "rounded", "summary"]

_UNUSUAL_ROWS, _UNUSUAL_CELLS = 10, 2  # that are listed


def rounded(values: Array) -> list[Any]:
    """Return nested lists, rounded to seven digits of the largest value, for short responses.

    Values that are not finite become None: JSON has no NaN, and the page draws nothing there.
    """
    values = np.asarray(values, dtype=np.float64)
    is_finite = np.isfinite(values)
    largest = float(np.abs(values[is_finite]).max(initial=0.0))
    if largest > 0:
        values = np.round(values, 6 - int(np.floor(np.log10(largest))))
    if not is_finite.all():
        values = values.astype(object)
        values[~is_finite] = None
    result: list[Any] = values.tolist()
    return result


def summary(models: Models) -> dict[str, Any]:
    """Return the facts about the table, the kernel and the selected components."""
    data, selected, state = models.data, models.components, models.state
    spectrum = selected.spectrum
    table = data.table
    return {
        "name": table.name,
        "rows": table.rows_read,
        "analyzed": data.n,
        "shown": len(data.shown),
        "columns": list(table.columns),
        "kinds": dict(table.column_types),
        "label": table.label,
        "omissions": [
            {"column": omission.column, "reason": omission.reason, "code": omission.code}
            for omission in table.omissions
        ],
        "rows_omitted": table.rows_omitted,
        "is_numeric": data.is_numeric,
        "scaled": data.scale and data.is_numeric,
        "has_classes": data.labels is not None,
        "is_planar": data.is_planar,
        "is_large": data.is_large,
        "bandwidth": data.bandwidth(state),
        "marks": data.marks,
        "kernel": repr(models.kernel) if data.is_numeric else "product of one kernel per column",
        "ranks": selected.ranks,
        "potential_fraction": selected.potential_fraction,
        "potential": spectrum.potential,
        "method": spectrum.method,
        "notes": [*table.notes, *models.notes],
    }


def points(models: Models) -> dict[str, Any]:
    """Return the shown rows: their indices in the table, classes and clusters."""
    data = models.data
    classes = data.classes
    clusters = models.shown_clusters
    return {
        "rows": data.table.rows[data.rows[data.shown]].tolist(),
        "classes": None if classes is None else vars(classes),
        "clusters": clusters.tolist(),
        "n_clusters": 1 if models.clustering is None else int(models.clustering.n_clusters_),
    }


def data_view(models: Models) -> dict[str, Any]:
    """Return two coordinates of the shown rows."""
    plane = models.data.plane(models.state.x, models.state.y)
    return {
        "x": rounded(plane.points[:, 0]),
        "y": rounded(plane.points[:, 1]),
        "names": list(plane.names),
        "scaled": models.data.scale and models.data.is_numeric,
    }


def spectrum_view(models: Models) -> dict[str, Any]:
    """Return eigenvalues and entropy terms, and the ranks of the selected components."""
    bars, selected = models.bars, models.components
    trace, potential = selected.spectrum.trace, selected.spectrum.potential
    return {
        "ranks": bars.ranks.tolist(),
        "eigenvalues": rounded(bars.eigenvalues),
        "variance_ratio": rounded(bars.eigenvalues / trace),
        "entropy_terms": rounded(bars.entropy_terms),
        "entropy_ratio": rounded(bars.entropy_terms / potential),
        "selected": [rank for rank in selected.ranks if rank is not None],
        "order": bars.order,
    }


def embedding_view(models: Models) -> dict[str, Any]:
    """Return scores of the first three selected components and of kernel PCA."""
    rows = models.data.take(models.data.shown)
    pca_scores = models.pca().transform(rows)[:, :3]
    return {
        "eca": [rounded(column) for column in models.shown_scores[:, :3].T],
        "pca": [rounded(column) for column in pca_scores.T],
        "ranks": models.components.ranks[:3],
        "pca_shown_only": models.data.is_large,
    }


def clusters_view(models: Models) -> dict[str, Any]:
    """Return cluster sizes and the adjusted Rand index with the classes.

    Entropy clusters have a cost, spectral clusters the description of a kernel.
    """
    from sklearn.metrics import adjusted_rand_score

    clustering, data = models.clustering, models.data
    if clustering is None:
        return {"reason": "The selected components hold no entropy, so there are no clusters."}
    labels = clustering.labels_
    is_spectral = isinstance(clustering, SpectralClustering)
    agreement = None
    known = data.labels
    if known is not None and data.classes is not None and data.classes.kind == "class":
        known = known[data.shown] if data.is_large else known
        agreement = float(adjusted_rand_score(known, labels))
    return {
        "sizes": np.bincount(labels[labels >= 0], minlength=clustering.n_clusters_).tolist(),
        "unassigned": int((labels < 0).sum()),
        "cost": getattr(clustering, "cost_", None),
        "kernel": describe_kernel(clustering.kernel_) if is_spectral else None,
        "clustered": len(labels),
        "agreement": agreement,
    }


def density_view(models: Models) -> dict[str, Any]:
    """Return the density on a grid of the plane, or at the shown rows."""
    data = models.data
    if not data.is_numeric or not models.kernel.is_density:
        return {
            "reason": "This kernel is not a density. Choose Gaussian, Laplacian, Matérn or "
            "Epanechnikov and numeric columns."
        }
    is_empty = models.components.potential_fraction < NO_ENTROPY
    if models.state.terms == "selected" and is_empty:
        return {"reason": "The selected components hold no entropy, so their density is zero."}
    if data.is_planar:
        xs, ys, grid = _grid(data.data, 56)
        values = np.maximum(_density(models, grid), 0).reshape(len(ys), len(xs))
        return {"x": rounded(xs), "y": rounded(ys), "z": rounded(values)}
    values = np.maximum(_density(models, data.take(data.shown)), 0)
    largest = float(values.max())
    return {"at_points": rounded(values / largest if largest > 0 else values)}


def _density(models: Models, X: Array) -> Array:
    """Return the density of the selected components or one of the library's densities."""
    state, rows = models.state, models.data.data
    if state.terms == "all":
        return np.asarray(ParzenDensity(kernel=models.kernel).fit(rows).pdf(X))
    if state.terms == "kronmal-tarter":
        series = models.fit(SeriesDensity(kernel=models.kernel, positive=False), rows, "all")
        return np.asarray(series.pdf(X))
    return _selected_series(models, X)


def _selected_series(models: Models, X: Array) -> Array:
    """Return ``Σ_i (1'e_i) √λ_i z_i(x) / (n c)`` over the selected i, divided by its mass.

    This is the series density of Girolami (2002).
    """
    spectrum, columns = models.components.spectrum, models.components.columns
    n = spectrum.total_weight
    overlaps = spectrum.overlaps[columns]
    weights = overlaps * np.sqrt(spectrum.eigenvalues[columns])
    mass = float((overlaps**2).sum()) / n
    log_scale = models.kernel.log_normalizer(X.shape[1]) + np.log(n * mass)
    return np.asarray(models.components.scores(X) @ weights * np.exp(-log_scale))


def gram_view(models: Models) -> dict[str, Any]:
    """Return the Gram matrix of some shown rows and its reconstruction, ordered by cluster."""
    clusters, scores = models.shown_clusters, models.shown_scores
    subset = np.unique(np.linspace(0, len(clusters) - 1, 200).astype(int))
    order = subset[np.lexsort((scores[subset, 0], clusters[subset]))]
    K = models.kernel(models.data.take(models.data.shown[order]))
    Z = scores[order]
    R = Z @ Z.T
    low, high = min(0.0, float(K.min())), float(K.max())
    return {
        "size": len(order),
        "low": low,
        "high": high,
        "gram": _bytes(K, low, high),
        "reconstruction": _bytes(R, low, high),
        "rows": order.tolist(),
        "error": float(np.linalg.norm(K - R) / np.linalg.norm(K)),
    }


def _bytes(matrix: Array, low: float, high: float) -> str:
    levels = np.clip((matrix - low) / ((high - low) or 1.0), 0, 1) * 255
    return base64.b64encode(np.round(levels).astype(np.uint8).tobytes()).decode("ascii")


def eigenfunctions_view(models: Models) -> dict[str, Any]:
    """Return the selected eigenfunctions on a grid of the plane."""
    if not models.data.is_planar:
        return {"reason": "Eigenfunctions are drawn for tables with two numeric columns."}
    selected = models.components
    xs, ys, grid = _grid(models.data.data, 36)
    columns = selected.columns[:6]
    values = selected.spectrum.eigenfunctions(grid)[:, columns]
    return {
        "x": rounded(xs),
        "y": rounded(ys),
        "z": [rounded(column.reshape(len(ys), len(xs))) for column in values.T],
        "ranks": selected.ranks[:6],
    }


def _grid(X: Array, count: int) -> tuple[Array, Array, Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.12 * (high - low)
    xs, ys = np.linspace(low - margin, high + margin, count).T
    grid_x, grid_y = np.meshgrid(xs, ys)
    return xs, ys, np.column_stack([grid_x.ravel(), grid_y.ravel()])


def path_view(models: Models) -> dict[str, Any]:
    """Return cost and selected components by bandwidth, and the bandwidth the sweep selects."""
    data, state = models.data, models.state
    if data.is_numeric and not state.has_bandwidth:
        return {"reason": "This kernel has no single bandwidth to sweep."}
    sweep = models.sweep()
    records = sweep.path_
    optimum = next(r.bandwidth for r in records if r.kernel == sweep.kernel_)
    n = len(records[0].labels)
    return {
        "bandwidth": [float(f"{record.bandwidth:.8g}") for record in records],
        "cost": rounded(np.array([record.cost for record in records]) / n),
        "stability": rounded(np.array([record.stability for record in records])),
        "components": _selected_ranks(records, optimum, step=1 if n <= 600 else 3),
        "optimum": optimum,
        "clusters": models.sweep_clusters,
        "rows": n,
    }


def _selected_ranks(records: Any, optimum: Any, step: int) -> list[list[int]]:
    """Return ranks at each ``step``-th bandwidth: they take longer to compute than the sweep."""
    ranks = [
        record.components if i % step == 0 or record.bandwidth == optimum else None
        for i, record in enumerate(records)
    ]
    return [[] if found is None else found.tolist() for found in ranks]


def unusual_view(models: Models) -> dict[str, Any]:
    """Return the most unusual of the shown rows, with p-values and their most unusual cells."""
    try:
        detector, frame = models.novelty()
    except ValueError as error:  # such as a table in which no column varies
        return {"reason": str(error)}
    data = models.data
    assert detector.p_values_ is not None
    p = detector.p_values_ if data.is_large else detector.p_values_[data.shown]
    members = np.argsort(p, kind="stable")[:_UNUSUAL_ROWS]
    positions = members if data.is_large else data.shown[members]
    cells = explained_cells(detector, frame.iloc[positions])
    phrases: list[list[str]] = [[] for _ in members]
    for row, *cell in zip(
        *(cells[name] for name in ("row", "column", "observed", "expected")), strict=True
    ):
        if len(phrases[row]) < _UNUSUAL_CELLS:
            phrases[row].append(describe_cell(*cell))
    return {
        "members": members.tolist(),
        "p_values": rounded(p[members]),
        "cells": phrases,
    }


VIEWS = {
    "points": points,
    "data": data_view,
    "spectrum": spectrum_view,
    "embedding": embedding_view,
    "clusters": clusters_view,
    "density": density_view,
    "gram": gram_view,
    "eigenfunctions": eigenfunctions_view,
    "path": path_view,
    "unusual": unusual_view,
}
