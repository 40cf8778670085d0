"""The frequency grid of a Fourier operator, and the transforms between grid and points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
from scipy import fft

from mercer.data.points import Points
from mercer.gram.transforms import fourier_series, fourier_sums
from mercer.kernels import Kernel, Stationary
from mercer.utils.resources import memory_budget
from mercer.utils.types import Array

__all__ = ["FrequencyGrid", "NoGrid", "frequency_grid"]

_POINTS_PER_TRANSFORM = 2**20  # bounds the memory of a transform at little cost
_MAX_DIMENSION = 3


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies, the box they are valid for, and the transforms.

    Parameters
    ----------
    widths : array of shape (d,)
        Units of ``center``: the bandwidths, or 1 for a kernel with a metric.
    center : array of shape (d,)
        Center of the box that contains the training points.
    half_box : array of shape (d,)
        Half extent of the box in bandwidths, as are all lengths below.
    reach : float
        Distance from the box beyond which the kernel is 0 (up to the tolerance).
    period : array of shape (d,)
        Period of the sum of Fourier features.
    shape : tuple of int
        Number of frequencies per dimension: odd, from -M to M.
    tolerance : float
    kernel : Stationary
    half_range : array of shape (d,) or None
        Half extent of the columns in the box; None for ``half_box * widths``.
    """

    widths: Array
    center: Array
    half_box: Array
    reach: float
    period: Array
    shape: tuple[int, ...]
    tolerance: float
    kernel: Stationary
    half_range: Array | None = None

    @cached_property
    def roots(self) -> Array:
        """√c_m in FFT order, c_m the spectral density times the volume of a grid cell."""
        spectral = self.kernel.spectral_density(len(self.shape))
        assert spectral is not None, f"{self.kernel!r} has no spectral density"
        steps = 2 * np.pi / self.period
        axes = [step * fft.fftfreq(n, 1 / n) for step, n in zip(steps, self.shape, strict=True)]
        omega2 = reduce(np.add.outer, [axis**2 for axis in axes])
        return np.asarray(np.sqrt(np.prod(steps) * spectral.density(omega2)))

    @property
    def size(self) -> int:
        """Number of frequencies."""
        return int(np.prod(self.shape))

    def half(self, coefficients: Array) -> Array:
        """Return the half that determines the rest: those with last frequency 0 or above."""
        return coefficients[..., : self.shape[-1] // 2 + 1]

    def full(self, half: Array) -> Array:
        """Return all coefficients from halves along the first axis."""
        axes = tuple(range(1, len(self.shape) + 1))
        return np.asarray(fft.fftn(fft.irfftn(half, s=self.shape, axes=axes), axes=axes))

    def pack(self, half: Array) -> Array:
        """Return halves along the first axis as real columns, with the norm of all coefficients."""
        scaled = half * self._multiplicity_roots
        return scaled.reshape(len(half), -1).view(np.float64).T

    def unpack(self, columns: Array) -> Array:
        """Invert :meth:`pack`."""
        rows = np.ascontiguousarray(columns.T).view(np.complex128)
        half = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        return rows.reshape(len(rows), *half) / self._multiplicity_roots

    @property
    def _multiplicity_roots(self) -> Array:
        """√2 for a coefficient that also represents its conjugate, 1 if both are present."""
        roots = np.full(self.shape[-1] // 2 + 1, np.sqrt(2))
        roots[0] = 1
        return roots

    @property
    def entry_error(self) -> float:
        """Bound on the error of one kernel value: cutoff, aliasing and transforms."""
        return (2 * len(self.shape) + 2) * self.tolerance

    def scaled(self, X: Array) -> Array:
        """Return coordinates from the center of the box, in bandwidths and double precision.

        Angles are multiplied by frequencies in the hundreds, so single precision is not enough.
        """
        return self.kernel.to_units(X - self.center * self.widths)

    def angles(self, scaled: Array) -> list[Array]:
        """Return one contiguous array of angles in [-π, π) per dimension."""
        return [np.ascontiguousarray(column) for column in (scaled * (2 * np.pi / self.period)).T]

    def outside(self, scaled: Array) -> Array:
        """Return whether points are so far from the box that all kernel values are zero."""
        return np.asarray((np.abs(scaled) > self.half_box + self.reach).any(axis=1))

    def require_inside(self, points: Points) -> None:
        """Raise ValueError for points outside the box."""
        middle = self.center * self.widths
        half = self.half_box * self.widths if self.half_range is None else self.half_range
        slack = 1e-9 * (np.abs(middle) + half)
        low, high = points.bounds()
        outside = (low < middle - half - slack) | (high > middle + half + slack)
        if outside.any():
            j = int(np.argmax(outside))
            raise ValueError(
                f"Column {j} has values from {low[j]:.6g} to {high[j]:.6g}, outside the box "
                f"[{middle[j] - half[j]:.6g}, {middle[j] + half[j]:.6g}] of the frequency grid. "
                "Choose solver=Fourier(box=(low, high)) so that it contains all later batches."
            )

    def sums(self, points: Points, weights: Array | None, doubled: bool = True) -> Array:
        """Return ``t_m = Σ_j w_j exp(-i θ_m x_j)`` in FFT order (type 1).

        The frequencies are those of the grid, or the doubled range of their differences.
        """
        return np.asarray(points.sum_rows(partial(_grid_sums, self, doubled), weights))

    def _sums(self, points: Points, weights: Array | None, doubled: bool) -> Array:
        modes = tuple(2 * n - 1 for n in self.shape) if doubled else self.shape
        total = np.zeros(modes, complex)
        for rows, chunk in points.chunks(_POINTS_PER_TRANSFORM):
            w = np.ones(len(chunk)) if weights is None else weights[rows]
            total += fourier_sums(self.angles(self.scaled(chunk)), w, modes, self._transform_error)
        return total

    def evaluate(self, coefficients: Array, points: Points) -> Array:
        """Return ``Σ_m b_m exp(i θ_m x)`` at every point, for k sets of coefficients (type 2).

        The coefficients are those of real functions. Points far outside the box get exactly 0,
        because there the sum repeats the data one period away.
        """
        out = np.empty((points.n, len(coefficients)))
        for rows, chunk in points.chunks(_POINTS_PER_TRANSFORM):
            scaled = self.scaled(chunk)
            far = self.outside(scaled)
            scaled[far] = 0  # any point in the box; its value is overwritten below
            fourier_series(coefficients, self.angles(scaled), self._transform_error, out[rows])
            out[rows][far] = 0
        return out

    @property
    def _transform_error(self) -> float:
        return max(self.tolerance / 10, 1e-14)


def _grid_sums(grid: FrequencyGrid, doubled: bool, points: Points, weights: Array | None) -> Array:
    return grid._sums(points, weights, doubled)


@dataclass(frozen=True)
class NoGrid:
    """The reason why there is no grid; ``memory`` is True if a larger budget would help."""

    reason: str
    memory: bool = False


def frequency_grid(
    kernel: Kernel, low: Array, high: Array, tolerance: float
) -> FrequencyGrid | NoGrid:
    """Return the grid for points in a box, or the reason why there is none."""
    d = len(low)
    if not isinstance(kernel, Stationary) or d > _MAX_DIMENSION:
        return NoGrid(
            f"it needs a Gaussian or Matern kernel in at most {_MAX_DIMENSION} dimensions, "
            f"not {kernel!r} in {d}"
        )
    spectral = kernel.spectral_density(d)
    if spectral is None:
        return NoGrid(f"it needs a Gaussian or Matern kernel, not {kernel!r}")
    has_metric = getattr(kernel, "metric", None) is not None
    widths = np.ones(d) if has_metric else kernel.bandwidth_vector(d)
    reach = spectral.reach(tolerance)
    center, half_range = 0.5 * (low + high) / widths, 0.5 * (high - low)
    half_box = half_range @ np.abs(kernel.to_units(np.eye(d)))  # row j is a unit step in column j
    # a new point may be up to the reach outside the box, and its periodic image must be as far away
    period = 2 * half_box + 2 * reach
    highest = np.ceil(spectral.cutoff(tolerance) * period / (2 * np.pi))
    modes = float(np.prod(2 * (2 * highest + 1)))
    needed = 20 * 2**d * modes  # a transform's own grid is twice as fine as the doubled one
    if not np.isfinite(modes) or needed > memory_budget():
        extent = ", ".join(f"{2 * h:.3g}" for h in half_box)
        return NoGrid(
            f"the data span {extent} bandwidths, which at tolerance {tolerance:.0e} needs "
            f"{modes / 2**d:.3g} frequencies and {needed / 1e9:.3g} GB; the memory budget is "
            f"{memory_budget() / 1e9:.3g} GB. Use a larger bandwidth or tolerance, remove far "
            "outliers, raise the budget, or choose another solver",
            memory=True,
        )
    shape = tuple(int(2 * m + 1) for m in highest)
    return FrequencyGrid(
        widths, center, half_box, reach, period, shape, tolerance, kernel, half_range
    )
