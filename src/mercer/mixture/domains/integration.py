"""Integration over a domain, and resampling from its nodes."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from mercer.errors import ApproximationWarning, warn
from mercer.mixture.domains.base import Domain, Nodes, Normalization
from mercer.utils.types import Array

__all__ = ["integrate", "resample"]

_NOTICEABLE_ERROR = 0.05  # relative; a grid with a larger one warns
_MIN_EFFECTIVE_NODES = 100  # an integral with fewer warns


def integrate(domain: Domain, nodes: Nodes, logs: Array) -> Normalization:
    """Integrate the components of a density from their logarithms at the nodes.

    Parameters
    ----------
    domain : Domain
    nodes : Nodes
    logs : array of shape (N, M)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Box, integrate
    >>> line = Box(-8, 8).for_dimension(1)
    >>> nodes = line.nodes()
    >>> logs = -0.5 * np.square(nodes.points.data)  # exp(-x²/2), whose integral is √(2π)
    >>> found = integrate(line, nodes, logs)
    >>> np.exp(found.log_constants).round(6)
    array([2.506628])
    """
    terms = logs + nodes.log_weights[:, None]
    totals = logsumexp(terms, axis=0)
    if not np.isfinite(totals).all():
        raise ValueError(
            f"The density is 0 at every node of {domain!r}, so it cannot be normalized. Use more "
            "nodes (n_nodes=…), a domain closer to the data, or a larger alpha."
        )
    probabilities = np.exp(terms - totals)
    sizes = 1 / (probabilities**2).sum(axis=0)
    errors = np.zeros(len(totals)) if nodes.errors is None else nodes.errors
    if nodes.exact and errors.max() > _NOTICEABLE_ERROR:
        warn(
            f"The normalizer over {domain!r} may be wrong by {errors.max():.0%}: the density "
            f"varies within the cells of {len(probabilities)} nodes. Use more nodes (n_nodes=…), "
            "a domain closer to the data, or a larger alpha or bandwidth.",
            ApproximationWarning,
        )
    if not nodes.exact:
        n_groups = nodes.groups if nodes.groups > 1 else len(probabilities)
        parts = probabilities.reshape(n_groups, -1, len(totals)).sum(axis=1) * n_groups
        errors = parts.std(axis=0, ddof=1) / np.sqrt(n_groups)
        if sizes.min() < _MIN_EFFECTIVE_NODES:
            warn(
                f"The normalizer over {domain!r} has {sizes.min():.0f} effective nodes of "
                f"{len(probabilities)} (relative standard error {errors.max():.2g}). Use more "
                "nodes (n_nodes=…), a domain closer to the data, or a larger alpha.",
                ApproximationWarning,
            )
    return Normalization(domain, totals, errors, sizes, len(probabilities))


def resample(nodes: Nodes, logs: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Return indices of nodes, ``counts[m]`` for the m-th component (importance resampling).

    Warns if a component has fewer effective nodes than draws, so that draws repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import FiniteSpace, resample
    >>> nodes = FiniteSpace(["often", "never"]).nodes()
    >>> logs = np.array([[0.0], [-np.inf]])
    >>> resample(nodes, logs, np.array([5]), np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 0]
    """
    terms = logs + nodes.log_weights[:, None]
    columns = np.exp(terms - logsumexp(terms, axis=0)).T
    chosen = []
    for count, weights in zip(counts, columns, strict=True):
        chosen.append(rng.choice(len(weights), size=count, p=weights / weights.sum()))
        size = 1 / (weights**2).sum()
        if not nodes.exact and size < count:
            warn(
                f"{count} draws of one component come from {size:.0f} effective candidates, so "
                "many repeat. Draw fewer points, or use a domain closer to the data.",
                ApproximationWarning,
            )
    return np.concatenate(chosen)
