"""Spectral kernel methods: one kernel matrix, one eigen-decomposition, many uses.

Names are imported when they are first used: ``import mercer`` alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# name -> module that defines it; a module's own name maps to itself
_HOMES = {
    "KernelPCA": "mercer.estimators",
    "KernelECA": "mercer.estimators",
    "EntropyClustering": "mercer.estimators",
    "KernelDenoiser": "mercer.estimators",
    "ComponentRegressor": "mercer.estimators",
    "ComponentClassifier": "mercer.estimators",
    "KernelLDA": "mercer.estimators",
    "KernelNovelty": "mercer.estimators",
    "MaximumEntropyProjection": "mercer.estimators",
    "OrthogonalSeries": "mercer.estimators",
    "ParzenDensity": "mercer.estimators",
    "ProcessMonitor": "mercer.estimators",
    "RobustKernelPCA": "mercer.estimators",
    "SeriesDensity": "mercer.estimators",
    "SelectedGaussianMixture": "mercer.estimators",
    "SpectralClustering": "mercer.estimators",
    "StackedDensity": "mercer.estimators",
    "MercerMixture": "mercer.estimators",
    "MercerNovelty": "mercer.estimators",
    "JointMixtureClassifier": "mercer.estimators",
    "JointMixtureDensity": "mercer.estimators",
    "JointMixtureRegressor": "mercer.estimators",
    "measure_diversity": "mercer.diversity",
    "compare_samples": "mercer.diversity",
    "compare_embeddings": "mercer.diversity",
    "describe_clusters": "mercer.cluster_profiles",
    "Spectrum": "mercer.spectrum",
    "load": "mercer.persistence",
    "save": "mercer.persistence",
    "get_config": "mercer.config",
    "set_config": "mercer.config",
    "config_context": "mercer.config",
}
_MODULES = (
    "bandwidth",
    "baselines",
    "cluster_count",
    "datasets",
    "diagnostics",
    "diversity",
    "domains",
    "errors",
    "information",
    "kernels",
    "plots",
    "population",
    "solvers",
    "spectroscopy",
)

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"mercer.{name}")
    else:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
