"""Density estimators: properties, known results, and agreement of solvers."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

from mercer import OrthogonalSeries, ParzenDensity, SeriesDensity
from mercer.bandwidth import leave_one_out
from mercer.data import Points
from mercer.datasets import make_clusters
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from mercer.kernels import (
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from mercer.maths.gaussian_sums import worth_boxes
from mercer.operators import WindowSum
from tests.expectations import raises, warns

DENSITIES = [
    Gaussian(0.4),
    Gaussian(np.array([0.3, 0.6])),
    Laplacian(0.3),
    Matern(0.4, 1.5),
    Epanechnikov(0.9),
    Gaussian(0.2) + 0.5 * Laplacian(0.4),
]
RULES = ["kronmal-tarter", "kronmal-tarter-run", "diggle-hall", 4, None]
every_density = pytest.mark.parametrize("kernel", DENSITIES, ids=repr)
every_rule = pytest.mark.parametrize("terms", RULES)

pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
    # the Gram matrix of Epanechnikov is indefinite, which a series warns about
    pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite"),
]


def array(n=80, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def grid(low=-6.0, high=6.0, cells=240):
    side = low + (high - low) * (np.arange(cells) + 0.5) / cells
    return np.stack(np.meshgrid(side, side), -1).reshape(-1, 2), ((high - low) / cells) ** 2


# --- Parzen ------------------------------------------------------------------------------------


@every_density
def test_parzen_is_the_mean_of_kernels(kernel):
    X, Y = array(), array(30, seed=1)
    density = ParzenDensity(kernel=kernel).fit(X)
    expected = kernel(Y, X).mean(axis=1) / kernel.normalizer(2)
    assert_allclose(density.pdf(Y), expected, rtol=1e-12)
    near = expected > 0  # outside a compact support
    assert_allclose(density.score_samples(Y[near]), np.log(expected[near]), rtol=1e-11)
    assert_allclose(density.score(Y[near]), np.log(expected[near]).mean(), rtol=1e-12)


@every_density
def test_parzen_has_mass_one(kernel):
    points, cell = grid()
    mass = ParzenDensity(kernel=kernel).fit(array()).pdf(points).sum() * cell
    # kinks and compact supports: the error of the midpoint rule is about (step/bandwidth)²
    assert_allclose(mass, 1, atol=2e-3)


@pytest.mark.parametrize(
    ("kernel", "name"), [(Gaussian, "gaussian"), (Epanechnikov, "epanechnikov")]
)
def test_parzen_agrees_with_scikit_learn(kernel, name):
    X, Y = array(200, 3), array(50, 3, seed=1)
    theirs = KernelDensity(kernel=name, bandwidth=1.3, rtol=1e-12).fit(X).score_samples(Y)
    assert_allclose(ParzenDensity(kernel=kernel(1.3)).fit(X).score_samples(Y), theirs, rtol=1e-8)


@every_density
@pytest.mark.parametrize(
    "make", [ParzenDensity, lambda kernel: SeriesDensity(kernel=kernel, terms=3)]
)
def test_integer_weights_equal_repeated_rows(kernel, make):
    X, Y = array(), array(20, seed=2)
    w = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = make(kernel=kernel).fit(X, sample_weight=w)
    copied = make(kernel=kernel).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.pdf(Y), copied.pdf(Y), rtol=1e-8, atol=1e-12)
    assert_allclose(
        weighted.score(X, sample_weight=w), copied.score(np.repeat(X, w, axis=0)), rtol=1e-8
    )


def test_learned_weights_of_integer_weights_equal_repeated_rows():
    X, w = array(60), np.random.default_rng(1).integers(0, 4, 60)
    weighted = ParzenDensity(kernel=Gaussian(0.5), weights="learned").fit(X, sample_weight=w)
    copied = ParzenDensity(kernel=Gaussian(0.5), weights="learned").fit(np.repeat(X, w, axis=0))
    # both optima are within 1e-6 nats of the best, and the problem is strictly concave in p
    assert_allclose(weighted.pdf(X), copied.pdf(X), rtol=1e-2)
    assert (w[weighted.support_] > 0).all()


@pytest.mark.parametrize("x", [60.0, -60.0, 3.0])
def test_log_densities_are_accurate_where_densities_underflow(x):
    """Sorted rows in three tiles: the nearest row is in the last tile or in the first."""
    X, w = np.linspace(-1, 1, 700)[:, None], np.random.default_rng(0).random(700)
    found = ParzenDensity(kernel=Gaussian(1.0)).fit(X, sample_weight=w).score_samples([[x]])[0]
    logs = np.log(w / w.sum()) - 0.5 * (x - X[:, 0]) ** 2
    expected = np.logaddexp.reduce(logs) - Gaussian(1.0).log_normalizer(1)
    assert_allclose(found, expected, rtol=1e-12)


def test_signs_are_right_where_sums_underflow():
    X, c = np.linspace(-1, 1, 700)[:, None], np.linspace(-1, 2, 700)
    sign, logs = WindowSum(Gaussian(1.0), Points(X), c).signed_log(
        Points(np.array([[60.0], [-60.0]]))
    )
    assert_array_equal(sign, [1, -1])
    for x, log_value in zip((60.0, -60.0), logs, strict=True):
        h = -0.5 * (x - X[:, 0]) ** 2
        direct = h.max() + np.log(abs(c @ np.exp(h - h.max())))
        assert_allclose(log_value, direct, rtol=1e-12)


def test_many_columns_do_not_overflow():
    X = array(40, 400)
    with warns(ApproximationWarning, 400, 50, 40):
        density = ParzenDensity(kernel=Gaussian(10.0)).fit(X)
    logs = -0.5 * cdist(X, X) ** 2 / 100
    expected = logsumexp(logs, axis=1) - np.log(40) - Gaussian(10.0).log_normalizer(400)
    assert_allclose(density.score_samples(X), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_fourier_features_agree_with_exact_sums(d):
    X = array(5000, d)
    Y = np.concatenate([array(200, d, seed=1), 4 * array(50, d, seed=2), 60 * array(5, d, seed=3)])
    kernel = Gaussian(0.25)
    fast = ParzenDensity(kernel=kernel, solver="fourier").fit(X)
    exact = ParzenDensity(kernel=kernel, solver="lanczos").fit(X)
    assert fast._sum.waves is not None
    assert exact._sum.waves is None
    logs = exact.score_samples(Y)
    assert logs.min() < -1000
    # the error of Fourier features is 1e-10 k(0); below 1e3 times that, sums are exact
    assert_allclose(fast.score_samples(Y), logs, atol=1e-3, rtol=1e-9)
    high = logs + kernel.log_normalizer(d) > np.log(1e-4)
    assert_allclose(fast.score_samples(Y[high]), logs[high], atol=1e-5)


METRIC = np.diag([1.0, 4.0, 0.25, 1.0]) + 0.2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Gaussian(0.3, metric=METRIC)])
def test_sums_that_skip_negligible_points_agree_with_exact_sums(kernel, dtype):
    """Rows near and far, one of them so far that it is summed exactly; weights with zeros."""
    X = array(12_000, 4).astype(dtype) + dtype(100)
    Y = np.concatenate([array(1100, 4, seed=1), 4 * array(250, 4, seed=2), 90 * array(50, 4)])
    Y[7] = 1e6
    Y = Y.astype(dtype) + dtype(100)
    w = np.random.default_rng(1).gamma(0.5, size=len(X))
    w[::3] = 0
    fast = ParzenDensity(kernel=kernel).fit(X, sample_weight=w)
    assert fast._sum.boxes
    assert worth_boxes(fast._sum.points.n, len(Y))
    exact = ParzenDensity(kernel=kernel, solver="lanczos").fit(X.astype(float), sample_weight=w)
    assert not exact._sum.boxes
    logs = exact.score_samples(Y.astype(float))
    assert logs.min() < -10_000
    found = fast.score_samples(Y)
    # the exact sum is in the precision of the data
    assert_allclose(found[7], logs[7], rtol=10 * np.finfo(dtype).eps)
    found[7] = logs[7]
    # far away the logarithms have the rounding error of squared distances
    assert_allclose(found, logs, atol=1e-6, rtol=1e-13)


@pytest.mark.parametrize("case", ["bandwidth", "training row"])
def test_extreme_numbers_are_summed_exactly(case):
    X, Y = array(10_000, 4), array(1000, 4, seed=1)
    if case == "training row":
        X[5] = 1e150
    kernel = Gaussian(1e-300 if case == "bandwidth" else 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        fast = ParzenDensity(kernel=kernel).fit(X)
        exact = ParzenDensity(kernel=kernel, solver="lanczos").fit(X)
    assert worth_boxes(10_000, 1000)
    assert_allclose(fast.score_samples(Y), exact.score_samples(Y), rtol=1e-12)


@every_density
def test_parzen_draws_have_its_moments(kernel):
    density = ParzenDensity(kernel=kernel).fit(array())
    drawn = density.sample(20_000, random_state=0)
    points, cell = grid(-9, 9, 360)
    p = density.pdf(points) * cell
    mean = p @ points
    second = p @ points**2
    assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(second.max() / 20_000) + 1e-3)
    assert_allclose((drawn**2).mean(axis=0), second, rtol=0.06)
    assert_array_equal(drawn, density.sample(20_000, random_state=0))


# --- learned weights -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2])
def test_learned_weights_satisfy_the_optimality_conditions(d):
    """``g = 1`` on the support, ``g ≤ 1`` elsewhere."""
    X = array(150, d)
    kernel = Gaussian(0.4)
    density = ParzenDensity(kernel=kernel, weights="learned").fit(X)
    K = kernel(X)
    p = K[:, density.support_] @ density.weights_
    g = K @ (1 / p) / len(X)
    assert g.max() < 1 + 2e-6
    assert_allclose(g[density.support_], 1, atol=1e-4)
    assert density.likelihood_gap_ <= 1e-6
    assert_allclose(density.weights_.sum(), 1, rtol=1e-12)
    assert len(density.support_) < 75
    assert density.score(X) > ParzenDensity(kernel=kernel).fit(X).score(X)


def test_learned_weights_agree_with_em():
    X = array(40, 1)
    K = Gaussian(0.5)(X)
    a = np.full(40, 1 / 40)
    for _ in range(20_000):
        a *= K @ (1 / (K @ a)) / 40
    density = ParzenDensity(kernel=Gaussian(0.5), weights="learned").fit(X)
    em = np.log(K @ a).mean() - Gaussian(0.5).log_normalizer(1)
    assert -1e-9 <= density.score(X) - em <= 1e-4


# --- the leave-one-out bandwidth -----------------------------------------------------------------


def test_leave_one_out_bandwidth_maximizes_the_likelihood():
    X = array(60, 2)

    def likelihood(bandwidth):
        K = Gaussian(bandwidth)(X)
        np.fill_diagonal(K, 0)
        return np.log(K.sum(axis=1) / 59).mean() - Gaussian(bandwidth).log_normalizer(2)

    found = leave_one_out(X)
    assert likelihood(found) >= max(likelihood(w) for w in np.geomspace(0.05, 3, 300)) - 1e-7
    density = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X)
    assert density.kernel_ == Gaussian(found)


@pytest.mark.parametrize("kernel", [Laplacian(), Matern(), Epanechnikov()])
def test_leave_one_out_bandwidth_depends_on_the_kernel(kernel):
    X = array(60, 1)

    def likelihood(bandwidth):
        trial = kernel.with_bandwidth(bandwidth)
        K = trial(X)
        np.fill_diagonal(K, 0)
        with np.errstate(divide="ignore"):
            return np.log(K.sum(axis=1) / 59).mean() - trial.log_normalizer(1)

    found = leave_one_out(X, kernel=kernel)
    assert likelihood(found) >= max(likelihood(w) for w in np.geomspace(0.05, 4, 200)) - 1e-3
    assert ParzenDensity(kernel=kernel.with_bandwidth("leave-one-out")).fit(X).kernel_ == (
        kernel.with_bandwidth(found)
    )


def test_leave_one_out_bandwidth_of_weighted_and_rounded_data():
    X, w = array(100, 2), np.random.default_rng(1).integers(0, 4, 100)
    assert_allclose(leave_one_out(X, w), leave_one_out(np.repeat(X, w, axis=0)), rtol=1e-10)
    rounded = np.round(array(500, 1), 1)
    assert 0.1 < leave_one_out(rounded) < 0.6
    assert_allclose(leave_one_out(1000 * X), 1000 * leave_one_out(X), rtol=1e-3)


# --- the kernel series ---------------------------------------------------------------------------


@every_density
def test_series_with_all_terms_equals_parzen(kernel):
    X, Y = array(), array(30, seed=1)
    series = SeriesDensity(kernel=kernel, terms=None).fit(X)
    assert_allclose(series.pdf(Y), ParzenDensity(kernel=kernel).fit(X).pdf(Y), rtol=1e-10)
    assert_allclose(series.mass_, 1, rtol=1e-12)


@pytest.mark.parametrize("terms", [1, 3, 10])
def test_series_equals_its_formula(terms):
    """The density is Σ_selected (1'e/n) Σ_j e_j k(x, x_j), of mass Σ_selected (1'e)²/n."""
    X, Y = array(), array(30, seed=1)
    K = Gaussian(0.5)(X)
    values, vectors = np.linalg.eigh(K)
    overlaps = vectors.sum(axis=0)
    selected = np.argsort(-values * overlaps**2)[:terms]
    expected = Gaussian(0.5)(Y, X) @ vectors[:, selected] @ overlaps[selected] / len(X)
    mass = (overlaps[selected] ** 2).sum() / len(X)
    series = SeriesDensity(kernel=Gaussian(0.5), terms=terms, positive=False).fit(X)
    assert_allclose(series.mass_, mass, rtol=1e-10)
    assert_allclose(series.term_masses_.sum(), mass, rtol=1e-10)
    expected /= mass * Gaussian(0.5).normalizer(2)
    assert_allclose(series.pdf(Y), expected, rtol=1e-8, atol=1e-12)


@every_rule
@pytest.mark.parametrize("positive", [True, False])
def test_series_has_mass_one(terms, positive):
    X = make_clusters(spread=0.4, random_state=0)[0]
    series = SeriesDensity(kernel=Gaussian(0.12), terms=terms, positive=positive).fit(X)
    points, cell = grid(-3, 3, 240)
    values = series.pdf(points)
    # exact where nothing is clipped; the midpoint rule is spectrally accurate for Gaussians
    tolerance = 1e-10 if series.clipped_mass_ == 0 else 20 * series.clipped_mass_error_ + 1e-6
    assert_allclose(values.sum() * cell, 1, atol=tolerance)
    if positive:
        assert values.min() >= 0


def naive_series(X, x, sigma, selected, weights=None):
    """``Σ_k ĉ_k Φ_k(x)``, ĉ_k = Σ_n α_n Φ_k(x_n), of mass 1; eigenpairs by eigenvalue."""
    kernel = Gaussian(sigma)
    values, vectors = np.linalg.eigh(kernel(X))
    values, vectors = values[::-1], vectors[:, ::-1]
    alpha = np.full(len(X), 1 / len(X)) if weights is None else weights
    density, mass = 0.0, 0.0
    for k in selected:
        function = kernel(x, X) @ vectors[:, k] / np.sqrt(values[k])
        coefficient = sum(
            a * np.sqrt(values[k]) * e for a, e in zip(alpha, vectors[:, k], strict=True)
        )
        density = density + coefficient * function / kernel.normalizer(X.shape[1])
        mass += coefficient * vectors[:, k].sum() / np.sqrt(values[k])
    return density / mass, mass


@pytest.mark.parametrize("solver", ["dense", "lanczos", "fourier"])
def test_series_truncated_by_eigenvalue(solver):
    """The paper's equations (2.4) and (4.1): the first M eigenpairs."""
    X, _ = make_clusters(noise=0.38, random_state=0)
    x = array(40, 2)
    for selected, settings in (
        (range(5), {"terms": 5, "order": "eigenvalue"}),
        ([0, 3, 7], {"components": [7, 0, 3]}),
    ):
        series = SeriesDensity(kernel=Gaussian(0.4), positive=False, solver=solver, **settings)
        series.fit(X)
        expected, mass = naive_series(X, x, 0.4, selected)
        assert series.selected_.tolist() == list(selected)
        assert_allclose(series.pdf(x), expected, atol=1e-8 * np.abs(expected).max())
        assert_allclose(series.mass_, mass, rtol=1e-7)
        assert_allclose(series.term_masses_[series.selected_].sum(), mass, rtol=1e-7)
    by_entropy = SeriesDensity(kernel=Gaussian(0.4), terms=5, positive=False).fit(X)
    assert not np.allclose(by_entropy.pdf(x), naive_series(X, x, 0.4, range(5))[0])


