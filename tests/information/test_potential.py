"""Information measures: identities between sums, spectra and integrals."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from mercer import KernelECA, ParzenDensity, config_context
from mercer.bandwidth import fit_kernel
from mercer.errors import ApproximationWarning
from mercer.information import (
    cauchy_schwarz_divergence,
    diversity_gradient,
    entropy_terms,
    feature_variance,
    information_potential,
    matrix_renyi_entropy,
    potential_gradient,
    renyi_entropy,
    vendi_score,
)
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from tests.expectations import raises, warns

KERNELS = [
    Gaussian(1.3),
    Gaussian(np.array([0.5, 1.0, 2.0])),
    Laplacian(2.0),
    Matern(1.0, 2.5),
    Epanechnikov(2.5),
    Linear(0.7, 0.4),
    Polynomial(2, 1.0),
    Cosine(),
    Gaussian(1.0) + 0.5 * Linear(),
]
DENSITIES = [k for k in KERNELS if k.is_density]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def array(n=40, d=3, seed=0, shift=0.5):
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


def naive_mean(kernel, X, Y=None, w=None, v=None):
    """Σ_ij w_i v_j k(x_i, y_j) / (Σw Σv), pair by pair."""
    Y = X if Y is None else Y
    w = np.ones(len(X)) if w is None else w
    v = (w if Y is X else np.ones(len(Y))) if v is None else v
    total = 0.0
    for i in range(len(X)):
        for j in range(len(Y)):
            total += w[i] * v[j] * float(kernel(X[i : i + 1], Y[j : j + 1])[0, 0])
    return total / (sum(w) * sum(v))


# --- information potential ---------------------------------------------------------------------


@every_kernel
def test_potential_is_the_mean_over_pairs(kernel):
    X = array()
    # 1600 terms in another order: about √1600 rounding errors
    assert_allclose(information_potential(X, kernel), naive_mean(kernel, X), rtol=1e-12)


@every_kernel
def test_weights_equal_copies(kernel):
    X, w = array(), np.random.default_rng(1).integers(0, 4, 40)
    copies = np.repeat(X, w, axis=0)
    for measure in (information_potential, renyi_entropy, feature_variance):
        found, expected = measure(X, kernel, sample_weight=w), measure(copies, kernel)
        assert_allclose(found, expected, rtol=1e-11, err_msg=measure.__name__)
    expected = naive_mean(kernel, X, w=w)
    assert_allclose(information_potential(X, kernel, sample_weight=w), expected, rtol=1e-12)


def test_weights_are_passed_to_the_bandwidth_rule():
    X, w = array(), np.random.default_rng(1).integers(0, 4, 40)
    copies = np.repeat(X, w, axis=0)
    for measure in (information_potential, renyi_entropy, feature_variance):
        assert_allclose(measure(X, sample_weight=w), measure(copies), rtol=1e-11)


@pytest.mark.parametrize("kernel", DENSITIES, ids=repr)
def test_normalized_potential_is_divided_by_the_normalizer(kernel):
    X = array()
    expected = information_potential(X, kernel) / kernel.normalizer(3)
    assert_allclose(information_potential(X, kernel, normalize=True), expected, rtol=1e-13)


def test_normalized_potential_needs_a_density_kernel():
    for kernel in (Linear(), Cosine(), Polynomial()):
        with raises(ValueError, repr(kernel), "Gaussian"):
            information_potential(array(), kernel, normalize=True)
    with raises(ValueError, "Precomputed()", "Gaussian"):
        information_potential(np.eye(3), "precomputed", normalize=True)


def test_entropy_does_not_overflow_in_many_dimensions():
    X = array(20, 500)
    kernel = Gaussian(10.0)  # (2π·100)^250 overflows, its logarithm does not
    expected = 250 * np.log(2 * np.pi * 100) - np.log(kernel(X).mean())
    assert kernel.normalizer(500) == np.inf
    assert_allclose(renyi_entropy(X, kernel), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.is_psd], ids=repr)
@pytest.mark.parametrize("n", [40, 300])
def test_entropy_terms_add_up_to_the_potential(kernel, n):
    X = array(n)
    terms = entropy_terms(X, kernel)
    assert (np.diff(terms) <= 1e-9 * terms[0]).all()  # terms that differ by less are tied
    # LAPACK is backward stable: Σψ = 1'(K + E)1/n², with |E| of order eps |K|
    assert_allclose(terms.sum(), information_potential(X, kernel), rtol=1e-12)


def test_entropy_terms_equal_their_definition():
    X, kernel = array(), Gaussian(1.3)
    values, vectors = np.linalg.eigh(kernel(X))
    expected = np.sort(values * vectors.sum(axis=0) ** 2)[::-1] / 40**2
    for solver in ("auto", "dense", "lanczos"):
        assert_allclose(
            entropy_terms(X, kernel, n_components=4, solver=solver), expected[:4], rtol=1e-10
        )
    enough = entropy_terms(X, kernel, n_components=0.9)
    potential = information_potential(X, kernel)
    assert enough.sum() >= 0.9 * potential > enough[:-1].sum()


# --- entropy -----------------------------------------------------------------------------------


@every_kernel
def test_entropy_agrees_with_kernel_eca(kernel):
    X = array()
    if kernel.is_psd:
        model = KernelECA(2, kernel=kernel).fit(X)
        assert_allclose(renyi_entropy(X, kernel), model.renyi_entropy_, rtol=1e-12)
        assert_allclose(information_potential(X, kernel), model.information_potential_, rtol=1e-12)
    log_normalizer = kernel.log_normalizer(3) if kernel.is_density else 0.0
    expected = log_normalizer - np.log(information_potential(X, kernel))
    assert_allclose(renyi_entropy(X, kernel), expected, rtol=1e-12)


def test_default_kernel_agrees_with_kernel_eca():
    X = array()
    assert_allclose(renyi_entropy(X), KernelECA().fit(X).renyi_entropy_, rtol=1e-12)


def test_entropy_of_weighted_points_agrees_with_kernel_eca():
    X, w = array(), np.random.default_rng(1).integers(0, 4, 40)
    model = KernelECA(kernel=Gaussian(1.0)).fit(X, sample_weight=w)
    assert_allclose(renyi_entropy(X, Gaussian(1.0), sample_weight=w), model.renyi_entropy_, 1e-12)


def test_integral_of_the_squared_density_in_one_dimension():
    X, h = array(9, 1), 0.4

    def squared(t):
        return norm.pdf(t, X[:, 0], h).mean() ** 2

    total, error = quad(squared, -6, 8, points=X[:, 0].tolist(), limit=200, epsabs=1e-12)
    assert error < 1e-9
    assert_allclose(renyi_entropy(X, Gaussian(h), estimator="integral"), -np.log(total), rtol=1e-8)


def test_integral_of_the_squared_density_in_two_dimensions():
    X, h = array(7, 2), np.array([0.4, 0.7])
    # the trapezoid rule on a grid of step h/4 is exact up to rounding error for Gaussians
    t = [np.arange(-8, 9, s / 4) for s in h]
    densities = [norm.pdf(t[j][:, None], X[:, j], h[j]) for j in range(2)]
    density = densities[0] @ densities[1].T / 7
    total = (density**2).sum() * (h[0] / 4) * (h[1] / 4)
    found = renyi_entropy(X, Gaussian(h), estimator="integral")
    assert_allclose(found, -np.log(total), rtol=1e-11)


def test_integral_estimator_with_weights_and_a_rule():
    X, w = array(), np.random.default_rng(1).integers(0, 4, 40)
    wide = Gaussian(np.sqrt(2) * fit_kernel(Gaussian("scott"), X, w).bandwidth)
    found = renyi_entropy(X, Gaussian("scott"), estimator="integral", sample_weight=w)
    assert_allclose(found, renyi_entropy(X, wide, sample_weight=w), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel", [Laplacian(0.4), Matern(0.6), Laplacian(0.4) + Gaussian(1.0)], ids=repr
)
def test_integral_estimator_of_other_kernels(kernel):
    """V is the integral of the squared Parzen density, by quadrature between the kinks."""
    X = array(6, 1)
    parzen = ParzenDensity(kernel=kernel).fit(X)
    edges = np.r_[-40.0, np.sort(X[:, 0]), 40.0]

    def squared(t):
        return float(parzen.pdf([[t]])[0] ** 2)

    total = sum(quad(squared, a, b, epsabs=1e-12, limit=200)[0] for a, b in pairwise(edges))
    assert_allclose(renyi_entropy(X, kernel, estimator="integral"), -np.log(total), rtol=1e-8)


def test_integral_estimator_needs_a_self_convolution():
    with raises(ValueError, "Epanechnikov", "estimator='mean'", "Gaussian"):
        renyi_entropy(array(), Epanechnikov(1.0), estimator="integral")


def test_unknown_estimators_raise():
    with raises(ValueError, "'shannon'", "'mean'", "'integral'"):
        renyi_entropy(array(), estimator="shannon")


def test_entropy_needs_a_positive_potential():
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    with raises(ValueError, "V", 0):
        renyi_entropy(K, "precomputed")


# --- divergence --------------------------------------------------------------------------------


@every_kernel
def test_divergence_equals_its_formula(kernel):
    X, Y = array(20), array(15, seed=1, shift=1.0)
    between = naive_mean(kernel, X, Y)
    expected = -np.log(between / np.sqrt(naive_mean(kernel, X) * naive_mean(kernel, Y)))
    found = cauchy_schwarz_divergence(X, Y, kernel)
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert_allclose(cauchy_schwarz_divergence(Y, X, kernel), found, rtol=0, atol=1e-13)
    if kernel.is_psd:
        assert found >= -1e-15  # Cauchy-Schwarz


def test_divergence_of_large_separated_samples_warns(monkeypatch):
    """For distant samples, Fourier features give only a lower bound on the divergence."""
    X, Y, kernel = array(6000, d=1), array(6000, d=1, seed=1, shift=30.0), Gaussian(1.0)
    exact = cauchy_schwarz_divergence(X, Y, kernel)
    monkeypatch.setattr("mercer.information.divergence._MAX_SUMMED_PAIRS", 10**6)
    with warns(ApproximationWarning, "bandwidth"):
        found = cauchy_schwarz_divergence(X, Y, kernel)
    assert 10 < found < exact


def test_divergence_with_weights_equals_copies():
    rng = np.random.default_rng(2)
    X, Y, kernel = array(20), array(15, seed=1, shift=1.0), Gaussian(0.8)
    w, v = rng.integers(0, 4, 20), rng.integers(0, 4, 15)
    between = naive_mean(kernel, X, Y, w, v)
    within = naive_mean(kernel, X, w=w) * naive_mean(kernel, Y, w=v)
    found = cauchy_schwarz_divergence(X, Y, kernel, sample_weight=(w, v))
    assert_allclose(found, -np.log(between / np.sqrt(within)), rtol=0, atol=1e-12)
    one = cauchy_schwarz_divergence(X, Y, kernel, sample_weight=(w, None))
    assert_allclose(
        one, cauchy_schwarz_divergence(np.repeat(X, w, axis=0), Y, kernel), rtol=0, atol=1e-12
    )
    # a rule is applied to both samples together, with their weights
    rule = cauchy_schwarz_divergence(X, Y, sample_weight=(w, v))
    copies = cauchy_schwarz_divergence(np.repeat(X, w, axis=0), np.repeat(Y, v, axis=0))
    assert_allclose(rule, copies, rtol=1e-11)


@every_kernel
def test_divergence_of_equal_samples_is_zero(kernel):
    X = array()
    shuffled = np.random.default_rng(3).permutation(X)
    # the sums inside the logarithm agree to ~1e-14
    assert cauchy_schwarz_divergence(X, X, kernel) == pytest.approx(0, abs=1e-13)
    assert cauchy_schwarz_divergence(X, shuffled, kernel) == pytest.approx(0, abs=1e-13)
    twice = np.vstack([X, X])  # proportional densities
    assert cauchy_schwarz_divergence(X, twice, kernel) == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_nonnegative_quantities_are_not_negative(seed):
    """Regression: rounding errors gave -2e-16 and -0.0."""
    X = np.random.default_rng(seed).normal(size=(50 + seed, 1 + seed % 3))
    equal = np.full((3 + seed, 2), 0.3)
    values = [
        cauchy_schwarz_divergence(X, X, Gaussian(0.5)),
        feature_variance(equal, Polynomial(3)),
        *(matrix_renyi_entropy(equal, Gaussian(1.0), order) for order in (0.5, 1, 2, 3, np.inf)),
    ]
    assert [value for value in values if value < 0 or np.signbit(value)] == []


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Epanechnikov(1.0), Laplacian(0.01)], ids=repr)
def test_divergence_of_separated_samples_is_infinite(kernel):
    assert cauchy_schwarz_divergence(array(), array() + 1000, kernel) == np.inf


def test_divergence_rejects_precomputed_kernels():
    for kernel in ("precomputed", Precomputed()):
        with raises(ValueError, "precomputed"):
            cauchy_schwarz_divergence(np.eye(3), np.eye(3), kernel)


def test_samples_with_different_columns_raise():
    with raises(ValueError, 3, 2):
        cauchy_schwarz_divergence(array(), array(d=2), Gaussian(1.0))


def test_weights_of_two_samples_must_be_a_pair():
    with raises(ValueError, "sample_weight"):
        cauchy_schwarz_divergence(array(), array(), sample_weight=np.ones(40))


def test_divergence_needs_a_positive_potential():
    X = np.array([[1.0], [-1.5]])
    kernel = Sigmoid(1.0, -2.0)  # V < 0
    assert information_potential(X, kernel) < 0
    with raises(ValueError, "V"):
        cauchy_schwarz_divergence(X, X, kernel)


# --- variance ----------------------------------------------------------------------------------


@every_kernel
def test_feature_variance_is_the_centered_trace(kernel):
    X = array()
    K = kernel(X)
    P = np.eye(40) - 1 / 40
    centered = np.linalg.eigvalsh(P @ K @ P)
    found = feature_variance(X, kernel)
    assert_allclose(found, centered.sum() / 40, rtol=1e-11)
    assert_allclose(found, K.diagonal().mean() - naive_mean(kernel, X), rtol=1e-11)


def test_feature_variance_of_the_linear_kernel_is_the_total_variance():
    X = array()
    assert_allclose(feature_variance(X, Linear()), X.var(axis=0).sum(), rtol=1e-12)


def test_feature_variance_of_a_normalized_kernel():
    """Paiva's eq. 17 for a kernel that is a density: κ(0) - V with κ(0) = (2πσ²)^(-d/2)."""
    X, sigma = array(), 0.8
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    density = (2 * np.pi * sigma**2) ** (-X.shape[1] / 2)
    expected = density * (1 - np.exp(-squared / (2 * sigma**2)).mean())
    found = feature_variance(X, Gaussian(sigma), normalize=True)
    assert_allclose(found, expected, rtol=1e-12)
    with raises(ValueError, "Linear"):
        feature_variance(X, Linear(), normalize=True)


