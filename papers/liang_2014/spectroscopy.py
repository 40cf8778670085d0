"""Data spectroscopy: the number of groups from eigenvectors that do not change sign.

Under a mixture of well separated parts the first eigenfunction of each part's kernel operator is
close to an eigenfunction of the mixture, and only these do not change sign (Shi, Belkin and Yu
2009; Liang 2014, section 2.3.2).
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from mercer import KernelPCA
from mercer.eigen.dense import TIE, is_sign_free, tie_groups
from mercer.errors import suppress_warnings
from mercer.kernels import Kernel
from papers.types import Array

__all__ = ["Groups", "find_groups", "separate_ties"]

_N_LEADING = 200
# An isolated point also has an eigenvector without sign change, so a group needs more points.
_MIN_FRACTION = 0.02


class Groups(NamedTuple):
    """The number of groups, the 1-based ranks of their eigenvectors, and fractions of points."""

    n_groups: int
    components: Array
    fractions: Array


def find_groups(X: Array, kernel: Kernel) -> Groups:
    """Count eigenvectors of the uncentered Gram matrix without a change of sign.

    An eigenvector counts if no entry of the opposite sign exceeds 1/n of the largest entry, and if
    it has the largest entry (among those eigenvectors) at more than 2 % of the points.
    """
    with suppress_warnings():
        pca = KernelPCA(None, kernel=kernel, center=False, solver="dense").fit(X)
    count = max(isqrt(len(X)), _N_LEADING)
    values = pca.spectrum_.eigenvalues[:count]
    vectors = separate_ties(values, pca.spectrum_.eigenvectors[:, :count], TIE * values[0])
    same_sign = np.flatnonzero(is_sign_free(vectors))
    largest = np.argmax(np.abs(vectors[:, same_sign]), axis=1)
    fractions = np.bincount(largest, minlength=len(same_sign)) / len(X)
    groups = np.flatnonzero(fractions > _MIN_FRACTION)
    return Groups(len(groups), same_sign[groups] + 1, fractions[groups])


def separate_ties(values: Array, vectors: Array, tolerance: float) -> Array:
    """Replace tied vectors by a basis of their space with few non-zero rows in common.

    If the space is spanned by vectors with disjoint supports, such as the indicators of equal
    groups, the result consists of these vectors.
    """
    vectors = vectors.copy()
    for group in tie_groups(values, tolerance):
        space = vectors[:, group]
        pivots = qr(space.T, mode="r", pivoting=True)[1][: space.shape[1]]
        basis = np.linalg.solve(space[pivots].T, space.T).T
        vectors[:, group] = basis / np.linalg.norm(basis, axis=0)
    return vectors
