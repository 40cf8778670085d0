"""Statistics of novelty detection: one number per row, large for abnormal rows.

A statistic is fitted to reference rows and has two results: ``scores(points)`` of new rows, and
``training_scores``, the score of each reference row from a fit without it. A new normal row has
about the distribution of the latter. Statistics without a formula for it have None there, and
:class:`mercer.KernelNovelty` refits them to parts of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from mercer.data import Points, Sample
from mercer.decompose import decompose
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.kernels import Categorical, Gaussian, Kernel, Laplacian, Matern, On, Product, Scaled
from mercer.maths.shrunk_gaussian import ShrunkGaussian, leave_one_out_distances
from mercer.maths.types import Array
from mercer.spectrum import Spectrum

__all__ = [
    "ComponentStatistic",
    "FeatureGaussian",
    "Mahalanobis",
    "NegativeLogDensity",
    "NeighborDistance",
    "Statistic",
    "column_scales",
    "leave_one_out_scale_ratios",
    "regular_rows",
]

_BLOCK = 2**20  # kernel values per block
_CHUNK = 2**16  # rows that are prepared at a time
_MIN_NEIGHBORS = 10
_NEIGHBOR_FRACTION = 0.02
_TRIMMED = 0.1  # fraction of the rows that a robust fit leaves out
# Relative to the mean squared norm of the centered rows. The value of MercerNovelty.
_RIDGE = 0.075
_LARGEST = 1e300  # squared distance of rows whose kernel value underflows
_ROUNDING = 1e-9  # relative rounding error of scores


class Statistic(Protocol):
    """A fitted statistic."""

    training_scores: Array | None

    def scores(self, points: Points) -> Array:
        """Return the statistic of every row."""


# --- neighbors ----------------------------------------------------------------------------------


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
    training_scores: Array | None = None

    @classmethod
    def fit(
        cls,
        sample: Sample,
        regular: Array | None = None,
        ratios: Array | None = None,
        n_neighbors: float | None = None,
    ) -> NeighborDistance:
        """Use all rows of a sample, or its regular ones, as reference.

        Parameters
        ----------
        sample : Sample
        regular : bool array of shape (n,) or None
        ratios : array of shape (n, d) or None
            For a Gaussian kernel with bandwidths proportional to the standard deviations of the
            columns: their squared ratio to the deviations without each row.
        n_neighbors : float or None
            At most half of the rows; None for 2 % of the rows, at least 10.
        """
        weights = sample.multiplicities
        kept = np.arange(sample.points.n) if regular is None else np.flatnonzero(regular)
        points = sample.points.take(kept)
        mass = neighbor_count(float(weights[kept].sum()), n_neighbors)
        model = cls(sample.kernel, points, weights[kept], mass)
        own = np.full(sample.points.n, -1)
        own[kept] = np.arange(len(kept))
        model.training_scores = model._scores(sample.points, own, ratios)
        return model

    def scores(self, points: Points) -> Array:
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
    return float(max(min(_MIN_NEIGHBORS, ceil(total / 2)), round(_NEIGHBOR_FRACTION * total)))


def nth_smallest(values: Array, weights: Array, mass: float) -> Array:
    """Return the smallest value per row at which the cumulative weight reaches ``mass``.

    Entries with zero weight are skipped. If the total weight is smaller, the largest is returned.

    >>> nth_smallest(np.array([[3.0, 1.0, 2.0]]), np.array([1.0, 2.0, 1.0]), 3)
    array([2.])
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
    for start in range(0, new.n, _CHUNK):  # kernels copy the rows that they prepare
        chunk = new.take(slice(start, min(start + _CHUNK, new.n)))
        for rows, values in _squared_distances(kernel, chunk, reference):
            yield slice(rows.start + start, rows.stop + start), values


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
    for rows in _blocks(new.n, reference.n):
        values = tiles(rows, everything, None).astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            values *= -2
        values += norms
        values += own[rows, None]
        yield rows, np.clip(values, 0, _LARGEST, out=values)


def _scaled_squares(
    kernel: Any, new: Points, reference: Points, ratios: Array
) -> Iterator[tuple[slice, Array]]:
    """Yield squared distances with the squared differences of row i multiplied by ``ratios[i]``."""
    center = np.median(reference.data, axis=0)
    X = kernel.to_units(new.data.astype(np.float64) - center)
    Y = kernel.to_units(reference.data.astype(np.float64) - center)
    squares = Y**2
    for rows in _blocks(new.n, reference.n):
        weighted = ratios[rows] * X[rows]
        values = ratios[rows] @ squares.T - 2 * (weighted @ Y.T)
        values += np.einsum("ij,ij->i", weighted, X[rows])[:, None]
        yield rows, np.maximum(values, 0)


