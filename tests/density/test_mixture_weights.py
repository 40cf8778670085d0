"""Maximum-likelihood mixture weights: optimality conditions, and a naive EM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.density.mixture_weights import mixture_weights, stacking_weights
from mercer.kernels import Gaussian


def solved(K, proportions, tolerance=1e-6):
    found = mixture_weights(lambda rows: K[:, rows], lambda v: K @ v, proportions, tolerance)
    weights = np.zeros(len(K))
    weights[found.support] = found.weights
    return found, weights


def by_em(K, proportions, steps=3000):
    weights = np.full(len(K), 1 / len(K))
    for _ in range(steps):
        weights = weights * (K.T @ (proportions / (K @ weights)))
    return weights


@pytest.fixture(params=[0.05, 0.3, 1.0, 5.0])
def K(request):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(40, 1)), rng.normal(4, 0.3, size=(20, 1))])
    return Gaussian(request.param)(X)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_weights_satisfy_the_optimality_conditions(K, tolerance):
    proportions = np.random.default_rng(0).dirichlet(np.ones(60))
    found, weights = solved(K, proportions, tolerance)
    assert_allclose(weights.sum(), 1, rtol=1e-12)
    assert (found.weights > 0).all()
    assert (np.diff(found.support) > 0).all()
    gradient = K @ (proportions / (K @ weights))
    assert gradient.max() <= 1 + tolerance
    assert_allclose(found.gap, max(gradient.max() - 1, 0), atol=1e-12)


def test_likelihood_is_at_least_that_of_em(K):
    proportions = np.full(60, 1 / 60)
    _, weights = solved(K, proportions)
    slow = by_em(K, proportions)
    assert proportions @ np.log(K @ weights) >= proportions @ np.log(K @ slow) - 1e-6


def test_isolated_points_keep_their_proportions():
    proportions = np.array([0.1, 0.2, 0.3, 0.4])
    found, _ = solved(np.eye(4) + 1e-9, proportions)
    assert_allclose(found.weights, proportions, rtol=1e-6)
    assert_array_equal(found.support, np.arange(4))


def test_equal_columns_have_the_weight_of_one():
    K = Gaussian(0.5)(np.repeat([[0.0], [1.0], [3.0]], 5, axis=0))
    _, weights = solved(K, np.full(15, 1 / 15))
    once = solved(Gaussian(0.5)(np.array([[0.0], [1.0], [3.0]])), np.full(3, 1 / 3))[1]
    assert_allclose(weights.reshape(3, 5).sum(axis=1), once, atol=1e-4)


def test_weights_do_not_depend_on_the_scale_of_the_kernel(K):
    proportions = np.full(60, 1 / 60)
    expected = solved(K, proportions)[1]
    for scale in (1e-20, 1e20):
        assert_allclose(solved(scale * K, proportions)[1], expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_very_unequal_proportions(seed):
    """Observations with tiny weights need a positive density: log 0 is infinite."""
    rng = np.random.default_rng(seed)
    n = rng.integers(5, 80)
    X = rng.normal(size=(n, 2)) * np.exp(rng.normal(size=(n, 1)))
    proportions = rng.dirichlet(np.full(n, rng.choice([0.1, 0.3, 1, 10]))) + 1e-12
    proportions /= proportions.sum()
    K = Gaussian(np.exp(rng.uniform(-4, 1)))(X)
    found, weights = solved(K, proportions)
    assert (K @ (proportions / (K @ weights))).max() <= 1 + 1e-6
    assert found.gap <= 1e-6


def test_stacking_weights_maximize_the_likelihood():
    rng = np.random.default_rng(0)
    logs, weights = rng.normal(size=(50, 3)), rng.uniform(0.1, 2, 50)
    a = stacking_weights(logs, weights)
    value = weights @ np.log(np.exp(logs) @ a)
    others = rng.dirichlet(np.ones(3), size=2000)
    assert (weights @ np.log(np.exp(logs) @ others.T) <= value + 1e-6 * weights.sum()).all()


def test_a_member_that_excludes_rows_gets_no_weight():
    logs = np.log([[1.0, 0.5], [1.0, 0.5]])
    logs[0, 0] = -np.inf
    assert_allclose(stacking_weights(logs, np.ones(2)).sum(), 1.0)
