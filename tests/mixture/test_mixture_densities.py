"""Mixtures in feature space: domains, draws, conditional models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score

from mercer import JointMixtureClassifier, JointMixtureRegressor, MercerMixture
from mercer.data.points import Points
from mercer.datasets import make_bits
from mercer.domains import Box, FiniteSpace, GaussianBase, Nodes, bit_strings, integrate, resample
from mercer.errors import ApproximationWarning, NoDomainError
from mercer.kernels import Gaussian, Hamming, Polynomial, table_kernel
from tests.expectations import raises, warns
from tests.mixture.mixture_cases import frame, points

# --- domains --------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [6, 100, 400])
def test_score_does_not_depend_on_an_empty_part_of_the_box(halo, half):
    """The quadratic kernel has a normalizer over the plane: the grid must resolve the density."""
    X, _ = halo
    reference = Box(-6, 6, n_nodes=300**2).for_dimension(2).nodes()
    mixture = MercerMixture(kernel=Polynomial(2), alpha=1.0, domain=Box(-half, half)).fit(X)
    logs = mixture._log_components(reference.points)[:, 0]
    exact = np.logaddexp.reduce(logs + reference.log_weights)
    assert_allclose(mixture.normalization_.log_constants, exact, atol=5e-3)
    assert mixture.normalization_.standard_errors[0] < 0.01


def test_grid_finds_narrow_peaks_between_its_nodes():
    """Two peaks of width 0.01 at a distance of 1000, and a constant density elsewhere."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 0.01, 50), rng.normal(1000, 0.01, 50)][:, None]
    mixture = MercerMixture(kernel=Gaussian(0.01), alpha=0.5, domain=Box(-10, 1010)).fit(X)
    parts = [Box(-0.2, 0.2, n_nodes=20_000), Box(999.8, 1000.2, n_nodes=20_000)]
    logs = []
    for part in parts:
        nodes = part.for_dimension(1).nodes()
        logs += [*(mixture._log_components(nodes.points)[:, 0] + nodes.log_weights)]
    background = mixture._log_components(Points(np.array([[500.0]])))[0, 0]
    exact = np.logaddexp.reduce([*logs, background + np.log(1020 - 0.8)])
    assert_allclose(mixture.normalization_.log_constants[0], exact, atol=5e-3)
    drawn, _ = mixture.sample(2000, random_state=0)
    inside = np.exp(np.logaddexp.reduce(logs) - exact)
    near = np.abs(drawn - 1000 * np.round(drawn / 1000)) < 0.2
    assert abs(near.mean() - inside) < 0.05


def test_density_that_the_grid_cannot_resolve_warns():
    X = np.random.default_rng(0).uniform(-500, 500, size=(300, 1))
    with warns(ApproximationWarning, "Box", "n_nodes", "%"):
        mixture = MercerMixture(
            kernel=Gaussian(1e-3), alpha=1.0, domain=Box(-500, 500, n_nodes=100)
        ).fit(X)
    assert mixture.normalization_.standard_errors[0] > 0.05


def test_few_and_many_sobol_points_agree():
    """The same integral in 3-D with few and with many scrambled points."""
    X = points(100, 3)
    mixture = MercerMixture(kernel=Gaussian(1.5), domain=Box(-6, 6)).fit(X)
    found = mixture.normalization_
    assert 0 < found.standard_errors[0] < 0.05
    grid = Box(-6, 6, n_nodes=2**17, random_state=1)
    finer = MercerMixture(kernel=Gaussian(1.5), domain=grid).fit(X).normalization_
    difference = abs(found.log_constants - finer.log_constants)
    assert difference < 5 * np.hypot(found.standard_errors, finer.standard_errors)


def test_importance_sampling_agrees_with_a_grid():
    X = points(150)
    base = GaussianBase(n_nodes=20_000)
    mixture = MercerMixture(kernel=Gaussian(1.0), domain=base).fit(X)
    found = mixture.normalization_
    fitted = found.domain
    grid = Box(-14, 14, n_nodes=40_000).for_dimension(2).nodes()
    logs = mixture._log_components(grid.points)[:, 0] + fitted.log_base(grid.points)
    exact = np.logaddexp.reduce(logs + grid.log_weights)
    assert abs(found.log_constants[0] - exact) < 4 * found.standard_errors[0]
    assert_allclose(
        np.exp(mixture.score_samples(grid.points.data) + grid.log_weights).sum(), 1, 0.05
    )
    assert found.effective_sizes[0] > 1000


def test_local_kernels_have_no_normalizer_over_the_plane():
    """The normalizer grows with the box."""
    X = points(50)
    mixture = MercerMixture(kernel=Gaussian(1.0)).fit(X)
    constants = [mixture.normalize(Box(-s, s)).normalization_.log_constants[0] for s in (10, 50)]
    background = mixture._log_components(Points(np.array([[1e3, 1e3]])))[0, 0]
    assert constants[1] > constants[0] + 0.5
    far = np.log(100.0**2) + background
    assert 0 < constants[1] - far < 3


