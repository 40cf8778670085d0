"""Kernels ``ρ^distance`` on categories: places that differ, or steps on a scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer.data import Kind
from mercer.kernels.base import Kernel, Tiles, delivered
from mercer.kernels.cells import as_array, as_table, encode
from mercer.maths.types import Array

__all__ = ["Categorical", "Hamming"]

#: whole-number distances of any rectangle
_Distances = Callable[[slice, slice], Array]

# One product of 0/1 columns beats one comparison per place when there are several places with few
# categories each (a tile of 256 places with 4 categories: 2.0 ms against 4.1 ms).
_FEW_PLACES = 4
_FEW_CATEGORIES = 8


class _Powers(Kernel):
    """``k = ρ^distance`` with a whole-number distance between rows of categories."""

    compares: ClassVar[Kind] = "objects"

    def __init__(self, rho: float = 0.5) -> None:
        self.rho = rho

    def table(self, X: Any) -> Array:
        """Rows of cells."""
        return as_table(X)

    def distances(self, X: Array, Y: Array | None) -> tuple[_Distances, int]:
        """Distances between two tables, and the largest that there can be."""
        left, right, sizes = encode(X, Y)
        return _differing_places(left, right, sizes), left.shape[1]

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Look the powers of ρ up."""
        distances, largest = self.distances(self.table(X), None if Y is None else self.table(Y))
        powers = self._checked_rho() ** np.arange(largest + 1.0)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            return delivered(powers[distances(rows, columns)], out)

        return tile

    def diagonal(self, X: Any) -> Array:
        """``ρ⁰ = 1``."""
        return np.ones(len(X))

    def _widened(self, factor: float) -> Kernel:
        rho = self._checked_rho() ** (1 / factor**2)
        return type(self)(**{**self.get_params(deep=False), "rho": rho})

    def _checked_rho(self) -> float:
        if not 0 < self.rho <= 1:
            raise ValueError(
                f"{type(self).__name__}(rho={self.rho!r}) must lie in (0, 1]: it is the kernel "
                "between cells that differ, where equal ones have 1."
            )
        return float(self.rho)


def _differing_places(left: Array, right: Array, sizes: Array) -> _Distances:
    places = left.shape[1]
    if places > _FEW_PLACES and sizes.sum() <= _FEW_CATEGORIES * places:
        firsts = np.r_[0, np.cumsum(sizes)[:-1]]

        def by_products(rows: slice, columns: slice) -> Array:
            ones = [
                _indicators(codes + firsts, int(sizes.sum()))
                for codes in (left[rows], right[columns])
            ]
            return places - (ones[0] @ ones[1].T).astype(np.intp)

        return by_products

    # one contiguous row per place, in bytes where they will do: this loop reads all pairs
    small = np.min_scalar_type(int(sizes.max()))
    x, y = (np.ascontiguousarray(codes.T, dtype=small) for codes in (left, right))

    def by_comparison(rows: slice, columns: slice) -> Array:
        shape = len(x[0, rows]), len(y[0, columns])
        total = np.zeros(shape, dtype=np.min_scalar_type(places))
        for one, other in zip(x[:, rows], y[:, columns], strict=True):
            total += np.not_equal.outer(one, other).view(np.uint8)
        return total

    return by_comparison


def _indicators(places: Array, width: int) -> Array:
    """Rows with ones at these places; single precision counts exactly up to 2²⁴."""
    ones = np.zeros((len(places), width), dtype=np.float32)
    np.put_along_axis(ones, places, 1, axis=1)
    return ones


