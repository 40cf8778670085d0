"""Gaussian integrals, and inverses of monotone functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from mercer.utils.types import Array

__all__ = [
    "GaussianTerms",
    "convolve",
    "evaluate",
    "inner_product",
    "invert_increasing",
    "normal_divergence",
]


@dataclass(frozen=True, eq=False)
class GaussianTerms:
    """Terms with a common covariance matrix."""

    coefficients: Array
    means: Array
    covariance: Array


def inner_product(first: Sequence[GaussianTerms], second: Sequence[GaussianTerms]) -> float:
    """Return ``∫ f g`` of two sums."""
    return float(sum(_pair_product(one, other) for one in first for other in second))


def convolve(terms: Sequence[GaussianTerms], covariance: Array) -> list[GaussianTerms]:
    """Return the convolution of a sum with the density N(0, covariance)."""
    return [replace(term, covariance=term.covariance + covariance) for term in terms]


def evaluate(terms: Sequence[GaussianTerms], X: Array) -> Array:
    """Return the sum at points, shape (n,)."""
    total = np.zeros(len(X))
    for term in terms:
        total += _weighted_sums(X, term.means, term.coefficients, term.covariance)
    return total


def _pair_product(one: GaussianTerms, other: GaussianTerms) -> float:
    covariance = one.covariance + other.covariance
    sums = _weighted_sums(one.means, other.means, other.coefficients, covariance)
    return float(one.coefficients @ sums)


def _weighted_sums(X: Array, means: Array, coefficients: Array, covariance: Array) -> Array:
    """Return ``Σ_i c_i N(x; m_i, S)`` at points, in blocks of rows."""
    root = np.linalg.cholesky(covariance)
    left, right = (solve_triangular(root, A.T, lower=True).T for A in (X, means))
    step = max(1, 2**22 // len(right))
    sums = np.empty(len(X))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        sums[rows] = np.exp(-0.5 * cdist(left[rows], right, "sqeuclidean")) @ coefficients
    log_normalizer = np.log(np.diag(root)).sum() + 0.5 * X.shape[1] * np.log(2 * np.pi)
    return np.asarray(sums * np.exp(-log_normalizer))


def normal_divergence(p: GaussianTerms, q: GaussianTerms) -> float:
    r"""Return the Kullback-Leibler divergence of two normal distributions, each a single term.

    :math:`\frac12\big[\mathrm{tr}\,S_q^{-1}S_p + \delta'S_q^{-1}\delta - d
    + \log\det S_q - \log\det S_p\big]` with the difference δ of the means.
    """
    p_root, q_root = np.linalg.cholesky(p.covariance), np.linalg.cholesky(q.covariance)
    ratio = solve_triangular(q_root, p_root, lower=True)
    shift = solve_triangular(q_root, (q.means - p.means)[0], lower=True)
    log_ratio = 2 * np.log(np.diag(ratio)).sum()
    return 0.5 * float((ratio**2).sum() + shift @ shift - len(shift) - log_ratio)


# --- inverses of increasing functions -------------------------------------------------------------


def invert_increasing(
    function: Callable[[Array], Array],
    derivative: Callable[[Array], Array],
    targets: Array,
    low: float,
    high: float,
) -> Array:
    """Return the x with ``function(x) = targets``, by Newton's method within brackets.

    The targets are strictly between the limits of the function. The interval from ``low`` to
    ``high`` is extended until it contains all solutions.
    """
    order = np.argsort(targets, kind="stable")
    y = targets[order]
    low, high = _bracket(function, float(y[0]), float(y[-1]), low, high)
    left, right = np.full(len(y), low), np.full(len(y), high)
    x = 0.5 * (left + right)
    for _ in range(200):
        values = function(x)
        below = values < y
        left, right = np.where(below, x, left), np.where(below, right, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - (values - y) / derivative(x)
        inside = (newton > left) & (newton < right)
        new = np.where(inside, newton, 0.5 * (left + right))
        done = np.abs(new - x) <= 4 * np.spacing(np.maximum(np.abs(left), np.abs(right)))
        x = new
        if done.all():
            break
    found = np.empty(len(x))
    found[order] = np.maximum.accumulate(x)  # rounding errors must not change the order
    return found


def _bracket(
    function: Callable[[Array], Array], least: float, most: float, low: float, high: float
) -> tuple[float, float]:
    step = max(high - low, np.spacing(max(abs(low), abs(high))))
    for _ in range(1100):  # doublings from 1 to the largest number
        at_low, at_high = function(np.array([low, high]))
        if at_low < least and at_high > most:
            return low, high
        low = low - step if at_low >= least else low
        high = high + step if at_high <= most else high
        step *= 2
    raise ValueError(f"The function does not take the values {least:g} and {most:g}.")