def _blocks(n: int, columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(columns, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _has_positive_values(kernel: Kernel) -> bool:
    """Return whether the logarithm of the kernel is finite, up to underflow."""
    if isinstance(kernel, Product | On | Scaled):
        return all(map(_has_positive_values, kernel.inner_kernels().values()))
    if isinstance(kernel, Categorical):
        return bool(kernel.rho > 0)
    return isinstance(kernel, Gaussian | Laplacian | Matern)


def regular_rows(sample: Sample) -> Array:
    """Return the mask of the rows without the tenth that is farthest from its neighbors."""
    scores = NeighborDistance.fit(sample).training_scores
    assert scores is not None
    weights = sample.multiplicities
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order]) >= (1 - _TRIMMED) * (1 - _ROUNDING) * weights.sum()
    largest = scores[order][int(np.argmax(reached))]
    return np.asarray(scores <= largest + _ROUNDING * abs(largest))  # ties are kept


# --- distances from a normal distribution -------------------------------------------------------


@dataclass
class Mahalanobis:
    """Squared Mahalanobis distance with a shrunk covariance matrix of standardized columns."""

    scales: Array
    model: ShrunkGaussian
    training_scores: Array | None = None

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None = None) -> Mahalanobis:
        """Fit mean and covariance to the regular rows of a sample of vectors."""
        X = sample.points.data.astype(np.float64)
        weights = sample.multiplicities
        kept = np.ones(len(X), dtype=bool) if regular is None else regular
        scales = column_scales(X, weights)
        model = ShrunkGaussian.of(X[kept] / scales, weights[kept])
        scores = model.distances(X / scales)
        ratios = leave_one_out_scale_ratios(X, weights, scales)
        scores[kept] = model.leave_one_out(X[kept] / scales, ratios[kept])
        return cls(scales, model, scores)

    def scores(self, points: Points) -> Array:
        """Return the squared distance of every row."""
        found = np.empty(points.n)
        for rows in _blocks(points.n, len(self.scales)):
            X = points.data[rows].astype(np.float64)
            found[rows] = self.model.distances(X / self.scales)
        return found


def column_scales(X: Array, weights: Array) -> Array:
    """Return the standard deviations of the columns; 1 for constant columns."""
    total = weights.sum()
    mean = weights @ X / total
    scales = np.sqrt(weights @ (X - mean) ** 2 / total)
    rounding = 10 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0)
    return np.asarray(np.where(scales > rounding, scales, 1.0))


def leave_one_out_scale_ratios(X: Array, weights: Array, scales: Array) -> Array:
    """Return ``(s_j / s_j')²`` for every row, with the scales s' without one unit of the row.

    >>> X, ones = np.array([[1.0], [2.0], [6.0]]), np.ones(3)
    >>> ratios = leave_one_out_scale_ratios(X, ones, column_scales(X, ones))
    >>> bool(np.isclose(ratios[2, 0], X.var() / X[:2].var()))
    True
    """
    total = float(weights.sum())
    mean = weights @ X / total
    if total <= 2:
        return np.ones_like(X)
    squares = (X - mean) ** 2 / scales**2
    # variance without the row, in units of the variance of all rows
    variances = total / (total - 1) - squares * total / (total - 1) ** 2
    constant = variances <= _ROUNDING * total / (total - 1)  # such columns have the scale 1
    return np.asarray(np.where(constant, scales**2, 1 / np.where(constant, 1.0, variances)))


@dataclass
class FeatureGaussian:
    """Squared Mahalanobis distance in feature space, with the covariance ``C + a I``.

    It combines the distances within and outside the components, T² and SPE.
    """

    spectrum: Spectrum
    ridge: float
    training_scores: Array | None = None

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None = None) -> FeatureGaussian:
        """Decompose the kernel matrix of the regular rows."""
        spectrum = _decomposed(sample, regular, None)
        ridge = _RIDGE * spectrum.trace / spectrum.total_weight
        model = cls(spectrum, ridge)
        scores = model.scores(sample.points)
        kept = slice(None) if regular is None else regular
        total = spectrum.total_weight
        reduced = cls(spectrum, ridge * (total - 1) / total).scores(sample.points)
        scores[kept] = leave_one_out_distances(reduced[kept], total)
        model.training_scores = scores
        return model

    def scores(self, points: Points) -> Array:
        """Return the squared distance of every row."""
        values = self.spectrum.eigenvalues / self.spectrum.total_weight
        found = np.empty(points.n)
        for rows, Z, residuals in _projections(self.spectrum, points):
            found[rows] = Z**2 @ (1 / (values + self.ridge)) + residuals / self.ridge
        return found


