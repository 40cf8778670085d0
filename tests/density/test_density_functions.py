"""Functions of fitted densities: cdf, quantiles, regions, gradient, modes, conditioning."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, norm

import mercer
from mercer import ParzenDensity, SeriesDensity, StackedDensity
from mercer.density.kernel_sum import KernelSum
from mercer.density.stacked_density import SelectedGaussianMixture
from mercer.errors import ConvergenceWarning
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Linear, Matern
from mercer.kernels.densities import column_cdf, sum_derivatives
from mercer.utils.distributions import invert_increasing
from tests.expectations import raises, warns

METRIC = [[1.0, 0.6], [0.6, 1.0]]
KERNELS = [
    Gaussian(0.4),
    Laplacian(0.3),
    Epanechnikov(1.2),
    Matern(0.4, nu=0.5),
    Matern(0.4, nu=0.8),
    Matern(0.4, nu=1.5),
    Matern(0.4, nu=2.5),
    Matern(0.4, nu=7.3),
    Matern(0.4, nu=60.0),
    Matern(0.4, nu=500.0),
    Matern(0.4, nu=np.inf),
    Gaussian(0.2) + 2.0 * Laplacian(0.3),
]
SETTINGS = [
    {},
    {"adaptive": True},
    {"adaptive": "shape"},
    {"support": (-9, 9)},
    {"support": [None, (-6, None)], "boundary": "transformation"},
    {"support": (-6, None), "adaptive": True},
    {"support": (None, 9), "boundary": "transformation", "adaptive": True},
]


def two_clusters(n=90, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.r_[rng.normal(-2, 0.7, size=(n // 2, d)), rng.normal(2, 1.0, size=(n - n // 2, d))]


def finite_differences(function, X, step=1e-5):
    shifts = step * np.eye(X.shape[1])
    return np.stack([(function(X + s) - function(X - s)) / (2 * step) for s in shifts], axis=1)


# --- distribution function ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=str)
def test_kernel_cdf_is_the_integral_of_the_kernel(kernel):
    """Gauss-Legendre quadrature on pieces that refine towards the kink at 0."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.r_[0.0, np.geomspace(1e-9, 1.2, 60)]
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    x = middle[:, None] + half[:, None] * nodes
    values = kernel(x.reshape(-1, 1), [[0.0]]).reshape(x.shape) / kernel.normalizer(1)
    expected = 0.5 + np.cumsum(values @ weights * half)
    bandwidth = float(kernel.bandwidth_vector(1)[0])
    assert_allclose(column_cdf(kernel, ends[1:], bandwidth), expected, atol=1e-9)
    assert_allclose(column_cdf(kernel, -ends[1:], bandwidth), 1 - expected, atol=1e-9)
    assert_allclose(column_cdf(kernel, np.array([0.0, 1e4]), bandwidth), [0.5, 1.0], rtol=1e-15)


def test_cdf_of_several_columns_is_the_probability_of_a_rectangle():
    X = two_clusters(30)
    corners = np.array([[0.0, 0.0], [1.0, -1.0], [9.0, 2.0]])
    for kernel in (Gaussian([0.5, 0.3]), Laplacian(0.4), Gaussian(0.5) + Laplacian(0.2)):
        density = ParzenDensity(kernel=kernel).fit(X)
        drawn = density.sample(40_000, random_state=0)
        fractions = (drawn[None] <= corners[:, None]).all(axis=2).mean(axis=1)
        assert_allclose(density.cdf(corners), fractions, atol=4 * 0.5 / 200)


def test_cdf_of_a_product_kernel_equals_the_formula():
    X = two_clusters(20)
    density = ParzenDensity(kernel=Gaussian([0.5, 0.3])).fit(X)
    expected = (norm.cdf((1 - X[:, 0]) / 0.5) * norm.cdf((0 - X[:, 1]) / 0.3)).mean()
    assert_allclose(density.cdf([[1.0, 0.0]]), expected, rtol=1e-13)


@pytest.mark.parametrize("kernel", [Epanechnikov(1.0), Matern(1.0), Gaussian(1.0, metric=METRIC)])
def test_cdf_of_several_columns_needs_a_product_kernel(kernel):
    with raises(ValueError, 2, "Laplacian"):
        ParzenDensity(kernel=kernel).fit(two_clusters(20)).cdf([[0.0, 0.0]])


