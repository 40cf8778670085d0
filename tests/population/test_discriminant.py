"""The population discriminant maximizes the ratio of variances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer.errors import MemoryBudgetError
from mercer.population import Empirical, Normal, PolynomialDiscriminant, Product, Uniform
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
