"""Priors other than the identity, dual parameters and the push-forward, with explicit features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer import MercerMixture
from mercer.domains import bit_strings
from mercer.kernels import Gaussian, Hamming, Linear
from mercer.mixture.gaussian_mixture import fit_mixture, leave_each_out, maximization
from tests.expectations import raises

X = np.random.default_rng(0).normal(size=(25, 3)) @ np.diag([1.0, 2.0, 0.5])
NEW = np.random.default_rng(1).normal(size=(6, 3))
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.5, size=25)


def positive_definite(n, seed=3):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n


# --- prior ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_prior_adds_the_covariance_of_the_features(weights):
    """Features of the linear kernel are the points, so Σ = (S + α(I + τ C)) / (n + β)."""
    w = np.ones(25) if weights is None else weights
    mean, alpha, beta = np.average(X, axis=0, weights=w), 3.0, 0.5
    S = (w[:, None] * (X - mean)).T @ (X - mean)
    sigma = (S + alpha * (np.eye(3) + 4.0 * S / w.sum())) / (w.sum() + beta)
    mixture = MercerMixture(kernel=Linear(), alpha=alpha, beta=beta, covariance_prior=4.0)
    logs = mixture.fit(X, sample_weight=weights).score_samples(NEW)
    assert_allclose(logs, multivariate_normal(mean, sigma).logpdf(NEW), rtol=1e-10)


@pytest.mark.parametrize("center", [False, True])
def test_prior_given_as_an_array_equals_its_number(center):
    C = 4.0 * (np.eye(25) - 1 / 25) / 25
    by_number, by_array = (
        MercerMixture(kernel=Gaussian(1.0), alpha=1.0, covariance_prior=prior, center=center).fit(X)
        for prior in (4.0, C)
    )
    assert_allclose(by_array.score_samples(NEW), by_number.score_samples(NEW), rtol=1e-8)


def test_prior_of_the_m_step_maximizes_the_penalized_likelihood():
    rng = np.random.default_rng(4)
    J, alpha, beta, n = positive_definite(3), 2.0, 1.5, len(X)

    def penalized(mean, sigma):
        likelihood = multivariate_normal(mean, sigma).logpdf(X).sum()
        inverse = np.linalg.inv(sigma)
        penalty = beta * np.linalg.slogdet(inverse)[1] - alpha * np.trace(inverse @ J)
        return likelihood + penalty / 2

    fit = fit_mixture(X, np.ones(n), np.ones((n, 1)), alpha, beta, scale=J)
    mean, factor = fit.mixture.means[0], fit.mixture.factors[0]
    best = penalized(mean, factor @ factor.T)
    assert_allclose(fit.bound, best, rtol=1e-12)
    for _ in range(20):
        moved = factor + 0.01 * rng.normal(size=(3, 3))
        assert penalized(mean + 0.01 * rng.normal(size=3), moved @ moved.T) < best


def test_penalized_likelihood_never_decreases_with_a_prior():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        start = rng.dirichlet(np.ones(3), size=25)
        J = np.eye(3) + 5 * positive_definite(3, seed)
        bounds = fit_mixture(X, WEIGHTS, start, 0.5, 1.0, scale=J, tol=0).lower_bounds
        assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()


def test_leave_one_out_densities_with_a_prior_equal_refits():
    J, n = positive_definite(3), len(X)
    [(_, part)] = leave_each_out(X, np.ones(n), np.ones((n, 1)), 0.7, 1.0, None, J)
    for i, found in enumerate(part.at(X)):
        rest = np.delete(X, i, axis=0)
        refit = maximization(rest, np.ones(n - 1), np.ones((n - 1, 1)), 0.7, 1.0, scale=J)
        sigma = refit.factors[0] @ refit.factors[0].T
        assert_allclose(found, multivariate_normal(refit.means[0], sigma).logpdf(X[i]), rtol=1e-10)


def test_prior_is_checked():
    with raises(ValueError, "covariance_prior=-1"):
        MercerMixture(alpha=1.0, covariance_prior=-1.0).fit(X)
    with raises(ValueError, "(3, 3)", "(25, 25)"):
        MercerMixture(alpha=1.0, covariance_prior=np.eye(3)).fit(X)
    with raises(ValueError, "covariance_prior"):
        MercerMixture(alpha=1.0, covariance_prior=-np.eye(25)).fit(X)
    with raises(ValueError, "symmetric"):
        MercerMixture(alpha=1.0, covariance_prior=np.triu(np.ones((25, 25)))).fit(X)


# --- dual parameters -----------------------------------------------------------------------------


def naive_dual_parameters(p, w, alpha, beta, C):
    """Equations (8) and (9) of the paper, with weights and with C, as loops."""
    n, M = p.shape
    a, B, epsilon = np.zeros((M, n)), np.zeros((M, n, n)), np.zeros(M)
    for m in range(M):
        mass = sum(w[i] * p[i, m] for i in range(n))
        for i in range(n):
            a[m, i] = w[i] * p[i, m] / mass
        epsilon[m] = alpha / (mass + beta)
        for i in range(n):
            step = np.eye(n)[i] - a[m]
            B[m] += w[i] * p[i, m] / (mass + beta) * np.outer(step, step)
        B[m] += epsilon[m] * C
    return a, B, epsilon


@pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")
@pytest.mark.parametrize("prior", [0.0, positive_definite(25)])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_dual_parameters_equal_the_loops_of_the_paper(weights, prior):
    settings = {"kernel": Gaussian(1.5), "alpha": 0.5, "rank": 25, "covariance_prior": prior}
    mixture = MercerMixture(2, **settings).fit(X, sample_weight=weights)
    w = np.ones(25) if weights is None else weights
    expected = naive_dual_parameters(
        mixture.responsibilities_, w, 0.5, 1.0, prior * np.ones((25, 25))
    )
    for found, value in zip(mixture.dual_parameters(), expected, strict=True):
        assert_allclose(found, value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("prior", [0.0, 3.0, positive_definite(25)])
def test_dual_parameters_give_the_density_by_kernel_values(prior, center):
    """The paper's squared distance, with B-tilde by Woodbury's identity and a root of B."""
    kernel = Gaussian(1.5)
    settings = {"alpha": 0.5, "covariance_prior": prior, "center": center}
    mixture = MercerMixture(kernel=kernel, **settings).fit(X)
    (a,), (B,), (epsilon,) = mixture.dual_parameters()
    K, k = kernel(X), kernel(NEW, X)
    values, vectors = np.linalg.eigh(B)
    root = vectors * np.sqrt(values.clip(0)) @ vectors.T
    inner = np.linalg.inv(epsilon * np.eye(25) + root @ K @ root)
    B_tilde = -root @ inner @ root / epsilon
    D = k - K @ a
    squared = np.einsum("ij,jk,ik->i", D, B_tilde, D)
    squared += (1 - 2 * k @ a + a @ K @ a) / epsilon
    assert_allclose(np.ptp(mixture.score_samples(NEW) + squared / 2), 0, atol=1e-6)


def test_dual_parameters_need_all_coordinates():
    with raises(ValueError, 4, "rank"):
        MercerMixture(kernel=Gaussian(1.0), alpha=1.0, rank=4).fit(X).dual_parameters()


# --- push-forward --------------------------------------------------------------------------------

SPACE = bit_strings(4)
BITS = np.random.default_rng(0).binomial(1, [0.8, 0.3, 0.6, 0.9], size=(9, 4)).astype(float)


@pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(("M", "rank"), [(1, None), (2, 9), (2, 3)])
def test_push_forward_equals_nearest_features_of_explicit_draws(M, rank, center):
    kernel, n = Hamming(0.4), 20_000
    settings = {"alpha": 0.6, "rank": rank, "center": center}
    mixture = MercerMixture(M, kernel=kernel, **settings).fit(BITS)
    features = np.linalg.cholesky(kernel(SPACE.objects))  # rows Φ(x), which span the space
    codes = (BITS @ 2 ** np.arange(4)[::-1]).astype(int)
    origin = features[codes].mean(axis=0) if center else np.zeros(16)
    axes = np.linalg.lstsq(
        features[codes] - origin, mixture.spectrum_.project(BITS)[:, : mixture.rank_], rcond=None
    )[0]  # orthonormal columns
    assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-8)
    rng = np.random.default_rng(5)
    counts = np.zeros(16)
    fitted, r = mixture.mixture_, axes.shape[1]
    for m in rng.choice(M, size=n, p=mixture.weights_):
        # centering loses a direction, whose variance is that of the residual
        inside = fitted.means[m][:r] + fitted.factors[m][:r, :r] @ rng.normal(size=r)
        outside = np.sqrt(fitted.residual_variances[m]) * rng.normal(size=16)
        draw = origin + axes @ inside + outside - axes @ (axes.T @ outside)
        counts[np.argmin(((features - draw) ** 2).sum(axis=1))] += 1
    expected = counts / n
    found = mixture.push_forward(SPACE.objects, n, random_state=0)
    assert_allclose(found.sum(), 1)
    errors = np.sqrt(2 * expected * (1 - expected) / n) + 1 / n
    assert (np.abs(found - expected) < 5 * errors).all()


def test_push_forward_to_one_point_has_probability_one():
    mixture = MercerMixture(kernel=Gaussian(1.0), alpha=1.0).fit(X)
    assert mixture.push_forward(X[:1], 100).tolist() == [1.0]


def test_push_forward_needs_a_kernel_object():
    K = Gaussian(1.0)(X)
    mixture = MercerMixture(kernel="precomputed", alpha=1.0).fit(K)
    with raises(ValueError, "kernel object"):
        mixture.push_forward(K[:3])
