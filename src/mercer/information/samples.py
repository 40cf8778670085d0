"""Samples and sums of their kernel values, shared by all measures of information."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data import Points, validate_points, validate_weights
from mercer.kernels import Kernel, as_kernel
from mercer.operators import Sample

__all__ = ["clip_negative", "fitted_sample", "log_normalizer"]


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