def test_feature_variance_with_a_large_mean():
    X = np.round(array() * 2**10) / 2**10  # exact when added to 1e6
    # mean k(x,x) - V subtracts numbers of size 1e12 with error eps·1e12: 1e-3 of a variance of 3
    found = feature_variance(X + 1e6, Linear())
    assert_allclose(found, X.var(axis=0).sum(), rtol=2e-3)


# --- types of input ----------------------------------------------------------------------------

MEASURES = [information_potential, renyi_entropy, feature_variance, entropy_terms]


@pytest.mark.parametrize("measure", MEASURES)
def test_data_frames_agree_with_arrays(measure):
    pd = pytest.importorskip("pandas")
    X = array()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert_allclose(measure(frame), measure(X), rtol=1e-12, atol=1e-15)
    assert_allclose(
        cauchy_schwarz_divergence(frame, frame + 1), cauchy_schwarz_divergence(X, X + 1)
    )


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_precomputed_kernels_agree_with_kernel_objects(measure, weighted):
    X, kernel = array(), Linear(0.5, 1.0)  # not a density, so entropies agree without a normalizer
    w = np.random.default_rng(1).integers(0, 4, 40) if weighted else None
    K = kernel(X)
    before = K.copy()
    found = measure(K, "precomputed", sample_weight=w)
    expected = measure(X, kernel, sample_weight=w)
    assert_allclose(np.sum(found), np.sum(expected), rtol=1e-11)
    assert (before == K).all()


