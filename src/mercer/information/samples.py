"""Samples and sums of their kernel values, shared by all measures of information."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, validate_points, validate_weights
from mercer.eigen import summing_gram
from mercer.errors import ApproximationWarning, warn
from mercer.gram import BlockedGram, Sample
from mercer.kernels import Kernel, as_kernel
from mercer.utils.formatting import format_number
from mercer.utils.pairwise import row_ranges
from mercer.utils.resources import ProgressBar, show_progress

__all__ = [
    "clip_negative",
    "fitted_sample",
    "log_normalizer",
    "mean_kernel",
    "require_unit_diagonal",
    "validate_pair",
]


def validate_pair(X: Any, Y: Any, kernel: Kernel) -> list[Points]:
    """Validate the rows of two samples, which must have the same columns."""
    both: list[Points] = [validate_points(Z, kernel) for Z in (X, Y)]
    if both[0].dimension != both[1].dimension:
        raise ValueError(
            f"X has {both[0].dimension} columns and Y has {both[1].dimension}; both must have the "
            "same columns."
        )
    return both


def fitted_sample(
    X: Any, kernel: str | Kernel, sample_weight: Any, convolve: bool = False
) -> Sample:
    """Validate the data and fit the kernel; with ``convolve``, take its self-convolution."""
    kernel = as_kernel(kernel, X, table="product")
    points = validate_points(X, kernel)
    weights = validate_weights(sample_weight, points)
    kernel = fit_kernel(kernel, points, weights)
    if convolve:
        kernel = kernel.self_convolution(points.dimension)
    return Sample.of(kernel, points, weights)


def clip_negative(value: float) -> float:
    """Return ``value``, or 0.0 where rounding errors made it negative (or -0.0)."""
    return float(np.maximum(value, 0.0)) + 0.0


def mean_kernel(sample: Sample, max_pairs: float | None = None, verbose: bool = False) -> float:
    """Return V, the mean of the kernel over all pairs, or an estimate from random rows.

    ``max_pairs``: above this number of kernel values V is the mean over a twentieth as many of
    them: random rows with all rows. An :class:`~mercer.errors.ApproximationWarning` states the
    standard error. None for no limit. ``verbose``: show a progress bar for random rows.
    """
    gram = summing_gram(sample)
    n = sample.points.n
    if max_pairs is None or not isinstance(gram, BlockedGram) or n * n <= max_pairs:
        return gram.potential
    count = max(int(max_pairs / 20 / n), 2)
    weights = sample.normalized_weights
    drawn = np.random.default_rng(0).choice(n, count, p=weights)
    X = sample.points.data
    means = np.zeros(count)
    with show_progress(verbose):
        bar = ProgressBar(count, "rows")
        for rows in row_ranges(count, 500):
            for columns in row_ranges(n, 4000):
                means[rows] += sample.kernel(X[drawn[rows]], X[columns]) @ weights[columns]
            bar.step(rows.stop)
        bar.close()
    value, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(count))
    warn(
        f"V is estimated from {count} random rows, with a relative standard error of "
        f"{format_number(error / value if value > 0 else np.inf)}: the sum over all pairs of {n} "
        f"rows has {n * n:.2g} terms, more than max_pairs={max_pairs:.2g}. Use max_pairs=None for "
        "the exact value.",
        ApproximationWarning,
    )
    return value


def log_normalizer(kernel: Kernel, points: Points) -> float:
    """Return the logarithm of a kernel's normalizer for these points; 0 if it is not a density.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import log_normalizer
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.data.points import validate_points
    >>> points = validate_points(np.zeros((3, 2)), "vectors")
    >>> round(log_normalizer(Gaussian(1.0), points), 4), log_normalizer(Linear(), points)
    (1.8379, 0.0)
    """
    return kernel.log_normalizer_or_zero(points.dimension)


def require_unit_diagonal(sample: Sample) -> None:
    """Raise ValueError unless k(x, x) = 1 for all points."""
    if sample.matrix is None:
        low, high = sample.points.sum_rows(
            partial(_diagonal_range, sample.kernel), combine=_joined_range
        )
    else:
        diagonal = sample.matrix.diagonal()
        low, high = float(diagonal.min()), float(diagonal.max())
    if max(abs(low - 1), abs(high - 1)) > 1e-6:
        raise ValueError(
            f"k(x, x) must be 1 for every point; {sample.kernel!r} gives values from {low:.6g} to "
            f"{high:.6g}. Use a kernel such as Gaussian or Cosine, mercer.kernels.Normalized of "
            "this kernel, or the matrix K / √(diag K diag K') with kernel='precomputed'."
        )


def _diagonal_range(kernel: Kernel, points: Points) -> tuple[float, float]:
    parts = [kernel.diagonal(x) for _, x in points.chunks(65_536)]
    return min(float(p.min()) for p in parts), max(float(p.max()) for p in parts)


def _joined_range(ranges: Any) -> tuple[float, float]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)
