"""Normalizers of kernels: integrals, closed forms, and kernels without one."""

from __future__ import annotations

from itertools import pairwise
from math import inf, pi, prod, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from mercer.decomposition.preimages import input_distances
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from tests.expectations import raises

DENSITIES = [
    lambda b: Gaussian(b),
    lambda b: Laplacian(b),
    lambda b: Epanechnikov(b),
    *[lambda b, nu=nu: Matern(b, nu) for nu in (0.5, 1.5, 2.5, 3.2, inf)],
]


@pytest.mark.parametrize("make_kernel", DENSITIES)
@pytest.mark.parametrize("bandwidth", [0.4, 1.7])
def test_normalizer_is_the_integral_in_one_dimension(make_kernel, bandwidth):
    kernel = make_kernel(bandwidth)
    reach = bandwidth if isinstance(kernel, Epanechnikov) else inf
    half, _ = quad(lambda t: float(kernel([[0.0]], [[t]])[0, 0]), 0, reach, epsabs=1e-11)
    assert_allclose(kernel.normalizer(1), 2 * half, rtol=1e-8)  # quad's default epsrel: 1.5e-8


@pytest.mark.parametrize("make_kernel", [w for w in DENSITIES if not isinstance(w(1.0), Laplacian)])
def test_normalizer_is_the_integral_in_two_dimensions(make_kernel):
    bandwidths = np.array([0.6, 1.9])
    kernel = make_kernel(bandwidths)
    angle = np.arange(16) * 2 * pi / 16 + 0.1
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * bandwidths

    def ring(r):  # polar coordinates in units of the bandwidths
        return r * float(kernel([[0.0, 0.0]], r * circle).mean())

    total, _ = quad(ring, 0, 1 if isinstance(kernel, Epanechnikov) else inf, epsabs=1e-11)
    assert_allclose(kernel.normalizer(2), 2 * pi * prod(bandwidths) * total, rtol=1e-8)


def test_normalizer_of_the_laplacian_in_two_dimensions():
    bandwidths = np.array([0.6, 1.9])
    nodes, weights = np.polynomial.legendre.leggauss(120)
    t = 20 * (nodes + 1)  # one quadrant, to 40 bandwidths: the omitted tail is exp(-40)
    grid = np.column_stack([np.repeat(t, 120), np.tile(t, 120)]) * bandwidths
    values = Laplacian(bandwidths)([[0.0, 0.0]], grid)[0]
    total = 4 * 400 * prod(bandwidths) * (values @ np.outer(weights, weights).ravel())
    assert_allclose(Laplacian(bandwidths).normalizer(2), total, rtol=1e-12)


def test_normalizers_in_closed_form():
    b = np.array([0.5, 2.0, 3.0])
    volume = b.prod()
    ball = 4 / 3 * pi
    assert_allclose(Gaussian(b).normalizer(3), (2 * pi) ** 1.5 * volume, rtol=1e-14)
    assert_allclose(Laplacian(b).normalizer(3), 8 * volume, rtol=1e-14)
    assert_allclose(Epanechnikov(b).normalizer(3), 2 * volume * ball / 5, rtol=1e-14)
    assert_allclose(Matern(b, 0.5).normalizer(3), 8 * pi * volume, rtol=1e-13)  # exp(-r)
    assert_allclose(Matern(b, inf).normalizer(3), Gaussian(b).normalizer(3), rtol=1e-14)
    both = Gaussian(1.0) + 2.5 * Laplacian(1.0)
    assert_allclose(both.normalizer(2), 2 * pi + 2.5 * 4, rtol=1e-14)


@pytest.mark.parametrize("make_kernel", DENSITIES)
def test_log_normalizer_is_finite_where_the_normalizer_overflows(make_kernel):
    kernel = make_kernel(1000.0)
    assert np.isfinite(kernel.log_normalizer(500))
    assert kernel.normalizer(500) == inf
    half = make_kernel(1000.0).log_normalizer(500) - make_kernel(500.0).log_normalizer(500)
    assert_allclose(half, 500 * np.log(2), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(),
        Sigmoid(),
        Cosine(),
        Precomputed(),
        Gaussian(1.0) + Linear(),
        -1.0 * Gaussian(1.0),
        2.0 * Linear(),
    ],
    ids=repr,
)
def test_non_densities_have_no_normalizer(kernel):
    assert not kernel.is_density
    for compute in (kernel.log_normalizer, kernel.normalizer):
        with raises(ValueError, "Gaussian", "Laplacian"):
            compute(2)


def test_is_density():
    for make_kernel in DENSITIES:
        assert make_kernel(1.0).is_density
    assert (Gaussian(1.0) + Laplacian(2.0)).is_density
    assert (3.0 * Gaussian(1.0)).is_density


