"""The number of clusters, from valleys of neighbor graphs, and its calibrated confidence.

A graph is divided recursively at the deepest valley of its sweep profile
(:mod:`mercer.cluster.graph_valleys`). A valley of depth z in a part with E edges, with crossing
weights of at least t on both sides, is significant if

    z - 2 log(1 + E / t) > 1.3.

The logarithm corrects for the number of places at which a valley could be found, about E / t along
the order. The symmetric neighbor graph decides first. Where it has no significant valley, the
weighted mutual neighbor graph decides, which has fewer edges between thin clusters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.cluster.graph_valleys import Valley, divide

__all__ = ["COULD_NOT_TELL", "ClusterNumber", "choose_number"]

#: Confidence below which the number of clusters is reported as uncertain.
COULD_NOT_TELL = 0.5
_PLACES, _THRESHOLD = 2.0, 1.3  # of significant valleys
_VECTORS = 2
_LEAST_DEPTH = 3.0  # valleys that are shallower are never significant
_MOST_VALLEYS = 150
_LARGEST_MARGIN = 3.0
_FEW_ROWS = 30
# Logistic regression of correct decisions on margin and agreement (docs/decisions.md).
_INTERCEPT, _SLOPE, _AGREEMENT = -0.64, 1.12, 0.91


class ClusterNumber(NamedTuple):
    """A number of clusters.

    Attributes
    ----------
    n_clusters : int
    confidence : float
        Estimated probability that the number is right.
    """

    n_clusters: int
    confidence: float


class _Count(NamedTuple):
    """Number of parts, and distances of scores from the threshold: accepted, rejected valleys."""

    n_clusters: int
    accepted: float
    rejected: float


def choose_number(symmetric: Any, mutual: Any, weighted: Any) -> ClusterNumber:
    """Choose the number of clusters of neighbor graphs.

    Parameters
    ----------
    symmetric, mutual : sparse arrays of shape (n, n)
        Edges of the symmetric and of the mutual 10-neighbor graph.
    weighted : sparse array of shape (n, n)
        The mutual 10-neighbor graph with weights.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> block = np.ones((60, 60)) - np.eye(60)
    >>> graph = csr_array(np.kron(np.eye(3), block))
    >>> choose_number(graph, graph, graph).n_clusters
    3
    """
    first = _count(symmetric, symmetric)
    second = _count(weighted, mutual)
    chosen = second if first.n_clusters == 1 else first
    if chosen.n_clusters == 1:
        margin = min(first.rejected, second.rejected)
    else:
        margin = min(chosen.accepted, chosen.rejected)
    agree = first.n_clusters == second.n_clusters
    if chosen.n_clusters == 1 and symmetric.shape[0] < _FEW_ROWS:  # no valley could be significant
        margin, agree = 0.0, False
    logit = _INTERCEPT + _SLOPE * min(margin, _LARGEST_MARGIN) + _AGREEMENT * agree
    return ClusterNumber(chosen.n_clusters, float(1 / (1 + np.exp(-logit))))


def _count(graph: Any, edges: Any) -> _Count:
    valleys = divide(graph, edges, _LEAST_DEPTH, n_vectors=_VECTORS, most=_MOST_VALLEYS)
    significant: list[bool] = []
    accepted = rejected = np.inf
    for valley in valleys:
        margin = _score(valley) - _THRESHOLD
        is_considered = valley.parent < 0 or significant[valley.parent]
        significant.append(is_considered and margin > 0)
        if significant[-1]:
            accepted = min(accepted, margin)
        elif is_considered:
            rejected = min(rejected, -margin)
    return _Count(sum(significant) + 1, accepted, rejected)


def _score(valley: Valley) -> float:
    """Return the depth, corrected for the number of places where a valley could be."""
    if valley.depth <= 0:
        return -np.inf
    return valley.depth - _PLACES * float(np.log1p(valley.edges / max(valley.sides, 1.0)))