def test_single_precision_is_summed_in_double():
    X = np.round(array(500) * 64) / 64
    kernel = Gaussian(1.3)
    found = information_potential(X.astype(np.float32), kernel)
    # each kernel value has an error of about 1e-6; the sum adds no more
    assert_allclose(found, information_potential(X, kernel), rtol=1e-5)


def test_sums_do_not_need_the_kernel_matrix():
    X, kernel = array(700), Gaussian(1.0)
    expected = [information_potential(X, kernel), feature_variance(X, kernel)]
    with config_context(memory="10KB"):
        found = [information_potential(X, kernel), feature_variance(X, kernel)]
    assert_allclose(found, expected, rtol=1e-13)
    assert_allclose(expected[0], kernel(X).mean(), rtol=1e-12)


# --- entropies of the spectrum -------------------------------------------------------------------

ORDERS = [0.5, 1.0, 2.0, 3.0, np.inf]


def spectral(p, order):
    p = p[p > 1e-14]
    if order == 1:
        return -(p * np.log(p)).sum()
    return -np.log(p.max()) if order == np.inf else np.log((p**order).sum()) / (1 - order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.5), Cosine()], ids=repr)
def test_matrix_entropies_equal_those_of_the_eigenvalues(kernel, order):
    X = array()
    expected = spectral(np.linalg.eigvalsh(kernel(X)) / len(X), order)
    assert_allclose(matrix_renyi_entropy(X, kernel, order), expected, rtol=1e-6)
    assert_allclose(vendi_score(X, kernel, order), np.exp(expected), rtol=1e-6)
    given = matrix_renyi_entropy(kernel(X), Precomputed(), order)
    assert_allclose(given, expected, rtol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_matrix_entropies_of_equal_and_isolated_points(order):
    equal, distant = np.zeros((7, 2)), 100 * np.arange(14.0).reshape(7, 2)
    assert_allclose(matrix_renyi_entropy(equal, Gaussian(1.0), order), 0, atol=1e-12)
    assert_allclose(vendi_score(distant, Gaussian(1.0), order), 7, rtol=1e-12)
    groups = np.repeat(distant, [1, 1, 1, 2, 1, 3, 1], axis=0)
    weights = [1, 1, 1, 2, 1, 3, 1]
    assert_allclose(
        vendi_score(groups, Gaussian(1.0), order),
        vendi_score(distant, Gaussian(1.0), order, sample_weight=weights),
        rtol=1e-10,
    )


def test_quadratic_entropy_of_many_points_needs_no_eigenvalues():
    X = array(6000, 2)
    with config_context(memory=20e6):  # a matrix would need 288 MB
        found = matrix_renyi_entropy(X, Gaussian(1.0))
    assert_allclose(np.exp(-found), information_potential(X, Gaussian(np.sqrt(0.5))), rtol=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), 2.0 * Gaussian(1.0)], ids=repr)
