"""Gram operators: the matrix ``A = W^½ K W^½``, stored or evaluated tile by tile.

A solver needs products with a symmetric matrix and a start vector, an :class:`EigenProblem`.
Estimators need more: the trace, the information potential, and functions of new points that belong
to the eigenvectors. A :class:`GramOperator` offers both. A new one needs few methods::

    class Identity(DirectGram):  # a kernel that is 1 on the diagonal and 0 elsewhere
        def product(self, V):
            return V
        def diagonal(self):
            return np.ones(self.size)
        def dense(self):
            return np.eye(self.size)
        ...

Notation: w the weights (1 by default), n = Σw, ``start`` = √w, which the papers call 1,
V = start'A start / n² the information potential.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer.data.dask.points import ChunkedPoints
from mercer.data.points import Points
from mercer.gram.expansion import THREADS_FROM, TILE, TILE_SIDES, Expansion, KernelExpansion
from mercer.kernels import Kernel
from mercer.kernels.base import Tiles
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_each_in_threads, run_in_threads
from mercer.utils.types import Array

__all__ = [
    "BlockedGram",
    "CenteredGram",
    "ChunkedGram",
    "DenseGram",
    "DirectGram",
    "EigenProblem",
    "GramOperator",
    "GramProblem",
    "KernelGram",
    "LargestEntries",
    "double_center",
    "fill_gram",
    "gram_product",
    "largest_entry_signs",
    "remove_direction",
]

Tile = tuple[slice, slice]

_BLOCK_ROWS = 512  # of a stored matrix, per task of a product
_PARALLEL_PRODUCT = 2**22  # entries; below, starting threads costs more than it saves


class EigenProblem(ABC):
    """A symmetric matrix with a start vector: all that a solver sees.

    For a direct Gram operator the matrix is A itself. For a factored one, ``A = ΦΦ*``, it is the
    small matrix Φ*Φ, which has the same non-zero eigenvalues; its start vector Φ*√w contributes a
    factor √λ to every overlap, which ``term_of_mass`` and ``overlaps`` undo. The Krylov space of
    the start vector contains all eigenvectors with a non-zero entropy term.

    ``relative_error`` is the accuracy of a product, relative to the largest eigenvalue;
    ``has_entropy`` is False for a centered matrix, whose eigenvectors do not overlap with the start
    vector.
    """

    size: int
    start: Array
    relative_error: float
    has_entropy: bool = True
    #: Method and certificate of a solver that computes all eigenpairs of the matrix.
    decomposition: tuple[str, str] = ("full decomposition", "all eigenpairs are known")

    @cached_property
    def start_norm(self) -> float:
        """Euclidean norm of the start vector."""
        return float(np.sqrt(np.einsum("i,i->", self.start, self.start)))

    def block_width(self, k: int) -> int | None:
        """Return the width of blocks for k leading eigenpairs; None for the solver's default."""
        return None

    def numerical_zero(self, largest: float) -> float:
        """Return the size below which an eigenvalue is rounding error."""
        return abs(largest) * max(self.size, 100) * self.relative_error / 10

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Return the product of the matrix with the columns of V (float64)."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix as an array that the caller may overwrite."""

    @abstractmethod
    def term_of_mass(self, x: Array) -> Array:
        """Return the entropy term of an eigenpair at x with the whole mass ``|start|²``."""

    @abstractmethod
    def overlaps(self, values: Array, products: Array) -> Array:
        """Return 1'e_i from ``products``, start' times the eigenvectors of the problem."""

    def entropy_terms(self, values: Array, products: Array) -> Array:
        """Return ψ_i from ``products``, start' times the eigenvectors of the problem."""
        if self.start_norm == 0:  # centered features
            return np.zeros(len(values))
        masses = (products / self.start_norm) ** 2
        return np.asarray(self.term_of_mass(values) * masses)