def test_normalize_after_fit():
    X = points()
    fitted = MercerMixture(kernel=Gaussian(1.0)).fit(X)
    given = MercerMixture(kernel=Gaussian(1.0), domain=Box(-5, 5)).fit(X)
    assert_allclose(fitted.normalize(Box(-5, 5)).score(X), given.score(X))
    assert not hasattr(fitted.fit(X), "score")


def test_too_few_nodes_warn():
    with pytest.warns(ApproximationWarning):
        MercerMixture(kernel=Gaussian(1.0), domain=GaussianBase(n_nodes=50)).fit(points())


def test_given_base_measure():
    X, mean, covariance = points(80), np.array([1.0, 0.0]), np.array([[4.0, 1.0], [1.0, 3.0]])
    base = GaussianBase(mean=mean, covariance=covariance)
    mixture = MercerMixture(kernel=Gaussian(1.0), domain=base).fit(X)
    grid = Box(-12, 12, n_nodes=40_000).for_dimension(2).nodes()
    q = multivariate_normal(mean, covariance).logpdf(grid.points.data)
    logs = mixture._log_components(grid.points)[:, 0] + q
    exact = np.logaddexp.reduce(logs + grid.log_weights)
    found = mixture.normalization_
    assert abs(found.log_constants[0] - exact) < 4 * found.standard_errors[0]
    assert_allclose(mixture.score_samples(grid.points.data), logs - found.log_constants, atol=1e-8)


def test_number_of_nodes_of_a_long_box_is_limited():
    assert 20_000 < len(Box([0, 0], [1, 1e9]).for_dimension(2).nodes().log_weights) <= 160**2


def test_zero_density_cannot_be_normalized():
    space = FiniteSpace(["a", "b"])
    with raises(ValueError, "FiniteSpace(<2 objects>)"):
        integrate(space, space.nodes(), np.full((2, 1), -np.inf))


# --- draws ----------------------------------------------------------------------------------------


def test_draws_from_a_finite_space_follow_its_probabilities():
    X, _ = make_bits(40, n_bits=4, random_state=0)
    space = bit_strings(4)
    mixture = MercerMixture(kernel=Hamming(0.6), domain=space).fit(X)
    drawn, labels = mixture.sample(20_000, random_state=0)
    codes = (drawn @ [8, 4, 2, 1]).astype(int)
    frequencies = np.bincount(codes, minlength=16) / 20_000
    assert_allclose(frequencies, mixture.pdf(space.objects), atol=0.015)
    assert_array_equal(labels, 0)


@pytest.mark.parametrize("domain", [Box(-6, 6), GaussianBase()])
def test_draws_have_the_moments_of_the_density(domain):
    X = points(100)
    mixture = MercerMixture(kernel=Gaussian(1.0), domain=domain).fit(X)
    drawn, _ = mixture.sample(4000, random_state=0)
    grid = Box(-12, 12, n_nodes=40_000).for_dimension(2).nodes()
    p = np.exp(mixture.score_samples(grid.points.data) + grid.log_weights)
    mean = p @ grid.points.data
    second = p @ grid.points.data**2
    assert_allclose(drawn.mean(axis=0), mean, atol=0.2)
    assert_allclose((drawn**2).mean(axis=0), second, rtol=0.15)


def test_draws_from_a_box_in_space_follow_the_density():
    """Without a grid in 3-D, draws are uniform candidates."""
    mixture = MercerMixture(kernel=Polynomial(1, constant=1.0), alpha=5.0, domain=Box(-2, 2))
    mixture.fit(np.clip(points(100, 3), -2, 2))
    drawn, _ = mixture.sample(1000, random_state=0)
    assert np.abs(drawn).max() <= 2
    nodes = Box(-2, 2, n_nodes=2**15, random_state=5).for_dimension(3).nodes()
    p = np.exp(mixture.score_samples(nodes.points.data) + nodes.log_weights)
    assert_allclose(drawn.mean(axis=0), p @ nodes.points.data, atol=0.15)
    assert_allclose((drawn**2).mean(axis=0), p @ nodes.points.data**2, rtol=0.15)


def test_repeated_draws_warn():
    nodes = Nodes(Points(np.zeros((4, 1))), np.full(4, -np.log(4)))
    logs = np.array([[0.0], [0.0], [-np.inf], [-np.inf]])
    with warns(ApproximationWarning, 9, 2):
        found = resample(nodes, logs, np.array([9]), np.random.default_rng(0))
    assert set(found) == {0, 1}


def test_draws_have_component_labels(halo):
    X, _ = halo
    mixture = MercerMixture(
        2, kernel=Polynomial(degree=2), alpha=1.0, n_init=8, random_state=0, domain=Box(-4, 4)
    ).fit(X)
    drawn, labels = mixture.sample(400, random_state=0)
    assert (mixture.predict(drawn) == labels).mean() > 0.9
    again, _ = mixture.sample(400, random_state=0)
    assert_array_equal(drawn, again)


