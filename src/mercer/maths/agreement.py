"""How far two partitions agree."""

from __future__ import annotations

import numpy as np

from mercer.maths.types import Array

__all__ = ["adjusted_rand_index"]


def adjusted_rand_index(one: Array, other: Array, weights: Array | None = None) -> float:
    """Rand index adjusted for chance (Hubert and Arabie 1985); weights count as copies.

    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    first, second = (np.unique(labels, return_inverse=True)[1] for labels in (one, other))
    shape = first.max() + 1, second.max() + 1
    counts = np.bincount(np.ravel_multi_index((first, second), shape), weights, np.prod(shape))
    table = counts.reshape(shape)
    together = _pairs(table).sum()
    in_one, in_other = _pairs(table.sum(axis=1)).sum(), _pairs(table.sum(axis=0)).sum()
    expected = in_one * in_other / max(_pairs(table.sum()), np.finfo(float).tiny)
    most = 0.5 * (in_one + in_other)
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _pairs(n: Array) -> Array:
    return np.asarray(0.5 * n * (n - 1))
