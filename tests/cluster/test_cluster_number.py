"""The number of clusters: density trees, known numbers, persistence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.cluster import HDBSCAN

from mercer import EntropyClustering, SpectralClustering
from mercer.bandwidth import fit_kernel
from mercer.cluster.cluster_number import COULD_NOT_TELL, choose_number, is_one_more
from mercer.data.points import Points
from mercer.datasets import make_rings
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Gaussian, Linear, Neighbors, Table, table_kernel

pytestmark = pytest.mark.usefixtures("one_thread")


def groups(count, size=60, distance=12.0):
    return np.concatenate(
        [np.random.default_rng(i).normal(distance * i, 1, (size, 2)) for i in range(count)]
    )


def test_number_and_confidence_follow_from_five_sizes():
    X = np.unique(groups(3, distance=3.0), axis=0)
    sizes = np.round(10 * np.array([0.5, 0.5**0.5, 1, 2**0.5, 2])).astype(int)
    trees = [HDBSCAN(min_cluster_size=size, copy=True).fit(X) for size in sizes]
    counts = [max(1, tree.labels_.max() + 1) for tree in trees]
    found = choose_number(Points(X))
    assert found.n_clusters == counts[2]
    assert found.confidence == counts.count(counts[2]) / 5


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rings():
    X, _ = make_rings(random_state=0)
    assert SpectralClustering().fit(X).n_clusters_ == 3
    assert EntropyClustering("auto").fit(X).n_clusters_ == 3


def test_samples_without_clusters_have_one():
    X = np.random.default_rng(0).normal(size=(500, 5))
    assert choose_number(Points(X)).n_clusters == 1


@pytest.mark.parametrize("n", [2, 12])
def test_few_rows_are_one_cluster(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert choose_number(Points(X)).n_clusters == 1


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_number_does_not_depend_on_the_unit(unit):
    X = groups(3)
    assert choose_number(Points(X * unit)) == choose_number(Points(X))


def test_large_samples_are_subsampled():
    assert choose_number(Points(groups(2, size=2000))).n_clusters == 2


def test_kernels_give_the_number_of_their_distances():
    X = groups(3)
    expected = choose_number(Points(X))
    assert choose_number(Points(X), Linear()) == expected
    assert choose_number(Points(np.arange(len(X)), "gram"), None, X @ X.T) == expected


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_precomputed_kernels():
    K = Gaussian(2.0)(groups(3))
    assert SpectralClustering(kernel="precomputed").fit(K).n_clusters_ == 3
    assert EntropyClustering("auto", kernel="precomputed").fit(K).n_clusters_ == 3


@given(st.lists(st.floats(0, 5), min_size=3, max_size=3).map(sorted), st.floats(0, 1))
def test_one_cluster_more_needs_growth_that_increases(cuts, more):
    cut, next_cut, second_cut = cuts
    assert not is_one_more(cut, cut, cut)
    assert not is_one_more(cut, next_cut, next_cut)
    assert is_one_more(*cuts) <= is_one_more(cut, next_cut, second_cut + more)


# --- tables -------------------------------------------------------------------------------------


def mixed_table(n, n_groups):
    rng = np.random.default_rng(0)
    y = rng.integers(n_groups, size=n)
    return pd.DataFrame(
        {
            "price": rng.normal(4.0 * y, 1),
            "rating": rng.normal(4.0 * (y % 2), 1),
            "color": np.array(["red", "blue", "green", "black"])[y],
        }
    )


def test_independent_categories_do_not_make_clusters(rng):
    frame = pd.DataFrame({"x": rng.normal(size=300), "shift": rng.choice(["day", "night"], 300)})
    kernel = fit_kernel(Table(), frame)
    assert choose_number(Points(frame, "objects"), kernel).n_clusters == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_groups_of_a_mixed_table():
    frame = mixed_table(400, 4)
    assert SpectralClustering().fit(frame).n_clusters_ == 4
    kernel = fit_kernel(table_kernel(frame), frame)
    assert EntropyClustering("auto", kernel=kernel).fit(frame).n_clusters_ == 4


# --- confidence ---------------------------------------------------------------------------------


def test_uncertain_numbers_raise_a_warning():
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 800)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(800, 2))
    with pytest.warns(IdentifiabilityWarning, match="n_clusters_="):
        model = SpectralClustering().fit(X)
    assert 0 < model.confidence_ < COULD_NOT_TELL


def test_clear_numbers_raise_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering(kernel=Neighbors(10)).fit(groups(3))
    assert (model.n_clusters_, model.confidence_) == (3, 1.0)


def test_weights_equal_copies():
    rng = np.random.default_rng(1)
    X = groups(2)
    weights = rng.integers(1, 3, size=120)
    weighted = SpectralClustering(kernel=Neighbors(10)).fit(X, sample_weight=weights)
    copied = SpectralClustering(kernel=Neighbors(10)).fit(np.repeat(X, weights, axis=0))
    assert weighted.n_clusters_ == copied.n_clusters_ == 2
    assert weighted.confidence_ == copied.confidence_
    assert_array_equal(np.repeat(weighted.labels_, weights), copied.labels_)


def test_one_cluster_if_as_many_sizes_have_one(monkeypatch):
    counts = iter([5, 2, 2, 1, 1, 3, 2, 2, 2, 1])
    monkeypatch.setattr("mercer.cluster.cluster_number._count", lambda *_: next(counts))
    X = np.random.default_rng(0).normal(size=(200, 2))
    assert choose_number(Points(X)) == (1, 0.4, 2)
    assert choose_number(Points(X)) == (2, 0.6, 3)
