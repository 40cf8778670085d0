"""ParzenDensity on bounded supports: mass, leaks, weights, bandwidths, parameters and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import ParzenDensity
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Matern
from mercer.kernels.densities import reach
from tests.expectations import raises

BOUNDARIES = ["reflection", "transformation"]
SUPPORTS = [None, "positive", (None, 1.0), (0.0, 1.0), (-np.inf, np.inf)]
KERNELS = [
    Gaussian("auto"),
    Gaussian(0.3),
    Gaussian(1.5),  # wider than the interval
    Laplacian(0.2),
    Epanechnikov(0.4),
    Matern(0.2, nu=1.5),
    Matern(0.2, nu=0.8),
    Gaussian(0.1) + 2.0 * Laplacian(0.2),
]
MODELS = [
    *[(kernel, False) for kernel in KERNELS],
    (Gaussian("auto"), True),
    (Gaussian(0.3), True),
    (Gaussian("auto"), "shape"),
]


def sample(n=40, d=1, seed=0):
    return np.random.default_rng(seed).beta(1.2, 3.0, size=(n, d))


def nodes(support, count=8001):
    """Return points of the support and their weights, trapezoidal in coordinates of the line."""
    if support == "positive":
        t = np.linspace(-30, 12, count)
        x, slope = np.exp(t), np.exp(t)
    elif support == (None, 1.0):
        t = np.linspace(-30, 12, count)
        x, slope = 1 - np.exp(t), np.exp(t)
    elif support == (0.0, 1.0):
        t = np.linspace(-36, 36, count)
        x, slope = expit(t), expit(t) * expit(-t)
    else:
        t = np.linspace(-40, 40, 4 * count)
        x, slope = t, np.ones(len(t))
    return x[:, None], slope * (t[1] - t[0])


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("support", SUPPORTS, ids=str)
@pytest.mark.parametrize(("kernel", "adaptive"), MODELS, ids=str)
def test_mass_is_one_and_cdf_is_the_integral(kernel, adaptive, support, boundary):
    density = ParzenDensity(kernel=kernel, support=support, boundary=boundary, adaptive=adaptive)
    density.fit(sample(), sample_weight=np.arange(40) % 3)
    x, weights = nodes(support)
    order = np.argsort(x[:, 0])
    masses = (density.pdf(x) * weights)[order]
    # kinks of the kernels limit the trapezoidal rule to an error of about step² in the mass
    assert_allclose(masses.sum(), 1.0, atol=2e-4)
    chosen = np.linspace(100, len(x) - 100, 15).astype(int)
    integral = np.cumsum(masses) - 0.5 * masses
    assert_allclose(density.cdf(x[order][chosen]), integral[chosen], atol=3e-4)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("adaptive", [False, True])
def test_nothing_leaks_out_of_the_support(boundary, adaptive):
    X = sample(80, 2) + np.array([0.0, 3.0])
    support = [(0.0, 1.0), (3.0, None)]
    kernel = Gaussian("leave-one-out")  # "auto" may choose correlated kernels, without a cdf
    density = ParzenDensity(kernel=kernel, support=support, boundary=boundary, adaptive=adaptive)
    density.fit(X)
    outside = [[-1e-9, 3.5], [1 + 1e-9, 3.5], [0.5, 3 - 1e-9], [5.0, 2.0]]
    assert (density.score_samples(outside) == -np.inf).all()
    drawn = density.sample(20_000, random_state=0)
    assert np.isfinite(density.score_samples(drawn)).all()
    if adaptive:
        return  # correlated kernels
    assert_array_equal(density.cdf(outside)[[0, 2, 3]], 0.0)
    # draws have the distribution of the density: 1.63 / √n is the 1 % point of Kolmogorov's test
    corner = drawn[:50]
    empirical = (drawn[None] <= corner[:, None]).all(axis=2).mean(axis=1)
    assert_allclose(empirical, density.cdf(corner), atol=2.5 / np.sqrt(20_000))


def test_reflection_in_two_columns_has_mass_one_without_product_kernel():
    X = sample(30, 2)
    density = ParzenDensity(kernel=Epanechnikov(0.5), support=[(0, 1), "positive"]).fit(X)
    x = (np.arange(200) + 0.5) / 200
    y = 2 * (np.arange(400) + 0.5) / 400
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    assert_allclose(density.pdf(grid).sum() / (200 * 200), 1.0, atol=1e-3)


@pytest.mark.parametrize("metric", [None, [[1.0, 0.6], [0.6, 1.0]]])
def test_reflection_equals_the_naive_sum_over_images(metric):
    X, new = sample(25, 2), sample(8, 2, seed=1)
    density = ParzenDensity(kernel=Gaussian(0.3, metric=metric), support=(0, 1)).fit(X)
    plain = ParzenDensity(kernel=Gaussian(0.3, metric=metric)).fit(X)
    expected = np.zeros(len(new))
    for i in range(-6, 7):
        for j in range(-6, 7):
            copy = [
                [2 * k + v for v in column] if sign > 0 else [2 * k - v for v in column]
                for (k, sign), column in zip(
                    [(i // 2, 1 if i % 2 else -1), (j // 2, 1 if j % 2 else -1)], new.T, strict=True
                )
            ]
            expected += plain.pdf(np.array(copy).T)
    assert_allclose(density.pdf(new), expected, rtol=1e-12)


def test_reflection_with_fourier_features_equals_exact_sums():
    X = np.random.default_rng(0).exponential(size=(400, 1))
    new = np.r_[np.linspace(0, 9, 60), 30.0][:, None]
    fast, exact = (
        ParzenDensity(kernel=Gaussian(0.1), support=(0, 40), solver=solver).fit(X)
        for solver in ("fourier", "lanczos")
    )
    assert_allclose(fast.score_samples(new), exact.score_samples(new), rtol=1e-6, atol=1e-6)


def test_reflection_is_accurate_in_the_tails():
    """At the bound both images are equal, even where the density is below 1e-1000."""
    density = ParzenDensity(kernel=Gaussian(1.0), support="positive").fit([[100.0], [101.0]])
    plain = ParzenDensity(kernel=Gaussian(1.0)).fit([[100.0], [101.0]])
    assert_allclose(
        density.score_samples([[0.0]]), plain.score_samples([[0.0]]) + np.log(2), rtol=1e-14
    )


def test_transformation_equals_the_density_of_logarithms():
    X, new = sample() + 2.0, sample(10, seed=1) + 2.0
    density = ParzenDensity(
        kernel=Gaussian("silverman"), support=(2, None), boundary="transformation"
    )
    logs = ParzenDensity(kernel=Gaussian("silverman")).fit(np.log(X - 2))
    expected = logs.score_samples(np.log(new - 2)) - np.log(new[:, 0] - 2)
    assert_allclose(density.fit(X).score_samples(new), expected, rtol=1e-12)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("adaptive", [False, True])
def test_weights_equal_copies_and_zero_weights_equal_absence(boundary, adaptive):
    X, weights = sample(30, 2), np.random.default_rng(1).integers(0, 3, 30)
    X[weights == 0] = -5.0  # outside of the support
    settings = {"support": "positive", "boundary": boundary, "adaptive": adaptive}
    weighted = ParzenDensity(**settings).fit(X, sample_weight=weights)
    copies = ParzenDensity(**settings).fit(np.repeat(X, weights, axis=0))
    new = sample(10, 2, seed=2)
    assert_allclose(weighted.score_samples(new), copies.score_samples(new), rtol=1e-6)
    assert_array_equal(weighted.support_, np.flatnonzero(weights))


def test_auto_bandwidth_maximizes_the_leave_one_out_likelihood_of_the_reflected_density():
    X = np.random.default_rng(0).exponential(size=(60, 1))
    reflected = ParzenDensity(support="positive", boundary="reflection")
    chosen = reflected.fit(X).kernel_.bandwidth

    def likelihood(h):
        differences, sums = X - X.T, X + X.T
        k = np.exp(-(differences**2) / (2 * h**2)) + np.exp(-(sums**2) / (2 * h**2))
        np.fill_diagonal(k, 0)
        return np.log(k.sum(axis=1) / h).sum()

    grid = np.geomspace(0.15, 3, 400)
    best = max(map(likelihood, grid))
    assert likelihood(chosen) > best - 1e-2
    unbounded = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X).kernel_.bandwidth
    assert chosen != unbounded


def test_auto_bandwidth_of_many_rows_is_extrapolated():
    X = np.random.default_rng(0).exponential(size=(2500, 1))
    reflected = ParzenDensity(support="positive", boundary="reflection")
    many, few = (reflected.fit(rows).kernel_.bandwidth for rows in (X, X[:1000]))
    assert 0.5 < many / few < 1.1


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian("auto"), Laplacian("leave-one-out")])
def test_auto_boundary_is_the_more_likely_one(kernel, adaptive):
    rng = np.random.default_rng(0)
    long_tail = np.exp(1.5 * rng.normal(size=(200, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]))
    high_at_bound = np.abs(rng.normal(size=(200, 2)))
    if adaptive and isinstance(kernel, Laplacian):
        return
    for X, expected in ((long_tail, "transformation"), (high_at_bound, "reflection")):
        for weights in (None, np.full(200, 2.0)):
            density = ParzenDensity(kernel=kernel, support="positive", adaptive=adaptive)
            density.fit(X, sample_weight=weights)
            assert density.bounds_.boundary == expected
            given = ParzenDensity(
                kernel=kernel, support="positive", adaptive=adaptive, boundary=expected
            )
            same = given.fit(X, sample_weight=weights).score_samples(X)
            assert_array_equal(density.score_samples(X), same)
            again = density.with_chosen_parameters().fit(X, sample_weight=weights)
            assert_allclose(again.score_samples(X), same)


def test_auto_boundary_of_values_at_a_bound_and_of_given_bandwidths_is_reflection():
    X = np.exp(1.5 * np.random.default_rng(0).normal(size=(100, 1)))
    given = ParzenDensity(kernel=Gaussian(0.5), support="positive").fit(X)
    assert given.bounds_.boundary == "reflection"
    X[0] = 0
    assert ParzenDensity(support="positive").fit(X).bounds_.boundary == "reflection"


def test_reflection_keeps_correlations():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(300, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]]))
    density = ParzenDensity(support="positive", boundary="reflection").fit(X[:200])
    assert density.kernel_.metric is not None
    columns = ParzenDensity(kernel=Gaussian([0.3, 0.3]), support="positive").fit(X[:200])
    assert density.score(X[200:]) > columns.score(X[200:])


def test_bounds_improve_densities_that_end_at_a_bound():
    rng = np.random.default_rng(0)
    X, new = rng.exponential(size=(300, 1)), rng.exponential(size=(4000, 1))
    free = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X).score(new)
    for boundary in BOUNDARIES:
        assert ParzenDensity(support="positive", boundary=boundary).fit(X).score(new) > free + 0.03


def test_support_is_a_parameter_of_scikit_learn():
    X = sample(60)
    grid = {
        "boundary": BOUNDARIES,
        "support": [(0, 1), "positive"],
        "kernel__bandwidth": [0.1, 0.3],
    }
    search = GridSearchCV(ParzenDensity(kernel=Gaussian()), grid, error_score="raise").fit(X)
    best = clone(search.best_estimator_)
    assert best.support == search.best_params_["support"]
    assert_array_equal(best.fit(X).score_samples(X), search.best_estimator_.score_samples(X))


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("adaptive", [False, True])
def test_models_are_saved(boundary, adaptive, tmp_path):
    X = sample(40, 2)
    density = ParzenDensity(support=(0, 1), boundary=boundary, adaptive=adaptive).fit(X)
    mercer.save(density, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert_array_equal(loaded.score_samples(X), density.score_samples(X))
    assert_array_equal(loaded.sample(5, random_state=0), density.sample(5, random_state=0))


def test_frames_keep_their_column_names():
    import pandas as pd

    frame = pd.DataFrame(sample(30, 2), columns=["a", "b"])
    density = ParzenDensity(support="positive").fit(frame)
    assert density.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(density.score_samples(frame), density.score_samples(frame[["a", "b"]]))


def test_refits_without_support_leave_no_bounds():
    X, density = sample(), ParzenDensity(kernel=Gaussian(0.2), support="positive")
    density.fit(X)
    assert density.gaussian_terms() is None
    density.set_params(support=None).fit(X)
    assert density.bounds_ is None
    assert density.gaussian_terms() is not None
    assert density.pdf([[-0.01]]) > 0


def test_dask_rows_are_scored_and_not_fitted():
    da = pytest.importorskip("dask.array")
    X = sample()
    density = ParzenDensity(kernel=Gaussian(0.2), support=(0, 1)).fit(X)
    lazy = density.score_samples(da.from_array(X, chunks=(7, 1)))
    assert_allclose(lazy.compute(), density.score_samples(X), rtol=1e-12)
    with raises(TypeError, "Dask"):
        density.fit(da.from_array(X, chunks=(7, 1)))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"support": "negative"}, ["'negative'", "'positive'"]),
        ({"support": 3.0}, [3.0]),
        ({"support": (0, 1, 2)}, ["(0, 1, 2)"]),
        ({"support": [(0, 1)]}, [1, 2]),
        ({"support": [(0, 1, 2), None]}, ["(0, 1, 2)"]),
        ({"support": (1, 0)}, [1, 0]),
        ({"support": (0.3, None)}, [0.3, "X["]),
        ({"support": (0, 1), "boundary": "folding"}, ["'folding'", "'reflection'"]),
        ({"support": (0, 1), "kernel": Gaussian(1e5)}, ["bandwidth"]),
        ({"support": (0, 1), "kernel": Laplacian(1.0)}, ["images", "4096"]),
    ],
)
def test_invalid_supports_are_refused(settings, named):
    with raises(ValueError, *named):
        ParzenDensity(**settings).fit(sample(30, 2)).score_samples(sample(1, 2))


def test_values_at_a_bound_need_reflection():
    X = np.r_[sample(), [[0.0]]]
    with raises(ValueError, "X[40, 0]", "reflection"):
        ParzenDensity(support="positive", boundary="transformation").fit(X)
    assert ParzenDensity(support="positive").fit(X).pdf([[0.0]]) > 0


def test_equal_rows_have_no_bandwidth():
    with raises(ValueError, "bandwidth"):
        ParzenDensity(support="positive").fit(np.ones((5, 1)))
    with raises(ValueError, "constant"):
        ParzenDensity(support="positive", adaptive=True).fit(np.ones((5, 1)))


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Laplacian(2.0), Epanechnikov(0.3), Matern(0.7, nu=3.0)]
)
def test_kernels_are_negligible_beyond_their_reach(kernel):
    r = np.linspace(0, 5, 30)[:, None]
    with np.errstate(divide="ignore"):
        near, far = (np.log(kernel(x, [[0.0]])[:, 0]) for x in (r, r + reach(kernel, 1)))
    finite = np.isfinite(near)
    assert (far[finite] - near[finite] < np.log(1e-16)).all()