def test_kernels_without_formulas_are_refused():
    with raises(ValueError, "Linear"):
        column_cdf(Linear(), np.zeros(1), 1.0)
    with raises(ValueError, "Linear"):
        sum_derivatives(Linear(), np.zeros((1, 1)), np.ones((1, 1)), np.ones(1))


# --- quantiles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_quantiles_invert_the_cdf(kernel):
    density = ParzenDensity(kernel=kernel).fit(two_clusters(40, 1))
    q = np.r_[1e-9, np.linspace(0.01, 0.99, 25), 1 - 1e-9]
    found = density.quantile(q)
    assert (np.diff(found) > 0).all()
    assert_allclose(density.cdf(found[:, None]), q, atol=1e-12)


def test_quantiles_have_the_shape_of_q_and_limits_at_the_ends():
    X = two_clusters(40, 1)
    density = ParzenDensity(kernel=Gaussian(0.3)).fit(X)
    assert density.quantile(0.5).shape == ()
    assert density.quantile([[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)
    assert_array_equal(density.quantile([0.0, 1.0]), [-np.inf, np.inf])
    compact = ParzenDensity(kernel=Epanechnikov(0.5)).fit(X)
    assert_allclose(compact.quantile([0, 1]), [X.min() - 0.5, X.max() + 0.5])
    for boundary in ("reflection", "transformation"):
        positive = ParzenDensity(kernel=Epanechnikov(0.5), support=(-9, 9), boundary=boundary).fit(
            X
        )
        low, high = positive.quantile([0, 1])
        assert -9 < low < X.min()
        assert X.max() < high < 9
    bounded = ParzenDensity(support=(-9, None)).fit(X)
    assert_array_equal(bounded.quantile([0.0, 1.0]), [-9, np.inf])


def test_quantiles_near_a_bound_are_relatively_accurate():
    X = np.random.default_rng(0).lognormal(sigma=3, size=(50, 1))
    density = ParzenDensity(kernel=Gaussian(1.0), support="positive", boundary="transformation")
    logs = ParzenDensity(kernel=Gaussian(1.0)).fit(np.log(X))
    assert_allclose(np.log(density.fit(X).quantile([1e-12, 0.5])), logs.quantile([1e-12, 0.5]))


def test_invalid_quantiles_are_refused():
    density = ParzenDensity(kernel=Gaussian(1.0)).fit(two_clusters(20))
    with raises(ValueError, 2, "one column"):
        density.quantile(0.5)
    one = ParzenDensity(kernel=Gaussian(1.0)).fit(two_clusters(20, 1))
    with raises(ValueError, 1.5):
        one.quantile([0.5, 1.5])
    with raises(ValueError, "values"):
        invert_increasing(np.tanh, np.ones_like, np.array([2.0]), 0.0, 1.0)


# --- highest-density regions ----------------------------------------------------------------------


def test_region_of_a_normal_density_is_the_central_interval():
    density = ParzenDensity(kernel=Gaussian(2.0)).fit([[5.0]])
    expected = 5 + 2 * norm.ppf([[0.05, 0.95]])
    assert_allclose(density.highest_density_region(0.9), expected, atol=1e-6)
    assert_allclose(density.density_level(0.9), norm.pdf(norm.ppf(0.95)) / 2, rtol=1e-6)
    assert_allclose(density.density_level(0.9, log=True), np.log(density.density_level(0.9)))


@pytest.mark.parametrize("settings", [{}, {"adaptive": True}, {"support": (-9, None)}])
@pytest.mark.parametrize("coverage", [0.2, 0.9])
def test_regions_have_their_coverage_and_equal_densities_at_their_ends(settings, coverage):
    density = ParzenDensity(**settings).fit(two_clusters(80, 1))
    region = density.highest_density_region(coverage)
    mass = np.diff(density.cdf(region.reshape(-1, 1)).reshape(-1, 2)).sum()
    assert_allclose(mass, coverage, atol=1e-6)
    level = density.density_level(coverage)
    assert_allclose(density.pdf(region.reshape(-1, 1)), level, rtol=1e-6)
    assert (region[1:, 0] > region[:-1, 1]).all()


def test_regions_include_a_bound_where_the_density_is_high():
    X = np.random.default_rng(0).exponential(size=(200, 1))
    density = ParzenDensity(support="positive", boundary="reflection").fit(X)
    region = density.highest_density_region(0.5)
    assert region[0, 0] == 0.0


@pytest.mark.parametrize(
    "settings", [{}, {"support": "positive"}, {"support": "positive", "boundary": "reflection"}]
)
def test_regions_of_many_rows_agree_with_a_fine_grid_and_need_few_values_of_the_cdf(
    settings, monkeypatch
):
    X = np.random.default_rng(0).lognormal(size=(40_000, 1))
    density, evaluated = ParzenDensity(**settings).fit(X), []
    cdf = KernelSum._cdf
    monkeypatch.setattr(
        KernelSum, "_cdf", lambda self, at: (evaluated.append(at.n), cdf(self, at))[1]
    )
    ((low, high),) = density.highest_density_region(0.5)
    assert sum(evaluated) < 60
    x = np.linspace(-1, 60, 200_001)
    p = density.pdf(x[:, None])
    level = np.sort(p)[::-1][np.searchsorted(np.cumsum(np.sort(p)[::-1]), 0.5 * p.sum())]
    inside = x[p >= level]
    assert_allclose([low, high], inside[[0, -1]], atol=1e-3)


def test_levels_of_several_columns_are_quantiles_of_draws():
    density = ParzenDensity(kernel=Gaussian(1.5)).fit([[0.0, 0.0]])
    # the region of coverage c is a disk with p = (1 - c) p(0)
    expected = 0.1 / (2 * np.pi * 1.5**2)
    assert_allclose(density.density_level(0.9), expected, rtol=5 * np.sqrt(0.9 * 0.1 / 1e4) / 0.1)
    levels = density.density_level([0.5, 0.9], n_samples=500, random_state=1)
    assert levels[0] > levels[1]


def test_other_densities_have_levels():
    X = two_clusters(60, 1)
    members = [("parzen", ParzenDensity()), ("mixture", SelectedGaussianMixture(2))]
    stacked = StackedDensity(members).fit(X)
    series = SeriesDensity(kernel=Gaussian(0.5), terms=None).fit(X)
    clipped = SeriesDensity(kernel=Gaussian(0.5), components=[0, 3]).fit(X)
    for density in (stacked, series, clipped):
        level = density.density_level(0.8)
        drawn = density.sample(4000, random_state=5)
        assert_allclose((density.pdf(drawn) >= level).mean(), 0.8, atol=0.04)


@pytest.mark.parametrize("coverage", [0.0, 1.0, "all"])
def test_invalid_coverages_are_refused(coverage):
    density = ParzenDensity(kernel=Gaussian(1.0)).fit(two_clusters(20, 1))
    with raises((ValueError, TypeError), coverage):
        density.density_level(coverage)
    with raises((ValueError, TypeError), coverage):
        density.highest_density_region(coverage)


# --- mixtures, series and stacked densities -------------------------------------------------------


def test_cdf_of_mixture_series_and_stacked_density_are_integrals():
    X = two_clusters(60, 1)
    members = [("parzen", ParzenDensity()), ("mixture", SelectedGaussianMixture(2))]
    densities = [
        StackedDensity(members).fit(X),
        SelectedGaussianMixture(2).fit(X),
        SeriesDensity(kernel=Gaussian(0.5), terms=None).fit(X),
    ]
    x = np.linspace(-12, 14, 8001)[:, None]
    for density in densities:
        masses = density.pdf(x) * (x[1] - x[0])
        integral = np.cumsum(masses) - 0.5 * masses
        assert_allclose(density.cdf(x), integral, atol=1e-5)
        assert_allclose(density.cdf(density.quantile([0.2, 0.7])[:, None]), [0.2, 0.7])


def test_clipped_series_and_members_without_cdf_are_refused():
    from sklearn.neighbors import KernelDensity

    X = two_clusters(60, 1)
    series = SeriesDensity(kernel=Gaussian(0.5), components=[0, 3]).fit(X)
    assert series.clipped_mass_ > 0
    with raises(ValueError, "clipped_mass_"):
        series.cdf(X)
    stacked = StackedDensity([("sklearn", KernelDensity())]).fit(X)
    with raises(ValueError, "sklearn"):
        stacked.cdf(X)
    with raises(ValueError, 2):
        SelectedGaussianMixture(2).fit(two_clusters(60)).cdf([[0.0, 0.0]])


def test_gradient_of_a_series_with_negative_coefficients():
    X = two_clusters(60, 1)
    series = SeriesDensity(kernel=Gaussian(0.5), terms=4, positive=False).fit(X)
    new = np.array([[-2.0], [-1.0], [2.0]])
    assert_allclose(series.gradient(new, log=False), finite_differences(series.pdf, new), atol=1e-7)


# --- gradient -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_of_kernels_equal_finite_differences(kernel, d):
    X, new = two_clusters(30, d), two_clusters(6, d, seed=1)
    density = ParzenDensity(kernel=kernel).fit(X)
    new = new[np.isfinite(density.score_samples(new))]
    expected = finite_differences(density.score_samples, new)
    # second differences of kernels with a kink are of the order of the step
    assert_allclose(density.gradient(new), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_gradients_equal_finite_differences(settings):
    X, new = two_clusters(40), two_clusters(6, seed=1)
    density = ParzenDensity(**settings).fit(X)
    expected = finite_differences(density.score_samples, new)
    assert_allclose(density.gradient(new), expected, rtol=1e-6, atol=1e-6)
    slope = finite_differences(density.pdf, new)
    assert_allclose(density.gradient(new, log=False), slope, rtol=1e-5, atol=1e-8)


def test_gradients_far_away_and_outside():
    density = ParzenDensity(kernel=Gaussian(0.5), support="positive").fit([[1.0], [2.0]])
    assert_allclose(density.gradient([[1e3]]), [[(2 - 1e3) / 0.25]], rtol=1e-12)
    assert np.isnan(density.gradient([[-1.0]])).all()
    compact = ParzenDensity(kernel=Epanechnikov(0.5)).fit([[1.0], [2.0]])
    assert np.isnan(compact.gradient([[7.0]])).all()


# --- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        *SETTINGS,
        {"kernel": Gaussian(0.8, metric=METRIC)},
        {"kernel": Matern(1.0, nu=2.5)},
        {"kernel": Epanechnikov(3.0)},
        {"kernel": Gaussian(0.8) + Gaussian(1.0)},
    ],
    ids=str,
)
def test_modes_are_local_maxima_and_labels_separate_clusters(settings):
    X = two_clusters(80)
    is_plain = settings.get("adaptive") != "shape" and settings.get("boundary") is None
    kernel = {"kernel": Gaussian(0.9)} if is_plain else {}
    density = ParzenDensity(**{**kernel, **settings}).fit(X)
    modes, labels = density.modes(X, return_labels=True)
    heights = density.score_samples(modes)
    assert (np.diff(heights) <= 1e-9).all()
    around = np.random.default_rng(0).normal(scale=0.02, size=(50, 2))
    for mode, height in zip(modes, heights, strict=True):
        assert (density.score_samples(mode + around) <= height + 1e-9).all()
    first, second = labels[0], labels[-1]
    assert first != second
    if is_plain:
        assert (labels[:40] == first).mean() > 0.8
        assert (labels[40:] == second).mean() > 0.8


def test_modes_without_starts_and_at_a_bound():
    X = np.random.default_rng(0).exponential(size=(300, 1))
    reflected = ParzenDensity(kernel=Gaussian(0.4), support="positive").fit(X)
    assert_allclose(reflected.modes()[0], 0.0, atol=1e-4)
    transformed = ParzenDensity(kernel=Gaussian(0.5), support="positive", boundary="transformation")
    (mode, *_) = transformed.fit(X).modes()
    x = np.linspace(1e-4, 5, 50_001)[:, None]
    assert_allclose(mode, x[transformed.pdf(x).argmax()], atol=1e-3)


def test_mean_shift_leaves_saddle_points():
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    density = ParzenDensity(kernel=Gaussian(0.5)).fit(X)
    modes = density.modes([[0.0, 0.3]])
    assert modes.shape == (1, 2)
    assert abs(modes[0, 0]) > 0.9


def test_starts_without_density_have_no_mode():
    density = ParzenDensity(kernel=Epanechnikov(0.5)).fit([[0.0], [0.1]])
    modes, labels = density.modes([[9.0], [0.2]], return_labels=True)
    assert_allclose(modes, [[0.05]], atol=1e-6)
    assert_array_equal(labels, [-1, 0])
    assert density.modes([[9.0]]).shape == (0, 1)


def test_invalid_requests_for_modes():
    X = two_clusters(40, 1)
    with raises(ValueError, "Laplacian"):
        ParzenDensity(kernel=Laplacian(0.5)).fit(X).modes()
    density = ParzenDensity(kernel=Gaussian(0.2)).fit(X)
    with warns(ConvergenceWarning, 2):
        density.modes(max_iter=2)
    with raises(ValueError, -1):
        density.modes(tol=-1)


# --- means and conditional densities --------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": Laplacian(0.3)},
        {"support": (-6, None)},
        {"support": (None, 6)},
        {"support": (-5, 5), "kernel": Gaussian(3.0)},
        {"support": (-6, None), "boundary": "transformation"},
        {"support": (-6, 7), "boundary": "transformation", "adaptive": True},
        {"support": (-5, 6), "adaptive": "shape"},
    ],
    ids=str,
)
def test_mean_is_the_mean_of_draws(settings):
    density = ParzenDensity(**settings).fit(two_clusters(60))
    drawn = density.sample(40_000, random_state=0)
    error = 4 * drawn.std(axis=0).max() / 200
    assert_allclose(density.mean(), drawn.mean(axis=0), atol=error)