@pytest.mark.parametrize(
    "settings", [{"terms": 6, "order": "eigenvalue"}, {"terms": "diggle-hall"}]
)
def test_series_with_learned_weights(settings):
    X, x = array(60, 2), array(30, 2)
    alpha = np.zeros(60)
    parzen = ParzenDensity(kernel=Gaussian(0.6), weights="learned").fit(X)
    alpha[parzen.support_] = parzen.weights_
    series = SeriesDensity(kernel=Gaussian(0.6), weights="learned", positive=False, **settings)
    series.fit(X)
    expected, mass = naive_series(X, x, 0.6, series.selected_, alpha)
    assert_allclose(series.pdf(x), expected, atol=1e-9 * np.abs(expected).max())
    assert_allclose(series.mass_, mass, rtol=1e-9)
    assert_allclose(series.term_masses_[series.selected_].sum(), mass, rtol=1e-9)


def test_series_with_learned_weights_and_all_terms_equals_parzen():
    X, x = array(50), array(30)
    series = SeriesDensity(kernel=Gaussian(0.4), terms=None, weights="learned").fit(X)
    parzen = ParzenDensity(kernel=Gaussian(0.4), weights="learned").fit(X)
    assert_allclose(series.score_samples(x), parzen.score_samples(x), rtol=1e-10)
    assert series.sample(5, random_state=0).shape == (5, X.shape[1])


