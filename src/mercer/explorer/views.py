"""Pictures as numbers: what the page needs to draw each view, and a sentence that says it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from mercer import ParzenDensity, SeriesDensity
from mercer.explorer.fits import NO_ENTROPY, Fits
from mercer.maths.types import Array

__all__ = ["VIEWS", "rounded", "summary"]

_GRID = 56  # points per axis of the density
_COARSE = 36  # of each eigenfunction
_MOST_PICTURES = 6
_GRAM = 200
_COUNTED = 600  # rows up to which all places along the path are looked up
_MARGIN = 0.12  # of the data's extent


def rounded(values: Array) -> list[Any]:
    """As lists, to seven digits of the largest: what a picture needs, and short."""
    values = np.asarray(values, dtype=np.float64)
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    if largest > 0:
        values = np.round(values, 6 - int(np.floor(np.log10(largest))))
    result: list[Any] = np.where(np.isfinite(values), values, 0.0).tolist()
    return result


def summary(fits: Fits) -> dict[str, Any]:
    """What is said above all pictures."""
    data, chosen = fits.data, fits.selection
    spectrum = chosen.spectrum
    table = data.table
    return {
        "name": table.name,
        "rows": table.rows_read,
        "analysed": data.n,
        "shown": len(data.shown),
        "columns": list(table.columns),
        "kinds": dict(table.kinds),
        "label": table.label,
        "omissions": [[o.column, o.reason, o.code] for o in table.omissions],
        "rows_omitted": table.rows_omitted,
        "is_numeric": data.is_numeric,
        "scaled": data.scale and data.is_numeric,
        "has_classes": data.labels is not None,
        "is_planar": data.is_planar,
        "is_large": data.is_large,
        "bandwidth": data.bandwidth(fits.state),
        "marks": data.marks,
        "kernel": repr(fits.kernel) if data.is_numeric else "product of one kernel per column",
        "places": chosen.places,
        "share": chosen.share,
        "potential": spectrum.potential,
        "method": spectrum.method,
        "certified": bool(spectrum.certified),
        "notes": [*table.notes, *fits.notes],
    }


def points(fits: Fits) -> dict[str, Any]:
    """The shown rows: where in the table they are, their classes and clusters."""
    data = fits.data
    classes = data.classes
    clusters = fits.shown_clusters
    return {
        "rows": data.table.rows[data.rows[data.shown]].tolist(),
        "classes": None if classes is None else vars(classes),
        "clusters": clusters.tolist(),
        "n_clusters": 1 if fits.clustering is None else int(fits.clustering.n_clusters_),
    }


def data_view(fits: Fits) -> dict[str, Any]:
    """Two coordinates of the data."""
    plane = fits.data.plane(fits.state.x, fits.state.y)
    return {
        "x": rounded(plane.points[:, 0]),
        "y": rounded(plane.points[:, 1]),
        "names": list(plane.names),
        "scaled": fits.data.scale and fits.data.is_numeric,
    }


def spectrum_view(fits: Fits) -> dict[str, Any]:
    """Eigenvalues and entropy terms, and which are kept."""
    bars, chosen = fits.bars, fits.selection
    trace, potential = chosen.spectrum.trace, chosen.spectrum.potential
    return {
        "places": bars.places.tolist(),
        "eigenvalues": rounded(bars.eigenvalues),
        "variance": rounded(bars.eigenvalues / trace),
        "terms": rounded(bars.terms),
        "entropy": rounded(bars.terms / potential),
        "kept": [place for place in chosen.places if place is not None],
        "order": bars.order,
    }


def embedding_view(fits: Fits) -> dict[str, Any]:
    """Scores on the first three selected components, and on those of kernel PCA."""
    pca = fits.pca()
    rows = fits.data.take(fits.data.shown)
    theirs = pca.transform(rows)[:, :3]
    ours = fits.shown_scores[:, :3]
    return {
        "eca": [rounded(column) for column in ours.T],
        "pca": [rounded(column) for column in theirs.T],
        "places": fits.selection.places[:3],
        "pca_shown_only": fits.data.is_large,
    }


def clusters_view(fits: Fits) -> dict[str, Any]:
    """Sizes, cost, and agreement with the classes."""
    from sklearn.metrics import adjusted_rand_score

    clustering, data = fits.clustering, fits.data
    if clustering is None:
        return {"reason": "The selected components hold no entropy: there is no mean to point at."}
    labels = clustering.labels_
    agreement = None
    known = data.labels
    if known is not None and data.classes is not None and data.classes.kind == "class":
        known = known[data.shown] if data.is_large else known
        agreement = float(adjusted_rand_score(known, labels))
    return {
        "sizes": np.bincount(labels[labels >= 0], minlength=clustering.n_clusters_).tolist(),
        "lost": int((labels < 0).sum()),
        "cost": float(clustering.cost_),
        "clustered": len(labels),
        "agreement": agreement,
    }


def density_view(fits: Fits) -> dict[str, Any]:
    """The density on a grid of the plane, or at the shown rows."""
    data = fits.data
    if not data.is_numeric or not fits.kernel.is_window:
        return {
            "reason": "This kernel is no density window: choose Gaussian, Laplacian, Matérn or "
            "Epanechnikov on columns of numbers."
        }
    if fits.state.terms == "selected" and fits.selection.share < NO_ENTROPY:
        return {"reason": "The selected components have no mean: they hold no part of the density."}
    if data.is_planar:
        xs, ys, grid = _grid(data.data, _GRID)
        values = np.maximum(_density(fits, grid), 0).reshape(len(ys), len(xs))
        return {"x": rounded(xs), "y": rounded(ys), "z": rounded(values)}
    values = np.maximum(_density(fits, data.take(data.shown)), 0)
    largest = float(values.max())
    return {"at_points": rounded(values / largest if largest > 0 else values)}


def _density(fits: Fits, X: Array) -> Array:
    """Girolami's series with the selected terms, or one of the library's densities."""
    state, rows = fits.state, fits.data.data
    if state.terms == "all":
        return np.asarray(ParzenDensity(kernel=fits.kernel).fit(rows).pdf(X))
    if state.terms == "kronmal-tarter":
        series = fits.fit(SeriesDensity(kernel=fits.kernel, positive=False), rows, "all")
        return np.asarray(series.pdf(X))
    return series_of(fits, X)


def series_of(fits: Fits, X: Array) -> Array:
    """``Σ_i (1'e_i) √λ_i z_i(x) / (n c)`` over the selected i, divided by its mass."""
    spectrum, columns = fits.selection.spectrum, fits.selection.columns
    n = spectrum.total_weight
    overlaps = spectrum.overlaps[columns]
    weights = overlaps * np.sqrt(spectrum.eigenvalues[columns])
    mass = float((overlaps**2).sum()) / n
    log_scale = fits.kernel.log_normalizer(X.shape[1]) + np.log(n * mass)
    return np.asarray(fits.selection.scores(X) @ weights * np.exp(-log_scale))


def gram_view(fits: Fits) -> dict[str, Any]:
    """The Gram matrix of some shown rows and its reconstruction, ordered by cluster."""
    clusters, scores = fits.shown_clusters, fits.shown_scores
    some = np.unique(np.linspace(0, len(clusters) - 1, _GRAM).astype(int))
    order = some[np.lexsort((scores[some, 0], clusters[some]))]
    K = fits.kernel(fits.data.take(fits.data.shown[order]))
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


def eigenfunctions_view(fits: Fits) -> dict[str, Any]:
    """The selected eigenfunctions on a grid of the plane."""
    if not fits.data.is_planar:
        return {"reason": "Eigenfunctions are drawn for tables of two columns."}
    chosen = fits.selection
    xs, ys, grid = _grid(fits.data.data, _COARSE)
    values = chosen.spectrum.eigenfunctions(grid)[:, chosen.columns[:_MOST_PICTURES]]
    return {
        "x": rounded(xs),
        "y": rounded(ys),
        "z": [rounded(column.reshape(len(ys), len(xs))) for column in values.T],
        "places": chosen.places[:_MOST_PICTURES],
    }


def _grid(X: Array, count: int) -> tuple[Array, Array, Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    margin = _MARGIN * (high - low)
    xs, ys = np.linspace(low - margin, high + margin, count).T
    across, up = np.meshgrid(xs, ys)
    return xs, ys, np.column_stack([across.ravel(), up.ravel()])


def path_view(fits: Fits) -> dict[str, Any]:
    """Cost and kept components along the bandwidths, and the one that the sweep would take."""
    data, state = fits.data, fits.state
    if data.is_numeric and not state.has_bandwidth:
        return {"reason": "This kernel has no single bandwidth to sweep."}
    sweep = fits.sweep()
    records = sweep.path_
    optimum = next(r.bandwidth for r in records if repr(r.kernel) == repr(sweep.kernel_))
    # counting eigenvalues costs far more than the sweep where they are not known: a few places do
    step = 1 if len(records[0].labels) <= _COUNTED else 3
    looked_at = {*range(0, len(records), step)}
    looked_at |= {i for i, record in enumerate(records) if record.bandwidth == optimum}
    return {
        "bandwidth": [float(f"{record.bandwidth:.8g}") for record in records],
        "cost": rounded(np.array([record.cost for record in records]) / len(records[0].labels)),
        "stability": rounded(np.array([record.stability for record in records])),
        "components": [
            []
            if place not in looked_at or record.components is None
            else record.components.tolist()
            for place, record in enumerate(records)
        ],
        "optimum": optimum,
        "clusters": fits.sweep_clusters,
        "rows": len(records[0].labels),
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
}
