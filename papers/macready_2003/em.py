"""Section 2: kernelized EM is EM on kernel coordinates.

The equations of the paper are used with corrections: in (4) and (5), B is the paper's B-tilde, and
d_F = r in (5).
"""

from __future__ import annotations

import numpy as np

from mercer.kernels import Gaussian, Polynomial
from mercer.mixture.feature_space import dual_parameters
from mercer.mixture.gaussian_mixture import expectation, fit_mixture, maximization
from papers.comparison import Row, Table
from papers.types import Array

__all__ = ["KernelizedEM", "largest_difference", "table"]

_ZERO = 1e-10
_STEPS = 15


class KernelizedEM:
    """The updates (7), (8), (9) and the E step (5) of the paper, literally with N × N matrices.

    Parameters
    ----------
    K : array of shape (N, N)
    alpha, beta : float
    """

    def __init__(self, K: Array, alpha: float, beta: float) -> None:
        self.K, self.alpha, self.beta = K, alpha, beta
        values, vectors = np.linalg.eigh(K)
        selected = values > _ZERO * values[-1]
        self.values, self.vectors = values[selected], vectors[:, selected]

    @property
    def coordinates(self) -> Array:
        """Z with K = ZZ', for EM on kernel coordinates."""
        return self.vectors * np.sqrt(self.values)

    def step(self, responsibilities: Array) -> Array:
        """Return the responsibilities after one iteration."""
        K, N = self.K, len(self.K)
        logs = np.empty_like(responsibilities)
        parameters = dual_parameters(responsibilities, self.alpha, self.beta)  # (8), (9)
        for m, (a, B, epsilon) in enumerate(zip(*parameters, strict=True)):
            inner = epsilon * K + K @ B @ K  # V'ΣV, of the rank of K
            small = self.vectors.T @ inner @ self.vectors
            inverse = self.vectors @ np.linalg.inv(small) @ self.vectors.T
            D = K - (K @ a)[:, None]  # columns k_i - K a
            squared = np.einsum("ji,jk,ki->i", D, inverse, D)  # (4)
            determinant = np.linalg.slogdet(small)[1] - np.log(self.values).sum()
            rho = responsibilities[:, m].sum() / N  # (7)
            logs[:, m] = np.log(rho) - determinant / 2 - squared / 2  # (5)
        fractions = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(fractions / fractions.sum(axis=1, keepdims=True))


def largest_difference(seed: int, singular: bool) -> float:
    """Return the largest difference of responsibilities over 15 steps from the same start."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    K = Polynomial(degree=2)(np.vstack([X, X[:5]])) if singular else Gaussian(0.5)(X)
    slow = KernelizedEM(K, alpha=1.3, beta=0.7)
    Z, ones = slow.coordinates, np.ones(len(K))
    start = rng.random((len(K), 2)) + np.eye(2)[rng.integers(2, size=len(K))]
    expected = found = start / start.sum(axis=1, keepdims=True)
    largest = 0.0
    for _ in range(_STEPS):
        expected = slow.step(expected)
        _, found = expectation(maximization(Z, ones, found, 1.3, 0.7), Z)
        largest = max(largest, float(np.abs(found - expected).max()))
    return largest


def _is_monotone(seed: int) -> bool:
    rng = np.random.default_rng(seed)
    n, r, M = int(rng.integers(5, 40)), int(rng.integers(1, 12)), int(rng.integers(1, 5))
    Z = rng.normal(size=(n, r)) * rng.random(r)
    start = rng.random((n, M))
    start /= start.sum(axis=1, keepdims=True)
    alpha, beta = float(np.exp(rng.uniform(-5, 3))), float(rng.uniform(0, 5))
    bounds = fit_mixture(Z, np.ones(n), start, alpha, beta, max_iter=40, tol=0).lower_bounds
    return bool((np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]).clip(1)).all())


def table(quick: bool) -> Table:
    """Equivalence and monotonicity."""
    seeds, runs = range(2 if quick else 5), 50 if quick else 200
    rows = [
        Row(
            f"largest difference of responsibilities, {name} K",
            "equal",
            max(largest_difference(seed, singular) for seed in seeds),
            identity=True,
        )
        for name, singular in (("nonsingular", False), ("singular", True))
    ]
    monotone = sum(_is_monotone(seed) for seed in range(runs))
    item = "runs with a nondecreasing penalized likelihood"
    rows.append(Row(item, "", monotone, f" of {runs}"))
    return Table(tuple(rows))
