"""Conditional means and reduced distances against direct computations."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.monitoring.process_distance import conditional_fill, reduced_distances

RNG = np.random.default_rng(0)
MIXING = RNG.normal(size=(5, 5))
COVARIANCE = MIXING @ MIXING.T + 0.1 * np.eye(5)
PRECISION = np.linalg.inv(COVARIANCE)


def test_missing_values_become_conditional_means():
    mean = RNG.normal(size=5)
    X = RNG.multivariate_normal(mean, COVARIANCE, size=8)
    X[0, [1, 3]] = X[1, [1, 3]] = X[2, 0] = np.nan
    X[3] = np.nan
    filled = conditional_fill(X, mean, PRECISION)
    for x, found in zip(X, filled, strict=True):
        J, known = np.isnan(x), ~np.isnan(x)
        expected = x.copy()
        weights = COVARIANCE[np.ix_(J, known)] @ np.linalg.pinv(COVARIANCE[np.ix_(known, known)])
        expected[J] = mean[J] + weights @ (x - mean)[known]
        assert_allclose(found, expected, rtol=1e-9)


def test_reduced_distance_is_the_distance_minus_that_with_unknown_columns():
    X = RNG.normal(size=(6, 5))
    groups = np.array([0, 1, 0, 2, 1])
    found = reduced_distances(X, PRECISION, groups)

    def distances(rows):
        return np.einsum("ij,jk,ik->i", rows, PRECISION, rows)

    for j in range(3):
        unknown = X.copy()
        unknown[:, groups == j] = np.nan
        without = conditional_fill(unknown, np.zeros(5), PRECISION)
        assert_allclose(found[:, j], distances(X) - distances(without), rtol=1e-8, atol=1e-10)