def test_mean_with_bounds_needs_a_gaussian_kernel():
    density = ParzenDensity(kernel=Laplacian(0.3), support="positive").fit([[1.0], [2.0]])
    with raises(ValueError, "Laplacian"):
        density.mean()


@pytest.mark.parametrize(
    "settings",
    [
        *SETTINGS,
        {"kernel": Gaussian([0.5, 0.3])},
        {"kernel": Laplacian(0.4)},
        {"kernel": Laplacian(0.4), "support": (-9, 9)},
        {"kernel": Gaussian(0.6, metric=METRIC)},
        {"kernel": Gaussian(0.6, metric=[[1.0, 0.0], [0.0, 2.0]])},
        {"kernel": Gaussian(0.5), "support": [(-3, 3), (-4, None)]},
    ],
    ids=str,
)
def test_conditional_density_is_joint_divided_by_marginal(settings):
    X = np.clip(two_clusters(60), -2.9, 2.9)
    if settings.get("support") == (-6, None):
        settings = {**settings, "kernel": Gaussian(0.5)}  # bandwidths without correlations
    density = ParzenDensity(**settings).fit(X)
    conditional = density.conditional({0: 1.3})
    y = np.r_[np.linspace(-14, 16, 6001), np.geomspace(16, 1e6, 3000)[1:]]
    joint = density.pdf(np.column_stack([np.full(len(y), 1.3), y]))
    marginal = np.trapezoid(joint, y)
    # the step at a bound limits the quadrature
    assert_allclose(conditional.pdf(y[:, None]), joint / marginal, rtol=2e-2, atol=1e-6)
    # ratios of values do not depend on the marginal
    found = conditional.score_samples([[1.0], [2.0]])
    expected = density.score_samples([[1.3, 1.0], [1.3, 2.0]])
    assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9, atol=1e-9)


