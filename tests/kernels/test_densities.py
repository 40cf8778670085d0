"""Kernels as densities: logarithms that do not underflow, and draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest

from mercer.kernels import Cosine, Epanechnikov, Gaussian, Laplacian, Linear, Matern
from tests.expectations import raises

ALL = slice(None)
DENSITIES = [
    Gaussian(0.7),
    Laplacian(0.5),
    Matern(0.6, 0.5),
    Matern(0.6, 1.5),
    Matern(0.6, 2.5),
    Matern(0.6, 0.9),
    Matern(0.6, 3.3),
    Matern(0.6, np.inf),
    Epanechnikov(2.0),
    Gaussian(0.2) + 0.3 * Laplacian(1.0),
    0.5 * Matern(1.0),
]
every_density = pytest.mark.parametrize("kernel", DENSITIES, ids=repr)


@every_density
@pytest.mark.parametrize("d", [1, 2, 5])
def test_log_tiles_are_logarithms(kernel, d):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, d)), rng.normal(size=(15, d))
    with np.errstate(divide="ignore"):
        expected = np.log(kernel(X, Y))
    # h is a squared distance, known to a few roundings, absolutely
    assert_allclose(kernel.log_tiles(X, Y)(ALL, ALL, None), expected, rtol=1e-9, atol=1e-12)


@every_density
def test_log_tiles_where_the_kernel_underflows(kernel):
    x = np.array([[0.0]])
    far = kernel.log_tiles(x, np.array([[1e4], [2e4]]))(ALL, ALL, None)[0]
    if isinstance(kernel, Epanechnikov):
        assert np.isneginf(far).all()
    else:
        assert np.isfinite(far).all()
        assert far[1] < 1.5 * far[0] < 0


@pytest.mark.parametrize("nu", [0.5, 0.9, 1.5, 2.5, 3.3, np.inf])
def test_log_tiles_of_distant_points_are_minus_infinity(nu):
    kernel = Matern(0.6, nu)
    far = kernel.log_tiles(np.zeros((1, 1)), np.array([[1e200]]))(ALL, ALL, None)
    assert_array_equal(far, -np.inf)
    # h itself is finite here, and -4νh is not
    assert_array_equal(Matern(1.0, nu)(np.zeros((1, 1)), np.array([[1.3e154]])), 0.0)


def test_log_matern_is_continuous_in_nu():
    t = np.array([[0.0], [0.1], [1.0], [30.0], [600.0], [5000.0]])
    origin = np.zeros((1, 1))
    for nu in (0.5, 1.5, 2.5):
        closed = Matern(1.0, nu).log_tiles(origin, t)(ALL, ALL, None)
        general = Matern(1.0, nu + 1e-9).log_tiles(origin, t)(ALL, ALL, None)
        assert_allclose(general, closed, rtol=1e-6, atol=1e-7)


@every_density
def test_draws_have_the_density_in_one_dimension(kernel):
    drawn = kernel.draw(4000, 1, np.random.default_rng(0))[:, 0]

    def density(x):
        return kernel(np.array([[x]]), np.zeros((1, 1)))[0, 0] / kernel.normalizer(1)

    grid = np.linspace(-25, 25, 20001)
    values = kernel(grid[:, None], np.zeros((1, 1)))[:, 0] / kernel.normalizer(1)
    cumulated = np.cumsum(values) * (grid[1] - grid[0])
    assert_allclose(quad(density, -25, 25, points=[0], limit=200)[0], 1, atol=1e-4)
    assert kstest(drawn, lambda x: np.interp(x, grid, cumulated)).pvalue > 1e-3


@every_density
def test_draws_have_the_density_in_three_dimensions(kernel):
    """E k(x, 0) under the density is ∫k²/∫k, here by importance sampling from a wide normal."""
    rng = np.random.default_rng(1)
    drawn = kernel.draw(20_000, 3, rng)
    values = kernel(drawn, np.zeros((1, 3)))[:, 0]
    proposals = rng.standard_t(3, size=(200_000, 3))
    log_q = np.sum(np.log(6 * np.sqrt(3) / (np.pi * (3 + proposals**2) ** 2)), axis=1)
    k = kernel(proposals, np.zeros((1, 3)))[:, 0]
    ratio = np.mean(k**2 / np.exp(log_q)) / kernel.normalizer(3)
    error = values.std() / np.sqrt(20_000) + 0.02 * ratio
    assert_allclose(values.mean(), ratio, atol=4 * error)


@pytest.mark.parametrize("kernel", [Linear(), Cosine()])
def test_non_densities_cannot_be_sampled(kernel):
    with raises(ValueError, repr(kernel)):
        kernel.draw(3, 2, np.random.default_rng(0))
