"""The bandwidth "auto" of densities: the kernel with the largest leave-one-out likelihood.

The candidates are one bandwidth per column, proportional to the standard deviations, and for the
Gaussian kernel multiples of the covariance matrix, with all or half of the correlations. The factor
is chosen for each by the leave-one-out likelihood (:func:`mercer.bandwidth.leave_one_out`), on at
most 500 representative rows; the most likely candidate is refined:

- up to 2000 rows, on all of them;
- Gaussian kernels in at most three columns, by Fourier sums over all rows, at up to 16,000 of them
  (unless the grid of frequencies would be too large);
- otherwise on 2000 rows, and extrapolated to the sample size n by the rate ``n^(-1/(d+4))``.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from mercer.bandwidth.adaptive_density import Coordinates, sample_coordinates
from mercer.bandwidth.fourier_likelihood import fourier_likelihood
from mercer.bandwidth.likelihood import (
    leave_one_out_likelihood,
    most_likely_factor,
    refined_factor,
    search_range,
)
from mercer.data.subsampling import random_rows
from mercer.kernels import Gaussian, Stationary
from mercer.utils.quantiles import distinct_rows
from mercer.utils.types import Array
from mercer.utils.weight_totals import effective_size

if TYPE_CHECKING:
    from mercer.bandwidth.fit import BandwidthSample

__all__ = ["gaussian_in", "most_likely_kernel", "smoothing_gap"]

_MAX_ROWS = 2000  # between all pairs of which kernel values are computed
_TRIAL_ROWS = 500  # on which candidates are compared
_TOLERANCE = 0.01  # of the logarithm of a bandwidth
_MAX_FOURIER_COLUMNS = 3
_FOURIER_ROWS = 16_000  # whose log densities given all other points are averaged
_STEP = 2.0  # bandwidths between half and twice the first guess are tried
_MAX_STEPS = 6
_AT_LOWER_END = 1.1
_FOURIER_TOLERANCE = 0.02
_MIN_ROWS = 5  # below which bandwidths are not compared
_REFINEMENT = 2.0  # ratio of the bandwidths tried on all rows to the best on 500


def most_likely_kernel(kernel: Stationary, sample: BandwidthSample) -> Stationary:
    """Return a kernel with the bandwidths, or the bandwidth matrix, of largest likelihood.

    Parameters
    ----------
    kernel : Stationary
        Its own bandwidth is not used. A metric is: there is then one bandwidth to choose.
    sample : weighted sample of :mod:`mercer.bandwidth`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import fit_kernel
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 1000.0]
    >>> fitted = fit_kernel(Gaussian("auto"), X, auto=most_likely_kernel)
    >>> steps = fitted.from_units(np.eye(2))
    >>> bool(500 < steps[1, 1] / steps[0, 0] < 2000)
    True
    """
    most = _FOURIER_ROWS if _has_fast_sums(kernel, sample) else _MAX_ROWS
    rows, weights, size_ratio = sample.representatives(grouped=True, most=most)
    weights = np.ones(len(rows)) if weights is None else weights
    few = random_rows(len(rows), _TRIAL_ROWS)
    found = [
        _most_likely_multiple(unit, rows[few], weights[few], final=len(few) == len(rows))
        for unit in _units(kernel, rows, weights)
    ]
    best, _ = max(found, key=lambda one: one[1])
    rate = 1 / (rows.shape[1] + 4)  # at which the best bandwidth falls
    n = effective_size(weights) / size_ratio
    if _has_fast_sums(kernel, sample):
        start = _scaled(best, (effective_size(weights[few]) / n) ** rate)
        refined = _refined_by_sums(start, sample, rows, weights)
        if refined is not None:
            return refined
    if len(few) == len(rows):
        return best
    many = random_rows(len(rows), _MAX_ROWS)
    best = _scaled(best, (effective_size(weights[few]) / effective_size(weights[many])) ** rate)
    score = leave_one_out_likelihood(best, rows[many], weights[many])
    factor, _ = refined_factor(score, 1 / _REFINEMENT, _REFINEMENT, _TOLERANCE)
    return _scaled(best, factor * (effective_size(weights[many]) / n) ** rate)


def _has_fast_sums(kernel: Stationary, sample: BandwidthSample) -> bool:
    """Return whether there are too many rows for pairs, and Fourier sums may be possible."""
    is_small = sample.dimension <= _MAX_FOURIER_COLUMNS
    return isinstance(kernel, Gaussian) and is_small and sample.n_rows > _MAX_ROWS


def _refined_by_sums(
    start: Stationary, sample: BandwidthSample, rows: Array, weights: Array
) -> Stationary | None:
    """Maximize the likelihood of the rows given all other points; None if it is too expensive.

    The interval of bandwidths is extended downwards while its lower end is the best.
    """
    found = None
    for _ in range(_MAX_STEPS):
        start = _scaled(start, 1 / _STEP)
        assert isinstance(start, Gaussian)
        points, point_weights = sample.points_and_weights
        score = fourier_likelihood(start, points, point_weights, rows, weights, _STEP**2)
        if score is None:
            return found
        factor, _ = refined_factor(score, 1.0, _STEP**2, _FOURIER_TOLERANCE)
        found = _scaled(start, factor)
        if factor > _AT_LOWER_END:
            return found
    return found


@np.errstate(all="ignore")
def smoothing_gap(
    kernel: Stationary, X: Array, weights: Array, size_ratio: float
) -> tuple[float, float]:
    """Compare the bandwidths of a kernel with the most likely multiple of them.

    Parameters
    ----------
    kernel : Stationary
        A fitted kernel.
    X : array of shape (m, d)
        A few rows of the sample.
    weights : array of shape (m,)
    size_ratio : float
        Size of the whole sample relative to these rows.

    Returns
    -------
    factor : float
        The most likely multiple for the whole sample.
    gap : float
        What it adds to the mean leave-one-out log-likelihood, estimated from these rows. A few rows
        underestimate what narrower bandwidths gain on the whole sample. For what wider ones gain,
        the kernels of a few rows are made so much wider that as many rows are within a bandwidth.
        0 if neither is better, or if kernel values overflow.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> factor, gap = smoothing_gap(Gaussian(10.0), X, np.ones(200), 1.0)
    >>> factor < 0.1, 1 < gap < 2
    (True, True)
    """
    d = X.shape[1]
    distinct, weights = distinct_rows(X, weights)
    X = X[distinct].astype(np.float64)
    Z = kernel.to_units(X)
    if len(X) < _MIN_ROWS or not np.isfinite(Z).all():
        return 1.0, 0.0
    low, high = search_range(Z, _extent(Z, weights))
    if not (0 < low < high < np.inf and (np.multiply(kernel.bandwidth, low) > 0).all()):
        return 1.0, 0.0
    smallest = _scaled(kernel, low)
    if not np.isfinite(smallest.to_units(X)).all():
        return 1.0, 0.0
    score = leave_one_out_likelihood(smallest, X, weights)
    factor, highest = most_likely_factor(score, 1.0, high / low, _TOLERANCE)
    factor *= low
    widened = size_ratio ** (1 / d)
    if factor < 1:
        gap = highest - score(1 / low)
    elif factor > widened:
        gap = highest - score(widened / low)
    else:
        gap = 0.0
    return factor * size_ratio ** (-1 / (d + 4)), gap if np.isfinite(gap) else 0.0


def gaussian_in(coordinates: Coordinates, bandwidth: float) -> Gaussian:
    """Return the Gaussian kernel with this bandwidth in the given coordinates."""
    factor = coordinates.factor
    if len(factor) == 1:
        return Gaussian(bandwidth * float(factor[0, 0]))
    if (factor == np.diag(factor.diagonal())).all():
        return Gaussian(bandwidth * factor.diagonal())
    scale = float(np.abs(factor).max())  # squares must not overflow
    return Gaussian(bandwidth * scale, metric=(factor / scale) @ (factor / scale).T)


def _units(kernel: Stationary, rows: Array, weights: Array) -> list[Stationary]:
    """Return the candidates, with bandwidths of one standard deviation."""
    if isinstance(kernel, Gaussian):
        if kernel.metric is not None:
            return [kernel.with_bandwidth(1.0)]
        return [gaussian_in(coordinates, 1.0) for coordinates in sample_coordinates(rows, weights)]
    deviations = sample_coordinates(rows, weights)[0].factor.diagonal()
    return [kernel.with_bandwidth(deviations if len(deviations) > 1 else float(deviations[0]))]


def _most_likely_multiple(
    unit: Stationary, rows: Array, weights: Array, *, final: bool
) -> tuple[Stationary, float]:
    """Return the kernel with the most likely multiple of its bandwidths, and its likelihood.

    Single precision is accurate enough if the result will be refined.
    """
    Z = unit.to_units(rows)
    low, high = search_range(Z, _extent(Z, weights))
    smallest = _scaled(unit, low)
    score = leave_one_out_likelihood(smallest, rows, weights, single=not final)
    factor, highest = most_likely_factor(score, 1.0, high / low, _TOLERANCE)
    return _scaled(smallest, factor), highest


def _extent(Z: Array, weights: Array) -> float:
    """Return the root of the sum of the variances."""
    masses = weights / weights.sum()
    return sqrt(float((masses @ (Z - masses @ Z) ** 2).sum()))


def _scaled(kernel: Stationary, factor: float) -> Stationary:
    bandwidth = np.multiply(kernel.bandwidth, factor)
    return kernel.with_bandwidth(bandwidth if bandwidth.ndim else float(bandwidth))