def test_conditional_density_has_the_methods_of_a_density(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 400)
    frame = pd.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.normal(size=400), "z": x**2})
    density = ParzenDensity(kernel=Gaussian([0.2, 0.05, 0.5])).fit(frame)
    at_2 = density.conditional({"x": 2.0, "z": 4.0})
    assert at_2.feature_names_in_.tolist() == ["y"]
    assert_allclose(at_2.mean(), np.sin(2), atol=0.1)
    drawn = at_2.sample(2000, random_state=0)
    assert kstest(drawn[:, 0], lambda v: at_2.cdf(pd.DataFrame({"y": v}))).pvalue > 1e-3
    low, high = at_2.quantile([0.05, 0.95])
    assert low < np.sin(2) < high
    assert_allclose(at_2.weights_.sum(), 1)
    mercer.save(at_2, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert_array_equal(loaded.pdf(pd.DataFrame({"y": [0.9]})), at_2.pdf(pd.DataFrame({"y": [0.9]})))
    both = density.conditional({"x": 2.0})
    again = both.conditional({"z": 4.0})
    new = pd.DataFrame({"y": [0.7, 0.9]})
    assert_allclose(again.score_samples(new), at_2.score_samples(new), rtol=1e-9)


def test_conditional_mean_is_the_regression_estimate():
    X = two_clusters(50)
    found = ParzenDensity(kernel=Gaussian(0.5)).fit(X).conditional({0: 0.7}).mean()
    weights = np.exp(-((X[:, 0] - 0.7) ** 2) / (2 * 0.5**2))
    assert_allclose(found, [weights @ X[:, 1] / weights.sum()], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "given", "named"),
    [
        (Gaussian(1.0), {}, [0, 2]),
        (Gaussian(1.0), {0: 1.0, 1: 2.0}, [2]),
        (Gaussian(1.0), {2: 1.0}, [2, 1]),
        (Gaussian(1.0), {"a": 1.0}, ["'a'"]),
        (Gaussian(1.0), {0: np.nan}, ["nan"]),
        (Matern(1.0), {0: 1.0}, ["Matern", "Laplacian"]),
    ],
)
def test_invalid_conditions_are_refused(kernel, given, named):
    with raises(ValueError, *named):
        ParzenDensity(kernel=kernel).fit(two_clusters(20)).conditional(given)