def test_learned_weights_of_repeated_rows_equal_sample_weights():
    X, counts = array(25, 2), np.random.default_rng(3).integers(1, 4, 25)
    settings = {"kernel": Gaussian(0.8), "terms": 4, "order": "eigenvalue", "weights": "learned"}
    weighted = SeriesDensity(**settings).fit(X, sample_weight=counts)
    repeated = SeriesDensity(**settings).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.pdf(X), repeated.pdf(X), rtol=1e-4)  # likelihood gap 1e-6


def test_unusable_series_parameters_raise():
    X = array(20)
    for settings, values in (
        ({"order": "size"}, ["'size'", "'eigenvalue'"]),
        ({"weights": "equal"}, ["'equal'", "'learned'"]),
        ({"components": []}, ["components=[]"]),
        ({"components": [0, 0]}, ["components=[0, 0]"]),
        ({"components": [-1]}, ["components=[-1]"]),
        ({"components": [0.5]}, ["components=[0.5]"]),
        ({"components": [20]}, [20]),
    ):
        with raises(ValueError, *values):
            SeriesDensity(kernel=Gaussian(0.3), **settings).fit(X)


def test_clipped_series_is_renormalized_within_its_error():
    """A series with negative values: quadrature in one dimension, draws in three."""
    X = array(150, 1)
    series = SeriesDensity(kernel=Gaussian(0.05), terms=3).fit(X)
    assert series.clipped_mass_ > 1e-4
    x = np.linspace(-6, 6, 60_001)[:, None]
    values = series.pdf(x)
    assert_allclose(values.sum() * 12 / 60_000, 1, atol=1e-6)
    raw = SeriesDensity(kernel=Gaussian(0.05), terms=3, positive=False).fit(X).pdf(x)
    negative = -raw[raw < 0].sum() * 12 / 60_000
    assert_allclose(series.clipped_mass_, negative, atol=1e-6)
    assert_allclose(values, np.maximum(raw, 0) / (1 + negative), atol=1e-5)
    deep = SeriesDensity(kernel=Gaussian(0.2), terms=5).fit(array(150, 3))
    again = deep._ratio(Points(deep._draw_parzen(100_000, np.random.default_rng(5)))) / deep.mass_
    expected = np.maximum(-again, 0).mean()
    assert deep.clipped_mass_ > 1e-3
    assert_allclose(deep.clipped_mass_, expected, atol=5 * deep.clipped_mass_error_ + 1e-12)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_clipped_mass_of_narrow_kernels_on_a_long_range():
    """A point at a distance of 1e6 adds one term; the selected terms do not change.

    A grid over such a range misses the kernels, so draws are used.
    """
    X = array(150, 1)
    near = SeriesDensity(kernel=Gaussian(0.05), terms=3).fit(X)
    far = SeriesDensity(kernel=Gaussian(0.05), terms=3).fit(np.vstack([X, [[1e6]]]))
    assert near.clipped_mass_ > 1e-4
    assert 0 < far.clipped_mass_error_ < 1e-3
    assert abs(far.clipped_mass_ - near.clipped_mass_) < 4 * far.clipped_mass_error_


