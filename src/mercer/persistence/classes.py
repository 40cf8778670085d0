"""Classes that a model file may name, and how their instances are created.

A file names classes of mercer by the stable names of :data:`CLASSES`, which do not depend on the
module that defines a class. Instances are created without calling any method of the class: only
their attributes are set. A class that is not listed here is created only if the caller of ``load``
passes it as trusted.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

__all__ = ["CLASSES", "check_plain", "fill", "find_class", "instance", "is_listed", "name_of"]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE, set for classes defined in Python

#: Stable name in a file -> (module, class). The names are part of the file format: never change or
#: reuse one. A class that moves or is renamed changes only the right-hand side.
CLASSES: dict[str, tuple[str, str]] = {
    "mercer.ComponentClassifier": ("mercer.supervised.component_models", "ComponentClassifier"),
    "mercer.ComponentRegressor": ("mercer.supervised.component_models", "ComponentRegressor"),
    "mercer.EntropyClustering": ("mercer.cluster.entropy_clustering", "EntropyClustering"),
    "mercer.JointMixtureClassifier": ("mercer.mixture.joint_mixture", "JointMixtureClassifier"),
    "mercer.JointMixtureDensity": ("mercer.mixture.joint_density", "JointMixtureDensity"),
    "mercer.JointMixtureRegressor": ("mercer.mixture.joint_mixture", "JointMixtureRegressor"),
    "mercer.KernelDenoiser": ("mercer.decomposition.denoising", "KernelDenoiser"),
    "mercer.KernelECA": ("mercer.decomposition.eca", "KernelECA"),
    "mercer.KernelLDA": ("mercer.supervised.kernel_lda", "KernelLDA"),
    "mercer.KernelNovelty": ("mercer.novelty.kernel_novelty", "KernelNovelty"),
    "mercer.KernelPCA": ("mercer.decomposition.pca", "KernelPCA"),
    "mercer.MaximumEntropyProjection": (
        "mercer.decomposition.maximum_entropy",
        "MaximumEntropyProjection",
    ),
    "mercer.MercerMixture": ("mercer.mixture.mercer_mixture", "MercerMixture"),
    "mercer.OrthogonalSeries": ("mercer.density.orthogonal_series", "OrthogonalSeries"),
    "mercer.ParzenDensity": ("mercer.density.parzen_density", "ParzenDensity"),
    "mercer.ProcessMonitor": ("mercer.monitoring.process_monitor", "ProcessMonitor"),
    "mercer.RobustKernelPCA": ("mercer.decomposition.robust_pca", "RobustKernelPCA"),
    "mercer.SeriesDensity": ("mercer.density.series_density", "SeriesDensity"),
    "mercer.SpectralClustering": (
        "mercer.cluster.spectral_clustering",
        "SpectralClustering",
    ),
    "mercer.StackedDensity": ("mercer.density.stacked_density", "StackedDensity"),
    "mercer.Spectrum": ("mercer.eigen.decompose", "Spectrum"),
    "mercer.domains.Box": ("mercer.mixture.domains.spaces", "Box"),
    "mercer.domains.Categories": ("mercer.mixture.domains.column_domains", "Categories"),
    "mercer.domains.Counts": ("mercer.mixture.domains.column_domains", "Counts"),
    "mercer.domains.FiniteSpace": ("mercer.mixture.domains.spaces", "FiniteSpace"),
    "mercer.domains.GaussianBase": ("mercer.mixture.domains.spaces", "GaussianBase"),
    "mercer.domains.Interval": ("mercer.mixture.domains.column_domains", "Interval"),
    "mercer.domains.Normalization": ("mercer.mixture.domains.base", "Normalization"),
    "mercer.domains.ProductDomain": ("mercer.mixture.domains.products", "ProductDomain"),
    "mercer.domains.Strings": ("mercer.mixture.domains.column_domains", "Strings"),
    "mercer.kernels.Categorical": ("mercer.kernels.categories", "Categorical"),
    "mercer.kernels.Cosine": ("mercer.kernels.dot", "Cosine"),
    "mercer.kernels.Epanechnikov": ("mercer.kernels.stationary", "Epanechnikov"),
    "mercer.kernels.Gaussian": ("mercer.kernels.stationary", "Gaussian"),
    "mercer.kernels.Graph": ("mercer.kernels.objects", "Graph"),
    "mercer.kernels.Hamming": ("mercer.kernels.categories", "Hamming"),
    "mercer.kernels.Jaccard": ("mercer.kernels.objects", "Jaccard"),
    "mercer.kernels.Laplacian": ("mercer.kernels.stationary", "Laplacian"),
    "mercer.kernels.Linear": ("mercer.kernels.dot", "Linear"),
    "mercer.kernels.Matern": ("mercer.kernels.stationary", "Matern"),
    "mercer.kernels.MinMax": ("mercer.kernels.objects", "MinMax"),
    "mercer.kernels.NGram": ("mercer.kernels.objects", "NGram"),
    "mercer.kernels.Neighbors": ("mercer.kernels.neighbors", "Neighbors"),
    "mercer.kernels.On": ("mercer.kernels.columns", "On"),
    "mercer.kernels.Polynomial": ("mercer.kernels.dot", "Polynomial"),
    "mercer.kernels.Precomputed": ("mercer.kernels.functions", "Precomputed"),
    "mercer.kernels.Product": ("mercer.kernels.algebra", "Product"),
    "mercer.kernels.Scaled": ("mercer.kernels.algebra", "Scaled"),
    "mercer.kernels.SelfTuning": ("mercer.kernels.neighbors", "SelfTuning"),
    "mercer.kernels.Sigmoid": ("mercer.kernels.dot", "Sigmoid"),
    "mercer.kernels.Sum": ("mercer.kernels.algebra", "Sum"),
    "mercer.population.Empirical": ("mercer.population.measures", "Empirical"),
    "mercer.population.Mixture": ("mercer.population.measures", "Mixture"),
    "mercer.population.Normal": ("mercer.population.measures", "Normal"),
    "mercer.population.Product": ("mercer.population.measures", "Product"),
    "mercer.population.Uniform": ("mercer.population.measures", "Uniform"),
    "mercer.solvers.Auto": ("mercer.eigen.plan", "Auto"),
    "mercer.solvers.Dense": ("mercer.eigen.dense", "Dense"),
    "mercer.solvers.Eigenpairs": ("mercer.eigen.base", "Eigenpairs"),
    "mercer.solvers.Fourier": ("mercer.eigen.approximations", "Fourier"),
    "mercer.solvers.Lanczos": ("mercer.eigen.lanczos", "Lanczos"),
    "mercer.solvers.Nystrom": ("mercer.eigen.approximations", "Nystrom"),
    "mercer.solvers.VerifiedLanczos": ("mercer.eigen.verified_lanczos", "VerifiedLanczos"),
    "mercer.tables.Omission": ("mercer.tables.columns", "Omission"),
    "mercer.tables.Preparation": ("mercer.tables.preparation", "Preparation"),
    "mercer.tables.Table": ("mercer.tables.table", "Table"),
    # not public: attributes of the classes above
    "mercer.internal.Adaptation": ("mercer.bandwidth.adaptive_density", "Adaptation"),
    "mercer.internal.BandwidthRecord": ("mercer.cluster.bandwidth_sweep", "BandwidthRecord"),
    "mercer.internal.Bounds": ("mercer.density.bounds", "Bounds"),
    "mercer.internal.Basis": ("mercer.density.orthogonal_series", "Basis"),
    "mercer.internal.Coordinates": ("mercer.bandwidth.likelihood", "Coordinates"),
    "mercer.internal.ChartCalibration": ("mercer.monitoring.control_charts", "ChartCalibration"),
    "mercer.internal.ClusterMeans": ("mercer.cluster.angular", "ClusterMeans"),
    "mercer.internal.Calibration": ("mercer.utils.quantiles", "Calibration"),
    "mercer.internal.Mahalanobis": ("mercer.novelty.mahalanobis", "Mahalanobis"),
    "mercer.internal.MixtureScore": ("mercer.novelty.statistics", "MixtureScore"),
    "mercer.internal.NamedColumns": ("mercer.tables.preparation", "NamedColumns"),
    "mercer.internal.NegativeLogDensity": (
        "mercer.novelty.density_scores",
        "NegativeLogDensity",
    ),
    "mercer.internal.NeighborDistance": ("mercer.novelty.neighbors", "NeighborDistance"),
    "mercer.internal.ShrunkGaussian": ("mercer.novelty.mahalanobis", "ShrunkGaussian"),
    "mercer.internal.CoordinateConvolution": (
        "mercer.kernels.densities",
        "CoordinateConvolution",
    ),
    "mercer.internal.Discriminants": ("mercer.supervised.scatter", "Discriminants"),
    "mercer.internal.ExactFeatures": ("mercer.gram.features", "ExactFeatures"),
    "mercer.internal.ExplicitGram": ("mercer.gram.features", "ExplicitGram"),
    "mercer.internal.FeatureExpansion": ("mercer.gram.features", "FeatureExpansion"),
    "mercer.internal.FeatureDistance": ("mercer.decomposition.statistics", "FeatureDistance"),
    "mercer.internal.FourierExpansion": ("mercer.gram.fourier", "FourierExpansion"),
    "mercer.internal.FourierGram": ("mercer.gram.fourier", "FourierGram"),
    "mercer.internal.FrequencyGrid": ("mercer.gram.fourier", "FrequencyGrid"),
    "mercer.internal.GaussianMixture": ("mercer.mixture.gaussian_mixture", "GaussianMixture"),
    "mercer.internal.KernelDistance": ("mercer.monitoring.process_distance", "KernelDistance"),
    "mercer.internal.KernelExpansion": ("mercer.gram.expansion", "KernelExpansion"),
    "mercer.internal.LandmarkFeatures": ("mercer.gram.landmarks", "LandmarkFeatures"),
    "mercer.internal.Moments": ("mercer.utils.weights", "Moments"),
    "mercer.internal.NestedLeastSquares": (
        "mercer.supervised.component_models",
        "NestedLeastSquares",
    ),
    "mercer.internal.NystromGram": ("mercer.gram.landmarks", "NystromGram"),
    "mercer.internal.Observed": ("mercer.kernels.columns", "Observed"),
    "mercer.internal.Perceptron": ("mercer.decomposition.maximum_entropy", "Perceptron"),
    "mercer.internal.Points": ("mercer.data.points", "Points"),
    "mercer.internal.ProjectionOutput": ("mercer.decomposition.maximum_entropy", "_Output"),
    "mercer.internal.Reference": ("mercer.kernels.neighbors", "Reference"),
    "mercer.internal.Sample": ("mercer.data.points", "Sample"),
    "mercer.internal.SamplePointDensity": (
        "mercer.bandwidth.adaptive_density",
        "SamplePointDensity",
    ),
    "mercer.internal.TypedColumns": ("mercer.tables.preparation", "TypedColumns"),
    "mercer.internal.KernelSum": ("mercer.density.kernel_sum", "KernelSum"),
    "mercer.internal.SelectedGaussianMixture": (
        "mercer.density.stacked_density",
        "SelectedGaussianMixture",
    ),
    "mercer.internal.KernelRecord": ("mercer.cluster.graphs", "KernelRecord"),
    "mercer.internal.NormalizedExpansion": ("mercer.gram.sparse", "NormalizedExpansion"),
    "mercer.internal.Voters": ("mercer.cluster.graphs", "Voters"),
    "mercer.internal.WindowSum": ("mercer.gram.kernel_sums", "WindowSum"),
}
_SKLEARN = {
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.compose._column_transformer": "_RemainderColsList",  # until 1.8
    "sklearn.decomposition": "PCA",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.mixture": "GaussianMixture",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelEncoder MaxAbsScaler MinMaxScaler "
    "Normalizer OneHotEncoder OrdinalEncoder PowerTransformer QuantileTransformer RobustScaler "
    "StandardScaler",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}


def _public(module: str) -> str:
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


CLASSES |= {
    f"{_public(module)}.{name}": (module, name)
    for module, names in _SKLEARN.items()
    for name in names.split()
}
_NAMES = {home: name for name, home in CLASSES.items()}


def name_of(cls: type) -> str:
    """Return the name of a class in a model file.

    Classes of scikit-learn are named without private modules, which may move between versions.
    """
    module = _public(cls.__module__) if cls.__module__.startswith("sklearn.") else cls.__module__
    return _NAMES.get((cls.__module__, cls.__qualname__), f"{module}.{cls.__qualname__}")


def is_listed(name: str) -> bool:
    """Return whether ``load`` creates instances of this class by default."""
    return name in CLASSES


def find_class(name: Any, trusted: Iterable[type]) -> type:
    """Return the class of this name: a trusted one or a listed one."""
    if not isinstance(name, str):
        raise ValueError("the name of a class is not a string")
    for cls in trusted:
        if name_of(cls) == name:
            return cls
    if is_listed(name):
        return _listed_class(name)
    for cls in trusted:  # a class of a script may have been moved to a module
        if cls.__name__ == name.rpartition(".")[2]:
            return cls
    raise ValueError(
        f"it holds an object of the untrusted class {name:.200}. If you trust this class, call "
        f"mercer.load(path, trusted=[{name.rpartition('.')[2]:.60}])"
    )


def _listed_class(name: str) -> type:
    module, attribute = CLASSES[name]
    cls = getattr(import_module(module), attribute, None)
    if not isinstance(cls, type):
        raise ValueError(
            f"it holds an object of the class {name}, but {module} has no class {attribute}"
        )
    return cls


def check_plain(cls: type) -> None:
    """Raise TypeError if the attributes of an instance do not determine it."""
    if is_listed(name_of(cls)):
        return
    slots = [
        s for base in cls.__mro__ for s in _slots(base) if s not in ("__dict__", "__weakref__")
    ]
    pickle_methods = [
        method
        for method in ("__reduce__", "__reduce_ex__", "__setstate__", "__getstate__")
        for owner in [next((base for base in cls.__mro__ if method in vars(base)), object)]
        if owner is not object and not owner.__module__.startswith("sklearn.")
    ]
    new_owner = next(base for base in cls.__mro__ if "__new__" in vars(base))
    changes_new = new_owner is not object and not new_owner.__module__.startswith("mercer.")
    compiled = any(not base.__flags__ & _HEAP_TYPE for base in cls.__mro__[:-1])
    if compiled or changes_new or slots or pickle_methods:
        raise TypeError(
            "only data and objects that consist of their attributes can be saved (no functions, "
            "files, locks, or classes with __slots__ or their own __reduce__)"
        )


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def instance(cls: type) -> Any:
    """Create an object without attributes, without calling a method of its class."""
    return object.__new__(cls)


def fill(obj: Any, state: Mapping[str, Any]) -> None:
    """Set the attributes of an object; missing parameters and fields get their defaults."""
    added = {name: value for name, value in _defaults(type(obj)).items() if name not in state}
    missing = [name for name, value in added.items() if value is MISSING]
    if missing:
        raise ValueError(f"{name_of(type(obj))} has no attribute {', '.join(missing)}")
    vars(obj).update(state)
    vars(obj).update(added)


def _defaults(cls: type) -> dict[str, Any]:
    """Return the attributes that an instance must have, with defaults or MISSING."""
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
