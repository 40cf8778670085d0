"""Gaussian kernels with a metric equal Gaussian kernels of whitened data, in every method."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelDenoiser, KernelECA, KernelPCA, ParzenDensity
from mercer.bandwidth import fit_kernel, silverman
from mercer.information import information_potential, potential_gradient, renyi_entropy
from mercer.kernels import Gaussian
from mercer.solvers import Fourier, Lanczos
from tests.expectations import raises

M = np.array([[4.0, 1.5, 0.3], [1.5, 1.0, 0.1], [0.3, 0.1, 0.2]])
L = np.linalg.cholesky(M)


def sample(n=60, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) @ L[:d, :d].T + 3.0


def whitened(X):
    d = X.shape[1]
    return np.linalg.solve(L[:d, :d], X.T).T


def kernel(d, bandwidth=0.7):
    return Gaussian(bandwidth, metric=M[:d, :d])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_values_are_those_of_the_formula(d):
    X, Y = sample(d=d), sample(7, d, seed=1)
    inverse = np.linalg.inv(M[:d, :d])
    expected = [[np.exp(-(x - y) @ inverse @ (x - y) / (2 * 0.7**2)) for y in Y] for x in X]
    assert_allclose(kernel(d)(X, Y), expected, rtol=1e-12, atol=1e-300)
    assert_allclose(np.diag(kernel(d)(X)), 1.0, rtol=0)


def test_outliers_do_not_change_the_values_of_other_points():
    X, Y = sample(), sample(50, seed=1)
    expected = kernel(2)(X[1:], Y[1:])
    X[0] = Y[0] = 1e30
    assert_allclose(kernel(2)(X, Y)[1:, 1:], expected, rtol=1e-12)


@pytest.mark.parametrize("solver", [Lanczos(), Fourier()])
def test_spectra_and_projections_equal_those_of_whitened_data(solver):
    X, new = sample(300), sample(20, seed=1)
    eca = KernelECA(3, kernel=kernel(2), solver=solver).fit(X)
    plain = KernelECA(3, kernel=Gaussian(0.7), solver=solver).fit(whitened(X))
    assert_allclose(eca.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    assert_allclose(eca.transform(new), plain.transform(whitened(new)), atol=1e-7)


@pytest.mark.parametrize("solver", ["lanczos", "fourier"])
def test_densities_change_by_the_determinant(solver):
    X, new = sample(200), np.vstack([sample(20, seed=1), [[40.0, -30.0]]])
    found = ParzenDensity(kernel=kernel(2), solver=solver).fit(X)
    plain = ParzenDensity(kernel=Gaussian(0.7), solver=solver).fit(whitened(X))
    expected = plain.score_samples(whitened(new)) - np.log(np.diag(L)[:2]).sum()
    assert_allclose(found.score_samples(new), expected, rtol=1e-6)
    drawn = found.sample(20_000, random_state=0)
    assert_allclose(np.cov(drawn.T), np.cov(X.T, bias=True) + 0.7**2 * M[:2, :2], atol=0.3)


@pytest.mark.parametrize("n", [50, 5000])  # sums over pairs, Fourier features
def test_potential_and_gradient_equal_those_of_whitened_data(n):
    X = sample(n)
    value, gradient = potential_gradient(X, kernel(2))
    plain, expected = potential_gradient(whitened(X), Gaussian(0.7))
    assert_allclose(value, plain, rtol=1e-8)
    assert_allclose(
        gradient, expected @ np.linalg.inv(L[:2, :2]), atol=1e-8 * np.abs(gradient).max()
    )
    assert_allclose(information_potential(X, kernel(2)), value, rtol=1e-8)
    shift = np.log(np.diag(L)[:2]).sum()
    for estimator in ("mean", "integral"):
        entropy = renyi_entropy(whitened(X), Gaussian(0.7), estimator=estimator)
        assert_allclose(renyi_entropy(X, kernel(2), estimator=estimator), entropy + shift)


@pytest.mark.parametrize("method", ["kwok-tsang", "mika"])
def test_preimages_equal_those_of_whitened_data(method):
    X, new = sample(), sample(5, seed=1)
    denoiser = KernelDenoiser(4, kernel=kernel(2), preimage=method).fit(X)
    plain = KernelDenoiser(4, kernel=Gaussian(0.7), preimage=method).fit(whitened(X))
    assert_allclose(whitened(denoiser.transform(new)), plain.transform(whitened(new)), atol=1e-6)


def test_metric_of_the_sample_is_its_covariance():
    X, weights = sample(), np.random.default_rng(2).integers(0, 4, 60)
    fitted = fit_kernel(Gaussian("silverman", metric="covariance"), X, weights)
    repeated = np.repeat(X, weights, axis=0)
    C = np.cov(repeated.T, bias=True)
    assert_allclose(fitted.metric, C, rtol=1e-12)
    Z = np.linalg.solve(np.linalg.cholesky(C), repeated.T).T
    assert_allclose(fitted.bandwidth, silverman(Z), rtol=1e-12)


@pytest.mark.parametrize(
    "rule", ["auto", "scott", "median-distance", "spectroscopy", "leave-one-out"]
)
def test_bandwidth_rules_are_invariant_under_linear_maps(rule):
    X = sample()
    A = np.array([[2.0, 0.3], [-5.0, 0.1]])
    first, second = (
        KernelPCA(2, kernel=Gaussian(rule, metric="covariance")).fit(Z) for Z in (X, X @ A)
    )
    assert_allclose(first.kernel_.bandwidth, second.kernel_.bandwidth, rtol=1e-6)
    assert_allclose(first.eigenvalues_, second.eigenvalues_, rtol=1e-6)


def test_saved_models_have_the_metric(tmp_path):
    X = sample()
    model = ParzenDensity(kernel=Gaussian(metric="covariance")).fit(X)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert_allclose(loaded.score_samples(X), model.score_samples(X), rtol=0)


@pytest.mark.parametrize(
    ("metric", "named"),
    [
        (np.eye(3), ["(3, 3)", "(2, 2)"]),
        ([[1.0, 2.0], [2.0, 1.0]], [-1]),
        ([[1.0, 0.5], [0.0, 1.0]], ["symmetric"]),
        ([[1.0, np.nan], [np.nan, 1.0]], ["finite"]),
        ("mahalanobis", ["'mahalanobis'", "'covariance'"]),
    ],
)
def test_invalid_metrics_are_refused(metric, named):
    with raises(ValueError, *named):
        KernelPCA(2, kernel=Gaussian(1.0, metric=metric)).fit(sample())


def test_singular_covariance_is_refused():
    X = sample()
    with raises(ValueError, "covariance"):
        KernelPCA(2, kernel=Gaussian(1.0, metric="covariance")).fit(np.c_[X, X[:, 0]])


def test_bandwidths_per_column_exclude_a_metric():
    with raises(ValueError, 2):
        Gaussian([1.0, 2.0], metric=np.eye(2))(sample())