@pytest.mark.parametrize("terms", ["kronmal-tarter", "kronmal-tarter-run", "diggle-hall", 1, None])
def test_series_of_one_point_is_its_kernel(terms):
    series = SeriesDensity(kernel=Gaussian(0.5), terms=terms).fit([[1.0]])
    x = np.linspace(-1, 3, 9)[:, None]
    assert_allclose(series.pdf(x), norm(1, 0.5).pdf(x[:, 0]), rtol=1e-10)


@pytest.mark.parametrize("terms", ["kronmal-tarter", 50])
def test_fourier_features_give_the_same_series(terms):
    X, Y = array(4500, 1), array(50, 1, seed=1) * 3
    kernel = Gaussian(0.15)
    fast = SeriesDensity(kernel=kernel, terms=terms, solver="fourier", max_terms=30).fit(X)
    exact = SeriesDensity(kernel=kernel, terms=terms, solver="lanczos", max_terms=30).fit(X)
    assert fast._sum.waves is not None
    assert_allclose(fast.mass_, exact.mass_, rtol=1e-6)
    assert_allclose(fast.pdf(Y), exact.pdf(Y), atol=1e-6)


def test_eigenfunctions_are_orthonormal_on_the_sample():
    X = array()
    series = SeriesDensity(kernel=Gaussian(0.5), terms="kronmal-tarter").fit(X)
    phi = series.eigenfunctions(X)
    assert phi.shape == (len(X), len(series.selected_))
    assert_allclose(phi.T @ phi / len(X), np.eye(phi.shape[1]), atol=1e-8)
    assert_allclose(phi.mean(axis=0) ** 2, series.term_masses_[series.selected_], atol=1e-8)


