"""Densities of y given x from a joint mixture with a kernel on y."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import JointMixtureDensity, JointMixtureRegressor
from mercer.kernels import Gaussian
from tests.expectations import raises


def sine(seed, n=200, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def two_branches(seed, n=200):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, 1))
    sign = np.where(rng.random(n) < 0.5, 1, -1)
    return X, sign * (1.5 + np.sin(X[:, 0])) + 0.15 * rng.normal(size=n)


def covered(model, X, y, level):
    low, high = model.predict_interval(X, level).T
    return ((low <= y) & (y <= high)).mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_density_equals_the_conditional_of_a_gaussian_in_feature_space(weighted):
    """Schur complement of the covariance of the joint features, from eigenvectors of both K."""
    X, y = sine(0, 30)
    w = np.random.default_rng(0).integers(1, 3, size=30) if weighted else np.ones(30, dtype=int)
    new, alpha, beta = np.array([[1.0], [4.5], [9.0]]), 2.0, 1.0
    model = JointMixtureDensity(
        kernel=Gaussian(1.5), y_kernel=Gaussian(0.5), alpha=alpha, beta=beta
    ).fit(X, y, sample_weight=w)

    X, y = np.repeat(X, w, axis=0), np.repeat(y, w)
    n, scale = len(y), y.std()
    nodes = model.y_nodes_[:, None] / scale
    features = []
    for k, train, points in (
        (Gaussian(1.5), X, [X, new]),
        (Gaussian(0.5), y[:, None] / scale, [y[:, None] / scale, nodes]),
    ):
        values, vectors = np.linalg.eigh(k(train))
        used = values > 1e-9 * values[-1]
        coordinates = [k(p, train) @ vectors[:, used] / np.sqrt(values[used]) for p in points]
        features.append([*coordinates, 1 - (coordinates[1] ** 2).sum(axis=1)])
    (Z, z, _), (T, t, outside) = features
    joint = np.hstack([4 * Z, T])
    mean = joint.mean(axis=0)
    S = (joint - mean).T @ (joint - mean)
    Sigma = (S + alpha * np.eye(len(S))) / (n + beta)
    r = Z.shape[1]
    slope = np.linalg.solve(Sigma[:r, :r], Sigma[:r, r:])
    C = np.linalg.inv(Sigma[r:, r:] - slope.T @ Sigma[:r, r:])
    expected = []
    for row in z:
        d = t - mean[r:] - (4 * row - mean[:r]) @ slope
        logs = -0.5 * (np.einsum("ij,jk,ik->i", d, C, d) + outside / (alpha / (n + beta)))
        p = np.exp(logs - logs.max())
        expected.append(p / p.sum() / (model.y_nodes_[1] - model.y_nodes_[0]))
    assert_allclose(model.pdf(new), expected, rtol=1e-3, atol=1e-4)


def test_density_is_normalized_and_consistent_with_predictions():
    X, y = two_branches(0)
    model = JointMixtureDensity().fit(X, y)
    p, nodes = model.pdf(X[:5]), model.y_nodes_
    step = nodes[1] - nodes[0]
    assert_allclose(p.sum(axis=1) * step, 1)
    assert_allclose(model.predict(X[:5]), p @ nodes * step)
    assert_allclose(
        model.log_density(X[:5], nodes[[10, 50, 200, 300, 399]]),
        np.log(p[np.arange(5), [10, 50, 200, 300, 399]]),
    )
    quantiles = model.predict_quantiles(X[:5], [0.1, 0.5, 0.9])
    for row, density in zip(quantiles, p, strict=True):
        below = np.interp(row, nodes + step / 2, np.cumsum(density) * step)
        assert_allclose(below, [0.1, 0.5, 0.9], atol=1e-6)
    assert model.log_density(X[:1], [100.0])[0] == -np.inf


def test_two_branches_give_two_modes():
    """A Gaussian cannot; the held-out log-density is larger by more than one nat."""
    X, y = two_branches(0)
    model = JointMixtureDensity().fit(X, y)
    new_X, new_y = two_branches(1, 500)
    gaussian = JointMixtureRegressor().fit(X, y)
    gain = model.log_density(new_X, new_y).mean() - gaussian.log_density(new_X, new_y).mean()
    assert gain > 1
    p, nodes = model.pdf([[1.5]])[0], model.y_nodes_
    center = p[np.abs(nodes) < 0.5].max()
    assert p[(nodes > 2) & (nodes < 3)].max() > 3 * center
    assert p[(nodes < -2) & (nodes > -3)].max() > 3 * center


@pytest.mark.slow
@pytest.mark.parametrize("make", [sine, two_branches])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_coverage_of_intervals(make, level):
    """Mean over six samples of 200 rows; the standard error is about 0.01."""
    found = []
    for seed in range(6):
        model = JointMixtureDensity().fit(*make(seed))
        found.append(covered(model, *make(100 + seed, 1000), level))
    assert abs(np.mean(found) - level) < 0.04


def test_intervals_widen_away_from_the_data():
    model = JointMixtureDensity().fit(*sine(0))
    inside, outside = np.ptp(model.predict_interval([[3.0], [20.0]]), axis=1)
    assert outside > 2 * inside
    X, y = sine(0)
    assert covered(model, X, y, 0.9) > 0.85


def test_few_rows_and_constant_targets():
    X, y = sine(0, 6)
    model = JointMixtureDensity(kernel=Gaussian(1.0)).fit(X, y)
    assert_allclose(model.alpha_, 0.06)
    constant = JointMixtureDensity(kernel=Gaussian(1.0), y_kernel=Gaussian(1.0))
    found = constant.fit(X, np.full(6, 2.0)).predict(X)
    assert_allclose(found, 2.0, atol=0.5)


def test_given_range():
    X, y = sine(0)
    model = JointMixtureDensity(y_range=(-2, 4), alpha=10.0).fit(X, y)
    assert_allclose(model.y_nodes_[[0, -1]], [-2 + 3 / 400, 4 - 3 / 400])
    with raises(ValueError, "y_range[1]=0"):
        JointMixtureDensity(y_range=(-2, 0)).fit(X, y)
    with raises(ValueError, (200, 2)):
        JointMixtureDensity().fit(X, np.column_stack([y, y]))
    with raises(ValueError, "level=1.5"):
        model.predict_interval(X, 1.5)


def test_densities_raise_no_floating_point_error():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(60, 1))
    model = JointMixtureDensity().fit(X, np.sin(X[:, 0]))
    with np.errstate(all="raise"):
        p = model.pdf([[1.0], [1e6]])
        assert np.isfinite(p).all()
        assert np.isfinite(model.predict([[1.0], [1e6]])).all()


@pytest.mark.parametrize("exponent", [-1055, -1000, 1000])
def test_predictions_in_extreme_units_of_y(exponent):
    """The density of subnormal targets exceeds the largest number, their probabilities do not."""
    X, y = sine(0, 30)
    y = np.round(y * 2**10) / 2**10  # exact after the multiplication
    model, scaled = (
        JointMixtureDensity(kernel=Gaussian(1.0), alpha=0.5).fit(X, np.ldexp(y, e))
        for e in (0, exponent)
    )
    rounding = np.ldexp(2.0**-1072, -exponent)
    for name in ("predict", "predict_interval"):
        found = np.ldexp(getattr(scaled, name)(X), -exponent)
        assert_allclose(found, getattr(model, name)(X), rtol=1e-6, atol=rounding)
    assert not np.isnan(scaled.pdf(X)).any()


def test_targets_at_the_end_of_the_range_have_a_density():
    X, y = sine(0, 40)
    model = JointMixtureDensity(y_range=(y.min(), y.max()), alpha=0.5).fit(X, y)
    assert np.isfinite(model.log_density(X, y)).all()