def test_conditions_outside_of_the_support_are_refused():
    density = ParzenDensity(kernel=Gaussian(1.0), support=(-9, None)).fit(two_clusters(20))
    with raises(ValueError, -10, -9):
        density.conditional({0: -10.0})


@pytest.mark.parametrize(
    "settings",
    [{"kernel": Gaussian(1.5, metric=METRIC)}, {"adaptive": True}, {"adaptive": "shape"}],
)
def test_conditional_of_reflected_correlated_kernels_is_the_ratio_of_densities(settings):
    X = two_clusters(30) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    low = X.min(axis=0) - 0.1
    support = [(low[0], None), (low[1], X[:, 1].max() + 0.2)]
    density = ParzenDensity(support=support, boundary="reflection", **settings).fit(X)
    x, y = low[0] + 0.2, np.linspace(*support[1], 2001)
    joint = density.pdf(np.column_stack([np.full(2001, x), y]))
    marginal = np.trapezoid(joint, y)
    found = density.conditional({0: x})
    assert_allclose(found.pdf(y[:, None]), joint / marginal, rtol=1e-4, atol=1e-6)
    assert found.support_.max() < len(X)


def test_dask_collections():
    da = pytest.importorskip("dask.array")
    X = two_clusters(40, 1)
    density = ParzenDensity(kernel=Gaussian(0.4)).fit(X)
    lazy = da.from_array(X, chunks=(11, 1))
    assert_allclose(density.cdf(lazy).compute(), density.cdf(X))
    assert_allclose(density.gradient(lazy).compute(), density.gradient(X))
    chunked = ParzenDensity(kernel=Gaussian(0.4)).fit(lazy)
    with raises(ValueError, "Dask"):
        chunked.cdf(X)
    assert chunked.density_level(0.5, n_samples=100) > 0


