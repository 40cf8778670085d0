"""Gradients of the network and of standardising, against differences."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.maths.perceptron import Perceptron, standardize, standardize_backward


def numerical(function, at, step=1e-6):
    """Central differences, one coordinate after the other."""
    slopes = []
    for direction in np.eye(len(at)):
        ahead, behind = function(at + step * direction), function(at - step * direction)
        slopes.append((ahead - behind) / (2 * step))
    return np.array(slopes)


def test_forward_is_its_formula(rng):
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


def test_standardize(rng):
    z, shares = rng.normal(3, 2, size=6), rng.dirichlet(np.ones(6))
    y, mean, deviation = standardize(z, shares)
    assert_allclose(shares @ y, 0, atol=1e-14)
    assert_allclose(shares @ y**2, 1)
    assert_allclose(mean, shares @ z)
    assert_allclose(y * deviation + mean, z)


def test_standardize_backward_is_the_gradient(rng):
    z, shares, slope = rng.normal(3, 2, size=6), rng.dirichlet(np.ones(6)), rng.normal(size=6)
    y, _, deviation = standardize(z, shares)
    expected = numerical(lambda z: slope @ standardize(z, shares)[0], z)
    assert_allclose(standardize_backward(y, shares, deviation, slope), expected, atol=1e-8)


def test_what_does_not_vary_stays_finite():
    shares = np.full(3, 1 / 3)
    y, mean, deviation = standardize(np.full(3, 2.0), shares)
    assert (y == 0).all()
    assert (mean, deviation) == (2, 0)
    assert np.isfinite(standardize_backward(y, shares, deviation, np.zeros(3))).all()
