r"""Conditional densities p(y | x) of sums of kernels, which are sums of kernels again.

A normal kernel :math:`N((x_j, y_j), S)` at given x is
:math:`N(x; x_j, S_{xx})\, N(y; y_j + S_{yx} S_{xx}^{-1} (x - x_j), S_{yy} - S_{yx} S_{xx}^{-1}
S_{xy})`: a weight and a normal kernel in y. For kernels that are products over the columns only the
weights change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from mercer.bandwidth.adaptive_density import SamplePointDensity
from mercer.bandwidth.likelihood import Coordinates
from mercer.density.bounds import Bounds, Image
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.kernels.densities import is_product, reach
from mercer.utils.types import Array

__all__ = ["ConditionalTerms", "condition_adapted", "condition_kernel", "split_columns"]


class ConditionalTerms(NamedTuple):
    """Kernels of a conditional density."""

    used: Array  # indices of the kernels with a weight that matters
    log_weights: Array  # of all kernels, up to a constant
    centers: Array  # their centers in the remaining columns, shape (n, dy)

    @property
    def weights(self) -> Array:
        """Normalized weights of the used kernels."""
        logs = self.log_weights[self.used]
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def split_columns(given: dict[int, float], d: int) -> tuple[list[int], list[int], Array]:
    """Return the given columns, the remaining ones, and the given values."""
    fixed = sorted(given)
    free = [column for column in range(d) if column not in given]
    return fixed, free, np.array([given[column] for column in fixed], dtype=np.float64)


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
    fixed, free, x = split_columns(given, points.shape[1])
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    if isinstance(kernel, Gaussian) and kernel.metric is not None:
        S = kernel.bandwidth_matrix(points.shape[1])
        if not is_product(kernel, points.shape[1]):
            _refuse_reflection(bounds)
            slope, covariance = _regression(S, fixed, free)
            correlated = Gaussian(1.0, metric=S[np.ix_(fixed, fixed)])
            logs = logs + _log_kernel(correlated, x, points[:, fixed], None)
            centers = points[:, free] + (x - points[:, fixed]) @ slope.T
            scale = float(np.sqrt(covariance.diagonal().max()))
            inner: Kernel = Gaussian(scale, metric=covariance / scale**2)
            return inner, _terms(logs, centers)
        kernel = Gaussian(np.sqrt(S.diagonal()))
    if not isinstance(kernel, Gaussian | Laplacian):
        raise ValueError(
            f"Conditional densities need a Gaussian or Laplacian kernel, not {kernel!r}."
        )
    bandwidths = kernel.bandwidth_vector(points.shape[1])
    at_x = kernel.with_bandwidth(bandwidths[fixed])
    logs = logs + _log_kernel(at_x, x, points[:, fixed], bounds)
    return kernel.with_bandwidth(bandwidths[free]), _terms(logs, points[:, free])


def condition_adapted(
    density: SamplePointDensity, given: dict[int, float], bounds: Bounds | None
) -> tuple[SamplePointDensity, ConditionalTerms]:
    """Return the conditional density for one bandwidth, or bandwidth matrix, per point."""
    d = density.points.shape[1]
    fixed, free, x = split_columns(given, d)
    points = density.coordinates.original(density.points)
    factor = density.coordinates.factor
    with np.errstate(divide="ignore"):
        logs = np.log(density.weights)
    if density.inverses.ndim == 1:
        h = 1 / density.inverses
        S = factor @ factor.T
        if (factor != np.diag(factor.diagonal())).any():
            _refuse_reflection(bounds)
        slope, covariance = _regression(S, fixed, free)
        root = np.linalg.cholesky(S[np.ix_(fixed, fixed)])
        images = _images(bounds, 9 * h.max() * np.linalg.norm(factor, axis=1)[fixed])
        squares = [
            (solve_triangular(root, (image(x) - points[:, fixed]).T, lower=True) ** 2).sum(axis=0)
            for image in images
        ]
        logs = logs + logsumexp(-0.5 * np.array(squares) / h**2, axis=0) - len(fixed) * np.log(h)
        centers = points[:, free] + (x - points[:, fixed]) @ slope.T
        coordinates = Coordinates(density.coordinates.center[free], np.linalg.cholesky(covariance))
        terms = _terms(logs, centers)
        inverses = density.inverses[terms.used]
    else:
        _refuse_reflection(bounds)
        B = factor @ np.linalg.inv(density.inverses)
        S = B @ np.swapaxes(B, 1, 2)
        slope, covariance = _regression(S, fixed, free)
        differences = x - points[:, fixed]
        roots = np.linalg.cholesky(S[:, fixed][:, :, fixed])
        scaled = np.linalg.solve(roots, differences[..., None])[..., 0]
        logs = logs - 0.5 * (scaled**2).sum(axis=1)
        logs -= np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        centers = points[:, free] + (slope @ differences[..., None])[..., 0]
        coordinates = Coordinates(density.coordinates.center[free], np.eye(len(free)))
        terms = _terms(logs, centers)
        inverses = np.linalg.inv(np.linalg.cholesky(covariance[terms.used]))
    scaled_centers = coordinates.scaled(terms.centers[terms.used])
    return SamplePointDensity(coordinates, scaled_centers, terms.weights, inverses), terms


def _terms(logs: Array, centers: Array) -> ConditionalTerms:
    # weights below this fraction of the largest are dropped
    used = np.flatnonzero(logs > logs.max() + np.log(1e-18))
    return ConditionalTerms(used, logs, centers)


def _regression(S: Array, fixed: list[int], free: list[int]) -> tuple[Array, Array]:
    """Return ``S_yx S_xx⁻¹`` and the conditional covariance, for one matrix or several."""
    xx = S[..., fixed, :][..., :, fixed]
    xy = S[..., fixed, :][..., :, free]
    slope = np.swapaxes(np.linalg.solve(xx, xy), -1, -2)
    return slope, S[..., free, :][..., :, free] - slope @ xy


def _images(bounds: Bounds | None, width: Array) -> list[Image]:
    if bounds is None:
        return [Image(np.ones(len(width)), np.zeros(len(width)))]
    return bounds.images(width)


def _log_kernel(kernel: Kernel, x: Array, points: Array, bounds: Bounds | None) -> Array:
    """Return the logarithms of the kernel between x, with its reflections, and the points."""
    images = _images(bounds, reach(kernel, len(x)))
    reflected = np.array([image(x) for image in images])
    tiles = kernel.log_tiles(reflected, points)
    logs = tiles(slice(0, len(reflected)), slice(0, len(points)), None)
    return np.asarray(logsumexp(logs, axis=0))


def _refuse_reflection(bounds: Bounds | None) -> None:
    if bounds is not None:
        raise ValueError(
            "Conditional densities of kernels with correlated columns need "
            "boundary='transformation', not 'reflection'."
        )
