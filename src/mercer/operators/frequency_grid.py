"""The grid of frequencies behind a Fourier operator, and the transforms between it and points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from scipy import fft

from mercer.config import memory_budget, thread_count
from mercer.data import Points
from mercer.kernels import Kernel, Stationary
from mercer.maths.types import Array

__all__ = ["FrequencyGrid", "NoGrid", "frequency_grid"]

_POINTS = 2**20  # per transform: bounds the memory of one, and costs little
_DIMENSIONS = 3


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies, the box they serve, and the transforms between points and coefficients.

    Parameters
    ----------
    widths : array of shape (d,)
        Bandwidths: all lengths below are in these units.
    center, half_box : arrays of shape (d,)
        Middle and half extent of the box that holds the training points.
    reach : float
        Beyond this distance from the box the kernel is 0.
    period : array of shape (d,)
        Of the sum of plane waves.
    shape : tuple of int
        Number of frequencies per dimension: odd, from -M to M.
    tolerance : float
    kernel : Stationary
    """

    widths: Array
    center: Array
    half_box: Array
    reach: float
    period: Array
    shape: tuple[int, ...]
    tolerance: float
    kernel: Stationary

    @cached_property
    def roots(self) -> Array:
        """√c_m in FFT order: the density of waves times the volume of a grid cell."""
        waves = self.kernel.spectral_density(len(self.shape))
        assert waves is not None, f"{self.kernel!r} is no mixture of plane waves"
        steps = 2 * np.pi / self.period
        axes = [step * fft.fftfreq(n, 1 / n) for step, n in zip(steps, self.shape, strict=True)]
        omega2 = reduce(np.add.outer, [axis**2 for axis in axes])
        return np.asarray(np.sqrt(np.prod(steps) * waves.density(omega2)))

    @property
    def size(self) -> int:
        """Number of frequencies."""
        return int(np.prod(self.shape))

    def half(self, waves: Array) -> Array:
        """The half that determines a set of coefficients: last frequency 0 and above."""
        return waves[..., : self.shape[-1] // 2 + 1]

    def full(self, half: Array) -> Array:
        """All coefficients, from halves along the first axis."""
        axes = tuple(range(1, len(self.shape) + 1))
        return np.asarray(fft.fftn(fft.irfftn(half, s=self.shape, axes=axes), axes=axes))

    def pack(self, half: Array) -> Array:
        """Halves along the first axis as real columns of the same length as the whole."""
        scaled = half * self._counted
        return scaled.reshape(len(half), -1).view(np.float64).T

    def unpack(self, columns: Array) -> Array:
        """Undo :meth:`pack`."""
        rows = np.ascontiguousarray(columns.T).view(np.complex128)
        half = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        return rows.reshape(len(rows), *half) / self._counted

    @property
    def _counted(self) -> Array:
        """√2 where a coefficient stands for its mirror image too, 1 where both are there."""
        counted = np.full(self.shape[-1] // 2 + 1, np.sqrt(2))
        counted[0] = 1
        return counted

    @property
    def entry_error(self) -> float:
        """Bound on the error of one kernel value: cut waves, neighbouring periods, transforms."""
        return (2 * len(self.shape) + 2) * self.tolerance

    def scaled(self, X: Array) -> Array:
        """Coordinates from the middle of the box, in bandwidths and double precision.

        An angle is multiplied by frequencies in the hundreds: single precision would show.
        """
        return np.asarray((X - self.center * self.widths) / self.widths)

    def angles(self, scaled: Array) -> list[Array]:
        """One contiguous array of angles in [-π, π) per dimension."""
        return [np.ascontiguousarray(column) for column in (scaled * (2 * np.pi / self.period)).T]

    def outside(self, scaled: Array) -> Array:
        """Whether a point is too far from the box to have any kernel value."""
        return np.asarray((np.abs(scaled) > self.half_box + self.reach).any(axis=1))

    def require_inside(self, points: Points) -> None:
        """Refuse points outside the box, in words."""
        middle, half = self.center * self.widths, self.half_box * self.widths
        slack = 1e-9 * (np.abs(middle) + half)
        low, high = points.bounds()
        outside = (low < middle - half - slack) | (high > middle + half + slack)
        if outside.any():
            j = int(np.argmax(outside))
            raise ValueError(
                f"Column {j} has values from {low[j]:.6g} to {high[j]:.6g}, outside the box "
                f"[{middle[j] - half[j]:.6g}, {middle[j] + half[j]:.6g}] of the frequency grid. "
                "Choose solver=Fourier(box=(low, high)) so that it holds all points still to come."
            )

    def sums(self, points: Points, weights: Array | None, doubled: bool = True) -> Array:
        """``t_m = Σ_j w_j exp(-i θ_m x_j)`` in FFT order (type 1).

        For the grid's own frequencies, or for the doubled range of all their differences.
        """
        return np.asarray(points.summed(partial(_grid_sums, self, doubled), weights))

    def _sums(self, points: Points, weights: Array | None, doubled: bool) -> Array:
        modes = tuple(2 * n - 1 for n in self.shape) if doubled else self.shape
        total = np.zeros(modes, complex)
        for rows, chunk in points.chunks(_POINTS):
            w = np.ones(len(chunk)) if weights is None else weights[rows]
            plan = self._plan(1, modes, 1, -1)
            plan.setpts(*self.angles(self.scaled(chunk)))
            total += plan.execute(w.astype(np.complex128))
        return total

    def evaluate(self, coefficients: Array, points: Points) -> Array:
        """``Σ_m b_m exp(i θ_m x)`` at every point, for k sets of coefficients (type 2).

        The sums are real, so two sets share one complex transform. Points far outside the box get
        exactly 0: there the sum of waves would show an echo of the data one period away.
        """
        k = len(coefficients)
        pairs = coefficients[0::2].copy()
        pairs[: k // 2] += 1j * coefficients[1::2]
        out = np.empty((points.n, k))
        for rows, chunk in points.chunks(_POINTS):
            scaled = self.scaled(chunk)
            far = self.outside(scaled)
            scaled[far] = 0  # any point will do: its value is overwritten below
            plan = self._plan(2, self.shape, len(pairs), 1)
            plan.setpts(*self.angles(scaled))
            values = plan.execute(pairs).reshape(len(pairs), -1)
            out[rows, 0::2] = values.real.T
            out[rows, 1::2] = values[: k // 2].imag.T
            out[rows][far] = 0
        return out

    def _plan(self, kind: int, modes: tuple[int, ...], count: int, sign: int) -> Any:
        import finufft

        return finufft.Plan(
            kind,
            modes,
            n_trans=count,
            eps=max(self.tolerance / 10, 1e-14),
            isign=sign,
            modeord=1,
            nthreads=thread_count(),
        )


def _grid_sums(grid: FrequencyGrid, doubled: bool, points: Points, weights: Array | None) -> Array:
    return grid._sums(points, weights, doubled)


@dataclass(frozen=True)
class NoGrid:
    """Why no frequency grid can serve, in words; ``memory`` if a larger budget would help."""

    reason: str
    memory: bool = False


def frequency_grid(
    kernel: Kernel, low: Array, high: Array, tolerance: float
) -> FrequencyGrid | NoGrid:
    """Return the grid for points in a box, or the reason why there is none."""
    d = len(low)
    if not isinstance(kernel, Stationary) or d > _DIMENSIONS:
        return NoGrid(
            f"it takes a Gaussian or Matern kernel in at most 3 dimensions, not {kernel!r} in {d}"
        )
    waves = kernel.spectral_density(d)
    if waves is None:
        return NoGrid(f"it takes a Gaussian or Matern kernel, not {kernel!r}")
    widths = kernel.bandwidth_vector(d)
    reach = waves.reach(tolerance)
    center, half_box = 0.5 * (low + high) / widths, 0.5 * (high - low) / widths
    # the box has room for a new point at the kernel's reach on either side, and its echo is as far
    period = 2 * half_box + 2 * reach
    highest = np.ceil(waves.cutoff(tolerance) * period / (2 * np.pi))
    modes = float(np.prod(2 * (2 * highest + 1)))
    needed = 20 * 2**d * modes  # a transform's own grid is twice as fine as the doubled one
    if not np.isfinite(modes) or needed > memory_budget():
        extent = ", ".join(f"{2 * h:.3g}" for h in half_box)
        return NoGrid(
            f"the data span {extent} bandwidths, which at tolerance {tolerance:.0e} takes "
            f"{modes / 2**d:.3g} frequencies and {needed / 1e9:.3g} GB, and the memory budget is "
            f"{memory_budget() / 1e9:.3g} GB: use a larger bandwidth or tolerance, remove far "
            "outliers, raise the budget, or choose another solver",
            memory=True,
        )
    shape = tuple(int(2 * m + 1) for m in highest)
    return FrequencyGrid(widths, center, half_box, reach, period, shape, tolerance, kernel)
