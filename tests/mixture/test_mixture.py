"""Mixtures in feature space: fits, tables, choice of parameters, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import JointMixtureClassifier, JointMixtureRegressor, MercerMixture
from mercer.data.points import Points
from mercer.domains import Box, FiniteSpace, GaussianBase, bit_strings
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    IdentifiabilityWarning,
    NoDomainError,
    RankError,
)
from mercer.kernels import Categorical, Gaussian, Hamming, Laplacian, Polynomial, table_kernel
from mercer.solvers import Nystrom
from tests.expectations import raises, warns
from tests.mixture.mixture_cases import frame, points

# --- the fit --------------------------------------------------------------------------------------


def test_fitted_attributes_are_consistent(halo):
    X, _ = halo
    mixture = MercerMixture(2, kernel=Polynomial(degree=2), alpha=1.0, n_init=5, random_state=0)
    mixture.fit(X)
    assert_allclose(mixture.weights_.sum(), 1)
    assert mixture.responsibilities_.shape == (100, 2)
    assert (np.diff(mixture.lower_bounds_) >= -1e-9).all()
    assert mixture.converged_
    assert mixture.n_iter_ == len(mixture.lower_bounds_)
    assert mixture.alpha_ == 1.0
    assert mixture.spectrum_.kernel == mixture.kernel_


def test_responsibilities_are_predicted_at_full_rank(halo):
    X, _ = halo
    mixture = MercerMixture(2, kernel=Polynomial(degree=2), alpha=1.0).fit(X)
    assert_allclose(mixture.predict_proba(X), mixture.responsibilities_, atol=1e-7)
    assert_array_equal(mixture.fit_predict(X), mixture.responsibilities_.argmax(axis=1))


def test_responsibilities_are_predicted_with_a_limited_rank(halo):
    """All components share the variance outside the coordinates, so it cancels."""
    X, _ = halo
    mixture = MercerMixture(2, kernel=Gaussian(1.0), alpha=1.0, rank=3).fit(X)
    assert mixture.rank_ == 3
    assert_allclose(mixture.predict_proba(X), mixture.responsibilities_, atol=1e-9)


def test_variance_outside_a_limited_rank_is_estimated():
    """ε is the mode of the posterior given the residuals in h directions of equal variance."""
    X = np.vstack([points(60), points(60, seed=1) + 6])
    w = np.random.default_rng(0).integers(1, 4, size=120)
    kernel, alpha, beta, n = Gaussian(2.0), 0.5, 1.0, w.sum()
    mixture = MercerMixture(2, kernel=kernel, alpha=alpha, beta=beta, rank=5)
    mixture.fit(X, sample_weight=w)
    values, vectors = np.linalg.eigh(kernel(np.repeat(X, w, axis=0)))
    residual = (vectors[:, :-5] * values[:-5]) @ vectors[:, :-5].T
    mean = residual.trace() / n
    h = values[:-5].sum() ** 2 / (values[:-5] ** 2).sum()
    expected = (n * mean / h + alpha) / (n + beta)
    assert_allclose(mixture.mixture_.residual_variances, expected, rtol=1e-6)
    # it is between the prior's variance and that of all residuals in one direction
    assert alpha / (n + beta) < expected < mean + alpha / (n + beta)


def test_auto_alpha_grows_with_the_sample():
    assert_allclose(MercerMixture().fit(points(40)).alpha_, 3.0)
    weighted = MercerMixture().fit(points(40), sample_weight=np.full(40, 2.0))
    assert_allclose(weighted.alpha_, 6.0)


@pytest.mark.parametrize("settings", [{}, {"n_components": 2, "n_init": 3, "rank": 4}])
def test_integer_weights_equal_repeated_rows(settings):
    rng = np.random.default_rng(1)
    X, w = points(30), rng.integers(0, 4, size=30)
    common = {"kernel": Gaussian(1.0), "domain": Box(-5, 5), "random_state": 0} | settings
    weighted = MercerMixture(**common).fit(X, sample_weight=w)
    copied = MercerMixture(**common).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.score_samples(X), copied.score_samples(X), rtol=1e-6)
    assert_allclose(weighted.lower_bounds_, copied.lower_bounds_, rtol=1e-8)
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


def test_leave_one_out_weights_equal_repeated_rows():
    X, w = points(20), np.r_[np.ones(15), np.full(5, 3)].astype(int)
    common = {"kernel": Gaussian(1.0), "domain": Box(-5, 5, n_nodes=400), "alpha": "leave-one-out"}
    weighted = MercerMixture(**common).fit(X, sample_weight=w)
    copied = MercerMixture(**common).fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.alpha_, copied.alpha_, rtol=1e-6)


def test_collapsed_components_warn():
    with warns(IdentifiabilityWarning, "n_components=2", 1, "rank=10"):
        mixture = MercerMixture(2, kernel=Gaussian(0.5), alpha=15.0, rank=100).fit(points(100))
    assert len(mixture.effective_weights_) == 1


def test_several_components_with_a_given_alpha_have_all_coordinates_of_a_rough_kernel():
    """10 coordinates have most of the trace of a wide Gaussian, not of the Laplacian kernel."""
    X, settings = points(60), {"alpha": 5.0, "random_state": 0}
    rough = MercerMixture(2, kernel=Laplacian(1.0), **settings)
    full = MercerMixture(2, kernel=Laplacian(1.0), rank=60, **settings)
    for model in (rough, full):
        with warns(IdentifiabilityWarning, "n_components=2"):
            model.fit(X)
    assert rough.rank_ == full.rank_ == 60
    assert_allclose(rough.score_samples(X), full.score_samples(X))
    with warns(IdentifiabilityWarning, "n_components=2"):
        assert MercerMixture(2, kernel=Gaussian(10.0), **settings).fit(X).rank_ == 10
    assert MercerMixture(2, kernel=Laplacian(1.0)).fit(X).rank_ == 10


def test_density_that_fits_the_sample_only_warns():
    X = np.random.default_rng(0).integers(0, 2, size=(40, 6))
    settings = {"kernel": Hamming(0.6), "domain": bit_strings(6)}
    with warns(ApproximationWarning, "alpha='auto'", "alpha='leave-one-out'", "alpha=3"):
        sharp = MercerMixture(2, **settings).fit(X)
    with warns(IdentifiabilityWarning, "n_components=2", 1):
        smooth = MercerMixture(2, alpha="leave-one-out", **settings).fit(X)
    new = np.random.default_rng(1).integers(0, 2, size=(200, 6))
    assert smooth.score(new) - sharp.score(new) > 1


def test_several_components_have_a_low_rank_by_default():
    """Three separated clouds are three components, for a kernel of high rank."""
    X = np.vstack([points(50, seed=s) + 6 * np.array([s, -s]) for s in range(3)])
    mixture = MercerMixture(3, kernel=Gaussian(2.0), random_state=0).fit(X)
    assert mixture.rank_ == 10
    assert_allclose(mixture.effective_weights_, 1 / 3, atol=0.01)
    labels = mixture.predict(X).reshape(3, 50)
    assert (labels == labels[:, :1]).mean() > 0.98


def test_scaled_alpha_follows_the_scale_of_the_kernel():
    """Both components remain, and scaling the kernel does not change the labels."""
    X = np.vstack([points(60), points(60, seed=1) + 6])
    settings = {"rank": 5, "alpha": "scaled"}
    plain = MercerMixture(2, kernel=Gaussian(2.0), **settings).fit(X)
    scaled = MercerMixture(2, kernel=100.0 * Gaussian(2.0), **settings).fit(X)
    assert_allclose(scaled.alpha_, 100 * plain.alpha_)
    assert_allclose(plain.effective_weights_, [0.5, 0.5], atol=0.01)
    assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("center", [False, True])
def test_alpha_does_not_depend_on_the_scale_of_the_kernel(center):
    """The model of (c k, c α) is the same for all c."""
    X = points(60, 1)
    settings = {"alpha": "leave-one-out", "domain": Box(-6, 6), "center": center}
    fits = {c: MercerMixture(kernel=c * Gaussian(0.7), **settings).fit(X) for c in (1e-4, 1.0, 1e4)}
    for c, fit in fits.items():
        # the smallest coordinates have rounding errors; the search stops within 5 % of α
        assert_allclose(fit.alpha_ / c, fits[1.0].alpha_, rtol=1e-4)
        assert_allclose(fit.score(X), fits[1.0].score(X), rtol=1e-5)
    auto = [MercerMixture(kernel=c * Gaussian(0.7)).fit(X).alpha_ / c for c in fits]
    assert_allclose(auto, 0.075 * 60)
    y = np.sin(X[:, 0]) + 0.1 * points(60, 1, seed=1)[:, 0]
    joint = [JointMixtureRegressor(kernel=c * Gaussian(0.7)).fit(X, y) for c in fits]
    for model in joint:
        assert_allclose(model.predict(X), joint[1].predict(X), rtol=1e-5)


def test_alpha_at_a_limit_warns():
    """The best density for uniform bits is the uniform one, that of an infinite α."""
    space = bit_strings(5)
    with warns(IdentifiabilityWarning, "alpha=", "upper limit"):
        fit = MercerMixture(kernel=Hamming(0.6), alpha="leave-one-out", domain=space)
        fit.fit(space.objects)
    assert_allclose(fit.alpha_, 100 * 32)
    assert_allclose(fit.pdf(space.objects), 1 / 32, rtol=1e-3)


def test_alpha_beyond_the_first_limit_is_found(halo):
    X = halo[0][::2]
    settings = {"kernel": Polynomial(4), "domain": Box(-4, 4)}
    found = MercerMixture(alpha="leave-one-out", **settings).fit(X)
    assert found.alpha_ > 100

    def held_out(alpha):
        mixture = MercerMixture(alpha=alpha, **settings)
        return sum(mixture.fit(np.delete(X, i, axis=0)).score(X[[i]]) for i in (0, 25))

    assert held_out(found.alpha_) > max(held_out(found.alpha_ * 3), held_out(found.alpha_ / 3))


@pytest.mark.parametrize("kernel", [Polynomial(2, constant=1.0), Gaussian(0.2)])
def test_centering_does_not_change_several_components(halo, kernel):
    """A direction that is constant in the sample counts with and without centering."""
    X = np.vstack([halo[0][:15], halo[0][50:85]])
    plain, centered = (
        MercerMixture(2, kernel=kernel, alpha=1.0, rank=len(X), center=center).fit(X)
        for center in (False, True)
    )
    assert plain.rank_ == centered.rank_
    assert_allclose(centered.responsibilities_, plain.responsibilities_, atol=1e-6)
    assert_allclose(centered.predict_proba(X + 0.5), plain.predict_proba(X + 0.5), atol=1e-6)


def test_max_iter_warns(halo):
    X, _ = halo
    with warns(ConvergenceWarning, "max_iter=1"):
        MercerMixture(2, kernel=Polynomial(degree=2), alpha=1.0, max_iter=1, tol=0).fit(X)


def test_more_starts_never_decrease_the_bound(halo):
    X, _ = halo
    fits = [
        MercerMixture(2, kernel=Polynomial(degree=2), alpha=1.0, n_init=k, random_state=0).fit(X)
        for k in (1, 4, 8)
    ]
    bounds = [fit.lower_bounds_[-1] for fit in fits]
    assert bounds == sorted(bounds)


def test_all_points_as_landmarks_are_exact():
    X = points(80)
    kernel = Gaussian(2.0)
    exact = MercerMixture(kernel=kernel, rank=10).fit(X)
    near = MercerMixture(kernel=kernel, rank=10, solver=Nystrom(80)).fit(X)
    assert_allclose(exact.score_samples(X), near.score_samples(X), rtol=1e-4)


def test_clone_and_pickle():
    mixture = MercerMixture(domain=GaussianBase(), kernel=Gaussian(1.0)).fit(points())
    again = clone(mixture).fit(points())
    assert_allclose(again.score_samples(points()), mixture.score_samples(points()))
    restored = pickle.loads(pickle.dumps(mixture))
    assert_allclose(restored.score_samples(points()), mixture.score_samples(points()))


# --- tables, strings and sets ---------------------------------------------------------------------


def test_table_with_missing_values():
    table = frame()
    mixture = MercerMixture(kernel=table_kernel(table)).fit(table)
    shuffled = table[["flag", "color", "size"]]
    assert_allclose(mixture.score_samples(shuffled), mixture.score_samples(table))
    unusual = pd.DataFrame({"size": [9.0], "color": ["violet"], "flag": [True]})
    assert mixture.score_samples(unusual)[0] < np.quantile(mixture.score_samples(table), 0.05)


def test_strings_as_a_finite_space():
    words = ["00", "00", "01", "00", "11", "01"]
    mixture = MercerMixture(kernel=Hamming(0.5), alpha=1.0, domain=bit_strings(2, text=True))
    p = mixture.fit(words).pdf(["00", "01", "10", "11"])
    assert_allclose(p.sum(), 1)
    assert p[0] == p.max()
    drawn, _ = mixture.sample(5, random_state=0)
    assert set(drawn) <= {"00", "01", "10", "11"}


def test_density_is_zero_outside_the_space():
    mixture = MercerMixture(kernel=Categorical(0.5), domain=FiniteSpace(["a", "b"]))
    mixture.fit(["a", "b", "a"])
    assert mixture.score_samples(["c"])[0] == -np.inf


def test_table_with_missing_values_as_a_finite_space():
    """Rows are matched by value; missing values match."""
    rows = pd.DataFrame({"size": [1.0, 2.0, np.nan], "color": ["red", "green", "red"]})
    mixture = MercerMixture(kernel=table_kernel(rows), domain=FiniteSpace(rows), alpha=1.0)
    mixture.fit(rows.iloc[[0, 2, 2, 2]])
    p = mixture.pdf(rows)
    assert_allclose(p.sum(), 1)
    assert p.argmax() == 2
    assert mixture.pdf(pd.DataFrame({"size": [3.0], "color": ["red"]}))[0] == 0


def test_unhashable_objects_belong_to_their_space():
    space = FiniteSpace([{1}, {2}, {1, 2}])
    assert space.log_base(Points([{2}, {7}], "objects")).tolist() == [0.0, 0.0]
    assert FiniteSpace(["a", "b"]).log_base(Points([{7}], "objects")).tolist() == [0.0]


# --- choice of parameters -------------------------------------------------------------------------


def test_grid_search_requires_a_domain():
    grid = {"alpha": [1.0, 5.0], "kernel__bandwidth": [0.5, 1.0]}
    with raises(TypeError, "score"):
        GridSearchCV(MercerMixture(), grid).fit(points())
    search = GridSearchCV(MercerMixture(domain=Box(-6, 6, n_nodes=900)), grid, cv=3).fit(points())
    expected = [
        cross_val_score(
            MercerMixture(
                alpha=p["alpha"],
                kernel=Gaussian(p["kernel__bandwidth"]),
                domain=Box(-6, 6, n_nodes=900),
            ),
            points(),
            cv=3,
        ).mean()
        for p in search.cv_results_["params"]
    ]
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-10)


def test_score_requires_a_domain():
    with raises(NoDomainError, "score", "domain", "GaussianBase"):
        MercerMixture().fit(points()).score(points())


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({"alpha": -1.0}, ("alpha=-1.0", "auto")),
        ({"alpha": 0}, ("alpha=0", "auto")),
        ({"alpha": np.nan}, ("alpha=nan",)),
        ({"alpha": "best"}, ("alpha='best'", "leave-one-out")),
        ({"beta": -0.5}, ("beta=-0.5",)),
        ({"tol": -1.0}, ("tol=-1.0",)),
        ({"n_components": 0}, ("n_components=0",)),
        ({"n_components": 61}, ("n_components=61", 60)),
        ({"n_components": 1.5}, ("n_components=1.5",)),
        ({"n_init": 0}, ("n_init=0",)),
        ({"max_iter": 0}, ("max_iter=0",)),
        ({"alpha": "leave-one-out"}, ("leave-one-out", "domain")),
        ({"domain": Box([0, 0, 0], [1, 1, 1])}, ((3,), 2)),
        ({"domain": Box(-1, 1)}, ("Box",)),
        ({"domain": Box(-np.inf, np.inf)}, ("Box", "GaussianBase")),
        ({"domain": Box(-9, 9, n_nodes=1)}, ("n_nodes=1",)),
        ({"domain": GaussianBase(-1)}, ("widen=-1",)),
        ({"domain": GaussianBase(n_nodes=1.5)}, ("n_nodes=1.5",)),
        (
            {"domain": GaussianBase(covariance=[[1, 2], [2, 1]])},
            ("2.0], [2.0",),
        ),
        (
            {"domain": GaussianBase(covariance=[[1, 1], [0, 1]])},
            ("1.0], [0.0",),
        ),
        ({"domain": GaussianBase(mean=[0.0])}, ("mean", (1,), 2)),
        ({"domain": bit_strings(3)}, (3, 2)),
    ],
)
def test_invalid_parameters_raise(settings, values):
    with raises((TypeError, ValueError), *values):
        MercerMixture(**settings).fit(points())


def test_leave_one_out_alpha_requires_two_rows():
    model = MercerMixture(kernel=Gaussian(1.0), alpha="leave-one-out", domain=Box(-2, 2))
    with raises(ValueError, "leave-one-out", "alpha", "n_samples=1"):
        model.fit([[0.5, 0.5]])
    with raises(ValueError, "leave-one-out", "alpha", "n_samples=1"):
        model.fit([[0.5, 0.5], [1.0, 0.0]], sample_weight=[0.25, 0.0])


def test_leave_one_out_alpha_of_small_weights():
    model = MercerMixture(kernel=Gaussian(1.0), alpha="leave-one-out", domain=Box(-2, 2))
    X, weights = [[0.5, 0.5], [1.0, 0.0], [0.2, 0.4]], np.array([0.25, 0.5, 0.3])
    expected = model.fit(X, sample_weight=weights).alpha_
    assert_allclose(model.fit(X, sample_weight=1e-9 * weights).alpha_, expected, rtol=1e-9)


def test_rank_is_limited_by_the_kernel(halo):
    X, _ = halo
    expected = MercerMixture(kernel=Polynomial(2, constant=1.0), rank=None).fit(X)
    for rank in (50, np.int64(50)):
        found = MercerMixture(kernel=Polynomial(2, constant=1.0), rank=rank).fit(X)
        assert found.rank_ == expected.rank_ <= 6
    with raises(RankError, "n_samples=5", "center=False"):
        MercerMixture(kernel="linear", center=True, rank=2).fit(np.ones((5, 2)))


def test_box_rejects_strings():
    with raises(ValueError, "FiniteSpace"):
        MercerMixture(kernel=Hamming(), domain=Box(0, 1)).fit(["01", "10"])


def test_precomputed_kernel_rejects_a_domain():
    with raises(ValueError, "precomputed"):
        MercerMixture(kernel="precomputed", domain=GaussianBase()).fit(np.eye(4))


def test_domain_must_be_an_object():
    with raises(TypeError, "domain='plane'", "GaussianBase"):
        MercerMixture(domain="plane").fit(points())


def test_sample_and_normalize_require_a_domain():
    mixture = MercerMixture(kernel=Gaussian(1.0)).fit(points())
    with raises(ValueError, "sample", "normalize"):
        mixture.sample(3)
    with raises(ValueError, "normalize", "domain"):
        mixture.normalize(None)
    with raises(ValueError, "n_samples=0"):
        mixture.normalize(Box(-5, 5)).sample(0)
    with pytest.raises(NotFittedError):
        MercerMixture().sample()
    with pytest.raises(NotFittedError):
        MercerMixture().normalize(Box(-5, 5))


def test_finite_spaces_are_validated():
    with raises(ValueError, 3, 2):
        FiniteSpace(["a", "b", "a"])
    with raises(ValueError, "FiniteSpace", 0, 1):
        FiniteSpace([])
    with raises(ValueError, "length=40", "20"):
        bit_strings(40)


def test_constant_column_has_no_base_measure():
    X = points()
    X[:, 1] = 3.0
    with raises(ValueError, "GaussianBase"):
        MercerMixture(kernel=Gaussian(1.0), domain=GaussianBase()).fit(X)


def test_unknown_alpha_rules_raise():
    with raises(ValueError, "alpha='best'", "auto"):
        JointMixtureRegressor(alpha="best").fit(points(), np.arange(60.0))
    with raises(ValueError, "one class"):
        JointMixtureClassifier().fit(points(), np.zeros(60))
    with raises(ValueError, 2, 1):
        model = JointMixtureRegressor().fit(points(), np.arange(60.0))
        model.log_density(points(), np.zeros((60, 2)))