def test_entropy_terms_add_up():
    X = array()
    series = SeriesDensity(kernel=Gaussian(0.5), terms=None).fit(X)
    assert_allclose(series.entropy_terms_.sum(), Gaussian(0.5)(X).mean(), rtol=1e-10)
    assert_allclose(
        series.error_terms_ * Gaussian(0.5).normalizer(2), series.entropy_terms_, rtol=1e-10
    )


def test_rules_select_among_the_leading_eigenvalues():
    X = make_clusters(spread=0.3, random_state=0)[0]
    n = len(X)
    every = SeriesDensity(kernel=Gaussian(0.3)).fit(X)
    assert every.spectrum_.n_components <= 200
    passes = every.term_masses_ * n > 2 * n / (n + 1)
    assert_array_equal(every.selected_, np.flatnonzero(passes))
    run = SeriesDensity(kernel=Gaussian(0.3), terms="kronmal-tarter-run").fit(X).selected_
    assert_array_equal(run, np.arange(int(np.argmin(passes))))
    risk = np.cumsum(every.spectrum_.eigenvalues / n * 2 / (n + 1) - every.entropy_terms_)
    cut = SeriesDensity(kernel=Gaussian(0.3), terms="diggle-hall").fit(X).selected_
    assert len(cut) == np.argmin(risk) + 1
    few = SeriesDensity(kernel=Gaussian(0.3), max_terms=5).fit(X)
    assert_array_equal(few.selected_, every.selected_[every.selected_ < 5])


