"""ComponentRegressor and ComponentClassifier, compared with plain least squares."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
)

from mercer import ComponentClassifier, ComponentRegressor, KernelECA, KernelPCA
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
from mercer.supervised.component_models import NestedLeastSquares
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

both_orders = pytest.mark.parametrize("order", ["entropy", "variance"])
both_models = pytest.mark.parametrize("model", [ComponentRegressor, ComponentClassifier])


@pytest.fixture
def X(rng):
    return rng.normal(size=(50, 3)) + np.repeat([[0, 0, 0], [2, 1, 0]], 25, axis=0)


@pytest.fixture
def y(X, rng):
    return np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))


@pytest.fixture
def labels(X):
    return np.array(["ant", "bee", "cow"])[np.digitize(X[:, 0] + X[:, 1], [0.5, 2.5])]


def scores(order, k, kernel, X, new):
    """Return projections on the first k components, from the transforms."""
    transform = (
        KernelECA(k, kernel=kernel)
        if order == "entropy"
        else KernelPCA(k, kernel=kernel, center=False)
    )
    return transform.set_params(solver="dense").fit(X).transform(X), transform.transform(new)


def least_squares(Z, targets, new, weights=None):
    root = np.ones((len(Z), 1)) if weights is None else np.sqrt(weights)[:, None]
    design = np.column_stack([np.ones(len(Z)), Z])
    solution = np.linalg.lstsq(design * root, targets * root, rcond=1e-10)[0]
    return np.column_stack([np.ones(len(new)), new]) @ solution


def coded(labels, classes):
    if len(classes) == 2:
        return 2.0 * (labels[:, None] == classes[1]) - 1
    return 2.0 * (labels[:, None] == classes) - 1


def decided(values, classes):
    if len(classes) == 2:
        return classes[(values[:, 0] > 0).astype(int)]
    return classes[values.argmax(axis=1)]


# --- paths of models ----------------------------------------------------------------------------


@both_orders
@pytest.mark.parametrize("kernel", [Gaussian(1.2), Polynomial(2, 1.0)], ids=repr)
def test_regression_path_equals_separate_fits(order, kernel, X, y, rng):
    new, truth = rng.normal(size=(20, 3)), rng.normal(size=20)
    k = 8
    model = ComponentRegressor(k, kernel=kernel, order=order).fit(X, y)
    Z, at_new = scores(order, k, kernel, X, new)
    expected = []
    for m in range(1, k + 1):
        values = least_squares(Z[:, :m], y[:, None], at_new[:, :m])[:, 0]
        expected.append(((values - truth) ** 2).mean())
        separate = ComponentRegressor(m, kernel=kernel, order=order).fit(X, y)
        assert_allclose(separate.predict(new), values, atol=1e-6)
    assert_allclose(model.path(new, truth), expected, rtol=1e-6)
    residual = ((model.predict(new) - truth) ** 2).mean()
    assert_allclose(model.path(new, truth)[-1], residual, rtol=1e-9)
    assert_allclose(1 - model.score(new, truth), residual / truth.var(), rtol=1e-9)
    on_training = model.path(X, y)
    assert (np.diff(on_training) <= 1e-12).all()


@both_orders
@pytest.mark.parametrize("classes", [["no", "yes"], ["ant", "bee", "cow"]])
def test_classification_path_equals_separate_fits(order, classes, X, labels, rng):
    classes = np.array(classes)
    y = labels if len(classes) == 3 else np.where(labels == "ant", "no", "yes")
    new = rng.normal(size=(30, 3)) + 1
    truth = classes[rng.integers(len(classes), size=30)]
    k, kernel = 7, Gaussian(1.2)
    settings = {"kernel": kernel, "order": order, "fit_intercept": True}
    model = ComponentClassifier(k, **settings).fit(X, y)
    assert model.classes_.tolist() == classes.tolist()
    Z, at_new = scores(order, k, kernel, X, new)
    for m in range(1, k + 1):
        values = least_squares(Z[:, :m], coded(y, classes), at_new[:, :m])
        guessed = decided(values, classes)
        assert_allclose(model.path(new, truth)[m - 1], (guessed != truth).mean(), atol=1e-12)
        separate = ComponentClassifier(m, **settings).fit(X, y)
        assert_array_equal(separate.predict(new), guessed)
        values = values[:, 0] if len(classes) == 2 else values
        assert_allclose(separate.decision_function(new), values, atol=1e-6)
    assert_allclose(model.path(new, truth)[-1], 1 - model.score(new, truth), atol=1e-12)


def test_shapes_of_fitted_attributes(X, y, labels):
    one = ComponentRegressor(4, kernel=Gaussian(1.0)).fit(X, y)
    assert one.coef_.shape == (1, 4)
    assert one.predict(X).shape == (50,)
    two = ComponentRegressor(4, kernel=Gaussian(1.0)).fit(X, np.column_stack([y, -2 * y]))
    assert two.coef_.shape == (2, 4)
    assert two.intercept_.shape == (2,)
    assert_allclose(two.predict(X), np.column_stack([one.predict(X), -2 * one.predict(X)]))
    assert_allclose(two.path(X, np.column_stack([y, -2 * y])), 2.5 * one.path(X, y))
    column = ComponentRegressor(4, kernel=Gaussian(1.0)).fit(X, y[:, None])
    assert column.predict(X).shape == (50, 1)
    several = ComponentClassifier(4, kernel=Gaussian(1.0)).fit(X, labels)
    assert several.coef_.shape == (3, 4)
    assert several.decision_function(X).shape == (50, 3)
    pair = ComponentClassifier(4, kernel=Gaussian(1.0)).fit(X, labels == "bee")
    assert pair.coef_.shape == (1, 4)
    assert pair.predict(X).dtype == bool


@both_orders
def test_integer_weights_equal_repeated_rows(order, X, y, labels, rng):
    weights = rng.integers(0, 4, size=len(X))
    repeat = np.repeat(np.arange(len(X)), weights)
    for model, target in ((ComponentRegressor, y), (ComponentClassifier, labels)):
        make = model(6, kernel=Gaussian("median-distance"), order=order)
        weighted = clone(make).fit(X, target, sample_weight=weights)
        copies = clone(make).fit(X[repeat], target[repeat])
        assert_allclose(weighted.coef_, copies.coef_, atol=1e-7)
        assert_allclose(weighted.intercept_, copies.intercept_, atol=1e-7)
        if model is ComponentClassifier:
            assert_array_equal(weighted.predict(X), copies.predict(X))
        else:
            assert_allclose(weighted.predict(X), copies.predict(X), atol=1e-8)


def test_fractional_weights_against_least_squares(X, y, rng):
    weights = rng.uniform(0.2, 3, size=len(X))
    model = ComponentRegressor(5, kernel=Gaussian(1.0)).fit(X, y, sample_weight=weights)
    Z = KernelECA(5, kernel=Gaussian(1.0)).fit_transform(X, sample_weight=weights)
    assert_allclose(model.predict(X), least_squares(Z, y[:, None], Z, weights)[:, 0], atol=1e-7)


@both_models
def test_scalar_weight_applies_to_all_rows(model, X, y):
    """A scalar weight applies to all rows, as in the transforms."""
    target = y if model is ComponentRegressor else y > 1
    plain = model(3, kernel=Gaussian(1.0)).fit(X, target)
    assert_allclose(
        model(3, kernel=Gaussian(1.0)).fit(X, target, sample_weight=2.0).predict(X),
        plain.predict(X),
        atol=1e-9,
    )


# --- few components -----------------------------------------------------------------------------


@both_orders
def test_a_linear_kernel_is_linear_regression(order, X, y):
    model = ComponentRegressor(10, kernel=Linear(), order=order).fit(X, y)
    assert model.n_components_ == 3
    assert model.coef_.shape == (1, 3)
    assert_allclose(model.predict(X), least_squares(X, y[:, None], X)[:, 0], atol=1e-9)
    assert len(model.path(X, y)) == 3


@both_orders
def test_component_parallel_to_the_intercept(order, X, y):
    """Centered columns and a constant: the first component by entropy equals the intercept."""
    X = X - X.mean(axis=0)
    model = ComponentRegressor(4, kernel=Linear(1.0, 1.0), order=order).fit(X, y)
    Z, _ = scores(order, 4, Linear(1.0, 1.0), X, X)
    expected = [
        ((least_squares(Z[:, :k], y[:, None], Z[:, :k])[:, 0] - y) ** 2).mean() for k in range(1, 5)
    ]
    assert_allclose(model.path(X, y), expected, rtol=1e-8)
    for k in range(1, 5):
        separate = ComponentRegressor(k, kernel=Linear(1.0, 1.0), order=order).fit(X, y)
        fitted = least_squares(Z[:, :k], y[:, None], Z[:, :k])[:, 0]
        assert_allclose(separate.predict(X), fitted, atol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_equal_groups_are_distinguished(k):
    """Three equal blocks: the first component has all the entropy and equals the intercept."""
    y = np.repeat([0.0, 1.0, 5.0], 6)
    K = (y[:, None] == y).astype(float)
    model = ComponentRegressor(k, kernel="precomputed").fit(K, y)
    Z = KernelECA(k, kernel="precomputed").fit_transform(K)
    assert_allclose(model.predict(K), least_squares(Z, y[:, None], Z)[:, 0], atol=1e-8)
    if k == 3:
        assert_allclose(model.predict(K), y, atol=1e-8)


@both_models
@both_orders
def test_more_components_than_rows(model, order, rng):
    X = rng.normal(size=(6, 2))
    y = np.array([0, 1, 0, 1, 1, 0])
    fitted = model(50, kernel=Gaussian(0.5), order=order).fit(X, y)
    assert fitted.n_components_ == 6
    assert_allclose(fitted.predict(X), y, atol=1e-6)  # as many columns as rows: interpolation
    assert len(fitted.path(X, y)) == 6


@both_models
def test_one_component_and_two_rows(model):
    """Both rows have the same projection, so they cannot be distinguished."""
    fitted = model(1, kernel=Gaussian(1.0)).fit([[0.0], [1.0]], [0, 1])
    expected = 0.5 if model is ComponentRegressor else 0
    assert_allclose(fitted.predict([[0.0], [1.0]]), expected, atol=1e-12)


# --- cross-validation ---------------------------------------------------------------------------


@both_orders
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_errors_equal_refits_without_each_row(order, weighted, X, y):
    """The components are those of all rows; one unit of the weight of a row is removed."""
    weights = np.arange(1, len(X) + 1) % 6 + 0.5 if weighted else None
    model = ComponentRegressor("cv", kernel=Gaussian(1.0), order=order)
    model.fit(X, y, sample_weight=weights)
    most = ComponentRegressor(40, kernel=Gaussian(1.0), order=order)
    Z = most.fit(X, y, sample_weight=weights).spectrum_.projections
    full = np.ones(len(X)) if weights is None else weights
    for k in (1, 3, 8):
        errors = []
        for i in range(len(X)):
            rest = full.copy()
            rest[i] -= min(full[i], 1.0)
            root = np.sqrt(rest)[:, None]
            design = np.column_stack([np.ones(len(X)), Z[:, :k]])
            coefficients = np.linalg.lstsq(root * design, root[:, 0] * y, rcond=None)[0]
            errors.append((design[i] @ coefficients - y[i]) ** 2)
        expected = np.average(errors, weights=full)
        assert model.cv_errors_[k - 1] == pytest.approx(expected, rel=1e-6)
    assert model.n_components_ == np.argmin(model.cv_errors_) + 1
    refit = ComponentRegressor(model.n_components_, kernel=Gaussian(1.0), order=order)
    refit.fit(X, y, sample_weight=weights)
    assert_allclose(model.predict(X), refit.predict(X), atol=1e-8)


@both_models
def test_chosen_number_is_near_the_best_on_new_rows(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(600, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=600)
    target = y if model is ComponentRegressor else y > 0
    chosen = model().fit(X[:300], target[:300])
    path = model(100).fit(X[:300], target[:300]).path(X[300:], target[300:])
    assert path[chosen.n_components_ - 1] < 1.15 * path.min() + 0.02
    assert path[9] > 1.3 * path[chosen.n_components_ - 1]


@both_models
def test_cv_with_a_precomputed_kernel(model, X, y):
    target = y if model is ComponentRegressor else y > np.median(y)
    K = Gaussian(1.0)(X)
    direct = model("cv", kernel=Gaussian(1.0), solver="dense").fit(X, target)
    given = model("cv", kernel="precomputed", solver="dense").fit(K, target)
    m = min(len(direct.cv_errors_), len(given.cv_errors_), 15)
    assert_allclose(given.cv_errors_[:m], direct.cv_errors_[:m], rtol=1e-6, atol=1e-9)
    assert_allclose(given.predict(K), direct.predict(X), atol=1e-6)


@both_models
def test_weights_equal_copies_in_the_chosen_number(model, X, y):
    target = y if model is ComponentRegressor else y > np.median(y)
    weights = np.arange(len(X)) % 3
    weighted = model(kernel=Gaussian(1.0)).fit(X, target, sample_weight=weights)
    copies = np.repeat(np.arange(len(X)), weights)
    repeated = model(kernel=Gaussian(1.0)).fit(X[copies], target[copies])
    m = min(len(weighted.cv_errors_), len(repeated.cv_errors_), 15)
    assert_allclose(weighted.cv_errors_[:m], repeated.cv_errors_[:m], rtol=1e-6, atol=1e-9)
    assert weighted.n_components_ == repeated.n_components_


def test_cv_of_a_low_rank_kernel(X, y):
    model = ComponentRegressor("cv", kernel=Linear()).fit(X, y)
    assert len(model.cv_errors_) == 3


@both_models
def test_isolated_rows_do_not_limit_the_number(model, rng):
    """A row far from all others is alone in a component, which predicts no other row."""
    X = np.vstack([rng.uniform(-3, 3, size=(200, 2)), [[100.0, 0.0], [0.0, 100.0]]])
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    target = y if model is ComponentRegressor else y > 0
    alone = model().fit(X[:-2], target[:-2])
    found = model(order="variance").fit(X, target)
    assert len(found.cv_errors_) > 30
    assert found.score(X[:-2], target[:-2]) > alone.score(X[:-2], target[:-2]) - 0.05
    assert np.isfinite(found.cv_errors_).all()


@both_models
def test_cv_of_two_rows(model):
    assert model().fit([[0.0], [1.0]], [0, 1]).n_components_ >= 1


# --- scikit-learn tools -------------------------------------------------------------------------


@both_models
def test_grid_search(model, X, y):
    target = y if model is ComponentRegressor else np.where(y > 1, "big", "small")
    search = GridSearchCV(model(), {"kernel__bandwidth": [0.5, 1.5], "n_components": [2, 6]}, cv=3)
    search.fit(X, target)
    scores = [
        cross_val_score(
            model(p["n_components"], kernel=Gaussian(p["kernel__bandwidth"])), X, target, cv=3
        ).mean()
        for p in search.cv_results_["params"]
    ]
    assert_allclose(search.cv_results_["mean_test_score"], scores, atol=1e-12)
    assert len(set(scores)) > 1
    assert search.best_estimator_.kernel_.bandwidth == search.best_params_["kernel__bandwidth"]


@both_models
def test_grid_search_over_a_precomputed_kernel(model, X, y):
    """Folds select rows and columns of a pairwise matrix."""
    target = y if model is ComponentRegressor else (y > 1).astype(int)
    K = Gaussian(1.0)(X)
    given = GridSearchCV(model(kernel="precomputed"), {"n_components": [2, 5]}, cv=3).fit(K, target)
    plain = GridSearchCV(model(kernel=Gaussian(1.0)), {"n_components": [2, 5]}, cv=3).fit(X, target)
    assert_allclose(
        given.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-6
    )


@both_models
def test_precomputed_equals_the_kernel(model, X, y, rng):
    target = y if model is ComponentRegressor else (y > 1).astype(int)
    new = rng.normal(size=(6, 3))
    direct = model(5, kernel=Gaussian(1.0)).fit(X, target)
    given = model(5, kernel="precomputed").fit(Gaussian(1.0)(X), target)
    cross = Gaussian(1.0)(new, X)
    assert_allclose(given.predict(cross), direct.predict(new), atol=1e-8)
    truth = np.zeros(6)
    assert_allclose(given.path(cross, truth), direct.path(new, truth), atol=1e-8)


@both_models
def test_pickle_clone_frames_and_single_precision(model, X, y):
    pandas = pytest.importorskip("pandas")
    target = y if model is ComponentRegressor else (y > 1).astype(int)
    fitted = model(4, kernel=Gaussian(1.0)).fit(X, target)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(X), fitted.predict(X))
    assert clone(fitted).get_params()["n_components"] == 4
    frame = pandas.DataFrame(X, columns=list("abc"))
    framed = model(4, kernel=Gaussian(1.0)).fit(frame, pandas.Series(target))
    assert_allclose(framed.predict(frame), fitted.predict(X))
    with raises(ValueError, "names"):
        framed.predict(frame[list("cba")])
    single = model(4, kernel=Gaussian(1.0)).fit(X.astype(np.float32), target)
    same = np.isclose(single.predict(X.astype(np.float32)), fitted.predict(X), atol=1e-2)
    assert same.mean() > 0.95


def test_pandas_categories_as_labels(X, labels):
    pandas = pytest.importorskip("pandas")
    fitted = ComponentClassifier(5, kernel=Gaussian(1.0)).fit(X, labels)
    series = pandas.Series(labels).astype("category")
    assert_array_equal(
        ComponentClassifier(5, kernel=Gaussian(1.0)).fit(X, series).predict(X), fitted.predict(X)
    )


# --- bad input ----------------------------------------------------------------------------------


def test_unknown_classes_count_as_errors(X, labels):
    model = ComponentClassifier(6, kernel=Gaussian(1.0)).fit(X, labels)
    unknown = labels.copy().astype("<U10")
    unknown[:10] = ["aardvark", "zebra"] * 5  # sorted before and after the known classes
    expected = model.path(X, labels) * 0
    for k in range(6):
        separate = ComponentClassifier(k + 1, kernel=Gaussian(1.0)).fit(X, labels)
        expected[k] = (separate.predict(X) != unknown).mean()
    assert_allclose(model.path(X, unknown), expected)
    pair = ComponentClassifier(3, kernel=Gaussian(1.0)).fit(X, labels == "bee")
    assert pair.path(X, np.full(50, 7)).tolist() == [1.0] * 3


@both_models
@pytest.mark.parametrize("count", [0, -2, 2.5, 0.5, "many", None, True])
def test_invalid_n_components_raise(model, count, X, y):
    with raises((TypeError, ValueError), f"n_components={count!r}", 1, "'cv'"):
        model(count).fit(X, y > 1)


@both_models
def test_invalid_targets_raise(model, X, y):
    fitted = model(3, kernel=Gaussian(1.0)).fit(X, y > 1)
    for wrong in (y[:-1], np.r_[y, 1.0]):
        with raises(ValueError, 50, len(wrong)):
            model().fit(X, wrong > 1)
        with raises(ValueError, 50, len(wrong)):
            fitted.path(X, wrong > 1)
    with raises(ValueError, "y", "None"):
        model().fit(X, None)
    missing = y.copy()
    missing[3] = np.nan
    with raises(ValueError, "y", "NaN"):
        model().fit(X, missing)


def test_targets_of_the_wrong_type_raise(X, y, labels):
    with raises(ValueError, "string", labels[0]):
        ComponentRegressor().fit(X, labels)
    with raises(ValueError, "continuous"):
        ComponentClassifier().fit(X, y)
    with raises(ValueError, "class"):
        ComponentClassifier().fit(X, np.zeros(50))
    weights = (labels == "bee").astype(float)
    with raises(ValueError, "bee"):
        ComponentClassifier().fit(X, labels, sample_weight=weights)


@both_models
def test_results_before_fit_raise(model, X):
    for name in ("predict", "path"):
        with raises(NotFittedError):
            getattr(model(), name)(*(X, np.zeros(50))[: 1 + (name == "path")])


@both_models
def test_unknown_orders_raise(model, X, y):
    with raises(ValueError, "order='size'", "'entropy'", "'variance'"):
        model(order="size").fit(X, y > 1)


class Interrupted(Kernel):
    """A kernel that is interrupted at once."""

    def matrix(self, X, Y):
        raise KeyboardInterrupt


@both_models
def test_interrupted_refit_preserves_the_fitted_model(model, X, labels, y):
    target = y if model is ComponentRegressor else labels
    fitted = model(3, kernel=Gaussian(1.0)).fit(X, target)
    before = fitted.predict(X)
    other = np.column_stack([y, y]) if model is ComponentRegressor else labels == "bee"
    with pytest.raises(KeyboardInterrupt):
        fitted.set_params(kernel=Interrupted()).fit(X, other)
    assert_array_equal(fitted.predict(X), before)


@both_models
def test_interrupted_fit_sets_no_attributes(model, X, y):
    fresh = model(3, kernel=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y > 1)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


# --- every k equals a separate fit ------------------------------------------------------------


def naive(Z, y, k, weights=None):
    """Return a least-squares predictor with an intercept, of minimum norm if singular."""
    design = np.column_stack([np.ones(len(Z)), Z[:, :k]])
    root = np.ones((len(Z), 1)) if weights is None else np.sqrt(weights)[:, None]
    solution = np.linalg.lstsq(design * root, y * root, rcond=1e-10)[0]
    return lambda new: np.column_stack([np.ones(len(new)), new[:, :k]]) @ solution


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    columns=st.integers(1, 8),
    weighted=st.booleans(),
)
def test_every_k_equals_a_separate_fit(seed, n, columns, weighted):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(n, columns)), rng.normal(size=(n, 2))
    weights = rng.uniform(0.5, 4, size=n) if weighted else None
    model = NestedLeastSquares.fit(Z, y, weights)
    path = model.path(Z)
    assert path.shape == (columns, n, 2)
    for k in range(1, min(columns, n - 2) + 1):
        assert_allclose(path[k - 1], naive(Z, y, k, weights)(Z), atol=1e-6)
        intercept, slopes = NestedLeastSquares.fit(Z[:, :k], y, weights).coefficients()
        assert_allclose(intercept + Z[:, :k] @ slopes.T, path[k - 1], atol=1e-6)


def singular_designs():
    """Return designs with a column that depends on earlier columns."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(25, 5))
    constant, zero, copy, combined = (Z.copy() for _ in range(4))
    constant[:, 0] = 3.0
    zero[:, 1] = 0.0
    copy[:, 2] = Z[:, 0]
    combined[:, 3] = 1 + Z[:, 0] - 2 * Z[:, 2]
    groups = np.eye(3)[rng.integers(3, size=25)]  # they sum to the intercept column
    behind = np.column_stack([groups, rng.normal(size=(25, 2))])
    return {
        "a constant column": constant,
        "a column of zeros": zero,
        "a copy": copy,
        "a combination": combined,
        "indicators": behind,
    }