class Hamming(_Powers):
    r"""Hamming kernel, :math:`k(x, y) = \rho^{\#\{j : x_j \ne y_j\}}`.

    Each place contributes :math:`(1 - \rho)[x_j = y_j] + \rho`: the first term is an inner product
    of indicators, the second a constant, so for 0 < ρ ≤ 1 each factor is positive semi-definite,
    and so is their product (Schur).

    Points are strings of equal length, or rows of numbers, booleans or labels.

    Parameters
    ----------
    rho : float in (0, 1]
        ρ, what one differing place leaves.

    Examples
    --------
    >>> from mercer.kernels import Hamming
    >>> Hamming(0.5)(["0110", "0100", "1001"])
    array([[1.    , 0.5   , 0.0625],
           [0.5   , 1.    , 0.125 ],
           [0.0625, 0.125 , 1.    ]])
    """

    def table(self, X: Any) -> Array:
        """Characters of strings are places."""
        cells = as_table(X)
        if cells.shape[1] != 1 or not all(isinstance(cell, str) for cell in cells[:, 0]):
            return cells
        if np.ndim(X if hasattr(X, "ndim") else as_array(X)) == 2:
            return cells  # a table of one column: its cells are labels
        strings = cells[:, 0].tolist()
        lengths = sorted({len(string) for string in strings})
        if len(lengths) > 1 or lengths[0] == 0:
            raise ValueError(
                f"Hamming compares strings place by place, so they need one common length above "
                f"0; these have lengths from {lengths[0]} to {lengths[-1]}. For labels use "
                "Categorical, for texts NGram."
            )
        return np.array(strings).view(np.uint32).reshape(len(strings), lengths[0])


class Categorical(_Powers):
    r"""Kernel on categories, :math:`\rho^{[x \ne y]}` or, ordered, :math:`\rho^{|r(x) - r(y)|}`.

    Unordered, it is 1 for equal and ρ for different categories, and positive semi-definite for the
    reason given at :class:`Hamming`. Ordered, r is the rank in ``order`` and the kernel is
    ``exp(-|r(x) - r(y)| / b)`` with ``b = -1 / log ρ``: a Laplacian on the ranks.

    A category that is not in ``order`` (or, unordered, was never seen) differs from all others. On
    a scale of m steps it is m steps away from every other category, known or unknown. That keeps
    the kernel positive semi-definite: put rank r at the corner (1, …, 1, 0, …, 0) with r ones, and
    an unknown category at (½, …, ½) plus m/2 on an axis of its own; these are the city-block
    distances between the points, and ``exp(-distance)`` is positive semi-definite.

    Points are labels, or rows of labels; several columns multiply.

    Parameters
    ----------
    rho : float in (0, 1]
        ρ, the kernel between different categories, or between neighbours of an order.
    order : sequence or None
        All categories from lowest to highest; None where they have no order.

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
        """Differing columns, or steps between ranks."""
        if self.order is None:
            return super().distances(X, Y)
        ranks = {category: rank for rank, category in enumerate(self.order)}
        if len(ranks) < len(self.order) or not ranks:
            raise ValueError(
                f"Categorical(order={self.order!r}) must name every category once, from lowest to "
                "highest."
            )
        left, right, _ = encode(X, Y)  # refuses what is missing or has no hash
        ends = max(len(ranks) - 1, 1)
        x = _ranks(X, left, ranks)
        y = x if Y is None else _ranks(Y, right, ranks)
        return _steps(x, y, ends), ends * X.shape[1]


def _ranks(table: Array, codes: Array, ranks: dict[Any, int]) -> Array:
    """Ranks; what has none gets a negative number of its own."""
    flat = [ranks.get(cell, -1 - code) for cell, code in zip(table.flat, codes.flat, strict=True)]
    return np.array(flat, dtype=np.intp).reshape(table.shape)


def _steps(left: Array, right: Array, ends: int) -> _Distances:
    strangers = (left < 0).any() or (right < 0).any()

    def steps(rows: slice, columns: slice) -> Array:
        x, y = left[rows], right[columns]
        total = np.zeros((len(x), len(y)), dtype=np.intp)
        for one, other in zip(x.T, y.T, strict=True):
            step = np.abs(np.subtract.outer(one, other))
            if strangers:
                unknown = np.logical_or.outer(one < 0, other < 0)
                step[unknown] = np.where(step[unknown] == 0, 0, ends)
            total += step
        return total

    return steps
