"""Partitions of weighted graphs: conductance, and normalized rows of spectral embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.utils.types import Array

__all__ = ["conductances", "unit_rows"]


def conductances(graph: Any, labels: Array, count: int) -> Array:
    """Return for each cluster the fraction of its edge weights that leave it.

    Their sum is the normalized cut. A cluster without edges has conductance 1.

    Parameters
    ----------
    graph : sparse array of shape (n, n)
        Symmetric, with nonnegative weights.
    labels : int array of shape (n,)
        0, …, count - 1.
    count : int

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> conductances(path, np.array([0, 0, 1]), 2)
    array([0.33333333, 1.        ])
    """
    n = len(labels)
    members = csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, count))
    between = (members.T @ (graph @ members)).toarray()
    volumes = between.sum(axis=1)
    inside = between.diagonal()
    return np.where(volumes > 0, 1 - inside / np.where(volumes > 0, volumes, 1), 1.0)


def unit_rows(V: Array) -> Array:
    """Return rows divided by their norms; zero rows are unchanged."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    return np.asarray(V / np.where(norms > 0, norms, 1))
