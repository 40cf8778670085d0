"""Mean embeddings and centered kernels against quadrature, sums and population operators."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from mercer.errors import ApproximationWarning
from mercer.gram.gram import double_center
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.population import (
    Empirical,
    GaussianOperator,
    KernelOperator,
    MeanEmbedding,
    Mixture,
    Normal,
    PolynomialOperator,
    Product,
    Uniform,
    centered_matrix,
    secular_eigenvalues,
)
from tests.expectations import raises, warns

TWO = Mixture([0.6, 0.4], [Normal(2, 1), Normal(-2, 0.5)])


def naive_mean(kernel, density, x, low, high):
    """``∫ k(y, x) p(y) dy``, split at the kink of the kernel."""
    edges = sorted({low, high, *np.clip([x, x - 3, x + 3], low, high)})
    return sum(
        quad(lambda y: float(kernel([[y]], [[x]])[0, 0]) * density(y), a, b, epsabs=1e-13)[0]
        for a, b in pairwise(edges)
    )


@pytest.mark.parametrize(
    ("kernel", "measure", "low", "high"),
    [
        (Gaussian(1.5), Normal(2, 1), -8, 12),
        (Gaussian(0.4), TWO, -8, 12),
        (Polynomial(3, 0.5), TWO, -8, 12),
        (Linear(), Uniform(-1, 3), -1, 3),
        (Gaussian(0.7), Uniform(-1, 3), -1, 3),
        (Matern(0.7, 2.5), Normal(0, 1), -9, 9),
    ],
    ids=repr,
)
def test_mean_equals_an_integral(kernel, measure, low, high):
    mean = MeanEmbedding(kernel, measure)
    for x in (-0.7, 0.3, 2.5):
        expected = naive_mean(kernel, lambda y: float(measure.pdf([[y]])[0]), x, low, high)
        assert_allclose(mean([[x]])[0], expected, rtol=1e-6)
    assert_allclose(mean.potential, measure.expectation(mean, tolerance=1e-6), rtol=1e-6)


def test_numbers_of_the_thesis():
    """Section 4.3: E k(X, X') under N(2, 1) with w = 1.5 is √(w²/(w² + 2σ²))."""
    mean = MeanEmbedding(Gaussian(1.5), stats.norm(2, 1))
    assert_allclose(mean.potential, np.sqrt(2.25 / 4.25), rtol=1e-12)
    assert mean.method == "closed form"
    centered = KernelOperator(Gaussian(1.5), Normal(2, 1), center=True)
    own = mean.measure.expectation(lambda X: np.diagonal(mean.centered_kernel(X)), tolerance=1e-9)
    assert_allclose(own, centered.trace, rtol=1e-8)


def test_mean_in_several_dimensions_equals_a_sample_mean(rng):
    p = Mixture([0.3, 0.7], [Normal([0, 1], [[1.0, 0.4], [0.4, 0.7]]), Normal([-1, 0], [0.5, 2])])
    kernel = Gaussian(np.array([0.8, 1.3]))
    mean = MeanEmbedding(kernel, p)
    X, points = p.sample(200_000, random_state=0), rng.normal(size=(4, 2))
    values = kernel(X, points)
    errors = values.std(axis=0) / np.sqrt(len(X))
    assert (np.abs(mean(points) - values.mean(axis=0)) < 4 * errors).all()
    pairs = np.exp(-0.5 * (((X[::2] - X[1::2]) / [0.8, 1.3]) ** 2).sum(axis=1))
    assert abs(mean.potential - pairs.mean()) < 4 * pairs.std() / np.sqrt(len(pairs))


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(1.0), Polynomial(2)], ids=repr)
def test_empirical_measure_centers_the_gram_matrix(kernel, rng):
    X, weights = rng.normal(size=(12, 2)), rng.uniform(0.2, 1, 12)
    mean = MeanEmbedding(kernel, Empirical(X, weights))
    w = weights / weights.sum()
    K = kernel(X)
    assert_allclose(mean(X), K @ w, rtol=1e-10)
    assert_allclose(mean.potential, w @ K @ w, rtol=1e-10)
    equal = MeanEmbedding(kernel, Empirical(X))
    expected = kernel(X)
    double_center(expected, np.full(12, 12**-0.5))
    assert_allclose(equal.centered_kernel(X), expected, atol=1e-10 * np.abs(K).max())
    assert_allclose(equal.centered_kernel(X, X[:3]), expected[:, :3], atol=1e-10 * np.abs(K).max())


def test_centered_kernel_has_the_spectrum_of_the_centered_operator():
    """Its Mercer expansion has the eigenpairs of the centered operator."""
    operator = PolynomialOperator(2, Normal([1.0, 0.0]), constant=1.0, center=True)
    mean = MeanEmbedding(Polynomial(2, 1.0), Normal([1.0, 0.0]))
    X = np.random.default_rng(0).normal(size=(6, 2))
    functions = operator.eigenfunctions(X)
    expansion = functions * operator.eigenvalues @ functions.T
    assert_allclose(mean.centered_kernel(X), expansion, rtol=1e-9, atol=1e-9)


def test_public_matrix_has_the_centered_eigenvalues():
    plain = GaussianOperator(1.5, Normal(2, 1))
    centered = GaussianOperator(1.5, Normal(2, 1), center=True)
    values = np.linalg.eigvalsh(centered_matrix(plain.eigenvalues, plain.means))[::-1]
    assert_allclose(values[:10], centered.eigenvalues[:10], atol=1e-12)
    roots = secular_eigenvalues(plain.eigenvalues, plain.means)
    assert_allclose(roots[:10], centered.eigenvalues[:10], atol=1e-12)


def test_inaccurate_quadrature_warns_and_reports_its_error():
    exact = naive_mean(Laplacian(0.2), lambda y: float(Normal(0).pdf([[y]])[0]), 0.4, -9, 9)
    with warns(ApproximationWarning, "max_nodes"):
        mean = MeanEmbedding(Laplacian(0.2), Normal(0), max_nodes=200)
    assert 1e-8 < abs(mean([[0.4]])[0] - exact) < 3 * mean.error


def test_mean_in_many_dimensions_uses_scattered_nodes():
    measure = Product([Uniform(0, 1)] * 8)
    mean = MeanEmbedding(Gaussian(1.0), measure, tolerance=0.05)
    one = naive_mean(Gaussian(1.0), lambda y: 1.0, 0.5, 0, 1)
    assert abs(mean(np.full((1, 8), 0.5))[0] - one**8) <= max(mean.error, 1e-3)


def test_points_of_another_dimension_raise():
    with raises(ValueError, 1, 2):
        MeanEmbedding(Gaussian(1.0), Normal([0, 0]))([[0.0]])
