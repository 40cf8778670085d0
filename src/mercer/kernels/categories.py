"""Kernels ``ρ^distance`` on categories: Hamming distance, or steps on an ordered scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.data.points import Kind, PointSet
from mercer.data.subsampling import select_representatives
from mercer.kernels.base import FitParts, Kernel, Tiles, copy_into
from mercer.kernels.cells import as_array, as_rows, encode
from mercer.utils.types import Array
from mercer.utils.validation import check_choice
from mercer.utils.weights import multiplicities

__all__ = ["Categorical", "Hamming"]

#: returns the integer distances of a rectangle
_Distances = Callable[[slice, slice], Array]
_ALL = slice(None)


class _Powers(Kernel):
    """``k = ρ^distance`` with an integer distance between rows of categories."""

    compares: ClassVar[Kind] = "objects"

    def __init__(self, rho: float | str = 0.5) -> None:
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
        if isinstance(self.rho, str) or not 0 < self.rho <= 1:
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
    rho : float in [-1, 1] or "leave-one-out"
        ρ, the factor for each position that differs. With "leave-one-out" a fit replaces it by the
        value between 0.01 and 0.99 with the largest leave-one-out likelihood of the density
        :math:`\hat p(x) = \frac1n \sum_i k(x, x_i) / \prod_j (1 + (m_j - 1)\rho)`, where
        :math:`m_j` is the number of categories at position j of the sample (Aitchison and Aitken
        1976). One copy of each row is left out, because equal rows are frequent.

    References
    ----------
    J. Aitchison and C. G. G. Aitken, "Multivariate binary discrimination by the kernel method",
    Biometrika 63(3):413-420, 1976.

    Examples
    --------
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import Hamming
    >>> Hamming(0.5)(["0110", "0100", "1001"])
    array([[1.    , 0.5   , 0.0625],
           [0.5   , 1.    , 0.125 ],
           [0.0625, 0.125 , 1.    ]])
    >>> Hamming(-0.5)(["01", "00", "10"])
    array([[ 1.  , -0.5 ,  0.25],
           [-0.5 ,  1.  , -0.5 ],
           [ 0.25, -0.5 ,  1.  ]])
    >>> words = ["0110", "0100", "0110", "0111", "1001", "1001", "1101"]
    >>> round(fit_kernel(Hamming("leave-one-out"), words).rho, 2)
    0.21
    """

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts | None:
        """Return no parts; the fitted kernel has ρ as a number."""
        if not isinstance(self.rho, str):
            return None
        check_choice(self.rho, "rho", ("leave-one-out",))
        if isinstance(X, PointSet):
            raise ValueError(
                f"{self!r} needs the rows in memory, not a Dask collection. Fit the kernel to a "
                "sample of the rows: mercer.bandwidth.fit_kernel(kernel, rows)."
            )
        codes, _, sizes = encode(self.table(X), None)
        rho = _most_likely_rho(codes, np.ones(len(codes)) if weights is None else weights, sizes)
        return FitParts([], lambda _: type(self)(rho))

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
        if isinstance(self.rho, str):
            raise ValueError(
                f"Hamming(rho={self.rho!r}) is a rule, which needs data. Fit an estimator, call "
                "mercer.bandwidth.fit_kernel(kernel, X), or pass a number."
            )
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


def _most_likely_rho(codes: Array, weights: Array, sizes: Array) -> float:
    """Return the ρ of :class:`Hamming` with the largest leave-one-out likelihood."""
    positive = weights > 0
    codes, weights = codes[positive], multiplicities(weights[positive])
    if (codes == codes[:1]).all():
        raise ValueError(
            f"No rho can be chosen from {len(codes)} equal rows. Pass a number, such as "
            "Hamming(rho=0.5)."
        )
    rows, weights, _ = select_representatives(codes, weights, 2000, grouped=True)
    codes, positions = codes[rows], codes.shape[1]
    distances = _hamming_distances(codes, codes, sizes)(_ALL, _ALL)
    # the weight of the rows at each distance from each row, itself without one unit of its weight
    at = np.stack([(distances == d) @ weights for d in range(positions + 1)], axis=1)
    at[:, 0] -= np.minimum(weights, 1)

    def likelihood(rho: float) -> float:
        with np.errstate(divide="ignore"):  # no other row at a distance with ρ^d > 0
            logs = np.log(at.clip(0) @ rho ** np.arange(positions + 1.0))
        return float(weights @ logs - weights.sum() * np.log1p((sizes - 1) * rho).sum())

    grid = np.linspace(0.01, 0.99, 99)
    best = int(np.argmax([likelihood(rho) for rho in grid]))
    found = minimize_scalar(
        lambda rho: -likelihood(rho),
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(grid[best] if best in (0, len(grid) - 1) else found.x)


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
