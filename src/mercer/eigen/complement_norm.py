"""Bound on the norm of a matrix on the complement of a subspace, from Gaussian vectors.

The Frobenius norm there bounds it too, but is too large by a factor of ten and more if the spectrum
decays slowly. Two products with random vectors bound it almost as well as the fourth root of the
sum of fourth powers of the eigenvalues.
"""

from __future__ import annotations

import numpy as np

from mercer.eigen.block_basis import BlockBasis, Ritz, each_chunk, sum_chunks
from mercer.eigen.ritz_bounds import bound_matrix, bound_norm
from mercer.utils.centering import subtract_direction
from mercer.utils.types import Array

__all__ = ["FAILURE", "ComplementNorm", "ProductCheck"]

FAILURE = 1e-9  # probability that one of the two bounds of this module does not hold
_COUNT = 32  # vectors


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

    def bound(
        self, basis: BlockBasis, AG: Array, AH: Array, error: float, joint: float = 0.0
    ) -> float:
        """Return the bound for the complement of a basis.

        Parameters
        ----------
        basis : BlockBasis
        AG, AH : arrays of shape (n, 32)
            Products in float64.
        error : float
            Bound on the error of a product in float64 with a unit vector.
        joint : float
            Bound on the norm of the error of the products of the basis.
        """
        G, H = self.G, self.H
        B = basis.orthonormal_coefficients()
        energy = basis.energy()
        in_G, in_H = (B @ (B.T @ basis.inner(V)) for V in (G, H))
        of_G = B @ (B.T @ (basis.inner(AG) - energy @ in_G))
        of_H = B @ (B.T @ (basis.inner(AH) - energy @ in_H))

        def squares(rows: slice) -> Array:
            X, AX = basis.chunk(rows)
            MH = AH[rows] - AX @ in_H - X @ of_H
            E = H[rows] - X @ in_H - (AG[rows] - AX @ in_G - X @ of_G)
            return np.stack([MH.T @ MH, E.T @ E])

        largest, deviation = (
            float(np.sqrt(max(np.linalg.eigvalsh(S)[-1], 0.0)))
            for S in sum_chunks(basis.size, squares)
        )
        lengths = [float(np.linalg.norm(V)) for V in (G, H)]
        return bound_norm(
            largest + error * lengths[1] + joint * float(np.linalg.norm(in_H, 2)),
            deviation + error * lengths[0] + joint * float(np.linalg.norm(in_G, 2)),
            _COUNT,
            FAILURE / 2,
            float(np.finfo(np.float32).eps) * lengths[0],
        )


class ProductCheck:
    """Bound on ``‖AX - B‖`` for a product B in float32, from Gaussian combinations of its columns.

    Parameters
    ----------
    X, B : arrays of shape (n, b)
    """

    count = _COUNT

    def __init__(self, X: Array, B: Array) -> None:
        self._weights = np.random.default_rng(1).standard_normal((X.shape[1], _COUNT))
        self.vectors = np.empty((len(X), _COUNT))
        self._B = B

        def work(rows: slice) -> None:  # no copy of X in float64
            self.vectors[rows] = X[rows] @ self._weights

        each_chunk(len(X), work)

    def bound(self, product: Array, error: float) -> float:
        """Return the bound from the product in float64 with :attr:`vectors`.

        Parameters
        ----------
        product : array of shape (n, 32)
        error : float
            Bound on its error, relative to the norms of the vectors.
        """

        def squares(rows: slice) -> Array:
            E = product[rows] - self._B[rows] @ self._weights
            return E.T @ E

        total = sum_chunks(len(product), squares)
        norm = float(np.sqrt(max(np.linalg.eigvalsh(total)[-1], 0.0)))
        return bound_matrix(norm + error * float(np.linalg.norm(self.vectors)), _COUNT, FAILURE / 2)
