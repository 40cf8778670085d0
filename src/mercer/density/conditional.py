r"""Conditional densities p(y | x) of sums of kernels, which are sums of kernels again.

A normal kernel :math:`N((x_j, y_j), S)` at given x is
:math:`N(x; x_j, S_{xx})\, N(y; y_j + S_{yx} S_{xx}^{-1} (x - x_j), S_{yy} - S_{yx} S_{xx}^{-1}
S_{xy})`: a weight and a normal kernel in y. For kernels that are products over the columns only the
weights change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from mercer.bandwidth.adaptive_density import SamplePointDensity
from mercer.bandwidth.likelihood import Coordinates
from mercer.density.bounds import Bounds
from mercer.kernels import Gaussian, Kernel, Laplacian, Stationary
from mercer.kernels.densities import is_product, reach
from mercer.utils.types import Array

__all__ = ["ConditionalTerms", "condition_adapted", "condition_kernel"]


class ConditionalTerms(NamedTuple):
    """Kernels of a conditional density."""

    used: Array  # index of the kernel of the joint density, for each kernel
    centers: Array  # in the remaining columns
    weights: Array  # with sum 1


def condition_kernel(
    kernel: Kernel,
    points: Array,
    weights: Array,
    given: dict[int, float],
    bounds: Bounds | None,
) -> tuple[Kernel, ConditionalTerms]:
    """Return the kernel and the terms of the conditional density for one fitted kernel.

    ``points``: on the line, like the given values. ``bounds``: of the given columns, if densities
    are reflected.
    """
    fixed, free, x = _split_columns(given, points.shape[1])
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        S = kernel.bandwidth_matrix(points.shape[1])
        if not is_product(kernel, points.shape[1]):
            slope, covariance = _regression(S, fixed, free)
            at_x: Stationary = Gaussian(1.0, metric=S[np.ix_(fixed, fixed)])
            scale = float(np.sqrt(covariance.diagonal().max()))
            inner = Gaussian(scale, metric=covariance / scale**2)
            images = _images(bounds, x, reach(at_x, len(fixed)))
            parts = logs + _log_kernel(at_x, images, points[:, fixed])
            return inner, _terms(parts, points[:, free], points[:, fixed], images, slope)
        kernel = Gaussian(np.sqrt(S.diagonal()))
    if not isinstance(kernel, Gaussian | Laplacian):
        raise ValueError(
            f"Conditional densities need a Gaussian or Laplacian kernel, not {kernel!r}."
        )
    bandwidths = kernel.bandwidth_vector(points.shape[1])
    at_x = kernel.with_bandwidth(bandwidths[fixed])
    images = _images(bounds, x, reach(at_x, len(fixed)))
    logs = logsumexp(logs + _log_kernel(at_x, images, points[:, fixed]), axis=0, keepdims=True)
    found = _terms(logs, points[:, free], points[:, fixed], images[:1], None)
    return kernel.with_bandwidth(bandwidths[free]), found


def condition_adapted(
    density: SamplePointDensity, given: dict[int, float], bounds: Bounds | None
) -> tuple[SamplePointDensity, ConditionalTerms]:
    """Return the conditional density for one bandwidth, or bandwidth matrix, per point."""
    fixed, free, x = _split_columns(given, density.points.shape[1])
    points = density.coordinates.original(density.points)
    factor, center = density.coordinates.factor, density.coordinates.center[free]
    images = _images(bounds, x, 9 * density.deviations()[:, fixed].max(axis=0))
    differences = images[:, None] - points[:, fixed]
    with np.errstate(divide="ignore"):
        logs = np.log(density.weights)
    if density.inverses.ndim == 1:
        S = factor @ factor.T
        slope, covariance = _regression(S, fixed, free)
        root = np.linalg.cholesky(S[np.ix_(fixed, fixed)])
        scaled = np.linalg.solve(root, differences[..., None])[..., 0] * density.inverses[:, None]
        logs = logs + len(fixed) * np.log(density.inverses)
        coordinates = Coordinates(center, np.linalg.cholesky(covariance))
        inverses = density.inverses
    else:
        B = factor @ np.linalg.inv(density.inverses)
        S = B @ np.swapaxes(B, 1, 2)
        slope, covariance = _regression(S, fixed, free)
        roots = np.linalg.cholesky(S[:, fixed][:, :, fixed])
        scaled = np.linalg.solve(roots, differences[..., None])[..., 0]
        logs = logs - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        coordinates = Coordinates(center, np.eye(len(free)))
        inverses = np.linalg.inv(np.linalg.cholesky(covariance))
    with np.errstate(over="ignore", under="ignore"):
        logs = logs - 0.5 * (scaled**2).sum(axis=2)
    terms = _terms(logs, points[:, free], points[:, fixed], images, slope)
    found = SamplePointDensity(
        coordinates, coordinates.scaled(terms.centers), terms.weights, inverses[terms.used]
    )
    return found, terms


def _split_columns(given: dict[int, float], d: int) -> tuple[list[int], list[int], Array]:
    """Return the given columns, the remaining ones, and the given values."""
    fixed = sorted(given)
    free = [column for column in range(d) if column not in given]
    return fixed, free, np.array([given[column] for column in fixed], dtype=np.float64)


def _terms(
    logs: Array, y: Array, points: Array, images: Array, slope: Array | None
) -> ConditionalTerms:
    """Return a term for each image of x and each kernel whose weight matters.

    ``logs``: logarithms of the weights, up to a constant, shape (images, n). ``slope``: of the
    centers, as functions of x: one matrix, or one per kernel.
    """
    # weights below this fraction of the largest are dropped
    image, used = np.nonzero(logs > logs.max() + np.log(1e-18))
    weights = np.exp(logs[image, used] - logs.max())
    centers = y[used]
    if slope is not None:
        slopes = slope if slope.ndim == 2 else slope[used]
        centers = centers + (slopes @ (images[image] - points[used])[..., None])[..., 0]
    return ConditionalTerms(used, centers, np.asarray(weights / weights.sum()))


def _regression(S: Array, fixed: list[int], free: list[int]) -> tuple[Array, Array]:
    """Return ``S_yx S_xx⁻¹`` and the conditional covariance, for one matrix or several."""
    xx = S[..., fixed, :][..., :, fixed]
    xy = S[..., fixed, :][..., :, free]
    slope = np.swapaxes(np.linalg.solve(xx, xy), -1, -2)
    return slope, S[..., free, :][..., :, free] - slope @ xy


def _images(bounds: Bounds | None, x: Array, width: Array) -> Array:
    """Return x and its reflections that matter, as rows."""
    return x[None] if bounds is None else np.array([image(x) for image in bounds.images(width)])


def _log_kernel(kernel: Stationary, X: Array, points: Array) -> Array:
    """Return the logarithms of the kernel between rows and points."""
    return kernel.log_tiles(X, points)(slice(0, len(X)), slice(0, len(points)), None)
