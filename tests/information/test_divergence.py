"""Distances between densities against numerical integration and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer import ParzenDensity, SeriesDensity
from mercer.information import integrated_squared_error, kullback_leibler
from mercer.kernels import Gaussian, Laplacian
from mercer.population import Empirical, Mixture, Normal, Product, Uniform
from tests.expectations import raises

TWO = Mixture([0.3, 0.7], [Normal(-1.5, 0.5), Normal(1.0, 2.0)])


def integral(function, low=-25.0, high=25.0, cells=10_000):
    """Midpoint rule, spectrally accurate for smooth functions that are 0 at both ends."""
    edges = np.linspace(low, high, cells + 1)
    return float(function((edges[:-1] + edges[1:])[:, None] / 2).sum() * (edges[1] - edges[0]))


def naive_kl(p, q, low=-25.0, high=25.0):
    def integrand(x):
        p_values, q_values = p.pdf(x), q.pdf(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p_values > 0, p_values * np.log(p_values / q_values), 0.0)

    return integral(integrand, low, high)


def naive_ise(p, q):
    return integral(lambda x: (p.pdf(x) - q.pdf(x)) ** 2)


@pytest.fixture(scope="module")
def X():
    return TWO.sample(40, random_state=1)


def test_divergence_of_normal_distributions_is_in_closed_form():
    p, q = Normal(0.3, 1.7), Normal(-1.0, 0.8)
    found = kullback_leibler(p, q)
    assert found.method == "closed form"
    assert_allclose(found.value, naive_kl(p, q), rtol=1e-9)
    assert float(found) == found.value
    assert kullback_leibler(p, p).value == pytest.approx(0, abs=1e-15)
    frozen = kullback_leibler(stats.norm(0.3, 1.7**0.5), stats.norm(-1.0, 0.8**0.5))
    assert_allclose(frozen.value, found.value, rtol=1e-12)


def test_divergence_of_normal_distributions_in_three_dimensions(rng):
    roots = rng.normal(size=(2, 3, 3))
    p, q = (Normal(rng.normal(size=3), A @ A.T + np.eye(3)) for A in roots)
    X = p.sample(200_000, random_state=0)
    ratio = stats.multivariate_normal(p.mean, p.cov).logpdf(X) - stats.multivariate_normal(
        q.mean, q.cov
    ).logpdf(X)
    error = ratio.std() / np.sqrt(len(X))
    assert abs(kullback_leibler(p, q).value - ratio.mean()) < 4 * error


def test_divergence_by_quadrature(X):
    parzen = ParzenDensity(kernel=Gaussian(0.7)).fit(X)
    for p, q in ((TWO, parzen), (TWO, Normal(0, 4)), (Uniform(-1, 2), TWO)):
        found = kullback_leibler(p, q)
        expected = naive_kl(p, q, *((-25, 25) if p is TWO else (-1, 2)))
        assert found.method == "quadrature"
        assert abs(found.value - expected) <= found.error + 1e-8
        assert found.error < 1e-6
    gamma = kullback_leibler(stats.gamma(2.0), stats.expon())
    assert_allclose(gamma.value, 1 - np.euler_gamma, rtol=1e-7)  # E log x under gamma(2)


def test_divergence_does_not_underflow():
    """The second density is exp(-800) at the first one's mean."""
    found = kullback_leibler(Mixture([1.0], [Normal(40)]), Product([Normal(0)]))
    assert_allclose(found.value, 800, rtol=1e-9)


def test_divergence_is_infinite_where_the_second_density_is_zero():
    assert kullback_leibler(Normal(0), Uniform(-1, 1)).value == np.inf
    assert_allclose(kullback_leibler(Uniform(0, 0.5), Uniform(0, 1)).value, np.log(2), rtol=1e-12)


def test_divergence_at_points_equals_its_formula(rng, X):
    p, q, points = (
        Normal(0),
        ParzenDensity(kernel=Gaussian(0.3)).fit(X),
        rng.uniform(-3, 3, (50, 1)),
    )
    masses, others = stats.norm.pdf(points[:, 0]), np.exp(q.score_samples(points))
    masses, others = masses / masses.sum(), others / others.sum()
    found = kullback_leibler(p, q, points=points)
    assert_allclose(found.value, sum(masses * np.log(masses / others)), rtol=1e-12)
    assert found.method == "points"
    assert 0 < found.error < 1e-13
    assert_allclose(kullback_leibler(p, q, points=points[::-1]).value, found.value, rtol=1e-12)


def test_divergence_at_many_points_tends_to_that_of_the_restricted_densities():
    """Of N(0, 1) and N(1, 1) on [-1, 2], by a sum over midpoints and by quadrature."""
    from scipy.integrate import quad

    p, q = stats.norm(0), stats.norm(1)
    masses = [quad(one.pdf, -1, 2)[0] for one in (p, q)]

    def integrand(x):
        return p.pdf(x) / masses[0] * (p.logpdf(x) - q.logpdf(x) - np.log(masses[0] / masses[1]))

    midpoints = np.linspace(-1, 2, 2001)[:-1, None] + 0.00075
    found = kullback_leibler(Normal(0), Normal(1), points=midpoints)
    assert_allclose(found.value, quad(integrand, -1, 2)[0], rtol=1e-5)


