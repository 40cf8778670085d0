"""EM in kernel coordinates, leave-one-out and conditioning, compared with their definitions."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp
from scipy.stats import multivariate_normal

from mercer.mixture.base import effective_weights
from mercer.mixture.conditional_mixture import (
    condition,
    held_out_class_likelihood,
    held_out_likelihood,
)
from mercer.mixture.gaussian_mixture import (
    expectation,
    fit_mixture,
    leave_each_out,
    log_components,
    maximization,
)
from mercer.mixture.kmeans import farthest_rows, kmeans, random_distant_rows


def covariances(mixture):
    return mixture.factors @ mixture.factors.transpose(0, 2, 1)


def random_responsibilities(rng, n, M):
    R = rng.random((n, M))
    return R / R.sum(axis=1, keepdims=True)


def test_maximization_equals_its_formula(rng):
    Z, R, w = rng.normal(size=(40, 3)), random_responsibilities(rng, 40, 2), rng.random(40)
    mixture = maximization(Z, w, R, alpha=0.7, beta=0.3)
    for m in range(2):
        a = w * R[:, m]
        mean = a @ Z / a.sum()
        S = sum(ai * np.outer(z - mean, z - mean) for ai, z in zip(a, Z, strict=True))
        assert_allclose(mixture.means[m], mean)
        assert_allclose(covariances(mixture)[m], (S + 0.7 * np.eye(3)) / (a.sum() + 0.3))
        assert_allclose(mixture.residual_variances[m], 0.7 / (a.sum() + 0.3))
    assert_allclose(np.exp(mixture.log_weights), w @ R / w.sum())


def test_log_components_add_the_residual(rng):
    Z, R = rng.normal(size=(30, 2)), random_responsibilities(rng, 30, 3)
    mixture = maximization(Z, np.ones(30), R, 1.0, 1.0)
    residuals = rng.random(30)
    logs = log_components(mixture, Z, residuals)
    for m, covariance in enumerate(covariances(mixture)):
        expected = multivariate_normal(mixture.means[m], covariance).logpdf(Z)
        assert_allclose(logs[:, m], expected - residuals / (2 * mixture.residual_variances[m]))


@pytest.mark.parametrize("seed", range(20))
def test_penalized_likelihood_never_decreases(seed):
    rng = np.random.default_rng(seed)
    n, r, M = rng.integers(5, 40), rng.integers(1, 12), rng.integers(1, 5)
    Z = rng.normal(size=(n, r)) * rng.random(r)
    alpha, beta = np.exp(rng.uniform(-5, 3)), rng.choice([0.0, rng.uniform(0, 5)])
    weights = rng.integers(1, 4, size=n) * 1.0
    fit = fit_mixture(
        Z, weights, random_responsibilities(rng, n, M), alpha, beta, max_iter=40, tol=0
    )
    steps = np.diff(fit.lower_bounds)
    assert (steps >= -1e-9 * np.abs(fit.lower_bounds[1:]).clip(1)).all()


def test_integer_weights_equal_repeated_rows(rng):
    Z, w = rng.normal(size=(20, 3)), rng.integers(1, 4, size=20)
    copied = np.repeat(Z, w, axis=0)
    for seed in range(3):
        start, start_copied = (
            kmeans(rows, mass, random_distant_rows(rows, mass, 2, np.random.default_rng(seed)))
            for rows, mass in ((Z, w * 1.0), (copied, np.ones(len(copied))))
        )
        assert_allclose(np.repeat(start, w, axis=0), start_copied)
        one = fit_mixture(Z, w * 1.0, start, 0.5, 1.0)
        other = fit_mixture(copied, np.ones(len(copied)), start_copied, 0.5, 1.0)
        assert_allclose(one.lower_bounds, other.lower_bounds)
        assert_allclose(np.repeat(one.responsibilities, w, axis=0), other.responsibilities)


def test_one_component_needs_one_step(rng):
    fit = fit_mixture(rng.normal(size=(20, 3)), np.ones(20), np.ones((20, 1)), 1.0, 1.0)
    assert fit.converged
    assert len(fit.lower_bounds) == 1


def test_component_without_rows_keeps_its_mean(rng):
    Z = rng.normal(size=(10, 2))
    before = maximization(Z, np.ones(10), random_responsibilities(rng, 10, 2), 1.0, 0.0)
    after = maximization(Z, np.ones(10), np.eye(2)[np.zeros(10, int)], 1.0, 0.0, before)
    assert_allclose(after.means[1], before.means[1])
    assert after.log_weights[1] == -np.inf
    assert_allclose(expectation(after, Z)[1][:, 1], 0)


def test_initial_rows_do_not_depend_on_the_order_of_rows(rng):
    Z, w = rng.normal(size=(50, 2)), rng.random(50)
    order = rng.permutation(50)
    assert_allclose(farthest_rows(Z[order], w[order], 4), farthest_rows(Z, w, 4))
    drawn, again = (
        random_distant_rows(rows, mass, 4, np.random.default_rng(1))
        for rows, mass in ((Z, w), (Z[order], w[order]))
    )
    assert_allclose(drawn, again)
    assert (drawn[:, None] == Z).all(axis=2).any(axis=1).all()


def test_kmeans_of_equal_rows():
    Z = np.ones((5, 2))
    rows = random_distant_rows(Z, np.ones(5), 3, np.random.default_rng(0))
    members = kmeans(Z, np.ones(5), rows)
    assert members.shape == (5, 3)
    assert_array_equal(members.sum(axis=1), 1)


# --- leave-one-out -----------------------------------------------------------------------------


def test_leave_one_out_equals_a_refit(rng):
    Z, alpha, beta = rng.normal(size=(15, 4)), 0.8, 0.5
    nodes, residuals = rng.normal(size=(6, 4)), rng.random(6)
    [(log_weight, part)] = leave_each_out(Z, np.ones(15), np.ones((15, 1)), alpha, beta)
    assert_allclose(log_weight, 0, atol=1e-15)
    everywhere, own = part.everywhere(nodes, residuals), part.at(Z)
    for i in range(15):
        rest = np.delete(Z, i, axis=0)
        refit = maximization(rest, np.ones(14), np.ones((14, 1)), alpha, beta)
        assert_allclose(everywhere[:, i], log_components(refit, nodes, residuals)[:, 0], rtol=1e-10)
        assert_allclose(own[i], log_components(refit, Z[[i]])[0, 0], rtol=1e-10)


def test_leave_one_out_removes_one_of_several_copies(rng):
    Z, w = rng.normal(size=(8, 3)), np.array([3.0, 1, 1, 2, 1, 1, 1, 1])
    copied = np.repeat(Z, w.astype(int), axis=0)
    [(_, one)] = leave_each_out(Z, w, np.ones((8, 1)), 1.0, 1.0)
    [(_, other)] = leave_each_out(copied, np.ones(11), np.ones((11, 1)), 1.0, 1.0)
    assert_allclose(np.repeat(one.at(Z), w.astype(int)), other.at(copied))


def test_leave_one_out_with_responsibilities(rng):
    """A component without row i equals maximization over the other rows."""
    Z, R = rng.normal(size=(12, 2)), random_responsibilities(rng, 12, 2)
    parts = list(leave_each_out(Z, np.ones(12), R, 0.6, 1.0))
    others = np.arange(12) != 5
    refit = maximization(Z[others], np.ones(11), R[others], 0.6, 1.0)
    for m, (log_weight, part) in enumerate(parts):
        assert_allclose(log_weight[5], refit.log_weights[m])
        assert_allclose(part.at(Z)[5], log_components(refit, Z[[5]])[0, m])


@pytest.mark.parametrize("rest", [0.0, 1e-18])
def test_component_without_its_only_row_has_weight_zero(rng, rest):
    """The density at that row is that of the other component, which has all other rows."""
    Z = rng.normal(size=(12, 2))
    R = np.full((12, 2), [1.0, rest])
    R[5] = [0, 1]
    with np.errstate(all="raise"):
        terms = [w + part.at(Z) for w, part in leave_each_out(Z, np.ones(12), R, 0.6, 1.0)]
        nodes = [p.everywhere(Z, np.ones(12)) for _, p in leave_each_out(Z, np.ones(12), R, 0.6, 1)]
    assert np.isneginf(terms[1][5])
    assert np.isfinite(nodes).all()
    others = np.arange(12) != 5
    refit = maximization(Z[others], np.ones(11), np.ones((11, 1)), 0.6, 1.0)
    assert_allclose(terms[0][5], log_components(refit, Z[[5]])[0, 0])


# --- conditioning ------------------------------------------------------------------------------


def test_conditional_is_joint_over_marginal(rng):
    Z, T = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    R = random_responsibilities(rng, 30, 2)
    joint = maximization(np.hstack([Z, T]), np.ones(30), R, 0.5, 1.0)
    marginal = maximization(Z, np.ones(30), R, 0.5, 1.0)
    residuals = rng.random(30)
    both, _ = expectation(joint, np.hstack([Z, T]), residuals)
    alone, responsibilities = expectation(marginal, Z, residuals)
    given = condition(joint, Z, residuals)
    assert_allclose(np.exp(given.log_responsibilities), responsibilities)
    assert_allclose(given.log_density(T), both - alone)
    assert_allclose(np.exp(given.log_choice(np.eye(2))).sum(axis=1), 1)


def test_conditional_moments_by_quadrature(rng):
    Z, T = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    joint = maximization(
        np.hstack([Z, T]), np.ones(20), random_responsibilities(rng, 20, 3), 0.5, 1.0
    )
    given = condition(joint, Z[:1])
    grid = np.linspace(-15, 15, 4001)
    repeated = condition(joint, np.repeat(Z[:1], len(grid), axis=0))
    p = np.exp(repeated.log_density(grid[:, None]))
    p /= p.sum()
    assert_allclose(given.mean()[0, 0], p @ grid, rtol=1e-6)
    assert_allclose(given.variance()[0, 0], p @ (grid - p @ grid) ** 2, rtol=1e-6)


# --- effective components ------------------------------------------------------------------------


def test_equal_components_are_merged_in_effective_weights():
    R = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    assert_allclose(effective_weights(np.ones(5), R), [0.6, 0.4])
    same = np.column_stack([np.full(5, 0.3), np.full(5, 0.7)])
    assert_allclose(effective_weights(np.ones(5), same), [1.0])


def test_lower_bound_is_the_penalized_likelihood(rng):
    """``Σ w log p(z) + ½ Σ_m (β log|Σ_m⁻¹| - α tr Σ_m⁻¹)``, from densities and inverses."""
    Z, w, alpha, beta = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40), 0.7, 1.5
    fit = fit_mixture(Z, w, random_responsibilities(rng, 40, 2), alpha, beta, max_iter=5, tol=0)
    inverses = [np.linalg.inv(covariance) for covariance in covariances(fit.mixture)]
    densities = sum(
        weight * multivariate_normal(mean, covariance).pdf(Z)
        for weight, mean, covariance in zip(
            np.exp(fit.mixture.log_weights),
            fit.mixture.means,
            covariances(fit.mixture),
            strict=True,
        )
    )
    prior = sum(beta * np.linalg.slogdet(A)[1] - alpha * np.trace(A) for A in inverses) / 2
    assert_allclose(fit.lower_bounds[-1], w @ np.log(densities) + prior, rtol=1e-12)


def without_row(i, Z, weights, R):
    """Return the mixture fitted to the other rows with unchanged responsibilities."""
    Z, weights, R = (np.delete(array, i, axis=0) for array in (Z, weights, R))
    return maximization(Z, weights, R, 0.7, 1.5)


def log_weighted_components_at(mixture, z, residual):
    return (log_components(mixture, z[None], residual[None]) + mixture.log_weights)[0]


def refits_of(weights, R):
    return partial(leave_each_out, weights=weights, responsibilities=R, alpha=0.7, beta=1.5)


@pytest.mark.parametrize("M", [1, 3])
def test_held_out_likelihoods_equal_refits(rng, M):
    """``log p(t | x)`` and ``log P(class | x)`` of each row under the fit to all others."""
    n = 25
    Z, codes, residuals = rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.random(n)
    corners, weights, R = rng.normal(size=(3, 2)), np.ones(n), random_responsibilities(rng, n, M)
    T = corners[codes]
    likelihoods, classes = [], []
    for i in range(n):
        joint = without_row(i, np.hstack([Z, T]), weights, R)
        given = log_weighted_components_at(without_row(i, Z, weights, R), Z[i], residuals[i])
        both = log_weighted_components_at(joint, np.r_[Z[i], T[i]], residuals[i])
        likelihoods.append(logsumexp(both) - logsumexp(given))
        at_corners = np.array([log_components(joint, np.r_[Z[i], c][None])[0] for c in corners])
        choice = log_softmax(at_corners, axis=0)[codes[i]]
        classes.append(logsumexp(given - logsumexp(given) + choice))
    refits = refits_of(weights, R)
    found = held_out_likelihood(Z, T, residuals, weights, refits)
    assert_allclose(found, np.mean(likelihoods))
    found = held_out_class_likelihood(Z, codes, corners, residuals, weights, refits)
    assert_allclose(found, np.mean(classes))


def test_component_without_responsibility_does_not_change_held_out_likelihoods(rng):
    Z, T, R = (
        rng.normal(size=(20, 2)),
        rng.normal(size=(20, 1)),
        random_responsibilities(rng, 20, 2),
    )
    dead = np.column_stack([R[:, :1], np.zeros(20), R[:, 1:]])
    residuals, weights = rng.random(20), rng.uniform(0.5, 3, 20)
    expected, found = (
        held_out_likelihood(Z, T, residuals, weights, refits_of(weights, responsibilities))
        for responsibilities in (R, dead)
    )
    assert_allclose(found, expected, rtol=1e-13)


def test_component_without_responsibility_keeps_its_parameters(rng):
    Z, R = rng.normal(size=(20, 2)), random_responsibilities(rng, 20, 3)
    before = maximization(Z, np.ones(20), R, 0.7, 1.5)
    R[:, 1] = 0
    after = maximization(Z, np.ones(20), R, 0.7, 1.5, before)
    assert after.log_weights[1] == -np.inf
    assert_array_equal(after.means[1], before.means[1])
    assert_array_equal(after.factors[1], before.factors[1])
    assert after.residual_variances[1] == before.residual_variances[1]
