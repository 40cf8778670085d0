"""Maximum-likelihood mixture weights: a concave problem on the simplex, with an optimality bound.

Notation: K the n × n kernel matrix, q the normalized weights of the observations (sum 1), a the
mixture weights (non-negative, sum 1), p = K a the mixture at the observations,
``F(a) = Σ_i q_i log p_i`` and ``g = K'(q/p)`` its gradient. Since F is concave and a'g = 1, the
maximum of F exceeds F(a) by at most ``max_j g_j - 1`` (the duality gap). At the optimum g = 1 where
a > 0 and g ≤ 1 elsewhere, so most weights are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from mercer.data.points import Sample
from mercer.eigen.lanczos import Lanczos
from mercer.gram.expansion import cross_gram
from mercer.utils.types import Array

__all__ = ["MixtureWeights", "maximum_likelihood", "mixture_weights", "stacking_weights"]

_CLOSE = 0.5  # two rows are close if their kernel value exceeds this fraction of the largest


@dataclass(frozen=True)
class MixtureWeights:
    """Maximum-likelihood mixture weights."""

    support: Array  # sorted indices of the rows with positive weight
    weights: Array  # weights of these rows, with sum 1
    gap: float  # upper bound on the possible increase of the mean log-likelihood


def mixture_weights(
    columns: Callable[[Array], Array],
    product: Callable[[Array], Array],
    sample_weights: Array,
    tolerance: float = 1e-6,
) -> MixtureWeights:
    """Maximize ``Σ_i q_i log Σ_j a_j k_ij`` over weights a on the simplex.

    This is an active-set method. The weights of a few rows are optimized by Newton steps, each of
    which solves a non-negative least-squares problem (Wang 2007). Rows where the gradient exceeds 1
    are then added.

    ``columns``: ``K[:, indices]`` for an array of row indices. ``product``: ``K v``; K is
    symmetric. ``sample_weights``: q. ``tolerance``: stop when the duality gap is at most this.
    """
    support = _cover(columns, len(sample_weights))
    K = columns(support)
    weights = np.full(len(support), 1 / len(support))
    for _ in range(200):
        weights = _newton(K, sample_weights, weights, 0.1 * tolerance)
        positive = weights > 0
        support, K, weights = support[positive], K[:, positive], weights[positive]
        gradient = product(sample_weights / (K @ weights))
        gap = float(gradient.max()) - 1
        if gap <= tolerance:
            break
        added = _rows_to_add(columns, gradient, support)
        if len(added) == 0:
            break
        support = np.r_[support, added]
        K = np.column_stack([K, columns(added)])
        weights = np.r_[weights, np.zeros(len(added))]
    order = np.argsort(support)
    return MixtureWeights(support[order], weights[order], max(gap, 0.0))


def maximum_likelihood(sample: Sample) -> tuple[Sample, Array, float]:
    """Return the points with positive learned weights, their indices, and the likelihood gap."""
    kernel, points = sample.kernel, sample.points
    gram = Lanczos().gram(Sample(kernel, points))
    found = mixture_weights(
        lambda indices: cross_gram(kernel, points, points.take(indices)).astype(np.float64),
        gram.__matmul__,
        sample.normalized_weights,
    )
    return Sample(kernel, points.take(found.support), found.weights), found.support, found.gap


def stacking_weights(logs: Array, weights: Array) -> Array:
    """Maximize ``Σ_i w_i log Σ_m a_m exp(logs[i, m])`` over weights a on the simplex.

    ``logs``: log densities of the members at the rows; -inf is allowed. Rows with nothing else are
    ignored.
    """
    usable = np.isfinite(logs).any(axis=1)
    values = np.exp(logs[usable] - logs[usable].max(axis=1, keepdims=True))
    masses = weights[usable] / weights[usable].sum()
    start = np.full(logs.shape[1], 1 / logs.shape[1])
    found = _newton(values, masses, start, 1e-7)
    return np.asarray(found / found.sum())


def _cover(columns: Callable[[Array], Array], n: int) -> Array:
    """Return rows such that every row is close to one of them.

    A mixture of these rows is positive at every observation.
    """
    chosen: list[int] = []
    covered = np.zeros(n)
    while covered.min() < 1:
        row = int(np.argmin(covered))
        column = columns(np.array([row]))[:, 0]
        chosen.append(row)
        covered = np.maximum(covered, column / (_CLOSE * column[row]))
    return np.array(chosen)


def _rows_to_add(columns: Callable[[Array], Array], gradient: Array, support: Array) -> Array:
    """Return the rows with the largest gradients above 1, without rows close to a better one."""
    candidates = np.setdiff1d(np.argsort(-gradient)[:25], support)
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


def _newton(K: Array, sample_weights: Array, weights: Array, tolerance: float) -> Array:
    """Optimize the weights of the given columns.

    The unconstrained objective ``F(a) - Σ a`` has the same optimum as F on the simplex. Its
    quadratic model at a is ``c'a - a'Ha/2`` with ``H = U' diag(q) U``, ``U = K/p``, c = 2g - 1.
    """
    for _ in range(60):
        mixture = K @ weights
        U = K / mixture[:, None]
        gradient = sample_weights @ U
        if gradient.max() - 1 <= tolerance:
            break
        H = U.T @ (sample_weights[:, None] * U)
        diagonal = H.diagonal() * (1 + 1e-12)  # equal columns would make H singular
        np.fill_diagonal(H, np.where(diagonal > 0, diagonal, 1.0))  # and so would zeros
        R = cholesky(H)
        target, _ = nnls(R, solve_triangular(R, 2 * gradient - 1, trans=1))
        weights = _step(K, sample_weights, weights, target)
        # An EM step never decreases the likelihood, and it also corrects weights so small that the
        # likelihood does not depend on them in floating point.
        weights = weights * (sample_weights @ (K / (K @ weights)[:, None]))
    return weights


def _step(K: Array, sample_weights: Array, weights: Array, target: Array) -> Array:
    """Move toward the target by a backtracking line search and normalize the weights.

    The density at an observation must not fall below ``_MIN_DENSITY_RATIO`` times its former value.
    Otherwise it could become almost zero at observations with small weight, and each later step
    would at most double it.
    """
    before = K @ weights
    start, length = float(sample_weights @ np.log(before) - weights.sum()), 1.0
    while length > 1e-6:
        trial = weights + length * (target - weights)
        mixture = K @ trial
        # a Newton step must not make the density of a row almost 0
        if (mixture >= 0.01 * before).all() and (
            float(sample_weights @ np.log(mixture) - trial.sum()) > start
        ):
            return trial / trial.sum()
        length /= 2
    return weights
