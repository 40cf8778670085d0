"""The population discriminant maximizes the ratio of variances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer import KernelLDA
from mercer.errors import MemoryBudgetError
from mercer.kernels import Gaussian, Laplacian, Polynomial
from mercer.population import (
    Empirical,
    KernelDiscriminant,
    Normal,
    PolynomialDiscriminant,
    Product,
    Uniform,
    compare_discriminants,
)
from tests.expectations import raises

FIRST = Normal([0.5, 0.0], [[1.0, 0.3], [0.3, 0.5]])
SECOND = Product([stats.gamma(2.0), Uniform(-1, 2)])
PRIORS = [0.3, 0.7]


def ratio_of(function, priors):
    """Return the ratio of between-class to within-class variance by quadrature."""
    means = [float(m.expectation(function)) for m in (FIRST, SECOND)]
    squares = [float(m.expectation(lambda X: function(X) ** 2)) for m in (FIRST, SECOND)]
    within = sum(p * (s - m**2) for p, s, m in zip(priors, squares, means, strict=True))
    return (means[1] - means[0]) ** 2 / within


@pytest.mark.parametrize("constant", [0.0, 0.5])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_discriminant_maximizes_the_ratio(degree, constant):
    f = PolynomialDiscriminant(degree, [FIRST, SECOND], PRIORS, constant=constant)
    assert_allclose(ratio_of(f, PRIORS), f.ratio, rtol=1e-8)
    rng = np.random.default_rng(degree)
    best = f.coefficients.copy()
    for _ in range(5):
        f.coefficients = best + 0.05 * np.abs(best).max() * rng.normal(size=len(best))
        assert ratio_of(f, PRIORS) < f.ratio * (1 + 1e-9)


def test_coefficients_satisfy_the_generalized_eigenvalue_equation():
    f = PolynomialDiscriminant(3, [FIRST, SECOND], PRIORS)
    C = f.thesis_coefficients
    assert_allclose(f.between @ C, f.ratio * f.within @ C, rtol=1e-6, atol=1e-8)
    assert_allclose(C @ f.within @ C, 1)


def test_repr_of_discriminant():
    f = PolynomialDiscriminant(1, [Normal([2, -2]), Normal([-1, 2])], [0.5, 0.5])
    assert repr(f).startswith("PolynomialDiscriminant(ratio=25, [Normal(")


def test_order_of_classes_determines_the_sign():
    f = PolynomialDiscriminant(2, [FIRST, SECOND], PRIORS)
    g = PolynomialDiscriminant(2, [SECOND, FIRST], PRIORS[::-1])
    X = FIRST.sample(5, 0)
    assert_allclose(f(X), -g(X))


def test_linear_kernel_is_fishers_discriminant():
    S = np.array([[1.0, 0.3], [0.3, 0.5]])
    f = PolynomialDiscriminant(1, [Normal([0, 0], S), Normal([1, 2], S)], [0.5, 0.5])
    w = np.linalg.solve(S, [1, 2])
    assert_allclose(f.coefficients, w / np.sqrt(w @ S @ w))


def test_samples_approach_the_population():
    f = PolynomialDiscriminant(2, [FIRST, SECOND], [0.5, 0.5])
    samples = [Empirical(m.sample(20_000, seed)) for seed, m in enumerate((FIRST, SECOND))]
    g = PolynomialDiscriminant(2, samples, [0.5, 0.5])
    X = np.vstack([FIRST.sample(500, 7), SECOND.sample(500, 8)])
    assert np.corrcoef(f(X), g(X))[0, 1] > 0.99


@pytest.mark.parametrize(
    ("arguments", "options", "values"),
    [
        ((0, [FIRST, SECOND], PRIORS), {}, ["degree=0"]),
        ((2, [FIRST, SECOND], PRIORS), {"constant": -1}, ["constant=-1"]),
        ((2, [FIRST, SECOND], [0.5, 0.6]), {}, ["priors", 1.1]),
        ((2, [FIRST, SECOND], [1.0]), {}, ["priors", 1, 2]),
        ((2, [FIRST], [1.0]), {}, [2, 1]),
        ((2, [FIRST, Normal(0)], PRIORS), {}, [2, 1]),
        ((2, [FIRST, FIRST], PRIORS), {}, ["degree"]),
        ((2, [Normal(0), stats.cauchy()], PRIORS), {}, ["cauchy"]),
        ((1, [Empirical([[0.0]]), Empirical([[1.0]])], PRIORS), {}, ["infinite"]),
    ],
)
def test_errors_name_the_invalid_values(arguments, options, values):
    with raises(ValueError, *values):
        PolynomialDiscriminant(*arguments, **options)


def test_too_many_monomials_raise():
    with raises(MemoryBudgetError, "monomials"):
        PolynomialDiscriminant(4, [Normal(np.zeros(60))] * 2, [0.5, 0.5])


# --- several classes ------------------------------------------------------------------------------

THIRD = Normal([-1.0, 1.0], [0.5, 1.5])
THREE, THREE_PRIORS = [FIRST, SECOND, THIRD], np.array([0.3, 0.5, 0.2])


def variances(functions, measures, priors):
    """Return covariances of functions between and within classes, by quadrature."""
    means = np.array([m.expectation(functions, tolerance=1e-8) for m in measures])
    squares = [
        m.expectation(lambda X: functions(X)[:, :, None] * functions(X)[:, None], tolerance=1e-8)
        for m in measures
    ]
    within = sum(p * (s - np.outer(m, m)) for p, s, m in zip(priors, squares, means, strict=True))
    shifts = means - priors @ means
    return shifts.T @ (priors[:, None] * shifts), within


@pytest.mark.parametrize("degree", [1, 2])
def test_three_classes_have_two_functions(degree):
    f = PolynomialDiscriminant(degree, THREE, THREE_PRIORS, constant=1.0)
    assert f.coefficients.shape == (2, len(f.exponents))
    between, within = variances(f, THREE, THREE_PRIORS)
    assert_allclose(within, np.eye(2), atol=1e-6)
    assert_allclose(between, np.diag(f.ratio), atol=1e-6 * f.ratio[0])
    assert f.ratio[0] > f.ratio[1] > 0
    for C, ratio in zip(f.thesis_coefficients, f.ratio, strict=True):
        assert_allclose(f.between @ C, ratio * f.within @ C, rtol=1e-6, atol=1e-8)
    # no other function has a larger ratio
    rng = np.random.default_rng(0)
    for _ in range(5):
        C = rng.normal(size=len(f.exponents))
        assert C @ f.between @ C < f.ratio[0] * (C @ f.within @ C) * (1 + 1e-9)


def test_polynomial_kernels_agree_with_the_exact_discriminant():
    for measures, priors in (([FIRST, SECOND], np.array(PRIORS)), (THREE, THREE_PRIORS)):
        exact = PolynomialDiscriminant(2, measures, priors, constant=1.0)
        found = KernelDiscriminant(Polynomial(2, 1.0), measures, priors, regularization=0)
        scale = np.prod(priors) if len(priors) == 2 else 1.0
        assert_allclose(found.eigenvalues, scale * np.atleast_1d(exact.ratio), rtol=1e-5)
        X = FIRST.sample(6, 0)
        difference = found(X) - exact(X).reshape(6, -1)  # a constant per function
        assert_allclose(difference, difference[:1].repeat(6, axis=0), atol=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(1.2), Laplacian(2.0)], ids=repr)
def test_discriminant_of_other_kernels_equals_the_dual_problem_on_nodes(kernel):
    """On nodes, f = Σ α_j k(x_j, ·) maximizes (α'Kδ)² / α'(KMK + γK)α."""
    measures = [Normal(-0.8, 0.5), Normal(0.9, 1.0)]
    rules = [m.quadrature(64) for m in measures]
    nodes = np.vstack([rule.points for rule in rules])
    weights = [np.r_[rules[0].weights, np.zeros(64)], np.r_[np.zeros(64), rules[1].weights]]
    discrete = [Empirical(nodes, w) for w in weights]
    found = KernelDiscriminant(kernel, discrete, PRIORS, rank=100, ridge=1e-3)
    K, delta = kernel(nodes), weights[1] - weights[0]
    spread = sum(p * (np.diag(w) - np.outer(w, w)) for p, w in zip(PRIORS, weights, strict=True))
    # with u = K α: (u'δ)² / (u'Su + γ u'K⁻¹u), so the ratio is δ'(S + γK⁻¹)⁻¹δ
    inverse = K @ np.linalg.inv(np.eye(len(K)) + spread @ K / 1e-3) / 1e-3
    ratio = delta @ inverse @ delta
    assert_allclose(found.eigenvalues, [0.3 * 0.7 * ratio], rtol=1e-6)
    values, f = inverse @ delta, found(nodes)[:, 0]
    assert abs(np.corrcoef(values, f)[0, 1]) > 1 - 1e-8
    if isinstance(kernel, Gaussian):  # the nodes integrate smooth functions exactly
        smooth = KernelDiscriminant(kernel, measures, PRIORS, rank=100, ridge=1e-3)
        assert_allclose(smooth.eigenvalues, found.eigenvalues, rtol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_lda_is_the_discriminant_of_its_sample(n_classes):
    measures = THREE[:n_classes]
    X = [m.sample(40 + 10 * i, i) for i, m in enumerate(measures)]
    y = np.repeat(np.arange(n_classes), [len(part) for part in X])
    lda = KernelLDA(kernel=Gaussian(1.3), rank=12, solver="dense").fit(np.vstack(X), y)
    comparison = compare_discriminants(lda, [Empirical(part) for part in X])
    assert_allclose(comparison.population_eigenvalues, lda.eigenvalues_, rtol=1e-6)
    assert_allclose(comparison.correlations, 1, rtol=1e-6)
    assert_allclose(comparison.discriminant.class_means, lda.class_means_, rtol=1e-5)


@pytest.mark.slow
def test_kernel_lda_approaches_its_population():
    measures = [Normal([0, 0]), Normal([2, 1]), Normal([-1, 2])]
    gaps, correlations = [], []
    for n in (60, 600):
        X = np.vstack([m.sample(n, i) for i, m in enumerate(measures)])
        y = np.repeat(["a", "b", "c"], n)
        lda = KernelLDA(kernel=Gaussian(2.0), rank=8).fit(X, y)
        comparison = compare_discriminants(lda, measures)
        assert comparison.n == 3 * n
        gaps.append(np.abs(comparison.sample_eigenvalues / comparison.population_eigenvalues - 1))
        correlations.append(comparison.correlations)
    assert gaps[1].max() < 0.15
    assert correlations[1].min() > max(0.97, correlations[0].min())
    assert str(comparison).count("\n") == 2


def test_unusable_discriminants_raise():
    with raises(ValueError, 2, 1):
        KernelDiscriminant(Gaussian(1.0), [FIRST], [1.0])
    with raises(ValueError, "priors", 2, 3):
        KernelDiscriminant(Gaussian(1.0), THREE, [0.5, 0.5])
    with raises(ValueError, "regularization=-1"):
        KernelDiscriminant(Gaussian(1.0), [FIRST, SECOND], PRIORS, regularization=-1)
    with raises(TypeError, "Gaussian"):
        compare_discriminants(Gaussian(1.0), [FIRST, SECOND])
    X = np.vstack([m.sample(20, 0) for m in (FIRST, SECOND)])
    lda = KernelLDA(kernel=Gaussian(1.0)).fit(X, np.repeat([0, 1], 20))
    with raises(ValueError, 2, 3):
        compare_discriminants(lda, THREE)
