"""What kernels are made of, where the algebra ends, and a Gram matrix as a kernel."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelPCA
from mercer.kernels import Categorical, Gaussian, Hamming, Kernel, On, Polynomial, Precomputed
from mercer.maths.distances import euclidean_distances

ALL = slice(None)


@pytest.mark.parametrize("other", [3, "gaussian", None])
def test_what_is_no_kernel_is_no_term(other):
    with pytest.raises(TypeError):
        Gaussian(1.0) + other


@pytest.mark.parametrize("other", ["2", None])
def test_what_is_no_number_is_no_factor(other):
    with pytest.raises(TypeError):
        Gaussian(1.0) * other


class Tent(Kernel):
    """A user's kernel: a formula, and nothing else."""

    compares = "vectors"

    def matrix(self, X, Y):
        return np.maximum(1 - np.abs(X - Y.T), 0)


@pytest.mark.parametrize("kernel", [Tent(), 0.0 * Gaussian(1.0), 3.0 * Tent()], ids=repr)
def test_logarithms_of_a_formula(kernel):
    X = np.array([[0.0], [0.25], [4.0]])
    with np.errstate(divide="ignore"):
        expected = np.log(kernel(X))
    found = kernel.log_tiles(X, X.copy())(ALL, ALL, None)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.isneginf(found[0, 2])


def test_a_kernel_turned_over_has_no_distances():
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="distance"):
        (-1.0 * Gaussian(1.0)).squared_distances(one, one, one)


def test_categories_have_at_most_two_axes():
    with pytest.raises(ValueError, match="1 or 2 axes, not of 3"):
        Hamming(0.5)(np.zeros((2, 2, 2), dtype=int))


def test_the_cell_that_is_no_number_is_the_one_that_is_named():
    frame = pd.DataFrame({"size": pd.Series([1, "2.5", "tall", "wide"], dtype=object)})
    with pytest.raises(ValueError, match="Column 'size' holds 'tall'"):
        KernelPCA(1, kernel=On("size", Gaussian(1.0))).fit(frame)


def test_categories_without_an_order_may_be_missing():
    """1 and "a" cannot be sorted; what a missing cell is does not depend on their order."""
    cells = [1, "a", 1, None, "b"]
    kernel = On("kind", Categorical(0.5))

    def gram(order):
        frame = pd.DataFrame({"kind": pd.Series([cells[i] for i in order], dtype=object)})
        fitted = KernelPCA(1, kernel=kernel).fit(frame).kernel_
        assert repr(fitted.observed) == "<3 cells>"
        return fitted(frame)[np.ix_(np.argsort(order), np.argsort(order))]

    np.testing.assert_allclose(gram([0, 1, 2, 3, 4]), gram([4, 3, 1, 2, 0]), rtol=1e-14)


def test_a_gram_matrix_is_its_own_kernel():
    K = Gaussian(1.0)(np.random.default_rng(0).normal(size=(5, 2)))
    kernel = Precomputed()
    np.testing.assert_array_equal(kernel(K), K)
    np.testing.assert_array_equal(kernel(K[:2], np.array([3, 0])), K[:2][:, [3, 0]])
    np.testing.assert_array_equal(kernel.diagonal(K), np.ones(5))
    assert kernel.is_psd
    np.testing.assert_array_equal(kernel.matrix(K, K), K)


def test_points_at_the_origin():
    """Nothing to scale by, and nothing to divide by."""
    X = np.zeros((3, 6))
    np.testing.assert_array_equal(Polynomial(3, constant=2.0)(X), np.full((3, 3), 8.0))
    np.testing.assert_array_equal(euclidean_distances(X, X[:2]), np.zeros((3, 2)))
