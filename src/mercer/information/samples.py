"""Samples and sums of their kernel values, shared by all measures of information."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data import Points, validate_points, validate_weights
from mercer.kernels import Kernel, as_kernel
from mercer.operators import Sample

__all__ = ["clip_negative", "fitted_sample", "log_normalizer", "require_unit_diagonal"]

_UNIT_TOLERANCE = 1e-6  # of k(x, x) = 1
_CHUNK_ROWS = 65_536


def fitted_sample(
    X: Any, kernel: str | Kernel, sample_weight: Any, convolve: bool = False
) -> Sample:
    """Validate the data and fit the kernel; with ``convolve``, take its self-convolution."""
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    weights = validate_weights(sample_weight, points)
    kernel = fit_kernel(kernel, points, weights)
    if convolve:
        kernel = kernel.self_convolution(points.dimension)
    return Sample.of(kernel, points, weights)


def clip_negative(value: float) -> float:
    """Return ``value``, or 0.0 where rounding errors made it negative (or -0.0)."""
    return float(np.maximum(value, 0.0)) + 0.0


def log_normalizer(kernel: Kernel, points: Points) -> float:
    """Return the logarithm of a kernel's normalizer for these points; 0 if it is not a density.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.information import log_normalizer
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.data import validate_points
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
    if max(abs(low - 1), abs(high - 1)) > _UNIT_TOLERANCE:
        raise ValueError(
            f"k(x, x) must be 1 for every point; {sample.kernel!r} gives values from {low:.6g} to "
            f"{high:.6g}. Use a kernel such as Gaussian or Cosine, or pass the matrix "
            "K / √(diag K diag K') with kernel='precomputed'."
        )


def _diagonal_range(kernel: Kernel, points: Points) -> tuple[float, float]:
    parts = [kernel.diagonal(x) for _, x in points.chunks(_CHUNK_ROWS)]
    return min(float(p.min()) for p in parts), max(float(p.max()) for p in parts)


def _joined_range(ranges: Any) -> tuple[float, float]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)
