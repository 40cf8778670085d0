"""Fit kernels: replace bandwidth rules by their values for a sample, in memory or in chunks.

The functions of :mod:`mercer.bandwidth.rules` apply the same formulas to unvalidated points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import chi2

from mercer.bandwidth.likelihood import most_likely_bandwidth
from mercer.bandwidth.selectors import SELECTORS
from mercer.data.points import Points, PointSet, validate_points, validate_weights
from mercer.data.subsampling import select_representatives
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.kernels.stationary import sample_metric
from mercer.utils.estimators import ignore_underflow
from mercer.utils.pairwise import distance_blocks
from mercer.utils.quantiles import weighted_median, weighted_quantile
from mercer.utils.types import Array
from mercer.utils.validation import warn_if_heavy
from mercer.utils.weight_totals import multiplicities

__all__ = [
    "FORMULAS",
    "AutoRule",
    "BandwidthSample",
    "fit_kernel",
    "leave_one_out_bandwidth",
    "validated_sample",
]

_MAX_ROWS = 2000  # between which distances are computed
_MAX_SCALE_RATIO = 100.0  # of the columns' standard deviations, beyond which a fit warns
_MANY_COLUMNS = 20  # with more columns, a third of them may vary little


@ignore_underflow
def fit_kernel(
    kernel: Kernel, X: Any, sample_weight: Any = None, *, auto: AutoRule | None = None
) -> Kernel:
    """Return the kernel fitted to a sample.

    Every bandwidth rule is replaced by its value, and kernels on columns
    (:class:`~mercer.kernels.On`) store the values that represent a missing one.

    Parameters
    ----------
    kernel : Kernel
    X : data that the kernel compares, or Points
        Points are taken as validated, and so are the weights then.
    sample_weight : array-like of shape (n,) or None
    auto : callable or None
        What the bandwidth "auto" means to an estimator: a function of the kernel and the sample
        that returns the fitted kernel, such as ``mercer.bandwidth.density.most_likely_kernel``.
        None for the rule of this module.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> from mercer.kernels import Gaussian
    >>> fit_kernel(Gaussian("scott"), np.arange(10.0).reshape(-1, 1))
    Gaussian(bandwidth=1.81228...)
    """
    points: Any = X
    weights = sample_weight
    if not isinstance(X, PointSet):
        points = validate_points(X, kernel)
        weights = validate_weights(sample_weight, points)
    if points.is_chunked:
        return _fit(kernel, points.with_weights(weights), None, auto)
    return _fit(kernel, points.data, weights, auto)


def _fit(kernel: Kernel, data: Any, weights: Array | None, auto: AutoRule | None) -> Kernel:
    """Fit a kernel, or the kernels inside it, to the data that each compares."""
    if isinstance(kernel, Gaussian) and isinstance(kernel.metric, str):
        kernel = kernel.with_metric(sample_metric(kernel.metric, data, weights))
    if isinstance(kernel, Stationary) and auto is not None and kernel.has_rule("auto"):
        return auto(kernel, _sample_of(data, weights))
    if isinstance(kernel, Stationary) and isinstance(kernel.bandwidth, str):
        return kernel.with_bandwidth(_bandwidth(kernel, data, weights))
    split = kernel.split_for_fit(data, weights)
    if split is None:
        return kernel.with_own_parameters()
    try:
        fitted = [_fit(*part, auto) for part in split.parts]
    except ValueError as error:
        if not split.label:
            raise
        raise ValueError(f"{split.label}: {error}") from error
    return split.assemble(fitted)


def _bandwidth(kernel: Stationary, data: Any, weights: Array | None) -> float:
    """Apply the rule that a kernel names."""
    known = [*FORMULAS, "leave-one-out"]
    if kernel.bandwidth not in known:
        raise ValueError(
            f"bandwidth={kernel.bandwidth!r} is not a rule; use a positive number, one per column, "
            f"or one of {', '.join(map(repr, known))}."
        )
    sample = _sample_of(data, weights)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        sample = sample.whitened(Gaussian(1.0, kernel.metric))
        kernel = Gaussian(kernel.bandwidth)
    else:
        _warn_of_scales(data, weights)
    if kernel.bandwidth == "leave-one-out":
        return leave_one_out_bandwidth(sample, kernel)
    return FORMULAS[str(kernel.bandwidth)](sample)


def _warn_of_scales(X: Any, weights: Array | None) -> None:
    if isinstance(X, PointSet):
        survey: Any = X.survey  # type: ignore[attr-defined]
        deviations = survey.deviation[survey.deviation > 0]
    else:
        X = X if weights is None else X[weights > 0]
        extent = np.ptp(X, axis=0)
        varies = (extent > 0) & np.isfinite(extent)
        scaled = X[:, varies] / extent[varies]  # squares must not overflow
        deviations = scaled.std(axis=0, dtype=np.float64) * extent[varies]
    if len(deviations) < 2:
        return
    negligible = int((_MAX_SCALE_RATIO * deviations < deviations.max()).sum())
    # Among many columns, such as pixels, some vary little in the common unit, which is harmless.
    tolerated = len(deviations) // 3 if len(deviations) > _MANY_COLUMNS else 0
    if negligible > tolerated:
        warn(
            f"The standard deviations of the columns differ by a factor of "
            f"{deviations.max() / deviations.min():.3g}: with one bandwidth, only the columns with "
            "the largest ones matter. Standardize the columns (for example with "
            "sklearn.preprocessing.StandardScaler) or pass one bandwidth per column.",
            ApproximationWarning,
        )


@dataclass(frozen=True)
class _InMemory:
    """Rows in double precision and their positive multiplicities; None if all are 1."""

    X: Array
    weights: Array | None

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def size(self) -> float:
        """The sample size n."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def dimension(self) -> int:
        return self.X.shape[1]

    @property
    def points_and_weights(self) -> tuple[PointSet, Array | None]:
        return Points(self.X), self.weights

    def whitened(self, metric: Gaussian) -> _InMemory:
        """Return the sample in the coordinates of a metric."""
        return _InMemory(metric.to_units(self.X), self.weights)

    def spread(self) -> float:
        """Root of the mean marginal variance."""
        return _spread(self.X, _or_ones(self.weights, self.X))

    def covariance(self) -> Array:
        return sample_metric("covariance", self.X, self.weights)

    def representatives(
        self, grouped: bool = False, most: int = _MAX_ROWS
    ) -> tuple[Array, Array | None, float]:
        """At most 2000 distinct rows, their multiplicities (None: all 1) and the size ratio."""
        if self.weights is None and len(self.X) <= most:
            rows = self.X[np.lexsort(self.X.T[::-1])]
            if (rows[1:] != rows[:-1]).any(axis=1).all():
                return rows, None, 1.0
        weights = _or_ones(self.weights, self.X)
        found = select_representatives(self.X, weights, most, grouped=grouped)
        return self.X[found.rows], found.weights, found.size_ratio


