"""Sums, products and multiples of kernels, evaluated entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles, checked_depth
from mercer.utils.formatting import table as html_table
from mercer.utils.frames import as_frame
from mercer.utils.types import Array

__all__ = ["Normalized", "Product", "Scaled", "Sum", "add", "multiply"]


def add(left: Kernel, right: Any) -> Kernel:
    """Return ``left + right``; the terms of sums, also of their multiples, are joined."""
    if not isinstance(right, Kernel):
        return NotImplemented
    return Sum((*_summands(left), *_summands(right)))


def multiply(left: Kernel, right: Any) -> Kernel:
    """Return ``left * right``, the product of two kernels or of a kernel and a number.

    Multiples of multiples are one multiple, and the factors of products, also of their multiples,
    are joined, so that repeated operations do not nest.
    """
    if isinstance(right, int | float | np.number):
        number, inner = _multiple(left)
        return Scaled(float(right) * number, inner)
    if not isinstance(right, Kernel):
        return NotImplemented
    (first, left_factors), (second, right_factors) = _factors(left), _factors(right)
    product = Product((*left_factors, *right_factors))
    return product if first == second == 1 else Scaled(first * second, product)


def _multiple(kernel: Kernel) -> tuple[float, Kernel]:
    """Return the number and the kernel of a multiple; 1 for other kernels."""
    return (kernel.factor, kernel.kernel) if type(kernel) is Scaled else (1.0, kernel)


def _summands(kernel: Kernel) -> tuple[Kernel, ...]:
    number, inner = _multiple(kernel)
    if not isinstance(inner, Sum):
        return (kernel,)
    return inner.terms if inner is kernel else tuple(term * number for term in inner.terms)


def _factors(kernel: Kernel) -> tuple[float, tuple[Kernel, ...]]:
    """Return the number in front of a product, and its factors."""
    number, inner = _multiple(kernel)
    return (number, inner.terms) if isinstance(inner, Product) else (1.0, (kernel,))


class _Combination(Kernel):
    """Several kernels on the same points, combined entry by entry."""

    def __init__(self, terms: tuple[Kernel, ...]) -> None:
        self.terms = terms
        self._depth = checked_depth(terms)

    _join: ClassVar[Callable[..., Array]]
    _symbol: ClassVar[str]

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """Type of data that all terms compare."""
        kinds = {term.compares for term in self.terms}
        if len(kinds) != 1 or kinds == {"gram"}:
            raise ValueError(
                f"{self!r} combines kernels on {' and '.join(sorted(kinds))}; all terms must "
                "compare the same data. Combine precomputed Gram matrices before fitting."
            )
        return kinds.pop()

    @property
    def is_psd(self) -> bool:
        """Whether all terms are; sums and entrywise products preserve this (Schur)."""
        return all(term.is_psd for term in self.terms)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Combine the terms' tiles entry by entry."""
        first, *others = [term.tiles(X, Y) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = first(rows, columns, out)
            for other in others:
                type(self)._join(block, other(rows, columns, None), out=block)
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """Combine the terms' diagonals."""
        X = as_frame(X)
        total = self.terms[0].diagonal(X).copy()
        for term in self.terms[1:]:
            type(self)._join(total, term.diagonal(X), out=total)
        return total

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the terms by their positions."""
        return {str(i): term for i, term in enumerate(self.terms)}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return the same combination of other terms."""
        return type(self)(tuple(kernels))

    def _repr_html_(self) -> str:
        title = f"{type(self).__name__} of {len(self.terms)} kernels"
        rows = [[str(i), repr(term)] for i, term in enumerate(self.terms)]
        return html_table(title, ["parameter", "kernel"], rows)

    def __repr__(self) -> str:
        inside = [f"({t!r})" if isinstance(t, _Combination) else repr(t) for t in self.terms]
        return self._symbol.join(inside)


class Sum(_Combination):
    """Sum of kernels, ``k(x, y) = Σ_i k_i(x, y)``; written ``k1 + k2``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(1.0) + Linear()
    Gaussian(bandwidth=1.0) + Linear(scale=1.0, constant=0.0)
    """

    _join = np.add
    _symbol = " + "

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Add the terms on the logarithmic scale."""
        first, *rest = [term.log_tiles(X, Y) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = first(rows, columns, out)
            for other in rest:
                np.logaddexp(block, other(rows, columns, None), out=block)
            return block

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw each point from one of the terms, chosen in proportion to their integrals."""
        logs = np.array([term.log_normalizer(d) for term in self.terms])
        counts = rng.multinomial(n, np.exp(logs - np.logaddexp.reduce(logs)))
        drawn = [term.draw(c, d, rng) for term, c in zip(self.terms, counts, strict=True)]
        return rng.permutation(np.concatenate(drawn))

    def log_normalizer(self, d: int) -> float:
        """Return the logarithm of the sum of the terms' integrals."""
        return float(np.logaddexp.reduce([term.log_normalizer(d) for term in self.terms]))

    @property
    def is_density(self) -> bool:
        """Whether every term is a density up to a factor."""
        return all(term.is_density for term in self.terms)


class Product(_Combination):
    """Product of kernels, ``k(x, y) = Π_i k_i(x, y)``; written ``k1 * k2``.

    (The product of measures is :class:`mercer.population.Product`.)

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = Gaussian(1.0) * Linear()
    >>> kernel
    Gaussian(bandwidth=1.0) * Linear(scale=1.0, constant=0.0)
    >>> kernel([[1.0]], [[1.0], [2.0]]).round(4)
    array([[1.    , 1.2131]])
    """

    _join = np.multiply
    _symbol = " * "

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Add the logarithms of the factors, so that small factors do not underflow."""
        first, *rest = [term.log_tiles(X, Y) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            with np.errstate(invalid="ignore"):  # logarithms of negative factors
                block = first(rows, columns, out)
                for other in rest:
                    block += other(rows, columns, None)
                undefined = np.isnan(block)
                if undefined.any():  # the product of two negative factors is positive
                    product = self.tiles(X, Y)(rows, columns, None)
                    with np.errstate(divide="ignore"):
                        block[undefined] = np.log(product[undefined])
            return block

        return tile


class Scaled(Kernel):
    """A kernel times a number, ``k(x, y) = factor · k₀(x, y)``; written ``2.0 * k``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> 2.0 * Gaussian(1.0)
    2.0 * Gaussian(bandwidth=1.0)
    """

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel
        self._depth = checked_depth([kernel])

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """Type of data that the inner kernel compares."""
        kind = self.kernel.compares
        if kind == "gram":
            raise ValueError(f"{self!r}: scale a precomputed Gram matrix before fitting.")
        return kind

    @property
    def is_psd(self) -> bool:
        """Whether the inner kernel is; False for a negative factor."""
        return self.factor >= 0 and self.kernel.is_psd

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Scale the kernel's tiles."""
        inner = self.kernel.tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block *= self.factor
            return block

        return tile

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Add the logarithm of the factor."""
        if self.factor <= 0:
            return super().log_tiles(X, Y)
        inner, shift = self.kernel.log_tiles(X, Y), np.log(self.factor)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block += shift
            return block

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw from the inner kernel: the normalized density does not depend on the factor."""
        return self.kernel.draw(n, d, rng)

    def diagonal(self, X: Any) -> Array:
        """Scale the kernel's diagonal."""
        return self.factor * self.kernel.diagonal(X)

    def features(self, X: Any) -> Array | None:
        """Scale the kernel's features by the square root of the factor."""
        inner = self.kernel.features(X) if self.factor > 0 else None
        return None if inner is None else np.sqrt(self.factor).astype(inner.dtype) * inner

    def log_normalizer(self, d: int) -> float:
        """Return ``log factor`` plus the logarithm of the inner kernel's integral."""
        if self.factor <= 0:
            return super().log_normalizer(d)
        return float(np.log(self.factor)) + self.kernel.log_normalizer(d)

    @property
    def is_density(self) -> bool:
        """Whether the inner kernel is a density and the factor is positive."""
        return self.factor > 0 and self.kernel.is_density

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the inner kernel."""
        return {"kernel": self.kernel}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return another kernel times the same factor."""
        return Scaled(self.factor, kernels[0])

    def __repr__(self) -> str:
        inner = (
            f"({self.kernel!r})" if isinstance(self.kernel, _Combination) else f"{self.kernel!r}"
        )
        return f"{self.factor!r} * {inner}"


class Normalized(Kernel):
    """A kernel whose features have unit length, ``k(x, y) = k₀(x, y) / √(k₀(x, x) k₀(y, y))``.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite. Rows with k₀(x, x) = 0 have k(x, y) = 0 for all y.

    Examples
    --------
    >>> from mercer.kernels import Linear, Normalized
    >>> Normalized(Linear())([[3.0, 4.0], [1.0, 0.0]])
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._depth = checked_depth([kernel])

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """Type of data that the inner kernel compares."""
        kind = self.kernel.compares
        if kind == "gram":
            raise ValueError(f"{self!r}: normalize a precomputed Gram matrix before fitting.")
        return kind

    @property
    def is_psd(self) -> bool:
        """Whether the inner kernel is."""
        return self.kernel.is_psd

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Divide the kernel's tiles by the lengths of the features."""
        inner = self.kernel.tiles(X, Y)
        left = self._inverse_lengths(X)
        right = left if Y is None else self._inverse_lengths(Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block *= left[rows, None]
            block *= right[columns]
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return ones, and 0 for features of length 0."""
        return (self._inverse_lengths(X) > 0).astype(np.float64)

    def features(self, X: Any) -> Array | None:
        """Scale the kernel's features to unit length."""
        inner = self.kernel.features(X)
        return None if inner is None else inner * self._inverse_lengths(X)[:, None]

    def _inverse_lengths(self, X: Any) -> Array:
        squares = self.kernel.diagonal(X)
        with np.errstate(divide="ignore"):
            return np.where(squares > 0, 1 / np.sqrt(np.maximum(squares, 0)), 0.0)

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the inner kernel."""
        return {"kernel": self.kernel}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Normalize another kernel."""
        return Normalized(kernels[0])
