"""Sums, products and multiples of kernels: their values and their parameters."""

from __future__ import annotations

import pickle
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone

from mercer import KernelPCA
from mercer.bandwidth import fit_kernel
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    On,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from tests.expectations import raises
from tests.kernels.naive import points

number = st.floats(0.25, 4.0)
small = st.floats(0.0, 1.0)


def leaf(kernel, formula, psd=True):
    return kernel, formula, psd


leaves = st.one_of(
    number.map(lambda b: leaf(Gaussian(b), lambda X, Y: np.exp(-(cdist(X, Y) ** 2) / (2 * b * b)))),
    st.lists(number, min_size=3, max_size=3).map(
        lambda b: leaf(
            Gaussian(np.array(b)), lambda X, Y: np.exp(-(cdist(X / b, Y / np.array(b)) ** 2) / 2)
        )
    ),
    number.map(lambda b: leaf(Laplacian(b), lambda X, Y: np.exp(-cdist(X, Y, "cityblock") / b))),
    number.map(
        lambda b: leaf(
            Matern(b),
            lambda X, Y: (1 + sqrt(3) * cdist(X, Y) / b) * np.exp(-sqrt(3) * cdist(X, Y) / b),
        )
    ),
    number.map(
        lambda b: leaf(
            Epanechnikov(b), lambda X, Y: np.maximum(0, 1 - cdist(X, Y) ** 2 / b**2), False
        )
    ),
    st.tuples(small, small).map(
        lambda c: leaf(Linear(c[0], c[1]), lambda X, Y: c[1] + c[0] * (X @ Y.T))
    ),
    st.tuples(st.integers(1, 3), small).map(
        lambda c: leaf(Polynomial(c[0], c[1]), lambda X, Y: (c[1] + X @ Y.T) ** c[0])
    ),
    small.map(lambda s: leaf(Sigmoid(s), lambda X, Y: np.tanh(s * (X @ Y.T)), False)),
    st.just(leaf(Cosine(), lambda X, Y: 1 - cdist(X, Y, "cosine"))),
)


def combinations(children):
    pairs = st.tuples(children, children)
    factors = st.tuples(st.one_of(number, number.map(lambda c: -c)), children, st.booleans())
    return st.one_of(
        pairs.map(
            lambda p: (
                p[0][0] + p[1][0],
                lambda X, Y: p[0][1](X, Y) + p[1][1](X, Y),
                p[0][2] and p[1][2],
            )
        ),
        pairs.map(
            lambda p: (
                p[0][0] * p[1][0],
                lambda X, Y: p[0][1](X, Y) * p[1][1](X, Y),
                p[0][2] and p[1][2],
            )
        ),
        factors.map(
            lambda f: (
                f[0] * f[1][0] if f[2] else f[1][0] * f[0],
                lambda X, Y: f[0] * f[1][1](X, Y),
                f[0] > 0 and f[1][2],
            )
        ),
    )


trees = st.recursive(leaves, combinations, max_leaves=6)
LEFT, RIGHT = points(12, 3), points(7, 3, seed=1)


def close(found, expected):
    # Up to six factors of size (|x|²)³ ~ 1e3, each with ~100 rounding errors; 1 - ‖x-y‖²/b² loses
    # a factor (|x|/b)² ~ 600, and the error of a sum is relative to its largest term.
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))


@settings(max_examples=100, deadline=None)
@given(trees)
def test_kernel_algebra_is_matrix_algebra(tree):
    kernel, on_arrays, psd = tree
    expected = on_arrays(LEFT, RIGHT)
    found = kernel(LEFT, RIGHT)
    close(found, expected)
    close(kernel(LEFT), on_arrays(LEFT, LEFT))
    close(kernel.diagonal(LEFT), on_arrays(LEFT, LEFT).diagonal())
    rows, columns = slice(3, 9), slice(2, 5)
    out = np.full((6, 3), np.nan)
    assert kernel.tiles(LEFT, RIGHT)(rows, columns, out) is out
    close(out, expected[rows, columns])
    close(kernel.tiles(LEFT)(rows, rows, None), on_arrays(LEFT, LEFT)[rows, rows])
    assert kernel.is_psd or not psd  # -1 · (-1 · k) is the multiple 1 · k


@settings(max_examples=60, deadline=None)
@given(trees)
def test_trees_with_is_psd_are_positive_semidefinite(tree):
    kernel, _, _ = tree
    if not kernel.is_psd:
        return
    values = np.linalg.eigvalsh(kernel(LEFT))
    # Errors e of the entries of K change an eigenvalue by at most n·e.
    assert values[0] >= -1e-12 * len(LEFT) * max(values[-1], np.abs(kernel(LEFT)).max())


@settings(max_examples=60, deadline=None)
@given(trees)
def test_parameters_survive_clone_pickle_and_set_params(tree):
    kernel, _, _ = tree
    K = kernel(LEFT, RIGHT)
    before = repr(kernel)
    copies = [
        clone(kernel),
        pickle.loads(pickle.dumps(kernel)),
        clone(kernel).set_params(**kernel.get_params()),
    ]
    for copy in copies:
        assert copy == kernel
        assert hash(copy) == hash(kernel)
        assert_array_equal(copy(LEFT, RIGHT), K)
    changed = clone(kernel)
    scalars = {
        name: value * 1.5
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] in ("bandwidth", "scale", "factor")
    }
    changed.set_params(**scalars)
    found = changed.get_params()
    for name, value in scalars.items():
        assert_array_equal(found[name], value)
    assert repr(kernel) == before, "a clone shares its terms with the original"
    assert_array_equal(kernel(LEFT, RIGHT), K)


