"""Spectral kernel methods: one kernel matrix, one eigen-decomposition, many uses.

Names are imported when they are first used: ``import mercer`` alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# name -> module that defines it
_HOMES = {
    "KernelPCA": "decomposition.pca",
    "KernelECA": "decomposition.eca",
    "RobustKernelPCA": "decomposition.robust_pca",
    "KernelDenoiser": "decomposition.denoising",
    "MaximumEntropyProjection": "decomposition.maximum_entropy",
    "EntropyClustering": "cluster.entropy_clustering",
    "SpectralClustering": "cluster.spectral_clustering",
    "describe_clusters": "cluster.profiles",
    "OrthogonalSeries": "density.orthogonal_series",
    "ParzenDensity": "density.parzen_density",
    "SeriesDensity": "density.series_density",
    "StackedDensity": "density.stacked_density",
    "MercerMixture": "mixture.mercer_mixture",
    "JointMixtureClassifier": "mixture.joint_mixture",
    "JointMixtureDensity": "mixture.joint_density",
    "JointMixtureRegressor": "mixture.joint_mixture",
    "ComponentClassifier": "supervised.component_models",
    "ComponentRegressor": "supervised.component_models",
    "KernelLDA": "supervised.kernel_lda",
    "KernelNovelty": "novelty.kernel_novelty",
    "ProcessMonitor": "monitoring.process_monitor",
    "measure_diversity": "diversity",
    "compare_samples": "diversity",
    "compare_embeddings": "diversity",
    "Spectrum": "eigen.decompose",
    "load": "persistence",
    "save": "persistence",
    "get_config": "utils.resources",
    "set_config": "utils.resources",
    "config_context": "utils.resources",
}
_MODULES = (
    "bandwidth",
    "cluster",
    "datasets",
    "decomposition",
    "density",
    "diversity",
    "domains",
    "errors",
    "information",
    "kernels",
    "mixture",
    "monitoring",
    "novelty",
    "plots",
    "population",
    "solvers",
    "supervised",
    "tables",
)

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"mercer.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"mercer.{name}")
    else:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
