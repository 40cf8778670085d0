"""The bandwidth "auto" of densities: the kernel with the largest leave-one-out likelihood.

The candidates are one bandwidth per column, proportional to the standard deviations, and for the
Gaussian kernel multiples of the covariance matrix, with all or half of the correlations. The factor
is chosen for each by the leave-one-out likelihood (:func:`mercer.bandwidth.leave_one_out`), on at
most 500 representative rows; the most likely candidate is refined:

- up to 2000 rows, on all of them;
- Gaussian kernels in at most three columns, by Fourier sums over all rows, at up to 16,000 of them
  (unless the grid of frequencies would be too large);
- otherwise on 2000 rows, and extrapolated to the sample size n by the rate ``n^(-1/(d+4))``.

Extreme rows (``is_extreme``) are part of the density, but do not take part in the choice of its
parameters: the likelihood of one row at a distance D from all others requires a bandwidth of about
``D / √n``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from mercer.bandwidth.fourier_likelihood import fourier_likelihood
from mercer.data.subsampling import distinct_rows, random_rows, select_representatives
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.kernels.densities import reach
from mercer.kernels.stationary import Radial, sample_metric
from mercer.utils.compiled import exponentials
from mercer.utils.pairwise import nearest_distances, row_ranges
from mercer.utils.types import Array
from mercer.utils.weights import effective_size, multiplicities

if TYPE_CHECKING:
    from mercer.bandwidth.rules import BandwidthSample

__all__ = [
    "Coordinates",
    "best_candidate",
    "choice_rows",
    "fit_reflected",
    "gaussian_in",
    "has_likelihood_rule",
    "is_extreme",
    "leave_one_out_likelihood",
    "most_likely_bandwidth",
    "most_likely_kernel",
    "reflection_gain",
    "sample_coordinates",
    "smoothing_gap",
]

_MAX_ROWS = 2000  # between all pairs of which kernel values are computed
_TRIAL_ROWS = 500  # on which candidates are compared
_TOLERANCE = 0.01  # of the logarithm of a bandwidth

#: From the reach of kernels to the reflections that matter, as maps of rows.
Images = Callable[[Array], Sequence[Callable[[Array], Array]]]


# --- coordinates ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coordinates:
    """``z = L⁻¹ (x - m)``: coordinates in which the sample has unit variances."""

    center: Array  # shape (d,)
    factor: Array  # the lower triangular matrix L, shape (d, d)

    @property
    def log_volume(self) -> float:
        """``log det L``, subtracted from log densities in z."""
        return float(np.log(self.factor.diagonal()).sum())

    def scaled(self, X: Array) -> Array:
        """Return z."""
        scales = self.factor.diagonal()
        if (self.factor == np.diag(scales)).all():  # exact for subnormal scales too
            return np.asarray((X - self.center) / scales)
        return np.asarray(solve_triangular(self.factor, (X - self.center).T, lower=True).T)

    def directions(self) -> Array:
        """Return the matrix T of ``z = (x - m) T``."""
        return np.asarray(solve_triangular(self.factor, np.eye(len(self.factor)), lower=True).T)

    def original(self, Z: Array) -> Array:
        """Return x."""
        return np.asarray(Z @ self.factor.T + self.center)


def sample_coordinates(X: Array, weights: Array) -> list[Coordinates]:
    """Return the coordinates that standardize columns, and those that also remove correlations.

    In between are those for half the correlations. Only the first are returned for one column, if
    the correlation matrix is singular, or if covariances would underflow.

    Raises
    ------
    ValueError
        If a column is constant: the sample then has no density.
    """
    masses = weights / weights.sum()
    center = masses @ X
    varies = X.max(axis=0) > X.min(axis=0)
    if not varies.all():
        constant = int(np.argmin(varies))
        raise ValueError(
            f"Column {constant} is constant ({X[0, constant]:.6g}) in all distinct rows "
            f"(n_samples={len(X)}), so the sample has no density. Drop it, or pass more rows."
        )
    scale = np.abs(X - center).max(axis=0)
    Y = (X - center) / scale  # squares must not overflow
    covariance = (masses[:, None] * Y).T @ Y
    deviations = np.sqrt(covariance.diagonal())
    found = [Coordinates(center, np.diag(scale * deviations))]
    correlation = covariance / np.outer(deviations, deviations)
    has_inverse = np.linalg.eigvalsh(correlation)[0] > 1e-12
    if len(center) > 1 and has_inverse and found[0].factor.diagonal().min() > 1e-140 * scale.max():
        for shrunk in (0.5 * (correlation + np.eye(len(center))), correlation):
            root = np.linalg.cholesky(shrunk)
            found.append(Coordinates(center, (scale * deviations)[:, None] * root))
    return found


def gaussian_in(coordinates: Coordinates, bandwidth: float) -> Gaussian:
    """Return the Gaussian kernel with this bandwidth in the given coordinates."""
    factor = coordinates.factor
    if len(factor) == 1:
        return Gaussian(bandwidth * float(factor[0, 0]))
    if (factor == np.diag(factor.diagonal())).all():
        return Gaussian(bandwidth * factor.diagonal())
    scale = float(np.abs(factor).max())  # squares must not overflow
    return Gaussian(bandwidth * scale, metric=(factor / scale) @ (factor / scale).T)


def is_extreme(X: Array, weights: Array) -> Array:
    """Return which rows are too far from all others to take part in the choice of bandwidths.

    In some column they are more than three times as far from the median as every other row, and at
    most 5 % of the rows that differ from the median (at least one row) are.
    """
    extreme = np.zeros(len(X), dtype=bool)
    for column in X.T:
        order = np.argsort(column)
        masses = np.cumsum(weights[order])
        median = column[order[np.searchsorted(masses, 0.5 * masses[-1])]]
        distances = np.abs(0.5 * column - 0.5 * median)  # the difference could overflow
        order = np.argsort(distances)
        near, next_one = distances[order[:-1]], distances[order[1:]]
        beyond = np.cumsum(weights[order[::-1]])[-2::-1]
        few = max(1.0, 0.05 * float(weights[distances > 0].sum()))
        gaps = np.flatnonzero((near > 0) & (next_one / 3 > near) & (beyond <= few))
        if len(gaps):
            extreme[order[gaps[0] + 1 :]] = True
    rest = X[~extreme]
    if len(rest) < 3 or ((rest == rest[0]).all(axis=0) & (X[0] != X).any(axis=0)).any():
        return np.zeros(len(X), dtype=bool)  # no bandwidth could be chosen without them
    return extreme


def choice_rows(X: Array, weights: Array) -> tuple[Array, Array]:
    """Return the rows by which bandwidths are chosen, without extreme ones, and their weights.

    Raises
    ------
    ValueError
        If the values of a column differ by almost subnormal numbers.
    """
    used = ~is_extreme(X, weights)
    X, weights = X[used], weights[used]
    extent = np.abs(X - X[0]).max(axis=0)
    least = 1e4 * float(np.finfo(np.float64).tiny)  # the inverse bandwidth must be finite
    tiny = (extent > 0) & (extent < least)
    if tiny.any():
        column = int(np.argmax(tiny))
        raise ValueError(
            f"The values of column {column} differ by at most {extent[column]:.3g}, too little for "
            f"a density (limit: {least:.3g}). Multiply the column by a large number."
        )
    return X, weights


# --- leave-one-out likelihood ---------------------------------------------------------------------


def most_likely_bandwidth(kernel: Stationary, X: Array, weights: Array, extent: float) -> float:
    """Return the bandwidth that maximizes the leave-one-out likelihood of distinct points.

    ``kernel``: its own bandwidth is not used. ``extent``: half of the largest bandwidth that is
    tried.
    """
    low, high = search_range(X, extent)
    # at the smallest bandwidth, rounding errors of the exponents are visible
    score = leave_one_out_likelihood(kernel.with_bandwidth(low), X, weights)
    return low * most_likely_factor(score, 1.0, high / low)[0]


def search_range(X: Array, extent: float) -> tuple[float, float]:
    """Return the smallest and the largest bandwidth to try for distinct points."""
    nearest = np.sort(nearest_distances(X))
    low = max(0.1 * float(np.median(nearest)), 1e-3 * float(nearest[-1]))
    return low, 2 * max(extent, float(nearest[-1]))


def most_likely_factor(
    score: Callable[[float], float], low: float, high: float, tolerance: float = 1e-4
) -> tuple[float, float]:
    """Return the argument in an interval at which a score is largest, and the score.

    The best of 25 trials is refined, so a score may have several local maxima.

    ``tolerance``: of the logarithm of the argument.
    """
    trials = np.linspace(log(low), log(high), 25)
    scores = [score(float(np.exp(trial))) for trial in trials]
    best = int(np.argmax(scores))
    below, above = trials[max(best - 1, 0)], trials[min(best + 1, len(trials) - 1)]
    return refined_factor(score, float(np.exp(below)), float(np.exp(above)), tolerance)


def refined_factor(
    score: Callable[[float], float], low: float, high: float, tolerance: float
) -> tuple[float, float]:
    """Return the argument in an interval at which a unimodal score is largest, and the score."""
    found = minimize_scalar(
        lambda at: -score(float(np.exp(at))),
        bounds=(log(low), log(high)),
        method="bounded",
        options={"xatol": tolerance},
    )
    return float(np.exp(found.x)), -float(found.fun)


def leave_one_out_likelihood(
    kernel: Stationary, X: Array, weights: Array, *, single: bool = False
) -> Callable[[float], float]:
    """Return the mean leave-one-out log density as a function of a factor on the bandwidths.

    ``kernel``: a fitted kernel. ``X``: distinct points. ``single``: compute exponentials in single
    precision: a third of the time, with errors of about 1e-6.
    """
    log_weights = np.log(weights)
    log_rest = np.log(weights.sum() - weights)
    log_kernel = _scaled_log_kernel(kernel, X)
    d, log_normalizer = X.shape[1], kernel.log_normalizer(X.shape[1])

    def score(factor: float) -> float:
        logs = log_kernel(factor)
        logs += log_weights
        np.fill_diagonal(logs, -np.inf)
        top = logs.max(axis=1)
        if np.isneginf(top).any():
            return -np.inf
        logs -= top[:, None]
        if single:
            with np.errstate(over="ignore"):  # exponents below the range of single precision
                values = logs.astype(np.float32)
            sums = np.log(exponentials(values).sum(axis=1, dtype=np.float64)) + top
        else:
            sums = np.log(exponentials(logs).sum(axis=1)) + top
        mean = float(weights @ (sums - log_rest)) / float(weights.sum())
        return mean - log_normalizer - d * log(factor)

    return score


def _scaled_log_kernel(kernel: Stationary, X: Array) -> Callable[[float], Array]:
    """Return log k between all points as a function of a factor on the bandwidths.

    Distances are computed once for kernels that are functions of Euclidean distances.
    """
    if not isinstance(kernel, Radial):
        return lambda factor: _log_kernel(_scaled(kernel, factor), X)
    base = kernel if isinstance(kernel, Gaussian) else Gaussian(kernel.bandwidth)
    exponents = _log_kernel(base, X)
    return lambda factor: kernel.log_profile(exponents / factor / factor)


def _log_kernel(kernel: Stationary, X: Array) -> Array:
    """Return log k between all points."""
    tiles = kernel.log_tiles(X, X.copy())  # a copy: X and itself would be the same points
    logs = np.empty((len(X), len(X)))
    for rows in row_ranges(len(X), 256):
        logs[rows] = tiles(rows, slice(0, len(X)), None)
    return logs


# --- the most likely kernel -----------------------------------------------------------------------


def most_likely_kernel(kernel: Stationary, sample: BandwidthSample) -> Stationary:
    """Return a kernel with the bandwidths, or the bandwidth matrix, of largest likelihood.

    ``kernel``: its own bandwidth is not used. A metric is: there is then one bandwidth to choose.
    """
    most = 16_000 if _has_fast_sums(kernel, sample) else _MAX_ROWS
    rows, weights, size_ratio = sample.representatives(grouped=True, most=most)
    weights = np.ones(len(rows)) if weights is None else weights
    rows, weights = choice_rows(rows, weights)
    few = np.arange(len(rows))
    if len(rows) > _TRIAL_ROWS:
        few = random_rows(len(rows), _TRIAL_ROWS)
    best, _ = best_candidate(kernel, rows[few], weights[few], final=len(few) == len(rows))
    has_sums = _has_fast_sums(kernel, sample)
    if len(few) == len(rows) and not has_sums:
        return best
    rate = 1 / (rows.shape[1] + 4)  # at which the best bandwidth falls
    n = effective_size(weights) / size_ratio
    if has_sums:
        start = _scaled(best, (effective_size(weights[few]) / n) ** rate)
        refined = _refined_by_sums(start, sample, rows, weights)
        if refined is not None:
            return refined
    if len(few) == len(rows):
        return best
    many = random_rows(len(rows), _MAX_ROWS)
    best = _scaled(best, (effective_size(weights[few]) / effective_size(weights[many])) ** rate)
    score = leave_one_out_likelihood(best, rows[many], weights[many])
    factor, _ = refined_factor(score, 0.5, 2.0, _TOLERANCE)
    return _scaled(best, factor * (effective_size(weights[many]) / n) ** rate)


def _has_fast_sums(kernel: Stationary, sample: BandwidthSample) -> bool:
    """Return whether there are too many rows for pairs, and Fourier sums may be possible."""
    is_small = sample.dimension <= 3
    return isinstance(kernel, Gaussian) and is_small and sample.n_rows > _MAX_ROWS


def _refined_by_sums(
    start: Stationary, sample: BandwidthSample, rows: Array, weights: Array
) -> Stationary | None:
    """Maximize the likelihood of the rows given all other points; None if it is too expensive.

    Bandwidths between half and twice the first guess are tried, and smaller ones while the lower
    end of the interval is the best.
    """
    found = None
    for _ in range(6):
        start = _scaled(start, 0.5)
        assert isinstance(start, Gaussian)
        points, point_weights = sample.points_and_weights
        score = fourier_likelihood(start, points, point_weights, rows, weights, 4.0)
        if score is None:
            return found
        factor, _ = refined_factor(score, 1.0, 4.0, _TOLERANCE)
        found = _scaled(start, factor)
        if factor > 1.1:
            return found
    return found


@np.errstate(all="ignore")
def smoothing_gap(
    kernel: Stationary, X: Array, weights: Array, size_ratio: float
) -> tuple[float, float]:
    """Compare the bandwidths of a kernel with the most likely multiple of them.

    ``kernel``: a fitted kernel. ``X``: a few rows of the sample. ``size_ratio``: size of the whole
    sample relative to these rows. Returns ``factor``: the most likely multiple for the whole
    sample. ``gap``: what it adds to the mean leave-one-out log-likelihood, estimated from these
    rows. A few rows underestimate what narrower bandwidths gain on the whole sample. For what wider
    ones gain, the kernels of a few rows are made so much wider that as many rows are within a
    bandwidth. 0 if neither is better, or if kernel values overflow.
    """
    d = X.shape[1]
    distinct, weights = distinct_rows(X, weights)
    X = X[distinct].astype(np.float64)
    used = ~is_extreme(X, weights)
    X, weights = X[used], weights[used]
    Z = kernel.to_units(X)
    if len(X) < 5 or not np.isfinite(Z).all():
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


def best_candidate(
    kernel: Stationary, rows: Array, weights: Array, *, final: bool = True
) -> tuple[Stationary, float]:
    """Return the candidate and the multiple of its bandwidths with the largest likelihood.

    Single precision is accurate enough if the result is not ``final``, but will be refined.
    """
    found = []
    for unit in _candidates(kernel, rows, weights):
        Z = unit.to_units(rows)
        low, high = search_range(Z, _extent(Z, weights))
        smallest = _scaled(unit, low)  # rounding errors of exponents are visible there
        score = leave_one_out_likelihood(smallest, rows, weights, single=not final)
        factor, highest = most_likely_factor(score, 1.0, high / low, _TOLERANCE)
        found.append((_scaled(smallest, factor), highest))
    return max(found, key=lambda one: one[1])


def _candidates(kernel: Stationary, rows: Array, weights: Array) -> list[Stationary]:
    """Return kernels of which a multiple is chosen, with bandwidths of one standard deviation."""
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        return [kernel.with_bandwidth(1.0)]
    if kernel.has_rule("leave-one-out"):
        return [kernel.with_bandwidth(1.0)]
    coordinates = sample_coordinates(rows, weights)
    if isinstance(kernel, Gaussian):
        return [gaussian_in(one, 1.0) for one in coordinates]
    deviations = coordinates[0].factor.diagonal()
    return [kernel.with_bandwidth(deviations if len(deviations) > 1 else float(deviations[0]))]


def _extent(Z: Array, weights: Array) -> float:
    """Return the root of the sum of the variances."""
    masses = weights / weights.sum()
    centered = Z - masses @ Z
    scale = float(np.abs(centered).max()) or 1.0  # squares must not overflow
    return scale * sqrt(float((masses @ (centered / scale) ** 2).sum()))


def _scaled(kernel: Stationary, factor: float) -> Stationary:
    bandwidth = np.multiply(kernel.bandwidth, factor)
    return kernel.with_bandwidth(bandwidth if bandwidth.ndim else float(bandwidth))


# --- densities with bounds ------------------------------------------------------------------------


def has_likelihood_rule(kernel: Kernel) -> TypeGuard[Stationary]:
    """Return whether the bandwidth maximizes a likelihood, which depends on the bounds."""
    rules = ("auto", "leave-one-out")
    return isinstance(kernel, Stationary) and any(map(kernel.has_rule, rules))


def fit_reflected(
    kernel: Stationary, X: Array, weights: Array | None, images: Images
) -> Stationary:
    """Return the kernel whose reflected density has the largest leave-one-out likelihood.

    The left-out point and its reflections do not contribute to its own density. Of more than 1000
    distinct rows 1000 are used, evenly spaced in lexicographic order, and the result is
    extrapolated by the rate :math:`n^{-1/(d+4)}`. ``images(reach)`` are the reflections that matter
    for kernels that extend so far.
    """
    kernel = _with_metric(kernel, X, weights)
    counts = np.ones(len(X)) if weights is None else multiplicities(weights)
    chosen, masses, size_ratio = select_representatives(X, counts, 1000, grouped=True)
    rows, masses = choice_rows(X[chosen], masses)
    n, rate = effective_size(masses) / size_ratio, 1 / (X.shape[1] + 4)
    few = random_rows(len(rows), _TRIAL_ROWS)
    best, _ = _best_reflected(kernel, rows[few], masses[few], images)
    if len(few) < len(rows):
        best = _scaled(best, (effective_size(masses[few]) / effective_size(masses)) ** rate)
        score = _reflected_likelihood(best, rows, masses, images)
        best = _scaled(best, refined_factor(score, 0.5, 2.0, _TOLERANCE)[0])
    return _scaled(best, (effective_size(masses) / n) ** rate)


def reflection_gain(
    kernel: Stationary, X: Array, weights: Array | None, images: Images, Z: Array, log_slopes: Array
) -> float:
    """Return the leave-one-out likelihood of reflection minus that of transformation.

    On at most 500 distinct rows, for the best kernel of each. ``Z``: the transformed rows of X.
    ``log_slopes``: the logarithms of the volumes that the transformation adds.
    """
    counts = np.ones(len(X)) if weights is None else multiplicities(weights)
    rows, masses, _ = select_representatives(X, counts, _TRIAL_ROWS, grouped=True)
    used = ~is_extreme(X[rows], masses)
    rows, masses = rows[used], masses[used]
    reflected = _best_reflected(_with_metric(kernel, X, weights), X[rows], masses, images)[1]
    transformed = best_candidate(_with_metric(kernel, Z, weights), Z[rows], masses)[1]
    return reflected - transformed - float(masses @ log_slopes[rows]) / float(masses.sum())


def _best_reflected(
    kernel: Stationary, X: Array, weights: Array, images: Images
) -> tuple[Stationary, float]:
    """Return the best candidate without bounds, with the best multiple of it with reflection."""
    best, _ = best_candidate(kernel, X, weights)
    score = _reflected_likelihood(best, X, weights, images)
    # reflection allows wider kernels where the density is high at a bound
    factor, highest = refined_factor(score, 0.5, 8.0, _TOLERANCE)
    return _scaled(best, factor), highest


def _with_metric(kernel: Stationary, X: Array, weights: Array | None) -> Stationary:
    """Return a kernel with the metric that a Gaussian kernel names."""
    if isinstance(kernel, Gaussian) and isinstance(kernel.metric, str):
        return kernel.with_metric(sample_metric(kernel.metric, X, weights))
    return kernel


def _reflected_likelihood(
    kernel: Stationary, X: Array, weights: Array, images: Images
) -> Callable[[float], float]:
    """Return the mean log density of distinct points given the others, of a bandwidth's factor."""
    d, everything = X.shape[1], slice(0, len(X))
    log_weights, log_rest = np.log(weights), np.log(weights.sum() - weights)

    def score(factor: float) -> float:
        scaled = _scaled(kernel, factor)
        tiles = [scaled.log_tiles(image(X), X) for image in images(reach(scaled, d))]
        parts = [tile(everything, everything, None) + log_weights for tile in tiles]
        for logs in parts:
            np.fill_diagonal(logs, -np.inf)
        top = np.max([logs.max(axis=1) for logs in parts], axis=0)
        if np.isneginf(top).any():
            return -np.inf
        sums = np.log(sum(exponentials(logs - top[:, None]).sum(axis=1) for logs in parts)) + top
        mean = float(weights @ (sums - log_rest)) / float(weights.sum())
        return mean - scaled.log_normalizer(d)

    return score
