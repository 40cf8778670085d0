r"""Gram matrices of smooth stationary kernels in few dimensions, through non-uniform FFTs.

A stationary kernel is an integral over Fourier features, and up to any tolerance a short sum over
an equispaced grid of frequencies (the trapezoid rule in frequency):
:math:`k(x - y) \approx \sum_m c_m e^{i \theta_m \cdot (x - y)}`. So ``K = ΦΦ*`` with columns
:math:`\sqrt{c_m} e^{i \theta_m x_j}`, whose number does not depend on n. ``Φ*Φ`` is a Toeplitz
matrix, computed by one type-1 transform of the weights and multiplied by FFTs; components are
evaluated anywhere by one type-2 transform. (Barnett, Greengard, Rachh: "Uniform approximation of
common Gaussian process kernels using equispaced Fourier grids".)

Only coefficients with :math:`b_{-m} = \bar b_m` matter, since K is real, and half of them determine
the rest. Vectors of the small problem are their real and imaginary parts, scaled so that norms are
preserved, and solvers see real vectors only. (In the plane where the last frequency is 0 both
halves are present; components that break the symmetry there are ignored by the transforms and only
add zero eigenvalues.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, Self

import numpy as np
from scipy import fft

from mercer.data.points import Points, RemotePoints
from mercer.gram.expansion import Expansion
from mercer.gram.features import FactoredGram
from mercer.gram.nonuniform_fft import fourier_series, fourier_sums
from mercer.kernels import Kernel, Stationary
from mercer.utils.pairwise import row_ranges
from mercer.utils.resources import memory_budget, run_each_in_threads, thread_count
from mercer.utils.types import Array

__all__ = [
    "FourierExpansion",
    "FourierGram",
    "FrequencyGrid",
    "NoGrid",
    "frequency_grid",
]

_POINTS_PER_TRANSFORM = 2**20  # bounds the memory of a transform at little cost
_MAX_DIMENSION = 3


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies, the box they are valid for, and the transforms.

    Parameters
    ----------
    widths : array of shape (d,)
        Units of ``center``: the bandwidths, or 1 for a kernel with a metric.
    center, half_box : arrays of shape (d,)
        Center of the box that contains the training points, and its half extent in bandwidths,
        as are all lengths below.
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


_MIN_THREADED_SIZE = 2**20  # smaller grids are transformed faster by one thread each


class FourierGram(FactoredGram):
    """``K = ΦΦ*`` with Fourier features as columns, for a Gaussian or Matérn kernel.

    With ``only_mean``, only the mean feature and V are computed, by a transform of half the size.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        weights: Array | None,
        grid: FrequencyGrid,
        center: bool = False,
        only_mean: bool = False,
    ) -> None:
        super().__init__(points.n, points.dtype, weights, points.total(weights))
        self.only_mean = only_mean
        self.kernel = kernel
        self.points = points
        self.grid = grid
        self.center = center

    @cached_property
    def sums(self) -> Array:
        """Trigonometric sums of the weights, which determine Φ*Φ."""
        return self.grid.sums(self.points, self.weights, doubled=not self.only_mean)

    # --- the small problem -----------------------------------------------------------------------

    @cached_property
    def mean_vector(self) -> Array:
        """``Φ*√w / n``, the mean feature as a real vector."""
        half = self.grid.half(self.grid.roots * _resize(self.sums, self.grid.shape))
        return self.grid.pack(half[None])[:, 0] / self.total

    def mean_gradient(self, points: Points) -> Array:
        """Return the gradient of the mean embedding ``m(x) = Σ_j w_j k(x, x_j) / n``, (len, d)."""
        mean = self._grid_coefficients(self.mean_vector[:, None])[0]
        steps = 2 * np.pi / self.grid.period
        derivatives = []
        for axis, (step, n) in enumerate(zip(steps, self.grid.shape, strict=True)):
            frequency = step * fft.fftfreq(n, 1 / n)
            factor = frequency.reshape([-1 if a == axis else 1 for a in range(len(steps))])
            derivatives.append(1j * factor * mean)
        units = self.grid.kernel.to_units(np.eye(len(steps)))  # derivatives of z with respect to x
        return self.grid.evaluate(np.array(derivatives), points) @ units.T

    @cached_property
    def small_start(self) -> Array:
        """N times the mean feature; 0 if centered."""
        return np.zeros(len(self.mean_vector)) if self.center else self.total * self.mean_vector

    def small_product(self, V: Array) -> Array:
        """Return Toeplitz products by FFT, a few columns at a time."""
        out = np.empty_like(V)
        size = self._circle.size
        # more numbers at a time do not fit the caches
        parts = row_ranges(V.shape[1], max(1, 2**18 // size))

        def multiply(part: slice) -> None:
            out[:, part] = self._toeplitz(V[:, part])

        run_each_in_threads(parts, multiply, size <= _MIN_THREADED_SIZE)
        if self.center:
            out -= self.total * self.mean_vector[:, None] * (self.mean_vector @ V)
        return out

    @cached_property
    def _circle(self) -> Array:
        """Inverse FFT of the Toeplitz matrix, embedded in a circulant matrix on a doubled grid."""
        assert not self.only_mean, "products need the sums on the doubled grid"
        lengths = [fft.next_fast_len(2 * n - 1, real=True) for n in self.grid.shape]
        half = _resize(self.sums, lengths)[..., : lengths[-1] // 2 + 1]
        function = fft.irfftn(half, s=lengths, workers=thread_count())
        return np.asarray(function * function.size)

    def _toeplitz(self, V: Array) -> Array:
        circle = self._circle
        axes = tuple(range(1, circle.ndim))
        workers = thread_count() if circle.size > _MIN_THREADED_SIZE else 1
        roots = self.grid.half(self.grid.roots)
        narrow = roots * self.grid.unpack(V)
        # The columns that pad the last axis are zero before the transforms of the other axes and
        # dropped after them, so these axes are transformed without them.
        columns = narrow.shape[-1]
        wide = _resize_half(narrow, (*circle.shape[:-1], 2 * columns - 1))
        if axes:
            wide = fft.ifftn(wide, axes=axes, workers=workers, overwrite_x=True)
        function = fft.irfft(wide, n=circle.shape[-1], workers=workers)
        function *= circle
        wide = fft.rfft(function, workers=workers, overwrite_x=True)[..., :columns]
        if axes:
            wide = fft.fftn(wide, axes=axes, workers=workers)
        return self.grid.pack(roots * _resize_half(wide, self.grid.shape))

    def _grid_coefficients(self, vectors: Array) -> Array:
        """Return the Fourier coefficients, including √c_m, of real vectors (columns)."""
        return self.grid.roots * self.grid.full(self.grid.unpack(vectors))

    @property
    def small_error(self) -> float:
        """The error of one kernel value times n."""
        return self.error_bound

    # --- the n × n operator -----------------------------------------------------------------------

    @property
    def error_bound(self) -> float:
        """``‖K - ΦΦ*‖ ≤ n ·`` error of one entry."""
        return self.total * self.grid.entry_error

    def quadratic(self, V: Array) -> Array:
        """Return ``|Φ*V|²``, with half the transforms of a product."""
        if self.center:
            return super().quadratic(V)
        features = np.array(
            [
                self.grid.roots * self.grid.sums(self.points, self.start * v, doubled=False)
                for v in V.T
            ]
        ).reshape(V.shape[1], -1)
        return np.asarray((features.conj() @ features.T).real)

    def _group_sums(self) -> Callable[..., Array]:
        return partial(_feature_sums, self.grid)

    def product(self, V: Array) -> Array:
        """Return ``A V`` by one pair of transforms per column."""
        root = self.start
        columns = []
        for v in V.T:
            v = v - self.unit * (self.unit @ v) if self.center else v
            sums = self.grid.sums(self.points, root * v, doubled=False)
            coefficients = self.grid.roots**2 * sums
            columns.append(root * self.grid.evaluate(coefficients[None], self.points)[:, 0])
        product = np.column_stack(columns)
        return product - np.outer(self.unit, self.unit @ product) if self.center else product

    def diagonal(self) -> Array:
        """Return ``w k(x, x)`` of the (centered) kernel."""
        no_vectors = np.empty((len(self.mean_vector), 0))
        diagonal = self.expansion(np.ones(0), no_vectors).training_squared_norms()
        return np.asarray(diagonal * self.start**2)

    @cached_property
    def trace(self) -> float:
        """n, because k(0) = 1, minus n V if centered; no pass over the points is needed."""
        mean = float(self.mean_vector @ self.mean_vector) if self.center else 0.0
        return self.total * (1.0 - mean)

    def centered(self) -> Self:
        """Return the operator with the mean feature removed; the sums are shared."""
        other = type(self)(self.kernel, self.points, self.weights, self.grid, True, self.only_mean)
        other.sums, other.total, other.rows = self.sums, self.total, self.rows
        return other

    def with_points(self, points: Points, weights: Array | None) -> Self:
        """Return the operator of other points, which must be inside the grid's box."""
        self.grid.require_inside(points)
        return type(self)(self.kernel, points, weights, self.grid)

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the trigonometric sums."""
        assert isinstance(earlier, FourierGram)
        self.sums = earlier.sums + self.sums
        self.total += earlier.total
        self.rows += earlier.rows

    def expansion(self, values: Array, vectors: Array) -> Expansion:
        """Return the expansion with coefficients ``√c_m b_m``."""
        mean = self._grid_coefficients(self.mean_vector[:, None])[0] if self.center else None
        shift = self.mean_vector @ vectors if self.center else np.zeros(vectors.shape[1])
        potential = float(self.mean_vector @ self.mean_vector) if self.center else 0.0
        return FourierExpansion(
            self.kernel,
            self.points,
            self.grid,
            self._grid_coefficients(vectors),
            shift,
            mean,
            potential,
        )

    @property
    def description(self) -> str:
        """Number of Fourier features and tolerance."""
        return (
            f"{' × '.join(map(str, self.grid.shape))} Fourier features, tolerance "
            f"{self.grid.tolerance:.0e}{', centered' if self.center else ''}"
        )


def _feature_sums(
    grid: FrequencyGrid, count: int, points: Points, weights: Array | None, labels: Array
) -> Array:
    sums = []
    for group in range(count):
        members = np.flatnonzero(labels == group)
        group_weights = None if weights is None else weights[members]
        sums.append(grid.roots * grid.sums(points.take(members), group_weights, doubled=False))
    return np.array(sums).reshape(count, -1)


@dataclass(frozen=True, eq=False)
class FourierExpansion(Expansion):
    """``f_i(x) = Σ_m b_mi exp(i θ_m x) - shift_i``: evaluated without the training points.

    ``shift`` is f_i at the mean in feature space, ``mean`` the coefficients of the mean embedding,
    and ``potential`` its squared norm: 0, None and 0 if not centered.
    """

    kernel: Kernel
    points: Points
    grid: FrequencyGrid
    coefficients: Array
    shift: Array
    mean: Array | None
    potential: float

    @property
    def noise(self) -> float:
        """The tolerance: far from all points the sum is not 0 but an error of this size."""
        return self.grid.tolerance

    def __call__(self, points: Points) -> Array:
        """Evaluate by one type-2 transform."""
        return self.grid.evaluate(self.coefficients, points) - self.shift

    def take(self, which: Array) -> FourierExpansion:
        """Return the functions with these indices."""
        return replace(self, coefficients=self.coefficients[which], shift=self.shift[which])

    def combination(self, weights: Array) -> FourierExpansion:
        """Return the single function ``Σ_i weights_i f_i``."""
        return replace(
            self,
            coefficients=np.tensordot(weights, self.coefficients, axes=1)[None],
            shift=np.array([weights @ self.shift]),
        )

    def at_training(self, values: Array) -> Array:
        """Evaluate the same formula as for new points."""
        return self.points.map_rows(self.without_points())

    def without_points(self) -> FourierExpansion:
        """Return the expansion with placeholder points."""
        return replace(self, points=RemotePoints.like(self.points))

    @property
    def mean_coordinates(self) -> Array | None:
        """The shift."""
        return None if self.mean is None else self.shift

    @property
    def mean_squared_norm(self) -> float:
        """The potential."""
        return self.potential

    def mean_products(self, points: Points) -> Array:
        """Return the mean embedding by one type-2 transform."""
        assert self.mean is not None, "only for centered expansions"
        return self.grid.evaluate(self.mean[None], points)[:, 0]


def _common_blocks(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of index tuples of the common frequencies of two arrays in FFT order."""
    parts = []
    for n, m in zip(old, new, strict=True):
        short = min(n, m)
        positive, negative = (short + 1) // 2, short // 2
        parts.append([(slice(0, positive),) * 2, (slice(n - negative, n), slice(m - negative, m))])
    for corner in np.ndindex(*(2,) * len(parts)):
        yield (
            tuple(parts[axis][side][0] for axis, side in enumerate(corner)),
            tuple(parts[axis][side][1] for axis, side in enumerate(corner)),
        )


def _resize(spectrum: Array, shape: Any) -> Array:
    """Truncate or pad a full spectrum in FFT order.

    Truncated lengths are odd, so that no pair of frequencies ±m is split.
    """
    out = np.zeros(tuple(shape), spectrum.dtype)
    for source, target in _common_blocks(spectrum.shape, tuple(shape)):
        out[target] = spectrum[source]
    return out


def _resize_half(spectra: Array, shape: tuple[int, ...]) -> Array:
    """Truncate or pad the half spectra of a batch (first axis) of real functions."""
    half = shape[-1] // 2 + 1
    common = min(half, spectra.shape[-1])
    out = np.zeros((len(spectra), *shape[:-1], half), spectra.dtype)
    if len(shape) == 1:
        out[:, :common] = spectra[:, :common]
        return out
    for source, target in _common_blocks(spectra.shape[1:-1], tuple(shape[:-1])):
        columns = slice(0, common)
        out[(slice(None), *target, columns)] = spectra[(slice(None), *source, columns)]
    return out
