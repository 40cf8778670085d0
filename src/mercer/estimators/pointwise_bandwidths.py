"""Bandwidths, or bandwidth matrices, of single training points for :class:`ParzenDensity`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.data import Sample
from mercer.kernels import Gaussian, Kernel
from mercer.maths.adaptive_density import (
    Adaptation,
    Coordinates,
    SamplePointDensity,
    abramson_bandwidths,
    adapt_bandwidths,
    adapt_shapes,
    local_shapes,
)
from mercer.maths.types import Array
from mercer.subsampling import representative_rows, select_representatives

__all__ = ["adapted_density"]

_SEARCH_ROWS = 500  # on which parameters are chosen
_REFERENCE_ROWS = 2000  # of pilot estimates and neighbors
_ABRAMSON = 0.5


def adapted_density(
    sample: Sample, kernel: Kernel, mode: bool | str
) -> tuple[SamplePointDensity, Adaptation]:
    """Choose the parameters by cross-validation and fit the density to all rows.

    Parameters
    ----------
    sample : Sample
    kernel : Kernel
        As given by the user. If its bandwidth is a number, no parameter is chosen.
    mode : True or "shape"
    """
    if not isinstance(kernel, Gaussian):
        raise ValueError(f"adaptive={mode!r} needs a Gaussian kernel, not {kernel!r}.")
    X = sample.points.data.astype(np.float64, copy=False)
    weights = sample.multiplicities
    found = _parameters(X, weights, kernel, mode)
    with np.errstate(over="ignore"):
        Z = found.coordinates.scaled(X)
    if not np.isfinite(Z).all():
        raise ValueError(
            f"The bandwidth {kernel.bandwidth!r} is too small for these data: coordinates divided "
            "by it overflow. Use a larger bandwidth, or the rule 'auto'."
        )
    rows, masses = representative_rows(X, weights, _REFERENCE_ROWS)
    if mode == "shape":
        shapes = local_shapes(Z, Z[rows], masses, found.fraction, found.shrinkage)
        inverses = shapes / found.bandwidth
    else:
        logs = np.zeros(len(Z))
        if found.exponent:
            logs = abramson_bandwidths(Z, Z[rows], masses, found.pilot, found.exponent)
        inverses = np.exp(-logs) / found.bandwidth
    density = SamplePointDensity(found.coordinates, Z, weights / weights.sum(), inverses)
    return density, found


def _parameters(X: Array, weights: Array, kernel: Gaussian, mode: bool | str) -> Adaptation:
    if not isinstance(kernel.bandwidth, str):
        if mode == "shape":
            raise ValueError(
                f"adaptive='shape' chooses its bandwidths itself; the kernel has "
                f"bandwidth={kernel.bandwidth!r}. Pass Gaussian('auto')."
            )
        d = X.shape[1]
        # an outlier would move the mean, and all other coordinates would lose digits
        origin = Coordinates(np.median(X, axis=0), kernel.from_units(np.eye(d)).T)
        return Adaptation(origin, 1.0, float("nan"), pilot=1.0, exponent=_ABRAMSON)
    rows, masses, size_ratio = select_representatives(X, weights, _SEARCH_ROWS)
    found = (adapt_shapes if mode == "shape" else adapt_bandwidths)(X[rows], masses)
    shrink = size_ratio ** (1 / (X.shape[1] + 4))  # the rate at which the best bandwidth falls
    return replace(found, bandwidth=shrink * found.bandwidth, pilot=shrink * found.pilot)
