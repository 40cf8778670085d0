"""Bandwidth rules, with the definitions that reproduce the papers.

Every rule takes points and optional weights, where a weight of two is two copies, and returns one
number. Distances are taken among at most 2000 rows, chosen by their values and not by their
places, so a rule never costs O(n²) and does not depend on the order of rows.

========================= =================================================================
"auto"                    d ≤ 3: "silverman"; d > 3: "median-distance" / √2
"silverman"               ``s (4 / ((2d + 1) n))^(1/(d+4))``, s² the mean marginal variance
"scott"                   ``s n^(-1/(d+4))``
"median-distance"         median over rows of the median distance to all rows, itself included
"distance-fraction"       0.15 of the "median-distance" (Jenssen takes 0.10 to 0.20)
"spectroscopy"            such that 95 % of the points have 5 % of all within the kernel's reach
"leave-one-out"           where each point is most likely under the density of the others
========================= =================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

from mercer.data import PointSet, validate_points, validate_weights
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.maths.distances import euclidean_distances
from mercer.maths.quantiles import (
    distinct_rows,
    evenly_spaced,
    weighted_median,
    weighted_quantile,
)
from mercer.maths.types import Array

__all__ = [
    "distance_fraction",
    "leave_one_out",
    "median_distance",
    "representatives",
    "resolve",
    "scott",
    "silverman",
    "spectroscopy",
]

_SAMPLE = 2000
_BLOCK = 256
_UNEQUAL_SCALES = 100.0
_TRIALS = 25  # bandwidths tried before the best of them is refined


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
    sample = _admitted(X, sample_weight)
    n, d = sample.total, sample.dimension
    return float(sample.spread() * (4 / ((2 * d + 1) * n)) ** (1 / (d + 4)))


def scott(X: Any, sample_weight: Any = None) -> float:
    """Scott's rule, ``s n^(-1/(d+4))``, with s as in :func:`silverman`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import scott
    >>> round(scott(np.arange(10.0).reshape(-1, 1)), 4)
    1.8123
    """
    sample = _admitted(X, sample_weight)
    return float(sample.spread() * sample.total ** (-1 / (sample.dimension + 4)))


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
    X, weights = _admitted(X, sample_weight).representatives()
    medians = [
        weighted_median(euclidean_distances(X[i : i + _BLOCK], X), weights)
        for i in range(0, len(X), _BLOCK)
    ]
    median = float(weighted_median(np.concatenate(medians), weights))
    if median == 0:
        # more than half of the rows coincide: fall back on the mean distance of those that do not
        median = _mean_distance(X, weights)
    return median


def distance_fraction(X: Any, sample_weight: Any = None, *, fraction: float = 0.15) -> float:
    """A fraction of :func:`median_distance`; Jenssen 2010 clusters with 10 to 20 per cent.

    In many dimensions so small a bandwidth makes K almost the identity: it is a range to sweep
    rather than a value to trust.

    Examples
    --------
    >>> from mercer.bandwidth import distance_fraction
    >>> distance_fraction([[0.0], [1.0], [2.0], [3.0], [10.0]], fraction=0.5)
    1.0
    """
    if not fraction > 0:
        raise ValueError(f"fraction={fraction!r} must be above 0; Jenssen 2010 uses 0.10 to 0.20.")
    return fraction * median_distance(X, sample_weight)


def spectroscopy(X: Any, sample_weight: Any = None) -> float:
    r"""The bandwidth of data spectroscopy (Shi, Belkin and Yu 2009).

    :math:`q / \sqrt{\chi^2_{0.95, d}}` with q the 95 % quantile, over rows, of the 5 % quantile of
    a row's distances to all rows, itself included: 95 % of the points then have 5 % of all points
    within the radius that holds 95 % of the mass of a Gaussian window.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import spectroscopy
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(spectroscopy(X), 3), round(spectroscopy(10 * X), 2)
    (0.482, 4.82)
    """
    X, weights = _admitted(X, sample_weight).representatives()
    near = [
        weighted_quantile(euclidean_distances(X[i : i + _BLOCK], X), weights, 0.05)
        for i in range(0, len(X), _BLOCK)
    ]
    reach = float(weighted_quantile(np.concatenate(near), weights, 0.95))
    if reach == 0:
        # most rows have more than 5 % copies: the distances of those that have not
        reach = _mean_distance(X, weights) * 0.05
    return reach / sqrt(chi2.ppf(0.95, X.shape[1]))


def leave_one_out(X: Any, sample_weight: Any = None, *, kernel: Stationary | None = None) -> float:
    r"""The bandwidth at which each point is most likely under the density of the others.

    .. math:: \max_h \sum_i w_i \log \frac{1}{n - w_i} \sum_{j: x_j \ne x_i} w_j k_h(x_i, x_j)

    with the normalised window :math:`k_h`. Copies of a point are left out together with it:
    otherwise rounded data would be most likely at bandwidth 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
    sample_weight : array-like of shape (n,) or None
    kernel : Stationary or None
        The window, whose own bandwidth is not used; None for the Gaussian.

    Notes
    -----
    Exact for up to 2000 distinct rows. Of more rows 2000 are taken, evenly spaced in lexicographic
    order, and the result is brought to the size of the sample by the factor
    :math:`(2000/n)^{1/(d+4)}`, the rate at which the best bandwidth falls.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> round(leave_one_out(X), 2)  # the best for a normal law is about 1.06 n^(-1/5) = 0.31
    0.3
    """
    sample = _admitted(X, sample_weight)
    window = Gaussian() if kernel is None else kernel
    d = sample.dimension
    rows, counts = sample.representatives()
    shrink = float(counts.sum() / sample.total) ** (1 / (d + 4))

    def cost(log_width: float) -> float:
        return -_left_out_likelihood(window.with_bandwidth(float(np.exp(log_width))), rows, counts)

    gaps = np.sort(_nearest_distances(rows))
    low = log(max(0.1 * float(np.median(gaps)), 1e-3 * float(gaps[-1])))
    high = log(2 * max(_spread(rows, counts) * sqrt(d), float(gaps[-1])))
    trials = np.linspace(low, high, _TRIALS)
    costs = [cost(trial) for trial in trials]
    best = int(np.argmin(costs))
    around = trials[max(best - 1, 0)], trials[min(best + 1, _TRIALS - 1)]
    refined = minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-4})
    return shrink * float(np.exp(refined.x))


def _left_out_likelihood(kernel: Stationary, X: Array, weights: Array) -> float:
    """Mean log density of distinct points under the others; -inf if one has no other in reach."""
    tiles = kernel.log_tiles(X, X.copy())  # a copy, so that no pair counts as one point twice
    log_weights, total = np.log(weights), 0.0
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, min(first + _BLOCK, len(X)))
        logs = tiles(rows, slice(0, len(X)), None)
        logs += log_weights
        logs[np.arange(len(logs)), np.arange(rows.start, rows.stop)] = -np.inf
        top = logs.max(axis=1)
        if np.isneginf(top).any():
            return -np.inf
        sums = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top
        total += float(weights[rows] @ (sums - np.log(weights.sum() - weights[rows])))
    return total / float(weights.sum()) - kernel.log_normalizer(X.shape[1])


def _nearest_distances(X: Array) -> Array:
    """Distance of each distinct row to the nearest other."""
    nearest = np.empty(len(X))
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, min(first + _BLOCK, len(X)))
        distances = euclidean_distances(X[rows], X)
        distances[np.arange(len(distances)), np.arange(rows.start, rows.stop)] = np.inf
        nearest[rows] = distances.min(axis=1)
    return nearest


def _auto(X: Any, sample_weight: Any = None) -> float:
    if X.shape[1] <= 3:
        return silverman(X, sample_weight)
    return median_distance(X, sample_weight) / sqrt(2)


RULES: dict[str, Callable[..., float]] = {
    "auto": _auto,
    "silverman": silverman,
    "scott": scott,
    "median-distance": median_distance,
    "distance-fraction": distance_fraction,
    "spectroscopy": spectroscopy,
    "leave-one-out": leave_one_out,
}
# rules whose answer depends on the shape of the window
_OF_THE_WINDOW = (leave_one_out,)


def resolve(kernel: Kernel, X: Any, sample_weight: Any = None) -> Kernel:
    """Return the kernel settled on this sample.

    Every rule's name is replaced by the number it gives here, and kernels that see columns
    (:class:`~mercer.kernels.On`) learn what stands in for a missing cell.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import resolve
    >>> from mercer.kernels import Gaussian
    >>> resolve(Gaussian("scott"), np.arange(10.0).reshape(-1, 1))
    Gaussian(bandwidth=1.81228...)
    """
    points: Any = validate_points(X, kernel.compares)

    def settle(leaf: Kernel, data: Any, weights: Array | None) -> Kernel:
        if not isinstance(leaf, Stationary) or not isinstance(leaf.bandwidth, str):
            return leaf
        rule = RULES.get(leaf.bandwidth)
        if rule is None:
            raise ValueError(
                f"bandwidth={leaf.bandwidth!r} is no rule; use a positive number, one per column, "
                f"or one of {', '.join(map(repr, RULES))}."
            )
        _warn_of_scales(data, weights)
        shape = {"kernel": leaf} if rule in _OF_THE_WINDOW else {}
        return leaf.with_bandwidth(rule(data, weights, **shape))

    # weights of points were validated together with them
    weights = sample_weight if points is X else validate_weights(sample_weight, points)
    if points.is_chunked:
        return kernel.fitted(points.with_weights(weights), None, settle)
    return kernel.fitted(points.data, weights, settle)


class _Sample(Protocol):
    """What rules ask of a sample."""

    @property
    def total(self) -> float:
        """Sum of the weights."""

    @property
    def dimension(self) -> int:
        """Number of columns."""

    def spread(self) -> float:
        """Root of the mean marginal variance."""

    def representatives(self) -> tuple[Array, Array]:
        """At most 2000 rows that stand for all, and their weights."""


@dataclass(frozen=True)
class _InMemory:
    X: Array
    weights: Array

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    @property
    def dimension(self) -> int:
        return self.X.shape[1]

    def spread(self) -> float:
        return _spread(self.X, self.weights)

    def representatives(self) -> tuple[Array, Array]:
        rows, weights = representatives(self.X, self.weights)
        return self.X[rows], weights


@dataclass(frozen=True)
class _InChunks:
    points: Any  # ChunkedPoints

    @property
    def total(self) -> float:
        return self.points.survey.total

    @property
    def dimension(self) -> int:
        return self.points.dimension

    def spread(self) -> float:
        return self.points.spread()

    def representatives(self) -> tuple[Array, Array]:
        return self.points.representatives(_SAMPLE)


def _admitted(X: Any, sample_weight: Any) -> _Sample:
    """Vectors in double precision with weights, without the rows that weigh nothing."""
    points: Any = validate_points(X, "vectors")
    if points.is_chunked:
        points = points.with_weights(sample_weight)
        low, high = points.bounds()
        if (low == high).all():
            raise _no_distance(points.n)
        return _InChunks(points)
    data = points.data.astype(np.float64, copy=False)
    weights = sample_weight if points is X else validate_weights(sample_weight, len(data))
    if weights is None:
        weights = np.ones(len(data))
    keep = weights > 0
    data, weights = (data, weights) if keep.all() else (data[keep], weights[keep])
    if len(data) == 1 or (data == data[0]).all():
        raise _no_distance(len(data))
    return _InMemory(data, weights)


def _no_distance(n: int) -> ValueError:
    rows = "1 sample" if n == 1 else f"all {n} rows equal"
    return ValueError(
        f"No bandwidth can be chosen from {rows}: every distance is 0. Give the kernel a "
        "number, such as Gaussian(bandwidth=1.0)."
    )


def _spread(X: Array, weights: Array) -> float:
    """Root of the mean marginal variance, safe from overflow."""
    share = weights / weights.sum()
    centred = X - share @ X
    scale = np.abs(centred).max()
    return float(scale * np.sqrt((share @ (centred / scale) ** 2).mean()))


def representatives(X: Array, weights: Array, most: int = _SAMPLE) -> tuple[Array, Array]:
    """Numbers and weights of at most ``most`` rows that stand for all.

    The distinct rows, or evenly spaced ones in lexicographic order by weight. Equal rows are merged
    first, so that it does not matter whether they came as copies or weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bandwidth import representatives
    >>> X = np.array([[3.0], [1.0], [2.0], [1.0]])
    >>> rows, weights = representatives(X, np.ones(4))
    >>> X[rows, 0].tolist(), weights.tolist()
    ([1.0, 2.0, 3.0], [2.0, 1.0, 1.0])
    """
    rows, weights = distinct_rows(X, weights)
    if len(rows) <= most:
        return rows, weights
    return rows[evenly_spaced(weights, most)], np.ones(most)


def _mean_distance(X: Array, weights: Array) -> float:
    total = mass = 0.0
    for i in range(0, len(X), _BLOCK):
        distances = euclidean_distances(X[i : i + _BLOCK], X)
        pairs = weights[i : i + _BLOCK, None] * weights
        total += float((distances * pairs).sum())
        mass += float(pairs[distances > 0].sum())
    return total / mass


def _warn_of_scales(X: Any, sample_weight: Any) -> None:
    if isinstance(X, PointSet):
        deviation: Array = X.survey.deviation  # type: ignore[attr-defined]
        return _warn_of_spreads(deviation[deviation > 0])
    X = X if sample_weight is None else X[sample_weight > 0]
    X = X[:: max(1, len(X) // 10_000)]  # a warning needs no more
    extent = np.ptp(X, axis=0)
    varies = (extent > 0) & np.isfinite(extent)
    _warn_of_spreads((X[:, varies] / extent[varies]).std(axis=0, dtype=np.float64) * extent[varies])


def _warn_of_spreads(spread: Array) -> None:
    if len(spread) > 1 and spread.max() > _UNEQUAL_SCALES * spread.min():
        warn(
            f"The columns' standard deviations differ {spread.max() / spread.min():.3g}-fold: one "
            "bandwidth for all of them sees only the widest. Standardise the columns (for example "
            "with sklearn.preprocessing.StandardScaler) or give one bandwidth per column.",
            ApproximationWarning,
        )
