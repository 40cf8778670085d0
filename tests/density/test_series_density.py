"""Densities as series of eigenfunctions, and classical orthogonal series."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from mercer import OrthogonalSeries, ParzenDensity, SeriesDensity
from mercer.data.points import Points
from mercer.datasets import make_clusters
from mercer.density.kernel_sum import draw_from_window
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian
from tests.density.density_cases import RULES, array, every_density, every_rule, grid
from tests.expectations import raises

pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning"),
    # the Gram matrix of Epanechnikov is indefinite, which a series warns about
    pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite"),
]


# --- the kernel series ----------------------------------------------------------------------------


@every_density
def test_series_with_all_terms_equals_parzen(kernel):
    X, Y = array(), array(30, seed=1)
    series = SeriesDensity(kernel=kernel, terms=None).fit(X)
    assert_allclose(series.pdf(Y), ParzenDensity(kernel=kernel).fit(X).pdf(Y), rtol=1e-10)
    assert_allclose(series.mass_, 1, rtol=1e-12)


def test_run_of_terms_is_about_one_per_cluster_at_the_default_bandwidth():
    """Half of the samples at least have one term per cluster, and none has fewer."""
    counts = []
    for seed in range(9):
        X, _ = make_clusters(random_state=seed)
        counts.append(len(SeriesDensity(terms="kronmal-tarter-run").fit(X).selected_))
    assert min(counts) == np.median(counts) == 3


@pytest.mark.parametrize("bandwidth", [0.1, 0.1**0.5])
@pytest.mark.parametrize("spread", [0.1, 0.1**0.5])
def test_oversmoothing_warns_where_new_points_are_less_likely(spread, bandwidth):
    """The limit of the warning is 0.5 nats per point, which new points confirm."""
    X, new = (make_clusters(spread=spread, random_state=seed)[0] for seed in (10, 11))
    best = SeriesDensity().fit(X).score(new)
    series = SeriesDensity(kernel=Gaussian(bandwidth), max_terms=50)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        loss = best - series.fit(X).score(new)
    warned = any(one.category is ApproximationWarning for one in raised)
    assert warned == (loss > 0.5)


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
    drawn = Points(draw_from_window(deep._parzen, 100_000, np.random.default_rng(5)))
    again = deep._ratio(deep._window, drawn) / deep.mass_
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
    assert fast._window.waves is not None
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


# --- classical series -----------------------------------------------------------------------------


@pytest.mark.parametrize("basis", ["hermite", "fourier", "legendre", "laguerre"])
def test_classical_functions_are_orthonormal(basis):
    from mercer.density.orthogonal_series import BASES

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
