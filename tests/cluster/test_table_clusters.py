"""Clusters of tables, isolated rows, the choice between graphs and k-means; it never fails."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from mercer import SpectralClustering
from mercer.cluster import spectral_clustering
from mercer.cluster.graphs import explained_fraction
from mercer.cluster.table_coordinates import TableCoordinates
from mercer.data.points import Points
from mercer.datasets import make_rings
from mercer.errors import ColumnWarning, ConvergenceError
from mercer.kernels import Linear, Neighbors, Precomputed

pytestmark = pytest.mark.usefixtures("one_thread")


def groups_and_shift(n=240, distance=8.0):
    """Three groups in two measurements, and a column that is independent of them."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    frame = pd.DataFrame(
        {
            "length": distance * y + rng.normal(size=n),
            "width": distance * (y == 1) + rng.normal(size=n),
            "shift": rng.choice(["day", "night"], n),
        }
    )
    return frame, y


# --- coordinates --------------------------------------------------------------------------------


def test_every_column_has_variance_one():
    frame, _ = groups_and_shift()
    frame["code"] = np.arange(240) % 4
    weights = np.random.default_rng(1).integers(1, 4, 240).astype(float)
    coordinates = TableCoordinates.fit(Points(frame, "objects"), weights)
    for name in frame:
        others = [one for one in frame if one != name]
        alone = coordinates
        for other in others:
            alone = alone.without(other)
        Z = alone(frame)
        center = np.average(Z, axis=0, weights=weights)
        assert np.average(((Z - center) ** 2).sum(axis=1), weights=weights) == pytest.approx(1)
    assert coordinates.is_measured.sum() == 2  # length and width


def test_coordinates_are_numbers_and_indicators():
    frame, _ = groups_and_shift()
    coordinates = TableCoordinates.fit(Points(frame, "objects"), np.ones(240))
    numbers = ["length", "width"]
    p = (frame["shift"] == "day").mean()
    indicators = pd.get_dummies(frame["shift"]).to_numpy(float) / np.sqrt(2 * p * (1 - p))
    z = np.column_stack([frame[numbers] / frame[numbers].std(ddof=0), indicators])
    assert_allclose(cdist(coordinates(frame), coordinates(frame)), cdist(z, z), atol=1e-8)


def test_explained_fraction_equals_analysis_of_variance(rng):
    Z, labels, weights = rng.normal(size=(40, 3)), rng.integers(0, 4, 40), rng.integers(1, 5, 40)
    center = np.average(Z, axis=0, weights=weights)
    within = 0.0
    for c in range(4):
        own, masses = Z[labels == c], weights[labels == c]
        mean = np.average(own, axis=0, weights=masses)
        within += masses @ ((own - mean) ** 2).sum(axis=1)
    total = weights @ ((Z - center) ** 2).sum(axis=1)
    assert explained_fraction(Z, labels, weights) == pytest.approx(1 - within / total)


# --- clusters of tables -------------------------------------------------------------------------


def test_gaps_between_categories_are_not_clusters():
    frame, y = groups_and_shift()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering(3).fit(frame)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.followed_columns_ == []
    assert SpectralClustering().fit(frame).n_clusters_ == 3


def test_columns_that_clusters_follow_are_left_out():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["shift"] = rng.choice(["day", "night"], 300)
    with pytest.warns(ColumnWarning, match="shift"):
        model = SpectralClustering(2).fit(frame)
    assert model.followed_columns_ == ["shift"]
    assert abs(adjusted_rand_score(frame["shift"], model.labels_)) < 0.1
    assert_array_equal(model.predict(frame), model.labels_)


