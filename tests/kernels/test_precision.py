"""Precision of kernels: offsets, outliers, overflow, types of numbers and invalid parameters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from tests.expectations import raises
from tests.kernels.naive import points

RADIAL = [Gaussian, Matern, Epanechnikov, Laplacian]


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize(
    "bandwidth", [2.0, 1.7]
)  # 1.7 is not a power of two: division by it rounds
def test_a_common_offset_cancels_exactly(kind, d, bandwidth):
    # multiples of 2^-10 are exact when added to 1e8, so only the kernel's own arithmetic rounds
    X = np.round(points(20, d) * 2**10) / 2**10
    kernel = kind(bandwidth)
    expected = kernel(X)
    assert_allclose(kernel(X + 1e8), expected, rtol=0, atol=1e-12)
    assert_allclose(kernel(X + 1e8, X[:5] + 1e8), expected[:, :5], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-10), (np.float32, 2e-4)])
@pytest.mark.parametrize("d", [1, 5])
def test_one_outlier_does_not_reduce_accuracy(kind, dtype, limit, d):
    X = points(20, d).astype(dtype)
    far = np.vstack([X, np.full((1, d), 1e8, dtype)])
    # `limit` is the error of ‖x - y‖²/2 that maths.distances accepts; |dk/dh| ≤ 2
    assert_allclose(kind(1.7)(far)[:20, :20], kind(1.7)(X), rtol=0, atol=4 * limit)


@pytest.mark.parametrize("kind", RADIAL)
def test_two_distant_clusters_do_not_cancel(kind):
    near = np.round(points(10, 5) * 2**10) / 2**10
    X = np.vstack([near, near + 1e8])
    K, block = kind(2.0)(X), kind(2.0)(near)
    expected = np.block([[block, np.zeros((10, 10))], [np.zeros((10, 10)), block]])
    assert_allclose(K, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("d", [2, 5])
def test_scaling_data_and_bandwidth_has_no_effect(kind, scale, d):
    X = points(20, d)
    # scaling by a power of ten rounds each coordinate once: exponents of ~10 change by ~10 eps
    assert_allclose(kind(1.5 * scale)(X * scale), kind(1.5)(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", RADIAL)
@pytest.mark.parametrize("d", [1, 5])
def test_distant_points_have_kernel_zero(kind, d):
    X = np.zeros((2, d))
    X[1] = 1e200  # its square overflows, its kernel value is 0
    assert_array_equal(kind(1.0)(X), np.eye(2))


def test_cosine_does_not_overflow():
    X = points()
    assert_allclose(Cosine()(1e200 * X, 1e-200 * X), Cosine()(X), rtol=0, atol=1e-15)


def test_single_and_double_precision_mix():
    X, Y = points(), points(9, seed=1)
    for kernel in (Gaussian(1.0), Laplacian(1.0), Linear(), Gaussian(1.0) + Linear()):
        mixed = kernel(X.astype(np.float32), Y)
        assert mixed.dtype == np.float64
        # the relative error of a float32 coordinate is 6e-8, that of k about twice that times |x|
        assert_allclose(mixed, kernel(X, Y), rtol=0, atol=1e-5)


def test_lists_and_integers_are_accepted():
    expected = Gaussian(2.0)(np.array([[0.0, 1.0], [3.0, 4.0]]))
    assert_array_equal(Gaussian(2.0)([[0, 1], [3, 4]]), expected)
    with raises(ValueError, "2-D", "1-D", "reshape"):
        Gaussian(2.0)(np.arange(3.0))


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Linear(), Cosine(), 2.0 * Gaussian(2.0) + Linear()]
)
def test_diagonals_and_features_take_lists_and_integers(kernel):
    points = [[0, 1], [3, 4]]
    assert_allclose(kernel.diagonal(points), kernel(points).diagonal(), rtol=1e-15)
    features = kernel.features(points)
    if features is not None:
        assert_allclose(features @ features.T, kernel(points), rtol=1e-15)


@pytest.mark.parametrize("degree", [0, -1, 1.5])
def test_degree_must_be_a_positive_integer(degree):
    with raises(ValueError, f"degree={degree}", 1):
        Polynomial(degree)(points())


@pytest.mark.parametrize("nu", [0, -0.5, float("nan")])
def test_smoothness_must_be_positive(nu):
    with raises(ValueError, f"nu={nu}", 0):
        Matern(1.0, nu)(points())
    with raises(ValueError, f"nu={nu}", 0):
        Matern(1.0, nu).log_normalizer(2)


class _Cauchy(Kernel):
    def matrix(self, X, Y):
        return 1 / (1 + cdist(X, Y) ** 2)


def test_log_tiles_of_kernels_without_a_formula_for_logarithms(rng):
    """Also for kernels defined by ``matrix`` only, and for values of 0."""
    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    for kernel in (_Cauchy(), 3.0 * _Cauchy()):
        found = kernel.log_tiles(X, Y)(slice(None), slice(None), None)
        assert_allclose(found, np.log(kernel(X, Y)), rtol=1e-14, atol=1e-15)
    zero = (0.0 * Gaussian(1.0)).log_tiles(X, Y)(slice(None), slice(None), None)
    assert_array_equal(zero, -np.inf)


@pytest.mark.parametrize("kernel", [Polynomial(3), Polynomial(3, scale=-1.0), Linear(1e200)])
def test_overflow_of_dot_products_raises(kernel):
    short, long = np.ones((3, 2)), np.array([[0.0, 1.0], [1e120, 0.0]])
    for pair in ((short, long), (long, short), (long, long), (long,)):
        with raises(ValueError, repr(kernel), "float64"):
            kernel(*pair)
    assert np.isfinite(kernel(short, np.ones((2, 2)))).all()
