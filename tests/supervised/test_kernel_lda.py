"""KernelLDA, compared with the eigenproblem of K, scikit-learn's LDA, and refits."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV

from mercer import KernelLDA, KernelPCA
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers import Fourier, Lanczos, Nystrom
from mercer.supervised.scatter import ClassMoments, LeaveOneOutScore, leave_one_out_class_scores
from tests.expectations import raises, warns

KERNELS = [Gaussian(1.5), Polynomial(2, 1.0), Polynomial(3), Linear()]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@pytest.fixture
def X(rng):
    centers = np.repeat([[0, 0, 0], [1.5, 1, 0], [0, 2, 1]], [25, 20, 15], axis=0)
    return rng.normal(size=(60, 3)) + centers


@pytest.fixture
def y():
    return np.repeat(["ant", "bee", "cow"], [25, 20, 15])


@pytest.fixture
def new(rng):
    return rng.normal(size=(30, 3)) + rng.normal(size=(30, 1))


def naive(K, codes, ridge, priors=None):
    """Return ratios and coefficients on centered kernel columns: ``B α = λ (W + γ K) α``.

    In terms of ``f = K α`` the penalty γ |a|² is γ α'Kα.
    """
    n = len(K)
    masses = np.bincount(codes)
    priors = masses / n if priors is None else np.asarray(priors)
    members = (codes[:, None] == np.arange(len(masses))) / masses
    means = K @ members
    shifts = means - (means @ priors)[:, None]
    between = shifts * priors @ shifts.T
    within = sum(
        p * (K[:, codes == k] - means[:, [k]]) @ (K[:, codes == k] - means[:, [k]]).T / masses[k]
        for k, p in enumerate(priors)
    )
    # the centered K is singular: solve in its range
    values, vectors = np.linalg.eigh(K)
    basis = vectors[:, values > 1e-9 * values[-1]]
    small = [basis.T @ M @ basis for M in (between, within + ridge * K)]
    ratios, inner = eigh(*small)
    q = len(masses) - 1
    return ratios[::-1][:q], (basis @ inner)[:, ::-1][:, :q]


def centered(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def same_up_to_signs(found, expected, **tolerance):
    signs = np.sign(np.einsum("ij,ij->j", found, expected))
    assert_allclose(found, expected * signs, **tolerance)


# --- known solutions ----------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_functions_solve_the_generalized_eigenproblem_of_the_gram_matrix(kernel, priors, X, y):
    # a rank of 60 is the full rank, so both solve the same problem
    model = KernelLDA(kernel=kernel, rank=60, regularization=0.05, priors=priors).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    K = centered(kernel(X))
    ratios, alphas = naive(K, codes, model.ridge_, priors)
    assert_allclose(model.eigenvalues_, ratios, rtol=1e-7)
    values = K @ alphas
    weights = model.priors_ / np.bincount(codes)
    expected = values - weights[codes] @ values  # f is 0 at the prior-weighted mean
    same_up_to_signs(model.transform(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_linear_kernel_is_linear_discriminant_analysis(priors, X, y, new):
    model = KernelLDA(kernel="linear", regularization=0, priors=priors).fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="eigen", priors=priors).fit(X, y)
    assert_array_equal(model.predict(new), peer.predict(new))
    assert model.shrinkage_ is None
    ours = log_softmax(model.decision_function(new) / model.confidence_, axis=1)
    assert_allclose(ours, peer.predict_log_proba(new), rtol=1e-8, atol=1e-9)
    if priors is not None:
        return  # scikit-learn then mixes priors (W) with class frequencies (B + W)
    ratio = model.eigenvalues_ / model.eigenvalues_.sum()
    assert_allclose(ratio, peer.explained_variance_ratio_, rtol=1e-8)
    center = peer.transform(X).mean(axis=0)
    same_up_to_signs(model.transform(new), peer.transform(new) - center, rtol=1e-8, atol=1e-10)


def test_two_classes_equal_linear_discriminant_analysis(X, y, new):
    two = y != "cow"
    model = KernelLDA(kernel="linear", regularization=1e-12).fit(X[two], y[two])
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X[two], y[two])
    found = model.decision_function(new)
    assert found.shape == (30,)
    assert_allclose(found / model.confidence_, peer.decision_function(new), rtol=1e-6, atol=1e-7)


def test_probabilities_of_a_weak_signal_are_priors_times_powers_of_likelihoods(rng):
    X, y = rng.normal(size=(150, 4)), np.arange(150) % 15 == 0
    X[y, 0] += 1.5
    model = KernelLDA().fit(X, y)
    t, rho, means = model.confidence_, model.shrinkage_, model.class_means_
    assert 0 < t < 1
    assert 0 <= rho <= 1
    new = rng.normal(size=(20, 4))
    powers = t * (model.transform(new) @ means.T - rho * (means**2).sum(axis=1) / 2)
    expected = model.priors_ * np.exp(powers)
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(new), expected, rtol=1e-9, atol=1e-12)
    odds = np.log(expected[:, 1] / expected[:, 0])
    assert_allclose(model.decision_function(new), odds, rtol=1e-9, atol=1e-12)


# --- scale and sign -----------------------------------------------------------------------------


def test_functions_are_uncorrelated_with_unit_variance_within_classes(X, y):
    model = KernelLDA(kernel=Polynomial(2, 1.0), regularization=1e-9).fit(X, y)
    F = model.transform(X)
    residuals = F - model.class_means_[np.searchsorted(model.classes_, y)]
    assert_allclose(residuals.T @ residuals / len(X), np.eye(2), atol=1e-6)
    assert_allclose(F.mean(axis=0), 0, atol=1e-10)
    between = model.class_means_.T * model.priors_ @ model.class_means_
    assert_allclose(between, np.diag(model.eigenvalues_), atol=1e-9 * model.eigenvalues_[0])


def test_each_function_is_positive_for_the_last_class(X, y):
    for labels in (y, np.where(y == "ant", "zoo", y)):  # another order of the same classes
        model = KernelLDA().fit(X, labels)
        assert (model.class_means_[-1] > 0).all()
    two = KernelLDA(priors=[0.9, 0.1]).fit(X, y == "ant")
    F = two.transform(X)[:, 0]
    assert F[y == "ant"].mean() > F[y != "ant"].mean()


# --- leave-one-out ------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_leave_one_out_scores_equal_refits(ridge, X, y):
    codes = np.searchsorted(np.unique(y), y)
    moments = ClassMoments.of(X, codes)
    found = leave_one_out_class_scores(moments.residuals(X, codes), codes, None, moments, ridge)
    n = len(X)
    for i in (0, 13, 30, 59):
        others = np.arange(n) != i
        rest = ClassMoments.of(X[others], codes[others])
        # the same W as in the formula, without its common factor, and the same priors
        G = np.linalg.inv(rest.within * (n - 1) / n + ridge * np.eye(3))
        residuals = X[i] - rest.means
        expected = np.log(moments.priors) - np.einsum("lj,jk,lk->l", residuals, G, residuals) / 2
        assert_allclose(found[i], expected, rtol=1e-9)


def test_leave_one_out_removes_one_copy_of_a_weighted_row(X, y):
    codes = np.searchsorted(np.unique(y), y)
    weights = np.where(np.arange(60) % 7 == 0, 3.0, 1.0)
    copies = np.repeat(np.arange(60), weights.astype(int))
    moments = ClassMoments.of(X, codes, weights)
    found = leave_one_out_class_scores(moments.residuals(X, codes), codes, weights, moments, 0.1)
    again = ClassMoments.of(X[copies], codes[copies])
    again_residuals = again.residuals(X[copies], codes[copies])
    expected = leave_one_out_class_scores(again_residuals, codes[copies], None, again, 0.1)
    assert_allclose(found[copies], expected, rtol=1e-9)
    one = LeaveOneOutScore.of(moments.residuals(X, codes), codes, weights, moments, 0.1)
    two = LeaveOneOutScore.of(again_residuals, codes[copies], None, again, 0.1)
    assert_allclose(
        [one.error, one.confidence, one.log_probability],
        [two.error, two.confidence, two.log_probability],
        rtol=1e-9,
    )


def calibrated(scores, moments, ridge, t, rho):
    """Return log-posteriors from leave-one-out scores."""
    if rho is None:
        return log_softmax(t * scores, axis=1)
    log_priors, levels = np.log(moments.priors), moments.discriminants(ridge).levels
    logits = log_priors + t * (scores - log_priors + (1 - rho) * levels)
    return log_softmax(logits, axis=1)


@pytest.mark.parametrize("shift", [0.0, 0.3, 3.0])
def test_confidence_and_shrinkage_maximize_the_leave_one_out_likelihood(shift, rng):
    X, codes = rng.normal(size=(90, 10)), np.repeat([0, 1, 2], [60, 20, 10])
    X[:, 0] += shift * codes
    moments = ClassMoments.of(X, codes)
    scores = leave_one_out_class_scores(moments.residuals(X, codes), codes, None, moments, 0.01)

    def likelihood(t, rho):
        return np.mean(calibrated(scores, moments, 0.01, t, rho)[np.arange(90), codes])

    score = LeaveOneOutScore.of(moments.residuals(X, codes), codes, None, moments, 0.01)
    t, rho = score.confidence, score.shrinkage
    assert (rho is None) == (shift == 3.0)
    assert_allclose(score.log_probability, likelihood(t, rho))
    assert score.log_probability >= likelihood(0.0, 1.0) - 1e-5  # that of the priors
    rhos = [None] if rho is None else np.linspace(0, 1, 5)
    trials = [likelihood(trial, one) for trial in np.linspace(0, 1, 101) for one in rhos]
    assert max(trials) <= score.log_probability + 1e-12


def test_confidence_is_minimal_if_all_rows_are_misclassified():
    """Classes with equal means: without a row, the mean of its class is more distant."""
    Z, codes = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([0, 0, 1, 1])
    moments = ClassMoments.of(Z, codes)
    score = LeaveOneOutScore.of(moments.residuals(Z, codes), codes, None, moments, 0.1)
    assert score.error == 1
    assert 0 < score.confidence < 1e-5
    assert_allclose(score.log_probability, -np.log(2), rtol=1e-5)


@pytest.mark.parametrize("prior", [0.03, 0.1, 0.5])
def test_probabilities_without_signal_are_the_prior(prior):
    """The expected log loss of pure noise is that of the prior, up to the noise of the choice of t.

    A t above 0 by chance costs at most about 1/(2n) per fitted number in expectation. The variances
    over the seeds give the standard errors.
    """
    n, losses, ratios = 300, [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(n) < prior * n)
        model = KernelLDA().fit(rng.normal(size=(n, 5)), y)
        P = model.predict_proba(rng.normal(size=(1000, 5)))
        rate = y.mean()
        expected = -(rate * np.log(P[:, 1]) + (1 - rate) * np.log(P[:, 0])).mean()
        losses.append(expected + rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
        ratios.append(P[:, 1].mean() / rate)
    assert np.mean(losses) < 1 / n + 3 * np.std(losses) / np.sqrt(len(losses))
    assert abs(np.mean(ratios) - 1) < 0.01 + 3 * np.std(ratios) / np.sqrt(len(ratios))


def test_relative_ridge_is_scaled_by_the_mean_within_class_variance(rng):
    Z, codes = rng.normal(size=(30, 3)), np.repeat([0, 1, 2], 10)
    variances = [Z[codes == k].var(axis=0) for k in range(3)]
    assert_allclose(ClassMoments.of(Z, codes).scale, np.mean(variances))


def test_single_rows_of_a_class_are_skipped():
    """One of the other eight rows lies in the other class and is misclassified."""
    Z = np.array([-1.0, -1.1, -1.2, 1.05, 1.0, 1.1, 1.2, 1.3, 9.0])[:, None]
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    moments = ClassMoments.of(Z, codes, priors=np.array([0.25, 0.25, 0.5]))
    score = LeaveOneOutScore.of(moments.residuals(Z, codes), codes, None, moments, 0.1)
    assert_allclose(score.error, 1 / 8)
    scores = leave_one_out_class_scores(moments.residuals(Z, codes), codes, None, moments, 0.1)
    assert np.isnan(scores[-1]).all()
    posteriors = calibrated(scores[:8], moments, 0.1, score.confidence, score.shrinkage)
    logs = posteriors[np.arange(8), codes[:8]]
    assert_allclose(score.log_probability, logs.mean())


@pytest.mark.parametrize("seed", range(10))
def test_directions_are_positive_for_the_last_class_with_nonzero_mean(seed):
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 2)))
    means = np.array([[-3.0, 0], [3, 0], [0, -1]]) @ turn
    moments = ClassMoments(np.full(3, 1 / 3), np.ones(3), means, np.eye(2))
    means = moments.discriminants(0.1).class_means
    assert_allclose(
        means[2, 0], 0, atol=1e-12
    )  # the first direction has mean zero in the third class
    assert means[1, 0] > 0
    assert means[2, 1] > 0


def test_probabilities_are_calibrated_for_separated_samples(rng):
    """100 coordinates of 240 rows: with t = 1 the loss is far above log 2."""
    X = rng.normal(size=(1240, 8))
    y = (X[:, 0] + rng.normal(size=1240) > 0).astype(int)
    model = KernelLDA(rank=100, regularization=1e-6).fit(X[:240], y[:240])
    logs = np.log(model.predict_proba(X[240:]))[np.arange(1000), y[240:]]
    raw = log_softmax(np.log(model.predict_proba(X[240:])) / model.confidence_, axis=1)
    assert -logs.mean() < np.log(2) < 0.7 * -raw[np.arange(1000), y[240:]].mean()


def test_selected_regularization_is_the_best_of_the_grid(X, y):
    model = KernelLDA(regularization="cv").fit(X, y)
    table = model.cv_results_
    assert len(table["regularization"]) == 7
    best = int(np.flatnonzero(table["regularization"] == model.regularization_)[0])
    assert table["error"][best] == table["error"].min()
    tied = table["error"] == table["error"].min()
    assert table["log_probability"][best] == table["log_probability"][tied].max()
    again = KernelLDA(regularization=model.regularization_).fit(X, y)
    assert_allclose(again.transform(X), model.transform(X))
    assert_allclose(again.cv_results_["error"], table["error"][best])


def test_leave_one_out_error_is_close_to_that_of_refits(X, y):
    model = KernelLDA(kernel=Gaussian(1.5), regularization=0.1, rank=60)
    fitted = clone(model).fit(X, y)
    wrong = 0
    for i in range(60):
        others = np.arange(60) != i
        # use the ridge of the whole sample, which is relative to its trace
        part = clone(model).fit(X[others], y[others])
        scale = fitted.ridge_ / part.ridge_
        part.set_params(regularization=0.1 * scale).fit(X[others], y[others])
        wrong += part.predict(X[[i]])[0] != y[i]
    assert abs(fitted.cv_results_["error"][0] - wrong / 60) <= 2 / 60


# --- symmetries ---------------------------------------------------------------------------------


def test_integer_weights_equal_repeated_rows(X, y, new, rng):
    weights = rng.integers(0, 3, 60)
    copies = np.repeat(np.arange(60), weights)
    for options in ({}, {"regularization": "cv"}, {"priors": [0.2, 0.3, 0.5]}):
        one = KernelLDA(**options).fit(X, y, sample_weight=weights)
        two = KernelLDA(**options).fit(X[copies], y[copies])
        assert one.regularization_ == two.regularization_
        assert_allclose(one.eigenvalues_, two.eigenvalues_, rtol=1e-7)
        assert_allclose(one.transform(new), two.transform(new), atol=1e-6)
        assert_allclose(one.predict_proba(new), two.predict_proba(new), atol=1e-7)


def test_priors_and_weights_move_the_boundary(X, y):
    balanced = KernelLDA(priors=np.full(3, 1 / 3)).fit(X, y)
    plain = KernelLDA().fit(X, y)
    assert (balanced.predict(X) == "cow").sum() >= (plain.predict(X) == "cow").sum()
    heavy = KernelLDA().fit(X, y, sample_weight=np.where(y == "cow", 5.0, 1.0))
    assert_allclose(heavy.priors_, [25 / 120, 20 / 120, 75 / 120])


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_results_do_not_depend_on_the_order_of_rows(solver, X, y, new, rng):
    order = rng.permutation(60)
    options = {"kernel": Gaussian(1.5), "solver": solver, "regularization": "cv"}
    one = KernelLDA(**options).fit(X, y)
    two = KernelLDA(**options).fit(X[order], y[order])
    assert_allclose(one.transform(new), two.transform(new), atol=1e-7)
    assert_allclose(one.predict_proba(new), two.predict_proba(new), atol=1e-8)


@pytest.mark.parametrize(
    "solver", ["auto", "lanczos", Lanczos(stored=False), Fourier(), Nystrom(60)], ids=repr
)
def test_solvers_agree(solver, rng):
    X = rng.normal(size=(120, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], 40, axis=0)
    y = np.repeat([0, 1, 2], 40)
    options = {"kernel": Gaussian(1.5), "rank": 12}
    exact = KernelLDA(solver="dense", **options).fit(X, y)
    found = KernelLDA(solver=solver, **options).fit(X, y)
    grid = rng.normal(size=(50, 2))
    assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-4)
    assert_allclose(found.transform(grid), exact.transform(grid), atol=1e-3)
    assert_array_equal(found.predict(grid), exact.predict(grid))


def test_precomputed_kernel(X, y, new):
    kernel = Gaussian(1.5)
    direct = KernelLDA(kernel=kernel, regularization="cv").fit(X, y)
    given = KernelLDA(kernel="precomputed", regularization="cv").fit(kernel(X), y)
    assert_allclose(given.transform(kernel(new, X)), direct.transform(new), atol=1e-8)
    assert_array_equal(given.predict(kernel(new, X)), direct.predict(new))
    search = GridSearchCV(
        KernelLDA(kernel="precomputed"), {"regularization": [1e-3, 1.0]}, cv=3
    ).fit(kernel(X), y)
    assert search.best_score_ > 0.5


def test_coordinates_are_those_of_centered_kernel_pca(X, y):
    model = KernelLDA(rank=9, kernel=Gaussian(1.5)).fit(X, y)
    Z = KernelPCA(9, kernel=Gaussian(1.5)).fit_transform(X)
    assert_allclose(np.abs(model.spectrum_.projections), np.abs(Z), atol=1e-8)
    design = np.column_stack([np.ones(60), Z])
    F = model.transform(X)
    fitted = design @ np.linalg.lstsq(design, F, rcond=None)[0]
    assert_allclose(fitted, F, atol=1e-7)


# --- predictions and fitted attributes ----------------------------------------------------------


def test_probabilities_and_shapes(X, y, new):
    model = KernelLDA(1).fit(X, y)
    P = model.predict_proba(new)
    assert P.shape == (30, 3)
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(new))
    scores = model.decision_function(new)
    assert_allclose(log_softmax(scores, axis=1), np.log(P))
    assert model.transform(new).shape == (30, 1)
    assert_allclose(model.transform(new), KernelLDA().fit(X, y).transform(new)[:, :1])
    assert_allclose(P, KernelLDA().fit(X, y).predict_proba(new))  # always all functions
    assert model.get_feature_names_out().tolist() == ["kernellda0"]


def test_default_rank_is_a_quarter_of_the_rows(X, y):
    assert KernelLDA(kernel=Gaussian(0.5)).fit(X, y).rank_ == 15
    assert KernelLDA(kernel=Gaussian(0.5)).fit(X[::3], y[::3]).rank_ == 10
    assert KernelLDA(kernel="linear").fit(X, y).rank_ == 3
    assert KernelLDA(kernel=Gaussian(0.5), rank=1000).fit(X, y).rank_ == 59


def test_grid_search_and_pickle(X, y, new):
    grid = {"kernel__bandwidth": [0.5, 2.0], "regularization": [1e-3, "cv"]}
    search = GridSearchCV(KernelLDA(), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    best = search.best_estimator_
    again = pickle.loads(pickle.dumps(best))
    assert_allclose(again.transform(new), best.transform(new))


def test_single_precision(X, y, new):
    double = KernelLDA(kernel=Gaussian(1.5)).fit(X, y)
    single = KernelLDA(kernel=Gaussian(1.5)).fit(X.astype(np.float32), y)
    F = single.transform(new.astype(np.float32))
    assert F.dtype == np.float32
    assert_allclose(F, double.transform(new), atol=2e-2)
    assert (single.predict(new.astype(np.float32)) == double.predict(new)).mean() > 0.95


def test_rank_one_limits_the_number_of_functions(X, y):
    model = KernelLDA(rank=1, kernel=Gaussian(1.5)).fit(X, y)
    assert model.transform(X).shape == (60, 1)
    assert model.predict_proba(X).shape == (60, 3)


# --- bad input ----------------------------------------------------------------------------------


def test_class_with_one_row_warns(X, y):
    labels = y.copy()
    labels[0] = "dog"
    with warns(ApproximationWarning, 1, 4, "dog"):
        model = KernelLDA(kernel=Gaussian(1.5)).fit(X, labels)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    assert P.shape == (60, 4)
    assert 0 < model.confidence_ <= 1
    with warns(ApproximationWarning, "2 of 2"), raises(ValueError, "within-class"):
        KernelLDA(kernel=Gaussian(1.5)).fit(X[:2], ["a", "b"])


def test_invalid_input_raises(X, y):
    with raises(ValueError, "y", "'ant'"):
        KernelLDA().fit(X[:25], y[:25])
    with raises(ValueError, "y", "'ant'"):  # the others have zero weight
        KernelLDA().fit(X, y, sample_weight=(y == "ant").astype(float))
    with raises(ValueError, "priors", 0.9):
        KernelLDA(priors=[0.3, 0.3, 0.3]).fit(X, y)
    with raises(ValueError, "priors", 2, 3):
        KernelLDA(priors=[0.5, 0.5]).fit(X, y)
    with raises(ValueError, "priors", 0.0):
        KernelLDA(priors=[0.5, 0.5, 0.0]).fit(X, y)
    with raises(ValueError, "regularization=-0.1"):
        KernelLDA(regularization=-0.1).fit(X, y)
    for bad in ("CV", None, True):
        with raises(TypeError, f"regularization={bad!r}", "cv"):
            KernelLDA(regularization=bad).fit(X, y)
    with raises(ValueError, "regularization=nan"):
        KernelLDA(regularization=float("nan")).fit(X, y)
    for bad in (0, -3, 2.5, True):
        with raises((TypeError, ValueError), f"rank={bad!r}"):
            KernelLDA(rank=bad).fit(X, y)
    for bad in (0, 3, 1.5, True):
        with raises((TypeError, ValueError), f"n_components={bad!r}", 2):
            KernelLDA(bad).fit(X, y)
    with raises(ValueError, "y", None):
        KernelLDA().fit(X, None)
    with raises(ValueError, 60, 59):
        KernelLDA().fit(X, y[:-1])


def test_singular_within_class_covariance_raises(X, y):
    with raises(ValueError, 59, "regularization"):
        KernelLDA(kernel=Gaussian(1.0), rank=59, regularization=0).fit(X, y)
    with raises(ValueError, "within-class"):
        KernelLDA().fit(np.repeat(np.eye(3), 5, axis=0), np.repeat([0, 1, 2], 5))
