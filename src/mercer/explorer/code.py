"""The view as Python: what to paste to get the very same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mercer.explorer.dataset import ANALYSED, SHOWN
from mercer.explorer.fits import NO_ENTROPY, Fits

__all__ = ["python_code"]

_SAMPLE = "np.sort(np.random.default_rng(0).choice(len({0}), {1}, replace=False))"


def python_code(fits: Fits, source: str, options: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Write the code of a view.

    Parameters
    ----------
    fits : Fits
    source : str
        What to read: the name of an embedded set or of a file.
    options : mapping
        Further options of :func:`mercer.tables.read_table`.
    """
    parts = [_header(fits), _reading(fits, source, options), _kernel(fits), _components(fits)]
    parts += [_clusters(fits), _pca(fits), _telling(), _density(fits)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _header(fits: Fits) -> str:
    estimators = {_estimator(fits), "KernelPCA"}
    if fits.clustering is not None:
        estimators.add("EntropyClustering")
    if _has_density(fits):
        estimators |= {"all": {"ParzenDensity"}, "kronmal-tarter": {"SeriesDensity"}}.get(
            fits.state.terms, set()
        )
    lines = ["import numpy as np", ""]
    lines.append(f"from mercer import {', '.join(sorted(estimators))}")
    if fits.data.is_numeric:
        lines.append(f"from mercer.kernels import {type(fits.kernel).__name__}")
    lines.append("from mercer.tables import modelling, read_table")
    return "\n".join(lines)


def _reading(fits: Fits, source: str, given: Mapping[str, Any]) -> str:
    data, state = fits.data, fits.state
    options = [repr(source)]
    if data.table.label not in (None, "class") or (state.label and source != state.data):
        options.append(f"label={data.table.label!r}")
    if state.ignore:
        options.append(f"ignore={list(state.ignore)!r}")
    if state.categorical:
        options.append(f"categorical={list(state.categorical)!r}")
    defaults = {"missing": "auto", "encoding": "utf-8"}
    options += [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    lines = [f"table = read_table({', '.join(options)})"]
    if data.is_numeric:
        lines.append(f"X = modelling(table, scale={data.scale}).data")
    else:
        lines.append(f"model = modelling(table, bandwidth={data.bandwidth(state)!r})")
        lines.append("X = model.data")
    if data.n < data.table.n:
        take = "X[rows]" if data.is_numeric else "X.iloc[rows].reset_index(drop=True)"
        lines.append(f"rows = {_SAMPLE.format('X', ANALYSED)}  # as the explorer does")
        lines.append(f"X = {take}")
    if data.is_large:
        lines.append(f"shown = X[{_SAMPLE.format('X', SHOWN)}]  # the points on the page")
    return "\n".join(lines)


def _kernel(fits: Fits) -> str:
    if not fits.data.is_numeric:
        return "kernel = model.kernel"
    numbers = ", ".join(f"{name}={value!r}" for name, value in fits.kernel.get_params().items())
    return f"kernel = {type(fits.kernel).__name__}({numbers})"


def _estimator(fits: Fits) -> str:
    return "KernelECA" if fits.selection.spectrum.target == "entropy" else "KernelPCA"


def _components(fits: Fits) -> str:
    chosen = fits.selection
    count = int(chosen.columns.max()) + 1
    centred = "" if _estimator(fits) == "KernelECA" else ", center=False"
    lines = [
        f"components = {_estimator(fits)}(n_components={count}, kernel=kernel{centred}).fit(X)",
        f"chosen = {chosen.columns.tolist()}  # columns, counted from 0",
        "scores = components.transform(X)[:, chosen]",
    ]
    if fits.data.is_large:
        lines.append("shown_scores = components.transform(shown)[:, chosen]")
    return "\n".join(lines)


def _clusters(fits: Fits) -> str:
    clustering = fits.clustering
    if clustering is None:
        return "labels = np.zeros(len(X), dtype=int)  # no entropy, so no clusters"
    k = clustering.n_clusters_
    if clustering.kernel != "linear":
        return f"labels = EntropyClustering(n_clusters={k}, kernel=kernel).fit_predict(X)"
    of = "shown_scores" if fits.data.is_large else "scores"
    return (
        "# by angle in the space of the chosen components\n"
        f'clustering = EntropyClustering(n_clusters={k}, kernel="linear").fit({of})\n'
        "labels = clustering.predict(scores)"
    )


def _pca(fits: Fits) -> str:
    of = "shown" if fits.data.is_large else "X"
    return (
        f"pca = KernelPCA(n_components=3, kernel=kernel, center={fits.state.center}).fit({of})\n"
        f"pca_scores = pca.transform({of})"
    )


def _has_density(fits: Fits) -> bool:
    return fits.data.is_numeric and fits.kernel.is_window


def _density(fits: Fits) -> str:
    if not _has_density(fits):
        return ""
    if fits.state.terms == "selected" and fits.selection.share < NO_ENTROPY:
        return "# the chosen components have no mean: they hold no part of the density"
    if fits.state.terms == "all":
        return "density = ParzenDensity(kernel=kernel).fit(X).pdf"
    if fits.state.terms == "kronmal-tarter":
        return "density = SeriesDensity(kernel=kernel, positive=False).fit(X).pdf"
    return """overlaps = spectrum.overlaps[chosen]
weights = overlaps * np.sqrt(spectrum.eigenvalues[chosen])
mass = (overlaps**2).sum()  # n times the mass of the truncated series
log_scale = kernel.log_normalizer(X.shape[1]) + np.log(mass)


def density(points):  # the series of the chosen eigenfunctions (Girolami 2002)
    return components.transform(points)[:, chosen] @ weights * np.exp(-log_scale)"""


def _telling() -> str:
    lines = [
        "spectrum = components.spectrum_",
        "share = spectrum.entropy_terms[chosen].sum() / spectrum.potential",
        'print(f"share of the information potential: {share:.6f}")',
        'print("cluster sizes:", np.bincount(labels[labels >= 0]))',
    ]
    return "\n".join(lines)
