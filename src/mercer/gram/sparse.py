"""Sparse Gram matrices, and Gram matrices normalized by their degrees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array

from mercer.data.points import Points
from mercer.gram.expansion import Expansion, cross_product
from mercer.gram.gram import DirectGram, KernelGram
from mercer.kernels import Kernel
from mercer.utils.types import Array

__all__ = ["NormalizedExpansion", "NormalizedGram", "SparseGram"]


class SparseGram(KernelGram):
    """A stored Gram matrix with few non-zero values: the kernel's, or a given ``matrix``."""

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None = None,
        matrix: csr_array | None = None,
    ) -> None:
        super().__init__(kernel, points, weights)
        self.precision = np.dtype(np.float64)
        K = csr_array(kernel.sparse(points.data) if matrix is None else matrix)
        if weights is not None:
            root = diags_array(self.start)
            K = csr_array(root @ K @ root)
        self.matrix = K

    def product(self, V: Array) -> Array:
        """Return ``A V``."""
        return np.asarray(self.matrix @ V)

    def diagonal(self) -> Array:
        """Return the diagonal of the stored matrix."""
        return np.asarray(self.matrix.diagonal())

    def dense(self) -> Array:
        """Return the matrix with its zeros."""
        return np.asarray(self.matrix.toarray())

    @property
    def description(self) -> str:
        """Sparse, with the number of values."""
        return f"sparse Gram matrix ({self.matrix.nnz} values)"


class NormalizedGram(DirectGram):
    r"""Degree-normalized Gram operator, :math:`D^{-1/2} W^{1/2} K W^{1/2} D^{-1/2}`.

    The degrees are :math:`d_i = \sum_j w_j k(x_i, x_j)`; kernel values must not be negative. The
    largest eigenvalue is 1, with the eigenvector :math:`\sqrt{w_i d_i}` and one such eigenvector
    for each connected component.

    ``loops`` tells whether a point is its own neighbor. Without loops a row of weight w counts as w
    copies, each connected with the w - 1 others, and the extension to new points is that of the
    graph with the new point.
    """

    def __init__(self, base: KernelGram, loops: bool = True) -> None:
        super().__init__(base.size, base.precision, base.weights)
        self.base = base
        self.loops = loops

    @cached_property
    def removed(self) -> Array:
        """What is subtracted from the diagonal of A: k(x_i, x_i), at most the whole entry."""
        diagonal = self.base.diagonal()
        return np.zeros(self.size) if self.loops else diagonal / np.maximum(self.start**2, 1)

    def _base_product(self, V: Array) -> Array:
        return self.base.product(V) - self.removed[:, None] * V

    @cached_property
    def degrees(self) -> Array:
        """Weighted sums of the rows of K."""
        degrees = self._base_product(self.start[:, None])[:, 0] / self.start
        lowest = float(degrees.min())
        if lowest < -1e-12 * float(np.abs(degrees).max()):
            raise ValueError(
                f"The degree Σ_j k(x_i, x_j) of a row is {lowest:.3g}; normalization needs "
                "nonnegative ones. Use a kernel with nonnegative values, such as Gaussian."
            )
        if lowest == degrees.max() == 0:
            raise ValueError(
                "The degree Σ_j k(x_i, x_j) of every row is 0: the kernel connects no rows. Use a "
                "larger bandwidth."
            )
        # the rows of isolated points are then almost zero
        return np.maximum(degrees, 1e-8 * float(degrees.mean()))

    @cached_property
    def _roots(self) -> Array:
        return np.sqrt(self.degrees)

    def product(self, V: Array) -> Array:
        """Return ``D^-½ A D^-½ V``."""
        roots = self._roots[:, None]
        return self._base_product(V / roots) / roots

    def diagonal(self) -> Array:
        """Return the diagonal, normalized."""
        return np.asarray((self.base.diagonal() - self.removed) / self.degrees)

    def dense(self) -> Array:
        """Return a normalized copy of the base's matrix."""
        A = self.base.dense()
        A[np.diag_indices(self.size)] -= self.removed.astype(A.dtype)
        A /= self._roots[:, None].astype(A.dtype)
        A /= self._roots.astype(A.dtype)
        return A

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the Nyström extension of the normalized operator."""
        coefficients = self.start[:, None] * vectors / np.sqrt(values) / self._roots[:, None]
        return NormalizedExpansion(
            self.base.kernel, self.base.points, coefficients, self.degrees, self.weights
        )

    @property
    def description(self) -> str:
        """Description of the base, followed by "degree-normalized"."""
        return f"{self.base.description}, degree-normalized"


@dataclass(frozen=True, eq=False)
class NormalizedExpansion(Expansion):
    r"""``f_i(x) = Σ_j c_ji k(x, x_j) / √d(x)`` with the degree ``d(x) = Σ_j w_j k(x, x_j)``.

    The coefficients are ``c_ji = √w_j e_ji / √(λ_i d_j)``. The functions are 0 at points whose
    kernel with all training points is 0.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    degrees: Array
    weights: Array | None

    def __call__(self, points: Points) -> Array:
        """Evaluate the sums and divide them by the roots of the degrees."""
        weights = np.ones(self.points.n) if self.weights is None else self.weights
        columns = np.column_stack([self.coefficients, weights])
        sums = cross_product(self.kernel, points, self.points, columns)
        degrees = sums[:, -1:]
        near = degrees > 0
        return np.asarray(np.where(near, sums[:, :-1], 0) / np.sqrt(np.where(near, degrees, 1)))

    def at_training(self, values: Array) -> Array:
        """Return ``√λ_i e_ji / √w_j``."""
        scaled = self.coefficients * values * np.sqrt(self.degrees)[:, None]
        return scaled if self.weights is None else scaled / self.weights[:, None]

    @property
    def mean_coordinates(self) -> Array | None:
        """None: not centered."""
        return None

    @property
    def mean_squared_norm(self) -> float:
        """0: not centered."""
        return 0.0

    def mean_products(self, points: Points) -> Array:
        """Not available: only centered expansions have it."""
        raise AssertionError("only for centered expansions")
