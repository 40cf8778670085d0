"""The number of clusters: valleys of sweep profiles, known numbers, confidence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import SpectralClustering
from mercer.bandwidth import fit_kernel
from mercer.cluster.cluster_number import COULD_NOT_TELL, choose_number
from mercer.cluster.dependent_components import dependent_components
from mercer.cluster.graph_valleys import divide, sweep_profile
from mercer.datasets import make_rings
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Neighbors, table_kernel

pytestmark = pytest.mark.usefixtures("one_thread")


def count(X, **options):
    """Count clusters with a given graph, which needs no choice of a kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        return SpectralClustering(kernel=Neighbors(10), **options).fit(X)


def grid(*blocks, size=40):
    """Return a graph of complete blocks of nodes; ``blocks`` lists pairs joined by one edge."""
    n = size * (max(max(pair) for pair in blocks) + 1)
    W = np.kron(np.eye(n // size), np.ones((size, size))) - np.eye(n)
    for i, j in blocks:
        W[i * size, j * size] = W[j * size, i * size] = 1
    return csr_array(W)


# --- valleys ------------------------------------------------------------------------------------


def test_profiles_equal_sums_over_crossing_edges(rng):
    W = np.triu(rng.random((15, 15)) * (rng.random((15, 15)) < 0.4), 1)
    W = W + W.T
    order = rng.permutation(15)
    expected = [W[np.ix_(order[:i], order[i:])].sum() for i in range(1, 15)]
    assert_allclose(sweep_profile(csr_array(W), order), expected, atol=1e-12)


@pytest.mark.parametrize("size", [20, 200])  # dense and sparse eigensolvers
def test_valleys_separate_blocks_joined_by_one_edge(size):
    W = grid((0, 1), (1, 2), size=size)
    valleys = divide(W, W, 3.0)
    leaves = [v for i, v in enumerate(valleys) if all(other.parent != i for other in valleys)]
    assert sorted(tuple(v.nodes // size) for v in leaves) == [(k,) * size for k in range(3)]
    assert {v.bottom for v in valleys if v not in leaves} == {1.0}


def test_isolated_nodes_do_not_hide_a_valley():
    W = grid((0, 1)).toarray()
    W = np.pad(W, (0, 3))  # three nodes without edges
    first = divide(csr_array(W), csr_array(W), 3.0)[0]
    assert first.bottom <= 1
    assert first.depth > 10


def test_one_block_has_no_valley():
    W = grid((0, 0), size=60)
    assert choose_number(W, W, W).n_clusters == 1


# --- known numbers ------------------------------------------------------------------------------


def ring(rng):
    angles = rng.uniform(0, 2 * np.pi, 800)
    return np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(800, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.uniform(size=(600, 2)),
        lambda rng: rng.normal(size=(500, 5)),
        lambda rng: rng.normal(size=(600, 2)) * [10, 1],
        ring,
    ],
    ids=["uniform", "normal", "elongated", "ring"],
)
def test_samples_without_clusters_have_one(make):
    assert [count(make(np.random.default_rng(seed))).n_clusters_ for seed in range(2)] == [1, 1]


@pytest.mark.slow
def test_thirty_modes_on_a_sphere():
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=3000)
    X = rng.normal(size=(30, 32))[y] + 0.3 * rng.normal(size=(3000, 32))
    model = count(X / np.linalg.norm(X, axis=1, keepdims=True))
    assert model.n_clusters_ == 30
    assert model.confidence_ > 0.9


def test_rings():
    X, _ = make_rings(random_state=0)
    assert count(X).n_clusters_ == 3


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
    kernel = fit_kernel(table_kernel(frame), frame)
    assert dependent_components(frame, kernel).shape == (300, 1)


@pytest.mark.parametrize("n_groups", [1, 4])
def test_groups_of_a_mixed_table(n_groups):
    frame = mixed_table(400, n_groups)
    kernel = fit_kernel(table_kernel(frame), frame)
    assert count(dependent_components(frame, kernel)).n_clusters_ == n_groups


# --- confidence ---------------------------------------------------------------------------------


def test_uncertain_numbers_raise_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    with pytest.warns(IdentifiabilityWarning, match="n_clusters_=1"):
        model = SpectralClustering(kernel=Neighbors(3)).fit(X)
    assert 0 < model.confidence_ < COULD_NOT_TELL


def test_clear_numbers_raise_no_warning():
    X = np.concatenate([np.random.default_rng(i).normal(12 * i, 1, (100, 3)) for i in range(3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SpectralClustering(kernel=Neighbors(10)).fit(X)
    assert model.n_clusters_ == 3
    assert model.confidence_ > 0.8


def test_weights_equal_copies():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(12 * i, 1, (60, 2)) for i in range(2)])
    weights = rng.integers(1, 3, size=120)
    weighted = SpectralClustering(kernel=Neighbors(10)).fit(X, sample_weight=weights)
    copied = SpectralClustering(kernel=Neighbors(10)).fit(np.repeat(X, weights, axis=0))
    assert weighted.n_clusters_ == copied.n_clusters_ == 2
    assert weighted.confidence_ == pytest.approx(copied.confidence_)
    assert_array_equal(np.repeat(weighted.labels_, weights), copied.labels_)
