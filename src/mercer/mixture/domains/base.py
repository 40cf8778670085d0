"""The base class of domains, and the nodes and results of integrals over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer.data.points import Points
from mercer.errors import ApproximationWarning, warn
from mercer.utils.estimators import Storable
from mercer.utils.types import Array

__all__ = ["Domain", "Nodes", "Normalization", "integrate", "resample"]


@dataclass(frozen=True)
class Nodes:
    """Nodes and weights of an integration rule.

    Attributes
    ----------
    points : Points, or data that an estimator accepts
    log_weights : array of shape (N,)
    groups : int
        Number of independent repetitions, stored consecutively, whose spread gives the error; 1 if
        each node is an independent draw.
    exact : bool
        Whether the integral has no error (a finite space), or one that is not random (a grid).
    widths : array of shape (N, d) or None
        Sides of the cells of a grid.
    errors : array of shape (M,) or None
        Estimates of the relative errors of the integrals of M densities over a refined grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture.domains import Box
    >>> nodes = Box(0, 2).for_dimension(1).nodes()
    >>> round(float(np.exp(nodes.log_weights).sum()), 6)
    2.0
    """

    points: Any
    log_weights: Array
    groups: int = 1
    exact: bool = False
    widths: Array | None = None
    errors: Array | None = None


@dataclass(frozen=True)
class Normalization:
    """Normalizers of the components of a density over a domain.

    Attributes
    ----------
    domain : Domain
    log_constants : array of shape (M,)
        log ∫ p_m.
    standard_errors : array of shape (M,)
        Relative standard errors of the constants: 0 if the integral is exact; on a grid an estimate
        of the error, which is mostly too large.
    effective_sizes : array of shape (M,)
        ``(Σ w)² / Σ w²``, the effective number of nodes.
    n_nodes : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerMixture
    >>> from mercer.mixture.domains import FiniteSpace
    >>> from mercer.kernels import Categorical
    >>> mixture = MercerMixture(kernel=Categorical(0.5), domain=FiniteSpace(["a", "b", "c"]))
    >>> mixture.fit(["a", "a", "b"]).normalization_.n_nodes
    3
    """

    domain: Domain
    log_constants: Array
    standard_errors: Array
    effective_sizes: Array
    n_nodes: int


class Domain(Storable, ABC):
    """A space with a base measure.

    Examples
    --------
    >>> from mercer.mixture.domains import Box, Domain, FiniteSpace
    >>> isinstance(Box([0.0], [1.0]), Domain), isinstance(FiniteSpace(["a", "b"]), Domain)
    (True, True)
    """

    def fit(self, points: Points, weights: Array | None) -> Domain:
        """Check that the domain contains the training points, and estimate its free parameters."""
        return self

    @abstractmethod
    def nodes(self) -> Nodes:
        """Return nodes for an integral."""

    def resolve(self, evaluate: Callable[[Any], Array]) -> tuple[Nodes, Array]:
        """Return nodes at which the integrals of M densities are accurate, and their logarithms.

        Parameters
        ----------
        evaluate : callable
            Maps nodes to log-densities of shape (N, M).
        """
        nodes = self.nodes()
        return nodes, evaluate(nodes.points)

    @abstractmethod
    def candidates(
        self, count: int, rng: np.random.Generator, evaluate: Callable[[Any], Array]
    ) -> tuple[Nodes, Array]:
        """Return nodes from which ``count`` points are resampled, and the log-densities there."""

    def jitter(self, points: Points, widths: Array | None, rng: np.random.Generator) -> Points:
        """Move resampled nodes at random within the cells that they represent."""
        return points

    @abstractmethod
    def log_base(self, points: Points) -> Array:
        """Return the log-density of the base measure at points: -inf outside the domain."""


# --- integration ----------------------------------------------------------------------------------


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
    if nodes.exact and errors.max() > 0.05:
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
        if sizes.min() < 100:  # effective number of nodes
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
