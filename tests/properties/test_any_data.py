"""Estimators on tables, strings and graphs, with every solver."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer import ComponentClassifier, EntropyClustering, KernelECA, KernelPCA
from mercer.data.points import Points
from mercer.eigen.plan import Request, plan
from mercer.errors import ApproximationWarning
from mercer.gram import Sample
from mercer.information import cauchy_schwarz_divergence, information_potential, renyi_entropy
from mercer.kernels import (
    Categorical,
    Gaussian,
    Graph,
    Hamming,
    Jaccard,
    NGram,
    On,
    table_kernel,
)
from mercer.solvers import Nystrom
from tests.expectations import raises

pd = pytest.importorskip("pandas")

ESTIMATORS = [KernelPCA, KernelECA]
KERNEL = (
    On("age", Gaussian("silverman"))
    * On("color", Categorical(0.6))
    * On("note", NGram(2, normalize=True, rho=0.5))
)


def table(n=60, seed=0):
    """Two kinds of rows, mixed columns, a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.5
    words = np.array([["kernel", "eigen", "matrix"], ["banana", "apple", "cherry"]])
    frame = pd.DataFrame(
        {
            "age": np.where(kind, 30, 50) + 8 * rng.normal(size=n),
            "color": np.where(rng.random(n) < 0.8, np.where(kind, "red", "blue"), "gray"),
            "note": [" ".join(rng.choice(words[int(k)], 3)) for k in kind],
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1), kind.astype(int)


def strings(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc" if i % 2 else "bcd"), 6)) for i in range(n)]


def graphs(n=40, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        size = int(rng.integers(3, 9))
        adjacency = np.triu(rng.random((size, size)) < (0.3 if i % 2 else 0.6), 1)
        made.append((adjacency | adjacency.T, rng.choice(list("CNO"), size)))
    return made


DATA = {
    "table": (table()[0], table(20, seed=1)[0], KERNEL),
    "strings": (strings(), strings(15, seed=1), NGram((1, 2), normalize=True)),
    "bits": (strings(), strings(15, seed=1), Hamming(0.7)),
    "graphs": (graphs(), graphs(15, seed=1), Graph(2, normalize=True)),
    "sets": ([set(s) for s in strings()], [set(s) for s in strings(15, 1)], Jaccard()),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("solver", ["dense", "lanczos", "auto"])
def test_components_agree_with_the_precomputed_matrix(name, estimator, solver):
    X, new, kernel = DATA[name]
    model = estimator(2, kernel=kernel, solver=solver).fit(X)
    K, cross = model.kernel_(X), model.kernel_(new, X)
    expected = estimator(2, kernel="precomputed", solver="dense").fit(K)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    # eigenvalues differ by more than a hundredth of the largest, so vectors are accurate too
    assert_allclose(model.transform(X), expected.transform(K), rtol=0, atol=1e-8)
    assert_allclose(model.fit_transform(X), expected.fit_transform(K), rtol=0, atol=1e-8)
    assert_allclose(model.transform(new), expected.transform(cross), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_landmarks_of_all_data_are_exact_or_within_the_bound(name, estimator):
    """With every point a landmark the features are exact; with fewer the bound holds."""
    X, new, kernel = DATA[name]
    exact = estimator(2, kernel=kernel, solver="dense").fit(X)
    every = estimator(2, kernel=kernel, solver=Nystrom(len(X), tolerance=0)).fit(X)
    assert_allclose(every.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    # a truncation at rounding error changes features by its square root
    assert_allclose(every.transform(new), exact.transform(new), rtol=0, atol=1e-5)
    few = estimator(2, kernel=kernel, solver=Nystrom(12)).fit(X)
    assert few.transform(new).shape == (len(new), 2)
    if estimator is KernelPCA:  # by entropy, other pairs may be selected
        difference = exact.eigenvalues_ - few.eigenvalues_
        assert (difference >= -1e-9 * exact.eigenvalues_[0]).all()
        assert (difference <= few.spectrum_.error_bound + 1e-9).all()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_integer_weights_equal_repeated_rows_and_models_pickle(name, estimator):
    X, new, kernel = DATA[name]
    n = len(X)
    weights = np.random.default_rng(0).integers(0, 4, n)
    where = np.repeat(np.arange(n), weights)
    repeated = X.iloc[where] if hasattr(X, "iloc") else [X[i] for i in where]
    model = estimator(2, kernel=kernel).fit(X, sample_weight=weights)
    expected = estimator(2, kernel=kernel).fit(repeated)
    assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
    assert_allclose(model.transform(new), expected.transform(new), rtol=0, atol=1e-8)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(new), model.transform(new))


# --- tables at predict -------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_columns_are_matched_by_name(estimator):
    frame, _ = table()
    model = estimator(2, kernel=KERNEL).fit(frame)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["age", "color", "note"]
    expected = model.transform(frame)
    reordered = frame[["note", "age", "color"]].assign(more=1.0)
    assert_array_equal(model.transform(reordered), expected)
    with raises(ValueError, "'color'", "'age'", "'note'"):
        model.transform(frame.drop(columns="color"))
    with raises(ValueError, "names"):
        model.transform(frame.to_numpy())


def test_columns_are_reordered_for_kernels_on_all_columns():
    frame = pd.DataFrame({"a": list("xyxyz"), "b": list("uuvvu")})
    model = KernelECA(2, kernel=Hamming(0.4)).fit(frame)
    assert_array_equal(model.transform(frame[["b", "a"]]), model.transform(frame))
    assert_allclose(model.transform(frame.to_numpy()), model.transform(frame), atol=1e-14)
    assert_array_equal(model.transform(frame.to_numpy().tolist()), model.transform(frame))
    with raises(ValueError, "KernelECA", 1, 2):
        model.transform(frame.to_numpy()[:, :1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_column_indices_become_names(estimator):
    frame, _ = table()
    by_index = On(0, Gaussian("silverman")) * On([1], Categorical(0.6))
    by_name = On("age", Gaussian("silverman")) * On(["color"], Categorical(0.6))
    model = estimator(2, kernel=by_index).fit(frame)
    expected = estimator(2, kernel=by_name).fit(frame)
    assert model.kernel_ == expected.kernel_
    reordered = frame[["note", "age", "color"]]
    assert_array_equal(model.transform(reordered), expected.transform(frame))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_new_rows_with_unseen_and_missing_values(estimator):
    frame, _ = table()
    complete = frame.dropna()
    model = estimator(2, kernel=KERNEL).fit(complete)
    new = pd.DataFrame(
        {
            "age": [40.0, np.nan, 40.0],
            "color": ["never seen", "red", None],
            "note": ["", None, "kernel"],
        }
    )
    projected = model.transform(new)
    assert np.isfinite(projected).all()
    for row in range(3):
        assert_allclose(model.transform(new.iloc[[row]])[0], projected[row], rtol=1e-12)
    # a row of missing values is represented by the mean of each column
    nothing = pd.DataFrame({"age": [np.nan], "color": [None], "note": [None]})
    K = model.kernel_(nothing, complete)
    parts = [term(complete).mean(axis=0) for term in model.kernel_.terms]
    assert_allclose(K[0], np.prod(parts, axis=0), rtol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_column_without_values_raises(estimator):
    frame, _ = table()
    with raises(ValueError, "'age'"):
        estimator(kernel=KERNEL).fit(frame.assign(age=np.nan))


def test_refitting_on_strings_removes_feature_names():
    model = KernelPCA(2, kernel=KERNEL).fit(table()[0])
    model.set_params(kernel=NGram(2)).fit(strings())
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_table_kernel_embeds_a_table(estimator):
    frame, kind = table(200)
    model = estimator(2, kernel=table_kernel(frame)).fit(frame)
    z = model.transform(table(100, seed=3)[0])
    score = LogisticRegression().fit(model.transform(frame), kind).score(z, table(100, seed=3)[1])
    assert score > 0.9


def test_grid_search_over_the_kernel_of_a_column():
    frame, kind = table(120)
    pipeline = make_pipeline(KernelPCA(3, kernel=KERNEL, solver="dense"), LogisticRegression())
    grid = {
        "kernelpca__kernel__0__kernel__bandwidth": [1.0, 10.0],
        "kernelpca__kernel__1__kernel__rho": [0.5, 1.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(frame, kind)
    assert search.best_score_ > 0.85
    words = GridSearchCV(
        make_pipeline(KernelECA(3, kernel=NGram()), LogisticRegression()),
        {"kerneleca__kernel__n": [1, 2]},
        cv=2,
    )
    words.fit(strings(), np.arange(50) % 2)
    assert words.best_score_ > 0.8


# --- the rest of the library -------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
def test_clusters_and_classes_of_all_data(name):
    X, new, kernel = DATA[name]
    clusters = EntropyClustering(2, kernel=kernel).fit(X)
    assert_array_equal(clusters.predict(X), clusters.labels_)
    assert set(clusters.predict(new)) <= {0, 1, -1}
    classes = ComponentClassifier(3, kernel=kernel).fit(X, clusters.labels_)
    assert classes.score(X, clusters.labels_) > 0.7
    assert classes.predict(new).shape == (len(new),)


def test_clusters_of_a_table_match_its_classes():
    frame, kind = table(200)
    found = EntropyClustering(2, kernel=table_kernel(frame)).fit(frame).labels_
    assert max((found == kind).mean(), (found != kind).mean()) > 0.9


def test_number_of_groups_in_tables():
    rng = np.random.default_rng(0)
    kind = rng.random(100) < 0.5
    age = np.where(kind, 30, 60) + 4 * rng.normal(size=100)
    frame = pd.DataFrame({"age": age, "color": np.where(kind, "red", "blue"), "note": "x"})
    kernel = On("age", Gaussian("auto")) * On("color", Categorical(0.1))
    assert EntropyClustering("auto", kernel=kernel).fit(frame).n_clusters_ == 2


def test_partial_fit_on_tables():
    frame, _ = table(80)
    solver = Nystrom(20, random_state=0)
    model = KernelECA(2, kernel=KERNEL, solver=solver)
    with pytest.warns(ApproximationWarning):
        model.partial_fit(frame.iloc[:50]).partial_fit(frame.iloc[50:])
    assert model.spectrum_.total_weight == 80
    assert model.transform(frame).shape == (80, 2)


@pytest.mark.parametrize("name", DATA)
def test_information_of_all_data(name):
    X, new, kernel = DATA[name]
    model = KernelECA(2, kernel=kernel).fit(X)
    V = float(model.kernel_(X).mean())
    assert information_potential(X, kernel) == pytest.approx(V, rel=1e-12)
    assert renyi_entropy(X, kernel) == pytest.approx(-np.log(V), rel=1e-12)
    assert model.renyi_entropy_ == pytest.approx(-np.log(V), rel=1e-12)
    assert cauchy_schwarz_divergence(X, X, kernel) == pytest.approx(0, abs=1e-12)
    assert cauchy_schwarz_divergence(X, new, kernel) > 0
    with raises(ValueError, model.kernel_, "Gaussian"):
        information_potential(X, kernel, normalize=True)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_monitoring_of_all_data(name, estimator):
    X, new, kernel = DATA[name]
    model = estimator(2, kernel=kernel).fit(X)
    assert model.hotelling(X).mean() == pytest.approx(2, rel=1e-8)
    assert (model.reconstruction_error(new) >= 0).all()


def test_large_tables_use_landmarks():
    frame = pd.DataFrame({"x": np.zeros(40_000)})
    sample = Sample(On("x", Gaussian(1.0)), Points(frame, "objects"))
    assert isinstance(plan(sample, Request("entropy", 2)).operator, Nystrom)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_default_kernel_suggests_the_kernel_of_tables(estimator):
    frame, _ = table()
    for part in (frame, frame[["age"]]):
        with raises(ValueError, "kernel='table'"):
            estimator().fit(part)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_dict_is_not_a_sequence_of_objects(estimator):
    with raises(TypeError, "dict"):
        estimator(kernel=NGram()).fit({"a": "text"})
