"""Bandwidth rules: their table, kernels fitted to samples in memory or in chunks, and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import chdtri

from mercer.bandwidth.likelihood import most_likely_bandwidth
from mercer.bandwidth.selectors import SELECTORS, whitened_plug_in
from mercer.data.points import Points, PointSet, validate_points, validate_weights
from mercer.data.subsampling import select_representatives
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.kernels.stationary import sample_metric
from mercer.utils.estimators import ignore_underflow
from mercer.utils.pairwise import check_column_ranges, distance_blocks
from mercer.utils.quantiles import weighted_median, weighted_quantile
from mercer.utils.types import Array
from mercer.utils.validation import check_real, warn_if_heavy
from mercer.utils.weights import multiplicities

__all__ = [
    "RULES",
    "AutoRule",
    "BandwidthSample",
    "bandwidth",
    "distance_fraction",
    "fit_kernel",
    "leave_one_out",
    "median_distance",
    "plug_in_matrix",
    "scott",
    "silverman",
    "spectroscopy",
]

_MAX_ROWS = 2000  # between which distances are computed


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
        that returns the fitted kernel, such as ``mercer.bandwidth.likelihood.most_likely_kernel``.
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
    if isinstance(kernel, Stationary):
        if auto is not None and kernel.has_rule("auto"):
            return auto(kernel, _sample_of(data, weights))
        if isinstance(kernel.bandwidth, str):
            return kernel.with_bandwidth(_bandwidth(kernel, data, weights))
    return _fit_parts(kernel, data, weights, auto)


def _fit_parts(kernel: Kernel, data: Any, weights: Array | None, auto: AutoRule | None) -> Kernel:
    """Fit the kernels inside a kernel, and its own parameters."""
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
    _check_rule(kernel.bandwidth)
    sample = _sample_of(data, weights)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        sample = sample.whitened(Gaussian(1.0, kernel.metric))
        kernel = Gaussian(kernel.bandwidth)
    else:
        _warn_of_scales(data, weights)
    return _apply(str(kernel.bandwidth), sample, kernel)


def _check_rule(rule: Any) -> None:
    known = [*RULES, *SELECTORS]
    if rule not in known:
        raise ValueError(
            f"bandwidth={rule!r} is not a rule; use a positive number, one per column, "
            f"or one of {', '.join(map(repr, known))}."
        )


def _apply(rule: str, sample: BandwidthSample, kernel: Stationary) -> float:
    if rule == "leave-one-out":
        return _leave_one_out(sample, kernel)
    return (_FORMULAS | SELECTORS)[rule](sample)


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
    negligible = int((deviations < deviations.max() / 100.0).sum())
    # among many columns, such as pixels, some vary little in the common unit, which is harmless
    tolerated = len(deviations) // 3 if len(deviations) > 20 else 0
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

    def extent(self) -> float:
        """Largest range of a column."""
        return float(np.ptp(self.X, axis=0).max())

    def covariance(self) -> Array:
        check_column_ranges(self.X)
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

    def extent(self) -> float:
        if self.metric is not None:  # not known without a pass over the rows
            return np.inf
        low, high = self.points.bounds()
        return float((high - low).max())

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


def _validated_sample(X: Any, sample_weight: Any) -> BandwidthSample:
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
    if sample.dimension > 3:
        return _median_distance(sample) / sqrt(2)
    silverman, spread = _silverman(sample), sample.spread()
    if sample.extent() < 0.1 * sqrt(sample.size) * spread:
        return silverman  # not the variance of a few distant rows
    return silverman * min(1.0, sqrt(2) * _median_distance(sample) / spread)


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
    return radius / sqrt(chdtri(X.shape[1], 0.05))


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


def _leave_one_out(sample: BandwidthSample, kernel: Stationary) -> float:
    """Return the bandwidth of a kernel with the largest leave-one-out likelihood."""
    rows, weights, size_ratio = sample.representatives(grouped=True)
    weights = _or_ones(weights, rows)
    d = sample.dimension
    extent = _spread(rows, weights) * sqrt(d)
    return size_ratio ** (1 / (d + 4)) * most_likely_bandwidth(kernel, rows, weights, extent)


_FORMULAS: dict[str, Callable[[BandwidthSample], float]] = {
    "auto": _auto,
    "silverman": _silverman,
    "scott": _scott,
    "median-distance": _median_distance,
    "distance-fraction": lambda sample: 0.15 * _median_distance(sample),
    "spectroscopy": _spectroscopy,
}
#: Names of the rules that any kernel accepts; those in SELECTORS are for Gaussian densities.
RULES = (*_FORMULAS, "leave-one-out")


# --- functions ------------------------------------------------------------------------------------


@ignore_underflow
def bandwidth(
    X: Any, rule: str = "auto", sample_weight: Any = None, *, kernel: Stationary | None = None
) -> float:
    r"""Return the bandwidth that a rule chooses for a sample.

    Parameters
    ----------
    X : array-like of shape (n, d) or Dask array
    rule : str
        A name of the table of :mod:`mercer.bandwidth`, which a kernel takes as its bandwidth too.
    sample_weight : array-like of shape (n,) or None
    kernel : Stationary or None
        For "leave-one-out": the kernel of the density, whose own bandwidth is not used; None for
        the Gaussian.

    Notes
    -----
    The selectors for Gaussian kernel density estimates use sums over pairs of points. For one
    column pairs are counted on a grid of 100 cells per bandwidth, in O(n) for any n; if outliers
    make the grid too large, between 1000 representative rows. In more columns they are exact for up
    to 1000 distinct rows; of more, 1000 representative rows are used and the result is extrapolated
    by :math:`n^{-1/(d+4)}`. With a bandwidth h and :math:`N_v` the normal density of variance v,

    - "plug-in": :math:`h^{d+4} = d / (n (4\pi)^{d/2} \hat\psi)` with an estimate of
      :math:`\psi = \int (\Delta f)^2` in two stages (Wand and Jones 1994). For several columns use
      ``Gaussian("plug-in", metric="covariance")``, one multiple of the covariance matrix;
      :func:`plug_in_matrix` minimizes over all matrices.
    - "sheather-jones" solves the equation of Sheather and Jones (1991). "improved-sheather-jones"
      (Botev, Grotowski and Kroese 2010) does not assume a normal pilot, so it resolves modes that
      are far apart; the sample is binned on 16384 cells over twice its range.
    - "least-squares-cv" minimizes :math:`\frac{1}{n (4\pi h^2)^{d/2}} + \frac1{n^2}
      \sum_{i \ne j} [N_{2h^2} - 2 N_{h^2}](x_i - x_j)` between 0.1 and 2 times
      :math:`s\, n^{-1/(d+4)}`. Repeated values make it too small; a warning reports a minimum at an
      end of the range.
    - "biased-cv" (Scott and Terrell 1987) replaces the second term by :math:`\frac1{16 n^2}
      \sum_{i \ne j} [u^4 - (2d + 4) u^2 + d (d + 2)]\, N_{2h^2}(x_i - x_j)` with
      :math:`u^2 = \|x_i - x_j\|^2 / 2h^2`, between 0.1 and 1.144.
    - "smoothed-cv" (Hall, Marron and Park 1992) by :math:`\frac1{n^2} \sum_{ij} [N_{2h^2 + 2g^2}
      - 2 N_{h^2 + 2g^2} + N_{2g^2}](x_i - x_j)` with the pilot
      :math:`g = s\,(2/((d+4) n))^{1/(d+6)}`. It varies less between samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import bandwidth
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> {rule: round(bandwidth(X, rule), 2) for rule in ("scott", "sheather-jones", "biased-cv")}
    {'scott': 0.29, 'sheather-jones': 0.31, 'biased-cv': 0.33}
    """
    _check_rule(rule)
    kernel = Gaussian() if kernel is None else kernel
    return _apply(rule, _validated_sample(X, sample_weight), kernel)


def silverman(X: Any, sample_weight: Any = None) -> float:
    """Silverman's rule, ``s (4 / ((2d + 1) n))^(1/(d+4))``.

    s² is the mean of the columns' variances. (Textbooks have d + 2 for 2d + 1; this form gives the
    bandwidths that Jenssen 2010 reports.)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import silverman
    >>> round(silverman(np.arange(10.0).reshape(-1, 1)), 4)
    1.9196
    """
    return bandwidth(X, "silverman", sample_weight)


def scott(X: Any, sample_weight: Any = None) -> float:
    """Scott's rule, ``s n^(-1/(d+4))``, with s as in :func:`silverman`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import scott
    >>> round(scott(np.arange(10.0).reshape(-1, 1)), 4)
    1.8123
    """
    return bandwidth(X, "scott", sample_weight)


def median_distance(X: Any, sample_weight: Any = None) -> float:
    """Median over rows of each row's median distance to all rows, itself included.

    This is Jenssen's "median range": among the definitions tried it is the one that gives the
    ranges printed in the paper.

    Examples
    --------
    >>> from mercer.bandwidth import median_distance
    >>> median_distance([[0.0], [1.0], [2.0], [3.0], [10.0]])
    2.0
    """
    return bandwidth(X, "median-distance", sample_weight)


def distance_fraction(X: Any, sample_weight: Any = None, *, fraction: float = 0.15) -> float:
    """A fraction of :func:`median_distance`; Jenssen 2010 clusters with 10 to 20 percent.

    In many dimensions so small a bandwidth makes K almost the identity: use it as a range to search
    rather than as a single value.

    Examples
    --------
    >>> from mercer.bandwidth import distance_fraction
    >>> distance_fraction([[0.0], [1.0], [2.0], [3.0], [10.0]], fraction=0.5)
    1.0
    """
    check_real(fraction, "fraction", above=0, remedy="Jenssen 2010 uses 0.10 to 0.20.")
    return fraction * median_distance(X, sample_weight)


def spectroscopy(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of data spectroscopy (Shi, Belkin and Yu 2009).

    :math:`q / \sqrt{\chi^2_{0.95, d}}` with q the 95 % quantile, over rows, of the 5 % quantile of
    a row's distances to all rows, itself included: 95 % of the points then have 5 % of all points
    within the radius that contains 95 % of the mass of a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import spectroscopy
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(spectroscopy(X), 3), round(spectroscopy(10 * X), 2)
    (0.482, 4.82)
    """
    return bandwidth(X, "spectroscopy", sample_weight)


