"""The Python code of a view; it computes the same values as the page."""

from __future__ import annotations

from mercer import SpectralClustering
from mercer.explorer.dataset import ANALYZED, SHOWN
from mercer.explorer.models import NO_ENTROPY, Models
from mercer.kernels import SelfTuning

__all__ = ["python_code"]

_SAMPLE = "np.sort(np.random.default_rng(0).choice(len({0}), {1}, replace=False))"
_PRINT = """spectrum = components.spectrum_
fraction = spectrum.entropy_terms[selected].sum() / spectrum.potential
print(f"fraction of the information potential: {fraction:.6f}")
print("cluster sizes:", np.bincount(labels[labels >= 0]))"""


def python_code(models: Models, source: str, encoding: str = "utf-8") -> str:
    """Return the code of a view of an embedded data set or a file with this encoding."""
    parts = [_header(models), _read(models, source, encoding), _kernel(models), _components(models)]
    parts += [_clusters(models), _pca(models), _PRINT, _density(models)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _header(models: Models) -> str:
    estimators = {_estimator(models), "KernelPCA"}
    if models.clustering is not None:
        estimators.add(type(models.clustering).__name__)
    if _has_density(models):
        estimators |= {"all": {"ParzenDensity"}, "kronmal-tarter": {"SeriesDensity"}}.get(
            models.state.terms, set()
        )
    lines = ["import numpy as np", ""]
    lines.append(f"from mercer import {', '.join(sorted(estimators))}")
    if models.data.is_numeric:
        lines.append(f"from mercer.kernels import {type(models.kernel).__name__}")
    if isinstance(getattr(models.clustering, "kernel", None), SelfTuning):
        lines.append("from mercer.kernels import SelfTuning")
    lines.append("from mercer.tables import prepare, read_table")
    return "\n".join(lines)


def _read(models: Models, source: str, encoding: str) -> str:
    data, state = models.data, models.state
    names_label = data.table.label not in (None, "class") or (state.label and source != state.data)
    options = {
        "label": data.table.label if names_label else None,
        "ignore": list(state.ignore),
        "categorical": list(state.categorical),
        "missing": None if state.missing == "auto" else state.missing,
        "encoding": None if encoding == "utf-8" else encoding,
    }
    arguments = [repr(source), *(f"{name}={value!r}" for name, value in options.items() if value)]
    lines = [f"table = read_table({', '.join(arguments)})"]
    if data.is_numeric:
        lines.append(f"X = prepare(table, scale={data.scale}).data")
    else:
        lines.append(f"model = prepare(table, bandwidth={data.bandwidth(state)!r})")
        lines.append("X = model.data")
    if data.n < data.table.n:
        subset = "X[rows]" if data.is_numeric else "X.iloc[rows].reset_index(drop=True)"
        lines.append(f"rows = {_SAMPLE.format('X', ANALYZED)}  # the analyzed rows")
        lines.append(f"X = {subset}")
    if data.is_large:
        lines.append(f"shown = X[{_SAMPLE.format('X', SHOWN)}]  # the rows on the page")
    return "\n".join(lines)


def _kernel(models: Models) -> str:
    if not models.data.is_numeric:
        return "kernel = model.kernel"
    params = ", ".join(f"{name}={value!r}" for name, value in models.kernel.get_params().items())
    return f"kernel = {type(models.kernel).__name__}({params})"


def _estimator(models: Models) -> str:
    return "KernelECA" if models.components.spectrum.target == "entropy" else "KernelPCA"


def _components(models: Models) -> str:
    selected = models.components
    count = int(selected.columns.max()) + 1
    center = "" if _estimator(models) == "KernelECA" else ", center=False"
    lines = [
        f"components = {_estimator(models)}(n_components={count}, kernel=kernel{center}).fit(X)",
        f"selected = {selected.columns.tolist()}  # 0-based indices of the components",
        "scores = components.transform(X)[:, selected]",
    ]
    if models.data.is_large:
        lines.append("shown_scores = components.transform(shown)[:, selected]")
    return "\n".join(lines)


def _clusters(models: Models) -> str:
    clustering = models.clustering
    if clustering is None:
        return "labels = np.zeros(len(X), dtype=int)  # no entropy, so no clusters"
    k = clustering.n_clusters_
    if isinstance(clustering, SpectralClustering):
        return _spectral_clusters(models, clustering)
    if clustering.kernel != "linear":
        return f"labels = EntropyClustering(n_clusters={k}, kernel=kernel).fit_predict(X)"
    scores = "shown_scores" if models.data.is_large else "scores"
    return (
        "# by angle in the space of the selected components\n"
        f'clustering = EntropyClustering(n_clusters={k}, kernel="linear").fit({scores})\n'
        "labels = clustering.predict(scores)"
    )


def _spectral_clusters(models: Models, clustering: SpectralClustering) -> str:
    kernel, rows = "", "shown" if models.data.is_large else "X"
    if isinstance(clustering.kernel, SelfTuning):  # a table of numbers with missing values
        kernel = ", kernel=SelfTuning(kernel=prepare(table).kernel)"
    return (
        f"clustering = SpectralClustering(n_clusters={clustering.n_clusters_}{kernel}, "
        f"standardize=False).fit({rows})\n"
        "labels = clustering.predict(X)"
    )


def _pca(models: Models) -> str:
    rows, center = "shown" if models.data.is_large else "X", models.state.center
    return (
        f"pca = KernelPCA(n_components=3, kernel=kernel, center={center}).fit({rows})\n"
        f"pca_scores = pca.transform({rows})"
    )


def _has_density(models: Models) -> bool:
    return models.data.is_numeric and models.kernel.is_density


def _density(models: Models) -> str:
    if not _has_density(models):
        return ""
    if models.state.terms == "selected" and models.components.potential_fraction < NO_ENTROPY:
        return "# the selected components hold no entropy, so their density is zero"
    if models.state.terms == "all":
        return "density = ParzenDensity(kernel=kernel).fit(X).pdf"
    if models.state.terms == "kronmal-tarter":
        return "density = SeriesDensity(kernel=kernel, positive=False).fit(X).pdf"
    return """overlaps = spectrum.overlaps[selected]
weights = overlaps * np.sqrt(spectrum.eigenvalues[selected])
mass = (overlaps**2).sum()  # n times the mass of the truncated series
log_scale = kernel.log_normalizer(X.shape[1]) + np.log(mass)


def density(points):  # series of the selected eigenfunctions (Girolami 2002)
    return components.transform(points)[:, selected] @ weights * np.exp(-log_scale)"""
