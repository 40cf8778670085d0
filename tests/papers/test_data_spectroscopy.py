"""Data spectroscopy: number of groups by eigenvectors without sign changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.bandwidth import spectroscopy
from mercer.eigen.dense import is_sign_free
from mercer.kernels import Gaussian
from papers.liang_2014.spectroscopy import find_groups


def mixture(seed, groups, distance, d=2):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(60 + 7 * i, d)) + distance * i for i in range(groups)])


def naive_groups(K):
    """Return the ranks of eigenvectors with min v > -ε or max v < ε, ε = max |v| / n."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    vectors = vectors[:, ::-1][:, : max(int(np.sqrt(n)), 200)]
    vectors = vectors[:, values[::-1][: vectors.shape[1]] > 1e-12 * values.max()]
    free = []
    for j, v in enumerate(vectors.T):
        slack = np.abs(v).max() / n
        if v.min() > -slack or v.max() < slack:
            free.append(j)
    largest = np.argmax(np.abs(vectors[:, free]), axis=1)
    fraction = np.bincount(largest, minlength=len(free)) / n
    return [free[i] + 1 for i in range(len(free)) if fraction[i] > 0.02]


@pytest.mark.parametrize(("groups", "distance"), [(1, 0), (2, 5.0), (3, 8.0), (4, 3.0)])
def test_groups_equal_a_naive_implementation(groups, distance):
    X = mixture(0, groups, distance)
    width = spectroscopy(X)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * width**2))
    found = find_groups(X, Gaussian(width))
    assert found.components.tolist() == naive_groups(K)
    assert found.n_groups == len(found.components)


def test_separated_groups_are_counted():
    found = find_groups(mixture(1, 5, 12.0, d=4), Gaussian("spectroscopy"))
    assert found.n_groups == 5
    assert_allclose(np.sort(found.fractions), np.arange(60, 89, 7) / 370, atol=0.05)


def test_groups_of_equal_size_are_counted():
    """Eigenvalues are tied: one basis of the eigenspace has a vector per group."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    copies = np.concatenate([X + 1024.0 * i for i in range(3)])
    assert find_groups(copies, Gaussian(1.0)).n_groups == 3


def test_sign_free_vectors():
    v = np.array([[1.0, 1.0, -1.0, 1.0], [0.1, -0.2, -0.1, -0.3], [0.0, 0.5, 0.2, 0.0]])
    # n = 3: entries of the other sign may be up to a third of the largest entry
    assert is_sign_free(v).tolist() == [True, True, True, True]
    assert is_sign_free(np.vstack([v, np.zeros((7, 4))])).tolist() == [True, False, False, False]
