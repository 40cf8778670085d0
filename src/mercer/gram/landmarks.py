"""Nyström features of landmarks, which are chosen by randomly pivoted Cholesky.

Pivots are drawn with probability proportional to the diagonal of the residual, which gives a
low-rank approximation close to the best one (Chen, Epperly, Tropp, Webber 2022). Blocks are drawn
at once and thinned by rejection, which leaves the distribution of the sequential method unchanged
while almost all work is matrix products (Epperly, Tropp, Webber 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from mercer.data.points import Points
from mercer.errors import RankError
from mercer.gram.expansion import THREADS_FROM, cross_gram, cross_product
from mercer.gram.features import ExplicitGram, FactoredGram, FeatureMap
from mercer.kernels import Kernel
from mercer.utils.pairwise import finite_product, row_ranges
from mercer.utils.resources import run_each_in_threads
from mercer.utils.types import Array
from mercer.utils.weights import Moments

__all__ = [
    "LandmarkFeatures",
    "NystromGram",
    "choose_landmarks",
    "landmark_bytes",
]

_MIN_ROWS_PER_LANDMARK = 4


def landmark_bytes(n: int, count: int, itemsize: int) -> int:
    """Return the minimal memory in bytes: the factor of the smallest subsample, small matrices."""
    rows = min(n, _MIN_ROWS_PER_LANDMARK * count)
    # eight m × m matrices: factor, moments, and the decomposition of the small problem
    return count * rows * itemsize + 8 * 8 * count**2


def choose_landmarks(
    kernel: Kernel,
    points: Points,
    weights: Array | None,
    count: int,
    *,
    tolerance: float,
    random_state: int | None,
    memory: int,
) -> LandmarkFeatures:
    """Choose at most ``count`` landmarks among the points.

    Pivots are chosen among at most 20 rows per landmark, or fewer if the ``memory`` for the factor
    is limited. If there are more rows, a subsample is used: more rows cost time and change little.
    Rows are drawn with probability proportional to the weighted diagonal, until the unexplained
    fraction of the trace falls below the tolerance.
    """
    rng = np.random.default_rng(random_state)
    max_rows = min(memory // (points.dtype.itemsize * count), 20 * count)
    max_rows = max(max_rows, _MIN_ROWS_PER_LANDMARK * count)
    tolerance = max(tolerance, 10 * float(np.finfo(points.dtype).eps))
    rows: Array | slice = slice(None)
    if max_rows < points.n:
        rows = np.sort(rng.choice(points.n, size=max_rows, replace=False))
    weights = None if weights is None else points.passes.take(weights, rows)
    points = points.take(rows)
    importance = np.ones(points.n) if weights is None else weights
    diagonal = kernel.diagonal(points.data).astype(np.float64)
    residual = diagonal.copy()
    trace = float(importance @ diagonal)
    F = np.empty((min(count, points.n), points.n), points.dtype)  # the factor, transposed
    # rounding error of residuals
    rounding = 10 * float(np.finfo(F.dtype).eps) * np.sqrt(len(F)) * diagonal
    chosen: list[int] = []
    while len(chosen) < len(F):
        probabilities = np.maximum(importance * residual, 0)
        if probabilities.sum() <= tolerance * trace:
            break
        block = min(128, len(F) - len(chosen))
        proposals = rng.choice(points.n, size=block, p=probabilities / probabilities.sum())
        k = len(chosen)
        inner = kernel(points.take(proposals).data).astype(np.float64)
        inner -= F[:k, proposals].T @ F[:k, proposals]
        accepted, lower = _thin(inner, residual[proposals], rounding[proposals], rng)
        if len(accepted) == 0:  # only if the residual is rounding error
            break
        pivots = proposals[accepted]
        _extend(F, k, kernel, points, pivots, lower, residual)
        chosen.extend(pivots.tolist())
        residual[pivots] = 0
        np.maximum(residual, 0, out=residual)
    if not chosen:
        raise RankError(
            f"k(x, x) is zero for all {points.n} points, so there are no landmarks and no "
            "components. Check the kernel and the units of the data.",
            0,
        )
    landmarks = points.take(np.array(chosen))
    # the columns of the landmarks are the Cholesky factor of k(S, S)
    return LandmarkFeatures(kernel, landmarks, np.tril(F[: len(chosen), chosen].T))


def _extend(
    F: Array, k: int, kernel: Kernel, points: Points, pivots: Array, lower: Array, residual: Array
) -> None:
    """Append the rows of some pivots to the k rows of F and update the residual, in threads."""
    tiles = kernel.tiles(points.take(pivots).data, points.data)
    left = np.ascontiguousarray(F[:k, pivots].T)
    # the inverse of the small well-conditioned factor allows one fast product
    inverse = np.linalg.inv(lower).astype(F.dtype)

    def work(columns: slice) -> None:
        part = tiles(slice(0, len(pivots)), columns, None)
        part -= finite_product(left, F[:k, columns])
        new = np.matmul(inverse, part, out=F[k : k + len(pivots), columns])
        residual[columns] -= np.einsum("ij,ij->j", new, new)

    parallel = kernel.compares != "objects" and len(pivots) * points.n >= THREADS_FROM
    run_each_in_threads(row_ranges(points.n, 1024), work, parallel)


def _thin(
    inner: Array, proposed: Array, rounding: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Accept each proposal with probability (current residual) / (proposed residual), in turn.

    Residuals that are rounding error are rejected: the factor would be divided by their roots.
    Returns the accepted indices and the Cholesky factor of their block of ``inner``.
    """
    inner = inner.copy()
    accepted: list[int] = []
    factor = np.zeros_like(inner)
    smallest = np.maximum(1e-10 * proposed, rounding)
    for i in range(len(inner)):
        current = inner[i, i]
        if current <= smallest[i] or rng.uniform() * proposed[i] >= current:
            continue
        column = inner[:, i] / np.sqrt(current)
        inner -= np.outer(column, column)
        factor[:, len(accepted)] = column
        accepted.append(i)
    indices = np.array(accepted, dtype=int)
    return indices, factor[indices, : len(indices)]


