"""Statistics of novelty detection: one number per row, large for abnormal rows.

A statistic is fitted to reference rows and has two results: ``scores(points)`` of new rows, and
``training_scores``, the score of each reference row from a fit without it. A new normal row has
about the distribution of the latter. Statistics without a formula for it have None there, and
:class:`mercer.KernelNovelty` refits them to parts of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen.decompose import decompose
from mercer.eigen.spectrum import Spectrum
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.kernels import Gaussian, Kernel, table_kernel
from mercer.novelty.column_scales import column_scales, leave_one_out_scale_ratios
from mercer.novelty.neighbors import LARGEST, NeighborDistance, row_blocks
from mercer.novelty.shrunk_gaussian import ShrunkGaussian, leave_one_out_distances
from mercer.utils.types import Array

__all__ = [
    "ComponentStatistic",
    "FeatureGaussian",
    "Mahalanobis",
    "NegativeLogDensity",
    "Statistic",
    "automatic_kernel",
    "fit_statistic",
]

_CLEAN_NEIGHBORS = 5.0  # if training rows are not trimmed
_DISTANCE_RULE = ("median-distance", 0.5**0.5)
# Relative to the mean squared norm of the centered rows. The value of MercerNovelty.
_RIDGE = 0.075


class Statistic(Protocol):
    """A fitted statistic."""

    training_scores: Array | None

    def scores(self, points: Points) -> Array:
        """Return the statistic of every row."""


def fit_statistic(
    name: str,
    sample: Sample,
    regular: Array | None,
    n_components: int | float,
    is_scaled: bool,
) -> Statistic:
    """Fit a statistic by its name.

    Parameters
    ----------
    name : str
        As in :class:`mercer.KernelNovelty`, except "auto".
    sample : Sample
    regular : bool array of shape (n,) or None
        Rows to which the statistic is fitted; None for all, which are known to be normal.
    n_components : int or float
    is_scaled : bool
        Whether the bandwidths are proportional to the standard deviations of the columns.
    """
    if name == "neighbors":
        ratios = None
        if is_scaled:
            X, weights = sample.points.data.astype(np.float64), sample.multiplicities
            ratios = leave_one_out_scale_ratios(X, weights, column_scales(X, weights))
        few = _CLEAN_NEIGHBORS if regular is None else None
        return NeighborDistance.fit(sample, regular, ratios, few)
    if name == "mahalanobis":
        return Mahalanobis.fit(sample, regular)
    if name == "density":
        return NegativeLogDensity.fit(sample, regular)
    if name == "mixture":
        return FeatureGaussian.fit(sample, regular)
    return ComponentStatistic.fit(name, sample, n_components, regular)


def automatic_kernel(statistic: str, points: Points, weights: Array | None) -> Kernel:
    """Return a kernel per column for tables, otherwise a Gaussian kernel of scaled columns."""
    if points.kind == "objects":
        return table_kernel(points.data)
    X = points.data.astype(np.float64)
    scales = column_scales(X, np.ones(len(X)) if weights is None else weights)
    scaled = Points(X / scales, "vectors", points.feature_names)
    rule, factor = ("leave-one-out", 1) if statistic == "density" else _DISTANCE_RULE
    fitted: Any = fit_kernel(Gaussian(rule), scaled, weights)
    width = float(fitted.bandwidth) * factor
    return Gaussian(scales * (width if width > 0 else 1.0))


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
        for rows in row_blocks(points.n, len(self.scales)):
            X = points.data[rows].astype(np.float64)
            found[rows] = self.model.distances(X / self.scales)
        return found


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
    for rows in row_blocks(points.n, spectrum.points.n):
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
        for rows in row_blocks(points.n, self.points.n):
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
        return np.minimum(found, LARGEST)
