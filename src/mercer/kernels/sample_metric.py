"""The metric of a Gaussian kernel that is fitted to a sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from mercer.data.points import PointSet
from mercer.utils.moments import Moments
from mercer.utils.types import Array

__all__ = ["sample_metric"]

_SINGULAR = 1e-12  # smallest eigenvalue of a correlation matrix


def sample_metric(rule: str, data: Any, weights: Array | None) -> Array:
    """Return the metric that a rule names: the covariance matrix of a sample.

    Parameters
    ----------
    rule : {"covariance"}
    data : array of shape (n, d) or PointSet
    weights : array of shape (n,) or None
        None for a PointSet, which has its weights.
    """
    if rule != "covariance":
        raise ValueError(f"Gaussian(metric={rule!r}) must be None, 'covariance' or a matrix.")
    if isinstance(data, PointSet):
        moments = data.sum_rows(_moments, data.weights, combine=_add_moments)  # type: ignore[attr-defined]
    else:
        moments = Moments.of(data.astype(np.float64, copy=False), weights)
    covariance = moments.scatter / moments.total
    scale = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scale, scale) if (scale > 0).all() else np.zeros((1, 1))
    lowest = float(np.linalg.eigvalsh(correlation)[0])
    if not lowest > _SINGULAR:
        raise ValueError(
            "Gaussian(metric='covariance') needs an invertible covariance matrix; the smallest "
            f"eigenvalue of the correlation matrix is {lowest:.3g}. Drop constant and redundant "
            "columns."
        )
    return np.asarray(covariance)


def _moments(points: Any, weights: Array | None) -> Moments:
    return Moments.of(points.data.astype(np.float64, copy=False), weights)


def _add_moments(parts: Sequence[Moments]) -> Moments:
    return reduce(Moments.__add__, [part for part in parts if part.total > 0])
