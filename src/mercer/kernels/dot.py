"""Dot-product kernels, functions of x'y: linear, polynomial, sigmoid, cosine."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel, Tiles
from mercer.utils.pairwise import (
    as_dense,
    divide_rows,
    row_maxima,
    row_products,
    row_squares,
)
from mercer.utils.types import Array

__all__ = ["Cosine", "DotProduct", "Linear", "Polynomial", "Sigmoid"]


class DotProduct(Kernel):
    """A function of ``t = x'y``, applied in place; rows may be sparse."""

    @property
    def accepts_sparse(self) -> bool:
        """True: products of sparse rows need no dense copy."""
        return True

    def prepare(self, X: Any) -> Any:
        """Transform the rows before they are multiplied."""
        return X

    def profile(self, t: Array) -> Array:
        """Turn inner products into kernel values, overwriting them."""
        raise NotImplementedError

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles by matrix products."""
        left = self.prepare(X)
        right = left if Y is None else self.prepare(Y)
        self._check_overflow(left, right)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return self.profile(row_products(left[rows], right[columns], out))

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return the kernel's function of ``|x|²``."""
        X = self.prepare(self._as_points(X))
        self._check_overflow(X, X)
        return self.profile(row_squares(X))

    def _check_overflow(self, left: Any, right: Any, n_summed: float = 1.0) -> None:
        """Raise ValueError if kernel values, at most those of ``±|x||y|``, would overflow.

        ``n_summed`` is the number of values that will be added.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            largest = _largest_norm(left) * _largest_norm(right)
            values = self.profile(
                np.array([largest, -largest], np.result_type(left.dtype, right.dtype))
            )
        largest_value = np.abs([largest, *values]).max()
        if not largest_value <= np.finfo(values.dtype).max / n_summed:
            raise ValueError(
                f"{self!r} overflows: inner products reach {largest:.3g}, and their kernel values "
                f"exceed {np.finfo(values.dtype).max:.3g}, the largest {values.dtype}. Divide X by "
                "its scale, or pass a smaller scale to the kernel."
            )

    def inverse_profile(self, values: Array) -> Array | None:
        """Return the inner products with these kernel values; None if they are not determined."""
        return None


class Linear(DotProduct):
    """Linear kernel, ``k(x, y) = constant + scale · x'y``.

    Parameters
    ----------
    scale : float
    constant : float

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def __init__(self, scale: float = 1.0, constant: float = 0.0) -> None:
        self.scale = scale
        self.constant = constant

    @property
    def is_psd(self) -> bool:
        """True unless a coefficient is negative."""
        return self.scale >= 0 and self.constant >= 0

    def profile(self, t: Array) -> Array:
        """``constant + scale · t``."""
        t *= self.scale
        t += self.constant
        return t

    def inverse_profile(self, values: Array) -> Array | None:
        """``(k - constant) / scale``."""
        return None if self.scale == 0 else (values - self.constant) / self.scale

    def features(self, X: Any) -> Array | None:
        """``[√scale · x, √constant]``: the kernel has rank d (+ 1)."""
        if not self.is_psd:
            return None
        X = as_dense(self._as_points(X))
        self._check_overflow(X, X, 1e6)
        scaled = X * np.sqrt(self.scale).astype(X.dtype)
        if self.constant == 0:
            return scaled
        return np.column_stack([scaled, np.full(len(X), np.sqrt(self.constant), X.dtype)])


class Polynomial(DotProduct):
    """Polynomial kernel, ``k(x, y) = (constant + scale · x'y)^degree``.

    Parameters
    ----------
    degree : int
        At least 1.
    constant : float
    scale : float

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2, constant=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, degree: int = 2, constant: float = 0.0, scale: float = 1.0) -> None:
        self.degree = degree
        self.constant = constant
        self.scale = scale

    @property
    def is_psd(self) -> bool:
        """True unless the constant or the scale is negative."""
        return self.constant >= 0 and self.scale >= 0

    def profile(self, t: Array) -> Array:
        """``(constant + scale · t)^degree``."""
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(
                f"Polynomial(degree={self.degree!r}) must be an integer of at least 1."
            )
        t *= self.scale
        t += self.constant
        return np.power(t, int(self.degree), out=t)

    def inverse_profile(self, values: Array) -> Array | None:
        """Return the root for odd degrees; for even degrees the sign of x'y is not determined."""
        if self.degree % 2 == 0 or self.scale == 0:
            return None
        root = np.sign(values) * np.abs(values) ** (1 / self.degree)
        return np.asarray((root - self.constant) / self.scale)


class Sigmoid(DotProduct):
    """Sigmoid kernel, ``k(x, y) = tanh(scale · x'y + constant)``; not positive semi-definite.

    Parameters
    ----------
    scale : float
    constant : float

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid(scale=0.1)([[1.0, 2.0]], [[3.0, 4.0]]).round(4)
    array([[0.8005]])
    """

    def __init__(self, scale: float = 1.0, constant: float = 0.0) -> None:
        self.scale = scale
        self.constant = constant

    @property
    def is_psd(self) -> bool:
        """False in general."""
        return False

    def profile(self, t: Array) -> Array:
        """``tanh(scale · t + constant)``."""
        t *= self.scale
        t += self.constant
        return np.tanh(t, out=t)


class Cosine(DotProduct):
    """Cosine kernel, ``k(x, y) = x'y / (|x| |y|)``; k(x, y) = 0 if x or y is a zero row.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.    , 0.7071]])
    """

    def prepare(self, X: Any) -> Any:
        """Scale the rows to unit norm."""
        largest = row_maxima(X)
        # rescale first: squares must not overflow
        X = divide_rows(X, np.where(largest == 0, 1, largest).astype(X.dtype))
        norms = np.sqrt(row_squares(X))
        return divide_rows(X, np.where(norms == 0, 1, norms))

    def profile(self, t: Array) -> Array:
        """Return the inner products of unit rows; those beyond ±1 by rounding error become ±1."""
        return np.clip(t, -1, 1, out=t)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Evaluate tiles by matrix products; k(x, x) is exactly 1 on the diagonal of K."""
        inner = super().tiles(X, Y)
        if Y is not None:
            return inner
        exact = self.diagonal(X)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            if rows == columns:
                np.fill_diagonal(block, exact[rows])
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return 1 for every row, and 0 for zero rows."""
        X = self._as_points(X)
        return (row_maxima(X) > 0).astype(X.dtype)

    def features(self, X: Any) -> Array | None:
        """Rows of unit norm: the kernel has rank d."""
        return as_dense(self.prepare(self._as_points(X)))


def _largest_norm(X: Any) -> float:
    """Return the largest norm of a row; rows are rescaled first, so squares do not overflow."""
    largest = float(row_maxima(X).max(initial=0))
    if largest == 0:
        return 0.0
    return largest * float(np.sqrt(row_squares(X / largest).max()))
