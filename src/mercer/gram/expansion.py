"""Functions of new points: kernel values, their sums, and projections ``f(x) = Σ_j c_j k(x, x_j)``.

A fitted model stores an expansion instead of the operator: the training points (or only a feature
map) and k columns of coefficients, never K. This keeps the pickle of a fitted estimator small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.points import Points
from mercer.kernels import Kernel
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_in_threads
from mercer.utils.types import Array

__all__ = [
    "THREADS_FROM",
    "TILE",
    "TILE_SIDES",
    "Expansion",
    "KernelExpansion",
    "cross_gram",
    "cross_product",
    "log_cross_sums",
]

# A float64 tile of this side and its workspace fit a second-level cache; larger ones are slower.
TILE = 256
TILE_SIDES = {np.dtype(np.float32): 384, np.dtype(np.float64): TILE}
THREADS_FROM = 2**17  # kernel values; below, starting threads costs more than it saves


class Expansion(ABC):
    """Projections onto k components, at the training points and at new points."""

    kernel: Kernel
    points: Points

    @property
    def noise(self) -> float:
        """Error of a value, relative to the largest value."""
        return float(np.finfo(self.points.dtype).eps)

    @abstractmethod
    def __call__(self, points: Points) -> Array:
        """Return the projections of points, of shape (len(points), k)."""

    @abstractmethod
    def at_training(self, values: Array) -> Array:
        """Return the projections of the training points; ``values`` are the eigenvalues."""

    @property
    @abstractmethod
    def mean_coordinates(self) -> Array | None:
        """``⟨u_i, m⟩``, the mean in feature space on each component; None if not centered."""

    @property
    @abstractmethod
    def mean_squared_norm(self) -> float:
        """``|m|²``, the information potential; 0 if not centered."""

    @abstractmethod
    def mean_products(self, points: Points) -> Array:
        """Return ``⟨φ(x), m⟩``, the mean embedding at points (centered expansions only)."""

    def without_points(self) -> Expansion:
        """Return the same functions without the training points, if they are not needed."""
        return self

    def squared_norms(self, points: Points) -> Array:
        """Return ``k(x, x)``, or ``k(x, x) - 2 ⟨φ(x), m⟩ + |m|²`` if centered."""
        norms = self.kernel.diagonal(points.data).astype(np.float64, copy=False)
        if self.mean_coordinates is None:
            return norms
        return np.asarray(norms - 2 * self.mean_products(points) + self.mean_squared_norm)

    def training_squared_norms(self) -> Array:
        """Return the squared norms of the training points."""
        return self.points.map_rows(self.without_points().squared_norms)


@dataclass(frozen=True, eq=False)
class KernelExpansion(Expansion):
    """``f_i(x) = Σ_j c_ji k(x, x_j) - offset_i`` with ``c_ji = √w_j e_ji / √λ_i``.

    ``diagonal`` is k(x_j, x_j) of the (centered) kernel, ``offset`` the value of the uncentered f_i
    at the mean in feature space (None if not centered), ``potential`` the squared norm of this
    mean.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    weights: Array | None
    diagonal: Array
    offset: Array | None = None
    potential: float = 0.0

    def __call__(self, points: Points) -> Array:
        """Evaluate the expansion tile by tile."""
        values = cross_product(self.kernel, points, self.points, self.coefficients)
        return values if self.offset is None else values - self.offset

    def at_training(self, values: Array) -> Array:
        """Return ``√λ_i e_ji / √w_j``, which equals ``λ_i c_ji / w_j``."""
        scaled = self.coefficients * values
        return scaled if self.weights is None else scaled / self.weights[:, None]

    @property
    def mean_coordinates(self) -> Array | None:
        """The offset."""
        return self.offset

    @property
    def mean_squared_norm(self) -> float:
        """The potential."""
        return self.potential

    def mean_products(self, points: Points) -> Array:
        """Return the weighted mean of the kernel values with the training points."""
        weights = np.ones(self.points.n) if self.weights is None else self.weights
        normalized = (weights / weights.sum())[:, None]
        return cross_product(self.kernel, points, self.points, normalized)[:, 0]

    def training_squared_norms(self) -> Array:
        """Return the stored diagonal."""
        return self.diagonal


# --- kernel values between new points and training points, tile by tile -----------------------


def cross_gram(kernel: Kernel, new: Points, points: Points) -> Array:
    """Return ``k(new, points)``, computed in threads."""
    tiles = kernel.tiles(new.data, points.data)
    out = np.empty((new.n, points.n), np.result_type(new.dtype, points.dtype))

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            tiles(rows, slice(0, points.n), out[rows])

    _run(kernel, row_ranges(new.n, min(TILE, -(-new.n // 8))), work, out.size)
    return out


def cross_product(kernel: Kernel, new: Points, points: Points, C: Array) -> Array:
    """Return ``k(new, points) @ C``, of shape (len(new), columns of C)."""
    if kernel.is_sparse:
        return np.asarray(kernel.sparse(new.data, points.data) @ C)
    tiles = kernel.tiles(new.data, points.data)
    out = np.zeros((new.n, C.shape[1]))
    right = C.astype(np.result_type(new.dtype, points.dtype), copy=False)
    columns = row_ranges(points.n, TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                out[rows] += finite_product(tiles(rows, part, None), right[part])

    rows = row_ranges(new.n, min(1024, -(-new.n // 8)))
    _run(kernel, rows, work, new.n * points.n)
    return out


def log_cross_sums(kernel: Kernel, new: Points, points: Points, c: Array) -> tuple[Array, Array]:
    """Return sign and logarithm of ``|Σ_j c_j k(x, x_j)|`` for every new point, without underflow.

    The largest logarithm of each row is factored out of its sum and updated from tile to tile.
    """
    tiles = kernel.log_tiles(new.data, points.data)
    top, sums = np.full(new.n, -np.inf), np.zeros(new.n)
    columns = row_ranges(points.n, TILE)

    def work(tasks: Sequence[slice]) -> None:
        for rows in tasks:
            for part in columns:
                logs = tiles(rows, part, None)
                largest = np.maximum(top[rows], logs.max(axis=1))
                base = np.where(np.isneginf(largest), 0.0, largest)  # all terms so far are zero
                logs -= base[:, None].astype(logs.dtype)
                sums[rows] *= np.exp(top[rows] - base)
                sums[rows] += finite_product(exponentials(logs), c[part])
                top[rows] = largest

    _run(kernel, row_ranges(new.n, min(TILE, -(-new.n // 8))), work, new.n * points.n)
    with np.errstate(divide="ignore"):
        return np.sign(sums), np.where(sums == 0, -np.inf, top + np.log(np.abs(sums)))


def _run(
    kernel: Kernel, tasks: list[slice], work: Callable[[Sequence[slice]], None], values: int
) -> None:
    """Run in threads, unless the kernel may run arbitrary Python code or the work is small."""
    if kernel.compares == "objects" or values < THREADS_FROM:
        work(tasks)
    else:
        run_in_threads(tasks, work)
