"""The bandwidth of data spectroscopy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from mercer import bandwidth
from mercer.utils.quantiles import weighted_quantile


def naive_bandwidth(X):
    """Return the 95 % quantile over i of the 5 % quantile over j of |x_i - x_j|, over √χ²."""
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = np.quantile(distances, 0.05, axis=1)
    return np.quantile(near, 0.95) / np.sqrt(chi2.ppf(0.95, X.shape[1]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "d"), [(2, 1), (21, 2), (60, 5), (150, 3)])
def test_bandwidth_equals_a_naive_implementation(seed, n, d):
    X = np.random.default_rng(seed).normal(size=(n, d))
    if n == 2:  # the 5 % quantile is a twentieth of the distance
        distance = np.linalg.norm(X[0] - X[1])
        assert_allclose(bandwidth.spectroscopy(X), 0.05 * distance / np.sqrt(chi2.ppf(0.95, d)))
    assert_allclose(bandwidth.spectroscopy(X), naive_bandwidth(X), rtol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_bandwidth_with_weights_equals_copies(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    weights = rng.integers(0, 4, size=40)
    copies = np.repeat(X, weights, axis=0)
    assert_allclose(bandwidth.spectroscopy(X, weights), naive_bandwidth(copies), rtol=1e-10)
    assert_allclose(bandwidth.spectroscopy(copies), naive_bandwidth(copies), rtol=1e-10)


def test_bandwidth_of_mostly_equal_rows_is_positive():
    X = np.zeros((100, 2))
    X[0] = 1.0
    assert bandwidth.spectroscopy(X) > 0


@pytest.mark.parametrize("level", [0.0, 0.05, 0.29, 0.5, 0.57, 0.95, 1.0])
def test_weighted_quantiles_equal_those_of_copies(level):
    """For many numbers of copies: level · (n - 1) may round to just below an integer."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=7)
    for _ in range(200):
        weights = rng.integers(0, 40, size=7)
        if weights.sum() == 0:
            continue
        expected = np.quantile(np.repeat(values, weights), level)
        found = weighted_quantile(values, weights.astype(float), level)
        assert_allclose(found, expected, atol=1e-9)