def leave_one_out(X: Any, sample_weight: Any = None, *, kernel: Stationary | None = None) -> float:
    r"""The bandwidth that maximizes the leave-one-out likelihood.

    .. math:: \max_h \sum_i w_i \log \frac{1}{n - w_i} \sum_{j: x_j \ne x_i} w_j k_h(x_i, x_j)

    with the normalized kernel :math:`k_h`. All copies of a point are left out together:
    otherwise rounded data would be most likely at bandwidth 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
    sample_weight : array-like of shape (n,) or None
    kernel : Stationary or None
        The kernel of the density, whose own bandwidth is not used; None for the Gaussian.

    Notes
    -----
    Exact for up to 2000 distinct rows. Of more rows 2000 are used, evenly spaced in lexicographic
    order, and the result is extrapolated to the size of the sample by :math:`(m'/m)^{1/(d+4)}`, the
    rate at which the best bandwidth falls; m and m' are the effective sample sizes
    :math:`(\sum w)^2 / \sum w^2` of all distinct rows and of those used. At 2001 rows this changes
    the result by up to about 10 %. It does not depend on the scale of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(leave_one_out(X), 2)  # the best for a normal distribution: about 1.06 n^(-1/5) = 0.31
    0.3
    """
    return bandwidth(X, "leave-one-out", sample_weight, kernel=kernel)


