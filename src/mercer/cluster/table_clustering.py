"""Spectral clustering of prepared tables, for commands, report and explorer."""

from __future__ import annotations

from typing import Any, Literal

from mercer.cluster.spectral_clustering import SpectralClustering
from mercer.kernels import Gaussian, Kernel, Linear, Neighbors, SelfTuning, Table
from mercer.tables import Preparation

__all__ = ["describe_kernel", "table_clustering"]


def table_clustering(
    preparation: Preparation,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    bandwidth: float | str = "auto",
    noise: float = 0.0,
    solver: Any = "auto",
    verbose: bool = False,
) -> SpectralClustering:
    """Return a clustering for the data of a prepared table, not fitted.

    With the bandwidth "auto" it is the default one, and columns are standardized by the table's
    pipeline only; any other bandwidth selects the kernel of the table with this bandwidth.
    """
    return SpectralClustering(
        n_clusters,
        kernel="auto" if bandwidth == "auto" else preparation.kernel,
        standardize=False,
        noise=noise,
        solver=solver,
        verbose=verbose,
    )


def describe_kernel(kernel: Kernel) -> str:
    """Describe a kernel of a spectral clustering."""
    if isinstance(kernel, Neighbors):
        mutual = "mutual " if kernel.mutual else ""
        weighted = ", weighted by distance" if kernel.mode == "weighted" else ""
        return f"graph of {mutual}nearest neighbors ({kernel.n_neighbors} per row{weighted})"
    if isinstance(kernel, SelfTuning):
        return (
            "Gaussian kernel with one bandwidth per row (from its distance to neighbor "
            f"{kernel.n_neighbors})"
        )
    if isinstance(kernel, Linear):
        return "k-means"
    if isinstance(kernel, Table):
        return "kernel of a table"
    return "Gaussian kernel" if isinstance(kernel, Gaussian) else "product of column kernels"
