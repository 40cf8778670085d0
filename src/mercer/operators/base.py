"""What solvers and estimators may ask of a Gram operator.

Dictionary: w the weights (1 by default), n = Σw, ``A = W^½ K W^½`` the operator itself,
``start`` = √w the vector that the papers call 1, V = start'A start / n² the information potential.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from mercer.maths.eigen import largest_entry_signs
from mercer.maths.types import Array
from mercer.operators.expansion import Expansion

__all__ = ["EigenProblem", "GramOperator"]


class EigenProblem(ABC):
    """A symmetric matrix with a start vector: all that a solver sees.

    For a Gram operator the problem is the operator itself. For a factored one, ``A = ΦΦ*``, it is
    the small matrix Φ*Φ, which has the same non-zero eigenvalues; its start Φ*√w carries a factor
    √λ in every overlap, and the two methods below undo that.
    """

    #: number of rows
    size: int
    #: the vector whose Krylov space holds all entropy
    start: Array
    #: relative accuracy (against the largest eigenvalue) of a product
    relative_error: float

    @cached_property
    def start_length(self) -> float:
        """Norm of the start vector."""
        return float(np.sqrt(np.einsum("i,i->", self.start, self.start)))

    def zero(self, largest: float) -> float:
        """Eigenvalues of this size are 0 to rounding, beside the largest."""
        return abs(largest) * max(self.size, 100) * self.relative_error / 10

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Multiply the matrix with the columns of V (float64)."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix as an array that the caller may overwrite."""

    @abstractmethod
    def term_of_mass(self, x: Array) -> Array:
        """Entropy term of an eigenpair at x whose share of ``|start|²`` is 1."""

    @abstractmethod
    def overlaps(self, values: Array, products: Array) -> Array:
        """Overlaps 1'e_i from ``products`` = start' times the problem's eigenvectors."""


class GramOperator(LinearOperator, ABC):  # type: ignore[misc]
    """``A = W^½ K W^½`` as a linear operator, with what the estimators need beside products."""

    # Since 1.18 scipy's operators keep the module of their arrays. Ours is always numpy's, and no
    # instance holds it: then what is saved or pickled is the same with every scipy.
    ndim = 2
    _xp = getattr(aslinearoperator(np.zeros((1, 1))), "_xp", None)

    def __init__(
        self,
        size: int,
        dtype: np.dtype[Any],
        weights: Array | None,
        total: float | None = None,
    ) -> None:
        super().__init__(dtype=np.dtype(np.float64), shape=(size, size))
        for name in ("ndim", "_xp"):
            self.__dict__.pop(name, None)
        self.precision = dtype
        self.weights = weights
        if total is None:
            total = float(size if weights is None else weights.sum())
        self.total = total

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def start(self) -> Array:
        """``√w``, which the papers call 1."""
        return np.ones(self.shape[0]) if self.weights is None else np.sqrt(self.weights)

    @property
    def unit(self) -> Array:
        """``start`` as a unit vector."""
        return self.start / np.sqrt(self.total)

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal of A."""

    @cached_property
    def trace(self) -> float:
        """Sum of all eigenvalues."""
        return float(self.diagonal().sum())

    @cached_property
    def potential(self) -> float:
        """Information potential ``V = 1'K1 / n²``."""
        return float(self.start @ self.matvec(self.start)) / self.total**2

    def quadratic(self, V: Array) -> Array:
        """``V'AV`` for a few columns."""
        return np.asarray(V.T @ self.matmat(V))

    def group_products(self, labels: Array, count: int) -> Array:
        """``⟨s_i, s_j⟩``, products of the (weighted) sums of images over groups 0, …, count - 1."""
        return self.quadratic(self.start[:, None] * (labels[:, None] == np.arange(count)))

    @property
    @abstractmethod
    def description(self) -> str:
        """How the products are made, in a few words."""

    @property
    def error_bound(self) -> float:
        """Bound on ``‖A - its approximation‖``; 0 where only rounding stands between them."""
        return 0.0

    @property
    def missing_share(self) -> float:
        """Share of the trace of K that the approximation does not have."""
        return 0.0

    @abstractmethod
    def problem(self) -> EigenProblem:
        """Return the matrix whose eigenpairs a solver should find."""

    @abstractmethod
    def centered(self) -> GramOperator:
        """Return the operator with the mean removed in feature space."""

    @abstractmethod
    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return what projects points onto the problem's eigenvectors, without this operator."""

    @abstractmethod
    def undecided_signs(self, vectors: Array) -> Array:
        """±1 per column: the signs that make the largest entry of each eigenvector positive."""


class MultiplyingGram(GramOperator, EigenProblem):  # type: ignore[override]
    """A Gram operator that is its own eigenproblem: K multiplies n-vectors."""

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of points."""
        return int(self.shape[0])

    @property
    def relative_error(self) -> float:  # type: ignore[override]
        """Ten roundings."""
        return 10 * float(np.finfo(self.precision).eps)

    def product(self, V: Array) -> Array:
        """Multiply with A."""
        return np.asarray(self.matmat(V))

    def term_of_mass(self, x: Array) -> Array:
        """``ψ = λ (1'e)² / n²`` with (1'e)² = n."""
        return x / self.total

    def overlaps(self, values: Array, products: Array) -> Array:
        """They are the products."""
        return products

    def problem(self) -> EigenProblem:
        """Return this operator itself."""
        return self

    def undecided_signs(self, vectors: Array) -> Array:
        """Per unit of weight, so that a weight of two is two copies."""
        return largest_entry_signs(vectors / self.start[:, None])

    def centered(self) -> GramOperator:
        """Wrap this operator."""
        from mercer.operators.centered import CenteredGram

        return CenteredGram(self)
