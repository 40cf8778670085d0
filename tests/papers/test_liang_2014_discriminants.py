"""Discriminants of Liang 2014, and samples compared with the population."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelLDA, KernelPCA
from mercer.kernels import Polynomial
from mercer.population import (
    Empirical,
    GaussianOperator,
    Mixture,
    PolynomialDiscriminant,
    PolynomialOperator,
)
from tests.papers.liang_2014_measures import (
    BANDWIDTH,
    CLASSES,
    CLOUDS,
    ONE,
    SQUARE,
    TWO,
    assert_close_up_to_sign,
    features,
    mixture_nodes,
    nodes_of,
)

# --- chapter 5: discriminants ---------------------------------------------------------------------

B2 = [[9, -12, 0], [-12, 16, 0], [0, 0, 0]]

W2 = [[12, -12, 0], [-12, 30, -12], [0, -12, 18]]

B3 = [
    [324, -756, 810, -504],
    [-756, 1764, -1890, 1176],
    [810, -1890, 2025, -1260],
    [-504, 1176, -1260, 784],
]

W3 = [
    [181.5, -270, 157.5, 0],
    [-270, 670.5, -594, 157.5],
    [157.5, -594, 792, -324],
    [0, 157.5, -324, 303],
]

DISCRIMINANTS = [
    (1, [[9, -12], [-12, 16]], np.eye(2), 25, [-0.6, 0.8], [-0.6, 0.8]),
    (
        2,
        B2,
        W2,
        0.85,
        [0.1626978434, -0.1084652289, -0.0723101526],
        [0.1626978434, -0.2169304578, -0.0723101526],
    ),
    (
        3,
        B3,
        W3,
        4.388659202423,
        [0.0413672093, -0.0070771026, -0.0052490330, -0.0460453965],
        # the thesis has -.0142 and -.0104: the binomial coefficient 3 is replaced by 2
        [0.0413672093, -0.0212313079, -0.0157470991, -0.0460453965],
    ),
]


def test_moments_of_the_classes_equal_published_ones():
    first = [-1, 2, -4, 10, -26, 76]
    second = [2, 5, 14, 43, 142, 499]
    zero, one = CLASSES
    powers = range(1, 7)
    assert_allclose([one.moment((k, 0)) for k in powers], first)
    assert_allclose([one.moment((0, k)) for k in powers], second)
    assert_allclose([zero.moment((k, 0)) for k in powers], second)
    assert_allclose([zero.moment((0, k)) for k in powers], (-1.0) ** np.arange(1, 7) * second)


@pytest.mark.parametrize(("degree", "B", "W", "ratio", "C", "f"), DISCRIMINANTS)
def test_discriminants_equal_published_ones(degree, B, W, ratio, C, f):
    found = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
    assert_allclose(found.between, B, atol=1e-10)
    assert_allclose(found.within, W, atol=1e-10)
    assert_allclose(found.ratio, ratio, rtol=1e-12)
    assert_close_up_to_sign(found.thesis_coefficients, C, atol=5.1e-11)
    assert_close_up_to_sign(found.coefficients, f, atol=5.1e-11)
    # the variances between and within classes of f, by quadrature
    values = [nodes_of(measure, 8) for measure in CLASSES]
    means = [w @ found(X) for X, w in values]
    variances = [w @ (found(X) - m) ** 2 for (X, w), m in zip(values, means, strict=True)]
    assert_allclose((means[1] - means[0]) ** 2 / np.mean(variances), ratio, rtol=1e-10)
    assert_allclose(np.mean(variances), 1, rtol=1e-10)  # C'W*C = 1
    assert means[1] > means[0]


def test_cubic_discriminant_by_quadrature():
    """Coefficients W⁻¹(m₁ - m₀) on raw monomials, scaled to variance 1 within classes."""
    parts = []
    for measure in CLASSES:
        X, w = nodes_of(measure, 8)
        monomials, _ = features(X, 3)
        mean = w @ monomials
        parts.append((mean, (monomials - mean).T @ (w[:, None] * (monomials - mean))))
    within = np.mean([cov for _, cov in parts], axis=0)
    a = np.linalg.solve(within, parts[1][0] - parts[0][0])
    a /= np.sqrt(a @ within @ a)
    assert_close_up_to_sign(a, [0.0414, -0.0212, -0.0157, -0.0460], atol=6e-5)


def test_vector_d_of_the_cubic_equals_the_published_one():
    found = PolynomialDiscriminant(3, CLASSES, [0.5, 0.5])
    values, vectors = np.linalg.eigh(found.within)
    root = vectors * np.sqrt(values) @ vectors.T
    true = [0.437593, -0.492441, 0.399391, -0.637574]
    assert_close_up_to_sign(root @ found.thesis_coefficients, true, atol=6e-7)


def test_cosines_with_functions_without_binomial_coefficients():
    for degree, cosine in [(2, 0.944), (3, 0.966)]:
        f = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
        a, C = f.coefficients, f.thesis_coefficients
        assert_allclose(a @ C / np.linalg.norm(a) / np.linalg.norm(C), cosine, atol=6e-4)


def test_quadratic_discriminant_is_even():
    f = PolynomialDiscriminant(2, CLASSES, [0.5, 0.5])
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert_allclose(f(-X), f(X))
    a, b, c = f.coefficients
    axis = np.degrees(np.arctan2(b, a - c) / 2) % 90  # of the quadratic form
    assert_allclose(axis, 158.6 - 90, atol=0.06)


# --- samples (part A.3) ---------------------------------------------------------------------------

ERRORS = [
    (PolynomialOperator(2, SQUARE), 400, [0.0330, 0.0056, 0.00125]),
    (PolynomialOperator(2, CLOUDS), 400, [7.92, 1.64, 0.442]),
    (PolynomialOperator(3, CLOUDS), 400, [223, 49.1, 12.5, 4.0]),
    (GaussianOperator(BANDWIDTH, ONE, n_components=4), 1000, [0.0072, 0.0049, 0.0023, 0.0010]),
    (
        GaussianOperator(BANDWIDTH, ONE, n_components=4, center=True),
        1000,
        [0.0049, 0.0034, 0.0010, 0.0006],
    ),
    (GaussianOperator(BANDWIDTH, TWO, n_components=3), 1000, [0.0108, 0.0101, 0.0034]),
    (
        GaussianOperator(BANDWIDTH, TWO, n_components=4, center=True),
        1000,
        [0.0058, 0.0039, 0.0022, 0.0014],
    ),
]


@pytest.mark.parametrize(("operator", "n", "printed"), ERRORS)
def test_standard_errors_equal_published_ones(operator, n, printed):
    # half a unit of the last published digit is at most 1 %, for .0006 at most 1 in 12
    assert_allclose(operator.standard_errors(n), printed, rtol=0.012, atol=6e-5)


SAMPLES = [
    (operator, n, seed)
    for seed, (operator, _, _) in enumerate(ERRORS)
    for n in (400, 4000)
    if n == 4000 or operator.kernel != Polynomial(3)  # heavy tails need n = 4000
]


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "n", "seed"), SAMPLES)
def test_gram_eigenvalues_are_near_the_population_ones(operator, n, seed):
    k = operator.n_components
    X = operator.measure.sample(n, random_state=100 * seed + n)
    solver = "dense" if n < 2000 else "auto"
    pca = KernelPCA(k, kernel=operator.kernel, center=operator.center, solver=solver).fit(X)
    error = np.abs(pca.eigenvalues_ / n - operator.eigenvalues)
    # standard errors are of first order; the second-order bias of small eigenvalues is at most λ1/n
    allowed = 5 * operator.standard_errors(n) + operator.eigenvalues[0] / n
    assert (error < allowed).all()


LIMITS = [(1, 400, 0.995), (2, 400, 0.90), (3, 400, 0.95)]  # below the 0.1 % quantiles

LIMITS += [(1, 1500, 0.999), (2, 1500, 0.97), (3, 1500, 0.985)]


@pytest.mark.slow
@pytest.mark.parametrize(("degree", "n", "limit"), LIMITS)
@pytest.mark.parametrize("regularization", [1e-6, 1e-3])
def test_kernel_discriminants_are_near_the_population_ones(degree, n, limit, regularization):
    mixture = Mixture([0.5, 0.5], CLASSES)
    truth = PolynomialDiscriminant(degree, CLASSES, [0.5, 0.5])
    nodes, weights = mixture_nodes(mixture, 8)
    f = truth(nodes)
    for seed in range(3 if n == 400 else 1):
        rng = np.random.default_rng(1000 * degree + seed)
        y = rng.integers(0, 2, n)
        X = np.where(y[:, None] == 1, [-1.0, 2.0], [2.0, -2.0]) + rng.normal(size=(n, 2))
        model = KernelLDA(kernel=Polynomial(degree), regularization=regularization).fit(X, y)
        found = model.transform(nodes)[:, 0]
        covariance = np.cov(found, f, aweights=weights, bias=True)
        assert covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) >= limit
        # λ of the thesis is δ'W⁻¹δ, and the variance within classes is 1
        ratio = model.eigenvalues_[0] / np.prod(model.priors_)
        assert_allclose(ratio, truth.ratio, rtol=10 / np.sqrt(n))
        assert_allclose(np.sqrt(covariance[0, 0] / covariance[1, 1]), 1, atol=6 / np.sqrt(n))


def test_discriminant_of_empirical_measures_equals_kernel_lda():
    # population discriminant with sample moments, as in Figure 5.5
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(60, 2)) + measure.mean for measure in CLASSES]
    truth = PolynomialDiscriminant(3, [Empirical(part) for part in X], [0.5, 0.5])
    model = KernelLDA(kernel=Polynomial(3), regularization=0).fit(
        np.vstack(X), np.repeat([0, 1], 60)
    )
    points = rng.normal(size=(40, 2))
    found, expected = model.transform(points)[:, 0], truth(points)
    assert_allclose(found - found.mean(), expected - expected.mean(), rtol=1e-7, atol=1e-8)
    assert_allclose(4 * model.eigenvalues_[0], truth.ratio, rtol=1e-8)
