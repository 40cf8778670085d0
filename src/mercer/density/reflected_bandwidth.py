"""The bandwidth of a density that is reflected at the bounds of its support."""

from __future__ import annotations

from math import log

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.bandwidth.adaptive_density import sample_coordinates
from mercer.data.subsampling import select_representatives
from mercer.density.bounds import Bounds
from mercer.kernels import Gaussian, Kernel, Stationary
from mercer.kernels.densities import block_rows, reach
from mercer.kernels.stationary import sample_metric
from mercer.utils.pairwise import nearest_distances
from mercer.utils.types import Array
from mercer.utils.weight_totals import multiplicities

__all__ = ["REFLECTED_RULES", "fit_reflected"]

#: Rules that choose the bandwidth of the reflected density; the others do not depend on the bounds.
REFLECTED_RULES = ("auto", "leave-one-out")

_MAX_ROWS = 1000
_N_TRIALS = 20  # bandwidths tried before the best of them is refined


def fit_reflected(kernel: Kernel, X: Array, weights: Array | None, bounds: Bounds) -> Kernel:
    """Return the kernel with the bandwidth that maximizes the leave-one-out likelihood.

    The left-out point and its reflections do not contribute to its own density. Of more than 1000
    distinct rows 1000 are used, evenly spaced in lexicographic order, and the result is
    extrapolated by the rate :math:`n^{-1/(d+4)}`. Kernels without one of the rules are unchanged.

    "leave-one-out" chooses one bandwidth; "auto" one per column, in proportion to their standard
    deviations, unless the kernel has a metric.
    """
    if not isinstance(kernel, Stationary) or not any(map(kernel.has_rule, REFLECTED_RULES)):
        return kernel
    scaled = kernel.has_rule("auto") and X.shape[1] > 1
    if isinstance(kernel, Gaussian) and isinstance(kernel.metric, str):
        kernel = kernel.with_metric(sample_metric(kernel.metric, X, weights))
    counts = np.ones(len(X)) if weights is None else multiplicities(weights)
    rows, masses, size_ratio = select_representatives(X, counts, _MAX_ROWS, grouped=True)
    unit: float | Array = 1.0
    if scaled and not (isinstance(kernel, Gaussian) and kernel.metric is not None):
        unit = sample_coordinates(X[rows], masses)[0].factor.diagonal()
    found = _most_likely(kernel, X[rows], masses, bounds, unit)
    return kernel.with_bandwidth(size_ratio ** (1 / (X.shape[1] + 4)) * found * unit)


def _most_likely(
    kernel: Stationary, X: Array, weights: Array, bounds: Bounds, unit: float | Array
) -> float:
    if len(X) == 1:
        raise ValueError(
            "No bandwidth can be chosen from equal rows: every distance is 0. Pass a number, such "
            "as Gaussian(bandwidth=1.0)."
        )
    units = kernel.with_bandwidth(unit).to_units(X)
    nearest = np.sort(nearest_distances(units))
    spread = float(np.linalg.norm(units.std(axis=0)))
    low = log(max(0.1 * float(np.median(nearest)), 1e-3 * float(nearest[-1])))
    high = log(2 * max(spread, float(nearest[-1])))

    def cost(log_bandwidth: float) -> float:
        candidate = kernel.with_bandwidth(float(np.exp(log_bandwidth)) * unit)
        return -_likelihood(candidate, X, weights, bounds)

    trials = np.linspace(low, high, _N_TRIALS)
    best = int(np.argmin([cost(trial) for trial in trials]))
    around = trials[max(best - 1, 0)], trials[min(best + 1, _N_TRIALS - 1)]
    refined = minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(refined.x))


def _likelihood(kernel: Stationary, X: Array, weights: Array, bounds: Bounds) -> float:
    """Mean log density of distinct points given the others."""
    d = X.shape[1]
    images = bounds.images(reach(kernel, d))
    log_weights, total = np.log(weights), 0.0
    tiles = [kernel.log_tiles(image(X), X) for image in images]
    for rows in block_rows(len(X), len(X)):
        rows = slice(rows.start, min(rows.stop, len(X)))
        logs = np.logaddexp.reduce([tile(rows, slice(0, len(X)), None) for tile in tiles])
        logs += log_weights
        logs[np.arange(len(logs)), np.arange(rows.start, rows.stop)] = -np.inf
        with np.errstate(divide="ignore"):
            sums = np.logaddexp.reduce(logs, axis=1)
        if np.isneginf(sums).any():
            return -np.inf
        total += float(weights[rows] @ (sums - np.log(weights.sum() - weights[rows])))
    return total / float(weights.sum()) - kernel.log_normalizer(d)
