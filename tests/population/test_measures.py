"""Moments, densities, nodes and samples of a measure agree with each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import dblquad, quad

from mercer.errors import ApproximationWarning
from mercer.population import Empirical, Mixture, Normal, Product, Uniform
from mercer.population.measures import as_measure
from mercer.population.quadrature import normal_rule, quantile_rule, remaining_error
from tests.expectations import raises, warns

POINTS = np.random.default_rng(0).normal(size=(40, 2))
CORRELATED = Normal([1.0, -0.5], [[1.0, 0.6], [0.6, 2.0]])
MEASURES = [
    Normal(2, 1),
    CORRELATED,
    Normal([0.0, 1.0], [[1.0, 1.0], [1.0, 1.0]]),  # singular
    Uniform(-1, 3),
    Uniform([0, -1], [1, 2]),
    Mixture([0.3, 0.7], [Normal([0, 0], 0.5), CORRELATED]),
    Mixture([0.5, 0.5], [Uniform(0, 1), Normal(3, 0.2)]),
    Product([Normal(1, 2), Uniform(0, 1)]),
    Product([CORRELATED, stats.gamma(3.0)]),
    Product([Mixture([0.5, 0.5], [Normal(-1, 0.1), Normal(1, 0.1)]), stats.beta(0.5, 0.5)]),
    as_measure(stats.gamma(2.5, scale=0.7)),
    as_measure(stats.lognorm(0.3)),
    as_measure(stats.poisson(3.0)),
    Empirical(POINTS),
    Empirical(POINTS, weights=np.arange(40)),
    Mixture([0.5, 0.5], [Empirical(POINTS), CORRELATED]),
]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)


def indices(d, top):
    grid = np.stack(np.meshgrid(*[np.arange(top + 1)] * d, indexing="ij"), -1).reshape(-1, d)
    return grid[grid.sum(axis=1) <= top]


@every_measure
def test_moments_are_expectations_of_powers(measure):
    """Closed forms against quadrature, all multi-indices up to order 4."""
    rows = indices(measure.dimension, 4)
    expected = measure.expectation(lambda X: (X[:, None, :] ** rows).prod(-1))
    scale = np.maximum(1, np.abs(expected))
    assert_allclose(measure.moments(rows) / scale, expected / scale, atol=1e-9)
    assert_allclose([measure.moment(row) for row in rows], measure.moments(rows))


@every_measure
def test_monomial_moments_are_mean_and_covariance(measure):
    rows = indices(measure.dimension, 2)[1:]
    mean, covariance = measure.monomial_moments(rows)
    assert_allclose(mean, measure.moments(rows), rtol=1e-12, atol=1e-14)
    second = measure.moments((rows[:, None] + rows).reshape(-1, measure.dimension))
    expected = second.reshape(len(rows), -1) - np.outer(mean, mean)
    assert_allclose(covariance, expected, rtol=1e-9, atol=1e-10)


@every_measure
def test_samples_follow_the_measure(measure):
    n = 20_000
    X = measure.sample(n, random_state=3)
    assert X.shape == (n, measure.dimension)
    rows = indices(measure.dimension, 2)
    values = (X[:, None, :] ** rows).prod(-1)
    error = values.std(axis=0) / np.sqrt(n)
    assert (np.abs(values.mean(axis=0) - measure.moments(rows)) <= 5 * error + 1e-12).all()
    assert_allclose(measure.sample(5, random_state=3), measure.sample(5, random_state=3))


@every_measure
def test_rules_are_probability_measures(measure):
    for rule in (measure.quadrature(6), measure.scatter(64, 1)):
        assert rule.points.shape == (rule.size, measure.dimension)
        assert rule.weights.min() >= 0
        assert_allclose(rule.weights.sum(), 1)


@every_measure
def test_scattered_nodes_converge(measure):
    rule = measure.scatter(2**12, 0)
    error = np.abs(rule(np.cos).sum() - measure.expectation(np.cos, tolerance=1e-8).sum())
    assert error < 0.01  # plain sampling: 0.7/64 · √d for one sd


@pytest.mark.parametrize("measure", [m for m in MEASURES if m.dimension == 1], ids=repr)
def test_densities_on_the_line(measure):
    if measure.is_discrete:
        with raises(ValueError, "density"):
            measure.pdf([[0.0]])
        return
    breaks = [-2, 0, 1, 2, 3, 4]
    mass = quad(lambda x: measure.pdf([[x]])[0], -8, 40, points=breaks, limit=400)[0]
    assert_allclose(mass, 1, rtol=1e-6)
    second = quad(lambda x: x**2 * measure.pdf([[x]])[0], -8, 40, points=breaks, limit=400)[0]
    assert_allclose(second, measure.moment(2), rtol=1e-6)


def test_density_in_the_plane():
    mass = dblquad(lambda y, x: CORRELATED.pdf([[x, y]])[0], -7, 9, -10, 9, epsabs=1e-7)[0]
    assert_allclose(mass, 1, atol=1e-6)
    X = CORRELATED.sample(5, 0)
    expected = stats.multivariate_normal(CORRELATED.mean, CORRELATED.cov).pdf(X)
    assert_allclose(CORRELATED.pdf(X), expected)
    both = Product([Normal(0, 1), Uniform(0, 2)])
    assert_allclose(both.pdf([[0.0, 1.0], [0.0, 3.0]]), [0.5 / np.sqrt(2 * np.pi), 0])


def test_fourth_moments_satisfy_the_theorem_of_isserlis():
    """E x1 x2 x3 x4 = Σ over the three pairings, for a centered normal distribution."""
    A = np.random.default_rng(1).normal(size=(4, 4))
    S = A @ A.T
    pairings = S[0, 1] * S[2, 3] + S[0, 2] * S[1, 3] + S[0, 3] * S[1, 2]
    assert_allclose(Normal(np.zeros(4), S).moment((1, 1, 1, 1)), pairings)


def test_moments_of_a_rotated_normal_distribution():
    angle = 0.7
    Q = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rotated = Normal(Q @ CORRELATED.mean, Q @ CORRELATED.cov @ Q.T)

    def of_image(X):
        Y = X @ Q.T
        return Y[:, 0] ** 3 * Y[:, 1]

    assert_allclose(rotated.moment((3, 1)), CORRELATED.expectation(of_image), rtol=1e-10)


def test_scipy_distributions_are_converted():
    assert isinstance(as_measure(stats.norm(1, 2)), Normal)
    assert_allclose(as_measure(stats.norm(1, 2)).cov, [[4]])
    frozen = stats.multivariate_normal([1, 2], [[2, 1], [1, 3]])
    assert_allclose(as_measure(frozen).cov, [[2, 1], [1, 3]])
    assert_allclose(as_measure(stats.binom(5, 0.3)).moment(1), 1.5)


def test_bounded_functions_of_heavy_tails():
    """E cos X = e⁻¹ under the Cauchy distribution, which has no moments."""
    cauchy = as_measure(stats.cauchy())
    value = cauchy.expectation(lambda X: 1 / (1 + X[:, 0] ** 2))
    assert_allclose(value, 0.5, rtol=1e-10)


def test_gauss_hermite_is_exact_to_its_degree():
    x, w = normal_rule(5)
    assert_allclose([w @ x**k for k in (2, 4, 6, 8)], [1, 3, 15, 105])
    assert abs(w @ x**10 - 945) > 1


@pytest.mark.parametrize("n", [40, 96, 97, 200, 3000])
def test_large_rules_of_the_normal_distribution(n):
    x, w = normal_rule(n)
    assert_allclose([w @ x**k for k in (2, 4, 6, 8, 10)], [1, 3, 15, 105, 945], rtol=1e-12)
    assert_allclose(w @ np.cos(3 * x), np.exp(-4.5), rtol=1e-9)


def test_quantile_rule_converges_exponentially():
    measure = stats.expon()
    errors = []
    for n in (10, 20, 40):
        x, w = quantile_rule(measure.ppf, measure.isf, n)
        errors.append(abs(w @ np.exp(-3 * x) - 0.25))
    assert errors[0] > 30 * errors[1] > 1000 * errors[2]
    assert errors[2] < 1e-8


def test_remaining_error_of_a_geometric_series():
    """After steps of 1 and 1/2 an error of 1/2 remains; the estimate is at least the last step."""
    found = remaining_error(np.array([0.5, 0.8, 0.1]), np.ones(3))
    assert_allclose(found, [0.5, 3.2, 0.1])


def test_expectation_of_discontinuous_functions_warns():
    with warns(ApproximationWarning, "expectation", "1.0e-10"):
        Normal(0, 1).expectation(lambda X: (X[:, 0] > 0.1234).astype(float))


def test_expectation_in_many_dimensions():
    p = Normal(np.zeros(12), 0.5)
    found = p.expectation(lambda X: np.cos(X.sum(axis=1) / 3), tolerance=0.01)
    assert_allclose(found, np.exp(-6 / 18), atol=0.01)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: Normal([0, 0], np.eye(3)), ["cov", 2, "(3, 3)"]),
        (lambda: Normal([0, 0], [[1, 2], [2, 1]]), ["cov", -1]),
        (lambda: Normal([0, 0], [[1, 0.5], [0.2, 1]]), ["cov", 0.3]),
        (lambda: Normal(0, -1), ["cov", -1]),
        (lambda: Normal(np.nan, 1), ["mean"]),
        (lambda: Uniform(1, 0), ["low=[1.0]", "high=[0.0]"]),
        (lambda: Uniform(0, np.inf), ["high=[inf]"]),
        (lambda: Mixture([], []), [0]),
        (lambda: Product([]), [0]),
        (lambda: Mixture([0.5, 0.6], [Normal(0), Normal(1)]), ["weights", 1.1]),
        (lambda: Mixture([1.0], [Normal(0), Normal(1)]), ["weights", 1, 2]),
        (lambda: Mixture([1.5, -0.5], [Normal(0), Normal(1)]), ["weights", -0.5]),
        (lambda: Mixture([0.5, 0.5], [Normal(0), Normal([0, 0])]), ["[1, 2]"]),
        (lambda: Empirical(np.empty((0, 2))), [0]),
        (lambda: Empirical([[1.0]], weights=[-1]), ["-1"]),
        (lambda: Normal(0).moment((1, 2)), ["(1, 2)", 1]),
        (lambda: Normal(0).moment(-1), [-1, 0]),
        (lambda: Normal(0).moment(1.5), [1.5]),
        (lambda: Normal(0).sample(0), ["n=0"]),
        (lambda: Normal([0, 0]).pdf([[1.0]]), ["1 column", 2]),
        (lambda: Normal([0, 0], [[1, 1], [1, 1]]).pdf([[0, 0]]), ["rank 1", 2]),
        (lambda: Normal(np.zeros(9)).quadrature(32), [131072]),
        (lambda: as_measure(stats.cauchy()).moment(2), ["E X^2", "cauchy"]),
        (lambda: as_measure(stats.t(3)).moment(4), ["E X^4"]),
        (lambda: Product([Normal(0), stats.cauchy()]).moment((0, 1)), ["cauchy"]),
        (lambda: as_measure(stats.expon(0, np.nan)).quadrature(9), ["expon", 9]),
    ],
)
def test_errors_name_the_invalid_values(make, values):
    with raises(ValueError, *values):
        make()


def test_normal_without_variance_is_a_point():
    measure = Normal([1.0, 2.0], 0.0)
    assert measure.quadrature(5).points.tolist() == [[1.0, 2.0]]
    assert measure.expectation(lambda X: X[:, 0] * X[:, 1]) == measure.moment((1, 1)) == 2


def test_sampling_fewer_points_than_parts():
    measure = Mixture([0.5, 0.5], [Normal(-9, 0.01), Normal(9, 0.01)])
    drawn = np.array([measure.sample(1, random_state=seed)[0, 0] for seed in range(40)])
    assert_allclose(np.abs(drawn), 9, atol=0.6)
    assert 8 < np.count_nonzero(drawn > 0) < 32


def test_as_measure_rejects_other_objects():
    with raises(TypeError, 3.0, "Normal"):
        Product([3.0])
    with raises(TypeError, "Normal"):
        as_measure(stats.norm)  # not frozen