class GramOperator(ABC):
    """``A = W^½ K W^½``: products, and what estimators need besides.

    ``total`` is n, the sum of the weights, if it is known; ``rows`` the number of rows with a
    positive weight, with those of batches that were absorbed.
    """

    def __init__(
        self,
        size: int,
        precision: np.dtype[Any],
        weights: Array | None,
        total: float | None = None,
    ) -> None:
        self.size = size
        self.rows = size
        self.precision = precision
        self.weights = weights
        if total is None:
            total = float(size if weights is None else weights.sum())
        self.total = total

    @cached_property
    def start(self) -> Array:
        """``√w``, which the papers call 1."""
        return np.ones(self.size) if self.weights is None else np.sqrt(self.weights)

    @property
    def unit(self) -> Array:
        """``start`` as a unit vector."""
        return self.start / np.sqrt(self.total)

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Return ``A V`` for the columns of V (float64)."""

    def __matmul__(self, V: Array) -> Array:
        """Return ``A V`` for one vector or for columns."""
        return self.product(V[:, None])[:, 0] if V.ndim == 1 else self.product(V)

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal of A."""

    @cached_property
    def trace(self) -> float:
        """Sum of all eigenvalues."""
        return float(self.diagonal().sum())

    @cached_property
    def start_product(self) -> Array:
        """``A√w``, the sums of the rows of K."""
        return self @ self.start

    @cached_property
    def potential(self) -> float:
        """Information potential ``V = 1'K1 / n²``."""
        return float(self.start @ self.start_product) / self.total**2

    def quadratic(self, V: Array) -> Array:
        """Return ``V'AV`` for a few columns."""
        return np.asarray(V.T @ self.product(V))

    def group_products(self, labels: Array, count: int) -> Array:
        """Return ``⟨s_i, s_j⟩``, s_i the weighted sum of the images of group i = 0, …, count-1."""
        return self.quadratic(self.start[:, None] * (labels[:, None] == np.arange(count)))

    @property
    @abstractmethod
    def description(self) -> str:
        """Short description of how products are computed."""

    @property
    def error_bound(self) -> float:
        """Bound on ``‖A - its approximation‖``; 0 where there is only rounding error."""
        return 0.0

    @property
    def missing_fraction(self) -> float:
        """Fraction of the trace of K that the approximation misses."""
        return 0.0

    @abstractmethod
    def centered(self) -> GramOperator:
        """Return the operator with the (weighted) mean in feature space removed."""

    @abstractmethod
    def problem(self) -> EigenProblem:
        """Return the eigenproblem to solve."""

    @abstractmethod
    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the projections onto the problem's eigenvectors as functions of new points."""

    @abstractmethod
    def undecided_signs(self, vectors: Array) -> Array:
        """Return ±1 per column: signs that make the largest entry of each eigenvector positive."""


class DirectGram(GramOperator):
    """A Gram operator whose eigenproblem is its own n × n matrix."""

    @abstractmethod
    def dense(self) -> Array:
        """Return A as an array that the caller may overwrite."""

    @property
    def uncentered_norm(self) -> float:
        """Lower bound on the norm of A before centering; 0 where nothing is centered."""
        return 0.0

    @property
    def is_centered(self) -> bool:
        """Whether the mean in feature space was removed."""
        return False

    def centered(self) -> GramOperator:
        """Return ``P A P``."""
        return CenteredGram(self)

    def problem(self) -> EigenProblem:
        """Return the eigenproblem of A itself."""
        return GramProblem(self)

    def undecided_signs(self, vectors: Array) -> Array:
        """Return the signs per unit of weight, so that a weight of two equals two copies."""
        return largest_entry_signs(vectors / self.start[:, None])


class GramProblem(EigenProblem):
    """The eigenproblem of a direct Gram operator."""

    def __init__(self, gram: DirectGram) -> None:
        self.gram = gram
        self.size = gram.size
        self.start = gram.start
        self.relative_error = 10 * float(np.finfo(gram.precision).eps)
        self.has_entropy = not gram.is_centered

    def product(self, V: Array) -> Array:
        """Return ``A V``."""
        return self.gram.product(V)

    def dense(self) -> Array:
        """Return a copy of A."""
        return self.gram.dense()

    def numerical_zero(self, largest: float) -> float:
        """Return the rounding error, relative to the largest eigenvalue before centering."""
        return super().numerical_zero(max(abs(largest), self.gram.uncentered_norm))

    def term_of_mass(self, x: Array) -> Array:
        """Return ``ψ = λ (1'e)² / n²`` with (1'e)² = n."""
        return x / self.gram.total

    def overlaps(self, values: Array, products: Array) -> Array:
        """Return the products; zeros where centering has removed all overlap."""
        return products if self.has_entropy else np.zeros(len(values))


