"""Modes of a density by mean shift."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.kernels.densities import LogDerivatives
from mercer.utils.types import Array

__all__ = ["Climb", "climb", "find_modes"]

_COARSE = 1e-2  # step, in bandwidths, at which climbs that meet are joined
_MEETING = 0.3  # distance, in bandwidths, of such climbs
_PERTURBATION = 0.05  # in bandwidths, to leave saddle points

Derivatives = Callable[[Array], LogDerivatives]
Climb = tuple[Array, LogDerivatives, Array]


def climb(derivatives: Derivatives, starts: Array, tol: float, max_iter: int) -> Climb:
    """Follow the mean shift ``x + C⁻¹ ∇ log p`` until steps are shorter than ``tol`` bandwidths.

    A step that would decrease the density is halved.

    Returns
    -------
    points : array of shape (m, d)
    derivatives : LogDerivatives
        At the points.
    converged : array of bool
    """
    X = starts.copy()
    current = _copied(derivatives(X))
    scale = np.ones(len(X))
    active = np.ones(len(X), dtype=bool)
    for _ in range(max_iter):
        rows = np.flatnonzero(active)
        steps, lengths = _steps(_rows(current, rows))
        moving = (lengths > tol) & (scale[rows] > 1e-8)
        active[rows[~moving]] = False
        rows, steps = rows[moving], steps[moving]
        if len(rows) == 0:
            break
        proposed = X[rows] + scale[rows, None] * steps
        found = derivatives(proposed)
        better = found.logs >= current.logs[rows]
        chosen = rows[better]
        X[chosen] = proposed[better]
        assert current.precisions is not None
        assert found.precisions is not None
        current.logs[chosen], current.gradient[chosen] = found.logs[better], found.gradient[better]
        current.precisions[chosen] = found.precisions[better]
        scale[chosen] = 1.0
        scale[rows[~better]] *= 0.5
    return X, current, ~active


def find_modes(
    derivatives: Derivatives, starts: Array, *, tol: float, max_iter: int, merge: float
) -> tuple[Array, Array, Array, bool]:
    """Return the local maxima that the starts lead to.

    Parameters
    ----------
    derivatives : callable
    starts : array of shape (m, d)
    tol : float
        Length of a step, in bandwidths, at which an iteration has converged.
    max_iter : int
    merge : float
        Distance in bandwidths below which two maxima are one.

    Returns
    -------
    modes : array of shape (k, d)
        The highest first.
    logs : array of shape (k,)
        Their log densities, up to a constant.
    labels : array of int of shape (m,)
        The mode of every start.
    converged : bool
    """
    first = climb(derivatives, starts, _COARSE, max_iter)
    representatives, groups = _merge(first, _MEETING)
    X, at, _ = climb(derivatives, first[0][representatives], tol, max_iter)
    # a start on a line of symmetry can end in a saddle point
    noise = np.random.default_rng(0).standard_normal(X.shape)
    assert at.precisions is not None
    shift = np.linalg.solve(np.swapaxes(np.linalg.cholesky(at.precisions), 1, 2), noise[..., None])
    again = climb(derivatives, X + _PERTURBATION * shift[..., 0], tol, max_iter)
    chosen, labels = _merge(again, merge)
    return again[0][chosen], again[1].logs[chosen], labels[groups], bool(again[2].all())


def _steps(at: LogDerivatives) -> tuple[Array, Array]:
    """Return the steps of the mean shift and their lengths in bandwidths."""
    assert at.precisions is not None
    steps = np.linalg.solve(at.precisions, at.gradient[..., None])[..., 0]
    return steps, np.sqrt(np.maximum((steps * at.gradient).sum(axis=1), 0))


def _merge(found: Climb, radius: float) -> tuple[Array, Array]:
    """Return the indices of the highest points that differ, and the group of every point."""
    X, at, _ = found
    assert at.precisions is not None
    labels = np.full(len(X), -1)
    chosen: list[int] = []
    for index in np.argsort(-at.logs, kind="stable"):
        if labels[index] >= 0:
            continue
        free = np.flatnonzero(labels < 0)
        differences = X[free] - X[index]
        squares = np.einsum("ic,cd,id->i", differences, at.precisions[index], differences)
        labels[free[squares <= radius**2]] = len(chosen)
        labels[index] = len(chosen)
        chosen.append(int(index))
    return np.array(chosen), labels


def _rows(at: LogDerivatives, rows: Array) -> LogDerivatives:
    assert at.precisions is not None
    return LogDerivatives(at.logs[rows], at.gradient[rows], at.precisions[rows])


def _copied(at: LogDerivatives) -> LogDerivatives:
    assert at.precisions is not None
    return LogDerivatives(at.logs.copy(), at.gradient.copy(), at.precisions.copy())
