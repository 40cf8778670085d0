"""Invalid operands, custom kernels, and values that kernels cannot compare."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelPCA
from mercer.decomposition.preimages import input_distances
from mercer.kernels import Categorical, Gaussian, Hamming, Kernel, On, Polynomial
from mercer.utils.pairwise import euclidean_distances
from tests.expectations import raises

ALL = slice(None)


@pytest.mark.parametrize("other", [3, "gaussian", None])
def test_sum_rejects_non_kernels(other):
    with raises(TypeError, "Gaussian", type(other).__name__):
        Gaussian(1.0) + other


@pytest.mark.parametrize("other", ["2", None])
def test_product_rejects_non_numbers(other):
    with raises(TypeError, "Gaussian"):
        Gaussian(1.0) * other


class Tent(Kernel):
    """A custom kernel that defines ``matrix`` only."""

    compares = "vectors"

    def matrix(self, X, Y):
        return np.maximum(1 - np.abs(X - Y.T), 0)


@pytest.mark.parametrize("kernel", [Tent(), 0.0 * Gaussian(1.0), 3.0 * Tent()], ids=repr)
def test_log_tiles_of_a_kernel_defined_by_matrix(kernel):
    X = np.array([[0.0], [0.25], [4.0]])
    with np.errstate(divide="ignore"):
        expected = np.log(kernel(X))
    found = kernel.log_tiles(X, X.copy())(ALL, ALL, None)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.isneginf(found[0, 2])


def test_negative_multiples_have_no_input_distances():
    one = np.ones((1, 1))
    with raises(ValueError, -1.0, "preimage='ridge'"):
        input_distances(-1.0 * Gaussian(1.0), one, one, one)


def test_categories_are_1d_or_2d():
    with raises(ValueError, 3):
        Hamming(0.5)(np.zeros((2, 2, 2), dtype=int))


def test_errors_name_the_value_that_is_not_a_number():
    frame = pd.DataFrame({"size": pd.Series([1, "2.5", "tall", "wide"], dtype=object)})
    with raises(ValueError, "'size'", "'tall'"):
        KernelPCA(1, kernel=On("size", Gaussian(1.0))).fit(frame)


def test_missing_values_of_categories_that_cannot_be_sorted():
    """1 and "a" cannot be sorted; the result does not depend on the order of rows."""
    cells = [1, "a", 1, None, "b"]
    kernel = On("kind", Categorical(0.5))

    def gram(order):
        frame = pd.DataFrame({"kind": pd.Series([cells[i] for i in order], dtype=object)})
        fitted = KernelPCA(1, kernel=kernel).fit(frame).kernel_
        assert repr(fitted.observed) == "<3 values>"
        return fitted(frame)[np.ix_(np.argsort(order), np.argsort(order))]

    np.testing.assert_allclose(gram([0, 1, 2, 3, 4]), gram([4, 3, 1, 2, 0]), rtol=1e-14)


def test_points_at_the_origin():
    """Norms and scales are 0 here and must not be divided by."""
    X = np.zeros((3, 6))
    np.testing.assert_array_equal(Polynomial(3, constant=2.0)(X), np.full((3, 3), 8.0))
    np.testing.assert_array_equal(euclidean_distances(X, X[:2]), np.zeros((3, 2)))