def test_matrix_entropies_need_a_unit_diagonal(kernel):
    for measure in (matrix_renyi_entropy, vendi_score):
        with raises(ValueError, "k(x, x)", 1, repr(kernel)):
            measure(array(), kernel)


def test_negative_orders_raise():
    with raises(ValueError, "alpha=-1", 0):
        matrix_renyi_entropy(array(), alpha=-1)
    with raises(ValueError, "q=-1", 0):
        vendi_score(array(), q=-1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradients_by_fourier_features_and_by_pairs_agree(d):
    from mercer.information.potential import gaussian_potential

    X, w = array(4500, d), np.random.default_rng(1).random(4500) + 0.5
    kernel = Gaussian(np.linspace(1.0, 1.5, d))
    potential, gradient = potential_gradient(X, kernel, sample_weight=w)
    expected, slopes = gaussian_potential(X, kernel.bandwidth_vector(d), w / w.sum())
    assert_allclose(potential, expected, rtol=1e-8)
    assert_allclose(gradient, slopes, atol=1e-8 * np.abs(slopes).max())


def test_gradient_needs_a_gaussian_kernel():
    with raises(ValueError, "Laplacian", "Gaussian"):
        potential_gradient(array(), Laplacian(1.0))


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e200])
def test_scale_of_weights_has_no_effect(scale):
    rng = np.random.default_rng(0)
    X, Y, weights = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), rng.uniform(0.1, 1, 40)
    for measure in (information_potential, renyi_entropy, vendi_score):
        found = measure(X, Gaussian(1.0), sample_weight=scale * weights)
        assert_allclose(found, measure(X, Gaussian(1.0), sample_weight=weights), rtol=1e-12)
    if scale < 1:  # a rule for the bandwidth of both samples
        one, other = (
            cauchy_schwarz_divergence(X, Y, sample_weight=(w, None))
            for w in (weights, scale * weights)
        )
        assert_allclose(other, one, rtol=1e-9)
    one, other = (
        potential_gradient(X, Gaussian(1.0), sample_weight=w)[1] for w in (weights, scale * weights)
    )
    assert_allclose(other, one, rtol=1e-9, atol=1e-15)


