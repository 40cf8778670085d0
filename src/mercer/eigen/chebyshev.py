"""Leading eigenpairs by subspace iteration with Chebyshev filters.

A filter is a polynomial of the matrix that is small on the unwanted part of the spectrum and grows
quickly above it. Only the block itself is orthogonalized, once per filter, so cheap products (of a
sparse matrix) dominate the cost. The block is wider than the number of requested pairs, so that
multiple and nearly multiple eigenvalues are found together.
"""

from __future__ import annotations

from collections.abc import Callable
from math import acosh, log

import numpy as np

from mercer.eigen.block_krylov import KrylovResult
from mercer.utils.progress import progress_is_shown, report_status
from mercer.utils.types import Array

__all__ = ["filtered_eigenpairs"]

_OVERSAMPLING = 8
_GROWTH = 1e4  # of the last requested eigenvector relative to the unwanted ones, per filter
_SPREAD = 1e8  # of the growth of the requested eigenvectors, so that the block keeps its rank
_MIN_DEGREE, _MAX_DEGREE = 10, 400
_SMALLEST_RESIDUAL = 1e-9


def filtered_eigenpairs(
    product: Callable[[Array], Array],
    size: int,
    k: int,
    *,
    tolerance: float,
    random_state: int | None = 0,
    max_products: int = 20_000,
) -> KrylovResult:
    """Find the k largest eigenpairs of a symmetric matrix with all eigenvalues in [-1, 1].

    Parameters
    ----------
    product, size, k, random_state
        As in :func:`~mercer.eigen.block_krylov.leading_eigenpairs`.
    tolerance : float
        Largest residual ``‖A v - λ v‖`` (at least 1e-9), relative to ``1 - λ_k`` or to the distance
        of λ_k from the smallest eigenvalue of the block, if that is larger.
    max_products : int
        Largest number of products with a block.

    Returns
    -------
    KrylovResult

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.eigen.chebyshev import filtered_eigenpairs
    >>> values = np.linspace(-1, 1, 500)
    >>> found = filtered_eigenpairs(lambda V: values[:, None] * V, 500, 3, tolerance=1e-3)
    >>> found.values.round(4)
    array([1.   , 0.996, 0.992])
    """
    width = min(size, k + _OVERSAMPLING)
    V = np.random.default_rng(random_state).standard_normal((size, width))
    done = 0
    while True:
        V, _ = np.linalg.qr(V)
        W = product(V)
        done += 1
        values, Y = np.linalg.eigh(_symmetric(V.T @ W))
        values, Y = values[::-1], Y[:, ::-1]
        V, W = V @ Y, W @ Y
        residuals = np.linalg.norm(W[:, :k] - V[:, :k] * values[:k], axis=0)
        # errors of eigenvectors are residuals divided by the distance to the other eigenvalues
        distance = max(1 - values[k - 1], values[k - 1] - values[-1])
        limit = max(tolerance * distance, _SMALLEST_RESIDUAL)
        if progress_is_shown():
            report_status(f"Chebyshev filter: {done} products, residual {residuals.max():.1e}")
        converged = bool(residuals.max() <= limit) or width == size
        if converged or done >= max_products:
            return KrylovResult(values[:k], V[:, :k], converged, done * width)
        edge = float(np.clip(values[-1], 0.0, 1 - 1e-12))
        degree = _degree(float(values[0]), float(values[k - 1]), edge)
        degree = min(degree, max(max_products - done, 1))
        V = _filtered(product, V, W, edge, degree)
        done += degree - 1


def _degree(first: float, last: float, edge: float) -> int:
    """Return the degree of a filter of [-1, edge] for eigenvalues between ``last`` and ``first``.

    The filter multiplies the last eigenvector by the growth. If the first one grew by more than
    the inverse of the rounding error relative to the last one, it would replace it.
    """
    rates = [acosh(1 + 2 * max(value - edge, 0.0) / (1 + edge)) for value in (first, last)]
    degree = acosh(_GROWTH) / rates[1] if rates[1] > 0 else np.inf
    most = log(_SPREAD) / (rates[0] - rates[1]) if rates[0] > rates[1] else np.inf
    return int(min(np.clip(degree, _MIN_DEGREE, _MAX_DEGREE), max(most, 2.0)))


def _filtered(
    product: Callable[[Array], Array], V: Array, W: Array, edge: float, degree: int
) -> Array:
    """Return the Chebyshev polynomial of [-1, edge], scaled to 1 at 1, of the matrix times V.

    W is the first product. Scaling at every step avoids overflow (Zhou and Saad 2007).
    """
    center, half = (edge - 1) / 2, (edge + 1) / 2
    first = half / (1 - center)
    scale = first
    before, current = V, (W - center * V) * (scale / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - scale)
        after = product(current)
        after -= center * current
        after *= 2 * following / half
        after -= (scale * following) * before
        before, current, scale = current, after, following
    return current


def _symmetric(H: Array) -> Array:
    return np.asarray((H + H.T) / 2)
