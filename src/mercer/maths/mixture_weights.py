"""Mixture weights of greatest likelihood: a concave problem on the simplex, solved with a proof.

Dictionary: K the n × n kernel values, q the shares of the observations (they add up to 1), a the
weights sought (not negative, adding up to 1), p = K a the mixture at the observations,
``F(a) = Σ_i q_i log p_i``, ``g = K'(q/p)`` its gradient. As F is concave and a'g = 1, no weights do
better than F by more than ``max_j g_j - 1``: that gap is the proof. At the optimum g = 1 where
a > 0 and g ≤ 1 elsewhere, so most weights are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from mercer.maths.types import Array

__all__ = ["MixtureWeights", "mixture_weights"]

_ROUNDS = 200
_STEPS = 60
_NEWCOMERS = 25  # candidates looked at in a round; those close to a better one wait
_CLOSE = 0.5  # kernel value, as a share of its largest
_LEAST_LEFT = 0.01


@dataclass(frozen=True)
class MixtureWeights:
    """Weights of greatest likelihood.

    Attributes
    ----------
    support : array of int
        Rows with a positive weight, in order.
    weights : array
        Theirs; they add up to 1.
    gap : float
        Bound on the mean log-likelihood still to be gained.
    """

    support: Array
    weights: Array
    gap: float


def mixture_weights(
    columns: Callable[[Array], Array],
    product: Callable[[Array], Array],
    shares: Array,
    tolerance: float = 1e-6,
) -> MixtureWeights:
    """Maximise ``Σ_i q_i log Σ_j a_j k_ij`` over weights a on the simplex.

    An active set: the weights of a few rows are optimised by Newton steps, each a least squares
    problem without negative unknowns (Wang 2007), and rows where the gradient exceeds 1 join.

    Parameters
    ----------
    columns : callable
        ``K[:, rows]`` for an array of row numbers.
    product : callable
        ``K v``; K is symmetric.
    shares : array of shape (n,)
        q.
    tolerance : float
        The gap at which to stop.
    """
    support = _cover(columns, len(shares))
    K = columns(support)
    weights = np.full(len(support), 1 / len(support))
    for _ in range(_ROUNDS):
        weights = _newton(K, shares, weights, 0.1 * tolerance)
        kept = weights > 0
        support, K, weights = support[kept], K[:, kept], weights[kept]
        gradient = product(shares / (K @ weights))
        gap = float(gradient.max()) - 1
        if gap <= tolerance:
            break
        newcomers = _newcomers(columns, gradient, support)
        if len(newcomers) == 0:
            break
        support = np.r_[support, newcomers]
        K = np.column_stack([K, columns(newcomers)])
        weights = np.r_[weights, np.zeros(len(newcomers))]
    order = np.argsort(support)
    return MixtureWeights(support[order], weights[order], max(gap, 0.0))


def _cover(columns: Callable[[Array], Array], n: int) -> Array:
    """Rows such that every row has one of them close by: the mixture is positive everywhere."""
    chosen: list[int] = []
    reached = np.zeros(n)
    while reached.min() < 1:
        row = int(np.argmin(reached))
        column = columns(np.array([row]))[:, 0]
        chosen.append(row)
        reached = np.maximum(reached, column / (_CLOSE * column[row]))
    return np.array(chosen)


def _newcomers(columns: Callable[[Array], Array], gradient: Array, support: Array) -> Array:
    """Rows with the largest gradients above 1, none close to a better one."""
    candidates = np.setdiff1d(np.argsort(-gradient)[:_NEWCOMERS], support)
    candidates = candidates[np.argsort(-gradient[candidates])]
    candidates = candidates[gradient[candidates] > 1]
    if len(candidates) == 0:
        return candidates
    among = columns(candidates)[candidates]
    close = _CLOSE * among.diagonal().max()
    taken: list[int] = []
    for i in range(len(candidates)):
        if all(among[i, j] < close for j in taken):
            taken.append(i)
    return candidates[taken]


def _newton(K: Array, shares: Array, weights: Array, tolerance: float) -> Array:
    """Optimise the weights of these columns alone.

    Without the constraint on their sum the objective ``F(a) - Σ a`` has the same optimum. Its
    quadratic model about a is ``c'a - a'Ha/2`` with ``H = U' diag(q) U``, ``U = K/p``, c = 2g - 1.
    """
    for _ in range(_STEPS):
        mixture = K @ weights
        U = K / mixture[:, None]
        gradient = shares @ U
        if gradient.max() - 1 <= tolerance:
            break
        H = U.T @ (shares[:, None] * U)
        H[np.diag_indices_from(H)] *= 1 + 1e-12  # equal columns
        R = cholesky(H)
        target, _ = nnls(R, solve_triangular(R, 2 * gradient - 1, trans=1))
        weights = _step(K, shares, weights, target)
        # EM's step never lowers the likelihood, and settles weights too small for it to show
        weights = weights * (shares @ (K / (K @ weights)[:, None]))
    return weights


def _step(K: Array, shares: Array, weights: Array, target: Array) -> Array:
    """Go towards the target as far as the likelihood agrees; back on the simplex.

    Nor may the mixture fall to less than a share ``_LEAST_LEFT`` of what it was anywhere: where an
    observation of little weight is left without any, each later step would no more than double it.
    """
    before = K @ weights
    start, length = float(shares @ np.log(before) - weights.sum()), 1.0
    while length > 1e-6:
        trial = weights + length * (target - weights)
        mixture = K @ trial
        if (mixture >= _LEAST_LEFT * before).all() and (
            float(shares @ np.log(mixture) - trial.sum()) > start
        ):
            return trial / trial.sum()
        length /= 2
    return weights
