"""Bound on the norm of a matrix on the complement of a subspace, from Gaussian vectors.

The Frobenius norm there bounds it too, but is too large by a factor of ten and more if the spectrum
decays slowly. Two products with random vectors bound it almost as well as the fourth root of the
sum of fourth powers of the eigenvalues.
"""

from __future__ import annotations

import numpy as np

from mercer.maths.centering import subtract_direction
from mercer.maths.pairwise import row_ranges
from mercer.maths.ritz_bounds import bound_norm
from mercer.maths.types import Array
from mercer.solvers.block_basis import Ritz

__all__ = ["FAILURE", "ComplementNorm"]

FAILURE = 1e-9  # probability that the bound does not hold
_COUNT = 32  # vectors
_CHUNK_ROWS = 4096


class ComplementNorm:
    """Bound on ``‖M‖``, M = PAP, P the projection on the complement of a subspace.

    A product H ≈ MG in float32 is the second block of vectors. One pass in float64 multiplies G and
    H, which gives the error of H too, so that the bound does not depend on errors of float32.

    Parameters
    ----------
    size : int
        Number of rows of A.
    unit : array or None
        A unit vector that all vectors are orthogonal to, if A is centered.
    """

    count = _COUNT

    def __init__(self, size: int, unit: Array | None) -> None:
        rng = np.random.default_rng(0)  # the bound holds for almost every choice
        G = rng.standard_normal((size, _COUNT), dtype=np.float32)
        self.G = G if unit is None else subtract_direction(G, unit).astype(np.float32)
        self.H = np.zeros_like(self.G)

    def set_product(self, AG: Array) -> None:
        """Store ``AG``, which may be in float32."""
        self.H = AG.astype(np.float32)

    def remove(self, ritz: Ritz, chosen: Array) -> None:
        """Replace ``AG`` by ``AG - AXX'G`` for some Ritz vectors X."""
        self.H -= ritz.products(chosen, ritz.adjoint(self.G)[chosen]).astype(np.float32)

    def bound(self, Q: Array, AQ: Array, AG: Array, AH: Array, error: float) -> float:
        """Return the bound for the complement of the span of Q.

        Parameters
        ----------
        Q, AQ : arrays of shape (n, b)
            Of full rank, with its exact product.
        AG, AH : arrays of shape (n, 32)
            Exact products.
        error : float
            Bound on the error of a product with a unit vector.
        """
        G, H = self.G, self.H
        ranges = row_ranges(len(Q), _CHUNK_ROWS)

        def inner(V: Array) -> Array:
            parts = [Q[rows].T.astype(np.float64, copy=False) @ V[rows] for rows in ranges]
            return np.asarray(np.sum(parts, axis=0))

        gram = inner(Q)
        in_G, in_H = (np.linalg.solve(gram, inner(V)) for V in (G, H))
        energy = inner(AQ)
        of_G = np.linalg.solve(gram, inner(AG) - energy @ in_G)
        of_H = np.linalg.solve(gram, inner(AH) - energy @ in_H)
        squares, errors = (np.zeros((_COUNT, _COUNT)) for _ in range(2))
        for rows in ranges:
            X, AX = Q[rows].astype(np.float64, copy=False), AQ[rows]
            MH = AH[rows] - AX @ in_H - X @ of_H
            E = H[rows] - X @ in_H - (AG[rows] - AX @ in_G - X @ of_G)
            squares += MH.T @ MH
            errors += E.T @ E
        largest, deviation = (
            float(np.sqrt(max(np.linalg.eigvalsh(S)[-1], 0.0))) for S in (squares, errors)
        )
        lengths = [float(np.linalg.norm(V)) for V in (G, H)]
        return bound_norm(
            largest + error * lengths[1],
            deviation + error * lengths[0],
            _COUNT,
            FAILURE,
            float(np.finfo(np.float32).eps) * lengths[0],
        )
