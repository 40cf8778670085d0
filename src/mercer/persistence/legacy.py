"""Model files of earlier formats: class names and attributes that have changed since.

Format 1 (mercer 0.1.0.dev0) named classes by the modules that defined them. :data:`CLASS_NAMES`
maps these names to the stable names of :data:`mercer.persistence.classes.CLASSES`.

To change a class that files of format 1 hold, add an entry to :data:`UPGRADES`:

- The key is the stable name of the class, such as ``"mercer.Spectrum"``.
- The value is a function that takes the attributes of an old object, as a dict with decoded values
  (arrays, numbers, other objects, already upgraded), and returns the attributes of the current
  class. It may change the dict that it gets. Attributes that are not returned are dropped.
- The dict may come from a forged file: do not call methods of its values, and do not allocate
  memory of a size that it specifies. A missing key may raise KeyError; ``load`` reports it with
  the path.
- Parameters and dataclass fields that have a default need no entry: ``load`` sets the default.

For example, an upgrade that renames one attribute and drops another::

    def _upgrade_record(state):
        state["bandwidth"] = state.pop("width")
        state.pop("cache", None)
        return state

    UPGRADES["mercer.internal.Record"] = _upgrade_record

A class that was removed is replaced by changing its stable name in :data:`CLASS_NAMES` to that of
its successor; the upgrade is then listed under the successor's name. The files in
``tests/files/models-0.1.0.dev0`` and ``tests/persistence/test_old_files.py`` check all of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CLASS_NAMES", "UPGRADES", "from_format_1"]

State = dict[str, Any]


def _upgrade_columns(state: State) -> State:
    """Rename ``kinds`` to ``column_types``."""
    state["column_types"] = state.pop("kinds")
    return state


def _upgrade_table(state: State) -> State:
    """Add ``has_label``; format 1 marked rows without a label by the text "no label"."""
    labels = state["labels"]
    if isinstance(labels, np.ndarray):
        missing = labels == "no label" if labels.dtype.kind == "U" else np.zeros(len(labels), bool)
        state["has_label"] = ~missing
    return _upgrade_columns(state)


_PAIR_FIELDS = {
    "values": "eigenvalues",
    "overlaps": "overlaps",
    "certified": "certified",
    "certificate": "certificate",
    "ranks": "known_ranks",
    "multiplicities": "multiplicities",
    "known_values": "known_eigenvalues",
    "known_terms": "known_entropy_terms",
    "lowest": "lowest",
    "products": "products",
}


def _upgrade_spectrum(state: State) -> State:
    """Move the fields of the eigenpairs into ``pairs``; split ``method`` into its two parts."""
    from mercer.solvers.base import Eigenpairs

    algorithm, _, operator = state.pop("method").partition(", ")
    fields = {new: state.pop(old) for new, old in _PAIR_FIELDS.items()}
    state["pairs"] = Eigenpairs(vectors=None, method=algorithm, converged=True, **fields)
    state["operator"] = operator
    return state


def _upgrade_gram(state: State) -> State:
    """Drop the attributes of SciPy's LinearOperator, and add ``size`` and ``rows``."""
    size = int(state.pop("shape")[0])
    state.pop("dtype", None)
    state["size"] = size
    # with several batches and no weights the total is the number of rows
    state["rows"] = max(size, int(state["total"])) if state["weights"] is None else size
    if "whole_trace" in state:
        state["exact_trace"] = state.pop("whole_trace")
    return state


def _upgrade_clustering(state: State) -> State:
    """Rename ``_vanishing`` to ``_zero_norm``."""
    if "_vanishing" in state:
        state["_zero_norm"] = state.pop("_vanishing")
    return state


def _upgrade_discriminant(state: State) -> State:
    """Add ``shrinkage_``; None means that the factor t multiplies the whole score."""
    state["shrinkage_"] = None
    return state


def _upgrade_observed(state: State) -> State:
    """Rename ``shares`` to ``weights``."""
    state["weights"] = state.pop("shares")
    return state


def _upgrade_auto(state: State) -> State:
    """Drop ``n_components``, which is part of the request now."""
    state.pop("n_components", None)
    return state


