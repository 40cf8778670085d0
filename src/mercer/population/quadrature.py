"""Integration rules: Gauss rules, a rule on the quantile scale, tensor products, and refinement.

A rule replaces ``E f(X)`` by ``Σ_j w_j f(x_j)`` with weights that add up to 1. The number of nodes
is increased until the result converges, and the error is estimated from the last changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import asinh, log, pi
from typing import TypeVar

import numpy as np
from scipy.special import expit, roots_hermitenorm, roots_legendre
from scipy.stats.qmc import Sobol

from mercer.utils.types import Array

__all__ = [
    "Quadrature",
    "gauss_legendre",
    "normal_rule",
    "quantile_rule",
    "refine_quadrature",
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
        """Number of nodes."""
        return len(self.weights)

    def __call__(self, function: Callable[[Array], Array]) -> Array:
        """Return the weighted sum of a function's values over the first axis."""
        return np.asarray(np.tensordot(self.weights, np.asarray(function(self.points)), 1))

    def without(self, negligible: Array) -> Quadrature:
        """Return the rule without the nodes in a mask."""
        return Quadrature(self.points[~negligible], self.weights[~negligible])


@lru_cache(maxsize=64)
def normal_rule(n: int) -> tuple[Array, Array]:
    """Return a rule of n nodes for the standard normal distribution.

    Up to 96 nodes it is a Gauss-Hermite rule, exact to degree 2n - 1. Larger rules have equal steps
    h, with an error of about exp(-2π²/h²) and a mass of 2e-21 outside their range.
    """
    if n <= 96:
        nodes, weights = roots_hermitenorm(n)
    else:  # nodes of larger Gauss-Hermite rules spread over ±2√n, where most weights are negligible
        nodes = np.linspace(-9.5, 9.5, n)
        weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Return the Gauss rule of n nodes for the uniform distribution on [0, 1].

    It is exact to degree 2n - 1.
    """
    nodes, weights = roots_legendre(n)
    return (1 + nodes) / 2, weights / weights.sum()


def quantile_rule(
    quantile: Callable[[Array], Array], upper_quantile: Callable[[Array], Array], n: int
) -> tuple[Array, Array]:
    r"""Return the trapezoid rule of n nodes after a double-exponential substitution.

    With :math:`u(t) = 1 / (1 + e^{-\pi \sinh t})` the integrand :math:`f(Q(u(t)))\, u'(t)` falls
    off double-exponentially for any distribution, bounded or heavy-tailed, so equal steps in t
    converge exponentially (Takahasi and Mori 1974).

    ``quantile``, ``upper_quantile``: inverses of the distribution function and of the survival
    function. Each half of the nodes uses the one that is accurate in its tail.
    """
    reach = asinh(-log(1e-20) / pi)  # the mass beyond, which high moments amplify
    t = np.linspace(-reach, reach, n)
    exponent = pi * np.sinh(t)
    below, above = expit(exponent), expit(-exponent)
    left = t < 0
    nodes = np.empty(n)
    nodes[left], nodes[~left] = quantile(below[left]), upper_quantile(above[~left])
    weights = np.cosh(t) * below * above
    return nodes, weights / weights.sum()


def tensor(rules: Sequence[Quadrature]) -> Quadrature:
    """Return the rule of independent coordinates: all combinations, the first varying slowest."""

    def join(first: Quadrature, second: Quadrature) -> Quadrature:
        points = np.hstack(
            [np.repeat(first.points, second.size, 0), np.tile(second.points, (first.size, 1))]
        )
        return Quadrature(points, np.outer(first.weights, second.weights).ravel())

    return reduce(join, rules)


def union(proportions: Array, rules: Sequence[Quadrature]) -> Quadrature:
    """Return the rule of a mixture: all nodes, with weights times the mixture proportions."""
    return Quadrature(
        np.vstack([rule.points for rule in rules]),
        np.concatenate([p * rule.weights for p, rule in zip(proportions, rules, strict=True)]),
    )


_EDGE = 1e-15


def shifted_sobol(n: int, d: int, seed: int) -> Array:
    """Return the first n points of a Sobol sequence in (0, 1)^d, shifted at random modulo 1.

    The shift makes each mean unbiased, so its error can be estimated from several seeds.
    """
    if d == 0:
        return np.empty((n, 0))
    points = Sobol(d, scramble=False).random_base2(max(1, (n - 1).bit_length()))[:n]
    shift = np.random.default_rng(seed).random(d)
    return np.clip((points + shift) % 1.0, _EDGE, 1 - _EDGE)


def remaining_error(change: Array, earlier_change: Array) -> Array:
    """Estimate the error after the last refinement from the changes of the last two.

    If changes decrease by the factor ρ each time, the sum of the remaining changes is
    ``change · ρ / (1 - ρ)``. The estimate is at least the last change, and ρ is at most 0.9.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(earlier_change > 0, change / earlier_change, 0.0)
    ratio = np.minimum(ratio, 0.9)
    return np.asarray(change * np.maximum(1.0, ratio / (1 - ratio)))


_Result = TypeVar("_Result")


def refine_quadrature(
    results: Iterable[_Result],
    values: Callable[[_Result], Array],
    is_accurate: Callable[[Array, Array], bool],
) -> tuple[_Result, Array] | None:
    """Return the first result that is accurate, or else the last one, and its estimated errors.

    ``results``: computed lazily on rules of increasing size; None for fewer than three of them,
    which the estimate needs. ``values``: returns the values of a result that must converge.
    ``is_accurate``: takes these values and their estimated errors.
    """
    latest: _Result | None = None
    change: Array | None = None
    errors: Array | None = None
    for result in results:
        if latest is not None:
            earlier, change = change, np.abs(values(result) - values(latest))
            if earlier is not None:
                errors = remaining_error(change, earlier)
        latest = result
        if errors is not None and is_accurate(values(latest), errors):
            break
    return None if latest is None or errors is None else (latest, errors)
