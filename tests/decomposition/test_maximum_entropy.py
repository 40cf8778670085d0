"""Maximum entropy projections: gradients, information potential, uncorrelated outputs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from mercer import MaximumEntropyProjection
from mercer.datasets import make_two_gaussians
from mercer.decomposition.maximum_entropy import (
    Perceptron,
    _Objective,
    standardize,
    standardize_backward,
)
from mercer.information import information_potential
from mercer.kernels import Gaussian
from tests.expectations import raises

OUTPUTS = ["tanh", "standardized"]
every_output = pytest.mark.parametrize("output", OUTPUTS)

X, _ = make_two_gaussians((40, 40), random_state=0)


@every_output
@pytest.mark.parametrize("earlier", [0, 2])
def test_gradients_agree_with_finite_differences(output, earlier):
    rng = np.random.default_rng(0)
    weights = rng.random(len(X))
    weights /= weights.sum()
    network = Perceptron(2, 3)
    before = rng.normal(size=(len(X), earlier))
    objective = _Objective(network, X, weights, before, output, Gaussian(0.2))
    theta = rng.normal(size=network.size)
    _, gradient = objective(theta)
    numeric = approx_fprime(theta, lambda t: objective(t)[0], 1e-6)
    # the error of forward differences is 1e-6 times the second derivatives, here up to 100
    assert_allclose(gradient, numeric, atol=1e-4)


def test_steps_of_gradient_descent_are_the_rate_times_the_gradient():
    """A step has no fixed length: it is -η ∇V."""
    settings = {"optimizer": "gradient-descent", "learning_rate": 0.3, "random_state": 0}
    model = MaximumEntropyProjection(hidden_units=3, max_iter=3, **settings).fit(X)
    network, weights = Perceptron(2, 3), np.full(len(X), 1 / len(X))
    objective = _Objective(network, X, weights, np.empty((len(X), 0)), "tanh", Gaussian(0.2))
    theta = 0.5 * np.random.RandomState(0).standard_normal(network.size)
    curve, lengths = [objective(theta)[0]], []
    for _ in range(3):
        step = -0.3 * objective(theta)[1]
        theta = theta + step
        lengths.append(np.linalg.norm(step))
        curve.append(objective(theta)[0])
    assert_allclose(model.loss_curve_, curve, rtol=1e-9)
    assert max(lengths) > 1.5 * min(lengths)


@every_output
@pytest.mark.parametrize("optimizer", ["lbfgs", "gradient-descent"])
def test_information_potential_decreases(output, optimizer):
    model = MaximumEntropyProjection(
        output=output, optimizer=optimizer, max_iter=40, learning_rate=0.1, random_state=0
    )
    y = model.fit_transform(X)
    assert y.shape == (80, 1)
    found = information_potential(y, Gaussian(0.2), normalize=True)
    assert_allclose(model.information_potential_, found, rtol=1e-8)
    assert_allclose(model.loss_curve_[-1], found, rtol=1e-8)
    assert_allclose(model.loss_curve_[0], model.initial_information_potential_)
    assert model.information_potential_ < model.initial_information_potential_
    assert model.n_iter_ == len(model.loss_curve_) - 1 <= 40
    if output == "tanh":
        assert np.abs(y).max() <= 1
    else:
        assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-10)


@every_output
def test_several_outputs_are_uncorrelated(output):
    w = np.random.default_rng(0).integers(1, 4, len(X))
    model = MaximumEntropyProjection(3, output=output, max_iter=30, random_state=0)
    y = model.fit(X, sample_weight=w).transform(X)
    covariance = np.cov(y.T, fweights=w)
    assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-8)
    found = [
        information_potential(c[:, None], Gaussian(0.2), sample_weight=w, normalize=True)
        for c in y.T
    ]
    assert_allclose(model.information_potential_, found, rtol=1e-8)
    assert [len(c) > 1 for c in model.loss_curve_] == [True] * 3
    assert_array_equal(
        model.get_feature_names_out(), [f"maximumentropyprojection{i}" for i in range(3)]
    )


@every_output
def test_many_points_use_fourier_features(output):
    many, _ = make_two_gaussians((3000, 3000), random_state=0)
    rng = np.random.default_rng(0)
    network = Perceptron(2, 4)
    theta = 0.5 * rng.normal(size=network.size)
    weights = np.full(6000, 1 / 6000)
    objective = _Objective(network, many, weights, np.empty((6000, 0)), output, Gaussian(0.2))
    fast, slope = objective(theta)
    from mercer.information import potential

    z, H = network.forward(theta, many)
    if output == "tanh":
        y = np.tanh(z)
        value, pull = potential.gaussian_potential(y[:, None], np.array([0.2]), weights)
        expected = network.backward(theta, many, H, pull[:, 0] * (1 - y**2))
        scale = Gaussian(0.2).normalizer(1)
        assert_allclose(slope, expected / scale, atol=1e-9)
    else:
        y = (z - z.mean()) / z.std()
        value, _ = potential.gaussian_potential(y[:, None], np.array([0.2]), weights)
    assert_allclose(fast, value / Gaussian(0.2).normalizer(1), rtol=1e-9)


def test_invalid_parameters_raise():
    for name, value in [("hidden_units", 0), ("n_components", 0), ("max_iter", 1.5)]:
        with raises((TypeError, ValueError), f"{name}={value}", 1):
            MaximumEntropyProjection(**{name: value}).fit(X)
    for name in ("bandwidth", "learning_rate"):
        with raises(ValueError, f"{name}=-1", 0):
            MaximumEntropyProjection(**{name: -1}).fit(X)
    with raises(ValueError, "output='linear'", "'tanh'"):
        MaximumEntropyProjection(output="linear").fit(X)
    with raises(ValueError, "optimizer='adam'", "'lbfgs'"):
        MaximumEntropyProjection(optimizer="adam").fit(X)


# --- network --------------------------------------------------------------------------------


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