@every_rule
def test_series_draws_have_its_moments(terms):
    X = make_clusters(spread=0.3, random_state=0)[0]
    series = SeriesDensity(kernel=Gaussian(0.15), terms=terms).fit(X)
    drawn = series.sample(8000, random_state=0)
    points, cell = grid(-3, 3, 300)
    p = series.pdf(points) * cell
    assert_allclose(drawn.mean(axis=0), p @ points, atol=4 / np.sqrt(8000))
    assert_allclose((drawn**2).mean(axis=0), p @ points**2, atol=4 / np.sqrt(8000))


# --- classical series ----------------------------------------------------------------------------


@pytest.mark.parametrize("basis", ["hermite", "fourier", "legendre", "laguerre"])
def test_classical_functions_are_orthonormal(basis):
    from mercer.maths.orthonormal_bases import BASES

    low, high = BASES[basis].extent(8)
    z = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    values = BASES[basis].functions(z, 8)
    step = (high - low) / 200_000
    assert_allclose(values.T @ values * step, np.eye(8), atol=1e-5)
    assert_allclose(values.sum(axis=0) * step, BASES[basis].masses(8), atol=1e-4)


def test_normal_and_exponential_densities_are_single_basis_functions():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(4000, 1))
    one = OrthogonalSeries("hermite", terms=1).fit(X)
    x = np.linspace(-5, 11, 50)[:, None]
    assert_allclose(one.pdf(x), norm.pdf(x[:, 0], X.mean(), X.std()), rtol=1e-10)
    E = rng.exponential(3.0, size=(4000, 1))
    one = OrthogonalSeries("laguerre", terms=1).fit(E)
    assert_allclose(one.pdf(x[x[:, 0] > 0]), np.exp(-x[x > 0] / E.mean()) / E.mean(), rtol=1e-10)


