"""Converged leading eigenpairs of a large matrix, and a sketch of its other eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.eigen.block_krylov import orthonormal_block
from mercer.information.lanczos_quadrature import Product
from mercer.utils.types import Array

__all__ = ["Deflation", "deflate", "deflation_tolerance"]

_CONVERGED = 1e-9  # residual of a deflated eigenpair, relative to the largest eigenvalue
_LOOSE, _LOOSEST = 1e-5, 1e-7  # the same for orders ≥ 1: multiple of the allowed width, its limit
_DISTINCT = 1e-3  # and relative to its own eigenvalue
_FIRST_VECTORS, _FIRST_STEPS, _FEWEST_FIRST_STEPS = 8, 15, 3


@dataclass(frozen=True)
class Deflation:
    """Converged eigenpairs of A, and a sketch of the other eigenvalues.

    Attributes
    ----------
    values : array of shape (J,)
        Converged eigenvalues, largest first.
    vectors : array of shape (size, J)
    nodes, masses : array
        Quadrature of the spectral density of the other eigenvalues: a rough picture of them.
    coupling : float
        Bound on the trace norm of what the deflation neglects.
    complete : bool
        Whether the iteration was not stopped early.
    tolerance : float
        Residual of a converged eigenpair, relative to the largest eigenvalue.
    """

    values: Array
    vectors: Array
    nodes: Array
    masses: Array
    coupling: float
    complete: bool = True
    tolerance: float = _CONVERGED


def deflate(
    product: Product,
    size: int,
    rng: np.random.Generator,
    enough: Callable[[Deflation], bool] | None = None,
    tolerance: float = _CONVERGED,
) -> Deflation:
    """Run a block Lanczos iteration and split off the eigenpairs that have converged.

    It ends after 15 steps, or from the third step on if ``enough`` accepts the result. Residuals of
    converged eigenpairs are at most ``tolerance`` times the largest eigenvalue.

    >>> A = np.diag([5.0, 1.0, *np.linspace(0, 0.01, 98)])
    >>> deflate(lambda V: A @ V, 100, np.random.default_rng(0)).values.round(6)[:2].tolist()
    [5.0, 1.0]
    """
    width = min(_FIRST_VECTORS, size)
    block, first = np.linalg.qr(rng.standard_normal((size, width)))
    basis, T = block, np.zeros((0, 0))
    for step in range(_FIRST_STEPS):
        W = product(block)
        H = basis.T @ W
        W -= basis @ H
        correction = basis.T @ W  # a second orthogonalization is enough (Kahan, Parlett)
        W -= basis @ correction
        H += correction
        used, last = basis.shape[1], slice(basis.shape[1] - block.shape[1], None)
        T = np.pad(T, (0, used - len(T)))
        T[:, last], T[last] = H, H.T
        block, rest = orthonormal_block(W, basis, min(width, size - used), rng)
        if step == _FIRST_STEPS - 1 or used == size:
            break
        if enough is not None and step + 1 >= _FEWEST_FIRST_STEPS:
            found = _split(basis, T, rest, first, last, tolerance)
            if len(found.values) and enough(found):
                return replace(found, complete=False)
        basis = np.hstack([basis, block])
    return _split(basis, T, rest, first, last, tolerance)


def deflation_tolerance(order: float, tol: float) -> float:
    """Return a residual of deflated eigenpairs that hardly widens the bounds of an order.

    Below order 1 small errors of eigenvalues matter.

    >>> deflation_tolerance(1.0, 0.01), deflation_tolerance(0.5, 0.01)
    (1e-07, 1e-09)
    """
    return float(np.clip(_LOOSE * tol, _CONVERGED, _LOOSEST)) if order >= 1 else _CONVERGED


def _split(
    basis: Array, T: Array, rest: Array, first: Array, last: slice, tolerance: float
) -> Deflation:
    """Separate the converged eigenpairs of a block Lanczos iteration from the others.

    Parameters
    ----------
    basis, T : array
        Orthonormal basis, and the projected matrix.
    rest : array
        Coefficients of the next block: residuals are its products with the ``last`` rows of the
        eigenvectors of T.
    first : array
        Triangular factor of the Gaussian start block.
    last : slice
    tolerance : float
    """
    size, used = basis.shape
    values, Y = np.linalg.eigh(T)
    values, Y = values[::-1], Y[:, ::-1]
    residuals = np.linalg.norm(rest @ Y[last], axis=0)
    width = len(first)
    # beyond the strict limit a residual must also be small compared with its own eigenvalue
    limits = np.clip(_DISTINCT * values, _CONVERGED * values[0], tolerance * values[0])
    converged = (residuals <= limits) | (used == size)
    count = len(values) if converged.all() else int(np.argmin(converged))
    masses = np.linalg.norm(first.T @ Y[:width, count:], axis=0) ** 2 / width
    neglected = np.sqrt((residuals[:count] ** 2).sum()) if count else 0.0
    return Deflation(
        values[:count],
        basis @ Y[:, :count],
        np.maximum(values[count:], 0),
        masses,
        2 * np.sqrt(count) * float(neglected),
        tolerance=tolerance,
    )
