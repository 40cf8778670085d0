"""Control charts of a series of scores: EWMA and one-sided CUSUM, and the delay of an alarm."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from mercer.utils.types import Array

__all__ = ["cusum", "detection_delay", "ewma"]


def ewma(scores: Array, smoothing: float, initial: float = 0.0) -> Array:
    """Return ``e_t = smoothing · s_t + (1 - smoothing) · e_{t-1}`` with ``e_{-1} = initial``.

    The last axis is time.

    References
    ----------
    Roberts, "Control chart tests based on geometric moving averages", Technometrics 1:239-250
    (1959).

    Examples
    --------
    >>> ewma(np.array([1.0, 1.0, 0.0]), 0.5)
    array([0.5  , 0.75 , 0.375])
    """
    decay = 1.0 - smoothing
    start = np.full((*scores.shape[:-1], 1), decay * initial)
    return np.asarray(lfilter([smoothing], [1.0, -decay], scores, zi=start)[0])


def cusum(scores: Array, allowance: float, initial: float = 0.0) -> Array:
    """Return ``c_t = max(0, c_{t-1} + s_t - allowance)`` with ``c_{-1} = initial``.

    It is the sum of the differences minus its smallest value so far. The last axis is time.

    References
    ----------
    Page, "Continuous inspection schemes", Biometrika 41:100-115 (1954).

    Examples
    --------
    >>> cusum(np.array([1.0, 1.0, -3.0, 1.0]), 0.5)
    array([0.5, 1. , 0. , 0.5])
    """
    sums = initial + np.cumsum(scores - allowance, axis=-1)
    return np.asarray(sums - np.minimum(np.minimum.accumulate(sums, axis=-1), 0.0))


def detection_delay(alarms: Array, start: int, n_consecutive: int = 1) -> int | None:
    """Return the number of rows from ``start`` to the first alarm, None without an alarm.

    Parameters
    ----------
    alarms : array of bool
    start : int
        Row at which the fault begins.
    n_consecutive : int
        Number of alarms in a row that count as a detection; the delay is that of the last of them.

    Examples
    --------
    >>> detection_delay(np.array([True, False, False, True, True]), start=2)
    1
    >>> detection_delay(np.array([True, False, False, True, True]), start=2, n_consecutive=2)
    2
    """
    after = np.asarray(alarms, dtype=bool)[start:]
    if n_consecutive > 1:
        counts = np.convolve(after, np.ones(n_consecutive, dtype=int))[: len(after)]
        found = np.flatnonzero(counts >= n_consecutive)
    else:
        found = np.flatnonzero(after)
    return int(found[0]) if len(found) else None