def test_divergence_at_points_where_a_density_is_zero():
    left, right = Uniform(0, 1), Uniform(0, 3)
    assert kullback_leibler(left, right, points=[[0.5], [0.7], [2.0]]).value == pytest.approx(
        np.log(1.5)
    )
    assert kullback_leibler(right, left, points=[[0.5], [2.0]]).value == np.inf
    with raises(ValueError, "0 at all 2 points"):
        kullback_leibler(left, right, points=[[2.0], [2.5]])
    assert kullback_leibler(left, left, points=[[0.2], [5.0]]).value == 0


@pytest.mark.parametrize("seed", range(3))
def test_divergence_by_sampling(seed, X):
    parzen = ParzenDensity(kernel=Gaussian(0.7)).fit(X)
    found = kullback_leibler(parzen, TWO, n_samples=4000, random_state=seed)
    assert found.method == "sampling"
    assert abs(found.value - naive_kl(parzen, TWO)) < 4 * found.error
    again = kullback_leibler(parzen, TWO, n_samples=4000, random_state=seed)
    assert again == found


def test_densities_of_scikit_learn_are_accepted(X):
    kde = KernelDensity(bandwidth=0.7).fit(X)
    mixture = GaussianMixture(2, random_state=0).fit(X)
    parzen = ParzenDensity(kernel=Gaussian(0.7)).fit(X)
    by_kde = kullback_leibler(TWO, kde).value
    assert_allclose(by_kde, kullback_leibler(TWO, parzen).value, rtol=1e-6)
    found = kullback_leibler(mixture, TWO, n_samples=2000, random_state=0)
    assert found.value > -4 * found.error
    assert (
        integrated_squared_error(mixture, TWO, n_samples=2000).method == "quadrature and sampling"
    )


def test_squared_error_in_closed_form(X, rng):
    weights = rng.uniform(0.2, 2, size=len(X))
    parzen = ParzenDensity(kernel=Gaussian(0.7)).fit(X, sample_weight=weights)
    learned = ParzenDensity(kernel=Gaussian(0.4), weights="learned").fit(X)
    series = SeriesDensity(kernel=Gaussian(0.3), components=[0, 2, 3, 4], positive=False).fit(X)
    assert series.pdf(np.linspace(-6, 6, 200)[:, None]).min() < 0  # coefficients of both signs
    for p, q in ((TWO, parzen), (parzen, learned), (TWO, series), (Normal(0), TWO)):
        found = integrated_squared_error(p, q)
        assert found.method == "closed form"
        assert_allclose(found.value, naive_ise(p, q), rtol=1e-8)
    assert integrated_squared_error(parzen, parzen).value <= 1e-15


def test_squared_error_in_two_dimensions_equals_a_sum_on_a_grid(rng):
    X = rng.normal(size=(15, 2))
    p = Mixture([0.4, 0.6], [Normal([0, 1], [[1.0, 0.4], [0.4, 0.7]]), Normal([-1, 0], [0.5, 2])])
    q = ParzenDensity(kernel=Gaussian(np.array([0.4, 0.8]))).fit(X)
    axis = np.arange(-9, 9, 0.1)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    expected = ((p.pdf(grid) - q.pdf(grid)) ** 2).sum() * 0.1**2
    assert_allclose(integrated_squared_error(p, q).value, expected, rtol=1e-9)


def test_squared_error_by_quadrature_and_sampling(X):
    found = integrated_squared_error(Uniform(0, 1), Uniform(0, 2))
    assert found.method == "quadrature"
    assert_allclose(found.value, 0.5, atol=0.01)  # a jump limits the quadrature, as it reports
    assert abs(found.value - 0.5) <= max(found.error, 1e-8)
    parzen = ParzenDensity(kernel=Laplacian(0.7)).fit(X)
    found = integrated_squared_error(parzen, TWO, n_samples=20_000, random_state=0)
    assert found.method == "quadrature and sampling"
    assert abs(found.value - naive_ise(parzen, TWO)) < 4 * found.error


def test_clipped_series_are_not_taken_as_sums_of_normal_densities(X):
    clipped = SeriesDensity(kernel=Gaussian(0.3), components=[0, 2, 3, 4]).fit(X)
    assert clipped.clipped_mass_ > 0
    found = integrated_squared_error(clipped, TWO, n_samples=20_000, random_state=0)
    assert found.method == "quadrature and sampling"
    assert abs(found.value - naive_ise(clipped, TWO)) < 4 * found.error


def test_objects_without_a_density_raise():
    with raises(TypeError, "measure"):
        kullback_leibler(Normal(0), 3.0)
    with raises(ValueError, "2 points"):
        kullback_leibler(Empirical([[0.0], [1.0]]), Normal(0))
    with raises(ValueError, "n_samples"):
        kullback_leibler(ParzenDensity().fit([[0.0], [1.0], [3.0]]), Normal(0), n_samples=1)