# --- components ---------------------------------------------------------------------------------


@dataclass
class ComponentStatistic:
    """SPE, T² or their combined index for the components of kernel PCA.

    The combined index is the sum of both, each divided by its mean over the training rows.
    """

    name: str
    spectrum: Spectrum
    mean_residual: float
    training_scores: Array | None = None

    @classmethod
    def fit(
        cls, name: str, sample: Sample, n_components: int | float, regular: Array | None = None
    ) -> ComponentStatistic:
        """Decompose the centered kernel matrix of the regular rows."""
        spectrum = _decomposed(sample, regular, n_components)
        residual = (spectrum.trace - spectrum.eigenvalues.sum()) / spectrum.total_weight
        floor = np.finfo(float).eps * spectrum.trace / spectrum.total_weight
        return cls(name, spectrum, float(max(residual, floor)))

    def scores(self, points: Points) -> Array:
        """Return the statistic of every row."""
        values = self.spectrum.eigenvalues / self.spectrum.total_weight
        found = np.empty(points.n)
        for rows, Z, residuals in _projections(self.spectrum, points):
            inside = Z**2 @ (1 / values)
            if self.name == "spe":
                found[rows] = residuals
            elif self.name == "t2":
                found[rows] = inside
            else:
                found[rows] = residuals / self.mean_residual + inside / len(values)
        return found


def _decomposed(sample: Sample, regular: Array | None, n_components: Any) -> Spectrum:
    if regular is not None:
        sample = sample.take(np.flatnonzero(regular))
    rank = sample.points.n if n_components is None else n_components
    # the statistics do not depend on the basis of a subspace, so ties need no warning
    with suppress_warnings(IdentifiabilityWarning):
        spectrum = decompose(
            sample,
            "variance",
            rank,
            center=True,
            solver="dense",
            at_most=not isinstance(rank, float),
        )
    return spectrum


def _projections(spectrum: Spectrum, points: Points) -> Iterator[tuple[slice, Array, Array]]:
    """Yield blocks of rows with projections and squared distances from the components."""
    for rows in _blocks(points.n, spectrum.points.n):
        some = points.take(rows)
        Z = spectrum.project(some).astype(np.float64)
        residuals = spectrum.squared_norms(some) - np.einsum("ij,ij->i", Z, Z)
        yield rows, Z, np.maximum(residuals, 0)


# --- densities ----------------------------------------------------------------------------------


@dataclass
class NegativeLogDensity:
    """``-log`` of the Parzen density (of the mean kernel value if the kernel has no integral)."""

    kernel: Kernel
    points: Points
    weights: Array
    log_normalizer: float
    training_scores: Array | None = None

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None = None) -> NegativeLogDensity:
        """Put one kernel at every regular row."""
        kernel, weights = sample.kernel, sample.multiplicities
        kept = np.arange(sample.points.n) if regular is None else np.flatnonzero(regular)
        points = sample.points.take(kept)
        model = cls(kernel, points, weights[kept], kernel.log_normalizer_or_zero(points.dimension))
        own = np.full(sample.points.n, -1)
        own[kept] = np.arange(len(kept))
        model.training_scores = model._scores(sample.points, own)
        return model

    def scores(self, points: Points) -> Array:
        """Return the negative log density at every row."""
        return self._scores(points, None)

    def _scores(self, points: Points, own: Array | None) -> Array:
        tiles = self.kernel.log_tiles(points.data, self.points.data)
        found = np.empty(points.n)
        for rows in _blocks(points.n, self.points.n):
            logs = tiles(rows, slice(0, self.points.n), None).astype(np.float64, copy=False)
            weights, total = self.weights, np.full(len(logs), self.weights.sum())
            if own is not None:
                mine = own[rows]
                at = np.flatnonzero(mine >= 0)
                weights = np.broadcast_to(weights, logs.shape).copy()
                removed = np.minimum(weights[at, mine[at]], 1)
                weights[at, mine[at]] -= removed
                total[at] -= removed
            found[rows] = np.log(total) - logsumexp(logs, axis=1, b=weights) + self.log_normalizer
        return np.minimum(found, _LARGEST)
