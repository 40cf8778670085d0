"""Spectral and entropy clustering, the number of clusters, and profiles of clusters."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "spectral_clustering": "SpectralClustering",
        "entropy_clustering": "EntropyClustering",
        "bandwidth_sweep": "BandwidthRecord",
        "kernel_kmeans": "angular_kernel_kmeans starting_rows",
        "profiles": "describe_clusters",
        "diagnostics": "ClusterProfile cluster_profile clustering_cost clustering_error",
    },
)
