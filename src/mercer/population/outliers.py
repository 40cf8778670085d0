"""Weights that bound the influence of outliers on kernel PCA (Liang 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points
from mercer.kernels import Kernel, as_kernel
from mercer.utils.types import Array

__all__ = ["bounding_weights"]


def bounding_weights(X: Any, kernel: str | Kernel, *, quantile: float = 0.75) -> Array:
    r"""Return sample weights that prevent points of large feature norm from dominating kernel PCA.

    A point adds ``k(x, x) = ‖Φ(x)‖²`` to the trace, which for a polynomial kernel of degree d grows
    like ``‖x‖^(2d)``. The weight

    .. math:: w = \min(1,\; q / k(x, x)), \qquad q \text{ the given quantile of } k(x, x),

    caps the contribution of every point at that of a typical one. Pass the result as
    ``sample_weight`` to :class:`mercer.KernelPCA`. This is robust if the fraction of outliers is
    below 1 - quantile. For kernels with constant k(x, x), such as the Gaussian, all weights are 1.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
    quantile : float in (0, 1)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> from mercer.population import bounding_weights
    >>> bounding_weights([[1.0], [1.0], [1.0], [10.0]], Polynomial(2)).round(4).tolist()
    [1.0, 1.0, 1.0, 0.0001]
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile={quantile!r} must be between 0 and 1; 0.75 is the default.")
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel)
    norms = fit_kernel(kernel, points).diagonal(points.data)
    # without interpolation, which would move the cap toward an outlier
    cap = np.quantile(norms, quantile, method="lower")
    if cap <= 0:
        raise ValueError(
            f"The {quantile} quantile of k(x, x) is {cap:.3g}; a cap must be positive. Use a "
            "kernel with k(x, x) > 0, or a higher quantile."
        )
    return np.asarray(np.minimum(1.0, cap / np.maximum(norms, cap)))