@ignore_underflow
def plug_in_matrix(X: Any, sample_weight: Any = None) -> Array:
    r"""The bandwidth matrix of the plug-in method (Chacón and Duong 2010), without constraints.

    It minimizes the asymptotic mean integrated squared error

    .. math::
        \frac{1}{n (4\pi)^{d/2} |H|^{1/2}} + \frac14 \int \operatorname{tr}^2(H\, D^2 f(x))\,dx

    over positive definite matrices H, with the integral estimated from whitened rows with the
    scalar pilot bandwidths of the rule "plug-in"; ``Hpi`` of R's package ks with ``pre="sphere"``
    minimizes the same error, with another pilot. Pass it as the metric of a Gaussian kernel:
    ``Gaussian(1.0, metric=plug_in_matrix(X))``.

    Parameters
    ----------
    X : array-like of shape (n, d)
        At most about ten columns: the cost is O(d⁴) per pair of at most 1000 rows.
    sample_weight : array-like of shape (n,) or None

    Returns
    -------
    array of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import plug_in_matrix
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 10.0]
    >>> np.sqrt(plug_in_matrix(X).diagonal()).round(1)
    array([0.3, 3.4])
    """
    sample = _validated_sample(X, sample_weight)
    metric = Gaussian(1.0, sample.covariance())
    units = np.linalg.inv(metric.to_units(np.eye(sample.dimension)))
    found = whitened_plug_in(sample.whitened(metric))
    return np.asarray(units.T @ found @ units)