@dataclass(frozen=True)
class _InChunks:
    """The same for a Dask collection."""

    points: Any  # ChunkedPoints
    metric: Gaussian | None = None

    def whitened(self, metric: Gaussian) -> _InChunks:
        return _InChunks(self.points, metric)

    @property
    def n_rows(self) -> int:
        return self.points.n

    @property
    def size(self) -> float:
        return self.points.survey.totals.sample_size

    @property
    def dimension(self) -> int:
        return self.points.dimension

    @property
    def points_and_weights(self) -> tuple[PointSet, Any]:
        return self.points, self.points.weights

    def spread(self) -> float:
        if self.metric is None:
            return float(self.points.spread())
        units = self.metric.to_units(np.eye(self.dimension))
        return sqrt(float(np.trace(units.T @ self.covariance() @ units)) / self.dimension)

    def covariance(self) -> Array:
        return sample_metric("covariance", self.points, None)

    def representatives(
        self, grouped: bool = False, most: int = _MAX_ROWS
    ) -> tuple[Array, Array | None, float]:
        rows, weights, ratio = self.points.representatives(most, grouped=grouped)
        return rows if self.metric is None else self.metric.to_units(rows), weights, ratio


BandwidthSample = _InMemory | _InChunks
#: A rule for the bandwidth "auto": from a kernel and a sample to the fitted kernel.
AutoRule = Callable[[Stationary, BandwidthSample], Stationary]


def validated_sample(X: Any, sample_weight: Any) -> BandwidthSample:
    """Validate points and weights and return them as a sample."""
    points: Any = validate_points(X, "vectors")
    weights = validate_weights(sample_weight, points)
    data = points.with_weights(weights) if points.is_chunked else points.data
    sample = _sample_of(data, None if points.is_chunked else weights)
    if sample_weight is not None:
        warn_if_heavy(sample.size, sample.n_rows)
    return sample


