"""Samples, a naive cost and a kernel on strings for tests of EntropyClustering."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.kernels import Kernel

__all__ = ["Letters", "blobs", "naive_costs", "quiet", "same_partition"]

quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def blobs(seed=0, sizes=(25, 18, 12), spread=1.0, d=2):
    """Return up to three normal groups of these sizes."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0, 0], [4, 0, 2], [0, 4, -3]])[: len(sizes), :d]
    return np.repeat(centers, sizes, axis=0) + spread * rng.normal(size=(sum(sizes), d))


def same_partition(one, other):
    """Assert that labels agree up to their numbering."""
    one, other = np.asarray(one), np.asarray(other)
    assert_array_equal(one == -1, other == -1)
    assert_array_equal(one[:, None] == one, other[:, None] == other)


def naive_costs(K, Z, labels, weights=None):
    """Return J of eq. (28) in feature space and in component space, by sums over pairs.

    A point without a cluster adds its weight, like a point in the direction of the mean.
    """
    w = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    result = []
    for G in (K, Z @ Z.T):
        total = sum(w[s] * w[t] * G[s, t] for s in range(len(G)) for t in range(len(G)))
        J = 0.0
        for c in set(labels) - {-1}:
            own = np.flatnonzero(labels == c)
            inner = sum(w[s] * w[t] * G[s, t] for s in own for t in own)
            outer = sum(w[s] * w[t] * G[s, t] for s in own for t in range(len(G)))
            J += w[own].sum() * outer / np.sqrt(inner * total)
        result.append(J + w[np.asarray(labels) == -1].sum())
    return result


class Letters(Kernel):
    """Fraction of common letters (Jaccard): a kernel on strings."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len({*x} & {*y}) / len({*x} | {*y}) for y in Y] for x in X])