#: Stable name of a class -> function from its attributes in format 1 to its current attributes.
UPGRADES: dict[str, Callable[[State], State]] = {
    "mercer.EntropyClustering": _upgrade_clustering,
    "mercer.KernelLDA": _upgrade_discriminant,
    "mercer.Spectrum": _upgrade_spectrum,
    "mercer.internal.ExplicitGram": _upgrade_gram,
    "mercer.internal.FourierGram": _upgrade_gram,
    "mercer.internal.NystromGram": _upgrade_gram,
    "mercer.internal.Observed": _upgrade_observed,
    "mercer.solvers.Auto": _upgrade_auto,
    "mercer.internal.TypedColumns": _upgrade_columns,
    "mercer.tables.Table": _upgrade_table,
}

#: Class names of format 1 -> stable names.
CLASS_NAMES = {
    "mercer.estimators.components.ComponentClassifier": "mercer.ComponentClassifier",
    "mercer.estimators.components.ComponentRegressor": "mercer.ComponentRegressor",
    "mercer.estimators.clustering.EntropyClustering": "mercer.EntropyClustering",
    "mercer.estimators.joint.JointMixtureClassifier": "mercer.JointMixtureClassifier",
    "mercer.estimators.joint.JointMixtureRegressor": "mercer.JointMixtureRegressor",
    "mercer.estimators.denoising.KernelDenoiser": "mercer.KernelDenoiser",
    "mercer.estimators.eca.KernelECA": "mercer.KernelECA",
    "mercer.estimators.discriminant.KernelLDA": "mercer.KernelLDA",
    "mercer.estimators.pca.KernelPCA": "mercer.KernelPCA",
    "mercer.estimators.projection.MaximumEntropyProjection": "mercer.MaximumEntropyProjection",
    "mercer.estimators.mixture.MercerMixture": "mercer.MercerMixture",
    "mercer.estimators.novelty.MercerNovelty": "mercer.MercerNovelty",
    "mercer.estimators.orthogonal.OrthogonalSeries": "mercer.OrthogonalSeries",
    "mercer.estimators.parzen.ParzenDensity": "mercer.ParzenDensity",
    "mercer.estimators.series.SeriesDensity": "mercer.SeriesDensity",
    "mercer.spectrum.Spectrum": "mercer.Spectrum",
    "mercer.domains.Box": "mercer.domains.Box",
    "mercer.domains.FiniteSpace": "mercer.domains.FiniteSpace",
    "mercer.domains.GaussianBase": "mercer.domains.GaussianBase",
    "mercer.domains.Normalization": "mercer.domains.Normalization",
    "mercer.kernels.categories.Categorical": "mercer.kernels.Categorical",
    "mercer.kernels.dot.Cosine": "mercer.kernels.Cosine",
    "mercer.kernels.stationary.Epanechnikov": "mercer.kernels.Epanechnikov",
    "mercer.kernels.stationary.Gaussian": "mercer.kernels.Gaussian",
    "mercer.kernels.graph.Graph": "mercer.kernels.Graph",
    "mercer.kernels.categories.Hamming": "mercer.kernels.Hamming",
    "mercer.kernels.sets.Jaccard": "mercer.kernels.Jaccard",
    "mercer.kernels.stationary.Laplacian": "mercer.kernels.Laplacian",
    "mercer.kernels.dot.Linear": "mercer.kernels.Linear",
    "mercer.kernels.stationary.Matern": "mercer.kernels.Matern",
    "mercer.kernels.sets.MinMax": "mercer.kernels.MinMax",
    "mercer.kernels.ngram.NGram": "mercer.kernels.NGram",
    "mercer.kernels.columns.On": "mercer.kernels.On",
    "mercer.kernels.dot.Polynomial": "mercer.kernels.Polynomial",
    "mercer.kernels.precomputed.Precomputed": "mercer.kernels.Precomputed",
    "mercer.kernels.base.Product": "mercer.kernels.Product",
    "mercer.kernels.base.Scaled": "mercer.kernels.Scaled",
    "mercer.kernels.dot.Sigmoid": "mercer.kernels.Sigmoid",
    "mercer.kernels.base.Sum": "mercer.kernels.Sum",
    "mercer.population.measures.Empirical": "mercer.population.Empirical",
    "mercer.population.composite.Mixture": "mercer.population.Mixture",
    "mercer.population.measures.Normal": "mercer.population.Normal",
    "mercer.population.composite.Product": "mercer.population.Product",
    "mercer.population.measures.Uniform": "mercer.population.Uniform",
    "mercer.solvers.auto.Auto": "mercer.solvers.Auto",
    "mercer.solvers.dense.Dense": "mercer.solvers.Dense",
    "mercer.solvers.fourier.Fourier": "mercer.solvers.Fourier",
    "mercer.solvers.lanczos.Lanczos": "mercer.solvers.Lanczos",
    "mercer.solvers.nystrom.Nystrom": "mercer.solvers.Nystrom",
    "mercer.tables.table.Omission": "mercer.tables.Omission",
    "mercer.tables.modelling.Modelling": "mercer.tables.Preparation",
    "mercer.tables.table.Table": "mercer.tables.Table",
    "mercer.estimators.clustering.BandwidthRecord": "mercer.internal.BandwidthRecord",
    "mercer.maths.bases.Basis": "mercer.internal.Basis",
    "mercer.maths.discriminant.Discriminants": "mercer.internal.Discriminants",
    "mercer.operators.features.ExactFeatures": "mercer.internal.ExactFeatures",
    "mercer.operators.explicit.ExplicitGram": "mercer.internal.ExplicitGram",
    "mercer.operators.expansion.FeatureExpansion": "mercer.internal.FeatureExpansion",
    "mercer.operators.fourier.FourierExpansion": "mercer.internal.FourierExpansion",
    "mercer.operators.fourier.FourierGram": "mercer.internal.FourierGram",
    "mercer.operators.frequencies.FrequencyGrid": "mercer.internal.FrequencyGrid",
    "mercer.maths.gaussian_mixture.Mixture": "mercer.internal.GaussianMixture",
    "mercer.operators.expansion.KernelExpansion": "mercer.internal.KernelExpansion",
    "mercer.operators.features.LandmarkFeatures": "mercer.internal.LandmarkFeatures",
    "mercer.maths.moments.Moments": "mercer.internal.Moments",
    "mercer.maths.least_squares.NestedLeastSquares": "mercer.internal.NestedLeastSquares",
    "mercer.operators.explicit.NystromGram": "mercer.internal.NystromGram",
    "mercer.kernels.columns.Observed": "mercer.internal.Observed",
    "mercer.maths.perceptron.Perceptron": "mercer.internal.Perceptron",
    "mercer.points.Points": "mercer.internal.Points",
    "mercer.estimators.projection._Output": "mercer.internal.ProjectionOutput",
    "mercer.operators.sample.Sample": "mercer.internal.Sample",
    "mercer.tables.modelling.TypedColumns": "mercer.internal.TypedColumns",
    "mercer.operators.sums.WindowSum": "mercer.internal.WindowSum",
}


def from_format_1(manifest: dict[str, Any]) -> dict[str, Any]:
    """Convert a manifest from format 1 to format 2; the tree is changed in place.

    Only class names are replaced. Attributes are upgraded while the tree is decoded, because
    references within the tree count the values before them.
    """
    nodes = [manifest["value"]]
    while nodes:
        node = nodes.pop()
        if isinstance(node, list):
            nodes.extend(node)
        elif isinstance(node, dict):
            for tag, content in node.items():
                if tag == "object" and _is_object(content):
                    content[0] = CLASS_NAMES.get(content[0], content[0])
                    nodes.extend(content[1].values())
                else:
                    nodes.append(content)
    return {**manifest, "format": 2}


def _is_object(content: Any) -> bool:
    """Return whether the content of an "object" node is [class name, attributes]."""
    return (
        isinstance(content, list)
        and len(content) == 2
        and isinstance(content[0], str)
        and isinstance(content[1], dict)
    )
