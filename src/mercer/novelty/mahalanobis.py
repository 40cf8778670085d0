r"""Mahalanobis distance with a shrunk covariance matrix, and its leave-one-out values.

.. math:: q(x) = (x - \mu)' C^{-1} (x - \mu), \quad C = (1 - s) S / W + a I

S is the scatter of rows of total weight W, s the shrinkage of Ledoit and Wolf (2004), and a the
fraction s of the mean variance. Without one unit of row i the mean is :math:`\mu - (x_i - \mu) /
(W - 1)` and the scatter :math:`S - W / (W - 1) (x_i - \mu)(x_i - \mu)'`, so by Sherman and Morrison

.. math:: q_{-i}(x_i) = \frac{W}{W - 1} \frac{q(x_i)}{1 - (1 - s) q(x_i) / (W - 1)},

if q on the right is computed with :math:`a (W - 1) / W` for a. The shrinkage s is that of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer.data.points import Points, Sample
from mercer.utils.pairwise import check_column_ranges, row_ranges
from mercer.utils.types import Array

__all__ = [
    "Mahalanobis",
    "ShrunkGaussian",
    "column_scales",
    "leave_one_out_distances",
    "leave_one_out_scale_ratios",
]


@dataclass
class Mahalanobis:
    """Squared Mahalanobis distance with a shrunk covariance matrix of standardized columns."""

    scales: Array
    model: ShrunkGaussian

    @classmethod
    def fit(cls, sample: Sample, regular: Array | None = None) -> tuple[Self, Array]:
        """Fit mean and covariance to the regular rows of a sample of vectors."""
        X = sample.points.data.astype(np.float64)
        weights = sample.multiplicities
        kept = np.ones(len(X), dtype=bool) if regular is None else regular
        scales = column_scales(X, weights)
        model = ShrunkGaussian.of(X[kept] / scales, weights[kept])
        own = model.distances(X / scales)
        ratios = leave_one_out_scale_ratios(X, weights, scales)
        own[kept] = model.leave_one_out(X[kept] / scales, ratios[kept])
        return cls(scales, model), own

    def __call__(self, points: Points) -> Array:
        """Return the squared distance of every row."""
        found = np.empty(points.n)
        for rows in row_ranges(points.n, 2**20 // len(self.scales)):
            X = points.data[rows].astype(np.float64)
            found[rows] = self.model.distances(X / self.scales)
        return found


def column_scales(X: Array, weights: Array) -> Array:
    """Return the standard deviations of the columns; 1 for constant columns."""
    check_column_ranges(X)
    total = weights.sum()
    mean = weights @ X / total
    scales = np.sqrt(weights @ (X - mean) ** 2 / total)
    rounding = 10 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0)
    return np.asarray(np.where(scales > rounding, scales, 1.0))


def leave_one_out_scale_ratios(X: Array, weights: Array, scales: Array) -> Array:
    """Return ``(s_j / s_j')²`` for every row, with the scales s' without one unit of the row."""
    total = float(weights.sum())
    mean = weights @ X / total
    if total <= 2:
        return np.ones_like(X)
    squares = (X - mean) ** 2 / scales**2
    # variance without the row, in units of the variance of all rows
    variances = total / (total - 1) - squares * total / (total - 1) ** 2
    # up to rounding error; such columns have the scale 1
    constant = variances <= 1e-9 * total / (total - 1)
    return np.asarray(np.where(constant, scales**2, 1 / np.where(constant, 1.0, variances)))


@dataclass(frozen=True)
class ShrunkGaussian:
    """Mean and shrunk covariance of weighted rows, in the basis of their principal axes."""

    mean: Array
    axes: Array  # of shape (d, r)
    variances: Array  # of the axes, shrunk
    floor: float  # variance in all other directions
    shrinkage: float
    total: float

    @classmethod
    def of(cls, X: Array, weights: Array) -> Self:
        """Fit to rows with multiplicities; columns should have comparable scales."""
        total = float(weights.sum())
        mean = weights @ X / total
        centered = (X - mean) * np.sqrt(weights / total)[:, None]
        n, d = X.shape
        if n < d:
            values, vectors = np.linalg.eigh(centered @ centered.T)
            values, vectors = values[::-1], vectors[:, ::-1]
            used = values > n * np.finfo(float).eps * max(values[0], 0)
            axes = centered.T @ vectors[:, used] / np.sqrt(values[used])
        else:
            values, axes = np.linalg.eigh(centered.T @ centered)
            used = np.ones(d, dtype=bool)
        values = np.maximum(values[used], 0)
        mean_variance = float(values.sum() / d) or 1.0
        squares = float(values @ values)
        amount = shrinkage(X - mean, weights, float(values.sum()), squares)
        amount = max(amount, 1e-6)
        floor = amount * mean_variance
        return cls(mean, axes, (1 - amount) * values + floor, floor, amount, total)

    def distances(self, X: Array) -> Array:
        """Return the squared distances of rows from the mean."""
        centered = X - self.mean
        Z = centered @ self.axes
        inside = (Z**2) @ (1 / self.variances)
        if self.axes.shape[1] == len(self.mean):
            return np.asarray(inside)
        outside = np.einsum("ij,ij->i", centered, centered) - np.einsum("ij,ij->i", Z, Z)
        return np.asarray(inside + np.maximum(outside, 0) / self.floor)

    def leave_one_out(self, X: Array, ratios: Array) -> Array:
        """Return the squared distances of the rows of the fit, each from a fit without it.

        ``X``: rows of the fit, divided by the standard deviations s of the columns. ``ratios``:
        ``(s / s')²`` with the deviations s' without each row. Since the rows are divided by s, the
        multiple of the identity in C is then that of ``(s' / s)²``. The change of q is computed to
        first order.
        """
        smaller = self._with_reduced_floor()
        distances = smaller.distances(X)
        found = leave_one_out_distances(distances, self.total, 1 - self.shrinkage)
        # C'⁻¹(x - μ') of the fit without the row is a multiple of C⁻¹(x - μ)
        solved = smaller._solve(X - self.mean)
        solved *= (found / np.maximum(distances, np.finfo(float).tiny))[:, None]
        change = self.floor * (solved**2 * (1 / ratios - 1)).sum(axis=1)
        # 1 / (1 + …) has the first-order change and remains positive
        return np.asarray(found / (1 + change / np.maximum(found, np.finfo(float).tiny)))

    def _with_reduced_floor(self) -> Self:
        """Return the model with ``a (W - 1) / W`` for a, as the leave-one-out formula requires."""
        part = self.floor / self.total
        return replace(self, floor=self.floor - part, variances=self.variances - part)

    def _solve(self, centered: Array) -> Array:
        """Return C⁻¹ times each row."""
        Z = centered @ self.axes
        inside = (Z * (1 / self.variances)) @ self.axes.T
        if self.axes.shape[1] == len(self.mean):
            return np.asarray(inside)
        return np.asarray(inside + (centered - Z @ self.axes.T) / self.floor)


def leave_one_out_distances(distances: Array, total: float, factor: float = 1.0) -> Array:
    """Return the squared distances of rows from a fit without one unit of each.

    ``distances``: of rows that the fit includes, with ``a (W - 1) / W`` for a. ``total``: total
    weight W of the fit. ``factor``: 1 - s: the coefficient of the sample covariance in C.
    """
    if total <= 1:
        return distances
    # rounding errors must not make 1 - leverage zero or negative
    remaining = np.maximum(1 - factor * distances / (total - 1), 1e-9)
    return np.asarray(total / (total - 1) * distances / remaining)


def shrinkage(centered: Array, weights: Array, trace: float, squares: float) -> float:
    """Return the shrinkage δ of Ledoit and Wolf, for rows with multiplicities.

    ``centered``: shape (n, d). ``trace``, ``squares``: of the covariance C: its trace and the sum
    of its squared entries.
    """
    d, total = centered.shape[1], float(weights.sum())
    distance = squares / d - (trace / d) ** 2  # ‖C - (tr C / d) I‖² per column
    if not distance > 0:
        return 1.0
    norms = np.einsum("ij,ij->i", centered, centered)
    error = (float(weights @ norms**2) / total - squares) / (d * total)
    return min(max(error, 0.0) / distance, 1.0)
