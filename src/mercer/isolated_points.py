"""Points without neighbours: where there are many, K is almost diagonal."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer.data import Points
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["ISOLATED_SHARE", "NEIGHBOUR", "isolated_share"]

NEIGHBOUR = 0.01  # of the kernel's largest value: from here on two points are neighbours
ISOLATED_SHARE = 0.05  # beyond which a fit warns
_ROWS = 200
_FIRST = 10_000
_CHUNK = 16_384


def isolated_share(sample: Sample) -> float:
    """Share of the points that have no neighbour with k > 0.01, among at most 200 of them."""
    n = sample.points.n
    if n < 3:
        return 0.0
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(int))
    lonely = rows
    # most points find a neighbour among a few; only those that do not are compared with all
    for step in dict.fromkeys((max(1, n // _FIRST), 1)):
        lonely = lonely[~_have_neighbours(sample, lonely, np.arange(0, n, step))]
        if len(lonely) == 0:
            return 0.0
    if sample.weights is not None:  # a weight of two is two copies: each has the other
        lonely = lonely[sample.weights[lonely] < 2]
    return len(lonely) / len(rows)


def _have_neighbours(sample: Sample, rows: Array, others: Array) -> Array:
    """Whether each of these rows has a neighbour among the others that is not itself."""
    if sample.points.is_chunked and len(others) == sample.points.n:
        some = sample.points.take(rows).data
        # itself is one of those that are near
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
    # roots first: products of large kernel values overflow
    sizes = np.outer(np.sqrt(np.abs(own)), np.sqrt(np.abs(theirs)))
    return np.asarray(np.abs(values) > NEIGHBOUR * sizes)


def _count_near(kernel: Kernel, some: Array, points: Points) -> Array:
    near = np.zeros(len(some), dtype=np.int64)
    own = kernel.diagonal(some)
    for _, chunk in points.chunks(_CHUNK):
        near += _are_near(kernel(some, chunk), own, kernel.diagonal(chunk)).sum(axis=1)
    return near