class KernelGram(DirectGram):
    """A kernel and its points, with expansions in k(·, x_j)."""

    def __init__(self, kernel: Kernel, points: Points, weights: Array | None = None) -> None:
        super().__init__(points.n, points.dtype, weights)
        self.kernel = kernel
        self.points = points

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the expansion with coefficients ``√w_j e_ji / √λ_i``."""
        coefficients = self.start[:, None] * vectors / np.sqrt(values)
        diagonal = self.diagonal() / self.start**2
        return KernelExpansion(self.kernel, self.points, coefficients, self.weights, diagonal)


class DenseGram(KernelGram):
    """A stored Gram matrix: K of the points, or the user's ``matrix``, which is not written to."""

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None = None,
        matrix: Array | None = None,
    ) -> None:
        super().__init__(kernel, points, weights)
        K = fill_gram(kernel, points) if matrix is None else matrix
        self.precision = K.dtype
        if weights is not None:
            K = K if matrix is None else K.copy()
            K *= self.start[:, None].astype(K.dtype)
            K *= self.start[None, :].astype(K.dtype)
        self.matrix = K

    def product(self, V: Array) -> Array:
        """Return ``A V``; one vector by ``symv``, which reads only half of A."""
        if V.shape[1] == 1:
            symv = get_blas_funcs("symv", (self.matrix,))
            product = symv(1.0, self.matrix.T, V[:, 0], lower=1)
            return np.asarray(product, dtype=np.float64)[:, None]
        # V'A, the transpose of AV, is faster on a row-major A. Our own threads take one block of
        # rows after the other; threads of BLAS would wait for the one that shares its core.
        right = np.ascontiguousarray(V.T, dtype=self.matrix.dtype)
        product = np.empty(right.shape, right.dtype)

        def multiply(rows: slice) -> None:
            finite_product(right, self.matrix[rows].T, out=product[:, rows])

        blocks = row_ranges(self.size, _BLOCK_ROWS)
        run_each_in_threads(blocks, multiply, self.size**2 >= _PARALLEL_PRODUCT)
        return np.asarray(product.T.astype(np.float64, copy=False))

    def diagonal(self) -> Array:
        """Return the diagonal of the stored matrix."""
        return self.matrix.diagonal().astype(np.float64)

    def squared_norm(self) -> float:
        """Return ``‖A‖_F²``."""
        parts = (self.matrix[rows] for rows in row_ranges(self.size, _BLOCK_ROWS))
        wide = (part.astype(np.float64, copy=False) for part in parts)
        return float(sum(np.einsum("ij,ij->", part, part) for part in wide))

    def dense(self) -> Array:
        """Return a copy: products must still work after the caller has overwritten it."""
        return self.matrix.copy()

    @property
    def description(self) -> str:
        """Stored, with its size."""
        return f"stored Gram matrix ({self.matrix.nbytes / 1e6:.3g} MB)"


class BlockedGram(KernelGram):
    """A Gram matrix that is never stored: every product evaluates the kernel again, in threads."""

    @cached_property
    def _tiles(self) -> Tiles:
        return self.kernel.tiles(self.points.data)

    def product(self, V: Array) -> Array:
        """Return ``A V`` from tiles of K."""
        if self.weights is None:
            return gram_product(self.kernel, self.points, V, self._tiles)
        root = self.start[:, None]
        return root * gram_product(self.kernel, self.points, root * V, self._tiles)

    def diagonal(self) -> Array:
        """Return the kernel's diagonal, weighted."""
        diagonal = self.kernel.diagonal(self.points.data).astype(np.float64)
        return np.asarray(diagonal * self.start**2)

    def dense(self) -> Array:
        """Return the whole matrix."""
        return DenseGram(self.kernel, self.points, self.weights).matrix

    @property
    def description(self) -> str:
        """Matrix-free, with the precision."""
        return f"matrix-free products, {self.precision.name} tiles"


