r"""Derivatives of log densities that are weighted sums of kernels.

For :math:`p(x) = \sum_j a_j k_j(x)` with :math:`\nabla \log k_j(x) = C_j(x)\,(x_j - x)`,

.. math:: \nabla \log p = \sum_j r_j C_j\, (x_j - x), \qquad r_j = a_j k_j(x) / p(x),

and :math:`x + (\sum_j r_j C_j)^{-1} \nabla \log p` is a step of the mean shift.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mercer.utils.types import Array

__all__ = [
    "LogDerivatives",
    "block_rows",
    "concatenate",
    "join_derivatives",
    "radial_derivatives",
    "term_fractions",
]


_ENTRIES_PER_BLOCK = 2_000_000


class LogDerivatives(NamedTuple):
    """Log density (up to a constant), its gradient and the matrices of the mean shift.

    Attributes
    ----------
    logs : array of shape (m,)
    gradient : array of shape (m, d)
    precisions : array of shape (m, d, d) or None
        ``Σ_j r_j C_j``; None if a kernel is not differentiable.
    """

    logs: Array
    gradient: Array
    precisions: Array | None

    def in_coordinates(self, T: Array) -> LogDerivatives:
        """Return the derivatives with respect to x, if these are with respect to ``x T``."""
        precisions = None if self.precisions is None else T @ self.precisions @ T.T
        return LogDerivatives(self.logs, self.gradient @ T.T, precisions)


def radial_derivatives(
    U: Array, V: Array, logs: Array, slopes: Array, signs: Array
) -> LogDerivatives:
    """Return the derivatives with respect to U for ``C_j = slopes_ij I``.

    Parameters
    ----------
    U : array of shape (m, d)
    V : array of shape (n, d)
    logs : array of shape (m, n)
        ``log |a_j k_j|``; overwritten.
    slopes : array of shape (m, n) or (n,)
    signs : array of shape (n,)
        Signs of the a_j.
    """
    total, shares = term_fractions(logs, signs)
    shares *= slopes
    sums = shares.sum(axis=1)
    gradient = shares @ V - sums[:, None] * U
    return LogDerivatives(total, gradient, sums[:, None, None] * np.eye(U.shape[1]))


def join_derivatives(parts: list[LogDerivatives]) -> LogDerivatives:
    """Return the derivatives of the logarithm of a sum of positive functions."""
    if len(parts) == 1:
        return parts[0]
    logs, shares = term_fractions(
        np.stack([part.logs for part in parts], axis=1), np.ones(len(parts))
    )
    gradient = np.zeros_like(parts[0].gradient)
    precisions: Array | None = None
    if all(part.precisions is not None for part in parts):
        precisions = np.zeros((*gradient.shape, gradient.shape[1]))
    for share, part in zip(shares.T, parts, strict=True):
        used = share != 0  # the derivatives of a part that is 0 are not defined
        gradient[used] += share[used, None] * part.gradient[used]
        if precisions is not None and part.precisions is not None:
            precisions[used] += share[used, None, None] * part.precisions[used]
    return LogDerivatives(logs, gradient, precisions)


def block_rows(n: int, entries_per_row: int) -> Iterator[slice]:
    """Yield ranges of n rows, each with a limited number of entries."""
    step = max(1, _ENTRIES_PER_BLOCK // max(entries_per_row, 1))
    for first in range(0, n, step):
        yield slice(first, first + step)


def concatenate(parts: list[LogDerivatives]) -> LogDerivatives:
    """Join the derivatives at several blocks of rows."""
    precisions: Array | None = None
    if parts[0].precisions is not None:
        precisions = np.concatenate([part.precisions for part in parts])
    logs = np.concatenate([part.logs for part in parts])
    return LogDerivatives(logs, np.concatenate([part.gradient for part in parts]), precisions)


def term_fractions(logs: Array, signs: Array) -> tuple[Array, Array]:
    """Return ``log Σ_j s_j exp(l_j)`` (NaN if the sum is not positive) and the terms' shares."""
    top = logs.max(axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    terms = np.exp(logs - top[:, None]) * signs
    sums = terms.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms /= sums[:, None]
        return np.log(sums) + top, np.asarray(terms)