def _sample_of(data: Any, weights: Array | None) -> BandwidthSample:
    """Wrap validated data, without rows of zero weight."""
    if isinstance(data, PointSet):
        low, high = data.bounds()
        if (low == high).all():
            raise _no_distance(data.n)
        return _InChunks(data)
    X = data.astype(np.float64, copy=False)
    if weights is not None:
        X, weights = X[weights > 0], multiplicities(weights[weights > 0])
    if len(X) == 1 or (X[0] == X).all():
        raise _no_distance(len(X))
    return _InMemory(X, weights)


def _no_distance(n: int) -> ValueError:
    rows = "1 sample" if n == 1 else f"{n} equal rows"
    return ValueError(
        f"No bandwidth can be chosen from {rows}: every distance is 0. Pass a number, such as "
        "Gaussian(bandwidth=1.0)."
    )


def _or_ones(weights: Array | None, X: Array) -> Array:
    return np.ones(len(X)) if weights is None else weights


@ignore_underflow
def _spread(X: Array, weights: Array) -> float:
    """Root of the mean marginal variance; does not overflow."""
    weights = weights / weights.sum()
    centered = X - weights @ X
    scale = np.abs(centered).max()
    return float(scale * np.sqrt((weights @ (centered / scale) ** 2).mean()))


# --- formulas ------------------------------------------------------------------------------------


def _auto(sample: BandwidthSample) -> float:
    return _silverman(sample) if sample.dimension <= 3 else _median_distance(sample) / sqrt(2)


def _silverman(sample: BandwidthSample) -> float:
    n, d = sample.size, sample.dimension
    return float(sample.spread() * (4 / ((2 * d + 1) * n)) ** (1 / (d + 4)))


def _scott(sample: BandwidthSample) -> float:
    return float(sample.spread() * sample.size ** (-1 / (sample.dimension + 4)))


def _median_distance(sample: BandwidthSample) -> float:
    X, weights, _ = sample.representatives()
    medians = np.concatenate([_median(block, weights) for _, block in distance_blocks(X)])
    median = float(_median(medians, weights))
    # 0 if more than half of the rows are equal: use the mean distance of distinct rows
    return median if median > 0 else _mean_distance(X, weights)


def _spectroscopy(sample: BandwidthSample) -> float:
    X, weights, _ = sample.representatives()
    near = np.concatenate([_quantile(block, weights, 0.05) for _, block in distance_blocks(X)])
    radius = float(_quantile(near, weights, 0.95))
    if radius == 0:  # most rows have more than 5 % copies
        radius = _mean_distance(X, weights) * 0.05
    return radius / sqrt(chi2.ppf(0.95, X.shape[1]))


#: The rules that depend on the sample alone.
FORMULAS: dict[str, Callable[[BandwidthSample], float]] = {
    "auto": _auto,
    "silverman": _silverman,
    "scott": _scott,
    "median-distance": _median_distance,
    "distance-fraction": lambda sample: 0.15 * _median_distance(sample),
    "spectroscopy": _spectroscopy,
    **SELECTORS,
}


def _median(values: Array, weights: Array | None) -> Array:
    if weights is None:
        return np.asarray(np.median(values, axis=-1))
    return weighted_median(values, weights)


def _quantile(values: Array, weights: Array | None, level: float) -> Array:
    if weights is None:
        return np.asarray(np.quantile(values, level, axis=-1))
    return weighted_quantile(values, weights, level)


def _mean_distance(X: Array, weights: Array | None) -> float:
    """Mean distance between distinct rows."""
    weights = _or_ones(weights, X)
    weights = weights / weights.max()  # products must not overflow
    total = mass = 0.0
    for rows, distances in distance_blocks(X):
        pairs = weights[rows, None] * weights
        total += float((distances * pairs).sum())
        mass += float(pairs[distances > 0].sum())
    return total / mass


def leave_one_out_bandwidth(sample: BandwidthSample, kernel: Stationary) -> float:
    """Return the bandwidth of a kernel with the largest leave-one-out likelihood."""
    rows, weights, size_ratio = sample.representatives(grouped=True)
    weights = _or_ones(weights, rows)
    d = sample.dimension
    extent = _spread(rows, weights) * sqrt(d)
    return size_ratio ** (1 / (d + 4)) * most_likely_bandwidth(kernel, rows, weights, extent)
