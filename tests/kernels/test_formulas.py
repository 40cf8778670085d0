"""Kernels equal their formulas, and those of scikit-learn."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma as gamma_distribution
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics import pairwise

from mercer.decomposition.preimages import length_scales
from mercer.kernels import (
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
)
from tests.expectations import raises
from tests.kernels.naive import BANDWIDTHS, FORMULAS, IDS, naive, points


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=IDS)
def test_kernel_equals_its_formula(kernel, formula):
    X, Y = points(), points(9, seed=1)
    # Values are at most ~(|x|²)³ ~ 1e3 and have a few dozen rounding errors of eps = 2e-16, at
    # distances of a few bandwidths (squares ~100): 1e-12 leaves a factor of ten.
    assert_allclose(kernel(X, Y), naive(formula, X, Y), rtol=1e-12, atol=1e-13)
    assert_allclose(kernel(X), naive(formula, X, X), rtol=1e-12, atol=1e-13)
    assert_allclose(
        kernel.diagonal(X), [formula(list(x), list(x)) for x in X], rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("nu", [0.3, 1.0, 3.7, 4.5, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matern_of_any_smoothness_is_finite_near_and_far(nu, dtype):
    X = np.array([[0.0], [0.0], [1e-12], [1e-5], [0.1], [1.0], [10.0], [30.0]], dtype)
    K = Matern(1.0, nu)(X)
    assert np.isfinite(K).all()
    eps = np.finfo(dtype).eps
    assert_allclose(K[:2, :2], np.ones((2, 2)), rtol=0, atol=16 * eps)  # Bessel functions
    assert (np.diff(K[0]) <= 1e-6).all()  # decreasing, up to rounding errors
    for far in (1e4, 1e9, 1e15):
        assert Matern(1.0, nu)(X[:1], np.array([[far]], dtype))[0, 0] == 0


@pytest.mark.parametrize("nu", [0.8, 3.3, 30.5, 99.9, 100.1, 170.3, 300.0, 700.0, 2000.5, 1e6])
def test_matern_is_a_mean_of_gaussians(nu):
    """``k(r) = E exp(-ν r² / 2G)`` for G with the distribution Gamma(ν), for every ν."""
    r = np.array([0.0, 1e-8, 1e-3, 0.03, 0.3, 1.0, 2.0, 5.0])
    cells = 20_000
    u = gamma_distribution.isf((np.arange(cells) + 0.5) / cells, nu)
    naive = np.exp(-nu * r[:, None] ** 2 / (2 * u)).mean(axis=1)
    K = Matern(1.0, nu)(np.zeros((1, 1)), r[:, None])[0]
    assert_allclose(K, naive, rtol=3e-4, atol=1e-6)  # the mean is taken over quantiles
    assert K[0] == 1
    logs = Matern(1.0, nu).log_tiles(np.zeros((1, 1)), r[:, None])(slice(None), slice(None), None)
    assert_allclose(logs[0], np.log(K), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("nu", [99.9, 100.1, 170.3, 300.0, 700.0, 2000.5])
def test_matern_of_large_smoothness_equals_its_series(nu):
    """``Σ_j (t²/4)^j / j! / (1 - ν)_j`` with ``t = √(2ν) r``, all terms above rounding error."""
    r = np.array([0.001, 0.003, 0.01, 0.1, 0.3, 0.6, 1.0, 2.0])
    term, total = np.ones(8), np.ones(8)
    for j in range(1, 60):
        term = term * (nu * r**2 / 2) / (j * (j - nu))
        total = total + term
    assert_allclose(Matern(1.0, nu)(np.zeros((1, 1)), r[:, None])[0], total, rtol=1e-12)


def test_large_smoothness_approaches_the_gaussian():
    X = points()
    # k differs from its limit by O(1/ν): the next term of the expansion is r⁴/(16 ν) exp(-r²/2)
    # or less, whose largest value over r is below 0.14·(1/ν)·4.
    assert_allclose(Matern(2.0, 100.0)(X), Gaussian(2.0)(X), atol=6e-3)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agrees_with_scikit_learn(bandwidth, dtype):
    X, Y = points().astype(dtype), points(9, seed=1).astype(dtype)
    g = 1 / (2 * bandwidth**2)
    pairs = [
        (Gaussian(bandwidth), pairwise.rbf_kernel(X, Y, gamma=g)),
        (Laplacian(bandwidth), pairwise.laplacian_kernel(X, Y, gamma=1 / bandwidth)),
        (
            Polynomial(3, 0.5, 1 / bandwidth),
            pairwise.polynomial_kernel(X, Y, degree=3, gamma=1 / bandwidth, coef0=0.5),
        ),
        (
            Sigmoid(0.1 * bandwidth, 0.2),
            pairwise.sigmoid_kernel(X, Y, gamma=0.1 * bandwidth, coef0=0.2),
        ),
        (Linear(), pairwise.linear_kernel(X, Y)),
        (Cosine(), pairwise.cosine_similarity(X, Y)),
        *[
            (Matern(bandwidth, nu), SklearnMatern(bandwidth, nu=nu)(X, Y))
            for nu in (0.5, 1.5, 2.5, inf)
        ],
    ]
    # ~100 rounding errors of exponents up to ~(8 / 0.3)²/2 ~ 350 at the smallest bandwidth.
    eps = float(np.finfo(dtype).eps)
    for kernel, expected in pairs:
        found = kernel(X, Y)
        assert found.dtype == dtype
        limit = 100 * eps * max(1.0, float(np.abs(expected).max()))
        assert_allclose(found, expected, rtol=0, atol=limit, err_msg=repr(kernel))


def test_general_matern_and_per_dimension_length_scales_agree_with_scikit_learn():
    X, Y = points(), points(9, seed=1)
    for nu in (0.7, 1.5, 3.2):
        expected = SklearnMatern(BANDWIDTHS, nu=nu)(X, Y)
        assert_allclose(Matern(np.array(BANDWIDTHS), nu)(X, Y), expected, rtol=1e-11, atol=1e-13)


def test_a_row_of_zeros_has_cosine_zero_with_everything():
    X = np.vstack([np.zeros(3), points(4, 3)])
    K = Cosine()(X)
    assert_array_equal(K[0], 0)
    assert_array_equal(Cosine().diagonal(X)[0], 0)
    assert_allclose(K, pairwise.cosine_similarity(X), atol=1e-15)


def test_as_kernel():
    for name, kind in [
        ("gaussian", Gaussian),
        ("rbf", Gaussian),
        ("laplacian", Laplacian),
        ("polynomial", Polynomial),
        ("linear", Linear),
        ("sigmoid", Sigmoid),
        ("cosine", Cosine),
        ("precomputed", Precomputed),
    ]:
        assert type(as_kernel(name)) is kind
    kernel = Gaussian(2.0)
    assert as_kernel(kernel) is kernel
    for wrong in ("gauss", 3, None, Gaussian, ["gaussian"]):
        with raises(ValueError, repr(wrong), "'gaussian'", "'rbf'", "'precomputed'"):
            as_kernel(wrong)


def test_length_scales():
    assert_array_equal(length_scales(Linear(), 3), np.ones(3))
    assert_array_equal(length_scales(2.0 * Gaussian([1.0, 3.0]), 2), [1.0, 3.0])