class ChunkedGram(BlockedGram):
    """Matrix-free products for points on a Dask cluster; the workers compute tiles of K.

    A tile needs two blocks of points, so blocks are sent between workers; each is sent to a worker
    once and stored there. Every product also sends vectors of n numbers. The fitted model contains
    the points, as with every exact solver.
    """

    def __init__(self, kernel: Kernel, points: ChunkedPoints, weights: Any = None) -> None:
        local_points = points.take(slice(None))
        local_weights = None if weights is None else points.passes.take(weights, slice(None))
        super().__init__(kernel, local_points, local_weights)
        # two blocks fit into the memory of a worker; 6 give 21 tiles, enough for several workers
        size = max(1, min(20_000, -(-points.n // 6)))
        self.blocks = points.passes.persist(points.rows.rechunk({0: size}))

    def product(self, V: Array) -> Array:
        """Return ``A V`` from tiles computed by the workers."""
        from mercer.data.dask.tasks import symmetric_product

        root = np.ones((1, 1)) if self.weights is None else self.start[:, None]
        tile = partial(_tile_product, self.kernel)
        return root * symmetric_product(self.blocks, tile, root * V)

    @property
    def description(self) -> str:
        """The method, the number of blocks and the precision."""
        return f"matrix-free products of {self.blocks.numblocks[0]} blocks, {self.precision.name}"


class CenteredGram(DirectGram):
    """``P A P``, P the projection orthogonal to ``√w``: without the mean in feature space."""

    def __init__(self, base: DirectGram) -> None:
        super().__init__(base.size, base.precision, base.weights)
        self.base = base

    @property
    def is_centered(self) -> bool:
        """True."""
        return True

    def product(self, V: Array) -> Array:
        """Return ``P A P V``."""
        unit = self.unit
        return remove_direction(self.base.product(remove_direction(V, unit)), unit)

    @property
    def _mean(self) -> Array:
        """``A u``."""
        return self.base.start_product / np.sqrt(self.total)

    @property
    def trace(self) -> float:
        """``tr A - u'A u``."""
        return self.base.trace - self.total * self.base.potential

    @property
    def uncentered_norm(self) -> float:
        """``u'A u``, which may be far larger than the largest eigenvalue after centering."""
        return abs(self.total * self.base.potential)

    def diagonal(self) -> Array:
        """Return ``a_jj - 2 u_j (A u)_j + (u'A u) u_j²``."""
        unit, mean = self.unit, self._mean
        return np.asarray(self.base.diagonal() - 2 * unit * mean + (unit @ mean) * unit**2)

    def dense(self) -> Array:
        """Return a centered copy of the base's matrix."""
        A = self.base.dense()
        return double_center(A, self.unit.astype(A.dtype))

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the base's expansion minus its value at the mean in feature space.

        Eigenvectors of the centered operator are orthogonal to the vector of ones, so
        ``Σ_j c_j k̃(x, x_j) = Σ_j c_j k(x, x_j) - const``.
        """
        # rounding errors mix the vector of ones into eigenvectors of small eigenvalues
        vectors = remove_direction(vectors, self.unit)
        plain = self.base.expansion(values, vectors)
        assert isinstance(plain, KernelExpansion)
        root_n = np.sqrt(self.total)
        offset = self._mean @ vectors / root_n / np.sqrt(values)
        diagonal = self.diagonal() / self.start**2
        return replace(plain, offset=offset, diagonal=diagonal, potential=self.base.potential)

    @property
    def description(self) -> str:
        """Description of the base, followed by "centered"."""
        return f"{self.base.description}, centered"


# --- tiles of K -----------------------------------------------------------------------------------


def fill_gram(kernel: Kernel, points: Points) -> Array:
    """Return K; each pair of points is evaluated once."""
    tiles = kernel.tiles(points.data)
    K = np.empty((points.n, points.n), points.dtype)

    def work(tasks: Sequence[Tile]) -> None:
        for rows, columns in tasks:
            tiles(rows, columns, K[rows, columns])
            if rows != columns:
                K[columns, rows] = K[rows, columns].T

    _run_on_tiles(kernel, points, work)
    return K


def gram_product(kernel: Kernel, points: Points, V: Array, prepared: Tiles | None = None) -> Array:
    """Return ``K @ V`` without storing K: tiles in the precision of the points, sums in float64.

    ``prepared`` are the kernel's tiles of the points, if they exist already.
    """
    tiles = kernel.tiles(points.data) if prepared is None else prepared
    right = V.astype(points.dtype, copy=False)
    side = TILE_SIDES.get(points.dtype, TILE)

    def work(tasks: Sequence[Tile]) -> Array:
        total = np.zeros(V.shape)
        buffer = np.empty((side, side), points.dtype)
        product = np.empty((side, V.shape[1]), points.dtype)
        for rows, columns in tasks:
            block = buffer[: rows.stop - rows.start, : columns.stop - columns.start]
            tiles(rows, columns, block)
            with np.errstate(invalid="ignore"):  # as in finite_product, once for two products
                total[rows] += np.matmul(block, right[columns], out=product[: len(block)])
                if rows != columns:
                    total[columns] += np.matmul(block.T, right[rows], out=product[: len(block.T)])
        return total

    return np.asarray(sum(_run_on_tiles(kernel, points, work)))


def _run_on_tiles(
    kernel: Kernel, points: Points, work: Callable[[Sequence[Tile]], Any]
) -> list[Any]:
    """Run ``work`` on the tiles of the lower triangle of K.

    Threads are not used for kernels on objects, which may run arbitrary Python code.
    """
    n = points.n
    ranges = row_ranges(n, TILE_SIDES.get(points.dtype, TILE))
    tiles = [(ranges[i], ranges[j]) for i in range(len(ranges)) for j in range(i + 1)]
    parallel = kernel.compares != "objects" and n * n >= THREADS_FROM
    return run_in_threads(tiles, work, parallel)


def _tile_product(
    kernel: Kernel, X: Array, V: Array, Y: Array | None = None, U: Array | None = None
) -> tuple[Array, Array | None]:
    """Return ``k(X, Y) U`` and ``k(Y, X) V`` from one evaluation; without Y, ``k(X, X) V``."""
    if Y is None or U is None:
        return gram_product(kernel, Points(X), V), None
    tiles = kernel.tiles(X, Y)
    right, left = np.zeros((len(X), U.shape[1])), np.zeros((len(Y), V.shape[1]))
    for rows, _ in Points(X).chunks(TILE):
        for columns, _ in Points(Y).chunks(TILE):
            block = tiles(rows, columns, None)
            right[rows] += finite_product(block, U[columns].astype(block.dtype, copy=False))
            left[columns] += finite_product(block.T, V[rows].astype(block.dtype, copy=False))
    return right, left


def remove_direction(V: Array, unit: Array) -> Array:
    """Return ``(I - u u') V`` for a unit vector u."""
    return V - unit[:, None] * (unit @ V)[None, :]


def double_center(A: Array, unit: Array) -> Array:
    """Replace a symmetric matrix A by ``(I - u u') A (I - u u')``, in place.

    If u is the constant unit vector, the result is the centered Gram matrix of kernel PCA. With
    ``u = √w / √Σw`` it is centered by the weighted mean.
    """
    product = A @ unit
    # A - P A P = u h' + h u' with h = A u - ½ (u'A u) u, which needs no second n × n matrix.
    half = product - 0.5 * (unit @ product) * unit
    factors = np.stack([unit, half], axis=1)
    gemm = get_blas_funcs("gemm", (A,))
    # A and its transpose are equal; BLAS writes in place to columns that are contiguous
    columns = A.T if A.flags.c_contiguous else A
    updated = gemm(-1.0, factors, factors[:, ::-1], 1.0, columns, trans_b=1, overwrite_c=1)
    if not np.may_share_memory(updated, A):
        A[...] = updated
    return A


# --- signs ----------------------------------------------------------------------------------------


def largest_entry_signs(entries: Array) -> Array:
    """Return ±1 per column: signs that make the entry of largest absolute value positive.

    The first of equal entries counts.
    """
    return LargestEntries.of(entries).signs


@dataclass(frozen=True)
class LargestEntries:
    """The largest entries of columns whose rows arrive in consecutive chunks.

    Per column, ``records`` are the signed entries that exceed all earlier ones in absolute value
    and are within a relative distance of 1e-6 of the largest. The first of equal entries is among
    them, whatever later chunks contain.
    """

    records: list[Array]

    @classmethod
    def of(cls, entries: Array) -> LargestEntries:
        """Return the largest entries of one chunk."""
        return cls([_records(column) for column in entries.T])

    @staticmethod
    def joined(parts: Sequence[LargestEntries]) -> LargestEntries:
        """Join consecutive chunks."""
        columns = zip(*(part.records for part in parts), strict=True)
        return LargestEntries([_records(np.concatenate(column)) for column in columns])

    @property
    def signs(self) -> Array:
        """±1 per column."""
        return np.array([-1.0 if len(first) and first[0] < 0 else 1.0 for first in self.records])


def _records(entries: Array) -> Array:
    """Return entries that exceed all earlier ones in absolute value and are near the largest."""
    size = np.abs(entries)
    # rounding errors must not decide which of equal entries is the largest
    entries = entries[size >= (1 - 1e-6) * size.max(initial=0)]
    size = np.abs(entries)
    highest = np.maximum.accumulate(size)
    return entries[np.r_[True, size[1:] > highest[:-1]]] if len(entries) else entries