def test_self_convolution_of_a_gaussian():
    assert Gaussian(3.0).self_convolution().bandwidth == pytest.approx(3 * sqrt(2), rel=1e-15)
    bandwidths = Gaussian(np.array([1.0, 2.0])).self_convolution().bandwidth
    assert_allclose(bandwidths, sqrt(2) * np.array([1.0, 2.0]), rtol=1e-15)


CONVOLVED = [
    Gaussian(0.7),
    Laplacian(0.7),
    *[Matern(0.7, nu) for nu in (0.5, 1.5, 2.2, inf)],
    3.0 * Laplacian(0.7),
    Gaussian(0.4) + 2.0 * Gaussian(1.5),
    Laplacian(0.4) + 0.3 * Laplacian(1.5),
    Laplacian(0.7) + Laplacian(0.7 * (1 + 1e-9)),
    Gaussian(0.4) + Laplacian(1.5),
    Laplacian(0.2) + Gaussian(1.5),
    2.0 * (Laplacian(0.4) + 0.3 * (Gaussian(1.5) + Matern(0.3, inf))),
    Matern(1.0, 0.5) + Matern(sqrt(3), 1.5),
]


@pytest.mark.parametrize("kernel", CONVOLVED, ids=repr)
def test_self_convolution_equals_the_integral(kernel):
    """The density at t is ``∫ g(s) g(t - s) ds``."""
    convolved = kernel.self_convolution(1)
    scale, own = kernel.normalizer(1), convolved.normalizer(1)
    for t in (0.0, 0.3, 1.0, 4.0):

        def integrand(s, t=t):
            return float((kernel([[s]], [[0.0], [t]]) / scale).prod())

        ends = [-30.0, 0.0, t, t + 30.0] if t else [-30.0, 0.0, 30.0]
        expected = sum(
            quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
            for a, b in pairwise(ends)
        )
        assert_allclose(convolved([[0.0]], [[t]])[0, 0] / own, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(np.array([0.5, 1.0])),
        Matern(0.8, 1.5),
        Matern(np.array([0.5, 1.0]), 0.5),
        Gaussian(np.array([0.5, 1.0])) + 2.0 * Laplacian(0.6),
    ],
    ids=repr,
)
def test_self_convolution_in_two_dimensions_equals_a_sum_on_a_grid(kernel):
    axis = np.arange(-12, 12, 0.05) + 0.025
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    t = np.array([[0.4, -1.1]])
    g = kernel(np.zeros((1, 2)), grid)[0] / kernel.normalizer(2)
    shifted = kernel(t, grid)[0] / kernel.normalizer(2)
    convolved = kernel.self_convolution(2)
    found = convolved(np.zeros((1, 2)), t)[0, 0] / convolved.normalizer(2)
    assert_allclose(found, (g * shifted).sum() * 0.05**2, rtol=2e-3)  # kinks limit the grid


def test_self_convolution_is_accurate_for_extreme_bandwidths():
    """A wide Gaussian and a narrow Laplacian: the convolution is the Gaussian, and vice versa."""
    wide, narrow = Gaussian(1e6), Laplacian(1e-6)
    part = (wide + narrow).self_convolution(1).terms[1].kernel
    assert_allclose(part([[0.0]], [[1e6]]), np.exp(-0.5), rtol=1e-6)
    part = (Gaussian(1e-6) + Laplacian(1e6)).self_convolution(1).terms[1].kernel
    assert_allclose(part([[0.0]], [[1e6]]), np.exp(-1), rtol=1e-6)


@pytest.mark.parametrize(
    "kernel", [Epanechnikov(1.0), Polynomial(2), Matern(1.0) + Gaussian(1.0)], ids=repr
)
def test_other_self_convolutions_raise(kernel):
    with raises(ValueError, "estimator='mean'"):
        (kernel + kernel if kernel.is_density else kernel).self_convolution(2)


def test_self_convolution_of_a_matern_kernel_needs_the_dimension():
    with raises(ValueError, "Matern", "d"):
        Matern(1.0).self_convolution()


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_multiples_with_non_positive_factors_have_no_density_or_features(factor):
    kernel = factor * Gaussian(1.0)
    with raises(ValueError, repr(kernel), "preimage='ridge'"):
        input_distances(kernel, np.ones(1), np.ones(1), np.ones(1))
    with raises(ValueError, repr(kernel)):
        kernel.log_normalizer(2)
    assert not kernel.is_density
    assert kernel.is_psd is (factor == 0)
    assert (factor * Linear()).features(np.ones((2, 1))) is None
