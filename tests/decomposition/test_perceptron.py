"""Gradients of the network and of standardization, compared with finite differences."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.decomposition.perceptron import Perceptron, standardize, standardize_backward


def numerical(function, at, step=1e-6):
    """Return the gradient by central differences."""
    slopes = []
    for direction in np.eye(len(at)):
        ahead, behind = function(at + step * direction), function(at - step * direction)
        slopes.append((ahead - behind) / (2 * step))
    return np.array(slopes)


def test_forward_equals_its_formula(rng):
    net, X = Perceptron(2, 3), rng.normal(size=(5, 2))
    assert net.size == 2 * 3 + 3 + 3 + 1
    theta = rng.normal(size=net.size)
    A, a, b, c = theta[:6].reshape(2, 3), theta[6:9], theta[9:12], theta[12]
    z, H = net.forward(theta, X)
    for row, output, hidden in zip(X, z, H, strict=True):
        assert_allclose(hidden, np.tanh(row @ A + a))
        assert_allclose(output, np.tanh(row @ A + a) @ b + c)


def test_backward_is_the_gradient(rng):
    net, X, slope = Perceptron(2, 3), rng.normal(size=(5, 2)), rng.normal(size=5)
    theta = rng.normal(size=net.size)
    _, H = net.forward(theta, X)
    expected = numerical(lambda theta: slope @ net.forward(theta, X)[0], theta)
    assert_allclose(net.backward(theta, X, H, slope), expected, atol=1e-8)


def test_standardized_values_have_mean_0_and_variance_1(rng):
    z, weights = rng.normal(3, 2, size=6), rng.dirichlet(np.ones(6))
    y, mean, deviation = standardize(z, weights)
    assert_allclose(weights @ y, 0, atol=1e-14)
    assert_allclose(weights @ y**2, 1)
    assert_allclose(mean, weights @ z)
    assert_allclose(y * deviation + mean, z)


def test_standardize_backward_is_the_gradient(rng):
    z, weights, slope = rng.normal(3, 2, size=6), rng.dirichlet(np.ones(6)), rng.normal(size=6)
    y, _, deviation = standardize(z, weights)
    expected = numerical(lambda z: slope @ standardize(z, weights)[0], z)
    assert_allclose(standardize_backward(y, weights, deviation, slope), expected, atol=1e-8)


def test_standardized_constant_values_and_their_gradient_are_zero():
    weights = np.full(3, 1 / 3)
    y, mean, deviation = standardize(np.full(3, 2.0), weights)
    assert (y == 0).all()
    assert (mean, deviation) == (2, 0)
    assert (standardize_backward(y, weights, deviation, np.zeros(3)) == 0).all()
