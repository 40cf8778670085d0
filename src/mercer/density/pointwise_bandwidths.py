"""Bandwidths, or bandwidth matrices, of single training points for :class:`ParzenDensity`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.bandwidth.adaptive_density import (
    Adaptation,
    Coordinates,
    SamplePointDensity,
    abramson_bandwidths,
    adapt_bandwidths,
    adapt_shapes,
    local_shapes,
    sample_coordinates,
)
from mercer.data.points import Sample
from mercer.data.subsampling import representative_rows, select_representatives
from mercer.kernels import Gaussian
from mercer.utils.types import Array

__all__ = ["adapted_density"]

_SEARCH_ROWS = 500  # on which parameters are chosen
_REFERENCE_ROWS = 2000  # of pilot estimates and neighbors
_ABRAMSON = 0.5
_LARGEST = 1e150  # coordinate, in bandwidths, whose square does not overflow


def adapted_density(
    sample: Sample, by_rule: bool, mode: bool | str, chosen: Adaptation | None = None
) -> tuple[SamplePointDensity, Adaptation]:
    """Choose the parameters by cross-validation and fit the density to all rows.

    Parameters
    ----------
    sample : Sample
        With a Gaussian kernel.
    by_rule : bool
        Whether to choose the parameters. Otherwise the kernel has the bandwidth of the pilot
        estimate, and the exponent is Abramson's.
    mode : True or "shape"
    chosen : Adaptation or None
        Parameters that are used instead of a search.
    """
    X = sample.points.data.astype(np.float64, copy=False)
    weights = sample.multiplicities
    if chosen is not None:
        found = chosen
    elif by_rule:
        found = _search(X, weights, sample.kernel, mode)
    elif mode == "shape":
        raise ValueError(
            f"adaptive='shape' chooses its bandwidths itself; the kernel has "
            f"bandwidth={sample.kernel.bandwidth!r}. Pass Gaussian('auto')."
        )
    else:
        coordinates = _coordinates_of(sample.kernel, X)
        # in units of a vanishing bandwidth, coordinates would overflow
        center, factor = coordinates.center, coordinates.factor
        extent = float(np.abs(X - center).max()) / _LARGEST
        scale = max(1.0, extent / float(np.abs(factor.diagonal()).min()))
        h = 1 / scale
        coordinates = Coordinates(center, factor * scale)
        found = Adaptation(coordinates, h, float("nan"), pilot=h, exponent=_ABRAMSON)
    Z = found.coordinates.scaled(X)
    rows, masses = representative_rows(X, weights, _REFERENCE_ROWS)
    if mode == "shape":
        inverses = local_shapes(Z, Z[rows], masses, found.fraction, found.shrinkage)
    elif found.exponent:
        inverses = np.exp(-abramson_bandwidths(Z, Z[rows], masses, found.pilot, found.exponent))
    else:
        inverses = np.ones(len(Z))
    inverses = inverses / found.bandwidth
    return SamplePointDensity(found.coordinates, Z, weights / weights.sum(), inverses), found


def _search(X: Array, weights: Array, kernel: Gaussian, mode: bool | str) -> Adaptation:
    rows, masses, size_ratio = select_representatives(X, weights, _SEARCH_ROWS)
    if kernel.metric is None:
        candidates = sample_coordinates(X[rows], masses)
    else:
        candidates = [_coordinates_of(kernel, X)]
    found = (adapt_shapes if mode == "shape" else adapt_bandwidths)(X[rows], masses, candidates)
    shrink = size_ratio ** (1 / (X.shape[1] + 4))  # the rate at which the best bandwidth falls
    return replace(found, bandwidth=shrink * found.bandwidth, pilot=shrink * found.pilot)


def _coordinates_of(kernel: Gaussian, X: Array) -> Coordinates:
    """Return the coordinates in which a kernel has bandwidth 1.

    Their origin is a median: an outlier would move the mean, and other coordinates would lose
    digits.
    """
    return Coordinates(np.median(X, axis=0), kernel.from_units(np.eye(X.shape[1])).T)
