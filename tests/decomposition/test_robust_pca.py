"""Robust kernel PCA: outliers are found, and the components are those of the other rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelPCA, RobustKernelPCA
from mercer.decomposition.robust_pca import outlyingness
from mercer.kernels import Gaussian, Linear, NGram, Polynomial
from tests.expectations import raises


def contaminated(fraction=0.1, n=200, d=5, seed=0):
    """Normal rows with decreasing variances, some replaced by a distant group."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1)) + 1
    X = clean.copy()
    m = int(fraction * n)
    X[:m] = 1 + 0.3 * rng.normal(size=(m, d)) + 8 * np.eye(d)[-1]
    return clean, X, m


def smallest_cosine(model, other, X):
    """Return the cosine of the largest angle between the spans of two models' scores."""
    bases = [np.linalg.qr(Z - Z.mean(axis=0))[0] for Z in (model.transform(X), other.transform(X))]
    return np.linalg.svd(bases[0].T @ bases[1])[1].min()


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(2), Polynomial(3), Gaussian(2.0)], ids=repr
)
@pytest.mark.parametrize("fraction", [0.05, 0.2])
def test_components_are_those_of_the_sample_without_outliers(kernel, fraction):
    clean, X, m = contaminated(fraction)
    reference = KernelPCA(2, kernel=kernel).fit(clean)
    robust = RobustKernelPCA(2, kernel=kernel).fit(X)
    plain = KernelPCA(2, kernel=kernel).fit(X)
    assert not set(robust.support_) & set(range(m))
    found = smallest_cosine(robust, reference, clean)
    assert found > 0.75
    assert smallest_cosine(plain, reference, clean) < found - 0.2


def test_model_is_kernel_pca_of_its_support():
    _, X, _ = contaminated()
    robust = RobustKernelPCA(3, kernel=Polynomial(2)).fit(X)
    refit = KernelPCA(3, kernel=Polynomial(2)).fit(X[robust.support_])
    assert_allclose(robust.eigenvalues_, refit.eigenvalues_, rtol=1e-10)
    assert_allclose(robust.transform(X), refit.transform(X), rtol=1e-8, atol=1e-8)
    assert_array_equal(robust.fit_transform(X), robust.transform(X))
    assert_allclose(robust.reconstruction_error(X), refit.reconstruction_error(X), atol=1e-7)


@pytest.mark.parametrize("fraction", [0.5, 0.75, 1.0])
def test_support_has_at_least_the_given_fraction(fraction):
    clean, _, _ = contaminated()
    robust = RobustKernelPCA(2, kernel=Polynomial(2), support_fraction=fraction).fit(clean)
    assert len(robust.support_) >= fraction * len(clean)
    assert len(robust.outlyingness_) == len(clean)


def test_few_regular_rows_of_a_normal_sample_are_excluded():
    clean, _, _ = contaminated(n=400)
    robust = RobustKernelPCA(2, kernel=Linear()).fit(clean)
    assert len(robust.support_) > 0.9 * len(clean)


def test_outlyingness_of_the_linear_kernel_equals_its_definition():
    """The projections on direction x_a - x_b are differences of columns of K."""
    _, X, _ = contaminated(n=12, d=2)
    robust = RobustKernelPCA(1, kernel=Linear()).fit(X)
    expected = np.zeros(12)
    for a in range(12):
        for b in range(a):
            values = X @ (X[a] - X[b])
            spread = 1.4826 * np.median(np.abs(values - np.median(values)))
            expected = np.maximum(expected, np.abs(values - np.median(values)) / spread)
    assert_allclose(robust.outlyingness_, expected, rtol=1e-9)


def test_directions_without_spread_are_skipped():
    values = np.array([0.0, 0.0, 0.0, 0.0, 5.0])
    assert_array_equal(outlyingness([values], np.ones(5)), np.zeros(5))


def test_weights_equal_repeated_rows_and_zero_weights_absent_rows():
    _, X, _ = contaminated(n=60, d=3)
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    settings = {"n_components": 2, "kernel": Polynomial(2)}
    weighted = RobustKernelPCA(**settings).fit(X, sample_weight=weights)
    repeated = RobustKernelPCA(**settings).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    assert (weights[weighted.support_] > 0).all()
    rows = np.repeat(np.arange(60), weights)
    assert set(rows[repeated.support_]) == set(weighted.support_)


def test_unusable_input_raises():
    X = contaminated()[0]
    with raises(ValueError, "support_fraction=0.3", 0.5):
        RobustKernelPCA(support_fraction=0.3).fit(X)
    with raises(ValueError, "gram"):
        RobustKernelPCA(kernel="precomputed").fit(Gaussian(1.0)(X))
    with raises(ValueError, "objects"):
        RobustKernelPCA(kernel=NGram(2)).fit(["abc", "abd", "bcd"])
    assert not hasattr(RobustKernelPCA(), "partial_fit")