def test_both_posteriors_are_available(halo):
    """In a domain, Bayes' rule with the density of each component; labels of draws follow it."""
    X, _ = halo
    mixture = MercerMixture(
        2, kernel=Polynomial(degree=2), alpha=1.0, n_init=8, random_state=0, domain=Box(-4, 4)
    ).fit(X)
    grid = Box(-4, 4, n_nodes=200**2).for_dimension(2).nodes()
    G = np.exp(mixture._log_components(grid.points))
    normalized = G / (G * np.exp(grid.log_weights)[:, None]).sum(axis=0) * mixture.weights_
    positive = normalized.sum(axis=1) > 1e-200
    data, normalized = grid.points.data[positive], normalized[positive]
    assert_allclose(mixture.pdf(data), normalized.sum(axis=1), rtol=5e-3)
    expected = normalized / normalized.sum(axis=1, keepdims=True)
    found = mixture.predict_proba(data, posterior="domain")
    assert_allclose(found, expected, atol=5e-3)
    assert_array_equal(mixture.predict(data, posterior="domain"), found.argmax(axis=1))
    feature = mixture.predict_proba(data)
    assert_array_equal(feature, mixture.predict_proba(data, posterior="feature"))
    assert np.abs(feature - found).max() > 0.5
    drawn, labels = mixture.sample(4000, random_state=0)
    certain = mixture.predict_proba(drawn, posterior="domain")
    assert abs(certain[:, 1].mean() - labels.mean()) < 0.03
    with raises(ValueError, "posterior='data'", "domain"):
        mixture.predict(data, posterior="data")
    with raises(NoDomainError, "posterior='domain'"):
        MercerMixture(kernel="linear").fit(X).predict(X, posterior="domain")


# --- conditional models ---------------------------------------------------------------------------


def test_joint_regression_is_kernel_ridge():
    """One Gaussian: the mean is centered kernel ridge regression with penalty α."""
    X, rng = points(50, 3), np.random.default_rng(0)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=50)
    model = JointMixtureRegressor(kernel=Gaussian(2.0), alpha=0.5, center=True).fit(X, y)
    K = Gaussian(2.0)(X)
    H = np.eye(50) - 1 / 50
    new = points(10, 3, seed=1)
    crossed = (Gaussian(2.0)(new, X) - K.mean(axis=0)) @ H
    ridge = KernelRidge(alpha=0.5, kernel="precomputed").fit(H @ K @ H, y - y.mean())
    assert_allclose(model.predict(new), ridge.predict(crossed) + y.mean(), atol=1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.02])
def test_joint_models_of_few_rows(weight):
    """α is a hundredth of the sample size; predictions lie between the observed targets."""
    X, weights = points(2), np.full(2, weight)
    model = JointMixtureRegressor(kernel=Gaussian(1.0)).fit(X, X[:, 0], sample_weight=weights)
    assert_allclose(model.alpha_, 0.01 * 2)
    found = model.predict(X)
    assert (found >= X[:, 0].min() - 1e-9).all()
    assert (found <= X[:, 0].max() + 1e-9).all()


def test_joint_regression_is_a_density_of_y():
    X = points(60, 1)
    y = X[:, 0] ** 2
    model = JointMixtureRegressor().fit(X, y)
    grid = np.linspace(-30, 30, 6001)
    p = np.exp(model.log_density(np.repeat(X[:1], len(grid), axis=0), grid))
    assert_allclose(p.sum() * 0.01, 1, rtol=1e-6)
    mean, std = model.predict(X[:1], return_std=True)
    assert_allclose(mean, (p @ grid) * 0.01, rtol=1e-5)
    assert_allclose(std**2, (p @ (grid - mean) ** 2) * 0.01, rtol=1e-4)


def test_joint_regression_predicts_well():
    X = np.random.default_rng(0).uniform(0, 6, size=(150, 1))
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=150)
    ours = cross_val_score(JointMixtureRegressor(), X, y).mean()
    peer = cross_val_score(GaussianProcessRegressor(RBF(), alpha=0.01), X, y).mean()
    assert ours > peer - 0.02
    both = JointMixtureRegressor().fit(X, np.column_stack([y, -y])).predict(X)
    assert both.shape == (150, 2)


def test_joint_classification_on_iris():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(JointMixtureClassifier(), X, y).mean() > 0.94
    loss = cross_val_score(JointMixtureClassifier(), X, y, scoring="neg_log_loss").mean()
    assert loss > -0.2


def test_joint_classification_of_a_table():
    table = frame(150)
    label = np.where(table["color"] == "blue", "far", "near")
    table = table.drop(columns="color")
    kernel = table_kernel(table)
    model = JointMixtureClassifier(kernel=kernel).fit(table[:100], label[:100])
    assert_allclose(model.predict_proba(table[100:]).sum(axis=1), 1)
    assert model.score(table[100:], label[100:]) > 0.8
