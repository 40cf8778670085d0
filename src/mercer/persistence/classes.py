"""Which classes a model file may name, and how their instances are made: by listing, not by trust.

Instances are made without calling anything of theirs: the attributes are put in place, and that is
all. A class that is not listed here is made only if the caller of ``load`` hands it over.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

__all__ = ["check_plain", "fill", "find_class", "instance", "is_listed", "name_of"]

_MADE_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE

# module -> classes; a private module of scikit-learn is named by its public parent
_MERCER = {
    "mercer.domains.base": "Normalization",
    "mercer.domains.spaces": "Box FiniteSpace GaussianBase",
    "mercer.estimators.clustering": "BandwidthRecord EntropyClustering",
    "mercer.estimators.component_models": "ComponentClassifier ComponentRegressor",
    "mercer.estimators.denoising": "KernelDenoiser",
    "mercer.estimators.discriminant": "KernelLDA",
    "mercer.estimators.eca": "KernelECA",
    "mercer.estimators.joint_mixture": "JointMixtureClassifier JointMixtureRegressor",
    "mercer.estimators.mixture": "MercerMixture",
    "mercer.estimators.novelty": "MercerNovelty",
    "mercer.estimators.orthogonal_series": "OrthogonalSeries",
    "mercer.estimators.parzen_density": "ParzenDensity",
    "mercer.estimators.pca": "KernelPCA",
    "mercer.estimators.maximum_entropy": "MaximumEntropyProjection _Output",
    "mercer.estimators.series_density": "SeriesDensity",
    "mercer.kernels.algebra": "Product Scaled Sum",
    "mercer.kernels.categories": "Categorical Hamming",
    "mercer.kernels.columns": "Observed On",
    "mercer.kernels.dot": "Cosine Linear Polynomial Sigmoid",
    "mercer.kernels.graph": "Graph",
    "mercer.kernels.ngram": "NGram",
    "mercer.kernels.precomputed": "Precomputed",
    "mercer.kernels.sets": "Jaccard MinMax",
    "mercer.kernels.stationary": "Epanechnikov Gaussian Laplacian Matern",
    "mercer.maths.orthonormal_bases": "Basis",
    "mercer.maths.discriminant": "Discriminants",
    "mercer.maths.gaussian_mixture": "Mixture",
    "mercer.maths.least_squares": "NestedLeastSquares",
    "mercer.maths.moments": "Moments",
    "mercer.maths.perceptron": "Perceptron",
    "mercer.operators.expansion": "FeatureExpansion KernelExpansion",
    "mercer.operators.explicit": "ExplicitGram NystromGram",
    "mercer.operators.features": "ExactFeatures LandmarkFeatures",
    "mercer.operators.fourier": "FourierExpansion FourierGram",
    "mercer.operators.frequency_grid": "FrequencyGrid",
    "mercer.operators.sample": "Sample",
    "mercer.operators.window_sum": "WindowSum",
    "mercer.data": "Points",
    "mercer.population.composite": "Mixture Product",
    "mercer.population.measures": "Empirical Normal Uniform",
    "mercer.solvers.auto": "Auto",
    "mercer.solvers.dense": "Dense",
    "mercer.solvers.fourier": "Fourier",
    "mercer.solvers.lanczos": "Lanczos",
    "mercer.solvers.nystrom": "Nystrom",
    "mercer.spectrum": "Spectrum",
    "mercer.tables.modelling": "Modelling TypedColumns",
    "mercer.tables.table": "Omission Table",
}
_SKLEARN = {
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.compose._column_transformer": "_RemainderColsList",  # until 1.8
    "sklearn.decomposition": "PCA",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelEncoder MaxAbsScaler MinMaxScaler "
    "Normalizer OneHotEncoder OrdinalEncoder PowerTransformer QuantileTransformer RobustScaler "
    "StandardScaler",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}


def _public(module: str) -> str:
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


_HOMES = {
    f"{_public(module)}.{name}": module
    for module, names in {**_MERCER, **_SKLEARN}.items()
    for name in names.split()
}


def name_of(cls: type) -> str:
    """Name of a class in a model file; private modules of scikit-learn may move, so they go."""
    module = _public(cls.__module__) if cls.__module__.startswith("sklearn.") else cls.__module__
    return f"{module}.{cls.__qualname__}"


def is_listed(name: str) -> bool:
    """Whether ``load`` makes such instances without being told to."""
    return name in _HOMES


def find_class(name: Any, trusted: Iterable[type]) -> type:
    """Return the class of this name: a trusted one or a listed one."""
    if not isinstance(name, str):
        raise ValueError("a class is named by something else than a text")
    for cls in trusted:
        if name_of(cls) == name:
            return cls
    if is_listed(name):
        return _listed_class(name)
    for cls in trusted:  # a script's class may have moved to a module since
        if cls.__name__ == name.rpartition(".")[2]:
            return cls
    raise ValueError(
        f"it holds an object of the class {name:.200}, which mercer does not make unasked. If you "
        f"know that class, hand it over: mercer.load(path, trusted=[{name.rpartition('.')[2]:.60}])"
    )


def _listed_class(name: str) -> type:
    home, own = _HOMES[name], name.rpartition(".")[2]
    cls = getattr(import_module(home), own, None)
    if not isinstance(cls, type):
        raise ValueError(f"it holds an object of the class {name}, which {home} does not have here")
    return cls


def check_plain(cls: type) -> None:
    """Refuse classes whose instances are more than their attributes."""
    if is_listed(name_of(cls)):
        return
    slots = [
        s for base in cls.__mro__ for s in _slots(base) if s not in ("__dict__", "__weakref__")
    ]
    own_ways = [
        way
        for way in ("__reduce__", "__reduce_ex__", "__setstate__", "__getstate__")
        for owner in [next((base for base in cls.__mro__ if way in vars(base)), object)]
        if owner is not object and not owner.__module__.startswith("sklearn.")
    ]
    made_by = next(base for base in cls.__mro__ if "__new__" in vars(base))
    compiled = any(not base.__flags__ & _MADE_IN_PYTHON for base in cls.__mro__[:-1])
    if compiled or made_by is not object or slots or own_ways:
        raise TypeError(
            "only data and objects that consist of their attributes can be saved "
            "(no functions, files, locks, or classes with __slots__ or a __reduce__ of their own)"
        )


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def instance(cls: type) -> Any:
    """Make an object without attributes, and without calling anything of its class."""
    return object.__new__(cls)


def fill(shell: Any, state: Mapping[str, Any]) -> None:
    """Put attributes in place; what a newer class has in addition gets its default."""
    added = {name: value for name, value in _defaults(type(shell)).items() if name not in state}
    lacking = [name for name, value in added.items() if value is MISSING]
    if lacking:
        raise ValueError(f"{name_of(type(shell))} lacks {', '.join(lacking)}")
    vars(shell).update(state)
    vars(shell).update(added)


def _defaults(cls: type) -> dict[str, Any]:
    """What an instance must have, with defaults or MISSING."""
    if is_dataclass(cls):
        return {
            field.name: field.default_factory()
            if field.default_factory is not MISSING
            else field.default
            for field in fields(cls)
        }
    if not hasattr(cls, "get_params"):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = list(inspect.signature(cls).parameters.values())
    return {
        p.name: MISSING if p.default is p.empty else p.default
        for p in parameters
        if p.kind in named
    }
