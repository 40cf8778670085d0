"""The base class of domains, and the nodes and results of integrals over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.points import Points
from mercer.utils.types import Array

__all__ = ["Domain", "Nodes", "Normalization"]


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


class Domain(ABC):
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
