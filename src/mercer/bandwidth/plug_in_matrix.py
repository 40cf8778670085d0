r"""Full bandwidth matrices by the plug-in method (Wand and Jones 1994; Chacón and Duong 2010).

The asymptotic mean integrated squared error of Gaussian kernels with bandwidth matrix H is

.. math:: \frac{1}{n (4\pi)^{d/2} |H|^{1/2}} + \frac14 \int \operatorname{tr}^2(H\, D^2 f(x))\,dx

and the integral, a quadratic form in H, is estimated by fourth derivatives of a Gaussian kernel
with a scalar pilot bandwidth g at all pairs of points.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, pi

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from mercer.utils.types import Array

__all__ = ["PairMoments", "best_matrix"]

_BLOCK = 2**16  # pairs


class PairMoments:
    r"""Quadratic form ``∫ tr²(H D²f)`` of a sample, up to the factor of :attr:`log_factor`.

    Parameters
    ----------
    X : array of shape (n, d)
    weights : array of shape (n,)
        Multiplicities.
    pilot : float
        The bandwidth g.
    """

    def __init__(self, X: Array, weights: Array, pilot: float) -> None:
        d, n = X.shape[1], float(weights.sum())
        self.mass = float(weights @ weights)  # pairs of a point and itself
        self.second = np.zeros((d, d))
        self.fourth = np.zeros((d * d, d * d))
        for V, counts in _pairs(X / pilot, weights):
            masses = counts * np.exp(-0.5 * np.einsum("ij,ij->i", V, V))
            products = (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)
            weighted = masses[:, None] * products
            self.mass += float(masses.sum())
            self.second += weighted.sum(axis=0).reshape(d, d)
            self.fourth += weighted.T @ products
        self.log_factor = -log(n * (n - 1)) - 0.5 * d * log(2 * pi) - (d + 4) * log(pilot)

    def form(self, H: Array) -> float:
        """Return ``Σ_ij w_i w_j`` of the fourth derivatives contracted with H twice, for g = 1."""
        trace, flat = np.trace(H), H.ravel()
        value = flat @ self.fourth @ flat
        value -= 4 * np.trace(H @ H @ self.second) + 2 * trace * np.trace(H @ self.second)
        return float(value + (2 * np.trace(H @ H) + trace**2) * self.mass)


def _pairs(X: Array, weights: Array) -> Iterator[tuple[Array, Array]]:
    """Yield differences of pairs of distinct rows, and twice the products of their weights."""
    first, second = np.triu_indices(len(X), 1)
    for begin in range(0, len(first), _BLOCK):
        i, j = first[begin : begin + _BLOCK], second[begin : begin + _BLOCK]
        yield X[i] - X[j], 2 * weights[i] * weights[j]


def best_matrix(moments: PairMoments, size: float, bandwidth: float) -> Array:
    """Return the bandwidth matrix with the smallest error.

    Parameters
    ----------
    moments : PairMoments
    size : float
        n.
    bandwidth : float
        The best scalar bandwidth, where the search starts.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> best_matrix(PairMoments(X, np.ones(200), 0.7), 200, 0.4).shape
    (2, 2)
    """
    d = len(moments.second)
    lower = np.tril_indices(d)
    constant = -log(size) - 0.5 * d * log(4 * pi)

    def factor(parameters: Array) -> Array:
        L = np.zeros((d, d))
        L[lower] = parameters
        L[np.diag_indices(d)] = np.exp(L.diagonal())
        return L * bandwidth

    def log_error(parameters: Array) -> float:
        L = factor(parameters)
        form = max(moments.form(L @ L.T), np.finfo(np.float64).tiny)
        terms = constant - np.log(L.diagonal()).sum(), log(form / 4) + moments.log_factor
        return float(logsumexp(terms))

    found = minimize(log_error, np.zeros(len(lower[0])), method="BFGS", options={"gtol": 1e-7})
    L = factor(found.x)
    return np.asarray(L @ L.T)