def test_a_column_stays_if_the_others_have_similar_clusters():
    frame, y = groups_and_shift()
    frame["species"] = np.array(["x", "y", "z"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering(3).fit(frame)
    assert model.followed_columns_ == []
    assert adjusted_rand_score(y, model.labels_) == 1


def test_values_of_rare_categories_are_not_followed():
    frame, _ = groups_and_shift()
    frame["label"] = [f"label {i}" for i in range(240)]
    frame["label"] = frame["label"].astype("category")
    coordinates = TableCoordinates.fit(Points(frame, "objects"), np.ones(240))
    half = (np.arange(240) < 120).astype(int)
    assert coordinates.followed(frame, half, np.ones(240)) is None
    follows = (frame["shift"] == "day").to_numpy().astype(int)
    assert coordinates.followed(frame, follows, np.ones(240)) == "shift"


def test_rows_without_a_measurement_get_the_nearest_mean():
    frame, y = groups_and_shift()
    frame["kind"] = np.array(["x", "y", "z"])[y]
    frame.loc[::5, "length"] = np.nan
    model = SpectralClustering(3).fit(frame)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(frame), model.labels_)


def test_weights_of_a_table_equal_copies():
    frame, _ = groups_and_shift(120, distance=5.0)
    weights = np.random.default_rng(0).integers(1, 3, 120)
    weighted = SpectralClustering(3).fit(frame, sample_weight=weights)
    copied = SpectralClustering(3).fit(frame.loc[np.repeat(np.arange(120), weights)])
    assert adjusted_rand_score(np.repeat(weighted.labels_, weights), copied.labels_) == 1


# --- gaps or compact clusters -------------------------------------------------------------------


def test_kmeans_is_chosen_without_gaps_and_graphs_with_gaps():
    X, y = load_wine(return_X_y=True)
    model = SpectralClustering(3).fit(X)
    assert isinstance(model.kernel_, Linear)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    rings, _ = make_rings(random_state=0)
    assert isinstance(SpectralClustering(3).fit(rings).kernel_, Neighbors)


def test_one_cluster_more_than_the_tree():
    model = SpectralClustering().fit(load_iris().data)
    assert (model.n_clusters_, model.alternative_) == (3, 2)


def test_tiny_clusters_are_isolated():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(at, 1, (size, 2)) for at, size in ((0, 900), (3.5, 900), (40, 15))]
    )
    y = np.repeat([0, 1, -1], [900, 900, 15])
    model = SpectralClustering(2).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert_array_equal(model.labels_ == -1, y == -1)
    assert_array_equal(model.predict([[40.0, 41.0], [0.0, 0.0]]), [-1, model.labels_[0]])
    accepted = SpectralClustering(2, min_cluster_size=0).fit(X)
    assert adjusted_rand_score(y == -1, accepted.labels_) == 1
    assert set(accepted.labels_) == {0, 1}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_clusters_are_accepted_if_too_few_rows_would_be_left():
    X = np.random.default_rng(0).normal(size=(5, 2))
    labels = SpectralClustering(4).fit(X, sample_weight=[1e6, 1, 1, 1, 1]).labels_
    assert set(labels) == set(range(4))


# --- no failure ---------------------------------------------------------------------------------


def test_another_solver_if_one_does_not_converge(monkeypatch):
    expected = SpectralClustering(3, kernel=Neighbors(7)).fit(load_iris().data).labels_
    original, tried = spectral_clustering.embed_rows, []

    def fail_first(*args, solver, **options):
        tried.append(solver)
        if len(tried) == 1:
            raise ConvergenceError("2 of 3 pairs converged")
        return original(*args, solver=solver, **options)

    monkeypatch.setattr(spectral_clustering, "embed_rows", fail_first)
    found = SpectralClustering(3, kernel=Neighbors(7)).fit(load_iris().data).labels_
    assert adjusted_rand_score(expected, found) == 1
    assert len(tried) == 2


def graphs(n):
    path = np.diag(np.ones(n - 1), 1)
    star = np.zeros((n, n))
    star[0, 1:] = 1
    blocks = np.kron(np.eye(-(-n // 3)), np.ones((3, 3)))[:n, :n]
    sparse = np.triu(np.random.default_rng(n).random((n, n)) < 1 / n, 1).astype(float)
    return {
        "path": path + path.T,
        "star": star + star.T,
        "blocks": blocks,
        "random": sparse + sparse.T,
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["path", "star", "blocks", "random"])
@pytest.mark.parametrize("n", [2, 3, 12, 300])
def test_graphs_of_all_kinds(name, n):
    K = graphs(n)[name] + np.eye(n)
    for k in (2, min(4, n)):
        model = SpectralClustering(k, kernel=Precomputed()).fit(K)
        assert set(model.labels_) == set(range(k))


columns = st.sampled_from(["normal", "heavy", "constant", "code", "label", "missing", "group"])


def column(kind, n, rng):
    if kind == "heavy":
        return rng.standard_cauchy(n) ** 3
    if kind == "constant":
        return np.ones(n)
    if kind == "code":
        return rng.integers(0, 3, n)
    if kind == "label":
        return rng.choice(["a", "b", "c"], n)
    values = rng.normal(size=n)
    if kind == "missing":
        values[rng.random(n) < 0.5] = np.nan
    return values + 50 * (np.arange(n) % 2) if kind == "group" else values


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    kinds=st.lists(columns, min_size=1, max_size=5),
    n=st.sampled_from([2, 3, 7, 40, 150]),
    k=st.sampled_from([1, 2, 3, "auto"]),
    seed=st.integers(0, 1000),
    copies=st.booleans(),
)
def test_tables_of_all_kinds(kinds, n, k, seed, copies):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"{kind} {i}": column(kind, n, rng) for i, kind in enumerate(kinds)})
    frame["size"] = np.arange(n) * 1.0 + 0.1 * rng.random(n)  # rows differ
    frame["label"] = rng.choice(["x", "y"], n)
    if copies:
        frame = pd.concat([frame, frame], ignore_index=True)
    k = k if k == "auto" else min(k, n)
    model = SpectralClustering(k).fit(frame)
    expected = set(range(model.n_clusters_))
    assert expected <= set(model.labels_) <= expected | {-1}
    assert k in (model.n_clusters_, "auto")
    assert_array_equal(model.predict(frame), model.labels_)
