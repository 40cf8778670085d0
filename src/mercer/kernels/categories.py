"""Kernels ``ρ^distance`` on categories: Hamming distance, or steps on an ordered scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer.data.points import Kind
from mercer.kernels.base import Kernel, Tiles, copy_into
from mercer.kernels.cells import as_array, as_rows, encode
from mercer.utils.types import Array

__all__ = ["Categorical", "Hamming"]

#: returns the integer distances of a rectangle
_Distances = Callable[[slice, slice], Array]


class _Powers(Kernel):
    """``k = ρ^distance`` with an integer distance between rows of categories."""

    compares: ClassVar[Kind] = "objects"

    def __init__(self, rho: float = 0.5) -> None:
        self.rho = rho

    def table(self, X: Any) -> Array:
        """Return the categories as an array of shape (n, positions)."""
        return as_rows(X)

    def distances(self, X: Array, Y: Array | None) -> tuple[_Distances, int]:
        """Return the distances between two tables, and an upper bound on them."""
        left, right, sizes = encode(X, Y)
        return _hamming_distances(left, right, sizes), left.shape[1]

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Look up the powers of ρ."""
        distances, largest = self.distances(self.table(X), None if Y is None else self.table(Y))
        powers = self._checked_rho() ** np.arange(largest + 1.0)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return copy_into(powers[distances(rows, columns)], out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``ρ⁰ = 1``."""
        return np.ones(len(X))

    def _with_scaled_bandwidth(self, factor: float) -> Kernel:
        rho = self._checked_rho()
        rho = float(np.copysign(abs(rho) ** (1 / factor**2), rho))
        return type(self)(**{**self.get_params(deep=False), "rho": rho})

    def _checked_rho(self) -> float:
        if not 0 < self.rho <= 1:
            raise ValueError(
                f"{type(self).__name__}(rho={self.rho!r}) must be in (0, 1]: it is the value for "
                "two different categories; equal ones have 1."
            )
        return float(self.rho)


def _hamming_distances(left: Array, right: Array, sizes: Array) -> _Distances:
    positions = left.shape[1]
    # for several positions with few categories each, one product of 0/1 columns is faster
    if positions > 4 and sizes.sum() <= 8 * positions:
        firsts = np.r_[0, np.cumsum(sizes)[:-1]]

        def by_products(rows: slice, columns: slice) -> Array:
            ones = [
                _indicators(codes + firsts, int(sizes.sum()))
                for codes in (left[rows], right[columns])
            ]
            return positions - (ones[0] @ ones[1].T).astype(np.intp)

        return by_products

    # one contiguous row per position, in bytes if possible: this loop reads all pairs
    small = np.min_scalar_type(int(sizes.max()))
    x, y = (np.ascontiguousarray(codes.T, dtype=small) for codes in (left, right))

    def by_comparison(rows: slice, columns: slice) -> Array:
        shape = len(x[0, rows]), len(y[0, columns])
        total = np.zeros(shape, dtype=np.min_scalar_type(positions))
        for one, other in zip(x[:, rows], y[:, columns], strict=True):
            total += np.not_equal.outer(one, other).view(np.uint8)
        return total

    return by_comparison


def _indicators(columns: Array, n_columns: int) -> Array:
    """Return rows with ones in these columns; single precision counts exactly up to 2²⁴."""
    ones = np.zeros((len(columns), n_columns), dtype=np.float32)
    np.put_along_axis(ones, columns, 1, axis=1)
    return ones


class Hamming(_Powers):
    r"""Hamming kernel, :math:`k(x, y) = \rho^{\#\{j : x_j \ne y_j\}}`.

    Each position contributes :math:`(1 - \rho)[x_j = y_j] + \rho`: the first term is an inner
    product of indicators, the second a constant, so for 0 ≤ ρ ≤ 1 each factor is positive
    semi-definite, and so is their product (Schur). On m categories a factor has the eigenvalues
    1 - ρ and 1 + (m - 1)ρ, so a negative ρ is possible too: down to -1 for bits (Macready 2003),
    and down to -1/(m - 1) in general. Rows with more categories raise ValueError.

    Points are strings of equal length, or rows of numbers, booleans or labels.

    Parameters
    ----------
    rho : float in [-1, 1]
        ρ, the factor for each position that differs.

    Examples
    --------
    >>> from mercer.kernels import Hamming
    >>> Hamming(0.5)(["0110", "0100", "1001"])
    array([[1.    , 0.5   , 0.0625],
           [0.5   , 1.    , 0.125 ],
           [0.0625, 0.125 , 1.    ]])
    >>> Hamming(-0.5)(["01", "00", "10"])
    array([[ 1.  , -0.5 ,  0.25],
           [-0.5 ,  1.  , -0.5 ],
           [ 0.25, -0.5 ,  1.  ]])
    """

    def distances(self, X: Array, Y: Array | None) -> tuple[_Distances, int]:
        """Return the number of differing positions; for ρ < 0 check the number of categories."""
        left, right, sizes = encode(X, Y)
        rho, categories = self._checked_rho(), int(sizes.max())
        if 1 + (categories - 1) * rho < 0:
            raise ValueError(
                f"Hamming(rho={self.rho!r}) is not positive semi-definite on a position with "
                f"{categories} categories: rho must be at least {-1 / (categories - 1):.4g}."
            )
        return _hamming_distances(left, right, sizes), left.shape[1]

    def _checked_rho(self) -> float:
        if not -1 <= self.rho <= 1:
            raise ValueError(
                f"Hamming(rho={self.rho!r}) must be in [-1, 1]: it is the factor for a position "
                "that differs; equal ones have 1."
            )
        return float(self.rho)

    def table(self, X: Any) -> Array:
        """Return the categories; the characters of a string are its positions."""
        cells = as_rows(X)
        if cells.shape[1] != 1 or not all(isinstance(cell, str) for cell in cells[:, 0]):
            return cells
        if np.ndim(X if hasattr(X, "ndim") else as_array(X)) == 2:
            return cells  # a table with one column holds labels
        strings = cells[:, 0].tolist()
        lengths = sorted({len(string) for string in strings})
        if len(lengths) > 1 or lengths[0] == 0:
            raise ValueError(
                f"Hamming compares strings position by position, so they need one common length "
                f"above 0; these have lengths from {lengths[0]} to {lengths[-1]}. For labels use "
                "Categorical, for texts NGram."
            )
        return np.array(strings).view(np.uint32).reshape(len(strings), lengths[0])


class Categorical(_Powers):
    r"""Kernel on categories, :math:`\rho^{[x \ne y]}` or, ordered, :math:`\rho^{|r(x) - r(y)|}`.

    Unordered, it is 1 for equal and ρ for different categories, and positive semi-definite for the
    reason given at :class:`Hamming`. Ordered, r is the rank in ``order`` and the kernel is
    ``exp(-|r(x) - r(y)| / b)`` with ``b = -1 / log ρ``: a Laplacian on the ranks.

    A category that is not in ``order`` (or, unordered, is new) differs from all others. On a scale
    of m steps it is m steps away from every other category, known or unknown. The kernel is then
    still positive semi-definite: place rank r at the corner (1, …, 1, 0, …, 0) with r ones, and an
    unknown category at (½, …, ½) plus m/2 along a separate axis. The numbers of steps are the
    city-block distances between these points, and ``exp(-distance)`` is positive semi-definite.

    Points are labels, or rows of labels, whose kernels are multiplied.

    Parameters
    ----------
    rho : float in (0, 1]
        ρ, the kernel value of different categories, or of neighbors in the order.
    order : sequence or None
        All categories from lowest to highest; None for unordered ones.

    Examples
    --------
    >>> from mercer.kernels import Categorical
    >>> Categorical(0.2)(["red", "blue", "red"])
    array([[1. , 0.2, 1. ],
           [0.2, 1. , 0.2],
           [1. , 0.2, 1. ]])
    >>> Categorical(0.5, order=("low", "middle", "high"))(["low", "high"], ["middle", "high"])
    array([[0.5 , 0.25],
           [0.5 , 1.  ]])
    """

    def __init__(self, rho: float = 0.5, order: Sequence[Any] | None = None) -> None:
        super().__init__(rho)
        self.order = order

    def distances(self, X: Array, Y: Array | None) -> tuple[_Distances, int]:
        """Return the number of differing columns, or of steps between ranks."""
        if self.order is None:
            return super().distances(X, Y)
        ranks = {category: rank for rank, category in enumerate(self.order)}
        if len(ranks) < len(self.order) or not ranks:
            raise ValueError(
                f"Categorical(order={self.order!r}) must list every category once, from lowest to "
                "highest."
            )
        left, right, _ = encode(X, Y)  # raises for missing and unhashable values
        n_steps = max(len(ranks) - 1, 1)
        x = _ranks(X, left, ranks)
        y = x if Y is None else _ranks(Y, right, ranks)
        return _steps(x, y, n_steps), n_steps * X.shape[1]


def _ranks(table: Array, codes: Array, ranks: dict[Any, int]) -> Array:
    """Return the ranks; each unknown category gets a different negative number."""
    flat = [ranks.get(cell, -1 - code) for cell, code in zip(table.flat, codes.flat, strict=True)]
    return np.array(flat, dtype=np.intp).reshape(table.shape)


def _steps(left: Array, right: Array, n_steps: int) -> _Distances:
    has_unknown = (left < 0).any() or (right < 0).any()

    def steps(rows: slice, columns: slice) -> Array:
        x, y = left[rows], right[columns]
        total = np.zeros((len(x), len(y)), dtype=np.intp)
        for one, other in zip(x.T, y.T, strict=True):
            step = np.abs(np.subtract.outer(one, other))
            if has_unknown:
                unknown = np.logical_or.outer(one < 0, other < 0)
                step[unknown] = np.where(step[unknown] == 0, 0, n_steps)
            total += step
        return total

    return steps
