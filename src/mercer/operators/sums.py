"""Sums ``f(x) = Σ_j c_j k(x, x_j)`` on the logarithmic scale, right in the deepest tails.

Where f is not small an ordinary sum is taken, by tiles or by plane waves. Where it is below what
those can tell (underflow, or the tolerance of the waves) it is summed anew from the logarithms of
the kernel: over all points, or over the near ones that make it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log

import numpy as np
from scipy.spatial import cKDTree

from mercer.config import thread_count
from mercer.kernels import Kernel, Matern, Stationary
from mercer.kernels.stationary import Gaussian
from mercer.maths.types import Array
from mercer.operators.expansion import Expansion
from mercer.operators.fourier import FourierExpansion
from mercer.operators.tiled import cross_product, log_cross_sums
from mercer.points import Points

__all__ = ["WindowSum"]

# Plane waves are right to their tolerance; this many times above it three digits are right.
_ABOVE_NOISE = 1e3
_NEGLIGIBLE = 1e-12  # share of a sum that far points may have
_PAIRS = 4_000_000  # of a point and its neighbour, at a time


@dataclass
class WindowSum:
    """``f(x) = Σ_j c_j k(x, x_j)``, the kernel as it is (not normalised).

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : Points
        The x_j.
    coefficients : array of shape (n,)
        The c_j, of any sign.
    waves : Expansion or None
        The same function as a sum of plane waves, where there is one; it is used where f is well
        above its tolerance.
    """

    kernel: Kernel
    points: Points
    coefficients: Array
    waves: Expansion | None = None

    @property
    def mass(self) -> float:
        """``Σ_j c_j``: the integral of f for a normalised kernel."""
        return float(self.coefficients.sum())

    def values(self, new: Points) -> Array:
        """The sum itself; 0 where it is below the tolerance of plane waves, or underflows."""
        if isinstance(self.waves, FourierExpansion):
            values = self.waves(new)[:, 0]
            return np.where(np.abs(values) < self._noise(self.waves), 0.0, values)
        return cross_product(self.kernel, new, self.points, self.coefficients[:, None])[:, 0]

    def signed_log(self, new: Points) -> tuple[Array, Array]:
        """Sign and ``log |f|`` at every point; sign 0 and -inf where f is exactly 0."""
        values = self.values(new)
        if isinstance(self.waves, FourierExpansion):
            low = values < _ABOVE_NOISE * self._noise(self.waves)
        else:
            precision = np.finfo(np.result_type(new.dtype, self.points.dtype))
            low = np.abs(values) < float(precision.tiny / precision.eps)
        with np.errstate(divide="ignore"):
            sign, logs = np.sign(values), np.log(np.abs(values))
        if low.any():
            sign[low], logs[low] = self._from_logarithms(new.take(np.flatnonzero(low)))
        return sign, logs

    def _noise(self, waves: FourierExpansion) -> float:
        return waves.grid.tolerance * float(np.abs(self.coefficients).sum())

    def _from_logarithms(self, new: Points) -> tuple[Array, Array]:
        if isinstance(self.waves, FourierExpansion):
            return self._near_sums(new)
        return log_cross_sums(self.kernel, new, self.points, self.coefficients)

    # --- over near points only ------------------------------------------------------------------

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._scaled(self.points))

    def _scaled(self, points: Points) -> Array:
        assert isinstance(self.kernel, Stationary)
        widths = self.kernel.bandwidth_vector(points.data.shape[1])
        return np.asarray(points.data.astype(np.float64) / widths)

    def _near_sums(self, new: Points) -> tuple[Array, Array]:
        """Sum over the points that can matter beside the nearest one."""
        at = self._scaled(new)
        nearest, _ = self._tree.query(at, workers=thread_count())
        reach = self._reach(nearest)
        counts = self._tree.query_ball_point(at, reach, workers=thread_count(), return_length=True)
        if counts.mean() > self.points.n / 8:
            return log_cross_sums(self.kernel, new, self.points, self.coefficients)
        sign, logs = np.empty(new.n), np.empty(new.n)
        for rows in _groups(counts, _PAIRS):
            found = self._tree.query_ball_point(at[rows], reach[rows], workers=thread_count())
            sign[rows], logs[rows] = self._sum_over(at[rows], found)
        return sign, logs

    def _reach(self, nearest: Array) -> Array:
        """Distance beyond which n points together are negligible beside the nearest one."""
        enough = self._log_profile(nearest) + log(_NEGLIGIBLE / self.points.n)
        low, high = nearest.copy(), nearest + 1
        while (far := self._log_profile(high) > enough).any():
            high[far] *= 2
        for _ in range(30):
            middle = 0.5 * (low + high)
            inside = self._log_profile(middle) > enough
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return high

    def _log_profile(self, distance: Array) -> Array:
        assert isinstance(self.kernel, Gaussian | Matern)  # those that are plane waves
        return self.kernel.log_profile(-0.5 * distance**2)

    def _sum_over(self, at: Array, found: Array) -> tuple[Array, Array]:
        """One sum per row of ``at``, over the points numbered in ``found``."""
        lengths = np.array([len(indices) for indices in found])
        near = np.concatenate(found).astype(int)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        gaps = np.linalg.norm(np.repeat(at, lengths, axis=0) - self._tree.data[near], axis=1)
        logs = self._log_profile(gaps)
        top = np.maximum.reduceat(logs, starts)
        parts = self.coefficients[near] * np.exp(logs - np.repeat(top, lengths))
        sums = np.add.reduceat(parts, starts)
        with np.errstate(divide="ignore"):
            return np.sign(sums), top + np.log(np.abs(sums))


def _groups(counts: Array, limit: int) -> Iterator[slice]:
    """Ranges of rows whose counts add up to about ``limit`` at most; single rows may exceed it."""
    group = np.cumsum(counts) // limit
    edges = np.r_[0, np.flatnonzero(np.diff(group)) + 1, len(counts)]
    for first, last in pairwise(edges):
        yield slice(int(first), int(last))
