"""Modes and means of Parzen window densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer.data.points import Points
from mercer.data.subsampling import representative_rows
from mercer.density.bounds import Bounds
from mercer.density.kernel_sum_functions import (
    GAUSSIAN_REACH,
    KernelSumFunctions,
    marginal_deviations,
)
from mercer.density.mean_shift import find_modes
from mercer.errors import ConvergenceWarning, warn
from mercer.kernels import Gaussian
from mercer.kernels.densities import column_bandwidths
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["ParzenFunctions"]

_MAX_STARTS = 500  # of mean shifts
_NODES = np.linspace(-9, 9, 361)  # of the trapezoidal rule for normal distributions


class ParzenFunctions(KernelSumFunctions):
    """A sum of kernels with positive weights, with its modes and its mean."""

    def modes(
        self,
        X: Any = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        merge_distance: float = 0.1,
        return_labels: bool = False,
    ) -> Any:
        """Return the local maxima of the density, by mean shift.

        Every start moves to the weighted mean of the training points, weighted by their kernels
        there, until it stops; this never decreases the density.

        Parameters
        ----------
        X : array-like of shape (m, d) or None
            Starts; None for at most 500 representative training points.
        tol : float
            Length of a step, in bandwidths, at which an iteration has converged.
        max_iter : int
            Number of steps after which a ConvergenceWarning is issued.
        merge_distance : float
            Distance in bandwidths below which two maxima are one.
        return_labels : bool
            Also return the index of the mode that each row of X leads to (-1 where the density
            is 0).

        Returns
        -------
        modes : array of shape (k, d)
            The one with the highest density first.
        labels : array of int of shape (m,)
            Only if ``return_labels`` is true.
        """
        check_real(tol, "tol", above=0)
        check_real(merge_distance, "merge_distance", above=0)
        check_integer(max_iter, "max_iter")
        Y, weights = self._points_and_weights("modes")
        if X is None:
            starts = Y[representative_rows(Y, weights, _MAX_STARTS)[0]]
            usable = np.ones(len(starts), dtype=bool)
        else:
            X = self._validate_new(X).data.astype(np.float64, copy=False)
            usable = np.isfinite(self.score_samples(Points(X)))
            starts = X[usable] if self.bounds_ is None else self.bounds_.to_line(X[usable])
        labels = np.full(len(usable), -1)
        if len(starts) == 0:
            found = np.empty((0, Y.shape[1]))
        else:
            if self._line_derivatives(starts[:1]).precisions is None:
                raise ValueError(
                    f"modes needs a differentiable kernel (Gaussian, Matern, Epanechnikov), not "
                    f"{self.kernel_!r}."
                )
            found, _, labels[usable], converged = find_modes(
                self._line_derivatives, starts, tol=tol, max_iter=max_iter, merge=merge_distance
            )
            if not converged:
                warn(
                    f"The mean shift did not converge in {max_iter} steps. Increase max_iter or "
                    "tol.",
                    ConvergenceWarning,
                )
            if self.bounds_ is not None:
                found = self.bounds_.from_line(found)
        return (found, labels) if return_labels else found

    def mean(self) -> Array:
        """Return the mean of the density, shape (d,).

        With a bounded support this needs a Gaussian kernel.
        """
        Y, weights = self._points_and_weights("mean")
        bounds = self.bounds_
        if bounds is None:
            return np.asarray(weights @ Y)
        if self._adapted is not None:
            deviations = marginal_deviations(self._adapted)
        elif isinstance(self.kernel_, Gaussian):
            deviations = np.broadcast_to(column_bandwidths(self.kernel_, Y.shape[1]), Y.shape)
        else:
            raise ValueError(
                f"The mean of a density with bounds needs a Gaussian kernel, not {self.kernel_!r}. "
                "Use the mean of draws from sample."
            )
        if bounds.reflects:
            return weights @ _reflected_means(Y, deviations, bounds)
        masses = np.exp(-0.5 * _NODES**2)
        means = np.zeros_like(Y)
        for node, mass in zip(_NODES, masses / masses.sum(), strict=True):
            means += mass * bounds.from_line(Y + node * deviations)
        return np.asarray(weights @ means)


def _reflected_means(Y: Array, deviations: Array, bounds: Bounds) -> Array:
    """Return the means of normal distributions after reflection into the bounds."""
    means = np.empty_like(Y)
    for c in range(Y.shape[1]):
        low, high = bounds.low[c], bounds.high[c]
        s = deviations[:, c]
        if not np.isfinite(low) and not np.isfinite(high):
            means[:, c] = Y[:, c]
            continue
        means[:, c] = 0.0
        for sign, shift in bounds.column_images(c, GAUSSIAN_REACH * float(s.max())):
            center = sign * Y[:, c] + shift
            a, b = (low - center) / s, (high - center) / s
            means[:, c] += center * (ndtr(b) - ndtr(a)) - s * (_normal(b) - _normal(a))
    return means


def _normal(u: Array) -> Array:
    return np.asarray(np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi))
