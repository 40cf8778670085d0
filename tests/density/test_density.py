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
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity

from mercer import OrthogonalSeries, ParzenDensity, SeriesDensity
from mercer.bandwidth import leave_one_out
from mercer.data.points import Points
from mercer.errors import ApproximationWarning, IdentifiabilityWarning
from mercer.gram import WindowSum
from mercer.gram.kernel_sums import worth_boxes
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Linear, Matern, Polynomial
from tests.density.density_cases import array, every_density, grid
from tests.expectations import raises, warns

pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
    # the Gram matrix of Epanechnikov is indefinite, which a series warns about
    pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite"),
]


# --- Parzen ---------------------------------------------------------------------------------------


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
    assert fast._density.terms.waves is not None
    assert exact._density.terms.waves is None
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
    assert fast._density.terms.boxes
    assert worth_boxes(fast._density.terms.points.n, len(Y))
    exact = ParzenDensity(kernel=kernel, solver="lanczos").fit(X.astype(float), sample_weight=w)
    assert not exact._density.terms.boxes
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


# --- learned weights ------------------------------------------------------------------------------


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


# --- the leave-one-out bandwidth ------------------------------------------------------------------


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


# --- model choice ---------------------------------------------------------------------------------


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


# --- errors ---------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("kernel", "d", "expected"),
    [(Gaussian(1.0), 3, False), (Gaussian(1.0), 4, True), (Laplacian(1.0), 4, False)],
)
def test_only_sums_of_gaussians_in_four_or_more_columns_skip_points(kernel, d, expected):
    density = ParzenDensity(kernel=kernel).fit(array(50, d))
    assert density._density.terms.boxes is expected


@pytest.mark.parametrize(
    "settings", [{"weights": "learned"}, {"adaptive": True}, {"support": "positive"}], ids=repr
)
def test_error_for_dask_names_the_setting_that_needs_memory(settings):
    da = pytest.importorskip("dask.array")
    X = da.from_array(1.0 + np.eye(4), chunks=2)
    ((name, value),) = settings.items()
    with raises(TypeError, f"{name}={value!r}"):
        ParzenDensity(kernel=Gaussian(1.0), **settings).fit(X)
