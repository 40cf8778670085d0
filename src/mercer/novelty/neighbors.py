"""Distances of rows from their nearest neighbors in the metric of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

import numpy as np

from mercer.data.points import Points, Sample
from mercer.kernels import Categorical, Gaussian, Kernel, Laplacian, Matern, On, Product, Scaled
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array

__all__ = ["NeighborDistance", "central_rows", "nth_smallest", "regular_rows"]

_BLOCK = 2**20  # kernel values per block
_CHUNK = 2**16  # rows that are prepared at a time
_ROUNDING = 1e-9  # relative rounding error of scores


@dataclass
class NeighborDistance:
    """Squared distance to the k-th nearest reference row, counted by weight.

    The squared distance is :math:`-2 \\log c` with the normalized kernel
    :math:`c = k(x, y) / \\sqrt{k(x, x) k(y, y)}` for products of Gaussian, Laplacian, Matérn and
    categorical kernels (in bandwidths for a Gaussian), and that in feature space,
    :math:`k(x, x) + k(y, y) - 2 k(x, y)`, for other kernels.
    """

    kernel: Kernel
    points: Points
    weights: Array
    mass: float  # number of neighbors

    @classmethod
    def fit(
        cls,
        sample: Sample,
        regular: Array | None = None,
        ratios: Array | None = None,
        n_neighbors: float | None = None,
    ) -> tuple[Self, Array]:
        """Use all rows of a sample, or its regular ones, as reference.

        ``regular``: shape (n,). ``ratios``: for a Gaussian kernel with bandwidths proportional to
        the standard deviations of the columns: their squared ratio to the deviations without each
        row. ``n_neighbors``: at most half of the rows; None for 2 % of the rows, at least 10.
        """
        weights = sample.multiplicities
        kept = np.arange(sample.points.n) if regular is None else np.flatnonzero(regular)
        points = sample.points.take(kept)
        mass = neighbor_count(float(weights[kept].sum()), n_neighbors)
        model = cls(sample.kernel, points, weights[kept], mass)
        own = np.full(sample.points.n, -1)
        own[kept] = np.arange(len(kept))
        return model, model._scores(sample.points, own, ratios)

    def __call__(self, points: Points) -> Array:
        """Return the squared distance of every row."""
        return self._scores(points, None)

    def _scores(self, points: Points, own: Array | None, ratios: Array | None = None) -> Array:
        """Return distances; ``own`` is the index of each row among the reference rows, or -1."""
        found = np.empty(points.n)
        blocks = squared_distances(self.kernel, points, self.points)
        if ratios is not None:
            blocks = _scaled_squares(self.kernel, points, self.points, ratios)
        for rows, squares in blocks:
            weights = self.weights
            if own is not None:
                mine = own[rows]
                at = np.flatnonzero(mine >= 0)
                # one unit of the row itself is left out; its other copies are neighbors
                weights = np.broadcast_to(weights, squares.shape).copy()
                weights[at, mine[at]] = np.maximum(weights[at, mine[at]] - 1, 0)
            found[rows] = nth_smallest(squares, weights, self.mass)
        return found


def neighbor_count(total: float, wanted: float | None = None) -> float:
    """Return the number of neighbors: 2 % of the rows, at least 10, if none is given."""
    if wanted is not None:
        return float(min(wanted, ceil(total / 2)))
    return float(max(min(10, ceil(total / 2)), round(0.02 * total)))


def nth_smallest(values: Array, weights: Array, mass: float) -> Array:
    """Return the smallest value per row at which the cumulative weight reaches ``mass``.

    Entries with zero weight are skipped. If the total weight is smaller, the largest is returned.
    """
    n = values.shape[1]
    if weights.ndim == 1 and (weights == 1).all():
        k = min(ceil(mass), n) - 1
        return np.asarray(np.partition(values, k, axis=1)[:, k])
    weights = np.broadcast_to(weights, values.shape)
    values = np.where(weights > 0, values, np.inf)
    order = np.argsort(values, axis=1)
    cumulative = np.cumsum(np.take_along_axis(weights, order, 1), axis=1)
    last = np.maximum((weights > 0).sum(axis=1), 1) - 1
    at = np.minimum((cumulative < mass * (1 - 1e-9)).sum(axis=1), last)
    return np.asarray(np.take_along_axis(values, order, 1)[np.arange(len(values)), at])


def squared_distances(
    kernel: Kernel, new: Points, reference: Points
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows with their squared distances from all reference rows."""
    for chunk in row_ranges(new.n, _CHUNK):  # kernels copy the rows that they prepare
        for rows, values in _squared_distances(kernel, new.take(chunk), reference):
            yield slice(rows.start + chunk.start, rows.stop + chunk.start), values


def _squared_distances(
    kernel: Kernel, new: Points, reference: Points
) -> Iterator[tuple[slice, Array]]:
    logarithmic = _has_positive_values(kernel)
    tiles = (kernel.log_tiles if logarithmic else kernel.tiles)(new.data, reference.data)
    norms = kernel.diagonal(reference.data).astype(np.float64)
    own = kernel.diagonal(new.data).astype(np.float64)
    if logarithmic:
        norms, own = np.log(norms), np.log(own)
    everything = slice(0, reference.n)
    for rows in row_ranges(new.n, _BLOCK // max(reference.n, 1)):
        values = tiles(rows, everything, None).astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            values *= -2
        values += norms
        values += own[rows, None]
        yield rows, np.clip(values, 0, 1e300, out=values)  # finite if kernel values underflow


def _scaled_squares(
    kernel: Any, new: Points, reference: Points, ratios: Array
) -> Iterator[tuple[slice, Array]]:
    """Yield squared distances with the squared differences of row i multiplied by ``ratios[i]``."""
    center = np.median(reference.data, axis=0)
    X = kernel.to_units(new.data.astype(np.float64) - center)
    Y = kernel.to_units(reference.data.astype(np.float64) - center)
    squares = Y**2
    for rows in row_ranges(new.n, _BLOCK // max(reference.n, 1)):
        weighted = ratios[rows] * X[rows]
        values = ratios[rows] @ squares.T - 2 * (weighted @ Y.T)
        values += np.einsum("ij,ij->i", weighted, X[rows])[:, None]
        yield rows, np.maximum(values, 0)


def _has_positive_values(kernel: Kernel) -> bool:
    """Return whether the logarithm of the kernel is finite, up to underflow."""
    if isinstance(kernel, Product | On | Scaled):
        return all(map(_has_positive_values, kernel.inner_kernels().values()))
    if isinstance(kernel, Categorical):
        return float(kernel.rho) > 0
    return isinstance(kernel, Gaussian | Laplacian | Matern)


def regular_rows(sample: Sample) -> Array:
    """Return the mask of the rows without the tenth that is farthest from its neighbors."""
    _, scores = NeighborDistance.fit(sample)
    return central_rows(scores, sample.multiplicities)


def central_rows(scores: Array, weights: Array) -> Array:
    """Return the mask of the rows without the tenth that has the largest scores."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order]) >= 0.9 * (1 - _ROUNDING) * weights.sum()
    largest = scores[order][int(np.argmax(reached))]
    return np.asarray(scores <= largest + _ROUNDING * abs(largest))  # ties are kept