def test_combinations_flatten_and_name_their_terms():
    kernel = Gaussian(1.0) + Laplacian(2.0) + 3.0 * Polynomial(2) * Linear()
    assert isinstance(kernel, Sum)
    assert len(kernel.terms) == 3
    assert isinstance(kernel.terms[2], Product)
    params = kernel.get_params()
    assert params["0__bandwidth"] == 1.0
    assert params["1__bandwidth"] == 2.0
    assert params["2__0__factor"] == 3.0
    assert params["2__0__kernel__degree"] == 2
    assert params["2__1__constant"] == 0.0
    kernel.set_params(**{"0__bandwidth": 5.0, "2__0__kernel__degree": 3})
    assert kernel.terms[0].bandwidth == 5.0
    assert kernel == Gaussian(5.0) + Laplacian(2.0) + 3.0 * Polynomial(3) * Linear()


def test_numpy_scalars_multiply_from_either_side():
    X = points()
    for factor in (np.float64(2.0), np.int64(2), 2):
        for kernel in (factor * Gaussian(1.0), Gaussian(1.0) * factor):
            assert isinstance(kernel, Scaled)
            assert_array_equal(kernel(X), 2 * Gaussian(1.0)(X))


def test_errors_for_unknown_parameters_list_the_known_ones():
    with raises(ValueError, "'gamma'", "bandwidth"):
        Gaussian(1.0).set_params(gamma=2.0)
    with raises(ValueError, "'2__bandwidth'", "0__bandwidth"):
        (Gaussian(1.0) + Laplacian(1.0)).set_params(**{"2__bandwidth": 2.0})


def test_nested_parameters_are_set_after_the_kernel_that_has_them():
    # as in scikit-learn, for any order of the names in a grid search
    kernel = (2.0 * Gaussian(1.0)).set_params(kernel__bandwidth=3.0, kernel=Laplacian(1.0))
    assert kernel == 2.0 * Laplacian(3.0)


def test_kernels_that_differ_are_not_equal():
    assert Gaussian(1.0) != Laplacian(1.0)
    assert Gaussian(1.0) != Gaussian(2.0)
    assert Gaussian(np.array([1.0, 2.0])) != Gaussian(np.array([1.0 + 1e-10, 2.0]))
    many = np.ones(2000)
    other = many.copy()
    other[1000] = 2.0
    assert Gaussian(many) != Gaussian(other)


def test_kernels_on_different_data_cannot_be_combined():
    class OnObjects(Kernel):
        compares = "objects"

    with raises(ValueError, "objects", "vectors"):
        KernelPCA(kernel=Gaussian(1.0) + OnObjects()).fit(points())
    with raises(ValueError, "gram", "Precomputed()"):
        KernelPCA(kernel=Precomputed() + Precomputed()).fit(np.eye(4))


class _Cached(Kernel):
    """Computes its Gram matrix once and returns the stored array."""

    def __init__(self):
        self._stored = {}

    def matrix(self, X, Y):
        key = X.tobytes(), Y.tobytes()
        if key not in self._stored:
            self._stored[key] = Gaussian(1.0)(X, Y)
        return self._stored[key]


class _Constant(Kernel):
    """Returns a read-only broadcast array."""

    def matrix(self, X, Y):
        return np.broadcast_to(X.dtype.type(0.5), (len(X), len(Y)))


@pytest.mark.parametrize("inner", [_Cached, _Constant])
@pytest.mark.parametrize(
    "combine",
    [
        lambda k: 2.0 * k,
        lambda k: k + k,
        lambda k: k * k,
        lambda k: k + Gaussian(2.0),
        lambda k: k * Gaussian(2.0),
    ],
)
def test_algebra_does_not_change_arrays_that_a_kernel_stores(inner, combine):
    X, kernel = points(), inner()
    expected = combine(Gaussian(1.0) if inner is _Cached else _Constant())(X).copy()
    for _ in range(3):
        assert_allclose(combine(kernel)(X), expected, rtol=1e-14)


def test_logarithms_and_missing_values_do_not_change_stored_arrays():
    X, kernel = points(), _Cached()
    expected = kernel(X).copy()
    kernel.log_tiles(X, X)(slice(None), slice(None), None)
    assert_array_equal(kernel(X), expected)
    table = np.array([[0.0], [1.0], [np.nan]])
    on = fit_kernel(On(0, kernel), table)
    first = on(table)
    assert_array_equal(on(table), first)


def test_sum_of_a_list_of_kernels():
    assert sum([Gaussian(1.0), Linear()]) == Gaussian(1.0) + Linear()
    with raises(TypeError, "float", "Gaussian"):
        1.0 + Gaussian(1.0)


class _StoredDiagonal(Gaussian):
    """Returns the same array in every call."""

    stored = np.ones(3)

    def diagonal(self, X):
        return self.stored


def test_combined_diagonals_do_not_change_those_of_the_terms():
    total = (_StoredDiagonal(1.0) + Gaussian(1.0)).diagonal(np.zeros((3, 1)))
    assert_array_equal(total, 2.0)
    assert_array_equal(_StoredDiagonal.stored, 1.0)


@pytest.mark.parametrize("other", [3, (1.0,), None])
def test_addition_to_non_kernels_raises(other):
    with raises(TypeError, "Gaussian"):
        other + Gaussian(1.0)


def test_multiplication_of_none_raises():
    with raises(TypeError, "Gaussian", "NoneType"):
        None * Gaussian(1.0)


def test_constant_kernels_are_positive_semidefinite():
    assert Linear(scale=0.0, constant=1.0).is_psd
    assert Polynomial(2, constant=0.0, scale=0.0).is_psd
    assert not Linear(scale=-1.0).is_psd
    assert not Polynomial(2, constant=-1.0).is_psd
