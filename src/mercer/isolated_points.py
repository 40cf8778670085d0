"""Isolated points: if there are many, K is almost diagonal."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer.data import Points
from mercer.errors import IdentifiabilityWarning, suppressed, warn
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["MANY_ISOLATED", "NEIGHBOR_COSINE", "isolated_fraction", "warn_if_isolated"]

# Two points are neighbors if the cosine of their images, |k(x, y)| / √(k(x, x) k(y, y)), is larger.
NEIGHBOR_COSINE = 0.01
MANY_ISOLATED = 0.05  # fraction of the points above which a fit warns
_CHECKED_ROWS = 200
_FIRST_NEIGHBORS = 10_000
_CHUNK_ROWS = 16_384


def warn_if_isolated(sample: Sample) -> None:
    """Warn if many points are isolated, so that components may not be identifiable."""
    if issubclass(IdentifiabilityWarning, suppressed.get()):
        return
    isolated = isolated_fraction(sample)
    if isolated > MANY_ISOLATED:
        warn(
            f"{isolated:.0%} of the points are isolated (cosine with every other point in feature "
            f"space at most {NEIGHBOR_COSINE}): K is almost diagonal there, its eigenvalues are "
            "close to each other, and components may not be identifiable. Use a larger bandwidth, "
            "or standardize the columns.",
            IdentifiabilityWarning,
        )


def isolated_fraction(sample: Sample) -> float:
    """Return the fraction of isolated points among at most 200 of them.

    A point is isolated if ``|k(x, y)| ≤ 0.01 √(k(x, x) k(y, y))`` for all other points y.
    """
    n = sample.points.n
    if n < 3:
        return 0.0
    rows = np.unique(np.linspace(0, n - 1, min(n, _CHECKED_ROWS)).astype(int))
    isolated = rows
    # most points have a neighbor among a subset; only the others are compared with all
    for step in dict.fromkeys((max(1, n // _FIRST_NEIGHBORS), 1)):
        isolated = isolated[~_have_neighbors(sample, isolated, np.arange(0, n, step))]
        if len(isolated) == 0:
            return 0.0
    if sample.weights is not None:  # a weight of two equals two copies, which are neighbors
        isolated = isolated[sample.weights[isolated] < 2]
    return len(isolated) / len(rows)


def _have_neighbors(sample: Sample, rows: Array, others: Array) -> Array:
    """Return whether each of these rows has a neighbor among the others, itself excluded."""
    if sample.points.is_chunked and len(others) == sample.points.n:
        some = sample.points.take(rows).data
        # the point itself is counted too
        return np.asarray(sample.points.sum_rows(partial(_count_near, sample.kernel, some)) > 1)
    if sample.matrix is not None:
        values = sample.matrix[np.ix_(rows, others)]
        diagonal = sample.matrix.diagonal()
        own, theirs = diagonal[rows], diagonal[others]
    else:
        some, rest = sample.points.take(rows).data, sample.points.take(others).data
        values = sample.kernel(some, rest)
        own, theirs = sample.kernel.diagonal(some), sample.kernel.diagonal(rest)
    near = _are_near(values, own, theirs)
    near &= rows[:, None] != others
    return np.asarray(near.any(axis=1))


def _are_near(values: Array, own: Array, theirs: Array) -> Array:
    # square roots first, because products of large kernel values overflow
    norms = np.outer(np.sqrt(np.abs(own)), np.sqrt(np.abs(theirs)))
    return np.asarray(np.abs(values) > NEIGHBOR_COSINE * norms)


def _count_near(kernel: Kernel, some: Array, points: Points) -> Array:
    near = np.zeros(len(some), dtype=np.int64)
    own = kernel.diagonal(some)
    for _, chunk in points.chunks(_CHUNK_ROWS):
        near += _are_near(kernel(some, chunk), own, kernel.diagonal(chunk)).sum(axis=1)
    return near