# --- divergence of parts of a precomputed matrix --------------------------------------------------


def test_divergence_from_a_precomputed_matrix_equals_that_of_the_samples():
    X, Y = array(30, 2), array(20, 2) + 0.7
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    K = Gaussian(0.9)(np.vstack([X, Y]))
    samples = np.arange(30), np.arange(30, 50)
    found = cauchy_schwarz_divergence(K, samples, "precomputed")
    assert_allclose(found, cauchy_schwarz_divergence(X, Y, Gaussian(0.9)), rtol=1e-10)
    pair = (None, weights)
    found = cauchy_schwarz_divergence(K, samples, "precomputed", sample_weight=pair)
    expected = cauchy_schwarz_divergence(X, Y, Gaussian(0.9), sample_weight=pair)
    assert_allclose(found, expected, rtol=1e-10)


def test_divergence_of_a_cluster_from_all_points():
    """Jenssen's eq. (27): -log of the cosine between the cluster's mean and the overall mean."""
    K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 1.0]])
    found = cauchy_schwarz_divergence(K, ([0, 1], [0, 1, 2]), "precomputed")
    inner = (1 + 0.5 + 0 + 0.5 + 1 + 0.1) / 6
    cosine = inner / np.sqrt(3 / 4 * K.mean())
    assert_allclose(found, -np.log(cosine), rtol=1e-12)


