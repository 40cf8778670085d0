"""Spectral clustering of prepared tables, and the description of its choice of a kernel."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.cluster.spectral_clustering import SpectralClustering
from mercer.kernels import Gaussian, Kernel, Neighbors, SelfTuning
from mercer.tables import Preparation

__all__ = ["describe_kernel", "known_confidence", "table_clustering"]


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

    With the bandwidth "auto" several kernels are compared; any other bandwidth selects the kernel
    of the table with this bandwidth. Columns are standardized by the table's pipeline only. Tables
    of numbers with missing values get a self-tuning kernel with the distance of the table's kernel.

    Parameters
    ----------
    preparation : Preparation
    n_clusters : int or "auto"
    bandwidth : float or str
        As requested for ``preparation``.
    noise : float
        Fraction of the rows that are labeled -1.
    solver : str or solver
    verbose : bool

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster.table_clusters import table_clustering
    >>> from mercer.tables import prepare, read_table
    >>> prepared = prepare(read_table("wine"))
    >>> sorted(np.bincount(table_clustering(prepared, 3).fit_predict(prepared.data)).tolist())
    [54, 56, 68]
    """
    kernel: str | Kernel = "auto"
    if bandwidth != "auto":
        kernel = preparation.kernel
    elif set(preparation.table.column_types.values()) == {"number"} and preparation.table.missing:
        kernel = SelfTuning(kernel=preparation.kernel)
    return SpectralClustering(
        n_clusters,
        kernel=kernel,
        standardize=False,
        noise=noise,
        solver=solver,
        verbose=verbose,
    )


def known_confidence(clustering: SpectralClustering) -> float | None:
    """Return the probability that the number of clusters is right; None if it was given."""
    return None if np.isnan(clustering.confidence_) else clustering.confidence_


def describe_kernel(kernel: Kernel) -> str:
    """Describe a kernel of a spectral clustering.

    Examples
    --------
    >>> from mercer.kernels import Neighbors
    >>> from mercer.cluster.table_clusters import describe_kernel
    >>> describe_kernel(Neighbors(7, mode="weighted", mutual=True))
    'graph of mutual nearest neighbors (7 per row, weighted by distance)'
    """
    if isinstance(kernel, Neighbors):
        mutual = "mutual " if kernel.mutual else ""
        weighted = ", weighted by distance" if kernel.mode == "weighted" else ""
        return f"graph of {mutual}nearest neighbors ({kernel.n_neighbors} per row{weighted})"
    if isinstance(kernel, SelfTuning):
        return (
            "Gaussian kernel with one bandwidth per row (from its distance to neighbor "
            f"{kernel.n_neighbors})"
        )
    return "Gaussian kernel" if isinstance(kernel, Gaussian) else "product of column kernels"