@pytest.mark.parametrize("kind", singular_designs())
def test_dependent_columns_do_not_change_predictions(kind):
    Z = singular_designs()[kind]
    y = np.random.default_rng(1).normal(size=(25, 1))
    model = NestedLeastSquares.fit(Z, y)
    path = model.path(Z)
    errors = ((path - y) ** 2).mean(axis=(1, 2))
    for k in range(1, 6):
        assert_allclose(path[k - 1], naive(Z, y, k)(Z), atol=1e-8, err_msg=f"path, k = {k}")
        intercept, slopes = NestedLeastSquares.fit(Z[:, :k], y).coefficients()
        fitted = intercept + Z[:, :k] @ slopes.T
        assert_allclose(fitted, naive(Z, y, k)(Z), atol=1e-8, err_msg=f"coefficients, k = {k}")
    assert (np.diff(errors) <= 1e-12).all()  # the training error never increases with k


def test_more_columns_than_rows_interpolate():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(5, 9)), rng.normal(size=(5, 1))
    model = NestedLeastSquares.fit(Z, y)
    assert_allclose(model.path(Z)[3:], np.broadcast_to(y, (6, 5, 1)), atol=1e-10)
    intercept, slopes = model.coefficients()
    assert_allclose(intercept + Z @ slopes.T, y, atol=1e-10)
