r"""Eigenpairs of a signed sum of features, :math:`\Delta = \sum_j d_j \varphi(x_j) \varphi(x_j)'`.

The difference of two covariance operators has this form, with ``d = 1/m`` for the rows of one
sample and ``-1/n`` for those of the other. Δ is self-adjoint in feature space. A function
``f = Σ_j a_j φ(x_j)`` is represented by its coefficients a and by its values ``Ka`` at the rows:
Δf has the coefficients ``d · Ka``, and the inner product of f and g is ``a'Kb``. A Lanczos
iteration in this inner product needs products with K only, one per step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer.utils.types import Array

__all__ = ["SignedEigenpairs", "extreme_signed_eigenvalues", "signed_eigenpairs"]

_BLOCK = 4  # columns per product
_MOST_COLUMNS = 320
# Rounding errors: squared norms of functions relative to the largest possible one, and norms of
# remainders relative to the function before its orthogonalization.
_LOST, _EXHAUSTED = 1e-13, 1e-10

Product = Callable[[Array], Array]


class SignedEigenpairs(NamedTuple):
    """Eigenpairs at one end of the spectrum, largest absolute value first.

    Attributes
    ----------
    values : array of shape (k,)
    projections : array of shape (n, k)
        Values of the eigenfunctions of unit norm at the rows.
    residuals : array of shape (k,)
        Norms of ``Δf - θf``: each value is within its residual of an eigenvalue of Δ.
    """

    values: Array
    projections: Array
    residuals: Array


def signed_eigenpairs(
    product: Product,
    d: Array,
    count: int,
    *,
    tolerance: float,
    rng: np.random.Generator,
) -> tuple[SignedEigenpairs, SignedEigenpairs]:
    """Return the largest positive and the largest negative eigenpairs of Δ.

    Parameters
    ----------
    product : callable
        ``K @ V``.
    d : array of shape (n,)
        Weights of the rows, of both signs.
    count : int
        Largest number of eigenpairs of each sign.
    tolerance : float
        Residual at which the iteration stops, relative to the largest absolute eigenvalue. It also
        stops with a basis of 320 functions; ``residuals`` are those of the result.
    rng : numpy.random.Generator

    Examples
    --------
    >>> K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> d = np.array([0.5, 0.5, -1.0])
    >>> positive, negative = signed_eigenpairs(
    ...     lambda V: K @ V, d, 2, tolerance=1e-9, rng=np.random.default_rng(0)
    ... )
    >>> positive.values.round(6).tolist(), negative.values.round(6).tolist()
    ([0.75, 0.25], [-1.0])
    """
    n, column = len(d), d[:, None]
    V, F = np.empty((n, 0)), np.empty((n, 0))  # coefficients and values of an orthonormal basis
    W = column * rng.standard_normal((n, min(_BLOCK, n)))
    before = _largest_norms(W)
    while True:
        block, values, coupling = _orthonormal(W, product(W), before.max(initial=0))
        width = block.shape[1]
        if V.shape[1]:
            theta, Y = np.linalg.eigh(F.T @ (column * F))
            # rows of the last block; the coupling is empty if the Krylov space is exhausted
            residuals = np.linalg.norm(coupling @ Y[len(Y) - W.shape[1] :], axis=0)
            wanted = [
                order[theta[order] * sign > 0]
                for sign in (1, -1)
                for order in [np.argsort(-sign * theta)[:count]]
            ]
            largest = max(np.abs(theta).max(), np.finfo(float).tiny)
            worst = max((residuals[ends].max(initial=0) for ends in wanted), default=0.0)
            full = len(Y) >= min(_MOST_COLUMNS, n)
            # fewer functions than requested at one end: others may still appear
            short = any(len(ends) < count for ends in wanted)
            if not width or full or (worst <= tolerance * largest and not short):
                break
        elif not width:
            empty = SignedEigenpairs(np.empty(0), np.empty((n, 0)), np.empty(0))
            return empty, empty
        V, F = np.hstack([V, block]), np.hstack([F, values])
        W = column * values
        before = _largest_norms(W)
        for _ in range(2):  # a second orthogonalization is enough (Kahan, Parlett)
            W = W - V @ (F.T @ W)
    found = []
    zero = largest * len(Y) * np.finfo(float).eps
    for sign, ends in zip((1, -1), wanted, strict=True):
        ends = ends[sign * theta[ends] > zero]
        projections = F @ Y[:, ends]
        errors = column * projections - (V @ Y[:, ends]) * theta[ends]
        squares = np.einsum("ij,ij->j", errors, product(errors))
        found.append(SignedEigenpairs(theta[ends], projections, np.sqrt(np.maximum(squares, 0))))
    return found[0], found[1]


def _largest_norms(W: Array) -> Array:
    """Return the largest possible norms of functions, because |k| ≤ 1: ``Σ|w|``."""
    return np.asarray(np.abs(W).sum(axis=0))


def _orthonormal(W: Array, products: Array, before: float) -> tuple[Array, Array, Array]:
    """Return coefficients and values of orthonormal functions, and C with ``W = block @ C``.

    Functions whose norm is rounding error are dropped; ``before`` is the largest possible norm
    before the orthogonalization.
    """
    squares, U = np.linalg.eigh((W.T @ products + products.T @ W) / 2)
    largest = _largest_norms(W).max(initial=0)
    kept = squares > max(_LOST * largest**2, (_EXHAUSTED * before) ** 2)
    norms = np.sqrt(squares[kept])
    return W @ U[:, kept] / norms, products @ U[:, kept] / norms, norms[:, None] * U[:, kept].T


def extreme_signed_eigenvalues(
    product: Product, D: Array, steps: int, rng: np.random.Generator
) -> Array:
    """Return estimates of the smallest and the largest eigenvalue for several weight vectors.

    They are Ritz values, which lie between the extreme eigenvalues. All iterations share their
    products.

    Parameters
    ----------
    product : callable
        ``K @ V``.
    D : array of shape (n, r)
        Weights of the rows, one column per operator.
    steps : int
        Number of products.
    rng : numpy.random.Generator

    Returns
    -------
    array of shape (r, 2)

    Examples
    --------
    >>> D = np.array([[0.5, 1.0], [0.5, -1.0], [-1.0, 0.0]])
    >>> extreme_signed_eigenvalues(lambda V: V, D, 3, np.random.default_rng(0)).round(6).tolist()
    [[-1.0, 0.5], [-1.0, 1.0]]
    """
    W = D * rng.standard_normal(D.shape)
    before = _largest_norms(W)
    basis: list[tuple[Array, Array]] = []
    T = np.zeros((D.shape[1], steps, steps))
    for j in range(min(steps, len(D))):
        products = product(W)
        squares = np.einsum("ij,ij->j", W, products)
        alive = squares > np.maximum(_LOST * _largest_norms(W) ** 2, (_EXHAUSTED * before) ** 2)
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, squares, 1)), 0)
        basis.append((W * scale, products * scale))
        W = D * basis[j][1]
        before = _largest_norms(W)
        for i, (_, values) in enumerate(basis):
            T[:, i, j] = T[:, j, i] = np.einsum("ij,ij->j", values, W)
        for _ in range(2):
            for coefficients, values in basis:
                W = W - coefficients * np.einsum("ij,ij->j", values, W)
    return np.asarray(np.linalg.eigvalsh(T)[:, [0, -1]])
