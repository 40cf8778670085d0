"""Modes of differences: products with K agree with exact features."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.diversity.differences import feature_modes, gram_modes
from mercer.kernels import Gaussian


def exact_features(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def check(K, n, n_modes=4):
    features = exact_features(K)
    expected = feature_modes(features, n, n_modes, np.random.default_rng(0))
    *found, residual = gram_modes(lambda V: K @ V, len(K), n, n_modes, np.random.default_rng(0))
    assert residual < 1e-6
    for ours, theirs in zip(found, expected, strict=True):
        theirs = [mode for mode in theirs if mode.eigenvalue > 1e-7]
        assert_allclose(
            [mode.eigenvalue for mode in ours], [mode.eigenvalue for mode in theirs], rtol=1e-6
        )
        for one, other in zip(ours, theirs, strict=True):
            assert one.representatives[0] == other.representatives[0]
    return found


def test_products_and_features_give_the_same_modes(rng):
    X = rng.normal(size=(150, 3))
    X[60:90] = 6 + 0.1 * X[60:90]  # only in the second sample
    novel, lost = check(Gaussian(1.0)(X), 60)
    assert novel[0].significant
    assert not lost[-1].significant


def test_kernel_of_low_rank(rng):
    F = rng.normal(size=(60, 3))
    F[30:, 0] *= 3
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    novel, lost = check(F @ F.T, 30)
    assert len(novel) + len(lost) == 3


def test_equal_samples_have_no_modes(rng):
    X = rng.normal(size=(40, 2))
    K = Gaussian(1.0)(np.r_[X, X])
    assert check(K, 40) == [[], []]
