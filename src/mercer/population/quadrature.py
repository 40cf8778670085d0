"""Nodes and weights: Gauss rules, a rule on the quantile scale, tensor products, and refinement.

A rule replaces ``E f(X)`` by ``Σ_j w_j f(x_j)`` with weights that add up to 1. How many nodes are
enough is never guessed: rules are refined until the result stops moving, and the last move is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import asinh, log, pi

import numpy as np
from scipy.special import expit, roots_hermitenorm, roots_legendre
from scipy.stats.qmc import Sobol

from mercer.maths.types import Array

__all__ = [
    "Quadrature",
    "gauss_legendre",
    "normal_rule",
    "quantile_rule",
    "remaining_error",
    "shifted_sobol",
    "tensor",
    "union",
]


@dataclass(frozen=True)
class Quadrature:
    """Nodes and weights of an integration rule, ``E f(X) ≈ Σ_j w_j f(x_j)``.

    Attributes
    ----------
    points : array of shape (n, d)
    weights : array of shape (n,)
        Not negative; they add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.population import Quadrature
    >>> rule = Quadrature(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))  # a fair coin
    >>> float(rule(lambda x: x[:, 0] ** 2))
    1.0
    """

    points: Array
    weights: Array

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.weights)

    def __call__(self, function: Callable[[Array], Array]) -> Array:
        """Weighted sum of a function's values, over the first axis."""
        return np.asarray(np.tensordot(self.weights, np.asarray(function(self.points)), 1))

    def without(self, negligible: Array) -> Quadrature:
        """Return the rule without the nodes that a mask marks."""
        return Quadrature(self.points[~negligible], self.weights[~negligible])


# A Gauss-Hermite rule spreads over ±2√n, where all but 9/(2√n) of its nodes weigh nothing. From
# here on, equal steps over the range that matters resolve more.
_MOST_GAUSS_HERMITE = 96
_NORMAL_RANGE = 9.5


@lru_cache(maxsize=64)
def normal_rule(n: int) -> tuple[Array, Array]:
    """Rule of n nodes for the standard normal law: Gauss-Hermite, or equal steps if n is large.

    The first is exact to degree 2n - 1; the error of equal steps h is about exp(-2π²/h²), and what
    lies beyond them weighs 2e-21.
    """
    if n <= _MOST_GAUSS_HERMITE:
        nodes, weights = roots_hermitenorm(n)
    else:
        nodes = np.linspace(-_NORMAL_RANGE, _NORMAL_RANGE, n)
        weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Gauss rule of n nodes for the uniform law on [0, 1]; exact to degree 2n - 1."""
    nodes, weights = roots_legendre(n)
    return (1 + nodes) / 2, weights / weights.sum()


# Mass beyond the outermost nodes of the quantile rule: far below rounding, so that moments too
# are integrated well.
_TAIL = 1e-20


def quantile_rule(
    quantile: Callable[[Array], Array], upper_quantile: Callable[[Array], Array], n: int
) -> tuple[Array, Array]:
    r"""Trapezoid rule of n nodes after the double-exponential substitution of the probability.

    With :math:`u(t) = 1 / (1 + e^{-\pi \sinh t})` the integrand :math:`f(Q(u(t)))\, u'(t)` falls
    off double-exponentially for any law, bounded or heavy-tailed, so equal steps in t converge
    exponentially (Takahasi and Mori 1974).

    Parameters
    ----------
    quantile, upper_quantile : callables
        Inverses of the distribution function and of one minus it: each half of the nodes takes the
        one that keeps its digits in the tail.
    n : int
    """
    reach = asinh(-log(_TAIL) / pi)
    t = np.linspace(-reach, reach, n)
    exponent = pi * np.sinh(t)
    below, above = expit(exponent), expit(-exponent)
    left = t < 0
    nodes = np.empty(n)
    nodes[left], nodes[~left] = quantile(below[left]), upper_quantile(above[~left])
    weights = np.cosh(t) * below * above
    return nodes, weights / weights.sum()


def tensor(rules: Sequence[Quadrature]) -> Quadrature:
    """Rule of independent coordinates: every combination of nodes, the first varying slowest."""

    def join(first: Quadrature, second: Quadrature) -> Quadrature:
        points = np.hstack(
            [np.repeat(first.points, second.size, 0), np.tile(second.points, (first.size, 1))]
        )
        return Quadrature(points, np.outer(first.weights, second.weights).ravel())

    return reduce(join, rules)


def union(shares: Array, rules: Sequence[Quadrature]) -> Quadrature:
    """Rule of a mixture: all nodes, weights times the shares."""
    return Quadrature(
        np.vstack([rule.points for rule in rules]),
        np.concatenate([s * rule.weights for s, rule in zip(shares, rules, strict=True)]),
    )


_OFF_THE_EDGE = 1e-15


def shifted_sobol(n: int, d: int, seed: int) -> Array:
    """The first n points of a Sobol sequence in (0, 1)^d, shifted at random modulo 1.

    The shift makes each mean unbiased, so that several seeds tell its error.
    """
    if d == 0:
        return np.empty((n, 0))
    points = Sobol(d, scramble=False).random_base2(max(1, (n - 1).bit_length()))[:n]
    shift = np.random.default_rng(seed).random(d)
    return np.clip((points + shift) % 1.0, _OFF_THE_EDGE, 1 - _OFF_THE_EDGE)


def remaining_error(move: Array, earlier_move: Array) -> Array:
    """Error left after the last refinement, from how far the last two refinements moved a result.

    A geometric series: moves that shrink by ρ each time leave ``move · ρ / (1 - ρ)``. The estimate
    is never less than the move itself, and ρ is taken as at most 0.9.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(earlier_move > 0, move / earlier_move, 0.0)
    ratio = np.minimum(ratio, 0.9)
    return np.asarray(move * np.maximum(1.0, ratio / (1 - ratio)))