@pytest.mark.parametrize("basis", ["hermite", "fourier", "legendre"])
@pytest.mark.parametrize("terms", RULES)
def test_classical_series_have_mass_one(basis, terms):
    X = array(300, 1)
    series = OrthogonalSeries(basis, terms=terms).fit(X)
    x = np.linspace(-14, 14, 100_001)[:, None]
    values = series.pdf(x)
    assert values.min() >= 0
    assert_allclose(values.sum() * 28 / 100_000, 1, atol=2e-3)  # jumps at the interval's ends
    drawn = series.sample(4000, random_state=0)
    assert_allclose(drawn.mean(), (values * x[:, 0]).sum() * 28 / 100_000, atol=0.1)


def test_classical_series_of_two_columns_and_weights():
    X, w = array(200, 2), np.random.default_rng(1).integers(0, 3, 200)
    series = OrthogonalSeries("hermite", max_terms=8).fit(X, sample_weight=w)
    copied = OrthogonalSeries("hermite", max_terms=8).fit(np.repeat(X, w, axis=0))
    points, cell = grid(-7, 7, 200)
    assert_allclose(series.pdf(points), copied.pdf(points), atol=1e-10)
    assert_allclose(series.pdf(points).sum() * cell, 1, atol=1e-3)
    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    flat = OrthogonalSeries("legendre", terms=1, domain=(low, high)).fit(X)
    assert_allclose(flat.pdf(X), 1 / np.prod(high - low), rtol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_coefficients_of_a_classical_series_are_those_of_its_density(scale):
    """By Parseval, for functions that are orthonormal in x in any unit."""
    X = scale * array(300, 1)
    series = OrthogonalSeries("hermite", terms=6, positive=False).fit(X)
    assert (series.clipped_mass_, series.clipped_mass_error_) == (0, 0)
    x = scale * np.linspace(-9, 9, 20_001)
    values = series.mass_ * series.pdf(x[:, None])
    assert values.min() < 0  # it is not clipped
    squares = series.coefficients_[series.selected_] ** 2
    assert_allclose((values**2).sum() * (x[1] - x[0]), squares.sum(), rtol=1e-6)
    assert_allclose(values.sum() * (x[1] - x[0]), series.mass_, rtol=1e-6)


def test_classical_series_of_tiny_weights_equals_that_of_rows():
    X = array(50, 1)
    series = OrthogonalSeries("legendre").fit(X, sample_weight=np.full(50, 0.01))
    expected = OrthogonalSeries("legendre").fit(X)
    assert series.selected_.tolist() == expected.selected_.tolist()
    assert_allclose(series.pdf(X), expected.pdf(X))


# --- model choice --------------------------------------------------------------------------------


def test_grid_search_maximizes_the_likelihood():
    X = array(150, 1)
    bandwidths = [0.02, 0.3, 5.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        search = GridSearchCV(ParzenDensity(), {"kernel__bandwidth": bandwidths}, cv=5).fit(X)
        expected = [
            cross_val_score(ParzenDensity(kernel=Gaussian(b)), X, cv=5).mean() for b in bandwidths
        ]
    assert search.best_params_ == {"kernel__bandwidth": 0.3}
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-10)
    terms = [2, 8, None]
    search = GridSearchCV(SeriesDensity(kernel=Gaussian(0.3)), {"terms": terms}, cv=3).fit(X)
    expected = [
        cross_val_score(SeriesDensity(kernel=Gaussian(0.3), terms=count), X, cv=3).mean()
        for count in terms
    ]
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-10)


