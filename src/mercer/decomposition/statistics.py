"""Distances in feature space, their control limits, and contributions of columns.

Notation: z the projections of a point on k components with eigenvalues λ_i, n the sample size.
Hotelling's ``T² = Σ z_i² / (λ_i/n)`` is the standardized squared distance within the components,
SPE ``k(x, x) - |z|²`` (squared prediction error) the squared distance from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import fdtri, gammaincinv

from mercer.data.points import Points, Sample
from mercer.eigen.decompose import Spectrum
from mercer.errors import RankError
from mercer.kernels import Kernel, On, Product, Scaled, Stationary
from mercer.utils.frames import is_frame
from mercer.utils.pairwise import row_ranges
from mercer.utils.quantiles import conformal_level, weighted_median
from mercer.utils.row_passes import IN_MEMORY
from mercer.utils.types import Array

__all__ = [
    "FeatureDistance",
    "Statistics",
    "contributions_of_columns",
    "control_limits",
    "decays",
    "held_out_statistics",
    "typical_row",
]


#: T², SPE and multiplicities of rows
Statistics = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class FeatureDistance:
    """Squared distance in feature space, ``Σ w_i z_i² + w₀ (k(x, x) - |z|²)``."""

    spectrum: Spectrum
    inside: Array  # weights w_i of the components, shape (k,)
    outside: float  # weight w₀ of the squared distance from the components

    @classmethod
    def spe(cls, spectrum: Spectrum) -> Self:
        """Return the squared prediction error."""
        return cls(spectrum, np.zeros(spectrum.n_components), 1.0)

    @classmethod
    def hotelling(cls, spectrum: Spectrum) -> Self:
        """Return Hotelling's T²."""
        return cls(spectrum, 1 / spectrum.operator_eigenvalues, 0.0)

    @classmethod
    def combined(cls, spectrum: Spectrum) -> Self:
        """Return SPE + T², each divided by its mean over the training points."""
        residual = spectrum.trace - float(spectrum.eigenvalues.sum())
        residual = max(residual, np.finfo(float).eps * spectrum.trace) / spectrum.total_weight
        inside = 1 / (spectrum.operator_eigenvalues * spectrum.n_components)
        return cls(spectrum, inside, 1 / residual)

    @classmethod
    def mahalanobis(cls, spectrum: Spectrum, ridge: float) -> Self:
        """Return the Mahalanobis distance with the covariance ``C + ridge · I``."""
        return cls(spectrum, 1 / (spectrum.operator_eigenvalues + ridge), 1 / ridge)

    def __call__(self, points: Points) -> Array:
        """Return the squared distance of every point."""
        found = np.empty(points.n)
        for rows in row_ranges(points.n, 2**20 // max(1, self.spectrum.n_components)):
            some = points.take(rows)
            squares = self.spectrum.project(some).astype(np.float64) ** 2
            found[rows] = squares @ self.inside
            if self.outside > 0:
                residuals = self.spectrum.squared_norms(some) - squares.sum(axis=1)
                found[rows] += self.outside * np.maximum(residuals, 0)
        return found


def decays(kernel: Kernel) -> bool:
    """Return whether the kernel approaches 0 for distant rows."""
    if isinstance(kernel, Product):
        return any(map(decays, kernel.inner_kernels().values()))
    if isinstance(kernel, On | Scaled):
        return all(map(decays, kernel.inner_kernels().values()))
    return isinstance(kernel, Stationary)


# --- control limits -----------------------------------------------------------------------------


def control_limits(
    spectrum: Spectrum, level: float, held_out: Statistics | None
) -> dict[str, dict[str, float]]:
    """Return the limits of :meth:`mercer.KernelPCA.control_limits`.

    Without held-out rows they are those of the training rows.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must lie in (0, 1), for example 0.99.")
    rows: Any = IN_MEMORY
    if held_out is not None:
        hotelling, spe, weights = held_out
    else:
        rows, weights = spectrum.points.passes, spectrum.multiplicities_of_rows
        z = spectrum.projections
        hotelling = rows.map(partial(_weighted_squares, 1 / spectrum.operator_eigenvalues), z)
        norms = spectrum.expansion.training_squared_norms()
        spe = rows.persist(rows.map(_residuals, norms, z))
    total, weighted = rows.sum(_weighted_sum, spe, weights)
    mean = weighted / total
    variance = rows.sum(partial(_squared_deviations, mean), spe, weights) / total
    # after partial_fit n is that of all batches; beyond 1e12 the limit no longer changes
    n, k = min(max(total, spectrum.total_weight), 1e12), spectrum.n_components
    f_limit = k * (n**2 - 1) / (n * (n - k)) * fdtri(k, n - k, level) if n > k else np.inf
    chi2_limit = mean
    if variance > 0:
        # g χ²_h with g = variance / (2 mean), h = 2 mean² / variance
        chi2_limit = variance / mean * gammaincinv(mean**2 / variance, level)
    position = level if held_out is None else conformal_level(level, total)
    return {
        "hotelling": {
            "quantile": rows.quantile(hotelling, weights, position),
            "f": float(f_limit),
        },
        "reconstruction_error": {
            "quantile": rows.quantile(spe, weights, position),
            "chi2": float(chi2_limit),
        },
    }


def held_out_statistics(
    spectrum: Spectrum, refit: Callable[[Sample], Spectrum]
) -> Statistics | None:
    """Return the statistics of training rows from fits to parts of the rows.

    None if a part has fewer components.

    ``spectrum``: of points in memory. ``refit``: returns the spectrum of a part of the rows, with
    the same number of components.
    """
    points = spectrum.points
    fold = _folds(_residuals(spectrum.expansion.training_squared_norms(), spectrum.projections))
    n = points.n
    # fits of more rows take longer and are less different
    count = 10 if n <= 1000 else 5 if n <= 3000 else 1
    parts = []
    for k in range(count):
        out = np.flatnonzero(fold % (10 if count == 1 else count) == k)
        if not 0 < len(out) < n:
            continue
        rest = np.setdiff1d(np.arange(n), out, assume_unique=True)
        weights = None if spectrum.weights is None else spectrum.weights[rest]
        try:
            part = refit(Sample(spectrum.kernel, points.take(rest), weights))
        except RankError:
            return None
        some = points.take(out)
        parts.append(
            (
                FeatureDistance.hotelling(part)(some),
                FeatureDistance.spe(part)(some),
                spectrum.multiplicities_of_rows[out],
            )
        )
    if not parts:
        return None
    hotelling, spe, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hotelling, spe, weights


def _folds(residuals: Array) -> Array:
    """Number groups of rows with equal residuals in increasing order.

    Equal rows are in the same group, so that a weight is equivalent to copies of a row.
    """
    order = np.argsort(residuals, kind="stable")
    # equal rows have residuals that differ by rounding error
    steps = np.diff(residuals[order]) > 1e-9 * np.abs(residuals).max(initial=0)
    group = np.empty(len(residuals), dtype=int)
    group[order] = np.concatenate([[0], np.cumsum(steps)])
    return group


def _weighted_squares(weights: Array, z: Array) -> Array:
    return np.asarray(z**2 @ weights)


def _residuals(norms: Array, z: Array) -> Array:
    return np.maximum(norms - np.einsum("ij,ij->i", z, z), 0)


def _weighted_sum(values: Array, weights: Array) -> tuple[float, float]:
    return float(weights.sum()), float(weights @ values)


def _squared_deviations(mean: float, values: Array, weights: Array) -> float:
    return float(weights @ (values - mean) ** 2)


# --- contributions of columns -------------------------------------------------------------------


def typical_row(points: Points, weights: Array) -> Any:
    """Return the median, or the most frequent value, of every column; None without columns."""
    data = points.data
    if points.is_sparse:
        return None
    if points.kind == "vectors":
        return weighted_median(data.T.astype(np.float64), weights)
    if not is_frame(data):
        return None
    return [_typical_cell(data[name], weights) for name in data.columns]


def _typical_cell(column: Any, weights: Array) -> Any:
    present = column.notna().to_numpy()
    if not present.any():
        return None
    column, weights = column[present], weights[present]
    if column.dtype.kind in "iuf":
        return float(weighted_median(column.to_numpy(dtype=np.float64), weights))
    if column.dtype.kind in "mM":
        order = np.argsort(column.to_numpy(), kind="stable")
        reached = np.cumsum(weights[order]) >= weights.sum() / 2
        return column.iloc[order[int(np.argmax(reached))]]
    totals = type(column)(weights, index=column.index).groupby(column.astype(object)).sum()
    return totals.idxmax()


def contributions_of_columns(
    statistic: Callable[[Points], Array], points: Points, typical: Any
) -> Array:
    """Return the statistic minus its value with column j replaced, of shape (m, d).

    ``statistic``: maps points to one number per row. ``points``: vectors or a data frame.
    ``typical``: the typical value of every column.
    """
    original = statistic(points)
    result = np.empty((points.n, len(typical)))
    for j, value in enumerate(typical):
        result[:, j] = original - statistic(_with_column(points, j, value))
    return result


def _with_column(points: Points, j: int, value: Any) -> Points:
    """Return points with column j set to a value."""
    if points.kind == "vectors":
        changed = points.data.copy()
        changed[:, j] = value
        return Points(changed, "vectors", points.feature_names)
    frame = points.data.copy()
    column = frame.iloc[:, j]
    replaced = type(column)([value] * len(column), index=column.index, name=column.name)
    frame.isetitem(j, replaced if column.dtype.kind in "iu" else replaced.astype(column.dtype))
    return Points(frame, "objects", points.feature_names)
