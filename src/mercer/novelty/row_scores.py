r"""Leave-one-out density scores: how dissimilar each row is to all others.

The score of row i is minus the logarithm of its mean similarity to the other rows,

.. math:: s_i = -\log \frac{1}{n - 1} \sum_{j \ne i} k(x_i, x_j).

It is defined for every kernel with :math:`k(x, x) = 1`. For a density kernel,
:math:`-s_i - \log \int k` is the log density at :math:`x_i` of the Parzen estimate from the other
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.subsampling import take_rows
from mercer.density.parzen_density import ParzenDensity
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel
from mercer.utils.estimators import ignore_underflow
from mercer.utils.types import Array

__all__ = ["leave_one_out_scores", "mean_similarity_scores"]

_BLOCK = 1000
_DENSITY_BLOCK = 100_000
# If the other rows sum to less, subtracting k(x, x) = 1 from the sum over all rows is inaccurate.
_ISOLATED = 0.01
_ISOLATED_BLOCK = 5000  # isolated rows that are compared pair by pair
_TINY = float(np.finfo(np.float64).tiny)


@ignore_underflow
def leave_one_out_scores(data: Any, kernel: Kernel, reference: Array | None = None) -> Array:
    """Return minus the logarithm of each row's mean similarity to the other rows.

    Parameters
    ----------
    data : array of shape (n, d) or data frame
        For an array the kernel must be a density kernel (Gaussian, Laplacian, Matern or a sum of
        them); scores are then exact even where every kernel value underflows. For a data frame
        scores above 708 (underflow) are clipped to 708.
    kernel : Kernel
        A fitted kernel with k(x, x) = 1.
    reference : int array or None
        Indices of the rows to compare with, without repetition; None for all.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.novelty.row_scores import leave_one_out_scores
    >>> leave_one_out_scores(np.array([[0.0], [0.0], [2.0]]), Gaussian(1.0)).round(3)
    array([0.566, 0.566, 2.   ])
    """
    reference = np.arange(len(data)) if reference is None else np.asarray(reference)
    if len(reference) < 2:
        raise ValueError(
            f"Leave-one-out scores require at least 2 reference rows; got {len(reference)}."
        )
    if hasattr(data, "iloc"):
        return _frame_scores(data, kernel, reference)
    return _vector_scores(data, kernel, reference)


@ignore_underflow
def mean_similarity_scores(data: Any, kernel: Kernel, reference: Any) -> Array:
    """Return minus the logarithm of each row's mean similarity to the reference rows.

    Parameters
    ----------
    data, reference : arrays of shape (n, d) and (m, d), or data frames
    kernel : Kernel
        As in :func:`leave_one_out_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.novelty.row_scores import mean_similarity_scores
    >>> mean_similarity_scores(np.array([[60.0]]), Gaussian(1.0), np.zeros((1, 1)))
    array([1800.])
    """
    if hasattr(data, "iloc"):
        return np.asarray(-np.log(np.maximum(kernel(data, reference).mean(axis=1), _TINY)))
    with suppress_warnings():  # already issued by the fit to all rows
        return -_log_means(data, reference, kernel)


def _log_means(data: Array, reference: Array, kernel: Kernel) -> Array:
    """Return the logarithm of the mean similarity to the reference rows, without underflow."""
    with suppress_warnings():  # the kernel is given
        density = ParzenDensity(kernel=kernel).fit(reference)
    blocks = [
        density.score_samples(data[i : i + _DENSITY_BLOCK])
        for i in range(0, len(data), _DENSITY_BLOCK)
    ]
    return np.asarray(np.concatenate(blocks) + kernel.log_normalizer(data.shape[1]))


def _vector_scores(data: Array, kernel: Kernel, reference: Array) -> Array:
    log_means = _log_means(data, data[reference], kernel)
    m = len(reference)
    sums = m * np.exp(log_means[reference]) - 1
    isolated = reference[sums < _ISOLATED]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_means[reference] = np.log(sums / (m - 1))
    for start in range(0, len(isolated), _ISOLATED_BLOCK):
        group = isolated[start : start + _ISOLATED_BLOCK]
        log_means[group] = _exact_log_sums(data, kernel, reference, group) - np.log(m - 1)
    return -log_means


def _exact_log_sums(data: Array, kernel: Kernel, reference: Array, group: Array) -> Array:
    """Return the log of the sum of similarities of each group row to the other reference rows.

    Reference rows outside of the group are summed by a density estimate, and pairs within the group
    directly, so that k(x, x) need not be subtracted.
    """
    log_sums = _pairwise_log_sums(data[group], kernel)
    others = np.setdiff1d(reference, group)
    if len(others):
        with suppress_warnings():
            outside = _log_means(data[group], data[others], kernel) + np.log(len(others))
        log_sums = np.logaddexp(log_sums, outside)
    return log_sums


def _pairwise_log_sums(rows: Array, kernel: Kernel) -> Array:
    """Return ``log Σ_{j≠i} k(x_i, x_j)`` for every row; -inf for a single row."""
    tiles = kernel.log_tiles(rows, rows.copy())  # a copy, so that the diagonal is not special
    sums = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(rows)))
        logs = np.asarray(tiles(block, slice(0, len(rows)), None), dtype=np.float64)
        logs[np.arange(len(logs)), np.arange(block.start, block.stop)] = -np.inf
        sums[block] = np.logaddexp.reduce(logs, axis=1)
    return sums


def _frame_scores(frame: Any, kernel: Kernel, reference: Array) -> Array:
    others = take_rows(frame, reference)
    position = np.full(len(frame), -1)
    position[reference] = np.arange(len(reference))
    scores = np.empty(len(frame))
    for start in range(0, len(frame), _BLOCK):
        rows = slice(start, start + _BLOCK)
        K = np.array(kernel(frame.iloc[rows].reset_index(drop=True), others))
        own = position[rows]
        is_reference = own >= 0
        K[np.flatnonzero(is_reference), own[is_reference]] = 0
        count = len(reference) - is_reference
        scores[rows] = -np.log(np.maximum(K.sum(axis=1) / count, _TINY))
    return scores