@dataclass(frozen=True)
class LandmarkFeatures(FeatureMap):
    """Nyström features ``φ(x) = L⁻¹ k(S, x)`` of landmarks S, with ``L L' = k(S, S)``.

    The approximation is exact if one of the two points is a landmark.
    """

    kernel: Kernel
    landmarks: Points
    factor: Array

    def __call__(self, chunk: Any) -> Array:
        """Return the features by a triangular solve."""
        values = self._values(chunk)
        factor = self.factor.astype(values.dtype, copy=False)
        return solve_triangular(
            factor, values.T, lower=True, overwrite_b=True, check_finite=False
        ).T

    def _values(self, chunk: Any) -> Array:
        return cross_gram(self.kernel, Points(chunk, self.landmarks.kind), self.landmarks)

    @property
    def _is_well_conditioned(self) -> bool:
        pivots = np.abs(self.factor.diagonal())
        # The condition number of k(S, S) is then at most about 1e6, and summing kernel values
        # instead of features loses at most six of sixteen digits.
        return bool(self.factor.dtype == np.float64 and pivots.min() > 1e-3 * pivots.max())

    def raw(self, chunk: Any) -> Array:
        """Return kernel values with the landmarks, so that all points need one triangular solve.

        This squares the condition number of k(S, S). If that is too large, return the features.
        """
        return self._values(chunk) if self._is_well_conditioned else self(chunk)

    def finished(self, values: Moments) -> Moments:
        """Apply the triangular solves on both sides."""
        if not self._is_well_conditioned:
            return values
        half = solve_triangular(self.factor, values.scatter, lower=True)
        return Moments(
            values.total,
            solve_triangular(self.factor, values.mean, lower=True),
            solve_triangular(self.factor, half.T, lower=True),
        )

    def rounding(self, moments: Moments) -> float:
        """Return an estimate of the rounding error in the trace of the scatter about 0.

        Sums S of kernel values have a relative error of eps per entry, and the trace is
        ``tr (LL')⁻¹ S``. If the features are summed instead, the error is negligible.
        """
        if not self._is_well_conditioned:
            return 0.0
        sums = self.factor @ moments.about_zero @ self.factor.T
        inverse, _ = dpotri(self.factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        return float(np.finfo(np.float64).eps * np.linalg.norm(inverse * sums))

    def weighted_sums(self, points: Points, weights: Array) -> Array:
        """Return sums of features, with the triangular solve applied to the few sums."""
        sums = cross_product(self.kernel, self.landmarks, points, weights.T)
        return solve_triangular(self.factor, sums, lower=True).T

    def project(self, points: Points, directions: Array) -> Array:
        """Return the projections, with the triangular solve applied to the few directions."""
        coefficients = solve_triangular(self.factor.T, directions, lower=False)
        return cross_product(self.kernel, points, self.landmarks, coefficients)


class NystromGram(ExplicitGram):
    """Gram operator of Nyström features: a lower approximation of K with a computable error.

    ``K - ΦΦ*`` is positive semi-definite, so its norm is at most its trace (``error_bound``).
    """

    features: LandmarkFeatures

    @cached_property
    def exact_trace(self) -> float:
        """``tr W^½ K W^½`` of the exact kernel."""
        return float(self.points.sum_rows(partial(_trace, self.kernel), self.weights))

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments and the traces."""
        assert isinstance(earlier, NystromGram)
        self.exact_trace += earlier.exact_trace
        super().absorb(earlier)

    def centered(self) -> Self:
        """Return the operator with the mean feature removed; moments and trace are shared."""
        other = super().centered()
        other.exact_trace = self.exact_trace
        return other

    @property
    def missing_fraction(self) -> float:
        """Fraction of the uncentered trace that the landmarks miss."""
        return self.error_bound / self.exact_trace

    @cached_property
    def trace(self) -> float:
        """The exact trace, minus n times the squared norm of the mean feature if centered."""
        mean = self.moments.mean
        return self.exact_trace - (self.total * float(mean @ mean) if self.center else 0.0)

    @cached_property
    def error_bound(self) -> float:
        """Trace of ``K - ΦΦ*``, which bounds the error of every eigenvalue, plus rounding error."""
        missing = max(self.exact_trace - float(self.moments.about_zero.trace()), 0.0)
        return missing + self.features.rounding(self.moments)

    @property
    def description(self) -> str:
        """Number of landmarks."""
        return f"{self.features.landmarks.n} landmarks{', centered' if self.center else ''}"


def _trace(kernel: Kernel, points: Points, weights: Array | None) -> float:
    diagonal = kernel.diagonal(points.data).astype(np.float64)
    return float(diagonal.sum() if weights is None else diagonal @ weights)