@pytest.mark.parametrize("make", [ParzenDensity, SeriesDensity])
def test_frames_single_precision_and_pickles(make):
    X = array(120, 2)
    density = make(kernel=Gaussian(0.5)).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = make(kernel=Gaussian(0.5)).fit(frame)
    assert_array_equal(named.feature_names_in_, ["a", "b"])
    assert_array_equal(named.score_samples(frame), density.score_samples(X))
    single = make(kernel=Gaussian(0.5)).fit(X.astype(np.float32))
    assert_allclose(single.score_samples(X.astype(np.float32)), density.score_samples(X), atol=1e-4)
    copy = pickle.loads(pickle.dumps(density))
    assert_array_equal(copy.pdf(X), density.pdf(X))


# --- errors --------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("make", [ParzenDensity, SeriesDensity])


@BOTH
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), "precomputed", "cosine", "sigmoid"])
def test_kernels_without_a_finite_integral_raise(make, kernel):
    with raises(ValueError, "Gaussian"):
        make(kernel=kernel).fit(array(10, 10))


@BOTH
def test_invalid_weights_raise(make):
    with raises(ValueError, "sample_weight", -1):
        make().fit(array(3), sample_weight=[1, -1, 1])
    with raises(ValueError, "sample_weight", "zero"):
        make().fit(array(3), sample_weight=[0, 0, 0])


@BOTH
def test_isolated_points_warn(make):
    with warns(ApproximationWarning, "undersmoothed", "nats per point"):
        density = make(kernel=Gaussian(1e-6)).fit(array(40))
    expected = -np.log(40) - Gaussian(1e-6).log_normalizer(2)
    assert_allclose(density.score_samples(array(40)), expected, rtol=1e-12)


def test_isolated_points_of_a_sum_of_kernels_warn():
    with warns(ApproximationWarning, "100%", 0.01):
        ParzenDensity(kernel=Gaussian(1e-6) + Gaussian(1e-7)).fit(array(40))


def test_invalid_parameters_raise():
    X = array(20)
    with raises(ValueError, "weights='equal'", "learned"):
        ParzenDensity(weights="equal").fit(X)
    with raises(ValueError, "solver='nystrom'"):
        ParzenDensity(solver="nystrom").fit(X)
    for make in (SeriesDensity, OrthogonalSeries):
        with raises(ValueError, "terms='some'", "kronmal-tarter"):
            make(terms="some").fit(X)
        with raises(ValueError, "terms=0"):
            make(terms=0).fit(X)
        with raises(ValueError, "max_terms=0"):
            make(max_terms=0).fit(X)
    with raises(ValueError, "basis='sine'", "hermite"):
        OrthogonalSeries("sine").fit(X)
    with raises(ValueError, "X"):
        OrthogonalSeries("laguerre").fit(X)
    with raises(ValueError, 4, 3):
        OrthogonalSeries().fit(array(20, 4))
    with raises(ValueError, "domain=(0, 1)"):
        OrthogonalSeries("fourier", domain=(0, 1)).fit(X)


def test_series_of_isolated_points_warns():
    with pytest.warns(IdentifiabilityWarning):
        SeriesDensity(kernel=Gaussian(1e-6)).fit(array(40))
