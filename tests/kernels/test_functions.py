"""Python functions as kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import KernelECA, KernelLDA, KernelPCA
from mercer.information import information_potential
from mercer.kernels import FunctionKernel, Gaussian, Polynomial, as_kernel, check_kernel
from tests.expectations import raises


def gaussian_of_rows(x, y):
    return np.exp(-((x - y) ** 2).sum() / 2)


def polynomial_of_matrices(X, Y):
    return (1 + X @ Y.T) ** 2


@pytest.mark.parametrize(
    ("function", "kernel"),
    [
        (gaussian_of_rows, Gaussian(1.0)),
        (polynomial_of_matrices, Polynomial(2, constant=1.0)),
        (lambda x, y: np.dot(x, y) ** 2, Polynomial(2)),  # accepts some matrices too
    ],
)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_functions_equal_the_kernel(function, kernel, d, rng):
    X, Y = rng.normal(size=(7, d)), rng.normal(size=(4, d))
    found = FunctionKernel(function)
    assert_allclose(found(X, Y), kernel(X, Y), rtol=1e-12)
    assert_allclose(found(X[:1], Y[:1]), kernel(X[:1], Y[:1]), rtol=1e-12)
    assert_allclose(found.diagonal(X), kernel.diagonal(X), rtol=1e-12)


def test_estimators_accept_functions(rng):
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(5, 2))
    model = KernelECA(2, kernel=gaussian_of_rows).fit(X)
    expected = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    assert_allclose(model.transform(new), expected.transform(new), atol=1e-10)
    assert_allclose(
        information_potential(X, gaussian_of_rows), information_potential(X, Gaussian(1.0))
    )
    y = (X[:, 0] > 0).astype(int)
    search = GridSearchCV(KernelLDA(), {"kernel": [gaussian_of_rows, laplacian_kernel]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_functions_of_scikit_learn(rng):
    X = rng.uniform(size=(30, 3))
    for function in (laplacian_kernel, chi2_kernel):
        found = KernelPCA(2, kernel=function).fit(X)
        values = SklearnKernelPCA(2, kernel="precomputed").fit(function(X)).eigenvalues_
        assert_allclose(found.eigenvalues_, values, rtol=1e-8)


def test_contract_and_clone():
    kernel = FunctionKernel(polynomial_of_matrices)
    check_kernel(kernel)
    assert clone(KernelPCA(kernel=gaussian_of_rows)).kernel is gaussian_of_rows
    assert as_kernel(polynomial_of_matrices) == kernel


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("function", [lambda x, y: x, lambda x, y: 1 / 0])
def test_functions_with_other_results_are_rejected(function, d, rng):
    with raises(ValueError, "<lambda>", "(len(X), len(Y))", "number"):
        KernelPCA(1, kernel=function).fit(rng.normal(size=(10, d)))


def test_functions_cannot_be_saved(tmp_path, rng):
    model = KernelPCA(1, kernel=gaussian_of_rows).fit(rng.normal(size=(10, 2)))
    with raises((TypeError, ValueError), "function"):
        mercer.save(model, tmp_path / "model.mercer")


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        ("poly", "Polynomial(3, constant=1"),
        ("RBF", "'rbf'"),
        ("laplace", "'laplacian'"),
        ("gausian", "'gaussian'"),
        (Gaussian, "Gaussian(…)"),
    ],
)
def test_unknown_kernels_get_a_hint(kernel, remedy):
    with raises(ValueError, f"kernel={kernel!r}", remedy):
        KernelPCA(1, kernel=kernel).fit(np.ones((3, 1)))
