"""Gram matrices as kernels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from mercer import KernelECA, KernelPCA
from mercer.datasets import make_rings
from mercer.kernels import Gaussian, Precomputed
from tests.expectations import raises
from tests.kernels.naive import points


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_precomputed_sets_the_pairwise_tag(estimator):
    for kernel, expected in [
        ("precomputed", True),
        (Precomputed(), True),
        ("gaussian", False),
        (Gaussian(1.0), False),
    ]:
        assert get_tags(estimator(kernel=kernel)).input_tags.pairwise is expected


def test_cross_validation_slices_a_precomputed_kernel_both_ways():
    X, y = make_rings(random_state=0)
    K = Gaussian(3.0)(X)
    folds = KFold(3, shuffle=True, random_state=0)
    given = make_pipeline(KernelPCA(4, kernel="precomputed"), LogisticRegression())
    made = make_pipeline(KernelPCA(4, kernel=Gaussian(3.0)), LogisticRegression())
    found = cross_val_predict(given, K, y, cv=folds, method="decision_function")
    expected = cross_val_predict(made, X, y, cv=folds, method="decision_function")
    # logistic regression stops at a gradient of 1e-4, which limits the agreement
    assert_allclose(found, expected, rtol=0, atol=1e-3)


def test_multiples_of_a_precomputed_kernel_raise():
    K = Gaussian(1.0)(points())
    kernel = 2.0 * Precomputed()
    with raises(ValueError, kernel):
        KernelPCA(kernel=kernel).fit(K)


def test_a_precomputed_matrix_that_is_not_symmetric_has_no_diagonal():
    K = Gaussian(1.0)(points(5))
    assert_array_equal(Precomputed().diagonal(K), 1.0)
    K[0, 1] *= 1.01
    for wrong in (K, K[:3], K[0]):
        with raises(ValueError, "precomputed", "k(x, x)"):
            Precomputed().diagonal(wrong)


def test_precomputed_selects_columns():
    K = Gaussian(1.0)(points(5))
    assert_array_equal(Precomputed()(K), K)
    assert_array_equal(Precomputed()(K[:2], [4, 0]), K[:2][:, [4, 0]])


def test_precomputed_returns_its_matrix():
    K = Gaussian(1.0)(np.random.default_rng(0).normal(size=(5, 2)))
    kernel = Precomputed()
    assert_array_equal(kernel(K), K)
    assert_array_equal(kernel(K[:2], np.array([3, 0])), K[:2][:, [3, 0]])
    assert_array_equal(kernel.diagonal(K), np.ones(5))
    assert kernel.is_psd
    assert_array_equal(kernel.tiles(K)(slice(1, 3), slice(0, 4), None), K[1:3, :4])
    out = np.empty((2, 2))
    assert kernel.tiles(K)(slice(0, 2), slice(0, 2), out) is out
    assert_array_equal(out, K[:2, :2])


@pytest.mark.parametrize("power", [1, 2])
def test_distances_are_rejected(power, rng):
    X = rng.normal(size=(40, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2) ** power
    with raises(ValueError, f"{D.max():.3g}", "distances", "np.exp"):
        KernelECA(1, kernel="precomputed").fit(D)


def test_affinities_with_a_zero_diagonal_are_accepted(rng):
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(9, 1, size=(20, 2))])
    K = Gaussian(1.0)(X)
    np.fill_diagonal(K, 0)
    assert KernelECA(2, kernel="precomputed").fit(K).eigenvalues_.shape == (2,)