def test_divergence_of_a_precomputed_matrix_needs_row_indices():
    K = np.eye(4)
    with raises(ValueError, "pair"):
        cauchy_schwarz_divergence(K, K, "precomputed")
    with raises(ValueError, "bool"):
        cauchy_schwarz_divergence(K, (np.ones(4, bool), [0]), "precomputed")
    with raises(ValueError, "(0,)"):
        cauchy_schwarz_divergence(K, (np.zeros(0, int), [0]), "precomputed")
    with raises(ValueError, 2, 4):
        cauchy_schwarz_divergence(K, ([2, 4], [0]), "precomputed")


def test_many_pairs_are_estimated_with_a_standard_error():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    w = np.random.default_rng(1).exponential(size=3000)
    for weights in (None, w):
        exact = renyi_entropy(X, Gaussian(1.0), sample_weight=weights)
        with pytest.warns(ApproximationWarning, match="max_pairs=8e\\+06") as caught:
            found = renyi_entropy(X, Gaussian(1.0), sample_weight=weights, max_pairs=8e6)
        relative = float(re.search(r"error of ([\d.]+)", str(caught[0].message))[1])
        assert 0 < abs(found - exact) <= 5 * relative
        assert renyi_entropy(X, Gaussian(1.0), sample_weight=weights, max_pairs=None) == exact


def test_features_need_no_estimate():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    assert information_potential(X, "cosine", max_pairs=10) == information_potential(X, "cosine")


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Gaussian(np.array([0.7, 2.0, 1.0])), Cosine()])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_equals_finite_differences(kernel, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    w = rng.exponential(size=12) if weighted else None
    score, gradient = diversity_gradient(X, kernel, sample_weight=w)
    assert_allclose(score, vendi_score(X, kernel, 2, sample_weight=w), rtol=1e-10)
    step = 1e-6
    for i, j in ((0, 0), (3, 2), (11, 1)):
        ends = []
        for sign in (1, -1):
            moved = X.copy()
            moved[i, j] += sign * step
            ends.append(vendi_score(moved, kernel, 2, sample_weight=w))
        assert_allclose(gradient[i, j], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_gradient_errors():
    with raises(ValueError, "Laplacian"):
        diversity_gradient(np.eye(3), Laplacian(1.0))
    with raises(ValueError, "zeros"):
        diversity_gradient(np.zeros((2, 2)), "cosine")