# --- error states and long tails ------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"adaptive": True},
        {"support": (-50, 50)},
        {"support": (-50, 50), "boundary": "transformation"},
    ],
)
def test_error_state_of_the_caller_has_no_effect(settings):
    X = np.r_[two_clusters(40), [[45.0, 45.0]]]
    settings = {"kernel": Gaussian([0.5, 0.7]), **settings}
    density = ParzenDensity(**settings).fit(X)

    def results():
        conditional = density.conditional({0: 49.0})
        return [
            density.modes(),
            density.mean(),
            conditional.score_samples(X[:, :1]),
            conditional.quantile([0.1, 0.9]),
            density.conditional({0: 40.0}).mean(),
            density.score_samples(1e3 * X),
            density.gradient(X),
            density.density_level(0.5, n_samples=50),
        ]

    expected = results()
    with np.errstate(all="raise"):
        found = results()
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_far_conditions_ignore_the_error_state_of_the_caller():
    density = ParzenDensity(kernel=Gaussian([0.5, 0.7])).fit(two_clusters(40))
    expected = density.conditional({0: 1000.0}).mean()
    with np.errstate(all="raise"):
        assert_allclose(density.conditional({0: 1000.0}).mean(), expected)


def test_stacked_density_ignores_the_error_state_of_the_caller():
    X = two_clusters(60, 1)
    members = [("parzen", ParzenDensity()), ("mixture", SelectedGaussianMixture(2))]
    expected = StackedDensity(members).fit(X).score_samples(100 * X)
    with np.errstate(all="raise"):
        density = StackedDensity(members).fit(X)
        assert_allclose(density.score_samples(100 * X), expected)
        density.cdf(100 * X)
        density.quantile([0.01, 0.5])


@pytest.mark.parametrize(("support", "sign"), [((2, None), 1), ((None, 2), -1)])
def test_mean_of_a_long_transformed_tail_is_lognormal(support, sign):
    settings = {"kernel": Gaussian(6.0), "support": support, "boundary": "transformation"}
    X = 2 + sign * np.array([[1.0], [np.e]])
    density = ParzenDensity(**settings).fit(X)
    assert_allclose(density.mean(), 2 + sign * np.exp(18) * (1 + np.e) / 2, rtol=1e-12)
