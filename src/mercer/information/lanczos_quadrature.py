"""Lanczos iterations from Gaussian vectors, and the Gauss and Gauss-Radau rules they define."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mercer.information.trace_bounds import chebyshev_power, largest_eigenvalue, lower_tail
from mercer.utils.types import Array

__all__ = ["LanczosBlock", "Product", "bound_norm"]

_NORM_VECTORS, _NORM_STEPS = 12, (8, 16, 32, 60)
_BREAKDOWN = 1e-13  # norm of a Lanczos vector, relative to that of the matrix, that counts as zero

Product = Callable[[Array], Array]


class LanczosBlock:
    """Lanczos iterations from several Gaussian vectors, orthogonal to deflated eigenvectors.

    Parameters
    ----------
    product : callable
    vectors : array of shape (size, J)
        Deflated eigenvectors.
    count : int
        Number of Gaussian vectors.
    scale : float
        Norm of the matrix.
    rng : numpy.random.Generator

    Examples
    --------
    >>> A = np.diag(np.arange(1.0, 31.0))
    >>> block = LanczosBlock(
    ...     lambda V: A @ V, np.empty((30, 0)), 400, 30.0, np.random.default_rng(0)
    ... )
    >>> block.extend(4)
    >>> low, high = block.bracket(np.sqrt)
    >>> bool((low <= high).all()), bool(abs(low.mean() / np.sqrt(np.diag(A)).sum() - 1) < 0.1)
    (True, True)
    """

    def __init__(
        self, product: Product, vectors: Array, count: int, scale: float, rng: np.random.Generator
    ) -> None:
        self.product, self.vectors, self.scale = product, vectors, scale
        Z = rng.standard_normal((len(vectors), count))
        Z -= vectors @ (vectors.T @ Z)
        norms = np.linalg.norm(Z, axis=0)
        self.masses = norms**2
        self._basis = [Z / np.where(norms > 0, norms, 1)]
        self._alive = norms > 0
        self.T = np.zeros((count, 1, 1))

    @property
    def steps(self) -> int:
        """Number of products per vector."""
        return len(self._basis) - 1

    def extend(self, steps: int) -> None:
        """Continue to a number of steps."""
        Q = self.vectors
        for j in range(self.steps, steps):
            W = self.product(self._basis[j])
            W = W - Q @ (Q.T @ W)
            T = np.pad(self.T, ((0, 0), (0, 1), (0, 1)))
            T[:, j, j] = np.einsum("ij,ij->j", self._basis[j], W)
            for _ in range(2):
                for earlier in self._basis:
                    W -= earlier * np.einsum("ij,ij->j", earlier, W)
            lengths = np.linalg.norm(W, axis=0)
            self._alive &= lengths > _BREAKDOWN * self.scale
            lengths = np.where(self._alive, lengths, 0.0)
            T[:, j, j + 1] = T[:, j + 1, j] = lengths
            W *= np.where(self._alive, 1 / np.where(lengths > 0, lengths, 1), 0.0)
            self._basis.append(W)
            self.T = T
        self._gauss = _rule(self.T[:, :-1, :-1])
        self._radau = _rule(_with_node_at_zero(self.T))

    def exact(self, polynomial: Callable[[Array], Array]) -> Array:
        """Return ``z'p(B)z`` for a polynomial of degree at most 2 steps - 1."""
        values, masses = self._gauss
        return np.asarray((masses * polynomial(values)).sum(axis=1) * self.masses)

    def bracket(self, f: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return bounds on ``z'f(B)z``.

        The derivatives of f of orders 2 steps and 2 steps + 1 have constant, opposite signs.
        """
        gauss, radau = (
            (masses * f(values)).sum(axis=1) * self.masses
            for values, masses in (self._gauss, self._radau)
        )
        return np.minimum(gauss, radau), np.maximum(gauss, radau)


def bound_norm(
    product: Product,
    vectors: Array,
    c: float,
    limit: float,
    failure: float,
    rng: np.random.Generator,
) -> float:
    """Return an upper bound on the largest eigenvalue of A without deflated eigenvectors.

    Parameters
    ----------
    product : callable
    vectors : array of shape (size, J)
        Deflated eigenvectors.
    c : float
        Estimate of the eigenvalue, at least 0.
    limit : float
        A bound that is small enough.
    failure : float
        Allowed probability that the bound fails.
    rng : numpy.random.Generator
        Independent of ``vectors`` and ``c``.

    Examples
    --------
    >>> A = np.diag(np.linspace(0, 1, 200))
    >>> rng = np.random.default_rng(0)
    >>> bool(1 <= bound_norm(lambda V: A @ V, np.empty((200, 0)), 0.99, 1.05, 1e-6, rng) <= 1.05)
    True
    """
    if c <= 0:
        return 0.0
    block = LanczosBlock(product, vectors, _NORM_VECTORS, c, rng)
    best = np.inf
    for steps in _NORM_STEPS:
        block.extend(steps)
        mean = float(block.exact(partial(chebyshev_power, c=c, degree=steps - 1)).mean())
        trace = mean / lower_tail(_NORM_VECTORS, failure / len(_NORM_STEPS))
        best = min(best, largest_eigenvalue(trace, c, steps - 1))
        if best <= limit:
            break
    return best


def _rule(T: Array) -> tuple[Array, Array]:
    """Return nodes and weights of the quadratures of tridiagonal matrices."""
    values, vectors = np.linalg.eigh(T)
    return np.maximum(values, 0), vectors[:, 0, :] ** 2


def _with_node_at_zero(T: Array) -> Array:
    """Change the last diagonal entry of tridiagonal matrices so that 0 is an eigenvalue (Golub)."""
    T = T.copy()
    inner, off = T[:, :-1, :-1], T[:, -2, -1]
    ends = np.zeros((len(T), inner.shape[1], 1))
    ends[:, -1, 0] = off**2
    # an exhausted Krylov space leaves zero rows, which an arbitrary diagonal makes regular
    diagonal = np.einsum("kii->ki", inner)
    scale = np.maximum(diagonal.max(axis=1, keepdims=True), np.finfo(float).tiny)
    added = np.where(diagonal > _BREAKDOWN * scale, _BREAKDOWN**2 * scale, scale)
    inner = inner + np.einsum("ki,ij->kij", added, np.eye(inner.shape[1]))
    T[:, -1, -1] = np.linalg.solve(inner, ends)[:, -1, 0]
    return T
